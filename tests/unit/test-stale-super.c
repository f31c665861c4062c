// SPDX-License-Identifier: GPL-2.0-only
/* Where the stale list lies, as the superblocks have it: bounded, and also without a log. */
#include <errno.h>

#include "dm-fusion-stale.h"
#include "stale-set.h"

#define PLACES	4U

static struct fusion_sb sb;
static u8 block[FUSION_BLOCK_SIZE];

static void begin(u32 extent_sectors)
{
	stale_set(&sb, extent_sectors, PLACES);
}

static int unpack_with(u32 places, u64 start, enum fusion_dev dev)
{
	struct fusion_sb with = sb, back;
	const char *why;

	with.generation = 2;
	with.stale_places = places;
	with.stale_start = start;
	if (dev == FUSION_SLOW) {
		struct fusion_sb fast = with;

		fusion_sb_for_slow(&fast, &with);
	}
	fusion_sb_pack(&with, 0, block);
	REQUIRE_EQ(get_le(block + 1092, 4), places);
	REQUIRE_EQ(get_le(block + 1096, 8), start);
	return unpack_landing(block, 0, with.self_sectors, &back, &why);
}

static void test_super(void)
{
	const u64 head_blocks = (begin(128), sb.map_start[FUSION_SLOW][1] + sb.map_blocks);
	const u64 end = (u64)sb.slow_first_slot * 16 - fusion_stale_size(&sb, PLACES);
	enum fusion_dev dev;

	for (dev = FUSION_FAST; dev <= FUSION_SLOW; dev++) {
		REQUIRE_EQ(unpack_with(PLACES, sb.stale_start, dev), 0);
		REQUIRE_EQ(unpack_with(0, 0, dev), 0);
		REQUIRE_EQ(unpack_with(0, sb.stale_start, dev), -EILSEQ);
		REQUIRE_EQ(unpack_with(PLACES, 0, dev), -EILSEQ);
		REQUIRE_EQ(unpack_with(PLACES, head_blocks, dev), 0);
		REQUIRE_EQ(unpack_with(PLACES, head_blocks - 1, dev), -EILSEQ);
		REQUIRE_EQ(unpack_with(PLACES, end, dev), 0);
		REQUIRE_EQ(unpack_with(PLACES, end + 1, dev), -EILSEQ);
		REQUIRE_EQ(unpack_with(PLACES, U64_MAX, dev), -EILSEQ);
		REQUIRE_EQ(unpack_with(U32_MAX, sb.stale_start, dev), -EILSEQ);
	}
	/* a list for each slot of the log; perhaps more */
	REQUIRE_EQ(unpack_with(PLACES - 1, sb.stale_start, FUSION_FAST), -EILSEQ);
	sb.landing_slots--;
	REQUIRE_EQ(unpack_with(PLACES, sb.stale_start, FUSION_FAST), 0);
	REQUIRE_EQ(unpack_with(PLACES - 1, sb.stale_start, FUSION_FAST), 0);

	/* it stays if the log is turned off */
	sb.incompat = 0;
	sb.landing_slots = 0;
	for (dev = FUSION_FAST; dev <= FUSION_SLOW; dev++) {
		REQUIRE_EQ(unpack_with(PLACES, sb.stale_start, dev), 0);
		REQUIRE_EQ(unpack_with(0, sb.stale_start, dev), -EILSEQ);
		REQUIRE_EQ(unpack_with(PLACES, end + 1, dev), -EILSEQ);
		REQUIRE_EQ(unpack_with(U32_MAX, sb.stale_start, dev), -EILSEQ);
	}
}

/* An older version leaves zeros in what it writes, without the log, and may be cut short there. */
static void test_match(void)
{
	struct fusion_sb fast = (begin(128), sb), slow;
	const char *why;

	fusion_sb_for_slow(&fast, &slow);
	REQUIRE_EQ(slow.stale_places, PLACES);
	REQUIRE(!fusion_sb_match(&fast, &slow, &why), "%s", why);
	slow.stale_places--;
	REQUIRE_EQ(fusion_sb_match(&fast, &slow, &why), -EXDEV);
	slow.stale_places = PLACES;
	slow.stale_start++;
	REQUIRE_EQ(fusion_sb_match(&fast, &slow, &why), -EXDEV);
	slow.stale_places = 0;
	slow.stale_start = 0;
	slow.incompat = 0;
	REQUIRE(!fusion_sb_match(&fast, &slow, &why), "%s", why);
	fusion_sb_take_landing(&slow, &fast);
	REQUIRE_EQ(slow.stale_places, PLACES);
	REQUIRE_EQ(slow.stale_start, fast.stale_start);
	REQUIRE_EQ(slow.incompat, fast.incompat);
	fast.incompat = 0;
	fusion_sb_take_landing(&slow, &fast);
	REQUIRE_EQ(slow.incompat, 0);
}

static const struct unit_test tests[] = {
	{ "stale: superblocks", test_super },
	{ "stale: superblocks of two members", test_match },
};

UNIT_TESTS(tests)
