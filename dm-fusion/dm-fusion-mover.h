/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: migration: how the device is used, the budget, batches, moves on request, the mover.
 */
#ifndef DM_FUSION_MOVER_H
#define DM_FUSION_MOVER_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "dm-fusion-codec.h"
#include "dm-fusion-home.h"
#include "dm-fusion-pin.h"
#include "dm-fusion-policy.h"

struct fusion;

/* Sums of the counters at one look, and its time. */
struct fusion_look {
	u64 us;
	u64 ios[FUSION_NR_DEVS];
	u64 done[FUSION_NR_DEVS];
	u64 writes;		/* of @ios, to both members */
	u64 unweighed;
};

/* Why a move on request gets no room. */
enum fusion_obstacle {
	FUSION_NO_OBSTACLE,
	FUSION_RANGE_FILLS,		/* the member is full of extents that must stay there */
	FUSION_VICTIMS_BUSY,		/* extents that should leave could not be moved */
	FUSION_NO_SPARE,		/* the other member has no slot left, not even a spare */
};

/* What is asked of the mover. */
enum fusion_force_kind {
	FUSION_MOVE,			/* move a range of extents to a member */
	FUSION_EVACUATE,		/* move extents out of the fence: the mover's own request */
	FUSION_FENCE,			/* put up a fence */
	FUSION_NO_FENCE,		/* take it down */
	FUSION_HOME,			/* bring extents home: the mover's own request */
	FUSION_HOMING,			/* turn homing on */
	FUSION_NO_HOMING,		/* and off */
	FUSION_SETTLE,			/* complete partial extents, until few are left */
	FUSION_POINT,			/* make a point */
	FUSION_DRAIN,			/* copy all of the landing log to the slow member */
};

/* A request: a range of extents, or the slots of a fence, which are on the member @to. */
struct fusion_force {
	struct list_head list;		/* on fs->mover.forced, under fs->lock */
	struct completion done;
	enum fusion_force_kind kind;
	u32 next;
	u32 last;
	enum fusion_dev to;
	bool fenced;			/* only the mover's: nobody gets the slots of this batch */
	const struct fusion_move *rest;	/* only the mover's: taken too, but there is no room yet */
	unsigned int nr_rest;
	bool zero;			/* of homing */
	u64 segno;			/* of a drain: the first segment behind it; 0: not begun */
	bool off;			/* of a drain: turn the log off first */
	u32 moved;
	u32 already;
	u32 unmapped;
	u32 failed;
	struct fusion_victims victims;	/* only the mover's: extents that make room */
	u32 next_victim;
	u32 vain;			/* times in a row that no victim could be moved */
	enum fusion_obstacle obstacle;	/* no room can be made any more */
	bool abandoned;			/* the requesting process was interrupted */
	int result;
};

/* A move under way, in a batch. */
struct fusion_job {
	struct fusion_move move;
	u32 old;		/* STABLE word before */
	u32 new;		/* STABLE word after; unmapped: no slot */
	enum fusion_outcome outcome;
	u32 merged;		/* blocks that were laid over the copy: dm-fusion-land-moves.c */
	u64 laid;		/* up to this number in the log; the same */
	bool started;		/* WATCHED or LOCKED was set */
	bool copied;		/* or its shadow is current */
	bool flips;		/* it goes to its shadow */
	bool shadows;		/* the copy becomes its shadow: dm-fusion-refresh.c */
	bool retire;		/* the new slot could not be written */
};

/**
 * struct fusion_seal - a set that is closed before a reboot: dm-fusion-close.c
 * @work: does that
 * @point: the point that comes before it
 * @on: writes are held, and not by the heartbeat. Under fs->lock
 * @flushed: all that was acknowledged is durable, and the set closed. Under fs->lock
 * @over: @work has ended
 */
struct fusion_seal {
	struct work_struct work;
	struct fusion_force point;
	bool on;
	bool flushed;
	bool over;
};

/* Moves and their jobs: too large for the stack. */
struct fusion_move_batch {
	struct fusion_move moves[FUSION_LONG_BATCH];
	struct fusion_job jobs[FUSION_LONG_BATCH];
};

/**
 * struct fusion_mover - migration; used only by the mover unless said otherwise
 * @work: the mover
 * @pieces: of what it copies: dm-fusion-pieces.h
 * @wq: queue of @work
 * @forced: moves on request; under fs->lock
 * @stopping: no new moves are started
 * @opened_ms: ktime of activation, for the policy's clock
 * @look: the last look at the counters
 * @look_usable: no batch has run since @look
 * @last_busy_ms: ktime of the last look that found foreground I/O
 * @next_batch_ms: ktime before which no batch starts under foreground I/O
 * @waited_us: time that the batch under way has waited for the replica
 * @queue: foreground I/Os at the slow member, summed over looks
 * @queue_looks: number of those looks
 * @slow_ios: sum of the slow member's stats at the last look
 * @slow_used_ms: ktime of the last look that found @slow_ios changed
 * @budget: bytes that promotions may write now; negative: a debt
 * @budget_ms: ktime when it was last refilled
 * @copied_fast: extents copied to the fast member
 * @slow_asleep: the slow member was unused for opt.standby: let it rest
 * @promotions: number so far
 * @demotions: number so far
 * @evacuated: number of extents that have left the fence so far
 * @cancelled: number of moves that a write has cancelled so far
 * @batch: the moves that the mover makes now
 * @room: those that make room for them
 * @in_flight: slots taken for moves; under fs->lock
 * @nr_retired: slots lost to write errors
 * @homing: every extent goes to its home: dm-fusion-home.h
 * @pins: extents that belong on a certain member: dm-fusion-pin.h
 * @cancels: recent cancels, a small table indexed by extent
 */
struct fusion_mover {
	struct delayed_work work;
	struct fusion_pieces *pieces;
	struct workqueue_struct *wq;
	struct list_head forced;
	bool stopping;
	u64 opened_ms;
	struct fusion_look look;
	bool look_usable;
	u64 last_busy_ms;
	u64 next_batch_ms;
	u64 waited_us;
	u32 queue;
	u32 queue_looks;
	u64 slow_ios;
	u64 slow_used_ms;
	s64 budget;
	u64 budget_ms;
	u64 copied_fast;
	bool slow_asleep;
	u64 promotions;
	u64 demotions;
	u64 evacuated;
	u64 cancelled;
	struct fusion_move_batch batch;
	struct fusion_move_batch room;
	u32 in_flight;
	u32 nr_retired;
	struct fusion_homing homing;
	struct fusion_pinning pins;
	struct {
		u32 lext;
		u8 nr;
	} cancels[FUSION_CANCELS];
};

/* -- dm-fusion-usage.c; the mover --------------------------------------------------------- */

/* Tick of the policy, during a batch as well: accesses between two ticks count once. */
void fusion_mover_tick(struct fusion *fs);

/*
 * Look for foreground I/O since the last look, or in flight. Return: ms without foreground I/O.
 */
u64 fusion_idle_ms(struct fusion *fs);
bool fusion_is_idle(struct fusion *fs);

/*
 * Look for foreground I/O of the slow member since the last look. If there is none for
 * opt.standby, its motor may have stopped. Then moves by policy leave it alone, and so do
 * zero-fills and updates of the replica that can come later.
 */
void fusion_look_at_slow(struct fusion *fs);

/* -- dm-fusion-budget.c; the mover -------------------------------------------------------- */

void fusion_budget_init(struct fusion *fs, u64 now_ms);

/* Add the budget for the time since the last call; options are read here. */
void fusion_budget_refill(struct fusion *fs, u64 now_ms);

/* An extent was copied to the fast member. */
void fusion_budget_spend(struct fusion *fs);

/* May copies of what is read write so many bytes? Any context. */
bool fusion_budget_copies(const struct fusion *fs, u64 bytes);

/* Extents that the policy may promote now; 0 or less: none. */
s64 fusion_budget_extents(const struct fusion *fs);

/* Bytes that promotions may write now; also 0 if there is no budget. Context: any. */
u64 fusion_budget_left(const struct fusion *fs);

/* -- dm-fusion-copy.c; the mover ---------------------------------------------------------- */

/**
 * fusion_copy_jobs() - copy the extents of a batch
 * @fs: device
 * @jobs: those that have started; their outcomes
 * @nr: number of jobs
 * @force: the request that wants them, or NULL: the policy
 * @idle_only: leave them for later on foreground I/O
 *
 * A copy whose extent was written to or discarded before it began is cancelled. Afterwards none is
 * under way. Context: the mover; sleeps.
 */
void fusion_copy_jobs(struct fusion *fs, struct fusion_job *jobs, unsigned int nr,
		      const struct fusion_force *force, bool idle_only);

/* -- dm-fusion-batch.c; the mover --------------------------------------------------------- */

/* Times in a row that moves of an extent were cancelled. A collision only resets the count. */
u8 *fusion_cancels(struct fusion *fs, u32 lext);

/**
 * fusion_migrate() - carry out moves, in batches
 * @fs: device
 * @moves: the moves; reordered
 * @jobs: room for @nr jobs; their outcomes
 * @nr: number of moves
 * @force: the request that wants them, or NULL: the policy
 * @idle_only: they were chosen because the fused device is idle
 *
 * Context: the mover; sleeps. Return: batches.
 */
unsigned int fusion_migrate(struct fusion *fs, struct fusion_move *moves,
			    struct fusion_job *jobs, unsigned int nr,
			    const struct fusion_force *force, bool idle_only);

/*
 * The same in the background: then the next batch waits as duty says, unless the device is idle
 * as it was before. Sets *@used to the time of the slow member that was used, in us.
 */
unsigned int fusion_migrate_paced(struct fusion *fs, struct fusion_move *moves,
				  struct fusion_job *jobs, unsigned int nr,
				  const struct fusion_force *force, bool idle, u64 *used);

/*
 * What is to be paced begins. Return: the time, in us; and later, how long it has used the slow
 * member since.
 */
u64 fusion_pace_begin(struct fusion *fs);
u64 fusion_pace_used(const struct fusion *fs, u64 start);

/* The next batch waits as duty says, after this one has used the slow member for @us. */
void fusion_pace(struct fusion *fs, u64 us);

/* Return: the ktime, in ms, until which a batch would wait for that. */
u64 fusion_pace_until(const struct fusion *fs, u64 us);

/*
 * The most moves in a batch that was asked for. @idle: there is no foreground I/O. Then the wait
 * for a commit is what costs, so more extents share it, up to 64 MiB.
 */
unsigned int fusion_requested_batch(const struct fusion *fs, bool idle);

/*
 * The most moves in a batch, up to @max. If few slots are left besides the spares, first writes
 * wait for the slots that moves have taken, so batches are short. fs->lock held.
 */
unsigned int fusion_longest_batch(const struct fusion *fs, unsigned int max);

/* -- dm-fusion-forced.c ------------------------------------------------------------------ */

/* The first request, or NULL; make some moves for it; end it. Context: the mover. */
struct fusion_force *fusion_first_forced(struct fusion *fs);
void fusion_run_forced(struct fusion *fs, struct fusion_force *force);
void fusion_end_forced(struct fusion *fs, struct fusion_force *force, int result);

/* Make an OPEN extent STABLE, so that it can be moved. Context: the mover. */
void fusion_settle(struct fusion *fs, u32 lext);

/*
 * Complete the oldest partial extents until FUSION_JOIN_OPENS are left. Context: the mover. Return:
 * 0; -EIO: more than these cannot be completed; -EAGAIN: there are always new ones, or the mover
 * stops; -ERESTARTSYS: the process that asked for it, by @force, was interrupted.
 */
int fusion_settle_most(struct fusion *fs, const struct fusion_force *force);

/*
 * Move a range and wait until it is moved, or let the mover carry out another request;
 * interruptible. Fills in the counts of @force.
 */
int fusion_force(struct fusion *fs, struct fusion_force *force);

/* -- dm-fusion-evacuate.c; the mover ------------------------------------------------------ */

/*
 * Put up the fence that @force asks for. Return: 0, -EBUSY: there is one, -ENOSPC: too few slots
 * are free outside, or -EIO: the mode is no longer RW. Sleeps.
 */
int fusion_put_up_fence(struct fusion *fs, const struct fusion_force *force);
int fusion_take_down_fence(struct fusion *fs);

/* Raise an event when the fence has become empty. */
void fusion_look_at_fence(struct fusion *fs);

/* Is there an extent that has to leave, and is it time to try to move one? */
bool fusion_evacuation_due(struct fusion *fs);

/* Move some of these. Sleeps. Return: was any move tried? */
bool fusion_evacuate(struct fusion *fs);

/* -- dm-fusion-mover.c ------------------------------------------------------------------- */

/*
 * Count the free slots for the policy; @env->reserve is that of the set before. Return: the most
 * moves that may be under way. Each move takes a slot, and a pair takes one on each member; a small
 * set has few spares. Context: any; fs->lock held.
 */
unsigned int fusion_look_at_slots(const struct fusion *fs, struct fusion_policy_env *env);

int fusion_migrate_init(struct fusion *fs);
void fusion_migrate_exit(struct fusion *fs);
void fusion_migrate_start(struct fusion *fs);

/* Finish the batch under way and stop; forced moves end with -EAGAIN. Sleeps. */
void fusion_migrate_stop(struct fusion *fs);

#endif
