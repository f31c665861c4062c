// SPDX-License-Identifier: GPL-2.0-only
/* Map words, map blocks and heat blocks. */
#include <errno.h>

#include "unit.h"

#define GENERATION	9

static struct fusion_sb sb;

/* Three map blocks, the last one far from full. */
static void setup(void)
{
	example_sb(&sb, 512ULL << 11, 2048ULL << 11, 2048);
	REQUIRE_EQ(sb.map_blocks, 3);
	REQUIRE_EQ(fusion_map_entries(&sb, 0), FUSION_MAP_PER_BLOCK);
	REQUIRE(fusion_map_entries(&sb, 2) < FUSION_MAP_PER_BLOCK);
}

/* A word that may stand on disk. */
static u32 rnd_word(u64 *seed)
{
	const enum fusion_state state = rnd_below(seed, 2) ? FUSION_OPEN : FUSION_STABLE;

	switch (rnd_below(seed, 3)) {
	case 0:
		return fusion_word(state, FUSION_FAST, rnd_below(seed, sb.nr_fast_slots));
	case 1:
		return fusion_word(state, FUSION_SLOW,
				   sb.slow_first_slot + rnd_below(seed, sb.nr_slow_slots));
	default:
		return FUSION_WORD_UNMAPPED;
	}
}

static u32 rnd_shadow(u64 *seed)
{
	return fusion_shadow_word(rnd_below(seed, 2) ? FUSION_SHADOW : FUSION_OUTDATED,
				  sb.slow_first_slot + rnd_below(seed, sb.nr_slow_slots));
}

/* A shadow stands in the replica, if the feature is set there, and has a slow slot. */
static void check_shadow_valid(void)
{
	const u32 end = sb.slow_first_slot + sb.nr_slow_slots;
	struct fusion_sb slow;
	u32 state;

	fusion_sb_for_slow(&sb, &slow);
	for (state = FUSION_SHADOW; state <= FUSION_OUTDATED; state++) {
		REQUIRE(!fusion_word_valid(&slow, fusion_shadow_word(state, end - 1)));
		slow.incompat |= FUSION_INCOMPAT_SHADOW;
		REQUIRE(fusion_names_shadow(fusion_shadow_word(state, end - 1)));
		REQUIRE(fusion_word_valid(&slow, fusion_shadow_word(state, end - 1)));
		REQUIRE(!fusion_word_valid(&slow, fusion_shadow_word(state, end)));
		REQUIRE(!fusion_word_valid(&slow,
					   fusion_shadow_word(state, sb.slow_first_slot - 1)));
		REQUIRE(!fusion_word_valid(&slow, fusion_word(state, FUSION_FAST, 0)));
		slow.role = FUSION_FAST;
		REQUIRE(!fusion_word_valid(&slow, fusion_shadow_word(state, end - 1)));
		slow.role = FUSION_SLOW;
		slow.incompat &= ~FUSION_INCOMPAT_SHADOW;
	}
}

/* A lost extent has no slot, and stands only where there may be some. */
static void check_lost_valid(void)
{
	sb.incompat &= ~FUSION_INCOMPAT_DAMAGED;
	REQUIRE(!fusion_word_mapped(FUSION_WORD_LOST));
	REQUIRE(fusion_word_lost(FUSION_WORD_LOST) && !fusion_word_lost(FUSION_WORD_UNMAPPED));
	REQUIRE(!fusion_word_valid(&sb, FUSION_WORD_LOST));
	sb.incompat |= FUSION_INCOMPAT_DAMAGED;
	REQUIRE(fusion_word_valid(&sb, FUSION_WORD_LOST));
	REQUIRE(fusion_word_valid(&sb, FUSION_WORD_UNMAPPED));
	REQUIRE(!fusion_word_valid(&sb, fusion_word_set_state(FUSION_WORD_LOST, FUSION_OPEN)));
	REQUIRE(!fusion_word_valid(&sb, U32_MAX));
	sb.incompat &= ~FUSION_INCOMPAT_DAMAGED;
}

static void check_valid(void)
{
	const struct {
		u32 word;
		bool valid;
	} words[] = {
		{ FUSION_WORD_UNMAPPED, true },
		/* unmapped has one spelling */
		{ FUSION_WORD_UNMAPPED | 1U << 29, false },
		{ FUSION_WORD_UNMAPPED | 1U << 30, false },
		{ U32_MAX, false },
		{ fusion_word(FUSION_STABLE, FUSION_FAST, 0), true },
		{ fusion_word(FUSION_OPEN, FUSION_FAST, sb.nr_fast_slots - 1), true },
		{ fusion_word(FUSION_STABLE, FUSION_FAST, sb.nr_fast_slots), false },
		{ fusion_word(FUSION_WATCHED, FUSION_FAST, 0), false },
		{ fusion_word(FUSION_LOCKED, FUSION_FAST, 0), false },
		{ fusion_word(FUSION_STABLE, FUSION_SLOW, 0), false },
		{ fusion_word(FUSION_STABLE, FUSION_SLOW, sb.slow_first_slot - 1), false },
		{ fusion_word(FUSION_STABLE, FUSION_SLOW, sb.slow_first_slot), true },
		{ fusion_word(FUSION_OPEN, FUSION_SLOW,
			      sb.slow_first_slot + sb.nr_slow_slots - 1), true },
		{ fusion_word(FUSION_STABLE, FUSION_SLOW,
			      sb.slow_first_slot + sb.nr_slow_slots), false },
		{ fusion_word(FUSION_STABLE, FUSION_SLOW, FUSION_WORD_SLOT_MASK - 1), false },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		REQUIRE(fusion_word_valid(&sb, words[i].word) == words[i].valid, "word %u", i);
}

static void test_words(void)
{
	u32 state, dev, slot;

	setup();
	check_valid();
	check_shadow_valid();
	check_lost_valid();

	for (state = FUSION_STABLE; state <= FUSION_LOCKED; state++) {
		for (dev = FUSION_FAST; dev <= FUSION_SLOW; dev++) {
			for (slot = 0; slot < FUSION_WORD_UNMAPPED; slot = slot * 3 + 1) {
				const u32 w = fusion_word(state, dev, slot);
				const u32 d = fusion_word_on_disk(w);

				REQUIRE(fusion_word_mapped(w));
				REQUIRE_EQ(fusion_word_state(w), state);
				REQUIRE_EQ(fusion_word_dev(w), dev);
				REQUIRE_EQ(fusion_word_slot(w), slot);
				REQUIRE_EQ(fusion_word_set_state(w, FUSION_OPEN),
					   fusion_word(FUSION_OPEN, dev, slot));
				REQUIRE_EQ(fusion_word_dev(d), dev);
				REQUIRE_EQ(fusion_word_slot(d), slot);
				REQUIRE_EQ(fusion_word_state(d),
					   state == FUSION_OPEN ? FUSION_OPEN : FUSION_STABLE);
			}
			REQUIRE_EQ(fusion_word_on_disk(fusion_word(state, dev,
								   FUSION_WORD_UNMAPPED)),
				   dev == FUSION_SLOW && state == FUSION_STABLE ?
				   FUSION_WORD_LOST : FUSION_WORD_UNMAPPED);
		}
	}
}

static void test_slot_sectors(void)
{
	setup();
	REQUIRE_EQ(fusion_slot_sector(&sb, FUSION_FAST, 0), sb.fast_data_start);
	REQUIRE_EQ(fusion_slot_sector(&sb, FUSION_FAST, 3), sb.fast_data_start + 3 * 2048);
	/* the home slot has the offset of the logical address */
	REQUIRE_EQ(fusion_slot_sector(&sb, FUSION_SLOW, 1000), 1000 * 2048);
	sb.extent_sectors = FUSION_MAX_EXTENT_SECTORS;
	REQUIRE_EQ(fusion_slot_sector(&sb, FUSION_SLOW, 0x10000000), 1ULL << 43);
}

static void test_map_round_trip(void)
{
	u32 words[FUSION_MAP_PER_BLOCK], back[FUSION_MAP_PER_BLOCK];
	u8 block[FUSION_BLOCK_SIZE];
	const char *why = NULL;
	unsigned int set;
	u32 index, i, round;
	u64 seed = 6;

	setup();
	for (round = 0; round < 100; round++) {
		for (index = 0; index < sb.map_blocks; index++) {
			const u32 n = fusion_map_entries(&sb, index);

			set = round % 2;
			for (i = 0; i < n; i++)
				words[i] = rnd_word(&seed);
			fusion_map_pack(&sb, set, index, GENERATION, words, block);
			REQUIRE(!fusion_map_unpack(&sb, set, index, GENERATION, block, back, &why),
				"%s", why);
			REQUIRE(!memcmp(words, back, n * sizeof(u32)));

			/* elsewhere and at other times it does not count */
			sb.role = FUSION_SLOW;
			REQUIRE_EQ(fusion_map_unpack(&sb, set, index, GENERATION, block, back,
						     &why), -EILSEQ);
			sb.role = FUSION_FAST;
			REQUIRE_EQ(fusion_map_unpack(&sb, !set, index, GENERATION, block, back,
						     &why), -EILSEQ);
			REQUIRE_EQ(fusion_map_unpack(&sb, set, (index + 1) % 3, GENERATION, block,
						     back, &why), -EILSEQ);
			REQUIRE_EQ(fusion_map_unpack(&sb, set, index, GENERATION + 1, block, back,
						     &why), -EILSEQ);
			REQUIRE_EQ(fusion_map_unpack(&sb, set, index, GENERATION - 1, block, back,
						     &why), -EILSEQ);
			sb.set_uuid[3] ^= 4;
			REQUIRE_EQ(fusion_map_unpack(&sb, set, index, GENERATION, block, back,
						     &why), -EILSEQ);
			sb.set_uuid[3] ^= 4;
		}
	}

	/* a copy under way is not on disk: still STABLE where it was */
	memset(words, 0xff, sizeof(words));
	words[0] = fusion_word(FUSION_WATCHED, FUSION_SLOW, sb.slow_first_slot + 5);
	words[1] = fusion_word(FUSION_LOCKED, FUSION_FAST, 7);
	fusion_map_pack(&sb, 0, 0, GENERATION, words, block);
	REQUIRE(!fusion_map_unpack(&sb, 0, 0, GENERATION, block, back, &why), "%s", why);
	REQUIRE_EQ(back[0], fusion_word(FUSION_STABLE, FUSION_SLOW, sb.slow_first_slot + 5));
	REQUIRE_EQ(back[1], fusion_word(FUSION_STABLE, FUSION_FAST, 7));
	REQUIRE_EQ(back[2], FUSION_WORD_UNMAPPED);
}

static void test_map_bit_flips(void)
{
	u32 words[FUSION_MAP_PER_BLOCK], back[FUSION_MAP_PER_BLOCK];
	u8 block[FUSION_BLOCK_SIZE];
	const char *why;
	unsigned int bit;
	u64 seed = 7;
	u32 i;

	setup();
	for (i = 0; i < FUSION_MAP_PER_BLOCK; i++)
		words[i] = rnd_word(&seed);
	fusion_map_pack(&sb, 0, 2, GENERATION, words, block);
	for (bit = 0; bit < BLOCK_BITS; bit++) {
		why = NULL;
		flip_bit(block, bit);
		REQUIRE_EQ(fusion_map_unpack(&sb, 0, 2, GENERATION, block, back, &why), -EILSEQ);
		REQUIRE(why);
		flip_bit(block, bit);
	}
	REQUIRE(!fusion_map_unpack(&sb, 0, 2, GENERATION, block, back, &why), "%s", why);
}

/* With the checksum made right again, each number is still bounded. */
static void test_map_mutations(void)
{
	u32 words[FUSION_MAP_PER_BLOCK], back[FUSION_MAP_PER_BLOCK];
	u8 block[FUSION_BLOCK_SIZE];
	struct fusion_map_block *d = (void *)block;
	u32 entries, i, bad;
	const char *why;
	u64 seed = 8;

	setup();
	entries = fusion_map_entries(&sb, 2);
	for (i = 0; i < FUSION_MAP_PER_BLOCK; i++)
		words[i] = rnd_word(&seed);

#define REJECTED(change) do {							\
	fusion_map_pack(&sb, 1, 2, GENERATION, words, block);			\
	change;									\
	reseal(block);								\
	REQUIRE_EQ(fusion_map_unpack(&sb, 1, 2, GENERATION, block, back, &why), -EILSEQ); \
} while (0)
	REJECTED(d->h.magic = cpu_to_le32(FUSION_MAGIC_HEAT));
	REJECTED(d->h.blocknr = cpu_to_le64(sb.map_start[FUSION_FAST][0] + 2));
	REJECTED(d->h.set_uuid[0] ^= 1);
	REJECTED(d->generation = cpu_to_le64(GENERATION + (1ULL << 32)));
	REJECTED(d->index = cpu_to_le32(1));
	REJECTED(d->index = cpu_to_le32(U32_MAX));
	REJECTED(d->count = cpu_to_le32(0));
	REJECTED(d->count = cpu_to_le32(entries - 1));
	REJECTED(d->count = cpu_to_le32(entries + 1));
	REJECTED(d->count = cpu_to_le32(U32_MAX));
	/* padding */
	REJECTED(d->word[entries] = cpu_to_le32(1));
	REJECTED(d->word[FUSION_MAP_PER_BLOCK - 1] = cpu_to_le32(1U << 31));

	for (i = 0; i < 2000; i++) {
		do {
			bad = rnd(&seed);
		} while (fusion_word_valid(&sb, bad));
		REJECTED(d->word[rnd_below(&seed, entries)] = cpu_to_le32(bad));
	}
}

static void test_heat(void)
{
	u16 heat[FUSION_HEAT_PER_BLOCK], back[FUSION_HEAT_PER_BLOCK];
	u8 block[FUSION_BLOCK_SIZE];
	struct fusion_map_block *d = (void *)block;
	const char *why = NULL;
	unsigned int bit;
	u64 seed = 9;
	u32 index;

	setup();
	REQUIRE_EQ(sb.heat_blocks, 2);
	for (index = 0; index < sb.heat_blocks; index++) {
		const u32 n = fusion_heat_entries(&sb, index);

		rnd_fill(&seed, heat, sizeof(heat));
		fusion_heat_pack(&sb, index, GENERATION, heat, block);
		REQUIRE(!fusion_heat_unpack(&sb, index, block, back, &why), "%s", why);
		REQUIRE(!memcmp(heat, back, n * sizeof(u16)));
		REQUIRE_EQ(fusion_heat_unpack(&sb, !index, block, back, &why), -EILSEQ);
	}
	for (bit = 0; bit < BLOCK_BITS; bit++) {
		flip_bit(block, bit);
		REQUIRE_EQ(fusion_heat_unpack(&sb, 1, block, back, &why), -EILSEQ);
		flip_bit(block, bit);
	}
	d->count = cpu_to_le32(FUSION_HEAT_PER_BLOCK + 1);
	reseal(block);
	REQUIRE_EQ(fusion_heat_unpack(&sb, 1, block, back, &why), -EILSEQ);
}

/* The replica: the same blocks, in places of the slow member. */
static void test_replica(void)
{
	u32 words[FUSION_MAP_PER_BLOCK], back[FUSION_MAP_PER_BLOCK];
	u8 block[FUSION_BLOCK_SIZE];
	struct fusion_sb slow;
	const char *why = NULL;
	unsigned int set;
	u32 index, i;
	u64 seed = 10;

	setup();
	fusion_sb_for_slow(&sb, &slow);
	slow.incompat |= FUSION_INCOMPAT_SHADOW;
	for (set = 0; set < FUSION_NR_SETS; set++) {
		for (index = 0; index < slow.map_blocks; index++) {
			const u64 place = slow.map_start[FUSION_SLOW][set] + index;

			for (i = 0; i < FUSION_MAP_PER_BLOCK; i++)
				words[i] = rnd_below(&seed, 4) ? rnd_word(&seed) :
					   rnd_shadow(&seed);
			fusion_map_pack(&slow, set, index, GENERATION, words, block);
			REQUIRE_EQ(get_le(block + 8, 8), place);
			REQUIRE((place + 1) * 8 <=
				(u64)slow.slow_first_slot * slow.extent_sectors);
			REQUIRE(!fusion_map_unpack(&slow, set, index, GENERATION, block, back,
						   &why), "%s", why);
			REQUIRE(!memcmp(words, back, fusion_map_entries(&slow, index) * 4));
			REQUIRE_EQ(fusion_map_unpack(&sb, set, index, GENERATION, block, back,
						     &why), -EILSEQ);
			REQUIRE_EQ(fusion_map_unpack(&slow, !set, index, GENERATION, block, back,
						     &why), -EILSEQ);
		}
	}
}

static const struct unit_test tests[] = {
	{ "map: words", test_words },
	{ "map: sectors of slots", test_slot_sectors },
	{ "map: round trip", test_map_round_trip },
	{ "map: every single bit flip is found", test_map_bit_flips },
	{ "map: numbers out of bounds", test_map_mutations },
	{ "map: replica on the slow member", test_replica },
	{ "heat: round trip, bit flips, bounds", test_heat },
};

UNIT_TESTS(tests)
