// SPDX-License-Identifier: GPL-2.0-only
/*
 * Profile fullness: a file, or the part of a device that is written, grows step by step. The loads
 * write to all of it.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "error.h"
#include "fusionctl.h"
#include "open-set.h"
#include "progress.h"
#include "write.h"

/* Written, or discarded, at once. After writing it is seen whether others have written as well. */
#define MOST_AT_ONCE	(1024ULL << 20)
/* Of the extents of a set that was discarded as a whole. */
#define MOST_MAPPED	0.01

/* The share of the extents of the set that is the target; -1: it is none. */
static int find_mapped(const struct bench_work *w, double *share)
{
	struct set set;
	int rc;

	*share = -1;
	if (!w->b->device || !w->t->disks.is_set)
		return 0;
	rc = fus_set_get(w->b->set, &set);
	if (rc)
		return rc;
	*share = (double)set.st.mapped / set.st.extents;
	fus_set_put(&set);
	return 0;
}

/* An HDD cannot do it, and need not. */
static int discard(const struct bench_work *w)
{
	const uint64_t end = w->t->bytes;
	int err = 0;

	fus_progress_begin(w->b->target, &fus_progress_mib, end);
	for (uint64_t at = 0; at < end && !err && !bench_stopped(); at += MOST_AT_ONCE)
		err = fus_discard(w->t->fd, at, end - at < MOST_AT_ONCE ? end : at + MOST_AT_ONCE);
	fus_progress_end();
	w->b->facts.kept = err && !w->t->rotational;
	return bench_stopped() ? FC_FAILED : 0;
}

int bench_fullness_begin(const struct bench_work *w)
{
	struct bench *b = w->b;
	double share;
	int rc = b->device ? discard(w) : 0;

	b->size = 0;
	b->facts.between = 0;
	if (!rc)
		rc = find_mapped(w, &share);
	if (!rc && share > MOST_MAPPED)
		rc = fus_fail(FC_REFUSED, b->target, "keeps %.0f %% of its extents mapped, though "
			      "all were discarded; see fusionctl status %s", 100 * share, b->set);
	return rc;
}

/* So many bytes more are to be written now. */
static int find_more(const struct bench_work *w, const struct bench_run *r, uint64_t *more)
{
	const struct bench *b = w->b;
	/* what it said in the beginning, and has not noticed of ours */
	uint64_t used = b->before.used + b->size, goal;
	struct bench_capacity now;
	int rc;

	if (*w->t->dir)
		syncfs(w->t->fd);
	rc = bench_target_capacity(b, w->t, &now);
	if (rc)
		return rc;
	used = now.used > used ? now.used : used;
	goal = now.total / 100 * r->load.percent;
	*more = goal > used ? goal - used : 0;
	*more = bench_whole(*more < MOST_AT_ONCE ? *more : MOST_AT_ONCE);
	return 0;
}

/* fio removes a file that it would have to make longer. */
static int make_longer(const struct bench_work *w, const char *path, uint64_t bytes)
{
	if (!*w->t->dir || !w->b->size || !truncate(path, bytes))
		return 0;
	return fus_fail(FC_FAILED, w->b->target, "a file of %llu bytes cannot be made there: %s; "
			"see dmesg", (unsigned long long)bytes, strerror(errno));
}

int bench_fill(const struct bench_work *w, struct bench_run *r)
{
	struct bench *b = w->b;
	struct fio_job job;
	struct fio_result result;
	uint64_t more;
	int rc;

	for (rc = find_more(w, r, &more); !rc && more; rc = find_more(w, r, &more)) {
		job = bench_job(w, BENCH_WRITE, 0);
		job.at = b->size;
		job.bytes = more;
		rc = make_longer(w, job.path, b->size + more);
		if (!rc)
			rc = bench_carry_out(w, &job, &result);
		if (rc)
			return rc;
		b->size += more;
	}
	/* others have filled it since the plan was made */
	if (!rc && !b->size)
		rc = fus_fail(FC_FAILED, b->target, "other processes have filled it to %u %% "
			      "meanwhile; stop them and measure again", r->load.percent);
	if (!rc)
		rc = find_mapped(w, &r->full);
	if (rc)
		return rc;
	if (r->full < 0) {
		struct bench_capacity now;

		rc = bench_target_capacity(b, w->t, &now);
		r->full = (double)(b->device ? b->size : now.used) / now.total;
	}
	/* of the smallest file */
	if (!b->facts.between)
		b->facts.between = b->size;
	return rc;
}
