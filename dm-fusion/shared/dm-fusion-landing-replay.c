// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: replay of the landing log: which entries it has, where it ends, and whether something
 * is missing. The head of dm-fusion-landing.h has the rules, to which this refers by number.
 *
 * After a power cut, segments may hold the following, given the invariants there:
 *
 *   - all that was durable by the last commit, batch behind batch (rule 1);
 *   - behind that, any sectors of the batches that were written since, in the same segment and in
 *     those that follow. A disk may have kept the tenth and not the ninth, or a summary and not
 *     what it lists. Batches whose flush has ended are all there, and the next header that was
 *     written says so;
 *   - elsewhere, what the slot had before: data of an extent, or an earlier segment, which has
 *     neither the number nor the key.
 *
 * The search beyond the end (rule 3) looks at each block, as it is not known where batches begin
 * there. Blocks of data may have any content, but none that belongs to the segment by its key.
 */
#include <linux/errno.h>
#include <linux/types.h>

#include "dm-fusion-landing.h"

/* The error @r is at block @pos of @seg. Return: @r. */
static int fusion_landing_fail(struct fusion_landing *l, const struct fusion_segment *seg, u32 pos,
			       int r, const char *why)
{
	l->bad = seg;
	l->bad_pos = pos;
	l->why = why;
	return r;
}

/* An entry of the block @pos. */
static int fusion_landing_apply(struct fusion_landing *l, const struct fusion_segment *seg,
				u32 pos, const struct fusion_entry *entry)
{
	int r;

	if (!fusion_segment_live(seg, pos))
		return 0;
	r = l->apply(l->ctx, seg, pos, entry);
	if (r)
		return fusion_landing_fail(l, seg, pos, r,
					   "an entry of the landing log was refused");
	l->nr_entries++;
	return 0;
}

/* -- what the journal says ----------------------------------------------------------------- */

/* The records must be such as the order of a commit allows. */
static int fusion_landing_check_segments(struct fusion_landing *l)
{
	const u32 room = fusion_segment_room(l->sb);
	bool here = !l->from.pos;
	u32 i;

	if (l->from.pos > room)
		return fusion_landing_fail(l, NULL, 0, -EILSEQ,
					   "the landing log goes on where there is no room");
	for (i = 0; i < l->nr; i++) {
		const struct fusion_segment *seg = &l->seg[i], *before = i ? seg - 1 : NULL;
		const char *why = NULL;

		if (before && before->segno >= seg->segno)
			why = "two segments of the landing log have the same number";
		else if (seg->segno < l->from.segno && !seg->end)
			why = "a segment was left, but not where it ends";
		else if (seg->segno == l->from.segno && seg->end && seg->end < l->from.pos)
			why = "a segment ends before where the landing log goes on";
		if (why)
			return fusion_landing_fail(l, seg, 0, -EILSEQ, why);
		here |= seg->segno == l->from.segno;
	}
	if (!here)
		return fusion_landing_fail(l, NULL, 0, -EILSEQ,
					   "the landing log goes on in a segment that is not listed");
	return 0;
}

/* -- what is durable: rule 1 --------------------------------------------------------------- */

static bool fusion_landing_any_live(const struct fusion_segment *seg, u32 end)
{
	u32 pos;

	for (pos = 0; pos < end; pos++)
		if (fusion_segment_live(seg, pos))
			return true;
	return false;
}

/* The batches of a segment come behind those of the one before, and not behind @from. */
static int fusion_landing_in_order(struct fusion_landing *l, const struct fusion_segment *seg,
				   u64 first_seq, u64 last_seq, u32 csum)
{
	const bool here = seg->segno == l->from.segno;

	if (first_seq <= l->last_seq || last_seq > l->from.seq)
		return fusion_landing_fail(l, seg, 0, -EILSEQ,
					   "segments of the landing log are out of order");
	if (here && (last_seq != l->from.seq || csum != l->from.csum))
		return fusion_landing_fail(l, seg, l->from.pos, -EILSEQ,
					   "the landing log does not lead to where it goes on");
	l->last_seq = last_seq;
	return 0;
}

/* The batches up to block @end, by their headers. */
static int fusion_landing_by_headers(struct fusion_landing *l, const struct fusion_segment *seg,
				     u32 end)
{
	struct fusion_batch batch = {}, last;
	u64 first_seq = 0;
	const char *why;
	const void *block;
	u32 pos, i;
	int r;

	for (pos = 0; pos < end; pos += 1 + batch.count) {
		last = batch;
		block = l->read(l->ctx, seg, pos);
		if (!block)
			return fusion_landing_fail(l, seg, pos, -EIO,
						   "a batch of the landing log cannot be read");
		r = fusion_batch_unpack(l->sb, seg, pos, block, &batch, &why);
		if (r == -ENODATA)
			return fusion_landing_fail(l, seg, pos, -EILSEQ,
						   "a batch that was durable is missing");
		if (r)
			return fusion_landing_fail(l, seg, pos, r, why);
		if (pos + 1 + batch.count > end || batch.epoch < l->epoch ||
		    (pos && (batch.seq != last.seq + 1 || batch.prev_csum != last.csum)))
			return fusion_landing_fail(l, seg, pos, -EILSEQ,
						   "the chain of batches is broken");
		l->epoch = batch.epoch;
		if (!pos)
			first_seq = batch.seq;
		for (i = 0; i < batch.count; i++) {
			fusion_landing_entry(block, i, &l->entry[0]);
			r = fusion_landing_apply(l, seg, pos + 1 + i, &l->entry[0]);
			if (r)
				return r;
		}
	}
	return fusion_landing_in_order(l, seg, first_seq, batch.seq, batch.csum);
}

/* Where a walk through a summary is. */
struct summary_walk {
	u32 pos;		/* the next block of the segment */
	u32 left;		/* blocks of data that the batch still has */
	u64 first_seq;
	u64 next_seq;
	u32 csum;		/* of the header of the last batch */
	u32 end;		/* what its first block says */
	u32 epoch;
};

/* The entries of one of its blocks, up to block @end of the segment. */
static int fusion_landing_summary_block(struct fusion_landing *l, const struct fusion_segment *seg,
					struct summary_walk *w, const void *block, u32 count,
					u32 end, bool apply)
{
	struct fusion_entry entry;
	bool is_head;
	u32 i;
	int r;

	for (i = 0; i < count && w->pos < end; i++, w->pos++) {
		fusion_landing_entry(block, i, &entry);
		is_head = entry.lext == FUSION_LANDING_HEAD;
		if (is_head != !w->left ||
		    (!w->left && w->pos + 1 + entry.block > end))
			return fusion_landing_fail(l, seg, w->pos, -EILSEQ,
						   "a summary of the landing log has other batches");
		if (!w->left) {
			w->left = entry.block;
			w->csum = entry.crc;
			w->next_seq++;
			continue;
		}
		w->left--;
		r = apply ? fusion_landing_apply(l, seg, w->pos, &entry) : 0;
		if (r)
			return r;
	}
	return 0;
}

/*
 * The batches up to block @end, by the summary. Return: 1; 0: it is not there, or not wholly; or an
 * error.
 */
static int fusion_landing_walk_summary(struct fusion_landing *l, const struct fusion_segment *seg,
				       u32 end, bool apply, struct summary_walk *w)
{
	const u32 room = fusion_segment_room(l->sb);
	struct fusion_summary s;
	const char *why;
	const void *block;
	u32 index;
	int r;

	*w = (struct summary_walk){};
	for (index = 0; w->pos < end; index++) {
		block = l->read(l->ctx, seg, room + index);
		if (!block)
			return 0;
		r = fusion_summary_unpack(l->sb, seg, index, block, &s, &why);
		if (r == -ENODATA)
			return 0;
		if (r)
			return fusion_landing_fail(l, seg, room + index, r, why);
		if (!index) {
			w->first_seq = s.first_seq;
			w->next_seq = s.first_seq;
			w->end = s.end;
			w->epoch = s.epoch;
		}
		if (s.first_seq != w->first_seq || s.end != w->end || s.epoch != w->epoch ||
		    s.end < end || s.epoch < l->epoch)
			return fusion_landing_fail(l, seg, room + index, -EILSEQ,
						   "a summary of the landing log is of other batches");
		r = fusion_landing_summary_block(l, seg, w, block, s.count, end, apply);
		if (r)
			return r;
	}
	return 1;
}

static int fusion_landing_by_summary(struct fusion_landing *l, const struct fusion_segment *seg,
				     u32 end)
{
	struct summary_walk w;
	int r = fusion_landing_walk_summary(l, seg, end, false, &w);

	if (r <= 0)
		return r;
	r = fusion_landing_in_order(l, seg, w.first_seq, w.next_seq - 1, w.csum);
	if (r)
		return r;
	r = fusion_landing_walk_summary(l, seg, end, true, &w);
	if (!r)
		return fusion_landing_fail(l, seg, 0, -EIO,
					   "the landing log reads differently the second time");
	l->epoch = w.epoch;
	return r;
}

/* The batches of a segment that are durable. */
static int fusion_landing_durable(struct fusion_landing *l, const struct fusion_segment *seg)
{
	const u32 end = seg->segno < l->from.segno ? seg->end : l->from.pos;
	int r;

	if (!fusion_landing_any_live(seg, end))
		return 0;
	r = fusion_landing_by_summary(l, seg, end);
	if (!r)
		r = fusion_landing_by_headers(l, seg, end);
	return r < 0 ? r : 0;
}

/* -- what may be torn: rule 2 -------------------------------------------------------------- */

/* Do all data of a batch have their checksums? */
static bool fusion_landing_data_whole(struct fusion_landing *l, const struct fusion_segment *seg,
				      u32 count)
{
	const void *block;
	u32 i;

	for (i = 0; i < count; i++) {
		block = l->read(l->ctx, seg, l->at.pos + 1 + i);
		l->unreadable |= !block;
		if (!block || fusion_landing_crc(block) != l->entry[i].crc)
			return false;
	}
	return true;
}

/* Take the next batch. Return: 1 if it counts, 0 if it is not (wholly) there, or an error. */
static int fusion_landing_walk_batch(struct fusion_landing *l, const struct fusion_segment *seg)
{
	struct fusion_batch batch;
	const char *why;
	const void *block;
	u32 i;
	int r;

	block = l->read(l->ctx, seg, l->at.pos);
	l->unreadable |= !block;
	if (!block)
		return 0;
	r = fusion_batch_unpack(l->sb, seg, l->at.pos, block, &batch, &why);
	if (r == -ENODATA)
		return 0;
	if (!r && batch.seq == l->at.seq + 1 && batch.prev_csum != l->at.csum)
		why = "the chain of batches is broken";
	else if (!r && (batch.seq != l->at.seq + 1 || batch.epoch < l->epoch))
		why = "batches of the landing log are out of order";
	else if (!r && seg->end && l->at.pos + 1 + batch.count > seg->end)
		why = "a batch goes on behind the end of its segment";
	else if (!r)
		why = NULL;
	if (why)
		return fusion_landing_fail(l, seg, l->at.pos, -EILSEQ, why);

	for (i = 0; i < batch.count; i++)
		fusion_landing_entry(block, i, &l->entry[i]);
	if (!fusion_landing_data_whole(l, seg, batch.count))
		return 0;
	for (i = 0; i < batch.count; i++) {
		r = fusion_landing_apply(l, seg, l->at.pos + 1 + i, &l->entry[i]);
		if (r)
			return r;
	}
	l->epoch = batch.epoch;
	l->at.seq = batch.seq;
	l->at.csum = batch.csum;
	l->at.pos += 1 + batch.count;
	l->nr_walked++;
	return 1;
}

/* Have batches taken all of the segment that they ever will? */
static bool fusion_landing_full(const struct fusion_landing *l, const struct fusion_segment *seg)
{
	return l->at.pos >= (seg->end ?: fusion_segment_room(l->sb) - 1);
}

/* The batches of the segment end where the walk is. */
static void fusion_landing_end(const struct fusion_landing *l, const struct fusion_segment *seg)
{
	if (l->ends)
		l->ends(l->ctx, seg, l->at.pos);
}

/*
 * Walk to the end of the log, from the segment @i on. Sets @i to the segment where that is, or to
 * the first one behind it. Return: 0 or an error.
 */
static int fusion_landing_walk(struct fusion_landing *l, u32 *i)
{
	int r = 1;

	while (r > 0 && *i < l->nr && l->seg[*i].segno == l->at.segno) {
		if (!fusion_landing_full(l, &l->seg[*i])) {
			r = fusion_landing_walk_batch(l, &l->seg[*i]);
			continue;
		}
		fusion_landing_end(l, &l->seg[*i]);
		++*i;
		l->at.segno++;
		l->at.pos = 0;
	}
	if (r >= 0 && l->at.pos && *i < l->nr && l->seg[*i].segno == l->at.segno)
		fusion_landing_end(l, &l->seg[*i]);
	return r < 0 ? r : 0;
}

/* -- what proves more: rule 3 -------------------------------------------------------------- */

static int fusion_landing_lost(struct fusion_landing *l, const struct fusion_segment *seg, u32 pos)
{
	if (l->unreadable)
		return fusion_landing_fail(l, seg, pos, -EIO,
					   "a batch that was durable cannot be read");
	return fusion_landing_fail(l, seg, pos, -EILSEQ, "a batch that was durable is missing");
}

/* Look at a block behind the end. Return: 0, or an error. */
static int fusion_landing_look(struct fusion_landing *l, const struct fusion_segment *seg, u32 pos,
			       const void *block)
{
	const u32 room = fusion_segment_room(l->sb);
	struct fusion_summary s = {};
	struct fusion_batch b = {};
	const char *why;
	int r;

	r = pos < room ? fusion_batch_unpack(l->sb, seg, pos, block, &b, &why) :
	    fusion_summary_unpack(l->sb, seg, pos - room, block, &s, &why);
	if (r == -ENODATA)
		return 0;
	if (r)
		return fusion_landing_fail(l, seg, pos, r, why);
	/* one of these is zero */
	return b.flushed_seq > l->at.seq || s.flushed_seq > l->at.seq ?
	       fusion_landing_lost(l, seg, pos) : 0;
}

/* Is every block beyond the end of the log, in segment @i, one that a power cut may leave there? */
static int fusion_landing_search(struct fusion_landing *l, u32 i)
{
	u32 pos = i < l->nr && l->seg[i].segno == l->at.segno ? l->at.pos : 0, looked = 0;
	bool hidden = false;
	const void *block;
	int r;

	for (; i < l->nr; i++, pos = 0) {
		if (l->seg[i].end)
			return fusion_landing_lost(l, &l->seg[i], pos);
		for (; pos < fusion_segment_blocks(l->sb); pos++, looked++) {
			block = l->read(l->ctx, &l->seg[i], pos);
			hidden |= !block && looked >= FUSION_LANDING_TORN;
			r = block ? fusion_landing_look(l, &l->seg[i], pos, block) : 0;
			if (r)
				return r;
		}
	}
	if (l->unreadable && hidden && !(l->sb->flags & FUSION_SB_CLEAN))
		return fusion_landing_fail(l, NULL, 0, -EIO,
					   "the landing log may go on behind blocks that cannot be read");
	return 0;
}

/* -- all of it ----------------------------------------------------------------------------- */

int fusion_landing_replay(struct fusion_landing *l)
{
	u32 i, first;
	int r;

	l->at = l->from;
	l->nr_entries = 0;
	l->nr_walked = 0;
	l->bad = NULL;
	l->bad_pos = 0;
	l->why = NULL;
	l->epoch = 0;
	l->last_seq = 0;
	l->unreadable = false;

	r = fusion_landing_check_segments(l);
	for (i = 0; !r && i < l->nr && l->seg[i].segno <= l->from.segno; i++)
		r = fusion_landing_durable(l, &l->seg[i]);
	if (r)
		return r;
	first = i && l->seg[i - 1].segno == l->from.segno ? i - 1 : i;
	r = fusion_landing_walk(l, &first);
	if (!r)
		r = fusion_landing_search(l, first);
	return r;
}
