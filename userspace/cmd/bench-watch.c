// SPDX-License-Identifier: GPL-2.0-only
/* A transfer by fio, and what is watched beside it: counters, other load, and zeros. */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "error.h"
#include "fusionctl.h"
#include "top.h"

#define IDLE_SECONDS	2
#define SAMPLE		4096U
#define SAMPLES		8	/* of each transfer */

struct fio_job bench_job(const struct bench_work *r, enum bench_direction dir, unsigned int place)
{
	const struct bench_plan *p = &r->b->plan;

	return (struct fio_job) {
		.path = bench_target_path(r->b, r->t, place), .name = r->b->target,
		.write = dir == BENCH_WRITE, .create = dir == BENCH_WRITE && *r->t->dir,
		.at = place < p->nr ? p->place[place].at : 0,
		.bytes = place < p->nr ? p->place[place].bytes : BENCH_LEAST,
	};
}

int bench_carry_out(const struct bench_work *r, struct fio_job *job, struct fio_result *result)
{
	int rc;

	if (bench_stopped())
		return FC_FAILED;
	job->stopped = bench_stopped;
	rc = fio_run(job, result);
	if (!rc && bench_stopped())
		rc = FC_FAILED;
	if (!rc && result->bytes != job->bytes)
		rc = fus_fail(FC_FAILED, r->b->target, "fio transferred less than it was to; see "
			      "dmesg");
	return rc;
}

int bench_wake(const struct bench_work *r)
{
	struct fio_job job = bench_job(r, r->b->write ? BENCH_WRITE : BENCH_READ, r->b->plan.nr);
	struct fio_result result;

	return bench_carry_out(r, &job, &result);
}

int bench_counted(const struct bench_work *r, struct fio_job *job, struct fio_result *result,
		  struct bench_count *was, struct bench_count *is)
{
	int rc = bench_disks_count(&r->t->disks, was);

	if (!rc)
		rc = bench_carry_out(r, job, result);
	if (!rc)
		rc = bench_disks_count(&r->t->disks, is);
	return rc;
}

/* -- other load --------------------------------------------------------------------- */

int bench_idle(const struct bench_work *r)
{
	const struct timespec ts = { .tv_sec = IDLE_SECONDS };
	struct bench_facts *f = &r->b->facts;
	struct bench_count was, is;
	double begin, seconds;
	int rc;

	/* our own cached writes are not other load */
	if (*r->t->dir)
		syncfs(r->t->fd);
	rc = bench_disks_count(&r->t->disks, &was);
	if (rc)
		return rc;
	begin = top_now();
	nanosleep(&ts, NULL);
	rc = bench_disks_count(&r->t->disks, &is);
	seconds = top_now() - begin;
	f->idle_ios += is.ios - was.ios;
	f->idle_busy = (f->idle_busy * f->idle_seconds + (is.busy_ms - was.busy_ms) / 1e3) /
		       (f->idle_seconds + seconds);
	f->idle_seconds += seconds;
	return bench_stopped() ? FC_FAILED : rc;
}

struct bench_facts bench_facts_of(const struct bench *b, const struct bench_target *t)
{
	return (struct bench_facts) {
		.has_disk = t->disks.nr, .has_device = t->disks.device, .files = !b->device,
		.on_set = *b->set,
	};
}

void bench_add_facts(struct bench_facts *f, const uint64_t asked[2], const struct bench_count *was,
		     const struct bench_count *is)
{
	for (int dir = 0; dir < 2; dir++) {
		uint64_t moved = is->device[dir] - was->device[dir];

		f->asked[dir] += asked[dir];
		f->other[dir] += moved > asked[dir] ? moved - asked[dir] : 0;
		/* what is written on another's account is none of it */
		if (asked[dir])
			f->disk[dir] += is->disk[dir] - was->disk[dir];
	}
	f->moved += is->moved - was->moved;
}

double bench_fast_share(const struct bench_count *was, const struct bench_count *is, bool reads,
			bool writes)
{
	uint64_t fast = 0, slow = 0;

	for (int dir = 0; dir < 2; dir++) {
		if (!(dir == BENCH_READ ? reads : writes))
			continue;
		fast += is->served[dir][FAST] - was->served[dir][FAST];
		slow += is->served[dir][SLOW] - was->served[dir][SLOW];
	}
	return fast + slow ? (double)fast / (fast + slow) : -1;
}

/* Blocks of what was read from a device: are they all zeros? After it, as reading fills caches. */
void bench_look_for_zeros(const struct bench_work *r, uint64_t first, uint64_t bytes)
{
	static unsigned char block[SAMPLE] __attribute__((aligned(SAMPLE)));
	struct bench_facts *f = &r->b->facts;

	for (unsigned int i = 0; i < SAMPLES; i++) {
		uint64_t at = first + bytes / SAMPLES * i / SAMPLE * SAMPLE;

		if (pread(r->t->fd, block, SAMPLE, at) != SAMPLE)
			continue;
		f->sampled++;
		f->zeros += !*block && !memcmp(block, block + 1, SAMPLE - 1);
	}
}
