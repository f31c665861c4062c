// SPDX-License-Identifier: GPL-2.0-only
/*
 * The blocks of which the slow member has but an older version, as the newest one was in the
 * landing log on the fast member: the stale list says which.
 */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "fusionctl.h"
#include "meta-stale.h"
#include "salvage.h"

static int no_memory(void)
{
	return fus_fail(FC_FAILED, "memory", "not enough for the list of areas; close programs and "
			"try again");
}

/* -- the parts ----------------------------------------------------------------------------- */

/* Sectors of the first blocks from @i on that lie side by side within a part. */
static u64 run_of(const struct stale_blocks *c, size_t i, const struct part *p)
{
	const u64 start = c->block[i] * FUSION_BLOCK_SECTORS;
	u64 end = start + FUSION_BLOCK_SECTORS;

	while (++i < c->nr && c->block[i] * FUSION_BLOCK_SECTORS <= end)
		end = (c->block[i] + 1) * FUSION_BLOCK_SECTORS;
	return min(end, p->start + p->nr) - start;
}

/* A part that is here, without its blocks that are in the list. */
static int cut_part(struct salvage *s, const struct stale_blocks *c, size_t *i,
		    const struct part *p)
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
	return fus_stale_compare(&((const struct part *)a)->start,
				 &((const struct part *)b)->start);
}

static int cut_parts(struct salvage *s, const struct stale_blocks *c)
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
	struct stale_blocks list;
	int rc;

	if (!sb || !(sb->incompat & FUSION_INCOMPAT_LANDING))
		return 0;
	rc = fus_stale_read(&meta->m[SLOW].o, sb, &list) ? no_memory() : 0;
	s->landing = (struct salvage_landing){
		.log = true,
		.known = list.scan.found,
		.whole = fusion_stale_whole(&list.scan),
		.exact = fusion_stale_closed(&list.scan, sb),
		.time = list.scan.head.time,
	};
	if (!rc && list.nr)
		rc = cut_parts(s, &list);
	fus_stale_free(&list);
	return rc;
}
