/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: access statistics and the choice of what to move.
 *
 * The policy only advises. It sees the map words and one heat word per extent,
 * and hands out moves; the migration engine carries them out and may drop any.
 * Pure code: no I/O, no sleeping, no clock of its own (the owner calls
 * fusion_policy_tick()), so the same source runs in unit tests and replays of
 * recorded loads.
 *
 * Concurrency: fusion_policy_touch() is called from map() on every CPU without a
 * lock, and is lossy by design: two touches at once may count as one.
 * fusion_policy_heat() and fusion_policy_forget() may be called from any context. All
 * the other functions are called by one thread at a time, the migration worker.
 *
 * Units of heat: a small access is 4; at most one access counts in 250 ms. What
 * happened a half-life ago counts half.
 */
#ifndef DM_FUSION_POLICY_H
#define DM_FUSION_POLICY_H

#include "dm-fusion-codec.h"

/* A heat word: what one extent has seen. */
#define FUSION_HEAT_SHIFT	16	/* 31..16 heat, 15..8 epoch of decay, 7..0 tick */
#define FUSION_HEAT_MAX		0xffffU

/* What a small access weighs: a quarter is the least that counts. */
#define FUSION_HEAT_TOUCH	4U

/* Buckets of a histogram of heat: 0..7, then 8 to each power of two. */
#define FUSION_BUCKETS		112U

/* Bios at least this big are streams, which the slow member is good at: they weigh nothing. */
#define FUSION_STREAM_SECTORS	512U

/* Places for streams; of four times as many as there are streams few are taken twice. */
#define FUSION_STREAM_BITS	8U

/**
 * struct fusion_streams - where streams would go on
 * @at: by a hash of that place
 *
 * One for each CPU, so that none shares a cache line; all zeros to begin with. A stream whose
 * bios change the CPU starts over there.
 */
struct fusion_streams {
	struct fusion_stream {
		u32 next;	/* sector, modulo 2^32 */
		u32 run;	/* sectors so far, at most some MiB; 0: none */
	} at[1U << FUSION_STREAM_BITS];
};

/* For whom an access is. */
enum fusion_urgency {
	FUSION_BACKGROUND,	/* idle I/O class: counts for nothing */
	FUSION_NORMAL,
	FUSION_URGENT,		/* metadata of a file system: counts twice */
};

/**
 * fusion_weigh() - what an access counts
 * @streams: this CPU's; who is moved to another one meanwhile does no harm
 * @sector: first sector on the device
 * @sectors: number of them, more than 0
 * @urgency: for whom it is
 *
 * A small one counts 4, larger ones less; those of 256 KiB and more, and what goes on from
 * there when 1 MiB has come one after another, nothing.
 *
 * Context: any; lockless, lossy. Return: heat, 0..8, for fusion_policy_touch().
 */
unsigned int fusion_weigh(struct fusion_streams *streams, u64 sector, u32 sectors,
			  enum fusion_urgency urgency);

struct fusion_policy;

/* One advised move. */
struct fusion_move {
	u32 lext;
	enum fusion_dev to;
	bool hold;		/* the owner's: its writes are held from the start of a batch */
};

/* The most moves in a batch that writes may wait for. */
#define FUSION_SHORT_BATCH	4U

/* What the owner knows when it asks for moves. */
struct fusion_policy_env {
	u32 free_fast;		/* free slots, spares and slots of moves begun not counted */
	u32 free_slow;
	u32 reserve;		/* free_fast to restore when idle */
	bool idle;		/* no foreground I/O for the idle time */
};

enum fusion_outcome {
	FUSION_MOVED,
	FUSION_CANCELLED,	/* a write came in between; no bar to a retry when idle */
	FUSION_FAILED,		/* I/O error */
	FUSION_SKIPPED,		/* no longer where it was, or no slot free */
};

/**
 * fusion_policy_create() - allocate a policy
 * @map: live map words, read with READ_ONCE()
 * @nr_lexts: number of them
 * @nr_fast: fast data slots
 *
 * Memory: 4 bytes per extent and a constant. Return: policy, or NULL without memory.
 */
struct fusion_policy *fusion_policy_create(const u32 *map, u32 nr_lexts, u32 nr_fast);
void fusion_policy_destroy(struct fusion_policy *p);

/* Set the half-life of heat, 1..604800 seconds; 3600 after creation. */
void fusion_policy_set_half_life(struct fusion_policy *p, u32 seconds);

/**
 * fusion_policy_tick() - tell the policy the time
 * @p: policy
 * @now_ms: since the device was opened
 *
 * Call it at 4 to 20 Hz while there is I/O, since accesses between two calls count once,
 * and at any rate when there is none; also while migration is off. It goes through a
 * slice of the extents, 16384 at most, to age heat words and to measure how heat is
 * distributed.
 */
void fusion_policy_tick(struct fusion_policy *p, u64 now_ms);

/**
 * fusion_policy_accesses() - tell the policy what accesses cost a device
 * @p: policy
 * @dev: device
 * @busy_us: time in which it was busy, microseconds, below 2^40
 * @nr: random accesses it served in that time, below 2^24
 *
 * Only of times in which it served nothing else.
 */
void fusion_policy_accesses(struct fusion_policy *p, enum fusion_dev dev, u64 busy_us, u32 nr);

/* The same of moves: time that the slow member was busy with @nr of them, at most 64. */
void fusion_policy_moves(struct fusion_policy *p, u64 busy_us, u32 nr);

/* Tell the policy that the set was in use for so long, in microseconds, since the last time. */
void fusion_policy_used(struct fusion_policy *p, u32 us);

/* Heat that a swap must gain now, when the set is not idle. Context: any. */
u32 fusion_policy_pay(const struct fusion_policy *p);

/**
 * fusion_policy_touch() - count one access
 * @p: policy
 * @lext: extent, below nr_lexts
 * @weight: what fusion_weigh() says, more than 0
 *
 * Context: any; lockless, one read and at most one write of one heat word.
 */
void fusion_policy_touch(struct fusion_policy *p, u32 lext, unsigned int weight);

/* Heat of an extent now, decayed: 0..FUSION_HEAT_MAX. Context: any. */
u32 fusion_policy_heat(const struct fusion_policy *p, u32 lext);

/* The bucket of a heat, below FUSION_BUCKETS, and the least heat in it. */
u32 fusion_policy_bucket(u32 heat, u32 *least);

/* Set the heat, when it is loaded from disk; before any touch. */
void fusion_policy_set_heat(struct fusion_policy *p, u32 lext, u32 heat);

/* Forget an extent that was discarded. Context: any. */
void fusion_policy_forget(struct fusion_policy *p, u32 lext);

/**
 * fusion_policy_pick() - what should move next?
 * @p: policy
 * @env: state of the device
 * @moves: result
 * @max: room in it, at most 64
 *
 * First promotions, hottest first, while free_fast exceeds the reserve. Then pairs of a
 * demotion and the promotion it makes room for, demotion first; the policy counts on
 * both or neither being carried out. Then, when env->idle and free_fast is below the
 * reserve, demotions of the coldest by ascending extent number. Pairs come also when
 * neither device has a free slot: the spares serve them.
 *
 * STABLE extents only; never the same extent twice in one answer. The owner calls
 * fusion_policy_done() once for each move, and before it picks again has made its extent
 * other than STABLE or has reported it. Looks at a bounded number of extents and goes on
 * from there at the next call, so 0 means that nothing is known to be worth moving now:
 * ask again after the next tick.
 */
unsigned int fusion_policy_pick(struct fusion_policy *p, const struct fusion_policy_env *env,
				struct fusion_move *moves, unsigned int max);

/**
 * fusion_policy_batch() - which of these moves should go together?
 * @moves: those of a pick, or what is left of it; the ones to go come first afterwards
 * @nr: number of them, more than 0
 *
 * What a batch costs besides its copies, four waits for the slow member, is the same for any
 * number, so it is as large as it may be; but short if somebody may wait for the end of it: so
 * moves with @hold go first, in short batches, and then all others. Pairs stay pairs.
 *
 * Return: number of moves in this batch.
 */
unsigned int fusion_policy_batch(struct fusion_move *moves, unsigned int nr);

/*
 * Extents of the slow member that may be promoted next, hottest first, up to @max: what
 * pick() would choose from. Return: their number.
 */
unsigned int fusion_policy_next(struct fusion_policy *p, u32 *lexts, unsigned int max);

/* Extents that a scan for room on request keeps. */
#define FUSION_VICTIMS		64U

/**
 * struct fusion_victims - extents that may leave a device so that others get their room
 * @dev: where room is needed
 * @first: extents from here on stay where they are
 * @last: up to here
 * @nr: number of those found, best first
 * @held: extents passed over because their last move was cancelled or failed a short time ago
 * @best: the extents, and what speaks against each
 */
struct fusion_victims {
	enum fusion_dev dev;
	u32 first;
	u32 last;
	u32 nr;
	u32 held;
	struct {
		u32 lext;
		u32 cost;
	} best[FUSION_VICTIMS];
};

/**
 * fusion_policy_victims() - which extents should make room on request?
 * @p: policy
 * @v: result of a scan that goes through all extents in slices; @v->nr and @v->held are 0 before
 * @from: first extent of this slice
 * @end: the first behind it
 *
 * Of the fast member the coldest, those promoted within the last minute after all others; of the
 * slow one the hottest. STABLE and OPEN extents: the owner has to complete the latter first.
 */
void fusion_policy_victims(const struct fusion_policy *p, struct fusion_victims *v, u32 from,
			   u32 end);

/*
 * What became of an advised move. Call it for a demotion when free_fast counts the slot
 * that it left, else the policy may refill the reserve twice. An extent that was cancelled
 * or failed is left alone for a while, twice as long each time.
 */
void fusion_policy_done(struct fusion_policy *p, const struct fusion_move *move,
			enum fusion_outcome outcome);

/* -- the mover, in the kernel and in fusionctl simulate ---------------------------------- */

/* It looks at what there is to do so often. */
#define FUSION_TICK_MS		100U
/* Most moves of a batch. */
#define FUSION_BATCH		16U
/* Cancels of one extent after which its writes are held, and extents of which they are known. */
#define FUSION_MAX_CANCELS	2U
#define FUSION_CANCELS		64U
/* Longest pause between batches while others use the device. */
#define FUSION_MAX_PAUSE_MS	60000U
/* Most I/Os at the slow member that are thought of, and commands that a copy has there. */
#define FUSION_MAX_QUEUE	4096U
#define FUSION_COPY_QUEUE	2U
/* Most extents that the replica records at once as away: a block has room for them. */
#define FUSION_MAX_LEAVING	128U
/* Longest time between two looks that tells what accesses cost. */
#define FUSION_MAX_LOOK_US	1000000U

/*
 * The order in which copies are made: those that have started first, in the order of the slow
 * member. Return: as a comparison of sort().
 */
static inline int fusion_copy_order(bool started_a, u32 slow_slot_a, bool started_b,
				    u32 slow_slot_b)
{
	if (started_a != started_b)
		return started_a ? -1 : 1;
	if (!started_a || slow_slot_a == slow_slot_b)
		return 0;
	return slow_slot_a < slow_slot_b ? -1 : 1;
}

#endif
