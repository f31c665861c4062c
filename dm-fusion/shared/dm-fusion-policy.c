// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the choice of extents to move.
 *
 * The sweep passes over all extents again and again, a part with each tick. Each pass yields two
 * histograms of heat, one for each member, and from these
 *
 *   kth	heat of the coldest extent that would be on the fast member if that held the
 *		hottest ones: below it, a promotion would not last;
 *   cold	heat up to which an extent counts as one of the coldest on the fast member:
 *		the coldest 32nd, and enough to restore the reserve.
 *
 * touch() finds a candidate for promotion at once, when its heat reaches the bar. The sweep finds
 * candidates that were lost there, and those that had that heat before the bar came down to it.
 * When victims are needed, a hand of its own passes over the extents to find them. So victims
 * come by ascending number, and those with home slots on the slow member are written in one sweep
 * of its arm.
 *
 * Free fast slots beyond the reserve cost nothing to use, so any warm extent gets one. WARM is
 * more heat than a scan leaves behind, even a scan in the smallest pieces: a scan is in an extent
 * for two ticks, or three in a large one.
 *
 * A swap reads two extents, writes two, and wears the fast member, so it must pay: the heat of
 * the candidate, c, and that of its victim, v, must fulfil c >= 2 v + pay. The factor bounds how
 * often two extents can change places, as each time one must get double the heat of the other.
 * For pay see dm-fusion-payback.c. It is ten accesses for an ordinary disk. Where heat is low and
 * the factor says little, this also makes it unlikely that the difference is chance. Counts of
 * random accesses are spread like sqrt(n). Up to some dozen accesses, 2 v + 10 is three such
 * deviations above v, as are the extremes of thousands of extents. While the members are idle,
 * half of pay is enough, since a swap then costs no foreground I/O any time.
 */
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "dm-fusion-heat.h"

/* Room for a batch and the victims of a request, or what is promoted next. */
static_assert(FUSION_LONG_BATCH + FUSION_MAX_PICK <= FUSION_MAX_LEAVING);

#define HEAT_WARM	(4 * FUSION_HEAT_TOUCH)

#define DEFAULT_HALF_LIFE	3600U

#define COLD_SHARE	32U	/* of the fast member's extents, one can be a victim */
#define COLD_MIN	FUSION_MAX_PICK

/* -- histogram ------------------------------------------------------------- */

static u32 fusion_bucket(u32 heat)
{
	u32 e;

	if (heat < 8)
		return heat;
	e = ilog2(heat) - 3;
	return 8 * e + (heat >> e);
}

/* Least heat in a bucket. */
static u32 fusion_policy_bucket_floor(u32 b)
{
	return b < 16 ? b : (8 + b % 8) << (b / 8 - 1);
}

u32 fusion_policy_bucket(u32 heat, u32 *least)
{
	*least = fusion_policy_bucket_floor(fusion_bucket(heat));
	return fusion_bucket(heat);
}

/* Heat of the @k-th hottest extent, rounded down to a bucket. */
static u32 fusion_policy_hottest(const struct fusion_policy *p, u32 k)
{
	u32 b, nr;

	for (b = FUSION_BUCKETS - 1; b; b--) {
		nr = p->hist[FUSION_FAST][b] + p->hist[FUSION_SLOW][b];
		if (nr >= k)
			break;
		k -= nr;
	}
	return fusion_policy_bucket_floor(b);
}

/* Heat of the @k-th coldest extent on the fast member, rounded up to a bucket. */
static u32 fusion_policy_coldest(const struct fusion_policy *p, u32 k)
{
	u32 b;

	for (b = 0; b < FUSION_BUCKETS - 1; b++) {
		if (p->hist[FUSION_FAST][b] >= k)
			break;
		k -= p->hist[FUSION_FAST][b];
	}
	return fusion_policy_bucket_floor(b + 1) - 1;
}

/* -- sweep ----------------------------------------------------------------- */

static void fusion_policy_end_of_pass(struct fusion_policy *p)
{
	u32 b, nr_fast = 0;

	for (b = 0; b < FUSION_BUCKETS; b++)
		nr_fast += p->hist[FUSION_FAST][b];
	p->nr_pinned = p->found_pinned;
	p->found_pinned = 0;
	p->kth = fusion_policy_hottest(p, p->usable - min(p->usable, p->nr_pinned));
	p->cold = fusion_policy_coldest(p, max(nr_fast / COLD_SHARE, COLD_MIN + p->shortfall));

	p->nr_shadowed = p->found_shadowed;
	p->found_shadowed = 0;
	memset(p->hist, 0, sizeof(p->hist));
	memset(p->vain, 0, sizeof(p->vain));
	memset(p->pin_vain, 0, sizeof(p->pin_vain));
	p->sweep = 0;
	p->oldest = p->pass_epoch;
	p->pass_epoch = p->epoch;
}

static void fusion_policy_sweep(struct fusion_policy *p, u32 nr)
{
	u32 end = p->sweep + min(nr, p->nr_lexts - p->sweep);
	const struct fusion_pins *pins;
	u32 lext, heat, word;
	unsigned int pinned;

	rcu_read_lock();
	pins = rcu_dereference(p->pins);
	for (lext = p->sweep; lext < end; lext++) {
		heat = fusion_heat_settle(p, lext);
		word = READ_ONCE(p->map[lext]);
		if (!fusion_word_mapped(word))
			continue;
		pinned = fusion_pinned_to(pins, lext);
		if (pinned != FUSION_UNPINNED) {
			p->found_pinned += pinned == FUSION_FAST;
			continue;
		}
		p->hist[fusion_word_dev(word)][fusion_bucket(heat)]++;
		p->found_shadowed += fusion_word_shadowed(word) && heat <= p->cold;
		if (fusion_word_dev(word) == FUSION_SLOW && heat >= p->bar)
			fusion_candidate(p, lext);
	}
	rcu_read_unlock();
	p->sweep = end;
	if (end == p->nr_lexts)
		fusion_policy_end_of_pass(p);
}

/* As many extents as are due if @passed ms have passed, up to the end of the pass. */
static void fusion_policy_sweep_due(struct fusion_policy *p, u64 passed)
{
	u64 due = div_u64(p->nr_lexts * passed, FUSION_PASS_MS) + 1;
	u64 tick = min_t(u64, passed, FUSION_TICK_MS);
	u64 least = div_u64(p->nr_lexts * tick, FUSION_LONG_PASS_MS) + 1;
	u32 n;

	due = min(due, clamp_t(u64, least, FUSION_SLICE, FUSION_MAX_SLICES * FUSION_SLICE));
	for (;;) {
		n = min_t(u64, due, FUSION_SLICE);
		fusion_policy_sweep(p, n);
		due -= n;
		/* the next pass would begin with the bar of this one */
		if (!due || !p->sweep)
			return;
		cond_resched();
	}
}

void fusion_policy_set_half_life(struct fusion_policy *p, u32 seconds)
{
	fusion_heat_set_half_life(p, seconds);
	fusion_payback_init(p);
}

void fusion_policy_tick(struct fusion_policy *p, u64 now_ms)
{
	u64 passed;

	if (now_ms <= p->now_ms)
		return;
	passed = min_t(u64, now_ms - p->now_ms, FUSION_PASS_MS);
	fusion_heat_set_time(p, now_ms);
	fusion_trials(p);
	fusion_policy_sweep_due(p, passed);
}

/* -- decisions ------------------------------------------------------------- */

static bool fusion_policy_stable_on(const struct fusion_policy *p, u32 lext, enum fusion_dev dev)
{
	return fusion_word_movable(READ_ONCE(p->map[lext]), dev);
}

/* Put the up to @want hottest candidates into p->best, hottest first. */
static unsigned int fusion_policy_gather(struct fusion_policy *p, const struct fusion_pins *pins,
					 bool idle, unsigned int want)
{
	unsigned int i, k, n = 0;

	if (!READ_ONCE(p->fed))
		return 0;
	/* what comes in at the same time may stay unseen until the sweep gets there */
	WRITE_ONCE(p->fed, false);

	for (i = 0; i < FUSION_CANDIDATES; i++) {
		u32 lext = READ_ONCE(p->candidate[i]);
		u32 heat;

		if (lext == FUSION_NO_LEXT)
			continue;
		heat = fusion_policy_heat(p, lext);
		if (heat < p->bar || !fusion_policy_stable_on(p, lext, FUSION_SLOW) ||
		    fusion_pinned_to(pins, lext) != FUSION_UNPINNED) {
			WRITE_ONCE(p->candidate[i], FUSION_NO_LEXT);
			continue;
		}
		WRITE_ONCE(p->fed, true);
		if (fusion_policy_held(p, lext, idle))
			continue;

		for (k = n; k && p->best[k - 1].heat < heat; k--)
			if (k < want)
				p->best[k] = p->best[k - 1];
		if (k < want) {
			p->best[k].lext = lext;
			p->best[k].heat = heat;
		}
		n = min(n + 1, want);
	}
	return n;
}

static void fusion_policy_promote(struct fusion_policy *p, struct fusion_move *move, u32 lext)
{
	WRITE_ONCE(p->candidate[lext % FUSION_CANDIDATES], FUSION_NO_LEXT);
	*move = (struct fusion_move) { .lext = lext, .to = FUSION_FAST };
}

static void fusion_policy_demote(struct fusion_policy *p, const struct fusion_hunt *h,
				 struct fusion_move *move, u32 lext)
{
	bool pinned = fusion_pinned_to(h->pins, lext) == FUSION_SLOW;

	p->leaving++;
	/* a pin says nothing of the swap that has brought it here */
	if (!pinned && h->why != FUSION_FOR_PIN)
		fusion_trial_taken(p, lext);
	*move = (struct fusion_move) {
		.lext = lext,
		.to = FUSION_SLOW,
		.flips = fusion_word_shadowed(READ_ONCE(p->map[lext])),
		.pinned = pinned,
	};
}

/*
 * Extents pinned to the fast member: into @room free slots, and when these are used up, in place of
 * others. Return: number of moves.
 */
static unsigned int fusion_pick_pinned(struct fusion_policy *p, struct fusion_hunt *h, u32 room,
				       struct fusion_move *moves, unsigned int max)
{
	unsigned int n = 0;
	u32 lext, victim;

	for (; n < room && n < max; n++) {
		lext = fusion_next_pinned(p, h, FUSION_FAST);
		if (lext == FUSION_NO_LEXT)
			return n;
		fusion_policy_promote(p, &moves[n], lext);
	}
	while (n + 2 <= max) {
		lext = fusion_next_pinned(p, h, FUSION_FAST);
		if (lext == FUSION_NO_LEXT)
			break;
		victim = fusion_pin_victim(p, h);
		if (victim == FUSION_NO_LEXT) {
			/* it is the first one the next time */
			p->pin_hand[FUSION_FAST] = lext;
			break;
		}
		fusion_policy_demote(p, h, &moves[n++], victim);
		fusion_policy_promote(p, &moves[n++], lext);
	}
	return n;
}

/* The candidates in p->best from @c to @nr, each in place of a victim. Return: number of moves. */
static unsigned int fusion_pick_swaps(struct fusion_policy *p, struct fusion_hunt *h,
				      unsigned int c, unsigned int nr, struct fusion_move *moves,
				      unsigned int max)
{
	unsigned int n = 0;
	u32 victim, pay;

	for (; c < nr && n + 2 <= max; c++) {
		victim = fusion_next_pinned(p, h, FUSION_SLOW);
		if (victim == FUSION_NO_LEXT) {
			victim = fusion_swap_victim(p, h, p->best[c].heat, &pay);
			if (victim == FUSION_NO_LEXT)
				break;
			fusion_trial_begin(p, p->best[c].lext, victim, pay);
		}
		fusion_policy_demote(p, h, &moves[n++], victim);
		fusion_policy_promote(p, &moves[n++], p->best[c].lext);
	}
	return n;
}

/*
 * Demotions for the reserve, and of extents pinned to the slow member. Those that copy something
 * take place in idle time only. Return: number of moves.
 */
static unsigned int fusion_pick_demotions(struct fusion_policy *p, struct fusion_hunt *h,
					  const struct fusion_policy_env *env,
					  struct fusion_move *moves, unsigned int max,
					  unsigned int most)
{
	unsigned int n = 0;
	u32 victim, wanted;

	for (; env->idle && n < max && n < env->free_slow; n++) {
		victim = fusion_next_pinned(p, h, FUSION_SLOW);
		if (victim == FUSION_NO_LEXT)
			break;
		fusion_policy_demote(p, h, &moves[n], victim);
	}
	wanted = min(p->shortfall, env->free_slow);
	wanted -= min(wanted, n);
	for (; wanted && n < most && p->nr_shadowed; wanted--) {
		victim = fusion_next_victim(p, h, true, FUSION_HEAT_MAX);
		if (victim == FUSION_NO_LEXT)
			break;
		fusion_policy_demote(p, h, &moves[n++], victim);
	}
	for (; env->idle && wanted && n < max; wanted--) {
		victim = fusion_next_victim(p, h, false, FUSION_HEAT_MAX);
		if (victim == FUSION_NO_LEXT)
			break;
		fusion_policy_demote(p, h, &moves[n++], victim);
	}
	return n;
}

/* All moves of an answer, with the pins in @h. Return: number of moves. */
static unsigned int fusion_policy_choose(struct fusion_policy *p, struct fusion_hunt *h,
					 const struct fusion_policy_env *env, u32 room,
					 struct fusion_move *moves, unsigned int max)
{
	unsigned int most = clamp(env->most, max, FUSION_MAX_PICK), nr, n, c = 0;

	nr = fusion_policy_gather(p, h->pins, env->idle, max);
	h->why = FUSION_FOR_PIN;
	n = env->spent ? 0 : fusion_pick_pinned(p, h, room, moves, max);
	for (; c < nr && n < room && n < max; c++)
		fusion_policy_promote(p, &moves[n++], p->best[c].lext);
	h->why = FUSION_FOR_SWAP;
	n += fusion_pick_swaps(p, h, c, nr, moves + n, max - n);
	h->why = FUSION_FOR_RESERVE;
	return n + fusion_pick_demotions(p, h, env, moves + n, max - n, most - n);
}

unsigned int fusion_policy_pick(struct fusion_policy *p, const struct fusion_policy_env *env,
				struct fusion_move *moves, unsigned int max)
{
	u32 room = env->free_fast > env->reserve ? env->free_fast - env->reserve : 0;
	u32 coming = env->free_fast + p->leaving;
	/* that a word is not WATCHED is seen at once */
	struct fusion_hunt h = { .idle = env->idle, .budget = { FUSION_SLICE, 4 * FUSION_SLICE },
				 .pin_budget = { FUSION_SLICE, FUSION_SLICE } };
	unsigned int i, n;
	u32 pay;

	p->usable = p->nr_fast - min(env->reserve, p->nr_fast);
	p->shortfall = env->reserve > coming ? env->reserve - coming : 0;
	pay = p->nr_shadowed ? p->pay_shadowed : p->pay;
	WRITE_ONCE(p->bar, room ? HEAT_WARM : max(env->idle ? pay / 2 : pay, p->kth));
	for (i = 0; i < 2; i++)
		if (p->hand[i] == p->nr_lexts)
			p->hand[i] = 0;
	fusion_pins_begin(p);

	rcu_read_lock();
	h.pins = rcu_dereference(p->pins);
	n = fusion_policy_choose(p, &h, env, room, moves, min(max, FUSION_MAX_PICK));
	rcu_read_unlock();
	return n;
}

unsigned int fusion_policy_pair_length(const struct fusion_move *moves, unsigned int nr)
{
	return nr > 1 && moves[0].to == FUSION_SLOW && moves[1].to == FUSION_FAST ? 2 : 1;
}

unsigned int fusion_policy_batch(struct fusion_move *moves, unsigned int nr)
{
	struct fusion_move pair[2];
	unsigned int i, n, first = 0;

	for (i = 0; i < nr; i += n) {
		n = fusion_policy_pair_length(&moves[i], nr - i);
		if (!moves[i].hold && !moves[i + n - 1].hold)
			continue;
		if (first + n > FUSION_SHORT_BATCH)
			break;
		memcpy(pair, &moves[i], n * sizeof(*moves));
		memmove(&moves[first + n], &moves[first], (i - first) * sizeof(*moves));
		memcpy(&moves[first], pair, n * sizeof(*moves));
		first += n;
	}
	return first ? first : nr;
}

unsigned int fusion_policy_next(struct fusion_policy *p, u32 *lexts, unsigned int max)
{
	struct fusion_hunt h = { .pin_budget = { FUSION_SLICE, FUSION_SLICE } };
	unsigned int i, n, pinned;

	max = min(max, FUSION_MAX_PICK);
	fusion_pins_begin(p);
	rcu_read_lock();
	h.pins = rcu_dereference(p->pins);
	pinned = fusion_pins_coming(p, &h, lexts, max);
	n = pinned ? 0 : fusion_policy_gather(p, h.pins, false, max);
	rcu_read_unlock();
	for (i = 0; i < n; i++)
		lexts[i] = p->best[i].lext;
	return pinned + n;
}

u32 fusion_policy_pay(const struct fusion_policy *p)
{
	return READ_ONCE(p->pay);
}

/* -- life ------------------------------------------------------------------ */

struct fusion_policy *fusion_policy_create(const u32 *map, u32 nr_lexts, u32 nr_fast)
{
	struct fusion_policy *p = kvzalloc(sizeof(*p), GFP_KERNEL);

	if (!p)
		return NULL;
	p->heat = kvcalloc(nr_lexts, sizeof(*p->heat), GFP_KERNEL);
	if (!p->heat) {
		kvfree(p);
		return NULL;
	}
	p->map = map;
	p->nr_lexts = nr_lexts;
	p->nr_fast = nr_fast;
	p->usable = nr_fast;
	p->now = 1;
	p->bar = HEAT_WARM;
	p->kth = FUSION_HEAT_MAX;	/* no swaps before the first pass has ended */
	memset(p->candidate, 0xff, sizeof(p->candidate));
	fusion_policy_set_half_life(p, DEFAULT_HALF_LIFE);
	return p;
}

void fusion_policy_destroy(struct fusion_policy *p)
{
	if (!p)
		return;
	kvfree(p->heat);
	kvfree(p);
}
