// SPDX-License-Identifier: GPL-2.0-only
/* The lower part of a screenful: heat over the set, and the hottest ranges. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top.h"
#include "size.h"

/* -- heat over the set ------------------------------------------------------------ */

/* log2(1 + v) in 256ths, with straight lines between powers of two. */
static unsigned int logarithm(uint64_t v)
{
	unsigned int whole = 0;

	v = v < UINT64_MAX >> 9 ? v + 1 : UINT64_MAX >> 9;
	while (v >> whole > 1)
		whole++;
	return whole * 256 + ((v << 8) >> whole) - 256;
}

/* 1 to 8, or 0 if there is no heat. */
static unsigned int height(uint64_t heat, uint64_t hottest)
{
	unsigned int h;

	if (!heat)
		return 0;
	h = (logarithm(heat) * 8 + logarithm(hottest) / 2) / logarithm(hottest);
	return h ? h : 1;
}

/* What column @i of @width shows. */
static struct cell column(const struct heat_map *map, unsigned int i, unsigned int width)
{
	unsigned int from = (uint64_t)i * map->nr / width;
	unsigned int end = (uint64_t)(i + 1) * map->nr / width;
	struct cell sum = { 0 };
	uint64_t heat = 0;

	for (unsigned int j = from; j < end || j == from; j++) {
		const struct cell *c = &map->cell[j];

		sum.fast += c->fast;
		sum.slow += c->slow;
		sum.count += c->count;
		heat += c->mean * c->count;
	}
	if (sum.count)
		sum.mean = heat / sum.count;
	return sum;
}

static enum top_style style_of(enum tier tier)
{
	static const enum top_style style[TIERS] = {
		[UNMAPPED] = TOP_DIM, [ALL_SLOW] = TOP_SLOW, [MOSTLY_SLOW] = TOP_SLOW,
		[EVEN] = TOP_BOTH, [MOSTLY_FAST] = TOP_FAST, [ALL_FAST] = TOP_FAST,
	};

	return style[tier];
}

/* Three rows: heat, members, and what part of the set they are. */
static void draw_strip(struct top_screen *s, const struct heat_map *map, unsigned int row)
{
	unsigned int width = s->cols > TOP_LABEL ? s->cols - TOP_LABEL : 0, col;
	uint64_t hottest = 0;
	char size[SIZE_TEXT];

	for (unsigned int i = 0; i < width; i++) {
		struct cell c = column(map, i, width);

		hottest = c.mean > hottest ? c.mean : hottest;
	}
	for (unsigned int i = 0; i < width; i++) {
		struct cell c = column(map, i, width);
		enum tier tier = cell_tier(&c);

		top_put_block(s, row, TOP_LABEL + i, style_of(tier), height(c.mean, hottest));
		top_put(s, row + 1, TOP_LABEL + i, style_of(tier), "%c", TIER_LETTERS[tier]);
	}
	top_put(s, row + 2, TOP_LABEL, TOP_PLAIN, "0");
	top_put_right(s, row + 2, s->cols, TOP_PLAIN,
		      fus_size_text(size, map->extents * map->extent_bytes));
	col = top_put(s, row + 2, TOP_LABEL + 4, TOP_FAST, "F fast");
	col = top_put(s, row + 2, col, TOP_BOTH, "  m both");
	col = top_put(s, row + 2, col, TOP_SLOW, "  S slow");
	col = top_put(s, row + 2, col, TOP_DIM, "  . unused");
	top_put(s, row + 2, col, TOP_PLAIN, "; heat up to %" PRIu64, hottest);
}

/* -- the hottest ranges ----------------------------------------------------------- */

static int by_mean(const void *a, const void *b)
{
	const struct cell *c = *(const struct cell *const *)a, *d = *(const struct cell *const *)b;

	if (c->mean != d->mean)
		return c->mean < d->mean ? 1 : -1;
	return c->first < d->first ? -1 : 1;
}

static int by_max(const void *a, const void *b)
{
	const struct cell *c = *(const struct cell *const *)a, *d = *(const struct cell *const *)b;

	if (c->max != d->max)
		return c->max < d->max ? 1 : -1;
	return by_mean(a, b);
}

static int by_place(const void *a, const void *b)
{
	const struct cell *c = *(const struct cell *const *)a, *d = *(const struct cell *const *)b;

	return c->first < d->first ? -1 : 1;
}

unsigned int top_hottest(const struct heat_map *map, enum top_sort sort, unsigned int most,
			 const struct cell *found[TOP_MOST_RANGES])
{
	const struct cell *all[MAP_MAX_CELLS];
	unsigned int nr = 0;

	for (unsigned int i = 0; i < map->nr; i++)
		if (map->cell[i].max)
			all[nr++] = &map->cell[i];
	if (!nr)
		return 0;
	qsort(all, nr, sizeof(all[0]), sort == TOP_BY_MAX ? by_max : by_mean);
	most = most < TOP_MOST_RANGES ? most : TOP_MOST_RANGES;
	nr = nr < most ? nr : most;
	memcpy(found, all, nr * sizeof(all[0]));
	if (sort == TOP_BY_PLACE && nr)
		qsort(found, nr, sizeof(found[0]), by_place);
	return nr;
}

static void range_text(char *buf, size_t size, uint64_t first, uint64_t last)
{
	if (first == last)
		snprintf(buf, size, "%" PRIu64, first);
	else
		snprintf(buf, size, "%" PRIu64 "-%" PRIu64, first, last);
}

/* The end of a path that is too long tells more than its beginning. */
static void draw_path(struct top_screen *s, unsigned int row, unsigned int col, const char *path)
{
	size_t len = strlen(path), room = s->cols > col ? s->cols - col : 0;

	if (len <= room)
		top_put(s, row, col, TOP_PLAIN, "%s", path);
	else if (room > 3)
		top_put(s, row, col, TOP_PLAIN, "...%s", path + len - (room - 3));
}

static void draw_range(struct top_screen *s, const struct top_look *look, unsigned int row,
		       const struct cell *c)
{
	uint64_t per_extent = look->heat.extent_bytes >> 9;
	const struct top_named *named;
	char extents[48], range[48];
	unsigned int col;

	range_text(extents, sizeof(extents), c->first, c->first + c->count - 1);
	range_text(range, sizeof(range), c->first * per_extent,
		   (c->first + c->count) * per_extent - 1);
	col = top_put(s, row, 0, style_of(cell_tier(c)), "%-17s", extents);
	if (!look->naming)
		col = top_put(s, row, col, style_of(cell_tier(c)), " %-23s", range);
	col = top_put(s, row, col, style_of(cell_tier(c)),
		      " %6" PRIu64 " %6" PRIu64 " %5" PRIu64 " %5" PRIu64, c->mean, c->max,
		      c->fast, c->slow);
	named = look->naming ? top_names_find(&look->names, &look->heat, c) : NULL;
	if (!named)
		return;
	col = top_put(s, row, col, TOP_PLAIN, " %5" PRIu64 " ", named->files);
	draw_path(s, row, col, named->path);
}

static void draw_ranges(struct top_screen *s, const struct top_look *look, enum top_sort sort,
			unsigned int row, unsigned int end)
{
	static const char *const order[NR_TOP_SORTS] = { "mean heat", "maximum", "place" };
	const struct cell *found[TOP_MOST_RANGES];
	unsigned int nr, col;

	if (row >= end)
		return;
	col = top_put(s, row, 0, TOP_HEAD, "%-17s", "HOTTEST EXTENTS");
	if (!look->naming)
		col = top_put(s, row, col, TOP_HEAD, " %-23s", "SECTORS");
	col = top_put(s, row, col, TOP_HEAD, " %6s %6s %5s %5s", "MEAN", "MAX", "FAST", "SLOW");
	if (look->naming)
		col = top_put(s, row, col, TOP_HEAD, " FILES MOSTLY");
	top_put(s, row, col + 1, TOP_PLAIN, "by %s", order[sort]);
	row++;
	if (look->naming && *look->no_names && row < end)
		top_put(s, row++, 0, TOP_PLAIN, "files: %s", look->no_names);
	nr = row < end ? top_hottest(&look->heat, sort, end - row, found) : 0;
	for (unsigned int i = 0; i < nr; i++)
		draw_range(s, look, row + i, found[i]);
	if (!nr && row < end)
		top_put(s, row, 0, TOP_DIM, "nothing is hot: no access counted lately");
}

void top_draw_heat(struct top_screen *s, const struct top_look *look, const struct top_view *view,
		   unsigned int row, unsigned int end)
{
	top_put(s, row, 0, TOP_HEAD, "HEAT");
	if (!look->heat.nr) {
		top_put(s, row, TOP_LABEL, TOP_DIM, "the kernel does not tell");
		return;
	}
	draw_strip(s, &look->heat, row);
	draw_ranges(s, look, view->sort, row + 4, end);
}
