// SPDX-License-Identifier: GPL-2.0-only
/* Have shadows the slots and the content that they should have, and are they counted right? */
#include "dm-fusion.h"

#include "invariants.h"
#include "model.h"

/* Nobody else has the slow slot, and the extent lies where it is looked for. */
static void check_shadow(const struct fusion *fs, u32 fast, unsigned long **taken)
{
	const unsigned long *todo = fs->slots.discards[FUSION_SLOW].todo;
	const unsigned long *pending = fs->shadows.point.pending;
	u32 slot = fs->shadows.of[fast].slot & ~FUSION_SHADOW_FLAGS;
	u32 lext = fs->shadows.of[fast].lext, word;

	if (!fusion_slot_valid(&fs->sb, FUSION_SLOW, slot) || lext >= fs->sb.nr_lexts)
		sim_fail("INV12: extent %u has an impossible shadow in slow slot %u", lext, slot);
	word = fs->map[lext];
	if (!fusion_word_mapped(word) || fusion_word_dev(word) != FUSION_FAST ||
	    fusion_word_slot(word) != fast ||
	    (fusion_word_state(word) != FUSION_STABLE &&
	     fusion_word_state(word) != FUSION_WATCHED &&
	     !(pending && test_bit(fast, pending))))
		sim_fail("INV12: the shadow of fast slot %u is that of extent %u, which is %x",
			 fast, lext, word);
	if (__test_and_set_bit(slot, taken[FUSION_SLOW]))
		sim_fail("INV12: slow slot %u is a shadow, and an extent has it", slot);
	if (!test_bit(slot, fs->slots.used[FUSION_SLOW].bits))
		sim_fail("INV12: slow slot %u is a shadow, and free", slot);
	if (test_bit(slot, fs->replica.held[0]) || test_bit(slot, fs->replica.held[1]) ||
	    (todo && test_bit(slot, todo)))
		sim_fail("INV12: slow slot %u is a shadow, and held or to be discarded", slot);
	if (!fs->slots.fence.rising && fusion_fenced(&fs->slots.fence, FUSION_SLOW, slot))
		sim_fail("INV12: slow slot %u is a shadow, inside the fence", slot);
}

/* A shadow that is current has the content of its extent. */
static void check_current(const struct fusion *fs, u32 fast)
{
	const struct fusion_shadow *shadow = &fs->shadows.of[fast];
	u64 stamps[FUSION_NR_DEVS][EXTENT_SECTORS];
	u32 i;

	/* while another one is copied, the extent is WATCHED for that */
	if (fusion_word_state(fs->map[shadow->lext]) != FUSION_WATCHED ||
	    !(shadow->slot & FUSION_SHADOW_CURRENT))
		return;
	sim_disk_see_extent(fs->dev[FUSION_FAST]->bdev->disk,
			    fusion_slot_sector(&fs->sb, FUSION_FAST, fast), stamps[FUSION_FAST]);
	sim_disk_see_extent(fs->dev[FUSION_SLOW]->bdev->disk,
			    fusion_slot_sector(&fs->sb, FUSION_SLOW,
					       shadow->slot & ~FUSION_SHADOW_FLAGS),
			    stamps[FUSION_SLOW]);
	for (i = 0; i < EXTENT_SECTORS; i++)
		if (stamps[FUSION_FAST][i] != stamps[FUSION_SLOW][i])
			sim_fail("INV13: sector %u of extent %u: its shadow has %llx, not %llx", i,
				 shadow->lext, stamps[FUSION_SLOW][i], stamps[FUSION_FAST][i]);
}

void check_shadows(const void *private, unsigned long **taken)
{
	const struct fusion *fs = private;
	const u32 both = FUSION_SHADOW_SAME | FUSION_SHADOW_NAMED;
	u32 fast, nr = 0, named = 0, same = 0, look;
	int counted = 0;

	for (fast = 0; fast < fs->sb.nr_fast_slots; fast++) {
		const u32 slot = fs->shadows.of[fast].slot;

		if (!slot != test_bit(fast, fs->shadows.none.bits))
			sim_fail("INV12: the shadow of fast slot %u is lost", fast);
		if ((slot && !(slot & FUSION_SHADOW_NAMED)) ==
		    test_bit(fast, fs->shadows.unnamed.bits))
			sim_fail("the shadow of fast slot %u: is it named?", fast);
		if (!fs->shadows.of[fast].slot)
			continue;
		check_shadow(fs, fast, taken);
		nr++;
		counted += !!(fs->shadows.of[fast].slot & FUSION_SHADOW_CURRENT);
		named += !!(fs->shadows.of[fast].slot & FUSION_SHADOW_NAMED);
		same += (fs->shadows.of[fast].slot & both) == both;
	}
	check_used(&fs->shadows.none);
	check_used(&fs->shadows.unnamed);
	if (same != fs->shadows.nr_same || fs->shadows.nr_protected > same)
		sim_fail("%u shadows recorded as current, %u counted, %u protected", same,
			 fs->shadows.nr_same, fs->shadows.nr_protected);
	if (named != fs->shadows.nr_named)
		sim_fail("%u shadows are named, %u counted", named, fs->shadows.nr_named);
	if (nr != fs->shadows.nr || counted > fs->shadows.nr_current.counter)
		sim_fail("%u shadows, %u counted; %d current, %d counted", nr, fs->shadows.nr,
			 counted, fs->shadows.nr_current.counter);
	/* one at a time, as this is done very often */
	look = nr ? world->steps % nr : 0;
	for (fast = 0; nr && fast < fs->sb.nr_fast_slots; fast++)
		if (fs->shadows.of[fast].slot && !look--)
			check_current(fs, fast);
}

void check_shadow_counts(const void *private)
{
	const struct fusion *fs = private;
	int watched = 0, left = sim_preempt_left;
	u32 lext, fast;

	/* a worker may be in the midst of a change */
	if (fs->lock.held)
		return;
	sim_preempt_left = INT_MAX;
	for (lext = 0; lext < fs->sb.nr_lexts; lext++) {
		if (!fusion_word_mapped(fs->map[lext]) ||
		    fusion_word_dev(fs->map[lext]) != FUSION_FAST ||
		    fusion_word_state(fs->map[lext]) != FUSION_WATCHED)
			continue;
		if (fusion_shadow_is_current(fs, fs->map[lext]))
			watched++;
		else if (!fs->mover.in_flight && !fs->slots.nr_quarantined)
			sim_fail("extent %u is watched, and has no shadow", lext);
	}
	if (watched != fs->shadows.nr_current.counter)
		sim_fail("%d shadows are current, %d counted", watched,
			 fs->shadows.nr_current.counter);
	for (fast = 0; fast < fs->sb.nr_fast_slots; fast++)
		if (fs->shadows.of[fast].slot)
			check_current(fs, fast);
	sim_preempt_left = left;
}

/* It has content of its extent, be it current or not. */
static void check_own(const struct fusion *fs, u32 fast)
{
	u32 slot = fs->shadows.of[fast].slot & ~FUSION_SHADOW_FLAGS, i;
	u32 lext = fs->shadows.of[fast].lext;
	u64 stamps[EXTENT_SECTORS];

	sim_disk_see_extent(fs->dev[FUSION_SLOW]->bdev->disk,
			    fusion_slot_sector(&fs->sb, FUSION_SLOW, slot), stamps);
	for (i = 0; i < EXTENT_SECTORS; i++)
		if (stamps[i] && !model_stamp_is_of(stamps[i], lext * EXTENT_SECTORS + i))
			sim_fail("sector %u of extent %u: its shadow has %llx", i, lext, stamps[i]);
}

void check_shadows_found(const void *private)
{
	const struct fusion *fs = private;
	u32 fast;

	for (fast = 0; fast < fs->sb.nr_fast_slots; fast++) {
		if (!fs->shadows.of[fast].slot)
			continue;
		check_own(fs, fast);
		check_current(fs, fast);
	}
}

bool set_shadows_settled(const void *private)
{
	const struct fusion *fs = private;

	return !fs->shadows.changed && !fs->shadows.point.since;
}

u32 set_shadows_current(const void *private)
{
	const struct fusion *fs = private;

	return fs->shadows.nr_current.counter;
}

bool set_has_current_shadow(const void *private, u32 lext)
{
	const struct fusion *fs = private;

	return fusion_shadow_is_current(fs, fs->map[lext]);
}

u64 set_shadows(const void *private)
{
	const struct fusion *fs = private;

	return fs->shadows.nr ? fs->shadows.dropped + fs->shadows.demotions +
				fs->mover.cancelled + 1 : 0;
}
