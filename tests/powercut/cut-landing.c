// SPDX-License-Identifier: GPL-2.0-only
/* See cut-landing.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cut-landing.h"
#include "power.h"
#include "../selftests/stamp.h"

/* Where a cut is to fall. */
enum aim {
	ANYWHERE,
	FULL,		/* all slots of the log are in use, and writes wait for room in it */
	DRAIN,		/* a drain was asked for, and has not ended */
	PROMOTION,	/* the same for that of an extent with blocks in the log */
	COPIES,		/* reads have been given copies, and writes go on */
	AIMS,
};

/* Commands until the power goes, at most, once the state is there. */
static const unsigned int commands[AIMS] = {
	[FULL] = 24, [DRAIN] = 48, [PROMOTION] = 16, [COPIES] = 256,
};

/* A load that does not get into its state in that time is cut anywhere. */
#define PATIENCE_MS		2000
#define LOOK_US			500
#define ENOUGH_BLOCKS		8
#define ENOUGH_COPIES		8

static enum aim aim;
static bool armed, met;
static uint64_t began_ms;

static unsigned long long landed, drains, with_blocks, with_copies, in[AIMS];

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

/* -- the load --------------------------------------------------------------------- */

/* Small ones, which land, or get copies. */
static void small(unsigned int reads, unsigned int writes, unsigned int flushes)
{
	stamp.nr_threads = 4;
	stamp.max_io = 2 * STAMP_BLOCK;
	stamp.pause = 0;
	stamp.weight[STAMP_READ] = reads;
	stamp.weight[STAMP_WRITE] = writes;
	stamp.weight[STAMP_FLUSH] = flushes;
}

void landing_draw(uint64_t *state)
{
	aim = below(state, AIMS);
	armed = aim == ANYWHERE;
	met = false;
	began_ms = now_ms();
	if (aim == FULL)
		small(1, 60, 1 + below(state, 4));
	else if (aim == COPIES)
		small(60, 20, 1 + below(state, 4));
	else if (aim != ANYWHERE)
		small(10, 40, 1 + below(state, 8));
}

/* -- getting into the state ------------------------------------------------------- */

/* @key: with the end of the line before it, and a space behind it. */
static unsigned long number_of(const char *stats, const char *key)
{
	const char *at = strstr(stats, key);

	return at ? strtoul(at + strlen(key), NULL, 10) : 0;
}

static void arm(uint64_t *state, unsigned int most)
{
	power("arm %u", 1 + below(state, most));
}

static bool has_come(const char *stats)
{
	if (aim == FULL)
		return number_of(stats, "\nlog_waiting ") &&
		       number_of(stats, "\nlog_segments ") >= rig.log_slots;
	return number_of(stats, "\ncopies ") >= ENOUGH_COPIES;
}

/* Arm the power when the load has brought about the state. */
static int look(uint64_t *state)
{
	char *stats;
	int err = set_message(&stats, "stats");

	if (err)
		return err;
	if (has_come(stats)) {
		arm(state, commands[aim]);
		armed = true;
		met = true;
	} else {
		usleep(LOOK_US);
	}
	free(stats);
	return 0;
}

int landing_drain(void)
{
	char *answer;
	int err = set_message(&answer, "drain");

	free(answer);
	drains += !err;
	return err;
}

/* It has not ended well, and there was power when it began: the power went meanwhile. */
static int cut_drain(uint64_t *state)
{
	char *stats;
	int err = set_message(&stats, "stats");
	bool enough = !err && number_of(stats, "\nlog_blocks ") >= ENOUGH_BLOCKS;

	free(stats);
	if (!enough) {
		usleep(LOOK_US);
		return err;
	}
	arm(state, commands[DRAIN]);
	if (power_is_on())
		err = landing_drain();
	met = err;
	return err;
}

/* An extent with blocks in the log. Return: false if there is none. */
static bool logged_extent(uint64_t *state, unsigned int *lext)
{
	unsigned int first = below(state, rig.nr_lexts);
	char *runs;
	bool any;

	if (set_message(&runs, "logged %u %u", first, rig.nr_lexts - first))
		return false;
	any = runs && *runs;
	if (any)
		*lext = strtoul(runs, NULL, 10);
	free(runs);
	return any;
}

/* The same; it tells with "0" that it has moved nothing. */
static int cut_promotion(uint64_t *state)
{
	unsigned int lext;
	char *moved;
	int err;

	if (!logged_extent(state, &lext)) {
		usleep(LOOK_US);
		return 0;
	}
	arm(state, commands[PROMOTION]);
	if (!power_is_on())
		return 0;
	err = set_message(&moved, "promote %u", lext);
	met = err || (moved && *moved == '0' && !power_is_on());
	free(moved);
	return err;
}

int landing_step(uint64_t *state)
{
	if (now_ms() - began_ms > PATIENCE_MS) {
		armed = true;
		arm(state, commands[COPIES]);
		return 0;
	}
	switch (aim) {
	case DRAIN:
		return cut_drain(state);
	case PROMOTION:
		return cut_promotion(state);
	default:
		return look(state);
	}
}

bool landing_waits(void)
{
	return !armed;
}

/* -- what has become of it -------------------------------------------------------- */

void landing_judge(bool by_command)
{
	char *stats;

	/* it may have been armed once more after it went */
	power("arm 0");
	if (set_message(&stats, "stats"))
		return;
	landed += number_of(stats, "\nlog_landed ");
	with_blocks += number_of(stats, "\nlog_blocks ") > 0;
	with_copies += number_of(stats, "\ncopies ") > 0;
	in[aim] += met && by_command;
	free(stats);
}

bool landing_met(void)
{
	return in[FULL] && in[DRAIN] && in[PROMOTION] && with_blocks && with_copies;
}

void landing_print(void)
{
	printf("landing log: %llu drains; %llu blocks have landed\n", drains, landed);
	printf("landing log: cuts with blocks in it: %llu, while writes wait for room: %llu, "
	       "in a drain: %llu, in a promotion: %llu, with copies: %llu\n", with_blocks,
	       in[FULL], in[DRAIN], in[PROMOTION], with_copies);
}
