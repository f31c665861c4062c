// SPDX-License-Identifier: GPL-2.0-only
/* The policy: heat, and how it falls as time passes. */
#include "policy-set.h"

static void test_decay(void)
{
	static const u32 half_life[] = { 1, 2, 7, 60, 3600, 86400, 604800 };
	u64 ms, now;
	u32 before;

	for (unsigned int i = 0; i < ARRAY_SIZE(half_life); i++) {
		start(64, 64, 0);
		fusion_policy_set_half_life(p, half_life[i]);
		fusion_policy_set_heat(p, 1, 60000);
		fusion_policy_set_heat(p, 2, 1);
		REQUIRE_EQ(heat(1), 60000);
		ms = half_life[i] * 1000ULL;
		for (u32 n = 1; n <= 15; n++) {
			fusion_policy_tick(p, n * ms);
			REQUIRE(abs((int)(heat(1) - (60000 >> n))) <= 1, "%u after %u half-lives",
				heat(1), n);
		}
		fusion_policy_tick(p, 17 * ms);
		REQUIRE_EQ(heat(1), 0);
		REQUIRE_EQ(heat(2), 0);

		/* and in between it falls smoothly, by an eighth of a half-life each */
		fusion_policy_set_heat(p, 1, 60000);
		before = heat(1);
		for (now = 17 * ms; now < 18 * ms; now += ms / 8) {
			REQUIRE(heat(1) <= before);
			REQUIRE(heat(1) >= before * 9 / 10);
			before = heat(1);
			fusion_policy_tick(p, now + ms / 8);
		}
		REQUIRE_EQ(heat(1), 30000);
		end();
	}
}

/* An extent that is touched at a steady rate has a steady heat: rate x half-life / ln 2. */
static void test_steady(void)
{
	start(64, 64, 0);
	for (u64 ms = 0; ms < 8 * HOUR; ms += 10000) {
		fusion_policy_tick(p, ms);
		fusion_policy_touch(p, 5, TOUCH);
	}
	REQUIRE(heat(5) > 2077 * 95 / 100 && heat(5) < 2077 * 105 / 100, "%u", heat(5));
	end();
}

static void test_saturation(void)
{
	start(64, 64, 0);
	fusion_policy_set_half_life(p, 604800);
	for (u32 i = 1; i <= 20000; i++) {
		fusion_policy_tick(p, i * 250ULL);
		fusion_policy_touch(p, 7, TOUCH);
		REQUIRE_EQ(heat(7), min(i * TOUCH, FUSION_HEAT_MAX));
	}
	fusion_policy_set_heat(p, 8, 1U << 20);
	REQUIRE_EQ(heat(8), FUSION_HEAT_MAX);
	REQUIRE_EQ(heat(6), 0);
	end();
}

static void test_tick(void)
{
	start(64, 64, 0);
	/* the first access counts, at any time, of extents never touched or just loaded */
	for (u32 t = 0; t < 300; t++) {
		fusion_policy_tick(p, t * 250);
		fusion_policy_forget(p, 9);
		fusion_policy_set_heat(p, 10, 100);
		for (u32 i = 0; i < 100; i++) {
			fusion_policy_touch(p, 9, TOUCH);
			fusion_policy_touch(p, 10, TOUCH);
		}
		REQUIRE_EQ(heat(9), TOUCH);
		REQUIRE_EQ(heat(10), 100 + TOUCH);
	}
	/* 250 ms are a tick, however often the time is told */
	for (u32 ms = 75000; ms < 85000; ms += 50) {
		fusion_policy_tick(p, ms);
		fusion_policy_touch(p, 11, TOUCH);
	}
	REQUIRE_EQ(heat(11), 40 * TOUCH);
	/* the clock does not go back */
	fusion_policy_tick(p, 1000);
	fusion_policy_touch(p, 11, TOUCH);
	REQUIRE_EQ(heat(11), 40 * TOUCH);
	end();
}

/* What did not need its slot is taken back, and the next access in the tick counts. */
static void test_untouch(void)
{
	start(64, 64, 0);
	for (u32 t = 1; t <= 300; t++) {
		fusion_policy_tick(p, t * 250);
		fusion_policy_touch(p, 9, TOUCH);
		fusion_policy_untouch(p, 9, TOUCH);
		fusion_policy_touch(p, 10, TOUCH);
		fusion_policy_untouch(p, 10, TOUCH);
		fusion_policy_touch(p, 10, TOUCH);
		fusion_policy_touch(p, 10, TOUCH);
		REQUIRE_EQ(heat(9), 0);
		REQUIRE_EQ(heat(10), t * TOUCH);
	}
	/* of one that had none in this tick, nothing is taken */
	fusion_policy_tick(p, 301 * 250);
	fusion_policy_untouch(p, 10, TOUCH);
	REQUIRE_EQ(heat(10), 300 * TOUCH);
	/* nor more than there is, and as much as was counted */
	fusion_policy_touch(p, 11, 1);
	fusion_policy_untouch(p, 11, TOUCH);
	REQUIRE_EQ(heat(11), 1);
	fusion_policy_untouch(p, 11, 1);
	REQUIRE_EQ(heat(11), 0);
	fusion_policy_touch(p, 11, 2 * TOUCH);
	fusion_policy_untouch(p, 11, 2 * TOUCH);
	REQUIRE_EQ(heat(11), 0);
	/* the next access counts, whenever it comes */
	for (u32 t = 302, later = 1; later < 300; t += later++) {
		fusion_policy_forget(p, 12);
		fusion_policy_tick(p, t * 250);
		fusion_policy_touch(p, 12, TOUCH);
		fusion_policy_untouch(p, 12, TOUCH);
		fusion_policy_tick(p, (t + later) * 250);
		fusion_policy_touch(p, 12, TOUCH);
		REQUIRE_EQ(heat(12), TOUCH);
	}
	end();
}

static void test_forget(void)
{
	start(64, 64, 0);
	fusion_policy_set_heat(p, 3, 1000);
	fusion_policy_set_heat(p, 4, 1000);
	fusion_policy_forget(p, 3);
	REQUIRE_EQ(heat(3), 0);
	REQUIRE_EQ(heat(4), 1000);
	end();
}

/* Without an access heat never rises, whatever the clock and the sweep do. */
static void check_never_rises(u32 nr, u32 half_life, u64 (*next)(u64 *seed), u32 rounds)
{
	u32 last[256], lext, r, k;
	const u32 gap = nr / ARRAY_SIZE(last) + 1;
	u64 now = 0, seed = nr;

	start(64, nr - 64, 0);
	fusion_policy_set_half_life(p, half_life);
	for (r = 0; r < rounds; r++) {
		/* begin again now and then */
		for (k = 0; k < ARRAY_SIZE(last) && r % 500 == 0; k++) {
			last[k] = 1 + rnd_below(&seed, FUSION_HEAT_MAX);
			fusion_policy_set_heat(p, gap * k % nr, last[k]);
		}
		now += next(&seed);
		fusion_policy_tick(p, now);
		for (k = 0; k < ARRAY_SIZE(last); k++) {
			lext = gap * k % nr;
			REQUIRE(heat(lext) <= last[k], "extent %u, round %u: %u after %u", lext, r,
				heat(lext), last[k]);
			last[k] = heat(lext);
		}
	}
	end();
}

static u64 a_second(u64 *seed)
{
	(void)seed;
	return 1000;
}

static u64 some_seconds(u64 *seed)
{
	return rnd_below(seed, 2) ? 100 : rnd_below(seed, 16000);
}

static u64 up_to_a_minute(u64 *seed)
{
	return rnd_below(seed, 60000);
}

static u64 up_to_a_year(u64 *seed)
{
	return rnd_log(seed, 1, 365 * DAY);
}

static void test_wrap(void)
{
	/* days, which are many wraps */
	check_never_rises(1024, 1, a_second, 2 * 86400);
	check_never_rises(1024, 3600, up_to_a_minute, 3 * 2880);
	/* so many extents that the sweep takes half an hour */
	check_never_rises(1U << 20, 1, a_second, 2000);
	check_never_rises(1U << 20, 10, up_to_a_minute, 2000);
	/* time goes as fast as the sweep allows */
	check_never_rises(1U << 18, 1, up_to_a_minute, 20000);
	check_never_rises(1U << 18, 1, some_seconds, 20000);
	/* suspended for long, again and again */
	check_never_rises(1U << 18, 1, up_to_a_year, 5000);
	check_never_rises(1U << 18, 3600, up_to_a_year, 5000);
}

/* ... and what was left alone for long is cold, though nobody picks. */
static void test_long_ago(void)
{
	start(64, SLOW, 0);
	for (u32 i = 0; i < sim.nr; i++)
		fusion_policy_set_heat(p, i, FUSION_HEAT_MAX);
	for (u64 ms = 0; ms < 20 * DAY; ms += 60000) {
		fusion_policy_tick(p, ms);
		for (u32 i = ms > 18 * HOUR ? 0 : sim.nr; i < sim.nr; i += 7)
			REQUIRE_EQ(heat(i), 0);
	}
	/* one jump does it, too */
	fusion_policy_set_heat(p, 1, FUSION_HEAT_MAX);
	fusion_policy_tick(p, 400 * DAY);
	REQUIRE_EQ(heat(1), 0);
	end();
}

/* Shortening the half-life does not count for the time before. */
static void test_half_life_changed(void)
{
	start(64, 64, 0);
	fusion_policy_tick(p, 440000);
	fusion_policy_set_heat(p, 1, 1000);
	fusion_policy_set_half_life(p, 1);
	fusion_policy_tick(p, 440100);
	REQUIRE_EQ(heat(1), 1000);
	fusion_policy_tick(p, 441000);
	REQUIRE_EQ(heat(1), 500);
	end();
}

static const struct unit_test tests[] = {
	{ "heat halves in a half-life", test_decay },
	{ "heat of a steady rate", test_steady },
	{ "heat saturates", test_saturation },
	{ "one access counts per tick", test_tick },
	{ "an access that needed no slot is taken back", test_untouch },
	{ "a discarded extent is forgotten", test_forget },
	{ "no wrap of the clock makes an extent hot", test_wrap },
	{ "what was left alone for long is cold", test_long_ago },
	{ "half-life changed", test_half_life_changed },
};

UNIT_TESTS(tests)
