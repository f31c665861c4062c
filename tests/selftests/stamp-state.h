/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stamp: its inside. stamp.h says what the state means.
 *
 * stamp.c	operations, in threads
 * stamp-state.c	the state, and stamps
 * stamp-check.c	reads, compared with the state
 */
#ifndef STAMP_STATE_H
#define STAMP_STATE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "stamp.h"

#define SECTOR		STAMP_SECTOR
#define WORDS		(SECTOR / sizeof(__u64))
#define BLOCK		STAMP_BLOCK
#define MAGIC		0x33706d6174736d64ULL	/* "dmstamp3" */
#define PENDING		0xffffffffU
#define GARBAGE		0xffffffffU		/* as a version: no stamp of this sector */

enum {
	ZERO		= 1,	/* the version is one of zeros */
	MAYBE_ZERO	= 2,	/* partly discarded since */
	WAS_ZERO	= 4,	/* may read as zeros after a power cut */
};

struct sector {
	__u32 version;
	__u32 durable;
	__u32 done;
	__u32 flags;
};

struct state {
	__u64 magic;
	__u64 seed;
	__u64 start;			/* of the region, in sectors of the device */
	__u64 sectors;
	__u32 pad;
	atomic_uint version;		/* last one given out */
	atomic_uint clock;		/* writes ended */
	atomic_uint flushed;	/* clock up to which all are durable */
	struct sector sector[];
};

/* The one that counts. */
extern struct state *state;

/* -- stamp-state.c ------------------------------------------------------------------- */

static inline struct sector *sector_at(__u64 sector)
{
	return &state->sector[sector - state->start];
}

static inline bool reads_zero(const struct sector *s)
{
	return !s->version || s->flags & ZERO;
}

/* A write of @version begins, and ends well; the range is locked. */
void state_begin(__u64 start, __u64 end, __u32 version, bool zero);
void state_finish(__u64 start, __u64 end);

/* Whether a sector may read as version @found (0: zeros). */
bool state_allows(const struct sector *s, __u32 found);

/* The 512 bytes of a stamp. */
void stamp_fill_in(__u64 *w, __u64 sector, __u32 version);

/* The version that 512 bytes of content belong to, or GARBAGE. */
__u32 stamp_identify(const __u64 *w, __u64 sector);

/* -- stamp-check.c ------------------------------------------------------------------- */

extern atomic_ullong stamp_mismatches;
extern atomic_ullong stamp_again;	/* RWF_NOWAIT answered EAGAIN */

/* Return: false, and errno, if it cannot be read as a whole. */
bool range_read(void *buf, __u64 start, __u64 end);

/* Check what was read; say what is wrong, and whether it still is when it is read again. */
void range_check(void *buf, __u64 start, __u64 end);

#endif
