// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lines by Theil and Sen: known points, a slow and simple calculation of the same, and times of
 * transfers of which some are slowed.
 */
#include <math.h>

#include "unit.h"

#include "theil-sen.h"

#define MIB		1048576.0
#define SIZES		16
#define EACH		10
#define NR		(SIZES * EACH)
#define RATE		150e6
#define LATENCY		0.0128
#define TINY		0.000000001

static struct theil_point points[NR];
static struct theil_line line;
static bool outlier[NR];

static double uniform(u64 *seed)
{
	return (rnd(seed) >> 11) / 9007199254740992.0;
}

static bool near(double a, double b, double share)
{
	return fabs(a - b) <= share * fabs(b);
}

/* By known values, among them one that is far off. */
static void known(void)
{
	const struct theil_point five[] = { { 1, 3 }, { 2, 5 }, { 3, 7 }, { 4, 9 }, { 5, 110 } };
	const struct theil_point one[] = { { 1, 3 }, { 1, 5 } };
	double odd[] = { 9, 1, 5 }, even[] = { 4, 1, 3, 2 };

	REQUIRE(theil_sen(five, 5, &line, outlier));
	REQUIRE(line.slope.is == 2, "%g", line.slope.is);
	REQUIRE(line.at_zero.is == 1, "%g", line.at_zero.is);
	REQUIRE_EQ(line.outliers, 1);
	REQUIRE(outlier[4] && !outlier[3]);
	REQUIRE(!theil_sen(five, 1, &line, outlier));
	REQUIRE(!theil_sen(five, 0, &line, outlier));
	REQUIRE(!theil_sen(one, 2, &line, outlier));
	REQUIRE(theil_median(odd, 3) == 5);
	REQUIRE(theil_median(even, 4) == 2.5);
}

/* Points in any order have the same line. */
static void order(void)
{
	struct theil_point turned[5] = { { 5, 110 }, { 2, 5 }, { 4, 9 }, { 1, 3 }, { 3, 7 } };

	REQUIRE(theil_sen(turned, 5, &line, outlier));
	REQUIRE(line.slope.is == 2 && line.at_zero.is == 1, "%g %g", line.slope.is,
		line.at_zero.is);
	REQUIRE(outlier[0] && !outlier[1]);
}

/* The slope that has as many above it as below, found without sorting. */
static void compare_naive(void)
{
	static double slope[NR * NR];
	u64 seed = 7;

	for (int round = 0; round < 200; round++) {
		unsigned int nr = 2 + rnd_below(&seed, 30), pairs = 0, below = 0, above = 0;

		for (unsigned int i = 0; i < nr; i++) {
			points[i].x = rnd_below(&seed, 12);
			points[i].y = uniform(&seed) * 100 - 50;
		}
		for (unsigned int i = 0; i < nr; i++)
			for (unsigned int j = 0; j < i; j++)
				if (points[i].x != points[j].x)
					slope[pairs++] = (points[i].y - points[j].y) /
							 (points[i].x - points[j].x);
		REQUIRE_EQ(theil_sen(points, nr, &line, outlier), !!pairs);
		if (!pairs)
			continue;
		for (unsigned int i = 0; i < pairs; i++) {
			below += slope[i] < line.slope.is - TINY;
			above += slope[i] > line.slope.is + TINY;
		}
		REQUIRE(below <= pairs / 2 && above <= pairs / 2, "%u and %u of %u", below, above,
			pairs);
		REQUIRE(line.slope.low <= line.slope.is && line.slope.is <= line.slope.high);
		REQUIRE(line.at_zero.low <= line.at_zero.is &&
			line.at_zero.is <= line.at_zero.high);
	}
}

/* A disk of RATE; the latency is that of a random turn, and @slowed of a hundred take @times. */
static void transfers(u64 *seed, unsigned int each, unsigned int slowed, double times)
{
	for (unsigned int i = 0; i < SIZES * each; i++) {
		struct theil_point *p = &points[i];

		p->x = floor(2 * pow(1024, i / each / (SIZES - 1.0)) * 16) * MIB / 16;
		p->y = LATENCY * (0.7 + 0.6 * uniform(seed)) +
		       p->x / RATE * (0.998 + 0.004 * uniform(seed));
		if (rnd_below(seed, 100) < slowed)
			p->y *= times;
	}
}

/*
 * A tenth that is slowed tenfold moves neither value. The turns of the disk alone are worth 4
 * percent of the latency, so that three of a hundred may be farther off.
 */
static void slowed_tenth(void)
{
	unsigned int rate = 0, latency = 0, close = 0;
	double mean = 0;
	u64 seed = 1;

	for (int round = 0; round < 100; round++) {
		transfers(&seed, EACH, 10, 10);
		REQUIRE(theil_sen(points, NR, &line, outlier));
		REQUIRE(near(1 / line.slope.is, RATE, 0.02), "%g", 1 / line.slope.is);
		REQUIRE(line.outliers >= 3 && line.outliers <= 40, "%zu", line.outliers);
		rate += line.slope.low <= 1 / RATE && 1 / RATE <= line.slope.high;
		latency += line.at_zero.low <= LATENCY && LATENCY <= line.at_zero.high;
		close += near(line.at_zero.is, LATENCY, 0.1);
		mean += line.at_zero.is / 100;
	}
	REQUIRE(close >= 97, "%u of 100", close);
	REQUIRE(near(mean, LATENCY, 0.01), "%g", mean);
	REQUIRE(rate >= 90, "the interval has the rate in %u of 100", rate);
	REQUIRE(latency >= 90, "the interval has the latency in %u of 100", latency);
}

/* Large transfers vary more, as on a disk with zones: the interval is wide enough all the same. */
static void in_proportion(void)
{
	unsigned int rate = 0;
	u64 seed = 3;

	for (int round = 0; round < 400; round++) {
		transfers(&seed, EACH, 0, 1);
		for (unsigned int i = 0; i < NR; i++)
			points[i].y *= 0.8 + 0.4 * uniform(&seed);
		REQUIRE(theil_sen(points, NR, &line, outlier));
		rate += line.slope.low <= 1 / RATE && 1 / RATE <= line.slope.high;
	}
	REQUIRE(rate >= 93 * 4, "the interval has the rate in %u of 400", rate);
}

/* Least squares do not bear that: the reason for all of this. */
static void least_squares(void)
{
	double mx = 0, my = 0, xy = 0, xx = 0;
	u64 seed = 1;

	transfers(&seed, EACH, 10, 10);
	for (int i = 0; i < NR; i++) {
		mx += points[i].x / NR;
		my += points[i].y / NR;
	}
	for (int i = 0; i < NR; i++) {
		xy += (points[i].x - mx) * (points[i].y - my);
		xx += (points[i].x - mx) * (points[i].x - mx);
	}
	REQUIRE(!near(xx / xy, RATE, 0.1), "%g", xx / xy);
}

/* The interval of so many undisturbed points is narrow, and that of a few is wide. */
static void intervals(void)
{
	double many, few;
	u64 seed = 3;

	transfers(&seed, EACH, 0, 1);
	REQUIRE(theil_sen(points, NR, &line, outlier));
	REQUIRE_EQ(line.outliers, 0);
	many = (line.slope.high - line.slope.low) / line.slope.is;
	REQUIRE(many < 0.02, "%g", many);
	transfers(&seed, 1, 0, 1);
	REQUIRE(theil_sen(points, SIZES, &line, outlier));
	few = (line.slope.high - line.slope.low) / line.slope.is;
	REQUIRE(few > many, "%g, %g", few, many);
}

static const struct unit_test tests[] = {
	{ "known points", known },
	{ "points in any order", order },
	{ "the same as a simple calculation", compare_naive },
	{ "a tenth slowed tenfold", slowed_tenth },
	{ "times that vary in proportion", in_proportion },
	{ "least squares would not do", least_squares },
	{ "the width of the interval", intervals },
};

UNIT_TESTS(tests)
