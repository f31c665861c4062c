// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cut power, and judge what a recovery finds: by the model, the invariants and the replica. A
 * recovery may be cut short in turn.
 */
#include <stdlib.h>

#include "invariants.h"
#include "replace.h"
#include "replica.h"
#include "run-state.h"

/* -- a set, as it is found --------------------------------------------------------- */

void check_kept(const struct state *st, struct kept kept)
{
	const struct kept *sure = &st->keep_sure, *tried = &st->keep_tried;

	if (kept.half_life < sure->half_life || kept.half_life > tried->half_life)
		sim_fail("the set keeps a half-life of %u; %u was promised, %u asked for",
			 kept.half_life, sure->half_life, tried->half_life);
	if (kept.label < sure->label || kept.label > tried->label)
		sim_fail("the set is named set-%u; set-%u was promised, set-%u asked for",
			 kept.label, sure->label, tried->label);
}

int make_table_with(struct state *st, struct sim_dev **dev, bool read_only, bool old)
{
	struct fusion_sb sb = st->run->setup.sb;
	char options[sizeof(st->run->setup.options) + 32];
	u32 i = st->nr_sizes;
	int r;

	table_options(&st->run->setup, old, options, sizeof(options));
	do {
		sb.nr_lexts = st->size[--i];
		r = sim_dev_create(dev, &sb, options, read_only);
	} while (r == -EINVAL && i);
	if (!r && i < st->sure)
		sim_fail("the set has %u extents, and had %u", sb.nr_lexts, st->size[st->sure]);
	return r;
}

int make_table(struct state *st, struct sim_dev **dev, bool read_only)
{
	return make_table_with(st, dev, read_only, needs_old());
}

/*
 * Those that were current when the set was closed are, and no others: a set that was not has none,
 * nor has one in which some were out of date that the replica called current.
 */
static void check_taken_over(const struct state *st, const struct replica *rep,
			     const void *private)
{
	u32 named = replica_shadows(rep), current = set_shadows_current(private);

	if (current && current != named)
		sim_fail("opened, and %u of %u shadows are current", current, named);
	if (st->closed && set_takes_over(private) && replica_is_exact(rep) && named != current)
		sim_fail("closed, and %u of %u shadows are taken over", current, named);
}

int try_open(struct state *st, struct sim_dev **dev, bool read_only)
{
	struct replica *rep;
	struct arrangement how;
	int r;

	draw_opening(st, read_only, &how);
	rep = replica_load(world->disk[FUSION_SLOW], world->disk[SIM_THIRD]);
	replica_check_content(rep, st->model, st->ready ? sim_dev_private(st->dev) : NULL,
			      !st->run->setup.faults);
	if (st->ready)
		replica_check_told(rep, st->model, sim_dev_private(st->dev));
	if (st->outside)
		replica_check_owners(rep, st->outside);
	if (how.joins)
		exchange_disks();
	r = make_table_with(st, dev, read_only, how.old);
	if (!r) {
		r = sim_dev_load(*dev);
		if (r) {
			sim_dev_destroy(*dev);
		} else {
			if (!how.joins)
				replica_check_map(rep, st->model, sim_dev_private(*dev));
			check_shadows_found(sim_dev_private(*dev));
			if (!read_only && !how.joins && !how.old)
				check_taken_over(st, rep, sim_dev_private(*dev));
			if (read_only && set_shadows_current(sim_dev_private(*dev)))
				sim_fail("opened read-only, and there are shadows");
			sim_dev_start(*dev);
			check_invariants(sim_dev_private(*dev));
			if (set_fence_size(sim_dev_private(*dev)))
				sim_fail("opened, and there is a fence");
			check_kept(st, set_kept(sim_dev_private(*dev)));
		}
	}
	replica_free(rep);
	/* more extents than may be at a join are partial, or the old disk is needed after all */
	if (r && may_fail(&how, r))
		return try_open(st, dev, read_only);
	return r;
}

void open_set(struct state *st, struct sim_dev **dev, bool read_only)
{
	int r = try_open(st, dev, read_only);

	if (r)
		sim_fail("the set cannot be opened: %d", r);
}

void close_set(struct sim_dev *dev)
{
	sim_dev_suspend(dev);
	sim_dev_destroy(dev);
}

/* Block by block, unless all are lost: some are, and no others. */
static void read_damaged(struct sim_dev *dev, u32 sector, u64 *content)
{
	const u32 end = sector + EXTENT_SECTORS, lext = sector / EXTENT_SECTORS;
	bool lost = fusion_word_lost(set_word(sim_dev_private(dev), lext));
	u32 i;
	int r;

	for (i = 0; lost && i < EXTENT_SECTORS; i++)
		content[i] = MODEL_LOST;
	if (lost)
		return;
	for (; sector < end; sector += FUSION_BLOCK_SECTORS, content += FUSION_BLOCK_SECTORS) {
		r = sim_dev_io(dev, REQ_OP_READ, sector, FUSION_BLOCK_SECTORS, content);
		if (r && r != -ENODATA)
			sim_fail("sector %u cannot be read: %d", sector, r);
		for (i = 0; r && i < FUSION_BLOCK_SECTORS; i++)
			content[i] = MODEL_LOST;
		lost |= r;
	}
	if (!lost)
		sim_fail("extent %u can only be read block by block", lext);
}

void read_all(struct state *st, struct sim_dev *dev, u64 *content)
{
	u32 s, end = set_lexts(sim_dev_private(dev)) * EXTENT_SECTORS;
	int r;

	/* What a set lacks that has not grown was not written for certain; or it was discarded. */
	memset(content + end, 0, (st->nr_sectors - end) * sizeof(*content));
	for (s = 0; s < end; s += EXTENT_SECTORS) {
		r = sim_dev_io(dev, REQ_OP_READ, s, EXTENT_SECTORS, content + s);
		if (r == -ENODATA)
			read_damaged(dev, s, content + s);
		else if (r)
			sim_fail("extent %u cannot be read: %d", s / EXTENT_SECTORS, r);
	}
}

void compare_content(struct state *st, const u64 *content, const u64 *expect, const char *what)
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

void set_readonly(bool readonly)
{
	unsigned int i;

	for (i = 0; i < SIM_MAX_DISKS; i++)
		if (world->disk[i])
			sim_disk_set_readonly(world->disk[i], readonly);
}

/* -- recovery -------------------------------------------------------------------- */

/* A cut in a recovery that follows a cut in a recovery, and so on. */
#define MAX_DEPTH	3

/*
 * A recovery that completes many extents has hundreds of places to cut. With cuts at all of them,
 * at each depth, a single cut would lead to 100,000 recoveries. So the first DENSE places are cut
 * at, a quarter as many at each greater depth, and of those after them one in THINNED.
 */
#define DENSE		128U
#define THINNED		16

/* A set found after a cut. */
struct find {
	struct state *st;
	unsigned int depth;
	enum sim_loss loss[SIM_MAX_DISKS];
	u64 image;		/* random numbers that make the disks */
	const u64 *expect;	/* content that must be found, or NULL: ask the model */
	u64 *content;
	bool reopen;		/* close and look again */
	bool read_only;
	bool reset;		/* the machine stopped, power did not fail: caches go on */
	unsigned int places;	/* where it could be cut, so far */
};

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
	compare_content(st, find->content, find->expect, "after a cut");
	if (find->read_only)
		check_invariants(sim_dev_private(dev));
	if (!find->reopen)
		return;
	close_set(dev);
	st->closed = !find->read_only && !st->run->setup.faults;
	/* blocks the recovery wrote to are now the disks' own */
	if (find->read_only && sim_allocations() != before)
		sim_fail("%d allocations leaked", sim_allocations() - before);
	set_readonly(false);
	open_set(st, &dev, false);
	st->closed = false;
	read_all(st, dev, again);
	compare_content(st, again, find->content, "closed and opened");
}

static void cut_recovery(struct sim_world *w, void *ctx);

static void try_find(struct find *find, bool cuts)
{
	struct model *model = find->st->model;
	struct sim_world *from = world, *w;
	u64 image = find->image;
	unsigned int i;
	bool before;

	w = sim_world_new(rnd(&image));
	for (i = 0; i < SIM_MAX_DISKS; i++) {
		if (!from->disk[i])
			continue;
		w->disk[i] = find->reset ? sim_disk_after_reset(from->disk[i], &image) :
			     sim_disk_after_cut(from->disk[i], find->loss[i], &image, false);
	}
	if (cuts) {
		w->cut = cut_recovery;
		w->cut_ctx = find;
	}
	before = model_cut(model, true);
	if (!before)
		model_cut(model, find->depth);
	sim_run(recover, find);
	model_cut(model, before);
	sim_world_free(w);
	find->st->run->points++;
	if (find->depth)
		find->st->run->nested++;
}

/* -- cuts -------------------------------------------------------------------------- */

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
	bool tearable = sim_disk_tearable(w->disk[FUSION_FAST]), closed = st->closed;
	u32 die = rnd(&w->rng);

	find.loss[FUSION_FAST] = rnd_below(&w->rng, SIM_NR_LOSSES);
	find.loss[FUSION_SLOW] = rnd_below(&w->rng, SIM_NR_LOSSES);
	if (w->disk[SIM_THIRD])
		find.loss[SIM_THIRD] = rnd_below(&w->rng, SIM_NR_LOSSES);
	if (tearable && die >> 31)
		find.loss[FUSION_FAST] = SIM_LOSE_BLOCKS;
	find.image = rnd(&w->rng);
	find.content = malloc(2 * st->nr_sectors * sizeof(u64));
	sim_log("cut %llu: image %u/%u", run->cuts, find.loss[0], find.loss[1]);
	run->cuts++;
	st->closed = false;
	find.reopen = !(die & 7);
	find.read_only = !(die >> 3 & 15);
	try_find(&find, false);

	/*
	 * Data that was found only in a cache is not promised, even if it was read: cut power
	 * everywhere after a reset.
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
	st->closed = closed;
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
	if (++find->places > DENSE >> 2 * find->depth && find->places % THINNED)
		return;
	cut(w, find->st, find->depth + 1, find->expect);
}

/* The replica will have to know it if the fast member is lost. */
static void note_known(struct state *st)
{
	u32 lext;

	for (lext = 0; lext < set_lexts(sim_dev_private(st->dev)); lext++)
		if (set_replica_knows(sim_dev_private(st->dev), lext))
			model_replica_knows(st->model, lext);
}

void cut_run(struct sim_world *w, void *ctx)
{
	struct state *st = ctx;
	struct run *run = st->run;
	u32 one_in = run->setup.cut_one_in;

	/* where most is at stake */
	if (w->promised || sim_disk_tearable(w->disk[FUSION_FAST]))
		one_in = DIV_ROUND_UP(one_in, 16);
	if (st->ready) {
		check_invariants(sim_dev_private(st->dev));
		check_fence(sim_dev_private(st->dev), &st->fence);
		note_known(st);
	}
	if (run->points < run->max_points && !passed_over(w, st) && !rnd_below(&w->rng, one_in))
		cut(w, st, 0, NULL);
}
