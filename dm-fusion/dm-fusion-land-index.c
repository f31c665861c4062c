// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the index of the landing log in memory: a hash of the blocks that are live.
 *
 * For each position, which is a block of a segment, there are 16 bytes and five bits, whether it is
 * in use or not: 0.4 % of what the log takes. Beside that, there is a bit for each extent, and what
 * dm-fusion-land-extent.c has. Copies of what was read (dm-fusion-copies.h) are in the same hash,
 * at positions that the log does not use, and with keys of their own.
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "dm-fusion-copies.h"
#include "dm-fusion-land-view.h"

int fusion_land_init(struct fusion_land *land, u32 max, u32 blocks, u32 nr_lexts)
{
	const u32 nr = max * blocks;

	spin_lock_init(&land->lock);
	if (!max)
		return 0;
	land->max = max;
	land->blocks = blocks;
	land->barred = FUSION_LAND_NONE;
	land->awaited = FUSION_LAND_NONE;
	land->at_place = FUSION_LAND_NONE;
	/* of a record: a multiple of four */
	land->bitmap_bytes = (blocks / 8 + 3) & ~3U;
	land->hash_bits = ilog2(nr);
	land->entry = kvcalloc(nr, sizeof(*land->entry), GFP_KERNEL);
	land->next = kvmalloc_array(nr, sizeof(*land->next), GFP_KERNEL);
	land->bucket = kvmalloc_array(1U << land->hash_bits, sizeof(*land->bucket), GFP_KERNEL);
	land->live = kvcalloc(max, land->bitmap_bytes, GFP_KERNEL);
	land->killed = kvcalloc(max, land->bitmap_bytes, GFP_KERNEL);
	land->recorded = kvcalloc(max, land->bitmap_bytes, GFP_KERNEL);
	land->dying = kvcalloc(max, land->bitmap_bytes, GFP_KERNEL);
	land->uncopied = kvcalloc(max, land->bitmap_bytes, GFP_KERNEL);
	land->segment = kvcalloc(max, sizeof(*land->segment), GFP_KERNEL);
	land->has = kvcalloc(BITS_TO_LONGS(nr_lexts), sizeof(long), GFP_KERNEL);
	if (!land->entry || !land->next || !land->bucket || !land->live || !land->killed ||
	    !land->recorded || !land->dying || !land->uncopied ||
	    !land->segment || !land->has)
		return -ENOMEM;
	memset(land->bucket, 0xff, sizeof(*land->bucket) << land->hash_bits);
	return fusion_land_extents_init(land, nr_lexts);
}

void fusion_land_exit(struct fusion_land *land)
{
	fusion_land_extents_exit(land);
	kvfree(land->has);
	kvfree(land->segment);
	kvfree(land->dying);
	kvfree(land->uncopied);
	kvfree(land->recorded);
	kvfree(land->killed);
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

/* -- views ----------------------------------------------------------------------------------- */

/* Places that are copied in one section. */
#define VIEW_STEP	16U

/* Before something changes at a place, and when it is its turn. */
static void fusion_land_view_keep(struct fusion_land *land, u32 i)
{
	struct fusion_land_view *view = land->view;
	const size_t at = (size_t)i * land->bitmap_bytes;

	if (!view || !test_bit(i, view->untaken))
		return;
	__clear_bit(i, view->untaken);
	view->segment[i] = land->segment[i];
	land->segment[i].kept = view->keep && land->segment[i].nr_live;
	memcpy(view->live + at, land->live + at, land->bitmap_bytes);
}

void fusion_land_view_begin(struct fusion_land *land, struct fusion_land_view *view)
{
	bitmap_set(view->untaken, 0, land->max);
	land->view = view;
}

void fusion_land_view_take(struct fusion_land *land)
{
	unsigned long flags;
	u32 i, end;

	for (i = 0; i < land->max; cond_resched()) {
		end = min(i + VIEW_STEP, land->max);
		spin_lock_irqsave(&land->lock, flags);
		for (; i < end; i++)
			fusion_land_view_keep(land, i);
		spin_unlock_irqrestore(&land->lock, flags);
	}
}

/* -- entries --------------------------------------------------------------------------------- */

void fusion_land_link(struct fusion_land *land, u32 pos)
{
	u32 *bucket = fusion_land_bucket(land, land->entry[pos].lext, land->entry[pos].block);

	land->next[pos] = *bucket;
	*bucket = pos;
}

void fusion_land_unlink(struct fusion_land *land, u32 pos)
{
	u32 *link = fusion_land_bucket(land, land->entry[pos].lext, land->entry[pos].block);

	while (*link != pos)
		link = &land->next[*link];
	*link = land->next[pos];
}

void fusion_land_insert(struct fusion_land *land, u32 pos, u32 lext, u32 block)
{
	fusion_land_view_keep(land, pos / land->blocks);
	land->entry[pos] = (struct fusion_land_entry){ .lext = lext, .block = block };
	fusion_land_link(land, pos);
	land->live[fusion_land_byte(land, pos)] |= 1 << pos % 8;
	land->nr_filled += !land->segment[pos / land->blocks].nr_live++;
	land->nr_live++;
	fusion_land_count(land, lext);
}

/* -- blocks on their way --------------------------------------------------------------------- */

void fusion_land_begin(struct fusion_land *land, u32 pos, u32 lext, u32 block)
{
	land->entry[pos] = (struct fusion_land_entry){ .lext = lext, .block = block };
	land->flight[(land->flight_first + land->nr_flight++) % FUSION_LAND_FLIGHT] = pos;
	fusion_land_count(land, lext);
}

void fusion_land_arrive(struct fusion_land *land)
{
	const u32 pos = land->flight[land->flight_first];
	const struct fusion_land_entry *entry = &land->entry[pos];
	const u32 older = fusion_land_find(land, entry->lext, entry->block);
	bool hides = false;

	land->flight_first = (land->flight_first + 1) % FUSION_LAND_FLIGHT;
	land->nr_flight--;
	if (older != FUSION_LAND_NONE) {
		struct fusion_land_segment *seg = &land->segment[older / land->blocks];

		hides = land->entry[older].flags & (FUSION_LAND_MARKED | FUSION_LAND_HIDES);
		fusion_land_remove(land, older);
		seg->older = true;
		fusion_land_mark(land, seg);
	}
	fusion_land_insert(land, pos, entry->lext, entry->block);
	if (hides)
		land->entry[pos].flags |= FUSION_LAND_HIDES;
	fusion_land_uncount(land, entry->lext);
}

void fusion_land_ground(struct fusion_land *land)
{
	for (; land->nr_flight; land->nr_flight--) {
		fusion_land_uncount(land, land->entry[land->flight[land->flight_first]].lext);
		land->flight_first = (land->flight_first + 1) % FUSION_LAND_FLIGHT;
	}
}

bool fusion_land_flies(const struct fusion_land *land, u32 lext, u32 first, u32 end)
{
	const struct fusion_land_entry *entry;
	u32 i;

	for (i = 0; i < land->nr_flight; i++) {
		entry = &land->entry[land->flight[(land->flight_first + i) % FUSION_LAND_FLIGHT]];
		if (entry->lext == lext && entry->block >= first && entry->block < end)
			return true;
	}
	return false;
}

/* -- entries that die ------------------------------------------------------------------------ */

void fusion_land_remove(struct fusion_land *land, u32 pos)
{
	struct fusion_land_entry *entry = &land->entry[pos];

	fusion_land_view_keep(land, pos / land->blocks);
	fusion_land_unlink(land, pos);
	entry->flags = 0;
	land->live[fusion_land_byte(land, pos)] &= ~(1 << pos % 8);
	land->nr_filled -= !--land->segment[pos / land->blocks].nr_live;
	land->nr_live--;
	fusion_land_uncount(land, entry->lext);
}

void fusion_land_mark(struct fusion_land *land, struct fusion_land_segment *seg)
{
	land->dirty += !seg->dirty;
	seg->dirty = true;
}

void fusion_land_kill(struct fusion_land *land, u32 pos)
{
	struct fusion_land_segment *seg = &land->segment[pos / land->blocks];

	fusion_land_remove(land, pos);
	land->killed[fusion_land_byte(land, pos)] |= 1 << pos % 8;
	seg->dead = true;
	land->deaths = true;
	fusion_land_mark(land, seg);
}

static void fusion_land_kill_all(struct fusion_land *land, u32 lext)
{
	u32 block, pos;

	for (block = 0; fusion_land_has(land, lext) && block < land->blocks; block++) {
		pos = fusion_land_find(land, lext, block);
		if (pos != FUSION_LAND_NONE)
			fusion_land_kill(land, pos);
	}
}

void fusion_land_kill_extent(struct fusion_land *land, u32 lext)
{
	unsigned long flags;

	if (!land->max)
		return;
	spin_lock_irqsave(&land->lock, flags);
	land->barred = FUSION_LAND_NONE;
	fusion_land_kill_all(land, lext);
	spin_unlock_irqrestore(&land->lock, flags);
}

void fusion_land_left_behind(struct fusion_land *land, u32 lext)
{
	unsigned long flags;
	bool deaths;

	spin_lock_irqsave(&land->lock, flags);
	deaths = land->deaths;
	fusion_land_kill_all(land, lext);
	land->deaths = deaths;
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

/* Of an extent that nobody has counted. */
static bool fusion_land_seek(const struct fusion_land *land, u32 lext)
{
	u32 pos;

	return fusion_land_run(land, lext, 0, land->blocks, &pos) < land->blocks ||
	       pos != FUSION_LAND_NONE || fusion_land_flies(land, lext, 0, land->blocks);
}

bool fusion_land_any(struct fusion_land *land, u32 lext, bool committing)
{
	unsigned long flags;
	u32 nr = 0;

	if (!land->max)
		return false;
	/* The lock before the bit: a block may just get into the log, by the word before. */
	spin_lock_irqsave(&land->lock, flags);
	if (fusion_land_has(land, lext))
		nr = fusion_land_counted(land, lext);
	if (nr == FUSION_LAND_NONE) {
		nr = fusion_land_seek(land, lext);
		/* and all deaths are durable */
		if (!nr && !land->dirty && !committing)
			__clear_bit(lext, land->has);
	}
	spin_unlock_irqrestore(&land->lock, flags);
	return nr;
}
