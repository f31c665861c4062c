// SPDX-License-Identifier: GPL-2.0-only
/*
 * A write fails while a set is opened, or later, and then perhaps the next one as well. The disk
 * goes on to return what its cache has of it, though no flush covers that. The set is closed, the
 * same machine opens it again, and power fails in that opening, anywhere. Then it must be possible
 * to open the set, with all that was acknowledged.
 *
 * In an opening, the next write may be the one by which the set makes up for the first.
 */
#include <stdio.h>

#include "image.h"
#include "invariants.h"

#define NR		4U		/* extents that are written whole */
#define PARTS		3U		/* partial ones behind them */
#define TRIES		24U		/* for a set */
#define MAX_WRITES	80U		/* more than a life has */
#define FEW_WRITES	12U		/* those of an opening */
#define OPTIONS		"20 host 000102030405060708090a0b0c0d0e0f commit_interval 10 " \
			"migration off idle 60000 duty 100 discard_passdown on " \
			"replica_interval 60 standby 0 shadow on shadow_age 10"

struct stopped {
	struct setup setup;
	u32 nth;		/* write that fails */
	u32 more;		/* behind that */
	u64 content[NR + PARTS];
	bool known[NR + PARTS];	/* acknowledged */
	u32 die;
};

static void write_extent(struct stopped *s, struct sim_dev *dev, u32 lext)
{
	const u32 nr = lext < NR ? EXTENT_SECTORS : FUSION_BLOCK_SECTORS;
	u64 content[EXTENT_SECTORS];
	u32 i;

	for (i = 0; i < nr; i++)
		content[i] = s->content[lext] + i;
	s->known[lext] = !sim_dev_io(dev, REQ_OP_WRITE | REQ_FUA, lext * EXTENT_SECTORS, nr,
				     content);
}

/* Moves, extents that become partial, and superblocks of both members. */
static void live(void *arg)
{
	struct stopped *s = arg;
	struct sim_dev *dev;
	u32 lext;

	if (image_open(&s->setup, &dev, false))
		return;
	world->fail_more = s->more;
	for (lext = 0; lext < NR; lext++)
		write_extent(s, dev, lext);
	sim_dev_message(dev, s->die & 1 ? "demote 0-3" : "promote 0-3");
	write_extent(s, dev, lext++);
	if (s->die & 2)
		set_update_replica(sim_dev_private(dev));
	write_extent(s, dev, lext++);
	if (s->die & 4)
		sim_dev_message(dev, "checkpoint");
	sim_dev_message(dev, s->die & 1 ? "promote 0-1" : "demote 1-2");
	write_extent(s, dev, lext++);
	sim_dev_remove(dev);
}

/* In use, and then power fails. */
static void live_and_cut(void *arg)
{
	struct stopped *s = arg;
	struct sim_dev *dev;

	if (image_open(&s->setup, &dev, false))
		sim_fail("a new set cannot be opened");
	write_extent(s, dev, NR);
	write_extent(s, dev, 0);
	world->stop = true;
}

static void check_content(const struct stopped *s, struct sim_dev *dev)
{
	u64 found[FUSION_BLOCK_SECTORS];
	u32 lext, i;

	for (lext = 0; lext < NR + PARTS; lext++) {
		if (!s->known[lext])
			continue;
		if (sim_dev_io(dev, REQ_OP_READ, lext * EXTENT_SECTORS, FUSION_BLOCK_SECTORS,
			       found))
			sim_fail("write %u failed: extent %u cannot be read", s->nth, lext);
		for (i = 0; i < FUSION_BLOCK_SECTORS; i++)
			if (found[i] != s->content[lext] + i)
				sim_fail("write %u failed: extent %u holds %llx, not %llx",
					 s->nth, lext, found[i], s->content[lext] + i);
	}
}

static void find(void *arg)
{
	struct stopped *s = arg;
	struct sim_dev *dev;
	int r = image_open(&s->setup, &dev, false);

	if (r)
		sim_fail("write %u failed, and power in the opening after: %d", s->nth, r);
	check_invariants(sim_dev_private(dev));
	check_content(s, dev);
}

static void cut_here(struct sim_world *from, void *arg)
{
	struct sim_world *w;
	unsigned int i, loss = rnd_below(&from->rng, 2 * SIM_NR_LOSSES);

	w = sim_world_new(rnd(&from->rng));
	/* most is lost if all in the caches is */
	for (i = 0; i < SIM_NR_DISKS; i++)
		w->disk[i] = sim_disk_after_cut(from->disk[i], loss < SIM_NR_LOSSES ? loss :
						SIM_LOSE_ALL, &w->rng, false);
	sim_run(find, arg);
	sim_world_free(w);
}

static void open_again(void *arg)
{
	struct stopped *s = arg;
	struct sim_dev *dev;
	int r;

	world->cut = cut_here;
	world->cut_ctx = s;
	r = image_open(&s->setup, &dev, false);
	world->cut = NULL;
	if (r)
		sim_fail("write %u failed, and the set cannot be opened again: %d", s->nth, r);
	check_invariants(sim_dev_private(dev));
	check_content(s, dev);
	sim_dev_remove(dev);
}

/* After a cut, with nothing but what is durable. */
static struct sim_world *next_world(struct sim_world *from)
{
	struct sim_world *w = sim_world_new(rnd(&from->rng));
	unsigned int i;

	for (i = 0; i < SIM_NR_DISKS; i++)
		w->disk[i] = sim_disk_after_cut(from->disk[i], SIM_LOSE_ALL, &w->rng, true);
	sim_world_drop_parent();
	return w;
}

static void try_one(struct stopped *s)
{
	struct sim_world *w = sim_world_new(rnd(&world->rng));
	unsigned int i;

	for (i = 0; i < SIM_NR_DISKS; i++) {
		w->disk[i] = sim_disk_new(i, &s->setup.sb, s->setup.discards[i],
					  s->setup.fua[i]);
		sim_disk_set_tears(w->disk[i], s->setup.tears[i]);
		sim_disk_format(w->disk[i], &s->setup.sb, NULL, &w->rng);
	}
	for (i = 0; i < NR + PARTS; i++) {
		s->content[i] = rnd(&w->rng);
		s->known[i] = false;
	}
	s->die = rnd(&w->rng);
	if (s->die & 8) {
		sim_run(live_and_cut, s);
		w = next_world(w);
	}
	s->nth = 1 + rnd_below(&w->rng, s->die & 16 ? MAX_WRITES : FEW_WRITES);
	s->more = rnd_below(&w->rng, 2);
	w->fail_write = s->nth;
	sim_run(live, s);
	w->fail_write = 0;
	w->fail_more = 0;
	sim_run(open_again, s);
	sim_world_free(w);
}

void stopped_all(const struct setup *setup)
{
	struct stopped *s = sim_alloc(sizeof(*s), true);
	unsigned int i;

	s->setup = *setup;
	snprintf(s->setup.options, sizeof(s->setup.options), OPTIONS);
	for (i = 0; i < TRIES; i++)
		try_one(s);
}
