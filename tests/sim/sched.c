// SPDX-License-Identifier: GPL-2.0-only
/*
 * What goes on next (a task, or a bio in flight) is drawn at random. The clock moves on when
 * nothing else can be done, and now and then before.
 */
#include <linux/rcupdate.h>

#include "task.h"

/* Steps in one operation, or in an opening: somebody spins. */
#define MAX_STEPS	20000000ULL

static bool section_before(u64 section)
{
	struct sim_task *t;

	list_for_each_entry(t, &world->tasks, list)
		if (t->rcu_depth && t->section < section)
			return true;
	return false;
}

void synchronize_rcu(void)
{
	const u64 section = world->next_section;

	sim_might_sleep();
	while (section_before(section))
		sim_yield();
}

/* What is held does not take the others' time: they are done before it goes on. */
static bool all_held(void)
{
	unsigned int i;

	for (i = 0; i < world->nr_flight; i++)
		if (world->flight[i]->held_ns <= world->now_ns)
			return false;
	return !world->nr_run;
}

static void step_io(void)
{
	struct bio *bio = world->flight[rnd_below(&world->rng, world->nr_flight)];

	if (bio->delay && world->nr_flight + world->nr_run > 1) {
		bio->delay--;
		return;
	}
	if (bio->held_ns > world->now_ns) {
		if (all_held() && !timer_fire())
			world->now_ns = bio->held_ns;
		return;
	}
	world->now_ns += 1000 * (1 + rnd_below(&world->rng, 200));
	sim_disk_step(bio);
}

static void step_task(void)
{
	unsigned int i = rnd_below(&world->rng, world->nr_run);
	struct sim_task *t = world->run[i];

	if (t->delay && world->nr_flight + world->nr_run > 1) {
		t->delay--;
		return;
	}
	world->run[i] = world->run[--world->nr_run];
	task_run(t);
	if (t->done)
		task_free(t);
}

static void hung(void)
{
	struct sim_task *t;

	list_for_each_entry(t, &world->tasks, list)
		sim_log("  task %s waits", t->name);
	sim_fail("nothing can go on: a task waits for ever");
}

static void step(void)
{
	u32 die = rnd(&world->rng);

	if (++world->steps > MAX_STEPS)
		sim_fail("no end after %llu steps: somebody spins", MAX_STEPS);
	if (world->now_ns > world->limit_ns)
		hung();
	if (!(die >> 11 & 255) && timer_fire())
		return;
	if (world->nr_flight && (!world->nr_run || (die & 255) < world->io_share))
		step_io();
	else if (world->nr_run)
		step_task();
	else if (!timer_fire())
		hung();
}

struct main_task {
	void (*fn)(void *arg);
	void *arg;
	bool done;
};

static void run_main(void *arg)
{
	struct main_task *m = arg;

	m->fn(m->arg);
	m->done = true;
}

void sim_run(void (*fn)(void *), void *arg)
{
	struct main_task m = { fn, arg, false };
	struct sim_world *w = world;

	sim_spawn("main", run_main, &m);
	while (!m.done && !w->stop) {
		step();
		if (w->cut_due || w->promised) {
			if (w->cut)
				w->cut(w, w->cut_ctx);
			w->cut_due = false;
			w->promised = false;
		}
	}
}
