/* SPDX-License-Identifier: GPL-2.0-only */
/* Verb map. */
#ifndef MAP_H
#define MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "terminal.h"

struct json_object;

#define MAP_MAX_CELLS	4096

struct cell {
	uint64_t first, count, fast, slow, mean, max;
	uint64_t protected;	/* of @fast: the slow member would give them back */
	uint64_t logged;	/* blocks of it that are in the landing log */
};

struct heat_map {
	const char *name;
	uint64_t extents;
	uint64_t extent_bytes;
	unsigned int nr;
	uint64_t hottest;	/* largest mean of all cells */
	bool protects;		/* any extent is protected */
	bool logs;		/* it has a landing log: cells have @logged; and so the next ones */
	uint64_t log_used, log_most;	/* fast slots that the log takes, and may take */
	uint64_t log_blocks;		/* what is in it */
	struct cell *cell;
};

/* Where the mapped extents of a cell lie. */
enum tier { UNMAPPED, ALL_SLOW, MOSTLY_SLOW, EVEN, MOSTLY_FAST, ALL_FAST, TIERS };
/* Without colour. */
#define TIER_LETTERS	".SsmfF"

static inline enum tier cell_tier(const struct cell *c)
{
	uint64_t mapped = c->fast + c->slow;

	if (!mapped)
		return UNMAPPED;
	if (!c->fast || !c->slow)
		return c->fast ? ALL_FAST : ALL_SLOW;
	if (c->fast > mapped - mapped / 3)
		return MOSTLY_FAST;
	return c->slow > mapped - mapped / 3 ? MOSTLY_SLOW : EVEN;
}

/* The message for the heat of so many extents in up to so many cells, of equal size. */
void heat_message(uint64_t extents, unsigned int cells, char *msg, size_t size);
/*
 * Parse the kernel's answer, which is changed; map->extents says how many it is about. Return:
 * NULL, or the fault. map->cell is to be freed.
 */
const char *heat_parse(char *text, struct heat_map *map);

/* Height of a cell's heat in 0..@steps: logarithmic, and not 0 if there is any. */
unsigned int heat_height(const struct heat_map *map, const struct cell *c, unsigned int steps);

/* Would something of the cell be lost with the fast member, of a set that has shadows? */
static inline bool cell_unprotected(const struct heat_map *map, const struct cell *c)
{
	return map->protects && c->protected < c->fast;
}

/* Has the landing log anything of the cell? That would be lost with the fast member as well. */
static inline bool cell_logged(const struct heat_map *map, const struct cell *c)
{
	return map->logs && c->logged;
}

#define CELL_TEXT	128

/* How much a cell is: "2M, 2 extents of 1M", or a range if they differ. Returns @buf. */
char *cell_text(const struct heat_map *map, char buf[CELL_TEXT]);

#define LOG_TEXT	128

/* What is in the landing log: "80K in 1M of 12M". Returns @buf. */
char *log_text(const struct heat_map *map, char buf[LOG_TEXT]);

struct json_object *map_json(const struct heat_map *map);
void map_draw(const struct heat_map *map, unsigned int width, enum color color);
void map_svg(const struct heat_map *map, unsigned int width, FILE *f);

#endif
