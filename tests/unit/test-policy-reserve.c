// SPDX-License-Identifier: GPL-2.0-only
/* The policy: the reserve of free fast slots, and when nothing is to be done. */
#include "policy-set.h"

/* -- rest -------------------------------------------------------------------- */

/* Nothing to do: says so, for ever, and looks at nothing for it. */
static void test_nothing(void)
{
	u32 hand;

	start_filled(500);
	sim_rest(&sim, 10000);
	hand = p->hand[0];
	for (u32 i = 0; i < 100000; i++)
		REQUIRE_EQ(sim_step(&sim), 0);
	REQUIRE_EQ(p->hand[0], hand);
	end();
}

/* A candidate that nothing can make room for costs one look at all extents per pass. */
static void test_fruitless(void)
{
	const struct fusion_policy_env env = { .free_slow = 100, .idle = true };
	struct fusion_move moves[8];
	u32 looked = 0, hand;

	start(FAST, SLOW, 0);
	sim_fill(&sim, 0, sim.nr - 100);
	for (u32 i = 0; i < sim.nr - 100; i++)
		fusion_policy_set_heat(p, i, 1000 + i % 100);
	sim_rest(&sim, 5000);
	for (u32 i = 0; i < 1000; i++) {
		hand = p->hand[0] == sim.nr ? 0 : p->hand[0];
		REQUIRE_EQ(fusion_policy_pick(p, &env, moves, 8), 0);
		looked += p->hand[0] - hand;
	}
	REQUIRE(looked <= sim.nr, "%u", looked);
	end();
}

static void test_empty(void)
{
	start(FAST, SLOW, RESERVE);
	for (u32 i = 0; i < sim.nr; i++)
		fusion_policy_set_heat(p, i, 5000);
	sim_load(&sim, 0, sim.nr, 500, 60000);
	sim_rest(&sim, 60000);
	REQUIRE_EQ(sim_moves(&sim), 0);
	end();
}

/* -- reserve ----------------------------------------------------------------- */

static void test_reserve(void)
{
	start(FAST, SLOW, 100);
	sim_fill(&sim, 0, 2000);
	for (u32 i = 0; i < FAST; i++)
		fusion_policy_set_heat(p, i, i % 3 ? 3000 + i : i % 7);

	/* not while there is I/O, be it streams only */
	sim_scan(&sim, 1000, 1000, 2048, 100);
	REQUIRE_EQ(sim_moves(&sim), 0);
	sim_rest(&sim, SIM_IDLE_MS - SIM_STEP_MS);
	REQUIRE_EQ(sim_moves(&sim), 0);

	sim_rest(&sim, 30000);
	REQUIRE_EQ(sim.nr_free[FUSION_FAST], 100);
	REQUIRE_EQ(sim.moves[FUSION_SLOW], 100);
	REQUIRE_EQ(sim.moves[FUSION_FAST], 0);
	for (u32 i = 0; i < FAST; i++)
		REQUIRE(i % 3 == 0 || sim_on_fast(&sim, i, 1), "%u was hot", i);

	/* and that is all */
	for (u32 i = 0; i < 10000; i++)
		REQUIRE_EQ(sim_step(&sim), 0);

	/* used up, and restored */
	sim_fill(&sim, 2000, 70);
	REQUIRE_EQ(sim.nr_free[FUSION_FAST], 30);
	sim_rest(&sim, 30000);
	REQUIRE_EQ(sim.nr_free[FUSION_FAST], 100);
	REQUIRE_EQ(sim.moves[FUSION_SLOW], 170);
	REQUIRE_EQ(sim.moves[FUSION_FAST], 0);
	end();
}

/* Also when all on the fast member is hot, and to the last free slot of the slow one. */
static void test_reserve_hot(void)
{
	start(FAST, SLOW, 100);
	sim_fill(&sim, 0, sim.nr - 60);
	for (u32 i = 0; i < FAST; i++)
		fusion_policy_set_heat(p, i, 20000 + i * 40);
	sim_rest(&sim, 60000);
	REQUIRE_EQ(sim.nr_free[FUSION_SLOW], 0);
	REQUIRE_EQ(sim.nr_free[FUSION_FAST], 60);
	for (u32 i = 200; i < FAST; i++)
		REQUIRE(sim_on_fast(&sim, i, 1), "%u was among the hottest", i);
	REQUIRE_EQ(sim.moves[FUSION_FAST], 0);
	end();
}

/* Also when all on the fast member has only just been promoted. */
static void test_reserve_resident(void)
{
	start(64, SLOW, 20);
	sim_fill(&sim, 0, 1000);
	for (u32 i = 0; i < 64; i++)
		fusion_policy_done(p, &(struct fusion_move){ .lext = i, .to = FUSION_FAST },
				   FUSION_MOVED);
	sim_rest(&sim, 10000);
	REQUIRE_EQ(sim.nr_free[FUSION_FAST], 20);
	end();
}

/* Slots on their way to the reserve are not asked for twice. */
static void test_reserve_in_flight(void)
{
	struct fusion_policy_env env = { .free_slow = 1000, .reserve = 50, .idle = true };
	struct fusion_move moves[64], more[64];
	unsigned int n, i;

	start(FAST, SLOW, 50);
	sim_fill(&sim, 0, 2000);
	sim.batch = 0;
	sim_rest(&sim, 5000);
	n = fusion_policy_pick(p, &env, moves, 64);
	REQUIRE_EQ(n, 50);
	for (i = 0; i < n; i++)
		sim.map[moves[i].lext] = fusion_word_set_state(sim.map[moves[i].lext],
							       FUSION_LOCKED);
	REQUIRE_EQ(fusion_policy_pick(p, &env, more, 64), 0);
	for (i = 0; i < n; i++)
		fusion_policy_done(p, &moves[i], i < 20 ? FUSION_FAILED : FUSION_MOVED);
	/* those that failed are replaced by others */
	env.free_fast = 30;
	env.free_slow = 970;
	REQUIRE_EQ(fusion_policy_pick(p, &env, more, 64), 20);
	end();
}

static const struct unit_test tests[] = {
	{ "nothing to do", test_nothing },
	{ "no room to be made", test_fruitless },
	{ "nothing mapped", test_empty },
	{ "reserve is refilled when idle, then that stops", test_reserve },
	{ "reserve from hot extents, as far as there is room", test_reserve_hot },
	{ "reserve from what was just promoted", test_reserve_resident },
	{ "reserve is not refilled twice", test_reserve_in_flight },
};

UNIT_TESTS(tests)
