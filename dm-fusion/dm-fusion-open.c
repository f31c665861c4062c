// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: OPEN extents, which have a slot but are not wholly written yet.
 *
 * A bitmap says which 4 KiB blocks of the slot hold data. The other blocks read as zeros,
 * whatever the slot held before. Writes of whole blocks run in parallel and set their bits
 * when they complete. An operation that must not overlap with writes is exclusive: zeroing
 * a block before a smaller write, filling all holes, discarding blocks. It waits until no
 * write is in flight, and new writes park until it ends. The worker runs it.
 *
 * Of an extent that was lost, the other blocks are not read as zeros: dm-fusion-lost.c.
 *
 * The structures are preallocated. Their number bounds the bitmaps in memory and in the
 * journal, and no allocation can fail on this path.
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/hash.h>
#include <linux/mm.h>

#include "dm-fusion.h"

unsigned int fusion_open_bitmap_size(const struct fusion *fs)
{
	return round_up(fusion_bitmap_bytes(fs->sb.extent_sectors), sizeof(long));
}

int fusion_open_init(struct fusion *fs)
{
	unsigned int size = fusion_open_bitmap_size(fs);
	u32 i;

	fs->opens.max = fusion_open_limit(&fs->sb);
	fs->opens.all = kvcalloc(fs->opens.max, sizeof(*fs->opens.all), GFP_KERNEL);
	fs->opens.bitmaps = kvcalloc(fs->opens.max, size, GFP_KERNEL);
	if (!fs->opens.all || !fs->opens.bitmaps)
		return -ENOMEM;

	INIT_LIST_HEAD(&fs->opens.lru);
	INIT_LIST_HEAD(&fs->opens.free);
	INIT_LIST_HEAD(&fs->opens.dirty);
	INIT_LIST_HEAD(&fs->opens.ready);
	for (i = 0; i < fs->opens.max; i++) {
		fs->opens.all[i].fs = fs;
		fs->opens.all[i].bitmap = fs->opens.bitmaps + (size_t)i * size;
		list_add_tail(&fs->opens.all[i].lru, &fs->opens.free);
	}
	return 0;
}

void fusion_open_exit(struct fusion *fs)
{
	kvfree(fs->opens.bitmaps);
	kvfree(fs->opens.all);
}

struct fusion_open *fusion_open_find(struct fusion *fs, u32 lext)
{
	struct fusion_open *open;

	hlist_for_each_entry(open, &fs->opens.hash[hash_32(lext, FUSION_OPEN_HASH_BITS)], hash)
		if (open->lext == lext)
			return open;
	return NULL;
}

struct fusion_open *fusion_open_new(struct fusion *fs, u32 lext, u32 word)
{
	struct fusion_open *open;

	open = list_first_entry_or_null(&fs->opens.free, struct fusion_open, lru);
	if (!open)
		return NULL;
	list_move_tail(&open->lru, &fs->opens.lru);
	hlist_add_head(&open->hash, &fs->opens.hash[hash_32(lext, FUSION_OPEN_HASH_BITS)]);
	bio_list_init(&open->parked);
	memset(open->bitmap, 0, fusion_open_bitmap_size(fs));
	open->excl_bio = NULL;
	open->lext = lext;
	open->word = word;
	open->writers = 0;
	open->nr_valid = 0;
	open->zero_retried = false;
	open->zero_failed = false;
	open->fill_failed = false;
	open->passed = 0;
	open->dirty = false;
	open->closing = false;
	open->lost = false;
	open->closed = false;
	open->excl = false;
	open->running = false;
	fs->opens.nr++;
	return open;
}

void fusion_open_free(struct fusion *fs, struct fusion_open *open)
{
	list_move(&open->lru, &fs->opens.free);
	fs->opens.nr--;
	/* A bio may have parked because no structure was free. */
	fusion_unpark(fs);
}

void fusion_open_close(struct fusion *fs, struct fusion_open *open)
{
	hlist_del(&open->hash);
	if (open->dirty) {
		open->dirty = false;
		list_del(&open->dirty_node);
	}
	if (fusion_open_full(fs, open) && !open->closing)
		fs->opens.nr_full--;
	fs->opens.nr_lost -= open->lost;
	open->closed = true;
	if (!open->writers)
		fusion_open_free(fs, open);
}

void fusion_open_mark_dirty(struct fusion *fs, struct fusion_open *open)
{
	if (!open->dirty) {
		open->dirty = true;
		list_add_tail(&open->dirty_node, &fs->opens.dirty);
	}
}

void fusion_open_set_lost(struct fusion *fs, struct fusion_open *open)
{
	fs->opens.nr_lost += !open->lost;
	open->lost = true;
}

u32 fusion_open_first(struct fusion *fs, u32 lext, u32 word)
{
	struct fusion_open *open;

	word = fusion_word_set_state(word, FUSION_OPEN);
	open = fusion_open_new(fs, lext, word);
	if (fusion_word_lost(READ_ONCE(fs->map[lext])))
		fusion_open_set_lost(fs, open);
	fusion_open_mark_dirty(fs, open);
	fusion_map_first(fs, lext, word);
	return word;
}

void fusion_open_load(struct fusion *fs, struct fusion_open *open, const void *bitmap)
{
	if (fusion_open_full(fs, open))
		fs->opens.nr_full--;
	/* @bitmap lies anywhere in a block, not aligned to a long. */
	memset(open->bitmap, 0, fusion_open_bitmap_size(fs));
	memcpy(open->bitmap, bitmap, fusion_bitmap_bytes(fs->sb.extent_sectors));
	open->nr_valid = bitmap_weight(open->bitmap, fusion_open_bitmap_size(fs) * BITS_PER_BYTE);
	if (fusion_open_full(fs, open))
		fs->opens.nr_full++;
}

void fusion_open_set_valid(struct fusion *fs, struct fusion_open *open, u32 first, u32 nr)
{
	u32 before = open->nr_valid;
	u32 i;

	for (i = first; i < first + nr; i++)
		if (!__test_and_set_bit_le(i, open->bitmap))
			open->nr_valid++;
	if (open->nr_valid == before)
		return;

	fusion_open_mark_dirty(fs, open);
	fusion_replica_mark(fs, open->lext);
	/*
	 * Full ones are STABLE with the next commit. It is made at once only when they take up much
	 * of the room, or first writes wait for some: a disk that is written in sequence loses
	 * about a revolution to each flush.
	 */
	if (fusion_open_full(fs, open) &&
	    (++fs->opens.nr_full > fs->opens.max / 4 || list_empty(&fs->opens.free)))
		fusion_commit_kick(fs);
	else
		fusion_commit_soon(fs);
}
