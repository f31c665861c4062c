/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: the stale list of a set with a landing log, which the slow member has: the blocks of
 * which only the log has the newest version. What is on disk, dm-fusion-stale-format.h says.
 *
 * A run begins about a second after something has got into the log, or has died there. The pause
 * after one is a hundred times as long as it was, up to a minute. No bio, no flush and no commit
 * waits for it to end, with two exceptions: a flush of the slow member beside one of a run, for how
 * that ends; and a place for a segment, if one that the run had yet to write was used meanwhile.
 * Runs are put off while the slow member sleeps. When the set is closed, the last run makes the
 * list exact; without that, the superblock of the slow member does not say CLEAN. Before a reboot
 * it goes without, if the list that was found has not been read by then: that would take longer
 * than the reboot waits, and all that the close does behind it matters more.
 *
 * A block of it that cannot be written keeps the list as it was: it says of when it is (INV23), and
 * is not exact after a close. Nothing else fails, each run tries again, and the statistics tell.
 */
#ifndef DM_FUSION_LAND_STALE_H
#define DM_FUSION_LAND_STALE_H

#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/workqueue.h>

#include "dm-fusion-land-view.h"
#include "dm-fusion-metadata.h"
#include "dm-fusion-stale.h"

struct fusion;

/**
 * struct fusion_stale_place - a list
 * @segno: segment of the copy that counts; 0: it is empty
 * @key: of that segment: its number may be that of one of an earlier log
 * @sum: of its blocks, as in the head
 * @copy: where it is
 * @again: a run that was cut short has written the other copy, so the next run has to
 * @written: the run under way has written the other copy
 */
struct fusion_stale_place {
	u64 segno;
	u64 key;
	u32 sum;
	u8 copy;
	bool again : 1;
	bool written : 1;
};

/**
 * struct fusion_stale - the stale list
 * @fs: device
 * @io: buffer for blocks of the slow member
 * @loaded: what is on the disk is known
 * @bad_heads: a bit for each copy of the head that must not count any more: see
 *	fusion_stale_void_heads()
 * @headless: the lists of @next are durable; its head may be on the disk or not
 * @head: the head that counts
 * @next: the head of the run under way
 * @last_run: the highest number of a run that may be on the disk
 * @place: lists, as they count
 * @listed: as @live of the landing log: what they have
 * @taken: lists, as the run under way has found the log
 * @view: what that is made of: the segments, and the bits of their entries
 * @entry: scratch: entries of a block of a list
 * @seen: scratch for the reading of what is on the disk
 * @until_ms: ktime until when what is on the disk may be read; 0: it takes the time it takes
 * @exact: the last run was that of a close
 * @work: a run
 * @wq: queue of @work
 *
 * Under fs->lock:
 * @active: runs may begin
 * @failed: the last run has failed
 * @since_ms: ktime since when the log has what is in no list; 0: it has nothing
 * @pause_ms: until the next run, once there is something to do
 * @runs: number of runs so far
 * @errors: of these, how many have failed
 */
struct fusion_stale {
	struct fusion *fs;
	struct fusion_chain io;
	bool loaded;
	u32 bad_heads;
	bool headless;
	struct fusion_stale_head head;
	struct fusion_stale_head next;
	u64 last_run;
	struct fusion_stale_place *place;
	u8 *listed;
	struct fusion_stale_list *taken;
	struct fusion_land_view view;
	struct fusion_stale_entry *entry;
	struct fusion_stale_seen *seen;
	u64 until_ms;
	bool exact;
	struct delayed_work work;
	struct workqueue_struct *wq;

	bool active;
	bool failed;
	u64 since_ms;
	u32 pause_ms;
	u64 runs;
	u64 errors;
};

/* Something has got into the log, or has died there. fs->lock held; @s may be NULL. */
static inline void fusion_stale_soon(struct fusion_stale *s)
{
	if (!s || !s->active)
		return;
	if (!s->since_ms)
		s->since_ms = ktime_to_ms(ktime_get());
	queue_delayed_work(s->wq, &s->work, msecs_to_jiffies(s->pause_ms));
}

/* Has the list of a set that is being closed all that there is? @s may be NULL. */
static inline bool fusion_stale_exact(const struct fusion_stale *s)
{
	return !s || s->exact;
}

/* Seconds since when the log has what is in no list; 0: nothing. Without a lock; may be NULL. */
static inline u64 fusion_stale_unlisted_s(const struct fusion_stale *s)
{
	const u64 since = s ? READ_ONCE(s->since_ms) : 0;

	return since ? div_u64(ktime_to_ms(ktime_get()) - since + MSEC_PER_SEC - 1,
			       MSEC_PER_SEC) : 0;
}

/* Has the last run failed? Without a lock; may be NULL. */
static inline bool fusion_stale_failed(const struct fusion_stale *s)
{
	return s && READ_ONCE(s->failed);
}

/* Allocate it, if the set has one. Return: 0 or -ENOMEM; fusion_stale_exit() must follow. */
int fusion_stale_init(struct fusion *fs);
void fusion_stale_exit(struct fusion *fs);

/* The set is open: there may be runs. fusion_stale_stop() ends that. */
void fusion_stale_start(struct fusion *fs);

/*
 * The set is being closed, and the log does not change any more: the last run. Sleeps. After an
 * error the list is not exact.
 */
void fusion_stale_stop(struct fusion *fs);

/* -- dm-fusion-land-stale-read.c: only for runs ------------------------------------------- */

/* Read or write blocks of the slow member, from or into the first ones of the buffer. */
int fusion_stale_rw(struct fusion_stale *s, enum req_op op, u64 blocknr, u32 nr);

/* The bits of a list, in @listed or those of @view. */
u8 *fusion_stale_bits(const struct fusion_stale *s, u8 *bitmaps, u32 place);

/*
 * Find out what is on the disk. If there is a head, it is in @next, and has to be written once
 * more: @headless. Return: 0, or -EINTR: it takes too long.
 */
int fusion_stale_load(struct fusion_stale *s);

#endif
