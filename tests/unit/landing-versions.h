/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Versions of blocks, in a landing log and on the slow member: what is known of them, on which disk
 * they are durable, and how commits are packed. test-landing-versions.c has the writer.
 */
#ifndef LANDING_VERSIONS_H
#define LANDING_VERSIONS_H

#include "landing-disk.h"

#define EXTENTS		3U
#define EACH		4U		/* blocks of an extent that are used */
#define NR		(EXTENTS * EACH)
#define MAX_BATCHES	4096U
#define MAX_FLIGHT	2U

/* Operations of the map, behind those of the log */
#define OP_UNMAP	100
#define OP_STABLE	101

enum state { NONE, FLIGHT, LIVE, SUPERSEDED, DRAINED, KILLED, DEAD };

/* A block of a segment. */
struct place {
	enum state state;
	bool killed;			/* by what came behind it, before its batch has ended */
	u32 b;
	u64 version;
};

struct batch {
	u64 segno;
	u64 seq;
	u32 pos;
	u32 count;
	struct fusion_landed next;	/* behind it */
};

enum map_state { UNMAPPED, OPEN, STABLE };

/* An extent. Its slots take turns, as one is not used again before the commit. */
struct extent {
	enum map_state state;
	u32 slot;
	u64 zeros;			/* the version that discarded it */
	bool unmaps;			/* is to be recorded */
};

static struct extent ext[EXTENTS], ext_disk[EXTENTS];
static u64 base[EXTENTS][2][EACH], base_disk[EXTENTS][2][EACH];	/* the slow member */
static bool slow_dirty;
static struct place place[SLOTS][BLOCKS];
static struct place *newest[NR];	/* the index */
static struct batch batch[MAX_BATCHES];	/* those that count */
static u32 nr_batches, nr_flight;	/* and of these, the last ones are on their way */
static struct fusion_landed ended;	/* behind those that are not */
static u64 last_version;
static u64 issued[NR], done[NR], flushed[NR];
static struct { bool on; u32 b; u64 version; } direct;	/* a write beside the log, on its way */

/* What is done in a wrong order, or not at all. */
static enum { RIGHT, KILLS_FIRST, NO_SLOW_FLUSH, OLD_STAY, UNMAPPED_STAY, FLUSH_ONLY,
	      NR_ORDERS } order;
static bool wrong;			/* a version that is not right was found */

static void check(bool right, const char *what)
{
	if (right)
		return;
	REQUIRE(order != RIGHT, "%s, seed %llu", what, (unsigned long long)seed);
	wrong = true;
}

/* -- the disks ----------------------------------------------------------------------------- */

static bool in_flight(u32 slot, u32 pos)
{
	u32 i;

	for (i = nr_batches - nr_flight; i < nr_batches; i++) {
		const struct part *part = part_of(batch[i].segno);

		if (part->seg.slot == slot && pos >= batch[i].pos &&
		    pos <= batch[i].pos + batch[i].count)
			return true;
	}
	return false;
}

static void flush_fast(void)
{
	u32 slot, pos;

	for (slot = 0; slot < SLOTS; slot++)
		for (pos = 0; pos < BLOCKS; pos++)
			if (!in_flight(slot, pos))
				memcpy(disk[slot] + pos * FUSION_BLOCK_SIZE,
				       cache[slot] + pos * FUSION_BLOCK_SIZE, FUSION_BLOCK_SIZE);
	flushed_seq = ended.seq;
}

static void flush_slow(void)
{
	memcpy(base_disk, base, sizeof(base));
	slow_dirty = false;
}

static void cut_power(void)
{
	u64 *d = base_disk[0][0], *c = base[0][0];
	u32 i;

	power_cut();
	for (i = 0; i < EXTENTS * 2 * EACH; i++)
		if (chance(2))
			d[i] = c[i];
	memcpy(base, base_disk, sizeof(base));
}

/* -- commits ------------------------------------------------------------------------------- */

static u32 end_of(u64 segno)
{
	u32 i, end = 0;

	for (i = 0; i < nr_batches; i++)
		if (batch[i].segno == segno)
			end = batch[i].pos + 1 + batch[i].count;
	return end;
}

/* Record the segments that have such entries, and were left without a word. They are dead then. */
static void record_dead(enum state a, enum state b, u64 left)
{
	u32 slot, pos;

	for (slot = 0; slot < SLOTS; slot++) {
		struct part *part = &mem[slot];
		bool any = false;

		if (!part->seg.key)
			continue;
		for (pos = 0; pos < BLOCKS; pos++) {
			struct place *p = &place[slot][pos];

			if (p->state != a && p->state != b && !(p->killed && b == KILLED))
				continue;
			part->live[pos / 8] &= ~(1 << pos % 8);
			any = true;
		}
		if (part->seg.segno < left && !part->seg.end) {
			part->seg.end = end_of(part->seg.segno);
			any = true;
		}
		if (any)
			record_segment(part);
	}
}

static bool any_alive(u32 slot)
{
	u32 pos;

	for (pos = 0; pos < BLOCKS; pos++)
		if (place[slot][pos].state != NONE && mem[slot].live[pos / 8] >> pos % 8 & 1)
			return true;
	return false;
}

/* SEGFREE of what is drained. Its places are forgotten; the slow member has what they have. */
static void record_drained(u64 left)
{
	u32 slot, pos;

	for (slot = 0; slot < SLOTS; slot++) {
		if (!mem[slot].seg.key || mem[slot].seg.segno >= left || any_alive(slot))
			continue;
		for (pos = 0; pos < BLOCKS; pos++)
			if (newest[place[slot][pos].b] == &place[slot][pos])
				newest[place[slot][pos].b] = NULL;
		record_free(&mem[slot]);
		memset(place[slot], 0, sizeof(place[0]));
	}
}

static void record_map(int op, bool opened)
{
	u32 i;

	for (i = 0; i < EXTENTS; i++)
		if (opened ? ext[i].state == OPEN : ext[i].unmaps)
			add_op(op)->lext = i;
}

static void apply(const struct op *op)
{
	struct extent *e = &ext_disk[op->lext];

	if (op->op != OP_UNMAP && op->op != OP_STABLE) {
		apply_op(op);
		return;
	}
	e->state = op->op == OP_STABLE ? STABLE : UNMAPPED;
	e->slot = ext[op->lext].slot;
	e->zeros = ext[op->lext].zeros;
}

/* What the commit has recorded is so. */
static void committed(void)
{
	u32 slot, pos, i;

	for (slot = 0; slot < SLOTS; slot++) {
		for (pos = 0; pos < BLOCKS; pos++) {
			struct place *p = &place[slot][pos];

			if (p->state == DRAINED)
				newest[p->b] = NULL;
			if (p->state > LIVE)
				p->state = DEAD;
		}
	}
	for (i = 0; i < EXTENTS; i++) {
		ext[i].unmaps = false;
		if (ext[i].state == OPEN)
			ext[i].state = STABLE;
	}
}

/* Is something to be recorded that a flush has to wait for? */
static bool pending(void)
{
	u32 slot, pos, i;

	for (slot = 0; slot < SLOTS; slot++)
		for (pos = 0; pos < BLOCKS; pos++)
			if (place[slot][pos].state == KILLED || place[slot][pos].killed)
				return true;
	for (i = 0; i < EXTENTS; i++)
		if (ext[i].unmaps || ext[i].state == OPEN)
			return true;
	return false;
}

/*
 * Data first, then the records, perhaps the first ones only: the map; superseded entries; what is
 * dead by what is elsewhere; how far the log is durable; slots; and at last extents that may have
 * entries again.
 */
static void commit(void)
{
	u32 i, end;

	flush_fast();
	if (pending() && order != NO_SLOW_FLUSH)
		flush_slow();
	record_map(OP_UNMAP, false);
	if (order == KILLS_FIRST)
		record_dead(DRAINED, KILLED, 0);
	if (order != OLD_STAY)
		record_dead(SUPERSEDED, SUPERSEDED, ended.segno);
	record_dead(DRAINED, KILLED, ended.segno);
	add_op(FUSION_OP_LANDED)->landed = ended;
	if (order != OLD_STAY)
		record_drained(ended.segno);
	open_ahead();
	record_map(OP_STABLE, true);

	end = chance(4) ? rnd_below(&seed, nr_ops + 1) : nr_ops;
	for (i = 0; i < end; i++)
		apply(&ops[i]);
	if (end < nr_ops)
		cut_power();
	else
		committed();
	nr_ops = 0;
}

/* A user's flush: what had ended before is durable. */
static void flush(void)
{
	if (pending() && order != FLUSH_ONLY) {
		commit();
	} else {
		flush_fast();
		if (slow_dirty)
			flush_slow();
	}
	if (!cut)
		memcpy(flushed, done, sizeof(done));
}

#endif
