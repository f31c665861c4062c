/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: internals of the policy, only for its own files: dm-fusion-heat.c,
 * dm-fusion-payback.c, dm-fusion-pinned.c, dm-fusion-policy.c, dm-fusion-victims.c,
 * dm-fusion-view.c; and for fusionctl explain, which rebuilds a policy from a
 * view.
 */
#ifndef DM_FUSION_HEAT_H
#define DM_FUSION_HEAT_H

#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

#include "dm-fusion-policy.h"

/* Extents looked at in one go: some 100 us; and the most of these slices in a tick. */
#define FUSION_SLICE		16384U
#define FUSION_MAX_SLICES	32U

/*
 * Time for a pass over all extents if a slice in each tick suffices for that; and for one of larger
 * sets, unless ticks come late, or they need more than the most slices in a tick. Extents that are
 * hot at the opening change places in the second pass.
 */
#define FUSION_PASS_MS		2000U
#define FUSION_LONG_PASS_MS	25000U

/*
 * Powers of two. Holds also cover the promotions of one minute: a disk that does nothing else can
 * read some 3000 extents of 1 MiB in that time, and write as many.
 */
#define FUSION_CANDIDATES	1024U
#define FUSION_HOLDS		4096U

/* Most moves in one answer. */
#define FUSION_MAX_PICK		64U

#define FUSION_NO_LEXT		0xffffffffU

/**
 * struct fusion_hold - an extent that stays where it is for a while
 * @lext: extent
 * @tries: times in a row that its move was cancelled or failed; each doubles the hold
 * @outcome: result of its last move; FUSION_MOVED: it was promoted, and no swap demotes it
 * @until_ms: when it may be moved again
 */
struct fusion_hold {
	u32 lext;
	u8 tries;
	u8 outcome;
	u64 until_ms;
};

/* Swaps that are on trial at the same time. */
#define FUSION_TRIALS		64U

enum fusion_trial_state {
	FUSION_TRIAL_NONE,
	FUSION_TRIAL_ASKED,	/* handed out; the owner is moving it */
	FUSION_TRIAL_RUNS,
};

/**
 * struct fusion_trial - a swap on trial
 * @state: progress of the trial
 * @lext: the candidate
 * @victim: the extent that made room for it
 * @pay: the pay that the swap had to promise
 * @before: heat word of the candidate when it was chosen
 * @victim_before: heat word of the victim at that time
 * @taken: the candidate was itself chosen to be demoted
 * @used_us: how long the set had been in use, microseconds
 * @until_ms: when the trial ends at the latest
 */
struct fusion_trial {
	enum fusion_trial_state state;
	u32 lext;
	u32 victim;
	u32 pay;
	u32 before;
	u32 victim_before;
	bool taken;
	u64 used_us;
	u64 until_ms;
};

/* Why victims are searched for. */
enum fusion_hunt_reason {
	FUSION_FOR_SWAP,
	FUSION_FOR_RESERVE,
	FUSION_FOR_PIN,		/* a pinned extent gets their room, whatever the heats */
	FUSION_NR_HUNTS,
};

/* A sum of times, and their number. */
struct fusion_mean {
	u64 us;
	u32 nr;
};

/**
 * struct fusion_policy - all of the policy's state
 *
 * @map: map words, which belong to the owner
 * @heat: heat words
 * @now: epoch and tick, as in a heat word written now
 * @bar: heat from which an extent on the slow member is a candidate
 * @nr_lexts: number of extents
 * @nr_fast: number of fast data slots
 *
 * @hold: extents that stay for a while, indexed by extent number
 *
 * @candidate: extents on the slow member that reached the bar, indexed by extent number. A
 *	later one may push an earlier one out, and an entry may be stale: pick() checks, and
 *	the sweep finds lost candidates again.
 * @fed: a candidate was added since pick() last found none
 *
 * @now_ms: the time of the last tick
 * @epoch_ms: length of an epoch
 * @tick_ms: length of a tick
 * @epoch_start_ms: when the present epoch began
 * @epoch: the present one, counted from 0
 * @pass_epoch: epoch in which the running pass of the sweep began
 * @oldest: epoch in which the pass before it began
 *
 * @sweep: next extent of the sweep
 * @hist: number of extents by member and heat, in the running pass
 * @kth: heat of the coldest extent that belongs on the fast member
 * @cold: heat up to which an extent on the fast member may be a victim
 *
 * @usable: fast slots outside the reserve
 * @shortfall: free fast slots missing from the reserve
 * @leaving: demotions handed out and not yet done
 * @nr_shadowed: possible victims with a current shadow that the last pass has found
 * @found_shadowed: the same in the running pass
 * @hand: next extent to consider as a victim: of those without a current shadow [0], with one [1]
 * @vain: extents considered since the last such victim, by the reason for the search
 * @best: the hottest candidates, in pick()
 *
 * @pins: what is pinned; NULL: nothing
 * @repinned: it has changed since pick() last looked
 * @nr_pinned: mapped extents that are pinned to the fast member, in the last pass of the sweep
 * @found_pinned: the same in the running pass
 * @pin_hand: next extent to consider among those pinned to a member
 * @pin_vain: extents passed over since the last of them that could move there
 *
 * @half_life_ms: half-life of heat
 * @access: time for which each member was busy with random accesses
 * @move: time for which the slow member was busy with moves
 * @wrong: share of the swaps on trial that were wrong, of 2^16
 * @verdict_ms: when the last verdict changed @wrong, or some of it was forgotten
 * @used_us: how long the set has been in use, microseconds
 * @pay: heat that a swap must gain when the set is not idle
 * @pay_shadowed: the same if its victim has a current shadow: then it copies one extent, not two
 * @most_pay: upper bound of both
 * @trial: swaps on trial
 */
struct fusion_policy {
	/* read by touch(); only now and bar change, a few times a second */
	const u32 *map;
	u32 *heat;
	u32 now;
	u32 bar;
	u32 nr_lexts;
	u32 nr_fast;

	/* rarely written, so it keeps what follows off the cache line above */
	struct fusion_hold hold[FUSION_HOLDS];

	/* written by touch(), but only when an extent becomes a candidate */
	u32 candidate[FUSION_CANDIDATES];
	bool fed;

	/* only the migration worker's */
	u64 now_ms;
	u64 epoch_start_ms;
	u32 epoch_ms;
	u32 tick_ms;
	u32 epoch;
	u32 pass_epoch;
	u32 oldest;

	u32 sweep;
	u32 hist[FUSION_NR_DEVS][FUSION_BUCKETS];
	u32 kth;
	u32 cold;

	u32 usable;
	u32 shortfall;
	u32 leaving;
	u32 nr_shadowed;
	u32 found_shadowed;
	u32 hand[2];
	u32 vain[2][FUSION_NR_HUNTS];
	struct {
		u32 lext;
		u32 heat;
	} best[FUSION_MAX_PICK];

	/* dm-fusion-pinned.c */
	const struct fusion_pins __rcu *pins;
	bool repinned;
	u32 nr_pinned;
	u32 found_pinned;
	u32 pin_hand[FUSION_NR_DEVS];
	u32 pin_vain[FUSION_NR_DEVS];

	/* dm-fusion-payback.c */
	u64 half_life_ms;
	struct fusion_mean access[FUSION_NR_DEVS];
	struct fusion_mean move;
	u32 wrong;
	u64 verdict_ms;
	u64 used_us;
	u32 pay;
	u32 pay_shadowed;
	u32 most_pay;
	struct fusion_trial trial[FUSION_TRIALS];
};

/* Note that an extent on the slow member reached the bar. Any context, lossy. */
static inline void fusion_candidate(struct fusion_policy *p, u32 lext)
{
	WRITE_ONCE(p->candidate[lext % FUSION_CANDIDATES], lext);
	if (!READ_ONCE(p->fed))
		WRITE_ONCE(p->fed, true);
}

/*
 * Is this the word of an extent whose shadow is current? Only the owner's copies are WATCHED
 * otherwise, and there are none when it asks.
 */
static inline bool fusion_word_shadowed(u32 word)
{
	return fusion_word_mapped(word) && fusion_word_dev(word) == FUSION_FAST &&
	       fusion_word_state(word) == FUSION_WATCHED;
}

/* Is this the word of an extent that lies on @dev and may move? */
static inline bool fusion_word_movable(u32 word, enum fusion_dev dev)
{
	return fusion_word_mapped(word) && fusion_word_dev(word) == dev &&
	       (fusion_word_state(word) == FUSION_STABLE || fusion_word_shadowed(word));
}

/* A heat word in which no tick is counted; and the heat left in a word now. */
static inline u32 fusion_heat_word(u32 heat, u32 now)
{
	return heat << FUSION_HEAT_SHIFT | (now & 0xff00);
}

u32 fusion_word_heat_now(const struct fusion_policy *p, u32 word);

/*
 * Put a swap that has to gain @pay on trial, if there is room; report the outcome of its move;
 * report that its extent is to be demoted again; check all trials.
 */
void fusion_trial_begin(struct fusion_policy *p, u32 lext, u32 victim, u32 pay);
void fusion_trial_moved(struct fusion_policy *p, u32 lext, bool moved);
void fusion_trial_taken(struct fusion_policy *p, u32 lext);
void fusion_trials(struct fusion_policy *p);

/* Drop all trials, as none may outlast a half-life; recompute pay. */
void fusion_payback_init(struct fusion_policy *p);

/**
 * struct fusion_hunt - a search for victims
 * @pins: what is pinned, or NULL; its owner is inside an RCU section
 * @idle: the set is
 * @why: the reason; where others are to get their room, those promoted a short time ago stay
 * @budget: extents it may look at, without a current shadow [0] and with one [1]
 * @pin_budget: extents pinned to each member that it may look at, and words of their bitmaps
 */
struct fusion_hunt {
	const struct fusion_pins *pins;
	bool idle;
	enum fusion_hunt_reason why;
	u32 budget[2];
	u32 pin_budget[FUSION_NR_DEVS];
};

/*
 * Move a hand to the next extent on the fast member that may be demoted: one of the coldest, not
 * above @limit, with a current shadow or without. The budget bounds how far it goes; and when it
 * has been everywhere in vain, it rests until the next pass of the sweep. Return: the extent, or
 * FUSION_NO_LEXT.
 */
u32 fusion_next_victim(struct fusion_policy *p, struct fusion_hunt *h, bool shadowed, u32 limit);

/*
 * The victim that makes room for an extent of this heat. It need gain less if the victim is not
 * copied. Sets *@pay to what it has to gain. Return: as fusion_next_victim().
 */
u32 fusion_swap_victim(struct fusion_policy *p, struct fusion_hunt *h, u32 heat, u32 *pay);

/*
 * May a swap, or the reserve, take the extent @lext, if its heat is at most @limit? It lies on the
 * fast member, with a current shadow or without, as @shadowed says. Any context.
 */
bool fusion_may_yield(const struct fusion_policy *p, const struct fusion_hunt *h, u32 lext,
		      bool shadowed, u32 limit);

/* What keeps an extent where it is, by the outcome of its last move; or NULL. Any context. */
const struct fusion_hold *fusion_policy_hold_of(const struct fusion_policy *p, u32 lext);

/* Has it just been promoted? Then no swap takes it away, and the reserve only in idle time. */
bool fusion_policy_resident(const struct fusion_policy *p, u32 lext);

/* The member that an extent is pinned to, or FUSION_UNPINNED. */
static inline unsigned int fusion_pinned_to(const struct fusion_pins *pins, u32 lext)
{
	if (!pins)
		return FUSION_UNPINNED;
	return test_bit(lext, pins->on[FUSION_FAST]) ? FUSION_FAST :
	       test_bit(lext, pins->on[FUSION_SLOW]) ? FUSION_SLOW : FUSION_UNPINNED;
}

/* May an extent that is pinned to @dev move there now? It lies on the other member. Any context. */
bool fusion_pin_may_move(const struct fusion_policy *p, const struct fusion_hunt *h, u32 lext,
			 enum fusion_dev dev);

/*
 * Move a hand to the next extent for which that is so. The budget bounds how far it goes; when it
 * has been everywhere in vain, it rests until the next pass of the sweep. Return: the extent, or
 * FUSION_NO_LEXT.
 */
u32 fusion_next_pinned(struct fusion_policy *p, struct fusion_hunt *h, enum fusion_dev dev);

/*
 * The victim that makes room for an extent that is pinned to the fast member: one that is pinned to
 * the slow member, or one of the coldest. Return: as fusion_next_pinned().
 */
u32 fusion_pin_victim(struct fusion_policy *p, struct fusion_hunt *h);

/* The extents that fusion_next_pinned() returns next for the fast member; the hand stays. */
unsigned int fusion_pins_coming(struct fusion_policy *p, struct fusion_hunt *h, u32 *lexts,
				unsigned int max);

/* A call of pick() or next() begins: let the hands go on. */
void fusion_pins_begin(struct fusion_policy *p);

/* Fill in what was measured. Any context. */
void fusion_payback_view(const struct fusion_policy *p, struct fusion_policy_view *v);

/* Heat of an extent; brings its word up to date if it is about to grow too old. */
u32 fusion_heat_settle(struct fusion_policy *p, u32 lext);

/* Set the half-life that the epoch clock uses; set the time, which never goes back. */
void fusion_heat_set_half_life(struct fusion_policy *p, u32 seconds);
void fusion_heat_set_time(struct fusion_policy *p, u64 now_ms);

#endif
