// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: which blocks of the landing log are drained next.
 *
 * The drain goes over the slow member from its beginning to its end, again and again, and takes all
 * blocks of the log that it comes by. So those of a round lie side by side, however few they are,
 * and all of the log helps to make the ways short. A segment is empty when the drain has once been
 * everywhere since it was filled.
 *
 * In a large log that would take long, and the ways would hardly be shorter. So there only the
 * oldest segments are looked at, and others when these have had their turn. Each look at them finds
 * the blocks of several rounds. When it is their turn, each is looked at once more: it may have
 * died, or have got into the log again. What has got there behind the look waits for the next pass.
 */
#include <linux/mm.h>
#include <linux/sort.h>

#include "dm-fusion.h"

/* The oldest quarter of the segments, but at least so many blocks. */
#define LEAST		16384U
/* Positions that are looked at under one lock. */
#define CHUNK		256U
/* The same of segments. */
#define SEGMENTS	1024U
/* Blocks that a look finds: one of so many positions, within bounds. */
#define PART		256U
#define FEWEST		1024U
#define MOST		16384U

int fusion_sweep_init(struct fusion_land *land)
{
	struct fusion_land_sweep *sweep = &land->sweep;

	if (!land->max)
		return 0;
	sweep->max = clamp(land->max * land->blocks / PART, FEWEST, MOST);
	sweep->list = kvcalloc(sweep->max, sizeof(*sweep->list), GFP_KERNEL);
	return sweep->list ? 0 : -ENOMEM;
}

void fusion_sweep_exit(struct fusion_land *land)
{
	kvfree(land->sweep.list);
}

bool fusion_drain_oldest(struct fusion *fs, u64 *segno)
{
	const struct fusion_land *land = &fs->land;
	const u64 end = *segno;
	u32 i, stop;

	for (i = 0; i < land->max; cond_resched()) {
		stop = min(i + SEGMENTS, land->max);
		spin_lock_irq(&fs->lock);
		for (; i < stop; i++) {
			const struct fusion_land_segment *seg = &land->segment[i];

			if (seg->state == FUSION_LAND_LISTED && seg->nr_live &&
			    seg->segno < *segno)
				*segno = seg->segno;
		}
		spin_unlock_irq(&fs->lock);
	}
	return *segno < end;
}

/* What is looked for, and what was found. */
struct choice {
	struct fusion_swept *list;
	struct fusion_drained *counts;
	u32 max;
	u32 nr;
	u64 from;
	u64 end;
};

/* -- the nearest ones: a heap, with the furthest of them at the top --------------------------- */

static void fusion_sweep_swap(struct fusion_swept *list, u32 a, u32 b)
{
	const struct fusion_swept was = list[a];

	list[a] = list[b];
	list[b] = was;
}

static void fusion_sweep_rise(struct fusion_swept *list, u32 i)
{
	for (; i && list[i].to > list[(i - 1) / 2].to; i = (i - 1) / 2)
		fusion_sweep_swap(list, i, (i - 1) / 2);
}

static void fusion_sweep_sink(struct fusion_swept *list, u32 nr)
{
	u32 i = 0, next;

	for (; (next = 2 * i + 1) < nr; i = next) {
		if (next + 1 < nr && list[next + 1].to > list[next].to)
			next++;
		if (list[next].to <= list[i].to)
			break;
		fusion_sweep_swap(list, i, next);
	}
}

/* The nearest ones stay if there are too many. */
static void fusion_sweep_add(struct choice *c, struct fusion_swept one)
{
	if (c->nr < c->max) {
		c->list[c->nr] = one;
		fusion_sweep_rise(c->list, c->nr++);
	} else if (one.to < c->list[0].to) {
		c->list[0] = one;
		fusion_sweep_sink(c->list, c->nr);
	}
}

/* -- all of them ----------------------------------------------------------------------------- */

/* The mover moves extents and drains, one after the other: none is WATCHED or LOCKED meanwhile. */
static bool fusion_drain_may_take(const struct fusion_land_entry *entry, u32 word)
{
	return fusion_word_mapped(word) && fusion_word_dev(word) == FUSION_SLOW &&
	       fusion_word_state(word) == FUSION_STABLE && !entry->flags;
}

bool fusion_drain_to(const struct fusion *fs, u32 pos, u64 *to, struct fusion_drained *counts)
{
	const struct fusion_land_entry *entry = &fs->land.entry[pos];
	const u32 word = READ_ONCE(fs->map[entry->lext]);

	if (fusion_land_bit(&fs->land, fs->land.uncopied, pos)) {
		counts->given_up++;
		return false;
	}
	if (!fusion_drain_may_take(entry, word)) {
		counts->in_the_way++;
		return false;
	}
	*to = fusion_word_sector(fs, word) + entry->block * FUSION_BLOCK_SECTORS;
	return true;
}

/* Up to CHUNK positions of a segment. Both locks held. */
static void fusion_sweep_chunk(struct fusion *fs, struct choice *c, u32 first)
{
	const struct fusion_land *land = &fs->land;
	const struct fusion_land_segment *seg = &land->segment[first / land->blocks];
	const u32 end = first + min(CHUNK, land->blocks);
	struct fusion_swept one;
	u32 pos;

	if (seg->state != FUSION_LAND_LISTED || !seg->nr_live || seg->segno >= c->end)
		return;
	for (pos = first; pos < end; pos++) {
		if (!fusion_land_bit(land, land->live, pos) ||
		    !fusion_drain_to(fs, pos, &one.to, c->counts) || one.to < c->from)
			continue;
		one.lext = land->entry[pos].lext;
		one.block = land->entry[pos].block;
		fusion_sweep_add(c, one);
	}
}

static u32 fusion_sweep_all(struct fusion *fs, struct choice *c)
{
	struct fusion_land *land = &fs->land;
	unsigned long flags;
	u32 first;

	*c->counts = (struct fusion_drained){ };
	for (first = 0; first < land->max * land->blocks; first += min(CHUNK, land->blocks)) {
		/* for a hint: it has entries only from the end of a batch on */
		if (!READ_ONCE(land->segment[first / land->blocks].nr_live) ||
		    READ_ONCE(land->segment[first / land->blocks].segno) >= c->end)
			continue;
		spin_lock_irq(&fs->lock);
		spin_lock_irqsave(&land->lock, flags);
		fusion_sweep_chunk(fs, c, first);
		spin_unlock_irqrestore(&land->lock, flags);
		spin_unlock_irq(&fs->lock);
		cond_resched();
	}
	return c->nr;
}

/* The end of the segments that are looked at from now on. */
static u64 fusion_sweep_end(struct fusion *fs)
{
	const struct fusion_land *land = &fs->land;
	u64 segno = U64_MAX;

	return fusion_drain_oldest(fs, &segno) ?
	       segno + max(land->max / 4, LEAST / land->blocks) : segno;
}

static int fusion_sweep_compare(const void *a, const void *b)
{
	const struct fusion_swept *one = a, *two = b;

	return one->to < two->to ? -1 : one->to > two->to;
}

void fusion_sweep(struct fusion *fs, u64 end, struct fusion_drained *counts)
{
	struct fusion_land_sweep *sweep = &fs->land.sweep;
	struct choice c = { .list = sweep->list, .counts = counts, .max = sweep->max };

	c.from = sweep->from;
	c.end = min(end, sweep->end);
	if (!fusion_sweep_all(fs, &c)) {
		/* from the beginning, with other segments */
		sweep->end = fusion_sweep_end(fs);
		c.from = 0;
		c.end = min(end, sweep->end);
		fusion_sweep_all(fs, &c);
	}
	if (!c.nr && c.end < end) {
		/* none of the oldest can be drained */
		c.end = end;
		fusion_sweep_all(fs, &c);
	}
	sweep->from = c.nr ? sweep->list[0].to + 1 : 0;
	sort(sweep->list, c.nr, sizeof(*sweep->list), fusion_sweep_compare, NULL);
	sweep->nr = c.nr;
	sweep->next = 0;
	sweep->list_end = c.end;
}

u32 fusion_swept(struct fusion_land *land, u32 max, const struct fusion_swept **next)
{
	struct fusion_land_sweep *sweep = &land->sweep;
	const u32 nr = min(max, sweep->nr - sweep->next);

	*next = &sweep->list[sweep->next];
	sweep->next += nr;
	return nr;
}

u32 fusion_swept_pos(const struct fusion_land *land, const struct fusion_swept *one, u64 end)
{
	const u32 pos = fusion_land_find(land, one->lext, one->block);

	return pos != FUSION_LAND_NONE &&
	       land->segment[pos / land->blocks].segno < min(end, land->sweep.list_end) ?
	       pos : FUSION_LAND_NONE;
}
