// SPDX-License-Identifier: GPL-2.0-only
/*
 * cut-run: cut the power of a set at random moments of a random load, and judge the result.
 *
 * For each cut, some threads send stamped writes, FUA, flushes, discards and zeroes, while another
 * one moves extents and requests checkpoints, and drains of a landing log, until the power goes at
 * a command drawn beforehand. With a landing log, that is often in a certain state of it:
 * cut-landing.h. Then the set is removed, the power comes back, and the set is opened, which
 * recovers it. The power may go again during that, more than once. Then every sector is read and
 * judged: see stamp.h.
 *
 * Everything random is drawn from the seed, except for the threads and workers of the real kernel:
 * the same seed gives the same load, cut at the same number of commands, in another order.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cut-landing.h"
#include "power.h"
#include "../selftests/stamp.h"

/* A load that does not reach its cut in that time ends there. */
#define ROUND_SECONDS		5
/* No request may take longer when the power is off. */
#define STALL_SECONDS		15
#define MAX_THREADS		4
#define LONGEST			10	/* a load is up to 2^LONGEST commands long */
#define RECOVERY_COMMANDS	24
#define ENOUGH_CUTS		100	/* for each state of a landing log to have some */

static uint64_t state;			/* of the random numbers */
static unsigned int cuts, nested, idle_ends;
static unsigned long long moved, checkpoints;

/* -- moves ------------------------------------------------------------------------ */

static atomic_bool load_over;

struct storm {
	pthread_t thread;
	uint64_t state;
	int err;
};

static int move_some(struct storm *s)
{
	uint32_t len = 1 + below(&s->state, 1U << below(&s->state, 5));
	uint32_t first = below(&s->state, rig.nr_lexts);
	uint32_t last = first + len <= rig.nr_lexts ? first + len - 1 : rig.nr_lexts - 1;
	char *answer;
	int err;

	err = set_message(&answer, "%s %u-%u", below(&s->state, 2) ? "promote" : "demote",
			  first, last);
	if (!err && answer)
		moved += strtoul(answer, NULL, 10);
	free(answer);
	return err;
}

static void *storm(void *arg)
{
	struct storm *s = arg;
	char *answer;

	while (!s->err && !load_over) {
		if (rig.log_slots && landing_waits()) {
			s->err = landing_step(&s->state);
		} else if (below(&s->state, 12)) {
			s->err = move_some(s);
		} else if (rig.log_slots && below(&s->state, 2)) {
			s->err = landing_drain();
		} else {
			s->err = set_message(&answer, "checkpoint");
			free(answer);
			checkpoints += !s->err;
		}
	}
	stamp_stop();
	return NULL;
}

/* -- a load, until the power goes ------------------------------------------------- */

static void draw_load(void)
{
	static const unsigned int most[STAMP_NR_OPS] = { 10, 60, 20, 3, 3, 12 };

	stamp.nr_threads = 1 + below(&state, MAX_THREADS);
	stamp.max_io = STAMP_BLOCK << below(&state, 6);
	for (unsigned int i = 0; i < STAMP_NR_OPS; i++)
		stamp.weight[i] = below(&state, most[i] + 1);
	stamp.weight[STAMP_WRITE]++;
	stamp.sync_writes = !below(&state, 16);
	/* extents that are written all the time are not moved */
	stamp.pause = below(&state, 2) ? 0 : 100 << below(&state, 6);
	stamp.deadline = stamp_now() + ROUND_SECONDS;
	stamp.until_error = true;
	stamp.power_cut = false;
	stamp.light = false;
}

/* Return: false if data was wrong before the power went. */
static bool load(void)
{
	struct storm s = { .state = below(&state, UINT32_MAX) };
	time_t start = stamp_now();
	bool moves = below(&state, 8), idle_end;

	draw_load();
	if (rig.log_slots)
		landing_draw(&state);
	if (rig.log_slots && landing_waits())
		moves = true;
	else
		power("arm %u", 1 + below(&state, 1U << below(&state, LONGEST + 1)));
	load_over = false;
	if (moves && pthread_create(&s.thread, NULL, storm, &s))
		die("out of memory");
	if (stamp_do(STAMP_RUN) != STAMP_OK)
		return false;
	if (moves) {
		load_over = true;
		pthread_join(s.thread, NULL);
	}
	if (stamp_now() - start > STALL_SECONDS) {
		fprintf(stderr, "cut-run: the load took %d s to end\n",
			(int)(stamp_now() - start));
		return false;
	}
	idle_end = power_is_on();
	if (idle_end) {
		if (stamp_failed() || s.err) {
			fprintf(stderr, "cut-run: I/O fails, but the power is on\n");
			return false;
		}
		power("cut");
		idle_ends++;
	}
	if (rig.log_slots)
		landing_judge(!idle_end);
	cuts++;
	return true;
}

/* -- opening ------------------------------------------------------------------------ */

static const char *const *draw_options(void)
{
	static const char *const intervals[] = { "10", "50", "1000" };
	static const char *options[16];
	unsigned int n = 0;

	options[n++] = "commit_interval";
	options[n++] = intervals[below(&state, 3)];
	if (below(&state, 2)) {
		options[n++] = "idle";
		options[n++] = "0";
	}
	if (!below(&state, 4)) {
		options[n++] = "discard_passdown";
		options[n++] = "off";
	}
	if (below(&state, 2)) {
		options[n++] = "reserve";
		options[n++] = "16";
	}
	options[n] = NULL;
	return options;
}

/* With the power back: recover, with some more cuts, and in the end without. */
static bool recover(void)
{
	int err;

	for (;;) {
		bool again = !below(&state, 3);

		if (again)
			power("arm %u", 1 + below(&state, RECOVERY_COMMANDS));
		err = set_open(draw_options());
		if (err && (!again || power_is_on())) {
			fprintf(stderr, "cut-run: the set does not open: %s\n", strerror(-err));
			return false;
		}
		power("arm 0");
		if (!err && power_is_on())
			return true;
		if (!err)
			set_close();
		power("restore");
		cuts++;
		nested++;
	}
}

static bool verify(void)
{
	stamp.fd = rig.fd;
	stamp.nr_threads = 1;
	stamp.max_io = 128;
	stamp.deadline = 0;
	stamp.until_error = false;
	stamp.power_cut = true;
	stamp.pause = 0;
	/* no layer here splits sectors; verify that now and then */
	stamp.light = below(&state, 16);
	return stamp_do(STAMP_VERIFY) == STAMP_OK;
}

static bool take_down(void)
{
	set_close();
	power("restore");
	return true;
}

/* -- what takes how long -------------------------------------------------------------- */

enum phase { LOAD, CLOSE, OPEN, VERIFY, PHASES };

static double spent[PHASES];

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static bool timed(enum phase p, bool (*f)(void))
{
	double start = seconds();
	bool well = f();

	spent[p] += seconds() - start;
	return well;
}

/* -- lives ------------------------------------------------------------------------------ */

/* The set after the format: the state in which each life begins. */
static bool keep_formatted(void)
{
	if (!set_find())
		return false;
	power("lie none");
	power("arm 0");
	power("fate keep");
	power("cut");
	power("save 0");
	return true;
}

/* A new set, and its cuts. Return: no data was lost. */
static bool life(unsigned int seed, unsigned int want, const char *lie)
{
	static bool stamped;
	unsigned int end = cuts + want;
	bool well;

	power("load 0");
	power("restore");
	state = seed;
	power("seed %u", seed);
	power("fate any");
	power("lie %s", lie);
	if (set_open(NULL))
		die("the new set does not open");
	stamp.fd = rig.fd;
	stamp.dev = rig.name;
	stamp.extent_sectors = rig.extent_sectors;
	if (!stamped &&
	    !stamp_state(NULL, true, seed, 0, (uint64_t)rig.nr_lexts * rig.extent_sectors))
		exit(POWER_BROKEN);
	stamped = true;
	stamp_restart(seed);

	stamp.max_io = 128;
	stamp.power_cut = false;
	well = stamp_do(STAMP_FILL) == STAMP_OK && stamp_flush();
	while (well && cuts < end) {
		well = timed(LOAD, load);
		if (!well)
			break;
		timed(CLOSE, take_down);
		well = timed(OPEN, recover) && timed(VERIFY, verify);
	}
	if (!well)
		printf("loss with seed %u, after its cut %u\n", seed, want - (end - cuts));
	if (rig.fd >= 0)
		set_close();
	if (power_is_on()) {
		power("arm 0");
		power("cut");
	}
	return well;
}

/* -- main ---------------------------------------------------------------------------- */

/* any 32-bit number: a seed may be one */
static unsigned int number(const char *text)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno || n > UINT_MAX)
		die("%s: not a number from 0 to %u", text, UINT_MAX);
	return n;
}

static int usage(void)
{
	fprintf(stderr, "usage: cut-run [-s SEED] [-c CUTS] [-n CUTS_OF_LIFE] [-l MEMBER]\n");
	return POWER_BROKEN;
}

int main(int argc, char **argv)
{
	unsigned int seed = 1, want = 100, of_life = 100, lives = 0, lost = 0;
	const char *lie = "none";
	double start;
	int c;

	rig.program = "cut-run";
	stamp.program = "cut-run";
	while ((c = getopt(argc, argv, "s:c:n:l:")) != -1) {
		switch (c) {
		case 's':
			seed = number(optarg);
			break;
		case 'c':
			want = number(optarg);
			break;
		case 'n':
			of_life = number(optarg);
			break;
		case 'l':
			lie = optarg;
			break;
		default:
			return usage();
		}
	}
	if (optind < argc || !of_life)
		return usage();
	start = seconds();
	if (!keep_formatted())
		return POWER_BROKEN;
	/* with a lying member losses are expected, and counted */
	while (cuts < want && (!lost || strcmp(lie, "none"))) {
		unsigned int before = cuts, n = want - cuts < of_life ? want - cuts : of_life;

		lost += !life(seed + lives++, n, lie);
		if (cuts - before < n && strcmp(lie, "none"))
			cuts = before + n;
	}
	printf("%u cuts in %.1f s, %u of them in recovery, %u at the end of a load; "
	       "seeds %u to %u; %llu moves, %llu checkpoints\n", cuts, seconds() - start,
	       nested, idle_ends, seed, seed + lives - 1, moved, checkpoints);
	if (rig.log_slots)
		landing_print();
	printf("%.1f s of load, %.1f s closing, %.1f s opening, %.1f s verifying\n", spent[LOAD],
	       spent[CLOSE], spent[OPEN], spent[VERIFY]);
	stamp_print_counts();
	printf("lost %u of %u lives\n", lost, lives);
	if (!lost && rig.log_slots && cuts >= ENOUGH_CUTS && !landing_met()) {
		fprintf(stderr, "cut-run: no cut fell in one of the states of the landing log\n");
		return POWER_BROKEN;
	}
	return lost ? POWER_LOSS : POWER_OK;
}
