// SPDX-License-Identifier: GPL-2.0-only
/* A look into the target: its pins, and the extents that do not lie where they belong. */
#include "dm-fusion.h"

#include "invariants.h"

void check_pins(const void *private)
{
	const struct fusion *fs = private;
	const struct fusion_pins *pins = fs->mover.pins.now;
	u32 lext, nr[FUSION_NR_DEVS] = {};
	int left = sim_preempt_left;

	if (!pins)
		return;
	sim_preempt_left = INT_MAX;
	for (lext = 0; lext < fs->sb.nr_lexts; lext++) {
		bool fast = test_bit(lext, pins->on[FUSION_FAST]);
		bool slow = test_bit(lext, pins->on[FUSION_SLOW]);

		if (fast && slow)
			sim_fail("extent %u is pinned to both members", lext);
		if (fusion_policy_pinned(fs->policy, lext) !=
		    (fast ? FUSION_FAST : slow ? FUSION_SLOW : FUSION_UNPINNED))
			sim_fail("extent %u is pinned, and the policy does not know", lext);
		nr[FUSION_FAST] += fast;
		nr[FUSION_SLOW] += slow;
	}
	if (nr[FUSION_FAST] != pins->nr[FUSION_FAST] || nr[FUSION_SLOW] != pins->nr[FUSION_SLOW])
		sim_fail("%u and %u extents are pinned, %u and %u counted", nr[FUSION_FAST],
			 nr[FUSION_SLOW], pins->nr[FUSION_FAST], pins->nr[FUSION_SLOW]);
	if (fs->sb.nr_fast_slots - fs->sb.spare_fast < nr[FUSION_FAST] + fusion_reserve(fs))
		sim_fail("%u extents are pinned to %u fast slots", nr[FUSION_FAST],
			 fs->sb.nr_fast_slots);
	sim_preempt_left = left;
}

u32 set_misplaced(const void *private, enum fusion_dev dev)
{
	const struct fusion *fs = private;
	const struct fusion_pins *pins = fs->mover.pins.now;
	u32 lext, nr = 0;

	for (lext = 0; pins && lext < fs->sb.nr_lexts; lext++)
		nr += test_bit(lext, pins->on[dev]) && fusion_word_mapped(fs->map[lext]) &&
		      fusion_word_state(fs->map[lext]) != FUSION_OPEN &&
		      fusion_word_dev(fs->map[lext]) != dev;
	return nr;
}

u32 set_slow_room(const void *private)
{
	const struct fusion *fs = private;

	return fusion_beside_spares(fs, FUSION_SLOW, fs->slots.nr_free[FUSION_SLOW]);
}
