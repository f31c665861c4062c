// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: exclusive operations of OPEN extents, which must not overlap with writes.
 *
 * They zero a block before a smaller write to it, fill all holes to make an extent STABLE, or
 * invalidate the blocks of a discard. See the head of dm-fusion-open.c.
 */
#include <linux/bitops.h>

#include "dm-fusion.h"

/* Pause after a failed zero-fill that only used idle time. */
#define MIN_FILL_PAUSE_MS	1000U
#define MAX_FILL_PAUSE_MS	(3600U * 1000)

void fusion_open_make_ready(struct fusion *fs, struct fusion_open *open)
{
	list_add_tail(&open->ready_node, &fs->opens.ready);
	queue_work(fs->worker.wq, &fs->worker.work);
}

void fusion_open_start_excl(struct fusion *fs, struct fusion_open *open, struct bio *bio)
{
	open->excl = true;
	open->excl_bio = bio;
	fs->opens.nr_excl++;
	if (!open->writers)
		fusion_open_make_ready(fs, open);
}

static void fusion_open_end_pause(struct fusion_fill_pause *pause)
{
	pause->ms = 0;
	pause->until_ms = 0;
}

/* End the exclusive operation; the bios that waited for it are processed again. */
static void fusion_open_end_excl(struct fusion *fs, struct fusion_open *open)
{
	fs->opens.nr_excl--;
	fs->opens.nr_fills -= !open->excl_bio;
	if (!fs->opens.nr_excl || (!open->excl_bio && !fs->opens.nr_fills))
		wake_up(&fs->opens.fill_wait);
	/* While it was exclusive no commit could make it STABLE. */
	if (fusion_open_full(fs, open)) {
		if (!open->excl_bio)
			fusion_open_end_pause(&fs->opens.fill_pause[fusion_word_dev(open->word)]);
		fusion_open_mark_dirty(fs, open);
		if (list_empty(&fs->opens.free))
			fusion_commit_kick(fs);
		else
			fusion_commit_soon(fs);
	}
	open->excl = false;
	open->running = false;
	open->excl_bio = NULL;
	bio_list_merge(&fs->worker.deferred, &open->parked);
	bio_list_init(&open->parked);
	queue_work(fs->worker.wq, &fs->worker.work);
}

int fusion_open_partial_block(const struct fusion *fs, const struct fusion_open *open,
			      struct bio *bio)
{
	u32 first = fusion_offset(fs, bio->bi_iter.bi_sector);
	u32 end = first + bio_sectors(bio);
	u32 mask = FUSION_BLOCK_SECTORS - 1;

	if ((first & mask) && !test_bit_le(first / FUSION_BLOCK_SECTORS, open->bitmap))
		return first / FUSION_BLOCK_SECTORS;
	if ((end & mask) && !test_bit_le(end / FUSION_BLOCK_SECTORS, open->bitmap))
		return end / FUSION_BLOCK_SECTORS;
	return -1;
}

/* Find what the exclusive operation has to zero next. Return: false if nothing is left. */
static bool fusion_open_next_zero_run(const struct fusion *fs, struct fusion_open *open)
{
	u32 blocks = fusion_open_blocks(fs);
	int block;

	if (open->excl_bio) {
		block = fusion_open_partial_block(fs, open, open->excl_bio);
		if (block < 0)
			return false;
		open->zero_first = block;
		open->zero_nr = 1;
		return true;
	}
	open->zero_first = find_next_zero_bit_le(open->bitmap, blocks, 0);
	if (open->zero_first >= blocks)
		return false;
	open->zero_nr = find_next_bit_le(open->bitmap, blocks, open->zero_first) -
			open->zero_first;
	return true;
}

static void fusion_open_zeroed(int read_err, unsigned long write_err, void *context)
{
	struct fusion_open *open = context;
	struct fusion *fs = open->fs;

	fusion_mark_written(fs, fusion_word_disk(fs, open->word));
	spin_lock_irq(&fs->lock);
	if (!write_err) {
		fusion_open_set_valid(fs, open, open->zero_first, open->zero_nr);
		open->zero_retried = false;
	} else if (!open->zero_retried) {
		/* The first failure may only mean no WRITE ZEROES: the retry writes zeros. */
		open->zero_retried = true;
	} else {
		open->zero_failed = true;
		fusion_member_failed(fs, fusion_word_disk(fs, open->word));
	}
	fusion_open_make_ready(fs, open);
	spin_unlock_irq(&fs->lock);
}

static void fusion_open_issue_zero(struct fusion *fs, struct fusion_open *open)
{
	struct dm_io_region dest = {
		.bdev = fusion_word_bdev(fs, open->word),
		.sector = fusion_word_sector(fs, open->word) +
			  open->zero_first * FUSION_BLOCK_SECTORS,
		.count = open->zero_nr * FUSION_BLOCK_SECTORS,
	};

	dm_kcopyd_zero(fs->kcopyd, 1, &dest, 0, fusion_open_zeroed, open);
}

/* Invalidate the blocks that a discard of a part of the extent covers. */
static void fusion_open_run_discard(struct fusion *fs, struct fusion_open *open, struct bio *bio)
{
	u32 first = fusion_offset(fs, bio->bi_iter.bi_sector);
	u32 end = (first + bio_sectors(bio)) / FUSION_BLOCK_SECTORS;
	u32 i;

	if (fusion_open_full(fs, open))
		fs->opens.nr_full--;
	for (i = DIV_ROUND_UP(first, FUSION_BLOCK_SECTORS); i < end; i++)
		if (__test_and_clear_bit_le(i, open->bitmap))
			open->nr_valid--;
	if (fusion_open_full(fs, open))
		fs->opens.nr_full++;
	fusion_open_mark_dirty(fs, open);
	fusion_replica_mark(fs, open->lext);
	fusion_commit_soon(fs);
}

/*
 * Each failed attempt in idle time adds errors to the disk's log and may take seconds, so pause. If
 * several attempts ran at once, only the first failure counts.
 */
static void fusion_open_fill_failed(struct fusion *fs, enum fusion_dev dev)
{
	struct fusion_fill_pause *pause = &fs->opens.fill_pause[dev];

	fs->opens.fills_failed++;
	if (!pause->tried)
		return;
	pause->tried = false;
	pause->ms = clamp(2 * pause->ms, MIN_FILL_PAUSE_MS, MAX_FILL_PAUSE_MS);
	pause->until_ms = fusion_now_ms() + pause->ms;
}

/* Run an exclusive operation that is ready, or continue one after zeroing. */
static void fusion_open_run_excl(struct fusion *fs, struct fusion_open *open)
{
	struct bio *bio = open->excl_bio;
	struct bio *done = NULL;
	bool zero = false;

	spin_lock_irq(&fs->lock);
	open->running = true;
	if (open->zero_failed) {
		open->zero_failed = false;
		open->zero_retried = false;
		if (bio) {
			bio->bi_status = BLK_STS_IOERR;
			done = bio;
		} else {
			open->fill_failed = true;
			fusion_open_fill_failed(fs, fusion_word_dev(open->word));
			list_move_tail(&open->lru, &fs->opens.lru);
		}
		/* A first write may have waited for this structure: let it try another one. */
		fusion_unpark(fs);
	} else if (bio && bio_op(bio) == REQ_OP_DISCARD && !fusion_io(bio)->whole) {
		fusion_open_run_discard(fs, open, bio);
		done = bio;
	} else if ((!bio || !fusion_io(bio)->whole) && fusion_open_next_zero_run(fs, open)) {
		zero = true;
	} else if (bio) {
		/*
		 * No write is in flight, or the edges of this one are valid now: it continues
		 * in the worker, ahead of the bios that waited for it.
		 */
		bio_list_add(&fs->worker.deferred, bio);
	}
	if (!zero)
		fusion_open_end_excl(fs, open);
	spin_unlock_irq(&fs->lock);

	if (zero)
		fusion_open_issue_zero(fs, open);
	if (done)
		bio_endio(done);
}

void fusion_open_run(struct fusion *fs)
{
	struct fusion_open *open;

	for (;;) {
		spin_lock_irq(&fs->lock);
		open = list_first_entry_or_null(&fs->opens.ready, struct fusion_open, ready_node);
		if (open)
			list_del(&open->ready_node);
		spin_unlock_irq(&fs->lock);
		if (!open)
			return;
		fusion_open_run_excl(fs, open);
	}
}

/* -- zero-fills ------------------------------------------------------------------------------ */

static bool fusion_open_start_fill(struct fusion *fs, struct fusion_open *open)
{
	if (open->excl || open->closing || open->lost || fusion_open_full(fs, open))
		return false;
	fs->opens.nr_fills++;
	fusion_open_start_excl(fs, open, NULL);
	return true;
}

void fusion_open_fill_oldest(struct fusion *fs, u32 nr)
{
	struct fusion_open *open;
	unsigned long flags;

	spin_lock_irqsave(&fs->lock, flags);
	list_for_each_entry(open, &fs->opens.lru, lru) {
		if (!nr || fs->opens.nr_fills >= FUSION_MAX_FILLS)
			break;
		if (!open->closed && fusion_open_start_fill(fs, open))
			nr--;
	}
	spin_unlock_irqrestore(&fs->lock, flags);
}

void fusion_open_fill_idle(struct fusion *fs, bool fast)
{
	u64 now = fusion_now_ms();
	struct fusion_open *open;
	unsigned long flags;

	spin_lock_irqsave(&fs->lock, flags);
	list_for_each_entry(open, &fs->opens.lru, lru) {
		enum fusion_dev dev = fusion_word_dev(open->word);
		struct fusion_fill_pause *pause = &fs->opens.fill_pause[dev];

		if (fs->opens.nr_fills >= FUSION_MAX_FILLS)
			break;
		if ((fast && dev != FUSION_FAST) || now < pause->until_ms || open->closed)
			continue;
		if (fusion_open_start_fill(fs, open))
			pause->tried = true;
	}
	spin_unlock_irqrestore(&fs->lock, flags);
}

void fusion_open_fill_anew(struct fusion *fs)
{
	enum fusion_dev dev;

	spin_lock_irq(&fs->lock);
	for (dev = 0; dev < FUSION_NR_DEVS; dev++)
		fusion_open_end_pause(&fs->opens.fill_pause[dev]);
	spin_unlock_irq(&fs->lock);
}

void fusion_open_fill_later(struct fusion *fs, u32 lext, u32 round)
{
	struct fusion_fill_pause *pause = &fs->opens.fill_pause[FUSION_FAST];
	struct fusion_open *open;
	unsigned long flags;

	spin_lock_irqsave(&fs->lock, flags);
	open = fusion_open_find(fs, lext);
	if (open && open->passed && open->passed != round && fusion_now_ms() >= pause->until_ms &&
	    fs->opens.nr_fills < FUSION_MAX_FILLS && fusion_open_start_fill(fs, open))
		pause->tried = true;
	if (open)
		open->passed = round;
	spin_unlock_irqrestore(&fs->lock, flags);
}

bool fusion_open_fill(struct fusion *fs, u32 lext)
{
	struct fusion_open *open;
	unsigned long flags;
	bool failed = false;

	spin_lock_irqsave(&fs->lock, flags);
	open = fusion_open_find(fs, lext);
	if (open) {
		failed = open->fill_failed || fusion_open_has_lost(fs, open);
		open->fill_failed = false;
		if (!failed)
			fusion_open_start_fill(fs, open);
	}
	spin_unlock_irqrestore(&fs->lock, flags);
	return !failed;
}
