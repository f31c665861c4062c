// SPDX-License-Identifier: GPL-2.0-only
/* Which file has most of a range of extents; and these names on their way through a pipe. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "top.h"

/* -- while files are read --------------------------------------------------------- */

int top_names_begin(struct top_names *n, const struct heat_map *map)
{
	*n = (struct top_names) { .extents = map->extents };
	n->range = calloc(map->nr ? map->nr : 1, sizeof(*n->range));
	if (!n->range)
		return -ENOMEM;
	n->nr = map->nr;
	for (unsigned int i = 0; i < n->nr; i++)
		n->range[i].first = map->cell[i].first;
	return 0;
}

void top_names_file(struct top_names *n, const char *path)
{
	n->path = path;
	n->file++;
}

static int by_first(const void *extent, const void *range)
{
	const struct top_named *r = range;
	uint64_t e = *(const uint64_t *)extent;

	return e < r->first ? -1 : e > r->first;
}

/* The last range that does not begin behind @extent. */
static struct top_named *range_of(const struct top_names *n, uint64_t extent)
{
	unsigned int low = 0, high = n->nr, middle;

	while (high - low > 1) {
		middle = low + (high - low) / 2;
		if (n->range[middle].first <= extent)
			low = middle;
		else
			high = middle;
	}
	return &n->range[low];
}

int top_names_extent(struct top_names *n, uint64_t extent, uint64_t bytes)
{
	struct top_named *r;
	char *path;

	if (extent >= n->extents || !n->nr)
		return 0;
	r = range_of(n, extent);
	if (r->file != n->file) {
		r->file = n->file;
		r->files++;
		r->bytes = 0;
	}
	r->bytes += bytes;
	if (r->bytes <= r->most)
		return 0;
	r->most = r->bytes;
	if (r->best == n->file)
		return 0;
	path = strdup(n->path);
	if (!path)
		return -ENOMEM;
	free(r->path);
	r->path = path;
	r->best = n->file;
	return 0;
}

/* -- when they are known ---------------------------------------------------------- */

const struct top_named *top_names_find(const struct top_names *n, const struct heat_map *map,
				       const struct cell *c)
{
	const struct top_named *r;

	/* since then, the set has been resized */
	if (!n->nr || n->extents != map->extents || n->nr != map->nr)
		return NULL;
	r = bsearch(&c->first, n->range, n->nr, sizeof(*r), by_first);
	return r && r->path ? r : NULL;
}

void top_names_free(struct top_names *n)
{
	for (unsigned int i = 0; i < n->nr; i++)
		free(n->range[i].path);
	free(n->range);
	*n = (struct top_names) { 0 };
}

/* -- through a pipe --------------------------------------------------------------- */

/* "EXTENTS RANGES UNREAD", and "FIRST FILES PATH" for each range; a NUL ends each of them. */
int top_names_write(const struct top_names *n, FILE *f)
{
	fprintf(f, "%" PRIu64 " %u %" PRIu64 "%c", n->extents, n->nr, n->unread, 0);
	for (unsigned int i = 0; i < n->nr; i++) {
		const struct top_named *r = &n->range[i];

		fprintf(f, "%" PRIu64 " %" PRIu64 " %s%c", r->first, r->files,
			r->path ? r->path : "", 0);
	}
	return fflush(f) || ferror(f) ? -EIO : 0;
}

/* The next of them in @text, which ends at @end with a NUL; or NULL. */
static const char *next(const char **text, const char *end)
{
	const char *at = *text;

	if (at >= end)
		return NULL;
	*text += strlen(at) + 1;
	return at;
}

int top_names_parse(const char *text, size_t size, struct top_names *n)
{
	const char *end = text + size, *line;
	unsigned int i = 0;
	int at;

	*n = (struct top_names) { 0 };
	if (!size || end[-1])
		return -EINVAL;
	line = next(&text, end);
	if (sscanf(line, "%" SCNu64 " %u %" SCNu64, &n->extents, &n->nr, &n->unread) != 3 ||
	    n->nr > MAP_MAX_CELLS)
		goto damaged;
	n->range = calloc(n->nr ? n->nr : 1, sizeof(*n->range));
	if (!n->range) {
		n->nr = 0;
		return -ENOMEM;
	}
	for (; i < n->nr && (line = next(&text, end)); i++) {
		struct top_named *r = &n->range[i];

		if (sscanf(line, "%" SCNu64 " %" SCNu64 "%n", &r->first, &r->files, &at) != 2 ||
		    line[at] != ' ')
			break;
		r->path = line[at + 1] ? strdup(line + at + 1) : NULL;
	}
	if (i == n->nr && text == end)
		return 0;
damaged:
	if (!n->range)
		n->nr = 0;
	top_names_free(n);
	return -EINVAL;
}
