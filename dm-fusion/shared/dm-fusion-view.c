// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: what the policy decides by, for users who ask why an extent lies where it does.
 *
 * All of this only reads, beside the mover, and takes no lock: a number may be one tick old.
 */
#include <linux/compiler.h>
#include <linux/minmax.h>

#include "dm-fusion-heat.h"

void fusion_policy_view(const struct fusion_policy *p, struct fusion_policy_view *v)
{
	v->bar = READ_ONCE(p->bar);
	v->kth = READ_ONCE(p->kth);
	v->cold = READ_ONCE(p->cold);
	v->nr_shadowed = READ_ONCE(p->nr_shadowed);
	v->shortfall = READ_ONCE(p->shortfall);
	v->leaving = READ_ONCE(p->leaving);
	fusion_payback_view(p, v);
}

static void fusion_survey_hot(struct fusion_survey *s, u32 heat)
{
	u32 k;

	if (!heat || (s->nr == FUSION_LONG_BATCH && heat <= s->hottest[s->nr - 1]))
		return;
	s->nr = min(s->nr + 1, FUSION_LONG_BATCH);
	for (k = s->nr - 1; k && s->hottest[k - 1] < heat; k--)
		s->hottest[k] = s->hottest[k - 1];
	s->hottest[k] = heat;
}

void fusion_policy_survey(const struct fusion_policy *p, struct fusion_survey *s, u32 from,
			  u32 end)
{
	struct fusion_hunt h = { .idle = s->idle, .why = FUSION_FOR_SWAP };
	u32 lext, word, heat, bar = READ_ONCE(p->bar), cold = READ_ONCE(p->cold);
	unsigned int pinned;
	bool shadowed;

	rcu_read_lock();
	h.pins = rcu_dereference(p->pins);
	for (lext = from; lext < end; lext++) {
		word = READ_ONCE(p->map[lext]);
		heat = fusion_policy_heat(p, lext);
		shadowed = fusion_word_shadowed(word);
		pinned = fusion_pinned_to(h.pins, lext);
		if (pinned != FUSION_UNPINNED) {
			s->pinned[pinned] += fusion_pin_may_move(p, &h, lext, pinned);
		} else if (fusion_word_movable(word, FUSION_SLOW) &&
			   !fusion_policy_held(p, lext, s->idle)) {
			s->candidates += heat >= bar;
			fusion_survey_hot(s, heat);
		} else if (fusion_may_yield(p, &h, lext, shadowed, cold)) {
			s->coldest[shadowed] = s->victims[shadowed]++ ?
					       min(s->coldest[shadowed], heat) : heat;
		}
	}
	rcu_read_unlock();
}

u64 fusion_policy_hold(const struct fusion_policy *p, u32 lext, enum fusion_outcome *why)
{
	const struct fusion_hold *hold = fusion_policy_hold_of(p, lext);
	u64 until, now = READ_ONCE(p->now_ms);

	if (!hold)
		return 0;
	*why = READ_ONCE(hold->outcome);
	until = READ_ONCE(hold->until_ms);
	return until - min(until, now);
}
