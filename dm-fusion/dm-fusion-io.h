/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: bios: in map(), parked, and in the worker.
 */
#ifndef DM_FUSION_IO_H
#define DM_FUSION_IO_H

#include <linux/bio.h>
#include <linux/device-mapper.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "dm-fusion-codec.h"

struct fusion;
struct fusion_open;

#define FUSION_NO_EPOCH		0xff

/* Per bio. */
struct fusion_io {
	struct fusion_open *open;	/* OPEN extent written to */
	u32 lext;			/* if @whole: next one to unmap; its own; or of the fill */
	u32 errors;			/* if it waits: the count of errors when the wait began */
	u64 start;			/* if @over: number of the next position of the log then */
	u16 first;			/* sectors in the extent, of an OPEN write or if @over */
	u16 nr;				/* all of @lext to @nr, if @copied: fusion_copies_save() */
	u8 epoch;			/* that it is in, or FUSION_NO_EPOCH */
	u8 disk;			/* member, or FUSION_OLD */
	/* what needs more than its slot at its end is in the first byte */
	bool fua : 1;			/* complete only after a commit */
	bool over : 1;			/* a write over entries of the landing log */
	bool copied : 1;		/* a read of copies */
	bool counted : 1;		/* a write that copies must not be made beside */
	bool whole : 1;			/* discard or write-zeroes of whole extents */
	bool flush : 1;			/* counted in fs->flush.nr */
	bool waits : 1;			/* for the replica to free a slot */
	bool crowded : 1;		/* waits for a struct fusion_open */
	bool landed : 1;		/* a write that got into the landing log */
	bool paced : 1;			/* may get into the landing log: it has waited for that */
	bool stream : 1;		/* weighs nothing: the slow member is good at that */
	bool age : 1;			/* if @copied: that of the readers that it is counted in */
};

/**
 * struct fusion_worker - bios that map() has deferred
 * @deferred: bios for the worker
 * @parked: bios that wait for fusion_unpark()
 * @landing: bios that wait for fusion_land_wake()
 * @work: the worker
 * @wq: queue of @work
 * @clones: for clones of bios, as of reads with holes
 *
 * Lists under fs->lock.
 */
struct fusion_worker {
	struct bio_list deferred;
	struct bio_list parked;
	struct bio_list landing;
	struct work_struct work;
	struct workqueue_struct *wq;
	struct bio_set clones;
};

/* What to do with a read or write. */
enum fusion_verdict {
	FUSION_SUBMIT,		/* pinned: goes to the slot of the word */
	FUSION_LOGGED,		/* pinned: a read that goes to a position in the landing log */
	FUSION_FILL,		/* pinned: a read that gets copies */
	FUSION_PIECES,		/* pinned: a read of which some blocks are in the landing log */
	FUSION_LAND,		/* pinned: a write that has a place in the landing log */
	FUSION_ZERO,		/* read of an unmapped extent */
	FUSION_LOST,		/* read of a lost extent */
	FUSION_DEFER,
	FUSION_PACED,		/* the same: a write waits for room in the landing log */
	FUSION_MERGE,		/* the same: a write has a part of a block that is in the log */
	FUSION_KILL,		/* not in this mode */
	FUSION_AGAIN,		/* the word has changed to that one */
};

/* The same, with the map word, or the position; returned in a register. */
struct fusion_found {
	u32 word;
	enum fusion_verdict verdict;
};

/* -- dm-fusion-core.c -------------------------------------------------------------------- */

/**
 * fusion_park() - let a bio wait for the end of a commit, drain, or update of the replica
 * @fs: device
 * @bio: the bio
 * @kick: start the commit; if false, something under way will end in fusion_unpark()
 *
 * Context: the worker; fs->lock has been held since the check that made the bio wait.
 */
void fusion_park(struct fusion *fs, struct bio *bio, bool kick);

/* Send parked bios back to the worker. fs->lock held. */
void fusion_unpark(struct fusion *fs);

/* Complete a bio whose data is lost. Any context, without fs->lock. */
void fusion_complete_lost(struct bio *bio);

/* -- dm-fusion-submit.c ------------------------------------------------------------------ */

/**
 * fusion_pin_slot() - enter an epoch on behalf of a bio that goes to a slot
 * @fs: device
 * @bio: the bio; fusion_end_io() leaves the epoch
 * @disk: member the slot is on, or FUSION_OLD
 *
 * Context: fs->lock held; the caller has looked at the map word or OPEN extent
 * in the same section.
 */
void fusion_pin_slot(struct fusion *fs, struct bio *bio, unsigned int disk);

/* Send a pinned bio to its place in the slot of @word. Context: process. */
void fusion_submit(struct fusion *fs, struct bio *bio, u32 word);

/* Zero a pinned WRITE_ZEROES bio's range in the slot of @word, then complete it. */
void fusion_submit_zeroes(struct fusion *fs, struct bio *bio, u32 word);

/* -- dm-fusion-io.c ---------------------------------------------------------------------- */

int fusion_map(struct dm_target *ti, struct bio *bio);
int fusion_end_io(struct dm_target *ti, struct bio *bio, blk_status_t *error);

/**
 * fusion_look_up() - enter an epoch and load the map word
 * @fs: device
 * @io: of @bio
 * @bio: a read or write
 *
 * Context: any. Return: what to do; with FUSION_SUBMIT the bio is pinned.
 */
struct fusion_found fusion_look_up(struct fusion *fs, struct fusion_io *io, struct bio *bio);

/* Complete a bio when a commit that starts after now is durable. Any context. */
void fusion_complete_after_commit(struct fusion *fs, struct bio *bio);

/* -- dm-fusion-worker.c ------------------------------------------------------------------ */

void fusion_do_deferred(struct work_struct *work);

#endif
