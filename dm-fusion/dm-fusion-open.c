// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: OPEN extents, which have a slot but are not wholly written yet.
 *
 * A bitmap says which 4 KiB blocks of the slot hold data; the others read as
 * zeros, whatever the slot held before. Writes of whole blocks run in parallel
 * and set their bits when they complete. What must not overlap with writes (to
 * zero a block for a write smaller than it, to fill all holes, to take blocks
 * away) is an exclusive operation: it waits until no write is in flight, and new
 * writes park until it ends. The worker runs it.
 *
 * The structures are preallocated: their number bounds the bitmaps in memory and
 * in the journal, and no allocation can fail on the way.
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/hash.h>
#include <linux/mm.h>

#include "dm-fusion.h"
#include "dm-fusion-trace.h"

/* Between zero-fills that fail, for which nobody waits. */
#define MIN_FILL_PAUSE_MS	1000U
#define MAX_FILL_PAUSE_MS	(3600U * 1000)

static unsigned int open_bitmap_size(const struct fusion *fs)
{
	return round_up(fusion_bitmap_bytes(fs->sb.extent_sectors), sizeof(long));
}

/*
 * As many as the ring can record again after a checkpoint within a sixteenth
 * of its size: see the arithmetic in dm-fusion-journal.c; and the log of the replica
 * within a quarter.
 */
static u32 open_limit(const struct fusion *fs)
{
	u32 record = sizeof(struct fusion_journal_record) +
		     fusion_bitmap_bytes(fs->sb.extent_sectors);
	u32 blocks = min(fs->sb.journal_blocks[FUSION_FAST] / 16,
			 fs->sb.journal_blocks[FUSION_SLOW] / 4);

	return min(FUSION_MAX_OPEN, blocks * (FUSION_JOURNAL_PAYLOAD / record));
}

int fusion_open_init(struct fusion *fs)
{
	unsigned int size = open_bitmap_size(fs);
	u32 i;

	fs->max_open = min(open_limit(fs), fs->sb.nr_lexts);
	fs->opens = kvcalloc(fs->max_open, sizeof(*fs->opens), GFP_KERNEL);
	fs->bitmaps = kvcalloc(fs->max_open, size, GFP_KERNEL);
	if (!fs->opens || !fs->bitmaps)
		return -ENOMEM;

	INIT_LIST_HEAD(&fs->open_lru);
	INIT_LIST_HEAD(&fs->open_free);
	INIT_LIST_HEAD(&fs->open_dirty);
	INIT_LIST_HEAD(&fs->open_ready);
	for (i = 0; i < fs->max_open; i++) {
		fs->opens[i].fs = fs;
		fs->opens[i].bitmap = fs->bitmaps + (size_t)i * size;
		list_add_tail(&fs->opens[i].lru, &fs->open_free);
	}
	return 0;
}

void fusion_open_exit(struct fusion *fs)
{
	kvfree(fs->bitmaps);
	kvfree(fs->opens);
}

struct fusion_open *fusion_open_find(struct fusion *fs, u32 lext)
{
	struct fusion_open *open;

	hlist_for_each_entry(open, &fs->open_hash[hash_32(lext, FUSION_OPEN_HASH_BITS)], hash)
		if (open->lext == lext)
			return open;
	return NULL;
}

struct fusion_open *fusion_open_new(struct fusion *fs, u32 lext, u32 word)
{
	struct fusion_open *open;

	open = list_first_entry_or_null(&fs->open_free, struct fusion_open, lru);
	if (!open)
		return NULL;
	list_move_tail(&open->lru, &fs->open_lru);
	hlist_add_head(&open->hash, &fs->open_hash[hash_32(lext, FUSION_OPEN_HASH_BITS)]);
	bio_list_init(&open->parked);
	memset(open->bitmap, 0, open_bitmap_size(fs));
	open->excl_bio = NULL;
	open->lext = lext;
	open->word = word;
	open->writers = 0;
	open->nr_valid = 0;
	open->zero_retried = false;
	open->zero_failed = false;
	open->fill_failed = false;
	open->dirty = false;
	open->closing = false;
	open->closed = false;
	open->excl = false;
	open->running = false;
	fs->nr_open++;
	return open;
}

static void open_free(struct fusion *fs, struct fusion_open *open)
{
	list_move(&open->lru, &fs->open_free);
	fs->nr_open--;
	/* Someone may have parked for want of a structure. */
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
		fs->nr_full--;
	open->closed = true;
	if (!open->writers)
		open_free(fs, open);
}

void fusion_open_mark_dirty(struct fusion *fs, struct fusion_open *open)
{
	if (!open->dirty) {
		open->dirty = true;
		list_add_tail(&open->dirty_node, &fs->open_dirty);
	}
}

void fusion_open_load(struct fusion *fs, struct fusion_open *open, const void *bitmap)
{
	if (fusion_open_full(fs, open))
		fs->nr_full--;
	/* @bitmap lies anywhere in a block, not aligned to a long. */
	memset(open->bitmap, 0, open_bitmap_size(fs));
	memcpy(open->bitmap, bitmap, fusion_bitmap_bytes(fs->sb.extent_sectors));
	open->nr_valid = bitmap_weight(open->bitmap, open_bitmap_size(fs) * BITS_PER_BYTE);
	if (fusion_open_full(fs, open))
		fs->nr_full++;
}

static void set_valid(struct fusion *fs, struct fusion_open *open, u32 first, u32 nr)
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
	    (++fs->nr_full > fs->max_open / 4 || list_empty(&fs->open_free)))
		fusion_commit_kick(fs);
	else
		fusion_commit_soon(fs);
}

/* -- exclusive operations ------------------------------------------------- */

static void make_ready(struct fusion *fs, struct fusion_open *open)
{
	list_add_tail(&open->ready_node, &fs->open_ready);
	queue_work(fs->deferred_wq, &fs->deferred_work);
}

static void start_excl(struct fusion *fs, struct fusion_open *open, struct bio *bio)
{
	open->excl = true;
	open->excl_bio = bio;
	if (!open->writers)
		make_ready(fs, open);
}

static void end_pause(struct fusion_fill_pause *pause)
{
	pause->ms = 0;
	pause->until_ms = 0;
}

/* End it; the bios that waited get another look. */
static void end_excl(struct fusion *fs, struct fusion_open *open)
{
	if (!open->excl_bio && !--fs->nr_fills)
		wake_up(&fs->fill_wait);
	/* While it was exclusive no commit could make it STABLE. */
	if (fusion_open_full(fs, open)) {
		if (!open->excl_bio)
			end_pause(&fs->fill_pause[fusion_word_dev(open->word)]);
		fusion_open_mark_dirty(fs, open);
		if (list_empty(&fs->open_free))
			fusion_commit_kick(fs);
		else
			fusion_commit_soon(fs);
	}
	open->excl = false;
	open->running = false;
	open->excl_bio = NULL;
	bio_list_merge(&fs->deferred, &open->parked);
	bio_list_init(&open->parked);
	queue_work(fs->deferred_wq, &fs->deferred_work);
}

/*
 * A block that a write covers in part, and that is not valid, must be zeroed
 * before. Return: its number, or -1.
 */
static int partial_block(const struct fusion *fs, const struct fusion_open *open,
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
static bool next_zero_run(const struct fusion *fs, struct fusion_open *open)
{
	u32 blocks = fusion_open_blocks(fs);
	int block;

	if (open->excl_bio) {
		block = partial_block(fs, open, open->excl_bio);
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

static void zeroed(int read_err, unsigned long write_err, void *context)
{
	struct fusion_open *open = context;
	struct fusion *fs = open->fs;

	fusion_mark_written(fs, fusion_word_dev(open->word));
	spin_lock_irq(&fs->lock);
	if (!write_err) {
		set_valid(fs, open, open->zero_first, open->zero_nr);
		open->zero_retried = false;
	} else if (!open->zero_retried) {
		/* A disk may learn that it can't do WRITE ZEROES; then zeros are written. */
		open->zero_retried = true;
	} else {
		open->zero_failed = true;
		fusion_member_failed(fs, fusion_word_dev(open->word));
	}
	make_ready(fs, open);
	spin_unlock_irq(&fs->lock);
}

static void issue_zero(struct fusion *fs, struct fusion_open *open)
{
	struct dm_io_region dest = {
		.bdev = fs->dev[fusion_word_dev(open->word)]->bdev,
		.sector = fusion_word_sector(fs, open->word) +
			  open->zero_first * FUSION_BLOCK_SECTORS,
		.count = open->zero_nr * FUSION_BLOCK_SECTORS,
	};

	dm_kcopyd_zero(fs->kcopyd, 1, &dest, 0, zeroed, open);
}

/* Take away the blocks that a discard of a part of the extent covers. */
static void run_discard(struct fusion *fs, struct fusion_open *open, struct bio *bio)
{
	u32 first = fusion_offset(fs, bio->bi_iter.bi_sector);
	u32 end = (first + bio_sectors(bio)) / FUSION_BLOCK_SECTORS;
	u32 i;

	if (fusion_open_full(fs, open))
		fs->nr_full--;
	for (i = DIV_ROUND_UP(first, FUSION_BLOCK_SECTORS); i < end; i++)
		if (__test_and_clear_bit_le(i, open->bitmap))
			open->nr_valid--;
	if (fusion_open_full(fs, open))
		fs->nr_full++;
	fusion_open_mark_dirty(fs, open);
	fusion_replica_mark(fs, open->lext);
	fusion_commit_soon(fs);
}

/*
 * What idle time tries and can't do is errors in a disk's log, and seconds that it takes. Of those
 * that were tried at once the first counts.
 */
static void fill_failed(struct fusion *fs, enum fusion_dev dev)
{
	struct fusion_fill_pause *pause = &fs->fill_pause[dev];

	fs->fills_failed++;
	if (!pause->tried)
		return;
	pause->tried = false;
	pause->ms = clamp(2 * pause->ms, MIN_FILL_PAUSE_MS, MAX_FILL_PAUSE_MS);
	pause->until_ms = fusion_now_ms() + pause->ms;
}

/* An operation whose turn has come, or that goes on after zeroing. */
static void run_excl(struct fusion *fs, struct fusion_open *open)
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
			fill_failed(fs, fusion_word_dev(open->word));
			list_move_tail(&open->lru, &fs->open_lru);
		}
		/* A first write may wait for this structure: another one's turn. */
		fusion_unpark(fs);
	} else if (bio && bio_op(bio) == REQ_OP_DISCARD && !fusion_io(bio)->whole) {
		run_discard(fs, open, bio);
		done = bio;
	} else if ((!bio || !fusion_io(bio)->whole) && next_zero_run(fs, open)) {
		zero = true;
	} else if (bio) {
		/*
		 * No write is in flight, or the edges of this one are valid now: it goes
		 * on in the worker, ahead of those that waited for it.
		 */
		bio_list_add(&fs->deferred, bio);
	}
	if (!zero)
		end_excl(fs, open);
	spin_unlock_irq(&fs->lock);

	if (zero)
		issue_zero(fs, open);
	if (done)
		bio_endio(done);
}

void fusion_open_run(struct fusion *fs)
{
	struct fusion_open *open;

	for (;;) {
		spin_lock_irq(&fs->lock);
		open = list_first_entry_or_null(&fs->open_ready, struct fusion_open, ready_node);
		if (open)
			list_del(&open->ready_node);
		spin_unlock_irq(&fs->lock);
		if (!open)
			return;
		run_excl(fs, open);
	}
}

static bool start_fill(struct fusion *fs, struct fusion_open *open)
{
	if (open->excl || open->closing || fusion_open_full(fs, open))
		return false;
	fs->nr_fills++;
	start_excl(fs, open, NULL);
	return true;
}

void fusion_open_fill_oldest(struct fusion *fs, u32 nr)
{
	struct fusion_open *open;
	unsigned long flags;

	spin_lock_irqsave(&fs->lock, flags);
	list_for_each_entry(open, &fs->open_lru, lru) {
		if (!nr || fs->nr_fills >= FUSION_MAX_FILLS)
			break;
		if (!open->closed && start_fill(fs, open))
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
	list_for_each_entry(open, &fs->open_lru, lru) {
		enum fusion_dev dev = fusion_word_dev(open->word);
		struct fusion_fill_pause *pause = &fs->fill_pause[dev];

		if (fs->nr_fills >= FUSION_MAX_FILLS)
			break;
		if ((fast && dev != FUSION_FAST) || now < pause->until_ms || open->closed)
			continue;
		if (start_fill(fs, open))
			pause->tried = true;
	}
	spin_unlock_irqrestore(&fs->lock, flags);
}

void fusion_open_fill_anew(struct fusion *fs)
{
	enum fusion_dev dev;

	spin_lock_irq(&fs->lock);
	for (dev = 0; dev < FUSION_NR_DEVS; dev++)
		end_pause(&fs->fill_pause[dev]);
	spin_unlock_irq(&fs->lock);
}

bool fusion_open_fill(struct fusion *fs, u32 lext)
{
	struct fusion_open *open;
	unsigned long flags;
	bool failed = false;

	spin_lock_irqsave(&fs->lock, flags);
	open = fusion_open_find(fs, lext);
	if (open) {
		failed = open->fill_failed;
		open->fill_failed = false;
		if (!failed)
			start_fill(fs, open);
	}
	spin_unlock_irqrestore(&fs->lock, flags);
	return !failed;
}

/* -- bios ------------------------------------------------------------------ */

/*
 * Read a range that is partly valid: clones for the valid runs, zeros for the rest.
 * fs->lock held on entry, released on return.
 */
static void read_with_holes(struct fusion *fs, struct bio *bio, struct fusion_open *open)
	__releases(&fs->lock)
{
	unsigned long bitmap[FUSION_MAX_EXTENT_SECTORS / FUSION_BLOCK_SECTORS / BITS_PER_LONG];
	u32 first = fusion_offset(fs, bio->bi_iter.bi_sector);
	u32 end = first + bio_sectors(bio);
	u32 last = DIV_ROUND_UP(end, FUSION_BLOCK_SECTORS);
	u32 word = open->word;
	u32 pos = first;

	/* The extent may change while the bio is split: work on how it is now. */
	memcpy(bitmap, open->bitmap, open_bitmap_size(fs));
	spin_unlock_irq(&fs->lock);

	while (pos < end) {
		u32 block = pos / FUSION_BLOCK_SECTORS;
		bool valid = test_bit_le(block, bitmap);
		u32 stop = valid ? find_next_zero_bit_le(bitmap, last, block) :
				   find_next_bit_le(bitmap, last, block);
		struct bio *clone;

		stop = min(end, stop * FUSION_BLOCK_SECTORS);
		clone = bio_alloc_clone(fs->dev[fusion_word_dev(word)]->bdev, bio, GFP_NOIO,
					&fs->bs);
		bio_clear_polled(clone);
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
static void read_open(struct fusion *fs, struct bio *bio, struct fusion_open *open)
	__releases(&fs->lock)
{
	u32 first = fusion_offset(fs, bio->bi_iter.bi_sector) / FUSION_BLOCK_SECTORS;
	u32 last = DIV_ROUND_UP(fusion_offset(fs, bio->bi_iter.bi_sector) + bio_sectors(bio),
				FUSION_BLOCK_SECTORS);
	bool all = find_next_zero_bit_le(open->bitmap, last, first) >= last;
	bool none = find_next_bit_le(open->bitmap, last, first) >= last;
	u32 word = open->word;

	if (!none)
		fusion_pin_slot(fs, bio, fusion_word_dev(word));
	if (!all && !none) {
		read_with_holes(fs, bio, open);
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
static void write_open(struct fusion *fs, struct bio *bio, struct fusion_open *open)
	__releases(&fs->lock)
{
	struct fusion_io *io = fusion_io(bio);
	u32 word = open->word;

	open->writers++;
	io->open = open;
	io->first = fusion_offset(fs, bio->bi_iter.bi_sector);
	io->nr = bio_sectors(bio);
	fusion_pin_slot(fs, bio, fusion_word_dev(word));
	spin_unlock_irq(&fs->lock);

	/* The commit that records the bits flushes the data; FUA here would be double. */
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
		read_open(fs, bio, open);
		return true;
	}
	if (open->excl) {
		bio_list_add(&open->parked, bio);
	} else if (discard && open->closing) {
		fusion_park(fs, bio, false);
	} else if (discard || partial_block(fs, open, bio) >= 0) {
		start_excl(fs, open, bio);
	} else {
		write_open(fs, bio, open);
		return true;
	}
	spin_unlock_irq(&fs->lock);
	return true;
}

bool fusion_open_unmap(struct fusion *fs, struct fusion_open *open, struct bio *bio)
{
	if (open->excl) {
		bio_list_add(&open->parked, bio);
	} else if (open->closing || (fs->committing && open->dirty)) {
		/*
		 * Its bitmap may be wanted by the commit under way, the second one of a
		 * checkpoint, whose map says OPEN. Its UNMAP would be in the next one.
		 */
		fusion_park(fs, bio, false);
	} else if (open->writers) {
		start_excl(fs, open, bio);
	} else {
		WRITE_ONCE(fs->map[open->lext], FUSION_WORD_UNMAPPED);
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
		set_valid(fs, open, first, end - first);
	if (!--open->writers) {
		if (open->closed)
			open_free(fs, open);
		else if (open->excl && !open->running)
			make_ready(fs, open);
	}
	spin_unlock_irqrestore(&fs->lock, flags);
}
