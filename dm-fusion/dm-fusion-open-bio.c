// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: bios that meet an OPEN extent.
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>

#include "dm-fusion.h"

/*
 * Read a range that is partly valid: clones for the valid runs, zeros for the rest.
 * fs->lock held on entry, released on return.
 */
static void fusion_read_with_holes(struct fusion *fs, struct bio *bio, struct fusion_open *open)
	__releases(&fs->lock)
{
	unsigned long bitmap[FUSION_MAX_EXTENT_SECTORS / FUSION_BLOCK_SECTORS / BITS_PER_LONG];
	u32 first = fusion_offset(fs, bio->bi_iter.bi_sector);
	u32 end = first + bio_sectors(bio);
	u32 last = DIV_ROUND_UP(end, FUSION_BLOCK_SECTORS);
	u32 word = open->word;
	u32 pos = first;

	/* The extent may change while the bio is split: use a copy of the bitmap. */
	memcpy(bitmap, open->bitmap, fusion_open_bitmap_size(fs));
	spin_unlock_irq(&fs->lock);

	while (pos < end) {
		u32 block = pos / FUSION_BLOCK_SECTORS;
		bool valid = test_bit_le(block, bitmap);
		u32 stop = valid ? find_next_zero_bit_le(bitmap, last, block) :
				   find_next_bit_le(bitmap, last, block);
		struct bio *clone;

		stop = min(end, stop * FUSION_BLOCK_SECTORS);
		clone = bio_alloc_clone(fusion_word_bdev(fs, word), bio, GFP_NOIO,
					&fs->worker.clones);
		bio_trim(clone, pos - first, stop - pos);
		if (valid) {
			clone->bi_iter.bi_sector = fusion_word_sector(fs, word) + pos;
			bio_chain(clone, bio);
			submit_bio_noacct(clone);
		} else {
			zero_fill_bio(clone);
			bio_put(clone);
		}
		pos = stop;
	}
	bio_endio(bio);
}

/* fs->lock held on entry, released on return. */
static void fusion_read_open(struct fusion *fs, struct bio *bio, struct fusion_open *open)
	__releases(&fs->lock)
{
	u32 first = fusion_offset(fs, bio->bi_iter.bi_sector) / FUSION_BLOCK_SECTORS;
	u32 last = DIV_ROUND_UP(fusion_offset(fs, bio->bi_iter.bi_sector) + bio_sectors(bio),
				FUSION_BLOCK_SECTORS);
	bool all = find_next_zero_bit_le(open->bitmap, last, first) >= last;
	bool none = find_next_bit_le(open->bitmap, last, first) >= last;
	u32 word = open->word;

	if (!all && open->lost) {
		spin_unlock_irq(&fs->lock);
		fusion_complete_lost(bio);
		return;
	}
	if (!none)
		fusion_pin_slot(fs, bio, fusion_word_disk(fs, word));
	if (!all && !none) {
		fusion_read_with_holes(fs, bio, open);
		return;
	}
	spin_unlock_irq(&fs->lock);

	if (all) {
		fusion_submit(fs, bio, word);
	} else {
		zero_fill_bio(bio);
		bio_endio(bio);
	}
}

/* fs->lock held on entry, released on return. */
static void fusion_write_open(struct fusion *fs, struct bio *bio, struct fusion_open *open)
	__releases(&fs->lock)
{
	struct fusion_io *io = fusion_io(bio);
	u32 word = open->word;

	open->writers++;
	fs->opens.lost_writers += open->lost;
	io->open = open;
	io->first = fusion_offset(fs, bio->bi_iter.bi_sector);
	io->nr = bio_sectors(bio);
	fusion_pin_slot(fs, bio, fusion_word_disk(fs, word));
	/* the extent may become STABLE meanwhile */
	if (fs->land.max)
		fusion_copies_write(fs, bio);
	spin_unlock_irq(&fs->lock);

	/* The commit that records the bits flushes the data, so FUA is not needed here. */
	io->fua |= !!(bio->bi_opf & REQ_FUA);
	bio->bi_opf &= ~REQ_FUA;
	if (bio_op(bio) == REQ_OP_WRITE_ZEROES)
		fusion_submit_zeroes(fs, bio, word);
	else
		fusion_submit(fs, bio, word);
}

bool fusion_open_bio(struct fusion *fs, struct bio *bio)
{
	bool discard = bio_op(bio) == REQ_OP_DISCARD;
	struct fusion_open *open;

	spin_lock_irq(&fs->lock);
	open = fusion_open_find(fs, fusion_lext(fs, bio->bi_iter.bi_sector));
	if (!open) {
		spin_unlock_irq(&fs->lock);
		return false;
	}
	if (bio_op(bio) == REQ_OP_READ) {
		fusion_read_open(fs, bio, open);
		return true;
	}
	if (open->excl) {
		bio_list_add(&open->parked, bio);
	} else if (fusion_lost_ends(fs, open, bio)) {
		spin_unlock_irq(&fs->lock);
		if (discard)
			bio_endio(bio);
		else
			fusion_complete_lost(bio);
		return true;
	} else if (discard && open->closing) {
		fusion_park(fs, bio, false);
	} else if (discard || fusion_open_partial_block(fs, open, bio) >= 0) {
		fusion_open_start_excl(fs, open, bio);
	} else {
		fusion_write_open(fs, bio, open);
		return true;
	}
	spin_unlock_irq(&fs->lock);
	return true;
}

bool fusion_open_unmap(struct fusion *fs, struct fusion_open *open, struct bio *bio)
{
	if (open->excl) {
		bio_list_add(&open->parked, bio);
	} else if (open->closing || (fs->commit.running && open->dirty)) {
		/*
		 * The commit under way may need this bitmap: the second commit of a checkpoint,
		 * whose map says OPEN. The UNMAP would only be in the next commit.
		 */
		fusion_park(fs, bio, false);
	} else if (open->writers) {
		fusion_open_start_excl(fs, open, bio);
	} else {
		fusion_log_unmap(fs, open->lext, open->word);
		fusion_open_close(fs, open);
		return true;
	}
	return false;
}

void fusion_open_written(struct fusion *fs, struct fusion_io *io, bool ok)
{
	struct fusion_open *open = io->open;
	unsigned long flags;
	u32 first = DIV_ROUND_UP(io->first, FUSION_BLOCK_SECTORS);
	u32 end = (io->first + io->nr) / FUSION_BLOCK_SECTORS;

	io->open = NULL;
	spin_lock_irqsave(&fs->lock, flags);
	if (ok && !open->closed && end > first)
		fusion_open_set_valid(fs, open, first, end - first);
	fs->opens.lost_writers -= open->lost;
	/* A write to another lost extent may have waited to see whether this one gets full. */
	if (open->lost && !fs->opens.lost_writers)
		fusion_unpark(fs);
	if (!--open->writers) {
		if (open->closed)
			fusion_open_free(fs, open);
		else if (open->excl && !open->running)
			fusion_open_make_ready(fs, open);
	}
	spin_unlock_irqrestore(&fs->lock, flags);
}
