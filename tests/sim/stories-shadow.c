// SPDX-License-Identifier: GPL-2.0-only
/*
 * Extents that go up, are written to or not, and come down again, while others need the slots that
 * they have left.
 */
#include "ops.h"

static struct op *block(struct op *op, enum op_kind kind, u32 lext, u64 *rng)
{
	return add(op, kind, lext * EXTENT_SECTORS + 8 * rnd_below(rng, EXTENT_SECTORS / 8), 8);
}

/* What makes a shadow useless, or a slot that is wanted for something else. */
static struct op *disturb(struct op *op, const struct setup *s, u64 *rng, u32 lext)
{
	u32 all = s->sb.nr_lexts, n = 1 + rnd_below(rng, min(all - lext, 6U));

	switch (rnd_below(rng, 20)) {
	case 0 ... 3:
		op = block(op, OP_WRITE, lext, rng);
		op[-1].flags = rnd_below(rng, 4) ? 0 : OP_FUA;
		return op;
	case 4:
		return block(op, OP_ZEROES, lext, rng);
	case 5:
		return block(op, OP_DISCARD, lext, rng);
	case 6 ... 7:
		return add(op, OP_DISCARD, lext * EXTENT_SECTORS, n * EXTENT_SECTORS);
	case 8 ... 9:
		return add(op, OP_SPRAY, lext * EXTENT_SECTORS, n);
	case 10 ... 11:
		return add(op, OP_WRITE, lext * EXTENT_SECTORS, n * EXTENT_SECTORS);
	case 12:
		draw_fence(s, rng, op);
		return op + 1;
	case 13:
		return add(op, OP_FENCE_OFF, 0, 0);
	case 14:
		if (s->homes && !rnd_below(rng, 4)) {
			draw_homing(rng, op);
			return op + 1;
		}
		return add(op, OP_HOMING_OFF, 0, 0);
	case 15:
		return add(op, rnd_below(rng, 2) ? OP_REPLICA : OP_CHECKPOINT, 0, 0);
	case 16:
		return add(op, OP_SLEEP, 0, 1 << rnd_below(rng, 12));
	case 17:
		return add(op, rnd_below(rng, 4) ? OP_FLUSH : OP_SUSPEND, 0, 0);
	default:
		return block(op, OP_READ, lext, rng);
	}
}

/* Let the replica name what is there, and time pass. */
static struct op *record(struct op *op, u64 *rng)
{
	op = add(op, OP_WAIT, 0, 0);
	op = add(op, OP_REPLICA, 0, 0);
	return add(op, OP_SLEEP, 0, 1 << rnd_below(rng, 12));
}

/* Nothing is left of what was before, and the first extents have data. */
static struct op *start_over(struct op *op, u32 all, u32 some)
{
	op = add(op, OP_FENCE_OFF, 0, 0);
	op = add(op, OP_HOMING_OFF, 0, 0);
	op = add(op, OP_DISCARD, 0, all * EXTENT_SECTORS);
	op = add(op, OP_WRITE, 0, some * EXTENT_SECTORS);
	return add(op, OP_WAIT, 0, 0);
}

u32 make_shadow_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
{
	struct op *op = ops, *const end = ops + nr;
	const u32 all = s->sb.nr_lexts;

	while (end - op > 72) {
		u32 some = rnd_below(rng, 4) ? all - rnd_below(rng, all / 2) : all, i, k;

		op = start_over(op, all, some);
		for (k = 1 + rnd_below(rng, 4); k && end - op > 56; k--) {
			u32 lext = rnd_below(rng, some);
			u32 n = 1 + rnd_below(rng, min(some - lext, 6U));

			/* on the slow member, so that it can go up */
			if (rnd_below(rng, 2))
				op = add(op, OP_DEMOTE, lext, n);
			op = add(op, OP_PROMOTE, lext, n);
			if (rnd_below(rng, 2))
				op = record(op, rng);
			for (i = rnd_below(rng, 8); i; i--)
				op = disturb(op, s, rng, rnd_below(rng, 3) ?
					     lext + rnd_below(rng, n) : rnd_below(rng, all));
			if (rnd_below(rng, 2))
				op = record(op, rng);
			op = fail_any(op, s, rng);
			if (rnd_below(rng, 4))
				op = add(op, OP_DEMOTE, lext, n);
			/* to the slot that it has come to, which is durable or not */
			for (i = rnd_below(rng, 4); i; i--)
				op = block(op, OP_WRITE, lext + rnd_below(rng, n), rng);
			if (rnd_below(rng, 2))
				op = add(op, rnd_below(rng, 4) ? OP_FLUSH : OP_WAIT, 0, 0);
			if (!rnd_below(rng, 6))
				op = add(op, rnd_below(rng, 4) ? OP_CRASH : OP_REOPEN, 0, 0);
		}
	}
	return op - ops;
}

/* Writes of metadata to some extents, of data to all, while points are made, or have been. */
static struct op *change(struct op *op, const struct setup *s, u64 *rng, u32 some)
{
	u32 lext = rnd_below(rng, rnd_below(rng, 3) ? min(some, 6U) : some);

	switch (rnd_below(rng, 24)) {
	case 0:
		return add(op, OP_PROMOTE, lext, 1 + rnd_below(rng, min(some - lext, 4U)));
	case 1:
		return add(op, OP_DEMOTE, lext, 1 + rnd_below(rng, min(some - lext, 4U)));
	case 2:
		return add(op, OP_DISCARD, lext * EXTENT_SECTORS, EXTENT_SECTORS);
	case 3:
		return add(op, OP_WRITE, lext * EXTENT_SECTORS, EXTENT_SECTORS);
	case 4:
		return add(op, rnd_below(rng, 2) ? OP_REPLICA : OP_POINT, 0, 0);
	case 5:
		return disturb(op, s, rng, lext);
	case 6 ... 8:
		return add(op, OP_SLEEP, 0, 1 << rnd_below(rng, 14));
	default:
		op = block(op, OP_WRITE, lext, rng);
		op[-1].flags = rnd_below(rng, 3) ? OP_FUA : 0;
		return op;
	}
}

/* An extent that a point is to copy is discarded, and written again: perhaps in the same slot. */
static struct op *live_again(struct op *op, u64 *rng, u32 lext)
{
	op = block(op, OP_WRITE, lext, rng);
	op[-1].flags = OP_FUA;
	op = add(op, OP_POINT, 0, 0);
	op = add(op, OP_SLEEP, 0, 1 << rnd_below(rng, 12));
	op = add(op, OP_DISCARD, lext * EXTENT_SECTORS, EXTENT_SECTORS);
	op = add(op, OP_FLUSH, 0, 0);
	op = add(op, OP_SLEEP, 0, 1 << rnd_below(rng, 12));
	return add(op, OP_WRITE, lext * EXTENT_SECTORS, EXTENT_SECTORS);
}

/* The machine is shut down, while some still write. */
static struct op *shut_down(struct op *op, u64 *rng, u32 some)
{
	u32 i;

	for (i = rnd_below(rng, 12); i; i--) {
		if (rnd_below(rng, 3))
			op = block(op, OP_WRITE, rnd_below(rng, some), rng);
		else
			op = add(op, OP_FLUSH, 0, 0);
		op[-1].flags = OP_LATE | (rnd_below(rng, 4) ? 0 : OP_FUA);
	}
	op = add(op, OP_CRASH, 0, 0);
	op[-1].flags = OP_SHUTDOWN;
	return op;
}

u32 make_point_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
{
	struct op *op = ops, *const end = ops + nr;
	const u32 all = s->sb.nr_lexts;

	while (end - op > 64) {
		u32 some = all - rnd_below(rng, all / 2), i, k;

		op = start_over(op, all, some);
		for (k = 1 + rnd_below(rng, 6); k && end - op > 48; k--) {
			/* all get a shadow, and what is written with FUA counts as metadata then */
			op = add(op, OP_SLEEP, 0, 4000 + rnd_below(rng, 16000));
			for (i = 2 + rnd_below(rng, 24); i && end - op > 20; i--)
				op = rnd_below(rng, 24) ? change(op, s, rng, some) :
					live_again(op, rng, rnd_below(rng, some));
			op = fail_any(op, s, rng);
			if (rnd_below(rng, 12))
				continue;
			if (rnd_below(rng, 2)) {
				op = rnd_below(rng, 2) ? add(op, OP_CRASH, 0, 0) :
					shut_down(op, rng, some);
				continue;
			}
			/* as fusionctl closes a set, or without */
			op = add(op, OP_WAIT, 0, 0);
			if (rnd_below(rng, 4))
				op = add(op, OP_POINT, 0, 0);
			op = add(op, OP_REOPEN, 0, 0);
		}
	}
	return op - ops;
}
