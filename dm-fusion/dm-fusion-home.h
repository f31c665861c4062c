/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: homing: where each extent belongs, and what is not there yet (dm-fusion-home.c).
 */
#ifndef DM_FUSION_HOME_H
#define DM_FUSION_HOME_H

#include <linux/types.h>

#include "dm-fusion-codec.h"
#include "dm-fusion-policy.h"

struct fusion;
struct fusion_force;

/* Extents without duplicates. */
struct fusion_home_list {
	u32 lext[FUSION_LONG_BATCH];
	u32 nr;
};

/* What may be done next. */
struct fusion_home_plan {
	struct fusion_home_list home;		/* the home is free */
	struct fusion_home_list homeless;	/* belongs on the fast member */
	struct fusion_home_list aside;		/* in the home of another one, its own is taken */
	struct fusion_home_list open;		/* partial */
	struct fusion_home_list blank;		/* to get zeros, and its home is free */
	unsigned int max;			/* the most moves in a batch */
	u32 looked;				/* extents looked at */
	bool idle;
};

/**
 * struct fusion_homing - every extent goes to its home
 *
 * Protected by fs->lock; only the mover changes the first three:
 * @on: homing is on
 * @zero: unmapped extents that have a home get zeros there
 * @counted: the extents below this one are counted in @away and @blank
 * @away: extents that are not at home, or not complete
 * @blank: unmapped extents that are to get zeros
 *
 * Only the mover's:
 * @told: an event has told that nothing is left to do
 * @next: extent at which the search continues
 * @barren: extents in a row that could do nothing
 * @aside: slow slot at which the search for one that nobody wants continues
 * @until_ms: ktime before which there is nothing to do
 * @moves: moves made since homing was turned on
 * @plan: what may be done next
 * @ready: extents whose homes the last batch has left
 * @nr_ready: number of these
 */
struct fusion_homing {
	bool on;
	bool zero;
	u32 counted;
	u32 away;
	u32 blank;

	bool told;
	u32 next;
	u32 barren;
	u32 aside;
	u64 until_ms;
	u64 moves;
	struct fusion_home_plan plan;
	u32 ready[FUSION_LONG_BATCH];
	u32 nr_ready;
};

/* -- where extents belong ---------------------------------------------------------------- */

/* Has an extent a home on the slow member? Otherwise it belongs on the fast one. */
static inline bool fusion_has_home(const struct fusion_sb *sb, u32 lext)
{
	return fusion_slot_valid(sb, FUSION_SLOW, lext);
}

/* Is an extent with this word not where it belongs? */
static inline bool fusion_word_astray(const struct fusion_sb *sb, u32 lext, u32 word)
{
	if (!fusion_word_mapped(word))
		return false;
	return fusion_has_home(sb, lext) ? fusion_word_dev(word) != FUSION_SLOW ||
					   fusion_word_slot(word) != lext :
					   fusion_word_dev(word) != FUSION_FAST;
}

/* The same, or is it partial? */
static inline bool fusion_word_away(const struct fusion_sb *sb, u32 lext, u32 word)
{
	return fusion_word_astray(sb, lext, word) ||
	       (fusion_word_mapped(word) && fusion_word_state(word) == FUSION_OPEN);
}

/* Is an extent with this word to get zeros? */
static inline bool fusion_word_blank(const struct fusion_homing *h, const struct fusion_sb *sb,
				     u32 lext, u32 word)
{
	return h->zero && word == FUSION_WORD_UNMAPPED && fusion_has_home(sb, lext);
}

/* The word of an extent is being changed: keep count. fs->lock held. */
static inline void fusion_homing_note(struct fusion_homing *h, const struct fusion_sb *sb,
				      u32 lext, u32 old, u32 new)
{
	if (lext >= h->counted)
		return;
	h->away += fusion_word_away(sb, lext, new) - fusion_word_away(sb, lext, old);
	h->blank += fusion_word_blank(h, sb, lext, new) - fusion_word_blank(h, sb, lext, old);
}

/* -- dm-fusion-home.c; the mover ---------------------------------------------------------- */

/*
 * Turn homing on or off, as @force asks for. Return: 0, -EBUSY: there is a fence, or -ENOSPC: the
 * fast member is too small for the extents without a home. Sleeps.
 */
int fusion_set_homing(struct fusion *fs, const struct fusion_force *force);

/* May this request not be carried out, as homing is on? Then the log says so. */
bool fusion_homing_forbids(const struct fusion *fs, const struct fusion_force *force);

/* Raise an event when nothing is left to do. */
void fusion_look_at_homing(struct fusion *fs);

/* Is there anything to do, and is it time to try? */
bool fusion_homing_due(struct fusion *fs);

/* Bring some extents home, or prepare it. Sleeps. Return: was anything tried? */
bool fusion_bring_home(struct fusion *fs);

#endif
