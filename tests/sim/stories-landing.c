// SPDX-License-Identifier: GPL-2.0-only
/*
 * A set that begins with a landing log is used: blocks are read and written, whole and in parts,
 * side by side and over each other, and drained, until nothing is left of the log; or mostly blocks
 * that get into it, again and again the same, so that segments become free and are used again; or
 * many more of these than there is room for.
 */
#include "run-state.h"

/* -- the drain --------------------------------------------------------------------- */

void drain_log(struct state *st, u32 what)
{
	static const char * const texts[] = { "drain", "landing off", "landing on" };
	int r = sim_dev_message(st->dev, texts[what]);

	/* EBUSY: there are many messages, or a member is being replaced */
	if (r && r != -EROFS && r != -EAGAIN && r != -EBUSY &&
	    !(r == -EIO && st->run->setup.faults))
		sim_fail("drain: %d", r);
}

void turn_log_off(struct state *st)
{
	const void *set = sim_dev_private(st->dev);

	if (!st->run->setup.sb.landing_slots || !rnd_below(&world->rng, 8))
		return;
	if (!sim_dev_message(st->dev, "landing off") && set_segments(set))
		sim_fail("landing off: %u segments are left", set_segments(set));
}

void wait_drained(struct state *st)
{
	const void *set = sim_dev_private(st->dev);
	int r;

	wait_busy(st, 0);
	r = sim_dev_message(st->dev, "drain");
	if (r && !st->run->setup.faults && set_writable(set))
		sim_fail("drain: %d", r);
	if (!r && set_land_left(set))
		sim_fail("drain: %u blocks or segments are left", set_land_left(set));
	sim_dev_status(st->dev);
}

/* -- operations -------------------------------------------------------------------- */

/* The first extents have most of it. */
static u32 draw_lext(const struct setup *s, u64 *rng)
{
	return rnd_below(rng, rnd_below(rng, 4) ? min(s->sb.nr_lexts, 6U) : s->sb.nr_lexts);
}

static struct op *draw_write(struct op *op, enum op_kind kind, u32 sector, u64 *rng)
{
	u32 block = 8 * rnd_below(rng, EXTENT_SECTORS / 8), at, nr;

	switch (rnd_below(rng, 4)) {
	case 0:		/* a part of a block */
		at = block + rnd_below(rng, 8);
		nr = 1 + rnd_below(rng, block + 8 - at);
		break;
	case 1:		/* from anywhere to anywhere */
		at = rnd_below(rng, EXTENT_SECTORS);
		nr = 1 + rnd_below(rng, EXTENT_SECTORS - at);
		break;
	case 2:		/* whole blocks */
		at = block;
		nr = 8 * (1 + rnd_below(rng, (EXTENT_SECTORS - at) / 8));
		break;
	default:
		at = block;
		nr = 8;
	}
	op = add(op, kind, sector + at, nr);
	if (!rnd_below(rng, 4))
		op[-1].flags |= OP_FUA;
	if (!rnd_below(rng, 16))
		op[-1].flags |= OP_NOWAIT;
	if (!rnd_below(rng, 16) && kind == OP_WRITE)
		op[-1].flags |= OP_PREFLUSH;
	return op;
}

/* Several writes of one block, or of parts of it, at once. */
static struct op *pile(struct op *op, u32 sector, u64 *rng)
{
	u32 block = sector + 8 * rnd_below(rng, EXTENT_SECTORS / 8), i, at;

	for (i = 2 + rnd_below(rng, 4); i; i--) {
		at = rnd_below(rng, 8);
		op = rnd_below(rng, 2) ? add(op, OP_WRITE, block, 8) :
		     add(op, OP_WRITE, block + at, 1 + rnd_below(rng, 8 - at));
		if (!rnd_below(rng, 4))
			op[-1].flags |= OP_LATE;
	}
	if (rnd_below(rng, 2))
		op = add(op, OP_WAIT, 0, 0);
	return add(op, OP_READ, block, 8);
}

/* Blocks are written while a commit is under way, which then is not the last one. */
static struct op *during_commits(struct op *op, u32 sector, u64 *rng)
{
	u32 i;

	for (i = 1 + rnd_below(rng, 4); i; i--) {
		op = add(op, OP_WRITE, sector + 8 * rnd_below(rng, EXTENT_SECTORS / 8), 8);
		if (rnd_below(rng, 2))
			op = add(op, OP_FLUSH, 0, 0);
	}
	op = add(op, OP_WAIT, 0, 0);
	op = add(op, OP_FLUSH, 0, 0);
	return add(op, OP_WAIT, 0, 0);
}

/* Extents are discarded while they are read. */
static struct op *discard(struct op *op, u32 sector, u32 nr, u64 *rng)
{
	u32 i;

	for (i = rnd_below(rng, 4); i; i--)
		op = add(op, OP_READ, sector + rnd_below(rng, EXTENT_SECTORS), 1);
	op = add(op, OP_DISCARD, sector, nr * EXTENT_SECTORS);
	for (i = rnd_below(rng, 4); i; i--)
		op = add(op, OP_READ, sector + rnd_below(rng, EXTENT_SECTORS), 1);
	return op;
}

/* The log is drained while blocks of it are written. */
static struct op *beside_drain(struct op *op, const struct setup *s, u64 *rng)
{
	const u32 n = rnd_below(rng, 8), turn = rnd_below(rng, n + 1);
	u32 i;

	for (i = 0; i <= n; i++) {
		if (i == turn)
			op = add(op, OP_DRAIN, 0, 0);
		op = draw_write(op, OP_WRITE, draw_lext(s, rng) * EXTENT_SECTORS, rng);
		if (!rnd_below(rng, 4))
			op[-1].flags |= OP_LATE;
		if (!rnd_below(rng, 4))
			op = add(op, OP_FLUSH, 0, 0);
	}
	return rnd_below(rng, 2) ? add(op, OP_WAIT, 0, 0) : op;
}

/* Extents with entries are discarded during the drain, and others get their slots. */
static struct op *discard_beside_drain(struct op *op, const struct setup *s, u64 *rng)
{
	const u32 all = s->sb.nr_lexts;
	u32 i;

	/* what has no entries, mostly, leaves as few free slots as there can be */
	op = add(op, OP_PROMOTE, min(all - 1, 6U), all - min(all - 1, 6U));
	op = add(op, OP_WAIT, 0, 0);
	op = add(op, OP_DRAIN, 0, 0);
	for (i = 1 + rnd_below(rng, 3); i; i--)
		op = add(op, OP_DISCARD, rnd_below(rng, min(all, 6U)) * EXTENT_SECTORS,
			 EXTENT_SECTORS);
	op = add(op, OP_FLUSH, 0, 0);
	for (i = 6 + rnd_below(rng, 6); i; i--) {
		op = i % 3 ? add(op, OP_WRITE, rnd_below(rng, all) * EXTENT_SECTORS,
				 EXTENT_SECTORS) : add(op, OP_REPLICA, 0, 0);
		op[-1].flags |= OP_LATE;
	}
	return rnd_below(rng, 2) ? add(op, OP_WAIT, 0, 0) : op;
}

/* @drains: also on request. */
static struct op *one(struct op *op, const struct setup *s, bool drains, u64 *rng)
{
	const u32 lext = draw_lext(s, rng), sector = lext * EXTENT_SECTORS;
	const u32 few = 1 + rnd_below(rng, min(s->sb.nr_lexts - lext, 3U));
	u32 at = rnd_below(rng, EXTENT_SECTORS);

	switch (rnd_below(rng, 32)) {
	case 0 ... 8:
		return add(op, OP_READ, sector + at, 1 + rnd_below(rng, EXTENT_SECTORS - at));
	case 9 ... 10:
		return add(op, OP_READ, sector, few * EXTENT_SECTORS);
	case 11 ... 12:
		return pile(op, sector, rng);
	case 13 ... 18:
		return draw_write(op, OP_WRITE, sector, rng);
	case 19:
		return draw_write(op, OP_ZEROES, sector, rng);
	case 20:
		return rnd_below(rng, 2) ? discard(op, sector, few, rng) :
					   draw_write(op, OP_DISCARD, sector, rng);
	case 21 ... 22:
		return during_commits(op, sector, rng);
	case 23 ... 24:
		return add(op, OP_FLUSH, 0, 0);
	case 25 ... 26:
		return add(op, rnd_below(rng, 2) ? OP_PROMOTE : OP_DEMOTE, lext, few);
	case 27:
		return add(op, rnd_below(rng, 2) ? OP_CHECKPOINT : OP_REPLICA, 0, 0);
	case 28:
		if (!drains || rnd_below(rng, 3))
			return add(op, OP_SLEEP, 0, 1 << rnd_below(rng, 12));
		return rnd_below(rng, 2) ? beside_drain(op, s, rng) :
					   discard_beside_drain(op, s, rng);
	case 29:
		return add(op, OP_WAIT, 0, 0);
	case 30:
		return rnd_below(rng, 4) ? op :
		       add(op, rnd_below(rng, 2) ? OP_SUSPEND : OP_RELOAD, 0, 0);
	default:
		return rnd_below(rng, 4) ? op :
		       add(op, rnd_below(rng, 2) ? OP_REOPEN : OP_READONLY, 0, 0);
	}
}

/* -- much of it gets into the log ------------------------------------------------------------ */

static struct op *append(struct op *op, u32 sector, u64 *rng)
{
	u32 block = rnd_below(rng, EXTENT_SECTORS / 8);
	u32 nr = 1 + rnd_below(rng, min(EXTENT_SECTORS / 8 - block, 1U << rnd_below(rng, 5)));

	op = add(op, OP_WRITE, sector + 8 * block, 8 * nr);
	if (!rnd_below(rng, 8))
		op[-1].flags |= OP_FUA;
	if (!rnd_below(rng, 16))
		op[-1].flags |= OP_NOWAIT;
	if (!rnd_below(rng, 8))
		op[-1].flags |= OP_LATE;
	return op;
}

/* What may meet blocks that are on their way. */
static struct op *meet(struct op *op, const struct setup *s, u32 sector, u64 *rng)
{
	u32 at = rnd_below(rng, EXTENT_SECTORS), i;

	/* an extent that has no entries is promoted just when it gets some */
	if (!rnd_below(rng, 4)) {
		sector = rnd_below(rng, s->sb.nr_lexts) * EXTENT_SECTORS;
		op = add(op, OP_PROMOTE, sector / EXTENT_SECTORS, 1);
	}
	op = append(op, sector, rng);
	switch (rnd_below(rng, 8)) {
	case 0:
		return discard(op, sector, 1, rng);
	case 1:
		op = draw_write(op, OP_ZEROES, sector, rng);
		break;
	case 2 ... 3:	/* too large for the log, or a part of a block */
		op = draw_write(op, OP_WRITE, sector, rng);
		break;
	case 4:
		op = add(op, OP_PROMOTE, sector / EXTENT_SECTORS, 1);
		break;
	case 5:
		return pile(op, sector, rng);
	default:
		for (i = rnd_below(rng, 4); i; i--)
			op = append(op, sector, rng);
	}
	return add(op, OP_READ, sector + at, 1 + rnd_below(rng, EXTENT_SECTORS - at));
}

/* Extents are promoted while blocks of them get into the log, or are drained. */
static struct op *promote_beside_appends(struct op *op, const struct setup *s, u64 *rng)
{
	const u32 lext = rnd_below(rng, min(s->sb.nr_lexts, 4U));
	const u32 few = 1 + rnd_below(rng, min(s->sb.nr_lexts - lext, 3U));
	const u32 n = 1 + rnd_below(rng, 8), turn = rnd_below(rng, n);
	u32 i, sector;

	if (rnd_below(rng, 2))
		op = add(op, OP_DEMOTE, lext, few);
	for (i = 0; i < n; i++) {
		sector = (lext + rnd_below(rng, few)) * EXTENT_SECTORS;
		op = rnd_below(rng, 4) ? append(op, sector, rng) :
					 draw_write(op, OP_WRITE, sector, rng);
		if (i == turn)
			op = add(op, OP_PROMOTE, lext, few);
		if (i > turn)
			op[-1].flags |= OP_LATE;
	}
	switch (rnd_below(rng, 4)) {
	case 0:
		op = add(op, OP_DRAIN, 0, 0);
		break;
	case 1:
		op = add(op, OP_FLUSH, 0, 0);
		break;
	case 2:
		op = add(op, OP_DISCARD, lext * EXTENT_SECTORS, few * EXTENT_SECTORS);
		break;
	}
	return add(op, OP_READ, lext * EXTENT_SECTORS, EXTENT_SECTORS);
}

u32 make_append_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
{
	struct op *op = ops, *const end = ops + nr;
	const bool drains = !rnd_below(rng, 3);

	while (end - op > 16) {
		u32 sector = rnd_below(rng, min(s->sb.nr_lexts, 4U)) * EXTENT_SECTORS;

		switch (rnd_below(rng, 8)) {
		case 0 ... 3:
			op = append(op, sector, rng);
			break;
		case 4 ... 5:
			op = meet(op, s, sector, rng);
			break;
		case 6:
			op = rnd_below(rng, 2) ? add(op, OP_FLUSH, 0, 0) :
						 promote_beside_appends(op, s, rng);
			break;
		default:
			op = one(op, s, drains, rng);
		}
		if (!rnd_below(rng, 64))
			op = add_crash(op, rng);
		if (s->faults && !rnd_below(rng, 24))
			op = fail_any(op, s, rng);
	}
	return op - ops;
}

/* -- with other sizes, and other disks ------------------------------------------------------ */

/* Some of what the log meets, with it off now and then. */
static struct op *some_appends(struct op *op, const struct op *end, const struct setup *s,
			       u64 *rng)
{
	u32 i;

	for (i = rnd_below(rng, 12); i && end - op > 40; i--) {
		const u32 sector = rnd_below(rng, min(s->sb.nr_lexts, 6U)) * EXTENT_SECTORS;

		op = rnd_below(rng, 4) ? append(op, sector, rng) : one(op, s, true, rng);
	}
	return rnd_below(rng, 6) ? op : add(op, OP_DRAIN, 0, rnd_below(rng, 3));
}

/* Sets grow and shrink, with what is in the log, or without. */
u32 make_log_size_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
{
	struct op *op = ops, *const end = ops + nr;
	const u32 all = s->most.nr_lexts;

	while (end - op > 48) {
		const u32 hole = rnd_below(rng, all), n = 1 + rnd_below(rng, all - hole);

		if (!rnd_below(rng, 4)) {
			op = add(op, OP_WRITE, 0, all * EXTENT_SECTORS);
			op = add(op, OP_WAIT, 0, 0);
			op = add(op, OP_DISCARD, hole * EXTENT_SECTORS, n * EXTENT_SECTORS);
		}
		op = some_appends(op, end, s, rng);
		if (!rnd_below(rng, 4))
			op = add(op, OP_DEMOTE, 0, all);
		/* growth may follow a failed superblock, which a new table does not know of */
		op = add(op, s->faults || rnd_below(rng, 2) ? OP_SHRINK : OP_GROW, 0, 0);
		op = some_appends(op, end, s, rng);
		op = fail_any(op, s, rng);
		op = add(op, rnd_below(rng, 2) ? OP_FLUSH : OP_CHECKPOINT, 0, 0);
		if (!rnd_below(rng, 4))
			op = add(op, rnd_below(rng, 2) ? OP_CRASH : OP_REOPEN, 0, 0);
	}
	return op - ops;
}

/* Members are replaced: also while the log has segments, which refuses that. */
u32 make_log_replace_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
{
	struct op *op = ops, *const end = ops + nr;

	while (end - op > 48) {
		op = some_appends(op, end, s, rng);
		if (!rnd_below(rng, 4))
			op = add(op, rnd_below(rng, 2) ? OP_PROMOTE : OP_DEMOTE, 0, s->sb.nr_lexts);
		op = add(op, rnd_below(rng, 4) ? OP_REPLACE : OP_EMPTY, 0, 0);
		op = some_appends(op, end, s, rng);
		op = fail_any(op, s, rng);
		if (!rnd_below(rng, 6))
			op = add(op, rnd_below(rng, 2) ? OP_CRASH : OP_REOPEN, 0, 0);
	}
	return op - ops;
}

/* -- more than there is room for ------------------------------------------------------------ */

/* Many small writes at once, to anywhere: the log gets full, and they wait for the drain. */
static struct op *rush(struct op *op, const struct setup *s, u64 *rng)
{
	u32 i;

	for (i = 4 + rnd_below(rng, 8); i; i--) {
		op = append(op, rnd_below(rng, s->sb.nr_lexts) * EXTENT_SECTORS, rng);
		op[-1].flags &= ~OP_LATE;
	}
	return op;
}

/* What may come while they wait. */
static struct op *disturb(struct op *op, const struct setup *s, bool drains, u64 *rng)
{
	switch (rnd_below(rng, 10)) {
	case 0:
		return add(op, OP_SUSPEND, 0, 0);
	case 1:
		return add(op, rnd_below(rng, 2) ? OP_RELOAD : OP_REOPEN, 0, 0);
	case 2:
		return add_crash(op, rng);
	case 3:
		op = add(op, OP_WAIT, 0, 0);
		return add(op, OP_SLEEP, 0, 1 << rnd_below(rng, 13));
	case 4 ... 6:
		return add(op, OP_FLUSH, 0, 0);
	default:
		return one(op, s, drains, rng);
	}
}

u32 make_pacing_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
{
	struct op *op = ops, *const end = ops + min(nr, 200 + rnd_below(rng, 600));
	const bool drains = !rnd_below(rng, 3);

	while (end - op > 40) {
		op = rush(op, s, rng);
		if (!rnd_below(rng, 4))
			op = disturb(op, s, drains, rng);
		/* the slow disk may be the one that fails for good */
		if (s->faults && !rnd_below(rng, 8))
			op = fail_any(op, s, rng);
	}
	if (drains && !s->faults)
		op = add(op, OP_DRAINED, 0, 0);
	return op - ops;
}

u32 make_landing_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
{
	/* nothing is left of the log behind that */
	struct op *op = ops, *const end = ops + min(nr, 40 + rnd_below(rng, 120));
	const bool drains = !rnd_below(rng, 3);

	/* while there is much of it */
	if (drains && rnd_below(rng, 2))
		op = rnd_below(rng, 2) ? beside_drain(op, s, rng) :
					 discard_beside_drain(op, s, rng);
	while (end - op > 32) {
		op = one(op, s, drains, rng);
		if (!rnd_below(rng, 48))
			op = add_crash(op, rng);
		if (s->faults && !rnd_below(rng, 12))
			op = fail_any(op, s, rng);
	}
	if (drains)
		op = add(op, OP_DRAINED, 0, 0);
	return op - ops;
}
