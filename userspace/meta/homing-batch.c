// SPDX-License-Identifier: GPL-2.0-only
/*
 * Homing: which extents move next. An extent whose place is free can go there. If there are few of
 * these, extents make room that are in the place of another one: they go to slots that no extent is
 * waiting for. That breaks cycles, and cuts long chains, where each extent waits for the next one,
 * into pieces which move at the same time.
 *
 * It ends: each batch has extents that come to their place, where they stay, or that leave the
 * place of another one for a slot where they are in no extent's way. The set has at least the
 * spares free. So if no place is free that an extent is waiting for, there is a free slot for one
 * that makes room.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "fusionctl.h"
#include "homing.h"

bool fus_homing_away(const struct homing *h, u32 lext)
{
	const u32 word = h->st.word[lext];

	if (lext >= h->t->content)
		return false;
	if (!fusion_word_mapped(word))
		return fus_transit_goes(h->t, lext);
	return word != fus_transit_word(h->t, lext);
}

static u32 *owner_of(const struct homing *h, u32 word)
{
	const int dev = fusion_word_dev(word);
	const u32 first = dev == SLOW ? h->t->sb.slow_first_slot : 0;

	return &h->owner[dev][fusion_word_slot(word) - first];
}

/* The extent whose place is this slot, or NO_LEXT. */
static u32 belongs(const struct homing *h, u32 word)
{
	const u32 slot = fusion_word_slot(word);

	if (fusion_word_dev(word) == FAST)
		return slot < h->t->moved ? fus_transit_lext(h->t, slot) : NO_LEXT;
	return slot < h->t->content && !fus_transit_goes(h->t, slot) ? slot : NO_LEXT;
}

/* Return: whether an extent is waiting for this slot. */
static bool is_wanted(const struct homing *h, u32 word)
{
	const u32 lext = belongs(h, word);

	return lext != NO_LEXT && fus_homing_away(h, lext);
}

static void look_if_ready(struct homing *h, u32 lext)
{
	const u32 to = fus_transit_word(h->t, lext), owner = *owner_of(h, to);

	if (owner == NO_LEXT || owner == lext)
		h->ready[h->nr_ready++] = lext;
}

static void add_free(struct homing *h, int dev, u32 first, u32 nr)
{
	for (u32 i = 0; i < nr; i++)
		if (h->owner[dev][i] == NO_LEXT)
			h->free[h->nr_free++] = fusion_word(FUSION_STABLE, dev, first + i);
}

static u32 *new_array(u32 nr, u32 fill)
{
	u32 *a = malloc(((size_t)nr + 1) * sizeof(*a));

	for (u32 i = 0; a && i < nr; i++)
		a[i] = fill;
	return a;
}

int fus_homing_begin(struct homing *h)
{
	const struct fusion_sb *sb = &h->t->sb;
	const u32 slots = sb->nr_fast_slots + sb->nr_slow_slots;

	h->owner[FAST] = new_array(sb->nr_fast_slots, NO_LEXT);
	h->owner[SLOW] = new_array(sb->nr_slow_slots, NO_LEXT);
	/* each extent gets ready once; each slot is free at the beginning, or becomes it */
	h->ready = new_array(h->t->content, 0);
	h->free = new_array(slots, 0);
	h->busy = calloc(sb->nr_lexts, 1);
	h->move = calloc(h->batch, sizeof(*h->move));
	if (!h->owner[FAST] || !h->owner[SLOW] || !h->ready || !h->free || !h->busy || !h->move)
		return fus_fail(FC_FAILED, "memory", "not enough for the map; close programs and "
				"try again");
	for (u32 lext = 0; lext < h->st.nr_lexts; lext++)
		if (fusion_word_mapped(h->st.word[lext]))
			*owner_of(h, h->st.word[lext]) = lext;
	for (u32 lext = 0; lext < h->t->content; lext++) {
		if (!fus_homing_away(h, lext))
			continue;
		h->left++;
		look_if_ready(h, lext);
	}
	/* the fast ones are taken first, from the end of the list */
	add_free(h, SLOW, sb->slow_first_slot, sb->nr_slow_slots);
	add_free(h, FAST, 0, sb->nr_fast_slots);
	return 0;
}

static void add_move(struct homing *h, u32 lext, u32 to)
{
	h->move[h->nr_moves++] = (struct homing_move){ lext, h->st.word[lext], to };
	h->busy[lext] = 1;
	*owner_of(h, to) = lext;
}

/* Slots that are free and in no extent's way come to the end of the list; return their number. */
static u32 sort_free(struct homing *h)
{
	u32 kept = 0, good = 0;

	for (u32 i = 0; i < h->nr_free; i++) {
		const u32 word = h->free[i];

		if (*owner_of(h, word) == NO_LEXT)
			h->free[kept++] = word;
	}
	h->nr_free = kept;
	for (u32 i = 0; i < kept - good;) {
		const u32 word = h->free[i];

		if (is_wanted(h, word)) {
			i++;
			continue;
		}
		good++;
		h->free[i] = h->free[kept - good];
		h->free[kept - good] = word;
	}
	return good;
}

/* The extent in the place of @lext, if it has to make room for it, or NO_LEXT. */
static u32 in_the_way_of(const struct homing *h, u32 lext)
{
	u32 owner;

	if (!fus_homing_away(h, lext) || h->busy[lext])
		return NO_LEXT;
	owner = *owner_of(h, fus_transit_word(h->t, lext));
	return owner == NO_LEXT || owner == lext || h->busy[owner] ? NO_LEXT : owner;
}

/*
 * As many as there is room for, at equal distances among those that are in the way, as neighbours
 * often wait for each other. With room for all, three batches are enough: after this one, each
 * extent that did not have to make room itself finds its place free, and the others after that.
 */
static void make_room(struct homing *h)
{
	const u32 most = min(h->batch - h->nr_moves, h->left);
	const u32 room = min(sort_free(h), most), last = h->nr_moves + room;
	u64 waiting = 0, sum = 0;

	for (u32 lext = 0; room && lext < h->t->content; lext++)
		waiting += in_the_way_of(h, lext) != NO_LEXT;
	for (u32 lext = 0; h->nr_moves < last && lext < h->t->content; lext++) {
		const u32 other = in_the_way_of(h, lext);

		if (other == NO_LEXT)
			continue;
		sum += room;
		if (sum < waiting)
			continue;
		sum -= waiting;
		add_move(h, other, h->free[--h->nr_free]);
	}
}

void fus_homing_choose(struct homing *h)
{
	h->nr_moves = 0;
	while (h->next_ready < h->nr_ready && h->nr_moves < h->batch) {
		const u32 lext = h->ready[h->next_ready++];

		add_move(h, lext, fus_transit_word(h->t, lext));
	}
	if (h->nr_moves <= h->batch / 2)
		make_room(h);
}

void fus_homing_done(struct homing *h)
{
	for (u32 i = 0; i < h->nr_moves; i++) {
		const struct homing_move *m = &h->move[i];
		u32 lext;

		h->busy[m->lext] = 0;
		if (!fus_homing_away(h, m->lext))
			h->left--;
		if (!fusion_word_mapped(m->from) || homing_stays(m))
			continue;
		*owner_of(h, m->from) = NO_LEXT;
		h->free[h->nr_free++] = fusion_word(FUSION_STABLE, fusion_word_dev(m->from),
						    fusion_word_slot(m->from));
		lext = belongs(h, m->from);
		if (lext != NO_LEXT && fus_homing_away(h, lext))
			look_if_ready(h, lext);
	}
}
