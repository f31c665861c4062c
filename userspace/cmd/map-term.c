// SPDX-License-Identifier: GPL-2.0-only
/*
 * The map in a terminal, a cell for a range of extents: the colour says which member,
 * the height of the block how hot. Without colour letters stand for the members, and
 * the heat is in a line of its own. A line below cells marks those of which something would be lost
 * with the fast member, if the set has shadows at all.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "map.h"
#include "size.h"
#include "terminal.h"
#include "text.h"

static const struct {
	unsigned char fg256, bg256;
	unsigned char rgb[3];
} looks[TIERS] = {
	[UNMAPPED]    = { 240, 0, { 0x60, 0x60, 0x60 } },
	[ALL_SLOW]    = { 75, 18, { 0x5a, 0x9c, 0xf0 } },
	[MOSTLY_SLOW] = { 105, 54, { 0x84, 0x8a, 0xc8 } },
	[EVEN]	      = { 140, 53, { 0xb0, 0x80, 0xa0 } },
	[MOSTLY_FAST] = { 173, 88, { 0xd8, 0x80, 0x60 } },
	[ALL_FAST]    = { 214, 94, { 0xff, 0x98, 0x20 } },
};

static void set_color(enum tier t, enum color depth)
{
	const unsigned char *c = looks[t].rgb;

	if (t == UNMAPPED)
		printf("\033[0;38;5;%um", looks[t].fg256);
	else if (depth == COLOR_256)
		printf("\033[38;5;%u;48;5;%um", looks[t].fg256, looks[t].bg256);
	else
		printf("\033[38;2;%d;%d;%d;48;2;%d;%d;%dm", c[0], c[1], c[2], c[0] / 4, c[1] / 4,
		       c[2] / 4);
}

/* 0 to 8 eighths of a cell, or 0 to 9 as a digit. */
static void put_heat(const struct heat_map *map, const struct cell *c, bool utf8)
{
	unsigned int h = heat_height(map, c, utf8 ? 8 : 9);

	if (!h)
		putchar(' ');
	else if (utf8)
		printf("\xe2\x96%c", 0x80 + h);
	else
		putchar('0' + h);
}

/* A set with a landing log has no protected extents, so a mark has one meaning. */
static bool is_marked(const struct heat_map *map, const struct cell *c)
{
	return cell_unprotected(map, c) || cell_logged(map, c);
}

/* Of what stands in a cell, not of its ground. */
static void set_log_color(enum color depth)
{
	fputs(depth == COLOR_256 ? "\033[38;5;77m" : "\033[38;2;108;192;74m", stdout);
}

static void put_cell(const struct heat_map *map, const struct cell *c, enum color depth,
		     bool utf8, enum tier *last)
{
	enum tier t = cell_tier(c);

	if (t != *last)
		set_color(t, depth);
	*last = t;
	if ((map->protects || map->logs) && t != UNMAPPED)
		fputs(is_marked(map, c) ? "\033[4m" : "\033[24m", stdout);
	if (cell_logged(map, c)) {
		set_log_color(depth);
		*last = TIERS;
	}
	if (t == UNMAPPED)
		fputs(utf8 ? "\xc2\xb7" : ".", stdout);
	else
		put_heat(map, c, utf8);
}

static void legend(const struct heat_map *map, enum color depth, bool utf8)
{
	static const struct {
		enum tier tier;
		const char *text;
	} shown[] = {
		{ ALL_FAST, "fast" }, { EVEN, "both" },
		{ ALL_SLOW, "slow" }, { UNMAPPED, "unused" },
	};
	char cell[CELL_TEXT];

	printf("%*s", 8, "");
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		enum tier t = shown[i].tier;

		if (depth == COLOR_NONE) {
			printf("%c %s  ", TIER_LETTERS[t], shown[i].text);
			continue;
		}
		set_color(t, depth);
		fputs(t == UNMAPPED ? utf8 ? " \xc2\xb7" : " ." : utf8 ?
		      "\xe2\x96\x83\xe2\x96\x86" : " 5", stdout);
		printf("\033[0m %s  ", shown[i].text);
	}
	printf("%s: mean heat, logarithmic, up to %" PRIu64 "\n", utf8 ? "height" : "digit",
	       map->hottest);
	if (map->protects)
		printf("%*s%s: something of it would be lost with the fast member\n", 8, "",
		       depth == COLOR_NONE ? "^" : "underlined");
	if (map->logs)
		printf("%*s%s: blocks of it are in the landing log\n", 8, "",
		       depth == COLOR_NONE ? "^" : "green, underlined");
	printf("%*sa cell is %s\n", 8, "", cell_text(map, cell));
}

static void put_marks(const struct heat_map *map, unsigned int from, unsigned int end)
{
	printf("\n%*s", 8, "");
	for (unsigned int i = from; i < end; i++)
		putchar(is_marked(map, &map->cell[i]) ? '^' : ' ');
}

/* Slots of the landing log: those that it takes, of all that it may take. */
static void draw_log(const struct heat_map *map, unsigned int width, enum color depth, bool utf8)
{
	unsigned int all = map->log_most < width ? map->log_most : width;
	unsigned int used = map->log_most ? (map->log_used * all + map->log_most - 1) /
			    map->log_most : 0;
	char text[LOG_TEXT];

	printf("%7s ", "log");
	if (depth != COLOR_NONE)
		set_log_color(depth);
	for (unsigned int i = 0; i < all; i++)
		fputs(i < used ? depth == COLOR_NONE ? "L" : utf8 ? "\xe2\x96\x88" : "#" :
		      utf8 && depth != COLOR_NONE ? "\xc2\xb7" : ".", stdout);
	printf("%s\n%*s%s\n", depth == COLOR_NONE ? "" : "\033[0m", 8, "", log_text(map, text));
}

void map_draw(const struct heat_map *map, unsigned int width, enum color depth)
{
	bool utf8 = fus_utf8_output();
	char offset[SIZE_TEXT];
	unsigned int i, end;

	for (i = 0; i < map->nr; i = end) {
		enum tier last = TIERS;

		end = map->nr - i < width ? map->nr : i + width;
		printf("%7s ", fus_size_text(offset, map->cell[i].first * map->extent_bytes));
		for (unsigned int j = i; j < end; j++) {
			if (depth == COLOR_NONE)
				putchar(TIER_LETTERS[cell_tier(&map->cell[j])]);
			else
				put_cell(map, &map->cell[j], depth, utf8, &last);
		}
		if (depth == COLOR_NONE) {
			printf("\n%*s", 8, "");
			for (unsigned int j = i; j < end; j++)
				put_heat(map, &map->cell[j], utf8);
			if (map->protects || map->logs)
				put_marks(map, i, end);
		} else {
			fputs("\033[0m", stdout);
		}
		putchar('\n');
	}
	if (map->logs)
		draw_log(map, width, depth, utf8);
	legend(map, depth, utf8);
}
