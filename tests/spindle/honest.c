// SPDX-License-Identifier: GPL-2.0-only
/*
 * fusionctl bench honest against the model of a disk, on a virtual clock: its plan is carried out,
 * a tenth of the transfers is slowed tenfold, and the line through them is compared with what the
 * model does otherwise. Prints KTAP.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "dm-spindle.h"
#include "bench.h"
#include "random.h"
#include "theil-sen.h"

#define CAPACITY	(64ULL << 30 >> 9)
#define COMMAND		(1280U << 10 >> 9)	/* the kernel splits a block into such */
#define COMMANDS	((FIO_BLOCK >> 9) / COMMAND + 1)
#define BETWEEN		(300 * NSEC_PER_MSEC)	/* fio begins */
#define ROUNDS		20
#define MOST_PLACES	160

static struct spindle_drive d;
static u64 now;
static unsigned int failed;

/* A block, as psync has it: all its commands, and it waits for them. Return: seconds. */
static double do_block(enum spindle_op op, u64 start, u64 sectors)
{
	struct spindle_io io[COMMANDS] = { 0 };
	unsigned int nr = 0, done = 0;
	u64 begin = now;

	for (u64 at = 0; at < sectors; at += COMMAND, nr++) {
		io[nr].op = op;
		io[nr].start = start + at;
		io[nr].end = start + min(at + COMMAND, sectors);
		spindle_submit(&d, &io[nr], now);
		now += NSEC_PER_USEC;
	}
	for (;;) {
		while (!list_empty(&d.done)) {
			list_del_init(d.done.next);
			done++;
		}
		if (done == nr)
			return (now - begin) / 1e9;
		now = max(now, spindle_next(&d));
		spindle_advance(&d, now);
	}
}

static double do_transfer(enum spindle_op op, u64 at, u64 bytes)
{
	u64 block = bytes / fio_blocks(bytes);
	double seconds = 0;

	now += BETWEEN;
	spindle_advance(&d, now);
	for (u64 done = 0; done < bytes; done += block)
		seconds += do_block(op, (at + done) >> 9, block >> 9);
	return seconds;
}

static u64 draw(u64 *state)
{
	return random64(*state += RANDOM_STEP);
}

/* Bytes in a second, by one long transfer. */
static double true_rate(enum spindle_op op)
{
	return (8ULL << 30) / do_transfer(op, 1ULL << 30, 8ULL << 30);
}

/* Seconds of a small read anywhere. */
static double true_latency(void)
{
	double sum = 0;
	u64 state = 5;

	for (int i = 0; i < 3000; i++) {
		now += BETWEEN + draw(&state) % NSEC_PER_MSEC;
		spindle_advance(&d, now);
		sum += do_block(SPINDLE_READ, draw(&state) % (CAPACITY / 8) * 8, 8) / 3000;
	}
	return sum;
}

static void measure(enum bench_direction dir, u64 seed, unsigned int slowed,
		    struct theil_line *line)
{
	struct theil_point point[MOST_PLACES];
	bool outlier[MOST_PLACES];
	struct bench_plan plan;
	u64 state = seed;

	if (bench_plan(&plan, false, BENCH_MOST, seed, CAPACITY << 9) || plan.nr > MOST_PLACES)
		exit(1);
	for (unsigned int i = 0; i < plan.nr; i++) {
		const struct bench_place *p = &plan.place[plan.order[dir][i]];

		now += draw(&state) % (20 * NSEC_PER_MSEC);
		point[i].x = p->bytes;
		point[i].y = do_transfer(dir == BENCH_READ ? SPINDLE_READ : SPINDLE_WRITE, p->at,
					 p->bytes);
		if (draw(&state) % 100 < slowed)
			point[i].y *= 10;
	}
	if (!theil_sen(point, plan.nr, line, outlier))
		exit(1);
	bench_plan_free(&plan);
}

static bool near(double is, double want, double share)
{
	return fabs(is - want) <= share * want;
}

static void ok(unsigned int number, bool good, const char *what, double is, double want,
	       const char *unit)
{
	printf("%sok %u %s: %.2f %s, the model has %.2f\n", good ? "" : "not ", number, what, is,
	       unit, want);
	failed += !good;
}

int main(void)
{
	double rate[2] = { 0 }, latency = 0, want_rate[2], want_latency;
	unsigned int exact[2] = { 0 }, close = 0;
	struct spindle_params p;
	struct theil_line line;

	spindle_defaults(&p, SPINDLE_HDD);
	spindle_init(&d, &p, CAPACITY);
	now = 1;
	want_rate[BENCH_READ] = true_rate(SPINDLE_READ);
	want_rate[BENCH_WRITE] = true_rate(SPINDLE_WRITE);
	want_latency = true_latency();
	for (u64 seed = 1; seed <= ROUNDS; seed++) {
		for (int dir = BENCH_READ; dir <= BENCH_WRITE; dir++) {
			measure(dir, seed, 10, &line);
			rate[dir] += 1 / line.slope.is / ROUNDS;
			exact[dir] += near(1 / line.slope.is, want_rate[dir], 0.02);
			if (dir == BENCH_WRITE)
				continue;
			latency += line.at_zero.is / ROUNDS;
			close += near(line.at_zero.is, want_latency, 0.1);
		}
	}
	printf("KTAP version 1\n1..5\n");
	ok(1, exact[BENCH_READ] == ROUNDS, "rate of reads, each within 2 %",
	   rate[BENCH_READ] / 1e6, want_rate[BENCH_READ] / 1e6, "MB/s");
	ok(2, exact[BENCH_WRITE] == ROUNDS, "rate of writes, each within 2 %",
	   rate[BENCH_WRITE] / 1e6, want_rate[BENCH_WRITE] / 1e6, "MB/s");
	ok(3, near(latency, want_latency, 0.1), "mean latency within 10 %", 1e3 * latency,
	   1e3 * want_latency, "ms");
	ok(4, close >= ROUNDS - 2, "rounds with a latency within 10 %", close, ROUNDS, "rounds");
	measure(BENCH_READ, 1, 0, &line);
	ok(5, line.outliers <= 4, "outliers if none was slowed", line.outliers, 0, "of 160");
	return failed != 0;
}
