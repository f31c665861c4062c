// SPDX-License-Identifier: GPL-2.0-only
/* Rate and latency of transfers, of all and of those that one member served. */
#include <stdlib.h>

#include "bench.h"
#include "fusionctl.h"

/* A member served a transfer if it had this share of the I/Os. */
#define SERVED		0.9
/* Fewer transfers of a member are no line of their own. */
#define LEAST		8

const char *const bench_direction_name[2] = { "read", "write" };

static bool belongs(const struct bench_line *line, const struct bench_transfer *t)
{
	if (t->dir != line->dir)
		return false;
	switch (line->member) {
	case FAST:
		return t->fast_share >= SERVED;
	case SLOW:
		return t->fast_share >= 0 && t->fast_share <= 1 - SERVED;
	default:
		return true;
	}
}

static unsigned int gather(const struct bench *b, const struct bench_line *line,
			   struct theil_point *point)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < b->nr; i++)
		if (belongs(line, &b->transfer[i]))
			point[nr++] = (struct theil_point) { b->transfer[i].bytes,
							     b->transfer[i].seconds };
	return nr;
}

static void take_line(struct bench_line *line, const struct theil_line *t)
{
	line->known = t->slope.is > 0;
	if (!line->known)
		return;
	line->rate = (struct theil_value) {
		.is = 1 / t->slope.is, .low = 1 / t->slope.high,
		.high = t->slope.low > 0 ? 1 / t->slope.low : 0,
	};
	line->latency = t->at_zero;
	line->outliers = t->outliers;
}

/* An outlier is one of its member's line, if there is such a line. */
static void mark(struct bench *b, struct bench_line *line, const bool *outlier)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < b->nr; i++) {
		struct bench_transfer *t = &b->transfer[i];

		if (!belongs(line, t))
			continue;
		t->outlier = outlier[nr++];
		if (t->outlier && t->seconds > line->slowest)
			line->slowest = t->seconds;
	}
}

static double fast_share(const struct bench *b, const struct bench_line *line)
{
	double fast = 0, all = 0;

	for (unsigned int i = 0; i < b->nr; i++) {
		const struct bench_transfer *t = &b->transfer[i];

		if (!belongs(line, t) || t->fast_share < 0)
			continue;
		fast += t->fast_share * t->bytes;
		all += t->bytes;
	}
	return all ? fast / all : -1;
}

bool bench_find_lines(struct bench *b)
{
	struct theil_point *point = calloc(b->nr + 1, sizeof(*point));
	bool *outlier = calloc(b->nr + 1, sizeof(*outlier));
	bool ok = point && outlier;

	for (unsigned int i = 0; ok && i < BENCH_LINES; i++) {
		struct bench_line *line = &b->line[i];
		struct theil_line t;

		*line = (struct bench_line) { .dir = i / 3, .member = (int)(i % 3) - 1 };
		line->nr = gather(b, line, point);
		line->fast_share = fast_share(b, line);
		if (line->nr < (line->member < 0 ? 2 : LEAST) ||
		    !theil_sen(point, line->nr, &t, outlier))
			continue;
		take_line(line, &t);
		mark(b, line, outlier);
	}
	free(point);
	free(outlier);
	return ok;
}

static bool shows_two(const struct bench *b, enum bench_direction dir)
{
	const struct bench_line *all = &b->line[dir * 3];

	return all[1 + FAST].known && all[1 + SLOW].known;
}

unsigned int bench_served_by_both(const struct bench *b, enum bench_direction dir)
{
	const struct bench_line *all = &b->line[dir * 3];

	return shows_two(b, dir) ? all->nr - all[1 + FAST].nr - all[1 + SLOW].nr : 0;
}

/* Two lines where there are two rates, and otherwise one for all. */
bool bench_shows(const struct bench *b, const struct bench_line *line)
{
	return line->nr && (line->member < 0) != shows_two(b, line->dir);
}
