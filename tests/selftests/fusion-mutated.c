// SPDX-License-Identifier: GPL-2.0-only
/*
 * fusion-mutated: let the kernel open sets with mutated metadata.
 *
 *	fusion-mutated -s SEED -n IMAGES FAST SLOW DIR...
 *
 * Each DIR holds a base set: fast and slow, the content of its members, and want, the content of
 * the set. For each seed one of the base sets goes to the members FAST and SLOW, mutated (see
 * mutate.h). The kernel opens it, or refuses it with a reason. An opened set is read, queried,
 * written, flushed, moved, discarded, closed, and opened again. A seed always gives the same set:
 * -s SEED -n 1 repeats it.
 *
 * Exit status 1, with the seed: a refusal without a reason; a set that was served and then returns
 * data that was never written, does not close, or does not open again; changed data after rot
 * (errors are right); writes where no data belongs; a complaint in the kernel log; a request that
 * does not end. 2: no test took place.
 */
#include <errno.h>
#include <fcntl.h>
#include <libdevmapper.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dm-quiet.h"
#include "mutate.h"

#define NAME		"mutated"
#define CHUNK		(64U << 10)
#define BLOCK		FUSION_BLOCK_SIZE
#define MAX_BASES	16
#define OPERATIONS	24
/*
 * Nothing here takes a second on a stock kernel; with sanitizers on a busy machine it takes some.
 */
#define STALL_SECONDS	150

/*
 * A device in memory. Unused chunks are zero and never touched: user-mode Linux cannot give a
 * process more than 65530 pages.
 */
struct bytes {
	u8 *p;
	u8 *used;	/* for each chunk */
	size_t size;
};

struct base {
	const char *name;
	struct image im;
	size_t head[FUSION_NR_DEVS];	/* bytes of metadata, before the first slot */
	struct bytes member[FUSION_NR_DEVS];
	struct bytes want;
};

static struct base bases[MAX_BASES];
static unsigned int nr_bases;
static const char *member[FUSION_NR_DEVS];
static u64 member_size[FUSION_NR_DEVS];
static int member_fd[FUSION_NR_DEVS], kmsg_fd, log_fd;

/* The image under test, and its fate. */
static struct {
	u64 seed;
	struct base *base;
	struct image im;	/* the heads, with what was mutated */
	struct fusion_sb sb;	/* the one that counts, if any is valid */
	struct mutation m;
	bool read_only;
	int fd;
	struct bytes now;	/* what the set reads as */
	u8 *unknown;		/* for each block: it could not be read, or written */
	size_t size;
	u8 *buf;
} t;

static struct {
	unsigned int refused, served, read_only, lost, again, tool, at_resume;
	unsigned int rot, rot_refused;
} count;

static void die(const char *what)
{
	fprintf(stderr, "fusion-mutated: %s: %s\n", what, strerror(errno));
	exit(2);
}

static __attribute__((format(printf, 1, 2), noreturn)) void bad(const char *format, ...)
{
	va_list args;

	printf("# seed %llu, %s%s, set %s:%s\n", (unsigned long long)t.seed,
	       t.m.rot ? "rot" : "sealed", t.read_only ? ", read-only" : "", t.base->name,
	       t.m.what);
	printf("# ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	exit(1);
}

static void on_alarm(int sig)
{
	static const char text[] = "# a request does not end; the seed is the log's last\n";

	(void)sig;
	if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0)
		_exit(2);
	_exit(1);
}

/* -- the kernel's log ------------------------------------------------------------------- */

static void log_line(void)
{
	char line[700];
	int n;

	n = snprintf(line, sizeof(line), "<6>%s: seed %llu %s:%s\n", NAME,
		     (unsigned long long)t.seed, t.base->name, t.m.what);
	if (write(log_fd, line, n) < 0)
		die("/dev/kmsg");
}

/* The log lines since the last call: is there a reason for a refusal? */
static bool log_read(void)
{
	static const char *const complaints[] = {
		"BUG:", "WARNING:", "Oops", "KASAN", "UBSAN", "KCSAN", "INFO: task",
		"protection fault", "possible circular", "possible recursive", "suspicious RCU",
	};
	bool reason = false;
	char line[8192];
	ssize_t n;

	for (;;) {
		n = read(kmsg_fd, line, sizeof(line) - 1);
		if (n < 0 && errno == EPIPE)
			continue;
		if (n <= 0)
			return reason;
		line[n] = 0;
		if (strstr(line, NAME ": seed"))
			continue;
		for (unsigned int i = 0; i < ARRAY_SIZE(complaints); i++)
			if (strstr(line, complaints[i]))
				bad("the kernel says: %s", line);
		reason |= !!strstr(line, "fusion");
	}
}

/* -- device mapper ------------------------------------------------------------------------ */

/* Return: 0 or -errno. */
static int request(int type, u64 sectors, const char *text)
{
	struct dm_task *task = dm_task_create(type);
	int err = 0;

	if (!task || !dm_task_set_name(task, NAME))
		die("libdevmapper");
	if (type == DM_DEVICE_RELOAD &&
	    (!dm_task_add_target(task, 0, sectors, "fusion", text) ||
	     (t.read_only && !dm_task_set_ro(task))))
		die("libdevmapper");
	if (type == DM_DEVICE_TARGET_MSG &&
	    (!dm_task_set_message(task, text) || !dm_task_set_sector(task, 0)))
		die("libdevmapper");
	if (!dm_task_run(task))
		err = dm_task_get_errno(task) ? -dm_task_get_errno(task) : -EIO;
	dm_task_destroy(task);
	dm_task_update_nodes();
	return err;
}

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
	char text[128];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	request(DM_DEVICE_TARGET_MSG, 0, text);
}

/* Nothing has failed. */
static bool in_order(void)
{
	struct dm_task *task = dm_task_create(DM_DEVICE_STATUS);
	char *target, *params = NULL;
	uint64_t start, length;
	char mode[8];

	if (!task || !dm_task_set_name(task, NAME) || !dm_task_run(task))
		bad("no status");
	dm_get_next_target(task, NULL, &start, &length, &target, &params);
	if (!params || sscanf(params, "%*u %7s", mode) != 1)
		bad("status: %s", params ? params : "none");
	dm_task_destroy(task);
	return !strcmp(mode, "rw");
}

/* -- bytes -------------------------------------------------------------------------------- */

static const u8 zeros[CHUNK];

static struct bytes bytes_new(size_t size)
{
	struct bytes b = { calloc(size, 1), calloc(size / CHUNK, 1), size };

	if (!b.p || !b.used)
		die("memory");
	return b;
}

static void bytes_free(struct bytes *b)
{
	free(b->p);
	free(b->used);
}

/* The rest of the chunk that contains byte @at. */
static const u8 *bytes_at(const struct bytes *b, size_t at)
{
	return b->used[at / CHUNK] ? b->p + at : zeros + at % CHUNK;
}

/* @len bytes that cross no chunk. */
static void bytes_put(struct bytes *b, size_t at, const u8 *data, size_t len)
{
	if (!memcmp(bytes_at(b, at), data, len))
		return;
	b->used[at / CHUNK] = 1;
	memcpy(b->p + at, data, len);
}

/* -- members -------------------------------------------------------------------------------- */

/* RAM disks: discarded memory is freed. Most of a member is empty. */
static void write_member(int dev, const u8 *head)
{
	static u64 before[FUSION_NR_DEVS];	/* what the last one had */
	const u64 size = t.base->im.size[dev];
	u64 range[2] = { 0, member_size[dev] };

	if (before[dev])
		range[1] = size > before[dev] ? size : before[dev];
	before[dev] = size;
	if (ioctl(member_fd[dev], BLKDISCARD, range))
		die("discard");
	for (u64 at = 0; at < size; at += CHUNK) {
		const u8 *p = at < t.base->head[dev] ? head + at :
						       bytes_at(&t.base->member[dev], at);

		if (p == zeros)
			continue;
		memcpy(t.buf, p, CHUNK);
		if (pwrite(member_fd[dev], t.buf, CHUNK, at) != CHUNK)
			die(member[dev]);
	}
}

/* Only the mutated blocks. */
static void write_mutated(void)
{
	for (int dev = 0; dev < FUSION_NR_DEVS; dev++) {
		for (size_t at = 0; at < t.base->head[dev]; at += BLOCK) {
			if (!memcmp(t.im.mem[dev] + at, t.base->im.mem[dev] + at, BLOCK))
				continue;
			memcpy(t.buf, t.im.mem[dev] + at, BLOCK);
			if (pwrite(member_fd[dev], t.buf, BLOCK, at) != BLOCK)
				die(member[dev]);
		}
	}
}

/* No data is ever in the last MiB of a member, nor beyond. */
static void check_tails(void)
{
	const size_t tail = FUSION_GUARD_SECTORS * 512;

	for (int dev = 0; dev < FUSION_NR_DEVS; dev++) {
		const size_t size = t.base->im.size[dev];
		size_t end = 512 * (dev == FUSION_FAST ? t.sb.self_sectors : t.sb.peer_sectors);

		end = min_t(u64, round_down(end, CHUNK), member_size[dev]);
		for (size_t at = end - tail; at < min_t(u64, end + tail, member_size[dev]);
		     at += CHUNK) {
			if (pread(member_fd[dev], t.buf, CHUNK, at) != CHUNK)
				die(member[dev]);
			if (memcmp(t.buf, at < size ? bytes_at(&t.base->member[dev], at) : zeros,
				   CHUNK))
				bad("the %s member was written to at byte %zu",
				    dev == FUSION_FAST ? "fast" : "slow", at);
		}
	}
}

/* -- the set ---------------------------------------------------------------------------------- */

/* The superblock that the kernel will use. */
static void find_super(const struct image *im)
{
	struct fusion_sb sb;
	const char *why;
	bool found = false;

	t.sb = t.base->im.sb[FUSION_FAST];
	for (int copy = 0; copy < 2; copy++) {
		const u64 blocknr = FUSION_SUPER_BLOCKNR(copy);

		if (!fusion_sb_unpack(im->mem[FUSION_FAST] + blocknr * BLOCK, blocknr,
				      member_size[FUSION_FAST] / 512, &sb, &why) &&
		    (!found || sb.generation > t.sb.generation)) {
			t.sb = sb;
			found = true;
		}
	}
}

static size_t extent_bytes(void)
{
	return t.sb.extent_sectors * 512UL;
}

static void close_set(void)
{
	int err;

	if (t.fd >= 0)
		close(t.fd);
	t.fd = -1;
	err = request(DM_DEVICE_REMOVE, 0, NULL);
	if (err)
		bad("it cannot be removed: %s", strerror(-err));
}

static int open_node(void)
{
	u64 bytes = 0;

	t.fd = open("/dev/mapper/" NAME,
		    (t.read_only ? O_RDONLY : O_RDWR) | O_DIRECT | O_CLOEXEC);
	if (t.fd < 0 || ioctl(t.fd, BLKGETSIZE64, &bytes))
		bad("no node: %s", strerror(errno));
	t.size = bytes;
	return 0;
}

/* By the table line. With @late the metadata changes after the constructor has read it. */
static int open_direct(bool late)
{
	char params[256];
	const u64 sectors = (u64)t.sb.nr_lexts * t.sb.extent_sectors;
	int err;

	snprintf(params, sizeof(params), "%s %s 2 idle 0", member[FUSION_FAST],
		 member[FUSION_SLOW]);
	err = request(DM_DEVICE_CREATE, 0, NULL);
	if (err)
		bad("no device: %s", strerror(-err));
	err = request(DM_DEVICE_RELOAD, sectors, params);
	if (late && err)
		bad("refused before it was mutated: %s", strerror(-err));
	if (late)
		write_mutated();
	if (!err)
		err = request(DM_DEVICE_RESUME, 0, NULL);
	if (err)
		close_set();
	return err ? err : open_node();
}

/* As users do it. Return: 0 or -1; the reason is on a pipe. */
static int open_by_tool(void)
{
	int out[2], status = 0;
	char said[4096] = "";
	bool spoke = false;
	ssize_t n;
	pid_t pid;

	if (pipe(out))
		die("pipe");
	pid = fork();
	if (!pid) {
		dup2(out[1], STDOUT_FILENO);
		dup2(out[1], STDERR_FILENO);
		close(out[0]);
		execlp("fusionctl", "fusionctl", "open", NAME, member[FUSION_FAST],
		       member[FUSION_SLOW], NULL);
		_exit(127);
	}
	close(out[1]);
	/* to the end: the writer would die of a pipe without a reader */
	while ((n = read(out[0], said, sizeof(said) - 1)) > 0)
		spoke = true;
	close(out[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		die("fusionctl");
	count.tool++;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return open_node();
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 7)
		bad("fusionctl open: status %x: %s", status, said);
	if (!spoke)
		bad("fusionctl open refuses and does not say why");
	return -1;
}

/*
 * Read all of it, by blocks where reads fail, since an error is not a lie. Compare it with @want,
 * except for extents that are @loose, in each block with known content. With @keep, keep it.
 */
static void read_all(const struct bytes *want, const u8 *loose, struct bytes *keep,
		     const char *when)
{
	for (size_t at = 0; at < t.size; at += BLOCK) {
		const u8 *got = t.buf + at % CHUNK;

		if (!(at % CHUNK) && pread(t.fd, t.buf, CHUNK, at) != CHUNK) {
			for (size_t b = 0; b < CHUNK; b += BLOCK) {
				if (pread(t.fd, t.buf + b, BLOCK, at + b) == BLOCK)
					continue;
				t.unknown[(at + b) / BLOCK] = 1;
				count.lost++;
			}
		}
		if (t.unknown[at / BLOCK])
			continue;
		if (want && memcmp(bytes_at(want, at), got, BLOCK) &&
		    !(loose && loose[at / extent_bytes()]))
			bad("%s block %zu of the set (extent %zu) is not what it was", when,
			    at / BLOCK, at / extent_bytes());
		if (keep)
			bytes_put(keep, at, got, BLOCK);
	}
}

/* -- what is done with a set that opens ------------------------------------------------- */

static void some_range(size_t *at, size_t *len)
{
	const size_t blocks = t.size / BLOCK;

	*at = mutate_below(&t.m.state, blocks);
	*len = 1 + mutate_below(&t.m.state, 1 + mutate_below(&t.m.state, CHUNK / BLOCK));
	*len = min(*len, blocks - *at);
	*at *= BLOCK;
	*len *= BLOCK;
}

/* A write that fails, or half fails, may leave either content. */
static void done(size_t at, size_t len, bool well, const u8 *data)
{
	if (!well)
		memset(t.unknown + at / BLOCK, 1, len / BLOCK);
	else
		for (size_t i = 0; i < len; i += BLOCK)
			bytes_put(&t.now, at + i, data ? data + i : zeros, BLOCK);
}

static void write_some(int flags)
{
	struct iovec iov = { .iov_base = t.buf };
	size_t at, len;

	some_range(&at, &len);
	iov.iov_len = len;
	for (size_t i = 0; i < len; i += sizeof(u64)) {
		const u64 stamp = t.seed << 32 | (at + i);

		memcpy(t.buf + i, &stamp, sizeof(stamp));
	}
	done(at, len, pwritev2(t.fd, &iov, 1, at, flags) == (ssize_t)len, t.buf);
}

/* Whole extents: discarding a part is a hint, and the part may keep its content. */
static void discard_some(void)
{
	const size_t extent = extent_bytes();
	u64 range[2] = { mutate_below(&t.m.state, t.size / extent) * (u64)extent, extent };

	done(range[0], extent, !ioctl(t.fd, BLKDISCARD, range), NULL);
}

static void zero_some(void)
{
	size_t at, len;
	u64 range[2];

	some_range(&at, &len);
	range[0] = at;
	range[1] = len;
	done(at, len, !ioctl(t.fd, BLKZEROOUT, range), NULL);
}

static void move_some(void)
{
	const u32 lexts = t.size / extent_bytes();
	const u32 first = mutate_below(&t.m.state, lexts);
	const u32 last = min(first + mutate_below(&t.m.state, 16), lexts - 1);

	say("%s %u-%u", mutate_below(&t.m.state, 2) ? "promote" : "demote", first, last);
}

static void messages(void)
{
	say("stats");
	say("map 0 4294967295");
	say("heat 4096");
	say("map %u %u", mutate_below(&t.m.state, 1000), mutate_below(&t.m.state, 1000));
	say("reserve %u", mutate_below(&t.m.state, 64));
}

static void work(void)
{
	for (unsigned int i = 0; i < OPERATIONS; i++) {
		switch (mutate_below(&t.m.state, 10)) {
		case 0:
			fsync(t.fd);
			break;
		case 1:
			discard_some();
			break;
		case 2:
			zero_some();
			break;
		case 3:
		case 4:
			move_some();
			break;
		case 5:
			if (mutate_below(&t.m.state, 2))
				say("checkpoint");
			break;
		default:
			write_some(mutate_below(&t.m.state, 3) ? 0 : RWF_DSYNC);
		}
	}
	fsync(t.fd);
}

static void serve(void)
{
	const struct mutation *m = &t.m;
	const bool judged = m->rot && !(m->torn_tail && m->blocks > 1);
	bool was_in_order;

	if (m->rot && t.size != t.base->want.size)
		bad("after rot it has another size");
	t.now = bytes_new(t.size);
	t.unknown = calloc(t.size / BLOCK, 1);
	if (!t.unknown)
		die("memory");
	/* rotten blocks of the last transactions count as never written */
	read_all(judged ? &t.base->want : NULL,
		 m->torn_tail ? t.base->im.last[FUSION_FAST] : NULL, &t.now, "after rot");
	messages();
	if (t.read_only) {
		count.read_only++;
	} else {
		work();
		read_all(&t.now, NULL, NULL, "after writing");
	}
	was_in_order = in_order();
	close_set();
	check_tails();
	log_read();
	count.served++;
	/* a cleanly closed set opens, and holds the written data */
	if (was_in_order && !t.read_only && mutate_below(&t.m.state, 2)) {
		const int err = open_direct(false);

		if (err)
			bad("closed in order, it does not open: %s", strerror(-err));
		read_all(&t.now, NULL, NULL, "opened again");
		close_set();
		count.again++;
	}
	bytes_free(&t.now);
	free(t.unknown);
}

static void one_image(u64 seed)
{
	struct base *other;
	bool late, tool;
	int err;

	t.seed = seed;
	t.m = (struct mutation){ .state = seed };
	/* rather small ones than large ones, which take long */
	t.base = &bases[mutate_below(&t.m.state, nr_bases)];
	other = &bases[mutate_below(&t.m.state, nr_bases)];
	if (other->want.size < t.base->want.size)
		t.base = other;
	t.read_only = !mutate_below(&t.m.state, 10);
	late = !mutate_below(&t.m.state, 12);
	tool = !late && !t.read_only && !mutate_below(&t.m.state, 10);
	t.fd = -1;
	t.im = t.base->im;
	for (int dev = 0; dev < FUSION_NR_DEVS; dev++) {
		t.im.mem[dev] = malloc(t.base->head[dev]);
		if (!t.im.mem[dev])
			die("memory");
		memcpy(t.im.mem[dev], t.base->im.mem[dev], t.base->head[dev]);
	}
	mutate(&t.im, &t.m);
	count.rot += t.m.rot;
	count.at_resume += late;
	log_read();
	log_line();
	find_super(late ? &t.base->im : &t.im);
	alarm(STALL_SECONDS);

	for (int dev = 0; dev < FUSION_NR_DEVS; dev++)
		write_member(dev, (late ? &t.base->im : &t.im)->mem[dev]);
	err = tool ? open_by_tool() : open_direct(late);
	if (!err) {
		serve();
	} else {
		if (!log_read() && !tool)
			bad("refused without a word: %s", strerror(-err));
		count.refused++;
		count.rot_refused += t.m.rot;
		check_tails();
	}
	log_read();
	alarm(0);
	for (int dev = 0; dev < FUSION_NR_DEVS; dev++)
		free(t.im.mem[dev]);
}

/* -- what there is ---------------------------------------------------------------------- */

static struct bytes load(const char *dir, const char *name)
{
	char path[4096];
	struct bytes b;
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || st.st_size % CHUNK)
		die(path);
	b = bytes_new(st.st_size);
	for (size_t at = 0; at < b.size; at += CHUNK) {
		if (pread(fd, t.buf, CHUNK, at) != CHUNK)
			die(path);
		bytes_put(&b, at, t.buf, CHUNK);
	}
	close(fd);
	return b;
}

static void add_base(const char *dir)
{
	struct base *b = &bases[nr_bases++];
	const char *why;

	b->name = strrchr(dir, '/') ? strrchr(dir, '/') + 1 : dir;
	for (int dev = 0; dev < FUSION_NR_DEVS; dev++) {
		b->member[dev] = load(dir, dev == FUSION_FAST ? "fast" : "slow");
		b->im.mem[dev] = b->member[dev].p;
		b->im.size[dev] = b->member[dev].size;
	}
	b->want = load(dir, "want");
	why = image_read(&b->im);
	if (why) {
		fprintf(stderr, "fusion-mutated: %s: %s\n", dir, why);
		exit(2);
	}
	b->head[FUSION_FAST] = b->im.sb[FUSION_FAST].fast_data_start * 512;
	b->head[FUSION_SLOW] = b->im.sb[FUSION_FAST].slow_first_slot *
			       b->im.sb[FUSION_FAST].extent_sectors * 512UL;
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static int usage(void)
{
	fputs("usage: fusion-mutated [-s SEED] [-n IMAGES] FAST SLOW DIR...\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	const double start = seconds();
	unsigned long n = 100, i;
	u64 seed = 1;
	int c;

	while ((c = getopt(argc, argv, "s:n:")) != -1) {
		if (c == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (c == 'n')
			n = strtoul(optarg, NULL, 0);
		else
			return usage();
	}
	if (argc - optind < 3 || argc - optind - 2 > MAX_BASES)
		return usage();
	setvbuf(stdout, NULL, _IOLBF, 0);
	dm_log_with_errno_init(dm_quiet);
	signal(SIGALRM, on_alarm);
	t.buf = aligned_alloc(BLOCK, CHUNK);
	kmsg_fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	log_fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	if (!t.buf || kmsg_fd < 0 || log_fd < 0 || lseek(kmsg_fd, 0, SEEK_END) < 0)
		die("/dev/kmsg");
	for (int dev = 0; dev < FUSION_NR_DEVS; dev++) {
		member[dev] = argv[optind + dev];
		member_fd[dev] = open(member[dev], O_RDWR | O_DIRECT | O_CLOEXEC);
		if (member_fd[dev] < 0 || ioctl(member_fd[dev], BLKGETSIZE64, &member_size[dev]))
			die(member[dev]);
	}
	for (i = optind + 2; i < (unsigned long)argc; i++)
		add_base(argv[i]);

	for (i = 0; i < n; i++)
		one_image(seed + i);
	printf("# %lu images in %.0f s, seeds %llu to %llu: %u refused, %u served, %u of them "
	       "read-only; %u opened again; %u by fusionctl; %u mutated between load and resume\n",
	       n, seconds() - start, (unsigned long long)seed, (unsigned long long)(seed + n - 1),
	       count.refused, count.served, count.read_only, count.again, count.tool,
	       count.at_resume);
	printf("# %u of rot, %u of those refused; %u blocks could not be read\n", count.rot,
	       count.rot_refused, count.lost);
	/* a kernel that refuses all, or serves all, proves nothing */
	return !count.refused || !count.served;
}
