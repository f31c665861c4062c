// SPDX-License-Identifier: GPL-2.0-only
/* fusionctl top: rates of two samples, hits over longer times, the hottest ranges. */
#include <math.h>

#include "unit.h"

#include "fusionctl.h"
#include "top.h"

static bool about(double a, double b)
{
	return fabs(a - b) < 0.000001 * (1 + fabs(b));
}

/* -- the counters of a device ----------------------------------------------------- */

static void test_parse(void)
{
	struct top_disk d;

	/* with discards and flushes, as Linux 6.1 has them */
	REQUIRE(top_parse_disk("     120        3     9600       45      80        0     1280 "
			       "      20        2      60       65        1        0       8 "
			       "       0        4        9", &d));
	REQUIRE(d.known);
	REQUIRE_EQ(d.ios[TOP_READ], 120);
	REQUIRE_EQ(d.sectors[TOP_READ], 9600);
	REQUIRE_EQ(d.ms[TOP_READ], 45);
	REQUIRE_EQ(d.ios[TOP_WRITE], 80);
	REQUIRE_EQ(d.sectors[TOP_WRITE], 1280);
	REQUIRE_EQ(d.ms[TOP_WRITE], 20);
	REQUIRE_EQ(d.in_flight, 2);
	REQUIRE_EQ(d.busy_ms, 60);
	REQUIRE_EQ(d.queue_ms, 65);
	REQUIRE(!top_parse_disk("1 2 3 4 5 6 7 8 9 10", &d) && !d.known);
	REQUIRE(!top_parse_disk("", &d) && !d.known);
	REQUIRE(!top_parse_disk("1 2 3 4 five 6 7 8 9 10 11", &d) && !d.known);
}

/* -- rates ------------------------------------------------------------------------ */

static void test_parse_stats(void)
{
	static const char text[] = "promotions 7\nevacuated 12\nshadow_copies 345\n"
				   "shadow_copies_of 6\n";
	struct top_sample s = { 0 };

	top_parse_stats(text, &s);
	REQUIRE_EQ(s.moves[TOP_EVACUATED], 12);
	REQUIRE_EQ(s.moves[TOP_SHADOWED], 345);
	REQUIRE_EQ(s.moves[TOP_PROMOTED], 0);
	REQUIRE(!s.log.known);
	top_parse_stats("", &s);
	REQUIRE_EQ(s.moves[TOP_EVACUATED], 0);
	REQUIRE(!s.log.known);
	top_parse_stats("log_blocks 3\nlog_landed 90\nlog_drained 70\nlog_waiting 2\n"
			"log_waited 4\nlog_retry 8\nlog_unlisted 1\nlog_list_failed 1", &s);
	REQUIRE(s.log.known);
	REQUIRE_EQ(s.log.landed, 90);
	REQUIRE_EQ(s.log.waiting, 2);
	REQUIRE_EQ(s.log.waited, 4);
	REQUIRE_EQ(s.log.retry_s, 8);
	REQUIRE_EQ(s.log.unlisted_s, 1);
	REQUIRE(s.log.unwritten);
}

static const struct top_sample sample = {
	.at = 100,
	.disk = {
		[FAST] = { .known = true, .ios = { 1000, 500 }, .sectors = { 80000, 4000 },
			   .ms = { 100, 200 }, .busy_ms = 300, .queue_ms = 300 },
		[SLOW] = { .known = true, .ios = { 10, 20 }, .sectors = { 160, 320 },
			   .ms = { 90, 80 }, .busy_ms = 170, .queue_ms = 170 },
	},
	.hits = { { 900, 10 }, { 500, 20 } },
	.moves = { [TOP_PROMOTED] = 40, [TOP_DEMOTED] = 30, [TOP_DEMOTED_FREE] = 5 },
};

static void test_rates(void)
{
	struct top_sample is = sample;
	struct top_rates r;

	is.at += 2;
	is.disk[FAST].ios[TOP_READ] += 200;
	is.disk[FAST].sectors[TOP_READ] += 4096;
	is.disk[FAST].ms[TOP_READ] += 50;
	is.disk[FAST].busy_ms += 1000;
	is.disk[FAST].queue_ms += 3000;
	is.disk[FAST].in_flight = 3;
	is.disk[SLOW].ios[TOP_WRITE] += 3;
	is.disk[SLOW].sectors[TOP_WRITE] += 3 * 2048;
	is.disk[SLOW].ms[TOP_WRITE] += 36;
	/* the kernel's second is longer than ours */
	is.disk[SLOW].busy_ms += 2010;
	is.moves[TOP_PROMOTED] += 8;
	is.moves[TOP_DEMOTED] += 6;
	is.moves[TOP_DEMOTED_FREE] += 4;
	top_get_rates(&sample, &is, &r);

	REQUIRE(about(r.seconds, 2));
	REQUIRE(r.disk[FAST].known && r.disk[SLOW].known);
	REQUIRE(about(r.disk[FAST].ios[TOP_READ], 100));
	REQUIRE(about(r.disk[FAST].bytes[TOP_READ], 1 << 20));
	REQUIRE(about(r.disk[FAST].ms[TOP_READ], 0.25));
	REQUIRE(about(r.disk[FAST].ms[TOP_WRITE], -1), "nothing was written");
	REQUIRE(about(r.disk[FAST].busy, 0.5));
	REQUIRE(about(r.disk[FAST].queue, 1.5));
	REQUIRE_EQ(r.disk[FAST].in_flight, 3);
	REQUIRE(about(r.disk[SLOW].bytes[TOP_WRITE], 1.5 * (1 << 20)));
	REQUIRE(about(r.disk[SLOW].ms[TOP_WRITE], 12));
	REQUIRE(about(r.disk[SLOW].busy, 1));
	REQUIRE(about(r.moves[TOP_PROMOTED], 4));
	REQUIRE(about(r.moves[TOP_DEMOTED], 3));
	REQUIRE(about(r.moves[TOP_DEMOTED_FREE], 2));
	REQUIRE(about(r.swaps, 3), "no more than demotions");
}

static void test_rates_of_log(void)
{
	struct top_sample was = sample, is = sample;
	struct top_rates r;

	is.at += 2;
	is.drained += 500;
	is.log = (struct log_stats) { .known = true, .landed = 800, .waited = 6 };
	top_get_rates(&was, &is, &r);
	REQUIRE(about(r.drained, 250));
	REQUIRE(about(r.landed, 0), "nothing is known of the time before");
	was.log.known = true;
	top_get_rates(&was, &is, &r);
	REQUIRE(about(r.landed, 400));
	REQUIRE(about(r.waited, 3));
}

static void test_rates_of_nothing(void)
{
	struct top_sample is = sample;
	struct top_rates r;

	top_get_rates(&sample, &is, &r);
	REQUIRE(about(r.seconds, 0) && !r.disk[FAST].known);

	/* a device that vanished, and one that is there again */
	is.at++;
	is.disk[SLOW] = (struct top_disk) { 0 };
	top_get_rates(&sample, &is, &r);
	REQUIRE(r.disk[FAST].known && !r.disk[SLOW].known);
	REQUIRE(about(r.disk[SLOW].ios[TOP_READ], 0) && about(r.disk[SLOW].ms[TOP_READ], -1));
	is.at -= 2;
	top_get_rates(&is, &sample, &r);
	REQUIRE(!r.disk[SLOW].known && about(r.disk[SLOW].ios[TOP_READ], 0));

	/* counters that began again */
	is = sample;
	is.at++;
	is.disk[FAST] = (struct top_disk) { .known = true, .ios = { 7, 0 }, .ms = { 14, 0 } };
	is.moves[TOP_PROMOTED] = 2;
	top_get_rates(&sample, &is, &r);
	REQUIRE(about(r.disk[FAST].ios[TOP_READ], 7) && about(r.disk[FAST].ms[TOP_READ], 2));
	REQUIRE(about(r.moves[TOP_PROMOTED], 2));
}

/* -- hits ------------------------------------------------------------------------- */

static struct top_history h;

static void require_hits(double window, double seconds, u64 fast, u64 all)
{
	struct top_hits hits;

	top_get_hits(&h, TOP_READ, window, &hits);
	REQUIRE(about(hits.seconds, seconds), "%g s of %g: %g", window, seconds, hits.seconds);
	REQUIRE_EQ(hits.fast, fast);
	REQUIRE_EQ(hits.all, all);
}

/* A second is 10 reads; all from the fast member up to @best, and 1 of the slow one after. */
static void remember(double at, double best)
{
	struct top_sample s = { .at = at };
	double slow = at > best ? at - best : 0;

	s.hits[TOP_READ][SLOW] = lround(slow);
	s.hits[TOP_READ][FAST] = lround(10 * at) - s.hits[TOP_READ][SLOW];
	top_remember(&h, &s);
}

static void test_windows(void)
{
	memset(&h, 0, sizeof(h));
	require_hits(1, 0, 0, 0);
	remember(0, 1000);
	require_hits(1, 0, 0, 0);
	for (int i = 1; i <= 2000; i++)
		remember(i, 1990);
	require_hits(1, 1, 9, 10);
	require_hits(60, 60, 590, 600);
	require_hits(900, 900, 8990, 9000);
}

static void test_short_past(void)
{
	memset(&h, 0, sizeof(h));
	for (int i = 0; i <= 30; i++)
		remember(i, 1000);
	require_hits(1, 1, 10, 10);
	require_hits(60, 30, 300, 300);
	require_hits(900, 30, 300, 300);
}

/* However often it looks, or however seldom. */
static void test_intervals(void)
{
	memset(&h, 0, sizeof(h));
	for (int i = 0; i <= 5 * 1800; i++)
		remember(i / 5.0, 1000000);
	/* marks are a second apart, except the newest */
	require_hits(1, 1, 10, 10);
	require_hits(60, 60, 600, 600);
	require_hits(900, 900, 9000, 9000);

	memset(&h, 0, sizeof(h));
	for (int i = 0; i <= 100; i++)
		remember(30 * i, 1000000);
	require_hits(1, 30, 300, 300);
	require_hits(60, 60, 600, 600);
	require_hits(900, 900, 9000, 9000);
}

static void test_past(void)
{
	struct top_sample s = { .at = 0 };

	memset(&h, 0, sizeof(h));
	top_remember(&h, &s);
	REQUIRE_EQ(h.nr_past, 0);
	for (int i = 1; i <= TOP_PAST + 7; i++) {
		s.at++;
		s.hits[TOP_READ][FAST] += i % 101;
		s.hits[TOP_READ][SLOW] += 100 - i % 101;
		top_remember(&h, &s);
		REQUIRE_EQ(h.nr_past, i < TOP_PAST ? i : TOP_PAST);
		REQUIRE_EQ(h.past[TOP_READ][h.nr_past - 1], i % 101);
		REQUIRE_EQ(h.past[TOP_WRITE][h.nr_past - 1], TOP_NO_IO);
	}
	/* the oldest ones are gone */
	REQUIRE_EQ(h.past[TOP_READ][0], 8);
	REQUIRE_EQ(h.past[TOP_READ][1], 9);
}

/* The set was closed and opened. */
static void test_began_again(void)
{
	memset(&h, 0, sizeof(h));
	remember(50, 1000);
	remember(51, 1000);
	require_hits(60, 1, 10, 10);
	remember(2, 1000);
	require_hits(60, 0, 0, 0);
	remember(3, 1000);
	require_hits(60, 1, 10, 10);
	REQUIRE_EQ(h.nr_past, 1);
}

/* -- the hottest ranges ----------------------------------------------------------- */

static void test_hottest(void)
{
	struct cell cells[] = {
		{ .first = 0, .count = 4, .mean = 5, .max = 40 },
		{ .first = 4, .count = 4 },
		{ .first = 8, .count = 4, .mean = 30, .max = 32 },
		{ .first = 12, .count = 4, .mean = 0, .max = 1 },
		{ .first = 16, .count = 4, .mean = 5, .max = 6 },
	};
	const struct heat_map map = { .extents = 20, .nr = ARRAY_SIZE(cells), .cell = cells };
	static const u64 order[NR_TOP_SORTS][4] = {
		[TOP_BY_MEAN] = { 8, 0, 16, 12 },
		[TOP_BY_MAX] = { 0, 8, 16, 12 },
		[TOP_BY_PLACE] = { 0, 8, 12, 16 },
	};
	const struct cell *found[TOP_MOST_RANGES];

	for (int sort = 0; sort < NR_TOP_SORTS; sort++) {
		REQUIRE_EQ(top_hottest(&map, sort, 100, found), 4);
		for (int i = 0; i < 4; i++)
			REQUIRE(found[i]->first == order[sort][i], "sort %d, %d", sort, i);
	}
	/* the hottest ones, in the order of their places */
	REQUIRE_EQ(top_hottest(&map, TOP_BY_PLACE, 2, found), 2);
	REQUIRE(found[0]->first == 0 && found[1]->first == 8);
	REQUIRE_EQ(top_hottest(&map, TOP_BY_MEAN, 0, found), 0);
	REQUIRE_EQ(top_hottest(&(struct heat_map) { 0 }, TOP_BY_MEAN, 9, found), 0);
}

static const struct unit_test tests[] = {
	{ "the counters of a device", test_parse },
	{ "the moves that only stats has", test_parse_stats },
	{ "rates of two samples", test_rates },
	{ "rates of the landing log", test_rates_of_log },
	{ "devices that vanish, counters that begin again", test_rates_of_nothing },
	{ "hits in a second, a minute, 15 minutes", test_windows },
	{ "hits since it was started", test_short_past },
	{ "hits with other intervals", test_intervals },
	{ "hits of each look", test_past },
	{ "hits since the set was opened again", test_began_again },
	{ "the hottest ranges in each order", test_hottest },
};

UNIT_TESTS(tests)
