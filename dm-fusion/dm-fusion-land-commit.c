// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: what a commit records of the landing log, and the slots of segments that are free.
 *
 * A segment is recorded again when entries of it have died, and all are at the end of a checkpoint,
 * as the bitmaps of OPEN extents are. So one that is opened needs no records of its own: it writes
 * a checkpoint.
 *
 * The bitmaps are copied in step 1 of the commit, with the transaction. An entry that dies by an
 * UNMAP does so in the section that records it: both are in the same commit. One that died in a
 * write did so behind fusion_mark_written(): step 3 flushes that. The order of records (INV20):
 *
 *	UNMAP, MOVE	before the bits of entries that died by them
 *	SEGFREE		of segments without a valid batch, which an opening has found behind the
 *			end of the log
 *	SEGMENT		with where it ends, which is known once it was opened. Bits of entries that
 *			an opening found to be superseded are clear, and no other entry has died
 *			before they durably are. So no block has more than one live bit from then on
 *	LANDED		behind all segments, as nothing is appended
 *	SEGFREE		of segments without entries
 *	OPEN		of an extent that had entries: INV18
 */
#include <linux/string.h>

#include "dm-fusion.h"

u32 fusion_land_journal_blocks(const struct fusion *fs)
{
	const u32 each = FUSION_JOURNAL_PAYLOAD / fusion_record_bytes(&fs->sb, FUSION_OP_SEGMENT);

	return fs->land.max ? DIV_ROUND_UP(fs->land.max, each) + 1 : 0;
}

/* -- records --------------------------------------------------------------------------------- */

void fusion_land_take(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	struct fusion_land_segment *seg;
	unsigned long flags;
	u32 i;

	if (!land->dirty && !land->all)
		return;
	spin_lock_irqsave(&land->lock, flags);
	for (i = 0; i < land->max; i++) {
		const size_t at = (size_t)i * land->bitmap_bytes;

		seg = &land->segment[i];
		if (seg->state != FUSION_LAND_LISTED || (!seg->dirty && !land->all))
			continue;
		seg->dirty = false;
		seg->step = !seg->end ? FUSION_LAND_VOID :
			    seg->nr_live ? FUSION_LAND_SEGMENT : FUSION_LAND_SEGFREE;
		memcpy(land->recorded + at, land->live + at, land->bitmap_bytes);
	}
	land->dirty = 0;
	land->taken = true;
	land->landed_now = land->all;
	land->all = false;
	spin_unlock_irqrestore(&land->lock, flags);
}

static void fusion_land_record(const struct fusion_land *land, u32 i, struct fusion_record *rec)
{
	const struct fusion_land_segment *seg = &land->segment[i];

	rec->op = seg->step == FUSION_LAND_SEGMENT ? FUSION_OP_SEGMENT : FUSION_OP_SEGFREE;
	rec->segment = (struct fusion_segment){
		.slot = seg->slot,
		.segno = seg->segno,
	};
	if (rec->op == FUSION_OP_SEGMENT) {
		rec->segment.key = seg->key;
		rec->segment.end = seg->end;
		rec->segment.live = land->recorded + (size_t)i * land->bitmap_bytes;
	}
}

bool fusion_land_next(const struct fusion *fs, struct fusion_land_cursor *at,
		      struct fusion_record *rec)
{
	const struct fusion_land *land = &fs->land;

	*rec = (struct fusion_record){ };
	if (!land->taken)
		return false;
	for (; at->step < FUSION_LAND_STEPS; at->step++, at->i = 0) {
		if (at->step == FUSION_LAND_LANDED && land->landed_now && !at->i) {
			rec->op = FUSION_OP_LANDED;
			rec->landed = land->landed;
			return true;
		}
		for (; at->i < land->max; at->i++) {
			if (land->segment[at->i].step != at->step)
				continue;
			fusion_land_record(land, at->i, rec);
			return true;
		}
	}
	return false;
}

bool fusion_land_committed(struct fusion *fs, bool ok)
{
	struct fusion_land *land = &fs->land;
	u32 i;

	if (!land->taken)
		return false;
	for (i = 0; i < land->max; i++) {
		struct fusion_land_segment *seg = &land->segment[i];

		if (ok && (seg->step == FUSION_LAND_VOID || seg->step == FUSION_LAND_SEGFREE)) {
			seg->state = FUSION_LAND_LEFT;
			land->left++;
		}
		seg->step = FUSION_LAND_NOTHING;
	}
	land->taken = false;
	land->landed_now = false;
	return land->left;
}

bool fusion_land_pending(const struct fusion *fs)
{
	return fs->land.dirty || fs->land.all;
}

void fusion_land_record_all(struct fusion *fs)
{
	fs->land.all = fs->land.max;
}

/* -- slots ----------------------------------------------------------------------------------- */

bool fusion_land_drains(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	u32 i;

	if (!land->left)
		return false;
	for (i = 0; i < land->max; i++)
		if (land->segment[i].state == FUSION_LAND_LEFT)
			land->segment[i].state = FUSION_LAND_DRAINING;
	land->left = 0;
	return true;
}

void fusion_land_drained(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	u32 i;

	for (i = 0; i < land->max; i++) {
		if (land->segment[i].state != FUSION_LAND_DRAINING)
			continue;
		land->segment[i].state = FUSION_LAND_UNUSED;
		land->nr--;
		fusion_slot_put(fs, fusion_word(FUSION_STABLE, FUSION_FAST, land->segment[i].slot));
	}
}
