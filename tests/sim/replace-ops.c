// SPDX-License-Identifier: GPL-2.0-only
/* The story of members that are replaced. */
#include "ops.h"

/*
 * Members are replaced while the set is in use: with extents on both, partial ones, writes that
 * cancel copies, discards of what has yet to leave; and disks that fail, the old one above all.
 */
u32 make_replace_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
{
	struct op *op = ops, *const end = ops + nr;
	const u32 all = s->sb.nr_lexts;

	while (end - op > 40) {
		u32 i, hole = rnd_below(rng, all), n = 1 + rnd_below(rng, all - hole);

		if (rnd_below(rng, 2)) {
			op = add(op, OP_WRITE, 0, all * EXTENT_SECTORS);
			op = add(op, OP_WAIT, 0, 0);
			op = add(op, OP_DISCARD, hole * EXTENT_SECTORS, n * EXTENT_SECTORS);
		}
		if (!rnd_below(rng, 4))
			op = add(op, OP_DEMOTE, 0, all);
		for (i = rnd_below(rng, 24); i; i--) {
			u32 lext = rnd_below(rng, all);
			u32 few = 1 + rnd_below(rng, min(all - lext, 4U));

			switch (rnd_below(rng, 16)) {
			case 0 ... 4:
				op = add(op, OP_WRITE, lext * EXTENT_SECTORS +
					 8 * rnd_below(rng, EXTENT_SECTORS / 8), 8);
				op[-1].flags = rnd_below(rng, 4) ? 0 : OP_FUA;
				break;
			case 5:
				op = add(op, OP_WRITE, lext * EXTENT_SECTORS, EXTENT_SECTORS);
				break;
			case 6:
				op = add(op, OP_PROMOTE, lext, few);
				break;
			case 7:
				op = add(op, OP_DEMOTE, lext, few);
				break;
			case 8:
				op = add(op, OP_DISCARD, lext * EXTENT_SECTORS,
					 few * EXTENT_SECTORS);
				break;
			case 9:
				op = add(op, OP_ZEROES, lext * EXTENT_SECTORS, 8);
				break;
			case 10 ... 11:
				op = add(op, OP_SLEEP, 0, 1 << rnd_below(rng, 12));
				break;
			case 12:
				draw_fence(s, rng, op++);
				break;
			default:
				op = add(op, rnd_below(rng, 2) ? OP_REPLICA : OP_FLUSH, 0, 0);
			}
		}
		if (s->faults && rnd_below(rng, 2))
			op = add(op, OP_FAULT, rnd_below(rng, SIM_MAX_DISKS),
				 4 + rnd_below(rng, 60));
		if (s->faults && op > ops && op[-1].kind == OP_FAULT)
			op[-1].flags = 1 + rnd_below(rng, 7);
		op = add(op, rnd_below(rng, 4) ? OP_REPLACE : OP_EMPTY, 0, 0);
		if (!rnd_below(rng, 6))
			op = add(op, rnd_below(rng, 2) ? OP_CRASH : OP_REOPEN, 0, 0);
		if (!rnd_below(rng, 12))
			op = add(op, OP_READONLY, 0, 0);
	}
	return op - ops;
}
