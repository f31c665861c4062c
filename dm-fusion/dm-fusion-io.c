// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: map() and end_io().
 *
 * map() sends bios for STABLE extents to their member and answers reads of unmapped extents with
 * zeros, and those of lost ones with an error. A flush goes to the fast member if that is enough,
 * and otherwise waits for a commit. The rest is deferred to one ordered worker
 * (dm-fusion-worker.c): first writes, bios for OPEN extents, discards and write-zeroes, writes to a
 * LOCKED extent, and any write while the gate is shut.
 */
#include <linux/ioprio.h>

#include "dm-fusion.h"

static void fusion_defer_bio(struct fusion *fs, struct bio *bio)
{
	unsigned long flags;

	spin_lock_irqsave(&fs->lock, flags);
	bio_list_add(&fs->worker.deferred, bio);
	spin_unlock_irqrestore(&fs->lock, flags);
	queue_work(fs->worker.wq, &fs->worker.work);
}

void fusion_complete_after_commit(struct fusion *fs, struct bio *bio)
{
	unsigned long flags;

	spin_lock_irqsave(&fs->lock, flags);
	bio_list_add(&fs->commit.waiters, bio);
	/* the bio keeps the set, and may end as soon as the lock is dropped */
	fusion_commit_kick(fs);
	spin_unlock_irqrestore(&fs->lock, flags);
}

/* -- looking up ------------------------------------------------------------------------------ */

/* The bits tell: STABLE has none, LOCKED has those of OPEN and of WATCHED. */
static_assert(!FUSION_STABLE && FUSION_LOCKED == (FUSION_OPEN | FUSION_WATCHED));

/*
 * The bits of a word that are not simply STABLE on the fast member. Only writes look at WATCHED:
 * reads go the same way as with STABLE. On the slow member, the landing log may have newer blocks.
 */
static __always_inline u32 fusion_word_busy(u32 word, bool write)
{
	const u32 states = FUSION_OPEN | (write ? FUSION_WATCHED : 0);

	return word & (states << FUSION_WORD_STATE_SHIFT | 1U << FUSION_WORD_DEV_SHIFT);
}

/* The same without a look at the member: not simply STABLE. */
static bool fusion_word_changes(u32 word, bool write)
{
	return fusion_word_state(word) & (FUSION_OPEN | (write ? FUSION_WATCHED : 0)) ||
	       !fusion_word_mapped(word);
}

/*
 * A read has found no bit in @has. If the extent was unmapped since its word was loaded, a commit
 * may have cleared that, and what its entries covered in the slot is older:
 * fusion_land_look_read().
 */
static struct fusion_found fusion_look_again(const u32 *slot, u32 word)
{
	u32 now;

	/* Pairs with the locks of who unmaps it, and of the commit behind that. */
	smp_rmb();
	now = READ_ONCE(*slot);
	return (struct fusion_found){ now, now == word ? FUSION_SUBMIT : FUSION_AGAIN };
}

/* The bio is in the epoch in which the word was loaded, so this needs no RCU section. */
static noinline struct fusion_found fusion_look_closer(struct fusion *fs, struct bio *bio,
						       u32 word, bool in_map)
{
	u32 lext = fusion_lext(fs, bio->bi_iter.bi_sector), *slot = &fs->map[lext];
	bool write = op_is_write(bio_op(bio));
	enum fusion_verdict verdict = FUSION_SUBMIT;
	struct fusion_found found;
	u32 seen;

again:
	while (fusion_word_changes(word, write)) {
		if (!fusion_word_mapped(word)) {
			verdict = write ? FUSION_DEFER :
				  fusion_word_lost(word) ? FUSION_LOST : FUSION_ZERO;
			break;
		}
		if (fusion_word_state(word) == FUSION_OPEN) {
			verdict = FUSION_DEFER;
			break;
		}
		if (!write)
			break;
		if (fusion_word_state(word) == FUSION_LOCKED) {
			verdict = FUSION_DEFER;
			break;
		}
		/* what gets into the log is laid over the copy */
		if (fusion_land_beside_copy(fs, word) && fusion_land_fits(fs, bio)) {
			found = fusion_land_append(fs, bio, word, in_map);
			if (found.verdict != FUSION_SUBMIT && found.verdict != FUSION_AGAIN)
				return found;
			word = found.word;
			if (found.verdict == FUSION_AGAIN)
				continue;
		}
		fusion_shadow_writes(fs, word);
		seen = fusion_map_cancel(slot, word);
		if (seen == word) {
			fusion_shadow_outdated(fs, word);
			break;
		}
		word = seen;
	}
	found = (struct fusion_found){ word, verdict };
	if (verdict != FUSION_SUBMIT || fusion_word_dev(word) != FUSION_SLOW || !fs->land.max)
		return found;
	if (write && fusion_land_fits(fs, bio))
		found = fusion_land_append(fs, bio, word, in_map);
	if (found.verdict == FUSION_SUBMIT && fusion_land_has(&fs->land, lext))
		found = fusion_land_look(fs, bio, word, in_map);
	else if (found.verdict == FUSION_SUBMIT && !write && fs->land.max)
		found = fusion_look_again(slot, word);
	if (found.verdict == FUSION_SUBMIT && write)
		fusion_copies_write(fs, bio);
	else if (found.verdict == FUSION_SUBMIT)
		found = fusion_copies_look(fs, bio, word, in_map);
	if (found.verdict != FUSION_AGAIN)
		return found;
	word = found.word;
	goto again;
}

/* Enter an epoch and load the map word. Context: inside rcu_read_lock_sched(). */
static __always_inline u32 fusion_load_word(struct fusion *fs, struct fusion_io *io,
					    const struct bio *bio)
{
	fusion_enter(fs, io);
	return READ_ONCE(fs->map[fusion_lext(fs, bio->bi_iter.bi_sector)]);
}

/* Pin the bio to the slot of @word, or leave the epoch, in which @word was loaded. */
static __always_inline struct fusion_found fusion_judge(struct fusion *fs, struct fusion_io *io,
							struct bio *bio, u32 word,
							bool in_map)
{
	bool write = op_is_write(bio_op(bio));
	struct fusion_found found = { word, FUSION_SUBMIT };
	const u32 busy = fusion_word_busy(word, write);

	if (unlikely(!fusion_word_mapped(word)))
		found = fusion_look_closer(fs, bio, word, in_map);
	else if (unlikely(busy) && (busy != 1U << FUSION_WORD_DEV_SHIFT || fs->land.max))
		found = fusion_look_closer(fs, bio, word, in_map);
	/* Before it is sent: dm-fusion-point.c. */
	if (unlikely(write && bio->bi_opf & FUSION_METADATA_FLAGS))
		fusion_point_note(fs, bio);
	if (found.verdict == FUSION_SUBMIT || found.verdict == FUSION_FILL)
		fusion_pin(fs, io, bio, fusion_word_disk(fs, found.word));
	else if (found.verdict == FUSION_LOGGED || found.verdict == FUSION_PIECES ||
		 found.verdict == FUSION_LAND)
		fusion_pin(fs, io, bio, FUSION_FAST);
	else
		fusion_leave(fs, io);
	return found;
}

struct fusion_found fusion_look_up(struct fusion *fs, struct fusion_io *io, struct bio *bio)
{
	u32 word;

	rcu_read_lock_sched();
	word = fusion_load_word(fs, io, bio);
	rcu_read_unlock_sched();
	return fusion_judge(fs, io, bio, word, false);
}

/* -- map() ----------------------------------------------------------------------------------- */

static int fusion_map_flush(struct fusion *fs, struct bio *bio)
{
	unsigned long flags;
	bool lost, direct, sealed;

	spin_lock_irqsave(&fs->lock, flags);
	sealed = fs->seal.flushed;
	/* After a failure, writes acknowledged before may be lost: INV4. */
	lost = (fs->mode != FUSION_RW || READ_ONCE(fs->flush.lost)) && !fs->read_only;
	/* If nothing needs a commit, a flush of the fast member is enough. */
	direct = fs->read_only ||
		 (!fs->commit.running && !fs->flush.hold && !fs->txns.running->nr &&
		  list_empty(&fs->opens.dirty) && !fusion_land_pending(fs) &&
		  !READ_ONCE(fs->dirty[FUSION_SLOW]) &&
		  !READ_ONCE(fs->dirty[FUSION_OLD]) && !fs->flush.flushing);
	/* The next commit waits until this flush has ended: see dm-fusion-journal.c. */
	if (direct && !lost && !fs->read_only && !sealed) {
		fusion_io(bio)->flush = true;
		fs->flush.nr++;
	}
	spin_unlock_irqrestore(&fs->lock, flags);

	if (sealed) {
		bio_endio(bio);
		return DM_MAPIO_SUBMITTED;
	}
	if (lost)
		return DM_MAPIO_KILL;
	if (direct) {
		bio_set_dev(bio, fs->dev[FUSION_FAST]->bdev);
		return DM_MAPIO_REMAPPED;
	}
	fusion_complete_after_commit(fs, bio);
	return DM_MAPIO_SUBMITTED;
}

static int fusion_map_defer(struct fusion *fs, struct bio *bio)
{
	if (bio->bi_opf & REQ_NOWAIT)
		bio_wouldblock_error(bio);
	else
		fusion_defer_bio(fs, bio);
	return DM_MAPIO_SUBMITTED;
}

/*
 * Split discards and write-zeroes into a part of one extent, or any number of whole ones. So a
 * bio that frees the whole fused device stays one bio.
 */
static int fusion_map_discard(struct fusion *fs, struct fusion_io *io, struct bio *bio)
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
	return fusion_map_defer(fs, bio);
}

static enum fusion_urgency fusion_urgency_of(struct fusion *fs, const struct bio *bio)
{
	if (bio->bi_opf & (REQ_META | REQ_PRIO)) {
		fusion_metadata_note(fs, bio);
		return FUSION_URGENT;
	}
	return IOPRIO_PRIO_CLASS(bio->bi_ioprio) == IOPRIO_CLASS_IDLE ? FUSION_BACKGROUND :
									FUSION_NORMAL;
}

static void fusion_count_stream(struct fusion *fs, struct bio *bio)
{
	fusion_io(bio)->stream = true;
	this_cpu_inc(fs->stats->unweighed);
}

static __always_inline void fusion_count_access(struct fusion *fs, struct bio *bio)
{
	sector_t sector = bio->bi_iter.bi_sector;
	unsigned int weight = fusion_weigh(&raw_cpu_ptr(fs->stats)->streams, sector,
					   bio_sectors(bio), fusion_urgency_of(fs, bio));

	if (likely(weight))
		fusion_policy_touch(fs->policy, fusion_lext(fs, sector), weight);
	else
		fusion_count_stream(fs, bio);
}

/*
 * The gate is shut. May the bio pass, as reads do while the heartbeat is late? Discards always go
 * to the worker, which looks at the gate again.
 */
static noinline enum fusion_verdict fusion_gate_verdict(struct fusion *fs, const struct bio *bio)
{
	if (fusion_mode(fs) == FUSION_FAIL)
		return FUSION_KILL;
	if (!op_is_write(bio_op(bio)) || !bio_sectors(bio))
		return FUSION_SUBMIT;
	if (fusion_mode(fs) != FUSION_RW)
		return FUSION_KILL;
	/* Writes wait for the heartbeat. */
	return bio_op(bio) == REQ_OP_WRITE ? FUSION_DEFER : FUSION_SUBMIT;
}

/* Flushes, discards and write-zeroes. */
static noinline int fusion_map_special(struct fusion *fs, struct fusion_io *io, struct bio *bio)
{
	if (READ_ONCE(fs->gate) && fusion_gate_verdict(fs, bio) == FUSION_KILL)
		return DM_MAPIO_KILL;
	/* The core sends empty flushes; their sector has no meaning. */
	if (bio->bi_opf & REQ_PREFLUSH)
		return fusion_map_flush(fs, bio);
	return fusion_map_discard(fs, io, bio);
}

/* What does not go to the slot of its extent. */
static noinline int fusion_map_elsewhere(struct fusion *fs, struct bio *bio,
					 struct fusion_found found)
{
	switch (found.verdict) {
	case FUSION_LOGGED:
		fusion_land_remap(fs, bio, found.word);
		return DM_MAPIO_REMAPPED;
	case FUSION_FILL:
		fusion_copies_fill(fs, bio, found.word);
		return DM_MAPIO_SUBMITTED;
	case FUSION_LAND:
		fusion_land_fill(fs, bio, found.word, false);
		return DM_MAPIO_SUBMITTED;
	case FUSION_ZERO:
		zero_fill_bio(bio);
		bio_endio(bio);
		return DM_MAPIO_SUBMITTED;
	case FUSION_LOST:
		fusion_complete_lost(bio);
		return DM_MAPIO_SUBMITTED;
	case FUSION_KILL:
		return DM_MAPIO_KILL;
	default:
		return fusion_map_defer(fs, bio);
	}
}

int fusion_map(struct dm_target *ti, struct bio *bio)
{
	struct fusion_found found = { .verdict = FUSION_SUBMIT };
	struct fusion_io *io = fusion_io(bio);
	struct fusion *fs = ti->private;

	io->open = NULL;
	io->epoch = FUSION_NO_EPOCH;
	io->whole = false;
	io->fua = false;
	io->flush = false;
	io->waits = false;
	io->crowded = false;
	io->over = false;
	io->copied = false;
	io->counted = false;
	io->landed = false;
	io->paced = false;
	io->stream = false;

	/*
	 * Polled I/O completes only when its owner asks for it, and a drain, with the flushes of
	 * others behind it, would have to wait for that. If it would block, the core maps it again
	 * from a worker and passes on the error of that attempt, so it must not be refused.
	 */
	if (unlikely(bio->bi_opf & REQ_POLLED))
		bio->bi_opf &= ~(REQ_POLLED | REQ_NOWAIT);
	if (unlikely(bio->bi_opf & REQ_PREFLUSH ||
		     (bio_op(bio) != REQ_OP_READ && bio_op(bio) != REQ_OP_WRITE)))
		return fusion_map_special(fs, io, bio);

	fusion_count_access(fs, bio);

	/* From the gate to the epoch: dm-fusion-close.c. */
	rcu_read_lock_sched();
	if (unlikely(READ_ONCE(fs->gate)))
		found.verdict = fusion_gate_verdict(fs, bio);
	if (likely(found.verdict == FUSION_SUBMIT))
		found.word = fusion_load_word(fs, io, bio);
	rcu_read_unlock_sched();

	if (likely(found.verdict == FUSION_SUBMIT))
		found = fusion_judge(fs, io, bio, found.word, true);
	if (unlikely(found.verdict != FUSION_SUBMIT))
		return fusion_map_elsewhere(fs, bio, found);
	fusion_remap(fs, bio, found.word);
	return DM_MAPIO_REMAPPED;
}

/* -- completion ------------------------------------------------------------------------------ */

/*
 * Is this error a failure of the member? Not BLK_STS_AGAIN, and not a failed discard or
 * write-zeroes: a member may not support these, and disks report that in different ways.
 */
static bool fusion_is_failure(const struct bio *bio, blk_status_t error)
{
	return error != BLK_STS_OK && error != BLK_STS_AGAIN &&
	       bio_op(bio) != REQ_OP_DISCARD && bio_op(bio) != REQ_OP_WRITE_ZEROES;
}

/*
 * A write that has failed leaves its sectors unsure, even if it was only advice; but one that would
 * have had to wait was not carried out.
 */
static void fusion_io_failed(struct fusion *fs, const struct fusion_io *io, const struct bio *bio,
			     blk_status_t error)
{
	if (fusion_is_failure(bio, error))
		fusion_member_failed(fs, io->disk);
	if (op_is_write(bio_op(bio)) && error != BLK_STS_AGAIN && error != BLK_STS_NOTSUPP)
		WRITE_ONCE(fs->shadows.unsure, true);
}

static void fusion_end_flush(struct fusion *fs, struct fusion_io *io)
{
	unsigned long flags;

	io->flush = false;
	spin_lock_irqsave(&fs->lock, flags);
	WRITE_ONCE(fs->flush.nr, fs->flush.nr - 1);
	spin_unlock_irqrestore(&fs->lock, flags);
	/* The table cannot be freed before this bio has ended. */
	wake_up(&fs->flush.wait);
}

/* It holds no slot: a flush, or what was completed without one. */
static noinline void fusion_end_special(struct fusion *fs, struct fusion_io *io,
					const struct bio *bio, blk_status_t *error)
{
	if (io->flush && *error) {
		fusion_member_failed(fs, FUSION_FAST);
		DMERR_LIMIT("%s: fast member %s: a flush failed: %d",
			    dm_table_device_name(fs->ti->table), fs->dev[FUSION_FAST]->name,
			    blk_status_to_errno(*error));
	}
	/* See fusion_flush_slow(). The committer changes the mode. */
	if (bio->bi_opf & REQ_PREFLUSH && !fs->read_only) {
		if (*error) {
			WRITE_ONCE(fs->flush.lost, 1);
			fusion_commit_kick(fs);
		} else if (READ_ONCE(fs->flush.lost)) {
			*error = BLK_STS_IOERR;
		}
	}
	if (io->flush)
		fusion_end_flush(fs, io);
}

/* The bio has used its slot. */
static __always_inline void fusion_end_slot(struct fusion *fs, struct fusion_io *io,
					    const struct bio *bio, blk_status_t error)
{
	if (unlikely(io->open))
		fusion_open_written(fs, io, !error);
	this_cpu_inc(fs->stats->done[fusion_disk_dev(fs, io->disk)]);
	if (unlikely(error))
		fusion_io_failed(fs, io, bio, error);
	fusion_leave(fs, io);
}

/* The same of a write over entries, one that waits for a commit, or is counted; or of copies. */
static noinline int fusion_end_noted(struct fusion *fs, struct fusion_io *io, struct bio *bio,
				     blk_status_t error)
{
	const bool again = io->copied && fusion_copies_read(fs, bio, error);

	/* behind fusion_mark_written(): the next commit flushes before it records what dies here */
	if (io->over)
		fusion_land_written(fs, io, !error);
	if (io->counted)
		fusion_copies_written(fs, io);
	fusion_end_slot(fs, io, bio, error);
	if (again) {
		fusion_defer_bio(fs, bio);
		return DM_ENDIO_INCOMPLETE;
	}
	if (!io->fua)
		return DM_ENDIO_DONE;
	io->fua = false;
	if (error)
		return DM_ENDIO_DONE;
	if (io->landed)
		fusion_land_flush(fs, bio);
	else
		fusion_complete_after_commit(fs, bio);
	return DM_ENDIO_INCOMPLETE;
}

int fusion_end_io(struct dm_target *ti, struct bio *bio, blk_status_t *error)
{
	struct fusion *fs = ti->private;
	struct fusion_io *io = fusion_io(bio);

	if (unlikely(io->epoch == FUSION_NO_EPOCH)) {
		fusion_end_special(fs, io, bio, error);
		return DM_ENDIO_DONE;
	}

	/*
	 * An old member may be gone: a flush of it would fail, and end mode RW. No flush promises
	 * what was not written.
	 */
	if (op_is_write(bio_op(bio)) && !(io->disk == FUSION_OLD && *error))
		fusion_mark_written(fs, io->disk);
	/* A single test. */
	if (unlikely(io->over || io->fua || io->copied || io->counted))
		return fusion_end_noted(fs, io, bio, *error);
	fusion_end_slot(fs, io, bio, *error);
	return DM_ENDIO_DONE;
}
