// SPDX-License-Identifier: GPL-2.0-only
/* Faults while a set is opened that no random operation causes. */
#include "image.h"
#include "invariants.h"
#include "landed.h"

#define MAX_ALLOCATIONS	1000U

struct shortage {
	const struct setup *setup;
	u32 failed;
};

static void format(const struct fusion_sb *sb)
{
	unsigned int i;

	landed_begin(sb);
	for (i = 0; i < SIM_NR_DISKS; i++)
		sim_disk_format(world->disk[i], sb, NULL, &world->rng);
}

/* In place of those that have been used: the journal of a set is not for its namesake. */
static void new_members(const struct setup *s, const struct fusion_sb *sb)
{
	unsigned int i;

	for (i = 0; i < SIM_NR_DISKS; i++)
		world->disk[i] = sim_disk_new(i, sb, s->discards[i], s->fua[i]);
	format(sb);
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

	if (image_open(sh->setup, &dev, false))
		sim_fail("the set cannot be opened");
	if (sim_dev_io(dev, REQ_OP_WRITE | REQ_FUA, 0, FUSION_BLOCK_SECTORS, stamps))
		sim_fail("it cannot be written to");
	sim_dev_remove(dev);

	for (n = 1; n < MAX_ALLOCATIONS; n++) {
		unsigned int before = sim_allocations();

		world->fail_allocation = n;
		r = image_open(sh->setup, &dev, false);
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

/* The disks are those that a device already uses, so they are emptied, not replaced. */
static void format_anew(const struct fusion_sb *sb)
{
	static const u8 nothing[FUSION_BLOCK_SIZE];
	unsigned int i;
	u32 block;

	for (i = 0; i < SIM_NR_DISKS; i++) {
		for (block = 0; block < sim_disk_blocks(world->disk[i]); block++)
			sim_disk_set_block(world->disk[i], block, nothing);
	}
	format(sb);
}

/*
 * The constructor allocates for the set it has seen. If the members have another set when it is to
 * be loaded, even one of the same shape, that set is not loaded; the same one is.
 */
static void another_set(void *arg)
{
	const struct setup *s = ((struct shortage *)arg)->setup;
	struct fusion_sb other[3] = { s->sb, s->sb, s->sb };
	struct sim_dev *dev;
	unsigned int i;
	int r;

	if (s->sb.landing_slots > 1)
		other[0].landing_slots--;
	else
		other[0].nr_lexts--;
	other[1].set_uuid[0]++;
	for (i = 0; i < 3; i++) {
		format_anew(&s->sb);
		if (sim_dev_create(&dev, &s->sb, s->options, false))
			sim_fail("the set cannot be opened");
		format_anew(&other[i]);
		r = sim_dev_resume(dev);
		if (!r && i < 2)
			sim_fail("another set was loaded than the table was made for");
		if (r && i == 2)
			sim_fail("the set that the table was made for is not loaded: %d", r);
		if (r)
			sim_dev_destroy(dev);
		else
			sim_dev_remove(dev);
	}
}

static void set_readonly(bool readonly)
{
	unsigned int i;

	for (i = 0; i < SIM_NR_DISKS; i++)
		sim_disk_set_readonly(world->disk[i], readonly);
}

static void only_read(const struct setup *s, const struct fusion_sb *sb, const char *why)
{
	struct sim_dev *dev;
	int r;

	new_members(s, sb);
	set_readonly(true);
	r = image_open(s, &dev, false);
	if (r != -EROFS)
		sim_fail("a set that may only be read, by its %s, was opened to be written: %d",
			 why, r);
	r = image_open(s, &dev, true);
	if (r)
		sim_fail("a set that may be read, by its %s, cannot be opened for that: %d",
			 why, r);
	sim_dev_remove(dev);
	set_readonly(false);
}

/*
 * A newer version marks a set so that an older one may only read it. A counter near its end would
 * be beyond the end after a write.
 */
static void may_only_be_read(void *arg)
{
	const struct setup *s = ((struct shortage *)arg)->setup;
	struct fusion_sb sb = s->sb;

	sb.ro_compat = 1ULL << 63;
	only_read(s, &sb, "features");
	sb = s->sb;
	sb.generation = (1ULL << 62) - 1;
	only_read(s, &sb, "generation");
	sb = s->sb;
	sb.epoch = U32_MAX - 1;
	only_read(s, &sb, "epoch");
	sb = s->sb;
	sb.set_generation = 1ULL << 62;
	only_read(s, &sb, "generation of its map");
	sb = s->sb;
	sb.replay_seq = 1ULL << 62;
	only_read(s, &sb, "journal");
	sb = s->sb;
	sb.replay_txn = 1ULL << 62;
	only_read(s, &sb, "transactions");
}

/* One copy of a member's superblock, with these bits. */
static void set_features(unsigned int dev, unsigned int copy, u64 incompat, u64 ro_compat)
{
	const u64 nr = FUSION_SUPER_BLOCKNR(copy);
	struct sim_disk *d = world->disk[dev];
	u8 block[FUSION_BLOCK_SIZE];
	struct fusion_sb sb;
	const char *why;

	if (fusion_sb_unpack(sim_disk_block(d, nr), nr, U64_MAX, &sb, &why))
		sim_fail("a copy of a new superblock is not valid: %s", why);
	sb.incompat = incompat;
	sb.ro_compat = ro_compat;
	fusion_sb_pack(&sb, nr, block);
	sim_disk_set_block(d, nr, block);
}

/* A newer version was interrupted before all superblocks said what it had begun. */
static void told_by_one(void *arg)
{
	const struct setup *s = ((struct shortage *)arg)->setup;
	struct sim_dev *dev;
	unsigned int i;
	int r;

	for (i = 0; i < 4; i++) {
		new_members(s, &s->sb);
		set_features(i / 2, i % 2, 1ULL << 40, 0);
		r = sim_dev_create(&dev, &s->sb, s->options, false);
		if (r != -EPROTONOSUPPORT)
			sim_fail("copy %u of member %u has an unknown feature, and the error is %d",
				 i % 2, i / 2, r);
	}
	for (i = 0; i < 2; i++) {
		new_members(s, &s->sb);
		set_features(i, 0, 0, 1);
		set_features(i, 1, 0, 1);
		r = image_open(s, &dev, false);
		if (r != -EROFS)
			sim_fail("member %u may only be read, and was opened to be written: %d",
				 i, r);
	}
}

static void exchanged(void *arg)
{
	const struct setup *s = ((struct shortage *)arg)->setup;
	struct sim_dev *dev;
	struct sim_disk *disk;
	int r;

	new_members(s, &s->sb);
	disk = world->disk[0];
	world->disk[0] = world->disk[1];
	world->disk[1] = disk;
	r = sim_dev_create(&dev, &s->sb, s->options, false);
	if (r != -EXDEV)
		sim_fail("the members were exchanged, and the error is %d", r);
}

/* Logical blocks of more than 4 KiB are refused before anything is read; up to that they do. */
static void large_blocks(void *arg)
{
	const struct setup *s = ((struct shortage *)arg)->setup;
	struct sim_dev *dev;
	unsigned int i, bytes;
	int r;

	for (i = 0; i < SIM_NR_DISKS; i++) {
		new_members(s, &s->sb);
		for (bytes = 1024; bytes <= 65536; bytes *= 2) {
			sim_disk_set_block_bytes(world->disk[i], bytes);
			r = sim_dev_create(&dev, &s->sb, s->options, false);
			if (r != (bytes > FUSION_BLOCK_SIZE ? -EINVAL : 0))
				sim_fail("disk %u has blocks of %u bytes, and the result is %d", i,
					 bytes, r);
			if (!r)
				sim_dev_remove(dev);
		}
	}
}

/* -- all of it ------------------------------------------------------------------- */

struct all {
	struct shortage shortage;
	u64 seed;
	struct opening *result;
};

/* With slots enough for extents, shadows and what stays free. */
static void shadows(u64 seed)
{
	struct setup s;

	do {
		make_setup(&s, seed++, false, false);
	} while (s.sb.nr_slow_slots < 16 || s.sb.nr_fast_slots < 8);
	new_members(&s, &s.sb);
	taken_over_all(&s);
	unsure_all(&s);
	stopped_all(&s);
}

static void run_world(void *arg)
{
	struct all *all = arg;
	struct shortage *sh = &all->shortage;
	struct life *life;

	sim_world_new(all->seed);
	if (sh->setup->sb.landing_slots) {
		new_members(sh->setup, &sh->setup->sb);
		sim_run(allocations_fail, sh);
		all->result->allocations += sh->failed;
		sim_run(another_set, sh);
		new_members(sh->setup, &sh->setup->sb);
		again_landed(image_life(sh->setup), all->result);
		return;
	}
	shadows(all->seed);
	new_members(sh->setup, &sh->setup->sb);
	sim_run(allocations_fail, sh);
	all->result->allocations += sh->failed;
	sim_run(another_set, sh);
	sim_run(may_only_be_read, sh);
	sim_run(told_by_one, sh);
	sim_run(exchanged, sh);
	sim_run(large_blocks, sh);

	new_members(sh->setup, &sh->setup->sb);
	life = image_life(sh->setup);
	damage_all(life, all->result);
	again_all(life, all->result);
}

const char *run_opening(const struct setup *setup, u64 seed, struct opening *o)
{
	struct all all = { .shortage.setup = setup, .seed = seed, .result = o };
	const char *result = sim_catch(run_world, &all);

	while (world)
		sim_world_free(world);
	return result;
}
