// SPDX-License-Identifier: GPL-2.0-only
/* The policy: moves that fail, are cancelled, or collide. */
#include "policy-set.h"

static enum fusion_outcome fate;
static u64 tried_ms[64];
static u32 nr_tried;

static enum fusion_outcome one_fate(struct sim *s, const struct fusion_move *move)
{
	if (move->to == FUSION_FAST && nr_tried < ARRAY_SIZE(tried_ms))
		tried_ms[nr_tried++] = s->now_ms;
	return move->to == FUSION_FAST ? fate : FUSION_MOVED;
}

/* One hot extent whose moves all end like this, under load or idle, for a day. */
static void suffer(enum fusion_outcome outcome, bool busy)
{
	start_filled(500);
	fusion_policy_set_half_life(p, 86400);
	sim.outcome = one_fate;
	fate = outcome;
	nr_tried = 0;
	fusion_policy_set_heat(p, 3000, 40000);
	while (sim.now_ms < 3 * HOUR) {
		if (busy && sim.now_ms % 500 == 0)
			sim_access(&sim, 1, 2048);
		sim_step(&sim);
		/* the demotion went through */
		sim_fill(&sim, sim.nr - 500, sim.nr_free[FUSION_FAST] - (s32)RESERVE);
	}
	REQUIRE(nr_tried, "never tried");
	/* not for ever */
	fate = FUSION_MOVED;
	sim_rest(&sim, 66 * 60000);
	REQUIRE_EQ(sim_on_fast(&sim, 3000, 1), 1);
	end();
}

static void test_back_off(void)
{
	u64 gap, last = 0;

	/* cancelled: 1, 2, 4, 8, 16, 16 ... seconds, and the time of a pass */
	suffer(FUSION_CANCELLED, true);
	REQUIRE_EQ(nr_tried, ARRAY_SIZE(tried_ms));
	for (u32 i = 1; i < 20; i++) {
		gap = tried_ms[i] - tried_ms[i - 1];
		REQUIRE(gap >= 1000U << min(i - 1, 4U), "%llu ms before try %u", gap, i + 1);
		REQUIRE(gap <= 21000, "%llu ms before try %u", gap, i + 1);
	}

	/* failed: a minute, 2, 4, ... 64 */
	suffer(FUSION_FAILED, true);
	REQUIRE(nr_tried >= 7 && nr_tried <= 9, "tried %u times in three hours", nr_tried);
	for (u32 i = 1; i < nr_tried; i++) {
		gap = tried_ms[i] - tried_ms[i - 1];
		REQUIRE(gap >= last, "%llu ms after %llu ms", gap, last);
		last = gap;
	}
	REQUIRE(last >= 3600000, "%llu", last);

	/* idle or not */
	suffer(FUSION_FAILED, false);
	REQUIRE(nr_tried >= 7 && nr_tried <= 9, "tried %u times in three hours", nr_tried);

	/* skipped: no more than once a second */
	suffer(FUSION_SKIPPED, false);
	for (u32 i = 1; i < nr_tried; i++)
		REQUIRE(tried_ms[i] - tried_ms[i - 1] >= 1000);
}

/* Trouble of long ago does not count. */
static void test_forgiven(void)
{
	const struct fusion_policy_env env = { .free_fast = 100, .free_slow = 1000 };
	struct fusion_move move = { .lext = 3000, .to = FUSION_FAST }, moves[8];

	start(FAST, SLOW, 0);
	sim_fill(&sim, 0, sim.nr - 500);
	sim.batch = 0;
	fusion_policy_set_heat(p, move.lext, 10000);
	sim_rest(&sim, 3000);
	for (u32 i = 0; i < 10; i++)
		fusion_policy_done(p, &move, FUSION_CANCELLED);
	sim_rest(&sim, 15000);
	REQUIRE_EQ(fusion_policy_pick(p, &env, moves, 8), 0);
	sim_rest(&sim, 15 * 60000);
	fusion_policy_done(p, &move, FUSION_CANCELLED);
	REQUIRE_EQ(fusion_policy_pick(p, &env, moves, 8), 0);
	sim_rest(&sim, 3000);
	REQUIRE_EQ(fusion_policy_pick(p, &env, moves, 8), 1);
	end();
}

/* An extent that failed is not forgotten for others in its place that were cancelled. */
static void test_back_off_collision(void)
{
	const struct fusion_policy_env env = { .free_fast = 100, .free_slow = 1000 };
	struct fusion_move bad = { .lext = 3000, .to = FUSION_FAST };
	struct fusion_move other = { .lext = 3000 + FUSION_HOLDS, .to = FUSION_FAST };
	struct fusion_move moves[8];
	unsigned int n;

	start(FAST, SLOW + FUSION_HOLDS, 0);
	sim_fill(&sim, 0, sim.nr - 500);
	sim.batch = 0;
	fusion_policy_set_heat(p, bad.lext, 1000);
	fusion_policy_set_heat(p, other.lext, 4 * FUSION_HEAT_TOUCH - 1);
	sim_rest(&sim, 3000);
	fusion_policy_done(p, &bad, FUSION_FAILED);
	fusion_policy_done(p, &other, FUSION_CANCELLED);
	/* they collide as candidates, too, so it has to become one after the other */
	fusion_policy_touch(p, other.lext, FUSION_HEAT_TOUCH);
	n = fusion_policy_pick(p, &env, moves, 8);
	REQUIRE_EQ(n, 1);
	REQUIRE_EQ(moves[0].lext, other.lext);
	end();
}

static void test_not_stable(void)
{
	static const enum fusion_state state[] = { FUSION_OPEN, FUSION_WATCHED, FUSION_LOCKED };

	start(FAST, SLOW, RESERVE);
	sim_fill(&sim, 0, sim.nr - 100);
	for (u32 i = 0; i < sim.nr - 100; i++) {
		u32 s = state[i % 3];

		/* on the fast member it has a shadow, and may move */
		if (s == FUSION_WATCHED && fusion_word_dev(sim.map[i]) == FUSION_FAST)
			s = FUSION_LOCKED;
		sim.map[i] = fusion_word_set_state(sim.map[i], s);
	}
	sim_load(&sim, 3000, 64, DISK_IOPS, 15000);
	sim_rest(&sim, 10000);
	REQUIRE_EQ(sim.asked, 0);
	/* one that becomes so is found */
	sim.map[3001] = fusion_word_set_state(sim.map[3001], FUSION_STABLE);
	sim.map[1] = fusion_word_set_state(sim.map[1], FUSION_STABLE);
	sim_rest(&sim, 10000);
	REQUIRE_EQ(sim_on_fast(&sim, 3001, 1), 1);
	REQUIRE_EQ(sim_on_fast(&sim, 1, 1), 0);
	end();
}

static enum fusion_outcome any_fate(struct sim *s, const struct fusion_move *move)
{
	(void)move;
	return rnd_below(&s->seed, 2) ? FUSION_MOVED : rnd_below(&s->seed, FUSION_SKIPPED + 1);
}

/* Everything at once: what is promised of every answer holds. */
static void test_chaos(void)
{
	u64 moves = 0;

	for (u32 seed = 1; seed <= 30; seed++) {
		u32 place = 0;
		u64 s = seed;

		start(64 + rnd_below(&s, 200), 64 + rnd_below(&s, 1000), rnd_below(&s, 32));
		sim.seed = seed;
		sim.outcome = any_fate;
		fusion_policy_set_half_life(p, rnd_log(&s, 1, 604800));
		for (u32 step = 0; step < 20000; step++) {
			u32 lext = rnd_below(&s, sim.nr), what = rnd_below(&s, 100);

			sim.batch = rnd_below(&s, FUSION_MAX_PICK + 1);
			if (what < 5 && fusion_word_mapped(sim.map[lext]))
				sim_discard(&sim, lext);
			else if (what < 15)
				sim_fill(&sim, lext, 1);
			else if (what < 20)
				sim.reserve = rnd_below(&s, 32);
			else if (what < 30 && fusion_word_mapped(sim.map[lext]))
				sim.map[lext] = fusion_word_set_state(sim.map[lext],
								      rnd_below(&s, 4));
			else if (what == 30)
				sim.now_ms += rnd_log(&s, 1, DAY);
			else if (what == 31)
				fusion_policy_set_half_life(p, rnd_log(&s, 1, 604800));
			if (what == 32)
				place = rnd_below(&s, sim.nr - 32);
			for (u32 i = rnd_below(&s, 300); what < 60 && i; i--)
				sim_access(&sim, place + rnd_below(&s, 32), rnd_log(&s, 1, 2048));
			sim_step(&sim);
		}
		moves += sim_moves(&sim);
		end();
	}
	REQUIRE(moves > 3000, "%llu moves", moves);
}

static const struct unit_test tests[] = {
	{ "back-off", test_back_off },
	{ "back-off is forgiven", test_forgiven },
	{ "back-off of extents that collide", test_back_off_collision },
	{ "only STABLE extents move", test_not_stable },
	{ "chaos", test_chaos },
};

UNIT_TESTS(tests)
