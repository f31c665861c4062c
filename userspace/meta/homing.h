/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every extent of a closed set goes to the place that it has on a plain disk: to its home slot, or
 * to the fast member if it has none. So the set can be released: transit.h.
 *
 * homing.c		what has to move, and the writing
 * homing-batch.c	which extents move next
 *
 * It is done in batches. Each copies extents to free slots, flushes, and writes a new map to both
 * members. Only then the old slots are free. So whenever this is interrupted, there is a closed set
 * with the same content, and homing can begin again.
 */
#ifndef HOMING_H
#define HOMING_H

#include "meta.h"
#include "transit.h"

#define NO_LEXT		UINT32_MAX

struct homing_move {
	u32 lext;
	u32 from, to;		/* map words; the same slot if a partial extent is completed */
};

/* Return: whether it is only completed, where it is. */
static inline bool homing_stays(const struct homing_move *m)
{
	return fusion_word_mapped(m->from) && fusion_word_dev(m->from) == fusion_word_dev(m->to) &&
	       fusion_word_slot(m->from) == fusion_word_slot(m->to);
}

struct homing {
	struct meta *meta;
	const struct transit *t;	/* where everything goes */
	struct meta_state st;
	u32 batch;		/* extents that move between two maps; 0: the map's size decides */
	/* before each write of some time, if not NULL: may it be made? Fails after a message. */
	int (*may_write)(void *ctx);
	void *ctx;
	/* after fus_homing_plan() */
	u32 away;		/* extents to be copied, partial ones that are in place included */
	u32 strays;		/* of these, extents whose place is on the disk */
	u32 blank;		/* unmapped extents, whose home gets zeros */
	u32 beyond;		/* mapped extents behind the end of the disk */
	bool beyond_part;	/* the last extent on the disk has data behind its end */
	/* of homing-batch.c */
	u32 *owner[FUSION_NR_DEVS];	/* extent of each slot, or NO_LEXT */
	u32 *ready;		/* extents whose place is free */
	u32 nr_ready, next_ready;
	u32 *free;		/* slots, as map words; some are taken again */
	u32 nr_free;
	u8 *busy;		/* of each extent: it is in the batch */
	u32 left;		/* extents that are not in their place */
	struct homing_move *move;	/* the batch */
	u32 nr_moves;
};

/* -- homing.c ----------------------------------------------------------------------------- */

/*
 * Load the state of the set h->meta. Fails if the kernel would not accept it. fus_homing_free() in
 * any case.
 */
int fus_homing_load(struct homing *h);
/* Then, with h->t: count what has to be done, by the map alone, which leaves out h->beyond_part; */
void fus_homing_count(struct homing *h);
/* and all of it. */
int fus_homing_plan(struct homing *h);
/*
 * Do it. Extents behind the end of the disk are unmapped first. @zero: the home slots of unmapped
 * extents get zeros at the end. meta has the resulting superblocks then.
 */
int fus_homing_run(struct homing *h, bool zero);
void fus_homing_free(struct homing *h);
/* The content of an extent of a closed set: zeros where nothing was written. */
int fus_homing_get(const struct meta *meta, const struct meta_state *st, u32 lext, u8 *buf);

/* -- homing-batch.c ------------------------------------------------------------------------ */

/* Return: whether the extent has to move, or be completed. */
bool fus_homing_away(const struct homing *h, u32 lext);
int fus_homing_begin(struct homing *h);
/* Choose the next batch, h->move; there is one as long as h->left. */
void fus_homing_choose(struct homing *h);
/* The batch is durable, and in h->st. */
void fus_homing_done(struct homing *h);

/* -- window.c --------------------------------------------------------------------------------- */

/*
 * A file as large as the set, with the parts of its content where programs look for signatures;
 * holes elsewhere. Return: a descriptor, or -1 after a message.
 */
int fus_window_open(const struct meta *meta, const struct meta_state *st);

#endif
