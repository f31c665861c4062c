/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: the copy of the map on the slow member.
 */
#ifndef DM_FUSION_REPLICA_H
#define DM_FUSION_REPLICA_H

#include <linux/bio.h>
#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "dm-fusion-metadata.h"
#include "dm-fusion-policy.h"

struct fusion;

#define FUSION_REPLICA_SOON_MS	1000U

/* No error, as the disk may have one of these as well: the log has no room. */
#define FUSION_LOG_FULL		1

/**
 * struct fusion_replica - the copy of the map on the slow member
 * @mutex: held by who writes it
 * @log: its log; @log.sb is @sb
 * @sb: the slow member's superblock, as it was last written
 * @next: the one being written
 * @unsure: @next could not be written, or perhaps it could
 * @marked: the one on the disk says CLEAN, or may
 * @restart: where the chain of the log ends is not known: it was not replayed, or a write failed
 * @found_seq: no valid block was found in the log from here on when the set was loaded
 * @stale: what it says is not all known: it takes a whole map set to put that right
 * @nr: blocks in @log.buf, the last one open for records
 * @keep: blocks of the log kept free for OPEN extents and promotions
 * @away: extents that the log says to be away
 * @nr_away: bits set in @away
 * @away_ms: ktime since when some are
 * @bio: a block that says so of more being written; NULL: there was no need
 * @written: it ended
 * @leaving: the extents in that block
 * @nr_leaving: their number
 * @took_ms: how long the last update took
 * @backoff_ms: pause after the last failure; 0 once the log was written after that
 *
 * Protected by fs->lock:
 * @active: updates are wanted
 * @busy: an update is under way
 * @wanted: the next update does not wait until the slow member is used again
 * @failed: the last update was not successful
 * @tried_ms: ktime when it ended
 * @retry_ms: ktime before which it is not tried again, if it failed and nobody insists
 * @cur: which of @held takes new slots; the other one is what the update under way frees
 * @held: slow slots that are not used but may be named by the replica
 * @nr_held: bits set in both
 * @dirty: extents whose words, or bitmaps, are not those of the replica
 * @nr_dirty: bits set in @dirty
 * @since_ms: ktime since when some are, 0: never
 * @due_ms: ktime for which @work is queued, or U64_MAX
 * @writes: transactions written
 * @sets: map sets written
 * @errors: updates, and records of promotions, that failed
 */
struct fusion_replica {
	struct mutex mutex;	/* see "Locks" above */
	struct fusion_chain log;
	struct fusion_sb sb;
	struct fusion_sb next;
	bool unsure;
	bool marked;
	bool restart;
	u64 found_seq;
	bool stale;
	unsigned int nr;
	u32 keep;
	unsigned long *away;
	u32 nr_away;
	u64 away_ms;
	struct bio *bio;
	struct completion written;
	u32 leaving[FUSION_MAX_LEAVING];
	unsigned int nr_leaving;
	u32 took_ms;
	u32 backoff_ms;

	bool active;
	bool busy;
	bool wanted;
	bool failed;
	u64 tried_ms;
	u64 retry_ms;
	u8 cur;
	unsigned long *held[2];
	u32 nr_held;
	unsigned long *dirty;
	u32 nr_dirty;
	u64 since_ms;
	u64 due_ms;
	u64 writes;
	u64 sets;
	u64 errors;
	struct delayed_work work;
	struct workqueue_struct *wq;
};

/* -- dm-fusion-replica-state.c ----------------------------------------------------------- */

/* The replica has to learn of an extent: its word has changed, or its bitmap. fs->lock held. */
void fusion_replica_mark(struct fusion *fs, u32 lext);

/* Write it now, in the background; if that just failed, in a second. fs->lock held. */
void fusion_replica_kick(struct fusion *fs);

/*
 * Write it in a second, in the background; later if updates would take more than a
 * hundredth of the time. Takes fs->lock itself; any context.
 */
void fusion_replica_soon(struct fusion *fs);

/* Let an update run in @ms, or earlier if one is due by then. fs->lock held. */
void fusion_replica_schedule(struct fusion *fs, u64 ms);

/* How far the replica may be behind. */
u64 fusion_replica_interval_ms(const struct fusion *fs);

/* The word of now is being recorded. The mutex and fs->lock are held. */
void fusion_replica_recorded(struct fusion *fs, u32 lext);

/**
 * fusion_replica_release() - free a slot that is durably released and drained
 * @fs: device
 * @word: the slot
 * @known: the replica durably does not name it
 *
 * It is held first if the replica may name it (INV6). fs->lock held.
 */
void fusion_replica_release(struct fusion *fs, u32 word, bool known);

/* Free what was held before the update, or go on holding it. Takes fs->lock itself. */
void fusion_held_end(struct fusion *fs, bool free);

/* Nobody knows what the replica names: hold all slots that are free. Nothing else runs yet. */
void fusion_held_begin(struct fusion *fs);

/* -- dm-fusion-replica-log.c; the mutex is held ------------------------------------------ */

/* Let the words read until now be those of the durable map, too. Sleeps. Return: 0 or an errno. */
int fusion_replica_wait_for_map(struct fusion *fs);

/* Write the blocks packed so far. Sleeps. Return: 0 or a negative errno. */
int fusion_replica_write_log(struct fusion *fs);

/*
 * Record what is dirty, as far as @keep blocks stay free. The last transaction is left
 * in the buffer. Sleeps. Return: 0, an error, or FUSION_LOG_FULL: there is more.
 */
int fusion_replica_log_dirty(struct fusion *fs, u32 keep);

/* -- dm-fusion-replica.c ----------------------------------------------------------------- */

int fusion_replica_init(struct fusion *fs);
void fusion_replica_exit(struct fusion *fs);

void fusion_do_replica(struct work_struct *work);

/*
 * Bring it up to date and free what was held; if @whole, call no extent away that is not, and
 * try it even if that failed a short time ago.
 * Sleeps. Return: 0 or a negative errno.
 */
int fusion_replica_update(struct fusion *fs, bool whole);

/* The same. @now: even after a failure. The mutex is held. */
int fusion_replica_do_update(struct fusion *fs, bool whole, bool now);

/*
 * What becomes of an update that has been tried: @r is its result, @anew that it began anew after
 * a failure. The mutex is held.
 */
void fusion_replica_end_update(struct fusion *fs, int r, bool anew, u64 started);

/* Write rep->next, after a flush that covers the map set. The mutex is held. */
int fusion_replica_write_super(struct fusion *fs);

/* -- dm-fusion-promote.c ----------------------------------------------------------------- */

/**
 * fusion_replica_promote() - begin to record that extents leave for the fast member
 * @fs: device
 * @lexts: extents of the slow member: first those of a batch, then some that may be next
 * @nr: number of those in the batch
 * @max: of all, up to FUSION_MAX_LEAVING
 *
 * If all of the batch are recorded already, nothing is written.
 * Context: the mover. Return: 0 or a negative errno: they must not take effect.
 */
int fusion_replica_promote(struct fusion *fs, const u32 *lexts, unsigned int nr,
			   unsigned int max);

/*
 * Wait until they are recorded. Return: 0, then fusion_replica_promoted() must follow when
 * the moves have been committed, or were not; or a negative errno: they must not take effect.
 */
int fusion_replica_promote_wait(struct fusion *fs);
void fusion_replica_promoted(struct fusion *fs);

/* -- dm-fusion-replica-open.c ------------------------------------------------------------ */

/* Write a new epoch into the older superblock copy of the slow member. */
int fusion_replica_epoch(struct fusion *fs, u32 epoch);

/* Replace the replica by one of the map as it was loaded. Before any user I/O. */
void fusion_replica_start(struct fusion *fs);

/* No updates any more; one under way, which may wait for a commit, has ended. Sleeps. */
void fusion_replica_pause(struct fusion *fs);

/*
 * While it is paused: write the last update and mark it as such, unless the set failed.
 * No I/O is in flight. Sleeps.
 */
void fusion_replica_stop(struct fusion *fs);

/*
 * After fusion_replica_stop(): it is going to be out of date again. Sleeps. Return: 0, or a
 * negative errno: it may still say that it is up to date, so nothing may be written.
 */
int fusion_replica_resume(struct fusion *fs);

#endif
