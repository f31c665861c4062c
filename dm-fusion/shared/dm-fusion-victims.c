// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the extents that leave a member to make room for others, and those that are left alone
 * for a while.
 */
#include <linux/compiler.h>
#include <linux/minmax.h>

#include "dm-fusion-heat.h"

/* Times for which an extent is left alone. */
#define SKIPPED_MS	1000U
#define CANCELLED_MS	1000U
#define CANCELLED_TWICE	4U	/* at most 16 s */
#define FAILED_MS	60000U
#define FAILED_TWICE	6U	/* at most 64 min */
#define FORGIVEN_MS	600000U	/* after the end of it */
#define RESIDENCE_MS	60000U	/* on the fast member, once it is there */

/* -- extents that did not want to be moved --------------------------------- */

const struct fusion_hold *fusion_policy_hold_of(const struct fusion_policy *p, u32 lext)
{
	const struct fusion_hold *hold = &p->hold[lext % FUSION_HOLDS];

	return READ_ONCE(hold->lext) == lext &&
	       READ_ONCE(p->now_ms) < READ_ONCE(hold->until_ms) ? hold : NULL;
}

bool fusion_policy_held(const struct fusion_policy *p, u32 lext, bool idle)
{
	const struct fusion_hold *hold = fusion_policy_hold_of(p, lext);

	/* idle: nobody is there to cancel it again */
	return hold && READ_ONCE(hold->outcome) != FUSION_MOVED &&
	       !(idle && READ_ONCE(hold->outcome) == FUSION_CANCELLED);
}

bool fusion_policy_resident(const struct fusion_policy *p, u32 lext)
{
	const struct fusion_hold *hold = fusion_policy_hold_of(p, lext);

	return hold && READ_ONCE(hold->outcome) == FUSION_MOVED;
}

void fusion_policy_done(struct fusion_policy *p, const struct fusion_move *move,
			enum fusion_outcome outcome)
{
	struct fusion_hold *hold = &p->hold[move->lext % FUSION_HOLDS];
	u32 ms = SKIPPED_MS;

	if (move->to == FUSION_SLOW && p->leaving)
		p->leaving--;
	if (move->to == FUSION_FAST)
		fusion_trial_moved(p, move->lext, outcome == FUSION_MOVED);

	if (hold->lext != move->lext) {
		/* reading a bad sector again costs more than a copy begun in vain */
		if ((outcome == FUSION_MOVED && move->to == FUSION_SLOW) ||
		    (hold->outcome == FUSION_FAILED && outcome != FUSION_FAILED &&
		     p->now_ms < hold->until_ms))
			return;
		hold->lext = move->lext;
		hold->tries = 0;
	} else if (outcome == FUSION_MOVED || p->now_ms > hold->until_ms + FORGIVEN_MS) {
		hold->tries = 0;
	}

	switch (outcome) {
	case FUSION_MOVED:
		ms = move->to == FUSION_FAST ? RESIDENCE_MS : 0;
		break;
	case FUSION_CANCELLED:
		ms = CANCELLED_MS << min_t(u32, hold->tries++, CANCELLED_TWICE);
		break;
	case FUSION_FAILED:
		ms = FAILED_MS << min_t(u32, hold->tries++, FAILED_TWICE);
		break;
	default:
		break;
	}
	hold->tries = min_t(u32, hold->tries, FAILED_TWICE);
	hold->outcome = outcome;
	hold->until_ms = p->now_ms + ms;
}

/* -- which make room for others ------------------------------------------------ */

bool fusion_may_yield(const struct fusion_policy *p, const struct fusion_hunt *h, u32 lext,
		      bool shadowed, u32 limit)
{
	u32 word = READ_ONCE(p->map[lext]);
	bool swap = h->why != FUSION_FOR_RESERVE;

	return fusion_word_movable(word, FUSION_FAST) && fusion_word_shadowed(word) == shadowed &&
	       fusion_policy_heat(p, lext) <= limit && !fusion_policy_held(p, lext, h->idle) &&
	       !((swap || !h->idle) && fusion_policy_resident(p, lext)) &&
	       fusion_pinned_to(h->pins, lext) == FUSION_UNPINNED;
}

u32 fusion_next_victim(struct fusion_policy *p, struct fusion_hunt *h, bool shadowed, u32 limit)
{
	u32 *hand = &p->hand[shadowed], *vain = &p->vain[shadowed][h->why];
	u32 *budget = &h->budget[shadowed];

	limit = min(limit, p->cold);
	while (*hand < p->nr_lexts && *vain < p->nr_lexts && *budget) {
		u32 lext = (*hand)++;

		++*vain;
		--*budget;
		if (fusion_may_yield(p, h, lext, shadowed, limit)) {
			*vain = 0;
			return lext;
		}
	}
	return FUSION_NO_LEXT;
}

u32 fusion_swap_victim(struct fusion_policy *p, struct fusion_hunt *h, u32 heat, u32 *pay)
{
	u32 victim = FUSION_NO_LEXT;

	*pay = h->idle ? p->pay_shadowed / 2 : p->pay_shadowed;
	if (p->nr_shadowed && heat >= *pay)
		victim = fusion_next_victim(p, h, true, (heat - *pay) / 2);
	if (victim != FUSION_NO_LEXT)
		return victim;
	*pay = h->idle ? p->pay / 2 : p->pay;
	return heat < *pay ? FUSION_NO_LEXT :
			     fusion_next_victim(p, h, false, (heat - *pay) / 2);
}

/* -- on request ---------------------------------------------------------------- */

/* How much another reason than heat speaks against moving an extent away from @dev. */
enum fusion_attachment {
	FUSION_BELONGS_ELSEWHERE,	/* pinned to the other member */
	FUSION_FREE,
	FUSION_RESIDENT,		/* just promoted */
	FUSION_BELONGS_HERE,
};

static enum fusion_attachment fusion_policy_attached(const struct fusion_policy *p,
						     const struct fusion_pins *pins, u32 lext,
						     enum fusion_dev dev)
{
	unsigned int pinned = fusion_pinned_to(pins, lext);

	if (pinned != FUSION_UNPINNED)
		return pinned == dev ? FUSION_BELONGS_HERE : FUSION_BELONGS_ELSEWHERE;
	return dev == FUSION_FAST && fusion_policy_resident(p, lext) ? FUSION_RESIDENT :
								       FUSION_FREE;
}

/* What speaks against moving an extent away from @dev: the less, the better a victim it is. */
static u32 fusion_policy_cost_of(const struct fusion_policy *p, const struct fusion_pins *pins,
				 u32 lext, enum fusion_dev dev)
{
	u32 heat = fusion_policy_heat(p, lext);

	return fusion_policy_attached(p, pins, lext, dev) * (FUSION_HEAT_MAX + 1) +
	       (dev == FUSION_SLOW ? FUSION_HEAT_MAX - heat : heat);
}

static bool fusion_policy_may_leave(const struct fusion_policy *p, const struct fusion_victims *v,
				    u32 lext)
{
	u32 word = READ_ONCE(p->map[lext]), slot = fusion_word_slot(word);

	return fusion_word_mapped(word) && fusion_word_dev(word) == v->dev &&
	       (fusion_word_movable(word, v->dev) ||
		fusion_word_state(word) == FUSION_OPEN) &&
	       (lext < v->first || lext > v->last) &&
	       (slot < v->fence_first || slot >= v->fence_end) &&
	       (!v->old_slot || slot < v->old_slot);
}

void fusion_policy_victims(const struct fusion_policy *p, struct fusion_victims *v, u32 from,
			   u32 end)
{
	const struct fusion_pins *pins;
	u32 lext, cost, k;

	rcu_read_lock();
	pins = rcu_dereference(p->pins);
	for (lext = from; lext < end; lext++) {
		if (!fusion_policy_may_leave(p, v, lext))
			continue;
		if (fusion_policy_held(p, lext, false)) {
			v->held++;
			continue;
		}
		cost = fusion_policy_cost_of(p, pins, lext, v->dev);
		if (v->nr == FUSION_VICTIMS && cost >= v->best[v->nr - 1].cost)
			continue;
		v->nr = min(v->nr + 1, FUSION_VICTIMS);
		for (k = v->nr - 1; k && v->best[k - 1].cost > cost; k--)
			v->best[k] = v->best[k - 1];
		v->best[k].lext = lext;
		v->best[k].cost = cost;
	}
	rcu_read_unlock();
}
