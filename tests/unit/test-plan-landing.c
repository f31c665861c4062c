// SPDX-License-Identifier: GPL-2.0-only
/* The layout of sets that keep slots for a landing log: new, grown, shrunk. */
#include <errno.h>

#include "dm-fusion-landing.h"
#include "dm-fusion-stale.h"
#include "geometry.h"
#include "unit.h"

/* The codec accepts the superblocks of both members. */
static void require_valid(const struct fusion_sb *sb)
{
	struct fusion_sb fast = *sb, slow, back;
	u8 block[FUSION_BLOCK_SIZE];
	const char *why;

	REQUIRE(!geometry_wrong(sb), "%s", geometry_wrong(sb));
	fast.generation = 2;
	fusion_sb_pack(&fast, 0, block);
	REQUIRE(!unpack_landing(block, 0, fast.self_sectors, &back, &why), "%s", why);
	REQUIRE_EQ(back.landing_slots, sb->landing_slots);
	fusion_sb_for_slow(&fast, &slow);
	fusion_sb_pack(&slow, 0, block);
	REQUIRE(!unpack_landing(block, 0, slow.self_sectors, &back, &why), "%s", why);
	REQUIRE(!fusion_sb_match(&fast, &slow, &why), "%s", why);
}

/* Slots of the slow member that the stale list takes. */
static u32 stale_slots(const struct fusion_sb *sb)
{
	return DIV_ROUND_UP(fusion_stale_size(sb, sb->stale_places),
			    sb->extent_sectors / FUSION_BLOCK_SECTORS);
}

/*
 * In extents of each size: the capacity shrinks by what is kept, and by the stale list in front of
 * the first slot of the slow member. Nothing else moves.
 */
static void test_new(void)
{
	struct fusion_misfit misfit;
	struct fusion_sb sb, with, moved;
	u32 extent, slots, most, list, planned = 0;
	u64 seed = 1;

	for (u32 i = 0; i < 4000; i++) {
		extent = FUSION_MIN_EXTENT_SECTORS << i % 9;
		if (fusion_sb_plan(&sb, extent * (64ULL + rnd_below(&seed, 1U << i % 16)),
				   extent * (64ULL + rnd_below(&seed, 1U << i % 20)), extent,
				   &misfit))
			continue;
		most = fusion_landing_limit(&sb);
		slots = i % 3 ? 1 + rnd_below(&seed, most) : most;
		with = sb;
		REQUIRE(!fusion_sb_plan_landing(&with, 0, &misfit));
		REQUIRE(!memcmp(&with, &sb, sizeof(sb)));
		if (fusion_sb_plan_landing(&with, slots, &misfit)) {
			REQUIRE_EQ(misfit.dev, FUSION_SLOW);
			REQUIRE(!memcmp(&with, &sb, sizeof(sb)));
			continue;
		}
		planned++;
		REQUIRE_EQ(with.landing_slots, slots);
		REQUIRE_EQ(with.stale_places, slots);
		list = stale_slots(&with);
		REQUIRE_EQ(with.nr_lexts, sb.nr_lexts - slots - list);
		REQUIRE_EQ(with.slow_first_slot, sb.slow_first_slot + list);
		REQUIRE_EQ(with.nr_slow_slots, sb.nr_slow_slots - list);
		REQUIRE_EQ(with.stale_start * FUSION_BLOCK_SECTORS,
			   (u64)sb.slow_first_slot * extent);
		REQUIRE_EQ(with.incompat, FUSION_INCOMPAT_LANDING);
		moved = with;
		moved.slow_first_slot = sb.slow_first_slot;
		moved.stale_places = 0;
		moved.stale_start = 0;
		REQUIRE(fusion_sb_same_places(&moved, &sb));
		REQUIRE(with.map_blocks <= sb.map_blocks && with.heat_blocks <= sb.heat_blocks);
		require_valid(&with);
		with = sb;
		REQUIRE_EQ(fusion_sb_plan_landing(&with, most + 1, &misfit), -ENOSPC);
		REQUIRE_EQ(misfit.dev, FUSION_FAST);
		REQUIRE(!memcmp(&with, &sb, sizeof(sb)));
		REQUIRE_EQ(fusion_sb_plan_landing(&with, U32_MAX, &misfit), -ENOSPC);
	}
	REQUIRE(planned > 2000, "%u", planned);
}

static struct fusion_sb example(u32 slots)
{
	struct fusion_misfit misfit;
	struct fusion_sb sb = {};

	REQUIRE(!fusion_sb_plan(&sb, 1 << 20, 1 << 23, 2048, &misfit));
	REQUIRE(!fusion_sb_plan_landing(&sb, slots, &misfit));
	return sb;
}

/* A set that grows does not take what is kept. */
static void test_grow(void)
{
	struct fusion_sb sb = example(40), plain = example(0), was;
	struct fusion_misfit misfit;

	/* the slots that are kept are the only ones that no extent can have */
	was = sb;
	REQUIRE_EQ(fusion_sb_grow(&sb, 1 << 20, 1 << 23, 0, &misfit), -EINVAL);
	REQUIRE(!memcmp(&sb, &was, sizeof(sb)));
	REQUIRE(!fusion_sb_grow(&sb, 1 << 21, 1 << 24, 0, &misfit));
	REQUIRE(!fusion_sb_grow(&plain, 1 << 21, 1 << 24, 0, &misfit));
	REQUIRE_EQ(sb.nr_lexts, plain.nr_lexts - 40 - stale_slots(&sb));
	REQUIRE_EQ(sb.landing_slots, 40);
	REQUIRE(fusion_sb_grown_from(&sb, &was));
	require_valid(&sb);
}

/* The list stays while the log is off, and nothing grows into it. */
static void test_grow_listed(void)
{
	struct fusion_misfit misfit;
	struct fusion_sb sb, was;
	u32 grown = 0;

	for (u64 more = 1; more <= 1024; more++) {
		sb = example(40);
		sb.incompat = 0;
		sb.landing_slots = 0;
		/* as close behind the map as can be */
		if (more % 2)
			sb.stale_start = sb.map_start[FUSION_SLOW][1] + sb.map_blocks + more % 8;
		was = sb;
		if (fusion_sb_grow(&sb, more << 20, more << 23, 0, &misfit))
			continue;
		grown++;
		REQUIRE_EQ(sb.stale_places, 40);
		REQUIRE_EQ(sb.stale_start, was.stale_start);
		require_valid(&sb);
	}
	REQUIRE(grown > 500, "%u", grown);
}

/* The list may be longer than the log of a fast member of that size can be. */
static void test_shrink_listed(void)
{
	struct fusion_sb sb = example(150);
	const u64 data = sb.fast_data_start + FUSION_GUARD_SECTORS;
	struct fusion_misfit misfit;

	sb.incompat = 0;
	sb.landing_slots = 0;
	REQUIRE(!fusion_sb_shrink(&sb, data + 200 * 2048, 1 << 23, 0, &misfit));
	REQUIRE_EQ(sb.nr_fast_slots, 200);
	REQUIRE_EQ(sb.stale_places, 150);
	require_valid(&sb);
}

/* A set that shrinks keeps them, as long as the fast member has room for them. */
static void test_shrink(void)
{
	struct fusion_sb sb = example(150), plain = example(0), was = sb;
	const u64 data = sb.fast_data_start + FUSION_GUARD_SECTORS;
	const u32 list = stale_slots(&sb);
	struct fusion_misfit misfit;

	REQUIRE_EQ(fusion_sb_shrink(&sb, data + 299 * 2048, 1 << 23, 0, &misfit), -ENOSPC);
	REQUIRE(misfit.dev == FUSION_FAST && strstr(misfit.what, "landing log"));
	REQUIRE(!memcmp(&sb, &was, sizeof(sb)));
	REQUIRE(!fusion_sb_shrink(&sb, data + 300 * 2048, 1 << 23, 0, &misfit));
	REQUIRE(!fusion_sb_shrink(&plain, data + 300 * 2048, 1 << 23, 0, &misfit));
	REQUIRE_EQ(sb.nr_fast_slots, 300);
	REQUIRE_EQ(sb.nr_lexts, plain.nr_lexts - 150 - list);
	REQUIRE_EQ(sb.landing_slots, 150);
	REQUIRE(fusion_sb_shrunk_from(&sb, &was));
	require_valid(&sb);

	/* more extents than there is room for beside them */
	sb = was;
	REQUIRE_EQ(fusion_sb_shrink(&sb, data + 300 * 2048, 1 << 23, plain.nr_lexts - 149 - list,
				    &misfit), -EINVAL);
	REQUIRE(!fusion_sb_shrink(&sb, data + 300 * 2048, 1 << 23, plain.nr_lexts - 150 - list,
				  &misfit));
	require_valid(&sb);
}

static const struct unit_test tests[] = {
	{ "plan, landing: new sets", test_new },
	{ "plan, landing: a set that grows", test_grow },
	{ "plan, landing: a set that shrinks", test_shrink },
	{ "plan, landing: one that grows with a list alone", test_grow_listed },
	{ "plan, landing: one that shrinks with a list alone", test_shrink_listed },
};

UNIT_TESTS(tests)
