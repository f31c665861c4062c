// SPDX-License-Identifier: GPL-2.0-only
/*
 * The launch of an application: 24 MiB are read in files of 4 to 64 KiB, one at a time. Half of
 * them were read a moment ago, the others are cold. Each half is in the order of its files, with
 * gaps of the size of a file, and which half is next is a matter of chance, always the same.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"
#include "error.h"
#include "fusionctl.h"
#include "random.h"

#define HALF		(12ULL << 20)
#define LEAST_FILE	4096ULL
#define FILE_SIZES	5	/* each twice the one before */

/* Where it is, and how much of it is to be read yet. */
struct half {
	uint64_t at, end, left;
	unsigned long long state;	/* of its own, so that it is the same without the other */
};

static uint64_t file_size(unsigned long long *state)
{
	return LEAST_FILE << random64(*state += RANDOM_STEP) % FILE_SIZES;
}

static void read_file(struct half *h, FILE *f, const char *path)
{
	uint64_t bytes = file_size(&h->state);

	bytes = bytes < h->left ? bytes : h->left;
	if (h->at + bytes > h->end) {
		h->left = 0;
		return;
	}
	fprintf(f, "%s read %" PRIu64 " %" PRIu64 "\n", path, h->at, bytes);
	h->left -= bytes;
	h->at += bytes + file_size(&h->state);
}

void bench_launch_list(FILE *f, const char *path, uint64_t bytes, int time)
{
	/* the beginning, which other loads use most, and a place for each time that is cold */
	const uint64_t part = bytes / (1 + BENCH_TRIES) / LEAST_FILE * LEAST_FILE;
	const uint64_t read = part / 2 < HALF ? part / 2 / LEAST_FILE * LEAST_FILE : HALF;
	struct half half[2] = { { 0, part, read, 1 } };
	unsigned long long state = 3;

	if (time >= 0)
		half[1] = (struct half) { (1 + time) * part, (2 + time) * part, read, 2 };
	fprintf(f, "fio version 2 iolog\n%s add\n%s open\n", path, path);
	while (half[0].left + half[1].left) {
		const uint64_t chance = random64(state += RANDOM_STEP) %
					(half[0].left + half[1].left);

		read_file(&half[chance >= half[0].left], f, path);
	}
	fprintf(f, "%s close\n", path);
}

/* The list is nowhere but in memory. */
static int replay(const struct bench_work *w, int time, struct fio_side side[2])
{
	char path[64];
	const struct fio_replay r = { path, w->b->target, bench_stopped };
	int fd = memfd_create("launch", MFD_CLOEXEC), rc;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (f)
		bench_launch_list(f, bench_target_path(w->b, w->t, 0), w->b->size, time);
	/* without some of them the launch would seem faster */
	if (!f || fflush(f) || ferror(f)) {
		rc = fus_fail(FC_FAILED, "bench", "cannot make a list of reads: %s; close programs "
			      "and try again", strerror(errno));
		if (f)
			fclose(f);
		else if (fd >= 0)
			close(fd);
		return rc;
	}
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), fd);
	rc = bench_stopped() ? FC_FAILED : fio_run_replay(&r, side);
	fclose(f);
	return rc;
}

int bench_launch_warm(const struct bench_work *w)
{
	struct fio_side side[2];

	return replay(w, -1, side);
}

int bench_launch(const struct bench_work *w, unsigned int time, struct fio_side side[2])
{
	return replay(w, time, side);
}
