// SPDX-License-Identifier: GPL-2.0-only
/* The result of profile sustained for people. */
#include <libsmartcols/libsmartcols.h>
#include <math.h>
#include <stdio.h>

#include "bench.h"
#include "fusionctl.h"
#include "size.h"
#include "table.h"

#define MOST_BARS	24

static const char *share_text(double share, char buf[16])
{
	*buf = 0;
	if (share >= 0)
		snprintf(buf, 16, "%.0f %%", 100 * share);
	return buf;
}

static void print_phases(const struct bench *b)
{
	struct libscols_table *tb = table_new((const char *const []) {
		"", ">RATE", ">60 % OF THE TIME", ">TIME", ">WRITTEN",
		*b->set ? ">ON FAST" : ">", NULL });

	for (unsigned int i = 0; i < b->series.nr_phases; i++) {
		const struct bench_phase *p = &b->series.phase[i];
		char rate[BENCH_TEXT], low[BENCH_TEXT], high[BENCH_TEXT], size[SIZE_TEXT];
		char between[2 * BENCH_TEXT], time[BENCH_TEXT], fast[16];

		snprintf(between, sizeof(between), "%s to %s", bench_rate_text(low, p->rate.low),
			 bench_rate_text(high, p->rate.high));
		table_row(tb, (const char *const []) {
			p->name, bench_rate_text(rate, p->rate.is), between,
			bench_time_text(time, p->seconds), fus_size_text(size, p->bytes),
			share_text(p->fast_share, fast) });
	}
	table_print(tb);
	putchar('\n');
}

/* Minutes and seconds, or hours and minutes if it takes long, and the fast member's share. */
static char *name_of(double at, double end, double share, char buf[64])
{
	const double units = round(end < 6000 ? at : at / 60);
	char fast[16];

	snprintf(buf, 64, "%2.0f:%02.0f %5s ", floor(units / 60), fmod(units, 60),
		 share_text(share, fast));
	return buf;
}

/* Each is of as many intervals that all are on a screen. */
static void print_bars(const struct bench_series *s)
{
	const unsigned int step = (s->nr + MOST_BARS - 1) / MOST_BARS;
	double most = 0, at = 0;
	char name[64];

	for (unsigned int i = 0; i < s->nr; i++) {
		const double rate = bench_phase_of(s, NULL, i, 1).rate.is;

		most = rate > most ? rate : most;
	}
	for (unsigned int i = 0; i < s->nr; i += step) {
		const unsigned int nr = i + step > s->nr ? s->nr - i : step;
		const struct bench_phase p = bench_phase_of(s, NULL, i, nr);

		bench_print_bar(name_of(at, s->phase[0].seconds, p.fast_share, name), p.rate.is,
				most);
		at += p.seconds;
	}
	putchar('\n');
}

static void print_verdict(const struct bench_series *s)
{
	const struct bench_phase *all = &s->phase[0], *before = &s->phase[1], *after = before + 1;
	char size[SIZE_TEXT], was[BENCH_TEXT], is[BENCH_TEXT], time[BENCH_TEXT];

	if (s->nr_phases == 3)
		printf("the rate falls for good after %s, or %s: from %s to %s\n",
		       fus_size_text(size, before->bytes), bench_time_text(time, before->seconds),
		       bench_rate_text(was, before->rate.is), bench_rate_text(is, after->rate.is));
	else if (s->nr_phases)
		printf("no fall for good is shown within %s\n", fus_size_text(size, all->bytes));
}

void bench_show_series(const struct bench *b)
{
	print_phases(b);
	print_bars(&b->series);
	print_verdict(&b->series);
	if (b->facts.moved)
		printf("the set moved or copied %llu extents meanwhile\n",
		       (unsigned long long)b->facts.moved);
	bench_show_doubts(b);
}
