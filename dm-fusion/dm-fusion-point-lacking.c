// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: what a point still has to copy. It covers all extents of the fast member to which
 * metadata was written by its instant (dm-fusion-point.c), also those that come up while it is
 * made. A file system that never writes a tree in place, such as btrfs, has its newest leaves in
 * extents that are written for the first time, which are partial, and refers to them from others.
 */
#include <linux/bitops.h>
#include <linux/ktime.h>

#include "dm-fusion.h"

/* Most extents that may have no shadow at all yet. */
#define FIRST	64U
/* Extents that come up while a point is made. */
#define FEW	4U
/* Words of bits between two chances for others. */
#define CHUNK	64U

/*
 * Is this extent of the fast member partial, so that it has to be completed? One that has lost
 * blocks cannot be, and is in no point.
 */
static bool fusion_point_partial(struct fusion *fs, u32 lext, u32 word)
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

/*
 * Metadata may have been written to further extents since the point was begun, and what refers to
 * it may be in a copy of the point already.
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

bool fusion_point_premature(const struct fusion *fs)
{
	u32 lext, word, nr = 0;

	for_each_set_bit(lext, fs->shadows.point.known, fs->sb.nr_lexts) {
		cond_resched();
		word = READ_ONCE(fs->map[lext]);
		nr += fusion_point_awaits(fs, lext) && fusion_word_lacking(fs, word) &&
		      !fusion_has_shadow(fs, word);
	}
	return nr > FIRST;
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

bool fusion_point_bad_for_long(struct fusion *fs, u32 fast)
{
	struct fusion_point *p = &fs->shadows.point;

	if (!__test_and_set_bit(fast, p->bad))
		p->bad_ms = fusion_now_ms();
	return fusion_now_ms() - p->bad_ms >= FUSION_POINT_RETRY_MS;
}

bool fusion_point_fill(struct fusion *fs)
{
	unsigned int pass;
	u32 lext, word;

	/* first begin with all of them, then wait for each */
	for (pass = 0; pass < 2; pass++) {
		for_each_set_bit(lext, fs->shadows.point.meta, fs->sb.nr_lexts) {
			cond_resched();
			word = READ_ONCE(fs->map[lext]);
			if (!fusion_point_partial(fs, lext, word))
				continue;
			if (pass)
				fusion_settle(fs, lext);
			else if (!fusion_open_fill(fs, lext) &&
				 (!fusion_point_bad_for_long(fs, fusion_word_slot(word)) ||
				  !fusion_point_leave_out(fs, lext)))
				return false;
		}
	}
	return !READ_ONCE(fs->mover.stopping);
}
