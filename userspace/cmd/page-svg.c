// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drawings of a report. They are stretched to the width of the page, so they contain no text but
 * their titles; what they show is also on the page in words.
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>

#include "page.h"
#include "html.h"
#include "map.h"
#include "role.h"

#define WIDE	1000
#define HIGH	100

static void begin(FILE *f, const char *style, unsigned int width, unsigned int height,
		  const char *title)
{
	fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"%s\" viewBox=\"0 0 %u %u\" "
		"preserveAspectRatio=\"none\" role=\"img\">", style, width, height);
	html_element(f, "title", "%s", title);
	fprintf(f, "<rect class=\"none\" width=\"%u\" height=\"%u\"/>", width, height);
}

static void end(FILE *f)
{
	fputs("</svg>\n", f);
}

/* -- bars --------------------------------------------------------------------------- */

void page_bar(FILE *f, const char *title, const struct page_part *part, unsigned int nr,
	      uint64_t whole)
{
	double x = 0;

	begin(f, "bar", WIDE, 1, title);
	for (unsigned int i = 0; i < nr; i++) {
		double width = whole ? (double)part[i].amount / whole * WIDE : 0;

		if (width > WIDE - x)
			width = WIDE - x;
		/* a little is not nothing */
		if (part[i].amount && width < 2 && x + 2 <= WIDE)
			width = 2;
		if (width > 0)
			fprintf(f, "<rect class=\"%s\" x=\"%.1f\" width=\"%.1f\" height=\"1\"/>",
				part[i].style, x, width);
		x += width;
	}
	end(f);
}

/* -- along the set ------------------------------------------------------------------ */

/* A column of a path, from @from to @to above the bottom. */
static void column(FILE *f, unsigned int i, unsigned int from, unsigned int to)
{
	if (from < to)
		fprintf(f, "M%u %uv-%uh1v%uz", i, HIGH - from, to - from, to - from);
}

static void get_cell(struct json_object *cells, unsigned int i, struct cell *c)
{
	struct json_object *o = json_object_array_get_idx(cells, i);

	*c = (struct cell) {
		.count = page_u64(o, "/count"), .fast = page_u64(o, "/fast"),
		.slow = page_u64(o, "/slow"), .mean = page_u64(o, "/heat_mean"),
	};
}

/* Fast extents at the bottom, slow ones on top of them; the rest is unmapped. */
static void draw_places(FILE *f, struct json_object *cells, unsigned int nr, bool fast)
{
	struct cell c;

	fprintf(f, "<path class=\"%s\" d=\"", fast ? "fast" : "slow");
	for (unsigned int i = 0; i < nr; i++) {
		unsigned int middle, top;

		get_cell(cells, i, &c);
		if (!c.count)
			continue;
		middle = c.fast * HIGH / c.count;
		top = (c.fast + c.slow) * HIGH / c.count;
		column(f, i, fast ? 0 : middle, fast ? middle : top);
	}
	fputs("\"/>", f);
}

static void draw_heat(FILE *f, struct json_object *cells, const struct heat_map *map, bool fast)
{
	bool mostly_fast;
	struct cell c;

	fprintf(f, "<path class=\"%s\" d=\"", fast ? "fast" : "slow");
	for (unsigned int i = 0; i < map->nr; i++) {
		get_cell(cells, i, &c);
		mostly_fast = c.fast >= c.slow;
		if (mostly_fast == fast)
			column(f, i, 0, heat_height(map, &c, HIGH));
	}
	fputs("\"/>", f);
}

void page_strips(FILE *f, struct json_object *o)
{
	struct json_object *cells = page_at(o, "/cells");
	struct heat_map map = { .nr = cells ? json_object_array_length(cells) : 0 };
	struct cell c;

	for (unsigned int i = 0; i < map.nr; i++) {
		get_cell(cells, i, &c);
		map.hottest = c.mean > map.hottest ? c.mean : map.hottest;
	}
	fputs("<h3>Place</h3>\n", f);
	begin(f, "strip", map.nr, HIGH, "Which member the data lies on, from the beginning of the "
	      "set to its end");
	draw_places(f, cells, map.nr, true);
	draw_places(f, cells, map.nr, false);
	end(f);
	fputs("<h3>Heat</h3>\n", f);
	begin(f, "strip", map.nr, HIGH, "How hot the data is, from the beginning of the set to its "
	      "end, logarithmic");
	draw_heat(f, cells, &map, true);
	draw_heat(f, cells, &map, false);
	end(f);
}

/* -- over time ---------------------------------------------------------------------- */

#define STEP	10	/* a column and the gap after it */

void page_columns(FILE *f, const char *title, struct json_object *history, const char *key)
{
	unsigned int nr = history ? json_object_array_length(history) : 0;
	char fast[32], all[32];

	snprintf(fast, sizeof(fast), "/%s/fast", key);
	snprintf(all, sizeof(all), "/%s/all", key);
	begin(f, "columns", nr * STEP, HIGH, title);
	for (int role = 0; role < 2; role++) {
		fprintf(f, "<path class=\"%s\" d=\"", fus_role_name[role]);
		for (unsigned int i = 0; i < nr; i++) {
			struct json_object *o = json_object_array_get_idx(history, i);
			const unsigned int width = STEP - 2;
			uint64_t of = page_u64(o, all);
			unsigned int h = of ? page_u64(o, fast) * HIGH / of : 0;

			if (of && (role ? h < HIGH : h))
				fprintf(f, "M%u %uv-%uh%uv%uz", i * STEP + 1,
					role ? HIGH - h : HIGH,
					role ? HIGH - h : h, width, role ? HIGH - h : h);
		}
		fputs("\"/>", f);
	}
	end(f);
}
