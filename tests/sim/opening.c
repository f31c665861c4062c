// SPDX-License-Identifier: GPL-2.0-only
/* What may go wrong while a set is opened, and is nobody's random operation. */
#include "invariants.h"
#include "run.h"

#define MAX_ALLOCATIONS	1000U

struct shortage {
	const struct setup *setup;
	u32 failed;
};

static int open_one(const struct setup *s, struct sim_dev **dev)
{
	int r = sim_dev_create(dev, &s->sb, s->options, false);

	if (r)
		return r;
	r = sim_dev_resume(*dev);
	/* as dm does with a table that could not be resumed: it stays suspended */
	if (r)
		sim_dev_destroy(*dev);
	return r;
}

/*
 * Memory runs out: each allocation fails in turn. The error is passed up, nothing is left
 * behind, and the next attempt is none the worse.
 */
static void allocations_fail(void *arg)
{
	struct shortage *sh = arg;
	struct sim_dev *dev;
	u64 stamps[FUSION_BLOCK_SECTORS] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	u64 found[FUSION_BLOCK_SECTORS];
	u32 n;
	int r;

	if (open_one(sh->setup, &dev))
		sim_fail("the set cannot be opened");
	if (sim_dev_io(dev, REQ_OP_WRITE | REQ_FUA, 0, FUSION_BLOCK_SECTORS, stamps))
		sim_fail("it cannot be written to");
	sim_dev_remove(dev);

	for (n = 1; n < MAX_ALLOCATIONS; n++) {
		unsigned int before = sim_allocations();

		world->fail_allocation = n;
		r = open_one(sh->setup, &dev);
		if (world->fail_allocation)
			break;
		if (!r)
			sim_fail("allocation %u failed, and nobody noticed", n);
		if (r != -ENOMEM)
			sim_fail("allocation %u failed, and the error is %d", n, r);
		if (sim_allocations() != before)
			sim_fail("allocation %u failed, and %d leaked", n,
				 sim_allocations() - before);
	}
	world->fail_allocation = 0;
	if (r)
		sim_fail("no allocation failed, and the error is %d", r);
	sh->failed = n - 1;
	check_invariants(sim_dev_private(dev));
	if (sim_dev_io(dev, REQ_OP_READ, 0, FUSION_BLOCK_SECTORS, found))
		sim_fail("it cannot be read");
	if (memcmp(found, stamps, sizeof(found)))
		sim_fail("what was written is not there");
	sim_dev_remove(dev);
}

static void format(const struct fusion_sb *sb)
{
	unsigned int i;

	for (i = 0; i < SIM_NR_DISKS; i++)
		sim_disk_format(world->disk[i], sb, &world->rng);
}

/*
 * The constructor allocates for the set it has seen. If there is another one on the members
 * when it is to be loaded, be it of the same shape, it is not loaded.
 */
static void another_set(void *arg)
{
	const struct setup *s = ((struct shortage *)arg)->setup;
	struct fusion_sb other = s->sb;
	struct sim_dev *dev;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		format(&s->sb);
		if (sim_dev_create(&dev, &s->sb, s->options, false))
			sim_fail("the set cannot be opened");
		if (i)
			other.set_uuid[0]++;
		else
			other.nr_lexts--;
		format(&other);
		if (!sim_dev_resume(dev))
			sim_fail("another set was loaded than the table was made for");
		sim_dev_destroy(dev);
		other = s->sb;
	}
}

static void run_world(void *arg)
{
	struct shortage *sh = arg;
	struct sim_world *w = sim_world_new(1);
	unsigned int i;

	for (i = 0; i < SIM_NR_DISKS; i++)
		w->disk[i] = sim_disk_new(i, &sh->setup->sb, sh->setup->discards[i]);
	format(&sh->setup->sb);
	sim_run(allocations_fail, sh);
	sim_run(another_set, sh);
}

const char *run_opening(const struct setup *setup, u32 *failed)
{
	struct shortage sh = { .setup = setup };
	const char *result = sim_catch(run_world, &sh);

	while (world)
		sim_world_free(world);
	*failed = sh.failed;
	return result;
}
