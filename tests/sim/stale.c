// SPDX-License-Identifier: GPL-2.0-only
/* The stale list on the slow disk, read as if the fast one were lost. */
#include "dm-fusion-stale.h"
#include "stale.h"

#define MAX_LEXTS	1024U

struct stale {
	struct sim_disk *disk;
	struct fusion_sb sb;
	struct fusion_stale_scan scan;
	u32 listed[MAX_LEXTS];		/* a bit for each block */
};

static const void *read_block(void *ctx, u64 blocknr)
{
	struct stale *stale = ctx;

	return sim_disk_block(stale->disk, blocknr);
}

static int enter(void *ctx, u32 place, const struct fusion_stale_entry *entry)
{
	struct stale *stale = ctx;

	stale->listed[entry->lext] |= 1U << entry->block;
	return 0;
}

struct stale *stale_load(struct sim_disk *slow, const struct fusion_sb *sb)
{
	struct stale *stale = sim_alloc(sizeof(*stale), true);

	if (sb->nr_lexts > MAX_LEXTS)
		sim_fail("stale list: %u extents", sb->nr_lexts);
	stale->disk = slow;
	stale->sb = *sb;
	stale->scan.sb = &stale->sb;
	stale->scan.read = read_block;
	stale->scan.entry = enter;
	stale->scan.ctx = stale;
	if (!sb->stale_places)
		return stale;
	stale->scan.seen = sim_alloc(sb->stale_places * FUSION_STALE_COPIES *
				     sizeof(*stale->scan.seen), true);
	fusion_stale_scan(&stale->scan);
	sim_free(stale->scan.seen);
	return stale;
}

void stale_free(struct stale *stale)
{
	sim_free(stale);
}

bool stale_has(const struct stale *stale, u32 lext, u32 block)
{
	return stale->listed[lext] >> block & 1;
}

u64 stale_time(const struct stale *stale)
{
	return stale->scan.found ? stale->scan.head.time : 0;
}

bool stale_whole(const struct stale *stale)
{
	return !stale->scan.found || fusion_stale_whole(&stale->scan);
}

bool stale_exact(const struct stale *stale)
{
	return fusion_stale_closed(&stale->scan, &stale->sb);
}

u32 stale_nr(const struct stale *stale)
{
	return stale->scan.nr_blocks;
}
