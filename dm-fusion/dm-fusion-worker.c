// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the worker, which serves the bios that map() defers.
 */
#include "dm-fusion.h"
#include "dm-fusion-trace.h"

/* -- first writes ---------------------------------------------------------------------------- */

/*
 * A slot for a first write: fast while more than @fast are free, then slow, likewise. If the extent
 * is pinned to the slow member, what is free there comes first, and no shadow is given up for that.
 * While homing is on, its home comes before either.
 */
static u32 fusion_first_slot(struct fusion *fs, u32 lext, u32 fast, u32 slow)
{
	u32 word = FUSION_WORD_UNMAPPED;

	if (fs->mover.homing.on && fusion_has_home(&fs->sb, lext))
		word = fusion_slot_take(fs, FUSION_SLOW, lext);
	if (!fusion_word_mapped(word) && fusion_policy_pinned(fs->policy, lext) == FUSION_SLOW)
		word = fusion_slot_get(fs, FUSION_SLOW, lext, slow);
	if (!fusion_word_mapped(word))
		word = fusion_slot_get(fs, FUSION_FAST, lext, fast);
	if (!fusion_word_mapped(word)) {
		fusion_shadow_yield(fs, slow);
		word = fusion_slot_get(fs, FUSION_SLOW, lext, slow);
	}
	return word;
}

/*
 * Should a bio that finds no slot wait for the replica to free some? If the last update failed, it
 * waits for one more attempt, as the member may work again. fs->lock held.
 */
static bool fusion_wait_for_replica(const struct fusion *fs, struct fusion_io *io)
{
	const struct fusion_replica *rep = &fs->replica;

	if (!fusion_slots_held(fs))
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
 * Should a bio that finds all structures for OPEN extents in use wait for one? It waits while a
 * commit may free some, and until as many zero-fills have failed as there are structures.
 * fs->lock held.
 */
static bool fusion_wait_for_fill(const struct fusion *fs, struct fusion_io *io)
{
	if (!io->crowded) {
		io->crowded = true;
		io->waits = false;
		io->errors = fs->opens.fills_failed;
	}
	return fs->opens.nr_full || fs->commit.running ||
	       (fs->opens.nr_lost < fs->opens.nr &&
		fs->opens.fills_failed - io->errors < fs->opens.max);
}

/* First write to an unmapped or lost extent. Return: false if the bio was parked or failed. */
static bool fusion_first_write(struct fusion *fs, struct bio *bio)
{
	u32 lext = fusion_lext(fs, bio->bi_iter.bi_sector);
	bool crowded, held = false, wait = false;
	u32 word;
	int r;

	spin_lock_irq(&fs->lock);
	/* Homing may have mapped it meanwhile. */
	if (fusion_word_mapped(READ_ONCE(fs->map[lext]))) {
		spin_unlock_irq(&fs->lock);
		return true;
	}
	r = fusion_word_lost(READ_ONCE(fs->map[lext])) ? fusion_lost_may_open(fs, bio) : 0;
	if (r) {
		spin_unlock_irq(&fs->lock);
		if (r != -EAGAIN)
			fusion_complete_lost(bio);
		return false;
	}
	if (list_empty(&fs->opens.free)) {
		wait = fusion_wait_for_fill(fs, fusion_io(bio));
		if (wait)
			fusion_park(fs, bio, fs->opens.nr_full);
		spin_unlock_irq(&fs->lock);
		if (wait)
			fusion_open_fill_oldest(fs, FUSION_MAX_FILLS);
		else
			bio_io_error(bio);
		return false;
	}
	fusion_io(bio)->crowded = false;
	word = fusion_first_slot(fs, lext, fusion_spares(fs, FUSION_FAST),
				 fusion_spares(fs, FUSION_SLOW));
	if (!fusion_word_mapped(word)) {
		held = fusion_wait_for_replica(fs, fusion_io(bio));
		wait = fs->slots.nr_quarantined || fs->mover.in_flight || fs->txns.running->nr ||
		       held || fs->slots.discards[FUSION_FAST].in_flight ||
		       fs->slots.discards[FUSION_SLOW].in_flight || fs->slots.fence.rising;
		wait = wait || fusion_copies_yield(fs);
		/* The spares for migration are the last resort, if slots were lost to errors. */
		if (!wait)
			word = fusion_first_slot(fs, lext, 1, 1);
	}
	if (!fusion_word_mapped(word)) {
		if (wait)
			fusion_park(fs, bio, fs->txns.running->nr);
		if (held)
			fusion_replica_kick(fs);
		spin_unlock_irq(&fs->lock);
		if (!wait) {
			bio->bi_status = BLK_STS_NOSPC;
			bio_endio(bio);
		}
		return false;
	}
	word = fusion_open_first(fs, lext, word);
	crowded = fs->opens.nr > fs->opens.max / 4 * 3;
	spin_unlock_irq(&fs->lock);

	trace_fusion_alloc(fs, lext, word);
	fusion_commit_soon(fs);
	if (crowded)
		fusion_open_fill_oldest(fs, 2);
	return true;
}

/* -- discards and write-zeroes --------------------------------------------------------------- */

static void fusion_complete_unmapped(struct fusion *fs, struct bio *bio)
{
	if (bio->bi_opf & REQ_FUA)
		fusion_complete_after_commit(fs, bio);
	else
		bio_endio(bio);
}

/* Unmap an extent for a discard or write-zeroes. Return: false if @bio has to wait. */
static bool fusion_unmap(struct fusion *fs, u32 lext, struct bio *bio)
{
	bool done = false;
	u32 word;

	spin_lock_irq(&fs->lock);
	do {
		word = READ_ONCE(fs->map[lext]);
		if (word == FUSION_WORD_UNMAPPED) {
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
		}
		if (!done && fusion_land_bar(fs, lext, bio))
			break;
		/* If a write has cancelled a copy meanwhile, try again. */
		done = done || fusion_log_unmap(fs, lext, word);
	} while (!done);
	spin_unlock_irq(&fs->lock);
	return done;
}

/* Start or continue a discard or write-zeroes of whole extents. */
static void fusion_process_whole(struct fusion *fs, struct bio *bio)
{
	struct fusion_io *io = fusion_io(bio);
	u32 end = fusion_lext(fs, bio_end_sector(bio)), unmapped = 0;
	bool parked = false;

	for (; io->lext < end; io->lext++) {
		if (fusion_mode(fs) != FUSION_RW) {
			bio_io_error(bio);
			return;
		}
		if (READ_ONCE(fs->gate) && fusion_gate_park(fs, bio))
			parked = true;
		else if (READ_ONCE(fs->map[io->lext]) == FUSION_WORD_UNMAPPED)
			unmapped += bio_op(bio) == REQ_OP_DISCARD;
		else
			parked = !fusion_unmap(fs, io->lext, bio);
		if (parked)
			break;
		cond_resched();
	}
	/* Behind the records: a commit asked for before may have been too early for them. */
	fusion_commit_soon(fs);
	if (unmapped)
		fusion_discard_free(fs, unmapped);
	if (!parked)
		fusion_complete_unmapped(fs, bio);
}

/* A discard is advice: no error if the member does not support it. */
static void fusion_discard_done(struct bio *clone)
{
	struct bio *bio = clone->bi_private;

	if (clone->bi_status != BLK_STS_NOTSUPP && clone->bi_status != BLK_STS_TARGET)
		bio->bi_status = clone->bi_status;
	bio_put(clone);
	bio_endio(bio);
}

/*
 * Discard a part of an extent. If the core's bio fails as not supported, the core disables discards
 * for the whole fused device. So the member gets a clone instead.
 */
static void fusion_submit_discard(struct fusion *fs, struct bio *bio, u32 word)
{
	struct block_device *bdev = fusion_word_bdev(fs, word);
	struct bio *clone;

	/* Nothing on the old member is discarded: it may be taken back, or be read by salvage. */
	if (!READ_ONCE(fs->opt.discard_passdown) || !bdev_max_discard_sectors(bdev) ||
	    fusion_word_disk(fs, word) == FUSION_OLD) {
		bio_endio(bio);
		return;
	}
	clone = bio_alloc_clone(bdev, bio, GFP_NOIO, &fs->worker.clones);
	clone->bi_iter.bi_sector = fusion_word_sector(fs, word) +
				   fusion_offset(fs, bio->bi_iter.bi_sector);
	clone->bi_private = bio;
	clone->bi_end_io = fusion_discard_done;
	dm_submit_bio_remap(bio, clone);
}

/* -- all of them ----------------------------------------------------------------------------- */

/* Park a write to a LOCKED extent until its commit. Return: false if it need not wait. */
static bool fusion_park_locked(struct fusion *fs, struct bio *bio)
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

/* Send a pinned bio of any kind to its slot. */
static void fusion_submit_pinned(struct fusion *fs, struct bio *bio, u32 word)
{
	if (bio_op(bio) == REQ_OP_WRITE_ZEROES)
		fusion_submit_zeroes(fs, bio, word);
	else if (bio_op(bio) == REQ_OP_DISCARD)
		fusion_submit_discard(fs, bio, word);
	else
		fusion_submit(fs, bio, word);
}

static void fusion_process_bio(struct fusion *fs, struct bio *bio)
{
	u32 lext = fusion_lext(fs, bio->bi_iter.bi_sector);
	bool frees = bio_op(bio) == REQ_OP_DISCARD || bio_op(bio) == REQ_OP_WRITE_ZEROES;
	struct fusion_found found;
	u32 word;

	if (fusion_land_merge_goes_on(fs, bio))
		return;
	if (bio_op(bio) == REQ_OP_WRITE && bio->bi_opf & FUSION_METADATA_FLAGS)
		fusion_point_note(fs, bio);
	/* may take a member no time at all, so it does not count as an access */
	if (frees)
		this_cpu_inc(fs->stats->unweighed);
	for (;;) {
		if (fusion_mode(fs) > (op_is_write(bio_op(bio)) ? FUSION_RW : FUSION_RO)) {
			bio_io_error(bio);
			return;
		}
		if (op_is_write(bio_op(bio)) && READ_ONCE(fs->gate) && fusion_gate_park(fs, bio))
			return;

		word = READ_ONCE(fs->map[lext]);
		if (!fusion_word_mapped(word)) {
			/* A part of a lost extent has to get its zeros; a discard does nothing. */
			if (frees && !(fusion_word_lost(word) &&
				       bio_op(bio) == REQ_OP_WRITE_ZEROES)) {
				fusion_complete_unmapped(fs, bio);
				return;
			}
			if (op_is_write(bio_op(bio)) && !fusion_first_write(fs, bio))
				return;
		} else if (fusion_word_state(word) == FUSION_OPEN) {
			if (fusion_open_bio(fs, bio))
				return;
			continue;
		}

		found = fusion_look_up(fs, fusion_io(bio), bio);
		switch (found.verdict) {
		case FUSION_SUBMIT:
			fusion_submit_pinned(fs, bio, found.word);
			return;
		case FUSION_LOGGED:
			fusion_land_remap(fs, bio, found.word);
			dm_submit_bio_remap(bio, NULL);
			return;
		case FUSION_PIECES:
			if (fusion_land_read_pieces(fs, bio, found.word))
				return;
			break;
		case FUSION_LAND:
			fusion_land_fill(fs, bio, found.word, true);
			return;
		case FUSION_ZERO:
			zero_fill_bio(bio);
			bio_endio(bio);
			return;
		case FUSION_LOST:
			fusion_complete_lost(bio);
			return;
		case FUSION_PACED:
			if (fusion_pace_wait(fs, bio))
				return;
			break;
		case FUSION_MERGE:
			if (fusion_land_merge(fs, bio))
				return;
			break;
		default:
			if (fusion_park_locked(fs, bio))
				return;
			break;
		}
	}
}

void fusion_do_deferred(struct work_struct *work)
{
	struct fusion *fs = container_of(work, struct fusion, worker.work);
	struct blk_plug plug;
	struct bio_list bios;
	struct bio *bio;

	for (;;) {
		if (!READ_ONCE(fs->gate) || !fusion_gate_blocks(fs))
			fusion_open_run(fs);

		spin_lock_irq(&fs->lock);
		bios = fs->worker.deferred;
		bio_list_init(&fs->worker.deferred);
		if (bio_list_empty(&bios))
			fusion_land_served(fs);
		spin_unlock_irq(&fs->lock);
		if (bio_list_empty(&bios))
			return;

		blk_start_plug(&plug);
		while ((bio = bio_list_pop(&bios))) {
			if (!fusion_io(bio)->whole) {
				fusion_process_bio(fs, bio);
				continue;
			}
			/* it may take long, and blocks that have a place must not wait for that */
			blk_finish_plug(&plug);
			fusion_land_push(fs);
			fusion_process_whole(fs, bio);
			blk_start_plug(&plug);
		}
		blk_finish_plug(&plug);
		/* the blocks of these share a header */
		fusion_land_push(fs);
		cond_resched();
	}
}
