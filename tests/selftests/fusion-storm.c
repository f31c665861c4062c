// SPDX-License-Identifier: GPL-2.0-only
/*
 * fusion-storm: send all requests to a fusion device, continuously and from several threads: moves
 * of random ranges, pins, every option, kept or not, checkpoints, status, table, map, extents,
 * policy, heat, statistics, settings. It goes on while the device is suspended, read-only or
 * closed, and counts that. Any other error, and a request that takes too long, ends it.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/dm-ioctl.h>
#include <linux/types.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "../../userspace/lib/random.h"

#define NR_THREADS	4
#define MAX_RANGE_ORDER	6		/* 64 extents in a move */
#define REPLY_SIZE	65536

enum request {
	PROMOTE,
	DEMOTE,
	SET,
	KEEP,
	CHECKPOINT,
	DRAIN,
	MAP,
	EXTENTS,
	LOGGED,
	POLICY,
	HEAT,
	HISTOGRAM,
	STATS,
	SETTINGS,
	PIN,
	PINS,
	STATUS,
	TABLE,
	NR_REQUESTS,
};

static const char *const names[NR_REQUESTS] = {
	"promote", "demote", "set", "keep", "checkpoint", "drain", "map", "extents", "logged",
	"policy", "heat", "histogram", "stats", "settings", "pin", "pins", "status", "table",
};

static const struct option_range {
	const char *key;
	unsigned int min;
	unsigned int max;		/* 0: on or off */
} option_ranges[] = {
	{ "migration", 0, 0 },
	{ "reserve", 0, 0xffffffff },	/* half of the fast slots */
	{ "half_life", 1, 60 },
	{ "duty", 5, 100 },
	{ "idle", 0, 300 },
	{ "commit_interval", 10, 2000 },
	{ "replica_interval", 1, 10 },
	{ "discard_passdown", 0, 0 },
	{ "standby", 0, 5 },
	{ "write_budget", 0, 3 },
	{ "shadow", 0, 0 },
	{ "shadow_age", 0, 10 },	/* the last one: not with a landing log */
};

#define NR_OPTIONS	(sizeof(option_ranges) / sizeof(option_ranges[0]))

static const char *device;
static int control;			/* of the device mapper */
static const char *counts_path;
static unsigned int extents, fast_slots, bound = 60;
static __u64 seed;
static int logs;			/* the set has a landing log */

static atomic_bool stop, failed;
static atomic_ullong done[NR_REQUESTS], refused[NR_REQUESTS], slowest[NR_REQUESTS];

static struct thread {
	pthread_t thread;
	bool ended;
	unsigned int nr;
	__u64 random;
	atomic_ullong since;		/* us, when a request began; 0: none is under way */
	atomic_uint request;
} threads[NR_THREADS];

static __u64 now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ULL + ts.tv_nsec / 1000;
}

static unsigned int rnd(struct thread *t, unsigned int below)
{
	return random64(t->random += RANDOM_STEP) % below;
}

static void print_counts(FILE *f)
{
	for (int i = 0; i < NR_REQUESTS; i++)
		fprintf(f, "%s %llu %llu %llu\n", names[i], done[i], refused[i],
			slowest[i] / 1000);
}

/* Errors of a device that is closed, suspended, in mode ro or fail, or has a bad member. */
static bool expected(int err)
{
	return err == ENXIO || err == EAGAIN || err == EROFS || err == EIO;
}

/* One ioctl of the device mapper: a message, or the status with @text NULL. */
static int request(struct thread *t, void *buf, unsigned long command, unsigned int flags,
		   const char *text)
{
	struct dm_ioctl *io = buf;
	char *message = buf + sizeof(*io) + sizeof(struct dm_target_msg);
	int err;

	memset(buf, 0, message - (char *)buf);
	io->version[0] = DM_VERSION_MAJOR;
	io->data_size = REPLY_SIZE;
	io->data_start = sizeof(*io);
	io->flags = flags;
	snprintf(io->name, sizeof(io->name), "%s", device);
	if (text)
		strcpy(message, text);
	t->since = now_us();
	err = ioctl(control, command, buf) ? errno : 0;
	t->since = 0;
	return err;
}

/*
 * The core answers a message with EINVAL while a device that is being opened has no table yet. Any
 * other fault of the table was there from the beginning.
 */
static bool had_no_table(struct thread *t, void *buf, const char *text)
{
	struct dm_ioctl *io = buf;

	return request(t, buf, DM_TABLE_STATUS, DM_NOFLUSH_FLAG, NULL) || !io->target_count ||
	       request(t, buf, DM_TARGET_MSG, 0, text) != EINVAL;
}

static void set_option(struct thread *t, bool keep, char *text, size_t size)
{
	const char *how = keep ? "keep " : "";
	const struct option_range *o = &option_ranges[rnd(t, NR_OPTIONS - logs)];
	unsigned int max = o->max == 0xffffffff ? fast_slots / 2 : o->max;

	if (keep && !rnd(t, 4))
		snprintf(text, size, "%s%s default", how, o->key);
	else if (o->max)
		snprintf(text, size, "%s%s %u", how, o->key, o->min + rnd(t, max - o->min + 1));
	else
		snprintf(text, size, "%s%s %s", how, o->key, rnd(t, 4) ? "on" : "off");
}

/* So few are pinned to the fast member that there is room for them, whatever the reserve is. */
static void set_pin(struct thread *t, unsigned int first, unsigned int last, char *text,
		    size_t size)
{
	if (rnd(t, 2))
		snprintf(text, size, "pin fast %u", first % (fast_slots / 4));
	else
		snprintf(text, size, "pin %s %u-%u", rnd(t, 3) ? "slow" : "off", first, last);
}

static void one(struct thread *t, void *buf, enum request what)
{
	unsigned long command = DM_TARGET_MSG;
	unsigned int flags = 0, first = rnd(t, extents);
	unsigned int count = 1 + rnd(t, 1 << rnd(t, MAX_RANGE_ORDER + 1));
	unsigned long long us, old;
	const char *message;
	char text[64];
	__u64 begin;
	int err;

	if (count > extents - first)
		count = extents - first;
	switch (what) {
	case PROMOTE:
	case DEMOTE:
		snprintf(text, sizeof(text), "%s %u-%u", names[what], first, first + count - 1);
		break;
	case PIN:
		set_pin(t, first, first + count - 1, text, sizeof(text));
		break;
	case SET:
	case KEEP:
		set_option(t, what == KEEP, text, sizeof(text));
		break;
	case MAP:
	case EXTENTS:
	case LOGGED:
		snprintf(text, sizeof(text), "%s %u %u", names[what], first, count);
		break;
	case HEAT:
		snprintf(text, sizeof(text), "heat %u", count);
		break;
	case STATUS:
	case TABLE:
		command = DM_TABLE_STATUS;
		/* without a flush: the core would wait for one */
		flags = DM_NOFLUSH_FLAG | (what == TABLE ? DM_STATUS_TABLE_FLAG : 0);
		break;
	default:
		snprintf(text, sizeof(text), "%s", names[what]);
	}
	message = command == DM_TARGET_MSG ? text : NULL;
	t->request = what;
	begin = now_us();
	err = request(t, buf, command, flags, message);
	us = now_us() - begin;
	/* let other threads run */
	usleep(us < 1000000 ? us : 1000000);
	if (err == EINVAL && message && had_no_table(t, buf, message))
		err = ENXIO;
	old = slowest[what];
	while (old < us && !atomic_compare_exchange_weak(&slowest[what], &old, us))
		;
	if (!err) {
		done[what]++;
	} else if (expected(err)) {
		refused[what]++;
		usleep(50000);
	} else {
		fprintf(stderr, "fusion-storm: %s: %s: %s\n", device,
			message ? message : names[what], strerror(err));
		failed = true;
		stop = true;
	}
}

static void *run(void *arg)
{
	struct thread *t = arg;
	void *buf = malloc(REPLY_SIZE);

	while (buf && !stop) {
		switch (t->nr) {
		case 0:
		case 1:
			one(t, buf, rnd(t, 2) ? PROMOTE : DEMOTE);
			usleep(rnd(t, 20000));
			break;
		case 2:
			one(t, buf, rnd(t, 8) ? rnd(t, 4) ? SET : KEEP :
				    logs && rnd(t, 2) ? DRAIN : CHECKPOINT);
			usleep(rnd(t, 60000));
			break;
		default:
			one(t, buf, MAP + rnd(t, NR_REQUESTS - MAP));
			usleep(rnd(t, 30000));
		}
	}
	free(buf);
	return NULL;
}

/* Return: no request has been under way for too long. */
static bool in_time(void)
{
	__u64 now = now_us();
	bool ok = true;

	for (int i = 0; i < NR_THREADS; i++) {
		__u64 since = threads[i].since;

		if (!since || now < since || now - since <= bound * 1000000ULL)
			continue;
		fprintf(stderr, "fusion-storm: %s: %s is not back after %u s\n", device,
			names[threads[i].request], bound);
		ok = false;
	}
	return ok;
}

/* Return: every thread has ended. */
static bool all_ended(void)
{
	bool ended = true;

	for (int i = 0; i < NR_THREADS; i++) {
		struct thread *t = &threads[i];

		if (!t->ended)
			t->ended = !pthread_tryjoin_np(t->thread, NULL);
		ended &= t->ended;
	}
	return ended;
}

static void save_counts(void)
{
	char path[256];
	FILE *f;

	if (!counts_path)
		return;
	snprintf(path, sizeof(path), "%s.new", counts_path);
	f = fopen(path, "w");
	if (!f)
		return;
	print_counts(f);
	if (!fclose(f))
		rename(path, counts_path);
}

static void on_signal(int sig)
{
	(void)sig;
	stop = true;
}

static int print_usage(FILE *f, int status)
{
	fputs("usage: fusion-storm NAME --extents N --fast-slots N [OPTION]...\n"
	      "\n"
	      "  --log            the set has a landing log: have it drained now and then\n"
	      "  --seed N         (1) of what is asked\n"
	      "  --bound N        (60) seconds a request may take\n"
	      "  --counts FILE    \"<request> <done> <refused> <slowest, ms>\", each second anew\n"
	      "\n"
	      "Ends in order on SIGTERM and prints the counts. Exit status: 0 well, 1 an error that\n"
	      "cannot be explained, or a request that took too long, 2 usage.\n", f);
	return status;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "extents", 1, NULL, 'e' },
		{ "fast-slots", 1, NULL, 'f' },
		{ "seed", 1, NULL, 's' },
		{ "bound", 1, NULL, 'b' },
		{ "counts", 1, NULL, 'c' },
		{ "log", 0, &logs, true },
		{ "help", 0, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case 0:
			break;
		case 'e':
			extents = strtoul(optarg, NULL, 0);
			break;
		case 'f':
			fast_slots = strtoul(optarg, NULL, 0);
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'b':
			bound = strtoul(optarg, NULL, 0);
			break;
		case 'c':
			counts_path = optarg;
			break;
		case 'h':
			return print_usage(stdout, 0);
		default:
			return print_usage(stderr, 2);
		}
	}
	if (optind + 1 != argc || !extents || !fast_slots || !bound)
		return print_usage(stderr, 2);
	device = argv[optind];
	control = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);
	if (control < 0) {
		perror("fusion-storm: /dev/mapper/control");
		return 1;
	}
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	for (unsigned int i = 0; i < NR_THREADS; i++) {
		struct thread *t = &threads[i];

		t->nr = i;
		t->random = random64(seed * NR_THREADS + i + 1);
		if (pthread_create(&t->thread, NULL, run, t)) {
			perror("fusion-storm");
			return 1;
		}
	}
	/* A request in flight at the end gets its full time, but not more. */
	while (!stop || !all_ended()) {
		for (int i = 0; i < 10 && !stop; i++)
			usleep(100000);
		if (stop)
			usleep(10000);
		save_counts();
		if (!in_time()) {
			print_counts(stdout);
			fflush(NULL);
			_exit(1);	/* its thread cannot be waited for */
		}
	}
	save_counts();
	print_counts(stdout);
	return failed;
}
