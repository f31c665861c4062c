// SPDX-License-Identifier: GPL-2.0-only
/* The weight of an access: streams are told from random accesses. */
#include "policy-sim.h"

#define TOUCH	FUSION_HEAT_TOUCH
#define MIB	2048U		/* sectors */

static struct fusion_streams streams;

static unsigned int weigh(u64 sector, u32 sectors)
{
	return fusion_weigh(&streams, sector, sectors, FUSION_NORMAL);
}

static void forget_all(void)
{
	memset(&streams, 0, sizeof(streams));
}

static void test_size(void)
{
	static const struct { u32 sectors, weight; } size[] = {
		{ 1, TOUCH }, { 8, TOUCH }, { 63, TOUCH }, { 64, TOUCH / 2 }, { 255, TOUCH / 2 },
		{ 256, TOUCH / 4 }, { 511, TOUCH / 4 }, { 512, 0 }, { 2048, 0 }, { U32_MAX, 0 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(size); i++) {
		forget_all();
		REQUIRE_EQ(weigh(i * 100000, size[i].sectors), size[i].weight);
	}
}

static void test_urgency(void)
{
	forget_all();
	REQUIRE_EQ(fusion_weigh(&streams, 50000, 8, FUSION_BACKGROUND), 0);
	REQUIRE_EQ(fusion_weigh(&streams, 90000, 8, FUSION_URGENT), 2 * TOUCH);
	REQUIRE_EQ(fusion_weigh(&streams, 20000, 256, FUSION_URGENT), TOUCH / 2);
	REQUIRE_EQ(fusion_weigh(&streams, 70000, 512, FUSION_URGENT), 0);
	/* in the background or not, it is a stream */
	forget_all();
	for (u32 s = 0; s < MIB; s += 8)
		REQUIRE_EQ(fusion_weigh(&streams, s, 8, FUSION_BACKGROUND), 0);
	REQUIRE_EQ(weigh(MIB, 8), 0);
}

/* The first MiB of a run counts, wherever it begins, also where the recorded position wraps. */
static void test_run(void)
{
	static const u64 first[] = { 0, 1, MIB - 1, 1ULL << 31,
		(1ULL << 32) - 5 * 1024, 1ULL << 40
	};
	static const u32 sectors[] = { 1, 8, 24, 63, 64, 256, 511 };

	for (u32 f = 0; f < ARRAY_SIZE(first); f++) {
		for (u32 i = 0; i < ARRAY_SIZE(sectors); i++) {
			u32 n = sectors[i], run = 0, heat = 0;

			forget_all();
			for (; run + n < MIB; run += n) {
				u32 weight = weigh(first[f] + run, n);

				REQUIRE(weight, "%u sectors, %u after the first", n, run);
				heat += weight;
			}
			for (; run < 20 * MIB; run += n)
				REQUIRE_EQ(weigh(first[f] + run, n), 0);
			/* elsewhere it starts again */
			REQUIRE(weigh(first[f] + run + 8, n));
		}
	}
}

/* Random accesses are none, however many there are, and however few places they go to. */
static void test_random(void)
{
	static const u64 span[] = { 64, 2048, 1 << 20, 1ULL << 34 };
	u64 seed = 1;

	for (u32 i = 0; i < ARRAY_SIZE(span); i++) {
		u32 streamed = 0;

		forget_all();
		for (u32 k = 0; k < 1000000; k++)
			streamed += !weigh(rnd_below(&seed, span[i]) * 8, 8);
		REQUIRE(streamed <= 1000, "%u of a million in %llu blocks", streamed, span[i]);
	}
}

/* Many streams at a time, and random accesses among them. */
static void test_many(void)
{
	static const struct { u32 streams, sectors, random; } mix[] = {
		{ 2, 8, 0 }, { 8, 8, 0 }, { 64, 8, 0 }, { 64, 256, 0 },
		{ 1, 8, 4 }, { 1, 8, 20 }, { 8, 256, 100 }, { 32, 64, 64 },
	};
	u64 seed = 2, at[64];

	for (u32 i = 0; i < ARRAY_SIZE(mix); i++) {
		u32 counted = 0, all = 0;

		forget_all();
		for (u32 s = 0; s < mix[i].streams; s++)
			at[s] = rnd_below(&seed, 1ULL << 30) * 8;
		while (all < mix[i].streams * 64 * MIB) {
			for (u32 s = 0; s < mix[i].streams; s++, all += mix[i].sectors) {
				if (weigh(at[s], mix[i].sectors))
					counted += mix[i].sectors;
				at[s] += mix[i].sectors;
			}
			for (u32 r = 0; r < mix[i].random; r++)
				weigh(rnd_below(&seed, 1ULL << 30) * 8, 8);
		}
		printf("# %u streams of %u sectors, %u random among them: %.1f %% counted\n",
		       mix[i].streams, mix[i].sectors, mix[i].random, counted * 100.0 / all);
		REQUIRE(counted <= all / 4, "%u of %u", counted, all);
	}
}

/* A stream that has ended does not keep its place forever. */
static void test_ended(void)
{
	u64 seed = 3;
	u32 counted = 0;

	forget_all();
	for (u32 s = 0; s < 1000; s++) {
		u64 at = rnd_below(&seed, 1ULL << 30) * 8;

		for (u32 run = 0; run < 8 * MIB; run += 64)
			weigh(at + run, 64);
	}
	for (u64 at = 12345 * 8; at < 12345 * 8 + 64 * MIB; at += 64)
		counted += !!weigh(at, 64) * 64;
	REQUIRE(counted <= 8 * MIB, "%u", counted);
}

/* Other accesses between two accesses of a slowly read file do not matter. */
static void test_policy_sees_none(void)
{
	struct sim sim;

	sim_init(&sim, 490, 4080, 10);
	sim_fill(&sim, 0, sim.nr - 100);
	sim_rest(&sim, 10000);
	/* 4 KiB at a time, at 1 MiB/s: in each extent for four ticks */
	sim_scan(&sim, 1000, 1000, 8, 1);
	for (u32 i = 1001; i < 2000; i++)
		REQUIRE_EQ(fusion_policy_heat(sim.policy, i), 0);
	REQUIRE_EQ(sim.moves[FUSION_FAST], 0);
	sim_exit(&sim);
}

static const struct unit_test tests[] = {
	{ "large accesses weigh less", test_size },
	{ "urgent ones more, those in the background nothing", test_urgency },
	{ "after 1 MiB a run is a stream", test_run },
	{ "random accesses are none", test_random },
	{ "many at a time", test_many },
	{ "one that has ended makes room", test_ended },
	{ "a slow one leaves no heat", test_policy_sees_none },
};

UNIT_TESTS(tests)
