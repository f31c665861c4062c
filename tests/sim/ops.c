// SPDX-License-Identifier: GPL-2.0-only
/* What is done to a set: random, with a character that differs from run to run. */
#include <stdio.h>

#include "ops.h"

#define SECTORS		(96U << 11)	/* of either disk */
/* So many that a map set is written in chunks, with commits between them; most say nothing. */
#define WIDE_BLOCKS	(FUSION_TXN_BLOCKS + 2)

/*
 * Small: few slots, so that each is used again soon. Now and then more, so many that a
 * transaction has more than one block. And the smallest of journals, which wraps every
 * some dozen commits.
 */
static void make_geometry(struct fusion_sb *sb, bool large, bool wide, u64 *rng)
{
	struct fusion_misfit misfit;
	u32 i;

	memset(sb, 0, sizeof(*sb));
	for (i = 0; i < sizeof(sb->set_uuid); i++) {
		sb->set_uuid[i] = rnd(rng);
		sb->dev_uuid[i] = rnd(rng);
		sb->peer_uuid[i] = rnd(rng);
	}
	if (fusion_sb_plan(sb, SECTORS, SECTORS, EXTENT_SECTORS, &misfit))
		sim_fail("no plan: %s", misfit.what);
	if (!large) {
		sb->nr_fast_slots = 4 + rnd_below(rng, 9);
		sb->nr_slow_slots = 4 + rnd_below(rng, 13);
	} else {
		sb->nr_fast_slots = 4 + rnd_below(rng, 290);
		sb->nr_slow_slots = 300 + rnd_below(rng, 200) - sb->nr_fast_slots;
	}
	sb->map_blocks = wide ? WIDE_BLOCKS : 1;
	sb->heat_blocks = wide ? WIDE_BLOCKS : 1;
	sb->journal_blocks[FUSION_FAST] = FUSION_MIN_JOURNAL_BLOCKS;
	if (wide) {
		sb->map_start[FUSION_FAST][0] = sb->journal_start[FUSION_FAST] +
						FUSION_MIN_JOURNAL_BLOCKS;
		sb->map_start[FUSION_FAST][1] = sb->map_start[FUSION_FAST][0] + sb->map_blocks;
		sb->heat_start = sb->map_start[FUSION_FAST][1] + sb->map_blocks;
	}
	sb->map_start[FUSION_SLOW][0] -= sb->journal_blocks[FUSION_SLOW] -
					 FUSION_MIN_JOURNAL_BLOCKS;
	sb->map_start[FUSION_SLOW][1] = sb->map_start[FUSION_SLOW][0] + sb->map_blocks;
	sb->journal_blocks[FUSION_SLOW] = FUSION_MIN_JOURNAL_BLOCKS;
	sb->replay_seq = 1 + rnd_below(rng, 2 * FUSION_MIN_JOURNAL_BLOCKS);
	sb->spare_fast = 1 + rnd_below(rng, 2);
	sb->spare_slow = 1 + rnd_below(rng, 2);
	sb->nr_lexts = sb->nr_fast_slots - sb->spare_fast + sb->nr_slow_slots - sb->spare_slow;
	/* extents from slow_first_slot on have a home there */
	sb->nr_lexts -= rnd_below(rng, min(sb->nr_lexts / 3, 20U));
}

void make_setup(struct setup *s, u64 seed, bool faults, bool large)
{
	u64 rng = seed ^ 0x5e7, other = seed ^ 0xf0a, wide = seed ^ 0x71d;
	static const u32 cuts[] = { 1, 8, 32, 128 };
	static const char * const intervals[] = { "10", "100", "1000", "60000" };
	static const char * const replica[] = { "1", "5", "60" };
	static const char * const standby[] = { "0", "0", "1", "5" };

	memset(s, 0, sizeof(*s));
	s->large = large || !rnd_below(&rng, 24);
	make_geometry(&s->sb, s->large, s->large && !rnd_below(&wide, 4), &rng);
	s->discards[0] = rnd_below(&rng, 2);
	s->discards[1] = rnd_below(&rng, 2);
	s->fua[0] = rnd_below(&other, 2);
	s->fua[1] = rnd_below(&other, 2);
	s->tears[0] = rnd_below(&other, 2);
	s->tears[1] = rnd_below(&other, 2);
	s->through[0] = !rnd_below(&other, 8);
	s->through[1] = !rnd_below(&other, 8);
	s->depth = 1 << rnd_below(&rng, 5);
	s->cut_one_in = s->large ? 64 : cuts[rnd_below(&rng, ARRAY_SIZE(cuts))];
	s->faults = faults;
	snprintf(s->options, sizeof(s->options),
		 "16 host 000102030405060708090a0b0c0d0e0f commit_interval %s migration %s idle %u duty %u discard_passdown %s "
		 "replica_interval %s standby %s",
		 intervals[rnd_below(&rng, 4)], rnd_below(&rng, 2) ? "on" : "off",
		 rnd_below(&rng, 2) * 100, 1 + rnd_below(&rng, 100),
		 rnd_below(&rng, 4) ? "on" : "off", replica[rnd_below(&rng, 3)],
		 standby[rnd_below(&rng, ARRAY_SIZE(standby))]);
}

/* Relative frequency of each kind, and where it goes. */
struct character {
	u32 weight[OP_NR];
	u32 whole;		/* of 256: writes of whole extents */
	u32 hot;		/* of 256: in the first few extents */
	u32 fua;		/* of 256 */
};

static void make_character(struct character *c, const struct setup *s, u64 *rng)
{
	static const u32 usual[OP_NR] = {
		[OP_WRITE] = 60, [OP_READ] = 6, [OP_FLUSH] = 10, [OP_DISCARD] = 8,
		[OP_ZEROES] = 3, [OP_SPRAY] = 3, [OP_PROMOTE] = 4, [OP_DEMOTE] = 6,
		[OP_CHECKPOINT] = 2, [OP_REPLICA] = 4,
		[OP_SLEEP] = 6, [OP_WAIT] = 5, [OP_SUSPEND] = 1, [OP_REOPEN] = 1,
		[OP_READONLY] = 1, [OP_RELOAD] = 1, [OP_CRASH] = 2,
	};
	u32 k;

	for (k = 0; k < OP_NR; k++)
		c->weight[k] = usual[k] * rnd_below(rng, 5);
	c->weight[OP_WRITE] += 20;
	/* now and then a life of endings */
	if (!rnd_below(rng, 8)) {
		c->weight[OP_REOPEN] += 60;
		c->weight[OP_SUSPEND] += 30;
		c->weight[OP_CHECKPOINT] += 60;
	}
	/* What checkpoints and updates of the replica do, and what is discarded meanwhile. */
	if (!rnd_below(rng, 4)) {
		c->weight[rnd_below(rng, 2) ? OP_CHECKPOINT : OP_REPLICA] += 40;
		c->weight[OP_DISCARD] += 40;
	}
	c->weight[OP_FAULT] = s->faults ? 4 : 0;
	if (s->large) {
		c->weight[OP_SPRAY] *= 5;
		c->weight[OP_FLUSH] *= 3;
	}
	c->whole = rnd_below(rng, 256) | (s->large ? 128 : 0);
	c->hot = rnd_below(rng, 256);
	c->fua = rnd_below(rng, 3) * 30;
}

static u32 draw_kind(const struct character *c, u64 *rng)
{
	u32 k, sum = 0, n;

	for (k = 0; k < OP_NR; k++)
		sum += c->weight[k];
	n = rnd_below(rng, sum);
	for (k = 0; n >= c->weight[k]; k++)
		n -= c->weight[k];
	return k;
}

static u32 draw_extent(const struct character *c, const struct setup *s, u64 *rng)
{
	if (rnd_below(rng, 256) < c->hot)
		return rnd_below(rng, min(s->sb.nr_lexts, 3U));
	return rnd_below(rng, s->sb.nr_lexts);
}

static void draw_range(struct op *op, const struct character *c, const struct setup *s, u64 *rng)
{
	u32 lext = draw_extent(c, s, rng), end = s->sb.nr_lexts * EXTENT_SECTORS;
	u32 size;

	op->sector = lext * EXTENT_SECTORS;
	if (rnd_below(rng, 256) < c->whole) {
		op->nr = EXTENT_SECTORS;
		if (!rnd_below(rng, s->large ? 2 : 8))
			op->nr *= 1 + rnd_below(rng, s->sb.nr_lexts);
		if (s->large && !rnd_below(rng, 4)) {
			op->sector = 0;
			op->nr = end;
		}
		if (!rnd_below(rng, 8))
			op->sector += rnd_below(rng, EXTENT_SECTORS);
	} else {
		size = rnd_below(rng, 4);
		op->sector += rnd_below(rng, EXTENT_SECTORS);
		if (!size) {
			op->nr = 1 + rnd_below(rng, 15);
		} else {
			op->sector &= ~7U;
			op->nr = 8 * (1 + rnd_below(rng, size == 1 ? 1 : 16));
		}
	}
	op->nr = min(op->nr, end - op->sector);
}

static void draw_op(struct op *op, const struct character *c, const struct setup *s, u64 *rng)
{
	memset(op, 0, sizeof(*op));
	op->kind = draw_kind(c, rng);
	switch (op->kind) {
	case OP_WRITE:
	case OP_ZEROES:
		if (rnd_below(rng, 256) < c->fua)
			op->flags |= OP_FUA;
		if (!rnd_below(rng, 32))
			op->flags |= OP_NOWAIT;
		if (op->kind == OP_WRITE && !rnd_below(rng, 32))
			op->flags |= OP_PREFLUSH;
		draw_range(op, c, s, rng);
		break;
	case OP_SPRAY:
		op->sector = draw_extent(c, s, rng) * EXTENT_SECTORS + 8 * rnd_below(rng, 16);
		op->nr = s->sb.nr_lexts - op->sector / EXTENT_SECTORS;
		if (!rnd_below(rng, 2))
			op->nr = 1 + rnd_below(rng, op->nr);
		break;
	case OP_READ:
	case OP_DISCARD:
		draw_range(op, c, s, rng);
		break;
	case OP_PROMOTE:
	case OP_DEMOTE:
		op->sector = draw_extent(c, s, rng);
		op->nr = 1 + rnd_below(rng, min(s->sb.nr_lexts - op->sector, 6U));
		break;
	case OP_CRASH:
		op->nr = rnd_below(rng, 4) ? 0 : rnd_below(rng, 1 << rnd_below(rng, 8));
		break;
	case OP_SLEEP:
		op->nr = 1 << rnd_below(rng, 14);
		break;
	case OP_FAULT:
		op->sector = rnd_below(rng, SIM_NR_DISKS);
		op->nr = rnd_below(rng, 3) ? 1 << rnd_below(rng, 8) : 0;
		op->flags = 1 + rnd_below(rng, 7);
		break;
	default:
		break;
	}
}

static struct op *add(struct op *op, enum op_kind kind, u32 sector, u32 nr)
{
	*op = (struct op){ .kind = kind, .sector = sector, .nr = nr };
	return op + 1;
}

/*
 * Flushes that fail while others do not, beside commits that rely on one: moves, first
 * writes and checkpoints among many flushes, then a crash.
 */
static u32 make_flush_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
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
		op = add(op, OP_FLUSH, 0, 0);
		op = add(op, OP_WAIT, 0, 0);
		op = add(op, OP_FAULT, FUSION_FAST, one_in);
		op[-1].flags = rnd_below(rng, 4) ? SIM_FAULT_BARE : SIM_FAULT_FLUSH;
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
static u32 make_fua_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
{
	struct op *op = ops, *const end = ops + nr;

	while (end - op > 48) {
		u32 lext = rnd_below(rng, s->sb.nr_lexts), i, n = 4 + rnd_below(rng, 28);

		op = add(op, OP_WRITE, lext * EXTENT_SECTORS, EXTENT_SECTORS);
		op = add(op, OP_FLUSH, 0, 0);
		op = add(op, OP_WAIT, 0, 0);
		op = add(op, OP_FAULT, FUSION_FAST, 2 + rnd_below(rng, 8));
		op[-1].flags = SIM_FAULT_WRITE;
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
 * to be told; then the set is closed, or suspended, and the slow disk works. It must not say of a
 * map that nobody knows that it is up to date with it.
 */
static u32 make_demote_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
{
	struct op *op = ops, *const end = ops + nr;
	const u32 all = s->sb.nr_lexts;

	while (end - op > 24) {
		u32 i, n = 1 + rnd_below(rng, 8);

		for (i = 0; i < n; i++)
			op = add(op, OP_WRITE, rnd_below(rng, all) * EXTENT_SECTORS,
				 EXTENT_SECTORS);
		op = add(op, OP_FLUSH, 0, 0);
		op = add(op, OP_WAIT, 0, 0);
		op = add(op, OP_REPLICA, 0, 0);
		op = add(op, OP_SLEEP, 0, 64);
		op = add(op, OP_FAULT, FUSION_FAST, 1 + rnd_below(rng, 2));
		op[-1].flags = SIM_FAULT_WRITE;
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
static u32 make_checkpoint_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
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
static u32 make_close_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
{
	struct op *op = ops;
	u32 i, n = 1 + rnd_below(rng, 8);

	for (i = 0; i < n; i++) {
		op = add(op, OP_WRITE, rnd_below(rng, s->sb.nr_lexts) * EXTENT_SECTORS,
			 EXTENT_SECTORS);
		if (!rnd_below(rng, 4))
			op = add(op, OP_CHECKPOINT, 0, 0);
	}
	op = add(op, OP_FLUSH, 0, 0);
	op = add(op, OP_WAIT, 0, 0);
	op = add(op, OP_FAULT, FUSION_FAST, 2 + rnd_below(rng, 4));
	op[-1].flags = SIM_FAULT_WRITE;
	op = add(op, OP_SUSPEND, 0, 0);
	op = add(op, OP_FLUSH, 0, 0);
	op = add(op, OP_CRASH, 0, 0);
	return op - ops;
}

/* Moves on request in a full set, where others have to make room. */
static u32 make_swap_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
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
		if (s->faults && !rnd_below(rng, 4)) {
			op = add(op, OP_FAULT, rnd_below(rng, SIM_NR_DISKS),
				 4 + rnd_below(rng, 60));
			op[-1].flags = 1 + rnd_below(rng, 7);
		}
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
		op = add(op, OP_FLUSH, 0, 0);
		op = add(op, OP_WAIT, 0, 0);
		op = add(op, OP_FAULT, FUSION_SLOW, 1 + rnd_below(rng, 6));
		op[-1].flags = SIM_FAULT_FLUSH;
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
		op = add(op, OP_FLUSH, 0, 0);
		op = add(op, OP_WAIT, 0, 0);
		op = add(op, OP_CRASH, 0, 0);
	}
	return op - ops;
}

/*
 * Bitmaps of so many open extents that a transaction of them has several blocks, and as many when
 * the set is opened. What a cut leaves of the one, and the next cut of the other, has the same
 * numbers and the same places.
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
			op = add(op, OP_FLUSH, 0, 0);
			op = add(op, OP_WAIT, 0, 0);
		}
		op = add(op, OP_CRASH, 0, 0);
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
	{ .name = "replica", .make = make_replica_ops },
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

u32 make_ops(const struct setup *s, u64 seed, struct op *ops, u32 nr)
{
	u64 rng = seed ^ 0x0b5, kind = seed ^ 0xcc9, keep = seed ^ 0x6e9;
	u64 swap = seed ^ 0x5a9;
	struct character c;
	u32 i;

	nr = min(nr, MAX_OPS);
	nr -= rnd_below(&rng, nr - nr / 8);
	if (s->story)
		return s->story->make(s, &rng, ops, max(nr, 64U));
	if (!s->large && nr > 48 && !rnd_below(&swap, 8))
		return make_swap_ops(s, &swap, ops, nr);
	if (s->faults && nr > 48 && !rnd_below(&rng, 4))
		return make_flush_ops(s, &rng, ops, nr);
	if (s->faults && nr > 48 && !rnd_below(&kind, 6))
		return make_fua_ops(s, &rng, ops, nr);
	if (s->faults && nr > 48 && !rnd_below(&kind, 8))
		return make_demote_ops(s, &rng, ops, nr);
	if (s->faults && nr > 48 && rnd_below(&kind, 4))
		return make_close_ops(s, &rng, ops, nr);
	if (!s->faults && nr > 24 && !rnd_below(&kind, 16))
		return make_checkpoint_ops(s, &rng, ops, nr);
	make_character(&c, s, &rng);
	for (i = 0; i < nr; i++) {
		if (!(i % 64))
			make_character(&c, s, &rng);
		draw_op(&ops[i], &c, s, &rng);
		/* beside all else, which is as it would be without */
		if (!rnd_below(&keep, 64))
			ops[i] = (struct op){ .kind = OP_KEEP };
	}
	return nr;
}

void print_op(const struct op *op, char *text, size_t size)
{
	static const char * const names[] = {
		"write", "read", "flush", "discard", "zeroes", "spray", "promote", "demote",
		"checkpoint", "replica", "sleep", "wait", "suspend", "reopen", "readonly", "reload",
		"keep", "crash", "fault",
	};

	snprintf(text, size, "%s%s%s%s %u+%u%s", names[op->kind],
		 op->kind != OP_FAULT && op->flags & OP_PREFLUSH ? " PREFLUSH" : "",
		 op->kind != OP_FAULT && op->flags & OP_NOWAIT ? " NOWAIT" : "",
		 op->kind != OP_FAULT && op->flags & OP_FUA ? " FUA" : "", op->sector, op->nr,
		 op->kind != OP_FAULT ? "" : op->flags & SIM_FAULT_BARE ? " bare flush" :
		 op->flags & SIM_FAULT_FLUSH ? " flush" : " io");
}
