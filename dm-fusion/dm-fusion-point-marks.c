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
/* Memory may be had only by writing to this device. */
#define GFP_ON_DEMAND	(GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN)
/* Points after which the extents with metadata are looked for anew. */
#define POINTS		16U
/* Words of bits between two chances for others. */
#define CHUNK		64U

int fusion_point_init(struct fusion *fs)
{
	struct fusion_point *p = &fs->shadows.point;

	p->seen = kvcalloc(BITS_TO_LONGS(fs->sb.nr_lexts), sizeof(long), GFP_KERNEL);
	p->known = kvcalloc(BITS_TO_LONGS(fs->sb.nr_lexts), sizeof(long), GFP_KERNEL);
	return p->seen && p->known ? 0 : -ENOMEM;
}

void fusion_point_exit(struct fusion *fs)
{
	struct fusion_point *p = &fs->shadows.point;

	kvfree(p->jobs);
	kvfree(p->pending);
	kvfree(p->meta);
	kvfree(p->known);
	kvfree(p->seen);
}

bool fusion_point_equip(struct fusion *fs)
{
	const size_t longs = BITS_TO_LONGS(fs->sb.nr_fast_slots);
	struct fusion_point *p = &fs->shadows.point;
	const u32 max = min(fs->sb.nr_fast_slots, JOBS);
	unsigned long *meta, *fast;
	struct fusion_job *jobs;

	if (p->meta)
		return true;
	meta = kvcalloc(BITS_TO_LONGS(fs->sb.nr_lexts), sizeof(long), GFP_ON_DEMAND);
	fast = kvcalloc(3 * longs, sizeof(long), GFP_ON_DEMAND);
	jobs = kvcalloc(max, sizeof(*jobs), GFP_ON_DEMAND);
	if (!meta || !fast || !jobs) {
		kvfree(jobs);
		kvfree(fast);
		kvfree(meta);
		return false;
	}
	p->jobs = jobs;
	p->max = max;
	spin_lock_irq(&fs->lock);
	p->pending = fast;
	p->gone = fast + longs;
	p->bad = fast + 2 * longs;
	spin_unlock_irq(&fs->lock);
	/* others look at it without the lock: fusion_point_covers() */
	smp_store_release(&p->meta, meta);
	return true;
}

void fusion_point_enlarge(struct fusion *fs, u32 nr)
{
	struct fusion_point *p = &fs->shadows.point;
	u32 max = min(max(nr, 2 * p->max), min(JOBS_MAX, fs->sb.nr_fast_slots));
	struct fusion_job *jobs;

	if (nr <= p->max || max <= p->max)
		return;
	jobs = kvcalloc(max, sizeof(*jobs), GFP_ON_DEMAND);
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

	if (p->pending && fusion_word_on_fast(fs, word) &&
	    __test_and_clear_bit(fusion_word_slot(word), p->pending))
		__set_bit(fusion_word_slot(word), p->gone);
}

bool fusion_point_covers(const struct fusion *fs, u32 lext)
{
	const unsigned long *meta = READ_ONCE(fs->shadows.point.meta);

	return meta && test_bit(lext, meta);
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

bool fusion_point_choose(struct fusion *fs)
{
	struct fusion_point *p = &fs->shadows.point;
	bool anew = p->look_anew || p->made >= p->anew;
	size_t i;

	p->look_anew = false;
	p->left_out = 0;
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

void fusion_point_want_less(struct fusion *fs)
{
	struct fusion_point *p = &fs->shadows.point;

	WRITE_ONCE(p->want, p->want - DIV_ROUND_UP(p->want, 8));
}
