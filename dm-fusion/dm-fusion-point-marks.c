// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: which extents have metadata, and which of these a point is copying. The point itself
 * is made in dm-fusion-point.c.
 *
 * A point covers extents to which metadata was written. One of which metadata was only read has it
 * in its shadow already, be that out of date or not. But it is worth more than one that has none
 * when slots are scarce.
 */
#include <linux/bitops.h>
#include <linux/mm.h>

#include "dm-fusion.h"

/* Most extents with metadata that a point copies. */
#define JOBS	4096U

int fusion_point_init(struct fusion *fs)
{
	struct fusion_point *p = &fs->shadows.point;

	p->max = min(fs->sb.nr_fast_slots, JOBS);
	p->jobs = kvcalloc(p->max, sizeof(*p->jobs), GFP_KERNEL);
	p->seen = kvcalloc(BITS_TO_LONGS(fs->sb.nr_lexts), sizeof(long), GFP_KERNEL);
	p->known = kvcalloc(BITS_TO_LONGS(fs->sb.nr_lexts), sizeof(long), GFP_KERNEL);
	p->meta = kvcalloc(BITS_TO_LONGS(fs->sb.nr_lexts), sizeof(long), GFP_KERNEL);
	p->pending = kvcalloc(BITS_TO_LONGS(fs->sb.nr_fast_slots), sizeof(long), GFP_KERNEL);
	p->gone = kvcalloc(BITS_TO_LONGS(fs->sb.nr_fast_slots), sizeof(long), GFP_KERNEL);
	return p->jobs && p->seen && p->known && p->meta && p->pending && p->gone ? 0 : -ENOMEM;
}

void fusion_point_exit(struct fusion *fs)
{
	struct fusion_point *p = &fs->shadows.point;

	kvfree(p->gone);
	kvfree(p->pending);
	kvfree(p->meta);
	kvfree(p->known);
	kvfree(p->seen);
	kvfree(p->jobs);
}

/* Most bits are set already: do not dirty their cache lines again. */
static void fusion_note(unsigned long *bits, u32 lext)
{
	if (!test_bit(lext, bits))
		set_bit(lext, bits);
}

void fusion_metadata_note(struct fusion *fs, const struct bio *bio)
{
	fusion_note(fs->shadows.point.known, fusion_lext(fs, bio->bi_iter.bi_sector));
}

bool fusion_has_metadata(const struct fusion *fs, u32 lext)
{
	return test_bit(lext, fs->shadows.point.known);
}

void fusion_point_note(struct fusion *fs, const struct bio *bio)
{
	u32 lext = fusion_lext(fs, bio->bi_iter.bi_sector);

	fusion_note(fs->shadows.point.known, lext);
	fusion_note(fs->shadows.point.seen, lext);
}

void fusion_point_forget(struct fusion *fs, u32 word)
{
	struct fusion_point *p = &fs->shadows.point;

	if (fusion_word_on_fast(fs, word) &&
	    __test_and_clear_bit(fusion_word_slot(word), p->pending))
		__set_bit(fusion_word_slot(word), p->gone);
}

bool fusion_point_covers(const struct fusion *fs, u32 lext)
{
	return test_bit(lext, fs->shadows.point.meta);
}

bool fusion_point_awaits(const struct fusion *fs, u32 lext)
{
	return fusion_point_covers(fs, lext) || test_bit(lext, fs->shadows.point.seen);
}

void fusion_point_leave_out(struct fusion *fs, u32 lext)
{
	clear_bit(lext, fs->shadows.point.meta);
	clear_bit(lext, fs->shadows.point.seen);
}
