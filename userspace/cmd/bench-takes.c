// SPDX-License-Identifier: GPL-2.0-only
/* What verb bench is going to do, and what that takes, before it begins. */
#include <stdio.h>

#include "bench.h"
#include "fusionctl.h"
#include "size.h"

/* The time it takes is told for disks of these rates. */
#define HDD_RATE	150e6
#define SSD_RATE	500e6
#define EACH_SECONDS	0.4	/* fio itself, for a transfer */
#define LAUNCH_SECONDS	10	/* on an HDD, with what is read before it */

static void print_minutes(const struct bench *b, double rate)
{
	double seconds = b->plan.total * (b->write ? 2 : 1) / rate +
			 EACH_SECONDS * b->plan.nr * (b->write ? 2 : 1) + 10;

	printf("%.0f min at %.0f MB/s", seconds / 60 < 1 ? 1 : seconds / 60, rate / 1e6);
}

/* A load takes its time, and fio a little more; a launch takes what it takes. */
void bench_print_loads(const struct bench *b)
{
	unsigned int launches = 0, timed;
	double seconds = 4 + EACH_SECONDS * b->nr_turns + (b->write ? b->size / HDD_RATE : 0);
	char size[SIZE_TEXT];

	for (unsigned int i = 0; i < b->nr_runs; i++)
		launches += b->run[i].load.launch;
	timed = b->nr_runs - launches;
	seconds += b->tries * (timed * b->seconds + launches * LAUNCH_SECONDS);
	fus_size_text(size, b->size);
	if (b->write)
		printf("%s: writes %s%s, then overwrites parts of it\n", b->target, size,
		       b->device ? "" : " to a file of its own");
	else
		printf("%s: reads the first %s, writes nothing\n", b->target, size);
	printf("%u load%s%s of %u s%s, about %.0f min\n", timed, fus_plural(timed),
	       b->tries == 1 ? "" : ", three times each,", b->seconds,
	       launches ? ", and the launch of an application" : "",
	       seconds < 60 ? 1 : seconds / 60);
	fflush(stdout);
}

void bench_print_transfers(const struct bench *b)
{
	char total[SIZE_TEXT], least[SIZE_TEXT], most[SIZE_TEXT];

	fus_size_text(total, b->plan.total);
	printf("%s: ", b->target);
	if (b->write)
		printf("writes %s%s, then reads it", total,
		       b->device ? "" : " to files of its own");
	else
		printf("reads %s, writes nothing", total);
	printf("\n%u transfers of %s to %s%s, about ", b->plan.nr,
	       fus_size_text(least, BENCH_LEAST), fus_size_text(most, b->plan.most),
	       b->write ? " each way" : "");
	print_minutes(b, HDD_RATE);
	fputs(", ", stdout);
	print_minutes(b, SSD_RATE);
	putchar('\n');
	fflush(stdout);
}

/* It wears an SSD, the faster the more. */
void bench_print_sustained(const struct bench *b)
{
	const bool minutes = b->seconds >= 120;
	char size[SIZE_TEXT], slow[SIZE_TEXT], fast[SIZE_TEXT];

	fus_size_text(size, b->size);
	if (b->device)
		printf("%s: overwrites the first %s, again and again\n", b->target, size);
	else
		printf("%s: writes a file of its own of %s, again and again\n", b->target, size);
	printf("for %u %s, which is %s at %.0f MB/s, %s at %.0f MB/s\n",
	       minutes ? b->seconds / 60 : b->seconds, minutes ? "min" : "s",
	       fus_size_text(slow, HDD_RATE * b->seconds), HDD_RATE / 1e6,
	       fus_size_text(fast, SSD_RATE * b->seconds), SSD_RATE / 1e6);
	fflush(stdout);
}

void bench_print_fullness(const struct bench *b)
{
	char size[SIZE_TEXT];
	const double each = b->seconds + EACH_SECONDS;
	double minutes = (b->nr_turns * each + b->plan.total / HDD_RATE) / 60;

	fus_size_text(size, b->plan.total);
	if (b->device)
		printf("%s: discards it, and writes %s of it\n", b->target, size);
	else
		printf("%s: writes %s to a file of its own, until it is %u %% full, and removes "
		       "it\n", b->target, size, BENCH_FULLEST);
	if (b->left_out)
		printf("leaves out the steps up to %u %%: it is %.0f %% full, and each takes a "
		       "file of 16M\n", b->left_out, 100.0 * b->before.used / b->before.total);
	printf("%u step%s of %u s, about %.0f min at %.0f MB/s\n", b->nr_runs,
	       fus_plural(b->nr_runs), b->seconds * b->tries, minutes < 1 ? 1 : minutes,
	       HDD_RATE / 1e6);
	fflush(stdout);
}
