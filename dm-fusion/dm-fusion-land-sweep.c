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
 * oldest segments are looked at, and others when these have had their turn.
 */
#include "dm-fusion.h"

/* The oldest quarter of the segments, but at least so many blocks. */
#define LEAST		16384U
/* Positions that are looked at under one lock. */
#define CHUNK		256U

u32 fusion_drain_oldest(const struct fusion_land *land, u64 *segno, u64 end)
{
	u32 i, found = land->max;

	for (i = 0; i < land->max; i++) {
		const struct fusion_land_segment *seg = &land->segment[i];

		if (seg->state == FUSION_LAND_LISTED && seg->nr_live && seg->segno >= *segno &&
		    seg->segno < end) {
			end = seg->segno;
			found = i;
		}
	}
	*segno = end;
	return found;
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

	if (seg->state != FUSION_LAND_LISTED || !seg->nr_live || seg->segno >= c->end)
		return;
	for (one.pos = first; one.pos < end; one.pos++)
		if (fusion_land_bit(land, land->live, one.pos) &&
		    fusion_drain_to(fs, one.pos, &one.to, c->counts) && one.to >= c->from)
			fusion_sweep_add(c, one);
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
	u64 segno = 0;

	spin_lock_irq(&fs->lock);
	fusion_drain_oldest(land, &segno, U64_MAX);
	spin_unlock_irq(&fs->lock);
	return segno == U64_MAX ? segno : segno + max(land->max / 4, LEAST / land->blocks);
}

u32 fusion_sweep(struct fusion *fs, struct fusion_swept *list, u32 max, u64 end,
		 struct fusion_drained *counts)
{
	struct fusion_land_sweep *sweep = &fs->land.sweep;
	struct choice c = { .list = list, .counts = counts, .max = max };

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
	sweep->from = c.nr ? list[0].to + 1 : 0;
	return c.nr;
}
