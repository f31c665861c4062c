// SPDX-License-Identifier: GPL-2.0-only
/* Superblocks: which two are those of one set, and which is of the past. */
#include <errno.h>

#include "super.h"

static void test_match(void)
{
	const struct fusion_sb fast = fast_sb();
	struct fusion_sb slow, a, b;
	const char *why = NULL;

	fusion_sb_for_slow(&fast, &slow);
	slow.flags &= ~FUSION_SB_CLEAN;
	REQUIRE(!fusion_sb_match(&fast, &slow, &why), "%s", why);

	REQUIRE_EQ(fusion_sb_match(&slow, &fast, &why), -EXDEV);
	REQUIRE(strstr(why, "swapped"));
	REQUIRE_EQ(fusion_sb_match(&fast, &fast, &why), -EXDEV);
	REQUIRE_EQ(fusion_sb_match(&slow, &slow, &why), -EXDEV);

#define MISMATCH(change, error) do {					\
	a = fast;							\
	b = slow;							\
	change;								\
	why = NULL;							\
	REQUIRE_EQ(fusion_sb_match(&a, &b, &why), error);		\
	REQUIRE(why);							\
} while (0)
	MISMATCH(b.set_uuid[15] ^= 1, -EXDEV);
	MISMATCH(b.dev_uuid[0] ^= 1, -EXDEV);
	MISMATCH(b.peer_uuid[0] ^= 1, -EXDEV);
	MISMATCH(a.dev_uuid[0] ^= 1, -EXDEV);
	MISMATCH(a.peer_uuid[0] ^= 1, -EXDEV);
	MISMATCH(a.extent_sectors *= 2, -EXDEV);
	MISMATCH(a.nr_lexts--, -EXDEV);
	MISMATCH(a.map_start[FUSION_FAST][1]++, -EXDEV);
	MISMATCH(b.spare_slow++, -EXDEV);
	MISMATCH(b.self_sectors--, -EXDEV);
	MISMATCH(b.peer_sectors--, -EXDEV);
	MISMATCH(b.epoch--, -ESTALE);
	MISMATCH(b.epoch += 2, -ESTALE);
	MISMATCH(a.epoch++, -ESTALE);
	/* closed in order since: with another fast member */
	MISMATCH(b.epoch++; b.flags |= FUSION_SB_CLEAN, -ESTALE);
	MISMATCH(b.epoch++; b.flags |= FUSION_SB_CLEAN; b.prev_activation = b.activation, -ESTALE);
	REQUIRE(strstr(why, "the fast member is from before"));
	MISMATCH(b.epoch += 2; b.prev_activation = b.activation, -ESTALE);
	MISMATCH(a.epoch++; b.prev_activation = b.activation, -ESTALE);
	REQUIRE(strstr(why, "the slow member is from before"));
	/* the set has grown, once or more often: see test-grow.c */
	MISMATCH(b.layout_seq++, -ESTALE);
	MISMATCH(a.layout_seq++, -EXDEV);
	MISMATCH(a.layout_seq += 2, -ESTALE);
	/* the same number of activations, but others */
	MISMATCH(a.activation++, -ESTALE);
	MISMATCH(b.activation++, -ESTALE);
	MISMATCH(b.epoch++, -ESTALE);

	/* the slow member's superblock is written first, with the epoch to come */
	slow.epoch++;
	slow.prev_activation = slow.activation;
	slow.activation = 99;
	REQUIRE(!fusion_sb_match(&fast, &slow, &why), "%s", why);
	/* state that is the fast member's alone does not matter */
	slow.active_set = 0;
	slow.replay_seq = 5;
	slow.generation = 2;
	REQUIRE(!fusion_sb_match(&fast, &slow, &why), "%s", why);
	slow.epoch--;
	slow.activation = slow.prev_activation;
	slow.flags |= FUSION_SB_CLEAN;
	REQUIRE(!fusion_sb_match(&fast, &slow, &why), "%s", why);
}

static void test_reached(void)
{
	struct fusion_progress claim = { 1002, 50 };
	struct fusion_sb fast = fast_sb(), slow;

	fusion_sb_for_slow(&fast, &slow);
	fast.flags &= ~FUSION_SB_CLEAN;
	slow.flags &= ~FUSION_SB_CLEAN;
	REQUIRE(fusion_sb_reached(&fast, false, 50, &claim));
	REQUIRE(fusion_sb_reached(&slow, false, 50, &claim));
	REQUIRE(fusion_sb_reached(&slow, false, 51, &claim));
	REQUIRE(!fusion_sb_reached(&fast, false, 49, &claim));
	REQUIRE(!fusion_sb_reached(&slow, false, 49, &claim));

	/* the newer copy may be the one that is damaged; never two of them */
	claim.generation = 1003;
	REQUIRE(!fusion_sb_reached(&fast, false, 50, &claim));
	REQUIRE(fusion_sb_reached(&fast, true, 50, &claim));
	REQUIRE(!fusion_sb_reached(&slow, true, 49, &claim));
	claim.generation = 1004;
	REQUIRE(!fusion_sb_reached(&fast, true, 50, &claim));

	/* where the log of a member ends that was closed in order is of no interest */
	claim.generation = 1002;
	fast.flags |= FUSION_SB_CLEAN;
	slow.flags |= FUSION_SB_CLEAN;
	REQUIRE(fusion_sb_reached(&slow, false, 1, &claim));
	REQUIRE(!fusion_sb_reached(&fast, false, 1, &claim));
	claim.generation = 1003;
	REQUIRE(!fusion_sb_reached(&slow, false, 50, &claim));
}

static const struct unit_test tests[] = {
	{ "super: members that are one set, or not", test_match },
	{ "super: a member that has got as far as the other one saw", test_reached },
};

UNIT_TESTS(tests)
