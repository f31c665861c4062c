// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: moves to the fast member of extents with entries in the landing log.
 *
 * Entries count only on the slow member (INV18). So before an extent is copied, its blocks are, to
 * the slow member, by rounds of the drain for the extents of a batch alone. Users go on writing
 * meanwhile; writes of blocks that are being copied wait for the blocks of one extent. If a block
 * has got into the log again, or is written over, the move is as one that a write has cancelled,
 * and the demotion that makes its room is not begun. From when the extent is WATCHED on, such a
 * write cancels the copy before it gets into the log.
 *
 * After too many cancels, the extent is LOCKED before it is copied. Once the writes that were sent
 * before have ended, nothing gets into the log any more: then what it still has there is copied,
 * and the move cannot be cancelled. Writers wait for these blocks as well then. They are few: those
 * that got there since the extent was drained as any other.
 *
 * That the entries are dead need not be durable before the copy: the commit that has the MOVE says
 * so at the latest (INV20).
 */
#include "dm-fusion.h"

/* Is that a move of an extent that has something in the log? */
static bool fusion_drain_has_entries(struct fusion *fs, const struct fusion_job *job)
{
	bool any;

	if (job->move.to != FUSION_FAST)
		return false;
	spin_lock_irq(&fs->lock);
	any = fusion_land_any(&fs->land, job->move.lext, fs->commit.running);
	spin_unlock_irq(&fs->lock);
	return any;
}

/* Drain those that are LOCKED, or all. Return: their number; @failed: blocks of some have. */
static unsigned int fusion_drain_jobs(struct fusion *fs, struct fusion_job *jobs, unsigned int nr,
				      bool locked, const struct fusion_force *force, bool *failed)
{
	u32 lexts[FUSION_LONG_BATCH];
	struct fusion_drained counts;
	unsigned int i, n = 0;

	for (i = 0; i < nr; i++) {
		if ((locked && !(jobs[i].started && jobs[i].move.hold)) ||
		    !fusion_drain_has_entries(fs, &jobs[i]))
			continue;
		jobs[i].drained = true;
		lexts[n++] = jobs[i].move.lext;
	}
	if (!n)
		return 0;
	*failed = fusion_drain_extents(fs, lexts, n, locked || fusion_drain_quiet(fs), force,
				       locked ? FUSION_DRAIN_PRESSED : FUSION_DRAIN_BESIDE,
				       &counts);
	*failed |= counts.failed || counts.given_up;
	return n;
}

void fusion_drain_for_moves(struct fusion *fs, struct fusion_job *jobs, unsigned int nr,
			    const struct fusion_force *force, bool idle_only)
{
	bool failed, put_off;
	unsigned int i;

	if (!fs->land.max)
		return;
	put_off = idle_only && !fusion_is_idle(fs);
	if (!put_off && !fusion_drain_jobs(fs, jobs, nr, false, force, &failed))
		return;
	for (i = 0; i < nr; i++) {
		if (jobs[i].move.hold || !fusion_drain_has_entries(fs, &jobs[i]))
			continue;
		jobs[i].hindered = true;
		if (!put_off)
			jobs[i].outcome = failed ? FUSION_FAILED : FUSION_CANCELLED;
	}
}

void fusion_drain_locked(struct fusion *fs, struct fusion_job *jobs, unsigned int nr,
			 const struct fusion_force *force)
{
	unsigned int i;
	bool failed;

	if (!fs->land.max || !fusion_drain_jobs(fs, jobs, nr, true, force, &failed))
		return;
	for (i = 0; i < nr; i++)
		if (jobs[i].started && jobs[i].move.hold && fusion_drain_has_entries(fs, &jobs[i]))
			jobs[i].outcome = FUSION_FAILED;
}
