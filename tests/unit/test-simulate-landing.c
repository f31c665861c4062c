// SPDX-License-Identifier: GPL-2.0-only
/*
 * fusionctl simulate: the landing log, against what the bench measured: "With a landing log" in
 * Documentation/results/benchmarks.rst, 128 MiB + 1 GiB. The map and the log are checked at every
 * interval.
 */
#include "simulate.h"

static void begin(const char *landing, u64 duration_s)
{
	setup(128 * MIB, GIB, duration_s);
	cfg.landing = landing;
	cfg.reserve = 3;
}

/* Writes of 4 KiB over the whole span, so many at a time; MB/s. */
static double writes(const char *landing, u64 duration_s)
{
	begin(landing, duration_s);
	load("uniform,read=0,qd=16");
	run();
	return result.fused.bytes / 1e6;
}

static void test_rates(void)
{
	const double without = writes(NULL, 60);
	double rate;

	REQUIRE(!result.land.slots && !result.land.landed);
	REQUIRE(writes("0", 60) == without, "a log of nothing changes something");
	/* measured: 2.74 and 4.90 */
	rate = writes("16M", 10);
	REQUIRE(rate > 2.74 * 0.9 && rate < 2.74 * 1.2, "%.2f MB/s", rate);
	REQUIRE_EQ(result.land.slots, 16);
	rate = writes("32M", 10);
	REQUIRE(rate > 4.90 * 0.9 && rate < 4.90 * 1.2, "%.2f MB/s", rate);
	/* measured: 4.42 to 4.62, and 6.17 times the HDD; this disk has no cache */
	rate = writes("16M", 240) / 0.58;
	REQUIRE(rate > 4.5 * 0.7 && rate < 4.5 * 1.1, "%.2f times", rate);
	REQUIRE(result.land.waited && result.land.wait_ns);
	REQUIRE(result.land.drained * SIM_BLOCK > result.total.bytes / 2);
	rate = writes("32M", 240) / 0.58;
	REQUIRE(rate > 6.17 * 0.7 && rate < 6.17 * 1.1, "%.2f times", rate);
}

/* What fits is as fast as the SSD, and nothing waits. */
static void test_burst(void)
{
	double alone;

	begin("16M", 1);
	load("uniform,read=0,qd=16");
	cfg.duration = 30 * SIM_MS;
	cfg.compare = true;
	run();
	alone = result.alone[FUSION_FAST].iops;
	/* measured: 0.79 */
	REQUIRE(result.fused.iops > 0.7 * alone, "%.0f of %.0f", result.fused.iops, alone);
	REQUIRE_EQ(result.land.waited, 0);
	REQUIRE(result.land.landed * SIM_BLOCK < 16 * MIB / 2, "more than a burst");
}

/* Reads of what is there; large writes and streams go past it; what moves leaves none behind. */
static void test_mixed(void)
{
	begin("16M", 300);
	load("zipf:1.2,read=70,qd=16");
	load("scan,from=100");
	load("uniform,read=50,size=64K,rate=20");
	load("uniform,read=0,size=256K,rate=5");
	run();
	REQUIRE(result.land.reads && result.land.landed && result.promotions);
	begin("16M", 60);
	load("uniform,read=0,size=128K,qd=4");
	run();
	REQUIRE_EQ(result.land.landed, 0);
	begin("16M", 60);
	load("uniform,read=0,size=512,qd=4");
	run();
	REQUIRE_EQ(result.land.landed, 0);
}

/* Without I/O, all of it is drained. */
static void test_idle(void)
{
	begin("16M", 60);
	load("uniform,read=0,rate=100,to=10");
	run();
	REQUIRE(result.land.landed > 500, "%llu", (unsigned long long)result.land.landed);
	/* some blocks were written twice */
	REQUIRE(result.land.drained > result.land.landed * 9 / 10 &&
		result.land.drained <= result.land.landed, "%llu of %llu",
		(unsigned long long)result.land.drained, (unsigned long long)result.land.landed);
}

/* A load that is strewn over all extents, as zipf1.0-read and -mix of the bench; MB/s. */
static double strewn(const char *landing, const char *text)
{
	begin(landing, 600);
	load(text);
	run();
	return result.fused.bytes / 1e6;
}

/* Reads of copies, which add no heat; writes outdate them, and so does what moves. */
static void test_copies(void)
{
	static const char reads[] = "zipf:1.0,read=100,qd=16,place=blocks";
	const double without = strewn(NULL, reads);
	double rate;

	REQUIRE(!result.land.copied && !result.land.copy_reads);
	rate = strewn("16M", reads);
	REQUIRE(rate > 1.6 * without, "%.2f MB/s, and %.2f without", rate, without);
	REQUIRE(result.land.copy_reads > result.total.ios / 2);
	REQUIRE(result.promotions < 30, "%llu", (unsigned long long)result.promotions);
	REQUIRE(strewn("32M", reads) > rate);
	strewn("16M", "zipf:1.0,read=70,qd=16,place=blocks");
	REQUIRE(result.land.copy_reads && result.promotions > 30);
	/* few are read before a write or the log takes them: so only a second read makes one */
	REQUIRE(result.land.copied < 20000, "%llu", (unsigned long long)result.land.copied);
	/* nothing is read again */
	strewn("16M", "uniform,read=100,qd=16");
	REQUIRE(result.land.copied < 6000, "%llu", (unsigned long long)result.land.copied);
	/* a large read has none */
	strewn("16M", "zipf:1.0,read=100,qd=4,size=32K");
	REQUIRE(!result.land.copied);
}

static void test_refused(void)
{
	sim_result_free(&result);
	begin("100M", 10);
	load("uniform");
	REQUIRE(sim_run(&cfg, &result), "a log of most of the SSD");
	begin("1M", 10);
	load("uniform");
	REQUIRE(sim_run(&cfg, &result), "a log that is too small");
	memset(&result, 0, sizeof(result));
}

static const struct unit_test tests[] = {
	{ "landing log: as the bench measured it", test_rates },
	{ "landing log: a burst", test_burst },
	{ "landing log: reads, large writes and moves", test_mixed },
	{ "landing log: the drain while nothing happens", test_idle },
	{ "landing log: copies of what is read", test_copies },
	{ "landing log: sizes that are refused", test_refused },
};

UNIT_TESTS(tests)
