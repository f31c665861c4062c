// SPDX-License-Identifier: GPL-2.0-only
/*
 * fusion-stamp: does a block device return what was written to it? See stamp.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "stamp.h"

static void on_signal(int sig)
{
	(void)sig;
	stamp_stop();
}

static __u64 parse_number(const char *text)
{
	static const char units[] = "kmgt";
	char *end;
	__u64 n = strtoull(text, &end, 0);
	const char *unit = *end ? strchr(units, *end | 0x20) : NULL;

	if (end == text || (*end && (!unit || end[1]))) {
		fprintf(stderr, "fusion-stamp: %s: not a number\n", text);
		exit(STAMP_USAGE);
	}
	return unit ? n << 10 * (unit - units + 1) : n;
}

static void parse_mix(char *text)
{
	for (unsigned int i = 0; i < STAMP_NR_OPS; i++) {
		char *word = strsep(&text, ":");

		stamp.weight[i] = word ? parse_number(word) : 0;
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
	      "  --pause US       after each operation\n"
	      "  --sync           every write is O_DSYNC\n"
	      "  --nowait         RWF_NOWAIT first; blocking when that says EAGAIN\n"
	      "  --bound N        an operation that takes longer than N seconds ends the run\n"
	      "  --until-error    an I/O error is where the run is meant to end\n"
	      "  --power-cut      verify: unflushed writes may be old or new\n"
	      "\n"
	      "Ends in order on SIGTERM. Exit status: 0 right, 1 wrong data, 2 usage, 3 I/O error or\n"
	      "one that took too long.\n",
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
		{ "pause", 1, NULL, 'p' },
		{ "bound", 1, NULL, 'b' },
		{ "sync", 0, &stamp.sync_writes, true },
		{ "nowait", 0, &stamp.nowait, true },
		{ "until-error", 0, &stamp.until_error, true },
		{ "power-cut", 0, &stamp.power_cut, true },
		{ "help", 0, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *state_path = NULL;
	int body = -1;
	__u64 seed = 0, offset = 0, size = 0, dev_size;
	enum stamp_result result;
	int c;

	/* a VM without entropy would wait for minutes for better numbers */
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
			stamp.nr_threads = parse_number(optarg);
			break;
		case 'n':
			stamp.max_ops = parse_number(optarg);
			break;
		case 'T':
			stamp.deadline = stamp_now() + parse_number(optarg);
			break;
		case 'o':
			offset = parse_number(optarg);
			break;
		case 'l':
			size = parse_number(optarg);
			break;
		case 'm':
			stamp.max_io = parse_number(optarg) / STAMP_SECTOR;
			break;
		case 'e':
			stamp.extent_sectors = parse_number(optarg) / STAMP_SECTOR;
			break;
		case 'b':
			stamp.bound = parse_number(optarg);
			break;
		case 'x':
			parse_mix(optarg);
			break;
		case 'p':
			stamp.pause = parse_number(optarg);
			break;
		case 'h':
			print_usage(stdout);
			return STAMP_OK;
		default:
			print_usage(stderr);
			return STAMP_USAGE;
		}
	}
	if (optind + 2 == argc) {
		stamp.dev = argv[optind + 1];
		if (!strcmp(argv[optind], "run"))
			body = STAMP_RUN;
		else if (!strcmp(argv[optind], "fill"))
			body = STAMP_FILL;
		else if (!strcmp(argv[optind], "verify"))
			body = STAMP_VERIFY;
	}
	if (body < 0 || !stamp.nr_threads || stamp.nr_threads > STAMP_MAX_THREADS ||
	    stamp.max_io % STAMP_BLOCK || !stamp.max_io ||
	    (body == STAMP_VERIFY && !state_path) || stamp.extent_sectors % STAMP_BLOCK) {
		print_usage(stderr);
		return STAMP_USAGE;
	}

	stamp.fd = open(stamp.dev, (body == STAMP_VERIFY ? O_RDONLY : O_RDWR) |
			O_DIRECT | O_CLOEXEC);
	if (stamp.fd < 0 || ioctl(stamp.fd, BLKGETSIZE64, &dev_size)) {
		stamp_say("open: %s", strerror(errno));
		return STAMP_USAGE;
	}
	if (!size)
		size = dev_size - offset;
	if (!stamp_state(state_path, body != STAMP_VERIFY, seed, offset / STAMP_SECTOR,
			 size / STAMP_SECTOR / STAMP_BLOCK * STAMP_BLOCK))
		return STAMP_USAGE;

	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	printf("seed %llu, %u threads\n", stamp_seed(), stamp.nr_threads);
	fflush(stdout);
	result = stamp_do(body);
	stamp_print_counts();
	return result;
}
