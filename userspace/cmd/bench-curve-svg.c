// SPDX-License-Identifier: GPL-2.0-only
/* A curve of rates, and the fast member's share beneath it. */
#include <math.h>
#include <stdio.h>

#include "bench.h"

#define LEFT	BENCH_SVG_LEFT
#define PLOT	760
#define TOP	50
#define HEIGHT	300
#define SHARES	(TOP + HEIGHT + 50)
#define SHARE	60
#define LINES	5

static double x_of(const struct bench_curve *c, double x)
{
	return LEFT + PLOT * (x - c->least) / (c->most - c->least);
}

/* A round number of which some make up the most. */
static double step_of(double most)
{
	double decade = pow(10, floor(log10(most / LINES)));
	double steps = most / LINES / decade;

	return decade * (steps <= 1 ? 1 : steps <= 2 ? 2 : steps <= 5 ? 5 : 10);
}

static double highest(const struct bench_curve *c)
{
	double most = 0;

	for (unsigned int i = 0; i < c->nr; i++)
		most = c->point[i].rate.high > most ? c->point[i].rate.high : most;
	return most > 0 ? most : 1e6;
}

static void draw_axes(const struct bench_curve *c, double most, FILE *f)
{
	const double step = step_of(most);
	char text[BENCH_TEXT];

	for (double y = 0; y <= most; y += step) {
		const double at = TOP + HEIGHT * (1 - y / most);

		fprintf(f, "<path class=\"g\" d=\"M%d %.1fh%d\"/><text x=\"%d\" y=\"%.1f\" "
			"text-anchor=\"end\">%s</text>\n", LEFT, at, PLOT, LEFT - 6, at + 4,
			bench_rate_text(text, y));
	}
	for (unsigned int i = 0; i < c->nr_marks; i++)
		fprintf(f, c->mark[i] < 1000 ?
			"<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.4g%s</text>\n" :
			"<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f%s</text>\n",
			x_of(c, c->mark[i]), TOP + HEIGHT + 18, c->mark[i], c->unit);
}

static void draw_rates(const struct bench_curve *c, double most, FILE *f)
{
	char sep = 'M';

	for (unsigned int i = 0; i < c->nr; i++) {
		const struct bench_point *p = &c->point[i];

		if (p->rate.high > p->rate.low)
			fprintf(f, "<path stroke=\"#999\" d=\"M%.1f %.1fV%.1f\"/>\n", x_of(c, p->x),
				TOP + HEIGHT * (1 - p->rate.low / most),
				TOP + HEIGHT * (1 - p->rate.high / most));
	}
	fprintf(f, "<path stroke=\"#ff9820\" stroke-width=\"1.5\" d=\"");
	for (unsigned int i = 0; i < c->nr; i++, sep = 'L')
		fprintf(f, "%c%.1f %.1f", sep, x_of(c, c->point[i].x),
			TOP + HEIGHT * (1 - c->point[i].rate.is / most));
	fputs("\"/>\n", f);
}

static void draw_shares(const struct bench_curve *c, FILE *f)
{
	char sep = 'M';

	fprintf(f, "<path class=\"g\" d=\"M%d %dh%dM%d %dh%d\"/>"
		"<text x=\"%d\" y=\"%d\">share of the fast member</text>"
		"<text x=\"%d\" y=\"%d\" text-anchor=\"end\">100 %%</text>"
		"<text x=\"%d\" y=\"%d\" text-anchor=\"end\">0 %%</text>\n"
		"<path stroke=\"#5a9cf0\" stroke-width=\"1.5\" d=\"", LEFT, SHARES, PLOT, LEFT,
		SHARES + SHARE, PLOT, LEFT, SHARES - 8, LEFT - 6, SHARES + 4, LEFT - 6,
		SHARES + SHARE + 4);
	for (unsigned int i = 0; i < c->nr; i++) {
		if (c->point[i].fast_share < 0)
			continue;
		fprintf(f, "%c%.1f %.1f", sep, x_of(c, c->point[i].x),
			SHARES + SHARE * (1 - c->point[i].fast_share));
		sep = 'L';
	}
	fputs("\"/>\n", f);
}

void bench_svg_curve(const struct bench *b, const struct bench_curve *c, FILE *f)
{
	const double most = highest(c);

	bench_svg_begin(b, *b->set ? SHARES + SHARE + 20 : TOP + HEIGHT + 30, c->title, f);
	draw_axes(c, most, f);
	if (c->nr)
		draw_rates(c, most, f);
	if (c->nr && *b->set)
		draw_shares(c, f);
	fputs("</svg>\n", f);
}
