/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: OPEN extents. fs->lock is held unless said otherwise.
 */
#ifndef DM_FUSION_OPEN_H
#define DM_FUSION_OPEN_H

#include <linux/bio.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "dm-fusion-codec.h"

struct fusion;
struct fusion_io;

#define FUSION_OPEN_HASH_BITS	10
/* Zero-fills of OPEN extents under way at the same time. */
#define FUSION_MAX_FILLS	8U

/**
 * struct fusion_open - an OPEN extent
 * @hash: in fs->opens.hash, by @lext
 * @lru: on fs->opens.lru, oldest first, or on fs->opens.free
 * @dirty_node: on fs->opens.dirty if @dirty
 * @parked: bios that wait for the end of an exclusive operation
 * @ready_node: on fs->opens.ready while @excl is set, @running is not, and no writer is left
 * @excl_bio: the bio that needs the exclusive operation; NULL for a zero-fill
 * @fs: device
 * @lext: logical extent
 * @word: its OPEN word
 * @writers: writes in flight
 * @nr_valid: bits set in @bitmap
 * @zero_first: first block being zeroed
 * @zero_nr: number of blocks being zeroed
 * @zero_retried: zeroing failed once: the member may not support WRITE ZEROES
 * @zero_failed: the member could not zero the blocks
 * @fill_failed: a zero-fill has failed; not yet reported by fusion_open_fill()
 * @passed: the last round of copies for shadows that has passed it; 0: none has
 * @dirty: changed since it was last put into a transaction
 * @closing: a STABLE record is being committed; the bitmap must stay full
 * @lost: blocks that are not valid are lost, and must not be zeroed: dm-fusion-lost.c
 * @closed: no longer in the hash; freed when @writers drops to 0
 * @excl: an exclusive operation is waiting for @writers == 0, or running
 * @running: the exclusive operation is running
 * @bitmap: valid blocks, little endian as on disk
 *
 * All protected by fs->lock.
 */
struct fusion_open {
	struct hlist_node hash;
	struct list_head lru;
	struct list_head dirty_node;
	struct bio_list parked;
	struct list_head ready_node;
	struct bio *excl_bio;
	struct fusion *fs;
	u32 lext;
	u32 word;
	u32 writers;
	u32 nr_valid;
	u32 passed;
	u16 zero_first;
	u16 zero_nr;
	bool zero_retried : 1;
	bool zero_failed : 1;
	bool fill_failed : 1;
	bool dirty : 1;
	bool closing : 1;
	bool lost : 1;
	bool closed : 1;
	bool excl : 1;
	bool running : 1;
	unsigned long *bitmap;
};

/* Pause for a member on which a zero-fill in idle time has failed. */
struct fusion_fill_pause {
	u64 until_ms;
	u32 ms;
	bool tried;			/* a fill was tried; none has failed since */
};

/**
 * struct fusion_opens - all OPEN extents
 * @hash: by logical extent
 * @lru: oldest first
 * @free: structures that are not in use
 * @dirty: changed since the last transaction
 * @ready: extents whose exclusive operation can start
 * @all: all @max structures
 * @bitmaps: memory of their bitmaps
 * @max: number of structures
 * @nr: number of OPEN extents
 * @nr_full: number of full OPEN extents that are not yet in a commit
 * @nr_lost: number of OPEN extents with @lost
 * @lost_writers: writes in flight to these
 * @fills_failed: number of zero-fills that have failed so far
 * @fill_pause: pause of each member after a failed zero-fill
 * @nr_excl: exclusive operations under way, or about to be
 * @nr_fills: of these, zero-fills
 * @fill_wait: woken when one of these drops to 0
 *
 * Protected by fs->lock.
 */
struct fusion_opens {
	struct hlist_head hash[1 << FUSION_OPEN_HASH_BITS];
	struct list_head lru;
	struct list_head free;
	struct list_head dirty;
	struct list_head ready;
	struct fusion_open *all;
	void *bitmaps;
	u32 max;
	u32 nr;
	u32 nr_full;
	u32 nr_lost;
	u32 lost_writers;
	u32 fills_failed;
	struct fusion_fill_pause fill_pause[FUSION_NR_DEVS];
	u32 nr_excl;
	u32 nr_fills;
	wait_queue_head_t fill_wait;
};

/* -- dm-fusion-open.c -------------------------------------------------------------------- */

int fusion_open_init(struct fusion *fs);
void fusion_open_exit(struct fusion *fs);
struct fusion_open *fusion_open_find(struct fusion *fs, u32 lext);

/* New OPEN extent, all blocks invalid. Return: NULL if too many are open. */
struct fusion_open *fusion_open_new(struct fusion *fs, u32 lext, u32 word);

/*
 * An unmapped or lost extent gets the slot of @word; there is a free structure. Return: its OPEN
 * word.
 */
u32 fusion_open_first(struct fusion *fs, u32 lext, u32 word);

/* Take an OPEN extent out of the hash; free it now or with its last writer. */
void fusion_open_close(struct fusion *fs, struct fusion_open *open);

/* Free the structure of a closed OPEN extent without writers. */
void fusion_open_free(struct fusion *fs, struct fusion_open *open);

/* Mark an OPEN extent as changed, so that the next commit records it. */
void fusion_open_mark_dirty(struct fusion *fs, struct fusion_open *open);

/* Blocks of an OPEN extent that are not valid are lost. */
void fusion_open_set_lost(struct fusion *fs, struct fusion_open *open);

/* Load a bitmap from a journal record. No lock needed. */
void fusion_open_load(struct fusion *fs, struct fusion_open *open, const void *bitmap);

/* Mark blocks as holding data. */
void fusion_open_set_valid(struct fusion *fs, struct fusion_open *open, u32 first, u32 nr);

/* Bytes of a bitmap in memory. */
unsigned int fusion_open_bitmap_size(const struct fusion *fs);

/* -- dm-fusion-lost.c -------------------------------------------------------------------- */

/*
 * May this write make a lost extent partial? Worker only; fs->lock held. Return: 0, -EAGAIN if the
 * bio has been parked, -EIO if it has to fail (fusion_complete_lost()).
 */
int fusion_lost_may_open(struct fusion *fs, struct bio *bio);

/*
 * Is this the end of a write or discard of an OPEN extent, as a block that is not valid is lost? A
 * write fails then, and a discard does nothing.
 */
bool fusion_lost_ends(const struct fusion *fs, const struct fusion_open *open, struct bio *bio);

/* -- dm-fusion-load-open.c; a set is being loaded, nothing else runs; no lock is needed ---- */

/*
 * Complete all OPEN extents, so that no bitmaps remain, except those with lost blocks, and flush
 * all disks; or only that.
 */
int fusion_load_complete(struct fusion *fs);
int fusion_load_flush(struct fusion *fs);

/* -- dm-fusion-open-excl.c --------------------------------------------------------------- */

/*
 * Find a block that is not valid and that a write covers only in part. It must be zeroed
 * first. Return: its number, or -1.
 */
int fusion_open_partial_block(const struct fusion *fs, const struct fusion_open *open,
			      struct bio *bio);

/* Request an exclusive operation, for @bio or to fill all holes; runs when no writer is left. */
void fusion_open_start_excl(struct fusion *fs, struct fusion_open *open, struct bio *bio);

/* No writer is left: the exclusive operation can run. */
void fusion_open_make_ready(struct fusion *fs, struct fusion_open *open);

/* Start the exclusive operations that can run. Worker only; takes fs->lock itself. */
void fusion_open_run(struct fusion *fs);

/* Zero-fill up to @nr of the oldest OPEN extents. Takes fs->lock itself; any context. */
void fusion_open_fill_oldest(struct fusion *fs, u32 nr);

/*
 * The same for as many as possible at once, since the fused device is idle; @fast: only extents
 * on the fast member. A member that fails is left alone for a while, longer each time, until a
 * zero-fill succeeds.
 */
void fusion_open_fill_idle(struct fusion *fs, bool fast);

/* Forget these pauses: members may have been replaced or repaired. Takes fs->lock itself. */
void fusion_open_fill_anew(struct fusion *fs);

/*
 * Zero-fill this extent of the fast member, if it is OPEN and was so in another round, too. Takes
 * fs->lock itself; any context.
 */
void fusion_open_fill_later(struct fusion *fs, u32 lext, u32 round);

/*
 * Zero-fill this extent, if it is OPEN. Return: false if the last zero-fill failed, which is
 * reported once, or if blocks of it are lost. Takes fs->lock itself; any context.
 */
bool fusion_open_fill(struct fusion *fs, u32 lext);

/* -- dm-fusion-open-bio.c ---------------------------------------------------------------- */

/*
 * Process a read or write of an OPEN extent, or a discard or write-zeroes of a part of it.
 * Worker only; takes fs->lock itself. Return: false if the extent is not OPEN any more.
 */
bool fusion_open_bio(struct fusion *fs, struct bio *bio);

/*
 * Unmap an OPEN extent; fusion_log_room() was checked. Worker only. Return: false if this
 * must wait: then @bio returns to the worker.
 */
bool fusion_open_unmap(struct fusion *fs, struct fusion_open *open, struct bio *bio);

/* A write to an OPEN extent has completed. Takes fs->lock itself; any context. */
void fusion_open_written(struct fusion *fs, struct fusion_io *io, bool ok);

#endif
