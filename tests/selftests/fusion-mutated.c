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
#include <time.h>
#include <unistd.h>

#include "dm-quiet.h"
#include "mutated.h"

#define MAX_BASES	16

/*
 * Nothing here takes a second on a stock kernel; with sanitizers on a busy machine it takes some.
 */
#define STALL_SECONDS	150

static struct base bases[MAX_BASES];
static unsigned int nr_bases;
static int kmsg_fd, log_fd;

const char *member[FUSION_NR_DEVS];
u64 member_size[FUSION_NR_DEVS];
int member_fd[FUSION_NR_DEVS];
struct trial trial;
struct count count;

void die(const char *what)
{
	fprintf(stderr, "fusion-mutated: %s: %s\n", what, strerror(errno));
	exit(2);
}

void bad(const char *format, ...)
{
	va_list args;

	printf("# seed %llu, %s%s, set %s:%s\n", (unsigned long long)trial.seed,
	       trial.m.rot ? "rot" : "sealed", trial.read_only ? ", read-only" : "",
	       trial.base->name, trial.m.what);
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

/* -- the kernel's log --------------------------------------------------------------- */

static void log_line(void)
{
	char line[700];
	int n;

	n = snprintf(line, sizeof(line), "<6>%s: seed %llu %s:%s\n", NAME,
		     (unsigned long long)trial.seed, trial.base->name, trial.m.what);
	if (write(log_fd, line, n) < 0)
		die("/dev/kmsg");
}

bool log_read(void)
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

/* -- one image ---------------------------------------------------------------------- */

static void one_image(u64 seed)
{
	struct base *other;
	bool late, tool;
	int err;

	trial.seed = seed;
	trial.m = (struct mutation){ .state = seed };
	/* rather small ones than large ones, which take long */
	trial.base = &bases[mutate_below(&trial.m.state, nr_bases)];
	other = &bases[mutate_below(&trial.m.state, nr_bases)];
	if (other->want.size < trial.base->want.size)
		trial.base = other;
	trial.read_only = !mutate_below(&trial.m.state, 10);
	late = !mutate_below(&trial.m.state, 12);
	tool = !late && !trial.read_only && !mutate_below(&trial.m.state, 10);
	trial.fd = -1;
	trial.im = trial.base->im;
	for (int dev = 0; dev < FUSION_NR_DEVS; dev++) {
		trial.im.mem[dev] = malloc(trial.base->head[dev]);
		if (!trial.im.mem[dev])
			die("memory");
		memcpy(trial.im.mem[dev], trial.base->im.mem[dev], trial.base->head[dev]);
	}
	mutate(&trial.im, &trial.m);
	count.rot += trial.m.rot;
	count.at_resume += late;
	log_read();
	log_line();
	find_super(late ? &trial.base->im : &trial.im);
	alarm(STALL_SECONDS);

	for (int dev = 0; dev < FUSION_NR_DEVS; dev++)
		write_member(dev, (late ? &trial.base->im : &trial.im)->mem[dev]);
	err = tool ? open_by_tool() : open_direct(late);
	if (!err) {
		serve();
	} else {
		if (!log_read() && !tool)
			bad("refused without a word: %s", strerror(-err));
		count.refused++;
		count.rot_refused += trial.m.rot;
		check_tails();
	}
	log_read();
	alarm(0);
	for (int dev = 0; dev < FUSION_NR_DEVS; dev++)
		free(trial.im.mem[dev]);
}

/* -- what there is ------------------------------------------------------------------ */

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
		if (pread(fd, trial.buf, CHUNK, at) != CHUNK)
			die(path);
		bytes_put(&b, at, trial.buf, CHUNK);
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
	trial.buf = aligned_alloc(BLOCK, CHUNK);
	kmsg_fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	log_fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	if (!trial.buf || kmsg_fd < 0 || log_fd < 0 || lseek(kmsg_fd, 0, SEEK_END) < 0)
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
