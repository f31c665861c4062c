// SPDX-License-Identifier: GPL-2.0-only
/* Sets that have been used, closed or cut off, to be opened under difficulties. */
#include <stdio.h>

#include "image.h"
#include "invariants.h"

#define NR_OPS		40U
/* These are written as a whole at first and never discarded: some extents are not open. */
#define NR_WHOLE	2U

int image_open(const struct setup *s, struct sim_dev **dev, bool read_only)
{
	int r = sim_dev_create(dev, &s->sb, s->options, read_only);

	if (r)
		return r;
	r = sim_dev_resume(*dev);
	/* as dm does with a table that could not be resumed: it stays suspended */
	if (r)
		sim_dev_destroy(*dev);
	return r;
}

void image_check(const struct life *life, struct sim_dev *dev, const u64 *content,
		 const u64 *other, const char *what)
{
	u64 found[EXTENT_SECTORS];
	bool same = true, like_other = other;
	u32 s, i;

	for (s = 0; s < life->nr_sectors; s += EXTENT_SECTORS) {
		if (sim_dev_io(dev, REQ_OP_READ, s, EXTENT_SECTORS, found))
			sim_fail("%s: extent %u cannot be read", what, s / EXTENT_SECTORS);
		for (i = 0; i < EXTENT_SECTORS; i++) {
			same = same && found[i] == content[s + i];
			like_other = like_other && found[i] == other[s + i];
			if (!same && !like_other)
				sim_fail("%s: sector %u of extent %u is not as it was", what, i,
					 s / EXTENT_SECTORS);
		}
	}
}

void image_super(const struct image *image, enum fusion_dev dev, struct fusion_sb *sb)
{
	if (sim_disk_super(image->disk[dev], sb) != 2)
		sim_fail("a superblock of a set that is well is not");
}

/* -- a life ---------------------------------------------------------------------- */

struct living {
	struct life *life;
	u64 *content;		/* as it should be now */
	struct sim_dev *dev;
};

static void change(struct living *l, blk_opf_t opf, u32 sector, u32 nr)
{
	u64 *content = l->content + sector;
	u32 i;

	if ((opf & REQ_OP_MASK) == REQ_OP_DISCARD)
		l->life->discarded[sector / EXTENT_SECTORS] = true;
	for (i = 0; i < nr; i++)
		content[i] = (opf & REQ_OP_MASK) == REQ_OP_WRITE ? rnd(&world->rng) : 0;
	if (sim_dev_io(l->dev, opf, sector, nr,
		       (opf & REQ_OP_MASK) == REQ_OP_WRITE ? content : NULL))
		sim_fail("sectors %u+%u cannot be changed", sector, nr);
}

static void message(struct living *l, const char *what, u32 lext)
{
	char text[32];

	snprintf(text, sizeof(text), "%s %u", what, lext);
	sim_dev_message(l->dev, text);
}

static void one_op(struct living *l)
{
	u64 *rng = &world->rng;
	u32 lext = rnd_below(rng, l->life->setup->sb.nr_lexts);
	u32 sector = lext * EXTENT_SECTORS, at = rnd_below(rng, EXTENT_SECTORS);

	switch (rnd_below(rng, 12)) {
	case 0:
		change(l, REQ_OP_WRITE, sector, EXTENT_SECTORS);
		break;
	case 1:
		if (lext >= NR_WHOLE)
			change(l, REQ_OP_DISCARD, sector, EXTENT_SECTORS);
		break;
	case 2:
		message(l, "promote", lext);
		break;
	case 3:
	case 4:
		message(l, "demote", lext);
		break;
	case 5:
		if (!rnd_below(rng, 4))
			sim_dev_message(l->dev, "checkpoint");
		break;
	case 6:
		set_update_replica(sim_dev_private(l->dev));
		break;
	case 7:
		change(l, REQ_OP_WRITE | REQ_FUA, sector + at, EXTENT_SECTORS - at);
		break;
	default:
		change(l, REQ_OP_WRITE, sector + (at & ~7U), FUSION_BLOCK_SECTORS);
	}
}

static void begin(struct living *l)
{
	if (image_open(l->life->setup, &l->dev, false))
		sim_fail("the set cannot be opened");
}

static void flush(struct living *l)
{
	if (sim_dev_io(l->dev, REQ_OP_WRITE | REQ_PREFLUSH, 0, 0, NULL))
		sim_fail("the set cannot be flushed");
}

static void work(struct living *l)
{
	u32 i;

	for (i = 0; i < NR_OPS; i++)
		one_op(l);
	flush(l);
}

/* The durable content now. */
static void take(const struct living *l, struct image *image)
{
	size_t size = l->life->nr_sectors * sizeof(u64);
	unsigned int i;

	for (i = 0; i < SIM_NR_DISKS; i++)
		image->disk[i] = sim_disk_after_cut(world->disk[i], SIM_LOSE_ALL, &world->rng,
						    true);
	image->content = sim_alloc(size, false);
	memcpy(image->content, l->content, size);
}

static void live(void *arg)
{
	struct living *l = arg;
	struct life *life = l->life;
	u32 last;

	begin(l);
	for (last = 0; last < NR_WHOLE; last++)
		change(l, REQ_OP_WRITE, last * EXTENT_SECTORS, EXTENT_SECTORS);
	work(l);
	sim_dev_remove(l->dev);
	take(l, &life->older);

	begin(l);
	work(l);
	sim_dev_remove(l->dev);
	take(l, &life->closed);

	begin(l);
	work(l);
	take(l, &life->earlier);
	/* from here on either member has seen the other one get further */
	work(l);
	sim_dev_message(l->dev, "checkpoint");
	work(l);
	/* the last transaction has something to say, and it is known what */
	last = NR_WHOLE + rnd_below(&world->rng, life->setup->sb.nr_lexts - NR_WHOLE);
	change(l, REQ_OP_DISCARD, last * EXTENT_SECTORS, EXTENT_SECTORS);
	flush(l);
	memcpy(life->before, l->content, life->nr_sectors * sizeof(u64));
	change(l, REQ_OP_WRITE | REQ_FUA, last * EXTENT_SECTORS, FUSION_BLOCK_SECTORS);
	take(l, &life->cut);
}

struct life *image_life(const struct setup *setup)
{
	struct life *life = sim_alloc(sizeof(*life), true);
	struct living l = { .life = life };

	life->setup = setup;
	life->nr_sectors = setup->sb.nr_lexts * EXTENT_SECTORS;
	life->before = sim_alloc(life->nr_sectors * sizeof(u64), false);
	life->discarded = sim_alloc(setup->sb.nr_lexts * sizeof(bool), true);
	l.content = sim_alloc(life->nr_sectors * sizeof(u64), true);
	sim_run(live, &l);
	return life;
}

/* -- worlds ---------------------------------------------------------------------- */

void image_enter(const struct image *image)
{
	struct sim_world *w = sim_world_new(rnd(&world->rng));
	unsigned int i;

	for (i = 0; i < SIM_NR_DISKS; i++)
		w->disk[i] = sim_disk_after_cut(image->disk[i], SIM_LOSE_ALL, &w->rng, false);
}

void image_leave(void)
{
	sim_world_free(world);
}
