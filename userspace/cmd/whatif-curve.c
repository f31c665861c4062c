// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hit ratio by the number of extents on the fast member, out of the kernel's histogram of
 * heat. An access adds to the heat of its extent, so a share of the heat is one of the accesses,
 * with those of long ago counting less.
 *
 * Within a bucket all extents count as equally hot. The heat of the module's differs by an
 * eighth at most, so the share is wrong by less than three hundredths of what the bucket has.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "fusionctl.h"
#include "whatif.h"

#define FAST	0
#define SLOW	1

#define NUMBER		"%" SCNu64 " "
#define HEAT_MAX	0xffff	/* of an extent */

static uint64_t nr_of(const struct curve_bucket *b)
{
	return b->nr[FAST] + b->nr[SLOW];
}

static uint64_t sum_of(const struct curve_bucket *b)
{
	return b->sum[FAST] + b->sum[SLOW];
}

/* Can the extents of a bucket with heats of @b->least to @most have this sum? */
static bool possible(const struct curve_bucket *b, uint64_t most)
{
	for (int i = 0; i < 2; i++)
		if (b->sum[i] < b->nr[i] * b->least || b->sum[i] > b->nr[i] * most)
			return false;
	return true;
}

static const char *parse_line(const char *line, uint64_t extents, struct curve *c)
{
	struct curve_bucket *b = &c->bucket[c->nr];
	char end;

	/* strtoull() takes a sign, and the kernel prints none */
	if (strspn(line, "0123456789 ") != strlen(line) ||
	    sscanf(line, NUMBER NUMBER NUMBER NUMBER NUMBER "%c", &b->least, &b->nr[FAST],
		   &b->nr[SLOW], &b->sum[FAST], &b->sum[SLOW], &end) != 5)
		return "a line is not five numbers";
	if (c->nr && b->least <= b[-1].least)
		return "the lines are in the wrong order";
	for (int i = 0; i < 2; i++) {
		if (b->nr[i] > extents - curve_mapped(c))
			return "it has more extents than the set";
		c->extents[i] += b->nr[i];
	}
	if (b->least > HEAT_MAX || !nr_of(b) || !possible(b, HEAT_MAX) ||
	    (c->nr && !possible(b - 1, b->least - 1)))
		return "the numbers contradict each other";
	for (int i = 0; i < 2; i++)
		c->heat[i] += b->sum[i];
	c->nr++;
	return NULL;
}

const char *curve_parse(char *text, uint64_t extents, struct curve *c)
{
	struct curve_bucket swap;
	const char *why;
	char *line;

	memset(c, 0, sizeof(*c));
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		if (c->nr == CURVE_MAX_BUCKETS)
			return "too many lines";
		why = parse_line(line, extents, c);
		if (why)
			return why;
	}
	for (unsigned int i = 0; i < c->nr / 2; i++) {
		swap = c->bucket[i];
		c->bucket[i] = c->bucket[c->nr - 1 - i];
		c->bucket[c->nr - 1 - i] = swap;
	}
	return NULL;
}

uint64_t curve_mapped(const struct curve *c)
{
	return c->extents[FAST] + c->extents[SLOW];
}

static uint64_t heat_of(const struct curve *c)
{
	return c->heat[FAST] + c->heat[SLOW];
}

uint64_t curve_warm(const struct curve *c)
{
	const struct curve_bucket *coldest;

	if (!c->nr)
		return 0;
	coldest = &c->bucket[c->nr - 1];
	return curve_mapped(c) - (coldest->least ? 0 : nr_of(coldest));
}

double curve_now(const struct curve *c)
{
	return heat_of(c) ? (double)c->heat[FAST] / heat_of(c) : 0;
}

double curve_share(const struct curve *c, uint64_t n)
{
	double heat = 0;

	for (unsigned int i = 0; i < c->nr && n; i++) {
		const struct curve_bucket *b = &c->bucket[i];
		uint64_t take = n < nr_of(b) ? n : nr_of(b);

		heat += (double)sum_of(b) * take / nr_of(b);
		n -= take;
	}
	return heat_of(c) ? heat / heat_of(c) : 0;
}

uint64_t curve_needed(const struct curve *c, double share)
{
	uint64_t lo = 0, hi = curve_warm(c), mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (curve_share(c, mid) >= share)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}
