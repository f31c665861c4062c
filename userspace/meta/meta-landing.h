/* SPDX-License-Identifier: GPL-2.0-only */
/* The landing log of a closed set: meta-landing.c. */
#ifndef META_LANDING_H
#define META_LANDING_H

#include <stdbool.h>
#include <linux/types.h>

#include "dm-fusion-landing.h"

struct meta;
struct meta_state;
struct report;

/* A segment that the journal lists. */
struct meta_segment {
	struct fusion_segment seg;	/* its @live is the one below */
	u8 live[FUSION_MAX_EXTENT_SECTORS / FUSION_BLOCK_SECTORS / 8];
};

/* Blocks of the slow member of which the log has a newer version, in ascending order. */
struct log_blocks {
	u64 *block;		/* of the set */
	u64 *at;		/* of the fast member: its newest version */
	u64 nr;
};

/* What the journal says of the log. */
struct meta_log {
	struct meta_segment **seg;	/* by slot */
	u32 nr;
	struct fusion_landed from;	/* up to here it is durable */
	struct log_blocks has;		/* after fus_log_read() */
};

/* What the log has. */
struct landing_sum {
	bool found;		/* there is one without damage; otherwise the rest is 0 */
	u32 segments;
	u64 entries;		/* that count */
	u64 blocks;		/* of the slow member, of which these are newer versions */
	u64 void_entries;	/* of extents that are no longer on the slow member */
	struct fusion_landed at;	/* its last batch, and where it ends */
	bool listed;		/* the slow member has a stale list */
};

/* Return: whether the set of this superblock, of the fast member, may have a log. */
static inline bool fus_has_landing(const struct fusion_sb *sb)
{
	return sb && fusion_sb_keeps_landing(sb);
}

void fus_log_init(struct meta_log *log);
void fus_log_free(struct meta_log *log);
/* Apply a record of fusion_op_is_landing(); 0 or -ENOMEM. */
int fus_log_apply(struct meta_log *log, const struct fusion_sb *sb,
		  const struct fusion_record *rec);
/* Do two journals say the same of the log? */
bool fus_log_same(const struct meta_log *a, const struct meta_log *b);
/*
 * Read the log of a set whose map is good, as the kernel is to read it. Damage goes to the report,
 * and so does what was found: r->landing.
 */
void fus_landing_check(const struct meta *meta, const struct fusion_sb *sb,
		       const struct meta_state *st, struct report *r);
/*
 * Read the log of a set without errors: st->log.has. Then the content of an extent is what
 * fus_log_put() makes of what its slot has.
 */
int fus_log_read(const struct meta *meta, const struct fusion_sb *sb, struct meta_state *st);
int fus_log_put(const struct meta *meta, const struct meta_state *st, u32 lext, u8 *buf);
/*
 * Write what the log has to the slow member, and flush that. Until the journal lists no segment
 * any more, both have it. @may_write: NULL, or asked before each write; it fails after a message.
 */
int fus_log_drain(const struct meta *meta, const struct meta_state *st,
		  int (*may_write)(void *ctx), void *ctx);
/* Does the slow member tell of the log, for the loss of the fast one, if there is one? */
void fus_landing_check_told(const struct meta *meta, struct report *r);

/* Fails if the log of a closed set has anything, which would be lost. @verb: "given a new uuid". */
int fus_meta_refuse_logged(const struct meta *meta, const char *verb);

#endif
