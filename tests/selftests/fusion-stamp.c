// SPDX-License-Identifier: GPL-2.0-only
/*
 * fusion-stamp: does a block device return what was written to it?
 *
 * Every sector written carries its own address, the version of the write and the
 * seed of the run, all 512 bytes of it. A state file says what each sector must
 * read as; it is mapped shared, so it outlives this program, however it ends.
 *
 *	version		number of the write, counted over the whole device. Never
 *			used twice, so a resurrected old write is told from a new one
 *	done		when the write ended, on a clock that counts ended writes;
 *			PENDING while it is under way, and for ever if it failed
 *	durable		newest version known to be durable when a later one began
 *
 * A flush that begins at time T and succeeds makes every write with done <= T
 * durable. After a power cut a sector may therefore hold anything from its durable
 * version to its newest; without one it must hold the newest, exactly. A partly
 * discarded extent may read as it was or as zeros, in every sector of the discard;
 * an extent discarded as a whole, zeros written and sectors never written read as
 * zeros.
 *
 * Threads take range locks by sector, so that what a read must see is always
 * known, while neighbouring sectors, blocks and extents are written in parallel.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/fs.h>
#include <linux/types.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define SECTOR		512ULL
#define WORDS		(SECTOR / sizeof(__u64))
#define BLOCK		8ULL			/* sectors in 4 KiB */
#define MAX_THREADS	64
#define MAX_REPORTS	20
#define MAGIC		0x33706d6174736d64ULL	/* "dmstamp3" */
#define PENDING		0xffffffffU
#define GARBAGE		0xffffffffU		/* as a version: no stamp of this sector */

enum exit_code {
	OK,
	MISMATCH,
	USAGE,
	FAILED,
};

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
	atomic_uint version;	/* last one given out */
	atomic_uint clock;		/* writes ended */
	atomic_uint flushed;	/* clock up to which all are durable */
	struct sector sector[];
};

static struct state *st;

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

/* May a sector read as version @found (0: zeros)? */
static bool acceptable(const struct sector *s, __u32 found, bool power_cut)
{
	bool exact = power_cut ? s->done <= atomic_load(&st->flushed) : s->done != PENDING;

	if (!found)
		return reads_zero(s) || s->flags & MAYBE_ZERO ||
		       (!exact && s->flags & WAS_ZERO);
	if (exact)
		return !reads_zero(s) && found == s->version;
	return found >= s->durable && found <= s->version;
}

/* -- stamps ---------------------------------------------------------------------- */

static void stamp(__u64 *w, __u64 sector, __u32 version)
{
	__u64 mix = (sector * 0x9e3779b97f4a7c15ULL) ^ (version * 0xc2b2ae3d27d4eb4fULL);

	w[0] = MAGIC ^ st->seed;
	w[1] = sector;
	w[2] = version;
	for (unsigned int i = 3; i < WORDS; i++)
		w[i] = mix + st->seed + i * 0x165667b19e3779f9ULL;
}

/* The version that 512 bytes of content are of, or GARBAGE. */
static __u32 identify(const __u64 *w, __u64 sector)
{
	__u64 want[WORDS] = { 0 };

	if (w[0] == (MAGIC ^ st->seed) && w[1] == sector && w[2] && w[2] < GARBAGE)
		stamp(want, sector, w[2]);
	return memcmp(w, want, SECTOR) ? GARBAGE : want[2];
}

/* -- what was asked for -------------------------------------------------------------- */

enum op {
	READ,
	WRITE,
	SUBBLOCK,
	DISCARD,
	ZEROOUT,
	FLUSH,
	NR_OPS,
};

static const char *const op_names[NR_OPS] = {
	"reads", "writes", "sub-block writes", "discards", "zeroouts", "flushes",
};

static const char *dev_name;
static int fd;
static int lb_sectors;			/* sectors in a logical block */
static __u64 extent_sectors;
static unsigned int weight[NR_OPS] = { 40, 35, 10, 5, 3, 2 };
static unsigned int nr_threads = 4;
static __u64 max_ops;
static __u64 max_io = 2048;		/* sectors */
static time_t deadline;
static int nowait, until_error, power_cut, sync_writes;

static atomic_bool stop;
static atomic_bool failed_io;
static atomic_ullong mismatches;
static atomic_ullong counts[NR_OPS];
static atomic_ullong bytes[NR_OPS];
static atomic_ullong again;		/* RWF_NOWAIT answered EAGAIN */

static void say(const char *format, ...)
{
	va_list args;
	char line[512];

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	fprintf(stderr, "fusion-stamp: %s: %s\n", dev_name, line);
}

static void die(enum exit_code code, const char *what)
{
	say("%s: %s", what, strerror(errno));
	exit(code);
}

/* -- range locks --------------------------------------------------------------------- */

static struct range {
	__u64 start;
	__u64 end;
	bool exclusive;
} held[MAX_THREADS];

static pthread_mutex_t range_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t range_freed = PTHREAD_COND_INITIALIZER;

static void range_lock(unsigned int me, __u64 start, __u64 end, bool exclusive)
{
	pthread_mutex_lock(&range_mutex);
	for (unsigned int i = 0; i < nr_threads; i++) {
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
	if (power_cut || s->done == PENDING)
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
		snprintf(text, size, "sector %llu version %llu", w[1],
			 w[2]);
	else
		snprintf(text, size, "garbage %016llx %016llx %016llx %016llx",
			 w[0], w[1],
			 w[2], w[3]);
}

/* Check what was read of a locked range. Return: the first wrong sector, or @end. */
static __u64 check(const void *buf, __u64 start, __u64 end, bool report)
{
	__u64 first = end;

	for (__u64 i = start; i < end; i++) {
		const __u64 *w = buf + (i - start) * SECTOR;
		const struct sector *s = sector_at(i);
		char want[80], got[120];

		if (acceptable(s, identify(w, i), power_cut))
			continue;
		if (first == end)
			first = i;
		if (!report || atomic_fetch_add(&mismatches, 1) >= MAX_REPORTS)
			continue;
		describe(s, want, sizeof(want));
		describe_found(w, i, got, sizeof(got));
		say("sector %llu (block %llu + %llu, read from %llu to %llu): expected %s, got %s",
		    i, (i / BLOCK),
		    (i % BLOCK), start,
		    end, want, got);
	}
	return first;
}

static bool read_range(void *buf, __u64 start, __u64 end)
{
	struct iovec iov = { buf, (end - start) * SECTOR };
	ssize_t n = -1;

	/* what is left in the buffer must not pass for what was read */
	memset(buf, 0xdb, iov.iov_len);
	errno = EAGAIN;
	if (nowait)
		n = preadv2(fd, &iov, 1, start * SECTOR, RWF_NOWAIT);
	if (n < 0 && errno == EAGAIN) {
		again += nowait;
		n = preadv2(fd, &iov, 1, start * SECTOR, 0);
	}
	if (n >= 0 && n != (ssize_t)iov.iov_len)
		errno = ENODATA;
	return n == (ssize_t)iov.iov_len;
}

static void check_range(void *buf, __u64 start, __u64 end)
{
	__u64 bad = check(buf, start, end, true);

	if (bad == end)
		return;
	usleep(200000);
	say("sector %llu read again: %s", bad,
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
};

/* splitmix64 */
static __u64 rnd(struct thread *t, __u64 below)
{
	__u64 z = t->random += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return (z ^ z >> 31) % below;
}

static bool write_range(struct thread *t, __u64 start, __u64 end, bool dsync)
{
	__u32 version = atomic_fetch_add(&st->version, 1) + 1;
	struct iovec iov = { t->buf, (end - start) * SECTOR };
	int flags = dsync ? RWF_DSYNC : 0;
	ssize_t n = -1;

	for (__u64 i = start; i < end; i++)
		stamp(t->buf + (i - start) * SECTOR, i, version);
	begin(start, end, version, false);
	errno = EAGAIN;
	if (nowait)
		n = pwritev2(fd, &iov, 1, start * SECTOR, flags | RWF_NOWAIT);
	if (n < 0 && errno == EAGAIN) {
		again += nowait;
		n = pwritev2(fd, &iov, 1, start * SECTOR, flags);
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
	if (ioctl(fd, BLKZEROOUT, range))
		return false;
	finish(start, end);
	return true;
}

static bool discard_range(__u64 start, __u64 end)
{
	__u64 range[2] = { start * SECTOR, (end - start) * SECTOR };
	__u64 whole_start = end, whole_end = end;

	if (extent_sectors) {
		whole_start = (start + extent_sectors - 1) / extent_sectors * extent_sectors;
		whole_end = end / extent_sectors * extent_sectors;
	}
	for (__u64 i = start; i < end; i++)
		if (whole_start >= whole_end || i < whole_start || i >= whole_end)
			sector_at(i)->flags |= MAYBE_ZERO;
	if (whole_start < whole_end)
		begin(whole_start, whole_end, atomic_fetch_add(&st->version, 1) + 1, true);
	if (ioctl(fd, BLKDISCARD, range))
		return false;
	if (whole_start < whole_end)
		finish(whole_start, whole_end);
	return true;
}

static bool flush(void)
{
	__u32 now = atomic_load(&st->clock);
	__u32 old = atomic_load(&st->flushed);

	if (fdatasync(fd))
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

static enum op pick_op(struct thread *t)
{
	unsigned int sum = 0, pick;
	enum op op;

	for (op = 0; op < NR_OPS; op++)
		sum += weight[op];
	pick = rnd(t, sum);
	for (op = 0; pick >= weight[op]; op++)
		pick -= weight[op];
	return op;
}

static bool do_op(struct thread *t)
{
	__u64 start, end;
	enum op op = pick_op(t);
	bool ok = false;

	if (op == FLUSH) {
		ok = flush();
		goto out;
	}
	if (op == SUBBLOCK)
		pick_range(t, lb_sectors, lb_sectors == 1 ? 15 : 8, &start, &end);
	else if (op == DISCARD && extent_sectors && rnd(t, 2))
		pick_range(t, extent_sectors, 4 * extent_sectors, &start, &end);
	else
		pick_range(t, BLOCK, max_io, &start, &end);

	range_lock(t->nr, start, end, op != READ);
	switch (op) {
	case READ:
		ok = read_range(t->buf, start, end);
		if (ok)
			check_range(t->buf, start, end);
		break;
	case DISCARD:
		ok = discard_range(start, end);
		break;
	case ZEROOUT:
		ok = zero_range(start, end);
		break;
	default:
		ok = write_range(t, start, end, sync_writes || !rnd(t, 20));
	}
	if (!ok)
		say("%s from sector %llu to %llu: %s", op_names[op], start,
		    end, strerror(errno));
	range_unlock(t->nr);
	bytes[op] += (end - start) * SECTOR;
out:
	if (!ok && op == FLUSH)
		say("fdatasync: %s", strerror(errno));
	counts[op] += ok;
	return ok;
}

static time_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

static void *run_thread(void *arg)
{
	struct thread *t = arg;

	while (!stop && !mismatches && (!max_ops || t->ops < max_ops / nr_threads) &&
	       (!deadline || now() < deadline)) {
		if (!do_op(t)) {
			failed_io = true;
			stop = true;
		}
		t->ops++;
	}
	return NULL;
}

/* Every thread takes every nr_threads-th piece; one thread alone goes in order. */
static void *walk_thread(void *arg, bool (*piece)(struct thread *t, __u64 s, __u64 e))
{
	struct thread *t = arg;
	__u64 end = st->start + st->sectors;

	for (__u64 s = st->start + t->nr * max_io; s < end && !stop;
	     s += nr_threads * max_io) {
		__u64 e = s + max_io < end ? s + max_io : end;

		if (!piece(t, s, e)) {
			say("sectors %llu to %llu: %s", s,
			    e, strerror(errno));
			failed_io = true;
			stop = true;
		}
	}
	return NULL;
}

static bool fill_piece(struct thread *t, __u64 start, __u64 end)
{
	counts[WRITE]++;
	bytes[WRITE] += (end - start) * SECTOR;
	return write_range(t, start, end, sync_writes);
}

static void *fill_thread(void *arg)
{
	return walk_thread(arg, fill_piece);
}

/* After a power cut what is found becomes what is expected from now on. */
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
	if (power_cut && !mismatches)
		settle(t->buf, start, end);
	counts[READ]++;
	bytes[READ] += (end - start) * SECTOR;
	return true;
}

static void *verify_thread(void *arg)
{
	return walk_thread(arg, verify_piece);
}

/* -- main ------------------------------------------------------------------------- */

static void on_signal(int sig)
{
	(void)sig;
	stop = true;
}

static void map_state(const char *path, bool create, __u64 seed, __u64 start,
		      __u64 sectors)
{
	size_t size = sizeof(*st) + sectors * sizeof(struct sector);
	int state_fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) :
		       memfd_create("state", MFD_CLOEXEC);
	struct stat sb;

	if (state_fd < 0 || fstat(state_fd, &sb))
		die(USAGE, path);
	if (!sb.st_size && !create) {
		say("state file %s is missing: run or fill writes it", path);
		exit(USAGE);
	}
	if (!sb.st_size && ftruncate(state_fd, size))
		die(USAGE, path);
	if (sb.st_size)
		size = sb.st_size;
	st = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, state_fd, 0);
	if (st == MAP_FAILED)
		die(USAGE, "state");
	if (!sb.st_size) {
		st->magic = MAGIC;
		st->seed = seed;
		st->start = start;
		st->sectors = sectors;
	}
	if (st->magic != MAGIC || size != sizeof(*st) + st->sectors * sizeof(struct sector)) {
		say("state file %s is not one of this program", path);
		exit(USAGE);
	}
	close(state_fd);
}

static __u64 parse_number(const char *text)
{
	static const char units[] = "kmgt";
	char *end;
	__u64 n = strtoull(text, &end, 0);
	const char *unit = *end ? strchr(units, *end | 0x20) : NULL;

	if (end == text || (*end && (!unit || end[1]))) {
		fprintf(stderr, "fusion-stamp: %s: not a number\n", text);
		exit(USAGE);
	}
	return unit ? n << 10 * (unit - units + 1) : n;
}

static void parse_mix(char *text)
{
	for (unsigned int i = 0; i < NR_OPS; i++) {
		char *word = strsep(&text, ":");

		weight[i] = word ? parse_number(word) : 0;
	}
}

static void print_usage(FILE *f)
{
	fputs("usage: fusion-stamp run|fill|verify DEV [OPTION]...\n"
	      "\n"
	      "  run     random reads, writes, sub-block writes, discards, zeroouts, flushes\n"
	      "  fill    write all of it, in order with one thread\n"
	      "  verify  read all of it\n"
	      "\n"
	      "  --state FILE     what every sector must read as; kept between calls\n"
	      "  --seed N         (random) of the operations and of the content\n"
	      "  --threads N      (4)\n"
	      "  --ops N          end after so many operations\n"
	      "  --seconds N      end after so many seconds\n"
	      "  --offset BYTES --size BYTES\n"
	      "                   (all) of the device; fixed by the first use of the state file\n"
	      "  --max-io BYTES   (1m)\n"
	      "  --extent BYTES   what discards of this size and alignment must leave: zeros\n"
	      "  --mix R:W:B:D:Z:F  (40:35:10:5:3:2) weights of the six operations\n"
	      "  --sync           every write is O_DSYNC\n"
	      "  --nowait         RWF_NOWAIT first; blocking when that says EAGAIN\n"
	      "  --until-error    an I/O error is where the run is meant to end\n"
	      "  --power-cut      verify: unflushed writes may be old or new\n"
	      "\n"
	      "Ends in order on SIGTERM. Exit status: 0 right, 1 wrong data, 2 usage, 3 I/O error.\n",
	      f);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "state", 1, NULL, 's' },
		{ "seed", 1, NULL, 'S' },
		{ "threads", 1, NULL, 't' },
		{ "ops", 1, NULL, 'n' },
		{ "seconds", 1, NULL, 'T' },
		{ "offset", 1, NULL, 'o' },
		{ "size", 1, NULL, 'l' },
		{ "max-io", 1, NULL, 'm' },
		{ "extent", 1, NULL, 'e' },
		{ "mix", 1, NULL, 'x' },
		{ "sync", 0, &sync_writes, true },
		{ "nowait", 0, &nowait, true },
		{ "until-error", 0, &until_error, true },
		{ "power-cut", 0, &power_cut, true },
		{ "help", 0, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	static struct thread threads[MAX_THREADS];
	const char *state_path = NULL;
	void *(*body)(void *arg) = NULL;
	__u64 seed = 0, offset = 0, size = 0, dev_size;
	int c;

	/* a VM without entropy would wait for minutes for better */
	if (getrandom(&seed, 4, GRND_INSECURE) != 4)
		seed = time(NULL);
	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case 0:
			break;
		case 's':
			state_path = optarg;
			break;
		case 'S':
			seed = parse_number(optarg);
			break;
		case 't':
			nr_threads = parse_number(optarg);
			break;
		case 'n':
			max_ops = parse_number(optarg);
			break;
		case 'T':
			deadline = now() + parse_number(optarg);
			break;
		case 'o':
			offset = parse_number(optarg);
			break;
		case 'l':
			size = parse_number(optarg);
			break;
		case 'm':
			max_io = parse_number(optarg) / SECTOR;
			break;
		case 'e':
			extent_sectors = parse_number(optarg) / SECTOR;
			break;
		case 'x':
			parse_mix(optarg);
			break;
		case 'h':
			print_usage(stdout);
			return OK;
		default:
			print_usage(stderr);
			return USAGE;
		}
	}
	if (optind + 2 == argc) {
		dev_name = argv[optind + 1];
		if (!strcmp(argv[optind], "run"))
			body = run_thread;
		else if (!strcmp(argv[optind], "fill"))
			body = fill_thread;
		else if (!strcmp(argv[optind], "verify"))
			body = verify_thread;
	}
	if (!body || !nr_threads || nr_threads > MAX_THREADS || max_io % BLOCK || !max_io ||
	    (body == verify_thread && !state_path) || extent_sectors % BLOCK) {
		print_usage(stderr);
		return USAGE;
	}

	fd = open(dev_name, (body == verify_thread ? O_RDONLY : O_RDWR) | O_DIRECT | O_CLOEXEC);
	if (fd < 0)
		die(USAGE, "open");
	if (ioctl(fd, BLKGETSIZE64, &dev_size) || ioctl(fd, BLKSSZGET, &lb_sectors))
		die(USAGE, "not a block device");
	lb_sectors /= SECTOR;
	if (!size)
		size = dev_size - offset;
	map_state(state_path, body != verify_thread, seed, offset / SECTOR,
		  size / SECTOR / BLOCK * BLOCK);
	if ((st->start + st->sectors) * SECTOR > dev_size || st->start % BLOCK) {
		say("the region ends beyond the device or begins inside a block");
		return USAGE;
	}

	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	printf("seed %llu, %u threads\n", st->seed, nr_threads);
	fflush(stdout);
	for (unsigned int i = 0; i < nr_threads; i++) {
		struct thread *t = &threads[i];

		t->nr = i;
		/* another run on the same state is another sequence of operations */
		t->random = (st->seed + st->version) * 0xd1342543de82ef95ULL + i;
		if (posix_memalign(&t->buf, 4096, max_io * SECTOR))
			die(FAILED, "memory");
		if (pthread_create(&t->thread, NULL, body, t))
			die(FAILED, "pthread_create");
	}
	for (unsigned int i = 0; i < nr_threads; i++)
		pthread_join(threads[i].thread, NULL);

	for (enum op op = 0; op < NR_OPS; op++)
		if (counts[op])
			printf("%llu %s, %llu MiB\n", counts[op],
			       op_names[op], (bytes[op] >> 20));
	if (nowait)
		printf("%llu EAGAIN\n", again);
	if (mismatches) {
		say("%llu sectors are wrong (seed %llu)", mismatches,
		    st->seed);
		return MISMATCH;
	}
	return failed_io && !until_error ? FAILED : OK;
}
