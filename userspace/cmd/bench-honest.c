// SPDX-License-Identifier: GPL-2.0-only
/*
 * Profile honest: write transfers of sizes from 2 MiB on in random order, read them in another
 * order, each once, and watch meanwhile whether they are what they seem.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "error.h"
#include "fusionctl.h"
#include "progress.h"
#include "top.h"

#define IDLE_SECONDS	2
#define SAMPLE		4096U
#define SAMPLES		8	/* of each transfer */
#define EXTRA_BYTES	(64ULL << 20)	/* most for zeros, and for reading again */
#define TRIES		3

struct run {
	struct bench *b;
	struct bench_target *t;
};

static int transfer(const struct run *r, struct fio_job *job, struct fio_result *result)
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

/* The same between two looks at the counters. */
static int counted(const struct run *r, struct fio_job *job, struct fio_result *result,
		   struct bench_count *was, struct bench_count *is)
{
	int rc = bench_disks_count(&r->t->disks, was);

	if (!rc)
		rc = transfer(r, job, result);
	if (!rc)
		rc = bench_disks_count(&r->t->disks, is);
	return rc;
}

/* The job of a place, or a small one of the extra file behind the last. */
static struct fio_job job_of(const struct run *r, enum bench_direction dir, unsigned int place)
{
	const struct bench_plan *p = &r->b->plan;

	return (struct fio_job) {
		.path = bench_target_path(r->b, r->t, place), .name = r->b->target,
		.write = dir == BENCH_WRITE, .create = dir == BENCH_WRITE && *r->t->dir,
		.at = place < p->nr ? p->place[place].at : 0,
		.bytes = place < p->nr ? p->place[place].bytes : BENCH_LEAST,
	};
}

/* A disk that sleeps is awake after it. Return: 0 or an exit code. */
static int wake(const struct run *r)
{
	struct fio_job job = job_of(r, r->b->write ? BENCH_WRITE : BENCH_READ, r->b->plan.nr);
	struct fio_result result;

	return transfer(r, &job, &result);
}

/* -- other load --------------------------------------------------------------------- */

static int idle(const struct run *r)
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

static void add_facts(struct bench_facts *f, const struct bench_transfer *t,
		      const struct bench_count *was, const struct bench_count *is)
{
	f->asked[t->dir] += t->bytes;
	for (int dir = 0; dir < 2; dir++) {
		uint64_t moved = is->device[dir] - was->device[dir];
		uint64_t ours = dir == (int)t->dir ? t->bytes : 0;

		f->other[dir] += moved > ours ? moved - ours : 0;
	}
	f->disk[t->dir] += is->disk[t->dir] - was->disk[t->dir];
	f->moved += is->moved - was->moved;
}

/* -- transfers ---------------------------------------------------------------------- */

static double fast_share(const struct bench_count *was, const struct bench_count *is,
			 enum bench_direction dir)
{
	uint64_t fast = is->served[dir][FAST] - was->served[dir][FAST];
	uint64_t slow = is->served[dir][SLOW] - was->served[dir][SLOW];

	return fast + slow ? (double)fast / (fast + slow) : -1;
}

/* Blocks of what was read from a device: are they all zeros? After it, as reading fills caches. */
static void sample(const struct run *r, const struct fio_job *job)
{
	static unsigned char block[SAMPLE] __attribute__((aligned(SAMPLE)));
	struct bench_facts *f = &r->b->facts;

	for (unsigned int i = 0; i < SAMPLES; i++) {
		uint64_t at = job->at + job->bytes / SAMPLES * i / SAMPLE * SAMPLE;

		if (pread(r->t->fd, block, SAMPLE, at) != SAMPLE)
			continue;
		f->sampled++;
		f->zeros += !*block && !memcmp(block, block + 1, SAMPLE - 1);
	}
}

static int measure(const struct run *r, enum bench_direction dir, unsigned int place)
{
	struct fio_job job = job_of(r, dir, place);
	struct bench_transfer *t = &r->b->transfer[r->b->nr];
	struct bench_count was, is;
	struct fio_result result;
	int rc = counted(r, &job, &result, &was, &is);

	if (rc)
		return rc;
	*t = (struct bench_transfer) {
		.dir = dir, .at = job.at, .bytes = job.bytes, .seconds = result.seconds,
		.fast_share = fast_share(&was, &is, dir),
	};
	r->b->nr++;
	add_facts(&r->b->facts, t, &was, &is);
	if (!r->b->write)
		sample(r, &job);
	fus_progress_add(t->bytes);
	return 0;
}

static int measure_all(const struct run *r, enum bench_direction dir)
{
	const struct bench_plan *p = &r->b->plan;
	int rc = idle(r);

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
static int read_again(const struct run *r)
{
	struct fio_job job = job_of(r, BENCH_READ, extra_place(&r->b->plan));
	struct fio_result first, second = { .seconds = 0 };
	int rc;

	rc = transfer(r, &job, &first);
	if (!rc)
		rc = transfer(r, &job, &second);
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
static int write_zeros(const struct run *r)
{
	struct fio_job job = job_of(r, BENCH_WRITE, extra_place(&r->b->plan));
	double seconds[2][TRIES], disk = 0;
	struct bench_count was, is;
	struct fio_result result;
	int rc;

	for (unsigned int i = 0; i < 2 * TRIES; i++) {
		job.zeros = i % 2;
		rc = counted(r, &job, &result, &was, &is);
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
	const struct run r = { b, t };
	int rc;

	b->facts = (struct bench_facts) {
		.has_disk = t->disks.nr, .has_device = t->disks.device, .files = !b->device,
		.on_set = *b->set, .between = bench_plan_between(&b->plan),
	};
	b->transfer = calloc(2 * b->plan.nr, sizeof(*b->transfer));
	if (!b->transfer)
		return fus_fail(FC_FAILED, "bench", "not enough memory; close programs and try "
				"again");
	fus_progress_begin(b->target, &fus_progress_mib, b->plan.total * (b->write ? 2 : 1));
	rc = wake(&r);
	if (!rc && b->write)
		rc = measure_all(&r, BENCH_WRITE);
	if (!rc)
		rc = measure_all(&r, BENCH_READ);
	if (!rc)
		rc = idle(&r);
	if (!rc)
		rc = read_again(&r);
	if (!rc && b->write)
		rc = write_zeros(&r);
	fus_progress_end();
	return rc;
}
