// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: moves to the fast member of extents with entries in the landing log.
 *
 * Entries count only on the slow member (INV18). While the extent is WATCHED, writes get into the
 * log as before, and do not cancel the copy: its source stays as it is. Others do. When it has been
 * copied its entries are laid over the copy, from the log, which is on the fast member as well. The
 * slow member is neither written nor flushed for that. Writes go on meanwhile. So what has got into
 * the log since is laid over it once more, a few times if it is much. Then the extent is LOCKED,
 * and as soon as no block of it is on its way any more, its entries stay as they are. The last of
 * them are laid over the copy: so writes to the extents of a batch wait for few blocks, however
 * many the log has of all of them. Readers find the entries until the commit with the MOVE has
 * ended, and the new slot from then on. Then they die. Until a later commit records that, an
 * opening drops them, as the extent is on the fast member. So no flush waits for that commit; but
 * the extent does not move to the slow member before it has ended.
 *
 * The slot that it leaves does not become its shadow then: it is older than the extent.
 *
 * What a batch has copied to the slow member is flushed before the extents are LOCKED, beside the
 * flushes of users. So neither these nor the writers wait for that in the commit.
 */
#include "dm-fusion.h"

/* Blocks that are looked up under one lock. */
#define CHUNK	64U
/* While writes go on: so many times at most, and until no more than so many blocks were laid. */
#define PASSES	4U
#define FEW	64U

/* -- blocks of an extent are laid over its copy ---------------------------------------------- */

/* The number of a position: fusion_land_number(). land->lock held. */
static u64 fusion_merge_number(const struct fusion_land *land, u32 pos)
{
	return fusion_land_number(land, land->segment[pos / land->blocks].segno,
				  pos % land->blocks);
}

/* The first number that the index does not have yet: blocks get there in that order. */
static u64 fusion_merge_mark(struct fusion_land *land)
{
	unsigned long flags;
	u64 mark;

	spin_lock_irqsave(&land->lock, flags);
	mark = land->nr_flight ? fusion_merge_number(land, land->flight[land->flight_first]) :
				 fusion_land_number(land, land->at.segno, land->at.pos);
	spin_unlock_irqrestore(&land->lock, flags);
	return mark;
}

/*
 * Of a piece of @nr blocks that lies side by side from @pos on: those that were laid over the copy
 * before. They come first, as their numbers are lower.
 */
static u32 fusion_merge_laid(const struct fusion_land *land, const struct fusion_job *job, u32 pos,
			     u32 nr)
{
	const u64 number = fusion_merge_number(land, pos);

	return number < job->laid ? min_t(u64, nr, job->laid - number) : 0;
}

/*
 * The next piece that lies side by side in the log, and is yet to be laid, from *@block on, of up
 * to @longest blocks, but no further than CHUNK. Advances *@block. It gets into an epoch, which
 * keeps the segment: INV21. Return: its position, or FUSION_LAND_NONE.
 */
static u32 fusion_merge_look(struct fusion *fs, struct fusion_job *job, u32 *block, u32 longest,
			     struct fusion_piece *copy)
{
	struct fusion_land *land = &fs->land;
	const u32 end = min(*block + CHUNK, land->blocks);
	u32 nr = 0, laid, pos = FUSION_LAND_NONE;
	unsigned long flags;

	spin_lock_irqsave(&land->lock, flags);
	while (*block < end && pos == FUSION_LAND_NONE) {
		nr = fusion_land_run(land, job->move.lext, *block, min(*block + longest, end),
				     &pos);
		laid = pos == FUSION_LAND_NONE ? 0 : fusion_merge_laid(land, job, pos, nr);
		if (laid) {
			nr = laid;
			pos = FUSION_LAND_NONE;
			job->merged += nr;
		}
		*block += nr;
	}
	if (pos != FUSION_LAND_NONE) {
		copy->nr = nr;
		job->merged += nr;
		rcu_read_lock_sched();
		fusion_enter(fs, &copy->io);
		rcu_read_unlock_sched();
	}
	spin_unlock_irqrestore(&land->lock, flags);
	return pos;
}

/* Wait for the oldest copy of the job. Return: was there one? */
static bool fusion_merge_end(struct fusion *fs, struct fusion_job *job)
{
	struct fusion_piece *copy = fusion_pieces_ended(fs->mover.pieces);

	if (!copy)
		return false;
	fusion_leave(fs, &copy->io);
	if (copy->fate == FUSION_PIECE_UNREAD || copy->fate == FUSION_PIECE_UNWRITTEN) {
		fusion_member_failed(fs, FUSION_FAST);
		job->outcome = FUSION_FAILED;
		job->retire |= copy->fate == FUSION_PIECE_UNWRITTEN;
	}
	job->copied &= copy->fate == FUSION_PIECE_WRITTEN;
	fusion_mover_tick(fs);
	return true;
}

/* The next piece of the job. Return: the blocks that it has. */
static u32 fusion_merge_begin(struct fusion *fs, struct fusion_job *job, u32 *block)
{
	struct fusion_pieces *pieces = fs->mover.pieces;
	struct fusion_piece *copy = fusion_pieces_next(pieces);
	u32 pos;

	if (!copy) {
		fusion_merge_end(fs, job);
		return 0;
	}
	pos = fusion_merge_look(fs, job, block, fusion_pieces_longest(pieces), copy);
	if (pos == FUSION_LAND_NONE)
		return 0;
	copy->dev = FUSION_FAST;
	copy->to = fusion_word_sector(fs, job->new) +
		   (sector_t)(*block - copy->nr) * FUSION_BLOCK_SECTORS;
	fusion_pieces_begin(pieces, copy, FUSION_FAST, fusion_land_sector(fs, pos));
	return copy->nr;
}

/* All that it has in the log, but for what was laid over its copy before. Return: blocks. */
static u32 fusion_merge_job(struct fusion *fs, struct fusion_job *job)
{
	const u64 mark = fusion_merge_mark(&fs->land);
	struct blk_plug plug;
	u32 block = 0, nr = 0;

	/* before each write, it is looked at again */
	if (fusion_gate_sure(fs)) {
		job->copied = false;
		return 0;
	}
	job->merged = 0;
	blk_start_plug(&plug);
	while (block < fs->land.blocks && job->copied)
		nr += fusion_merge_begin(fs, job, &block);
	while (fusion_merge_end(fs, job))
		;
	blk_finish_plug(&plug);
	job->laid = mark;
	return nr;
}

/* -- behind step 5 --------------------------------------------------------------------------- */

/* Is it a move to the fast member that has got so far? */
static bool fusion_merges(const struct fusion_job *job)
{
	return job->copied && job->move.to == FUSION_FAST;
}

/* If that fails, no commit succeeds any more. */
static void fusion_merge_flush(struct fusion *fs, const struct fusion_job *jobs, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (jobs[i].copied && !jobs[i].flips && jobs[i].move.to == FUSION_SLOW) {
			fusion_flush_slow_now(fs);
			return;
		}
	}
}

static bool fusion_merge_flies(struct fusion *fs, u32 lext)
{
	struct fusion_land *land = &fs->land;
	unsigned long flags;
	bool flies;

	spin_lock_irqsave(&land->lock, flags);
	flies = fusion_land_flies(land, lext, 0, land->blocks);
	spin_unlock_irqrestore(&land->lock, flags);
	return flies;
}

/* Nothing gets into the log any more of those that no write has cancelled. */
static void fusion_merge_lock(struct fusion *fs, struct fusion_job *jobs, unsigned int nr)
{
	unsigned int i;

	spin_lock_irq(&fs->lock);
	for (i = 0; i < nr; i++)
		if (fusion_merges(&jobs[i]))
			jobs[i].copied = fusion_map_lock(fs, jobs[i].move.lext, jobs[i].old);
	spin_unlock_irq(&fs->lock);
	for (i = 0; i < nr; i++)
		if (fusion_merges(&jobs[i]))
			wait_event(fs->land.wait, !fusion_merge_flies(fs, jobs[i].move.lext));
}

/* Of all jobs whose copies nothing has cancelled. Return: blocks. */
static u32 fusion_merge_pass(struct fusion *fs, struct fusion_job *jobs, unsigned int nr)
{
	unsigned int i;
	u32 laid = 0;

	for (i = 0; i < nr; i++) {
		const u32 lext = jobs[i].move.lext;

		/* nobody else has it in any other state than these */
		if (fusion_merges(&jobs[i]) && fusion_land_has(&fs->land, lext) &&
		    fusion_word_state(READ_ONCE(fs->map[lext])) >= FUSION_WATCHED)
			laid += fusion_merge_job(fs, &jobs[i]);
	}
	return laid;
}

/* Has any of them blocks in the log? */
static bool fusion_merge_any(struct fusion *fs, const struct fusion_job *jobs, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (fusion_merges(&jobs[i]) && fusion_land_has(&fs->land, jobs[i].move.lext))
			return true;
	return false;
}

void fusion_merge_jobs(struct fusion *fs, struct fusion_job *jobs, unsigned int nr)
{
	unsigned int i;

	if (!fs->land.max)
		return;
	fusion_merge_flush(fs, jobs, nr);
	/* if the first blocks get there only now, one at a time will do */
	fusion_pieces_get(fs->mover.pieces, FUSION_MOST_PIECES,
			  fusion_merge_any(fs, jobs, nr) ? FUSION_PIECE_BLOCKS : 1,
			  GFP_NOIO | __GFP_NOWARN | __GFP_NORETRY);
	for (i = 0; i < PASSES; i++)
		if (fusion_merge_pass(fs, jobs, nr) <= FEW)
			break;
	fusion_merge_lock(fs, jobs, nr);
	fusion_merge_pass(fs, jobs, nr);
	fusion_pieces_put(fs->mover.pieces);
}

/* -- behind step 7 --------------------------------------------------------------------------- */

bool fusion_merge_lacks(struct fusion *fs, const struct fusion_job *job)
{
	struct fusion_land *land = &fs->land;
	unsigned long flags;
	u32 counted;

	if (job->move.to != FUSION_FAST ||
	    !fusion_land_any(land, job->move.lext, fs->commit.running))
		return false;
	spin_lock_irqsave(&land->lock, flags);
	counted = fusion_land_counted(land, job->move.lext);
	spin_unlock_irqrestore(&land->lock, flags);
	/* nobody has counted them: then that the word is as it was is all that tells */
	return counted != job->merged && counted != FUSION_LAND_NONE;
}

void fusion_merge_forget(struct fusion *fs, const struct fusion_job *jobs, unsigned int nr)
{
	bool any = false;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (!jobs[i].merged || jobs[i].outcome != FUSION_MOVED)
			continue;
		spin_lock_irq(&fs->lock);
		/*
		 * Otherwise it was unmapped since the commit has ended. These entries died
		 * then, and what it has now may be newer.
		 */
		if (fusion_word_on_fast(fs, READ_ONCE(fs->map[jobs[i].move.lext])))
			fusion_land_left_behind(&fs->land, jobs[i].move.lext);
		/* the next commit to begin records it, if there is something to record */
		if (fs->land.dirty)
			fs->land.left_commit = fs->commit.started + 1;
		spin_unlock_irq(&fs->lock);
		any = true;
	}
	if (any)
		fusion_commit_soon(fs);
}

bool fusion_merge_unrecorded(struct fusion *fs, const struct fusion_job *job)
{
	return job->move.to == FUSION_SLOW && fusion_word_dev(job->old) == FUSION_FAST &&
	       fs->commit.done < fs->land.left_commit;
}
