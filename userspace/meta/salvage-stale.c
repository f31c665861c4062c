// SPDX-License-Identifier: GPL-2.0-only
/*
 * The blocks of which the slow member has but an older version, as the newest one was in the landing
 * log on the fast member: the stale list says which.
 */
#include <stdlib.h>
#include <string.h>

#include "dm-fusion-stale.h"
#include "error.h"
#include "fusionctl.h"
#include "salvage.h"

#define WINDOW_BLOCKS	64U	/* read at once */

struct reading {
	const struct offline *o;
	const struct fusion_sb *sb;
	u64 *block;		/* numbers of blocks of the set */
	size_t nr;
	size_t room;
	char *buf;
	u64 first;		/* block of the member in it, */
	u32 nr_read;		/* and the number of blocks */
};

static int no_memory(void)
{
	return fus_fail(FC_FAILED, "memory", "not enough for the list of areas; close programs and "
			"try again");
}

/* -- the list ------------------------------------------------------------------------------ */

static const void *read_block(void *ctx, u64 blocknr)
{
	struct reading *c = ctx;
	const u64 end = c->sb->stale_start + fusion_stale_size(c->sb, c->sb->stale_places);
	u32 nr;

	if (blocknr < c->first || blocknr - c->first >= c->nr_read) {
		nr = min((u64)WINDOW_BLOCKS, end - blocknr);
		c->first = blocknr;
		c->nr_read = nr;
		if (fus_offline_read(c->o, blocknr * FUSION_BLOCK_SIZE,
				     (size_t)nr * FUSION_BLOCK_SIZE, c->buf))
			/* perhaps it is another one that cannot be read */
			c->nr_read = !fus_offline_read(c->o, blocknr * FUSION_BLOCK_SIZE,
						       FUSION_BLOCK_SIZE, c->buf);
		if (!c->nr_read)
			return NULL;
	}
	return c->buf + (blocknr - c->first) * FUSION_BLOCK_SIZE;
}

static int add_block(void *ctx, u32 place, const struct fusion_stale_entry *entry)
{
	struct reading *c = ctx;
	u64 *more;

	(void)place;
	if (c->nr == c->room) {
		c->room = c->room ? 2 * c->room : 1024;
		more = realloc(c->block, c->room * sizeof(*more));
		if (!more)
			return -1;
		c->block = more;
	}
	c->block[c->nr++] = (u64)entry->lext * (c->sb->extent_sectors / FUSION_BLOCK_SECTORS) +
			    entry->block;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* Read the list; s->landing says what it is worth. */
static int read_list(struct reading *c, struct salvage_landing *l)
{
	struct fusion_stale_scan scan = {
		.sb = c->sb, .read = read_block, .entry = add_block, .ctx = c,
	};

	if (!c->sb->stale_places)
		return 0;
	c->buf = fus_offline_buffer(WINDOW_BLOCKS * FUSION_BLOCK_SIZE);
	if (!c->buf || fusion_stale_scan(&scan))
		return no_memory();
	l->known = scan.found;
	l->whole = fusion_stale_whole(&scan);
	l->exact = fusion_stale_closed(&scan, c->sb);
	l->time = scan.head.time;
	if (c->nr)
		qsort(c->block, c->nr, sizeof(*c->block), by_number);
	return 0;
}

/* -- the parts ----------------------------------------------------------------------------- */

/* Sectors of the first blocks from @i on that lie side by side within a part. */
static u64 run_of(const struct reading *c, size_t i, const struct part *p)
{
	const u64 start = c->block[i] * FUSION_BLOCK_SECTORS;
	u64 end = start + FUSION_BLOCK_SECTORS;

	while (++i < c->nr && c->block[i] * FUSION_BLOCK_SECTORS <= end)
		end = (c->block[i] + 1) * FUSION_BLOCK_SECTORS;
	return min(end, p->start + p->nr) - start;
}

/* A part that is here, without its blocks that are in the list. */
static int cut_part(struct salvage *s, const struct reading *c, size_t *i, const struct part *p)
{
	const u64 end = p->start + p->nr;
	u64 at = p->start, start, nr;
	int rc = 0;

	while (*i < c->nr && c->block[*i] * FUSION_BLOCK_SECTORS < at)
		++*i;
	while (!rc && *i < c->nr && c->block[*i] * FUSION_BLOCK_SECTORS < end) {
		start = c->block[*i] * FUSION_BLOCK_SECTORS;
		nr = run_of(c, *i, p);
		if (start > at)
			rc = fus_salvage_add(s, at, start - at, p->kind, p->where + at - p->start);
		if (!rc)
			rc = fus_salvage_add(s, start, nr, PART_LOST, 0);
		if (!rc)
			rc = fus_salvage_add_stale(s, start, nr, p->where + start - p->start);
		s->landing.blocks += nr / FUSION_BLOCK_SECTORS;
		at = start + nr;
		while (*i < c->nr && c->block[*i] * FUSION_BLOCK_SECTORS < at)
			++*i;
	}
	return rc || at == end ? rc : fus_salvage_add(s, at, end - at, p->kind,
						      p->where + at - p->start);
}

static int by_start(const void *a, const void *b)
{
	return by_number(&((const struct part *)a)->start, &((const struct part *)b)->start);
}

static int cut_parts(struct salvage *s, const struct reading *c)
{
	struct part *part = s->part;
	const size_t nr = s->nr;
	size_t i = 0;
	int rc = 0;

	s->part = NULL;
	s->nr = 0;
	memset(s->sectors, 0, sizeof(s->sectors));
	for (size_t k = 0; k < nr && !rc; k++) {
		if (part[k].kind == PART_INTACT)
			rc = cut_part(s, c, &i, &part[k]);
		else
			rc = fus_salvage_add(s, part[k].start, part[k].nr, part[k].kind,
					     part[k].where);
	}
	free(part);
	if (s->nr_stale)
		qsort(s->stale, s->nr_stale, sizeof(*s->stale), by_start);
	return rc;
}

/* ------------------------------------------------------------------------------------------ */

int fus_salvage_landing(const struct meta *meta, struct salvage *s)
{
	const struct fusion_sb *sb = fus_meta_sb(meta, SLOW);
	struct reading c = { .o = &meta->m[SLOW].o, .sb = sb };
	int rc;

	if (!sb || !(sb->incompat & FUSION_INCOMPAT_LANDING))
		return 0;
	s->landing.log = true;
	rc = read_list(&c, &s->landing);
	if (!rc && c.nr)
		rc = cut_parts(s, &c);
	free(c.buf);
	free(c.block);
	return rc;
}
