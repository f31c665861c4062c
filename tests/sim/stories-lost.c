// SPDX-License-Identifier: GPL-2.0-only
/*
 * Extents that are lost: written to in part or as a whole, zeroed, discarded, read, while all the
 * rest that sets do goes on around them.
 */
#include "ops.h"

static u32 block_of(u32 lext, u64 *rng)
{
	return lext * EXTENT_SECTORS + FUSION_BLOCK_SECTORS *
	       rnd_below(rng, EXTENT_SECTORS / FUSION_BLOCK_SECTORS);
}

/* The rest of an extent from one of its blocks on, and all before it, in any order. */
static struct op *fill(struct op *op, u32 lext, u64 *rng)
{
	const u32 first = lext * EXTENT_SECTORS, at = block_of(lext, rng);
	const enum op_kind kind = rnd_below(rng, 3) ? OP_WRITE : OP_ZEROES;

	op = add(op, OP_WRITE, at, first + EXTENT_SECTORS - at);
	return at > first ? add(op, kind, first, at - first) : op;
}

static struct op *one(struct op *op, const struct setup *s, u64 *rng)
{
	const u32 all = s->sb.nr_lexts, lext = rnd_below(rng, all);
	const u32 n = 1 + rnd_below(rng, min(all - lext, 4U)), at = block_of(lext, rng);

	switch (rnd_below(rng, 24)) {
	case 0 ... 5:
		op = add(op, OP_WRITE, at, FUSION_BLOCK_SECTORS);
		op[-1].flags = rnd_below(rng, 4) ? 0 : OP_FUA;
		return op;
	case 6:
		/* a part of a block */
		return add(op, rnd_below(rng, 4) ? OP_WRITE : OP_ZEROES, at + rnd_below(rng, 8),
			   1 + rnd_below(rng, 4));
	case 7:
		return add(op, OP_ZEROES, at, FUSION_BLOCK_SECTORS);
	case 8 ... 9:
		return add(op, OP_DISCARD, at, FUSION_BLOCK_SECTORS);
	case 10:
		return add(op, rnd_below(rng, 4) ? OP_DISCARD : OP_ZEROES, lext * EXTENT_SECTORS,
			   n * EXTENT_SECTORS);
	case 11:
		return add(op, OP_WRITE, lext * EXTENT_SECTORS, n * EXTENT_SECTORS);
	case 12:
		return fill(op, lext, rng);
	case 13 ... 14:
		return add(op, OP_READ, at, rnd_below(rng, 2) ? FUSION_BLOCK_SECTORS :
			   (lext + 1) * EXTENT_SECTORS - at);
	case 15:
		return add(op, OP_SPRAY, lext * EXTENT_SECTORS, min(all - lext, 6U));
	case 16:
		return add(op, OP_PROMOTE + rnd_below(rng, 2), lext, n);
	case 17:
		return add(op, rnd_below(rng, 2) ? OP_REPLICA : OP_CHECKPOINT, 0, 0);
	case 18:
		return add(op, OP_SLEEP, 0, 1 << rnd_below(rng, 14));
	case 19:
		draw_fence(s, rng, op);
		return op + 1;
	case 20:
		if (!s->homes)
			return add(op, OP_FENCE_OFF, 0, 0);
		draw_homing(rng, op);
		return op + 1;
	default:
		return add(op, rnd_below(rng, 3) ? OP_FLUSH : OP_WAIT, 0, 0);
	}
}

u32 make_lost_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
{
	struct op *op = ops, *const end = ops + nr;

	while (end - op > 48) {
		u32 i;

		for (i = 4 + rnd_below(rng, 24); i; i--)
			op = one(op, s, rng);
		op = fail_any(op, s, rng);
		if (!rnd_below(rng, 4))
			op = add(op, rnd_below(rng, 4) ? OP_CRASH : OP_REOPEN, 0,
				 rnd_below(rng, 3));
		if (!rnd_below(rng, 8))
			op = add(op, s->shrinks ? OP_SHRINK : OP_REPLACE, 0, 0);
		if (!rnd_below(rng, 12))
			op = add(op, rnd_below(rng, 2) ? OP_RELOAD : OP_READONLY, 0, 0);
	}
	return op - ops;
}
