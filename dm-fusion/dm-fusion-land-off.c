// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the landing log is off: it is empty, and nothing gets into it.
 *
 * A set with segments can neither shrink nor have a member replaced: they would lie on slots that
 * are given up, or on a disk that leaves. So the message "landing off" ends the log as an opening
 * does. No block gets into it any more. Once those on their way have got there, it goes on behind
 * all segments that there are, and commits free these as they become empty; the drain sees to that.
 * None is opened before "landing on", or before another table is loaded. While the set has an old
 * member, the log is off from the beginning.
 */
#include "dm-fusion.h"
#include "dm-fusion-land-batch.h"

bool fusion_land_turn_off(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	unsigned long flags;
	bool ended;

	spin_lock_irq(&fs->lock);
	spin_lock_irqsave(&land->lock, flags);
	WRITE_ONCE(land->off, true);
	land->opens = false;
	fusion_pace_end(fs);
	ended = !land->nr_batches;
	if (ended && land->ended.segno < land->next_segno)
		fusion_land_leave(fs);
	spin_unlock_irqrestore(&land->lock, flags);
	spin_unlock_irq(&fs->lock);
	return ended;
}

void fusion_land_turn_on(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	unsigned long flags;

	spin_lock_irq(&fs->lock);
	spin_lock_irqsave(&land->lock, flags);
	if (land->off) {
		WRITE_ONCE(land->off, false);
		land->opens = !land->broken;
		fusion_commit_soon(fs);
	}
	spin_unlock_irqrestore(&land->lock, flags);
	spin_unlock_irq(&fs->lock);
	fusion_pace_start(fs);
}

const char *fusion_land_state(const struct fusion_land *land)
{
	return READ_ONCE(land->broken) ? "stopped" : READ_ONCE(land->off) ? "off" : "ok";
}
