// SPDX-License-Identifier: GPL-2.0-only
/* The stale list: its blocks, and each bound of their numbers. test-stale-runs.c has the rest. */
#include <errno.h>

#include "dm-fusion-stale.h"
#include "dm-fusion-landing.h"
#include "stale-set.h"

#define PLACES	6U

static struct fusion_sb sb;
static u8 block[FUSION_BLOCK_SIZE];

static void begin(u32 extent_sectors)
{
	stale_set(&sb, extent_sectors, PLACES);
}

/* -- blocks -------------------------------------------------------------------------------- */

static const struct fusion_stale_head head = {
	.run = 0x1122334455667788, .seq = 0x123456789abcdef, .time = 1700000000, .epoch = 7,
	.nr_lists = 3, .sum = 0xabcdef01, .nr_blocks = 12,
};

static void test_places(void)
{
	const u32 sizes[] = { 128, 2048, 8192, 32768 }, want[] = { 1, 1, 3, 9 };
	u64 next;
	u32 i, copy, place;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		begin(sizes[i]);
		if (i != 2)
			REQUIRE_EQ(fusion_stale_list_blocks(&sb), want[i]);
		next = sb.stale_start;
		REQUIRE_EQ(fusion_stale_head_blocknr(&sb, 0), next);
		REQUIRE_EQ(fusion_stale_head_blocknr(&sb, 1), next + 1);
		next += 2;
		for (copy = 0; copy < FUSION_STALE_COPIES; copy++)
			for (place = 0; place < PLACES; place++) {
				REQUIRE_EQ(fusion_stale_blocknr(&sb, copy, place, 0), next);
				next += fusion_stale_list_blocks(&sb);
			}
		REQUIRE_EQ(next, sb.stale_start + fusion_stale_size(&sb, PLACES));
		REQUIRE(next * FUSION_BLOCK_SECTORS <= (u64)sb.slow_first_slot * sizes[i]);
	}
}

static void test_head(void)
{
	struct fusion_stale_head back;
	const char *why;
	u32 i;

	begin(128);
	fusion_stale_head_pack(&sb, &head, block);
	REQUIRE_EQ(get_le(block + 32, 8), head.run);
	REQUIRE_EQ(get_le(block + 40, 8), head.seq);
	REQUIRE_EQ(get_le(block + 48, 8), head.time);
	REQUIRE_EQ(get_le(block + 56, 4), head.epoch);
	REQUIRE_EQ(get_le(block + 64, 4), head.nr_lists);
	REQUIRE_EQ(get_le(block + 68, 4), head.sum);
	REQUIRE_EQ(get_le(block + 72, 8), head.nr_blocks);
	REQUIRE(!fusion_stale_head_unpack(&sb, 0, block, &back, &why), "%s", why);
	REQUIRE(back.run == head.run && back.seq == head.seq && back.time == head.time);
	REQUIRE(back.epoch == head.epoch && back.nr_lists == head.nr_lists);
	REQUIRE(back.sum == head.sum && back.nr_blocks == head.nr_blocks);
	/* it is of its place */
	REQUIRE_EQ(fusion_stale_head_unpack(&sb, 1, block, &back, &why), -ENODATA);
	for (i = 0; i < 80; i++) {
		block[i] ^= 1;
		REQUIRE_EQ(fusion_stale_head_unpack(&sb, 0, block, &back, &why), -ENODATA);
		block[i] ^= 1;
	}
}

static int head_with(u32 offset, u32 bytes, u64 value)
{
	struct fusion_stale_head back;
	const char *why;

	fusion_stale_head_pack(&sb, &head, block);
	put_le(block + offset, bytes, value);
	reseal(block);
	return fusion_stale_head_unpack(&sb, 0, block, &back, &why);
}

static void test_head_bounds(void)
{
	begin(128);
	REQUIRE_EQ(head_with(32, 8, 0), -ENODATA);
	REQUIRE_EQ(head_with(32, 8, 3), -ENODATA);	/* that of the other copy */
	REQUIRE_EQ(head_with(32, 8, FUSION_MAX_COUNTER), 0);
	REQUIRE_EQ(head_with(32, 8, FUSION_MAX_COUNTER + 2), -ENODATA);
	REQUIRE_EQ(head_with(40, 8, FUSION_MAX_COUNTER + 1), -ENODATA);
	REQUIRE_EQ(head_with(60, 4, 1), -ENODATA);	/* flags */
	REQUIRE_EQ(head_with(64, 4, PLACES + 1), -ENODATA);
	REQUIRE_EQ(head_with(64, 4, PLACES), 0);
	REQUIRE_EQ(head_with(72, 8, 3), 0);
	REQUIRE_EQ(head_with(72, 8, 2), -ENODATA);	/* fewer than lists */
	REQUIRE_EQ(head_with(72, 8, 3 * 16), 0);
	REQUIRE_EQ(head_with(72, 8, 3 * 16 + 1), -ENODATA);
}

static struct fusion_stale_entry entries[FUSION_STALE_ENTRIES];

static struct fusion_stale_list some_list(u32 total)
{
	u32 i;

	for (i = 0; i < FUSION_STALE_ENTRIES; i++)
		entries[i] = (struct fusion_stale_entry){
			.lext = sb.nr_lexts - 1 - i % 8, .block = i % 16, .pos = i,
		};
	return (struct fusion_stale_list){
		.run = 5, .seq = 99, .time = 1700000000, .segno = 0x123456789abc, .key = 42,
		.slot = 17, .epoch = 3, .total = total,
	};
}

static int list_with(u32 offset, u32 bytes, u64 value)
{
	const struct fusion_stale_list list = some_list(4);
	struct fusion_stale_list back;
	const char *why;

	fusion_stale_pack(&sb, 1, 2, 0, &list, entries, block);
	put_le(block + offset, bytes, value);
	reseal(block);
	return fusion_stale_unpack(&sb, 1, 2, 0, block, &back, &why);
}

static void test_list(void)
{
	struct fusion_stale_list list, back;
	struct fusion_stale_entry e;
	const char *why;
	u32 total, i;

	begin(128);
	for (total = 0; total <= 16; total++) {
		list = some_list(total);
		if (!total)
			list = (struct fusion_stale_list){ .run = 5, .seq = 99 };
		fusion_stale_pack(&sb, 1, 2, 0, &list, entries, block);
		REQUIRE(!fusion_stale_unpack(&sb, 1, 2, 0, block, &back, &why), "%s", why);
		REQUIRE(back.run == 5 && back.seq == 99 && back.time == list.time);
		REQUIRE(back.segno == list.segno && back.key == list.key);
		REQUIRE(back.slot == list.slot && back.epoch == list.epoch);
		REQUIRE_EQ(back.total, total);
		REQUIRE_EQ(back.sum, get_le(block, 4));
		for (i = 0; i < total; i++) {
			fusion_stale_entry(block, i, &e);
			REQUIRE(!memcmp(&e, &entries[i], sizeof(e)));
		}
		REQUIRE_EQ(fusion_stale_unpack(&sb, 0, 2, 0, block, &back, &why), -ENODATA);
		REQUIRE_EQ(fusion_stale_unpack(&sb, 1, 3, 0, block, &back, &why), -ENODATA);
	}
	REQUIRE_EQ(get_le(block + 32, 8), 5);
	REQUIRE_EQ(get_le(block + 56, 8), 0x123456789abc);
	REQUIRE_EQ(get_le(block + 72, 4), 17);
	REQUIRE_EQ(get_le(block + 80, 4), 2);
	REQUIRE_EQ(get_le(block + 86, 2), 16);
	REQUIRE_EQ(get_le(block + 88, 2), 16);
	REQUIRE_EQ(get_le(block + 92, 4), sb.nr_lexts - 1);
}

static void test_list_bounds(void)
{
	begin(128);
	REQUIRE_EQ(list_with(90, 2, 0), 0);
	REQUIRE_EQ(list_with(32, 8, 0), -ENODATA);
	REQUIRE_EQ(list_with(32, 8, FUSION_MAX_COUNTER + 1), -ENODATA);
	REQUIRE_EQ(list_with(40, 8, FUSION_MAX_COUNTER + 1), -ENODATA);
	REQUIRE_EQ(list_with(56, 8, 0), -ENODATA);	/* no segment, and entries */
	REQUIRE_EQ(list_with(80, 4, 3), -ENODATA);
	REQUIRE_EQ(list_with(84, 2, 1), -ENODATA);
	REQUIRE_EQ(list_with(86, 2, 5), -ENODATA);
	REQUIRE_EQ(list_with(88, 2, 5), -ENODATA);
	REQUIRE_EQ(list_with(88, 2, 17), -ENODATA);
	REQUIRE_EQ(list_with(92, 4, sb.nr_lexts - 1), 0);
	REQUIRE_EQ(list_with(92, 4, sb.nr_lexts), -ENODATA);
	REQUIRE_EQ(list_with(96, 2, 16), -ENODATA);
	REQUIRE_EQ(list_with(98, 2, 16), -ENODATA);
	REQUIRE_EQ(list_with(98, 2, 1), -ENODATA);	/* as the next one */
}

/* A list of more than one block: all of them have to be of one run. */
static void test_long(void)
{
	struct fusion_stale_list list, back;
	const char *why;

	begin(32768);
	list = some_list(FUSION_STALE_ENTRIES + 1);
	fusion_stale_pack(&sb, 0, 0, 0, &list, entries, block);
	REQUIRE(!fusion_stale_unpack(&sb, 0, 0, 0, block, &back, &why), "%s", why);
	entries[0].pos = FUSION_STALE_ENTRIES;
	fusion_stale_pack(&sb, 0, 0, 1, &list, entries, block);
	REQUIRE(!fusion_stale_unpack(&sb, 0, 0, 1, block, &back, &why), "%s", why);
	REQUIRE_EQ(get_le(block + 86, 2), 1);
	REQUIRE_EQ(fusion_stale_unpack(&sb, 0, 0, 2, block, &back, &why), -ENODATA);
}

static const struct unit_test tests[] = {
	{ "stale: places", test_places },
	{ "stale: the head", test_head },
	{ "stale: bounds of the head", test_head_bounds },
	{ "stale: a list", test_list },
	{ "stale: bounds of a list", test_list_bounds },
	{ "stale: a list of several blocks", test_long },
};

UNIT_TESTS(tests)
