// SPDX-License-Identifier: GPL-2.0-only
/*
 * Profiles sweep, mix and fullness: fill a file, or a part of a device, and let fio carry out loads
 * of some seconds on it, in random order.
 */
#include "bench.h"
#include "error.h"
#include "fusionctl.h"
#include "progress.h"

static const struct progress_unit loads = { "loads", 1 };

const char *bench_plan_runs(struct bench *b, uint64_t device_bytes)
{
	const uint64_t size = device_bytes && device_bytes < b->size ? device_bytes : b->size;

	/* one transfer fills it */
	b->size = size / FIO_BLOCK * FIO_BLOCK;
	if (b->size < BENCH_LEAST_SIZE)
		return "too small";
	if (!bench_plan_one(&b->plan, b->size) || !bench_loads(b))
		return "not enough memory";
	return NULL;
}

static int fill(const struct bench_work *w)
{
	struct fio_job job = bench_job(w, BENCH_WRITE, 0);
	struct fio_result result;
	int rc;

	fus_progress_begin(w->b->target, &fus_progress_mib, 0);
	rc = bench_carry_out(w, &job, &result);
	fus_progress_end();
	return rc;
}

static int turn(const struct bench_work *w, struct bench_run *r)
{
	const struct fio_load load = {
		.path = bench_target_path(w->b, w->t, 0), .name = w->b->target,
		.bytes = w->b->size, .shape = r->load.shape, .seconds = w->b->seconds,
		.stopped = bench_stopped,
	};
	struct bench_try *t = &r->try[r->nr];
	struct bench_count was, is;
	int rc;

	rc = r->load.launch ? bench_launch_warm(w) : 0;
	if (!rc)
		rc = bench_disks_count(&w->t->disks, &was);
	if (!rc && bench_stopped())
		rc = FC_FAILED;
	if (!rc)
		rc = r->load.launch ? bench_launch(w, r->nr, t->side) :
		     fio_run_load(&load, t->side);
	if (!rc && bench_stopped())
		rc = FC_FAILED;
	if (!rc)
		rc = bench_disks_count(&w->t->disks, &is);
	if (rc)
		return rc;
	t->fast_share = bench_fast_share(&was, &is, true, true);
	r->nr++;
	bench_add_facts(&w->b->facts, (uint64_t [2]) {
			t->side[BENCH_READ].bytes, t->side[BENCH_WRITE].bytes }, &was, &is);
	if (!w->b->write)
		bench_look_for_zeros(w, 0, w->b->size);
	fus_progress_add(1);
	return 0;
}

int bench_runs(struct bench *b, struct bench_target *t)
{
	const struct bench_work w = { b, t };
	int rc;

	b->facts = bench_facts_of(b, t);
	b->facts.between = b->size;
	rc = bench_wake(&w);
	if (!rc && b->profile == BENCH_FULLNESS)
		rc = bench_fullness_begin(&w);
	else if (!rc && b->write)
		rc = fill(&w);
	if (!rc)
		rc = bench_idle(&w);
	fus_progress_begin(b->target, &loads, b->nr_turns);
	for (unsigned int i = 0; i < b->nr_turns && !rc; i++) {
		struct bench_run *r = &b->run[b->turn[i]];

		if (r->load.percent && !r->nr)
			rc = bench_fill(&w, r);
		if (!rc)
			rc = turn(&w, r);
	}
	fus_progress_end();
	return rc ? rc : bench_idle(&w);
}
