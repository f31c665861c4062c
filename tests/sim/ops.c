// SPDX-License-Identifier: GPL-2.0-only
/* The operations on a set: random, with a character that differs from run to run. */
#include <stdio.h>

#include "ops.h"

/* Relative frequency of each kind, and where it goes. */
struct character {
	u32 weight[OP_DRAWN];
	u32 whole;		/* of 256: writes of whole extents */
	u32 hot;		/* of 256: in the first few extents */
	u32 fua;		/* of 256 */
};

static void make_character(struct character *c, const struct setup *s, u64 *rng)
{
	static const u32 usual[OP_DRAWN] = {
		[OP_WRITE] = 60, [OP_READ] = 6, [OP_FLUSH] = 10, [OP_DISCARD] = 8,
		[OP_ZEROES] = 3, [OP_SPRAY] = 3, [OP_PROMOTE] = 4, [OP_DEMOTE] = 6,
		[OP_CHECKPOINT] = 2, [OP_REPLICA] = 4,
		[OP_SLEEP] = 6, [OP_WAIT] = 5, [OP_SUSPEND] = 1, [OP_REOPEN] = 1,
		[OP_READONLY] = 1, [OP_RELOAD] = 1, [OP_CRASH] = 2,
	};
	u32 k;

	for (k = 0; k < OP_DRAWN; k++)
		c->weight[k] = usual[k] * rnd_below(rng, 5);
	c->weight[OP_WRITE] += 20;
	/* now and then a life of endings */
	if (!rnd_below(rng, 8)) {
		c->weight[OP_REOPEN] += 60;
		c->weight[OP_SUSPEND] += 30;
		c->weight[OP_CHECKPOINT] += 60;
	}
	/* Checkpoints, updates of the replica, and discards meanwhile. */
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

	for (k = 0; k < OP_DRAWN; k++)
		sum += c->weight[k];
	n = rnd_below(rng, sum);
	for (k = 0; n >= c->weight[k]; k++)
		n -= c->weight[k];
	return k;
}

static u32 draw_extent(const struct character *c, const struct setup *s, u64 *rng)
{
	if (rnd_below(rng, 256) < c->hot)
		return rnd_below(rng, min(s->most.nr_lexts, 3U));
	return rnd_below(rng, s->most.nr_lexts);
}

static void draw_range(struct op *op, const struct character *c, const struct setup *s, u64 *rng)
{
	u32 lext = draw_extent(c, s, rng), end = s->most.nr_lexts * EXTENT_SECTORS;
	u32 size;

	op->sector = lext * EXTENT_SECTORS;
	if (rnd_below(rng, 256) < c->whole) {
		op->nr = EXTENT_SECTORS;
		if (!rnd_below(rng, s->large ? 2 : 8))
			op->nr *= 1 + rnd_below(rng, s->most.nr_lexts);
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
		op->nr = s->most.nr_lexts - op->sector / EXTENT_SECTORS;
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
		op->nr = 1 + rnd_below(rng, min(s->most.nr_lexts - op->sector, 6U));
		break;
	case OP_CRASH:
		op->nr = rnd_below(rng, 4) ? 0 : rnd_below(rng, 1 << rnd_below(rng, 8));
		op->flags = rnd_below(rng, 2) ? OP_SHUTDOWN : 0;
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

u32 make_ops(const struct setup *s, u64 seed, struct op *ops, u32 nr)
{
	u64 rng = seed ^ 0x0b5, kind = seed ^ 0xcc9, keep = seed ^ 0x6e9;
	u64 swap = seed ^ 0x5a9, grow = seed ^ 0x960, fence = seed ^ 0xfe9;
	u64 shrink = seed ^ 0x542, home = seed ^ 0x803e, replace = seed ^ 0x4e1;
	u64 shadow = seed ^ 0x5ad, lost = seed ^ 0x1058;
	struct character c;
	bool fences;
	u32 i;

	nr = min(nr, MAX_OPS);
	nr -= rnd_below(&rng, nr - nr / 8);
	if (s->story)
		return s->story->make(s, &rng, ops, max(nr, 64U));
	if (s->homes && nr > 128 && rnd_below(&home, 2))
		return make_home_ops(s, &home, ops, nr);
	if (nr > 48 && !rnd_below(&replace, 10))
		return make_replace_ops(s, &replace, ops, nr);
	if (nr > 64 && !rnd_below(&shadow, 8))
		return make_shadow_ops(s, &shadow, ops, nr);
	if (nr > 48 && !rnd_below(&fence, 8))
		return make_fence_ops(s, &fence, ops, nr);
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
	if (s->lost && nr > 48 && rnd_below(&lost, 2))
		return make_lost_ops(s, &lost, ops, nr);
	make_character(&c, s, &rng);
	fences = !rnd_below(&fence, 3);
	for (i = 0; i < nr; i++) {
		if (!(i % 64))
			make_character(&c, s, &rng);
		draw_op(&ops[i], &c, s, &rng);
		/* beside all else, which is as it would be without */
		if (!rnd_below(&keep, 64))
			ops[i] = (struct op){ .kind = OP_KEEP };
		if ((s->grows || s->shrinks) && !rnd_below(&grow, 32))
			ops[i] = (struct op){ .kind = OP_GROW };
		if (s->shrinks && !rnd_below(&shrink, 24))
			ops[i] = (struct op){ .kind = OP_SHRINK };
		if (fences && !rnd_below(&fence, 16))
			draw_fence(s, &fence, &ops[i]);
		if (s->homes && !rnd_below(&home, 16))
			draw_homing(&home, &ops[i]);
	}
	return nr;
}

void print_op(const struct op *op, char *text, size_t size)
{
	static const char * const names[] = {
		"write", "read", "flush", "discard", "zeroes", "spray", "promote", "demote",
		"checkpoint", "replica", "sleep", "wait", "suspend", "reopen", "readonly", "reload",
		"keep", "grow", "shrink", "crash", "fault", "fence", "fence off", "empty",
		"homing", "homing off", "homed",
		"replace", "point", "pin", "pinned", "drain", "drained",
	};
	bool flags = op->kind < OP_FAULT;

	snprintf(text, size, "%s%s%s%s %u+%u%s", names[op->kind],
		 flags && op->flags & OP_PREFLUSH ? " PREFLUSH" : "",
		 flags && op->flags & OP_NOWAIT ? " NOWAIT" : "",
		 flags && op->flags & OP_FUA ? " FUA" : "", op->sector, op->nr,
		 op->kind == OP_FENCE ? op->flags == FUSION_FAST ? " fast" : " slow" :
		 op->kind != OP_FAULT ? "" : op->flags & SIM_FAULT_BARE ? " bare flush" :
		 op->flags & SIM_FAULT_FLUSH ? " flush" : " io");
}
