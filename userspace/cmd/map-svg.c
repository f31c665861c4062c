// SPDX-License-Identifier: GPL-2.0-only
/* The map drawn to a file: as in the terminal, and a cell says its numbers when pointed at. */
#include <inttypes.h>
#include <stdio.h>

#include "map.h"
#include "landing-size.h"
#include "size.h"

#define CELL	10	/* width */
#define ROW	18	/* height */
#define GAP	1
#define LEFT	64
#define TOP	40
#define BOTTOM	36

#define LOG_ROWS	2
#define LOG_COLOR	"#6cc04a"

/* Between slow (blue) and fast (orange), by the share of the cell's extents. */
static void mix(const struct cell *c, unsigned int shade, char buf[8])
{
	static const unsigned char fast[3] = { 0xff, 0x98, 0x20 }, slow[3] = { 0x5a, 0x9c, 0xf0 };
	uint64_t mapped = c->fast + c->slow;
	unsigned int rgb[3];

	for (int i = 0; i < 3; i++)
		rgb[i] = (fast[i] * c->fast + slow[i] * c->slow) / mapped / shade;
	snprintf(buf, 8, "#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
}

static void draw_cell(FILE *f, const struct heat_map *map, const struct cell *c, unsigned int x,
		      unsigned int y)
{
	unsigned int h = heat_height(map, c, ROW - GAP);
	char size[SIZE_TEXT], offset[SIZE_TEXT], dark[8], bright[8];

	fprintf(f, "<g><title>%s at %s: %" PRIu64 " extents fast, %" PRIu64
		" of these protected, %" PRIu64 " slow, %" PRIu64 " unused; heat %" PRIu64
		", at most %" PRIu64,
		fus_size_text(size, c->count * map->extent_bytes),
		fus_size_text(offset, c->first * map->extent_bytes), c->fast,
		c->protected, c->slow, c->count - c->fast - c->slow, c->mean, c->max);
	if (cell_logged(map, c))
		fprintf(f, "; %s in the landing log",
			fus_size_text(size, c->logged * FUS_LANDING_BLOCK));
	fputs("</title>", f);
	if (c->fast + c->slow) {
		mix(c, 3, dark);
		mix(c, 1, bright);
		fprintf(f, "<rect class=\"c\" x=\"%u\" y=\"%u\" fill=\"%s\"/>", x, y, dark);
		if (h)
			fprintf(f, "<rect x=\"%u\" y=\"%u\" width=\"%d\" height=\"%u\" "
				"fill=\"%s\"/>", x, y + ROW - GAP - h, CELL - GAP, h, bright);
	} else {
		fprintf(f, "<rect class=\"c\" x=\"%u\" y=\"%u\" fill=\"#2c2c2c\"/>", x, y);
	}
	if (cell_unprotected(map, c) || cell_logged(map, c))
		fprintf(f, "<rect x=\"%u\" y=\"%u\" width=\"%d\" height=\"2\" fill=\"%s\"/>",
			x, y + ROW - GAP - 2, CELL - GAP, cell_logged(map, c) ? LOG_COLOR : "#fff");
	fputs("</g>\n", f);
}

static void draw_legend(FILE *f, const struct heat_map *map, unsigned int y)
{
	static const struct {
		const char *color, *text;
	} key[] = { { "#ff9820", "fast" }, { "#5a9cf0", "slow" }, { "#2c2c2c", "unused" } };
	unsigned int x = LEFT;
	char cell[CELL_TEXT];

	for (size_t i = 0; i < sizeof(key) / sizeof(key[0]); i++, x += 70)
		fprintf(f, "<rect class=\"c\" x=\"%u\" y=\"%u\" fill=\"%s\"/>"
			"<text x=\"%u\" y=\"%u\">%s</text>\n", x, y, key[i].color, x + CELL + 4,
			y + ROW - 5, key[i].text);
	fprintf(f, "<text x=\"%u\" y=\"%u\">cell: %s; height: mean heat, logarithmic, up to %"
		PRIu64 "%s</text>\n", x, y + ROW - 5, cell_text(map, cell), map->hottest,
		map->protects ? "; white line: not all protected" : "");
}

/* The slots of the landing log, all beside each other, as a bar. */
static void draw_log(FILE *f, const struct heat_map *map, unsigned int w, unsigned int y)
{
	unsigned int width = w - LEFT - CELL;
	unsigned int used = map->log_most ? map->log_used * width / map->log_most : 0;
	char text[LOG_TEXT];

	fprintf(f, "<text x=\"%d\" y=\"%u\" text-anchor=\"end\">log</text>\n"
		"<rect x=\"%d\" y=\"%u\" width=\"%u\" height=\"%d\" fill=\"#2c2c2c\"/>"
		"<rect x=\"%d\" y=\"%u\" width=\"%u\" height=\"%d\" fill=\"" LOG_COLOR
		"\"/>\n<text x=\"%d\" y=\"%u\">landing log: %s; green line: blocks of it are "
		"there</text>\n",
		LEFT - 6, y + ROW - 5, LEFT, y, width, ROW - GAP, LEFT, y, used, ROW - GAP, LEFT,
		y + 2 * ROW - 5, log_text(map, text));
}

void map_svg(const struct heat_map *map, unsigned int width, FILE *f)
{
	unsigned int columns = map->nr < width ? map->nr : width;
	unsigned int rows = (map->nr + columns - 1) / columns;
	unsigned int w = LEFT + columns * CELL + CELL;
	unsigned int h = TOP + rows * ROW + BOTTOM + (map->logs ? LOG_ROWS * ROW : 0);
	char size[SIZE_TEXT];

	if (w < 680)
		w = 680;	/* the legend */
	/* the valid name of a set has no characters special to XML */
	fprintf(f, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %u %u\" width=\"%u\" "
		"height=\"%u\">\n<title>%s</title>\n"
		"<style>.c{width:%dpx;height:%dpx} text{font:11px sans-serif;fill:#ddd}</style>\n"
		"<rect width=\"%u\" height=\"%u\" fill=\"#161616\"/>\n"
		"<text x=\"%d\" y=\"24\" style=\"font-size:15px\">%s, %s</text>\n",
		w, h, w, h, map->name, CELL - GAP, ROW - GAP, w, h, LEFT, map->name,
		fus_size_text(size, map->extents * map->extent_bytes));
	for (unsigned int i = 0; i < map->nr; i++) {
		unsigned int y = TOP + i / columns * ROW;

		if (!(i % columns))
			fprintf(f, "<text x=\"%d\" y=\"%u\" text-anchor=\"end\">%s</text>\n",
				LEFT - 6, y + ROW - 5,
				fus_size_text(size, map->cell[i].first * map->extent_bytes));
		draw_cell(f, map, &map->cell[i], LEFT + i % columns * CELL, y);
	}
	draw_legend(f, map, TOP + rows * ROW + CELL);
	if (map->logs)
		draw_log(f, map, w, TOP + rows * ROW + BOTTOM);
	fputs("</svg>\n", f);
}
