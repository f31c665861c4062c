// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the landing log of a set that is being loaded.
 *
 * The journal lists the segments. They are read in the order of their numbers, and what is live in
 * them is entered into the index, as far as the map has the extents on the slow member (INV18). An
 * entry of a later batch takes the place of an earlier one.
 *
 * Segments behind the end of the log have no valid batch. The checkpoint that begins the epoch
 * frees them, records where the others end, and that the log goes on behind them all. So nothing is
 * ever written to a segment of an earlier activation. What was found was flushed before that, as
 * all that a new epoch relies on: fusion_load_flush().
 *
 * What another machine appends leaves no trace in the journal. So what is needed to read the log
 * once more is kept until it is known whether that machine may have gone on meanwhile.
 *
 * A set that is opened read-only gets the same index, and records nothing.
 */
#include <linux/mm.h>
#include <linux/sort.h>

#include "dm-fusion.h"
#include "dm-fusion-landing.h"

/* What the replay works on, and the part of a segment that the buffers of the journal hold. */
struct fusion_land_reader {
	struct fusion *fs;
	struct fusion_landing l;
	struct fusion_landed found;	/* where the log has ended, when it was read first */
	u32 *of_slot;			/* place + 1 of the segment in each slot; or 0 */
	struct fusion_segment *seg;	/* in the order of their numbers */
	u32 *place;			/* of each in land->segment; before, those not in use */
	u32 nr;
	const struct fusion_segment *at;
	u32 pos;
	u32 nr_read;
};

/* -- records of the journal ------------------------------------------------------------------ */

static int fusion_land_alloc_reader(struct fusion_land_reader *rd)
{
	const struct fusion *fs = rd->fs;
	const u32 slots = max(fs->sb.nr_fast_slots, fs->sb_next.nr_fast_slots);

	rd->of_slot = kvcalloc(slots, sizeof(*rd->of_slot), GFP_KERNEL);
	rd->seg = kvcalloc(fs->land.max, sizeof(*rd->seg), GFP_KERNEL);
	rd->place = kvcalloc(fs->land.max, sizeof(*rd->place), GFP_KERNEL);
	return rd->of_slot && rd->seg && rd->place ? 0 : -ENOMEM;
}

int fusion_land_load_begin(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	struct fusion_land_reader *rd;
	u32 i;

	if (!land->max)
		return 0;
	rd = kzalloc(sizeof(*rd), GFP_KERNEL);
	if (!rd)
		return -ENOMEM;
	land->reader = rd;
	rd->fs = fs;
	if (fusion_land_alloc_reader(rd))
		return -ENOMEM;
	for (i = 0; i < land->max; i++)
		rd->place[i] = land->max - 1 - i;
	rd->nr = land->max;
	return 0;
}

u32 fusion_land_listed(const struct fusion *fs, const struct fusion_segment *seg)
{
	const u32 place = fs->land.reader->of_slot[seg->slot] - 1;

	return place != FUSION_LAND_NONE && fs->land.segment[place].segno == seg->segno ?
	       place : FUSION_LAND_NONE;
}

/* The segment is not listed any more. */
static void fusion_land_load_free(struct fusion *fs, const struct fusion_segment *found)
{
	struct fusion_land_reader *rd = fs->land.reader;
	const u32 place = fusion_land_listed(fs, found);

	if (place == FUSION_LAND_NONE)
		return;
	fs->land.segment[place].state = FUSION_LAND_UNUSED;
	rd->of_slot[found->slot] = 0;
	rd->place[rd->nr++] = place;
}

int fusion_land_load_record(struct fusion *fs, const struct fusion_record *rec)
{
	const struct fusion_segment *found = &rec->segment;
	struct fusion_land *land = &fs->land;
	struct fusion_land_reader *rd = land->reader;
	struct fusion_land_segment *seg;
	u32 place;

	if (rec->op == FUSION_OP_LANDED) {
		land->ended = rec->landed;
		return 0;
	}
	if (rec->op == FUSION_OP_SEGFREE) {
		fusion_land_load_free(fs, found);
		return 0;
	}
	if (!rd->of_slot[found->slot] && !rd->nr) {
		DMERR("%s: landing log: more segments than there may be",
		      dm_table_device_name(fs->ti->table));
		return -EILSEQ;
	}
	if (!rd->of_slot[found->slot])
		rd->of_slot[found->slot] = rd->place[--rd->nr] + 1;
	place = rd->of_slot[found->slot] - 1;
	seg = &land->segment[place];
	seg->state = FUSION_LAND_LISTED;
	seg->slot = found->slot;
	seg->segno = found->segno;
	seg->key = found->key;
	seg->end = found->end;
	memcpy(land->recorded + (size_t)place * land->bitmap_bytes, found->live,
	       land->bitmap_bytes);
	return 0;
}

/* -- reading --------------------------------------------------------------------------------- */

/* As fusion_load_read_ring(). */
static const void *fusion_land_read(void *ctx, const struct fusion_segment *seg, u32 pos)
{
	struct fusion_land_reader *rd = ctx;
	struct fusion *fs = rd->fs;
	const u64 blocknr = fusion_segment_blocknr(&fs->sb, seg->slot, pos);
	u32 nr;

	if (seg != rd->at || pos < rd->pos || pos - rd->pos >= rd->nr_read) {
		nr = min(fs->land.blocks - pos, FUSION_BUF_BLOCKS);
		if (fusion_rw_blocks(fs, &fs->journal, REQ_OP_READ | REQ_META, blocknr, 0, nr)) {
			/* Only the block asked for matters; its neighbours may be bad. */
			nr = 1;
			if (fusion_rw_blocks(fs, &fs->journal, REQ_OP_READ | REQ_META, blocknr, 0,
					     nr)) {
				rd->nr_read = 0;
				return NULL;
			}
		}
		rd->at = seg;
		rd->pos = pos;
		rd->nr_read = nr;
	}
	return page_address(fs->journal.buf[pos - rd->pos]);
}

/* -- what is found --------------------------------------------------------------------------- */

static int fusion_land_apply(void *ctx, const struct fusion_segment *seg, u32 pos,
			     const struct fusion_entry *entry)
{
	struct fusion_land_reader *rd = ctx;
	struct fusion *fs = rd->fs;
	struct fusion_land *land = &fs->land;
	const u32 word = fs->map[entry->lext], place = rd->place[seg - rd->seg];
	u32 before;

	/* Of an extent that was moved or discarded: the bit is cleared with the next record. */
	if (!fusion_word_mapped(word) || fusion_word_dev(word) != FUSION_SLOW)
		return 0;
	if (fusion_word_state(word) != FUSION_STABLE) {
		DMERR("%s: landing log: extent %u is partial, and has an entry in fast slot %u",
		      dm_table_device_name(fs->ti->table), entry->lext, seg->slot);
		return -EILSEQ;
	}
	before = fusion_land_find(land, entry->lext, entry->block);
	if (before != FUSION_LAND_NONE)
		fusion_land_remove(land, before);
	fusion_land_insert(land, place * land->blocks + pos, entry->lext, entry->block);
	return 0;
}

static void fusion_land_ends(void *ctx, const struct fusion_segment *seg, u32 end)
{
	struct fusion_land_reader *rd = ctx;

	rd->fs->land.segment[rd->place[seg - rd->seg]].end = end;
}

static void fusion_land_tell(const struct fusion_land_reader *rd)
{
	const char *device = dm_table_device_name(rd->fs->ti->table);
	const struct fusion_landing *l = &rd->l;

	if (l->bad)
		DMERR("%s: landing log: block %u of fast slot %u: %s", device, l->bad_pos,
		      l->bad->slot, l->why);
	else
		DMERR("%s: landing log: %s", device, l->why);
}

static int fusion_land_replay(struct fusion_land_reader *rd)
{
	struct fusion *fs = rd->fs;
	struct fusion_landing *l = &rd->l;
	int r;

	/* with the bounds of what was written */
	l->sb = &fs->sb_next;
	l->seg = rd->seg;
	l->nr = rd->nr;
	l->from = fs->land.ended;
	l->read = fusion_land_read;
	l->apply = fusion_land_apply;
	l->ends = fusion_land_ends;
	l->ctx = rd;
	r = fusion_landing_replay(l);
	if (r)
		fusion_land_tell(rd);
	rd->found = l->at;
	fs->land.ended = l->at;
	if (!r && l->nr_walked && !(fs->sb.flags & FUSION_SB_CLEAN))
		DMINFO("%s: landing log: %llu batches behind the last commit",
		       dm_table_device_name(fs->ti->table), l->nr_walked);
	return r;
}

/* The log goes on behind all segments that there are. Return: 0 or -EILSEQ. */
static int fusion_land_close(struct fusion_land_reader *rd)
{
	struct fusion_landed *ended = &rd->fs->land.ended;

	if (rd->nr)
		ended->segno = max(ended->segno, rd->seg[rd->nr - 1].segno + 1);
	ended->pos = 0;
	rd->fs->land.next_segno = ended->segno;
	rd->fs->land.at = *ended;
	rd->fs->land.csum = ended->csum;
	if (ended->segno <= FUSION_MAX_SEGNO)
		return 0;
	DMERR("%s: landing log: no number is left for another segment",
	      dm_table_device_name(rd->fs->ti->table));
	return -EILSEQ;
}

/* -- all of it ------------------------------------------------------------------------------- */

static int fusion_land_claim(struct fusion *fs, struct fusion_land_segment *seg)
{
	const u32 word = fusion_word(FUSION_STABLE, FUSION_FAST, seg->slot);

	if (fusion_slot_claim(fs, word)) {
		DMERR("%s: landing log: a segment lies on the slot of an extent: fast slot %u",
		      dm_table_device_name(fs->ti->table), seg->slot);
		return -EILSEQ;
	}
	fs->land.nr++;
	return 0;
}

static int fusion_land_compare(const void *a, const void *b)
{
	const struct fusion_segment *sa = a, *sb = b;

	return sa->segno < sb->segno ? -1 : sa->segno > sb->segno;
}

/* Take the slots of the segments, and put them into the order of their numbers. */
static int fusion_land_list(struct fusion_land_reader *rd)
{
	struct fusion *fs = rd->fs;
	struct fusion_land *land = &fs->land;
	u32 i;
	int r;

	for (i = 0; i < land->max; i++) {
		struct fusion_land_segment *seg = &land->segment[i];

		if (seg->state != FUSION_LAND_LISTED)
			continue;
		r = fusion_land_claim(fs, seg);
		if (r)
			return r;
		rd->seg[rd->nr++] = (struct fusion_segment){
			.slot = seg->slot,
			.segno = seg->segno,
			.key = seg->key,
			.end = seg->end,
			.live = land->recorded + (size_t)i * land->bitmap_bytes,
		};
	}
	sort(rd->seg, rd->nr, sizeof(*rd->seg), fusion_land_compare, NULL);
	for (i = 0; i < rd->nr; i++)
		rd->place[i] = (rd->seg[i].live - land->recorded) / land->bitmap_bytes;
	return 0;
}

/*
 * Segments would lie on slots that are given up, or on a disk that leaves: a set that shrinks, or
 * has an old member, has none. Return: 0 or -EAGAIN.
 */
static int fusion_land_allowed(const struct fusion *fs)
{
	const struct fusion_land *land = &fs->land;
	u32 i;

	if (!fs->shrinks && !land->off)
		return 0;
	for (i = 0; i < land->max; i++) {
		if (land->segment[i].state != FUSION_LAND_LISTED)
			continue;
		DMERR("%s: landing log: is not empty: send landing off before the set %s",
		      dm_table_device_name(fs->ti->table),
		      fs->shrinks ? "shrinks" : "gets another member");
		return -EAGAIN;
	}
	return 0;
}

int fusion_land_load(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	struct fusion_land_reader *rd = land->reader;
	int r;

	if (!land->max)
		return 0;
	if (!land->ended.segno)
		land->ended = FUSION_LANDED_NOWHERE;
	rd->nr = 0;
	/* the drain knows of one slow disk only */
	land->off = fusion_sb_has_old(&fs->sb);
	/* the set as it was knows nothing of new slots, and has no segment with its old member */
	land->tight = fs->grows || fs->shrinks || fs->old.over;
	r = fusion_land_allowed(fs);
	if (!r)
		r = fusion_land_list(rd);
	if (!r)
		r = fusion_land_replay(rd);
	return r ?: fusion_land_close(rd);
}

static int fusion_land_ignore(void *ctx, const struct fusion_segment *seg, u32 pos,
			      const struct fusion_entry *entry)
{
	return 0;
}

int fusion_land_check_end(struct fusion *fs)
{
	struct fusion_land_reader *rd = fs->land.reader;
	const struct fusion_landed *at, *found;
	int r;

	if (!rd)
		return 0;
	rd->nr_read = 0;
	rd->l.apply = fusion_land_ignore;
	rd->l.ends = NULL;
	r = fusion_landing_replay(&rd->l);
	at = &rd->l.at;
	found = &rd->found;
	if (!r && at->seq == found->seq && at->csum == found->csum && at->segno == found->segno &&
	    at->pos == found->pos)
		return 0;
	if (r != -EIO && (r || at->seq >= found->seq))
		return -EUSERS;
	if (!r)
		rd->l.why = "it now reads differently";
	fusion_land_tell(rd);
	return -EIO;
}

u32 fusion_land_listed_blocks(const struct fusion *fs)
{
	return fs->land.max ? fusion_land_record_blocks(fs, fs->land.nr) : 0;
}

void fusion_land_loaded(struct fusion *fs, bool opened)
{
	struct fusion_land *land = &fs->land;
	struct fusion_land_reader *rd = land->reader;

	if (rd) {
		kvfree(rd->place);
		kvfree(rd->seg);
		kvfree(rd->of_slot);
		kfree(rd);
	}
	land->reader = NULL;
	if (!opened || !land->tight)
		return;
	spin_lock_irq(&fs->lock);
	land->tight = false;
	land->opens = !land->off;
	fusion_commit_soon(fs);
	spin_unlock_irq(&fs->lock);
}
