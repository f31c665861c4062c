// SPDX-License-Identifier: GPL-2.0-only
/*
 * fusionctl simulate: are its parts right, does the map stay whole under any load, and what
 * does the module's policy reach? The bounds of the last part are what it should reach; where
 * it does not, they are what it reaches now, and why is said beside them.
 *
 * FIRST=1000 RUNS=500 in the environment: other loads, and more of them, for the second part.
 */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "fusionctl.h"
#include "sim-engine.h"
#include "unit.h"

#define MIB	(1024ULL * 1024)
#define GIB	(1024 * MIB)
#define TINY	0.000000001

static struct sim_config cfg;
static struct sim_result result;

static void setup(u64 fast, u64 slow, u64 duration_s)
{
	sim_config_init(&cfg);
	cfg.size[FUSION_FAST] = fast;
	cfg.size[FUSION_SLOW] = slow;
	cfg.duration = duration_s * SIM_S;
	cfg.compare = false;
	cfg.check = true;
}

static void load(const char *text)
{
	REQUIRE(!sim_parse_load(text, &cfg.load[cfg.nr_loads++]), "%s", text);
}

static void run(void)
{
	sim_result_free(&result);
	REQUIRE(!sim_run(&cfg, &result));
	REQUIRE(result.nr_phases);
}

/* The last one in which something happened. */
static const struct sim_phase *last_phase(void)
{
	unsigned int i = result.nr_phases;

	while (i && !result.phase[i - 1].sum.ios)
		i--;
	REQUIRE(i, "no I/O");
	return &result.phase[i - 1];
}

static double end_of(const struct sim_phase *p)
{
	return sim_hit_ratio(&p->tail);
}

static double unmoved(const struct sim_point *p)
{
	return (double)p->unmoved_hits / p->ios;
}

/* -- its parts ------------------------------------------------------------------------ */

static const char *const shapes[] = {
	"zipf:1.0", "zipf:0.8", "zipf:1.2,place=linear", "zipf:2", "zoned:80/4",
	"zoned:10/30:60/5:0/15", "uniform", "loop:1.2", "zipf:1.0,shift=50%@0",
	"zoned:80/4,shift=100%@0", "zoned:90/0.01,place=hashed",
};

/* What is drawn is what the oracle is told. */
static void test_distribution(void)
{
	enum { N = 1000, DRAWS = 400000 };
	static float density[N];
	static u32 drawn[N];
	struct sim_access a;
	struct sim_load l;
	struct sim_spec spec;

	for (u32 i = 0; i < ARRAY_SIZE(shapes); i++) {
		double sum = 0, chi = 0;
		u32 cells = 0;

		REQUIRE(!sim_parse_load(shapes[i], &spec), "%s", shapes[i]);
		sim_load_init(&l, &spec, N, 400, MIB, i);
		l.shifted = spec.shift > 0;
		memset(density, 0, sizeof(density));
		memset(drawn, 0, sizeof(drawn));
		sim_load_density(&l, 1, density);
		/* whole turns of the loop, of 480 extents */
		for (u32 n = spec.shape == SIM_LOOP ? DRAWS / 7680 * 7680 : DRAWS; n; n--) {
			sim_load_next(&l, &a);
			REQUIRE(a.lext < N && a.offset + a.bytes <= MIB);
			drawn[a.lext]++;
		}
		for (u32 k = 0; k < N; k++) {
			double want = density[k] * DRAWS;

			sum += density[k];
			REQUIRE(want > 0 || !drawn[k], "%s: extent %u", shapes[i], k);
			if (want < 10)
				continue;
			cells++;
			chi += (drawn[k] - want) * (drawn[k] - want) / want;
		}
		REQUIRE(fabs(sum - 1) < 0.0001, "%s: %f", shapes[i], sum);
		/* the mean is cells, its deviation sqrt(2 cells) */
		REQUIRE(chi < cells + 5 * sqrt(2 * cells), "%s: %.0f of %u", shapes[i], chi, cells);
	}
}

static void test_scan(void)
{
	struct sim_spec spec;
	struct sim_access a = { 0 };
	struct sim_load l;
	u64 byte = 0;

	REQUIRE(!sim_parse_load("scan,size=384K", &spec));
	sim_load_init(&l, &spec, 100, 10, MIB, 1);
	while (!a.last) {
		sim_load_next(&l, &a);
		REQUIRE_EQ(a.lext * MIB + a.offset, byte);
		byte += a.bytes;
	}
	REQUIRE_EQ(byte, 100 * MIB);
}

static void test_parse(void)
{
	static const char *const bad[] = {
		"", "zipf:", "zipf:0", "zipf:x", "zipf:1e3", "zoned", "zoned:80", "zoned:80/0",
		"zoned:80/4:30/4", "zoned:80/100", "zoned:1/1:1/1:1/1:1/1:1/1:1/1:1/1:1/1",
		"uniform:1", "loop:0", "uniform,qd=0", "uniform,qd=129", "uniform,read=101",
		"uniform,size=100", "uniform,size=32M", "uniform,rate=0", "uniform,at=100%",
		"uniform,shift=50%", "uniform,from=2h,to=1h", "uniform,", "uniform,qd", "uniform,=",
		"uniform,place=x", "zipf:1,visits=0",
	};
	struct sim_spec spec;
	u64 ns;

	REQUIRE(freopen("/dev/null", "w", stderr));
	for (u32 i = 0; i < ARRAY_SIZE(bad); i++)
		REQUIRE_EQ(sim_parse_load(bad[i], &spec), FC_USAGE);
	REQUIRE(!sim_parse_load("zipf:0.9,read=0,size=64K,rate=0.5,at=12.5%,from=1m,to=2h,"
				"shift=50%@90s", &spec));
	REQUIRE(spec.reads == 0 && spec.bytes == 65536 && spec.rate == 0.5 && spec.at == 0.125);
	REQUIRE_EQ(spec.from, 60 * SIM_S);
	REQUIRE_EQ(spec.shift_at, 90 * SIM_S);
	REQUIRE(sim_parse_time("1.5h", &ns) && ns == 5400 * SIM_S);
	REQUIRE(!sim_parse_time("1y", &ns) && !sim_parse_time("", &ns) &&
		!sim_parse_time("400d", &ns));
}

static int ascending(const void *a, const void *b)
{
	const float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static void test_greatest(void)
{
	enum { N = 3000 };
	static float v[N], sorted[N];
	u64 seed = 7;

	for (u32 round = 0; round < 50; round++) {
		u32 k = rnd_below(&seed, N + 10), same = rnd_below(&seed, 4);
		double want = 0, part, least_sum;
		float least;

		for (u32 i = 0; i < N; i++)
			v[i] = same ? rnd_below(&seed, 1 << 8 * same) / 10000.0f :
			       rnd_below(&seed, 3);
		memcpy(sorted, v, sizeof(v));
		qsort(sorted, N, sizeof(*sorted), ascending);
		for (u32 i = 0; i < k && i < N; i++)
			want += sorted[N - 1 - i];
		least_sum = sim_greatest(v, N, k, &least, &part);
		REQUIRE(fabs(least_sum - want) <= want / 1000000 + TINY);
		least_sum = 0;
		for (u32 i = 0; i < N; i++)
			least_sum += v[i] > least ? v[i] : v[i] == least ? part * v[i] : 0;
		REQUIRE(fabs(least_sum - want) <= want / 1000000 + TINY);
	}
}

static void test_slots(void)
{
	static const u32 sizes[] = { 1, 63, 64, 65, 4095, 4096, 4097, 10000 };
	static bool used[10000];
	u64 seed = 3;

	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++) {
		u32 n = sizes[i], reserved = n / 10, taken = reserved;
		struct sim_slots s;

		REQUIRE(sim_slots_init(&s, n, reserved));
		for (u32 k = 0; k < n; k++)
			used[k] = k < reserved;
		for (u32 op = 0; op < 30000; op++) {
			u32 near = rnd_below(&seed, n), want = near, slot;

			if (rnd_below(&seed, 1000) < (op / 10000 == 1 ? 300 : 600)) {
				slot = sim_slot_get(&s, near);
				while (taken < n && used[want])
					want = (want + 1) % n;
				REQUIRE_EQ(slot, taken < n ? want : SIM_NO_SLOT);
				if (slot != SIM_NO_SLOT) {
					used[slot] = true;
					taken++;
				}
			} else if (used[near] && near >= reserved) {
				sim_slot_put(&s, near);
				used[near] = false;
				taken--;
			}
			REQUIRE_EQ(s.nr_free, n - taken);
		}
		sim_slots_exit(&s);
	}
}

/* Near the figures of the disk model in the kernel: tests/spindle/verify.sh. */
static void test_members(void)
{
	static const struct {
		const char *load;
		enum fusion_dev dev;
		double iops, tolerance;
	} figures[] = {
		{ "uniform,read=100,qd=1", FUSION_SLOW, 78, 0.02 },
		{ "uniform,read=100,qd=32", FUSION_SLOW, 182, 0.04 },
		{ "scan,qd=4", FUSION_SLOW, 141, 0.03 },
		{ "uniform,read=100,qd=1", FUSION_FAST, 8900, 0.03 },
		{ "uniform,read=100,qd=32", FUSION_FAST, 57000, 0.03 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(figures); i++) {
		struct sim_engine *e;
		double iops;
		int rc;

		setup(128 * MIB, 40 * GIB, 0);
		cfg.fill = 100;
		load(figures[i].load);
		sim_result_free(&result);
		memset(&result, 0, sizeof(result));
		e = sim_engine_create(&cfg, SIM_ALONE, figures[i].dev, &result, &rc);
		REQUIRE(e);
		REQUIRE(!sim_engine_run(e, 0, 100 * SIM_S, 20000));
		sim_engine_destroy(e);
		iops = result.total.ios * 1e9 / result.end;
		REQUIRE(fabs(iops / figures[i].iops - 1) <= figures[i].tolerance,
			"%s: %.1f", figures[i].load, iops);
	}
}

/* -- traces ---------------------------------------------------------------------------- */

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

/* -- the map stays whole ----------------------------------------------------------------- */

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

/* -- what the policy reaches ---------------------------------------------------------------- */

/* 1 GiB and 10 GiB: what takes hours with larger members takes minutes. */
static void row(const char *text, u64 duration_s)
{
	setup(GIB, 10 * GIB, duration_s);
	cfg.check = false;
	load(text);
}

static void report(void)
{
	for (unsigned int i = 0; i < result.nr_phases; i++) {
		const struct sim_phase *p = &result.phase[i];

		printf("# hits at the end %.3f of the oracle's, 90 %% after %lld s, %u promoted\n",
		       end_of(p) / p->oracle,
		       p->converged == SIM_NEVER ? -1LL : (long long)(p->converged / SIM_S),
		       p->sum.promotions);
	}
	printf("# %llu wasted, %llu again, of %u slots\n", result.wasted, result.again,
	       result.nr_fast);
}

/* Converged within some seconds. */
static bool within(const struct sim_phase *p, u64 s)
{
	return p->converged != SIM_NEVER && p->converged <= s * SIM_S;
}

/* Target: 0.97 of the oracle, 5 % wasted, 1 % again, 1.2 x the SSD written to converge. */
static void test_zipf(void)
{
	row("zipf:1.0,rate=60", 7200);
	run();
	report();
	REQUIRE(end_of(last_phase()) >= 0.97 * last_phase()->oracle);
	REQUIRE(within(last_phase(), 900));
	REQUIRE(result.wasted * 100 <= result.promotions * 5);
	REQUIRE(result.again * 100 <= result.promotions);
	REQUIRE(last_phase()->copied_then <= result.nr_fast * 12 / 10);
	REQUIRE(result.promotions <= result.nr_fast);
}

static void test_zoned(void)
{
	row("zoned:80/4,rate=60", 1800);
	run();
	report();
	REQUIRE(end_of(last_phase()) >= 0.97 * last_phase()->oracle);
	REQUIRE(within(last_phase(), 300));
	REQUIRE(result.promotions <= result.nr_fast / 2);
}

/*
 * The disk as busy as it can be. Target: within a minute or two, as fast as it pays. Reached: 90 %
 * in 255 s, two promotions a second, as one extent at a time is copied. With batches of four it
 * took 454 s: each has to wait for the disk some times besides its copies.
 */
static void test_saturated(void)
{
	row("zoned:80/4,qd=16", 600);
	run();
	report();
	REQUIRE(within(last_phase(), 300));
	REQUIRE(sim_hit_ratio(&last_phase()->sum) >= 5 * unmoved(&last_phase()->sum));
}

/* Of these there are four times as many to be moved; and most of what that takes is waiting. */
static void test_small_extents(void)
{
	row("zoned:80/4,qd=16", 1200);
	cfg.extent_bytes = 256 << 10;
	run();
	report();
	REQUIRE(within(last_phase(), 1000));
}

/* Target: 0.97 of the speed with migration off. Reached: 0.993 to 0.997, by the seed. */
static void test_uniform(void)
{
	double latency;

	row("uniform,rate=60", 7200);
	run();
	report();
	REQUIRE(result.promotions <= result.nr_fast / 5, "%llu", result.promotions);
	REQUIRE(end_of(last_phase()) >= 0.97 * unmoved(&last_phase()->tail));
	latency = result.fused.latency;
	cfg.migration = false;
	run();
	REQUIRE_EQ(result.promotions, 0);
	REQUIRE(latency <= result.fused.latency / 0.97, "%.4f of %.4f", latency,
		result.fused.latency);
}

/*
 * Target: 0.75 hits. Here a tenth of the fast member is reserve, and another 1.6 % are spares, so
 * that the best placement hits 0.738 of a loop of 1.2 times its size. Reached: 0.743 to 0.760, by
 * the seed; more than the best placement, since a last tenth of the time is not a whole turn.
 */
static void test_loop(void)
{
	row("loop:1.2,rate=60", 7200);
	run();
	report();
	REQUIRE(end_of(last_phase()) >= last_phase()->oracle, "%.3f of %.3f", end_of(last_phase()),
		last_phase()->oracle);
	REQUIRE(result.wasted * 100 <= result.promotions * 5);
}

/* Target: the hot load loses a point at most; 0.1 % of the extents promoted. */
static void test_scan_and_zipf(void)
{
	u64 ios, hits, moved;
	double before;

	row("zipf:1.0,rate=60", 7200);
	load("scan,from=5400");
	run();
	report();
	REQUIRE_EQ(result.nr_phases, 3);
	before = end_of(&result.phase[0]);
	ios = result.phase[1].sum.load_ios[0];
	hits = result.phase[1].sum.load_hits[0];
	moved = result.phase[1].sum.promotions;
	REQUIRE(hits >= (before - 0.01) * ios, "%.3f after %.3f", (double)hits / ios, before);
	REQUIRE(moved * 1000 <= result.nr_lexts, "%llu promotions", moved);
	REQUIRE(end_of(&result.phase[2]) >= before - 0.01, "%.3f after %.3f",
		end_of(&result.phase[2]), before);
}

/*
 * Target: back at 90 % in 1.3 x the time of the first convergence, and at 0.97 of the oracle in
 * the end. Reached: in 2.1 to 3.0 x, by the seed, and 0.949 to 0.957 after an hour and a half: what
 * was hot remains so for some half-lives, of an hour each, and the new has to get twice as hot.
 */
static void test_replaced(void)
{
	row("zipf:1.0,rate=60,shift=50%@90m", 10800);
	run();
	report();
	REQUIRE_EQ(result.nr_phases, 2);
	REQUIRE(within(&result.phase[0], 900));
	REQUIRE(within(&result.phase[1], 2700));
	REQUIRE(end_of(last_phase()) >= 0.94 * last_phase()->oracle);
	REQUIRE(result.wasted * 100 <= result.promotions * 5);
	REQUIRE(result.again * 100 <= result.promotions);
}

static const struct unit_test tests[] = {
	{ "loads are as the oracle thinks they are", test_distribution },
	{ "a scan reads all, once", test_scan },
	{ "loads as they are written", test_parse },
	{ "the greatest", test_greatest },
	{ "slots", test_slots },
	{ "speed of the members", test_members },
	{ "traces", test_traces },
	{ "a trace is replayed", test_trace_run },
	{ "a broken map is noticed", test_judge },
	{ "any load", test_any },
	{ "promotions that rest", test_resting },
	{ "one seed, one result", test_seed },
	{ "zipf", test_zipf },
	{ "a hot zone", test_zoned },
	{ "a hot zone, the disk saturated", test_saturated },
	{ "a hot zone in small extents, the disk saturated", test_small_extents },
	{ "uniform: nothing to gain, nothing lost", test_uniform },
	{ "a loop that does not fit", test_loop },
	{ "a scan during a hot load", test_scan_and_zipf },
	{ "half of what is hot is replaced", test_replaced },
};

UNIT_TESTS(tests)
