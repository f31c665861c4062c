// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: extents that are pinned to a member.
 *
 * A pin says where an extent belongs, whatever its heat. So pinned extents are not weighed against
 * others: the sweep leaves them out of its histograms, and they are neither candidates nor victims.
 * Two hands of their own, one for each member, find those that lie on the wrong one.
 *
 * The pins are changed as a whole, by another thread, and what it replaces is freed after a grace
 * period. So a function reads the pointer once, in an RCU section around all that it does with it.
 */
#include <linux/bitmap.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "dm-fusion-heat.h"

void fusion_policy_pin(struct fusion_policy *p, const struct fusion_pins *pins)
{
	/*
	 * Pairs with each rcu_dereference() of p->pins: a reader that finds the pins finds all
	 * their bits.
	 */
	rcu_assign_pointer(p->pins, pins);
	WRITE_ONCE(p->repinned, true);
}

unsigned int fusion_policy_pinned(const struct fusion_policy *p, u32 lext)
{
	unsigned int dev;

	rcu_read_lock();
	dev = fusion_pinned_to(rcu_dereference(p->pins), lext);
	rcu_read_unlock();
	return dev;
}

u32 fusion_policy_nr_pinned(const struct fusion_policy *p, enum fusion_dev dev)
{
	const struct fusion_pins *pins;
	u32 nr;

	rcu_read_lock();
	pins = rcu_dereference(p->pins);
	nr = pins ? pins->nr[dev] : 0;
	rcu_read_unlock();
	return nr;
}

void fusion_pins_begin(struct fusion_policy *p)
{
	unsigned int dev;

	/* what changes at the same time may stay unseen until the sweep has passed */
	if (READ_ONCE(p->repinned)) {
		WRITE_ONCE(p->repinned, false);
		memset(p->pin_vain, 0, sizeof(p->pin_vain));
	}
	for (dev = 0; dev < FUSION_NR_DEVS; dev++)
		if (p->pin_hand[dev] == p->nr_lexts)
			p->pin_hand[dev] = 0;
}

bool fusion_pin_may_move(const struct fusion_policy *p, const struct fusion_hunt *h, u32 lext,
			 enum fusion_dev dev)
{
	enum fusion_dev from = dev == FUSION_FAST ? FUSION_SLOW : FUSION_FAST;

	return fusion_word_movable(READ_ONCE(p->map[lext]), from) &&
	       !fusion_policy_held(p, lext, h->idle) &&
	       (h->idle || dev == FUSION_FAST || !fusion_policy_resident(p, lext));
}

u32 fusion_next_pinned(struct fusion_policy *p, struct fusion_hunt *h, enum fusion_dev dev)
{
	u32 *hand = &p->pin_hand[dev], *vain = &p->pin_vain[dev];
	u32 *budget = &h->pin_budget[dev], lext, passed;

	if (!h->pins || !h->pins->nr[dev])
		return FUSION_NO_LEXT;
	while (*hand < p->nr_lexts && *vain < p->nr_lexts && *budget) {
		lext = find_next_bit(h->pins->on[dev], p->nr_lexts, *hand);
		passed = lext - *hand;
		*budget -= min(*budget, 1 + passed / BITS_PER_LONG);
		*vain += passed;
		*hand = lext;
		if (lext == p->nr_lexts)
			break;
		++*vain;
		++*hand;
		if (fusion_pin_may_move(p, h, lext, dev)) {
			*vain = 0;
			return lext;
		}
	}
	return FUSION_NO_LEXT;
}

unsigned int fusion_pins_coming(struct fusion_policy *p, struct fusion_hunt *h, u32 *lexts,
				unsigned int max)
{
	u32 hand = p->pin_hand[FUSION_FAST], vain = p->pin_vain[FUSION_FAST], lext;
	unsigned int n = 0;

	while (n < max) {
		lext = fusion_next_pinned(p, h, FUSION_FAST);
		if (lext == FUSION_NO_LEXT)
			break;
		lexts[n++] = lext;
	}
	p->pin_hand[FUSION_FAST] = hand;
	p->pin_vain[FUSION_FAST] = vain;
	return n;
}

u32 fusion_pin_victim(struct fusion_policy *p, struct fusion_hunt *h)
{
	u32 victim = fusion_next_pinned(p, h, FUSION_SLOW);

	if (victim == FUSION_NO_LEXT && p->nr_shadowed)
		victim = fusion_next_victim(p, h, true, FUSION_HEAT_MAX);
	if (victim == FUSION_NO_LEXT)
		victim = fusion_next_victim(p, h, false, FUSION_HEAT_MAX);
	return victim;
}
