// SPDX-License-Identifier: GPL-2.0-only
/* Carry out the operations of a run. Most are tasks, so that they overlap. */
#include <stdio.h>

#include "invariants.h"
#include "points.h"
#include "run-state.h"

/* -- one operation ----------------------------------------------------------------- */

struct doing {
	struct state *st;
	struct op op;
	u32 number;
};

static void do_change(struct doing *d, blk_opf_t opf, enum change kind)
{
	struct model *m = d->st->model;
	const struct op *op = &d->op;
	const bool fua = op->flags & OP_FUA, alone = d->st->busy == 1;
	const u32 begun = d->st->begun;
	const void *set = sim_dev_private(d->st->dev);
	u64 *stamps = NULL, time, shadows = set_shadows(set), made = points_made(set);
	u32 number, i;
	int r;

	if (op->flags & OP_FUA)
		opf |= REQ_FUA;
	if (op->flags & OP_PREFLUSH)
		opf |= REQ_PREFLUSH;
	if (op->flags & OP_NOWAIT)
		opf |= REQ_NOWAIT;
	time = model_time(m);
	number = model_issue(m, kind, op->sector, op->nr);
	if (kind == CHANGE_WRITE) {
		stamps = sim_alloc(op->nr * sizeof(*stamps), false);
		for (i = 0; i < op->nr; i++)
			stamps[i] = model_stamp(number, op->sector + i);
	}
	r = sim_dev_io(d->st->dev, opf, op->sector, op->nr, stamps);
	if (r == -ENOSPC && !d->st->run->setup.faults && shadows &&
	    shadows == set_shadows(sim_dev_private(d->st->dev)))
		sim_fail("a write found no slot, while there are shadows");
	/* nothing else was under way, so there were as few of these when the write was refused */
	if (r == -ENODATA && alone && d->st->begun == begun &&
	    !(op->sector % FUSION_BLOCK_SECTORS) && op->nr == FUSION_BLOCK_SECTORS &&
	    set_partly_lost(set) < set_most_lost(set))
		sim_fail("a lost block cannot be written");
	if (!r && op->flags & OP_PREFLUSH)
		model_flushed(m, time);
	model_complete(m, number, !r, fua);
	if (!r && fua && kind == CHANGE_WRITE)
		points_written(set, op->sector, op->nr, made);
	if (fua || op->flags & OP_PREFLUSH)
		world->promised = true;
	sim_free(stamps);
}

/* A read of sectors of which some are lost. */
static void check_lost(struct doing *d, u64 time)
{
	u32 i;

	for (i = 0; i < d->op.nr; i++)
		if (!model_check_read(d->st->model, time, d->op.sector + i, MODEL_LOST))
			return;
	sim_fail("a read at time %llu of %u sectors from %u on fails, and none is lost", time,
		 d->op.nr, d->op.sector);
}

static void do_read(struct doing *d)
{
	const struct op *op = &d->op;
	u64 *found = sim_alloc(op->nr * sizeof(*found), false);
	u64 time = model_read_begin(d->st->model);
	const char *wrong;
	u32 i;
	int r;

	r = sim_dev_io(d->st->dev, REQ_OP_READ, op->sector, op->nr, found);
	if (r == -ENODATA)
		check_lost(d, time);
	if (!r) {
		for (i = 0; i < op->nr; i++) {
			wrong = model_check_read(d->st->model, time, op->sector + i, found[i]);
			if (!wrong)
				continue;
			model_explain(d->st->model, op->sector + i, found[i]);
			sim_fail("a read at time %llu: sector %u of extent %u: %s", time,
				 (op->sector + i) % EXTENT_SECTORS,
				 (op->sector + i) / EXTENT_SECTORS, wrong);
		}
	}
	model_read_end(d->st->model);
	sim_free(found);
}

static void do_flush(struct doing *d)
{
	u64 time = model_time(d->st->model);

	if (sim_dev_io(d->st->dev, REQ_OP_WRITE | REQ_PREFLUSH, 0, 0, NULL))
		return;
	model_flushed(d->st->model, time);
	world->promised = true;
}

static void do_move(struct doing *d)
{
	char text[64];

	snprintf(text, sizeof(text), "%s %u-%u",
		 d->op.kind == OP_PROMOTE ? "promote" : "demote", d->op.sector,
		 d->op.sector + d->op.nr - 1);
	sim_dev_message(d->st->dev, text);
}

/* One at a time, so that it is known which fence stands. */
static void do_fence(struct doing *d)
{
	struct state *st = d->st;
	const struct op *op = &d->op;
	char text[64] = "fence off";
	int r;

	if (st->fencing)
		return;
	st->fencing = true;
	if (op->kind == OP_FENCE)
		snprintf(text, sizeof(text), "fence %s %u %u",
			 op->flags == FUSION_FAST ? "fast" : "slow", op->sector,
			 op->sector + op->nr - 1);
	r = sim_dev_message(st->dev, text);
	if (r == -EINVAL || r == -ERANGE || r == -ENOENT)
		sim_fail("%s: %d", text, r);
	/* it may have been taken down, and nobody has looked since */
	st->fence.nr = 0;
	st->fencing = false;
}

/* One at a time, so that none is turned off while its end is waited for. */
static void do_homing(struct doing *d)
{
	static const char * const texts[] = { "homing on", "homing on zero", "homing off" };
	struct state *st = d->st;
	const char *text = texts[d->op.kind == OP_HOMING_OFF ? 2 : d->op.flags];
	int r;

	if (st->homing)
		return;
	st->homing = true;
	r = sim_dev_message(st->dev, text);
	/* a fast member that has shrunk may be too small for the extents without a home */
	if (r == -EINVAL || r == -ERANGE || r == -ENOENT ||
	    (r == -ENOSPC && !st->run->setup.shrinks))
		sim_fail("%s: %d", text, r);
	st->homing = false;
}

/* Is it kept from now on? */
static bool keep(struct sim_dev *dev, const char *text, u32 n)
{
	char message[64];

	snprintf(message, sizeof(message), text, n);
	if (sim_dev_message(dev, message))
		return false;
	world->promised = true;
	return true;
}

/* One at a time: of two it would not be known which is the last. */
void keep_something(struct state *st, struct sim_dev *dev)
{
	if (st->keeping)
		return;
	st->keeping = true;
	if (keep(dev, "keep half_life %u", ++st->keep_tried.half_life))
		st->keep_sure.half_life = st->keep_tried.half_life;
	if (keep(dev, "label set-%u", ++st->keep_tried.label))
		st->keep_sure.label = st->keep_tried.label;
	st->keeping = false;
}

static void do_one(void *arg)
{
	struct doing *d = arg;
	struct state *st = d->st;

	if (d->op.flags & OP_LATE)
		msleep(rnd_below(&world->rng, 1 << rnd_below(&world->rng, 10)));
	switch (d->op.kind) {
	case OP_WRITE:
		do_change(d, REQ_OP_WRITE, CHANGE_WRITE);
		break;
	case OP_DISCARD:
		do_change(d, REQ_OP_DISCARD, CHANGE_DISCARD);
		break;
	case OP_ZEROES:
		do_change(d, REQ_OP_WRITE_ZEROES, CHANGE_ZERO);
		break;
	case OP_READ:
		do_read(d);
		break;
	case OP_FLUSH:
		do_flush(d);
		break;
	case OP_PROMOTE:
	case OP_DEMOTE:
		do_move(d);
		break;
	case OP_FENCE:
	case OP_FENCE_OFF:
		do_fence(d);
		break;
	case OP_HOMING:
	case OP_HOMING_OFF:
		do_homing(d);
		break;
	case OP_CHECKPOINT:
		sim_dev_message(st->dev, "checkpoint");
		break;
	case OP_POINT:
		sim_dev_message(st->dev, "point");
		break;
	case OP_PIN:
		pin_some(st, &d->op);
		break;
	case OP_DRAIN:
		drain_log(st, d->op.nr);
		break;
	case OP_KEEP:
		keep_something(st, st->dev);
		break;
	case OP_REPLICA:
		set_update_replica(sim_dev_private(st->dev));
		break;
	}
	if (sim_tracing) {
		char text[64];

		print_op(&d->op, text, sizeof(text));
		sim_log("op %u: end of %s", d->number, text);
	}
	st->busy--;
	sim_wake(&st->busy);
	sim_free(d);
}

/* -- many at a time ------------------------------------------------------------------ */

static void begin(struct state *st, const struct op *op)
{
	struct doing *d = sim_alloc(sizeof(*d), false);

	d->st = st;
	d->op = *op;
	d->number = st->next;
	st->busy++;
	st->begun++;
	sim_spawn("op", do_one, d);
}

/* A block of each of many extents, at once. */
static void spray(struct state *st, const struct op *op)
{
	struct op one = { OP_WRITE, op->flags, op->sector, FUSION_BLOCK_SECTORS };
	u32 i;

	for (i = 0; i < op->nr; i++) {
		begin(st, &one);
		one.sector += EXTENT_SECTORS;
	}
}

void wait_busy(struct state *st, unsigned int most)
{
	wait_event(st->busy, st->busy <= most);
	if (!most)
		check_at_rest(sim_dev_private(st->dev));
}

/* Virtual seconds in which a small fence becomes empty, whatever the settings are. */
#define EMPTY_SECONDS	600U

/*
 * While nothing else happens, all extents leave the fence, if there is room. So do those on the old
 * member, which may be all of them: each time that one has left, there is as much time again. They
 * leave in batches, and a disk may be slow, so each copy gives as much time, too, but no more of
 * them than there are extents left.
 */
static void wait_empty(struct state *st)
{
	const void *set = sim_dev_private(st->dev);
	u64 copied = world->copied, most = 0;
	u32 i, left = U32_MAX;

	wait_busy(st, 0);
	/* an extent of which blocks are lost does not move */
	if (set_partly_lost(set))
		return;
	for (i = 0; set_fence_used(set) + set_old_left(set) && i < EMPTY_SECONDS; i++) {
		if (st->run->setup.faults || !set_writable(set) || !set_fence_room(set))
			return;
		msleep(1000);
		if (set_old_left(set) < left) {
			left = set_old_left(set);
			most = world->copied + (u64)left * EXTENT_SECTORS;
			i = 0;
		} else if (world->copied > copied && world->copied <= most) {
			i = 0;
		}
		copied = world->copied;
	}
	if (set_fence_used(set))
		sim_fail("%u slots inside the fence are not empty, with room for %u",
			 set_fence_used(set), set_fence_room(set));
	if (set_old_left(set))
		sim_fail("%u extents are left on the old member, with room for %u",
			 set_old_left(set), set_fence_room(set));
	sim_dev_status(st->dev);
}

/* While nothing else happens, everything comes home, in a number of moves that is bounded. */
static void wait_homed(struct state *st)
{
	const void *set = sim_dev_private(st->dev);
	u64 before;
	u32 i;

	wait_busy(st, 0);
	if (!set_homing(set) || set_partly_lost(set))
		return;
	before = set_homing_moves(set);
	for (i = 0; set_away(set) && i < EMPTY_SECONDS; i++) {
		if (st->run->setup.faults || !set_writable(set))
			return;
		msleep(1000);
	}
	if (set_away(set))
		sim_fail("homing: %u extents are not at home, or have got no zeros", set_away(set));
	if (set_homing_moves(set) - before > 2 * set_lexts(set))
		sim_fail("homing: %llu moves of %u extents", set_homing_moves(set) - before,
			 set_lexts(set));
	sim_dev_status(st->dev);
}

void stop_faults(void)
{
	unsigned int i;

	for (i = 0; i < SIM_MAX_DISKS; i++)
		if (world->disk[i])
			sim_disk_set_faults(world->disk[i], 0, 0);
}

/* -- all of them ------------------------------------------------------------------------ */

/*
 * Operations are drawn for a set that is as large as it may become. Return: false if there is
 * nothing of its range yet.
 */
static bool fit(const struct state *st, struct op *op)
{
	u32 end = st->size[st->nr_sizes - 1], at = op->sector;

	switch (op->kind) {
	case OP_WRITE:
	case OP_READ:
	case OP_DISCARD:
	case OP_ZEROES:
		end *= EXTENT_SECTORS;
		break;
	case OP_SPRAY:
		at /= EXTENT_SECTORS;
		break;
	case OP_PROMOTE:
	case OP_DEMOTE:
	case OP_PIN:
		break;
	case OP_FENCE:
		end = set_slot_end(sim_dev_private(st->dev), op->flags);
		break;
	default:
		return true;
	}
	if (at >= end)
		return false;
	op->nr = min(op->nr, end - at);
	return true;
}

/* -- the end ------------------------------------------------------------------------- */

/* Somebody who does not know that the machine is being shut down. */
static void flush_on(void *arg)
{
	struct doing d = { .st = arg };

	while (d.st->going_down) {
		do_flush(&d);
		if (rnd_below(&world->rng, 2))
			msleep(rnd_below(&world->rng, 1 << rnd_below(&world->rng, 8)));
	}
}

/* All sets are closed, as nobody unmounts the root file system; and power fails. */
static void shut_down(struct state *st)
{
	u64 *rng = &world->rng;
	u32 i;

	/* also with nothing but flushes that fail, which may still be under way at the end */
	if (st->run->setup.faults && rnd_below(rng, 2)) {
		stop_faults();
		sim_disk_set_faults(world->disk[FUSION_FAST], SIM_FAULT_BARE,
				    4 << rnd_below(rng, 6));
	}
	st->going_down = true;
	for (i = rnd_below(rng, 6); i; i--)
		sim_spawn("flush", flush_on, st);
	world->stall_slow_ms = st->run->setup.sb.stale_places && rnd_below(rng, 2) ? 3000 : 0;
	sim_reboot();
	st->going_down = false;
	msleep(rnd_below(rng, 1 << rnd_below(rng, 10)));
}

void carry_out(struct state *st, const struct op *drawn)
{
	struct op fitted = *drawn;
	const struct op *op = &fitted;

	if (!fit(st, &fitted))
		return;
	switch (op->kind) {
	case OP_SLEEP:
		msleep(op->nr);
		break;
	case OP_WAIT:
		wait_busy(st, 0);
		check_shadow_counts(sim_dev_private(st->dev));
		check_pins(sim_dev_private(st->dev));
		sim_dev_status(st->dev);
		break;
	case OP_EMPTY:
		wait_empty(st);
		break;
	case OP_HOMED:
		wait_homed(st);
		break;
	case OP_PINNED:
		wait_pinned(st);
		break;
	case OP_DRAINED:
		wait_drained(st);
		break;
	case OP_SUSPEND:
		sim_dev_suspend(st->dev);
		if (sim_dev_resume(st->dev)) {
			if (!st->run->setup.faults)
				sim_fail("resume failed");
			stop_faults();
			if (sim_dev_resume(st->dev))
				sim_fail("resume failed without a fault");
		}
		break;
	case OP_REOPEN:
	case OP_READONLY:
		reopen(st, op->kind == OP_READONLY);
		break;
	case OP_RELOAD:
		reload(st);
		break;
	case OP_GROW:
		grow(st);
		break;
	case OP_SHRINK:
		shrink(st);
		break;
	case OP_REPLACE:
		replace(st);
		break;
	case OP_CRASH:
		if (op->flags & OP_SHUTDOWN)
			shut_down(st);
		st->crashed = true;
		break;
	case OP_FAULT:
		if (world->disk[op->sector])
			sim_disk_set_faults(world->disk[op->sector], op->flags, op->nr);
		break;
	case OP_SPRAY:
		spray(st, op);
		break;
	default:
		wait_busy(st, st->run->setup.depth - 1);
		begin(st, op);
	}
}
