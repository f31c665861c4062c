// SPDX-License-Identifier: GPL-2.0-only
/* stamp: the operations, and the threads that carry them out. See stamp.h. */
#include <errno.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../../userspace/lib/random.h"
#include "stamp-state.h"

/* -- what is asked for -------------------------------------------------------------- */

static const char *const op_names[STAMP_NR_OPS] = {
	"reads", "writes", "sub-block writes", "discards", "zeroouts", "flushes",
};

struct stamp stamp = {
	.program = "fusion-stamp",
	.weight = { 40, 35, 10, 5, 3, 2 },
	.nr_threads = 4,
	.max_io = 2048,
};

static atomic_bool stop;
static atomic_bool failed_io;
static atomic_ullong counts[STAMP_NR_OPS];
static atomic_ullong bytes[STAMP_NR_OPS];
static atomic_ullong slowest;		/* us */
static atomic_bool late;		/* an operation took longer than it may */

void stamp_say(const char *format, ...)
{
	va_list args;
	char line[512];

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	fprintf(stderr, "%s: %s: %s\n", stamp.program, stamp.dev, line);
}

/* -- range locks -------------------------------------------------------------------- */

static struct range {
	__u64 start;
	__u64 end;
	bool exclusive;
} held[STAMP_MAX_THREADS];

static pthread_mutex_t range_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t range_freed = PTHREAD_COND_INITIALIZER;

static void range_lock(unsigned int me, __u64 start, __u64 end, bool exclusive)
{
	pthread_mutex_lock(&range_mutex);
	for (unsigned int i = 0; i < stamp.nr_threads; i++) {
		struct range *r = &held[i];

		if (start < r->end && r->start < end && (exclusive || r->exclusive)) {
			pthread_cond_wait(&range_freed, &range_mutex);
			i = -1;
		}
	}
	held[me] = (struct range){ start, end, exclusive };
	pthread_mutex_unlock(&range_mutex);
}

static void range_unlock(unsigned int me)
{
	pthread_mutex_lock(&range_mutex);
	held[me].end = 0;
	pthread_cond_broadcast(&range_freed);
	pthread_mutex_unlock(&range_mutex);
}

/* -- operations --------------------------------------------------------------------- */

struct thread {
	pthread_t thread;
	unsigned int nr;
	__u64 random;
	__u64 ops;
	void *buf;
	size_t buf_size;
};

static struct thread threads[STAMP_MAX_THREADS];

static __u64 rnd(struct thread *t, __u64 below)
{
	return random64(t->random += RANDOM_STEP) % below;
}

static bool write_range(struct thread *t, __u64 start, __u64 end, bool dsync)
{
	__u32 version = atomic_fetch_add(&state->version, 1) + 1;
	struct iovec iov = { t->buf, (end - start) * SECTOR };
	int flags = dsync ? RWF_DSYNC : 0;
	ssize_t n = -1;

	for (__u64 i = start; i < end; i++)
		stamp_fill_in(t->buf + (i - start) * SECTOR, i, version);
	state_begin(start, end, version, false);
	errno = EAGAIN;
	if (stamp.nowait)
		n = pwritev2(stamp.fd, &iov, 1, start * SECTOR, flags | RWF_NOWAIT);
	if (n < 0 && errno == EAGAIN) {
		stamp_again += stamp.nowait;
		n = pwritev2(stamp.fd, &iov, 1, start * SECTOR, flags);
	}
	if (n != (ssize_t)iov.iov_len) {
		if (n >= 0)
			errno = ENOSPC;
		return false;
	}
	if (dsync)
		for (__u64 i = start; i < end; i++)
			*sector_at(i) = (struct sector){ version, version, PENDING, 0 };
	state_finish(start, end);
	return true;
}

static bool zero_range(__u64 start, __u64 end)
{
	__u64 range[2] = { start * SECTOR, (end - start) * SECTOR };

	state_begin(start, end, atomic_fetch_add(&state->version, 1) + 1, true);
	if (ioctl(stamp.fd, BLKZEROOUT, range))
		return false;
	state_finish(start, end);
	return true;
}

static bool discard_range(__u64 start, __u64 end)
{
	__u64 range[2] = { start * SECTOR, (end - start) * SECTOR };
	__u64 whole_start = end, whole_end = end;
	__u64 extent = stamp.extent_sectors;

	if (extent) {
		whole_start = (start + extent - 1) / extent * extent;
		whole_end = end / extent * extent;
	}
	for (__u64 i = start; i < end; i++)
		if (whole_start >= whole_end || i < whole_start || i >= whole_end)
			sector_at(i)->flags |= MAYBE_ZERO;
	if (whole_start < whole_end)
		state_begin(whole_start, whole_end, atomic_fetch_add(&state->version, 1) + 1, true);
	if (ioctl(stamp.fd, BLKDISCARD, range))
		return false;
	if (whole_start < whole_end)
		state_finish(whole_start, whole_end);
	return true;
}

static bool flush(void)
{
	__u32 now = atomic_load(&state->clock);
	__u32 old = atomic_load(&state->flushed);

	if (fdatasync(stamp.fd))
		return false;
	while (old < now && !atomic_compare_exchange_weak(&state->flushed, &old, now))
		;
	return true;
}

/* A range of up to @max sectors, its length spread evenly over the powers of two. */
static void pick_range(struct thread *t, __u64 unit, __u64 max,
		       __u64 *start, __u64 *end)
{
	__u64 units = state->sectors / unit, len = 1;

	while (len * 2 * unit <= max && rnd(t, 4))
		len *= 2;
	len += rnd(t, len);
	if (len * unit > max)
		len = max / unit;
	if (len > units)
		len = units;
	*start = state->start + rnd(t, units - len + 1) * unit;
	*end = *start + len * unit;
}

static enum stamp_op pick_op(struct thread *t)
{
	unsigned int sum = 0, pick;
	enum stamp_op op;

	for (op = 0; op < STAMP_NR_OPS; op++)
		sum += stamp.weight[op];
	pick = rnd(t, sum);
	for (op = 0; pick >= stamp.weight[op]; op++)
		pick -= stamp.weight[op];
	return op;
}

static __u64 now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ULL + ts.tv_nsec / 1000;
}

/* An operation that began at @begin, in us, has ended. */
static void took(enum stamp_op op, __u64 begin)
{
	unsigned long long us = now_us() - begin, old = slowest;

	while (old < us && !atomic_compare_exchange_weak(&slowest, &old, us))
		;
	if (stamp.bound && us > stamp.bound * 1000000ULL) {
		stamp_say("one of the %s took %llu.%03llu s, more than %u", op_names[op],
			  us / 1000000, us / 1000 % 1000, stamp.bound);
		late = true;
		stop = true;
	}
}

static bool do_op(struct thread *t)
{
	__u64 start, end, begin;
	enum stamp_op op = pick_op(t);
	bool ok = false;

	if (op == STAMP_FLUSH) {
		begin = now_us();
		ok = flush();
		took(op, begin);
		goto out;
	}
	if (op == STAMP_SUBBLOCK)
		pick_range(t, stamp.lb_sectors, stamp.max_io < 15 ? stamp.max_io : 15,
			   &start, &end);
	else if (op == STAMP_DISCARD && stamp.extent_sectors && rnd(t, 2))
		pick_range(t, stamp.extent_sectors, 4 * stamp.extent_sectors, &start, &end);
	else
		pick_range(t, BLOCK, stamp.max_io, &start, &end);

	range_lock(t->nr, start, end, op != STAMP_READ);
	begin = now_us();
	switch (op) {
	case STAMP_READ:
		ok = range_read(t->buf, start, end);
		if (ok)
			range_check(t->buf, start, end);
		break;
	case STAMP_DISCARD:
		ok = discard_range(start, end);
		break;
	case STAMP_ZEROOUT:
		ok = zero_range(start, end);
		break;
	default:
		ok = write_range(t, start, end, stamp.sync_writes || !rnd(t, 20));
	}
	if (!ok && !stamp.until_error)
		stamp_say("%s from sector %llu to %llu: %s", op_names[op], start, end,
			  strerror(errno));
	took(op, begin);
	range_unlock(t->nr);
	bytes[op] += (end - start) * SECTOR;
out:
	if (!ok && op == STAMP_FLUSH && !stamp.until_error)
		stamp_say("fdatasync: %s", strerror(errno));
	counts[op] += ok;
	return ok;
}

time_t stamp_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

static void *run_thread(void *arg)
{
	struct thread *t = arg;

	while (!stop && !stamp_mismatches &&
	       (!stamp.max_ops || t->ops < stamp.max_ops / stamp.nr_threads) &&
	       (!stamp.deadline || stamp_now() < stamp.deadline)) {
		if (!do_op(t)) {
			failed_io = true;
			stop = true;
		}
		t->ops++;
		if (stamp.pause)
			usleep(stamp.pause);
	}
	return NULL;
}

/* Every thread takes every nr_threads-th piece; one thread alone works in order. */
static void *walk_thread(void *arg, bool (*piece)(struct thread *t, __u64 s, __u64 e))
{
	struct thread *t = arg;
	__u64 end = state->start + state->sectors;

	for (__u64 s = state->start + t->nr * stamp.max_io; s < end && !stop;
	     s += stamp.nr_threads * stamp.max_io) {
		__u64 e = s + stamp.max_io < end ? s + stamp.max_io : end;

		if (!piece(t, s, e)) {
			stamp_say("sectors %llu to %llu: %s", s, e, strerror(errno));
			failed_io = true;
			stop = true;
		}
	}
	return NULL;
}

static bool fill_piece(struct thread *t, __u64 start, __u64 end)
{
	counts[STAMP_WRITE]++;
	bytes[STAMP_WRITE] += (end - start) * SECTOR;
	return write_range(t, start, end, stamp.sync_writes);
}

static void *fill_thread(void *arg)
{
	return walk_thread(arg, fill_piece);
}

/* After a power cut, the content found is the content expected from now on. */
static void settle(const void *buf, __u64 start, __u64 end)
{
	for (__u64 i = start; i < end; i++) {
		struct sector *s = sector_at(i);
		__u32 found = stamp_identify(buf + (i - start) * SECTOR, i);

		*s = (struct sector){ found, found, 0, found ? s->flags & MAYBE_ZERO : 0 };
	}
}

static bool verify_piece(struct thread *t, __u64 start, __u64 end)
{
	if (!range_read(t->buf, start, end))
		return false;
	range_check(t->buf, start, end);
	if (stamp.power_cut && !stamp_mismatches)
		settle(t->buf, start, end);
	counts[STAMP_READ]++;
	bytes[STAMP_READ] += (end - start) * SECTOR;
	return true;
}

static void *verify_thread(void *arg)
{
	return walk_thread(arg, verify_piece);
}

/* -- what others call --------------------------------------------------------------- */

static struct thread *prepare(unsigned int nr)
{
	struct thread *t = &threads[nr];

	t->nr = nr;
	t->ops = 0;
	t->random = (state->seed + state->version) * 0xd1342543de82ef95ULL + nr;
	if (t->buf_size < stamp.max_io * SECTOR) {
		free(t->buf);
		t->buf_size = stamp.max_io * SECTOR;
		if (posix_memalign(&t->buf, 4096, t->buf_size)) {
			stamp_say("out of memory");
			exit(STAMP_FAILED);
		}
	}
	return t;
}

bool stamp_write(__u64 start, __u64 end, bool dsync)
{
	stamp.max_io = end - start;
	return write_range(prepare(0), start, end, dsync);
}

bool stamp_discard(__u64 start, __u64 end)
{
	return discard_range(start, end);
}

bool stamp_flush(void)
{
	return flush();
}

enum stamp_result stamp_do(enum stamp_body body)
{
	static void *(*const bodies[])(void *arg) = {
		[STAMP_RUN] = run_thread,
		[STAMP_FILL] = fill_thread,
		[STAMP_VERIFY] = verify_thread,
	};

	stop = false;
	late = false;
	failed_io = false;
	stamp_mismatches = 0;
	for (unsigned int i = 0; i < stamp.nr_threads; i++) {
		struct thread *t = prepare(i);

		if (pthread_create(&t->thread, NULL, bodies[body], t)) {
			stamp_say("out of memory");
			exit(STAMP_FAILED);
		}
	}
	for (unsigned int i = 0; i < stamp.nr_threads; i++)
		pthread_join(threads[i].thread, NULL);
	if (stamp_mismatches) {
		stamp_say("%llu sectors are wrong (seed %llu)", stamp_mismatches, state->seed);
		return STAMP_MISMATCH;
	}
	return late || (failed_io && !stamp.until_error) ? STAMP_FAILED : STAMP_OK;
}

void stamp_stop(void)
{
	stop = true;
}

bool stamp_failed(void)
{
	return failed_io;
}

void stamp_print_counts(void)
{
	for (enum stamp_op op = 0; op < STAMP_NR_OPS; op++)
		if (counts[op])
			printf("%llu %s, %llu MiB\n", counts[op], op_names[op], bytes[op] >> 20);
	if (stamp.nowait)
		printf("%llu EAGAIN\n", stamp_again);
	if (stamp.bound)
		printf("%llu ms, the slowest\n", slowest / 1000);
}
