// SPDX-License-Identifier: GPL-2.0-only
/* The results of sweep, as a map of rates, and of mix, as bars. */
#include <math.h>
#include <stdio.h>

#include "bench.h"
#include "size.h"

#define LEFT	BENCH_SVG_LEFT
#define TOP	70
#define CELL	86	/* of the map */
#define ROW	26
#define MAP	(LEFT + 10)
#define BARS	160
#define LONGEST	560

/* From blue, the slowest, to yellow; logarithmic. Return: whether it is light. */
static bool colour(double rate, double least, double most, char buf[32])
{
	double share = most > least ? log(rate / least) / log(most / least) : 1;

	snprintf(buf, 32, "hsl(%.0f,60%%,%.0f%%)", 225 - 175 * share, 25 + 25 * share);
	return share > 0.5;
}

static void bounds(const struct bench *b, double *least, double *most)
{
	*least = 0;
	*most = 0;
	for (unsigned int i = 0; i < b->nr_runs; i++) {
		const struct theil_value rate = bench_run_value(&b->run[i], BENCH_RATE);
		const double high = b->profile == BENCH_MIX ? rate.high : rate.is;

		if (rate.is <= 0)
			continue;
		*least = !*least || rate.is < *least ? rate.is : *least;
		*most = high > *most ? high : *most;
	}
}

/* Sizes go down, depths to the right; writes are right of reads. */
static void draw_cell(const struct bench *b, const struct bench_run *r, double least, double most,
		      FILE *f)
{
	const double rate = bench_run_value(r, BENCH_RATE).is;
	const int columns = b->quick ? 2 : 4, step = b->quick ? 4 : 2;
	const struct fio_shape *shape = &r->load.shape;
	const int column = log2(shape->depth) / step, row = log2(shape->block / 4096.0) / step;
	const int x = MAP + (column + (bench_run_has(r, BENCH_WRITE) ? columns : 0)) * CELL +
		      (bench_run_has(r, BENCH_WRITE) ? 20 : 0);
	char fill[32], text[BENCH_TEXT], size[SIZE_TEXT];
	bool light;

	if (rate <= 0)
		return;
	light = colour(rate, least, most, fill);
	fprintf(f, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"><title>%s"
		"</title></rect><text x=\"%d\" y=\"%d\" text-anchor=\"middle\"%s>%s</text>"
		"\n", x, TOP + row * ROW, CELL - 2, ROW - 2, fill, r->load.name, x + CELL / 2 - 1,
		TOP + row * ROW + 16, light ? " style=\"fill:#111\"" : "",
		bench_rate_text(text, rate));
	if (!column && bench_run_has(r, BENCH_READ))
		fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", MAP - 8,
			TOP + row * ROW + 16, fus_size_text(size, shape->block));
	if (!row)
		fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s, %u</text>\n",
			x + CELL / 2 - 1, TOP - 8, bench_direction_name[!shape->read_percent],
			shape->depth);
}

static void draw_bar(const struct bench_run *r, int row, double most, FILE *f)
{
	const struct theil_value v = bench_run_value(r, BENCH_RATE);
	const int y = TOP + row * ROW;
	char text[BENCH_TEXT];

	fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>"
		"<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"#ff9820\"/>"
		"<path stroke=\"#ddd\" d=\"M%.1f %dH%.1f\"/>"
		"<text x=\"%.1f\" y=\"%d\">%s</text>\n", BARS - 8, y + 16, r->load.name, BARS, y,
		LONGEST * v.is / most, ROW - 6, BARS + LONGEST * v.low / most, y + ROW / 2 - 3,
		BARS + LONGEST * v.high / most, BARS + LONGEST * v.high / most + 6, y + 16,
		bench_rate_text(text, v.is));
}

void bench_svg_runs(const struct bench *b, FILE *f)
{
	const bool mix = b->profile == BENCH_MIX;
	const int rows = mix ? (int)b->nr_runs : b->quick ? 4 : 7;
	double least, most;

	bounds(b, &least, &most);
	bench_svg_begin(b, TOP + rows * ROW + 20, !mix ? "rates by size and I/Os in flight" :
			b->tries > 1 ? "rates of the loads, with the least and the most" :
			"rates of the loads", f);
	for (unsigned int i = 0; i < b->nr_runs; i++) {
		if (mix)
			draw_bar(&b->run[i], i, most > 0 ? most : 1, f);
		else
			draw_cell(b, &b->run[i], least, most, f);
	}
	fputs("</svg>\n", f);
}
