// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the index of copies of what was read: part of that of the landing log. The head of
 * dm-fusion-copies.h says what may be in it.
 */
#include <linux/errno.h>
#include <linux/hash.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "dm-fusion-copies.h"

int fusion_copies_index_init(struct fusion_land *land)
{
	struct fusion_copies *c = kvzalloc(sizeof(*c), GFP_KERNEL);
	u32 i;

	land->copies = c;
	if (!c)
		return -ENOMEM;
	c->shelf = kvcalloc(land->max, sizeof(*c->shelf), GFP_KERNEL);
	c->ghost = kvcalloc(1U << land->hash_bits, sizeof(*c->ghost), GFP_KERNEL);
	c->fill = kvcalloc(FUSION_FILLS, sizeof(*c->fill), GFP_KERNEL);
	if (!c->shelf || !c->ghost || !c->fill)
		return -ENOMEM;
	for (i = 0; i < FUSION_FILLS; i++) {
		c->fill[i].next = c->free;
		c->free = &c->fill[i];
	}
	c->more = true;
	return 0;
}

void fusion_copies_index_exit(struct fusion_land *land)
{
	struct fusion_copies *c = land->copies;

	if (!c)
		return;
	kvfree(c->fill);
	kvfree(c->ghost);
	kvfree(c->shelf);
	kvfree(c);
	land->copies = NULL;
}

bool fusion_copies_lent(const struct fusion_land *land, u32 place)
{
	return land->copies && land->copies->shelf[place] != FUSION_SHELF_NONE;
}

struct fusion_copies_group *fusion_copies_group(const struct fusion_land *land, u32 lext)
{
	return &land->copies->group[hash_32(lext, FUSION_COPY_GROUPS_BITS)];
}

u32 fusion_copies_bare_place(const struct fusion_land *land)
{
	u32 i;

	for (i = 0; i < land->max; i++)
		if (land->segment[i].state == FUSION_LAND_UNUSED && !land->segment[i].kept &&
		    !fusion_copies_lent(land, i))
			return i;
	return FUSION_LAND_NONE;
}

/* -- copies ---------------------------------------------------------------------------------- */

u32 fusion_copies_seek(const struct fusion_land *land, u32 lext, u32 block)
{
	return fusion_land_find(land, lext, block | FUSION_COPY_KEY);
}

u32 fusion_copies_find(const struct fusion_land *land, u32 lext, u32 block)
{
	const u32 pos = fusion_copies_seek(land, lext, block);

	return pos != FUSION_LAND_NONE &&
	       land->copies->shelf[pos / land->blocks] == FUSION_SHELF_LENT ? pos :
									     FUSION_LAND_NONE;
}

void fusion_copies_use(struct fusion_land *land, u32 pos)
{
	struct fusion_land_entry *entry = &land->entry[pos];

	entry->flags += (entry->flags & FUSION_COPY_ROUNDS) < FUSION_COPY_ROUNDS;
}

/* A copy was made. Every so often, look whether reads of copies were worth the last ones. */
static void fusion_copies_reckon(struct fusion_land *land)
{
	struct fusion_copies *c = land->copies;
	const u64 made = ++c->made - c->made_then;

	if (made < (u64)land->max * land->blocks / 4)
		return;
	c->poor = c->served - c->served_then < made / 2;
	c->made_then = c->made;
	c->served_then = c->served;
}

void fusion_copies_enter(struct fusion_land *land, u32 pos, u32 lext, u32 block)
{
	land->entry[pos] = (struct fusion_land_entry){
		.lext = lext,
		.block = block | FUSION_COPY_KEY,
		.flags = FUSION_COPY_HERE,
	};
	fusion_land_link(land, pos);
	fusion_copies_group(land, lext)->copies++;
	land->copies->nr++;
	fusion_copies_reckon(land);
}

void fusion_copies_remove(struct fusion_land *land, u32 pos)
{
	fusion_land_unlink(land, pos);
	land->entry[pos].flags = 0;
	fusion_copies_group(land, land->entry[pos].lext)->copies--;
	land->copies->nr--;
}

/* Fills get no copies of these blocks. */
static void fusion_copies_kill_fills(struct fusion_copies *c, u32 lext, u32 first, u32 end)
{
	u32 i, k, nr = c->nr_fills;

	for (i = 0; nr; i++) {
		struct fusion_fill *f = &c->fill[i];

		if (f->state == FUSION_FILL_FREE)
			continue;
		nr--;
		for (k = 0; f->lext == lext && k < f->nr; k++)
			if (f->block + k >= first && f->block + k < end)
				f->dead |= 1 << k;
	}
}

void fusion_copies_kill(struct fusion_land *land, u32 lext, u32 first, u32 end)
{
	struct fusion_copies *c = land->copies;
	const struct fusion_copies_group *group = fusion_copies_group(land, lext);
	u32 block, pos;

	fusion_copies_kill_fills(c, lext, first, end);
	for (block = first; group->copies && block < end; block++) {
		pos = fusion_copies_seek(land, lext, block);
		if (pos == FUSION_LAND_NONE)
			continue;
		fusion_copies_remove(land, pos);
		c->killed++;
	}
}

void fusion_copies_forget(struct fusion_land *land, u32 lext)
{
	unsigned long flags;

	if (!land->copies)
		return;
	spin_lock_irqsave(&land->lock, flags);
	fusion_copies_kill(land, lext, 0, land->blocks);
	spin_unlock_irqrestore(&land->lock, flags);
}

/* -- which blocks get one -------------------------------------------------------------------- */

bool fusion_copies_seen(struct fusion_land *land, u32 lext, u32 block)
{
	const u32 key = lext * land->blocks + block;
	u16 *ghost = &land->copies->ghost[hash_32(key, land->hash_bits)];
	/* of other bits than those that say where it is; never 0 */
	const u16 trace = (key ^ key >> 16) | 1;
	const bool seen = *ghost == trace;

	*ghost = trace;
	return seen;
}

bool fusion_copies_roomy(const struct fusion_land *land)
{
	const struct fusion_copies *c = land->copies;
	const u32 all = c->nr_shelves * land->blocks;

	return !c->poor && (c->more || c->nr + c->nr_fills + all / 16 < all);
}

u32 fusion_copies_turn(struct fusion_land *land, u32 *pos, u32 nr, u32 *steps)
{
	struct fusion_copies *c = land->copies;
	u32 found = 0, at;

	while (*steps && found < nr && c->nr_shelves) {
		if (c->block == land->blocks || c->shelf[c->place] != FUSION_SHELF_LENT) {
			c->place = (c->place + 1) % land->max;
			c->block = 0;
			continue;
		}
		--*steps;
		at = c->place * land->blocks + c->block++;
		if (land->entry[at].flags & FUSION_COPY_ROUNDS) {
			land->entry[at].flags--;
			continue;
		}
		if (land->entry[at].flags & FUSION_COPY_HERE) {
			fusion_copies_remove(land, at);
			c->evicted++;
		}
		pos[found++] = at;
	}
	return found;
}

/* -- places ---------------------------------------------------------------------------------- */

void fusion_copies_lend(struct fusion_land *land, u32 place)
{
	struct fusion_copies *c = land->copies;

	c->shelf[place] = FUSION_SHELF_LENT;
	c->nr_shelves++;
	/* it is filled next */
	c->place = place;
	c->block = 0;
}

bool fusion_copies_leave(struct fusion_land *land, u32 place)
{
	struct fusion_copies *c = land->copies;

	if (c->shelf[place] != FUSION_SHELF_LENT)
		return false;
	c->shelf[place] = FUSION_SHELF_LEFT;
	c->nr_shelves--;
	c->nr_left++;
	return true;
}

void fusion_copies_clear(struct fusion_land *land, u32 place, u32 block, u32 nr)
{
	const u32 end = min(block + nr, land->blocks);
	u32 pos;

	for (; block < end; block++) {
		pos = place * land->blocks + block;
		if (!(land->entry[pos].flags & FUSION_COPY_HERE))
			continue;
		fusion_copies_remove(land, pos);
		land->copies->retaken++;
	}
}

void fusion_copies_give_back(struct fusion_land *land, u32 place)
{
	land->copies->shelf[place] = FUSION_SHELF_NONE;
	land->copies->nr_left--;
}
