// SPDX-License-Identifier: GPL-2.0-only
/* The result of a simulation drawn: hit ratio and oracle over time, throughput over time. */
#include <inttypes.h>
#include <stdio.h>

#include "sim.h"

#define WIDTH	880
#define LEFT	70
#define PLOT	780
#define HEIGHT	200
#define TOP1	50
#define TOP2	310
#define TOTAL	560
#define STEPS	260	/* points of a line; those of the result are put together */

struct plot {
	FILE *f;
	u64 end;
	double max;
	unsigned int top;
};

static double x_of(const struct plot *p, u64 at)
{
	return LEFT + (p->end ? (double)at / p->end : 0) * PLOT;
}

static double y_of(const struct plot *p, double v)
{
	return p->top + HEIGHT * (1 - (p->max > 0 ? (v < p->max ? v / p->max : 1) : 0));
}

static void draw_axes(const struct plot *p, const char *title, const char *format)
{
	fprintf(p->f, "<text x=\"%d\" y=\"%u\" style=\"font-size:14px\">%s</text>\n", LEFT,
		p->top - 12, title);
	for (int i = 0; i <= 4; i++) {
		double v = p->max * i / 4;

		fprintf(p->f, "<path class=\"g\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" "
			"text-anchor=\"end\">", LEFT, y_of(p, v), LEFT + PLOT, LEFT - 6,
			y_of(p, v) + 4);
		fprintf(p->f, format, v);
		fputs("</text>\n", p->f);
	}
	for (int i = 0; i <= 6; i++) {
		double s = p->end / 1e9 * i / 6;

		fprintf(p->f, "<text x=\"%.1f\" y=\"%u\" text-anchor=\"middle\">",
			x_of(p, p->end / 6 * i), p->top + HEIGHT + 18);
		if (p->end >= 7200 * SIM_S)
			fprintf(p->f, "%.1f h</text>\n", s / 3600);
		else if (p->end >= 600 * SIM_S)
			fprintf(p->f, "%.1f min</text>\n", s / 60);
		else
			fprintf(p->f, "%.1f s</text>\n", s);
	}
}

enum what { HITS, UNMOVED, IOPS };

/* The value of some points together; false if nothing happened in them. */
static bool value(const struct sim_result *r, u32 first, u32 end, enum what what, double *v)
{
	u64 ios = 0, part = 0, ns = (end < r->nr_points ? r->point[end].at : r->end) -
				    r->point[first].at;

	for (u32 i = first; i < end; i++) {
		ios += r->point[i].ios;
		part += what == HITS ? r->point[i].hits : r->point[i].unmoved_hits;
	}
	if (what == IOPS)
		*v = ns ? ios * 1e9 / ns : 0;
	else
		*v = ios ? (double)part / ios : 0;
	return ns && (what == IOPS || ios);
}

static void draw_line(const struct plot *p, const struct sim_result *r, enum what what,
		      const char *class)
{
	u32 step = (r->nr_points + STEPS - 1) / STEPS, end;
	bool begun = false;
	double v;

	fprintf(p->f, "<path class=\"%s\" d=\"", class);
	for (u32 i = 0; i < r->nr_points; i = end) {
		end = i + step < r->nr_points ? i + step : r->nr_points;
		if (!value(r, i, end, what, &v))
			continue;
		fprintf(p->f, "%c%.1f %.1f", begun ? 'L' : 'M',
			x_of(p, (r->point[i].at + (end < r->nr_points ? r->point[end].at :
						   r->end)) / 2), y_of(p, v));
		begun = true;
	}
	fputs("\"/>\n", p->f);
}

static double most_iops(const struct sim_result *r)
{
	u32 step = (r->nr_points + STEPS - 1) / STEPS, end;
	double v, most = r->alone[FUSION_SLOW].iops;

	for (u32 i = 0; i < r->nr_points; i = end) {
		end = i + step < r->nr_points ? i + step : r->nr_points;
		if (value(r, i, end, IOPS, &v) && v > most)
			most = v;
	}
	return most > 0 ? most * 1.05 : 1;
}

static void draw_key(FILE *f, int x, unsigned int y, const char *class, const char *text)
{
	fprintf(f, "<path class=\"%s\" d=\"M%d %uh24\"/><text x=\"%d\" y=\"%u\">%s</text>\n",
		class, x, y - 4, x + 30, y, text);
}

void sim_report_svg(const struct sim_config *cfg, const struct sim_result *r, FILE *f)
{
	struct plot hits = { f, r->end, 1, TOP1 };
	struct plot iops = { f, r->end, most_iops(r), TOP2 };

	fprintf(f, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		"height=\"%d\">\n<title>fusionctl simulate</title>\n"
		"<style>text{font:11px sans-serif;fill:#ddd}path{fill:none}"
		".g{stroke:#333}.h{stroke:#ff9820;stroke-width:2}.o{stroke:#6c6;stroke-width:2;"
		"stroke-dasharray:6 3}.u{stroke:#888}.s{stroke:#5a9cf0}</style>\n"
		"<rect width=\"%d\" height=\"%d\" fill=\"#161616\"/>\n",
		WIDTH, TOTAL, WIDTH, TOTAL, WIDTH, TOTAL);

	draw_axes(&hits, "hit ratio", "%.2f");
	for (unsigned int i = 0; i < r->nr_phases; i++)
		fprintf(f, "<path class=\"o\" d=\"M%.1f %.1fH%.1f\"/>\n",
			x_of(&hits, r->phase[i].start), y_of(&hits, r->phase[i].oracle),
			x_of(&hits, r->phase[i].end));
	draw_line(&hits, r, UNMOVED, "u");
	draw_line(&hits, r, HITS, "h");

	draw_axes(&iops, "I/Os a second", "%.0f");
	draw_line(&iops, r, IOPS, "h");
	if (cfg->compare)
		fprintf(f, "<path class=\"s\" d=\"M%d %.1fh%d\"/>\n", LEFT,
			y_of(&iops, r->alone[FUSION_SLOW].iops), PLOT);
	draw_key(f, LEFT, TOTAL - 10, "h", "the set");
	draw_key(f, LEFT + 130, TOTAL - 10, "o", "best fixed placement");
	draw_key(f, LEFT + 310, TOTAL - 10, "u", "nothing moved");
	if (cfg->compare)
		draw_key(f, LEFT + 460, TOTAL - 10, "s", "slow member alone");
	fputs("</svg>\n", f);
}
