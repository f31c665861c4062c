// SPDX-License-Identifier: GPL-2.0-only
/*
 * Superblocks of a set with a landing log: check and dump read them, the module does not. The slots
 * that are kept for the log are bounded.
 */
#include <errno.h>

#include "dm-fusion-landing.h"
#include "super.h"

static struct fusion_sb landing_sb(u32 slots)
{
	struct fusion_sb sb = fast_sb();

	sb.incompat = FUSION_INCOMPAT_LANDING;
	sb.landing_slots = slots;
	sb.nr_lexts -= slots;
	return sb;
}

static int unpack(const struct fusion_sb *sb, struct fusion_sb *back, const char **why)
{
	u8 block[FUSION_BLOCK_SIZE];

	*why = NULL;
	fusion_sb_pack(sb, 0, block);
	return unpack_landing(block, 0, sb->self_sectors, back, why);
}

static void test_round_trip(void)
{
	struct fusion_sb sb = landing_sb(0x42), slow, back;
	char text[FUSION_UNKNOWN_TEXT];
	u8 block[FUSION_BLOCK_SIZE];
	const char *why;

	fusion_sb_pack(&sb, 0, block);
	REQUIRE_EQ(get_le(block + 1088, 4), 0x42);
	REQUIRE_EQ(get_le(block + 1092, 4), 0);
	REQUIRE(!unpack(&sb, &back, &why), "%s", why);
	REQUIRE_EQ(back.landing_slots, 0x42);
	REQUIRE_EQ(back.incompat, FUSION_INCOMPAT_LANDING);
	/* the module, and all other verbs */
	REQUIRE_EQ(fusion_sb_unpack(block, 0, FAST_SECTORS, &back, &why), -EPROTONOSUPPORT);
	REQUIRE_EQ(fusion_sb_unpack_transit(block, 0, FAST_SECTORS, &back, &why), -EPROTONOSUPPORT);
	REQUIRE(strstr(fusion_sb_unknown(&back, text), "0x10 (landing log)"), "%s", text);

	/* the slow member has the bit alone */
	fusion_sb_for_slow(&sb, &slow);
	REQUIRE_EQ(slow.landing_slots, 0);
	fusion_sb_pack(&slow, 0, block);
	REQUIRE_EQ(get_le(block + 1088, 4), 0);
	put_le(block + 1088, 4, 0x42);
	reseal(block);
	REQUIRE(!unpack_landing(block, 0, SLOW_SECTORS, &back, &why), "%s", why);
	REQUIRE_EQ(back.landing_slots, 0);

	/* without the bit, the field means nothing */
	sb.incompat = 0;
	fusion_sb_pack(&sb, 0, block);
	REQUIRE_EQ(get_le(block + 1088, 4), 0);
	put_le(block + 1088, 4, 0x42);
	reseal(block);
	REQUIRE(!fusion_sb_unpack(block, 0, FAST_SECTORS, &back, &why), "%s", why);
	REQUIRE_EQ(back.landing_slots, 0);
	REQUIRE(!unpack_landing(block, 0, FAST_SECTORS, &back, &why), "%s", why);
	REQUIRE_EQ(back.landing_slots, 0);
}

/* No other bit becomes known with it. */
static void test_other_bits(void)
{
	struct fusion_sb sb, back;
	const char *why;
	unsigned int bit;

	for (bit = 0; bit < 64; bit++) {
		sb = landing_sb(8);
		sb.incompat |= 1ULL << bit;
		if (sb.incompat & FUSION_INCOMPAT_OLD_MEMBER)
			continue;
		REQUIRE_EQ(unpack(&sb, &back, &why),
			   1ULL << bit & (FUSION_INCOMPAT_KNOWN | FUSION_INCOMPAT_LANDING) ? 0 :
			   -EPROTONOSUPPORT);
	}
}

static void test_bounds(void)
{
	const u32 most = fusion_landing_limit(&(struct fusion_sb){
		.extent_sectors = 2048, .nr_fast_slots = fast_sb().nr_fast_slots,
		.journal_blocks = { fast_sb().journal_blocks[FUSION_FAST] },
	});
	struct fusion_sb sb, back;
	const char *why;
	u32 slots;

	for (slots = 1; slots <= most; slots++) {
		sb = landing_sb(slots);
		REQUIRE(!unpack(&sb, &back, &why), "%u: %s", slots, why);
		/* each of them is one that no extent can have */
		sb.nr_lexts++;
		REQUIRE_EQ(unpack(&sb, &back, &why), -EILSEQ);
		REQUIRE(strstr(why, "number of extents"), "%s", why);
	}
	sb = landing_sb(0);
	REQUIRE_EQ(unpack(&sb, &back, &why), -EILSEQ);
	REQUIRE(strstr(why, "slots for the landing log"), "%s", why);
	for (slots = most + 1; slots; slots *= 2) {
		sb = landing_sb(0);
		sb.landing_slots = slots;
		REQUIRE_EQ(unpack(&sb, &back, &why), -EILSEQ);
		REQUIRE(strstr(why, "slots for the landing log"), "%s", why);
	}
	sb.landing_slots = U32_MAX;
	REQUIRE_EQ(unpack(&sb, &back, &why), -EILSEQ);
}

/* Half of the slots, or what the journal records twice within a sixteenth of its size. */
static void test_limit(void)
{
	static const struct {
		u32 extent_sectors, fast_slots, journal_blocks, limit;
	} cases[] = {
		{ 2048, 100, 64, 50 },
		{ 2048, 101, 64, 50 },
		{ 2048, 1000000, 64, 142 },		/* 4 blocks with 71 records */
		{ 2048, 1000000, 79, 142 },
		{ 2048, 1000000, 80, 177 },
		{ 2048, 1000000, 16384, 36352 },
		{ 128, 1000000, 64, 286 },		/* with 143 */
		{ 32768, 1000000, 64, 14 },		/* with 7 */
		{ 32768, 1000000, 16384, 3584 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct fusion_sb sb = {
			.extent_sectors = cases[i].extent_sectors,
			.nr_fast_slots = cases[i].fast_slots,
			.journal_blocks = { cases[i].journal_blocks, 16384 },
		};

		REQUIRE_EQ(fusion_landing_limit(&sb), cases[i].limit);
	}
}

static const struct unit_test tests[] = {
	{ "super, landing: round trip", test_round_trip },
	{ "super, landing: other features", test_other_bits },
	{ "super, landing: bounds", test_bounds },
	{ "super, landing: most slots for the log", test_limit },
};

UNIT_TESTS(tests)
