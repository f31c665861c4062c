// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: places that copies of what was read have to leave, as the landing log comes near to
 * them, or others lack slots. dm-fusion-copies-work.c has them done with then.
 */
#include "dm-fusion.h"

/* No place without a segment is lent for that time when others lack slots. */
#define HUNGRY_MS	60000U

void fusion_copies_retreat(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	u64 segno;
	u32 i;

	if (!land->copies->nr_shelves)
		return;
	for (segno = land->at.segno; segno <= land->at.segno + FUSION_COPY_AHEAD; segno++) {
		i = land->ahead[segno % FUSION_LAND_AHEAD];
		if (land->segment[i].state != FUSION_LAND_UNUSED &&
		    land->segment[i].segno == segno && fusion_copies_leave(land, i))
			queue_work(land->copies->wq, &land->copies->work);
	}
}

u32 fusion_copies_hand_over(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	u32 i;

	for (i = 0; i < land->max; i++)
		if (land->segment[i].state == FUSION_LAND_UNUSED && fusion_copies_lent(land, i))
			break;
	land->nr_lent--;
	return i;
}

void fusion_copies_leave_all(struct fusion *fs, bool segments)
{
	struct fusion_land *land = &fs->land;
	u32 i;

	for (i = 0; i < land->max; i++)
		if (segments || land->segment[i].state == FUSION_LAND_UNUSED)
			fusion_copies_leave(land, i);
	queue_work(land->copies->wq, &land->copies->work);
}

bool fusion_copies_yield(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	unsigned long flags;

	if (!land->nr_lent)
		return false;
	spin_lock_irqsave(&land->lock, flags);
	land->copies->hungry_ms = fusion_now_ms() + HUNGRY_MS;
	fusion_copies_leave_all(fs, false);
	spin_unlock_irqrestore(&land->lock, flags);
	return true;
}

u64 fusion_copies_pay(struct fusion *fs)
{
	struct fusion_copies *c = fs->land.copies;
	u64 bytes;

	if (!c)
		return 0;
	spin_lock_irq(&fs->land.lock);
	bytes = c->unpaid;
	c->unpaid = 0;
	spin_unlock_irq(&fs->land.lock);
	return bytes;
}
