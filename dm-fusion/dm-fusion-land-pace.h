/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: the pace of writes into the landing log while much of it is in use, and the order in
 * which its blocks are drained then. dm-fusion-land-pace.c is called by map(), the worker, commits
 * and the mover, dm-fusion-land-sweep.c by the mover alone.
 */
#ifndef DM_FUSION_LAND_PACE_H
#define DM_FUSION_LAND_PACE_H

#include <linux/bio.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct fusion;
struct fusion_io;
struct fusion_land;

/**
 * struct fusion_land_pace - the pace
 * @allowed: the mover runs, in mode RW
 * @on: a write that may not get into the log now waits, and does not go past it
 * @limit: the position of the log from which on a write waits; see fusion_pace_at()
 * @part: a part of a position, in 1/256, by which @limit will rise
 * @free: positions that were free at the last look
 * @waiting: writes that wait, in the order in which they came
 * @nr_waiting: how many
 * @nr_waited: how many have begun to wait since the set was loaded
 * @admitted_ms: ktime at which some of these have gone on last
 * @gained_ms: ktime at which the drain has last got on, or the first of @waiting began to wait
 * @pressed: the mover's: writers wait for the drain, until it has caught up
 * @rest_ms: the mover's: ktime until which nothing is drained for them if none waits
 * @work: looks after @waiting
 * @wq: queue of @work
 *
 * Under land.lock, and changed under fs->lock as well, but for @limit in map().
 */
struct fusion_land_pace {
	bool allowed;
	bool on;
	s64 limit;
	u32 part;
	u64 free;
	struct bio_list waiting;
	u32 nr_waiting;
	u64 nr_waited;
	u64 admitted_ms;
	u64 gained_ms;
	bool pressed;
	u64 rest_ms;
	struct delayed_work work;
	struct workqueue_struct *wq;
};

/* A block that is next, and where it goes to, or did when it was found. */
struct fusion_swept {
	u64 to;
	u32 lext;
	u32 block;
};

/**
 * struct fusion_land_sweep - where the drain is on its way over the slow member; the mover's
 * @from: the sector from which on blocks are next
 * @end: of segments with lower numbers; 0: to be found
 * @list: the next blocks, in order
 * @max: how many there may be
 * @nr: how many were found
 * @next: the first one that has not had its turn
 * @list_end: of the segments that these were in
 */
struct fusion_land_sweep {
	u64 from;
	u64 end;
	struct fusion_swept *list;
	u32 max;
	u32 nr;
	u32 next;
	u64 list_end;
};

struct fusion_drained;

/* -- dm-fusion-land-pace.c ----------------------------------------------------------------- */

/* Return: 0 or -ENOMEM; fusion_pace_exit() must follow in any case. */
int fusion_pace_init(struct fusion *fs);
void fusion_pace_exit(struct fusion *fs);

/* From now on writes may wait. Context: process, no lock. */
void fusion_pace_start(struct fusion *fs);

/*
 * None waits any more, and those that have waited go on: the mover stops, the mode is no longer RW,
 * or the log is broken. fs->lock held; fusion_pace_end(): land.lock as well.
 */
void fusion_pace_stop(struct fusion *fs);
void fusion_pace_end(struct fusion *fs);

/* May a write get into the log now, as far as its pace is concerned? land.lock held. */
bool fusion_pace_may(const struct fusion *fs, const struct fusion_io *io);

/* It has got @nr positions. land.lock held. */
void fusion_pace_took(struct fusion *fs, struct fusion_io *io, u32 nr);

/* It has got none: does it wait for some, rather than go past the log? land.lock held. */
bool fusion_pace_waits(const struct fusion *fs, const struct fusion_io *io);

/* The bio got FUSION_PACED. Context: the worker. Return: false if it has to look again. */
bool fusion_pace_wait(struct fusion *fs, struct bio *bio);

/* Segments have become free, or have been opened. fs->lock held. */
void fusion_pace_look(struct fusion *fs);

/* The drain has copied @nr blocks. Context: process, no lock. */
void fusion_pace_credit(struct fusion *fs, u32 nr);

/* Do writers wait for the drain, or will they soon? Context: the mover. */
bool fusion_pace_pressed(struct fusion *fs);

/* Does any wait? fs->lock held. */
static inline bool fusion_pace_any(const struct fusion_land_pace *pace)
{
	return !bio_list_empty(&pace->waiting);
}

/* -- dm-fusion-land-sweep.c; the mover ------------------------------------------------------- */

/*
 * The lowest number of a segment that has entries: *@segno, which is behind those that count. It
 * looks at some at a time, as there may be 100,000. Sleeps. Return: is there one?
 */
bool fusion_drain_oldest(struct fusion *fs, u64 *segno);

/*
 * Where does the block at a position with an entry go to? Both locks held. Return: false if it
 * cannot be taken now, counted in @counts.
 */
bool fusion_drain_to(const struct fusion *fs, u32 pos, u64 *to, struct fusion_drained *counts);

/* Return: 0 or -ENOMEM; fusion_sweep_exit() must follow in any case. */
int fusion_sweep_init(struct fusion_land *land);
void fusion_sweep_exit(struct fusion_land *land);

/*
 * Find the next blocks on the way over the slow member, of segments with numbers below @end. Counts
 * in @counts those that cannot be drained. Sleeps.
 */
void fusion_sweep(struct fusion *fs, u64 end, struct fusion_drained *counts);

/* Up to @max of these, which have not had their turn: it is theirs. Return: how many. */
u32 fusion_swept(struct fusion_land *land, u32 max, const struct fusion_swept **next);

/*
 * Where is such a block now? land->lock held. Return: its position, or FUSION_LAND_NONE: it is not
 * in a segment with a number below @end any more.
 */
u32 fusion_swept_pos(const struct fusion_land *land, const struct fusion_swept *one, u64 end);

#endif
