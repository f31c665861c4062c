// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: moves to the fast member of extents with entries in the landing log.
 *
 * Entries count only on the slow member (INV18). While the extent is WATCHED, writes get into the
 * log as before, and do not cancel the copy: its source stays as it is. Others do. When it has been
 * copied it is LOCKED, and as soon as no block of it is on its way any more, its entries stay as
 * they are. Then they are laid over the copy, from the log, which is on the fast member as well.
 * The slow member is neither written nor flushed for that. Readers find the entries until the
 * commit with the MOVE has ended, and the new slot from then on. Then they die. Until a later
 * commit records that, an opening drops them, as the extent is on the fast member. So no flush
 * waits for that commit; but the extent does not move to the slow member before it has ended.
 *
 * The slot that it leaves does not become its shadow then: it is older than the extent.
 *
 * What a batch has copied to the slow member is flushed before the extents are LOCKED, beside the
 * flushes of users. So neither these nor the writers wait for that in the commit.
 */
#include <linux/completion.h>

#include "dm-fusion.h"

/* Blocks that are looked up under one lock, and then copied. */
#define CHUNK	32U

/* Blocks that lie side by side in the log. */
struct piece {
	u32 pos;
	u32 block;
	u32 nr;
};

/* Copies under way; @ended counts those that are not any more. */
struct copies {
	struct completion ended;
	bool unread;
	bool unwritten;
};

static void fusion_merge_copied(int read_err, unsigned long write_err, void *context)
{
	struct copies *copies = context;

	if (read_err)
		WRITE_ONCE(copies->unread, true);
	if (write_err)
		WRITE_ONCE(copies->unwritten, true);
	complete(&copies->ended);
}

/*
 * What is there of an extent, from *@block on, up to CHUNK blocks? Advances *@block. The epoch
 * keeps the segments: INV21. Return: the number of pieces; 0: @io is in no epoch.
 */
static u32 fusion_merge_look(struct fusion *fs, u32 lext, u32 *block, struct piece *pieces,
			     struct fusion_io *io)
{
	struct fusion_land *land = &fs->land;
	const u32 end = min(*block + CHUNK, land->blocks);
	unsigned long flags;
	u32 n = 0, nr, pos;

	spin_lock_irqsave(&land->lock, flags);
	for (; *block < end; *block += nr) {
		nr = fusion_land_run(land, lext, *block, end, &pos);
		if (pos != FUSION_LAND_NONE)
			pieces[n++] = (struct piece){ .pos = pos, .block = *block, .nr = nr };
	}
	if (n) {
		rcu_read_lock_sched();
		fusion_enter(fs, io);
		rcu_read_unlock_sched();
	}
	spin_unlock_irqrestore(&land->lock, flags);
	return n;
}

static void fusion_merge_begin(struct fusion *fs, const struct fusion_job *job,
			       const struct piece *piece, struct copies *copies)
{
	struct dm_io_region from = {
		.bdev = fs->dev[FUSION_FAST]->bdev,
		.sector = fusion_land_sector(fs, piece->pos),
		.count = (sector_t)piece->nr * FUSION_BLOCK_SECTORS,
	};
	struct dm_io_region to = {
		.bdev = fs->dev[FUSION_FAST]->bdev,
		.sector = fusion_word_sector(fs, job->new) +
			  (sector_t)piece->block * FUSION_BLOCK_SECTORS,
		.count = from.count,
	};

	dm_kcopyd_copy(fs->kcopyd, &from, 1, &to, 0, fusion_merge_copied, copies);
}

/* Up to CHUNK blocks of a job. Return: were they copied? */
static bool fusion_merge_some(struct fusion *fs, struct fusion_job *job, u32 *block)
{
	struct copies copies = { };
	struct piece pieces[CHUNK];
	struct fusion_io io = { };
	u32 i, n;

	n = fusion_merge_look(fs, job->move.lext, block, pieces, &io);
	if (!n)
		return true;
	init_completion(&copies.ended);
	for (i = 0; i < n; i++) {
		fusion_merge_begin(fs, job, &pieces[i], &copies);
		job->merged += pieces[i].nr;
	}
	for (i = 0; i < n; i++)
		wait_for_completion(&copies.ended);
	fusion_leave(fs, &io);
	if (copies.unread || copies.unwritten)
		fusion_member_failed(fs, FUSION_FAST);
	job->retire |= copies.unwritten;
	return !copies.unread && !copies.unwritten;
}

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

void fusion_merge_jobs(struct fusion *fs, struct fusion_job *jobs, unsigned int nr)
{
	unsigned int i;
	u32 block;

	if (!fs->land.max)
		return;
	fusion_merge_flush(fs, jobs, nr);
	fusion_merge_lock(fs, jobs, nr);
	for (i = 0; i < nr; i++) {
		struct fusion_job *job = &jobs[i];

		if (!fusion_merges(job) || !fusion_land_has(&fs->land, job->move.lext))
			continue;
		for (block = 0; block < fs->land.blocks && job->copied;) {
			if (fusion_gate_ready(fs)) {
				job->copied = false;
			} else if (!fusion_merge_some(fs, job, &block)) {
				job->copied = false;
				job->outcome = FUSION_FAILED;
			}
			fusion_mover_tick(fs);
		}
	}
}

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
