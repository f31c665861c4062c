// SPDX-License-Identifier: GPL-2.0-only
/* Close the set of a run and open it, or let another table take over; check what is there then. */
#include <stdio.h>

#include "invariants.h"
#include "run-state.h"
#include "dm-fusion-settings.h"

static void open_run(struct state *st, bool read_only)
{
	open_set(st, &st->dev, read_only);
	st->fence.nr = 0;
	st->ready = true;
}

static void say_late(void *arg)
{
	static const char * const texts[] = {
		"checkpoint", "promote 0-1", "demote 0-1", "keep idle 0", "settings",
		"fence fast 0 0", "fence off", "homing on", "homing on zero", "homing off",
	};
	struct sim_dev *dev = arg;

	sim_dev_message(dev, texts[rnd_below(&world->rng, ARRAY_SIZE(texts))]);
	sim_dev_put(dev);
}

/* In one of two times without a suspend before, while messages come. */
void close_run(struct state *st)
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

void check_all(struct state *st)
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
 * A set that has become read-only, even while suspended, shows that at the next opening, once the
 * fast member works again.
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
bool gave_up(void)
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
		if (sb[i].settings_mask &&
		    sb[i].setting[FUSION_SET_HALF_LIFE] != st->keep_sure.half_life)
			sim_fail("closed, and disk %u keeps a half-life of %u, not %u", i,
				 sb[i].setting[FUSION_SET_HALF_LIFE], st->keep_sure.half_life);
		if (!sb[i].settings_mask && st->keep_sure.half_life)
			sim_fail("closed, and disk %u keeps nothing", i);
		if (label_number(sb[i].label) != st->keep_sure.label)
			sim_fail("closed, and on disk %u the set is named %s, not set-%u", i,
				 sb[i].label, st->keep_sure.label);
	}
}

void reopen(struct state *st, bool read_only)
{
	wait_busy(st, 0);
	if (st->run->setup.faults) {
		close_faulty(st);
		/* content that an error has left in a cache is not promised */
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
	st->closed = true;
	open_run(st, false);
	st->closed = false;
	check_all(st);
}

/* A new table is made while the old one works; then it takes over. */
void reload(struct state *st)
{
	struct sim_dev *old = st->dev;
	int r;

	wait_busy(st, 0);
	if (st->run->setup.faults) {
		st->crashed = true;
		return;
	}
	r = make_table(st, &st->dev, false);
	if (r)
		sim_fail("a second table cannot be made: %d", r);
	st->ready = false;
	if (sim_dev_load(st->dev) != -EBUSY)
		sim_fail("the second table is loaded while the first works");
	/* what the second one has read before is not what counts */
	keep_something(st, old);
	sim_dev_suspend(old);
	r = sim_dev_resume(st->dev);
	if (r)
		sim_fail("the second table cannot be resumed: %d", r);
	if (gave_up()) {
		st->crashed = true;
		return;
	}
	st->ready = true;
	st->fence.nr = 0;
	check_kept(st, set_kept(sim_dev_private(st->dev)));
	if (sim_dev_load(old) != -ESTALE)
		sim_fail("the first table goes on though the second was at work");
	sim_dev_destroy(old);
	check_all(st);
}

/* Give a disk some more sectors, up to as many as it can have. */
static void enlarge(enum fusion_dev dev, u64 most)
{
	u64 now = bdev_nr_sectors(sim_disk_bdev(world->disk[dev]));
	u64 more = rnd_below(&world->rng, (most - now) / EXTENT_SECTORS + 1);

	sim_disk_set_sectors(world->disk[dev], now + more * EXTENT_SECTORS);
}

/* The table of the set as it will be. Return: false if it cannot grow. */
static bool make_larger_table(struct state *st, struct sim_dev **dev)
{
	const struct setup *s = &st->run->setup;
	struct fusion_sb sb;
	struct fusion_misfit misfit;
	char options[sizeof(s->options) + 16];
	int r;

	sim_disk_super(world->disk[FUSION_FAST], &sb);
	if (fusion_sb_grow(&sb, bdev_nr_sectors(sim_disk_bdev(world->disk[FUSION_FAST])),
			   bdev_nr_sectors(sim_disk_bdev(world->disk[FUSION_SLOW])), 0, &misfit))
		return false;
	if (rnd_below(&world->rng, 2))
		sb.nr_lexts -= rnd_below(&world->rng, sb.nr_lexts - st->size[st->nr_sizes - 1]);
	/* two more words than the others have: see make_setup() */
	snprintf(options, sizeof(options), "22%s resize on", s->options + 2);
	r = sim_dev_create(dev, &sb, options, false);
	/* The slow member may not know of the last time yet, or a read fails. */
	if (r == -EAGAIN || (r && s->faults))
		return false;
	if (r)
		sim_fail("a table for %u extents cannot be made: %d", sb.nr_lexts, r);
	st->size[st->nr_sizes++] = sb.nr_lexts;
	return true;
}

/*
 * Where disks may fail, the new table's first writes do, now and then: the slow member may lag.
 * Return: whether it has grown. *@failed: the set is not open any more.
 */
static bool grow_once(struct state *st, bool *failed)
{
	const bool faults = st->run->setup.faults;
	struct sim_dev *old = st->dev;
	u64 *rng = &world->rng;
	int r;

	enlarge(FUSION_FAST, st->run->setup.most.self_sectors);
	enlarge(FUSION_SLOW, st->run->setup.most.peer_sectors);
	if (!make_larger_table(st, &st->dev))
		return false;
	st->ready = false;
	if (rnd_below(rng, 2))
		stop_faults();
	sim_dev_suspend(old);
	if (faults && rnd_below(rng, 2))
		sim_disk_set_faults(world->disk[rnd_below(rng, SIM_NR_DISKS)],
				    SIM_FAULT_WRITE * (1 + rnd_below(rng, 3)),
				    2 << rnd_below(rng, 5));
	r = sim_dev_resume(st->dev);
	if (r && !faults)
		sim_fail("the set cannot grow: %d", r);
	*failed = r;
	if (!r && !faults) {
		st->sure = st->nr_sizes - 1;
		st->ready = true;
		sim_dev_destroy(old);
	}
	return !r;
}

void grow(struct state *st)
{
	bool failed = false;

	wait_busy(st, 0);
	if (!set_writable(sim_dev_private(st->dev)) || st->nr_sizes > MAX_SIZES - 2 ||
	    set_has_old(sim_dev_private(st->dev)))
		return;
	if (!grow_once(st, &failed) && !failed)
		return;
	if (!st->run->setup.faults) {
		check_all(st);
		return;
	}
	if (!failed && rnd_below(&world->rng, 2))
		grow_once(st, &failed);
	/* content that an error has left in a cache is not promised */
	st->crashed = true;
}
