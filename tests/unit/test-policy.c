// SPDX-License-Identifier: GPL-2.0-only
/* The policy: what comes of it under whole loads. Its parts have a test-policy-*.c each. */
#include <stdlib.h>

#include "policy-set.h"

/* -- thrashing --------------------------------------------------------------- */

/* Two regions, each as large as the fast member, hot in turn: A, B, A, B ... */
static void test_alternating(void)
{
	enum { TURNS = 12 };
	static const u64 period_ms[] = { 10000, 60000, 600000, HOUR };
	u64 promotions;

	for (u32 i = 0; i < ARRAY_SIZE(period_ms); i++) {
		start(64, 1000, 0);
		sim_fill(&sim, 0, sim.nr);
		for (u32 k = 0; k < TURNS; k++)
			sim_load(&sim, k & 1 ? 200 : 600, 64, 64, period_ms[i]);
		promotions = sim.moves[FUSION_FAST];
		printf("# turns of %llu s: %llu promotions in %u turns for 64 slots\n",
		       period_ms[i] / 1000, promotions, TURNS);
		/* each once, when they come up first; after that only a doubling moves one */
		REQUIRE(promotions >= 60);
		REQUIRE(promotions <= 64 * TURNS / 2, "%llu", promotions);
		if (period_ms[i] < HOUR)
			REQUIRE(promotions <= 64 * 4, "%llu", promotions);
		end();
	}
}

/*
 * Random I/O everywhere: no extent is better than another, so leave them alone. As long as
 * few accesses have been seen, chance makes some look better.
 */
static void test_uniform(void)
{
	static const u32 iops[] = { 12, 120, 500 };
	u64 hour, later;

	for (u32 i = 0; i < ARRAY_SIZE(iops); i++) {
		start_filled(500);
		sim_load(&sim, 0, sim.nr - 500, iops[i], HOUR);
		hour = sim.moves[FUSION_FAST];
		sim_load(&sim, 0, sim.nr - 500, iops[i], 2 * HOUR);
		later = sim.moves[FUSION_FAST] - hour;
		printf("# uniform, %u IOPS, %u slots: %llu promotions in 1 h, %llu in 2 more\n",
		       iops[i], FAST, hour, later);
		REQUIRE(hour <= FAST / 4, "%llu", hour);
		REQUIRE(later <= FAST / 10, "%llu", later);
		end();
	}
}

/* -- the whole --------------------------------------------------------------- */

/* Weights 1 / rank^s, summed up, of extents in random order. */
static void zipf(double *sum, u32 *rank, u32 n, double s, u64 *seed)
{
	double total = 0;

	for (u32 i = 0; i < n; i++) {
		total += __builtin_pow(i + 1, -s);
		sum[i] = total;
		rank[i] = i;
	}
	for (u32 i = n; i > 1; i--) {
		u32 k = rnd_below(seed, i);

		swap(rank[i - 1], rank[k]);
	}
}

static u32 draw(const double *sum, u32 n, u64 *seed)
{
	double x = (double)(rnd(seed) >> 11) / (1ULL << 53) * sum[n - 1];
	u32 lo = 0, hi = n - 1;

	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if (sum[mid] <= x)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Six hours of zipf at 200 IOPS, the fast member an 11th; then the popularity changes. */
static void test_zipf(void)
{
	enum { N = 4400, K = 400 };
	static double sum[N];
	static u32 rank[N];
	u64 ios, hits, seed = 42;
	double oracle, ratio;
	u32 i, hour, nr_wasted;

	start(K, N - K, 0);
	sim_fill(&sim, 0, N);
	for (u32 phase = 0; phase < 2; phase++) {
		zipf(sum, rank, N, 1.0, &seed);
		oracle = sum[K - 1] / sum[N - 1];
		for (hour = 1; hour <= 6; hour++) {
			ios = sim.ios;
			hits = sim.hits;
			sim.moves[FUSION_FAST] = 0;
			for (i = 0; i < HOUR / SIM_STEP_MS; i++) {
				for (u32 k = 0; k < 10; k++)
					sim_access(&sim, rank[draw(sum, N, &seed)], 8);
				sim_step(&sim);
			}
			ratio = (double)(sim.hits - hits) / (sim.ios - ios);
			printf("# zipf 1.0, hour %u: hits %.3f, oracle %.3f; %llu promotions\n",
			       hour, ratio, oracle, sim.moves[FUSION_FAST]);
		}
		REQUIRE(ratio >= 0.97 * oracle, "%.3f of %.3f", ratio, oracle);
		for (i = 0, nr_wasted = 0; i < N; i++)
			nr_wasted += i >= 2 * K && sim_on_fast(&sim, rank[i], 1);
		REQUIRE(nr_wasted <= K / 20, "%u on the fast member without merit", nr_wasted);
	}
	end();
}

/*
 * 16 Mi extents: extents change places within 51 s of the opening, and those at the beginning early
 * in the second pass, although the first one ends early in a tick.
 */
static void test_large(void)
{
	enum { FIRST = 10000, ALL = 1U << 24, LAST = ALL - 1 };

	start(FIRST, ALL - FIRST, 0);
	sim_fill(&sim, 0, sim.nr);
	fusion_policy_set_heat(p, LAST, 10000);
	fusion_policy_set_heat(p, FIRST, 20000);
	fusion_policy_set_heat(p, 9999999, FUSION_HEAT_MAX);
	sim.now_ms += SIM_STEP_MS * 9 / 10;
	sim_rest(&sim, 26000);
	REQUIRE_EQ(sim_on_fast(&sim, FIRST, 1), 1);
	sim_rest(&sim, 25000);
	REQUIRE_EQ(sim_on_fast(&sim, LAST, 1), 1);
	REQUIRE_EQ(sim_on_fast(&sim, 9999999, 1), 1);
	REQUIRE_EQ(sim_moves(&sim), 6);
	end();
}

static const struct unit_test tests[] = {
	{ "alternating loads", test_alternating },
	{ "uniform load", test_uniform },
	{ "zipf against an oracle", test_zipf },
	{ "16 Mi extents", test_large },
};

UNIT_TESTS(tests)
