// SPDX-License-Identifier: GPL-2.0-only
/* Disks that become members: what goes where, for members of any size. */
#include "unit.h"

#include "fusionctl.h"
#include "new-set.h"
#include "probe.h"
#include "transit.h"

/* Any extents in a row have the places that each of them has by itself. */
static void require_words(const struct transit *t, u64 *seed)
{
	static u32 words[5000];
	const u32 nr = min_t(u32, t->sb.nr_lexts, rnd_below(seed, ARRAY_SIZE(words)));
	const u32 first = rnd_below(seed, 4) ? rnd_below(seed, t->sb.nr_lexts - nr + 1) :
			  min_t(u32, t->content - min(t->content, nr / 2), t->sb.nr_lexts - nr);

	fus_transit_words(t, first, nr, words);
	for (u32 i = 0; i < nr; i++)
		REQUIRE_EQ(words[i], fus_transit_word(t, first + i));
}

/* The other member has room for what has to go there, or lacks it by one extent. */
static void test_room(void)
{
	struct fus_content c = { .nr = 1, .sector = { 2 }, .offset = { 56 }, .bytes = { 2 } };
	struct fusion_misfit misfit;
	unsigned int fits = 0, not = 0;
	u64 seed = 3;

	for (unsigned int i = 0; i < 3000; i++) {
		const u64 fast = rnd_log(&seed, 8192, 1 << 20);
		const u64 slow = rnd_log(&seed, 8192, 1 << 26);
		struct transit t = { .disk = 0 };
		struct fusion_sb sb;
		u32 n = 0;

		memset(&sb, 0, sizeof(sb));
		if (fusion_sb_plan(&sb, fast, slow, 128U << rnd_below(&seed, 6), &misfit))
			continue;
		c.sector[0] = rnd_below(&seed, 2) ? 2 : rnd_below(&seed, slow);
		if (!fus_transit_plan(&t, &sb, SLOW, &c)) {
			REQUIRE(t.moved > fus_transit_room(&t));
			not++;
			continue;
		}
		fits++;
		REQUIRE(t.moved <= fus_transit_room(&t) && t.content <= sb.nr_lexts);
		for (u32 nr = 0; nr < t.moved; nr++) {
			const u32 word = fus_transit_word(&t, fus_transit_lext(&t, nr));

			REQUIRE(fusion_word_valid(&sb, word) && fusion_word_dev(word) == FAST);
			REQUIRE_EQ(fusion_word_slot(word), nr);
		}
		for (u32 lext = 0; lext < t.content; lext++) {
			const u32 word = fus_transit_word(&t, lext);

			if (fusion_word_dev(word) == FAST) {
				n++;
				continue;
			}
			REQUIRE(fusion_word_valid(&sb, word) && fusion_word_slot(word) == lext);
			REQUIRE(lext < sb.slow_first_slot + sb.nr_slow_slots - sb.spare_slow);
		}
		REQUIRE_EQ(n, t.moved);
		REQUIRE_EQ(fus_transit_word(&t, t.content), FUSION_WORD_UNMAPPED);
		for (unsigned int j = 0; j < 5; j++)
			require_words(&t, &seed);
	}
	REQUIRE(fits > 100 && not >= 50, "%u, %u", fits, not);
}

/* no set has more than 8 Mi extents, unless each has the greatest size */
static void test_default_extent(void)
{
	const u64 tib = 1ULL << 31;

	REQUIRE_EQ(new_set_extent(1), 2048);
	REQUIRE_EQ(new_set_extent(8 * tib), 2048);
	REQUIRE_EQ(new_set_extent(8 * tib + 2048), 4096);
	REQUIRE_EQ(new_set_extent(17 * tib), 8192);
	REQUIRE_EQ(new_set_extent(128 * tib), 32768);
	REQUIRE_EQ(new_set_extent(1000 * tib), FUSION_MAX_EXTENT_SECTORS);
}

static const struct unit_test tests[] = {
	{ "a large set has large extents", test_default_extent },
	{ "transit: room for what is copied", test_room },
};

UNIT_TESTS(tests)
