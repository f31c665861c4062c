// SPDX-License-Identifier: GPL-2.0-only
/*
 * usage: crash [--seed S] [--points N] [--seconds T] [--ops M] [--rarely K] [--faults]
 *	[--large] [--about STORY] [--trace] [--no-shrink]
 *	crash --opening [--seed S]
 *	crash --hosts [--seed S]
 *
 * Runs of up to M random operations each, until N recoveries from a cut of the power have been
 * looked at, or T seconds have passed. S is the seed of the first run, S + 1 that of the second.
 *
 *	--rarely	cut K times less often, to try more of what happens without
 *	--faults	the disks fail now and then
 *	--opening	what may go wrong while a set is opened, one at a time: see opening.c,
 *			taken-over.c, unsure.c, stopped.c, damage.c, again.c
 *	--hosts		several machines reach the disks: see hosts.c
 *	--large		so many extents that a transaction has several blocks
 *	--about		nothing but one of the sequences that stories.c has: flushes, fua,
 *			demotions (with --faults), checkpoints, closing, swaps, fences, shadows,
 *			pins, shrinking, replacing, lost, landing, appending, pacing, copies,
 *			shrinking-log, replacing-log, replica, user-fua, attempts
 *
 * A run that fails is made shorter as long as it still fails, and shown; with --trace, and what
 * happens in it. --trace --no-shrink shows the run as it is.
 */
#include <getopt.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "landed.h"
#include "run.h"

#define OPENING_SETS	20U
/* --hosts: a set costs as much as so many points */
#define POINTS_PER_SET	500U

static struct {
	u64 seed;
	u64 points;
	u64 seconds;
	u32 ops;
	bool faults;
	u32 rarely;
	bool large;
	bool opening;
	bool hosts;
	bool trace;
	bool shrink;
	const struct story *story;
} opt = { .seed = 1, .points = 20000, .seconds = U64_MAX, .ops = 400, .rarely = 1, .shrink = true };

static u64 current_seed;

static void say_seed(const char *why)
{
	printf("# %s with --seed %llu --ops %u --rarely %u%s%s%s%s\n", why, current_seed,
	       opt.ops, opt.rarely,
	       opt.faults ? " --faults" : "", opt.large ? " --large" : "",
	       opt.story ? " --about " : "", opt.story ? opt.story->name : "");
	fflush(stdout);
}

/* Called by ASan and UBSan when they have found something. */
void __asan_on_error(void);
void __asan_on_error(void)
{
	say_seed("memory error");
}

static const char *attempt(struct run *run, const struct op *ops, u32 nr, u64 schedule)
{
	run->ops = (struct op *)ops;
	run->nr_ops = nr;
	run->schedule = schedule;
	run->points = 0;
	run->nested = 0;
	run->cuts = 0;
	return run_ops(run);
}

/* -- a shorter sequence ---------------------------------------------------------- */

#define SCHEDULES	8U
/* Seconds after which it is as short as it gets. */
#define SHRINK_LIMIT	90.0

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static bool still_fails(struct run *run, const struct op *ops, u32 nr, u64 *schedule)
{
	u64 s;

	for (s = 0; s < SCHEDULES; s++) {
		if (attempt(run, ops, nr, s)) {
			*schedule = s;
			return true;
		}
	}
	return false;
}

/* Take pieces out, ever smaller ones, as long as it fails without. */
static u32 shrink(struct run *run, struct op *ops, u32 nr, u64 *schedule)
{
	struct op *shorter = malloc(nr * sizeof(*ops));
	double limit = now() + SHRINK_LIMIT;
	u32 size, at;

	for (size = nr / 2; size; size /= 2) {
		for (at = 0; at < nr && now() < limit; ) {
			u32 cut = min(size, nr - at);

			memcpy(shorter, ops, at * sizeof(*ops));
			memcpy(shorter + at, ops + at + cut, (nr - at - cut) * sizeof(*ops));
			if (nr > cut && still_fails(run, shorter, nr - cut, schedule)) {
				nr -= cut;
				memcpy(ops, shorter, nr * sizeof(*ops));
			} else {
				at += cut;
			}
		}
	}
	free(shorter);
	return nr;
}

static void show(struct run *run, struct op *ops, u32 nr, const char *why)
{
	u64 schedule = 0;
	char text[64];
	u32 i;

	printf("# FAILED: %s\n", why);
	say_seed("failed");
	if (opt.shrink) {
		run->max_points = run->points + run->points / 2 + 1000;
		nr = shrink(run, ops, nr, &schedule);
		printf("# set: fast %u+%u slow %u+%u of %u, %s\n", run->setup.sb.nr_fast_slots,
		       run->setup.sb.spare_fast, run->setup.sb.nr_slow_slots,
		       run->setup.sb.spare_slow, run->setup.sb.nr_lexts, run->setup.options);
		printf("# %u operations are enough:\n", nr);
		for (i = 0; i < nr; i++) {
			print_op(&ops[i], text, sizeof(text));
			printf("#   %s\n", text);
		}
		sim_tracing = opt.trace;
		why = attempt(run, ops, nr, schedule);
		sim_tracing = false;
		printf("# then: %s\n", why ? why : "no failure when repeated: not deterministic");
	}
	fflush(stdout);
}

/* -- many runs ------------------------------------------------------------------- */

static u64 parse(const char *text)
{
	char *end;
	u64 n = strtoull(text, &end, 10);

	if (end == text || *end) {
		fprintf(stderr, "crash: %s is not a number\n", text);
		exit(2);
	}
	return n;
}

/* Each seed is a set of its own; no random operation fails. */
static int main_opening(u64 seed, u32 sets)
{
	struct opening o = { };
	struct setup setup;
	const char *why;
	u32 i;

	printf("KTAP version 1\n1..1\n");
	for (i = 0; i < sets; i++) {
		make_setup(&setup, seed + i, false, false);
		if (opt.story && opt.story->landed)
			landed_setup(&setup, seed + i, opt.story);
		sim_tracing = opt.trace;
		why = run_opening(&setup, seed + i, &o);
		if (why) {
			printf("# FAILED: %s\n# with --opening%s%s --seed %llu\n", why,
			       opt.story ? " --about " : "", opt.story ? opt.story->name : "",
			       seed + i);
			printf("not ok 1 - opening\n");
			return 1;
		}
	}
	printf("# %u sets, %u allocations and %u reads that failed, ", sets, o.allocations,
	       o.reads);
	printf("%u damaged blocks, of which %u refused, %u cuts in a row\n", o.blocks, o.refused,
	       o.cuts);
	printf("ok 1 - opening\n");
	return 0;
}

static int main_hosts(u64 seed, u32 sets)
{
	struct opening o = { };
	struct setup setup;
	const char *why;
	u32 i;

	printf("KTAP version 1\n1..1\n");
	for (i = 0; i < sets; i++) {
		make_setup(&setup, seed + i, false, false);
		if (opt.story && opt.story->landed)
			landed_setup(&setup, seed + i, opt.story);
		sim_tracing = opt.trace;
		why = run_hosts(&setup, seed + i, &o);
		if (why) {
			printf("# FAILED: %s\n# with --hosts%s%s --seed %llu\n", why,
			       opt.story ? " --about " : "", opt.story ? opt.story->name : "",
			       seed + i);
			printf("not ok 1 - hosts\n");
			return 1;
		}
	}
	printf("# %u sets, opened %u times, %u times in use elsewhere, lost %u times\n", sets,
	       o.opened, o.elsewhere, o.lost);
	printf("ok 1 - hosts\n");
	return 0;
}

static void parse_options(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "points", required_argument, NULL, 'p' },
		{ "seconds", required_argument, NULL, 'T' },
		{ "ops", required_argument, NULL, 'o' },
		{ "faults", no_argument, NULL, 'f' },
		{ "large", no_argument, NULL, 'l' },
		{ "opening", no_argument, NULL, 'O' },
		{ "hosts", no_argument, NULL, 'H' },
		{ "rarely", required_argument, NULL, 'r' },
		{ "about", required_argument, NULL, 'a' },
		{ "trace", no_argument, NULL, 't' },
		{ "no-shrink", no_argument, NULL, 'n' },
		{ }
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 's':
			opt.seed = parse(optarg);
			break;
		case 'p':
			opt.points = parse(optarg);
			break;
		case 'T':
			opt.seconds = parse(optarg);
			break;
		case 'o':
			opt.ops = parse(optarg);
			break;
		case 'f':
			opt.faults = true;
			break;
		case 'l':
			opt.large = true;
			break;
		case 'O':
			opt.opening = true;
			break;
		case 'H':
			opt.hosts = true;
			break;
		case 'r':
			opt.rarely = parse(optarg);
			break;
		case 'a':
			opt.story = find_story(optarg);
			if (!opt.story) {
				fprintf(stderr, "crash: %s is none of its stories\n", optarg);
				exit(2);
			}
			break;
		case 't':
			opt.trace = true;
			break;
		case 'n':
			opt.shrink = false;
			break;
		default:
			exit(2);
		}
	}
	if (optind < argc || !opt.ops || opt.ops > MAX_OPS || !opt.rarely) {
		fprintf(stderr, "crash: see the head of crash.c for its options\n");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	static struct op ops[MAX_OPS];
	u64 points = 0, nested = 0, cuts = 0, runs = 0;
	double start = now();

	parse_options(argc, argv);
	/* Memory that comes and goes with each recovery stays with the process. */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	if (sim_module_init())
		return 2;
	if (opt.opening)
		return main_opening(opt.seed, OPENING_SETS);
	if (opt.hosts)
		return main_hosts(opt.seed, DIV_ROUND_UP(opt.points, POINTS_PER_SET));

	printf("KTAP version 1\n1..1\n");
	while (points < opt.points && now() - start < opt.seconds) {
		struct run run = {
			.seed = opt.seed + runs,
			.max_points = opt.points - points,
		};
		const char *why;
		u32 nr;

		current_seed = run.seed;
		make_setup(&run.setup, run.seed, opt.faults, opt.large);
		if (opt.story && ((opt.story->shrinks && !opt.story->landed &&
				   !run.setup.shrinks) ||
				  (opt.story->lost && !run.setup.lost) ||
				  (opt.story->homes && !run.setup.homes))) {
			runs++;
			continue;
		}
		if (opt.story && opt.story->landed)
			landed_setup(&run.setup, run.seed, opt.story);
		run.setup.cut_one_in *= opt.rarely;
		run.setup.story = opt.story;
		nr = make_ops(&run.setup, run.seed, ops, opt.ops);
		sim_tracing = opt.trace && !opt.shrink;
		why = attempt(&run, ops, nr, 0);
		points += run.points;
		nested += run.nested;
		cuts += run.cuts;
		runs++;
		if (!why)
			continue;
		printf("# at point %llu\n", points);
		show(&run, ops, nr, why);
		printf("not ok 1 - crash points\n");
		return 1;
	}
	printf("# %llu runs, %llu cuts, %llu recoveries, %llu of them after a cut in a recovery; ",
	       runs, cuts, points, nested);
	printf("%.0f a second\n", points / (now() - start));
	printf("ok 1 - crash points\n");
	return 0;
}
