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

/* Extents with metadata that a point can copy at first, and most of them. */
#define JOBS		4096U
#define JOBS_MAX	65536U
/* Points after which the extents with metadata are looked for anew. */
#define POINTS		16U
/* Extents that come up while a point is made. */
#define FEW		4U
/* Words of bits between two chances for others. */
#define CHUNK		64U

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
	p->bad = kvcalloc(BITS_TO_LONGS(fs->sb.nr_fast_slots), sizeof(long), GFP_KERNEL);
	return p->jobs && p->seen && p->known && p->meta && p->pending && p->gone && p->bad ?
		0 : -ENOMEM;
}

void fusion_point_exit(struct fusion *fs)
{
	struct fusion_point *p = &fs->shadows.point;

	kvfree(p->bad);
	kvfree(p->gone);
	kvfree(p->pending);
	kvfree(p->meta);
	kvfree(p->known);
	kvfree(p->seen);
	kvfree(p->jobs);
}

void fusion_point_enlarge(struct fusion *fs, u32 nr)
{
	struct fusion_point *p = &fs->shadows.point;
	u32 max = min(max(nr, 2 * p->max), min(JOBS_MAX, fs->sb.nr_fast_slots));
	struct fusion_job *jobs;

	if (nr <= p->max || max <= p->max)
		return;
	/* memory may be had only by writing to this device */
	jobs = kvcalloc(max, sizeof(*jobs), GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN);
	if (!jobs)
		return;
	kvfree(p->jobs);
	p->jobs = jobs;
	p->max = max;
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

enum fusion_shadow_kind fusion_shadow_kind(const struct fusion *fs, u32 lext)
{
	if (fusion_point_awaits(fs, lext))
		return FUSION_OF_METADATA;
	return test_bit(lext, fs->shadows.point.known) ? FUSION_OF_METADATA_READ : FUSION_OF_DATA;
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

bool fusion_point_leave_out(struct fusion *fs, u32 lext)
{
	struct fusion_point *p = &fs->shadows.point;

	if (p->left_out == FUSION_LEFT_OUT)
		return false;
	clear_bit(lext, p->meta);
	/* not by rounds, which would copy it after the instant */
	set_bit(lext, p->seen);
	p->out[p->left_out++] = lext;
	return true;
}

/*
 * Metadata may have been written to others since the point was begun, even for the first time. What
 * refers to that may be in a copy of the point already.
 */
static void fusion_point_take_more(struct fusion *fs)
{
	struct fusion_point *p = &fs->shadows.point;
	u32 k;
	size_t i;

	for (i = 0; i < BITS_TO_LONGS(fs->sb.nr_lexts); i++) {
		if (!(i % CHUNK))
			cond_resched();
		if (READ_ONCE(p->seen[i]) & ~p->meta[i])
			WRITE_ONCE(p->meta[i], p->meta[i] | READ_ONCE(p->seen[i]));
	}
	for (k = 0; k < p->left_out; k++)
		clear_bit(p->out[k], p->meta);
}

bool fusion_point_partial(struct fusion *fs, u32 lext, u32 word)
{
	const struct fusion_open *open;
	bool lost = false;

	if (fusion_word_state(word) != FUSION_OPEN || !fusion_word_on_fast(fs, word))
		return false;
	if (READ_ONCE(fs->opens.nr_lost)) {
		spin_lock_irq(&fs->lock);
		open = fusion_open_find(fs, lext);
		lost = open && open->lost;
		spin_unlock_irq(&fs->lock);
	}
	return !lost;
}

u32 fusion_point_lacking(struct fusion *fs)
{
	u32 lext, nr = 0;

	fusion_point_take_more(fs);
	for_each_set_bit(lext, fs->shadows.point.meta, fs->sb.nr_lexts) {
		u32 word = READ_ONCE(fs->map[lext]);

		cond_resched();
		nr += fusion_word_lacking(fs, word) || fusion_point_partial(fs, lext, word);
	}
	return nr;
}

bool fusion_point_choose(struct fusion *fs)
{
	struct fusion_point *p = &fs->shadows.point;
	bool anew = p->look_anew || p->made >= p->anew;
	size_t i;

	p->look_anew = false;
	for (i = 0; i < BITS_TO_LONGS(fs->sb.nr_lexts); i++) {
		if (!(i % CHUNK))
			cond_resched();
		if (anew)
			WRITE_ONCE(p->meta[i], xchg(&p->seen[i], 0));
		else
			WRITE_ONCE(p->meta[i], p->meta[i] | READ_ONCE(p->seen[i]));
	}
	return anew;
}

void fusion_point_chosen(struct fusion *fs, bool made)
{
	struct fusion_point *p = &fs->shadows.point;
	u32 lext;

	if (made) {
		p->anew = p->made + POINTS;
		return;
	}
	/* metadata was written to these since the last point: rounds leave their shadows (INV16) */
	for_each_set_bit(lext, p->meta, fs->sb.nr_lexts) {
		cond_resched();
		set_bit(lext, p->seen);
	}
}

void fusion_point_want(struct fusion *fs)
{
	struct fusion_point *p = &fs->shadows.point;
	u32 lacking = fusion_point_lacking(fs);

	/* a few come up while it is made */
	lacking += lacking / 8 + FEW;
	fusion_point_enlarge(fs, lacking);
	WRITE_ONCE(p->want, min(max(lacking, p->want), p->max));
}

void fusion_point_want_less(struct fusion *fs)
{
	struct fusion_point *p = &fs->shadows.point;

	WRITE_ONCE(p->want, p->want - DIV_ROUND_UP(p->want, 8));
}
