// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the way of a bio.
 *
 * map() sends on what hits a STABLE extent, answers reads of unmapped ones with
 * zeros, and defers the rest to one ordered worker: first writes, OPEN extents,
 * discards, writes to an extent whose copy is being committed. A bio that can't
 * go on there is parked, under the same lock as the look that said so, and gets
 * another look when a commit, a drain or an update of the replica has ended.
 */
#include <linux/ioprio.h>

#include "dm-fusion.h"
#include "dm-fusion-trace.h"

/* What to do with a read or write. */
enum verdict {
	SUBMIT,		/* pinned: goes to the slot of the word */
	ZERO,		/* read of an unmapped extent */
	DEFER,
};

void fusion_mark_written(struct fusion *fs, enum fusion_dev dev)
{
	/*
	 * Set before the bio completes, cleared by the committer before it
	 * flushes: whoever saw the completion gets a flush that covers it.
	 */
	if (dev == FUSION_SLOW && !READ_ONCE(fs->slow_dirty))
		WRITE_ONCE(fs->slow_dirty, 1);
}

void fusion_log_unmap(struct fusion *fs, u32 lext, u32 old)
{
	fs->nr_mapped--;
	fusion_log(fs, lext, FUSION_WORD_UNMAPPED, fusion_word_set_state(old, FUSION_STABLE),
		   FUSION_OP_UNMAP);
	fusion_replica_mark(fs, lext);
	fusion_policy_forget(fs->policy, lext);
	trace_fusion_unmap(fs, lext, old);
}

/* -- lists of bios ----------------------------------------------------------- */

static void defer_bio(struct fusion *fs, struct bio *bio)
{
	unsigned long flags;

	spin_lock_irqsave(&fs->lock, flags);
	bio_list_add(&fs->deferred, bio);
	spin_unlock_irqrestore(&fs->lock, flags);
	queue_work(fs->deferred_wq, &fs->deferred_work);
}

void fusion_unpark(struct fusion *fs)
{
	if (bio_list_empty(&fs->parked))
		return;
	bio_list_merge(&fs->deferred, &fs->parked);
	bio_list_init(&fs->parked);
	queue_work(fs->deferred_wq, &fs->deferred_work);
}

/* Complete a bio when a commit that starts after now is durable. Any context. */
static void complete_after_commit(struct fusion *fs, struct bio *bio)
{
	unsigned long flags;

	spin_lock_irqsave(&fs->lock, flags);
	bio_list_add(&fs->waiters, bio);
	spin_unlock_irqrestore(&fs->lock, flags);
	fusion_commit_kick(fs);
}

static void complete_unmapped(struct fusion *fs, struct bio *bio)
{
	if (bio->bi_opf & REQ_FUA)
		complete_after_commit(fs, bio);
	else
		bio_endio(bio);
}

/* -- to the members ------------------------------------------------------------ */

static void pin(struct fusion *fs, struct fusion_io *io, struct bio *bio, enum fusion_dev dev,
		unsigned int epoch)
{
	io->epoch = epoch;
	io->dev = dev;
	/* a commit flushes, after it */
	if (unlikely(bio->bi_opf & REQ_FUA) && !fusion_has_fua(fs, dev)) {
		bio->bi_opf &= ~REQ_FUA;
		io->fua = true;
	}
	this_cpu_inc(fs->stats->ios[dev][op_is_write(bio_op(bio))]);
}

void fusion_pin_slot(struct fusion *fs, struct bio *bio, enum fusion_dev dev)
{
	unsigned int epoch;

	rcu_read_lock();
	epoch = fusion_enter(fs);
	rcu_read_unlock();
	pin(fs, fusion_io(bio), bio, dev, epoch);
}

static void remap(struct fusion *fs, struct bio *bio, u32 word)
{
	bio_set_dev(bio, fs->dev[fusion_word_dev(word)]->bdev);
	bio->bi_iter.bi_sector = fusion_word_sector(fs, word) +
				 fusion_offset(fs, bio->bi_iter.bi_sector);
}

void fusion_submit(struct fusion *fs, struct bio *bio, u32 word)
{
	remap(fs, bio, word);
	dm_submit_bio_remap(bio, NULL);
}

static void zeroes_done(int read_err, unsigned long write_err, void *context)
{
	struct bio *bio = context;

	if (write_err)
		bio->bi_status = BLK_STS_IOERR;
	bio_endio(bio);
}

void fusion_submit_zeroes(struct fusion *fs, struct bio *bio, u32 word)
{
	struct dm_io_region dest = {
		.bdev = fs->dev[fusion_word_dev(word)]->bdev,
		.sector = fusion_word_sector(fs, word) +
			  fusion_offset(fs, bio->bi_iter.bi_sector),
		.count = bio_sectors(bio),
	};

	/* Written as data by whoever can't do better; then durable by commit. */
	fusion_io(bio)->fua |= !!(bio->bi_opf & REQ_FUA);
	dm_kcopyd_zero(fs->kcopyd, 1, &dest, 0, zeroes_done, bio);
}

/* -- looking up -------------------------------------------------------------- */

/*
 * The fast path: one epoch, one map word. On SUBMIT the bio is pinned.
 *
 * A word loaded again after a failed cmpxchg() is newer than the epoch, which
 * does no harm: the epoch protects what it names all the same.
 */
static enum verdict look_up(struct fusion *fs, struct fusion_io *io, struct bio *bio,
			    u32 *result)
{
	u32 *slot = &fs->map[fusion_lext(fs, bio->bi_iter.bi_sector)];
	bool write = op_is_write(bio_op(bio));
	enum verdict verdict = SUBMIT;
	unsigned int epoch;
	u32 word, seen;

	rcu_read_lock();
	epoch = fusion_enter(fs);
	word = READ_ONCE(*slot);
	rcu_read_unlock();

	while (unlikely(fusion_word_state(word) != FUSION_STABLE || !fusion_word_mapped(word))) {
		if (!fusion_word_mapped(word)) {
			verdict = write ? DEFER : ZERO;
			break;
		}
		if (fusion_word_state(word) == FUSION_OPEN) {
			verdict = DEFER;
			break;
		}
		if (!write)
			break;
		if (fusion_word_state(word) == FUSION_LOCKED) {
			verdict = DEFER;
			break;
		}
		/* COPYING: the copy is out of date from here on. Pairs with the mover's. */
		seen = cmpxchg(slot, word, fusion_word_set_state(word, FUSION_STABLE));
		if (seen == word)
			break;
		word = seen;
	}

	if (verdict == SUBMIT)
		pin(fs, io, bio, fusion_word_dev(word), epoch);
	else
		fusion_leave(fs, epoch);
	*result = word;
	return verdict;
}

static int map_flush(struct fusion *fs, struct bio *bio)
{
	unsigned long flags;
	bool lost, direct;

	spin_lock_irqsave(&fs->lock, flags);
	/* After a failure nobody knows what became of writes acknowledged before: INV4. */
	lost = (fs->mode != FUSION_RW || READ_ONCE(fs->flush_lost)) && !fs->read_only;
	/* Nothing needs a commit: a flush of the fast member will do. */
	direct = fs->read_only ||
		 (!fs->committing && !fs->hold_flushes && !fs->running->nr &&
		  list_empty(&fs->open_dirty) && !READ_ONCE(fs->slow_dirty) &&
		  !fs->slow_flushing);
	/* What the committer writes next must not meet it: see dm-fusion-journal.c. */
	if (direct && !lost && !fs->read_only) {
		fusion_io(bio)->flush = true;
		fs->nr_flushes++;
	}
	spin_unlock_irqrestore(&fs->lock, flags);

	if (lost)
		return DM_MAPIO_KILL;
	if (direct) {
		bio_set_dev(bio, fs->dev[FUSION_FAST]->bdev);
		return DM_MAPIO_REMAPPED;
	}
	complete_after_commit(fs, bio);
	return DM_MAPIO_SUBMITTED;
}

static int map_defer(struct fusion *fs, struct bio *bio)
{
	if (bio->bi_opf & REQ_NOWAIT)
		bio_wouldblock_error(bio);
	else
		defer_bio(fs, bio);
	return DM_MAPIO_SUBMITTED;
}

/*
 * Discards and write-zeroes come in pieces: a part of one extent, or any number of
 * whole ones. So a bio that frees the whole device stays one bio.
 */
static int map_discard(struct fusion *fs, struct fusion_io *io, struct bio *bio)
{
	sector_t size = (sector_t)1 << fs->shift;
	sector_t offset = fusion_offset(fs, bio->bi_iter.bi_sector);
	sector_t whole = round_down(bio_sectors(bio), size);
	sector_t piece;

	io->whole = !offset && whole;
	io->lext = fusion_lext(fs, bio->bi_iter.bi_sector);
	piece = io->whole ? whole : min_t(sector_t, bio_sectors(bio), size - offset);
	if (piece < bio_sectors(bio))
		dm_accept_partial_bio(bio, piece);
	return map_defer(fs, bio);
}

static enum fusion_urgency urgency(const struct bio *bio)
{
	if (bio->bi_opf & (REQ_META | REQ_PRIO))
		return FUSION_URGENT;
	return IOPRIO_PRIO_CLASS(bio->bi_ioprio) == IOPRIO_CLASS_IDLE ? FUSION_BACKGROUND :
									FUSION_NORMAL;
}

static void count_access(struct fusion *fs, struct bio *bio)
{
	sector_t sector = bio->bi_iter.bi_sector;
	unsigned int weight = fusion_weigh(&raw_cpu_ptr(fs->stats)->streams, sector,
					   bio_sectors(bio), urgency(bio));

	if (weight)
		fusion_policy_touch(fs->policy, fusion_lext(fs, sector), weight);
	else
		this_cpu_inc(fs->stats->unweighed);
}

int fusion_map(struct dm_target *ti, struct bio *bio)
{
	struct fusion *fs = ti->private;
	struct fusion_io *io = fusion_io(bio);
	u32 word;

	io->open = NULL;
	io->epoch = FUSION_NO_EPOCH;
	io->whole = false;
	io->fua = false;
	io->flush = false;
	io->waits = false;
	io->crowded = false;

	if (unlikely(READ_ONCE(fs->gate))) {
		if (fusion_mode(fs) == FUSION_FAIL)
			return DM_MAPIO_KILL;
		if (op_is_write(bio_op(bio)) && bio_sectors(bio)) {
			if (fusion_mode(fs) != FUSION_RW)
				return DM_MAPIO_KILL;
			/* The heartbeat comes first; what frees goes to the worker in any case. */
			if (bio_op(bio) == REQ_OP_WRITE) {
				count_access(fs, bio);
				return map_defer(fs, bio);
			}
		}
	}

	/* The core sends empty flushes, whose sector means nothing. */
	if (unlikely(bio->bi_opf & REQ_PREFLUSH))
		return map_flush(fs, bio);
	if (unlikely(bio_op(bio) == REQ_OP_DISCARD || bio_op(bio) == REQ_OP_WRITE_ZEROES))
		return map_discard(fs, io, bio);

	count_access(fs, bio);

	switch (look_up(fs, io, bio, &word)) {
	case SUBMIT:
		remap(fs, bio, word);
		return DM_MAPIO_REMAPPED;
	case ZERO:
		zero_fill_bio(bio);
		bio_endio(bio);
		return DM_MAPIO_SUBMITTED;
	default:
		return map_defer(fs, bio);
	}
}

/*
 * Is it to blame on a member? Not what nobody waits for, nor what it may not be able to do, and
 * disks don't agree on how to say that.
 */
static bool is_failure(const struct bio *bio, blk_status_t error)
{
	return error != BLK_STS_OK && error != BLK_STS_AGAIN &&
	       bio_op(bio) != REQ_OP_DISCARD && bio_op(bio) != REQ_OP_WRITE_ZEROES;
}

static void end_flush(struct fusion *fs, struct fusion_io *io)
{
	unsigned long flags;

	io->flush = false;
	spin_lock_irqsave(&fs->lock, flags);
	WRITE_ONCE(fs->nr_flushes, fs->nr_flushes - 1);
	spin_unlock_irqrestore(&fs->lock, flags);
	/* The table stays until this bio has ended. */
	wake_up(&fs->flush_wait);
}

int fusion_end_io(struct dm_target *ti, struct bio *bio, blk_status_t *error)
{
	struct fusion *fs = ti->private;
	struct fusion_io *io = fusion_io(bio);

	if (io->epoch != FUSION_NO_EPOCH) {
		if (op_is_write(bio_op(bio)))
			fusion_mark_written(fs, io->dev);
		if (io->open)
			fusion_open_written(fs, io, !*error);
		this_cpu_inc(fs->stats->done[io->dev]);
		if (unlikely(is_failure(bio, *error)))
			fusion_member_failed(fs, io->dev);
		fusion_leave(fs, io->epoch);
		io->epoch = FUSION_NO_EPOCH;
	}

	if (unlikely(io->fua)) {
		io->fua = false;
		if (!*error) {
			complete_after_commit(fs, bio);
			return DM_ENDIO_INCOMPLETE;
		}
	}

	if (unlikely(io->flush && *error)) {
		fusion_member_failed(fs, FUSION_FAST);
		DMERR_LIMIT("%s: fast device %s: a flush failed: %d",
			    dm_table_device_name(fs->ti->table), fs->dev[FUSION_FAST]->name,
			    blk_status_to_errno(*error));
	}
	/* See fusion_flush_slow(). The committer changes the mode. */
	if (unlikely(bio->bi_opf & REQ_PREFLUSH && !fs->read_only)) {
		if (*error) {
			WRITE_ONCE(fs->flush_lost, 1);
			fusion_commit_kick(fs);
		} else if (READ_ONCE(fs->flush_lost)) {
			*error = BLK_STS_IOERR;
		}
	}
	if (unlikely(io->flush))
		end_flush(fs, io);
	return DM_ENDIO_DONE;
}

/* -- the worker ------------------------------------------------------------------ */

void fusion_park(struct fusion *fs, struct bio *bio, bool kick)
{
	if (fusion_mode(fs) != FUSION_RW) {
		/* fusion_set_mode() has woken who was parked; nobody else will. */
		bio_list_add(&fs->deferred, bio);
		queue_work(fs->deferred_wq, &fs->deferred_work);
		return;
	}
	bio_list_add(&fs->parked, bio);
	if (kick)
		fusion_commit_kick(fs);
}

/* A slot for a first write: fast while more than @fast are free, then slow, likewise. */
static u32 first_slot(struct fusion *fs, u32 lext, u32 fast, u32 slow)
{
	u32 word = fusion_slot_get(fs, FUSION_FAST, lext, fast);

	return fusion_word_mapped(word) ? word : fusion_slot_get(fs, FUSION_SLOW, lext, slow);
}

/*
 * Shall a bio that finds no slot wait for the replica to free some? If that could not be
 * written, for one more attempt: the member may be well again. fs->lock held.
 */
static bool wait_for_replica(const struct fusion *fs, struct fusion_io *io)
{
	const struct fusion_replica *rep = &fs->replica;

	if (!rep->nr_held)
		return false;
	if (!rep->failed) {
		io->waits = false;
		return true;
	}
	if (!io->waits) {
		io->waits = true;
		io->errors = rep->errors;
	}
	return io->errors == (u32)rep->errors;
}

/*
 * Shall a bio that finds all structures for OPEN extents in use wait for one? For those that a
 * commit frees, and until each of the extents had its turn to be completed, and could not be.
 * fs->lock held.
 */
static bool wait_for_fill(const struct fusion *fs, struct fusion_io *io)
{
	if (!io->crowded) {
		io->crowded = true;
		io->waits = false;
		io->errors = fs->fills_failed;
	}
	return fs->nr_full || fs->committing || fs->fills_failed - io->errors < fs->max_open;
}

/* First write to an unmapped extent. Return: false if the bio was parked or failed. */
static bool first_write(struct fusion *fs, struct bio *bio)
{
	u32 lext = fusion_lext(fs, bio->bi_iter.bi_sector);
	struct fusion_open *open;
	bool crowded, held = false, wait = false;
	u32 word;

	spin_lock_irq(&fs->lock);
	if (list_empty(&fs->open_free)) {
		wait = wait_for_fill(fs, fusion_io(bio));
		if (wait)
			fusion_park(fs, bio, fs->nr_full);
		spin_unlock_irq(&fs->lock);
		if (wait)
			fusion_open_fill_oldest(fs, FUSION_MAX_FILLS);
		else
			bio_io_error(bio);
		return false;
	}
	fusion_io(bio)->crowded = false;
	word = first_slot(fs, lext, fs->sb.spare_fast, fs->sb.spare_slow);
	if (!fusion_word_mapped(word)) {
		held = wait_for_replica(fs, fusion_io(bio));
		wait = fs->nr_quarantined || fs->in_flight || fs->running->nr || held ||
		       fs->discards[FUSION_FAST].in_flight || fs->discards[FUSION_SLOW].in_flight;
		/* The migration's spares are the last resort, when slots were lost to errors. */
		if (!wait)
			word = first_slot(fs, lext, 1, 1);
	}
	if (!fusion_word_mapped(word)) {
		if (wait)
			fusion_park(fs, bio, fs->running->nr);
		if (held)
			fusion_replica_kick(fs);
		spin_unlock_irq(&fs->lock);
		if (!wait) {
			bio->bi_status = BLK_STS_NOSPC;
			bio_endio(bio);
		}
		return false;
	}
	word = fusion_word_set_state(word, FUSION_OPEN);
	open = fusion_open_new(fs, lext, word);
	fusion_open_mark_dirty(fs, open);
	WRITE_ONCE(fs->map[lext], word);
	fusion_replica_mark(fs, lext);
	fs->nr_mapped++;
	crowded = fs->nr_open > fs->max_open / 4 * 3;
	spin_unlock_irq(&fs->lock);

	trace_fusion_alloc(fs, lext, word);
	fusion_commit_soon(fs);
	if (crowded)
		fusion_open_fill_oldest(fs, 2);
	return true;
}

/* Unmap an extent for a discard or write-zeroes. Return: false if @bio has to wait. */
static bool unmap(struct fusion *fs, u32 lext, struct bio *bio)
{
	bool done = false;
	u32 word;

	spin_lock_irq(&fs->lock);
	do {
		word = READ_ONCE(fs->map[lext]);
		if (!fusion_word_mapped(word)) {
			done = true;
		} else if (fusion_word_state(word) == FUSION_LOCKED) {
			fusion_park(fs, bio, false);
			break;
		} else if (!fusion_log_room(fs, 1)) {
			fusion_park(fs, bio, true);
			break;
		} else if (fusion_word_state(word) == FUSION_OPEN) {
			done = fusion_open_unmap(fs, fusion_open_find(fs, lext), bio);
			break;
		} else if (cmpxchg(&fs->map[lext], word, FUSION_WORD_UNMAPPED) == word) {
			fusion_log_unmap(fs, lext, word);
			done = true;
		}
	} while (!done);
	spin_unlock_irq(&fs->lock);
	return done;
}

/* Go on with a discard or write-zeroes of whole extents from where it was. */
static void process_whole(struct fusion *fs, struct bio *bio)
{
	struct fusion_io *io = fusion_io(bio);
	u32 end = fusion_lext(fs, bio_end_sector(bio)), unmapped = 0;
	bool parked = false;

	fusion_commit_soon(fs);
	for (; io->lext < end; io->lext++) {
		if (fusion_mode(fs) != FUSION_RW) {
			bio_io_error(bio);
			return;
		}
		if (READ_ONCE(fs->gate) && fusion_beat_park(fs, bio))
			parked = true;
		else if (!fusion_word_mapped(READ_ONCE(fs->map[io->lext])))
			unmapped += bio_op(bio) == REQ_OP_DISCARD;
		else
			parked = !unmap(fs, io->lext, bio);
		if (parked)
			break;
		cond_resched();
	}
	if (unmapped)
		fusion_discard_free(fs, unmapped);
	if (!parked)
		complete_unmapped(fs, bio);
}

/* A write to a LOCKED extent waits for its commit. Return: false if it need not. */
static bool park_locked(struct fusion *fs, struct bio *bio)
{
	u32 lext = fusion_lext(fs, bio->bi_iter.bi_sector);
	bool locked;

	spin_lock_irq(&fs->lock);
	locked = fusion_word_state(READ_ONCE(fs->map[lext])) == FUSION_LOCKED;
	if (locked)
		fusion_park(fs, bio, false);
	spin_unlock_irq(&fs->lock);
	return locked;
}

/* It is advice: a member that can't follow it is no error. */
static void discard_done(struct bio *clone)
{
	struct bio *bio = clone->bi_private;

	if (clone->bi_status != BLK_STS_NOTSUPP && clone->bi_status != BLK_STS_TARGET)
		bio->bi_status = clone->bi_status;
	bio_put(clone);
	bio_endio(bio);
}

/*
 * A part of an extent. If the member says to a bio of the core that it can't, the core has the
 * whole device never discard any more; so it gets one of ours.
 */
static void submit_discard(struct fusion *fs, struct bio *bio, u32 word)
{
	struct block_device *bdev = fs->dev[fusion_word_dev(word)]->bdev;
	struct bio *clone;

	if (!READ_ONCE(fs->opt.discard_passdown) || !bdev_max_discard_sectors(bdev)) {
		bio_endio(bio);
		return;
	}
	clone = bio_alloc_clone(bdev, bio, GFP_NOIO, &fs->bs);
	clone->bi_iter.bi_sector = fusion_word_sector(fs, word) +
				   fusion_offset(fs, bio->bi_iter.bi_sector);
	clone->bi_private = bio;
	clone->bi_end_io = discard_done;
	dm_submit_bio_remap(bio, clone);
}

/* A pinned bio of any kind goes to its slot. */
static void submit_pinned(struct fusion *fs, struct bio *bio, u32 word)
{
	if (bio_op(bio) == REQ_OP_WRITE_ZEROES)
		fusion_submit_zeroes(fs, bio, word);
	else if (bio_op(bio) == REQ_OP_DISCARD)
		submit_discard(fs, bio, word);
	else
		fusion_submit(fs, bio, word);
}

static void process_bio(struct fusion *fs, struct bio *bio)
{
	u32 lext = fusion_lext(fs, bio->bi_iter.bi_sector);
	bool frees = bio_op(bio) == REQ_OP_DISCARD || bio_op(bio) == REQ_OP_WRITE_ZEROES;
	u32 word;

	/* it may take a member no time at all, and tells nothing of accesses */
	if (frees)
		this_cpu_inc(fs->stats->unweighed);
	for (;;) {
		if (op_is_write(bio_op(bio)) && fusion_mode(fs) != FUSION_RW) {
			bio_io_error(bio);
			return;
		}
		if (op_is_write(bio_op(bio)) && READ_ONCE(fs->gate) && fusion_beat_park(fs, bio))
			return;

		word = READ_ONCE(fs->map[lext]);
		if (!fusion_word_mapped(word)) {
			if (frees) {
				complete_unmapped(fs, bio);
				return;
			}
			if (op_is_write(bio_op(bio)) && !first_write(fs, bio))
				return;
		} else if (fusion_word_state(word) == FUSION_OPEN) {
			if (fusion_open_bio(fs, bio))
				return;
			continue;
		}

		switch (look_up(fs, fusion_io(bio), bio, &word)) {
		case SUBMIT:
			submit_pinned(fs, bio, word);
			return;
		case ZERO:
			zero_fill_bio(bio);
			bio_endio(bio);
			return;
		case DEFER:
			if (park_locked(fs, bio))
				return;
			break;
		}
	}
}

void fusion_do_deferred(struct work_struct *work)
{
	struct fusion *fs = container_of(work, struct fusion, deferred_work);
	struct blk_plug plug;
	struct bio_list bios;
	struct bio *bio;

	for (;;) {
		if (!READ_ONCE(fs->gate) || !fusion_beat_blocks(fs))
			fusion_open_run(fs);

		spin_lock_irq(&fs->lock);
		bios = fs->deferred;
		bio_list_init(&fs->deferred);
		spin_unlock_irq(&fs->lock);
		if (bio_list_empty(&bios))
			return;

		blk_start_plug(&plug);
		while ((bio = bio_list_pop(&bios))) {
			if (fusion_io(bio)->whole)
				process_whole(fs, bio);
			else
				process_bio(fs, bio);
		}
		blk_finish_plug(&plug);
		cond_resched();
	}
}
