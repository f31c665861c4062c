// SPDX-License-Identifier: GPL-2.0-only
/* Sequences of operations on one subject each, for what chance alone hardly meets. */
#include "ops.h"

/* Flush, and wait for all that was begun. */
static struct op *settle(struct op *op)
{
	op = add(op, OP_FLUSH, 0, 0);
	return add(op, OP_WAIT, 0, 0);
}

/* From now on the disk fails one in @one_in operations of these kinds; 0: none. */
static struct op *fail(struct op *op, u32 disk, u8 kinds, u32 one_in)
{
	op = add(op, OP_FAULT, disk, one_in);
	op[-1].flags = kinds;
	return op;
}

struct op *fail_any(struct op *op, const struct setup *s, u64 *rng)
{
	if (!s->faults || rnd_below(rng, 4))
		return op;
	op = add(op, OP_FAULT, rnd_below(rng, SIM_NR_DISKS), 4 + rnd_below(rng, 60));
	op[-1].flags = 1 + rnd_below(rng, 7);
	return op;
}

/*
 * Flushes that fail while others do not, beside commits that rely on one: moves, first
 * writes and checkpoints among many flushes, then a crash.
 */
u32 make_flush_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
{
	struct op *op = ops, *const end = ops + nr;
	const u32 all = s->sb.nr_lexts;

	while (end - op > 48) {
		u32 lext = rnd_below(rng, all), i, n = 4 + rnd_below(rng, 28);
		u32 one_in = 2 << rnd_below(rng, 5), big = rnd_below(rng, 8);
		/* without moves nothing is committed: users' flushes go to the disk directly */
		u32 least = rnd_below(rng, 4) ? 0 : 4;

		/* without its replica nothing is promoted */
		op = add(op, OP_FAULT, FUSION_SLOW, 0);
		op = add(op, OP_WRITE, lext * EXTENT_SECTORS, EXTENT_SECTORS);
		op = add(op, OP_DEMOTE, 0, all);
		op = add(op, OP_WAIT, 0, 0);
		op = settle(op);
		op = fail(op, FUSION_FAST, rnd_below(rng, 4) ? SIM_FAULT_BARE : SIM_FAULT_FLUSH,
			  one_in);
		for (i = 0; i < n; i++) {
			switch (max(i ? rnd_below(rng, 16) : big, least)) {
			case 0:
				op = add(op, OP_PROMOTE, rnd_below(rng, all), 1);
				break;
			case 1:
			case 2:
			case 3:
				op = add(op, OP_PROMOTE, 0, all);
				break;
			case 4:
			case 5:
			case 6:
			case 7:
				op = add(op, OP_CHECKPOINT, 0, 0);
				break;
			default:
				op = add(op, OP_FLUSH, 0, 0);
			}
		}
		op = add(op, OP_WAIT, 0, 0);
		op = add(op, OP_CRASH, 0, 0);
	}
	return op - ops;
}

/*
 * Writes with FUA, beside moves of the same extent whose commit fails though it is on the medium:
 * what recovery finds of the move must not take away what was acknowledged.
 */
u32 make_fua_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
{
	struct op *op = ops, *const end = ops + nr;

	while (end - op > 48) {
		u32 lext = rnd_below(rng, s->sb.nr_lexts), i, n = 4 + rnd_below(rng, 28);

		op = add(op, OP_WRITE, lext * EXTENT_SECTORS, EXTENT_SECTORS);
		op = settle(op);
		op = fail(op, FUSION_FAST, SIM_FAULT_WRITE, 2 + rnd_below(rng, 8));
		for (i = 0; i < n; i++) {
			u32 die = rnd_below(rng, 8);

			if (die < 2) {
				op = add(op, die ? OP_PROMOTE : OP_DEMOTE, lext, 1);
			} else {
				op = add(op, OP_WRITE, lext * EXTENT_SECTORS +
					 8 * rnd_below(rng, EXTENT_SECTORS / 8), 8);
				op[-1].flags = OP_FUA;
			}
		}
		op = add(op, OP_WAIT, 0, 0);
		op = add(op, OP_CRASH, 0, 0);
	}
	return op - ops;
}

/*
 * Demotions whose commit fails, though it may be on the medium, when the replica has nothing else
 * to be told; then the set is closed, or suspended, and the slow disk works. The replica must not
 * claim to be up to date with a map that is unknown.
 */
u32 make_demote_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
{
	struct op *op = ops, *const end = ops + nr;
	const u32 all = s->sb.nr_lexts;

	while (end - op > 24) {
		u32 i, n = 1 + rnd_below(rng, 8);

		for (i = 0; i < n; i++)
			op = add(op, OP_WRITE, rnd_below(rng, all) * EXTENT_SECTORS,
				 EXTENT_SECTORS);
		op = settle(op);
		op = add(op, OP_REPLICA, 0, 0);
		op = add(op, OP_SLEEP, 0, 64);
		op = fail(op, FUSION_FAST, SIM_FAULT_WRITE, 1 + rnd_below(rng, 2));
		op = add(op, OP_DEMOTE, rnd_below(rng, all), 1);
		if (rnd_below(rng, 2))
			op = add(op, OP_DEMOTE, 0, all);
		op = add(op, OP_WAIT, 0, 0);
		if (rnd_below(rng, 2))
			op = add(op, OP_SUSPEND, 0, 0);
		op = add(op, rnd_below(rng, 2) ? OP_REOPEN : OP_CRASH, 0, 0);
	}
	return op - ops;
}

/* Open extents that are discarded while a checkpoint records their bitmaps. */
u32 make_checkpoint_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
{
	struct op *op = ops, *const end = ops + nr;
	const u32 all = s->sb.nr_lexts;

	while (end - op > 24) {
		u32 lext = rnd_below(rng, all), i, n = 1 + rnd_below(rng, min(all - lext, 8U));

		op = add(op, OP_SPRAY, lext * EXTENT_SECTORS + 8 * rnd_below(rng, 16), n);
		op = add(op, OP_WAIT, 0, 0);
		op = add(op, OP_CHECKPOINT, 0, 0);
		for (i = 0; i < 2 * n; i++) {
			u32 sector = (lext + rnd_below(rng, n)) * EXTENT_SECTORS;

			if (rnd_below(rng, 4))
				op = add(op, OP_DISCARD, sector, EXTENT_SECTORS);
			else
				op = add(op, OP_WRITE, sector, FUSION_BLOCK_SECTORS);
		}
		if (!rnd_below(rng, 4))
			op = add(op, OP_CRASH, 0, 0);
	}
	return op - ops;
}

/*
 * A set that is closed, or suspended, while the fast disk fails writes. Only once: after the
 * first time its superblock says that it needs a check, and is not written for that again.
 */
u32 make_close_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
{
	struct op *op = ops;
	u32 i, n = 1 + rnd_below(rng, 8);

	for (i = 0; i < n; i++) {
		op = add(op, OP_WRITE, rnd_below(rng, s->sb.nr_lexts) * EXTENT_SECTORS,
			 EXTENT_SECTORS);
		if (!rnd_below(rng, 4))
			op = add(op, OP_CHECKPOINT, 0, 0);
	}
	op = settle(op);
	op = fail(op, FUSION_FAST, SIM_FAULT_WRITE, 2 + rnd_below(rng, 4));
	op = add(op, OP_SUSPEND, 0, 0);
	op = add(op, OP_FLUSH, 0, 0);
	op = add(op, OP_CRASH, 0, 0);
	return op - ops;
}

/* Moves on request in a full set, where others have to make room. */
u32 make_swap_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
{
	struct op *op = ops, *const end = ops + nr;
	const u32 all = s->sb.nr_lexts;
	u32 i;

	while (end - op > 48) {
		op = add(op, OP_WRITE, 0, all * EXTENT_SECTORS);
		op = add(op, OP_WAIT, 0, 0);
		for (i = 4 + rnd_below(rng, 28); i; i--) {
			u32 lext = rnd_below(rng, all), n = 1 + rnd_below(rng, min(all - lext, 8U));

			switch (rnd_below(rng, 8)) {
			case 0 ... 2:
				op = add(op, OP_PROMOTE, lext, n);
				break;
			case 3 ... 4:
				op = add(op, OP_DEMOTE, lext, n);
				break;
			case 5:
				op = add(op, OP_WRITE, lext * EXTENT_SECTORS +
					 8 * rnd_below(rng, EXTENT_SECTORS / 8), 8);
				break;
			case 6:
				op = add(op, rnd_below(rng, 4) ? OP_WAIT : OP_DISCARD,
					 lext * EXTENT_SECTORS, EXTENT_SECTORS);
				break;
			default:
				op = add(op, OP_FLUSH, 0, 0);
			}
		}
		op = fail_any(op, s, rng);
		if (rnd_below(rng, 2))
			op = add(op, OP_WAIT, 0, 0);
		if (!rnd_below(rng, 4))
			op = add(op, OP_CRASH, 0, 0);
	}
	return op - ops;
}

/*
 * Updates of the replica beside writes that lie in the slow disk's cache, and flushes of it that
 * fail: also the one by which the block layer makes a write with FUA durable on a disk without.
 */
static u32 make_replica_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
{
	struct op *op = ops, *const end = ops + nr;
	const u32 all = s->sb.nr_lexts;

	while (end - op > 48) {
		u32 i, n = 4 + rnd_below(rng, 28);

		op = add(op, OP_WRITE, 0, all * EXTENT_SECTORS);
		op = settle(op);
		op = fail(op, FUSION_SLOW, SIM_FAULT_FLUSH, 1 + rnd_below(rng, 6));
		for (i = 0; i < n; i++) {
			u32 lext = rnd_below(rng, all), die = rnd_below(rng, 16);

			if (die < 8)
				op = add(op, OP_WRITE, lext * EXTENT_SECTORS +
					 8 * rnd_below(rng, EXTENT_SECTORS / 8), 8);
			else if (die < 12)
				op = add(op, die < 10 ? OP_PROMOTE : OP_DEMOTE, lext, 1);
			else
				op = add(op, die < 15 ? OP_REPLICA : OP_FLUSH, 0, 0);
		}
		op = settle(op);
		op = add(op, OP_CRASH, 0, 0);
	}
	return op - ops;
}

/*
 * Writes with FUA on a disk without, where the flush that makes them durable fails, beside writes
 * in the same cache. Then the disk works, and a flush must not promise what has been lost.
 */
static u32 make_user_fua_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
{
	struct op *op = ops, *const end = ops + nr;
	const u32 all = s->sb.nr_lexts;

	while (end - op > 48) {
		u32 disk = rnd_below(rng, SIM_NR_DISKS), i, n = 1 + rnd_below(rng, 8);

		op = add(op, OP_WRITE, 0, all * EXTENT_SECTORS);
		op = settle(op);
		for (i = 0; i < n; i++)
			op = add(op, OP_WRITE, rnd_below(rng, all) * EXTENT_SECTORS, 8);
		op = add(op, OP_WAIT, 0, 0);
		op = fail(op, disk, SIM_FAULT_FLUSH, 1 + rnd_below(rng, 2));
		for (i = 0; i < 3; i++) {
			op = add(op, OP_WRITE, rnd_below(rng, all) * EXTENT_SECTORS + 64, 8);
			op[-1].flags = OP_FUA;
		}
		op = add(op, OP_WAIT, 0, 0);
		op = add(op, OP_FAULT, disk, 0);
		op = settle(op);
		op = add(op, OP_CRASH, 0, 0);
	}
	return op - ops;
}

/*
 * Bitmaps of so many open extents that a transaction of them has several blocks, and as many when
 * the set is opened. The remains of the one after a cut, and of the other after the next cut, have
 * the same numbers and places.
 */
static u32 make_attempt_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
{
	struct op *op = ops, *const end = ops + nr;
	const u32 all = s->sb.nr_lexts;

	while (end - op > 24) {
		u32 first = rnd_below(rng, all / 4), i, n = 1 + rnd_below(rng, 6);

		op = add(op, OP_DISCARD, 0, all * EXTENT_SECTORS);
		op = add(op, OP_WAIT, 0, 0);
		for (i = 0; i < n; i++) {
			op = add(op, OP_SPRAY, first * EXTENT_SECTORS + 8 * rnd_below(rng, 16),
				 all - first);
			op = add(op, OP_WAIT, 0, 0);
			op = settle(op);
		}
		op = add(op, OP_CRASH, 0, 0);
	}
	return op - ops;
}

void draw_fence(const struct setup *s, u64 *rng, struct op *op)
{
	u32 disk = rnd_below(rng, SIM_NR_DISKS), die = rnd_below(rng, 8), first, nr;
	u32 all = disk == FUSION_FAST ? s->sb.nr_fast_slots : s->sb.nr_slow_slots;

	*op = (struct op){ .kind = die < 3 ? OP_FENCE : die < 5 ? OP_EMPTY : OP_FENCE_OFF };
	if (op->kind != OP_FENCE)
		return;
	/* mostly an end of the member, as where it shrinks */
	nr = 1 + rnd_below(rng, rnd_below(rng, 4) ? DIV_ROUND_UP(all, 3) : all);
	first = rnd_below(rng, 3);
	first = first == 2 ? rnd_below(rng, all - nr + 1) : first ? all - nr : 0;
	op->flags = disk;
	op->sector = first + (disk == FUSION_SLOW ? s->sb.slow_first_slot : 0);
	op->nr = nr;
}

/*
 * A set with some room, a fence, and what may get in the way of the moves out of it: writes that
 * cancel copies, discards of extents inside, moves on request, an end of the fence.
 */
u32 make_fence_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
{
	struct op *op = ops, *const end = ops + nr;
	const u32 all = s->sb.nr_lexts;

	while (end - op > 48) {
		u32 i, hole = rnd_below(rng, all), n = 1 + rnd_below(rng, all - hole);

		op = add(op, OP_FENCE_OFF, 0, 0);
		op = add(op, OP_WRITE, 0, all * EXTENT_SECTORS);
		op = add(op, OP_WAIT, 0, 0);
		op = add(op, OP_DISCARD, hole * EXTENT_SECTORS, n * EXTENT_SECTORS);
		if (!rnd_below(rng, 4))
			op = add(op, OP_DEMOTE, 0, all);
		op = add(op, OP_WAIT, 0, 0);
		for (i = 4 + rnd_below(rng, 28); i; i--) {
			u32 lext = rnd_below(rng, all);
			u32 few = 1 + rnd_below(rng, min(all - lext, 4U));

			switch (rnd_below(rng, 16)) {
			case 0 ... 5:
				draw_fence(s, rng, op++);
				break;
			case 6 ... 8:
				op = add(op, OP_WRITE, lext * EXTENT_SECTORS +
					 8 * rnd_below(rng, EXTENT_SECTORS / 8), 8);
				break;
			case 9:
				op = add(op, OP_WRITE, lext * EXTENT_SECTORS, EXTENT_SECTORS);
				break;
			case 10:
				op = add(op, OP_PROMOTE, lext, few);
				break;
			case 11:
				op = add(op, OP_DEMOTE, lext, few);
				break;
			case 12:
				op = add(op, OP_DISCARD, lext * EXTENT_SECTORS,
					 few * EXTENT_SECTORS);
				break;
			case 13:
				op = add(op, OP_SLEEP, 0, 1 << rnd_below(rng, 12));
				break;
			default:
				op = add(op, rnd_below(rng, 2) ? OP_REPLICA : OP_FLUSH, 0, 0);
			}
		}
		op = fail_any(op, s, rng);
		if (rnd_below(rng, 2))
			op = add(op, OP_EMPTY, 0, 0);
		if (!rnd_below(rng, 4))
			op = add(op, OP_CRASH, 0, 0);
	}
	return op - ops;
}

/* Sets of which much is in use shrink, and grow again, with writes between. */
static u32 make_shrink_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
{
	struct op *op = ops, *const end = ops + nr;
	const u32 all = s->most.nr_lexts;

	while (end - op > 24) {
		u32 i, hole = rnd_below(rng, all), n = 1 + rnd_below(rng, all - hole);

		op = add(op, OP_WRITE, 0, all * EXTENT_SECTORS);
		op = add(op, OP_WAIT, 0, 0);
		if (rnd_below(rng, 4))
			op = add(op, OP_DISCARD, hole * EXTENT_SECTORS, n * EXTENT_SECTORS);
		for (i = rnd_below(rng, 4); i; i--)
			op = add(op, OP_WRITE, rnd_below(rng, all) * EXTENT_SECTORS, 8);
		if (!rnd_below(rng, 4))
			op = add(op, OP_DEMOTE, 0, all);
		op = add(op, OP_SHRINK, 0, 0);
		for (i = rnd_below(rng, 4); i; i--)
			op = add(op, OP_WRITE, rnd_below(rng, all) * EXTENT_SECTORS, 8);
		op = add(op, rnd_below(rng, 2) ? OP_FLUSH : OP_CHECKPOINT, 0, 0);
		/* growth may follow a failed superblock, which a new table does not know of */
		if (!s->faults && rnd_below(rng, 2))
			op = add(op, OP_GROW, 0, 0);
		if (!rnd_below(rng, 4))
			op = add(op, rnd_below(rng, 2) ? OP_CRASH : OP_REOPEN, 0, 0);
	}
	return op - ops;
}

static const struct story stories[] = {
	{ .name = "flushes", .make = make_flush_ops },
	{ .name = "fua", .make = make_fua_ops },
	{ .name = "demotions", .make = make_demote_ops },
	{ .name = "checkpoints", .make = make_checkpoint_ops },
	{ .name = "closing", .make = make_close_ops },
	{ .name = "swaps", .make = make_swap_ops },
	{ .name = "fences", .make = make_fence_ops },
	{ .name = "homing", .make = make_home_ops, .homes = true },
	{ .name = "lost", .make = make_lost_ops, .lost = true },
	{ .name = "shadows", .make = make_shadow_ops },
	{ .name = "points", .make = make_point_ops },
	{ .name = "pins", .make = make_pin_ops },
	{ .name = "shrinking", .make = make_shrink_ops, .shrinks = true },
	{ .name = "replacing", .make = make_replace_ops },
	{ .name = "landing", .make = make_landing_ops, .landed = true },
	{ .name = "pacing", .make = make_pacing_ops, .landed = true, .roomy = true },
	{ .name = "appending", .make = make_append_ops, .landed = true, .roomy = true },
	{ .name = "shrinking-log", .make = make_log_size_ops, .landed = true, .roomy = true,
	  .shrinks = true },
	{ .name = "replacing-log", .make = make_log_replace_ops, .landed = true, .roomy = true },
	{ .name = "copies", .make = make_copies_ops, .landed = true, .roomy = true,
	  .lags = true },
	{ .name = "replica", .make = make_replica_ops },
	{ .name = "user-fua", .make = make_user_fua_ops },
	{ .name = "attempts", .make = make_attempt_ops, .torn = true },
};

const struct story *find_story(const char *name)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(stories); i++)
		if (!strcmp(stories[i].name, name))
			return &stories[i];
	return NULL;
}
