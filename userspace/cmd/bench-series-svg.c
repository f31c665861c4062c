// SPDX-License-Identifier: GPL-2.0-only
/* Profiles sustained and fullness drawn: rates over time, and by fullness. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "size.h"

#define MARKS	7

static void title_of(const struct bench_series *s, char buf[128])
{
	char size[SIZE_TEXT], was[BENCH_TEXT], is[BENCH_TEXT];

	if (s->nr_phases == 3)
		snprintf(buf, 128, "writes over time: from %s to %s after %s",
			 bench_rate_text(was, s->phase[1].rate.is),
			 bench_rate_text(is, s->phase[2].rate.is),
			 fus_size_text(size, s->phase[1].bytes));
	else
		snprintf(buf, 128, "writes over time, without a fall for good");
}

void bench_svg_series(const struct bench *b, FILE *f)
{
	const struct bench_series *s = &b->series;
	struct bench_point *point = calloc(s->nr + 1, sizeof(*point));
	double mark[MARKS], end = 0;
	struct bench_curve c = {
		.point = point, .mark = mark, .nr_marks = MARKS, .unit = " s",
	};
	char title[128];

	title_of(s, title);
	c.title = title;
	for (; point && c.nr < s->nr; c.nr++) {
		const struct bench_phase p = bench_phase_of(s, NULL, c.nr, 1);

		end += p.seconds;
		point[c.nr] = (struct bench_point) {
			end, { p.rate.is, p.rate.is, p.rate.is }, p.fast_share };
	}
	c.most = end > 0 ? end : 1;
	for (int i = 0; i < MARKS; i++)
		mark[i] = c.most * i / (MARKS - 1);
	bench_svg_curve(b, &c, f);
	free(point);
}

void bench_svg_fullness(const struct bench *b, FILE *f)
{
	static const double mark[] = { 0, 20, 40, 60, 80, 100 };
	struct bench_point *point = calloc(b->nr_runs + 1, sizeof(*point));
	struct bench_curve c = {
		.title = b->tries > 1 ? "random writes of 16K, by fullness, with the least and the "
			 "most" : "random writes of 16K, by fullness",
		.point = point, .most = 100, .mark = mark, .unit = " %",
		.nr_marks = sizeof(mark) / sizeof(mark[0]),
	};

	for (; point && c.nr < b->nr_runs; c.nr++)
		point[c.nr] = (struct bench_point) {
			100 * b->run[c.nr].full, bench_run_value(&b->run[c.nr], BENCH_RATE),
			bench_run_value(&b->run[c.nr], BENCH_FAST_SHARE).is };
	bench_svg_curve(b, &c, f);
	free(point);
}
