// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: writes of a part of a block that has an entry in the landing log.
 *
 * Past the log, such a write would be hidden by the entry, or the rest of the block would be lost
 * with that. So the worker has the block read to a page, and the bio comes back to it. Then the
 * block, with the data of the bio over it, gets a place in the log, as a whole block that is
 * written, and the bio ends with its batch. If there is no room, or the bio has more than a part of
 * one block (map() cuts most of these), the block is written to its place on the slow member, its
 * entry dies, and the bio looks again; so also for zeros. There is one at a time.
 *
 * From the read on the entry is busy, so the page has what the log has: all writes to the block
 * wait, those into the log as well, until it has its place or is dead; and the bio has waited for
 * those under way. Reads find the entry. The drain passes it by.
 *
 * While the block is read, and while it is written, the bio is in an epoch. In between it is not,
 * as it may have to wait for the gate: this is looked at right before anything is sent, as the
 * lease may have ended during the read. So between the two
 *
 *  - the extent may be unmapped, and then the entry is dead and not busy, even if its position is
 *    used again: the bio looks again;
 *  - the extent may be LOCKED for a move, and the bio waits; or WATCHED, and the bio cancels that,
 *    as any write. A move on the slow member keeps the entry. If the extent is on the fast member
 *    when the bio goes on, the block was laid over the copy, or drained: it looks again;
 *  - the segment keeps its slot, as it has an entry that is live. But the page is all that counts.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "dm-fusion.h"

/**
 * struct fusion_land_merge - the block that is being merged
 * @fs: device
 * @bio: the write that has a part of it, or NULL: there is none
 * @pos: the position of its entry
 * @word: of the extent, when the block is written to the slow member
 * @written: it has been
 * @failed: it could not be read, or written
 * @page: its content
 * @io: reads or writes it
 * @vec: table of @io
 *
 * The worker's; while @bio is in an epoch, of the end of @io.
 */
struct fusion_land_merge {
	struct fusion *fs;
	struct bio *bio;
	u32 pos;
	u32 word;
	bool written;
	bool failed;
	struct page *page;
	struct bio io;
	struct bio_vec vec;
};

int fusion_land_merge_init(struct fusion *fs)
{
	struct fusion_land_merge *m;

	if (!fs->land.max)
		return 0;
	m = kzalloc(sizeof(*m), GFP_KERNEL);
	if (!m)
		return -ENOMEM;
	fs->land.merge = m;
	m->fs = fs;
	m->page = alloc_page(GFP_KERNEL);
	return m->page ? 0 : -ENOMEM;
}

void fusion_land_merge_exit(struct fusion *fs)
{
	struct fusion_land_merge *m = fs->land.merge;

	if (m && m->page)
		__free_page(m->page);
	kfree(m);
}

bool fusion_land_busy(const struct fusion *fs)
{
	const struct fusion_land *land = &fs->land;

	return land->max && (fusion_pace_any(&land->pace) || !bio_list_empty(&land->fua) ||
			     READ_ONCE(land->merge->bio));
}

/* -- the block is read, or written ----------------------------------------------------------- */

/* The bio comes back to the worker. It keeps the set; so nothing follows. */
static void fusion_land_merge_back(struct fusion_land_merge *m)
{
	struct fusion *fs = m->fs;
	unsigned long flags;

	/* behind fusion_mark_written(), as after any write */
	fusion_leave(fs, fusion_io(m->bio));
	spin_lock_irqsave(&fs->lock, flags);
	bio_list_add(&fs->worker.deferred, m->bio);
	queue_work(fs->worker.wq, &fs->worker.work);
	spin_unlock_irqrestore(&fs->lock, flags);
}

static void fusion_land_merge_read(struct bio *io)
{
	struct fusion_land_merge *m = io->bi_private;

	m->failed = io->bi_status;
	bio_uninit(io);
	if (m->failed)
		fusion_member_failed(m->fs, FUSION_FAST);
	fusion_land_merge_back(m);
}

static void fusion_land_merge_written(struct bio *io)
{
	struct fusion_land_merge *m = io->bi_private;
	struct fusion *fs = m->fs;
	struct fusion_land *land = &fs->land;
	unsigned long flags, inner;

	m->failed = io->bi_status;
	m->written = true;
	bio_uninit(io);
	if (m->failed) {
		fusion_member_failed(fs, FUSION_SLOW);
		WRITE_ONCE(fs->shadows.unsure, true);
	}
	/* before the entry dies, as before any write completes */
	fusion_mark_written(fs, FUSION_SLOW);
	spin_lock_irqsave(&fs->lock, flags);
	spin_lock_irqsave(&land->lock, inner);
	/* unless the extent was unmapped meanwhile */
	if (!m->failed && land->entry[m->pos].flags & FUSION_LAND_BUSY)
		fusion_land_kill(land, m->pos);
	spin_unlock_irqrestore(&land->lock, inner);
	fusion_commit_soon(fs);
	spin_unlock_irqrestore(&fs->lock, flags);
	fusion_land_merge_back(m);
}

/* Read or write the block on @disk. The bio is in an epoch. */
static void fusion_land_merge_io(struct fusion *fs, enum fusion_dev disk, u64 sector,
				 blk_opf_t opf, bio_end_io_t *done)
{
	struct fusion_land_merge *m = fs->land.merge;

	bio_init(&m->io, fs->dev[disk]->bdev, &m->vec, 1, opf | REQ_SYNC);
	m->io.bi_iter.bi_sector = sector;
	__bio_add_page(&m->io, m->page, FUSION_BLOCK_SIZE, 0);
	m->io.bi_end_io = done;
	m->io.bi_private = m;
	submit_bio_noacct(&m->io);
}

/* -- it begins ------------------------------------------------------------------------------- */

bool fusion_land_merge(struct fusion *fs, struct bio *bio)
{
	const struct fusion_land_reach r = fusion_land_reach(fs, bio);
	struct fusion_land_merge *m = fs->land.merge;
	struct fusion_land *land = &fs->land;
	bool begins = false, wait = false, hindered;
	unsigned long flags;
	u32 word, pos;

	spin_lock_irq(&fs->lock);
	word = READ_ONCE(fs->map[r.lext]);
	/* Otherwise it has changed since the bio looked: look again. */
	if (fusion_word_mapped(word) && fusion_word_dev(word) == FUSION_SLOW &&
	    fusion_word_state(word) == FUSION_STABLE) {
		spin_lock_irqsave(&land->lock, flags);
		hindered = fusion_land_obstacle(land, &r, &pos);
		wait = hindered && (pos == FUSION_LAND_NONE || m->bio ||
				    land->entry[pos].flags);
		begins = hindered && !wait;
		if (begins)
			land->entry[pos].flags = FUSION_LAND_BUSY;
		spin_unlock_irqrestore(&land->lock, flags);
	}
	if (begins) {
		m->bio = bio;
		m->pos = pos;
		m->written = false;
		/* In the section that has looked at the word, as fusion_pin_slot(). */
		rcu_read_lock_sched();
		fusion_enter(fs, fusion_io(bio));
		rcu_read_unlock_sched();
	}
	if (wait)
		fusion_land_park(fs, bio, r.lext);
	spin_unlock_irq(&fs->lock);
	if (begins)
		fusion_land_merge_io(fs, FUSION_FAST, fusion_land_sector(fs, pos), REQ_OP_READ,
				     fusion_land_merge_read);
	return begins || wait;
}

/* -- it goes on ------------------------------------------------------------------------------ */

/* It is over. The entry, if it is still there, is as any. */
static void fusion_land_merge_end(struct fusion *fs)
{
	struct fusion_land_merge *m = fs->land.merge;
	struct fusion_land *land = &fs->land;
	unsigned long flags;

	spin_lock_irq(&fs->lock);
	spin_lock_irqsave(&land->lock, flags);
	if (land->entry[m->pos].flags & FUSION_LAND_BUSY)
		land->entry[m->pos].flags = 0;
	spin_unlock_irqrestore(&land->lock, flags);
	m->bio = NULL;
	fusion_land_wake(fs);
	spin_unlock_irq(&fs->lock);
}

/* What to do with a block that has been read. */
enum next {
	MERGE_WAIT,		/* the bio is parked */
	MERGE_LOOK,		/* the entry is gone */
	MERGE_LOG,		/* it has a place in the log */
	MERGE_WRITE,		/* to the slow member */
};

/* land->lock held; the extent is STABLE. */
static enum next fusion_land_merge_place(struct fusion *fs, u32 *place)
{
	struct fusion_land_merge *m = fs->land.merge;
	const struct fusion_land_reach r = fusion_land_reach(fs, m->bio);
	struct fusion_land_entry *entry = &fs->land.entry[m->pos];
	const u32 block = entry->block;

	if (bio_op(m->bio) != REQ_OP_WRITE || r.first < block * FUSION_BLOCK_SECTORS ||
	    r.end > (block + 1) * FUSION_BLOCK_SECTORS)
		return MERGE_WRITE;
	/* From here on it is on its way, for which all others wait. */
	entry->flags = 0;
	if (fusion_land_append_part(fs, r.lext, block, place))
		return MERGE_LOG;
	entry->flags = FUSION_LAND_BUSY;
	return MERGE_WRITE;
}

/* @place: if it has one in the log. It is in an epoch, if it has one anywhere. */
static enum next fusion_land_merge_next(struct fusion *fs, u32 *place)
{
	struct fusion_land_merge *m = fs->land.merge;
	struct fusion_land *land = &fs->land;
	const u32 lext = fusion_lext(fs, m->bio->bi_iter.bi_sector);
	enum next next = MERGE_LOOK;
	unsigned long flags;

	spin_lock_irq(&fs->lock);
	m->word = fusion_word_set_state(READ_ONCE(fs->map[lext]), FUSION_STABLE);
	spin_lock_irqsave(&land->lock, flags);
	if (land->entry[m->pos].flags & FUSION_LAND_BUSY &&
	    fusion_word_dev(m->word) == FUSION_SLOW) {
		/* so the extent is whole */
		fusion_map_unwatch(fs, lext, m->word);
		next = READ_ONCE(fs->map[lext]) != m->word ? MERGE_WAIT :
		       fusion_land_merge_place(fs, place);
	}
	if (next == MERGE_LOG || next == MERGE_WRITE) {
		rcu_read_lock_sched();
		fusion_enter(fs, fusion_io(m->bio));
		rcu_read_unlock_sched();
	}
	spin_unlock_irqrestore(&land->lock, flags);
	if (next == MERGE_WAIT)
		fusion_park(fs, m->bio, false);
	spin_unlock_irq(&fs->lock);
	return next;
}

/* The block has a place in the log, and the bio with it. */
static void fusion_land_merge_log(struct fusion *fs, u32 place)
{
	struct fusion_land_merge *m = fs->land.merge;
	struct bio *bio = m->bio;

	/* as fusion_land_append() */
	fusion_io(bio)->landed = true;
	fusion_io(bio)->fua |= !!(bio->bi_opf & REQ_FUA);
	bio->bi_opf &= ~REQ_FUA;
	fusion_pin(fs, fusion_io(bio), bio, FUSION_FAST);
	fusion_land_fill_part(fs, bio, place, m->page);
	fusion_land_merge_end(fs);
}

bool fusion_land_merge_goes_on(struct fusion *fs, struct bio *bio)
{
	struct fusion_land_merge *m = fs->land.merge;
	enum next next;
	u32 place;

	if (likely(!m || m->bio != bio))
		return false;
	if (m->failed || fusion_mode(fs) != FUSION_RW) {
		fusion_land_merge_end(fs);
		bio_io_error(bio);
		return true;
	}
	if (m->written) {
		fusion_land_merge_end(fs);
		return false;
	}
	/* the timer that shuts the gate may be late */
	if ((READ_ONCE(fs->gate) || !fusion_gate_may_write(fs)) && fusion_gate_park(fs, bio))
		return true;
	next = fusion_land_merge_next(fs, &place);
	if (next == MERGE_LOG)
		fusion_land_merge_log(fs, place);
	else if (next == MERGE_WRITE)
		fusion_land_merge_io(fs, FUSION_SLOW, fusion_word_sector(fs, m->word) +
				     fs->land.entry[m->pos].block * FUSION_BLOCK_SECTORS,
				     REQ_OP_WRITE, fusion_land_merge_written);
	else if (next == MERGE_LOOK)
		fusion_land_merge_end(fs);
	return next != MERGE_LOOK;
}
