// SPDX-License-Identifier: GPL-2.0-only
/* Verb map: draw where the data lies and how hot it is. */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "json.h"
#include "landing-size.h"
#include "open-set.h"
#include "output.h"
#include "size.h"
#include "terminal.h"
#include "verb.h"

#define ROWS		16
#define MARGIN		8	/* of a row's offset */
#define SVG_WIDTH	96

#define NUMBER		"%" SCNu64 " "

unsigned int heat_height(const struct heat_map *map, const struct cell *c, unsigned int steps)
{
	unsigned int h;

	if (!c->mean)
		return 0;
	h = lround(log2(1.0 + c->mean) / log2(1.0 + map->hottest) * steps);
	return h ? h : 1;
}

void heat_message(uint64_t extents, unsigned int cells, char *msg, size_t size)
{
	uint64_t each;

	if (cells > MAP_MAX_CELLS)
		cells = MAP_MAX_CELLS;
	/* all of equal size, except perhaps the last */
	each = (extents + cells - 1) / cells;
	snprintf(msg, size, "heat %" PRIu64, (extents + each - 1) / each);
}

/*
 * It has lines "first count fast slow mean max protected" that cover all extents, with "logged"
 * behind that if the set has a landing log.
 */
const char *heat_parse(char *text, struct heat_map *map)
{
	uint64_t next = 0;
	struct cell *c;
	char *line;
	char end;
	int nr;

	map->cell = calloc(MAP_MAX_CELLS, sizeof(*map->cell));
	if (!map->cell)
		return "out of memory";
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		if (map->nr == MAP_MAX_CELLS)
			return "too many lines";
		c = &map->cell[map->nr++];
		nr = sscanf(line, NUMBER NUMBER NUMBER NUMBER NUMBER NUMBER NUMBER NUMBER "%c",
			    &c->first, &c->count, &c->fast, &c->slow, &c->mean, &c->max,
			    &c->protected, &c->logged, &end);
		if (map->nr == 1)
			map->logs = nr == 8;
		if (nr != 7 + map->logs)
			return "a line is not seven numbers, or eight";
		if (c->first != next || !c->count || c->count > map->extents - next ||
		    c->fast > c->count || c->slow > c->count - c->fast || c->mean > c->max ||
		    c->protected > c->fast)
			return "the numbers contradict each other";
		next += c->count;
		if (c->mean > map->hottest)
			map->hottest = c->mean;
		map->protects |= c->protected;
	}
	return next == map->extents ? NULL : "it does not cover all extents";
}

static int get_heat(const char *name, unsigned int cells, struct heat_map *map)
{
	char msg[32], *answer;
	struct set set;
	const char *why;
	int rc, err;

	memset(map, 0, sizeof(*map));
	rc = fus_set_get(name, &set);
	if (rc)
		return rc;
	map->name = name;
	map->extents = set.st.extents;
	map->extent_bytes = set.st.extent_sectors << 9;
	map->log_used = set.st.log_segments;
	map->log_most = set.st.log_most;
	map->log_blocks = set.st.log_blocks;
	fus_set_put(&set);
	heat_message(map->extents, cells, msg, sizeof(msg));
	err = fus_dm_message(name, msg, &answer);
	if (err)
		return fus_fail(FC_FAILED, name, "the kernel does not return the map: %s; see "
				"dmesg", strerror(-err));
	why = answer ? heat_parse(answer, map) : "it is empty";
	if (why) {
		free(map->cell);
		rc = fus_fail(FC_FAILED, name, "cannot read the kernel's map: %s; use matching "
			      "versions of fusionctl and dm-fusion", why);
	}
	free(answer);
	return rc;
}

char *cell_text(const struct heat_map *map, char buf[CELL_TEXT])
{
	uint64_t least = map->cell[0].count, most = least;
	char size[2][SIZE_TEXT], extent[SIZE_TEXT];

	for (unsigned int i = 1; i < map->nr; i++) {
		least = map->cell[i].count < least ? map->cell[i].count : least;
		most = map->cell[i].count > most ? map->cell[i].count : most;
	}
	fus_size_text(size[0], least * map->extent_bytes);
	fus_size_text(size[1], most * map->extent_bytes);
	fus_size_text(extent, map->extent_bytes);
	if (least == most)
		snprintf(buf, CELL_TEXT, "%s, %" PRIu64 " extent%s of %s", size[0], least,
			 fus_plural(least), extent);
	else if (strcmp(size[0], size[1]))
		snprintf(buf, CELL_TEXT, "%s to %s, %" PRIu64 " to %" PRIu64 " extents of %s",
			 size[0], size[1], least, most, extent);
	else
		snprintf(buf, CELL_TEXT, "%s, %" PRIu64 " to %" PRIu64 " extents of %s", size[0],
			 least, most, extent);
	return buf;
}

char *log_text(const struct heat_map *map, char buf[LOG_TEXT])
{
	char in[SIZE_TEXT], used[SIZE_TEXT], most[SIZE_TEXT];

	snprintf(buf, LOG_TEXT, "%s in %s of %s",
		 fus_size_text(in, map->log_blocks * FUS_LANDING_BLOCK),
		 fus_size_text(used, map->log_used * map->extent_bytes),
		 fus_size_text(most, map->log_most * map->extent_bytes));
	return buf;
}

static struct json_object *log_json(const struct heat_map *map)
{
	struct json_object *o;

	if (!map->logs)
		return NULL;
	o = json_object_new_object();
	fus_json_add_u64(o, "bytes", map->log_most * map->extent_bytes);
	fus_json_add_u64(o, "used_bytes", map->log_used * map->extent_bytes);
	fus_json_add_u64(o, "logged_bytes", map->log_blocks * FUS_LANDING_BLOCK);
	return o;
}

struct json_object *map_json(const struct heat_map *map)
{
	struct json_object *o = fus_json_base(), *cells = json_object_new_array(), *cell;

	fus_json_add_str(o, "name", map->name);
	fus_json_add_u64(o, "extent_bytes", map->extent_bytes);
	fus_json_add_u64(o, "extents", map->extents);
	json_object_object_add(o, "landing_log", log_json(map));
	for (unsigned int i = 0; i < map->nr; i++) {
		const struct cell *c = &map->cell[i];

		cell = json_object_new_object();
		fus_json_add_u64(cell, "first", c->first);
		fus_json_add_u64(cell, "count", c->count);
		fus_json_add_u64(cell, "fast", c->fast);
		fus_json_add_u64(cell, "slow", c->slow);
		fus_json_add_u64(cell, "protected", c->protected);
		fus_json_add_u64(cell, "logged_bytes", c->logged * FUS_LANDING_BLOCK);
		fus_json_add_u64(cell, "heat_mean", c->mean);
		fus_json_add_u64(cell, "heat_max", c->max);
		json_object_array_add(cells, cell);
	}
	json_object_object_add(o, "cells", cells);
	return o;
}

int cmd_map(const struct args *a)
{
	const char *svg = a->opt[OPT_SVG], *text = a->opt[OPT_WIDTH];
	unsigned int room = terminal_width();
	struct heat_map map;
	struct output out;
	enum color color;
	uint64_t width;
	int rc;

	width = svg ? SVG_WIDTH : room > MARGIN + 16 ? room - MARGIN : 16;
	if (text && (!fus_parse_number(text, 1024, &width) || !width))
		return fus_fail(FC_USAGE, text, "not a width; give 1 to 1024 cells");
	if (svg && a->opt[OPT_JSON] && !strcmp(svg, "-"))
		return fus_fail(FC_USAGE, "--svg", "cannot share standard output with --json; give "
				"a file");
	rc = color_mode(a->opt[OPT_COLOR], &color);
	if (!rc && svg)
		rc = output_open(svg, &out);
	if (rc)
		return rc;
	rc = get_heat(a->word[0], width * ROWS, &map);
	if (rc) {
		if (svg)
			output_cancel(&out);
		return rc;
	}
	if (a->opt[OPT_JSON])
		print_json(map_json(&map), false);
	else if (!svg)
		map_draw(&map, width, color);
	if (svg) {
		map_svg(&map, width, out.f);
		rc = output_close(&out);
	}
	free(map.cell);
	return rc;
}
