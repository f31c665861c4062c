// SPDX-License-Identifier: GPL-2.0-only
/* fusionctl bench sustained: intervals, falls and what is none, and how they look. */
#include <math.h>

#include "unit.h"
#include "captured.h"

#include "bench.h"
#include "fusionctl.h"
#include "random.h"

#define NR	180
#define MB	1e6

static struct bench bench;

static void begin(unsigned int seconds)
{
	bench = (struct bench) { .profile = BENCH_SUSTAINED, .target = "/srv", .write = true,
				 .size = 4ULL << 30, .seconds = seconds, .seed = 1 };
	bench.facts = (struct bench_facts) { .has_disk = true, .between = 4ULL << 30,
					     .files = true, .idle_seconds = 4 };
	REQUIRE(!bench_plan_runs(&bench, 0));
}

static void end(void)
{
	bench_loads_free(&bench);
	bench_plan_free(&bench.plan);
}

static void add(double mb, double fast_share)
{
	struct bench_series *s = &bench.series;

	REQUIRE(s->nr < s->room);
	s->interval[s->nr++] = (struct bench_interval) {
		.seconds = s->every, .bytes = (mb > 0 ? mb : 0) * MB * s->every,
		.fast_share = fast_share,
	};
}

static double chance(unsigned long long *state)
{
	return ldexp(random64(*state += RANDOM_STEP), -64);
}

/* Near 0, most of them within 1 */
static double noise(unsigned long long *state)
{
	double sum = -3;

	for (int i = 0; i < 6; i++)
		sum += chance(state);
	return sum;
}

static unsigned int phases(void)
{
	REQUIRE(bench_find_fall(&bench.series));
	return bench.series.nr_phases;
}

static void intervals(void)
{
	begin(1800);
	REQUIRE(bench.series.every == 10 && bench.series.room == 181);
	end();
	begin(20);
	REQUIRE(bench.series.every == 1 && bench.series.room == 21);
	REQUIRE_EQ(phases(), 0);
	end();
	begin(86400);
	REQUIRE(bench.series.every == 480 && bench.series.room == 181);
	end();
}

/* -- what is a fall ----------------------------------------------------------------- */

/* A disk of a virtual machine, of which others write as well. */
static const double shared[] = {
	764, 824, 366, 488, 351, 574, 691, 641, 1067, 649, 345, 374, 421, 767, 187, 455, 377, 295,
	304, 311
};

static void no_fall(void)
{
	begin(20);
	for (unsigned int i = 0; i < ARRAY_SIZE(shared); i++)
		add(shared[i], -1);
	REQUIRE_EQ(phases(), 1);
	REQUIRE(fabs(bench.series.phase[0].rate.is - 512.6 * MB) < 1 * MB, "%g",
		bench.series.phase[0].rate.is);
	REQUIRE(bench.series.phase[0].fast_share == -1);
	end();
	/* the first half is faster on average, and so is the one before the largest step */
	begin(1800);
	for (int i = 0; i < NR; i++)
		add(i % 20 == 7 && i < 90 ? 900 : 300 + i % 3, -1);
	REQUIRE_EQ(phases(), 1);
	end();
}

static void one_fall(void)
{
	unsigned long long state = 1;

	for (int at = 5; at <= NR - NR / 8; at += 5) {
		begin(1800);
		for (int i = 0; i < NR; i++)
			add((i < at ? 480 : 150) * (1 + 0.05 * noise(&state)), i < at ? 1 : 0.25);
		REQUIRE_EQ(phases(), 3);
		REQUIRE_EQ(bench.series.phase[1].nr, at);
		REQUIRE(fabs(bench.series.phase[1].rate.is - 480 * MB) < 24 * MB);
		REQUIRE(fabs(bench.series.phase[2].rate.is - 150 * MB) < 8 * MB);
		REQUIRE(fabs(bench.series.phase[1].bytes / (at * 4800 * MB) - 1) < 0.05);
		REQUIRE(bench.series.phase[1].fast_share == 1);
		REQUIRE(fabs(bench.series.phase[2].fast_share - 0.25) < 0.001);
		end();
	}
}

/* Recorded on a set of models: 60 MiB on its SSD at 6 MB/s, which pauses at times, then an HDD. */
static void recorded_fall(void)
{
	static const double rates[] = {
		6, 5, 6, 6, 5, 6, 5, 0, 5, 6, 3, 0, 5, 7, 2, 2, 2, 2, 1, 2, 2, 1, 2, 2, 2, 2, 2, 2,
		2, 2, 2, 1, 2
	};

	begin(40);
	for (unsigned int i = 0; i < ARRAY_SIZE(rates); i++)
		add(rates[i], i < 12 ? 1 : i == 12 ? 0.67 : 0);
	REQUIRE_EQ(phases(), 3);
	REQUIRE_EQ(bench.series.phase[1].nr, 14);
	REQUIRE(bench.series.phase[1].fast_share > 0.85 && bench.series.phase[2].fast_share == 0);
	end();
}

/* A slow disk ends three writes or four of 1 MiB in a second: the rate is neither. */
static void whole_writes(void)
{
	static const double after[] = { 4, 3, 3, 4, 3, 5, 3, 4, 3 };

	begin(50);
	for (int i = 0; i < 20; i++)
		add(i % 3 ? 15 : 13, 1);
	for (int i = 0; i < 27; i++)
		add(after[i % ARRAY_SIZE(after)], 0);
	REQUIRE_EQ(phases(), 3);
	REQUIRE(fabs(bench.series.phase[2].rate.is - 32.0 / 9 * MB) < 0.01 * MB, "%g",
		bench.series.phase[2].rate.is);
	for (int i = 0; i < 3; i++)
		REQUIRE(fabs(bench.series.phase[i].rate.is * bench.series.phase[i].seconds /
			     bench.series.phase[i].bytes - 1) < 0.000001);
	end();
}

/* What passes, what comes back, what goes step by step, what is too little, and too late. */
static void other_shapes(void)
{
	for (int shape = 0; shape < 9; shape++) {
		begin(1800);
		for (int i = 0; i < NR; i++)
			add(shape == 0 ? (i >= 60 && i < 75 ? 100 : 500) :	/* a dip */
			    shape == 1 ? (i / 9 % 2 ? 100 : 500) :	/* up and down */
			    shape == 2 ? 500 - 2 * i :			/* a slope */
			    shape == 3 ? (i < 100 ? 500 : 460) :	/* 8 percent */
			    shape == 4 ? (i < 100 ? 150 : 480) :	/* a rise */
			    shape == 5 ? (i < 175 ? 500 : 100) :	/* slow at the end */
			    shape == 6 ? (i < 172 ? 500 : 100) :
			    shape == 7 ? (i < 60 || i >= 160 ? 500 : 100) :	/* recovers */
			    (i < 60 || i / 20 == 5 ? 500 : 100), -1);	/* at times */
		REQUIRE(phases() == 1, "shape %d: after %u", shape, bench.series.phase[1].nr);
		end();
	}
	/* some of them off are not in the way, whichever they are */
	begin(1800);
	for (int i = 0; i < NR; i++)
		add(i % 12 == 5 ? 20 : i % 15 == 8 ? 900 : i < 100 ? 480 : 150, -1);
	REQUIRE_EQ(phases(), 3);
	REQUIRE_EQ(bench.series.phase[1].nr, 100);
	end();
}

/* The mean of one half is below that of the other by a tenth: what a naive test would say. */
static bool naive(void)
{
	double sum[2] = { 0 };

	for (unsigned int i = 0; i < bench.series.nr; i++)
		sum[2 * i / bench.series.nr] += bench.series.interval[i].bytes;
	return sum[1] < 0.9 * sum[0];
}

/* Chance alone, also if it has a memory, does not look like a fall. */
static void chance_alone(void)
{
	unsigned long long state = 7;
	unsigned int found = 0, naively = 0, noisy = 0;

	for (int i = 0; i < 600; i++) {
		const double memory = i % 3 * 0.4, weight = sqrt(1 - memory * memory);
		double was = 0;

		begin(i % 2 ? 20 : 60);
		for (unsigned int k = 0; k < bench.seconds; k++) {
			was = memory * was + weight * noise(&state);
			add(300 * exp(0.4 * was), -1);
		}
		found += phases() != 1;
		naively += naive();
		end();
		/* one that is real is seen through the same noise */
		begin(60);
		for (unsigned int k = 0; k < bench.seconds; k++)
			add((k < 20 ? 480 : 150) * exp(0.2 * noise(&state)), -1);
		noisy += phases() == 3 && abs((int)bench.series.phase[1].nr - 20) <= 2;
		end();
	}
	printf("# %u of 600 falls are chance, naively %u; %u of 600 are found\n", found, naively,
	       noisy);
	REQUIRE(naively > 60);
	REQUIRE(found <= 9);
	REQUIRE(noisy > 570);
}

/* A disk that is fast and slow by turns, of 20 or 40 intervals on average, falls rarely. */
static void by_turns(void)
{
	unsigned long long state = 3;

	for (int mean = 20; mean <= 40; mean += 20) {
		unsigned int found = 0, once = 0;

		for (int i = 0; i < 600; i++) {
			bool slow = chance(&state) < 0.5;
			int turns = 0;

			begin(1800);
			for (int k = 0; k < NR; k++) {
				if (chance(&state) * mean < 1) {
					slow = !slow;
					turns++;
				}
				add((slow ? 150 : 480) * (1 + 0.05 * noise(&state)), -1);
			}
			/* one turn, to slow, is what a fall is */
			once += turns == 1 && slow;
			found += phases() != 1;
			end();
		}
		printf("# turns after %d: %u of 600 fall, %u have one turn\n", mean, found, once);
		REQUIRE(found <= once + 40);
	}
}

/* -- how it looks ------------------------------------------------------------------- */

static void a_fall(double after, int at)
{
	begin(1800);
	strcpy(bench.set, "data");
	for (int i = 0; i < NR; i++)
		add(i < at ? 480 + i % 7 : after + i % 5, i < at ? 1 : 0.25);
	phases();
}

static void shows(void)
{
	const char *text;
	unsigned int lines = 0;

	setenv("COLUMNS", "80", 1);
	a_fall(150, 60);
	bench.facts.moved = 9;
	print_to(tmpfile());
	bench_show_series(&bench);
	text = printed_text();
	REQUIRE(strstr(text, "\nbefore 483 MB/s 481 MB/s to 485 MB/s") &&
		strstr(text, "the rate falls for good after 269.8G, or 600 s: from 483 MB/s to 152 "
		       "MB/s\n") &&
		strstr(text, "\n10:40  25 % ####") && strstr(text, "ON FAST") &&
		strstr(text, "the set moved or copied 9 extents meanwhile"), "%s", text);
	for (const char *at = text; (at = strstr(at, "##")); at = strchr(at, '\n'))
		lines++;
	REQUIRE(lines > 20 && lines <= 24, "%u lines of bars", lines);
	memset(bench.doubt, 0, sizeof(bench.doubt));
	REQUIRE(!bench_find_doubts(&bench), "%s", bench.doubt[DOUBT_MOVES]);
	end();
	begin(30);
	for (int i = 0; i < 9; i++)
		add(300, -1);
	phases();
	REQUIRE(bench_find_doubts(&bench) && *bench.doubt[DOUBT_FEW]);
	print_to(tmpfile());
	bench_show_series(&bench);
	text = printed_text();
	REQUIRE(strstr(text, "no fall for good is shown within 2.5G\n") &&
		strstr(text, "not reliable: 9 intervals are too few"), "%s", text);
	end();
}

static void draws(void)
{
	const char *text;

	a_fall(150, 60);
	print_to(tmpfile());
	bench_svg_series(&bench, stdout);
	text = printed_text();
	REQUIRE(strstr(text, "from 483 MB/s to 152 MB/s after 269.8G") &&
		strstr(text, "share of the fast member") && strstr(text, ">1800 s<") &&
		!strstr(text, "nan") && !strstr(text, "inf"), "%s", text);
	REQUIRE(!strcmp(text + strlen(text) - 7, "</svg>\n"));
	end();
	/* hours have no exponent */
	begin(14400);
	for (int i = 0; i < NR; i++)
		add(300, -1);
	phases();
	print_to(tmpfile());
	bench_svg_series(&bench, stdout);
	text = printed_text();
	REQUIRE(strstr(text, ">14400 s<") && !strstr(text, "e+"), "%s", text);
	end();
	/* nothing was written */
	begin(20);
	phases();
	print_to(tmpfile());
	bench_svg_series(&bench, stdout);
	text = printed_text();
	REQUIRE(!strstr(text, "nan") && !strstr(text, "inf"));
	end();
}

static void save(char *path, double after, int at)
{
	int fd = mkstemp(path);

	REQUIRE(fd >= 0);
	a_fall(after, at);
	print_to(fdopen(fd, "w+"));
	bench_json(&bench);
	printed_text();
	end();
}

static void compares(void)
{
	char a[] = "/tmp/bench-a-XXXXXX", b[] = "/tmp/bench-b-XXXXXX", c[] = "/tmp/bench-c-XXXXXX";
	const char *text;

	save(a, 150, 60);
	save(b, 300, 90);
	save(c, 150, NR);
	print_to(tmpfile());
	REQUIRE_EQ(bench_compare(a, b), 0);
	text = printed_text();
	REQUIRE(strstr(text, "before") && strstr(text, "no difference shown") &&
		strstr(text, "faster by 98.7 %") &&
		strstr(text, "before written   269.8G   404.8G 1.500 later by 50.0 %") &&
		!strstr(text, "only"), "%s", text);
	print_to(tmpfile());
	REQUIRE_EQ(bench_compare(c, b), 0);
	text = printed_text();
	REQUIRE(strstr(text, "only B falls for good, after 404.8G"), "%s", text);
	print_to(tmpfile());
	REQUIRE_EQ(bench_compare(a, c), 0);
	text = printed_text();
	REQUIRE(strstr(text, "only A falls for good, after 269.8G"), "%s", text);
	unlink(a);
	unlink(b);
	unlink(c);
}

/* A rate outside of its bounds: a phase may have one, and nothing else. */
static void compares_bounds(void)
{
	static const char *const list[] = { "runs", "phases" }, *const key[] = { "load", "phase" };

	for (int i = 0; i < 2; i++) {
		char path[] = "/tmp/bench-d-XXXXXX";
		FILE *f = fdopen(mkstemp(path), "w");
		int rc;

		REQUIRE(f);
		fprintf(f, "{\"profile\": \"%s\", \"reliable\": true, \"lines\": [], %s\"%s\": "
			"[{\"%s\": \"all\", \"bytes_per_second\": 5, "
			"\"bytes_per_second_low\": 6, \"bytes_per_second_high\": 7}]}\n",
			i ? "sustained" : "mix", i ? "\"runs\": [], " : "", list[i], key[i]);
		fclose(f);
		print_to(tmpfile());
		rc = bench_compare(path, path);
		printed_text();
		unlink(path);
		REQUIRE_EQ(rc, i ? 0 : FC_FAILED);
	}
}

static const struct unit_test tests[] = {
	{ "intervals of sustained", intervals },
	{ "rates that do not fall for good", no_fall },
	{ "rates that do", one_fall },
	{ "a fall that was recorded", recorded_fall },
	{ "rates of a few whole writes", whole_writes },
	{ "dips, slopes and rises", other_shapes },
	{ "falls by chance", chance_alone },
	{ "rates that change by turns", by_turns },
	{ "the result of sustained for people", shows },
	{ "the result of sustained drawn", draws },
	{ "comparing two results of sustained", compares },
	{ "comparing rates outside of their bounds", compares_bounds },
};

UNIT_TESTS(tests)
