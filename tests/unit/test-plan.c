// SPDX-License-Identifier: GPL-2.0-only
/* fusion_sb_plan(): the layout of members of any size. */
#include <errno.h>

#include "geometry.h"
#include "unit.h"

#define MIB	2048ULL		/* in sectors */

/* The properties of every plan. */
static void check_plan(const struct fusion_sb *sb, u64 fast, u64 slow, u32 extent)
{
	const u64 used = (u64)sb->nr_fast_slots * extent;
	struct fusion_sb other, back;
	u8 block[FUSION_BLOCK_SIZE];
	const char *why = geometry_wrong(sb);
	u64 lexts = 0, heats = 0, head, spare, log, map, room;
	u32 i;
	int err;

	REQUIRE(!why, "%s: fast %llu slow %llu extent %u", why, fast, slow, extent);
	REQUIRE_EQ(sb->role, FUSION_FAST);
	REQUIRE_EQ(sb->self_sectors, fast);
	REQUIRE_EQ(sb->peer_sectors, slow);
	REQUIRE_EQ(sb->extent_sectors, extent);
	REQUIRE(sb->nr_fast_slots >= 8 && sb->nr_slow_slots >= 8);
	REQUIRE_EQ(sb->nr_lexts, sb->nr_fast_slots - sb->spare_fast +
				 sb->nr_slow_slots - sb->spare_slow);
	spare = sb->nr_fast_slots / 64;
	REQUIRE_EQ(sb->spare_fast, spare < 2 ? 2 : spare > 64 ? 64 : spare);
	spare = sb->nr_slow_slots / 64;
	REQUIRE_EQ(sb->spare_slow, spare < 2 ? 2 : spare > 64 ? 64 : spare);

	/* Every extent has its entry, in exactly as many blocks as needed. */
	for (i = 0; i < sb->map_blocks; i++) {
		REQUIRE(fusion_map_entries(sb, i) > 0);
		lexts += fusion_map_entries(sb, i);
	}
	for (i = 0; i < sb->heat_blocks; i++) {
		REQUIRE(fusion_heat_entries(sb, i) > 0);
		heats += fusion_heat_entries(sb, i);
	}
	REQUIRE_EQ(lexts, sb->nr_lexts);
	REQUIRE_EQ(heats, sb->nr_lexts);
	REQUIRE_EQ(fusion_map_entries(sb, sb->map_blocks), 0);
	REQUIRE_EQ(fusion_map_entries(sb, U32_MAX), 0);
	REQUIRE_EQ(fusion_heat_entries(sb, sb->heat_blocks), 0);
	REQUIRE_EQ(fusion_heat_entries(sb, U32_MAX), 0);

	/* Little is wasted: the data reach to the last extent before the tail. */
	REQUIRE(fast - sb->fast_data_start - used < 2048 + extent);
	REQUIRE(slow - (u64)(sb->slow_first_slot + sb->nr_slow_slots) * extent < 2048 + extent);
	head = 128 + sb->journal_blocks[FUSION_FAST] * 8ULL +
	       (fast / extent + slow / extent) / 50 + 5 * 8;
	REQUIRE(sb->fast_data_start < max(max(head, fast / 16), 2048ULL) + extent);
	log = (fast / extent + slow / extent) / 1012 / 4;
	log = min(max(log, 64ULL), 4096ULL);
	head = 128 + log * 8 + (fast / extent + slow / extent) / 60 + 5 * 8;
	REQUIRE((u64)sb->slow_first_slot * extent < max(max(head, slow / 16), 2048ULL) + extent);
	REQUIRE(sb->journal_blocks[FUSION_SLOW] >= log);

	/* A map of four times the size has room, where all that is a small part of the member. */
	map = (fast / extent + slow / extent) / 1012 + 1;
	room = sb->map_start[FUSION_FAST][1] - sb->map_start[FUSION_FAST][0];
	REQUIRE(room >= sb->map_blocks);
	REQUIRE_EQ(sb->heat_start - sb->map_start[FUSION_FAST][1], room);
	if (128 + 8 * (sb->journal_blocks[FUSION_FAST] + 10 * map + 4) <= fast / 16) {
		REQUIRE(room >= 4ULL * sb->map_blocks);
		REQUIRE(sb->fast_data_start / 8 - sb->heat_start >= 4ULL * sb->heat_blocks);
	}
	room = sb->map_start[FUSION_SLOW][1] - sb->map_start[FUSION_SLOW][0];
	REQUIRE(room >= sb->map_blocks);
	if (128 + 8 * (log + 8 * map) <= slow / 16)
		REQUIRE(room >= 4ULL * sb->map_blocks);
	/* the log takes what would be left over before the first slot */
	if (sb->journal_blocks[FUSION_SLOW] < 16384)
		REQUIRE_EQ(sb->map_start[FUSION_SLOW][1] + room,
			   (u64)sb->slow_first_slot * extent / 8);
	REQUIRE_EQ(sb->journal_blocks[FUSION_FAST], fast < 64 * MIB ? 64 : fast < 4096 * MIB ?
				       max(fast / 512, 256ULL) : 16384);

	/* Both members take it, at this size and when they have grown. */
	fusion_sb_pack(sb, 8, block);
	err = fusion_sb_unpack(block, 8, fast, &back, &why);
	REQUIRE(!err, "%s", why);
	fusion_sb_for_slow(sb, &other);
	other.generation++;
	fusion_sb_pack(&other, 0, block);
	err = fusion_sb_unpack(block, 0, slow + 1, &back, &why);
	REQUIRE(!err, "%s", why);
}

static void test_any_size(void)
{
	struct fusion_sb sb = { };
	unsigned int i, fits = 0, no_space = 0, too_many = 0;
	struct fusion_misfit no = { 0 };
	u64 seed = 3;

	for (i = 0; i < 20000; i++) {
		u32 extent = 128U << rnd_below(&seed, 9);
		u64 fast = rnd_log(&seed, 64 * extent, 1ULL << 44);
		u64 slow = rnd_log(&seed, 64 * extent, 1ULL << 44);
		int err;

		memset(&no, 0, sizeof(no));
		err = fusion_sb_plan(&sb, fast, slow, extent, &no);
		switch (err) {
		case 0:
			fits++;
			/* the entry of each block is looked at: not too many of them */
			if (sb.map_blocks < 4096 || fits % 256 == 0)
				check_plan(&sb, fast, slow, extent);
			else
				REQUIRE(!geometry_wrong(&sb), "fast %llu slow %llu extent %u",
					fast, slow, extent);
			break;
		case -ENOSPC:
			/* only for want of room for the map of the far bigger other one */
			no_space++;
			REQUIRE(no.what);
			REQUIRE(fast / 512 > slow || slow / 512 > fast,
				"fast %llu slow %llu extent %u", fast, slow, extent);
			break;
		default:
			too_many++;
			REQUIRE(no.what);
			REQUIRE_EQ(err, -EINVAL);
			REQUIRE(fast / extent + slow / extent > FUSION_MAX_LEXTS);
		}
	}
	REQUIRE(fits > 10000 && no_space > 100 && too_many > 100, "%u %u %u",
		fits, no_space, too_many);
}

/* From exactly 64 extents on, sector by sector. */
static void test_small(void)
{
	struct fusion_sb sb = { };
	struct fusion_misfit no = { 0 };
	u32 extent, a, b;
	int err;

	for (extent = 128; extent <= 32768; extent *= 2) {
		const u64 min = 64ULL * extent;

		for (a = 0; a < 40; a++) {
			for (b = 0; b < 40; b++) {
				err = fusion_sb_plan(&sb, min + a * a, min + b * b, extent, &no);
				REQUIRE(!err, "%s", no.what);
				check_plan(&sb, min + a * a, min + b * b, extent);
			}
		}
		REQUIRE_EQ(fusion_sb_plan(&sb, min - 1, min, extent, &no), -ENOSPC);
		REQUIRE_EQ(fusion_sb_plan(&sb, min, min - 1, extent, &no), -ENOSPC);
		REQUIRE_EQ(fusion_sb_plan(&sb, 0, min, extent, &no), -ENOSPC);
		REQUIRE_EQ(fusion_sb_plan(&sb, min, 0, extent, &no), -ENOSPC);
	}
}

static void test_huge(void)
{
	const u64 sizes[] = { 1ULL << 43, 1ULL << 44, 1ULL << 52, 1ULL << 63, U64_MAX };
	struct fusion_sb sb = { };
	struct fusion_misfit no = { 0 };
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (k = 0; k < ARRAY_SIZE(sizes); k++)
			REQUIRE_EQ(fusion_sb_plan(&sb, sizes[i], sizes[k], 32768, &no), -EINVAL);
		REQUIRE_EQ(fusion_sb_plan(&sb, 1 << 21, sizes[i], 32768, &no), -EINVAL);
		REQUIRE_EQ(fusion_sb_plan(&sb, sizes[i], 1 << 21, 32768, &no), -EINVAL);
	}
	/* the biggest there is: 2^28 extents of 16 MiB, most of them slow */
	REQUIRE(!fusion_sb_plan(&sb, 1ULL << 41, 3ULL << 41, 32768, &no));
	check_plan(&sb, 1ULL << 41, 3ULL << 41, 32768);
	REQUIRE_EQ(fusion_sb_plan(&sb, 1ULL << 41, (3ULL << 41) + 32768, 32768, &no), -EINVAL);
}

/* Beside a far bigger one a member is refused until there is room for eight slots. */
static void test_lopsided(void)
{
	const u64 big = 128ULL << 22;
	struct fusion_sb sb = { };
	struct fusion_misfit no = { 0 };
	u32 n;

	for (n = 64; fusion_sb_plan(&sb, 128 * n, big, 128, &no) == -ENOSPC; n++)
		REQUIRE_EQ(no.dev, FUSION_FAST);
	REQUIRE(n > 128);
	REQUIRE_EQ(sb.nr_fast_slots, 8);
	check_plan(&sb, 128 * n, big, 128);

	for (n = 64; fusion_sb_plan(&sb, big, 128 * n, 128, &no) == -ENOSPC; n++)
		REQUIRE_EQ(no.dev, FUSION_SLOW);
	REQUIRE(n > 128);
	REQUIRE_EQ(sb.nr_slow_slots, 8);
	check_plan(&sb, big, 128 * n, 128);
}

static void test_extent_sizes(void)
{
	const u32 bad[] = { 0, 1, 8, 64, 127, 129, 192, 2047, 32767, 32769, 65536,
			    1U << 31, U32_MAX };
	struct fusion_sb sb = { };
	struct fusion_misfit no = { 0 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		memset(&no, 0, sizeof(no));
		REQUIRE_EQ(fusion_sb_plan(&sb, 1 << 30, 1 << 30, bad[i], &no), -EINVAL);
		REQUIRE(no.what);
	}
}

/* The state of an empty set according to the plan. */
static void test_empty_state(void)
{
	struct fusion_sb sb;
	struct fusion_misfit no = { 0 };

	memset(&sb, 0xff, sizeof(sb));
	REQUIRE(!fusion_sb_plan(&sb, 512 * MIB, 4096 * MIB, 2048, &no));
	REQUIRE_EQ(sb.generation, 1);
	REQUIRE_EQ(sb.epoch, 0);
	REQUIRE_EQ(sb.active_set, 0);
	REQUIRE_EQ(sb.set_generation, 1);
	REQUIRE_EQ(sb.replay_seq, 1);
	REQUIRE_EQ(sb.replay_txn, 1);
	REQUIRE_EQ(sb.flags, FUSION_SB_CLEAN);
	REQUIRE_EQ(sb.incompat | sb.ro_compat | sb.compat, 0);
	/* identity is left alone */
	REQUIRE_EQ(sb.set_uuid[0], 0xff);
	REQUIRE_EQ((u8)sb.label[0], 0xff);
}

/* The default reserve and half-life. */
static void test_defaults(void)
{
	static const struct {
		u32 nr_fast, kib, reserve, half_life;
	} row[] = {
		/* a tenth, where 4 GiB are more than that */
		{ 8, 1024, 0, 3600 },
		{ 9, 64, 0, 3600 },
		{ 10, 1024, 1, 3600 },
		{ 490, 1024, 49, 3600 },
		{ 40959, 1024, 4095, 3600 },
		{ 655350, 64, 65535, 43690 },
		{ 2550, 16384, 255, 3600 },
		/* 4 GiB */
		{ 40960, 1024, 4096, 3600 },
		{ 204800, 1024, 4096, 13653 },
		{ 655360, 64, 65536, 43690 },
		{ 3276800, 64, 65536, 86400 },
		{ 12800, 16384, 256, 3600 },
		/* a fiftieth, where 4 GiB are less than that */
		{ 204850, 1024, 4097, 13656 },
		{ 953674, 1024, 19073, 63578 },
		{ 3276850, 64, 65537, 86400 },
		{ 12850, 16384, 257, 3600 },
		/* an hour, a second for each 15, a day */
		{ 54014, 1024, 4096, 3600 },
		{ 54015, 1024, 4096, 3601 },
		{ 1295999, 1024, 25919, 86399 },
		{ 1296000, 1024, 25920, 86400 },
		{ FUSION_WORD_SLOT_MASK, 64, 10737418, 86400 },
	};
	struct fusion_sb sb = { 0 };

	for (u32 i = 0; i < ARRAY_SIZE(row); i++) {
		sb.nr_fast_slots = row[i].nr_fast;
		sb.extent_sectors = row[i].kib * 2;
		REQUIRE(fusion_default_reserve(&sb) == row[i].reserve, "of %u x %u KiB: %u",
			row[i].nr_fast, row[i].kib, fusion_default_reserve(&sb));
		REQUIRE(fusion_default_half_life(&sb) == row[i].half_life, "of %u: %u",
			row[i].nr_fast, fusion_default_half_life(&sb));
	}
}

static const struct unit_test tests[] = {
	{ "plan: 20000 pairs of sizes", test_any_size },
	{ "plan: members of just 64 extents, and of less", test_small },
	{ "plan: sizes beyond the format", test_huge },
	{ "plan: a member far smaller than the other", test_lopsided },
	{ "plan: extent sizes that are none", test_extent_sizes },
	{ "plan: state of an empty set", test_empty_state },
	{ "plan: what there is by default", test_defaults },
};

UNIT_TESTS(tests)
