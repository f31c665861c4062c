// SPDX-License-Identifier: GPL-2.0-only
/* The policy: extents whose shadows are current make room at half the cost, or at none. */
#include "policy-set.h"

/* Of the fast member's extents, these are shadowed. */
#define FIRST		300U
#define NR		32U

/* Candidates, on the slow member. */
#define HOT		3000U
#define NR_HOT		8U

static bool shadowed(u32 lext)
{
	return lext >= FIRST && lext < FIRST + NR;
}

/* All is mapped and cold, except the candidates. No move is made. */
static void start_shadowed(u32 hot)
{
	start(FAST, SLOW, 0);
	sim_fill(&sim, 0, sim.nr);
	sim.batch = 0;
	for (u32 i = FIRST; i < FIRST + NR; i++)
		sim.map[i] = fusion_word_set_state(sim.map[i], FUSION_WATCHED);
	for (u32 i = 0; i < NR_HOT; i++)
		fusion_policy_set_heat(p, HOT + i, hot + i);
}

/* The reserve lacks 50 slots. */
static struct fusion_policy_env short_of_reserve(bool idle)
{
	return (struct fusion_policy_env){
		.free_slow = 1000, .reserve = 50, .idle = idle, .most = FUSION_MAX_PICK,
	};
}

/* A pick, after one that has set the bar and a pass that has found what is above it. */
static unsigned int pick(const struct fusion_policy_env *env, struct fusion_move *moves,
			 unsigned int max)
{
	struct fusion_policy_env first = *env;
	struct fusion_move none[1];

	sim_rest(&sim, 10000);
	first.most = 0;
	fusion_policy_pick(p, &first, none, 0);
	sim_rest(&sim, 10000);
	return fusion_policy_pick(p, env, moves, max);
}

static void test_first(void)
{
	struct fusion_move moves[FUSION_MAX_PICK];
	const struct fusion_policy_env env = { .reserve = 0 };
	unsigned int i, n;

	start_shadowed(100 * TOUCH);
	n = pick(&env, moves, 16);
	REQUIRE_EQ(n, 16);
	for (i = 0; i < n; i += 2)
		REQUIRE(shadowed(moves[i].lext), "%u", moves[i].lext);
	end();
}

/* Those that are warmer than others are not preferred. */
static void test_only_cold(void)
{
	struct fusion_move moves[FUSION_MAX_PICK];
	const struct fusion_policy_env env = { .reserve = 0 };
	unsigned int i, n;

	start_shadowed(1000 * TOUCH);
	for (i = FIRST; i < FIRST + NR; i++)
		fusion_policy_set_heat(p, i, 100 * TOUCH);
	n = pick(&env, moves, 16);
	REQUIRE_EQ(n, 16);
	for (i = 0; i < n; i += 2)
		REQUIRE(!shadowed(moves[i].lext), "%u", moves[i].lext);
	end();
}

/* The reserve takes them at any time, and as many as fit; others when idle, up to the maximum. */
static void test_reserve(void)
{
	for (u32 idle = 0; idle < 2; idle++) {
		const struct fusion_policy_env env = short_of_reserve(idle);
		struct fusion_move moves[FUSION_MAX_PICK];
		unsigned int i, n;

		start_shadowed(0);
		n = pick(&env, moves, idle ? 40 : 16);
		REQUIRE_EQ(n, idle ? 40 : NR);
		for (i = 0; i < n; i++) {
			REQUIRE_EQ(moves[i].to, FUSION_SLOW);
			REQUIRE_EQ(shadowed(moves[i].lext), i < NR);
		}
		end();
	}
}

/* What was promoted within the last minute, as on request, stays as long as there is a load. */
static void test_reserve_resident(void)
{
	for (u32 idle = 0; idle < 2; idle++) {
		const struct fusion_policy_env env = short_of_reserve(idle);
		struct fusion_move moves[FUSION_MAX_PICK];
		unsigned int n;

		start_shadowed(0);
		for (u32 i = FIRST; i < FIRST + NR / 2; i++)
			fusion_policy_done(p, &(struct fusion_move){ .lext = i, .to = FUSION_FAST },
					   FUSION_MOVED);
		n = pick(&env, moves, idle ? 40 : 16);
		REQUIRE_EQ(n, idle ? 40 : NR / 2);
		REQUIRE_EQ(moves[0].lext, idle ? FIRST : FIRST + NR / 2);
		end();
	}
}

/* Where moves are dear, a swap that copies one extent has to gain half of one that copies two. */
static void test_pay(void)
{
	for (u32 with = 0; with < 2; with++) {
		struct fusion_move moves[FUSION_MAX_PICK];
		const struct fusion_policy_env env = { .reserve = 0 };

		start_shadowed(30 * TOUCH);
		for (u32 i = FIRST; !with && i < FIRST + NR; i++)
			sim.map[i] = fusion_word_set_state(sim.map[i], FUSION_STABLE);
		/* 1 ms an access on the slow member, 20 ms a move */
		fusion_policy_accesses(p, FUSION_SLOW, 1024 * 1000, 1024);
		fusion_policy_accesses(p, FUSION_FAST, 0, 1024);
		fusion_policy_moves(p, 16 * 20000, 16);
		REQUIRE_EQ(p->pay, 40 * TOUCH);
		REQUIRE_EQ(p->pay_shadowed, 20 * TOUCH);
		REQUIRE_EQ(pick(&env, moves, 16), with ? 2 * NR_HOT : 0);
		end();
	}
}

static const struct unit_test tests[] = {
	{ "what has a shadow makes room first", test_first },
	{ "unless it is warmer", test_only_cold },
	{ "what has a shadow makes the reserve at any time", test_reserve },
	{ "unless it was promoted within the last minute", test_reserve_resident },
	{ "a swap with it costs half", test_pay },
};

UNIT_TESTS(tests)
