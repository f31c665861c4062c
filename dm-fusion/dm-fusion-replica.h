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
 * @mutex: held while the replica is written
 * @log: the replica log; @log.sb is @sb
 * @sb: the slow member's superblock, as it was last written
 * @next: the superblock being written
 * @unsure: writing @next failed, but it may be on the disk
 * @marked: the superblock on the disk says CLEAN, or may say so
 * @restart: the end of the log's chain is unknown: it was not replayed, or a write failed
 * @found_seq: no valid block was found in the log from here on when the set was loaded
 * @again: the other superblock copy may have the geometry from before the set was resized
 * @stale: the content of the replica is not wholly known: the next update writes a map copy
 * @names: the update under way names shadows
 * @point_s: second since 1970 of the last point, or in which the replica began to name shadows
 * @pointing: the update under way is that of a point
 * @point_end: what lets the copies of the point become shadows; NULL: there is none, or it has
 * @next_point_s: second since 1970 of that point
 * @next_point_ms: its ktime
 * @one_txn: what is recorded has to fit into one transaction
 * @pointed: the update under way has recorded the point, in the log or with a map copy
 * @whole: it has recorded all that was dirty when it began
 * @closing: the update under way is the last one of a close, behind all that changes the set
 * @nr: blocks in @log.buf; the last one can take more records
 * @keep: blocks of the log kept free for OPEN extents and promotions
 * @away: bitmap of the extents that the log marks as away
 * @nr_away: bits set in @away
 * @away_ms: ktime since when any bit has been set in @away
 * @bio: the write of a block that marks more extents as away; NULL: none was needed
 * @written: completed when @bio ends
 * @leaving: the extents in that block
 * @nr_leaving: number of extents in @leaving
 * @took_ms: duration of the last update
 * @backoff_ms: pause after the last failure; 0 once a later update of the log succeeds
 *
 * Protected by fs->lock:
 * @active: updates may run
 * @busy: an update is under way
 * @wanted: the next update does not wait until the slow member is used again
 * @failed: the last update failed
 * @tried_ms: ktime when the last update ended
 * @retry_ms: ktime before which a failed update is not retried, unless forced
 * @cur: index of the @held that takes new slots; the update under way frees those of the other
 * @held: bitmaps of free slow slots that the replica may still name
 * @nr_held: bits set in both of @held
 * @dirty: bitmap of extents whose word or bitmap differs from the replica's
 * @nr_dirty: bits set in @dirty
 * @since_ms: ktime since when the fused device has what the replica has not: of the first mark, of
 *	the first write to an extent whose shadow it calls current, or of the start of the last
 *	successful update. Only valid as fusion_replica_since() says
 * @due_ms: ktime for which @work is queued, or U64_MAX
 * @writes: transactions written
 * @sets: map copies written
 * @errors: updates, and records of promotions, that failed
 * @work: the update in the background
 * @wq: queue of @work
 */
struct fusion_replica {
	struct mutex mutex;	/* see "Locks" in dm-fusion.h */
	struct fusion_chain log;
	struct fusion_sb sb;
	struct fusion_sb next;
	bool unsure;
	bool marked;
	bool restart;
	u64 found_seq;
	bool again;
	bool stale;
	bool names;
	u64 point_s;
	bool pointing;
	bool one_txn;
	void (*point_end)(struct fusion *fs, bool usable);
	u64 next_point_s;
	u64 next_point_ms;
	bool pointed;
	bool whole;
	bool closing;
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

/* The word or the bitmap of an extent has changed: mark it dirty. fs->lock held. */
void fusion_replica_mark(struct fusion *fs, u32 lext);

/* Update the replica now, in the background; after a failure, in a second. fs->lock held. */
void fusion_replica_kick(struct fusion *fs);

/*
 * Update the replica in a second, in the background; later if updates would take more than a
 * hundredth of the time. Takes fs->lock itself; any context.
 */
void fusion_replica_soon(struct fusion *fs);

/* Let an update run in @ms, or earlier if one is due by then. fs->lock held. */
void fusion_replica_schedule(struct fusion *fs, u64 ms);

/* ktime in ms since when the replica is out of date; 0: it is not. fs->lock held. */
u64 fusion_replica_since(const struct fusion *fs);

/* How far the replica may lag, in ms. */
u64 fusion_replica_interval_ms(const struct fusion *fs);

/* The current word is being recorded: the extent is clean. The mutex and fs->lock are held. */
void fusion_replica_recorded(struct fusion *fs, u32 lext);

/**
 * fusion_replica_release() - free a slot that is durably released and drained
 * @fs: device
 * @word: the slot
 * @known: the replica durably does not name it
 *
 * The slot is held first if the replica may name it (INV6). fs->lock held.
 */
void fusion_replica_release(struct fusion *fs, u32 word, bool known);

/* Free the slots held before the update, or keep holding them. Takes fs->lock itself. */
void fusion_held_end(struct fusion *fs, bool free);

/* The replica may name any slot: hold all free slow slots. Nothing else runs yet. */
void fusion_held_begin(struct fusion *fs);

/* -- dm-fusion-replica-log.c; the mutex is held ------------------------------------------ */

/* Wait until the words read so far are in the durable map. Sleeps. Return: 0 or an errno. */
int fusion_replica_wait_for_map(struct fusion *fs);

/* Write the blocks packed so far. Sleeps. Return: 0 or a negative errno. */
int fusion_replica_write_log(struct fusion *fs);

/* Does the superblock on the disk say that there may be shadows? */
static inline bool fusion_replica_sb_names(const struct fusion_sb *sb)
{
	return sb->incompat & FUSION_INCOMPAT_SHADOW;
}

/*
 * Record the second of the point, if this is the update of one. Left out if the log has no room for
 * that, or the superblock has it. Sleeps. Return: 0 or a negative errno.
 */
int fusion_replica_log_point(struct fusion *fs);

/*
 * Record dirty extents as long as @keep blocks stay free. The last transaction stays in the
 * buffer. Sleeps. Return: 0, an error, or FUSION_LOG_FULL: more extents are dirty.
 */
int fusion_replica_log_dirty(struct fusion *fs, u32 keep);

/* -- dm-fusion-replica-point.c ----------------------------------------------------------- */

/*
 * Is the update under way to tell the next opening which shadows are current? Then it writes a map
 * copy. The mutex is held, and no bio of a user is in flight, so the answer stays the same.
 */
bool fusion_replica_hands_over(const struct fusion *fs);

/* The update under way names the shadows of a point, which begin here. The mutex is held. */
void fusion_replica_take_point(struct fusion *fs);

/* -- dm-fusion-replica.c ----------------------------------------------------------------- */

/**
 * fusion_replica_point() - name the shadows of a point
 * @fs: device
 * @second: when the point was, in seconds since 1970
 * @ms: the same as a ktime
 * @end: lets its copies become the shadows; or gives them up, if the replica names none
 *
 * No other update comes between that and the one that names them. Context: the mover; sleeps.
 * Return: 0 or a negative errno.
 */
int fusion_replica_point(struct fusion *fs, u64 second, u64 ms,
			 void (*end)(struct fusion *fs, bool usable));

int fusion_replica_init(struct fusion *fs);
void fusion_replica_exit(struct fusion *fs);

void fusion_do_replica(struct work_struct *work);

/*
 * Bring the replica up to date and free held slots. If @whole, also record where the extents
 * marked as away are, and try even if an update failed a short time ago.
 * Sleeps. Return: 0 or a negative errno.
 */
int fusion_replica_update(struct fusion *fs, bool whole);

/* The same. @now: try even after a recent failure. The mutex is held. */
int fusion_replica_do_update(struct fusion *fs, bool whole, bool now);

/*
 * Finish an update that was tried: @r is its result, @anew says that the replica was stale when
 * it began. The mutex is held.
 */
void fusion_replica_end_update(struct fusion *fs, int r, bool anew, u64 started);

/* Write rep->next, after a flush that covers the map copy. The mutex is held. */
int fusion_replica_write_super(struct fusion *fs);

/* Write the superblock as it is, to its other copy. The mutex is held, or nothing else runs. */
int fusion_replica_super_next(struct fusion *fs);

/*
 * Write a whole replica, and then rep->sb with it, which has been changed. Nothing else runs, and
 * no extent is OPEN. Return: 0 or a negative errno.
 */
int fusion_replica_anew(struct fusion *fs);

/* -- dm-fusion-promote.c ----------------------------------------------------------------- */

/**
 * fusion_replica_promote() - begin to record that extents leave their slow slots
 * @fs: device
 * @lexts: extents of the slow member: first those of a batch, then some that may be next
 * @nr: number of extents in the batch
 * @max: number of all extents, up to FUSION_MAX_LEAVING
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

/*
 * Replace the replica with the map as it was loaded, unless fusion_replica_anew() has written that;
 * in the background, unless the slow member has shrunk or did not know its size, or an old member
 * has left. Before any user I/O.
 */
void fusion_replica_start(struct fusion *fs, bool written);

/* Allow no more updates, and wait for one under way, which may wait for a commit. Sleeps. */
void fusion_replica_pause(struct fusion *fs);

/*
 * While the replica is paused: write the last update and mark it CLEAN, unless the set failed.
 * No I/O is in flight. Sleeps.
 */
void fusion_replica_stop(struct fusion *fs);

/*
 * After fusion_replica_stop(): remove the CLEAN mark, as the replica is about to go out of date.
 * Sleeps. Return: 0, or a negative errno: the mark may still be there, so nothing may be written.
 */
int fusion_replica_resume(struct fusion *fs);

#endif
