// SPDX-License-Identifier: GPL-2.0-only
/* The stale list on the slow member of a closed set, read as a whole. */
#include <errno.h>
#include <stdlib.h>

#include "fusionctl.h"
#include "meta.h"
#include "meta-stale.h"

#define WINDOW_BLOCKS	64U	/* read at once */

struct reading {
	const struct offline *o;
	const struct fusion_sb *sb;
	struct stale_blocks *list;
	size_t room;
	char *buf;
	u64 first;		/* block of the member in it, */
	u32 nr;			/* and the number of blocks */
};

static const void *read_block(void *ctx, u64 blocknr)
{
	struct reading *c = ctx;
	const u64 end = c->sb->stale_start + fusion_stale_size(c->sb, c->sb->stale_places);

	if (blocknr < c->first || blocknr - c->first >= c->nr) {
		c->first = blocknr;
		c->nr = min((u64)WINDOW_BLOCKS, end - blocknr);
		if (fus_offline_read(c->o, blocknr * FUSION_BLOCK_SIZE,
				     (size_t)c->nr * FUSION_BLOCK_SIZE, c->buf))
			/* perhaps it is another one that cannot be read */
			c->nr = !fus_offline_read(c->o, blocknr * FUSION_BLOCK_SIZE,
						  FUSION_BLOCK_SIZE, c->buf);
		if (!c->nr)
			return NULL;
	}
	return c->buf + (blocknr - c->first) * FUSION_BLOCK_SIZE;
}

static int add_block(void *ctx, u32 place, const struct fusion_stale_entry *entry)
{
	struct reading *c = ctx;
	struct stale_blocks *list = c->list;
	u64 *more;

	(void)place;
	if (list->nr == c->room) {
		c->room = c->room ? 2 * c->room : 1024;
		more = realloc(list->block, c->room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		list->block = more;
	}
	list->block[list->nr++] = (u64)entry->lext *
				  (c->sb->extent_sectors / FUSION_BLOCK_SECTORS) + entry->block;
	return 0;
}

int fus_stale_compare(const void *a, const void *b)
{
	const u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

int fus_stale_read(const struct offline *o, const struct fusion_sb *sb, struct stale_blocks *list)
{
	struct reading c = { .o = o, .sb = sb, .list = list };
	int err;

	*list = (struct stale_blocks){ };
	if (!sb->stale_places)
		return 0;
	c.buf = fus_offline_buffer(WINDOW_BLOCKS * FUSION_BLOCK_SIZE);
	list->scan.seen = calloc(sb->stale_places, FUSION_STALE_COPIES * sizeof(*list->scan.seen));
	if (!c.buf || !list->scan.seen) {
		free(c.buf);
		free(list->scan.seen);
		return -ENOMEM;
	}
	list->scan.sb = sb;
	list->scan.read = read_block;
	list->scan.entry = add_block;
	list->scan.ctx = &c;
	err = fusion_stale_scan(&list->scan);
	free(c.buf);
	free(list->scan.seen);
	list->scan.seen = NULL;
	if (list->nr)
		qsort(list->block, list->nr, sizeof(*list->block), fus_stale_compare);
	return err;
}

void fus_stale_free(struct stale_blocks *list)
{
	free(list->block);
	*list = (struct stale_blocks){ };
}

/* -- against the landing log --------------------------------------------------------------- */

static u64 count_missing(const struct stale_blocks *list, const u64 *block, u64 nr)
{
	u64 missing = 0;

	for (u64 i = 0; i < nr; i++)
		missing += !list->nr || !bsearch(&block[i], list->block, list->nr,
						 sizeof(*block), fus_stale_compare);
	return missing;
}

void fus_stale_check(const struct meta *meta, const u64 *block, u64 nr, struct report *r)
{
	static const char what[] = FUS_STALE_LIST;
	const struct fusion_sb *slow = fus_meta_sb(meta, SLOW);
	struct stale_blocks list;
	u64 missing;

	if (!slow || !slow->stale_places)
		return;
	if (fus_stale_read(&meta->m[SLOW].o, slow, &list))
		fus_report_add(r, LEVEL_ERROR, SLOW, NO_BLOCK, what, "not checked: out of memory");
	else if (list.scan.found && !fusion_stale_whole(&list.scan))
		fus_report_add(r, LEVEL_WARNING, SLOW, NO_BLOCK, what, "is damaged; the next "
			       "opening writes it again");
	else if (nr && slow->flags & FUSION_SB_CLEAN && !fusion_stale_closed(&list.scan, slow))
		fus_report_add(r, LEVEL_WARNING, SLOW, NO_BLOCK, what, "%s, so it may lack any of "
			       "the %llu blocks that the landing log has; the next opening writes "
			       "it again", list.scan.found ? "is not that of the last closing" :
			       "cannot be found", (unsigned long long)nr);
	missing = fusion_stale_closed(&list.scan, slow) ? count_missing(&list, block, nr) : 0;
	if (missing)
		fus_report_add(r, LEVEL_WARNING, SLOW, NO_BLOCK, what, "lacks %llu blocks that the "
			       "landing log has; the next opening writes it again",
			       (unsigned long long)missing);
	fus_stale_free(&list);
}
