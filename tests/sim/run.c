// SPDX-License-Identifier: GPL-2.0-only
/*
 * Carry out a run's operations, each of which is a task, so that they overlap; wherever
 * a disk's content or a promise changes, cut power, and see what a recovery finds.
 */
#include <stdio.h>
#include <stdlib.h>

#include "invariants.h"
#include "model.h"
#include "replica.h"
#include "run.h"
#include "dm-fusion-settings.h"

/* A cut in a recovery that follows a cut in a recovery, and so on. */
#define MAX_DEPTH	3

struct state {
	struct run *run;
	struct model *model;
	struct sim_dev *dev;
	bool ready;		/* @dev may be looked into */
	const void *outside;	/* it, seen from where its disks are found after a cut */
	unsigned int busy;	/* operations under way */
	u32 next;		/* operation */
	bool crashed;
	bool keeping;		/* a setting is being changed */
	u32 keep_tried;		/* the last value of it that was asked for, */
	u32 keep_sure;		/* and the last one that is known to be kept: both only grow */
	u32 nr_sectors;
	u64 *content;
};

/* -- recovery -------------------------------------------------------------------- */

/* A set found after a cut. */
struct find {
	struct state *st;
	unsigned int depth;
	enum sim_loss loss[SIM_NR_DISKS];
	u64 image;		/* random numbers that make the disks */
	const u64 *expect;	/* content that must be found, or NULL: ask the model */
	u64 *content;
	bool reopen;		/* close and look again */
	bool read_only;
	bool reset;		/* the machine stopped, power did not fail: caches go on */
};

static void check_kept(const struct state *st, u32 kept)
{
	if (kept < st->keep_sure || kept > st->keep_tried)
		sim_fail("the set keeps a half-life of %u; %u was promised, %u asked for", kept,
			 st->keep_sure, st->keep_tried);
}

static int try_open(struct state *st, struct sim_dev **dev, bool read_only)
{
	struct replica *rep = replica_load(world->disk[FUSION_SLOW]);
	int r;

	replica_check_content(rep, st->model);
	if (st->outside)
		replica_check_owners(rep, st->outside);
	r = sim_dev_create(dev, &st->run->setup.sb, st->run->setup.options, read_only);
	if (!r) {
		r = sim_dev_load(*dev);
		if (r) {
			sim_dev_destroy(*dev);
		} else {
			replica_check_map(rep, st->model, sim_dev_private(*dev));
			sim_dev_start(*dev);
			check_invariants(sim_dev_private(*dev));
			check_kept(st, set_kept(sim_dev_private(*dev)));
		}
	}
	replica_free(rep);
	return r;
}

static void open_set(struct state *st, struct sim_dev **dev, bool read_only)
{
	int r = try_open(st, dev, read_only);

	if (r)
		sim_fail("the set cannot be opened: %d", r);
}

static void close_set(struct sim_dev *dev)
{
	sim_dev_suspend(dev);
	sim_dev_destroy(dev);
}

static void read_all(struct state *st, struct sim_dev *dev, u64 *content)
{
	u32 s;
	int r;

	for (s = 0; s < st->nr_sectors; s += EXTENT_SECTORS) {
		r = sim_dev_io(dev, REQ_OP_READ, s, EXTENT_SECTORS, content + s);
		if (r)
			sim_fail("extent %u cannot be read: %d", s / EXTENT_SECTORS, r);
	}
}

static void compare(struct state *st, const u64 *content, const u64 *expect, const char *what)
{
	const char *wrong = NULL;
	u32 s;

	for (s = 0; s < st->nr_sectors; s++) {
		if (expect) {
			if (content[s] != expect[s])
				wrong = "another content than before";
		} else {
			wrong = model_check_cut(st->model, s, content[s]);
		}
		if (!wrong)
			continue;
		if (expect)
			sim_log("sector %u holds %llx, not %llx", s, content[s], expect[s]);
		else
			model_explain(st->model, s, content[s]);
		sim_fail("%s: sector %u of extent %u: %s", what, s % EXTENT_SECTORS,
			 s / EXTENT_SECTORS, wrong);
	}
}

static void set_readonly(bool readonly)
{
	sim_disk_set_readonly(world->disk[0], readonly);
	sim_disk_set_readonly(world->disk[1], readonly);
}

static void recover(void *arg)
{
	struct find *find = arg;
	struct state *st = find->st;
	struct sim_dev *dev;
	u64 *again = find->content + st->nr_sectors;
	unsigned int before = sim_allocations();

	if (!find->depth && st->ready)
		st->outside = sim_dev_private(st->dev);
	set_readonly(find->read_only);
	open_set(st, &dev, find->read_only);
	st->outside = NULL;
	read_all(st, dev, find->content);
	compare(st, find->content, find->expect, "after a cut");
	if (find->read_only)
		check_invariants(sim_dev_private(dev));
	if (!find->reopen)
		return;
	close_set(dev);
	/* blocks the recovery wrote to are now the disks' own */
	if (find->read_only && sim_allocations() != before)
		sim_fail("%d allocations leaked", sim_allocations() - before);
	set_readonly(false);
	open_set(st, &dev, false);
	read_all(st, dev, again);
	compare(st, again, find->content, "closed and opened");
}

static void cut_recovery(struct sim_world *w, void *ctx);

static void try_find(struct find *find, bool cuts)
{
	struct sim_world *from = world, *w;
	u64 image = find->image;
	unsigned int i;

	w = sim_world_new(rnd(&image));
	for (i = 0; i < SIM_NR_DISKS; i++)
		w->disk[i] = find->reset ? sim_disk_after_reset(from->disk[i], &image) :
			     sim_disk_after_cut(from->disk[i], find->loss[i], &image, false);
	if (cuts) {
		w->cut = cut_recovery;
		w->cut_ctx = find;
	}
	sim_run(recover, find);
	sim_world_free(w);
	find->st->run->points++;
	if (find->depth)
		find->st->run->nested++;
}

/*
 * Cut now and look. @expect: in a recovery nothing may change any more, so each one after
 * must find what the first one did.
 */
static void cut(struct sim_world *w, struct state *st, unsigned int depth, const u64 *expect)
{
	struct run *run = st->run;
	struct find find = {
		.st = st,
		.depth = depth,
		.expect = expect,
	};
	bool tearable = sim_disk_tearable(w->disk[FUSION_FAST]);
	u32 die = rnd(&w->rng);

	find.loss[FUSION_FAST] = rnd_below(&w->rng, SIM_NR_LOSSES);
	find.loss[FUSION_SLOW] = rnd_below(&w->rng, SIM_NR_LOSSES);
	if (tearable && die >> 31)
		find.loss[FUSION_FAST] = SIM_LOSE_BLOCKS;
	find.image = rnd(&w->rng);
	find.content = malloc(2 * st->nr_sectors * sizeof(u64));
	sim_log("cut %llu: image %u/%u", run->cuts, find.loss[0], find.loss[1]);
	run->cuts++;
	find.reopen = !(die & 7);
	find.read_only = !(die >> 3 & 15);
	try_find(&find, false);

	/*
	 * What was found in a cache only is promised to nobody, whoever has read it: cut power
	 * everywhere in what comes after a reset.
	 */
	if (depth < MAX_DEPTH && !(die >> 11 & 127)) {
		struct find reset = find;

		reset.reset = true;
		reset.reopen = false;
		reset.read_only = false;
		reset.content = malloc(2 * st->nr_sectors * sizeof(u64));
		try_find(&reset, true);
		free(reset.content);
	}
	if (depth < MAX_DEPTH && !(die >> 7 & (tearable && !depth ? 3 : 15))) {
		find.reopen = false;
		find.read_only = false;
		find.expect = find.content;
		find.content = malloc(2 * st->nr_sectors * sizeof(u64));
		try_find(&find, true);
		free((void *)find.expect);
	}
	free(find.content);
}

/* Does the run's story pass over this place? */
static bool passed_over(const struct sim_world *w, const struct state *st)
{
	const struct story *story = st->run->setup.story;

	return story && story->torn && !sim_disk_tearable(w->disk[FUSION_FAST]);
}

static void cut_recovery(struct sim_world *w, void *ctx)
{
	struct find *find = ctx;

	if (passed_over(w, find->st))
		return;
	cut(w, find->st, find->depth + 1, find->expect);
}

/* What the replica knows of it will have to tell when the fast member is gone. */
static void note_known(struct state *st)
{
	u32 lext;

	for (lext = 0; lext < st->run->setup.sb.nr_lexts; lext++)
		if (set_replica_knows(sim_dev_private(st->dev), lext))
			model_replica_knows(st->model, lext);
}

static void cut_run(struct sim_world *w, void *ctx)
{
	struct state *st = ctx;
	struct run *run = st->run;
	u32 one_in = run->setup.cut_one_in;

	/* where most is at stake */
	if (w->promised || sim_disk_tearable(w->disk[FUSION_FAST]))
		one_in = DIV_ROUND_UP(one_in, 16);
	if (st->ready) {
		check_invariants(sim_dev_private(st->dev));
		note_known(st);
	}
	if (run->points < run->max_points && !passed_over(w, st) && !rnd_below(&w->rng, one_in))
		cut(w, st, 0, NULL);
}

/* -- operations ------------------------------------------------------------------ */

struct doing {
	struct state *st;
	struct op op;
	u32 number;
};

static void do_change(struct doing *d, blk_opf_t opf, enum change kind)
{
	struct model *m = d->st->model;
	const struct op *op = &d->op;
	bool fua = op->flags & OP_FUA;
	u64 *stamps = NULL, time;
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
	if (!r && op->flags & OP_PREFLUSH)
		model_flushed(m, time);
	model_complete(m, number, !r, fua);
	if (fua || op->flags & OP_PREFLUSH)
		world->promised = true;
	sim_free(stamps);
}

static void do_read(struct doing *d)
{
	const struct op *op = &d->op;
	u64 *found = sim_alloc(op->nr * sizeof(*found), false);
	u64 time = model_read_begin(d->st->model);
	const char *wrong;
	u32 i;

	if (!sim_dev_io(d->st->dev, REQ_OP_READ, op->sector, op->nr, found)) {
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

/* One at a time: of two it would not be known which is the last. */
static void do_keep(struct state *st, struct sim_dev *dev)
{
	u32 n = st->keep_tried + 1;
	char text[64];

	if (st->keeping)
		return;
	st->keeping = true;
	st->keep_tried = n;
	snprintf(text, sizeof(text), "keep half_life %u", n);
	if (!sim_dev_message(dev, text)) {
		st->keep_sure = n;
		world->promised = true;
	}
	st->keeping = false;
}

static void do_one(void *arg)
{
	struct doing *d = arg;
	struct state *st = d->st;

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
	case OP_CHECKPOINT:
		sim_dev_message(st->dev, "checkpoint");
		break;
	case OP_KEEP:
		do_keep(st, st->dev);
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

static void begin(struct state *st, const struct op *op)
{
	struct doing *d = sim_alloc(sizeof(*d), false);

	d->st = st;
	d->op = *op;
	d->number = st->next;
	st->busy++;
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

static void wait_busy(struct state *st, unsigned int most)
{
	wait_event(st->busy, st->busy <= most);
}

static void stop_faults(void)
{
	sim_disk_set_faults(world->disk[0], 0, 0);
	sim_disk_set_faults(world->disk[1], 0, 0);
}

static void open_run(struct state *st, bool read_only)
{
	open_set(st, &st->dev, read_only);
	st->ready = true;
}

static void say_late(void *arg)
{
	static const char * const texts[] = {
		"checkpoint", "promote 0-1", "demote 0-1", "keep idle 0", "settings",
	};
	struct sim_dev *dev = arg;

	sim_dev_message(dev, texts[rnd_below(&world->rng, ARRAY_SIZE(texts))]);
	sim_dev_put(dev);
}

/* In one of two times without a suspend before, while messages come. */
static void close_run(struct state *st)
{
	u32 i, late = rnd_below(&world->rng, 5);

	st->ready = false;
	if (rnd_below(&world->rng, 2)) {
		close_set(st->dev);
		return;
	}
	for (i = 0; i < late; i++) {
		sim_dev_get(st->dev);
		sim_spawn("late", say_late, st->dev);
	}
	/* let them get as far as they do */
	for (i = rnd_below(&world->rng, 16); late && i; i--)
		sim_yield();
	sim_dev_remove(st->dev);
}

/* Read it all, while nothing is under way. */
static void check_all(struct state *st)
{
	u64 time = model_time(st->model);
	const char *wrong;
	u32 s;

	read_all(st, st->dev, st->content);
	for (s = 0; s < st->nr_sectors; s++) {
		wrong = model_check_read(st->model, time, s, st->content[s]);
		if (!wrong)
			continue;
		model_explain(st->model, s, st->content[s]);
		sim_fail("sector %u of extent %u: %s", s % EXTENT_SECTORS, s / EXTENT_SECTORS,
			 wrong);
	}
}

/*
 * A set that has gone read-only, be it while it is suspended, tells whoever opens it next, if only
 * the fast member works again.
 */
static void close_faulty(struct state *st)
{
	struct sim_dev *dev = st->dev;
	struct fusion_sb sb;
	bool stopped;

	if (rnd_below(&world->rng, 2)) {
		close_run(st);
		return;
	}
	sim_disk_set_faults(world->disk[FUSION_FAST], 0, 0);
	if (rnd_below(&world->rng, 2))
		sim_disk_set_faults(world->disk[FUSION_SLOW], SIM_FAULT_FLUSH,
				    1 + rnd_below(&world->rng, 4));
	st->ready = false;
	sim_dev_suspend(dev);
	stopped = !set_writable(sim_dev_private(dev));
	sim_dev_destroy(dev);
	if (stopped && (!sim_disk_super(world->disk[FUSION_FAST], &sb) ||
			!(sb.flags & FUSION_SB_NEEDS_CHECK)))
		sim_fail("closed in mode ro, and its superblock does not tell");
}

/*
 * The clock moves on at random, so that ten beats in a row may come too late, as on a disk that
 * answers too slowly. Then the set has gone read-only, and says so. What was not flushed is lost.
 */
static bool gave_up(void)
{
	struct fusion_sb sb;

	if (!world->heart_failed)
		return false;
	if (!sim_disk_super(world->disk[FUSION_FAST], &sb) || !(sb.flags & FUSION_SB_NEEDS_CHECK))
		sim_fail("its heartbeat failed, and its superblock does not tell");
	return true;
}

/* Each of the four superblocks of a set that is closed has what it keeps. */
static void check_closed(const struct state *st)
{
	struct fusion_sb sb[2];
	unsigned int i;

	for (i = 0; i < SIM_NR_DISKS; i++) {
		if (!sim_disk_super(world->disk[i], &sb[i]))
			sim_fail("closed, and disk %u has no superblock", i);
		if (sb[i].settings_mask && sb[i].setting[FUSION_SET_HALF_LIFE] != st->keep_sure)
			sim_fail("closed, and disk %u keeps a half-life of %u, not %u", i,
				 sb[i].setting[FUSION_SET_HALF_LIFE], st->keep_sure);
		if (!sb[i].settings_mask && st->keep_sure)
			sim_fail("closed, and disk %u keeps nothing", i);
	}
}

static void do_reopen(struct state *st, bool read_only)
{
	wait_busy(st, 0);
	if (st->run->setup.faults) {
		close_faulty(st);
		/* what an error has left in a cache is promised to nobody */
		st->crashed = true;
		return;
	}
	close_run(st);
	if (gave_up()) {
		st->crashed = true;
		return;
	}
	check_closed(st);
	if (read_only) {
		set_readonly(true);
		open_run(st, true);
		check_all(st);
		close_run(st);
		set_readonly(false);
	}
	open_run(st, false);
	check_all(st);
}

/* A new table is made while the old one works; then it takes over. */
static void do_reload(struct state *st)
{
	struct sim_dev *old = st->dev;
	int r;

	wait_busy(st, 0);
	if (st->run->setup.faults) {
		st->crashed = true;
		return;
	}
	r = sim_dev_create(&st->dev, &st->run->setup.sb, st->run->setup.options, false);
	if (r)
		sim_fail("a second table cannot be made: %d", r);
	st->ready = false;
	if (sim_dev_load(st->dev) != -EBUSY)
		sim_fail("the second table is loaded while the first works");
	/* what the second one has read before is not what counts */
	do_keep(st, old);
	sim_dev_suspend(old);
	r = sim_dev_resume(st->dev);
	if (r)
		sim_fail("the second table cannot be resumed: %d", r);
	st->ready = true;
	check_kept(st, set_kept(sim_dev_private(st->dev)));
	if (sim_dev_load(old) != -ESTALE)
		sim_fail("the first table goes on though the second was at work");
	sim_dev_destroy(old);
	check_all(st);
}

static void carry_out(struct state *st, const struct op *op)
{
	switch (op->kind) {
	case OP_SLEEP:
		msleep(op->nr);
		break;
	case OP_WAIT:
		wait_busy(st, 0);
		sim_dev_status(st->dev);
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
		do_reopen(st, op->kind == OP_READONLY);
		break;
	case OP_RELOAD:
		do_reload(st);
		break;
	case OP_CRASH:
		st->crashed = true;
		break;
	case OP_FAULT:
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

/* A first write that was lost is one that the replica may know of. */
static void note_unmapped(struct state *st)
{
	u32 lext;

	for (lext = 0; lext < st->run->setup.sb.nr_lexts; lext++)
		if (!fusion_word_mapped(set_word(sim_dev_private(st->dev), lext)))
			model_unmapped(st->model, lext);
}

/*
 * Open it, on disks that may fail to write: a superblock that can't be read is damage, and no
 * matter of power cuts. Return: false if it can't be opened for that; then power fails, and the
 * next attempt may find disks that work, where it must succeed.
 */
static bool open_anew(struct state *st)
{
	u64 *rng = &world->rng;
	bool faults = st->run->setup.faults && rnd_below(rng, 2);
	int r;

	if (faults)
		sim_disk_set_faults(world->disk[rnd_below(rng, SIM_NR_DISKS)],
				    SIM_FAULT_WRITE * (1 + rnd_below(rng, 3)),
				    2 << rnd_below(rng, 5));
	r = try_open(st, &st->dev, false);
	stop_faults();
	if (r && !faults)
		sim_fail("the set cannot be opened: %d", r);
	st->ready = !r;
	/* from now on that is not lost either */
	if (!r)
		st->keep_sure = set_kept(sim_dev_private(st->dev));
	return !r;
}

/* Until the end, or the next crash. */
static void drive(void *arg)
{
	struct state *st = arg;
	char text[64];

	if (!open_anew(st)) {
		st->crashed = true;
		return;
	}
	if (st->crashed) {
		st->crashed = false;
		read_all(st, st->dev, st->content);
		compare(st, st->content, NULL, "after a crash");
		model_rebase(st->model, st->content);
		note_unmapped(st);
	}
	/* Let the replica go on failing, if it has failed. */
	if (st->run->setup.faults && rnd_below(&world->rng, 2))
		sim_disk_set_faults(world->disk[FUSION_SLOW], SIM_FAULT_WRITE,
				    2 << rnd_below(&world->rng, 4));
	while (st->next < st->run->nr_ops) {
		const struct op *op = &st->run->ops[st->next];

		print_op(op, text, sizeof(text));
		sim_log("op %u: %s", st->next, text);
		world->steps = 0;
		world->limit_ns = world->now_ns + SIM_PATIENCE_NS;
		carry_out(st, op);
		st->next++;
		if (st->crashed)
			return;
	}
	wait_busy(st, 0);
	close_run(st);
}

/* The world ends, and another one begins with what is found on the disks. */
static void next_world(void)
{
	struct sim_world *old = world, *w = sim_world_new(rnd(&old->rng));
	unsigned int i;

	for (i = 0; i < SIM_NR_DISKS; i++)
		w->disk[i] = sim_disk_after_cut(old->disk[i], rnd_below(&w->rng, SIM_NR_LOSSES),
						&w->rng, true);
	sim_world_drop_parent();
}

static void stop_later(struct sim_world *w, void *ctx)
{
	unsigned int *left = ctx;

	w->stop = !(*left)--;
}

static void open_only(void *arg)
{
	struct state *st = arg;

	open_set(st, &st->dev, false);
}

/* Power fails; and again in each of some recoveries, somewhere. */
static void crash(struct state *st)
{
	unsigned int usual = rnd_below(&world->rng, 16), left;
	const struct op *op = st->next ? &st->run->ops[st->next - 1] : NULL;
	u32 i;

	st->ready = false;
	st->busy = 0;
	st->keeping = false;
	next_world();
	for (i = 0; op && op->kind == OP_CRASH && i < op->nr; i++) {
		/* often in the same place, so that what is done before adds up */
		left = rnd_below(&world->rng, 4) ? usual : rnd_below(&world->rng, 24);
		world->cut = stop_later;
		world->cut_ctx = &left;
		sim_run(open_only, st);
		next_world();
	}
}

static void run_world(void *arg)
{
	struct state *st = arg;
	struct run *run = st->run;
	struct sim_world *w = sim_world_new(run->seed ^ run->schedule << 32);
	unsigned int i;

	for (i = 0; i < SIM_NR_DISKS; i++) {
		w->disk[i] = sim_disk_new(i, &run->setup.sb, run->setup.discards[i],
					  run->setup.fua[i]);
		sim_disk_set_through(w->disk[i], run->setup.through[i]);
		sim_disk_set_tears(w->disk[i], run->setup.tears[i]);
		sim_disk_format(w->disk[i], &run->setup.sb, &w->rng);
	}
	for (;;) {
		world->cut = cut_run;
		world->cut_ctx = st;
		sim_run(drive, st);
		if (!st->crashed)
			break;
		crash(st);
	}
}

const char *run_ops(struct run *run)
{
	struct state st = { .run = run };
	const char *result;

	st.nr_sectors = run->setup.sb.nr_lexts * EXTENT_SECTORS;
	st.model = model_new(st.nr_sectors, EXTENT_SECTORS);
	st.content = malloc(st.nr_sectors * sizeof(*st.content));
	result = sim_catch(run_world, &st);
	while (world)
		sim_world_free(world);
	model_free(st.model);
	free(st.content);
	return result;
}
