// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: how much a swap must gain to be worth its cost.
 *
 * A swap takes the slow member's time for two moves. Each access that goes to the fast member
 * instead gives back the difference between the two members' times for one access. All of these
 * are times in which a member is busy. The caller measures and supplies them so that a queue counts
 * the same for both members. The quotient is the number of accesses that break even:
 *
 *	pay = severity * 2 * move / (slow - fast)
 *
 * If the extent that makes room has a current shadow, it need not be copied: the swap costs half.
 *
 * It is about ten for an ordinary disk, which is also the value until enough has been measured.
 *
 * Heat describes the past; whether a swap repays shows later. So some of the swaps are on trial.
 * A trial is right when its candidate has gained half of pay more than its victim since the swap,
 * decay included, as steady extents have after one half-life. It is wrong when the victim has, or
 * when nothing is decided by then. The share of wrong trials makes the rule more severe: under a
 * load with nothing to learn, every other trial is wrong.
 *
 * A trial gives no verdict if its result cannot be known: if an extent was discarded or moved on
 * request, or if the set was unused for a good part of the time. A severe rule must not outlast the
 * swaps that could prove it wrong. So it is forgotten over some half-lives, and pay never exceeds
 * half of the heat that an extent can have.
 */
#include <linux/compiler.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "dm-fusion-heat.h"

#define DEFAULT_PAY	(10 * FUSION_HEAT_TOUCH)
#define LEAST_PAY	DEFAULT_PAY	/* less is chance: see dm-fusion-policy.c */
/* By what was measured, which may be wrong: members that do not differ are still used. */
#define MOST_MEASURED	(128 * FUSION_HEAT_TOUCH)

/* What must have been measured; from twice of it on the past counts less and less. */
#define ENOUGH_ACCESSES	1024U
#define ENOUGH_MOVES	16U

/* Share of wrong swaps, of 2^16; each trial counts for a 32nd of it. */
#define WRONG_SHIFT	5U
#define WRONG_ALL	65536U
#define WRONG_ALLOWED	(WRONG_ALL / 20)

/* Forgotten of it in each half-life that brings no verdict: a quarter. */
#define FORGET_SHIFT	2U

/* If all swaps are wrong, pay is this many times what it is if none is. */
#define SEVEREST	8U

static void fusion_mean_add(struct fusion_mean *mean, u64 us, u32 nr, u32 enough)
{
	mean->us += us;
	mean->nr += nr;
	while (mean->nr >= 2 * enough) {
		mean->us /= 2;
		mean->nr /= 2;
	}
}

/* In ns; 0: not known */
static u64 fusion_mean_ns(const struct fusion_mean *mean, u32 enough)
{
	/* once: a view may be taken while it changes */
	u32 nr = READ_ONCE(mean->nr);

	return nr < enough ? 0 : div_u64(READ_ONCE(mean->us) * 1000, nr);
}

/* For a swap that copies so many extents. */
static u32 fusion_measured_pay(const struct fusion_policy *p, u32 copies)
{
	u64 slow = fusion_mean_ns(&p->access[FUSION_SLOW], ENOUGH_ACCESSES);
	u64 fast = fusion_mean_ns(&p->access[FUSION_FAST], ENOUGH_ACCESSES);
	u64 move = fusion_mean_ns(&p->move, ENOUGH_MOVES);

	if (!slow || !move)
		return DEFAULT_PAY;
	if (slow <= fast)
		return MOST_MEASURED;
	return clamp_t(u64, div64_u64(copies * move * FUSION_HEAT_TOUCH, slow - fast), LEAST_PAY,
		       MOST_MEASURED);
}

static u32 fusion_severe_pay(const struct fusion_policy *p, u32 copies)
{
	u32 wrong = p->wrong > WRONG_ALLOWED ? p->wrong - WRONG_ALLOWED : 0;
	u64 pay = (u64)fusion_measured_pay(p, copies) * (WRONG_ALL + (SEVEREST - 1) * wrong);

	return min_t(u64, div_u64(pay, WRONG_ALL), p->most_pay);
}

static void fusion_payback_update(struct fusion_policy *p)
{
	WRITE_ONCE(p->pay, fusion_severe_pay(p, 2));
	p->pay_shadowed = fusion_severe_pay(p, 1);
}

void fusion_policy_accesses(struct fusion_policy *p, enum fusion_dev dev, u64 busy_us, u32 nr)
{
	fusion_mean_add(&p->access[dev], busy_us, nr, ENOUGH_ACCESSES);
	fusion_payback_update(p);
}

void fusion_policy_moves(struct fusion_policy *p, u64 busy_us, u32 nr)
{
	fusion_mean_add(&p->move, busy_us, nr, ENOUGH_MOVES);
	fusion_payback_update(p);
}

void fusion_payback_view(const struct fusion_policy *p, struct fusion_policy_view *v)
{
	unsigned int dev;

	v->pay = READ_ONCE(p->pay);
	v->pay_shadowed = READ_ONCE(p->pay_shadowed);
	v->wrong = READ_ONCE(p->wrong);
	for (dev = 0; dev < FUSION_NR_DEVS; dev++)
		v->access_ns[dev] = fusion_mean_ns(&p->access[dev], ENOUGH_ACCESSES);
	v->move_ns = fusion_mean_ns(&p->move, ENOUGH_MOVES);
	v->half_life_ms = READ_ONCE(p->half_life_ms);
}

/* -- trials -------------------------------------------------------------------- */

void fusion_trial_begin(struct fusion_policy *p, u32 lext, u32 victim, u32 pay)
{
	struct fusion_trial *t = p->trial;

	while (t < p->trial + FUSION_TRIALS && t->state != FUSION_TRIAL_NONE)
		t++;
	if (t == p->trial + FUSION_TRIALS)
		return;
	*t = (struct fusion_trial) {
		.state = FUSION_TRIAL_ASKED,
		.lext = lext,
		.victim = victim,
		.pay = pay,
		.before = fusion_heat_word(fusion_policy_heat(p, lext), p->now),
		.victim_before = fusion_heat_word(fusion_policy_heat(p, victim), p->now),
		.used_us = p->used_us,
		.until_ms = p->now_ms + p->half_life_ms,
	};
}

void fusion_trial_moved(struct fusion_policy *p, u32 lext, bool moved)
{
	unsigned int i;

	for (i = 0; i < FUSION_TRIALS; i++) {
		struct fusion_trial *t = &p->trial[i];

		if (t->state != FUSION_TRIAL_ASKED || t->lext != lext)
			continue;
		/* a move can take longer than the words of a short half-life are good for */
		t->state = moved && p->now_ms < t->until_ms ? FUSION_TRIAL_RUNS :
							      FUSION_TRIAL_NONE;
	}
}

void fusion_trial_taken(struct fusion_policy *p, u32 lext)
{
	unsigned int i;

	for (i = 0; i < FUSION_TRIALS; i++)
		if (p->trial[i].state == FUSION_TRIAL_RUNS && p->trial[i].lext == lext)
			p->trial[i].taken = true;
}

void fusion_policy_used(struct fusion_policy *p, u32 us)
{
	p->used_us += us;
}

static s32 fusion_trial_gained(const struct fusion_policy *p, u32 lext, u32 before)
{
	return (s32)fusion_policy_heat(p, lext) - (s32)fusion_word_heat_now(p, before);
}

static void fusion_trial_verdict(struct fusion_policy *p, bool right)
{
	p->wrong -= p->wrong >> WRONG_SHIFT;
	if (!right)
		p->wrong += WRONG_ALL >> WRONG_SHIFT;
	p->verdict_ms = p->now_ms;
	fusion_payback_update(p);
}

static void fusion_trial_judge(struct fusion_policy *p, struct fusion_trial *t)
{
	s32 gain = fusion_trial_gained(p, t->lext, t->before) -
		   fusion_trial_gained(p, t->victim, t->victim_before);
	s32 enough = t->pay / 2;
	u32 word = READ_ONCE(p->map[t->lext]);
	bool known;

	if (!fusion_word_mapped(word) || !fusion_word_mapped(READ_ONCE(p->map[t->victim]))) {
		t->state = FUSION_TRIAL_NONE;
		return;
	}
	known = gain >= enough || gain <= -enough;
	if (!known && fusion_word_dev(word) == FUSION_FAST && p->now_ms < t->until_ms)
		return;
	t->state = FUSION_TRIAL_NONE;
	/* undecided is wrong, if it had its time, or did not last that long by our own doing */
	if (known || t->taken || (p->now_ms >= t->until_ms &&
				  p->used_us - t->used_us >= p->half_life_ms * 750))
		fusion_trial_verdict(p, gain >= enough);
}

void fusion_trials(struct fusion_policy *p)
{
	unsigned int i;

	for (i = 0; i < FUSION_TRIALS; i++)
		if (p->trial[i].state == FUSION_TRIAL_RUNS)
			fusion_trial_judge(p, &p->trial[i]);
	if (p->now_ms - p->verdict_ms >= p->half_life_ms) {
		p->wrong -= p->wrong >> FORGET_SHIFT;
		p->verdict_ms = p->now_ms;
		fusion_payback_update(p);
	}
}

void fusion_payback_init(struct fusion_policy *p)
{
	u64 ticks = div_u64(p->half_life_ms, p->tick_ms);

	memset(p->trial, 0, sizeof(p->trial));
	/* an access in each tick comes to 1.44 times those of a half-life */
	p->most_pay = max_t(u64, ticks * FUSION_HEAT_TOUCH * 3 / 4, LEAST_PAY);
	fusion_payback_update(p);
}
