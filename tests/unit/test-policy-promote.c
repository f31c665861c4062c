// SPDX-License-Identifier: GPL-2.0-only
/* The policy: what is promoted, and what it displaces. */
#include "policy-set.h"

/* Three passes of random writes to a cold region, as in the acceptance test. */
static void three_passes(u32 region)
{
	u64 before = sim_moves(&sim);
	u32 fast;

	REQUIRE(sim_on_fast(&sim, region, 64) < 8, "not cold to begin with");
	sim_load(&sim, region, 64, DISK_IOPS, 15000);
	sim_rest(&sim, 5000);
	fast = sim_on_fast(&sim, region, 64);
	REQUIRE(fast >= 60, "%u after pass 1", fast);
	sim_load(&sim, region, 64, 4 * DISK_IOPS, 15000);
	sim_rest(&sim, 5000);
	REQUIRE_EQ(sim_on_fast(&sim, region, 64), 64);
	before = sim_moves(&sim) - before;
	REQUIRE(before <= 2 * 64, "%llu moves", before);
	sim_load(&sim, region, 64, 20 * DISK_IOPS, 15000);
	REQUIRE_EQ(sim_on_fast(&sim, region, 64), 64);
}

static void test_three_passes(void)
{
	start_filled(500);
	REQUIRE_EQ(sim.nr_free[FUSION_FAST], RESERVE);
	three_passes(3000);
	/* another one takes its turn */
	three_passes(2000);
	end();
}

/* A write to an extent being copied cancels that. */
static enum fusion_outcome cancelled_by_load(struct sim *s, const struct fusion_move *move)
{
	bool busy = s->now_ms - s->last_io_ms < 200;

	return move->to == FUSION_FAST && busy && rnd_below(&s->seed, 2) ?
	       FUSION_CANCELLED : FUSION_MOVED;
}

static enum fusion_outcome cancelled_if_busy(struct sim *s, const struct fusion_move *move)
{
	bool busy = s->now_ms - s->last_io_ms < 200;

	return move->to == FUSION_FAST && busy ? FUSION_CANCELLED : FUSION_MOVED;
}

static void test_three_passes_cancelled(void)
{
	start_filled(500);
	sim.outcome = cancelled_by_load;
	three_passes(3000);
	sim.outcome = cancelled_if_busy;
	three_passes(2000);
	end();
}

/* Filled to the last slot on either device. */
static void test_full(void)
{
	start(FAST, SLOW, 0);
	sim_fill(&sim, 0, sim.nr);
	REQUIRE(!sim.nr_free[FUSION_FAST] && !sim.nr_free[FUSION_SLOW]);
	sim_rest(&sim, 10000);
	REQUIRE_EQ(sim_moves(&sim), 0);
	three_passes(3000);
	three_passes(1000);
	REQUIRE_EQ(sim.moves[FUSION_FAST], sim.moves[FUSION_SLOW]);
	REQUIRE(!sim.nr_free[FUSION_FAST] && !sim.nr_free[FUSION_SLOW]);
	end();
}

/* The same with a reserve that can't be restored. */
static void test_full_reserve(void)
{
	start(FAST, SLOW, RESERVE);
	sim_fill(&sim, 0, sim.nr);
	sim_rest(&sim, 10000);
	REQUIRE_EQ(sim_moves(&sim), 0);
	three_passes(3000);
	end();
}

/* A sequential write of eight times the fast member, then a hot region. */
static void test_after_stream(void)
{
	static const u32 sectors[] = { 256, 512, 2048 };

	for (u32 i = 0; i < ARRAY_SIZE(sectors); i++) {
		start(FAST, SLOW, RESERVE);
		sim_scan(&sim, 0, 4000, sectors[i], 130);
		REQUIRE_EQ(sim.moves[FUSION_FAST], 0);
		sim_rest(&sim, 10000);
		REQUIRE_EQ(sim.nr_free[FUSION_FAST], RESERVE);
		/* overwritten as a whole */
		sim_scan(&sim, 0, 4000, sectors[i], 130);
		REQUIRE_EQ(sim.moves[FUSION_FAST], 0);
		three_passes(3000);
		end();
	}
}

/* Reading all once moves nothing, neither into free slots nor as a swap. */
static void test_scan(void)
{
	static const struct { u32 sectors, extents_per_s; } scan[] = {
		{ 8, 8 }, { 8, 150 }, { 64, 20 }, { 128, 50 }, { 256, 4 }, { 256, 150 },
		{ 256, 1000 }, { 512, 2 }, { 2048, 150 },
	};

	for (u32 full = 0; full < 2; full++) {
		for (u32 i = 0; i < ARRAY_SIZE(scan); i++) {
			start(FAST, SLOW, RESERVE);
			sim_fill(&sim, 0, sim.nr - 100);
			for (u32 k = 0; k < (full ? RESERVE : 200); k++)
				sim_discard(&sim, k);
			sim_scan(&sim, 1000, 3000, scan[i].sectors, scan[i].extents_per_s);
			sim_rest(&sim, 10000);
			REQUIRE(!sim_moves(&sim), "bios of %u, %u extents/s: %llu moves",
				scan[i].sectors, scan[i].extents_per_s, sim_moves(&sim));
			end();
		}
	}
}

/* Scans during a load do not take the place of what is hot. */
static void test_scan_and_load(void)
{
	u64 before;

	start_filled(500);
	three_passes(3000);
	before = sim_moves(&sim);
	for (u32 i = 0; i < 20; i++) {
		sim_scan(&sim, 500, 2000, 256, 150);
		sim_load(&sim, 3000, 64, 1000, 2000);
	}
	REQUIRE_EQ(sim_moves(&sim), before);
	REQUIRE_EQ(sim_on_fast(&sim, 3000, 64), 64);
	end();
}

/* Free fast slots are for what is warm, the reserve is not. */
static void test_eager(void)
{
	start(FAST, SLOW, RESERVE);
	sim_fill(&sim, 0, sim.nr - 100);
	for (u32 i = 0; i < 50; i++)
		sim_discard(&sim, i);
	REQUIRE_EQ(sim.nr_free[FUSION_FAST], 50);
	/* a burst is not enough */
	sim_load(&sim, 2000, 30, 3000, 500);
	sim_rest(&sim, 5000);
	REQUIRE_EQ(sim.moves[FUSION_FAST], 0);
	for (u32 i = 0; i < 4; i++) {
		for (u32 k = 0; k < 100; k++)
			sim_access(&sim, 2000 + k, 8);
		sim_rest(&sim, 250);
	}
	sim_rest(&sim, 10000);
	REQUIRE_EQ(sim.nr_free[FUSION_FAST], RESERVE);
	REQUIRE_EQ(sim.moves[FUSION_FAST], 40);
	REQUIRE_EQ(sim.moves[FUSION_SLOW], 0);
	REQUIRE_EQ(sim_on_fast(&sim, 2000, 100), 40);
	end();
}

/* The hottest first. */
static void test_hottest_first(void)
{
	start(FAST, SLOW, 0);
	sim_fill(&sim, 0, sim.nr);
	for (u32 k = 0; k < 500; k++)
		fusion_policy_set_heat(p, 2000 + k * 2, 100 + k * 7 % 500);
	for (u32 k = 0; k < FAST; k++)
		fusion_policy_set_heat(p, k, k % 20 == 3 ? 0 : 2000);
	sim.batch = 0;
	sim_rest(&sim, 5000);
	sim.batch = 8;
	sim_rest(&sim, 20000);
	REQUIRE_EQ(sim.moves[FUSION_FAST], 25);
	for (u32 k = 0; k < 500; k++)
		REQUIRE_EQ(sim_on_fast(&sim, 2000 + k * 2, 1), k * 7 % 500 >= 475);
	REQUIRE_EQ(sim_on_fast(&sim, 3, 1), 0);
	end();
}

/* The access that makes an extent hot is seen at once, not when the sweep comes by. */
static void test_at_once(void)
{
	start(1000, 1U << 20, 0);
	sim_fill(&sim, 0, sim.nr);
	sim_rest(&sim, 10000);
	while (p->sweep < 500000)
		sim_step(&sim);
	/* not idle any more */
	sim_access(&sim, 1, 2048);
	sim_step(&sim);
	for (u32 k = 0; k < 4; k++) {
		fusion_policy_set_heat(p, 100000 + 1000 * k, 39);
		sim_access(&sim, 100000 + 1000 * k, 8);
	}
	sim_rest(&sim, 4 * SIM_STEP_MS);
	REQUIRE_EQ(sim.moves[FUSION_FAST], 4);
	end();
}

/* One that hotter ones would push out again stays, though they can't move just now. */
static void test_not_for_long(void)
{
	start(100, 1000, 0);
	sim_fill(&sim, 0, sim.nr);
	for (u32 k = 500; k < 700; k++) {
		fusion_policy_set_heat(p, k, 5000);
		sim.map[k] = fusion_word_set_state(sim.map[k], FUSION_OPEN);
	}
	fusion_policy_set_heat(p, 900, 1000);
	sim_rest(&sim, 20000);
	REQUIRE_EQ(sim_moves(&sim), 0);
	/* there is room in the end */
	for (u32 k = 500; k < 602; k++)
		sim_discard(&sim, k);
	sim_rest(&sim, 20000);
	REQUIRE_EQ(sim_on_fast(&sim, 900, 1), 1);
	end();
}

/* Extents that share a place in the table of candidates all get there. */
static void test_collisions(void)
{
	start(64, 40000, 0);
	sim_fill(&sim, 0, sim.nr);
	for (u32 t = 0; t < 40; t++) {
		for (u32 k = 1; k < 39; k++)
			sim_access(&sim, k * FUSION_CANDIDATES + 5, 8);
		sim_rest(&sim, 250);
	}
	sim_rest(&sim, 300000);
	for (u32 k = 1; k < 39; k++)
		REQUIRE(sim_on_fast(&sim, k * FUSION_CANDIDATES + 5, 1), "%u is not there", k);
	REQUIRE_EQ(sim.moves[FUSION_FAST], 38);
	end();
}

/* What got hot while migration was off moves when it is on again. */
static void test_switched_off(void)
{
	start_filled(500);
	sim.batch = 0;
	sim_load(&sim, 3000, 64, DISK_IOPS, 600000);
	sim_rest(&sim, HOUR / 2);
	sim.batch = 4;
	sim_rest(&sim, 10000);
	REQUIRE_EQ(sim_on_fast(&sim, 3000, 64), 64);
	end();
}

/* With the shortest half-life things can be learned, too. */
static void test_short_half_life(void)
{
	start_filled(500);
	fusion_policy_set_half_life(p, 1);
	sim_load(&sim, 3000, 16, 16 * 16, 10000);
	REQUIRE(sim_on_fast(&sim, 3000, 16) >= 14, "%u", sim_on_fast(&sim, 3000, 16));
	end();
}

static const struct unit_test tests[] = {
	{ "a hot region moves in, in three passes", test_three_passes },
	{ "also when writes cancel copies", test_three_passes_cancelled },
	{ "both devices full: hot and cold swap", test_full },
	{ "both devices full, no reserve to be had", test_full_reserve },
	{ "migration works after a long stream", test_after_stream },
	{ "a scan moves nothing", test_scan },
	{ "scans do not displace what is hot", test_scan_and_load },
	{ "free fast slots are used, the reserve is not", test_eager },
	{ "the hottest first", test_hottest_first },
	{ "at once", test_at_once },
	{ "no place for what hotter ones would push out", test_not_for_long },
	{ "candidates that collide", test_collisions },
	{ "migration off and on again", test_switched_off },
	{ "shortest half-life", test_short_half_life },
};

UNIT_TESTS(tests)
