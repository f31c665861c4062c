// SPDX-License-Identifier: GPL-2.0-only
/* The results of the profiles sweep, mix and fullness for people. */
#include <libsmartcols/libsmartcols.h>
#include <stdio.h>

#include "bench.h"
#include "fusionctl.h"
#include "size.h"
#include "table.h"

#define MOST_DEPTHS	4

/* -- sweep: sizes by depths ---------------------------------------------------------- */

static bool goes(const struct bench_run *r, enum bench_direction dir)
{
	return r->nr && r->load.shape.block && bench_run_has(r, dir);
}

/* The depths there are, in order. */
static unsigned int find_depths(const struct bench *b, unsigned int depth[MOST_DEPTHS])
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < b->nr_runs; i++) {
		unsigned int d = b->run[i].load.shape.depth;

		if (nr < MOST_DEPTHS && (!nr || d > depth[nr - 1]))
			depth[nr++] = d;
	}
	return nr;
}

static const struct bench_run *find_run(const struct bench *b, enum bench_direction dir,
					uint64_t block, unsigned int depth)
{
	for (unsigned int i = 0; i < b->nr_runs; i++) {
		const struct bench_run *r = &b->run[i];

		if (goes(r, dir) && r->load.shape.block == block && r->load.shape.depth == depth)
			return r;
	}
	return NULL;
}

static void print_grid(const struct bench *b, enum bench_direction dir, enum bench_value what)
{
	const bool rate = what == BENCH_RATE;
	char heading[1 + MOST_DEPTHS][48], cell[1 + MOST_DEPTHS][BENCH_TEXT];
	const char *headings[2 + MOST_DEPTHS] = { heading[0] }, *cells[1 + MOST_DEPTHS];
	unsigned int depth[MOST_DEPTHS], nr = find_depths(b, depth);
	struct libscols_table *tb;

	snprintf(heading[0], sizeof(heading[0]), "%s, %s", bench_direction_name[dir],
		 rate ? "RATE" : "MEAN LATENCY");
	for (unsigned int i = 0; i < nr; i++) {
		snprintf(heading[1 + i], sizeof(heading[0]), ">%u IN FLIGHT", depth[i]);
		headings[1 + i] = heading[1 + i];
	}
	tb = table_new(headings);
	for (uint64_t block = 4096; block <= 16 << 20; block *= 2) {
		unsigned int found = 0;

		fus_size_text(cell[0], block);
		cells[0] = cell[0];
		for (unsigned int i = 0; i < nr; i++) {
			const struct bench_run *r = find_run(b, dir, block, depth[i]);
			double v = r ? bench_run_value(r, what).is : 0;

			found += !!r;
			cells[1 + i] = !r ? "" : rate ? bench_rate_text(cell[1 + i], v) :
				       bench_time_text(cell[1 + i], v);
		}
		if (found)
			table_row(tb, cells);
	}
	table_print(tb);
	putchar('\n');
}

static void show_sweep(const struct bench *b)
{
	for (int dir = 0; dir < (b->write ? 2 : 1); dir++) {
		print_grid(b, dir, BENCH_RATE);
		print_grid(b, dir, dir == BENCH_READ ? BENCH_READ_MEAN : BENCH_WRITE_MEAN);
	}
}

/* -- mix and fullness: a row for each load ------------------------------------------- */

static const char *time_of(const struct bench_run *r, enum bench_direction dir,
			   enum bench_value what, char buf[BENCH_TEXT])
{
	return bench_run_has(r, dir) ? bench_time_text(buf, bench_run_value(r, what).is) : "";
}

static void add_row(struct libscols_table *tb, const struct bench_run *r)
{
	const struct theil_value rate = bench_run_value(r, BENCH_RATE);
	char text[2][BENCH_TEXT], time[4][BENCH_TEXT], ios[32], between[2 * BENCH_TEXT] = "";
	char fast[16] = "";
	const double share = bench_run_value(r, BENCH_FAST_SHARE).is;

	if (r->nr > 1)
		snprintf(between, sizeof(between), "%s to %s", bench_rate_text(text[0], rate.low),
			 bench_rate_text(text[1], rate.high));
	snprintf(ios, sizeof(ios), "%.0f", bench_run_value(r, BENCH_IOS).is);
	if (share >= 0)
		snprintf(fast, sizeof(fast), "%.0f %%", 100 * share);
	table_row(tb, (const char *const []) {
		r->load.name, bench_rate_text(text[0], rate.is), between, ios,
		time_of(r, BENCH_READ, BENCH_READ_MEAN, time[0]),
		time_of(r, BENCH_READ, BENCH_READ_P99, time[1]),
		time_of(r, BENCH_WRITE, BENCH_WRITE_MEAN, time[2]),
		time_of(r, BENCH_WRITE, BENCH_WRITE_P99, time[3]), fast });
}

static void show_mix(const struct bench *b)
{
	struct libscols_table *tb = table_new((const char *const []) {
		"", ">RATE", b->tries > 1 ? ">LEAST TO MOST" : ">", ">I/O/s", ">READ", ">99 %",
		">WRITE", ">99 %", *b->set ? ">ON FAST" : ">", NULL });
	double most = 0, rate;

	for (unsigned int i = 0; i < b->nr_runs; i++) {
		add_row(tb, &b->run[i]);
		rate = bench_run_value(&b->run[i], BENCH_RATE).is;
		most = rate > most ? rate : most;
	}
	table_print(tb);
	putchar('\n');
	for (unsigned int i = 0; i < b->nr_runs; i++) {
		rate = bench_run_value(&b->run[i], BENCH_RATE).is;
		bench_print_bar(b->run[i].load.name, rate, most);
	}
	putchar('\n');
	if (b->facts.moved && b->profile == BENCH_MIX)
		printf("the set moved or copied %llu extents meanwhile: it has learnt from these "
		       "loads\n", (unsigned long long)b->facts.moved);
}

void bench_show_runs(const struct bench *b)
{
	if (b->profile == BENCH_SWEEP)
		show_sweep(b);
	else
		show_mix(b);
	bench_show_doubts(b);
}
