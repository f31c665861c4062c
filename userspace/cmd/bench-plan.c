// SPDX-License-Identifier: GPL-2.0-only
/*
 * The transfers: sizes in a geometric row, each as often, in random order. What was written in the
 * first half of the time is read in the first half as well, so that half of all lies between.
 */
#include <math.h>
#include <stdlib.h>

#include "bench.h"
#include "random.h"

#define QUICK_SIZES	8
#define EACH		10
#define QUICK_EACH	4

static uint64_t below(uint64_t *state, uint64_t n)
{
	return random64(*state += RANDOM_STEP) % n;
}

static void shuffle(unsigned int *v, unsigned int nr, uint64_t *state)
{
	for (unsigned int i = nr; i > 1; i--) {
		unsigned int k = below(state, i), was = v[i - 1];

		v[i - 1] = v[k];
		v[k] = was;
	}
}

uint64_t bench_whole(uint64_t bytes)
{
	uint64_t nr = fio_blocks(bytes), whole;

	if (!nr)
		return 0;

	/* rounded down so far, it is of fewer I/Os, which are as large as can be then */
	whole = bytes / (nr * BENCH_UNIT) * nr * BENCH_UNIT;
	return fio_blocks(whole) == nr ? whole : (nr - 1) * FIO_BLOCK;
}

static uint64_t size_of(const struct bench_plan *p, unsigned int i)
{
	double growth = pow((double)p->most / BENCH_LEAST, i / (p->nr_sizes - 1.0));

	return bench_whole(llround(BENCH_LEAST * growth));
}

/* One behind the other in random order, with gaps that are random parts of the room left. */
static bool lay_out(struct bench_plan *p, uint64_t *state, uint64_t device_bytes)
{
	uint64_t units = device_bytes / BENCH_UNIT, at = 0, room;

	if (units < p->total / BENCH_UNIT)
		return false;
	room = units - p->total / BENCH_UNIT;
	for (unsigned int i = 0; i < p->nr; i++) {
		struct bench_place *place = &p->place[p->order[BENCH_READ][i]];
		uint64_t gap = below(state, 2 * (room / (p->nr - i)) + 1);

		gap = gap < room ? gap : room;
		room -= gap;
		at += gap * BENCH_UNIT;
		place->at = at;
		at += place->bytes;
	}
	return true;
}

static bool allocate(struct bench_plan *p)
{
	p->place = calloc(p->nr, sizeof(*p->place));
	p->order[BENCH_READ] = calloc(p->nr, sizeof(unsigned int));
	p->order[BENCH_WRITE] = calloc(p->nr, sizeof(unsigned int));
	return p->place && p->order[BENCH_READ] && p->order[BENCH_WRITE];
}

const char *bench_plan(struct bench_plan *p, bool quick, uint64_t most, uint64_t seed,
		       uint64_t device_bytes)
{
	unsigned int *writes, *reads, half;
	uint64_t state = seed;

	*p = (struct bench_plan) {
		.nr_sizes = quick ? QUICK_SIZES : BENCH_SIZES, .each = quick ? QUICK_EACH : EACH,
		.most = most,
	};
	p->nr = p->nr_sizes * p->each;
	if (!allocate(p))
		return "not enough memory";
	writes = p->order[BENCH_WRITE];
	reads = p->order[BENCH_READ];
	for (unsigned int i = 0; i < p->nr; i++) {
		p->place[i].bytes = size_of(p, i / p->each);
		p->total += p->place[i].bytes;
		writes[i] = i;
		reads[i] = i;
	}
	shuffle(reads, p->nr, &state);
	if (device_bytes && !lay_out(p, &state, device_bytes))
		return "too small";
	shuffle(writes, p->nr, &state);
	half = p->nr / 2;
	for (unsigned int i = 0; i < p->nr; i++)
		reads[i] = writes[i];
	shuffle(reads, half, &state);
	shuffle(reads + half, p->nr - half, &state);
	return NULL;
}

bool bench_plan_one(struct bench_plan *p, uint64_t bytes)
{
	*p = (struct bench_plan) {
		.nr_sizes = 1, .each = 1, .nr = 1, .most = bytes, .total = bytes
	};
	if (!allocate(p))
		return false;
	p->place[0].bytes = bytes;
	return true;
}

void bench_plan_free(struct bench_plan *p)
{
	free(p->place);
	free(p->order[BENCH_READ]);
	free(p->order[BENCH_WRITE]);
}

uint64_t bench_plan_between(const struct bench_plan *p)
{
	unsigned int half = p->nr / 2;
	uint64_t first = 0;

	for (unsigned int i = 0; i < half; i++)
		first += p->place[p->order[BENCH_WRITE][i]].bytes;
	/* the first half passes before the second one is read, and the second is written before */
	return first < p->total - first ? first : p->total - first;
}
