// SPDX-License-Identifier: GPL-2.0-only
/* The hit ratio by the size of the fast member, drawn to a file. */
#include <inttypes.h>
#include <stdio.h>

#include "fusionctl.h"
#include "size.h"
#include "whatif.h"

#define WIDTH	880
#define LEFT	70
#define PLOT	780
#define TOP	50
#define HEIGHT	300
#define TOTAL	440
#define TICKS	6

static double x_of(const struct whatif *w, uint64_t extents)
{
	return LEFT + (double)extents / w->end * PLOT;
}

static double y_of(double share)
{
	return TOP + HEIGHT * (1 - share);
}

static void draw_axes(FILE *f, const struct whatif *w)
{
	char size[SIZE_TEXT];

	for (int i = 0; i <= 4; i++)
		fprintf(f, "<path class=\"g\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" "
			"text-anchor=\"end\">%d%%</text>\n", LEFT, y_of(i / 4.0), LEFT + PLOT,
			LEFT - 6, y_of(i / 4.0) + 4, 25 * i);
	for (int i = 0; i <= TICKS; i++)
		fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
			LEFT + PLOT * i / TICKS, TOP + HEIGHT + 18,
			fus_size_text(size, w->end * i / TICKS * w->extent_bytes));
}

static void draw_curve(FILE *f, const struct whatif *w)
{
	const struct curve *c = &w->curve;
	uint64_t n = 0;

	fprintf(f, "<path class=\"h\" d=\"M%d %.1f", LEFT, y_of(0));
	for (unsigned int i = 0; i < c->nr; i++) {
		n += c->bucket[i].nr[FAST] + c->bucket[i].nr[SLOW];
		if (n > w->end)
			n = w->end;
		fprintf(f, "L%.1f %.1f", x_of(w, n), y_of(curve_share(c, n)));
	}
	fputs("\"/>\n", f);
}

/* A line where a fast member of that size is full, unless that is beyond the end. */
static void draw_size(FILE *f, const struct whatif *w, const struct whatif_size *s)
{
	uint64_t n = w->usable * s->quarters / 4;
	double share = whatif_share(w, s);
	char size[SIZE_TEXT];

	if (n > w->end)
		return;
	fus_size_text(size, w->slots * s->quarters / 4 * w->extent_bytes);
	fprintf(f, "<g><title>a fast member of %s: %.1f%%</title><path class=\"%s\" d=\"M%.1f "
		"%dV%d\"/><circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"#ff9820\"/>"
		"<text x=\"%.1f\" y=\"%.1f\">%s: %.1f%%</text></g>\n", size, 100 * share,
		s->quarters == 4 ? "o" : "u", x_of(w, n), TOP, TOP + HEIGHT, x_of(w, n),
		y_of(share), x_of(w, n) + 6, y_of(share) + 14, size, 100 * share);
}

static void draw_key(FILE *f, int x, const char *class, const char *text)
{
	fprintf(f, "<path class=\"%s\" d=\"M%d %dh24\"/><text x=\"%d\" y=\"%d\">%s</text>\n",
		class, x, TOTAL - 14, x + 30, TOTAL - 10, text);
}

void whatif_svg(const struct whatif *w, FILE *f)
{
	double now = curve_now(&w->curve);

	/* the valid name of a set has no characters special to XML */
	fprintf(f, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		"height=\"%d\">\n<title>%s</title>\n"
		"<style>text{font:11px sans-serif;fill:#ddd}path{fill:none}"
		".g{stroke:#333}.h{stroke:#ff9820;stroke-width:2}.o{stroke:#6c6;stroke-width:2;"
		"stroke-dasharray:6 3}.u{stroke:#888;stroke-dasharray:2 4}"
		".s{stroke:#5a9cf0}</style>\n"
		"<rect width=\"%d\" height=\"%d\" fill=\"#161616\"/>\n"
		"<text x=\"%d\" y=\"%d\" style=\"font-size:14px\">%s: share of accesses that the "
		"fast member would serve, by its size</text>\n", WIDTH, TOTAL, WIDTH, TOTAL,
		w->name, WIDTH, TOTAL, LEFT, TOP - 20, w->name);
	draw_axes(f, w);
	for (unsigned int i = 0; i < NR_SIZES; i++)
		draw_size(f, w, &whatif_sizes[i]);
	fprintf(f, "<g><title>as it is: %.1f%%</title><path class=\"s\" d=\"M%d %.1fh%d\"/>"
		"</g>\n", 100 * now, LEFT, y_of(now), PLOT);
	draw_curve(f, w);
	draw_key(f, LEFT, "h", "the hottest extents there");
	draw_key(f, LEFT + 200, "s", "as they lie");
	draw_key(f, LEFT + 320, "o", "the present size");
	draw_key(f, LEFT + 460, "u", "half, double, 4 times");
	fputs("</svg>\n", f);
}
