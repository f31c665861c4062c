// SPDX-License-Identifier: GPL-2.0-only
/*
 * A set with a landing log is mostly read: blocks get copies on the fast disk, are read there, and
 * written, discarded or moved just when they get one; and the log wants its slots back.
 */
#include "ops.h"

/* A few extents have most of it. */
static u32 draw_sector(const struct setup *s, u64 *rng)
{
	return rnd_below(rng, rnd_below(rng, 4) ? min(s->sb.nr_lexts, 5U) : s->sb.nr_lexts) *
	       EXTENT_SECTORS;
}

/* Whole blocks, few enough for copies. */
static struct op *look(struct op *op, u32 sector, u64 *rng)
{
	u32 block = rnd_below(rng, EXTENT_SECTORS / 8);

	return add(op, OP_READ, sector + 8 * block,
		   8 * (1 + rnd_below(rng, min(EXTENT_SECTORS / 8 - block, 4U))));
}

/* Anything: copies serve parts of blocks, and more than one of them, too. */
static struct op *look_anywhere(struct op *op, u32 sector, u64 *rng)
{
	u32 at = rnd_below(rng, EXTENT_SECTORS);

	return add(op, OP_READ, sector + at, 1 + rnd_below(rng, min(EXTENT_SECTORS - at, 40U)));
}

/* Blocks of an extent get copies, one after the other, and it is known when they have them. */
static struct op *warm(struct op *op, u32 sector, u64 *rng)
{
	u32 i;

	for (i = 2 + rnd_below(rng, 8); i; i--)
		op = look(op, sector, rng);
	if (rnd_below(rng, 2))
		op = add(op, OP_WAIT, 0, 0);
	return rnd_below(rng, 2) ? add(op, OP_SLEEP, 0, 1 << rnd_below(rng, 6)) : op;
}

/* An extent without any blocks gets all of them, and the first ones once more meanwhile. */
static struct op *complete_under_a_write(struct op *op, u32 sector, u64 *rng)
{
	const u32 half = EXTENT_SECTORS / 2;

	op = add(op, OP_WRITE, sector, half);
	op = add(op, OP_WAIT, 0, 0);
	op = add(op, OP_WRITE, sector + 8 * rnd_below(rng, half / 8), 8);
	op = add(op, OP_WRITE, sector + half, half);
	op = add(op, OP_FLUSH, 0, 0);
	op = add(op, OP_SLEEP, 0, 1 << rnd_below(rng, 6));
	op = look(op, sector, rng);
	return look(op, sector, rng);
}

/* Something changes what they are copies of. */
static struct op *change(struct op *op, u32 sector, u64 *rng)
{
	const u32 block = sector + 8 * rnd_below(rng, EXTENT_SECTORS / 8);
	const u32 at = rnd_below(rng, 8);

	switch (rnd_below(rng, 12)) {
	case 0 ... 3:		/* gets into the log */
		op = add(op, OP_WRITE, block, 8);
		break;
	case 4 ... 6:		/* goes past it */
		op = add(op, OP_WRITE, block + at, 1 + rnd_below(rng, 8 - at));
		break;
	case 7:
		op = add(op, OP_ZEROES, block, 8);
		break;
	case 8:
		op = add(op, OP_DISCARD, block, 8);
		break;
	case 9:
		op = add(op, OP_DISCARD, sector, EXTENT_SECTORS);
		/* and written as a whole, so that it is STABLE again, and read */
		if (rnd_below(rng, 2))
			op = add(op, OP_WRITE, sector, EXTENT_SECTORS);
		else if (rnd_below(rng, 2))
			op = complete_under_a_write(op, sector, rng);
		break;
	case 10:
		op = add(op, OP_PROMOTE, sector / EXTENT_SECTORS, 1);
		if (rnd_below(rng, 2))
			op = add(op, OP_WRITE, block, 8);
		op = add(op, OP_DEMOTE, sector / EXTENT_SECTORS, 1);
		break;
	default:
		op = add(op, OP_DRAIN, 0, 0);
	}
	if (!rnd_below(rng, 4))
		op[-1].flags |= OP_LATE;
	return op;
}

/* The log gets on, until it has all of its slots. */
static struct op *press(struct op *op, const struct setup *s, u64 *rng)
{
	u32 i;

	for (i = 2 + rnd_below(rng, 12); i; i--) {
		op = add(op, OP_WRITE, draw_sector(s, rng), 8 * (1 + rnd_below(rng, 16)));
		if (!rnd_below(rng, 3))
			op = look(op, draw_sector(s, rng), rng);
	}
	return op;
}

static struct op *disturb(struct op *op, const struct setup *s, u64 *rng)
{
	const u32 slots = s->sb.nr_fast_slots;

	switch (rnd_below(rng, 9)) {
	case 0:
		return add(op, OP_SUSPEND, 0, 0);
	case 1:
		return add(op, rnd_below(rng, 2) ? OP_RELOAD : OP_REOPEN, 0, 0);
	case 2:
		return add_crash(op, rng);
	case 3:
		op = add(op, OP_FENCE, rnd_below(rng, slots), 0);
		op[-1].flags = FUSION_FAST;
		op[-1].nr = 1 + rnd_below(rng, slots - op[-1].sector);
		return op;
	case 4:
		return add(op, OP_FENCE_OFF, 0, 0);
	case 5:
		return add(op, OP_CHECKPOINT, 0, 0);
	case 6:		/* other extents want slots */
		op = add(op, OP_DISCARD, draw_sector(s, rng), EXTENT_SECTORS);
		return add(op, OP_WRITE, draw_sector(s, rng), EXTENT_SECTORS);
	case 7:
		return add(op, OP_WAIT, 0, 0);
	default:
		return add(op, OP_FLUSH, 0, 0);
	}
}

u32 make_copies_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
{
	struct op *op = ops, *const end = ops + nr;
	u32 sector, i;

	op = add(op, OP_DEMOTE, 0, min(s->sb.nr_lexts, 5U));
	while (end - op > 96) {
		sector = draw_sector(s, rng);
		op = warm(op, sector, rng);
		for (i = rnd_below(rng, 4); i; i--) {
			op = rnd_below(rng, 2) ? look(op, sector, rng) :
						 look_anywhere(op, sector, rng);
			if (rnd_below(rng, 2))
				op = change(op, sector, rng);
		}
		op = look_anywhere(op, sector, rng);
		if (!rnd_below(rng, 6))
			op = press(op, s, rng);
		if (!rnd_below(rng, 12))
			op = disturb(op, s, rng);
		if (s->faults && !rnd_below(rng, 12))
			op = fail_any(op, s, rng);
	}
	return op - ops;
}
