/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: access statistics and the choice of what to move.
 *
 * The policy only advises. It sees the map words and one heat word per extent, and proposes moves.
 * The mover carries them out, and may drop any of them. Pure code: no I/O, no sleeping, no clock
 * of its own (the owner calls fusion_policy_tick()). So the same source runs in unit tests and in
 * fusionctl simulate.
 *
 * Concurrency: map() calls fusion_policy_touch() on every CPU without a lock. It is lossy by
 * design: two simultaneous touches may count as one. fusion_policy_heat() and
 * fusion_policy_forget() may be called from any context. Only one thread at a time, the worker of
 * the mover, calls the other functions.
 *
 * Units of heat: a small access counts 4, and at most one access counts in 250 ms. An access a
 * half-life ago counts half.
 */
#ifndef DM_FUSION_POLICY_H
#define DM_FUSION_POLICY_H

#include "dm-fusion-codec.h"
#include "dm-fusion-stream.h"

/* The layout of a heat word, the record of accesses to one extent. */
#define FUSION_HEAT_SHIFT	16	/* 31..16 heat, 15..8 epoch of decay, 7..0 tick */
#define FUSION_HEAT_MAX		0xffffU

/* Buckets of a histogram of heat: 0..7, then 8 for each power of two. */
#define FUSION_BUCKETS		112U

struct fusion_policy;

/* One advised move. */
struct fusion_move {
	u32 lext;
	enum fusion_dev to;
	bool hold;		/* set by the owner: writes are held from the start of a batch */
	bool flips;		/* its shadow was current: it is not worth a copy */
	bool pinned;		/* to the slow member, where it goes: it needs no other reason */
	u32 slot;		/* of the owner's own moves, if they go to a certain slot */
};

/* The most moves in a batch that writes may wait for. */
#define FUSION_SHORT_BATCH	4U

/* State of the set when the owner asks for moves. */
struct fusion_policy_env {
	u32 free_fast;		/* free slots, without spares and slots of moves in progress */
	u32 free_slow;
	u32 reserve;		/* free_fast to restore: without copies, or when idle */
	bool idle;		/* no foreground I/O for the idle time */
	unsigned int most;	/* moves, if those beyond the maximum copy nothing */
	bool spent;		/* no promotion is possible: pinned extents do not ask for any */
};

enum fusion_outcome {
	FUSION_MOVED,
	FUSION_CANCELLED,	/* by a write; it may be tried again when idle */
	FUSION_FAILED,		/* I/O error */
	FUSION_SKIPPED,		/* no longer where it was, or no slot free */
};

/**
 * fusion_policy_create() - allocate a policy
 * @map: live map words, read with READ_ONCE()
 * @nr_lexts: number of map words
 * @nr_fast: number of fast data slots
 *
 * Memory: 4 bytes per extent and a constant. Return: policy, or NULL if memory is short.
 */
struct fusion_policy *fusion_policy_create(const u32 *map, u32 nr_lexts, u32 nr_fast);
void fusion_policy_destroy(struct fusion_policy *p);

/* Set the half-life of heat, 1..604800 seconds; 3600 after creation. */
void fusion_policy_set_half_life(struct fusion_policy *p, u32 seconds);

/**
 * fusion_policy_tick() - tell the policy the time
 * @p: policy
 * @now_ms: milliseconds since the device was opened
 *
 * Call it at 4 to 20 Hz while there is I/O, because accesses between two calls count once. Without
 * I/O any rate will do. Call it also while migration is off. It visits a part of the extents, 512
 * Ki at most, to age heat words and to measure how heat is distributed.
 *
 * Context: process, may sleep.
 */
void fusion_policy_tick(struct fusion_policy *p, u64 now_ms);

/**
 * fusion_policy_accesses() - tell the policy what accesses cost a member
 * @p: policy
 * @dev: member
 * @busy_us: time for which it was busy, microseconds, below 2^40
 * @nr: number of random accesses that it served in that time, below 2^24
 *
 * Call it only for times in which the member served nothing else.
 */
void fusion_policy_accesses(struct fusion_policy *p, enum fusion_dev dev, u64 busy_us, u32 nr);

/* The same for moves: the slow member was busy with @nr of them, at most 64, for @busy_us. */
void fusion_policy_moves(struct fusion_policy *p, u64 busy_us, u32 nr);

/* Tell the policy that the set was in use for @us microseconds since the last call. */
void fusion_policy_used(struct fusion_policy *p, u32 us);

/* Heat that a swap must gain at present if the set is not idle. Context: any. */
u32 fusion_policy_pay(const struct fusion_policy *p);

/**
 * fusion_policy_touch() - count one access
 * @p: policy
 * @lext: extent, below nr_lexts
 * @weight: weight from fusion_weigh(), more than 0
 *
 * Context: any; lockless, one read and at most one write of one heat word.
 */
void fusion_policy_touch(struct fusion_policy *p, u32 lext, unsigned int weight);

/**
 * fusion_policy_untouch() - take back an access that did not need the slot of its extent
 * @p: policy
 * @lext: extent, of which an access has just been counted
 * @weight: its weight
 *
 * One access at most counts in a tick, and this may take back that of another one, after which the
 * next one counts. So an extent of which some accesses need its slot gets a share of the heat.
 *
 * Context: any; lossy like fusion_policy_touch().
 */
void fusion_policy_untouch(struct fusion_policy *p, u32 lext, unsigned int weight);

/* Present heat of an extent, decayed: 0..FUSION_HEAT_MAX. Context: any. */
u32 fusion_policy_heat(const struct fusion_policy *p, u32 lext);

/* The bucket of a heat, below FUSION_BUCKETS, and the least heat in it. */
u32 fusion_policy_bucket(u32 heat, u32 *least);

/* Set the heat that was loaded from disk, before any touch. */
void fusion_policy_set_heat(struct fusion_policy *p, u32 lext, u32 heat);

/* Forget an extent that was discarded. Context: any. */
void fusion_policy_forget(struct fusion_policy *p, u32 lext);

/* -- pins -------------------------------------------------------------------------------- */

/* An extent that is pinned to no member. */
#define FUSION_UNPINNED		FUSION_NR_DEVS

/**
 * struct fusion_pins - extents that belong on a certain member, whatever their heat
 * @nr: number of extents pinned to each member
 * @on: a bit for each extent of the set, by member; none is pinned to both
 */
struct fusion_pins {
	u32 nr[FUSION_NR_DEVS];
	unsigned long *on[FUSION_NR_DEVS];
};

/**
 * fusion_policy_pin() - change all pins at one instant
 * @p: policy
 * @pins: the new ones, which do not change any more, or NULL
 *
 * The policy does not own them. The previous ones may be freed after an RCU grace period. Context:
 * any; one caller at a time.
 */
void fusion_policy_pin(struct fusion_policy *p, const struct fusion_pins *pins);

/* The member that an extent is pinned to, or FUSION_UNPINNED. Context: any. */
unsigned int fusion_policy_pinned(const struct fusion_policy *p, u32 lext);

/* Number of extents that are pinned to a member. Context: any. */
u32 fusion_policy_nr_pinned(const struct fusion_policy *p, enum fusion_dev dev);

/**
 * fusion_policy_pick() - choose the next moves
 * @p: policy
 * @env: state of the set
 * @moves: result
 * @max: room in @moves, at most 64
 *
 * First come promotions, hottest first, while free_fast exceeds the reserve. Then come swaps, a
 * demotion and the promotion that it makes room for, demotion first. The policy relies on the owner
 * to carry out both or neither. Swaps come even if neither member has a free slot, as they can use
 * the spares. Last, when free_fast is below the reserve, come demotions of cold extents with a
 * current shadow, and if env->idle of others. Either go on by ascending number.
 *
 * Extents pinned to the fast member are promoted before all others. If there are no free slots,
 * one of the coldest makes room, whatever its heat and theirs. Extents pinned to the slow member
 * are the first to make room for any, and if env->idle they are demoted in any case. Neither kind
 * moves for another reason.
 *
 * All moves are of STABLE extents, or of WATCHED ones of the fast member, whose shadows are
 * current. Among cold extents, these are preferred. No extent occurs twice in one answer. The
 * owner calls fusion_policy_done() once for each move. Before it picks again, it has reported each
 * move, or its extent is neither. Each call looks at a bounded number of extents, and the next one
 * continues there. So 0 means that no move is known to be worthwhile at present: ask again after
 * the next tick.
 *
 * Return: number of moves.
 */
unsigned int fusion_policy_pick(struct fusion_policy *p, const struct fusion_policy_env *env,
				struct fusion_move *moves, unsigned int max);

/**
 * fusion_policy_batch() - choose the moves of the next batch
 * @moves: moves of a pick, or the rest of them; afterwards those of the batch come first
 * @nr: number of moves, more than 0
 *
 * Besides its copies, a batch of any size costs four waits for the slow member, so it is as large
 * as possible. It is short if a write may wait for its end: moves with @hold go first, in short
 * batches, and then all others. Swaps stay together.
 *
 * Return: number of moves in this batch.
 */
unsigned int fusion_policy_batch(struct fusion_move *moves, unsigned int nr);

/*
 * The length of the swap that @moves begins with, a demotion and the promotion that needs its room,
 * or 1. @nr: number of moves.
 */
unsigned int fusion_policy_pair_length(const struct fusion_move *moves, unsigned int nr);

/*
 * Extents of the slow member that may be promoted next, at most @max: those pinned to the fast
 * member, and if there are none, the candidates of fusion_policy_pick(), hottest first. Return:
 * their number.
 */
unsigned int fusion_policy_next(struct fusion_policy *p, u32 *lexts, unsigned int max);

/* Number of extents that a search for room on request keeps. */
#define FUSION_VICTIMS		64U

/**
 * struct fusion_victims - extents that may leave a member to make room for others
 * @dev: member that needs room
 * @first: first extent of the range that stays where it is
 * @last: last extent of that range
 * @fence_first: first of the slots of @dev that are lost to others when their extents leave
 * @fence_end: slot behind the last of these; no more than @fence_first: none are
 * @old_slot: the same for all slots from here on; 0: for none
 * @nr: number of victims found
 * @held: number of extents skipped because their last move was cancelled or failed recently
 * @best: the victims, best first, each with the cost of its move
 */
struct fusion_victims {
	enum fusion_dev dev;
	u32 first;
	u32 last;
	u32 fence_first;
	u32 fence_end;
	u32 old_slot;
	u32 nr;
	u32 held;
	struct {
		u32 lext;
		u32 cost;
	} best[FUSION_VICTIMS];
};

/**
 * fusion_policy_victims() - choose the extents that make room on request
 * @p: policy
 * @v: result of a search of all extents in slices; @v->nr and @v->held begin as 0
 * @from: first extent of this slice
 * @end: first extent behind the slice
 *
 * On the fast member these are the coldest extents, and last those promoted within the last minute;
 * on the slow member the hottest. Extents pinned to the other member come before all these, and
 * those pinned to @v->dev after them. They are STABLE or OPEN: the owner has to complete the latter
 * first.
 */
void fusion_policy_victims(const struct fusion_policy *p, struct fusion_victims *v, u32 from,
			   u32 end);

/*
 * Is an extent left alone because of the outcome of its last move? If @idle, not after a cancelled
 * one.
 */
bool fusion_policy_held(const struct fusion_policy *p, u32 lext, bool idle);

/*
 * Report the outcome of an advised move. For a demotion, call it once free_fast counts the slot
 * that the extent left, otherwise the policy may refill the reserve twice. After a move that was
 * cancelled or failed, its extent is left alone for a while, twice as long each time.
 */
void fusion_policy_done(struct fusion_policy *p, const struct fusion_move *move,
			enum fusion_outcome outcome);

/* -- the mover, in the kernel and in fusionctl simulate ---------------------------------- */

/* The mover looks for work at this interval. */
#define FUSION_TICK_MS		100U
/* Most moves in a batch. */
#define FUSION_BATCH		16U
/* The same without foreground I/O, for moves that were asked for; together up to so many bytes. */
#define FUSION_LONG_BATCH	64U
#define FUSION_LONG_BATCH_BYTES	(64U << 20)
/* Cancels of an extent before its writes are held, and extents whose cancels are counted. */
#define FUSION_MAX_CANCELS	2U
#define FUSION_CANCELS		64U
/* Longest pause between batches during foreground I/O. */
#define FUSION_MAX_PAUSE_MS	60000U
/* Most I/Os at the slow member that the mover considers, and commands of a copy there. */
#define FUSION_MAX_QUEUE	4096U
#define FUSION_COPY_QUEUE	2U
/* Most extents that the replica records as leaving at once: a block has room for them. */
#define FUSION_MAX_LEAVING	128U
/* Longest time between two looks from which the cost of accesses is measured. */
#define FUSION_MAX_LOOK_US	1000000U

/*
 * The order of copies: those that have started come first, in the order of the slow member.
 * Return: as a comparison function of sort() does.
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

/* -- what it decides by; any context ------------------------------------------------------ */

/**
 * struct fusion_policy_view - the numbers that the policy decides by
 * @bar: heat from which an extent of the slow member is a candidate
 * @kth: heat of the coldest extent that belongs on the fast member
 * @cold: heat up to which an extent of the fast member may be a victim
 * @pay: heat that a swap must gain if the set is not idle
 * @pay_shadowed: the same if the victim has a current shadow
 * @nr_shadowed: possible victims with a current shadow that the last pass of the sweep found
 * @shortfall: free fast slots missing from the reserve
 * @leaving: demotions handed out and not yet done
 * @wrong: share of the swaps on trial that were wrong, of 65536
 * @access_ns: time that an access takes of each member; 0: not known yet
 * @move_ns: time that a move takes of the slow member; 0: not known yet
 * @half_life_ms: half-life of heat
 */
struct fusion_policy_view {
	u32 bar;
	u32 kth;
	u32 cold;
	u32 pay;
	u32 pay_shadowed;
	u32 nr_shadowed;
	u32 shortfall;
	u32 leaving;
	u32 wrong;
	u64 access_ns[FUSION_NR_DEVS];
	u64 move_ns;
	u64 half_life_ms;
};

/* The mover may be changing them meanwhile, so they may be of different moments. */
void fusion_policy_view(const struct fusion_policy *p, struct fusion_policy_view *v);

/**
 * struct fusion_survey - the extents that might change places now
 * @idle: the set is
 * @candidates: extents of the slow member that may move and reach the bar
 * @nr: number of these and others in @hottest
 * @hottest: heat of the hottest that may move, reaching it or not, hottest first
 * @pinned: extents pinned to a member that lie on the other one and may move, by the former
 * @victims: extents of the fast member that a swap may demote: those without a current shadow, and
 *	those with one; none is pinned
 * @coldest: heat of the coldest of each of these; valid if there is any
 */
struct fusion_survey {
	bool idle;
	u32 candidates;
	u32 nr;
	u32 hottest[FUSION_LONG_BATCH];
	u32 pinned[FUSION_NR_DEVS];
	u32 victims[2];
	u32 coldest[2];
};

/* Add the extents from @from up to and without @end to a survey, which begins with zeros. */
void fusion_policy_survey(const struct fusion_policy *p, struct fusion_survey *s, u32 from,
			  u32 end);

/*
 * Heat of the hottest extent that finds no room, if @room extents have it, pinned ones first; 0:
 * there is none.
 */
static inline u32 fusion_survey_beyond(const struct fusion_survey *s, u32 room)
{
	u32 left = room > s->pinned[FUSION_FAST] ? room - s->pinned[FUSION_FAST] : 0;

	return left < s->nr ? s->hottest[left] : 0;
}

/*
 * For how many milliseconds is an extent still left alone because of the outcome of its last move,
 * *@why? FUSION_MOVED: it was promoted, and no swap demotes it. Return: that time; 0: it is not.
 */
u64 fusion_policy_hold(const struct fusion_policy *p, u32 lext, enum fusion_outcome *why);

/*
 * Milliseconds since the last access to an extent that counted, at least, if it has any heat. An
 * eighth of the half-life more is possible. Heat older than eight half-lives has a later date.
 */
u64 fusion_policy_age(const struct fusion_policy *p, u32 lext);

#endif
