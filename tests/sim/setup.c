// SPDX-License-Identifier: GPL-2.0-only
/* The set of a run: its geometry, its disks, and the options of its table. */
#include <stdio.h>

#include "ops.h"

#define SECTORS		(96U << 11)	/* of either disk */
/* Enough that a map copy is written in chunks, with commits between them; most are empty. */
#define WIDE_BLOCKS	(FUSION_TXN_BLOCKS + 2)

/*
 * Small: few slots, so that each is used again soon. Now and then more, so many that a
 * transaction has more than one block. And the smallest of journals, which wraps every
 * some dozen commits.
 */
static void make_geometry(struct fusion_sb *sb, bool large, bool wide, u64 *rng)
{
	struct fusion_misfit misfit;
	u32 i;

	memset(sb, 0, sizeof(*sb));
	for (i = 0; i < sizeof(sb->set_uuid); i++) {
		sb->set_uuid[i] = rnd(rng);
		sb->dev_uuid[i] = rnd(rng);
		sb->peer_uuid[i] = rnd(rng);
	}
	if (fusion_sb_plan(sb, SECTORS, SECTORS, EXTENT_SECTORS, &misfit))
		sim_fail("no plan: %s", misfit.what);
	if (!large) {
		sb->nr_fast_slots = 4 + rnd_below(rng, 9);
		sb->nr_slow_slots = 4 + rnd_below(rng, 13);
	} else {
		sb->nr_fast_slots = 4 + rnd_below(rng, 290);
		sb->nr_slow_slots = 300 + rnd_below(rng, 200) - sb->nr_fast_slots;
	}
	sb->map_blocks = wide ? WIDE_BLOCKS : 1;
	sb->heat_blocks = wide ? WIDE_BLOCKS : 1;
	sb->journal_blocks[FUSION_FAST] = FUSION_MIN_JOURNAL_BLOCKS;
	if (wide) {
		sb->map_start[FUSION_FAST][0] = sb->journal_start[FUSION_FAST] +
						FUSION_MIN_JOURNAL_BLOCKS;
		sb->map_start[FUSION_FAST][1] = sb->map_start[FUSION_FAST][0] + sb->map_blocks;
		sb->heat_start = sb->map_start[FUSION_FAST][1] + sb->map_blocks;
	}
	sb->map_start[FUSION_SLOW][0] -= sb->journal_blocks[FUSION_SLOW] -
					 FUSION_MIN_JOURNAL_BLOCKS;
	sb->map_start[FUSION_SLOW][1] = sb->map_start[FUSION_SLOW][0] + sb->map_blocks;
	sb->journal_blocks[FUSION_SLOW] = FUSION_MIN_JOURNAL_BLOCKS;
	sb->replay_seq = 1 + rnd_below(rng, 2 * FUSION_MIN_JOURNAL_BLOCKS);
	sb->spare_fast = 1 + rnd_below(rng, 2);
	sb->spare_slow = 1 + rnd_below(rng, 2);
	sb->nr_lexts = sb->nr_fast_slots - sb->spare_fast + sb->nr_slow_slots - sb->spare_slow;
	/* extents from slow_first_slot on have a home there */
	sb->nr_lexts -= rnd_below(rng, min(sb->nr_lexts / 3, 20U));
}

/*
 * The slow member's slots begin where they can at the earliest, and the set has so many extents
 * that most of them have a home. All others have room on the fast member.
 */
static void make_homes(struct fusion_sb *sb, u64 *rng)
{
	sb->slow_first_slot = FUSION_GUARD_SECTORS / EXTENT_SECTORS;
	sb->nr_fast_slots = sb->slow_first_slot + 1 + rnd_below(rng, 8);
	sb->nr_slow_slots = 4 + rnd_below(rng, 13);
	sb->nr_lexts = sb->nr_fast_slots - sb->spare_fast + sb->nr_slow_slots - sb->spare_slow;
	/* often as full as can be */
	if (rnd_below(rng, 2))
		sb->nr_lexts -= rnd_below(rng, 6);
}

/* More slots, so that both members have some to give up; half of the sets have no other use. */
static void make_ends(struct fusion_sb *sb, u64 *rng)
{
	u32 fast = rnd_below(rng, 9), slow = 4 + rnd_below(rng, 13);

	sb->nr_fast_slots += fast;
	sb->nr_slow_slots += slow;
	if (rnd_below(rng, 2))
		sb->nr_lexts += fast + slow;
}

void setup_room(struct setup *s, u64 *rng)
{
	const u32 times = s->large ? 8 : 1;
	struct fusion_misfit misfit;

	s->sb.self_sectors = s->sb.fast_data_start + s->sb.nr_fast_slots * EXTENT_SECTORS +
			     FUSION_GUARD_SECTORS;
	s->sb.peer_sectors = (s->sb.slow_first_slot + s->sb.nr_slow_slots) * EXTENT_SECTORS +
			     FUSION_GUARD_SECTORS;
	s->most = s->sb;
	s->grows = !fusion_sb_grow(&s->most, s->sb.self_sectors +
				   times * rnd_below(rng, 9) * EXTENT_SECTORS,
				   s->sb.peer_sectors + times * rnd_below(rng, 13) * EXTENT_SECTORS,
				   0, &misfit);
}

bool setup_loses(const struct setup *s, u32 lext)
{
	return s->lost && lext < s->sb.nr_lexts && !((lext + s->sb.set_uuid[0]) * 2654435761U %
						     1009 % s->lost);
}

void make_setup(struct setup *s, u64 seed, bool faults, bool large)
{
	u64 rng = seed ^ 0x5e7, other = seed ^ 0xf0a, wide = seed ^ 0x71d, grow = seed ^ 0x960;
	u64 shrink = seed ^ 0x541, homes = seed ^ 0x803d, shadow = seed ^ 0x5ad;
	u64 lost = seed ^ 0x1057, scarce = seed ^ 0x5ca2;
	static const u32 cuts[] = { 1, 8, 32, 128 };
	static const char * const intervals[] = { "10", "100", "1000", "60000" };
	static const char * const replica[] = { "1", "5", "60" };
	static const char * const standby[] = { "0", "0", "1", "5" };

	memset(s, 0, sizeof(*s));
	s->large = large || !rnd_below(&rng, 24);
	make_geometry(&s->sb, s->large, s->large && !rnd_below(&wide, 4), &rng);
	s->homes = !s->large && !rnd_below(&homes, 8);
	if (s->homes)
		make_homes(&s->sb, &homes);
	s->shrinks = !rnd_below(&shrink, 4);
	if (s->shrinks)
		make_ends(&s->sb, &shrink);
	s->most = s->sb;
	if (!rnd_below(&grow, 4))
		setup_room(s, &grow);
	else if (s->shrinks)
		setup_room(s, &shrink);
	s->discards[0] = rnd_below(&rng, 2);
	s->discards[1] = rnd_below(&rng, 2);
	s->fua[0] = rnd_below(&other, 2);
	s->fua[1] = rnd_below(&other, 2);
	s->tears[0] = rnd_below(&other, 2);
	s->tears[1] = rnd_below(&other, 2);
	s->through[0] = !rnd_below(&other, 8);
	s->through[1] = !rnd_below(&other, 8);
	s->depth = 1 << rnd_below(&rng, 5);
	s->cut_one_in = s->large ? 64 : cuts[rnd_below(&rng, ARRAY_SIZE(cuts))];
	s->faults = faults;
	s->scarce = faults && !rnd_below(&scarce, 4) ? 1 + rnd_below(&scarce, 4) : 0;
	/* recoveries of large ones would complete many extents, with a cut at each write */
	if (!s->large && !rnd_below(&lost, 6))
		s->lost = 1 + rnd_below(&lost, 3);
	snprintf(s->options, sizeof(s->options),
		 "20 host 000102030405060708090a0b0c0d0e0f commit_interval %s migration %s idle %u duty %u discard_passdown %s "
		 "replica_interval %s standby %s shadow %s shadow_age %u",
		 intervals[rnd_below(&rng, 4)], rnd_below(&rng, 2) ? "on" : "off",
		 rnd_below(&rng, 2) * 100, 1 + rnd_below(&rng, 100),
		 rnd_below(&rng, 4) ? "on" : "off", replica[rnd_below(&rng, 3)],
		 standby[rnd_below(&rng, ARRAY_SIZE(standby))],
		 rnd_below(&shadow, 8) ? "on" : "off",
		 rnd_below(&shadow, 4) ? 10 : 0);
}
