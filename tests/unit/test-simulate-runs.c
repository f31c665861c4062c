// SPDX-License-Identifier: GPL-2.0-only
/*
 * fusionctl simulate: does the map stay whole under any load, and any trace?
 *
 * FIRST=1000 RUNS=500 in the environment: other loads, and more of them.
 */
#include <stdlib.h>
#include <unistd.h>

#include "simulate.h"

/* -- traces ------------------------------------------------------------------ */

static struct sim_trace trace;

static int parse_trace_of(const char *text, u32 extent_bytes)
{
	char name[] = "/tmp/test-simulate-XXXXXX";
	int fd = mkstemp(name), rc;

	REQUIRE(fd >= 0);
	REQUIRE(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	sim_trace_free(&trace);
	rc = sim_trace_load(name, extent_bytes, &trace);
	unlink(name);
	return rc;
}

static int parse_trace(const char *text)
{
	return parse_trace_of(text, MIB);
}

static void test_traces(void)
{
	static const char *const bad[] = {
		"", "nonsense\n", "fio version 4 iolog\n", "fio version 2 iolog\n",
		"fio version 2 iolog\n/dev/x\n", "fio version 2 iolog\n/dev/x read 5\n",
		"fio version 2 iolog\n/dev/x read -5 4096\n", "fio version 2 iolog\n/d wait x\n",
		"fio version 2 iolog\n/d read 99999999999999999999 1\n",
		"fio version 2 iolog\n/d read 9999999999999999999 1\n",
		"fio version 3 iolog\nx /dev/x read 0 4096\n", "8,0 1 1 0.0 1 Q N 1 + 1 [x]\n",
	};

	REQUIRE(freopen("/dev/null", "w", stderr));
	for (u32 i = 0; i < ARRAY_SIZE(bad); i++)
		REQUIRE_EQ(parse_trace(bad[i]), FC_FAILED);

	/* split where an extent ends */
	REQUIRE_EQ(parse_trace("fio version 3 iolog\n5 /dev/x add\n5 /dev/x open\n"
			       "10 /dev/x read 1044480 8192\n\n30 /dev/x write 0 512\n"
			       "31 /dev/x sync 0 0\n40 /dev/x close\n"), 0);
	REQUIRE_EQ(trace.nr, 3);
	REQUIRE(trace.timed);
	REQUIRE_EQ(trace.end_byte, 1048576 + 4096);
	REQUIRE_EQ(trace.record[0].bytes, 4096);
	REQUIRE_EQ(trace.record[1].byte, 1048576);
	REQUIRE_EQ(trace.record[2].ns, 20 * SIM_MS);
	REQUIRE(trace.record[2].write && !trace.record[1].write);

	REQUIRE_EQ(parse_trace("fio version 2 iolog\n/d add\n/d read 4096 4096\n"
			       "/d write 8192 4096\n"), 0);
	REQUIRE_EQ(trace.nr, 2);
	REQUIRE(!trace.timed);
	REQUIRE_EQ(parse_trace("fio version 2 iolog\n/d read 4096 4096\n/d wait 2000\n"
			       "/d write 8192 4096\n"), 0);
	REQUIRE(trace.timed);
	REQUIRE_EQ(trace.record[1].ns, 2 * SIM_MS);

	/* queued, and no others; a line that is late does not go back in time */
	REQUIRE_EQ(parse_trace("  8,0    3        1     1.000000000   697  Q   W 223490 + 8 [k]\n"
			       "  8,0    3        2     1.000001000   697  D   W 223490 + 8 [k]\n"
			       "  8,0    3        3     1.500000000   697  Q   D 0 + 8 [k]\n"
			       "  8,0    1        4     3.000000001   697  Q  RA 8 + 16 [k]\n"
			       "  8,0    2        4     2.000000000   697  Q  FWS 16 + 8 [k]\n"
			       "CPU0 (sda):\n Reads Queued:           0,        0KiB\n"), 0);
	REQUIRE_EQ(trace.nr, 3);
	REQUIRE_EQ(trace.record[0].byte, 223490 * 512);
	REQUIRE_EQ(trace.record[1].ns, 2 * SIM_S + 1);
	REQUIRE_EQ(trace.record[2].ns, 2 * SIM_S + 1);
	sim_trace_free(&trace);
}

/* A hot zone, recorded: it comes to the fast member, and the oracle is of its counts. */
static char trace_text[1 << 21];

static void test_trace_run(void)
{
	u64 seed = 1;
	int n = sprintf(trace_text, "fio version 3 iolog\n");

	for (u32 i = 0; i < 24000; i++) {
		u32 lext = rnd_below(&seed, 10) ? 3000 + rnd_below(&seed, 40) :
			   rnd_below(&seed, 4000);

		n += sprintf(trace_text + n, "%u d %s %llu 4096\n", i * 20,
			     i % 3 ? "read" : "write", lext * MIB);
	}
	REQUIRE_EQ(parse_trace(trace_text), 0);
	setup(512 * MIB, 4 * GIB, 0);
	cfg.duration = SIM_NEVER;
	cfg.trace = &trace;
	run();
	sim_trace_free(&trace);
	REQUIRE_EQ(result.total.ios, 24000);
	REQUIRE_EQ(result.end / SIM_S, 479);
	REQUIRE(last_phase()->oracle > 0.91 && last_phase()->oracle < 0.96, "%.3f",
		last_phase()->oracle);
	REQUIRE(end_of(last_phase()) > 0.90, "%.3f", end_of(last_phase()));
	cfg.trace = NULL;
}

/* -- the map stays whole ----------------------------------------------------- */

/* The judge first: it must see what is wrong. */
static void test_judge(void)
{
	struct sim_engine *e;
	u32 was;
	int rc;

	setup(256 * MIB, GIB, 10);
	load("uniform");
	sim_result_free(&result);
	memset(&result, 0, sizeof(result));
	e = sim_engine_create(&cfg, SIM_FUSED, FUSION_FAST, &result, &rc);
	REQUIRE(e);
	REQUIRE(!sim_engine_check(e));
	was = e->map[7];
	e->map[7] = e->map[8];
	REQUIRE(sim_engine_check(e), "two extents on one slot");
	e->map[7] = FUSION_WORD_UNMAPPED;
	REQUIRE(sim_engine_check(e), "a slot is lost");
	e->map[7] = fusion_word(FUSION_STABLE, FUSION_FAST, e->sb.nr_fast_slots - 1);
	REQUIRE(sim_engine_check(e), "a slot that is free");
	e->map[7] = fusion_word(FUSION_STABLE, FUSION_SLOW, 1 << 20);
	REQUIRE(sim_engine_check(e), "a slot that there is not");
	e->map[7] = was;
	REQUIRE(!sim_engine_check(e));
	sim_engine_destroy(e);
}

static void random_load(u64 *seed, u64 duration_s, char *text, size_t size)
{
	static const char *const shape[] = {
		"zipf:1.0", "zipf:0.7", "zipf:1.3,place=linear", "zoned:80/4", "zoned:50/1:30/10",
		"uniform", "loop:1.2", "loop:0.6", "scan", "scan,size=64K",
	};
	size_t n = snprintf(text, size, "%s,read=%u", shape[rnd_below(seed, ARRAY_SIZE(shape))],
			    (unsigned int)rnd_below(seed, 101));

	if (rnd_below(seed, 2))
		n += snprintf(text + n, size - n, ",rate=%u", (unsigned int)rnd_log(seed, 5, 500));
	else
		n += snprintf(text + n, size - n, ",qd=%u", (unsigned int)rnd_log(seed, 1, 64));
	if (!rnd_below(seed, 3))
		n += snprintf(text + n, size - n, ",from=%u",
			      (unsigned int)rnd_below(seed, duration_s / 2));
	if (!rnd_below(seed, 3))
		n += snprintf(text + n, size - n, ",shift=50%%@%u",
			      (unsigned int)rnd_below(seed, duration_s));
	if (rnd_below(seed, 2))
		snprintf(text + n, size - n, ",at=%u%%", (unsigned int)rnd_below(seed, 100));
}

enum { SECONDS = 900 };

/* Requests of any size to a hot place, a stream, and anywhere else in @bytes; in any format. */
static void random_trace(u64 *seed, u64 bytes)
{
	enum { FIO2, FIO3, BLKPARSE } format = rnd_below(seed, 3);
	static const char *const header[] = {
		"fio version 2 iolog\n", "fio version 3 iolog\n", ""
	};
	u64 sectors = bytes / 512, next = 0, sector, us = 0, wait;
	u64 hot_size = rnd_log(seed, 1024, sectors / 20);
	u64 hot = rnd_below(seed, sectors - hot_size);
	u32 reads = rnd_below(seed, 101), n = strlen(header[format]), length;
	bool waits = rnd_below(seed, 2);

	strcpy(trace_text, header[format]);
	for (u32 i = 0; i < 16000; i++) {
		u32 what = rnd_below(seed, 10);
		bool write = rnd_below(seed, 100) >= reads;

		length = rnd_below(seed, 8) ? 8 : rnd_log(seed, 1, 4096);
		sector = what < 7 ? hot + rnd_below(seed, hot_size) : rnd_below(seed, sectors);
		if (what == 9 && next < sectors)
			sector = next;
		if (length > sectors - sector)
			length = sectors - sector;
		if (what == 9)
			next = sector + length;
		wait = rnd_below(seed, 2 * SECONDS * 1000000ULL / 16000);
		us += wait;
		if (format == FIO2 && waits)
			n += sprintf(trace_text + n, "d wait %llu\n", wait);
		if (format == BLKPARSE)
			n += sprintf(trace_text + n, "8,0 %llu %u %llu.%09llu 1 Q %s %llu + %u\n",
				     rnd_below(seed, 4), i + 1, us / 1000000,
				     us % 1000000 * 1000, write ? "WS" : "R", sector, length);
		else if (format == FIO3)
			n += sprintf(trace_text + n, "%llu d %s %llu %u\n", us / 1000,
				     write ? "write" : "read", sector * 512, length * 512);
		else
			n += sprintf(trace_text + n, "d %s %llu %u\n", write ? "write" : "read",
				     sector * 512, length * 512);
		REQUIRE(n < sizeof(trace_text) - 100);
	}
	REQUIRE_EQ(parse_trace_of(trace_text, cfg.extent_bytes), 0);
	cfg.trace = &trace;
	cfg.duration = SIM_NEVER;
	cfg.trace_depth = trace.timed && rnd_below(seed, 4) ? 0 : rnd_log(seed, 1, 64);
	printf("# %llu requests of %s, %u at a time\n", trace.nr, trace.format, cfg.trace_depth);
}

static void random_loads(u64 *seed)
{
	char text[128];

	for (u32 nr = 1 + rnd_below(seed, 3); nr; nr--) {
		random_load(seed, SECONDS, text, sizeof(text));
		printf("# %s\n", text);
		load(text);
	}
}

/* A number from the environment. */
static u64 number(const char *name, u64 or)
{
	const char *s = getenv(name);

	return s && *s ? strtoull(s, NULL, 10) : or;
}

/*
 * Any loads together, or any trace, and any settings: at every interval each extent has one slot
 * and no slot two extents; and nobody is worse off, by more than three points, than without
 * migration.
 */
static void test_any(void)
{
	const u64 first = number("FIRST", 1), runs = number("RUNS", 32);
	u64 moves = 0, cancelled = 0, in_vain = 0;
	const struct sim_point *judged;

	for (u64 i = first; i < first + runs; i++) {
		u64 seed = i;
		u64 fast = rnd_log(&seed, 128, 1023) * MIB;

		setup(fast, fast * (2 + rnd_below(&seed, 15)), SECONDS);
		cfg.extent_bytes = MIB >> rnd_below(&seed, 3);
		cfg.fill = 30 + rnd_below(&seed, 71);
		cfg.seed = i;
		cfg.duty = 1 + rnd_below(&seed, 100);
		cfg.half_life = rnd_log(&seed, 60, 86400);
		cfg.reserve = rnd_below(&seed, 2) * rnd_below(&seed, fast / cfg.extent_bytes / 4);
		/* an SSD so slow that there is not too much to do */
		cfg.disk.ssd_read_us = 2000;
		cfg.disk.ssd_write_us = 3000;
		if (i % 4)
			random_loads(&seed);
		else
			random_trace(&seed, cfg.size[FUSION_SLOW]);
		run();
		cfg.trace = NULL;
		sim_trace_free(&trace);
		moves += result.promotions + result.demotions;
		cancelled += result.cancelled;
		/* copies that a write cancelled, and those of a batch that is not done */
		REQUIRE(result.copied_fast >= result.promotions);
		REQUIRE(result.copied_fast <= result.promotions + result.cancelled + FUSION_BATCH);
		REQUIRE(result.resting + result.wasted <= result.promotions);
		in_vain += result.copied_fast - result.promotions;
		printf("# %llu: hits %.3f, unmoved %.3f, oracle %.3f, %llu promoted\n", i,
		       end_of(last_phase()), unmoved(&last_phase()->tail), last_phase()->oracle,
		       result.promotions);
		/* in the last tenth of a trace its stream may be where room was made */
		judged = i % 4 ? &last_phase()->tail : &last_phase()->sum;
		REQUIRE(sim_hit_ratio(judged) >= unmoved(judged) - 0.03);
	}
	/* if they are so many that chance does not decide */
	REQUIRE(moves > 40 * runs || runs < 20, "%llu moves", moves);
	REQUIRE(cancelled > runs || runs < 20, "%llu cancelled", cancelled);
	REQUIRE(in_vain > 10 || runs < 20, "%llu copied in vain", in_vain);
}

/*
 * What was hot for five minutes, and is of no use since: a half-life later it is known which of it
 * came for nothing, but nobody takes it away. In between there is no reason to say so.
 */
static void test_resting(void)
{
	u64 promotions;

	setup(256 * MIB, 4 * GIB, 590);
	cfg.half_life = 300;
	load("zipf:0.7,rate=60,to=5m");
	run();
	promotions = result.promotions;
	REQUIRE(promotions > 20);
	REQUIRE_EQ(result.wasted, 0);
	cfg.duration = 660 * SIM_S;
	run();
	REQUIRE_EQ(result.promotions, promotions);
	REQUIRE_EQ(result.wasted, 0);
	REQUIRE(result.resting > promotions / 20 && result.resting < promotions, "%llu of %llu",
		result.resting, promotions);
	promotions = result.resting;
	/* a longer half-life has not passed */
	cfg.half_life = 700;
	run();
	REQUIRE_EQ(result.resting, 0);
}

static void test_seed(void)
{
	struct sim_point first;
	u64 promotions;

	setup(512 * MIB, 4 * GIB, 600);
	load("zoned:80/4,rate=50");
	load("scan,from=200");
	run();
	first = result.total;
	promotions = result.promotions;
	run();
	REQUIRE(!memcmp(&first, &result.total, sizeof(first)));
	REQUIRE_EQ(promotions, result.promotions);
	cfg.seed = 2;
	run();
	REQUIRE(memcmp(&first, &result.total, sizeof(first)));
}

static const struct unit_test tests[] = {
	{ "traces", test_traces },
	{ "a trace is replayed", test_trace_run },
	{ "a broken map is noticed", test_judge },
	{ "any load", test_any },
	{ "promotions that rest", test_resting },
	{ "one seed, one result", test_seed },
};

UNIT_TESTS(tests)
