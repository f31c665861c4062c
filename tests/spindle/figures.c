// SPDX-License-Identifier: GPL-2.0-only
/*
 * spindle: the model's figures, from a closed loop of simulated host commands,
 * in seconds and without a VM.
 *
 *   figures [PROFILE [KEY VALUE ...]]
 *
 * prints the figures of one profile, for tuning. Without arguments it checks all profiles against
 * the bounds of verify.sh, as KTAP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dm-spindle.h"

#define CAPACITY	(4ULL << 30 >> 9)
#define HOST_NS		10000	/* from a completion to the next submission */
#define MAX_DEPTH	64

struct load {
	const char *name;
	enum spindle_op op;
	bool random;
	bool fsync;		/* a flush after each write */
	bool fua;
	unsigned int depth;
	unsigned int sectors;
	unsigned int seconds;
};

struct result {
	double iops;
	double mb_per_s;
	double latency_us;
};

static u64 random_state = 88172645463325252ULL;

static u64 next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

struct host_io {
	struct spindle_io io;
	u64 submitted;
	u64 again;		/* when the host submits the next one; 0: in the drive */
};

static struct spindle_drive d;

static struct result run(const struct spindle_params *p, const struct load *l)
{
	struct host_io ios[MAX_DEPTH] = {};
	u64 now = 1, warm = 0, position = 0, done = 0, latency = 0;
	u64 end = (l->seconds + 3) * (u64)NSEC_PER_SEC;
	unsigned int i;

	spindle_init(&d, p, CAPACITY);
	spindle_watch(&d, 0, CAPACITY / 4, now);
	for (i = 0; i < l->depth; i++)
		ios[i].again = now + i * 100;

	while (now < end) {
		struct host_io *next = NULL;
		u64 event = spindle_next(&d);

		for (i = 0; i < l->depth; i++)
			if (ios[i].again && (!next || ios[i].again < next->again))
				next = &ios[i];
		if (next && next->again <= event) {
			struct spindle_io *io = &next->io;
			bool flush = l->fsync && io->op == SPINDLE_WRITE && io->end;

			now = next->again;
			io->op = flush ? SPINDLE_FLUSH : l->op;
			io->fua = l->fua;
			if (!flush && l->random)
				position = next_random() % (CAPACITY / l->sectors) *
					   l->sectors;
			io->start = flush ? 0 : position;
			io->end = flush ? 0 : position + l->sectors;
			if (!flush)
				position = io->end < CAPACITY ? io->end : 0;
			next->submitted = now;
			next->again = 0;
			spindle_submit(&d, io, now);
		} else {
			now = event;
			spindle_advance(&d, now);
		}
		while (!list_empty(&d.done)) {
			struct host_io *h = list_entry(d.done.next, struct host_io, io.list);

			list_del_init(&h->io.list);
			h->again = now + HOST_NS;
			if (now < 3 * (u64)NSEC_PER_SEC)
				continue;
			if (!warm)
				warm = now;
			done += h->io.op == l->op;
			latency += now - h->submitted;
		}
	}
	return (struct result) {
		.iops = done * 1e9 / (now - warm),
		.mb_per_s = done * 1e3 * l->sectors * 512 / (now - warm),
		.latency_us = latency / 1e3 / done,
	};
}

#define READ	.op = SPINDLE_READ
#define WRITE	.op = SPINDLE_WRITE
#define RANDOM	.random = true, .sectors = 8, .seconds = 60
#define SEQ_1M	.sectors = 2048, .seconds = 20

/* @mb: the bounds are in MB/s, not IOPS */
static const struct {
	struct load load;
	bool mb;
	struct { double least, most; } bounds[SPINDLE_PROFILES];
} figures[] = {
	{ { "random read, QD 1", READ, RANDOM, .depth = 1 }, false,
	  { { 76, 80 }, { 57, 61 }, { 8700, 9300 } } },
	{ { "random read, QD 4", READ, RANDOM, .depth = 4 }, false,
	  { { 100, 112 }, { 75, 84 }, { 29000, 32000 } } },
	{ { "random read, QD 32", READ, RANDOM, .depth = 32 }, false,
	  { { 173, 191 }, { 90, 98 }, { 55000, 59000 } } },
	{ { "random read, QD 64", READ, RANDOM, .depth = 64 }, false,
	  { { 173, 191 }, { 90, 98 }, { 55000, 59000 } } },
	{ { "random write, QD 1", WRITE, RANDOM, .depth = 1 }, true,
	  { { 0.4, 0.6 }, { 0.3, 0.5 }, { 56, 61 } } },
	{ { "random write, QD 16", WRITE, RANDOM, .depth = 16 }, true,
	  { { 0.4, 0.6 }, { 0.3, 0.5 }, { 175, 190 } } },
	{ { "random write and fsync", WRITE, RANDOM, .depth = 1, .fsync = true }, false,
	  { { 65, 78 }, { 50, 60 }, { 310, 335 } } },
	{ { "random FUA write", WRITE, RANDOM, .depth = 1, .fua = true }, false,
	  { { 65, 78 }, { 50, 60 }, { 310, 335 } } },
	{ { "sequential read, 1 MiB, QD 1", READ, SEQ_1M, .depth = 1 }, true,
	  { { 137, 142 }, { 108, 120 }, { 467, 487 } } },
	{ { "sequential read, 1 MiB, QD 4", READ, SEQ_1M, .depth = 4 }, true,
	  { { 137, 142 }, { 108, 120 }, { 467, 487 } } },
	{ { "sequential write, 1 MiB, QD 1", WRITE, SEQ_1M, .depth = 1 }, true,
	  { { 137, 142 }, { 108, 120 }, { 299, 311 } } },
	{ { "sequential write, 1 MiB, QD 4", WRITE, SEQ_1M, .depth = 4 }, true,
	  { { 137, 142 }, { 108, 120 }, { 299, 311 } } },
};

#define FIGURES	(sizeof(figures) / sizeof(*figures))

static bool check(enum spindle_profile profile)
{
	struct spindle_params p;
	bool all = true;
	unsigned int i;

	spindle_defaults(&p, profile);
	for (i = 0; i < FIGURES; i++) {
		struct result r = run(&p, &figures[i].load);
		double value = figures[i].mb ? r.mb_per_s : r.iops;
		double least = figures[i].bounds[profile].least;
		double most = figures[i].bounds[profile].most;
		bool ok = value >= least && value <= most;

		printf("%sok %zu %s: %s: %.2f %s (%g to %g)\n", ok ? "" : "not ",
		       profile * FIGURES + i + 1, spindle_profile_names[profile],
		       figures[i].load.name, value, figures[i].mb ? "MB/s" : "IOPS",
		       least, most);
		all &= ok;
	}
	return all;
}

/* A quarter of random reads is in the first quarter, and so is a quarter of the work. */
static bool check_watch(enum spindle_profile profile, size_t number)
{
	const struct load load = { "", READ, RANDOM, .depth = 4 };
	struct spindle_params p;
	double part;
	bool ok;

	spindle_defaults(&p, profile);
	run(&p, &load);
	part = 100.0 * d.stats.watched_ns / d.stats.work_ns;
	ok = part >= 22 && part <= 28;
	printf("%sok %zu %s: work in a quarter of the sectors: %.1f %% (22 to 28)\n",
	       ok ? "" : "not ", number, spindle_profile_names[profile], part);
	return ok;
}

static int misused(void)
{
	fprintf(stderr, "usage: figures [hdd|consumer|ssd [KEY VALUE]...]\n");
	return 2;
}

static int print(int argc, char **argv)
{
	struct spindle_params p;
	unsigned int i, key;

	for (i = 0; i < SPINDLE_PROFILES; i++)
		if (!strcmp(argv[0], spindle_profile_names[i]))
			break;
	if (i == SPINDLE_PROFILES || argc % 2 == 0)
		return misused();
	spindle_defaults(&p, i);
	for (argv++; *argv; argv += 2) {
		for (key = 0; key < SPINDLE_KEYS; key++)
			if (!strcmp(argv[0], spindle_keys[key].name))
				break;
		if (key == SPINDLE_KEYS)
			return misused();
		*spindle_param(&p, key) = strtoul(argv[1], NULL, 10);
	}
	for (i = 0; i < FIGURES; i++) {
		struct result r = run(&p, &figures[i].load);

		printf("%-30s %9.1f IOPS %8.2f MB/s %10.1f us\n", figures[i].load.name,
		       r.iops, r.mb_per_s, r.latency_us);
	}
	return 0;
}

int main(int argc, char **argv)
{
	bool ok = true;
	unsigned int i;

	if (argc > 1)
		return print(argc - 1, argv + 1);

	printf("KTAP version 1\n1..%zu\n", SPINDLE_PROFILES * (FIGURES + 1));
	for (i = 0; i < SPINDLE_PROFILES; i++)
		ok &= check(i);
	for (i = 0; i < SPINDLE_PROFILES; i++)
		ok &= check_watch(i, SPINDLE_PROFILES * FIGURES + i + 1);
	return !ok;
}
