// SPDX-License-Identifier: GPL-2.0-only
/*
 * A set gives up its end, and that of a member, as fusionctl shrink does it: its last extents are
 * discarded, the last slots evacuated, and another table takes over. Now and then a step is left
 * out, so something is in the way: then that table must refuse, and the set is as it was.
 */
#include <stdio.h>

#include "invariants.h"
#include "run-state.h"

/* Virtual seconds in which a fence becomes empty, if it does. */
#define EMPTY_SECONDS	600U
/* A member keeps as many slots. */
#define LEAST_SLOTS	FUSION_MIN_DATA_SLOTS

/* Mostly the slow member, or only the set. Return: false if there is nothing to give up. */
static bool draw_geometry(struct fusion_sb *sb)
{
	const u64 start[] = { sb->fast_data_start, (u64)sb->slow_first_slot * EXTENT_SECTORS };
	const u32 slots[] = { sb->nr_fast_slots, sb->nr_slow_slots };
	u64 size[] = { sb->self_sectors, sb->peer_sectors }, *rng = &world->rng;
	u32 die = rnd_below(rng, 8), lexts = 0, keep, dev;
	const u32 members = die < 4 ? 2 : die < 6 ? 1 : die == 6 ? 3 : 0;
	struct fusion_misfit misfit;

	for (dev = 0; dev < SIM_NR_DISKS; dev++) {
		if (!(members >> dev & 1) || slots[dev] <= LEAST_SLOTS)
			continue;
		keep = LEAST_SLOTS + rnd_below(rng, slots[dev] - LEAST_SLOTS + 1);
		size[dev] = min(size[dev], start[dev] + keep * EXTENT_SECTORS +
				FUSION_GUARD_SECTORS + 8 * rnd_below(rng, EXTENT_SECTORS / 8));
	}
	if (!members || !rnd_below(rng, 3))
		lexts = 1 + rnd_below(rng, sb->nr_lexts);
	return !fusion_sb_shrink(sb, size[FUSION_FAST], size[FUSION_SLOW], lexts, &misfit);
}

static void discard_end(struct state *st, u32 lext)
{
	const u32 sector = lext * EXTENT_SECTORS;
	const u32 nr = set_lexts(sim_dev_private(st->dev)) * EXTENT_SECTORS - sector;
	u32 number;
	int r;

	if (!nr)
		return;
	number = model_issue(st->model, CHANGE_DISCARD, sector, nr);
	r = sim_dev_io(st->dev, REQ_OP_DISCARD, sector, nr, NULL);
	model_complete(st->model, number, !r, false);
}

static void evacuate(struct state *st, const struct fusion_sb *old, const struct fusion_sb *sb)
{
	const bool slow = sb->nr_slow_slots < old->nr_slow_slots;
	const u32 first = slow ? sb->slow_first_slot + sb->nr_slow_slots : sb->nr_fast_slots;
	const u32 end = slow ? old->slow_first_slot + old->nr_slow_slots : old->nr_fast_slots;
	const void *set = sim_dev_private(st->dev);
	char text[64];
	u32 i;

	if (first == end)
		return;
	sim_dev_message(st->dev, "fence off");
	snprintf(text, sizeof(text), "fence %s %u %u", slow ? "slow" : "fast", first, end - 1);
	st->fence.nr = 0;
	if (sim_dev_message(st->dev, text))
		return;
	for (i = 0; set_fence_used(set) && set_writable(set) && i < EMPTY_SECONDS; i++)
		msleep(1000);
}

static int make_smaller_table(struct state *st, struct sim_dev **dev, const struct fusion_sb *sb,
			      const struct fusion_sb *old)
{
	const struct setup *s = &st->run->setup;
	char options[sizeof(s->options) + 96], fast[32] = "", slow[32] = "";

	if (sb->self_sectors != old->self_sectors || rnd_below(&world->rng, 2))
		snprintf(fast, sizeof(fast), " fast_sectors %llu", sb->self_sectors);
	if (sb->peer_sectors != old->peer_sectors || rnd_below(&world->rng, 2))
		snprintf(slow, sizeof(slow), " slow_sectors %llu", sb->peer_sectors);
	/* more words than the others have: see make_setup() */
	snprintf(options, sizeof(options), "%u%s resize on%s%s", 22 + 2 * !!*fast + 2 * !!*slow,
		 s->options + 2, fast, slow);
	return sim_dev_create(dev, sb, options, false);
}

/* Is every superblock copy of a disk one of a member of this size? */
static bool both_say(struct sim_disk *disk, u64 sectors)
{
	struct fusion_sb sb;
	const char *why;
	u32 copy;

	for (copy = 0; copy < 2; copy++) {
		u64 nr = FUSION_SUPER_BLOCKNR(copy);

		if (fusion_sb_unpack_landing(sim_disk_block(disk, nr), nr, sectors, &sb, &why) ||
		    sb.self_sectors != sectors)
			return false;
	}
	return true;
}

/* The end of a disk may go, now that no superblock claims it. */
static void cut_off(const struct state *st, const struct fusion_sb *sb)
{
	const u64 size[] = { sb->self_sectors, sb->peer_sectors };
	u32 dev;

	for (dev = 0; dev < SIM_NR_DISKS; dev++) {
		if (both_say(world->disk[dev], size[dev])) {
			if (rnd_below(&world->rng, 2))
				sim_disk_set_sectors(world->disk[dev], size[dev]);
		} else if (!st->run->setup.faults) {
			sim_fail("a superblock of disk %u has the size from before", dev);
		}
	}
}

/* The table of the set as it was, after the smaller one was refused. */
static void put_back(struct state *st)
{
	int r;

	st->nr_sizes--;
	r = make_table(st, &st->dev, false);
	if (!r)
		r = sim_dev_resume(st->dev);
	if (r)
		sim_fail("the set cannot be opened again as it was: %d", r);
}

/* Where disks may fail, the new table's first writes do, now and then: the slow member may lag. */
static int exchange(struct state *st, struct sim_dev *old, const struct fusion_sb *sb, int *refusal)
{
	u64 *rng = &world->rng;

	st->ready = false;
	if (rnd_below(rng, 2))
		stop_faults();
	/* the last superblocks of the close may be in a cache only, and be found there */
	if (st->run->setup.faults && !rnd_below(rng, 4))
		sim_disk_set_faults(world->disk[rnd_below(rng, SIM_NR_DISKS)], SIM_FAULT_WRITE,
				    2 + rnd_below(rng, 2));
	sim_dev_suspend(old);
	*refusal = set_in_the_way(sim_dev_private(old), sb) ? -EBUSY :
		   set_segments(sim_dev_private(old)) ? -EAGAIN : 0;
	if (st->run->setup.faults && rnd_below(rng, 2))
		sim_disk_set_faults(world->disk[rnd_below(rng, SIM_NR_DISKS)],
				    SIM_FAULT_WRITE * (1 + rnd_below(rng, 3)),
				    2 << rnd_below(rng, 5));
	return sim_dev_resume(st->dev);
}

static void finish(struct state *st, struct sim_dev *old, const struct fusion_sb *sb, int r,
		   int refusal)
{
	if (!r && refusal)
		sim_fail("the set has shrunk, and what it gave up was in use (INV10)");
	if (!r)
		cut_off(st, sb);
	/* content that an error has left in a cache is not promised */
	if (st->run->setup.faults || gave_up()) {
		st->crashed = true;
		return;
	}
	if (r != refusal)
		sim_fail("the set cannot shrink: %d", r);
	if (r) {
		sim_dev_destroy(st->dev);
		put_back(st);
	} else {
		st->sure = st->nr_sizes - 1;
	}
	st->ready = true;
	st->fence.nr = 0;
	sim_dev_destroy(old);
	check_all(st);
}

void shrink(struct state *st)
{
	struct sim_dev *old = st->dev, *new;
	struct fusion_sb was, sb;
	int r, refusal;

	wait_busy(st, 0);
	if (!set_writable(sim_dev_private(old)) || st->nr_sizes > MAX_SIZES - 2 ||
	    set_has_old(sim_dev_private(old)) ||
	    !sim_disk_super(world->disk[FUSION_FAST], &was))
		return;
	sb = was;
	if (!draw_geometry(&sb))
		return;
	turn_log_off(st);
	if (rnd_below(&world->rng, 8))
		discard_end(st, sb.nr_lexts);
	if (rnd_below(&world->rng, 8))
		evacuate(st, &was, &sb);
	r = make_smaller_table(st, &new, &sb, &was);
	/* The slow member may not know of the last time yet, or a read fails. */
	if (r == -EAGAIN || (r && st->run->setup.faults))
		return;
	if (r)
		sim_fail("a table for %u extents cannot be made: %d", sb.nr_lexts, r);
	st->size[st->nr_sizes++] = sb.nr_lexts;
	st->dev = new;
	r = exchange(st, old, &sb, &refusal);
	sim_log("shrunk from %u extents, %u+%u slots to %u, %u+%u%s: %d", was.nr_lexts,
		was.nr_fast_slots, was.nr_slow_slots, sb.nr_lexts, sb.nr_fast_slots,
		sb.nr_slow_slots, refusal ? ", and something is in the way" : "", r);
	finish(st, old, &sb, r, refusal);
}
