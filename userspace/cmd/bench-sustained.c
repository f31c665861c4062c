// SPDX-License-Identifier: GPL-2.0-only
/*
 * Profile sustained: one run of fio writes a file, or a device, from its beginning to its end, and
 * then again, and says every few seconds how much that is so far.
 */
#include "bench.h"
#include "error.h"
#include "fusionctl.h"
#include "progress.h"

#define BLOCK		(1024ULL << 10)
#define DEPTH		4

struct writing {
	const struct bench_work *w;
	struct bench_count was;		/* at the end of the last interval */
	struct fio_side so_far;
	int rc;
};

/* The time since the last interval is one more. */
static bool take(const struct fio_side side[2], void *ctx)
{
	struct writing *v = ctx;
	struct bench_series *s = &v->w->b->series;
	const struct fio_side *now = &side[BENCH_WRITE];
	struct bench_interval i = {
		.seconds = now->seconds - v->so_far.seconds, .bytes = now->bytes - v->so_far.bytes,
	};
	struct bench_count is;
	char also[64];

	/* the rest at the end may be too short to tell a rate */
	if (s->nr == s->room || i.seconds < s->every / 2.0)
		return true;
	v->rc = bench_disks_count(&v->w->t->disks, &is);
	if (v->rc)
		return false;
	i.fast_share = bench_fast_share(&v->was, &is, false, true);
	s->interval[s->nr++] = i;
	v->was = is;
	v->so_far = *now;
	snprintf(also, sizeof(also), "%.0f of %u s", now->seconds, v->w->b->seconds);
	fus_progress_at(now->bytes, also);
	return true;
}

static int write_all(const struct bench_work *w)
{
	struct writing v = { .w = w };
	const struct fio_load load = {
		.path = bench_target_path(w->b, w->t, 0), .name = w->b->target,
		.create = *w->t->dir, .bytes = w->b->size,
		.shape = { .block = BLOCK, .depth = DEPTH, .sequential = true },
		.seconds = w->b->seconds, .stopped = bench_stopped, .each = take, .ctx = &v,
		.every = w->b->series.every,
	};
	struct bench_count was, is;
	struct fio_side side[2];
	int rc = bench_disks_count(&w->t->disks, &was);

	v.was = was;
	if (!rc)
		rc = fio_run_load(&load, side);
	if (v.rc)
		rc = v.rc;
	else if (!rc && bench_stopped())
		rc = FC_FAILED;
	if (!rc)
		rc = bench_disks_count(&w->t->disks, &is);
	if (!rc)
		bench_add_facts(&w->b->facts, (uint64_t [2]) { 0, side[BENCH_WRITE].bytes }, &was,
				&is);
	return rc;
}

int bench_sustained(struct bench *b, struct bench_target *t)
{
	const struct bench_work w = { b, t };
	int rc;

	b->facts = bench_facts_of(b, t);
	b->facts.between = b->size;
	rc = bench_wake(&w);
	if (!rc)
		rc = bench_idle(&w);
	fus_progress_begin(b->target, &fus_progress_mib, 0);
	if (!rc)
		rc = write_all(&w);
	fus_progress_end();
	return rc ? rc : bench_idle(&w);
}
