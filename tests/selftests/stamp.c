// SPDX-License-Identifier: GPL-2.0-only
/*
 * stamp: the state, the operations, and the allowed content of a sector. See stamp.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/types.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "../../userspace/lib/random.h"
#include "stamp.h"

#define SECTOR		STAMP_SECTOR
#define WORDS		(SECTOR / sizeof(__u64))
#define BLOCK		STAMP_BLOCK
#define MAX_REPORTS	20
#define MAGIC		0x33706d6174736d64ULL	/* "dmstamp3" */
#define PENDING		0xffffffffU
#define GARBAGE		0xffffffffU		/* as a version: no stamp of this sector */

/* -- what was asked for -------------------------------------------------------------- */

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
static atomic_ullong mismatches;
static atomic_ullong counts[STAMP_NR_OPS];
static atomic_ullong bytes[STAMP_NR_OPS];
static atomic_ullong again;		/* RWF_NOWAIT answered EAGAIN */
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

/* -- state -------------------------------------------------------------------- */

enum {
	ZERO		= 1,	/* the version is one of zeros */
	MAYBE_ZERO	= 2,	/* partly discarded since */
	WAS_ZERO	= 4,	/* may read as zeros after a power cut */
};

struct sector {
	__u32 version;
	__u32 durable;
	__u32 done;
	__u32 flags;
};

struct state {
	__u64 magic;
	__u64 seed;
	__u64 start;			/* of the region, in sectors of the device */
	__u64 sectors;
	__u32 pad;
	atomic_uint version;		/* last one given out */
	atomic_uint clock;		/* writes ended */
	atomic_uint flushed;	/* clock up to which all are durable */
	struct sector sector[];
};

static struct state *st;
static struct state *kept[STAMP_COPIES];

static struct sector *sector_at(__u64 sector)
{
	return &st->sector[sector - st->start];
}

static bool reads_zero(const struct sector *s)
{
	return !s->version || s->flags & ZERO;
}

/* A write of @version begins; the range is locked. */
static void begin(__u64 start, __u64 end, __u32 version, bool zero)
{
	__u32 flushed = atomic_load(&st->flushed);

	for (__u64 i = start; i < end; i++) {
		struct sector *s = sector_at(i);
		__u32 flags = zero ? ZERO : 0;

		if (s->done <= flushed)
			s->durable = s->version;
		else
			flags |= s->flags & WAS_ZERO;
		if (reads_zero(s) || s->flags & MAYBE_ZERO)
			flags |= WAS_ZERO;
		*s = (struct sector){ version, s->durable, PENDING, flags };
	}
}

static void finish(__u64 start, __u64 end)
{
	__u32 now = atomic_fetch_add(&st->clock, 1) + 1;

	for (__u64 i = start; i < end; i++)
		sector_at(i)->done = now;
}

/* Whether a sector may read as version @found (0: zeros). */
static bool acceptable(const struct sector *s, __u32 found)
{
	bool exact = stamp.power_cut ? s->done <= atomic_load(&st->flushed) : s->done != PENDING;

	if (!found)
		return reads_zero(s) || s->flags & MAYBE_ZERO ||
		       (!exact && s->flags & WAS_ZERO);
	if (exact)
		return !reads_zero(s) && found == s->version;
	return found >= s->durable && found <= s->version;
}

/* -- stamps ---------------------------------------------------------------------- */

static __u64 word(__u64 sector, __u32 version, unsigned int i)
{
	__u64 mix = (sector * 0x9e3779b97f4a7c15ULL) ^ (version * 0xc2b2ae3d27d4eb4fULL);

	return mix + st->seed + i * 0x165667b19e3779f9ULL;
}

static void fill_in(__u64 *w, __u64 sector, __u32 version)
{
	w[0] = MAGIC ^ st->seed;
	w[1] = sector;
	w[2] = version;
	for (unsigned int i = 3; i < WORDS; i++)
		w[i] = word(sector, version, i);
}

/* The version that 512 bytes of content belong to, or GARBAGE. */
static __u32 identify(const __u64 *w, __u64 sector)
{
	static const __u64 zeros[WORDS];
	bool stamped = w[0] == (MAGIC ^ st->seed) && w[1] == sector && w[2] && w[2] < GARBAGE;
	__u64 want[WORDS];

	if (stamp.light) {
		__u64 last = stamped ? word(sector, w[2], WORDS - 1) : 0;

		return (stamped || !(w[0] | w[1] | w[2])) && w[WORDS - 1] == last ? w[2] : GARBAGE;
	}
	if (!stamped)
		return memcmp(w, zeros, SECTOR) ? GARBAGE : 0;
	fill_in(want, sector, w[2]);
	return memcmp(w, want, SECTOR) ? GARBAGE : w[2];
}

/* -- range locks --------------------------------------------------------------------- */

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

/* -- checking -------------------------------------------------------------------------- */

static void describe(const struct sector *s, char *text, size_t size)
{
	if (s->done == PENDING || (stamp.power_cut && s->done > atomic_load(&st->flushed)))
		snprintf(text, size, "version %u..%u%s", s->durable, s->version,
			 s->flags & (WAS_ZERO | MAYBE_ZERO) ? " or zeros" : "");
	else if (reads_zero(s))
		snprintf(text, size, "zeros (%s)", s->version ? "discarded or zeroed" :
			 "never written");
	else
		snprintf(text, size, "version %u%s", s->version,
			 s->flags & MAYBE_ZERO ? " or zeros" : "");
}

static void describe_found(const __u64 *w, __u64 sector, char *text, size_t size)
{
	__u32 found = identify(w, sector);

	if (!found)
		snprintf(text, size, "zeros");
	else if (found != GARBAGE)
		snprintf(text, size, "version %u", found);
	else if (w[0] == (MAGIC ^ st->seed) && identify(w, w[1]) != GARBAGE)
		snprintf(text, size, "sector %llu version %llu", w[1], w[2]);
	else
		snprintf(text, size, "garbage %016llx %016llx %016llx %016llx",
			 w[0], w[1], w[2], w[3]);
}

/* Check the data read of a locked range. Return: the first wrong sector, or @end. */
static __u64 check(const void *buf, __u64 start, __u64 end, bool report)
{
	__u64 first = end;

	for (__u64 i = start; i < end; i++) {
		const __u64 *w = buf + (i - start) * SECTOR;
		const struct sector *s = sector_at(i);
		char want[80], got[120];

		if (acceptable(s, identify(w, i)))
			continue;
		if (first == end)
			first = i;
		if (!report || atomic_fetch_add(&mismatches, 1) >= MAX_REPORTS)
			continue;
		describe(s, want, sizeof(want));
		describe_found(w, i, got, sizeof(got));
		stamp_say("sector %llu (block %llu + %llu, read from %llu to %llu): "
			  "expected %s, got %s", i, i / BLOCK, i % BLOCK, start, end, want, got);
	}
	return first;
}

static bool read_range(void *buf, __u64 start, __u64 end)
{
	struct iovec iov = { buf, (end - start) * SECTOR };
	ssize_t n = -1;

	/* stale content of the buffer must not pass for data that was read */
	for (__u64 i = 0; i < end - start; i++)
		memset(buf + i * SECTOR, 0xdb, stamp.light ? sizeof(__u64) : SECTOR);
	errno = EAGAIN;
	if (stamp.nowait)
		n = preadv2(stamp.fd, &iov, 1, start * SECTOR, RWF_NOWAIT);
	if (n < 0 && errno == EAGAIN) {
		again += stamp.nowait;
		n = preadv2(stamp.fd, &iov, 1, start * SECTOR, 0);
	}
	if (n >= 0 && n != (ssize_t)iov.iov_len)
		errno = ENODATA;
	return n == (ssize_t)iov.iov_len;
}

static void check_range(void *buf, __u64 start, __u64 end)
{
	bool first = !mismatches;
	__u64 bad = check(buf, start, end, true);

	if (bad == end || !first)
		return;
	usleep(200000);
	stamp_say("sector %llu read again: %s", bad,
		  !read_range(buf, start, end) ? strerror(errno) :
		  check(buf, bad, bad + 1, false) == bad ? "still wrong" : "right now");
}

/* -- operations ---------------------------------------------------------------------------- */

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
	__u32 version = atomic_fetch_add(&st->version, 1) + 1;
	struct iovec iov = { t->buf, (end - start) * SECTOR };
	int flags = dsync ? RWF_DSYNC : 0;
	ssize_t n = -1;

	for (__u64 i = start; i < end; i++)
		fill_in(t->buf + (i - start) * SECTOR, i, version);
	begin(start, end, version, false);
	errno = EAGAIN;
	if (stamp.nowait)
		n = pwritev2(stamp.fd, &iov, 1, start * SECTOR, flags | RWF_NOWAIT);
	if (n < 0 && errno == EAGAIN) {
		again += stamp.nowait;
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
	finish(start, end);
	return true;
}

static bool zero_range(__u64 start, __u64 end)
{
	__u64 range[2] = { start * SECTOR, (end - start) * SECTOR };

	begin(start, end, atomic_fetch_add(&st->version, 1) + 1, true);
	if (ioctl(stamp.fd, BLKZEROOUT, range))
		return false;
	finish(start, end);
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
		begin(whole_start, whole_end, atomic_fetch_add(&st->version, 1) + 1, true);
	if (ioctl(stamp.fd, BLKDISCARD, range))
		return false;
	if (whole_start < whole_end)
		finish(whole_start, whole_end);
	return true;
}

static bool flush(void)
{
	__u32 now = atomic_load(&st->clock);
	__u32 old = atomic_load(&st->flushed);

	if (fdatasync(stamp.fd))
		return false;
	while (old < now && !atomic_compare_exchange_weak(&st->flushed, &old, now))
		;
	return true;
}

/* A range of up to @max sectors, its length spread evenly over the powers of two. */
static void pick_range(struct thread *t, __u64 unit, __u64 max,
		       __u64 *start, __u64 *end)
{
	__u64 units = st->sectors / unit, len = 1;

	while (len * 2 * unit <= max && rnd(t, 4))
		len *= 2;
	len += rnd(t, len);
	if (len * unit > max)
		len = max / unit;
	if (len > units)
		len = units;
	*start = st->start + rnd(t, units - len + 1) * unit;
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
		ok = read_range(t->buf, start, end);
		if (ok)
			check_range(t->buf, start, end);
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

	while (!stop && !mismatches &&
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
	__u64 end = st->start + st->sectors;

	for (__u64 s = st->start + t->nr * stamp.max_io; s < end && !stop;
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
		__u32 found = identify(buf + (i - start) * SECTOR, i);

		*s = (struct sector){ found, found, 0, found ? s->flags & MAYBE_ZERO : 0 };
	}
}

static bool verify_piece(struct thread *t, __u64 start, __u64 end)
{
	if (!read_range(t->buf, start, end))
		return false;
	check_range(t->buf, start, end);
	if (stamp.power_cut && !mismatches)
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

static bool failed(const char *what)
{
	stamp_say("%s: %s", what, strerror(errno));
	return false;
}

bool stamp_state(const char *path, bool create, __u64 seed, __u64 start, __u64 sectors)
{
	size_t size = sizeof(*st) + sectors * sizeof(struct sector), mapped = size;
	int state_fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) :
		       memfd_create("state", MFD_CLOEXEC);
	__u64 dev_size;
	struct stat sb;

	if (state_fd < 0 || fstat(state_fd, &sb))
		return failed(path ? path : "memory");
	if (!sb.st_size && !create) {
		stamp_say("state file %s is missing: run or fill writes it", path);
		return false;
	}
	if (!sb.st_size && ftruncate(state_fd, size))
		return failed(path ? path : "memory");
	if (sb.st_size)
		mapped = sb.st_size;
	st = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, state_fd, 0);
	if (st == MAP_FAILED)
		return failed("state");
	close(state_fd);
	/* the memory of a device, which has a size from the start, begins as zeros */
	if (create && mapped >= size && !st->magic) {
		st->magic = MAGIC;
		st->seed = seed;
		st->start = start;
		st->sectors = sectors;
	}
	if (st->magic != MAGIC || mapped < sizeof(*st) + st->sectors * sizeof(struct sector)) {
		stamp_say("state file %s is not one of this program", path);
		return false;
	}
	if (ioctl(stamp.fd, BLKGETSIZE64, &dev_size) ||
	    ioctl(stamp.fd, BLKSSZGET, &stamp.lb_sectors))
		return failed("not a block device");
	stamp.lb_sectors /= SECTOR;
	if ((st->start + st->sectors) * SECTOR > dev_size || st->start % BLOCK) {
		stamp_say("the region ends beyond the device or begins inside a block");
		return false;
	}
	return true;
}

__u64 stamp_seed(void)
{
	return st->seed;
}

void stamp_restart(__u64 seed)
{
	memset(st->sector, 0, st->sectors * sizeof(struct sector));
	st->seed = seed;
	st->version = 0;
	st->clock = 0;
	st->flushed = 0;
}

void stamp_keep(unsigned int nr)
{
	size_t size = sizeof(*st) + st->sectors * sizeof(struct sector);

	if (!kept[nr])
		kept[nr] = malloc(size);
	if (!kept[nr]) {
		stamp_say("out of memory");
		exit(STAMP_FAILED);
	}
	memcpy(kept[nr], st, size);
}

/* Except for the version: none is used twice. */
void stamp_go_back(unsigned int nr)
{
	__u32 version = st->version;

	memcpy(st, kept[nr], sizeof(*st) + st->sectors * sizeof(struct sector));
	st->version = version;
}

static struct thread *prepare(unsigned int nr)
{
	struct thread *t = &threads[nr];

	t->nr = nr;
	t->ops = 0;
	t->random = (st->seed + st->version) * 0xd1342543de82ef95ULL + nr;
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
	mismatches = 0;
	for (unsigned int i = 0; i < stamp.nr_threads; i++) {
		struct thread *t = prepare(i);

		if (pthread_create(&t->thread, NULL, bodies[body], t)) {
			stamp_say("out of memory");
			exit(STAMP_FAILED);
		}
	}
	for (unsigned int i = 0; i < stamp.nr_threads; i++)
		pthread_join(threads[i].thread, NULL);
	if (mismatches) {
		stamp_say("%llu sectors are wrong (seed %llu)", mismatches, st->seed);
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
		printf("%llu EAGAIN\n", again);
	if (stamp.bound)
		printf("%llu ms, the slowest\n", slowest / 1000);
}
