// SPDX-License-Identifier: GPL-2.0-only
/*
 * A run, from one world to the next: open the set, carry out operations until power fails, and go
 * on with what is then on the disks.
 */
#include <stdio.h>
#include <stdlib.h>

#include "invariants.h"
#include "landed.h"
#include "replace.h"
#include "dm-fusion-stale.h"
#include "run-state.h"

/* A first write that was lost is one that the replica may know of. */
static void note_unmapped(struct state *st)
{
	u32 lext;

	for (lext = 0; lext < set_lexts(sim_dev_private(st->dev)); lext++)
		if (!fusion_word_mapped(set_word(sim_dev_private(st->dev), lext)))
			model_unmapped(st->model, lext);
}

/* The set has one of its sizes; those after that one it has not. */
static void note_size(struct state *st)
{
	while (st->size[st->nr_sizes - 1] != set_lexts(sim_dev_private(st->dev)))
		st->nr_sizes--;
	st->sure = st->nr_sizes - 1;
}

/*
 * Open it, on disks that may fail to write: a superblock that cannot be read is damage, and no
 * matter of power cuts. Return: false if it cannot be opened for that; then power fails, and the
 * next attempt may find disks that work, where it must succeed.
 */
static bool open_anew(struct state *st)
{
	u64 *rng = &world->rng;
	bool faults = st->run->setup.faults && rnd_below(rng, 2);
	int r;

	if (faults)
		sim_disk_set_faults(any_disk(),
				    SIM_FAULT_WRITE * (1 + rnd_below(rng, 3)),
				    2 << rnd_below(rng, 5));
	r = try_open(st, &st->dev, false);
	stop_faults();
	if (r && !faults)
		sim_fail("the set cannot be opened: %d", r);
	st->ready = !r;
	/* from now on that is not lost either */
	if (!r) {
		st->keep_sure = set_kept(sim_dev_private(st->dev));
		note_size(st);
	}
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
		compare_content(st, st->content, NULL, "after a crash");
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

	for (i = 0; i < SIM_MAX_DISKS; i++)
		if (old->disk[i])
			w->disk[i] = sim_disk_after_cut(old->disk[i],
							rnd_below(&w->rng, SIM_NR_LOSSES),
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
	st->fencing = false;
	st->homing = false;
	st->going_down = false;
	st->fence.nr = 0;
	model_cut(st->model, true);
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

/* The words of its extents: unmapped, or lost. */
static void first_words(const struct setup *s, u32 words[FUSION_MAP_PER_BLOCK])
{
	u32 i;

	for (i = 0; i < FUSION_MAP_PER_BLOCK; i++)
		words[i] = setup_loses(s, i) ? FUSION_WORD_LOST : FUSION_WORD_UNMAPPED;
}

/* Where disks fail, a block of the stale list may be worn out: a head, or one of a list. */
static void wear_out(const struct setup *s, u64 rng, struct sim_disk *slow)
{
	const u32 lists = min(s->sb.stale_places, 8U);
	u32 index;

	if (!s->faults || !lists || rnd_below(&rng, 3))
		return;
	index = rnd_below(&rng, 3) ? FUSION_STALE_COPIES + rnd_below(&rng, lists) :
				     rnd_below(&rng, FUSION_STALE_COPIES);
	sim_disk_set_worn(slow, s->sb.stale_start + index);
}

/* Up to how long data take, in ms. */
static u32 lag_of(const struct setup *s, u64 rng)
{
	return s->story && s->story->lags && rnd_below(&rng, 2) ? 1U << rnd_below(&rng, 12) : 0;
}

static void run_world(void *arg)
{
	struct state *st = arg;
	struct run *run = st->run;
	struct sim_world *w = sim_world_new(run->seed ^ run->schedule << 32);
	struct fusion_sb most = run->setup.most;
	u32 words[FUSION_MAP_PER_BLOCK];
	u64 landing = run->seed ^ 0x1a4e;
	unsigned int i;

	first_words(&run->setup, words);
	/* What is behind the slots becomes zeros where it is to be the last MiB of a member. */
	if (run->setup.shrinks) {
		most.nr_fast_slots += FUSION_GUARD_SECTORS / EXTENT_SECTORS + 1;
		most.nr_slow_slots += FUSION_GUARD_SECTORS / EXTENT_SECTORS + 1;
	}
	for (i = 0; i < SIM_NR_DISKS; i++) {
		w->disk[i] = sim_disk_new(i, &most, run->setup.discards[i],
					  run->setup.fua[i]);
		sim_disk_set_sectors(w->disk[i], fusion_sb_dev_sectors(&run->setup.sb, i));
		sim_disk_set_through(w->disk[i], run->setup.through[i]);
		sim_disk_set_tears(w->disk[i], run->setup.tears[i]);
		sim_disk_format(w->disk[i], &run->setup.sb, run->setup.lost ? words : NULL,
				&w->rng);
	}
	landed_make(&run->setup, st->model, &landing);
	wear_out(&run->setup, run->seed ^ 0x3041, w->disk[FUSION_SLOW]);
	for (;;) {
		world->scarce = run->setup.scarce;
		world->lag_ms = lag_of(&run->setup, run->seed ^ 0x1a9);
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
	u32 s;

	st.nr_sectors = run->setup.most.nr_lexts * EXTENT_SECTORS;
	st.size[st.nr_sizes++] = run->setup.sb.nr_lexts;
	st.model = model_new(st.nr_sectors, EXTENT_SECTORS);
	st.content = malloc(st.nr_sectors * sizeof(*st.content));
	for (s = 0; s < st.nr_sectors; s++)
		st.content[s] = setup_loses(&run->setup, s / EXTENT_SECTORS) ? MODEL_LOST : 0;
	model_rebase(st.model, st.content);
	result = sim_catch(run_world, &st);
	while (world)
		sim_world_free(world);
	model_free(st.model);
	free(st.content);
	return result;
}
