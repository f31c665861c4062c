// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: OPEN extents of a set that is being loaded.
 */
#include "dm-fusion.h"

/*
 * Make an OPEN extent STABLE by zeroing its holes, before any user I/O. A power cut meanwhile is
 * harmless: holes are not read until the map says STABLE.
 */
static int fusion_load_fill_holes(struct fusion *fs, struct fusion_open *open)
{
	u32 blocks = fusion_open_blocks(fs);
	u32 first = 0, end;
	int r;

	for (;;) {
		first = find_next_zero_bit_le(open->bitmap, blocks, first);
		if (first >= blocks)
			break;
		end = find_next_bit_le(open->bitmap, blocks, first);
		r = fusion_gate_ready(fs);
		if (r)
			return r;
		r = blkdev_issue_zeroout(fusion_word_bdev(fs, open->word),
					 fusion_word_sector(fs, open->word) +
					 first * FUSION_BLOCK_SECTORS,
					 (end - first) * FUSION_BLOCK_SECTORS, GFP_NOIO, 0);
		if (r) {
			DMERR("%s: extent %u is partial and cannot be completed on %s: %d; "
			      "discard it, or write all of it",
			      dm_table_device_name(fs->ti->table), open->lext,
			      fs->dev[fusion_word_disk(fs, open->word)]->name, r);
			return r;
		}
		first = end;
	}
	fusion_map_load(fs, open->lext, fusion_word_set_state(open->word, FUSION_STABLE));
	spin_lock_irq(&fs->lock);
	fusion_open_close(fs, open);
	spin_unlock_irq(&fs->lock);
	return 0;
}

int fusion_load_flush(struct fusion *fs)
{
	unsigned int disk;
	int r = 0;

	for (disk = 0; disk < FUSION_NR_DISKS; disk++) {
		/* nothing in the cache of a disk that leaves matters */
		if (!fs->dev[disk] || (disk == FUSION_OLD && fs->old.over))
			continue;
		r = blkdev_issue_flush(fs->dev[disk]->bdev);
		if (r) {
			DMERR("%s: %s cannot flush its cache: %d",
			      dm_table_device_name(fs->ti->table), fs->dev[disk]->name, r);
			break;
		}
	}
	return r;
}

int fusion_load_complete(struct fusion *fs)
{
	struct fusion_open *open, *next;
	int r = 0;

	list_for_each_entry_safe(open, next, &fs->opens.lru, lru) {
		if (fusion_open_has_lost(fs, open))
			continue;
		r = fusion_load_fill_holes(fs, open);
		if (r)
			return r;
	}
	return fusion_load_flush(fs);
}
