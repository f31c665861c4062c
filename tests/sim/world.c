// SPDX-License-Identifier: GPL-2.0-only
/* Worlds: how they begin, nest and end. */
#include <stdlib.h>

#include "dm-fusion.h"
#include "task.h"

struct sim_world *world;

/* What the module remembers of all its devices: nothing of those in another world. */
static struct fusion_claims *leave_claims(void)
{
	struct fusion_claims *outside = malloc(sizeof(*outside));

	*outside = fusion_claims;
	spin_lock_init(&fusion_claims.lock);
	INIT_LIST_HEAD(&fusion_claims.loaded);
	return outside;
}

struct sim_world *sim_world_new(u64 seed)
{
	struct sim_world *w = calloc(1, sizeof(*w));

	w->rng = seed;
	w->parent = world;
	w->outside = leave_claims();
	INIT_LIST_HEAD(&w->memory);
	INIT_LIST_HEAD(&w->tasks);
	INIT_LIST_HEAD(&w->timers);
	w->preempt = 4 << rnd_below(&w->rng, 7);
	w->io_share = 16U << rnd_below(&w->rng, 4);
	w->delay_mask = (2U << 2 * rnd_below(&w->rng, 4)) - 1;
	/* what a disk has of the time before is not from the future */
	w->now_ns = world ? world->now_ns : 1000000000ULL;
	w->limit_ns = w->now_ns + SIM_PATIENCE_NS;
	if (world)
		world->preempt_left = sim_preempt_left;
	world = w;
	sim_preempt_left = w->preempt;
	return w;
}

void sim_world_free(struct sim_world *w)
{
	struct sim_task *t, *next;

	if (w != world)
		abort();
	list_for_each_entry_safe(t, next, &w->tasks, list)
		task_free(t);
	sim_free_all();
	sim_points_free(w);
	free(w->run);
	free(w->flight);
	world = w->parent;
	fusion_claims = *w->outside;
	free(w->outside);
	free(w);
	if (world)
		sim_preempt_left = world->preempt_left;
}

void sim_world_drop_parent(void)
{
	struct sim_world *w = world;
	struct fusion_claims claims = fusion_claims;
	int left = sim_preempt_left;

	world = w->parent;
	swap(w->outside, world->outside);
	sim_world_free(world);
	fusion_claims = claims;
	w->parent = world;
	world = w;
	sim_preempt_left = left;
}

/* -- what the module asks for ------------------------------------------------------ */

u64 sim_random64(void)
{
	static u64 state;

	return rnd(&state);
}

u64 sim_now_ns(void)
{
	return world->now_ns;
}
