// SPDX-License-Identifier: GPL-2.0-only
/*
 * fusion-warm: give extents of a device heat, or content without any.
 *
 *	fusion-warm DEVICE EXTENT_BYTES <LIST
 *	fusion-warm DEVICE EXTENT_BYTES COUNT
 *
 * Each line of LIST is an extent and a number of accesses: reads of 4 KiB at random places, without
 * the page cache. Extents are read in rounds, and a round takes longer than the time in which
 * accesses count once.
 *
 * Meanwhile accesses of the idle class, which add no heat, keep the kernel from measuring how long
 * accesses take: so the policy stays as it is when nothing was measured.
 *
 * With COUNT, the first extents, so many, are written in that class instead.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../userspace/lib/random.h"

#define BLOCK		4096UL
#define NR_THREADS	8
#define MAX_EXTENTS	65536
#define ROUND_NS	300000000LL
/* Shorter than the time between two looks of the mover; and longer than that. */
#define IDLE_US		10000
#define LOOK_US		250000
#define IDLE_CLASS	(3 << 13)	/* as ioprio_set() has it */

static struct {
	unsigned long lext;
	unsigned int accesses;
} extents[MAX_EXTENTS];

static unsigned int nr, round_nr;
static unsigned long extent_bytes;
static int fd;
static atomic_uint next, failed;
static atomic_bool over;

static long long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void *read_some(void *arg)
{
	unsigned long long seed = round_nr * 1000003ULL + (unsigned long)arg;
	unsigned int i;
	void *buf;

	if (posix_memalign(&buf, BLOCK, BLOCK)) {
		failed = ENOMEM;
		return NULL;
	}
	while ((i = next++) < nr && !failed) {
		unsigned long block = random64(seed += RANDOM_STEP) % (extent_bytes / BLOCK);
		off_t at = extents[i].lext * extent_bytes + block * BLOCK;

		if (extents[i].accesses > round_nr && pread(fd, buf, BLOCK, at) != BLOCK)
			failed = errno ? errno : EIO;
	}
	free(buf);
	return NULL;
}

/* For this thread. */
static int be_idle(void)
{
	return syscall(SYS_ioprio_set, 1, 0, IDLE_CLASS);
}

static void *read_idly(void *arg)
{
	void *buf;

	if (posix_memalign(&buf, BLOCK, BLOCK) || be_idle()) {
		failed = ENOTSUP;
		return NULL;
	}
	while (!over && !failed) {
		if (pread(fd, buf, BLOCK, 0) != BLOCK)
			failed = errno ? errno : EIO;
		usleep(IDLE_US);
	}
	free(buf);
	return arg;
}

static void run_round(void)
{
	long long left, end = now_ns() + ROUND_NS;
	pthread_t thread[NR_THREADS];

	next = 0;
	for (unsigned long i = 0; i < NR_THREADS; i++)
		if (pthread_create(&thread[i], NULL, read_some, (void *)i))
			abort();
	for (unsigned int i = 0; i < NR_THREADS; i++)
		pthread_join(thread[i], NULL);
	left = end - now_ns();
	if (left > 0)
		nanosleep(&(struct timespec){ .tv_nsec = left }, NULL);
}

static int fill(unsigned long count)
{
	void *buf;

	if (posix_memalign(&buf, BLOCK, extent_bytes) || be_idle())
		return -ENOTSUP;
	memset(buf, 0, extent_bytes);
	for (unsigned long i = 0; i < count; i++)
		if (pwrite(fd, buf, extent_bytes, i * extent_bytes) != (ssize_t)extent_bytes)
			return errno ? -errno : -EIO;
	free(buf);
	return fsync(fd) ? -errno : 0;
}

static int warm(void)
{
	unsigned int most = 0;
	pthread_t idle;

	while (nr < MAX_EXTENTS &&
	       scanf("%lu %u", &extents[nr].lext, &extents[nr].accesses) == 2) {
		if (extents[nr].accesses > most)
			most = extents[nr].accesses;
		nr++;
	}
	if (pthread_create(&idle, NULL, read_idly, NULL))
		abort();
	usleep(LOOK_US);
	for (round_nr = 0; round_nr < most && !failed; round_nr++)
		run_round();
	usleep(LOOK_US);
	over = true;
	pthread_join(idle, NULL);
	return -(int)failed;
}

int main(int argc, char **argv)
{
	int err;

	if (argc != 3 && argc != 4)
		return 2;
	fd = open(argv[1], O_RDWR | O_DIRECT);
	extent_bytes = strtoul(argv[2], NULL, 10);
	if (fd < 0 || extent_bytes < BLOCK) {
		fprintf(stderr, "fusion-warm: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	err = argc == 4 ? fill(strtoul(argv[3], NULL, 10)) : warm();
	if (err)
		fprintf(stderr, "fusion-warm: %s: %s\n", argv[1], strerror(-err));
	return err ? 1 : 0;
}
