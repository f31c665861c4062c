// SPDX-License-Identifier: GPL-2.0-only
/*
 * Profile honest: write transfers of sizes from 2 MiB on in random order, read them in another
 * order, each once, and watch meanwhile whether they are what they seem.
 */
#include <stdlib.h>

#include "bench.h"
#include "error.h"
#include "fusionctl.h"
#include "progress.h"

#define EXTRA_BYTES	(64ULL << 20)	/* most for zeros, and for reading again */
#define TRIES		3

/* -- transfers ---------------------------------------------------------------------- */

static int measure(const struct bench_work *r, enum bench_direction dir, unsigned int place)
{
	struct fio_job job = bench_job(r, dir, place);
	const uint64_t asked[2] = {
		dir == BENCH_READ ? job.bytes : 0, dir == BENCH_WRITE ? job.bytes : 0
	};
	struct bench_transfer *t = &r->b->transfer[r->b->nr];
	struct bench_count was, is;
	struct fio_result result;
	int rc = bench_counted(r, &job, &result, &was, &is);

	if (rc)
		return rc;
	*t = (struct bench_transfer) {
		.dir = dir, .at = job.at, .bytes = job.bytes, .seconds = result.seconds,
		.fast_share = bench_fast_share(&was, &is, dir == BENCH_READ,
					       dir == BENCH_WRITE),
	};
	r->b->nr++;
	bench_add_facts(&r->b->facts, asked, &was, &is);
	if (!r->b->write)
		bench_look_for_zeros(r, job.at, job.bytes);
	fus_progress_add(t->bytes);
	return 0;
}

static int measure_all(const struct bench_work *r, enum bench_direction dir)
{
	const struct bench_plan *p = &r->b->plan;
	int rc = bench_idle(r);

	for (unsigned int i = 0; i < p->nr && !rc; i++)
		rc = measure(r, dir, p->order[dir][i]);
	return rc;
}

/* -- caches and compression --------------------------------------------------------- */

/* A place of the size that is next to EXTRA_BYTES, or of the largest. */
static unsigned int extra_place(const struct bench_plan *p)
{
	unsigned int place = 0;

	while (place + p->each < p->nr && p->place[place].bytes < EXTRA_BYTES)
		place += p->each;
	return place;
}

/* The same once more, at once. */
static int read_again(const struct bench_work *r)
{
	struct fio_job job = bench_job(r, BENCH_READ, extra_place(&r->b->plan));
	struct fio_result first, second = { .seconds = 0 };
	int rc;

	rc = bench_carry_out(r, &job, &first);
	if (!rc)
		rc = bench_carry_out(r, &job, &second);
	if (!rc && second.seconds > 0)
		r->b->facts.again = first.seconds / second.seconds;
	return rc;
}

static double fastest(const double *seconds)
{
	double least = seconds[0];

	for (int i = 1; i < TRIES; i++)
		least = seconds[i] < least ? seconds[i] : least;
	return least;
}

/*
 * The same place by turns with random data and with zeros. The fastest of random data counts, so
 * that chance alone is taken for compression as rarely as can be.
 */
static int write_zeros(const struct bench_work *r)
{
	struct fio_job job = bench_job(r, BENCH_WRITE, extra_place(&r->b->plan));
	double seconds[2][TRIES], disk = 0;
	struct bench_count was, is;
	struct fio_result result;
	int rc;

	for (unsigned int i = 0; i < 2 * TRIES; i++) {
		job.zeros = i % 2;
		rc = bench_counted(r, &job, &result, &was, &is);
		if (rc)
			return rc;
		seconds[job.zeros][i / 2] = result.seconds;
		if (job.zeros)
			disk += is.disk[BENCH_WRITE] - was.disk[BENCH_WRITE];
	}
	r->b->facts.compressible = fastest(seconds[0]) / theil_median(seconds[1], TRIES);
	if (r->t->disks.nr)
		r->b->facts.zeros_written = disk / (TRIES * (double)job.bytes);
	return 0;
}

int bench_honest(struct bench *b, struct bench_target *t)
{
	const struct bench_work r = { b, t };
	int rc;

	b->facts = bench_facts_of(b, t);
	b->facts.between = bench_plan_between(&b->plan);
	b->transfer = calloc(2 * b->plan.nr, sizeof(*b->transfer));
	if (!b->transfer)
		return fus_fail(FC_FAILED, "bench", "not enough memory; close programs and try "
				"again");
	fus_progress_begin(b->target, &fus_progress_mib, b->plan.total * (b->write ? 2 : 1));
	rc = bench_wake(&r);
	if (!rc && b->write)
		rc = measure_all(&r, BENCH_WRITE);
	if (!rc)
		rc = measure_all(&r, BENCH_READ);
	if (!rc)
		rc = bench_idle(&r);
	if (!rc)
		rc = read_again(&r);
	if (!rc && b->write)
		rc = write_zeros(&r);
	fus_progress_end();
	return rc;
}
