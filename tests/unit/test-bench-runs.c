// SPDX-License-Identifier: GPL-2.0-only
/* fusionctl bench sweep, mix, fullness: loads, their order, results, doubts, and how they look. */
#include <math.h>

#include "unit.h"
#include "captured.h"

#include "bench.h"

#define GIB	(1024ULL << 20)

static struct bench bench;

static void plan(enum bench_profile profile, bool quick, bool write)
{
	bench = (struct bench) { .profile = profile, .target = "/srv", .quick = quick,
				 .write = write, .size = 4 * GIB, .seed = 1 };
	bench.facts = (struct bench_facts) { .has_disk = true, .between = GIB, .files = true,
					     .idle_seconds = 4 };
	REQUIRE(!bench_plan_runs(&bench, 0));
}

static void end(void)
{
	bench_loads_free(&bench);
	bench_plan_free(&bench.plan);
}

/* Each has run, at so many bytes a second, and so much faster from time to time. */
static void run_all(double rate, double more)
{
	for (unsigned int i = 0; i < bench.nr_runs; i++) {
		struct bench_run *r = &bench.run[i];
		const double reads = r->load.shape.read_percent / 100.0;

		for (r->nr = 0; r->nr < bench.tries; r->nr++) {
			struct bench_try *t = &r->try[r->nr];

			*t = (struct bench_try) { .fast_share = -1 };
			for (int dir = 0; dir < 2; dir++) {
				const double share = dir == BENCH_READ ? reads : 1 - reads;
				struct fio_side *side = &t->side[dir];

				side->seconds = share > 0 ? 2 : 0;
				side->bytes = 2 * share * rate * (1 + more * r->nr);
				side->ios = share * 1000;
				side->mean = 0.004;
				side->p99 = 0.02;
			}
		}
	}
}

static void sweeps(void)
{
	plan(BENCH_SWEEP, false, true);
	/* 4K to 16M in steps of four, by 1, 4, 16 and 64, each way; not 64 of 16M, for memory */
	REQUIRE_EQ(bench.nr_runs, (7 * 4 - 1) * 2);
	REQUIRE(!strcmp(bench.run[0].load.name, "read 4K, 1 in flight"));
	REQUIRE(!strcmp(bench.run[53].load.name, "write 16M, 16 in flight"));
	REQUIRE_EQ(bench.run[53].load.shape.block, 16 << 20);
	end();
	/* a device that is only read, and too small for 16 of 16M, or 64 of 4M */
	bench = (struct bench) { .profile = BENCH_SWEEP, .device = true, .size = 4 * GIB };
	REQUIRE(!bench_plan_runs(&bench, GIB / 2 + 1));
	REQUIRE_EQ(bench.size, GIB / 2);
	REQUIRE_EQ(bench.nr_runs, 7 * 4 - 3);
	for (unsigned int i = 0; i < bench.nr_runs; i++)
		REQUIRE_EQ(bench.run[i].load.shape.read_percent, 100);
	end();
	bench = (struct bench) { .profile = BENCH_SWEEP, .device = true, .size = 4 * GIB };
	REQUIRE(!strcmp(bench_plan_runs(&bench, 15 << 20), "too small"));
	end();
}

/* All of them once before any again, and not always in the same order. */
static void order(void)
{
	unsigned int same = 0;

	plan(BENCH_SWEEP, false, true);
	REQUIRE_EQ(bench.nr_turns, 3 * bench.nr_runs);
	for (unsigned int first = 0; first < bench.nr_turns; first += bench.nr_runs) {
		u64 seen = 0;

		for (unsigned int i = 0; i < bench.nr_runs; i++) {
			seen |= 1ull << bench.turn[first + i];
			same += bench.turn[first + i] == i;
		}
		REQUIRE_EQ(seen, (1ull << bench.nr_runs) - 1);
	}
	REQUIRE(same < bench.nr_runs / 2, "%u of them are in their first place", same);
	end();
}

static void values(void)
{
	struct theil_value v;

	plan(BENCH_MIX, false, true);
	run_all(100e6, 0.1);
	v = bench_run_value(&bench.run[2], BENCH_RATE);
	REQUIRE(fabs(v.is - 110e6) < 100 && fabs(v.low - 100e6) < 100 && fabs(v.high - 120e6) < 100,
		"%g %g %g", v.is, v.low, v.high);
	REQUIRE(fabs(bench_run_value(&bench.run[2], BENCH_IOS).is - 500) < 1);
	REQUIRE(bench_run_value(&bench.run[2], BENCH_WRITE_P99).is == 0.02);
	REQUIRE(bench_run_value(&bench.run[2], BENCH_FAST_SHARE).is == -1);
	REQUIRE(bench_run_has(&bench.run[2], BENCH_WRITE));
	REQUIRE(!bench_run_has(&bench.run[1], BENCH_WRITE), "the web server only reads");
	end();
	/* without leave to write, only that */
	plan(BENCH_MIX, false, false);
	REQUIRE_EQ(bench.nr_runs, 2);
	REQUIRE(!strcmp(bench.run[1].load.name, "launch"));
	end();
}

static void only(enum bench_doubt kind)
{
	memset(bench.doubt, 0, sizeof(bench.doubt));
	REQUIRE_EQ(bench_find_doubts(&bench), kind != NR_BENCH_DOUBTS);
	for (int i = 0; i < NR_BENCH_DOUBTS; i++)
		REQUIRE(!*bench.doubt[i] == (i != (int)kind), "%s: %s", bench_doubt_name[i],
			bench.doubt[i]);
}

static void doubts(void)
{
	plan(BENCH_MIX, false, true);
	run_all(100e6, 0.1);
	only(NR_BENCH_DOUBTS);
	/* a mix is to show what moves bring */
	bench.facts.moved = 5;
	only(NR_BENCH_DOUBTS);
	bench.profile = BENCH_SWEEP;
	only(DOUBT_MOVES);
	bench.facts.moved = 0;
	bench.facts.between = 256 << 20;
	only(DOUBT_SMALL);
	bench.facts.between = GIB;
	bench.run[1].try[2].side[BENCH_READ].ios = 9;
	only(DOUBT_FEW);
	run_all(100e6, 0.2);
	only(DOUBT_OUTLIERS);
	run_all(100e6, 0);
	bench.facts.asked[BENCH_READ] = 100;
	only(DOUBT_CACHE);
	end();
}

static const char *shown(void)
{
	setenv("COLUMNS", "80", 1);
	print_to(tmpfile());
	bench_show_runs(&bench);
	return printed_text();
}

static void shows(void)
{
	const char *text;

	plan(BENCH_MIX, false, true);
	run_all(100e6, 0.1);
	bench.facts.moved = 7;
	text = shown();
	REQUIRE(strstr(text, "database") && strstr(text, "100 MB/s to 120 MB/s") &&
		strstr(text, "4.00 ms") && strstr(text, "####") &&
		strstr(text, "the set moved or copied 7 extents meanwhile"), "%s", text);
	end();
	plan(BENCH_SWEEP, true, true);
	run_all(100e6, 0);
	text = shown();
	REQUIRE(strstr(text, "read, RATE") && strstr(text, "16 IN FLIGHT") &&
		strstr(text, "write, MEAN LATENCY") && strstr(text, "\n16M "), "%s", text);
	end();
}

static void draws(void)
{
	const char *text;
	unsigned int cells = 0;

	plan(BENCH_SWEEP, false, true);
	run_all(100e6, 0.1);
	print_to(tmpfile());
	bench_svg_runs(&bench, stdout);
	text = printed_text();
	for (const char *at = text; (at = strstr(at, "<title>")); at++)
		cells++;
	REQUIRE_EQ(cells, 1 + bench.nr_runs);
	REQUIRE(!strstr(text, "nan") && !strstr(text, "inf"));
	REQUIRE(!strcmp(text + strlen(text) - 7, "</svg>\n"));
	/* nothing was transferred */
	run_all(0, 0);
	print_to(tmpfile());
	bench_svg_runs(&bench, stdout);
	text = printed_text();
	REQUIRE(!strstr(text, "nan") && !strstr(text, "inf"));
	end();
}

/* -- launch ------------------------------------------------------------------------ */

/* The reads of a launch from a file of so many bytes: what is not cold, and what is. */
struct launched {
	unsigned int nr[2];
	u64 bytes[2], last[2], gaps[2], places[2];
	u64 cold;		/* where that begins */
};

static struct launched launch(u64 bytes, int time)
{
	const u64 part = bytes / 4;
	struct launched l = { .cold = (time + 1) * part };
	FILE *f = tmpfile();
	char line[128];

	REQUIRE(f);
	bench_launch_list(f, "/x", bytes, time);
	rewind(f);
	for (int i = 0; i < 3; i++)
		REQUIRE(fgets(line, sizeof(line), f));
	REQUIRE(!strcmp(line, "/x open\n"));
	while (fgets(line, sizeof(line), f) && strcmp(line, "/x close\n")) {
		unsigned long long at, size;
		bool cold;

		REQUIRE(sscanf(line, "/x read %llu %llu", &at, &size) == 2, "%s", line);
		REQUIRE(at % 4096 == 0 && size % 4096 == 0 && size >= 4096 && size <= 65536);
		cold = at >= part;
		REQUIRE(!cold || (at >= l.cold && at + size <= l.cold + part));
		/* in the order of the files, with gaps */
		REQUIRE(!l.nr[cold] || at > l.last[cold], "%s", line);
		l.gaps[cold] += l.nr[cold] ? at - l.last[cold] : 0;
		l.last[cold] = at + size;
		l.nr[cold]++;
		l.places[cold] += l.nr[cold] * (at + size);
		l.bytes[cold] += size;
	}
	fclose(f);
	return l;
}

static void launches(void)
{
	for (int time = 0; time < BENCH_TRIES; time++) {
		struct launched l = launch(4 * GIB, time);

		REQUIRE(l.bytes[0] == 12 << 20 && l.bytes[1] == 12 << 20);
		REQUIRE(l.nr[0] > 400 && l.nr[0] < 900 && l.nr[1] > 400 && l.nr[1] < 900,
			"%u, %u", l.nr[0], l.nr[1]);
		REQUIRE(l.gaps[0] > 9 << 20 && l.gaps[1] > 9 << 20);
	}
	/* the same is read before, without what is cold */
	REQUIRE_EQ(launch(4 * GIB, -1).places[0], launch(4 * GIB, 1).places[0]);
	REQUIRE_EQ(launch(4 * GIB, -1).bytes[0], 12 << 20);
	REQUIRE_EQ(launch(4 * GIB, -1).nr[1], 0);
	/* of the smallest file, as much as there is room for */
	REQUIRE(launch(BENCH_LEAST_SIZE, 2).bytes[1] > 1 << 20);
}

/* -- fullness --------------------------------------------------------------------- */

static void fill(unsigned int percent)
{
	bench = (struct bench) { .profile = BENCH_FULLNESS, .target = "/srv", .write = true,
				 .size = 60 * GIB, .seed = 1, .seconds = 60 };
	bench.before = (struct bench_capacity) { .total = 100 * GIB, .used = percent * GIB };
	bench.facts = (struct bench_facts) { .has_disk = true, .between = GIB, .files = true,
					     .idle_seconds = 4 };
	REQUIRE(!bench_plan_runs(&bench, 0));
}

static void steps(void)
{
	fill(0);
	REQUIRE(bench.nr_runs == 7 && bench.left_out == 0);
	REQUIRE(!strcmp(bench.run[0].load.name, "10 % full"));
	end();
	/* what is fuller already is left out */
	fill(31);
	REQUIRE(bench.nr_runs == 5 && bench.left_out == 25);
	REQUIRE(bench.tries == 3 && bench.seconds == 20);
	for (unsigned int i = 0; i < bench.nr_turns; i++)
		REQUIRE_EQ(bench.turn[i], i / 3);
	REQUIRE(bench.run[0].load.percent == 50 && bench.run[4].load.percent == 95);
	REQUIRE_EQ(bench.run[4].load.shape.block, 16384);
	REQUIRE(!bench_run_has(&bench.run[4], BENCH_READ));
	end();
	/* exactly so full is too full, since a file is needed */
	fill(90);
	REQUIRE(bench.nr_runs == 1 && bench.left_out == 90);
	end();
}

static void wholes(void)
{
	REQUIRE_EQ(bench_whole(0), 0);
	REQUIRE_EQ(bench_whole(65535), 0);
	REQUIRE_EQ(bench_whole(65536 + 512), 65536);
	for (uint64_t bytes = 1 << 20; bytes < GIB; bytes += 1234567) {
		const uint64_t whole = bench_whole(bytes);

		REQUIRE(whole <= bytes && bytes - whole < FIO_BLOCK);
		REQUIRE(whole % fio_blocks(whole) == 0 && whole / fio_blocks(whole) % 65536 == 0);
	}
}

static void shows_fullness(void)
{
	const char *text;

	fill(0);
	run_all(40e6, 0.1);
	strcpy(bench.set, "data");
	for (unsigned int i = 0; i < bench.nr_runs; i++) {
		bench.run[i].full = bench.run[i].load.percent / 100.0;
		for (unsigned int k = 0; k < bench.tries; k++)
			bench.run[i].try[k].fast_share = 1 - i * 0.1;
	}
	only(NR_BENCH_DOUBTS);
	bench.facts.moved = 3;
	only(DOUBT_MOVES);
	bench.facts.between = 100 << 20;
	bench.facts.moved = 0;
	only(DOUBT_SMALL);
	bench.facts.between = GIB;
	bench.facts.kept = true;
	only(DOUBT_KEPT);
	text = shown();
	REQUIRE(strstr(text, "25 % full 44.0 MB/s 40.0 MB/s to 48.0 MB/s") &&
		strstr(text, "90 %\n") && strstr(text, "95 % full") && strstr(text, "###"), "%s",
		text);
	print_to(tmpfile());
	bench_svg_fullness(&bench, stdout);
	text = printed_text();
	REQUIRE(strstr(text, ">100 %<") && strstr(text, "share of the fast member") &&
		!strstr(text, "nan"), "%s", text);
	print_to(tmpfile());
	bench_json(&bench);
	text = printed_text();
	REQUIRE(strstr(text, "\"fullness\": 0.25") || strstr(text, "\"fullness\":0.25"), "%s",
		text);
	end();
}

/* -- comparing -------------------------------------------------------------------- */

static void save_runs(char *path, double rate, bool quick)
{
	int fd = mkstemp(path);

	REQUIRE(fd >= 0);
	plan(BENCH_MIX, quick, true);
	run_all(rate, quick ? 0 : 0.05);
	print_to(fdopen(fd, "w+"));
	bench_json(&bench);
	printed_text();
	end();
}

static const char *compared_runs(const char *a, const char *b)
{
	print_to(tmpfile());
	REQUIRE_EQ(bench_compare(a, b), 0);
	return printed_text();
}

static void compares_runs(void)
{
	char a[] = "/tmp/bench-a-XXXXXX", b[] = "/tmp/bench-b-XXXXXX", c[] = "/tmp/bench-c-XXXXXX";
	const char *text;

	save_runs(a, 100e6, false);
	save_runs(b, 125e6, false);
	save_runs(c, 125e6, true);
	text = compared_runs(a, b);
	REQUIRE(strstr(text, "database") && strstr(text, "faster by 25.0 %"), "%s", text);
	text = compared_runs(a, a);
	REQUIRE(strstr(text, "no difference shown") && !strstr(text, " by "), "%s", text);
	text = compared_runs(a, c);
	REQUIRE(strstr(text, "faster, if that is not chance"), "%s", text);
	unlink(a);
	unlink(b);
	unlink(c);
}

static const struct unit_test tests[] = {
	{ "the loads of a sweep", sweeps },
	{ "their order", order },
	{ "what loads come to", values },
	{ "doubts about loads", doubts },
	{ "the result of loads for people", shows },
	{ "the result of loads drawn", draws },
	{ "what a launch reads", launches },
	{ "the steps of fullness", steps },
	{ "sizes that one transfer may be of", wholes },
	{ "the result of fullness", shows_fullness },
	{ "comparing two results of loads", compares_runs },
};

UNIT_TESTS(tests)
