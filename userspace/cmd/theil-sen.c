// SPDX-License-Identifier: GPL-2.0-only
/*
 * A line through points of which some are far off, by Theil and Sen.
 *
 * The slope is the median of the slopes of all pairs of points with different x. Its interval is
 * that of Sen (1968): the number of pairs that are in order has a known variance, if the line
 * explains all, and that gives the ranks of the two slopes that are the bounds.
 *
 * A point is an outlier if it is far off by the measure of the points with the nearest x: times of
 * transfers vary by a share of themselves, and by the turns of a disk, so no measure fits all.
 *
 * Where x is 0, y is the median of y - slope * x of the lower half of the others: at large x even a
 * slight error of the slope is more than all of that value. The ranks of the bounds of a median are
 * those of a fair coin; the bounds take the other end of the slope's interval, so they are wide
 * rather than narrow.
 */
#include <math.h>
#include <stdlib.h>

#include "theil-sen.h"

#define Z95		1.959964	/* of the normal distribution, for 95 percent */
#define MAD_SIGMA	1.4826		/* its standard deviation, by the median deviation */
#define OUTLIER_SIGMAS	3
#define OUTLIER_LEAST	0.1		/* of the line, however close the others are */
#define NEAREST		15		/* points on each side */

struct place {
	struct theil_point p;
	size_t index;		/* as the caller has it */
	bool outlier;
};

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static int by_x(const void *a, const void *b)
{
	return by_value(&((const struct place *)a)->p.x, &((const struct place *)b)->p.x);
}

static double middle(const double *sorted, size_t nr)
{
	return (sorted[(nr - 1) / 2] + sorted[nr / 2]) / 2;
}

double theil_median(double *value, size_t nr)
{
	qsort(value, nr, sizeof(*value), by_value);
	return middle(value, nr);
}

/* The median of sorted values, and the two that are @half ranks from it. */
static struct theil_value around(const double *sorted, size_t nr, double half)
{
	double low = floor((nr - 1) / 2.0 - half), high = ceil((nr - 1) / 2.0 + half);

	return (struct theil_value) {
		.is = middle(sorted, nr),
		.low = sorted[low > 0 ? (size_t)low : 0],
		.high = sorted[high < nr - 1 ? (size_t)high : nr - 1],
	};
}

/* n (n - 1) (2 n + 5) */
static double term(double n)
{
	return n * (n - 1) * (2 * n + 5);
}

/* Of the number of pairs in order less that of the others; points of one x are no pairs. */
static double variance(const struct place *sorted, size_t nr)
{
	double sum = term(nr);

	for (size_t i = 0, end; i < nr; i = end) {
		for (end = i + 1; end < nr && sorted[end].p.x == sorted[i].p.x;)
			end++;
		sum -= term(end - i);
	}
	return sum / 18;
}

static int sign(double v)
{
	return (v > 0) - (v < 0);
}

/*
 * The same from the points as they are: where times vary with the size, they are no less likely to
 * be out of order among large ones, so the former is too small.
 */
static double variance_found(const struct place *sorted, size_t nr, double slope)
{
	double sum = 0;

	for (size_t i = 0; i < nr; i++) {
		double more = 0;

		for (size_t j = 0; j < nr; j++) {
			double x = sorted[j].p.x - sorted[i].p.x;

			more += sign(x) * sign(sorted[j].p.y - sorted[i].p.y - slope * x);
		}
		sum += more * more;
	}
	return sum;
}

static bool find_slope(const struct place *sorted, size_t nr, double *slope,
		       struct theil_value *out)
{
	size_t pairs = 0;
	double spread;

	for (size_t i = 0; i < nr; i++)
		for (size_t j = i + 1; j < nr; j++)
			if (sorted[j].p.x > sorted[i].p.x)
				slope[pairs++] = (sorted[j].p.y - sorted[i].p.y) /
						 (sorted[j].p.x - sorted[i].p.x);
	if (!pairs)
		return false;
	qsort(slope, pairs, sizeof(*slope), by_value);
	spread = fmax(variance(sorted, nr), variance_found(sorted, nr, middle(slope, pairs)));
	*out = around(slope, pairs, Z95 * sqrt(spread) / 2);
	return true;
}

/* The lower half, and all that have the x of its last one. */
static size_t lower_half(const struct place *sorted, size_t nr)
{
	size_t half = (nr + 1) / 2;

	while (half < nr && sorted[half].p.x == sorted[half - 1].p.x)
		half++;
	return half;
}

static struct theil_value at_zero(const struct place *sorted, size_t nr, double slope,
				  double *rest)
{
	size_t left = 0;

	for (size_t i = 0; i < nr; i++)
		if (!sorted[i].outlier)
			rest[left++] = sorted[i].p.y - slope * sorted[i].p.x;
	qsort(rest, left, sizeof(*rest), by_value);
	return around(rest, left, Z95 * sqrt(left) / 2);
}

static void find_at_zero(const struct place *sorted, size_t nr, struct theil_line *line,
			 double *rest)
{
	nr = lower_half(sorted, nr);
	line->at_zero = at_zero(sorted, nr, line->slope.is, rest);
	line->at_zero.low = at_zero(sorted, nr, line->slope.high, rest).low;
	line->at_zero.high = at_zero(sorted, nr, line->slope.low, rest).high;
}

static double line_at(const struct theil_line *line, double x)
{
	return line->at_zero.is + line->slope.is * x;
}

static double distance(const struct theil_line *line, const struct theil_point *p)
{
	return fabs(p->y - line_at(line, p->x));
}

/* The usual distance of the points around this one. */
static double spread_at(const struct place *sorted, size_t nr, size_t i,
			const struct theil_line *line)
{
	size_t first = i > NEAREST ? i - NEAREST : 0, end = i + NEAREST + 1;
	double far[2 * NEAREST + 1] = { };

	end = end < nr ? end : nr;
	for (size_t k = first; k < end; k++)
		far[k - first] = distance(line, &sorted[k].p);
	return MAD_SIGMA * theil_median(far, end - first);
}

/* Fewer than half of any neighbours, as their measure is a median. */
static void find_outliers(struct place *sorted, size_t nr, struct theil_line *line)
{
	line->outliers = 0;
	for (size_t i = 0; i < nr; i++) {
		double far = distance(line, &sorted[i].p);

		sorted[i].outlier = far > OUTLIER_LEAST * fabs(line_at(line, sorted[i].p.x)) &&
				    far > OUTLIER_SIGMAS * spread_at(sorted, nr, i, line);
		line->outliers += sorted[i].outlier;
	}
}

static bool find_line(struct place *sorted, size_t nr, struct theil_line *line, double *value)
{
	if (!find_slope(sorted, nr, value, &line->slope))
		return false;
	/* the second one is without outliers, of which the first knows none */
	find_at_zero(sorted, nr, line, value);
	find_outliers(sorted, nr, line);
	find_at_zero(sorted, nr, line, value);
	return true;
}

bool theil_sen(const struct theil_point *point, size_t nr, struct theil_line *line, bool *outlier)
{
	struct place *sorted;
	double *value;
	bool ok;

	if (nr < 2)
		return false;
	sorted = calloc(nr, sizeof(*sorted));
	value = calloc(nr * (nr - 1) / 2 + nr, sizeof(*value));
	ok = sorted && value;
	for (size_t i = 0; ok && i < nr; i++)
		sorted[i] = (struct place) { .p = point[i], .index = i };
	if (ok) {
		qsort(sorted, nr, sizeof(*sorted), by_x);
		ok = find_line(sorted, nr, line, value);
	}
	for (size_t i = 0; ok && i < nr; i++)
		outlier[sorted[i].index] = sorted[i].outlier;
	free(value);
	free(sorted);
	return ok;
}
