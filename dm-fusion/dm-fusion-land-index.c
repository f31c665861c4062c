// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the index of the landing log in memory: a hash of the blocks that are live.
 *
 * For each position, which is a block of a segment, there are 16 bytes and three bits, whether it
 * is in use or not: 0.4 % of what the log takes. With a bit for each extent, that is all.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "dm-fusion-land.h"

int fusion_land_init(struct fusion_land *land, u32 max, u32 blocks, u32 nr_lexts)
{
	const u32 nr = max * blocks;

	spin_lock_init(&land->lock);
	if (!max)
		return 0;
	land->max = max;
	land->blocks = blocks;
	/* of a record: a multiple of four */
	land->bitmap_bytes = (blocks / 8 + 3) & ~3U;
	land->hash_bits = ilog2(nr);
	land->entry = kvcalloc(nr, sizeof(*land->entry), GFP_KERNEL);
	land->next = kvmalloc_array(nr, sizeof(*land->next), GFP_KERNEL);
	land->bucket = kvmalloc_array(1U << land->hash_bits, sizeof(*land->bucket), GFP_KERNEL);
	land->live = kvcalloc(max, land->bitmap_bytes, GFP_KERNEL);
	land->recorded = kvcalloc(max, land->bitmap_bytes, GFP_KERNEL);
	land->failed = kvcalloc(max, land->bitmap_bytes, GFP_KERNEL);
	land->segment = kvcalloc(max, sizeof(*land->segment), GFP_KERNEL);
	land->has = kvcalloc(BITS_TO_LONGS(nr_lexts), sizeof(long), GFP_KERNEL);
	if (!land->entry || !land->next || !land->bucket || !land->live || !land->recorded ||
	    !land->failed || !land->segment || !land->has)
		return -ENOMEM;
	memset(land->bucket, 0xff, sizeof(*land->bucket) << land->hash_bits);
	return 0;
}

void fusion_land_exit(struct fusion_land *land)
{
	kvfree(land->has);
	kvfree(land->segment);
	kvfree(land->failed);
	kvfree(land->recorded);
	kvfree(land->live);
	kvfree(land->bucket);
	kvfree(land->next);
	kvfree(land->entry);
}

static u32 *fusion_land_bucket(const struct fusion_land *land, u32 lext, u32 block)
{
	return &land->bucket[hash_32(lext * land->blocks + block, land->hash_bits)];
}

static bool fusion_land_is(const struct fusion_land *land, u32 pos, u32 lext, u32 block)
{
	return land->entry[pos].lext == lext && land->entry[pos].block == block;
}

u32 fusion_land_find(const struct fusion_land *land, u32 lext, u32 block)
{
	u32 pos = *fusion_land_bucket(land, lext, block);

	while (pos != FUSION_LAND_NONE && !fusion_land_is(land, pos, lext, block))
		pos = land->next[pos];
	return pos;
}

u32 fusion_land_run(const struct fusion_land *land, u32 lext, u32 block, u32 end, u32 *pos)
{
	u32 nr, at;

	*pos = fusion_land_find(land, lext, block);
	for (nr = 1; block + nr < end; nr++) {
		at = fusion_land_find(land, lext, block + nr);
		/* the next segment may lie anywhere */
		if (*pos == FUSION_LAND_NONE ? at != FUSION_LAND_NONE :
		    at != *pos + nr || !(at % land->blocks))
			break;
	}
	return nr;
}

static u8 *fusion_land_byte(const struct fusion_land *land, u32 pos)
{
	return &land->live[pos / land->blocks * land->bitmap_bytes + pos % land->blocks / 8];
}

void fusion_land_insert(struct fusion_land *land, u32 pos, u32 lext, u32 block)
{
	u32 *bucket = fusion_land_bucket(land, lext, block);

	land->entry[pos] = (struct fusion_land_entry){ .lext = lext, .block = block };
	land->next[pos] = *bucket;
	*bucket = pos;
	*fusion_land_byte(land, pos) |= 1 << pos % 8;
	land->segment[pos / land->blocks].nr_live++;
	land->nr_live++;
	__set_bit(lext, land->has);
}

void fusion_land_remove(struct fusion_land *land, u32 pos)
{
	struct fusion_land_entry *entry = &land->entry[pos];
	u32 *link = fusion_land_bucket(land, entry->lext, entry->block);

	while (*link != pos)
		link = &land->next[*link];
	*link = land->next[pos];
	entry->flags = 0;
	*fusion_land_byte(land, pos) &= ~(1 << pos % 8);
	land->segment[pos / land->blocks].nr_live--;
	land->nr_live--;
}

void fusion_land_kill(struct fusion_land *land, u32 pos)
{
	struct fusion_land_segment *seg = &land->segment[pos / land->blocks];

	fusion_land_remove(land, pos);
	land->dirty += !seg->dirty;
	seg->dirty = true;
}

void fusion_land_kill_extent(struct fusion_land *land, u32 lext)
{
	unsigned long flags;
	u32 block, pos;

	if (!fusion_land_has(land, lext))
		return;
	spin_lock_irqsave(&land->lock, flags);
	for (block = 0; block < land->blocks; block++) {
		pos = fusion_land_find(land, lext, block);
		if (pos != FUSION_LAND_NONE)
			fusion_land_kill(land, pos);
	}
	spin_unlock_irqrestore(&land->lock, flags);
}

bool fusion_land_within(const struct fusion_land *land, u32 first, u32 last)
{
	u32 i;

	for (i = 0; i < land->max; i++) {
		const struct fusion_land_segment *seg = &land->segment[i];

		if (READ_ONCE(seg->state) != FUSION_LAND_UNUSED && seg->slot >= first &&
		    seg->slot <= last)
			return true;
	}
	return false;
}

bool fusion_land_still_has(struct fusion_land *land, u32 lext, bool committing)
{
	unsigned long flags;
	bool has = true;
	u32 pos;

	if (!fusion_land_has(land, lext))
		return false;
	spin_lock_irqsave(&land->lock, flags);
	if (!land->dirty && !committing)
		has = fusion_land_run(land, lext, 0, land->blocks, &pos) < land->blocks ||
		      pos != FUSION_LAND_NONE;
	if (!has)
		clear_bit(lext, land->has);
	spin_unlock_irqrestore(&land->lock, flags);
	return has;
}
