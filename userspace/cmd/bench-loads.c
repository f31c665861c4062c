// SPDX-License-Identifier: GPL-2.0-only
/* The loads of the profiles sweep and mix, and what their repetitions come to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "random.h"
#include "size.h"
#include "theil-sen.h"

/* Room for so many I/Os in flight, so that they hardly meet, */
#define ROOM		4
/* and so much memory at most. */
#define MOST_IN_FLIGHT	(256ULL << 20)

/* Of the profile fullness. */
#define STEP_BLOCK	(16ULL << 10)
#define STEP_DEPTH	16

static const struct bench_load mixes[] = {
	{ .name = "file server",
	  .shape = { .sizes = "4k/80:8k/2:16k/4:32k/4:64k/10", .depth = 16, .read_percent = 80,
		     .zoned = true } },
	{ .name = "web server",
	  .shape = { .sizes = "4k/60:8k/15:32k/15:64k/8:128k/1:512k/1", .depth = 16,
		     .read_percent = 100, .zoned = true } },
	{ .name = "database",
	  .shape = { .block = 8192, .depth = 8, .read_percent = 67, .zoned = true } },
	{ .name = "workstation",
	  .shape = { .block = 8192, .depth = 4, .read_percent = 80, .zoned = true } },
	{ .name = "launch", .shape = { .depth = 1, .read_percent = 100 }, .launch = true },
};

static bool add(struct bench *b, const struct bench_load *load)
{
	struct bench_run *more;

	more = realloc(b->run, (b->nr_runs + 1) * sizeof(*more));
	if (!more)
		return false;
	b->run = more;
	b->run[b->nr_runs++] = (struct bench_run) { .load = *load };
	return true;
}

/* Unless the range is too small for it, or it takes too much memory. */
static bool add_random(struct bench *b, enum bench_direction dir, uint64_t block,
		       unsigned int depth)
{
	struct bench_load load = {
		.shape = { .block = block, .depth = depth,
			   .read_percent = dir == BENCH_READ ? 100 : 0 }
	};
	char size[SIZE_TEXT];

	if (ROOM * depth * block > b->size || depth * block > MOST_IN_FLIGHT)
		return true;
	snprintf(load.name, sizeof(load.name), "%s %s, %u in flight", bench_direction_name[dir],
		 fus_size_text(size, block), depth);
	return add(b, &load);
}

/* Sizes by depths; first all that reads. */
static bool add_sweep(struct bench *b)
{
	const unsigned int size_step = b->quick ? 16 : 4, depth_step = b->quick ? 16 : 4;
	const unsigned int most_depth = b->quick ? 16 : 64;

	for (int dir = 0; dir < (b->write ? 2 : 1); dir++)
		for (uint64_t block = 4096; block <= 16 << 20; block *= size_step)
			for (unsigned int depth = 1; depth <= most_depth; depth *= depth_step)
				if (!add_random(b, dir, block, depth))
					return false;
	return true;
}

static bool add_mixes(struct bench *b)
{
	for (size_t i = 0; i < sizeof(mixes) / sizeof(mixes[0]); i++)
		if ((b->write || mixes[i].shape.read_percent == 100) && !add(b, &mixes[i]))
			return false;
	return true;
}

/* Those that are fuller than it is, by a file that is large enough. */
static bool add_steps(struct bench *b)
{
	static const unsigned int steps[] = { 10, 25, 50, 70, 80, 90, BENCH_FULLEST };
	struct bench_load load = { .shape = { .block = STEP_BLOCK, .depth = STEP_DEPTH } };

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		load.percent = steps[i];
		if (b->before.used + BENCH_LEAST_SIZE >= b->before.total / 100.0 * steps[i]) {
			b->left_out = steps[i];
			continue;
		}
		snprintf(load.name, sizeof(load.name), "%u %% full", steps[i]);
		if (!add(b, &load))
			return false;
	}
	return true;
}

/*
 * Each of them so often, in an order that does not favour any: all of them once before any of them
 * again. But what has been filled is not emptied for that.
 */
static bool make_order(struct bench *b)
{
	unsigned long long state = b->seed;

	b->nr_turns = b->nr_runs * b->tries;
	b->turn = calloc(b->nr_turns, sizeof(*b->turn));
	if (!b->turn)
		return false;
	for (unsigned int i = 0; i < b->nr_turns; i++) {
		unsigned int first = i / b->nr_runs * b->nr_runs;
		unsigned int k = first + random64(state += RANDOM_STEP) % (i - first + 1);

		if (b->profile == BENCH_FULLNESS) {
			b->turn[i] = i / b->tries;
			continue;
		}
		b->turn[i] = b->turn[k];
		b->turn[k] = i % b->nr_runs;
	}
	return true;
}

bool bench_loads(struct bench *b)
{
	b->tries = b->quick ? 1 : BENCH_TRIES;
	switch (b->profile) {
	case BENCH_SUSTAINED:
		return bench_series_begin(&b->series, b->seconds);
	case BENCH_FULLNESS:
		b->seconds = b->seconds > b->tries ? b->seconds / b->tries : 1;
		return add_steps(b) && make_order(b);
	case BENCH_MIX:
		b->seconds = b->quick ? 5 : 20;
		return add_mixes(b) && make_order(b);
	default:
		b->seconds = 3;
		return add_sweep(b) && make_order(b);
	}
}

void bench_loads_free(struct bench *b)
{
	free(b->run);
	free(b->turn);
	free(b->series.interval);
}

/* -- results ---------------------------------------------------------------------- */

/* Bytes, or I/Os, in a second, in both directions together. */
static double rate_of(const struct bench_try *t, bool ios)
{
	double rate = 0;

	for (int dir = 0; dir < 2; dir++) {
		const struct fio_side *side = &t->side[dir];

		if (side->seconds > 0)
			rate += (ios ? side->ios : side->bytes) / side->seconds;
	}
	return rate;
}

static double value_of(const struct bench_try *t, enum bench_value what)
{
	switch (what) {
	case BENCH_RATE:	return rate_of(t, false);
	case BENCH_IOS:		return rate_of(t, true);
	case BENCH_READ_MEAN:	return t->side[BENCH_READ].mean;
	case BENCH_READ_P99:	return t->side[BENCH_READ].p99;
	case BENCH_WRITE_MEAN:	return t->side[BENCH_WRITE].mean;
	case BENCH_WRITE_P99:	return t->side[BENCH_WRITE].p99;
	default:		return t->fast_share;
	}
}

struct theil_value bench_run_value(const struct bench_run *r, enum bench_value what)
{
	struct theil_value v = { 0 };
	double value[BENCH_TRIES];

	for (unsigned int i = 0; i < r->nr; i++) {
		value[i] = value_of(&r->try[i], what);
		v.low = !i || value[i] < v.low ? value[i] : v.low;
		v.high = !i || value[i] > v.high ? value[i] : v.high;
	}
	v.is = r->nr ? theil_median(value, r->nr) : 0;
	return v;
}

bool bench_run_has(const struct bench_run *r, enum bench_direction dir)
{
	const unsigned int reads = r->load.shape.read_percent;

	return dir == BENCH_READ ? reads > 0 : reads < 100;
}
