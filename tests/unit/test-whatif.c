// SPDX-License-Identifier: GPL-2.0-only
/*
 * fusionctl whatif: the curve, from histograms as the module prints them. Its values for extents
 * with any heat are compared with the result of sorting them.
 */
#include <math.h>

#include "unit.h"

#include "dm-fusion-policy.h"
#include "whatif.h"

#define NR		3000
#define TINY		0.000000001
/* Extents of a bucket count as equally hot, and their heats differ by an eighth. */
#define ERROR		0.03

struct extent {
	u32 heat;
	bool fast;
};

static struct extent extents[NR];
static struct curve curve;
static char text[CURVE_MAX_BUCKETS * 64];

static int hotter(const void *a, const void *b)
{
	const struct extent *ea = a, *eb = b;

	return ea->heat > eb->heat ? -1 : ea->heat < eb->heat;
}

/* As message_histogram() in the module does it. */
static void print_histogram(unsigned int nr)
{
	static struct {
		u32 least, nr[2];
		u64 sum[2];
	} hist[FUSION_BUCKETS];
	size_t n = 0;
	u32 i, b, least;

	memset(hist, 0, sizeof(hist));
	for (i = 0; i < nr; i++) {
		b = fusion_policy_bucket(extents[i].heat, &least);
		REQUIRE(b < FUSION_BUCKETS && least <= extents[i].heat, "heat %u",
			extents[i].heat);
		hist[b].least = least;
		hist[b].nr[!extents[i].fast]++;
		hist[b].sum[!extents[i].fast] += extents[i].heat;
	}
	*text = 0;
	for (b = 0; b < FUSION_BUCKETS; b++)
		if (hist[b].nr[0] || hist[b].nr[1])
			n += sprintf(text + n, "%u %u %u %llu %llu\n", hist[b].least,
				     hist[b].nr[0], hist[b].nr[1],
				     (unsigned long long)hist[b].sum[0],
				     (unsigned long long)hist[b].sum[1]);
}

static void parse(const char *histogram, u64 nr)
{
	static char copy[sizeof(text)];
	const char *why;

	strcpy(copy, histogram);
	why = curve_parse(copy, nr, &curve);
	REQUIRE(!why, "%s", why);
}

static void check_against_sorting(unsigned int nr)
{
	double heat = 0, fast = 0, sum = 0, share, before = 0, step, last_step = INFINITY;
	unsigned int i, warm = 0;

	print_histogram(nr);
	parse(text, NR);
	qsort(extents, nr, sizeof(*extents), hotter);
	for (i = 0; i < nr; i++) {
		heat += extents[i].heat;
		warm += !!extents[i].heat;
		if (extents[i].fast)
			fast += extents[i].heat;
	}
	REQUIRE_EQ(curve_mapped(&curve), nr);
	REQUIRE_EQ(curve_warm(&curve), warm);
	REQUIRE(fabs(curve_now(&curve) - fast / heat) < TINY, "%f", curve_now(&curve));
	REQUIRE(!curve_share(&curve, 0));
	for (i = 0; i < nr; i++) {
		sum += extents[i].heat;
		share = curve_share(&curve, i + 1);
		REQUIRE(fabs(share - sum / heat) < ERROR, "%u: %f, not %f", i + 1, share,
			sum / heat);
		/* no placement is better, and what comes later gains less */
		REQUIRE(share <= sum / heat + TINY, "%u: %f, more than %f", i + 1, share,
			sum / heat);
		step = share - before;
		REQUIRE(step > -TINY && step < last_step + TINY, "%u: %f after %f", i + 1, step,
			last_step);
		before = share;
		last_step = step;
	}
	REQUIRE(fabs(curve_share(&curve, warm) - 1) < TINY);
	REQUIRE(fabs(curve_share(&curve, U64_MAX) - 1) < TINY);
	for (i = 1; i < 100; i++) {
		u64 n = curve_needed(&curve, i / 100.0);

		REQUIRE(n && curve_share(&curve, n) >= i / 100.0, "%u %%: %llu", i,
			(unsigned long long)n);
		REQUIRE(curve_share(&curve, n - 1) < i / 100.0, "%u %%: %llu", i,
			(unsigned long long)n);
	}
}

static void test_random(void)
{
	unsigned int round, i, nr;
	u64 seed = 1;

	for (round = 0; round < 200; round++) {
		nr = 2 + rnd_below(&seed, NR - 1);
		for (i = 0; i < nr; i++) {
			extents[i].heat = rnd_below(&seed, 3) ? rnd_log(&seed, 1, 0xffff) : 0;
			extents[i].fast = rnd_below(&seed, 2);
		}
		extents[0].heat = 1;
		check_against_sorting(nr);
	}
}

/* With one heat a bucket there is nothing to be guessed. */
static void test_exact(void)
{
	parse("0 10 20 0 0\n4 5 5 20 20\n100 1 3 100 300\n", 1000);
	REQUIRE_EQ(curve_mapped(&curve), 44);
	REQUIRE_EQ(curve_warm(&curve), 14);
	REQUIRE(fabs(curve_now(&curve) - 120.0 / 440) < TINY);
	REQUIRE(fabs(curve_share(&curve, 1) - 100.0 / 440) < TINY);
	REQUIRE(fabs(curve_share(&curve, 4) - 400.0 / 440) < TINY);
	REQUIRE(fabs(curve_share(&curve, 9) - 420.0 / 440) < TINY);
	REQUIRE(fabs(curve_share(&curve, 14) - 1) < TINY);
	REQUIRE_EQ(curve_needed(&curve, 0.9), 4);
	REQUIRE_EQ(curve_needed(&curve, 1), 14);
	/* hottest first */
	REQUIRE_EQ(curve.bucket[0].least, 100);
	REQUIRE_EQ(curve.bucket[2].nr[1], 20);
}

static void test_cold(void)
{
	static const char *const cold[] = { "", "0 3 4 0 0\n" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cold); i++) {
		parse(cold[i], 10);
		REQUIRE_EQ(curve_mapped(&curve), i ? 7 : 0);
		REQUIRE_EQ(curve_warm(&curve), 0);
		REQUIRE_EQ(curve_needed(&curve, 0.9), 0);
		REQUIRE(!curve_now(&curve) && !curve_share(&curve, 5));
	}
}

static void test_bad(void)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "x", "a line is not five numbers" },
		{ "4 1 1 4", "a line is not five numbers" },
		{ "4 1 1 4 4 4", "a line is not five numbers" },
		{ "4 1 -1 4 4", "a line is not five numbers" },
		{ "4 1 1 4 4x", "a line is not five numbers" },
		{ "4 1 1 4 4\n\t", "a line is not five numbers" },
		{ "8 1 1 8 8\n4 1 1 4 4", "the lines are in the wrong order" },
		{ "4 1 1 4 4\n4 1 1 4 4", "the lines are in the wrong order" },
		{ "4 101 0 404 0", "it has more extents than the set" },
		{ "4 60 41 240 164", "it has more extents than the set" },
		{ "4 60 0 240 0\n5 41 0 205 0", "it has more extents than the set" },
		{ "4 18446744073709551615 2 0 0", "it has more extents than the set" },
		/* a heat that none can have, no extents, less than the least, more than the most */
		{ "65536 1 0 65536 0", "the numbers contradict each other" },
		{ "4 0 0 0 0", "the numbers contradict each other" },
		{ "4 2 0 7 0", "the numbers contradict each other" },
		{ "4 2 0 8 1", "the numbers contradict each other" },
		{ "4 1 0 65536 0", "the numbers contradict each other" },
		/* heat of the bucket after it */
		{ "4 1 0 5 0\n5 1 0 5 0", "the numbers contradict each other" },
		{ "4 1 1 4 5\n5 1 0 5 0", "the numbers contradict each other" },
	};
	char copy[64];
	unsigned int i;
	const char *why;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		strcpy(copy, bad[i].text);
		why = curve_parse(copy, 100, &curve);
		REQUIRE(why && !strcmp(why, bad[i].why), "%s: %s", bad[i].text, why);
	}
}

/* More lines than there is room for, and anything at all; the sanitizers watch. */
static void test_noise(void)
{
	static const char set[] = "\n 0123456789-x\t\xff";
	unsigned int round, i;
	const char *why;
	size_t n = 0;
	u64 seed = 3;

	for (i = 0; i <= CURVE_MAX_BUCKETS; i++)
		n += sprintf(text + n, "%u 1 0 %u 0\n", i, i);
	why = curve_parse(text, U32_MAX, &curve);
	REQUIRE(why && !strcmp(why, "too many lines"), "%s", why);

	for (round = 0; round < 100000; round++) {
		strcpy(text, "0 10 20 0 0\n4 5 5 20 20\n100 1 3 100 300\n");
		for (i = 0; i < 1 + round % 4; i++)
			text[rnd_below(&seed, strlen(text))] = set[rnd_below(&seed,
									    sizeof(set) - 1)];
		if (curve_parse(text, 100, &curve))
			continue;
		REQUIRE(curve_mapped(&curve) <= 100);
		REQUIRE(curve_share(&curve, 50) <= 1 + TINY && curve_now(&curve) <= 1);
	}
}

static const struct unit_test tests[] = {
	{ "whatif: as by sorting", test_random },
	{ "whatif: one heat a bucket", test_exact },
	{ "whatif: cold sets", test_cold },
	{ "whatif: histograms that are none", test_bad },
	{ "whatif: noise", test_noise },
};

UNIT_TESTS(tests)
