// SPDX-License-Identifier: GPL-2.0-only
/* The transfers of bench drawn: a dot for the time of each by its size, and the lines. */
#include <math.h>
#include <stdio.h>

#include "bench.h"
#include "fusionctl.h"
#include "role.h"
#include "size.h"

#define LEFT	BENCH_SVG_LEFT
#define PLOT	780
#define TOP	50
#define HEIGHT	360
#define KEY	(TOP + HEIGHT + 44)
#define STEPS	60

/* Both scales are logarithmic, so that small transfers are seen as well. */
struct plot {
	FILE *f;
	double x_least, x_most, y_least, y_most;	/* bytes, seconds */
};

static const char *const colour[2][3] = {
	[BENCH_READ] = { "#6c6", "#ff9820", "#5a9cf0" },
	[BENCH_WRITE] = { "#e6c", "#ffd080", "#9cf" },
};

static double x_of(const struct plot *p, double bytes)
{
	return LEFT + PLOT * log(bytes / p->x_least) / log(p->x_most / p->x_least);
}

static double y_of(const struct plot *p, double seconds)
{
	return TOP + HEIGHT * (1 - log(seconds / p->y_least) / log(p->y_most / p->y_least));
}

static void find_scale(const struct bench *b, struct plot *p)
{
	p->x_least = BENCH_LEAST;
	p->x_most = b->plan.most;
	p->y_least = 1e9;
	for (unsigned int i = 0; i < b->nr; i++) {
		double s = b->transfer[i].seconds;

		if (s <= 0)
			continue;
		p->y_least = s < p->y_least ? s : p->y_least;
		p->y_most = s > p->y_most ? s : p->y_most;
	}
	/* whole decades */
	p->y_least = pow(10, floor(log10(p->y_least)));
	p->y_most = pow(10, ceil(log10(p->y_most)));
	if (p->y_most <= p->y_least)
		p->y_most = 10 * p->y_least;
}

static void draw_axes(const struct plot *p)
{
	char size[SIZE_TEXT], time[BENCH_TEXT];

	for (double s = p->y_least; s < 1.5 * p->y_most; s *= 10)
		fprintf(p->f, "<path class=\"g\" d=\"M%d %.1fh%d\"/><text x=\"%d\" y=\"%.1f\" "
			"text-anchor=\"end\">%s</text>\n", LEFT, y_of(p, s), PLOT, LEFT - 6,
			y_of(p, s) + 4, bench_time_text(time, s));
	for (double x = p->x_least; x <= p->x_most; x *= 4)
		fprintf(p->f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
			x_of(p, x), TOP + HEIGHT + 18, fus_size_text(size, x));
}

static void draw_dots(const struct plot *p, const struct bench *b)
{
	char size[SIZE_TEXT], time[BENCH_TEXT];

	for (unsigned int i = 0; i < b->nr; i++) {
		const struct bench_transfer *t = &b->transfer[i];

		if (t->seconds <= 0)
			continue;
		fprintf(p->f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%s\" fill=\"%s\" "
			"fill-opacity=\".6\"><title>%s %s in %s%s</title></circle>\n",
			x_of(p, t->bytes), y_of(p, t->seconds), t->outlier ? "4" : "2.5",
			colour[t->dir][0], bench_direction_name[t->dir],
			fus_size_text(size, t->bytes), bench_time_text(time, t->seconds),
			t->outlier ? ", an outlier" : "");
	}
}

static void draw_line(const struct plot *p, const struct bench_line *line)
{
	char sep = 'M';

	fprintf(p->f, "<path stroke=\"%s\" stroke-width=\"1.5\" d=\"",
		colour[line->dir][line->member + 1]);
	for (int i = 0; i <= STEPS; i++) {
		double x = p->x_least * pow(p->x_most / p->x_least, (double)i / STEPS);
		double y = line->latency.is + x / line->rate.is;

		if (y < p->y_least)
			continue;
		fprintf(p->f, "%c%.1f %.1f", sep, x_of(p, x), y_of(p, y));
		sep = 'L';
	}
	fputs("\"/>\n", p->f);
}

static void draw_key(const struct plot *p, const struct bench_line *line, int x)
{
	char rate[BENCH_TEXT], time[BENCH_TEXT];

	fprintf(p->f, "<path stroke=\"%s\" d=\"M%d %dh20\"/><text x=\"%d\" y=\"%d\">%s%s%s: %s, "
		"%s</text>\n", colour[line->dir][line->member + 1], x, KEY - 4, x + 26, KEY,
		bench_direction_name[line->dir], line->member < 0 ? "" : ", ",
		line->member < 0 ? "" : fus_role_name[line->member],
		bench_rate_text(rate, line->rate.is), bench_time_text(time, line->latency.is));
}

void bench_svg_begin(const struct bench *b, int height, const char *title, FILE *f)
{
	bool doubtful = false;

	for (int i = 0; i < NR_BENCH_DOUBTS; i++)
		doubtful |= *b->doubt[i];
	fprintf(f, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		"height=\"%d\">\n<title>fusionctl bench %s</title>\n"
		"<style>text{font:11px sans-serif;fill:#ddd}path{fill:none}.g{stroke:#333}"
		"</style>\n<rect width=\"%d\" height=\"%d\" fill=\"#161616\"/>\n"
		"<text x=\"%d\" y=\"%d\" style=\"font-size:14px\">%s%s</text>\n",
		BENCH_SVG_WIDTH, height, BENCH_SVG_WIDTH, height,
		bench_profile_name[b->profile], BENCH_SVG_WIDTH, height, BENCH_SVG_LEFT, 30,
		title, doubtful ? ": not reliable" : "");
}

void bench_svg(const struct bench *b, FILE *f)
{
	struct plot p = { .f = f };
	int x = LEFT;

	find_scale(b, &p);
	bench_svg_begin(b, KEY + 16, "time of a transfer by its size", f);
	draw_axes(&p);
	draw_dots(&p, b);
	for (int i = 0; i < BENCH_LINES; i++) {
		if (!bench_shows(b, &b->line[i]) || !b->line[i].known)
			continue;
		draw_line(&p, &b->line[i]);
		draw_key(&p, &b->line[i], x);
		x += PLOT / 4;
	}
	fputs("</svg>\n", f);
}
