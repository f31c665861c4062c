// SPDX-License-Identifier: GPL-2.0-only
/*
 * The intervals of profile sustained, and whether their rates fall for good. A fall is where two
 * medians fit the rates best, by the sum of what the rates are off, if
 *
 * - four fifths of the rates before it are above four fifths of those after it, so that it is more
 *   than their spread, and nothing that passes;
 * - the median falls by a tenth at least, and by twice the width of the middle three fifths of the
 *   rates on either side: a disk that is slow for a while may be so by chance;
 * - half of that comes about at this place, not step by step;
 * - an eighth of the intervals is after it, in no part of which the rate is back.
 */
#include <math.h>
#include <stdlib.h>

#include "bench.h"

#define MOST_INTERVALS	180
#define LEAST		5	/* intervals before a fall, and after it */
#define AFTER		8	/* and this part of them after it */
#define LEAST_FALL	0.1	/* of the rate before it */
#define LEAST_SPREAD	2	/* times the spread */
#define LEAST_AT_ONCE	0.5	/* of the fall */
#define NEAR		12	/* that is, among this part of the intervals on each side */

bool bench_series_begin(struct bench_series *s, unsigned int seconds)
{
	s->every = (seconds + MOST_INTERVALS - 1) / MOST_INTERVALS;
	/* and one more at the end */
	s->room = seconds / s->every + 1;
	s->nr = 0;
	s->interval = calloc(s->room, sizeof(*s->interval));
	return s->interval;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Their median, and what a fifth is below, and above. Sorts them. */
static struct theil_value spread(double *rate, unsigned int nr)
{
	qsort(rate, nr, sizeof(*rate), compare);
	return (struct theil_value) {
		.is = (rate[(nr - 1) / 2] + rate[nr / 2]) / 2,
		.low = rate[(nr - 1) / 5], .high = rate[nr - 1 - (nr - 1) / 5],
	};
}

static double rate_of(const struct bench_interval *i)
{
	return i->seconds > 0 ? i->bytes / i->seconds : 0;
}

static struct theil_value spread_of(const struct bench_series *s, unsigned int first,
				    unsigned int nr, double *scratch)
{
	for (unsigned int i = 0; i < nr; i++)
		scratch[i] = rate_of(&s->interval[first + i]);
	return spread(scratch, nr);
}

/* How far the rates are off their median, in all. */
static double off(const struct bench_series *s, unsigned int first, unsigned int nr,
		  double *scratch)
{
	const double median = spread_of(s, first, nr, scratch).is;
	double sum = 0;

	for (unsigned int i = 0; i < nr; i++)
		sum += fabs(scratch[i] - median);
	return sum;
}

/* Is there a part after the fall whose median is nearer to the rate before it? */
static bool comes_back(const struct bench_series *s, unsigned int at, unsigned int near,
		       double between, double *scratch)
{
	for (; at + near <= s->nr; at++)
		if (spread_of(s, at, near, scratch).is > between)
			return true;
	return false;
}

static bool is_fall(const struct bench_series *s, unsigned int at, double *scratch)
{
	const struct theil_value before = spread_of(s, 0, at, scratch);
	const struct theil_value after = spread_of(s, at, s->nr - at, scratch);
	unsigned int near = s->nr / NEAR > LEAST ? s->nr / NEAR : LEAST;
	const double fall = before.is - after.is;
	const double width = (before.high - before.low + after.high - after.low) / 2;
	double at_once;

	if (s->nr - at < s->nr / AFTER)
		return false;
	near = near < at ? near : at;
	near = near < s->nr - at ? near : s->nr - at;
	at_once = spread_of(s, at - near, near, scratch).is - spread_of(s, at, near, scratch).is;
	return before.low > after.high && fall >= LEAST_FALL * before.is &&
	       fall >= LEAST_SPREAD * width && at_once >= LEAST_AT_ONCE * fall &&
	       !comes_back(s, at, near, (before.is + after.is) / 2, scratch);
}

/* Return: how many intervals are before the fall; 0: there is none. */
static unsigned int find_fall(const struct bench_series *s, double *scratch)
{
	unsigned int best = 0;
	double least = INFINITY;

	for (unsigned int at = LEAST; at + LEAST <= s->nr; at++) {
		double sum = off(s, 0, at, scratch) + off(s, at, s->nr - at, scratch);

		if (sum >= least)
			continue;
		least = sum;
		best = at;
	}
	return best && is_fall(s, best, scratch) ? best : 0;
}

struct bench_phase bench_phase_of(const struct bench_series *s, const char *name,
				  unsigned int first, unsigned int nr)
{
	struct bench_phase p = { .name = name, .first = first, .nr = nr, .fast_share = -1 };
	double fast = 0, known = 0;

	for (unsigned int i = first; i < first + nr; i++) {
		const struct bench_interval *v = &s->interval[i];

		p.seconds += v->seconds;
		p.bytes += v->bytes;
		if (v->fast_share < 0)
			continue;
		fast += v->fast_share * v->bytes;
		known += v->bytes;
	}
	if (known > 0)
		p.fast_share = fast / known;
	if (p.seconds > 0)
		p.rate.is = p.bytes / p.seconds;
	return p;
}

static void add_phase(struct bench_series *s, const char *name, unsigned int first,
		      unsigned int nr, double *scratch)
{
	const struct theil_value spread = spread_of(s, first, nr, scratch);
	struct bench_phase *p = &s->phase[s->nr_phases++];

	*p = bench_phase_of(s, name, first, nr);
	p->rate.low = spread.low;
	p->rate.high = spread.high;
}

bool bench_find_fall(struct bench_series *s)
{
	double *scratch = calloc(s->nr + 1, sizeof(*scratch));
	unsigned int at;

	s->nr_phases = 0;
	if (!scratch)
		return false;
	if (s->nr)
		add_phase(s, "all", 0, s->nr, scratch);
	at = find_fall(s, scratch);
	if (at) {
		add_phase(s, "before", 0, at, scratch);
		add_phase(s, "after", at, s->nr - at, scratch);
	}
	free(scratch);
	return true;
}
