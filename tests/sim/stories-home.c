// SPDX-License-Identifier: GPL-2.0-only
/* Sequences of operations around homing. */
#include "ops.h"

void draw_homing(u64 *rng, struct op *op)
{
	u32 die = rnd_below(rng, 8);

	*op = (struct op){ .kind = die < 4 ? OP_HOMING : die < 6 ? OP_HOMED : OP_HOMING_OFF };
	if (op->kind == OP_HOMING)
		op->flags = die & 1;
}

/* One of the things that may be done beside moves. */
static struct op *add_disturbance(struct op *op, const struct setup *s, u64 *rng)
{
	const u32 all = s->sb.nr_lexts, lext = rnd_below(rng, all);
	const u32 few = 1 + rnd_below(rng, min(all - lext, 4U));

	switch (rnd_below(rng, 16)) {
	case 0 ... 3:
		return add(op, OP_WRITE, lext * EXTENT_SECTORS +
			   8 * rnd_below(rng, EXTENT_SECTORS / 8), 8);
	case 4 ... 5:
		return add(op, OP_WRITE, lext * EXTENT_SECTORS, EXTENT_SECTORS);
	case 6 ... 7:
		op = add(op, OP_DISCARD, lext * EXTENT_SECTORS, few * EXTENT_SECTORS);
		/* first writes, whose homes others may have left a moment ago */
		return rnd_below(rng, 2) ? op : add(op, OP_SPRAY, 0, all);
	case 8 ... 9:
		return add(op, rnd_below(rng, 2) ? OP_PROMOTE : OP_DEMOTE, lext, few);
	case 10 ... 11:
		return add(op, OP_SLEEP, 0, 1 << rnd_below(rng, 12));
	case 12:
		return add(op, rnd_below(rng, 4) ? OP_CHECKPOINT : OP_SUSPEND, 0, 0);
	default:
		return add(op, rnd_below(rng, 2) ? OP_REPLICA : OP_FLUSH, 0, 0);
	}
}

/*
 * Sets that are full, or nearly, with extents in each other's homes, and in cycles, come home,
 * beside writes, first writes and discards.
 */
u32 make_home_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
{
	struct op *op = ops, *const end = ops + nr;
	const u32 all = s->sb.nr_lexts;

	while (end - op > 96) {
		u32 i, hole = rnd_below(rng, all), n = 1 + rnd_below(rng, all - hole);

		op = add(op, OP_HOMING_OFF, 0, 0);
		op = add(op, OP_WRITE, 0, all * EXTENT_SECTORS);
		op = add(op, OP_WAIT, 0, 0);
		for (i = rnd_below(rng, 16); i; i--) {
			u32 lext = rnd_below(rng, all);

			op = add(op, rnd_below(rng, 2) ? OP_PROMOTE : OP_DEMOTE, lext,
				 1 + rnd_below(rng, min(all - lext, 4U)));
		}
		op = add(op, OP_WAIT, 0, 0);
		if (rnd_below(rng, 2))
			op = add(op, OP_DISCARD, hole * EXTENT_SECTORS, n * EXTENT_SECTORS);
		for (i = 4 + rnd_below(rng, 20); i; i--) {
			if (rnd_below(rng, 4))
				op = add_disturbance(op, s, rng);
			else
				draw_homing(rng, op++);
		}
		op = fail_any(op, s, rng);
		if (rnd_below(rng, 2)) {
			op = add(op, OP_HOMING, 0, 0);
			op[-1].flags = rnd_below(rng, 2);
			op = add(op, OP_HOMED, 0, 0);
			/* first writes while the mover maps the same extents for zeros */
			for (i = rnd_below(rng, 4); i; i--) {
				op = add(op, OP_DISCARD, hole * EXTENT_SECTORS, n * EXTENT_SECTORS);
				op = add(op, OP_WAIT, 0, 0);
				op = add(op, OP_SLEEP, 0, rnd_below(rng, 128));
				op = add(op, OP_SPRAY, hole * EXTENT_SECTORS, n);
			}
		}
		if (!rnd_below(rng, 4))
			op = add(op, rnd_below(rng, 2) ? OP_CRASH : OP_REOPEN, 0, 0);
	}
	return op - ops;
}
