// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: what commits record of the landing log, and the slots of its segments.
 *
 * A segment is recorded again when entries of it have died, or when the log has got past it, and
 * all are at the end of a checkpoint, as the bitmaps of OPEN extents are. So one that is opened
 * needs no records of its own: it writes a checkpoint.
 *
 * The bitmaps are copied in step 1 of the commit, with the transaction, and so is how far the log
 * has got: the batches up to there have been written, and step 4 flushes them before the records.
 * An entry that dies by an UNMAP does so in the section that records it: both are in the same
 * commit. One that died in a write did so behind fusion_mark_written(): step 3 flushes that. The
 * order of records (INV20):
 *
 *	UNMAP, MOVE	before the bits of entries that died by them
 *	SEGFREE		of segments without a valid batch that the log has got past: an opening
 *			has found them behind its end
 *	SEGMENT		with where it ends, once the log has got past it. Bits of entries that newer
 *			ones have superseded are clear; those of others that have died are not yet.
 *			Otherwise an entry could be dead, and the older one of the block alive
 *	SEGMENT		the latter are clear, too
 *	LANDED		behind the ends of all segments that the log has got past
 *	SEGFREE		of those without entries
 *	SEGMENT		of new ones, all bits of which are set. Nothing is written to a segment
 *			before the commit has ended
 *	OPEN		of an extent that had entries: INV18
 *
 * Of the segment that is being filled, bits behind the end of the log are set.
 *
 * Commits open segments ahead of the log, in the free slots that fusion_spares() keeps for it. An
 * activation does so from the commit on that begins its epoch: this one records the ends of all
 * that were there before.
 */
#include <linux/random.h>
#include <linux/string.h>

#include "dm-fusion.h"
#include "dm-fusion-landing.h"

/*
 * Blocks of segments that are open ahead of the one that is being filled, at most: an opening reads
 * them all, and they lie empty until then.
 */
#define MOST_BLOCKS_AHEAD	(128U << 20 >> 12)

u32 fusion_land_record_blocks(const struct fusion *fs, u32 nr)
{
	const u32 each = FUSION_JOURNAL_PAYLOAD / fusion_record_bytes(&fs->sb, FUSION_OP_SEGMENT);

	return DIV_ROUND_UP(2 * nr, each) + 1;
}

u32 fusion_land_journal_blocks(const struct fusion *fs)
{
	return fs->land.max ? fusion_land_record_blocks(fs, fs->land.max) : 0;
}

/* -- segments that are opened ---------------------------------------------------------------- */

/* A burst of writes gets into those that are there before the next commit. */
static u32 fusion_land_most_ahead(const struct fusion_land *land)
{
	const u32 most = clamp(MOST_BLOCKS_AHEAD / land->blocks, 1U, FUSION_LAND_AHEAD - 1);

	return clamp(land->max / 2, 1U, most);
}

/*
 * Is there need of another segment, and room? What the log has got to must stay a number, too. A
 * fence that is rising counts the slots that are free just once. fs->lock held.
 */
static bool fusion_land_may_open(const struct fusion *fs)
{
	const struct fusion_land *land = &fs->land;

	return land->opens && land->nr + land->nr_kept < land->max &&
	       fusion_mode(fs) == FUSION_RW &&
	       !fs->commit.closed && !fs->slots.fence.rising &&
	       land->next_segno < FUSION_MAX_SEGNO && land->ended.seq < FUSION_MAX_COUNTER / 2 &&
	       land->next_segno <= land->ended.segno + fusion_land_most_ahead(land) &&
	       (land->nr_lent || fs->slots.nr_free[FUSION_FAST] > fs->sb.spare_fast);
}

bool fusion_land_runs_short(const struct fusion *fs)
{
	const struct fusion_land *land = &fs->land;

	return land->next_segno <= land->ended.segno ||
	       (fusion_land_may_open(fs) &&
		land->next_segno <= land->ended.segno + fusion_land_most_ahead(land) / 2);
}

/*
 * A place that is free, and a slot for it. One of those that copies have comes last, as they have
 * to leave it before it is used. Both locks held. Return: the place, or FUSION_LAND_NONE.
 */
static u32 fusion_land_free_place(struct fusion *fs, u32 *slot)
{
	struct fusion_land *land = &fs->land;
	u32 i, word = FUSION_WORD_UNMAPPED;

	if (land->nr_lent && (land->nr + land->nr_kept + land->nr_lent == land->max ||
			      fs->slots.nr_free[FUSION_FAST] <= fs->sb.spare_fast)) {
		i = fusion_copies_hand_over(fs);
		*slot = land->segment[i].slot;
		return i;
	}
	i = fusion_copies_bare_place(land);
	if (i != FUSION_LAND_NONE)
		word = fusion_slot_get(fs, FUSION_FAST, 0, 0);
	if (!fusion_word_mapped(word))
		return FUSION_LAND_NONE;
	*slot = fusion_word_slot(word);
	return i;
}

/* The commit under way opens a segment at a place that is free. Both locks held. */
static bool fusion_land_open(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	struct fusion_land_segment *seg;
	u32 slot, i = fusion_land_free_place(fs, &slot);

	if (i == FUSION_LAND_NONE)
		return false;
	seg = &land->segment[i];
	/* one by one: who reads or writes copies there looks at the slot without a lock */
	if (seg->slot != slot)
		WRITE_ONCE(seg->slot, slot);
	seg->segno = land->next_segno++;
	seg->key = get_random_u64() ?: 1;
	seg->end = 0;
	seg->nr_live = 0;
	seg->state = FUSION_LAND_OPENING;
	seg->steps = BIT(FUSION_LAND_NEW);
	seg->dirty = false;
	seg->older = false;
	seg->dead = false;
	seg->ends = false;
	seg->failed = false;
	seg->kept = false;
	land->ahead[seg->segno % FUSION_LAND_AHEAD] = seg - land->segment;
	memset(land->recorded + (seg - land->segment) * land->bitmap_bytes, 0xff,
	       land->blocks / 8);
	land->nr++;
	return true;
}

/* -- records --------------------------------------------------------------------------------- */

/* What is recorded of a segment is as it is now. Both locks held. */
static void fusion_land_take_bits(struct fusion_land *land, u32 i)
{
	const struct fusion_land_segment *seg = &land->segment[i];
	u8 *recorded = land->recorded + (size_t)i * land->bitmap_bytes;
	u8 *dying = land->dying + (size_t)i * land->bitmap_bytes;
	u8 *killed = land->killed + (size_t)i * land->bitmap_bytes;
	u32 pos;

	memcpy(recorded, land->live + (size_t)i * land->bitmap_bytes, land->bitmap_bytes);
	memcpy(dying, killed, land->bitmap_bytes);
	memset(killed, 0, land->bitmap_bytes);
	if (seg->segno < land->landed.segno)
		return;
	for (pos = seg->segno == land->landed.segno ? land->landed.pos : 0; pos < land->blocks;
	     pos++)
		recorded[pos / 8] |= 1 << pos % 8;
}

/* Both locks held. */
static void fusion_land_take_segment(struct fusion_land *land, u32 i)
{
	struct fusion_land_segment *seg = &land->segment[i];
	const bool past = seg->segno < land->landed.segno;

	if (past && !seg->end)
		seg->steps = BIT(FUSION_LAND_VOID);
	else if (past && !seg->nr_live)
		seg->steps = BIT(FUSION_LAND_SEGFREE);
	else if (seg->dead)
		seg->steps = BIT(FUSION_LAND_DEAD);
	if ((seg->older || (past && !seg->ends) || land->all) && seg->end)
		seg->steps |= BIT(FUSION_LAND_OLDER);
	/* it has no batches yet, or none that have ended */
	if (!past && !seg->end && land->all)
		seg->steps |= BIT(FUSION_LAND_DEAD);
	fusion_land_take_bits(land, i);
	seg->ends |= past;
	seg->older = false;
	seg->dead = false;
	seg->dirty = false;
}

void fusion_land_take(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	unsigned long flags;
	u32 i;

	if (!fusion_land_unrecorded(fs))
		return;
	spin_lock_irqsave(&land->lock, flags);
	land->landed = land->ended;
	for (i = 0; i < land->max; i++)
		if (land->segment[i].state == FUSION_LAND_LISTED &&
		    (land->segment[i].dirty || land->all))
			fusion_land_take_segment(land, i);
	fusion_land_extents_take(land);
	land->opens |= land->all && !fs->read_only && !land->broken && !land->off && !land->tight;
	while (fusion_land_may_open(fs) && fusion_land_open(fs))
		;
	fusion_copies_retreat(fs);
	land->dirty = 0;
	land->deaths = false;
	land->all = false;
	land->taken = true;
	spin_unlock_irqrestore(&land->lock, flags);
}

static void fusion_land_record(const struct fusion_land *land, u32 i, u32 step,
			       struct fusion_record *rec)
{
	const struct fusion_land_segment *seg = &land->segment[i];
	const bool free = step == FUSION_LAND_VOID || step == FUSION_LAND_SEGFREE;

	rec->op = free ? FUSION_OP_SEGFREE : FUSION_OP_SEGMENT;
	rec->segment = (struct fusion_segment){
		.slot = seg->slot,
		.segno = seg->segno,
	};
	if (free)
		return;
	rec->segment.key = seg->key;
	rec->segment.end = seg->segno < land->landed.segno ? seg->end : 0;
	rec->segment.live = land->recorded + (size_t)i * land->bitmap_bytes;
}

/* Those that die in this commit are not live any more, or are once more. */
static void fusion_land_record_dying(const struct fusion_land *land, u32 i, bool live)
{
	u8 *recorded = land->recorded + (size_t)i * land->bitmap_bytes;
	const u8 *dying = land->dying + (size_t)i * land->bitmap_bytes;
	u32 k;

	for (k = 0; k < land->bitmap_bytes; k++)
		recorded[k] = live ? recorded[k] | dying[k] : recorded[k] & ~dying[k];
}

bool fusion_land_next(const struct fusion *fs, struct fusion_land_cursor *at,
		      struct fusion_record *rec)
{
	const struct fusion_land *land = &fs->land;

	*rec = (struct fusion_record){ };
	if (!land->taken)
		return false;
	for (; at->step < FUSION_LAND_STEPS; at->step++, at->i = 0) {
		if (at->step == FUSION_LAND_LANDED && !at->i &&
		    !fusion_landed_nowhere(&land->landed)) {
			rec->op = FUSION_OP_LANDED;
			rec->landed = land->landed;
			return true;
		}
		for (; at->i < land->max; at->i++) {
			if (!(land->segment[at->i].steps & BIT(at->step)))
				continue;
			if (at->step == FUSION_LAND_OLDER || at->step == FUSION_LAND_DEAD)
				fusion_land_record_dying(land, at->i,
							 at->step == FUSION_LAND_OLDER);
			fusion_land_record(land, at->i, at->step, rec);
			return true;
		}
	}
	return false;
}

bool fusion_land_committed(struct fusion *fs, bool ok)
{
	struct fusion_land *land = &fs->land;
	unsigned long flags;
	u32 i;

	if (!land->taken)
		return false;
	spin_lock_irqsave(&land->lock, flags);
	for (i = 0; i < land->max; i++) {
		struct fusion_land_segment *seg = &land->segment[i];

		if (ok && seg->steps & (BIT(FUSION_LAND_VOID) | BIT(FUSION_LAND_SEGFREE))) {
			seg->state = FUSION_LAND_LEFT;
			land->left++;
		}
		if (ok && seg->steps & BIT(FUSION_LAND_NEW)) {
			seg->state = FUSION_LAND_LISTED;
			/* unless the log was given up meanwhile */
			if (seg->segno < land->ended.segno)
				fusion_land_mark(land, seg);
			else
				WRITE_ONCE(land->appends, true);
		}
		seg->steps = 0;
	}
	if (ok) {
		land->flushed_seq = land->landed.seq;
		fusion_land_extents_gone(land);
	}
	if (ok && land->landed.segno == land->ended.segno)
		land->failed = 0;
	spin_unlock_irqrestore(&land->lock, flags);
	land->taken = false;
	fusion_stale_soon(fs->stale);
	fusion_pace_look(fs);
	return land->left;
}

bool fusion_land_pending(const struct fusion *fs)
{
	return fs->land.deaths || fs->land.all;
}

bool fusion_land_unrecorded(const struct fusion *fs)
{
	return fs->land.dirty || fs->land.all || fusion_land_may_open(fs);
}

void fusion_land_woken(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	unsigned long flags;
	u32 i;

	/* of a set that is being closed, the last commit has come already */
	if (!land->max || fs->commit.closed || fusion_mode(fs) != FUSION_RW)
		return;
	spin_lock_irqsave(&land->lock, flags);
	/*
	 * So that there is something to be recorded: any will do that is not about to be freed, as
	 * LANDED goes with it. Without one, nothing gets into the log before the next commit.
	 */
	for (i = 0; i < land->max; i++)
		if (land->segment[i].state == FUSION_LAND_LISTED &&
		    !(land->segment[i].steps & (BIT(FUSION_LAND_VOID) | BIT(FUSION_LAND_SEGFREE))))
			break;
	if (i < land->max) {
		land->segment[i].dead = true;
		fusion_land_mark(land, &land->segment[i]);
		land->deaths = true;
		fusion_commit_soon(fs);
	}
	spin_unlock_irqrestore(&land->lock, flags);
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

/* There may be room for another segment. */
static void fusion_land_room(struct fusion *fs)
{
	fusion_pace_look(fs);
	/* while a set is loaded, nobody but the loader commits */
	if (!fusion_land_may_open(fs) || !fs->heart.begun)
		return;
	/* small writes go past the log until then, or wait */
	if (READ_ONCE(fs->land.appends) && !fusion_pace_any(&fs->land.pace))
		fusion_commit_soon(fs);
	else
		fusion_commit_kick(fs);
}

void fusion_land_drained(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	u32 i, word;

	for (i = 0; i < land->max; i++) {
		if (land->segment[i].state != FUSION_LAND_DRAINING)
			continue;
		land->segment[i].state = FUSION_LAND_UNUSED;
		land->nr--;
		land->nr_kept += land->segment[i].kept;
		word = fusion_word(FUSION_STABLE, FUSION_FAST, land->segment[i].slot);
		/* the log was given up before it got there */
		if (fusion_copies_lent(land, i))
			land->nr_lent++;
		else if (land->segment[i].failed)
			fusion_slot_retire(fs, word);
		else
			fusion_slot_put(fs, word);
	}
	fusion_land_room(fs);
}

void fusion_land_unkeep(struct fusion *fs, u32 place)
{
	struct fusion_land *land = &fs->land;
	struct fusion_land_segment *seg = &land->segment[place];
	unsigned long flags;
	bool unused;

	spin_lock_irq(&fs->lock);
	spin_lock_irqsave(&land->lock, flags);
	unused = seg->kept && seg->state == FUSION_LAND_UNUSED;
	seg->kept = false;
	spin_unlock_irqrestore(&land->lock, flags);
	land->nr_kept -= unused;
	if (unused)
		fusion_land_room(fs);
	spin_unlock_irq(&fs->lock);
}
