// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the replica from the opening of a set to its close.
 */
#include "dm-fusion.h"

int fusion_replica_epoch(struct fusion *fs, u32 epoch)
{
	struct fusion_replica *rep = &fs->replica;

	rep->next = rep->sb;
	rep->next.epoch = epoch;
	fusion_super_activate(fs, &rep->next);
	rep->next.flags &= ~FUSION_SB_CLEAN;
	rep->next.generation++;
	return fusion_replica_write_super(fs);
}

void fusion_replica_start(struct fusion *fs, bool written)
{
	struct fusion_replica *rep = &fs->replica;
	bool in_background;

	/*
	 * A member that was resized, or left by another one, needs both superblock copies. I/O
	 * waits for that unless it has grown: its end may be cut off once the resume returns, and
	 * a copy with the old size is not valid then.
	 */
	rep->again = rep->sb.layout_seq != fs->sb.layout_seq || fs->old.over;
	in_background = !written && (fs->grows || !rep->again);
	rep->restart = !written;
	rep->stale = !written;
	rep->since_ms = fusion_now_ms();
	fusion_held_begin(fs);
	spin_lock_irq(&fs->lock);
	WRITE_ONCE(rep->active, true);
	if (in_background)
		fusion_replica_kick(fs);
	spin_unlock_irq(&fs->lock);
	if (!in_background)
		fusion_replica_update(fs, true);
}

void fusion_replica_pause(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;

	spin_lock_irq(&fs->lock);
	WRITE_ONCE(rep->active, false);
	spin_unlock_irq(&fs->lock);
	cancel_delayed_work_sync(&rep->work);
	/* Wait for an update that a message asked for. */
	mutex_lock(&rep->mutex);
	mutex_unlock(&rep->mutex);
}

void fusion_replica_stop(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;
	unsigned int copy;

	if (fs->read_only)
		return;
	mutex_lock(&rep->mutex);
	rep->closing = true;
	if (!fusion_replica_do_update(fs, true, true) && !rep->nr_dirty &&
	    fusion_stale_exact(fs->stale)) {
		rep->next = rep->sb;
		rep->next.flags |= FUSION_SB_CLEAN;
		/* Nothing has changed since that update began: see dm-fusion-load-shadow.c. */
		rep->next.shadows_at = fusion_replica_hands_over(fs) ? rep->next.generation + 1 : 0;
		/* Either superblock copy of a closed set is enough, so write both. */
		for (copy = 0; copy < 2; copy++) {
			rep->next.generation++;
			if (fusion_replica_write_super(fs))
				break;
		}
	}
	rep->closing = false;
	mutex_unlock(&rep->mutex);
}

int fusion_replica_resume(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;
	int r = 0;

	if (fs->read_only)
		return 0;
	mutex_lock(&rep->mutex);
	if (rep->marked) {
		rep->next = rep->sb;
		rep->next.flags &= ~FUSION_SB_CLEAN;
		rep->next.generation++;
		r = fusion_replica_write_super(fs);
	}
	mutex_unlock(&rep->mutex);
	if (r)
		return r;

	spin_lock_irq(&fs->lock);
	rep->due_ms = U64_MAX;
	WRITE_ONCE(rep->active, true);
	if (rep->nr_dirty || rep->nr_held || rep->stale)
		fusion_replica_schedule(fs, FUSION_REPLICA_SOON_MS);
	spin_unlock_irq(&fs->lock);
	return 0;
}
