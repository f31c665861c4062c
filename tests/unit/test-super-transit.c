// SPDX-License-Identifier: GPL-2.0-only
/*
 * Superblocks of a set in transit: only adopt and release read them, and no number leads off the
 * disk.
 */
#include <errno.h>
#include <linux/stddef.h>

#include "super.h"

static struct fusion_sb transit_sb(void)
{
	struct fusion_sb sb = fast_sb();

	sb.incompat = FUSION_INCOMPAT_IN_TRANSIT;
	sb.transit = (struct fusion_transit){
		.kind = FUSION_TRANSIT_ADOPT, .state = FUSION_TRANSIT_PREPARED,
		.dev = FUSION_SLOW, .nr_magics = 3, .magic = { 2, 131072, SLOW_SECTORS - 1 },
		.disk_sectors = SLOW_SECTORS, .content_id = 0x11223344,
		.copy_csum = 0x99aabbcc,
		.place = { 56 | 2 << 9, 64 | 8 << 9, 511 | 1 << 9 },
	};
	return sb;
}

static struct fusion_sb release_sb(void)
{
	struct fusion_sb sb = transit_sb();

	sb.transit.kind = FUSION_TRANSIT_RELEASE;
	return sb;
}

static int unpack(const void *block, struct fusion_sb *sb, const char **why)
{
	*why = NULL;
	return fusion_sb_unpack_transit(block, 0, FAST_SECTORS, sb, why);
}

static void test_transit_round_trip(void)
{
	struct fusion_sb sb = transit_sb(), back;
	char text[FUSION_UNKNOWN_TEXT];
	u8 block[FUSION_BLOCK_SIZE];
	const char *why = NULL;

	fusion_sb_pack(&sb, 0, block);
	REQUIRE(!unpack(block, &back, &why), "%s", why);
	REQUIRE(!memcmp(&sb.transit, &back.transit, sizeof(sb.transit)));
	REQUIRE(fusion_sb_in_transit(&back));

	/* the module, and all other verbs */
	REQUIRE_EQ(fusion_sb_unpack(block, 0, FAST_SECTORS, &back, &why), -EPROTONOSUPPORT);
	REQUIRE(fusion_sb_in_transit(&back));
	fusion_sb_unknown(&back, text);
	REQUIRE(!strncmp(text, "is in transit: fusionctl adopt --resume", 39), "%s", text);
	REQUIRE(strlen(text) + 1 < FUSION_UNKNOWN_TEXT);

	/* a plain one is read as well, and has nothing of it */
	sb.incompat = 0;
	fusion_sb_pack(&sb, 0, block);
	REQUIRE(!unpack(block, &back, &why), "%s", why);
	for (unsigned int i = FUSION_TRANSIT_OFFSET; i < FUSION_BLOCK_SIZE; i++)
		REQUIRE(!block[i], "byte %u", i);
	REQUIRE(!back.transit.kind && !back.transit.nr_magics && !fusion_sb_in_transit(&back));
}

/* A set that is getting another uuid: only the slow member says so. */
static void test_renewal(void)
{
	struct fusion_sb fast = fast_sb(), sb, back;
	char text[FUSION_UNKNOWN_TEXT];
	u8 block[FUSION_BLOCK_SIZE];
	const char *why = NULL;

	fusion_sb_for_slow(&fast, &sb);
	sb.peer_at.generation = 7;
	sb.incompat = FUSION_INCOMPAT_IN_TRANSIT;
	sb.transit = (struct fusion_transit){
		.kind = FUSION_TRANSIT_UUID, .state = 1, .dev = FUSION_SLOW,
		.was_set = { 1, 2, 3 }, .was_dev = { { 4 }, { 5, 6 } },
	};
	fusion_sb_pack(&sb, 0, block);
	REQUIRE(!fusion_sb_unpack_transit(block, 0, SLOW_SECTORS, &back, &why), "%s", why);
	REQUIRE(!memcmp(&sb.transit, &back.transit, sizeof(sb.transit)));
	REQUIRE_EQ(fusion_sb_unpack(block, 0, SLOW_SECTORS, &back, &why), -EPROTONOSUPPORT);
	fusion_sb_unknown(&back, text);
	REQUIRE(!strncmp(text, "is getting another uuid: fusionctl uuid", 39), "%s", text);
	REQUIRE(strlen(text) + 1 < FUSION_UNKNOWN_TEXT);
	for (unsigned int i = 0; i < 7; i++) {
		struct fusion_sb bad = i < 6 ? sb : fast;

		bad.incompat = sb.incompat;
		bad.transit = sb.transit;
		if (i < 2)
			bad.transit.state = 2 * i;
		else if (i == 2 || i == 6)
			bad.transit.dev = FUSION_FAST;
		else if (i == 3)
			bad.peer_at.generation = 0;
		else if (i == 4)
			bad.epoch = 0;
		else
			memcpy(bad.transit.was_set, bad.set_uuid, 16);
		fusion_sb_pack(&bad, 0, block);
		REQUIRE_EQ(fusion_sb_unpack_transit(block, 0, SLOW_SECTORS, &back, &why), -EILSEQ);
		REQUIRE(!strcmp(why, "state of the change of uuid is wrong"), "%u: %s", i, why);
	}
}

/* Another bit beside it is of a newer version. */
static void test_transit_and_more(void)
{
	struct fusion_sb sb = transit_sb(), back;
	u8 block[FUSION_BLOCK_SIZE];
	const char *why;

	sb.incompat |= FUSION_INCOMPAT_OLD_MEMBER;
	fusion_sb_pack(&sb, 0, block);
	REQUIRE_EQ(unpack(block, &back, &why), -EPROTONOSUPPORT);
	REQUIRE(!fusion_sb_in_transit(&back));
	sb.incompat = FUSION_INCOMPAT_IN_TRANSIT;
	sb.flags |= 0x10;
	fusion_sb_pack(&sb, 0, block);
	REQUIRE_EQ(unpack(block, &back, &why), -EPROTONOSUPPORT);
	REQUIRE(!fusion_sb_in_transit(&back));
}

/* The other way: of an empty set as well, and never of the fast member. */
static void test_transit_release(void)
{
	struct fusion_sb sb = release_sb(), back;
	char text[FUSION_UNKNOWN_TEXT];
	u8 block[FUSION_BLOCK_SIZE];
	const char *why;

	for (u32 magics = 0; magics < 4; magics++) {
		for (u32 state = 0; state < 5; state++) {
			for (u32 dev = 0; dev < 3; dev++) {
				const bool ok = dev == FUSION_SLOW && (state == 2 || state == 3);

				sb.transit.nr_magics = magics;
				sb.transit.state = state;
				sb.transit.dev = dev;
				fusion_sb_pack(&sb, 0, block);
				REQUIRE_EQ(unpack(block, &back, &why), ok ? 0 : -EILSEQ);
				if (!ok)
					continue;
				REQUIRE_EQ(fusion_sb_released(&back), state == 3);
				fusion_sb_unknown(&back, text);
				REQUIRE(strstr(text, "fusionctl release --resume"), "%s", text);
				REQUIRE(strlen(text) + 1 < FUSION_UNKNOWN_TEXT);
			}
		}
	}
}

static void test_transit_bounds(void)
{
	static const u32 small[] = { 0, 1, 2, 3, 4, 8, 9, 255, 1U << 31, U32_MAX };
	static const u64 sector[] = {
		0, 1, 2, 3, 131071, 131072, 131073, SLOW_SECTORS - 2, SLOW_SECTORS - 1,
		SLOW_SECTORS, SLOW_SECTORS + 1, 1ULL << 52, 1ULL << 55, 1ULL << 63, U64_MAX,
	};
	static const u16 place[] = { 0, 511, 512, 0x3ff, 0x5ff, 0xfe00, 0xffff, 56 | 2 << 9 };
	static const unsigned int fields[] = { 0, 4, 8, 12, 16, 24, 32, 40, 80, 96, 98, 100 };
	const struct fusion_sb sb[2] = { transit_sb(), release_sb() };
	u8 block[FUSION_BLOCK_SIZE], orig[2][FUSION_BLOCK_SIZE];
	struct fusion_sb back;
	unsigned int accepted = 0, refused = 0;
	const char *why;
	u64 seed = 9;

	for (int i = 0; i < 2; i++)
		fusion_sb_pack(&sb[i], 0, orig[i]);
	for (unsigned int i = 0; i < 100000; i++) {
		memcpy(block, orig[i & 1], sizeof(block));
		for (unsigned int k = 1 + rnd_below(&seed, 3); k; k--) {
			const unsigned int f = fields[rnd_below(&seed, ARRAY_SIZE(fields))];
			u8 *at = block + FUSION_TRANSIT_OFFSET + f;

			if (f < 16)
				put_le(at, 4, small[rnd_below(&seed, ARRAY_SIZE(small))]);
			else if (f >= 96)
				put_le(at, 2, place[rnd_below(&seed, ARRAY_SIZE(place))]);
			else
				put_le(at, 8, sector[rnd_below(&seed, ARRAY_SIZE(sector))]);
		}
		reseal(block);
		if (unpack(block, &back, &why)) {
			REQUIRE(why);
			refused++;
			continue;
		}
		accepted++;
		REQUIRE(back.transit.kind == FUSION_TRANSIT_ADOPT ||
			(back.transit.kind == FUSION_TRANSIT_RELEASE && back.transit.dev));
		REQUIRE(back.transit.dev <= 1);
		REQUIRE(back.transit.state >= 1 && back.transit.state <= 4);
		REQUIRE(back.transit.nr_magics || back.transit.kind == FUSION_TRANSIT_RELEASE);
		REQUIRE(back.transit.nr_magics <= 8);
		REQUIRE_EQ(back.transit.disk_sectors, back.transit.dev ? SLOW_SECTORS :
			   FAST_SECTORS);
		for (unsigned int m = 0; m < back.transit.nr_magics; m++) {
			REQUIRE(back.transit.magic[m] < back.transit.disk_sectors);
			REQUIRE(!m || back.transit.magic[m] > back.transit.magic[m - 1]);
			REQUIRE(back.transit.place[m] >> 9);
			REQUIRE(back.transit.place[m] % 512 + (back.transit.place[m] >> 9) <= 512);
		}
	}
	REQUIRE(accepted > 100 && refused > 100, "%u, %u", accepted, refused);
}

static const struct unit_test tests[] = {
	{ "super: in transit: round trip", test_transit_round_trip },
	{ "super: in transit: another uuid", test_renewal },
	{ "super: in transit, with another feature", test_transit_and_more },
	{ "super: in transit: a set that is released", test_transit_release },
	{ "super: in transit: values in each field", test_transit_bounds },
};

UNIT_TESTS(tests)
