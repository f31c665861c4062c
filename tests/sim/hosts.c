// SPDX-License-Identifier: GPL-2.0-only
/*
 * Machines that reach the same disks. Each is a device with a number of its own; they know of each
 * other only through the disks. Whatever they try, and whenever: data that one of them knows to be
 * durable is there for the next one, and two never write to the set at the same time.
 */
#include <stdio.h>

#include "dm-fusion.h"
#include "hosts.h"
#include "invariants.h"
#include "landed.h"

struct fusion *fs_of(struct sim_dev *dev)
{
	return sim_dev_private(dev);
}

u64 hosts_ms(void)
{
	return sim_now_ns() / 1000000;
}

void hosts_nap(u64 time)
{
	for (; time > 100; time -= 100)
		msleep(100);
}

int create_as(struct hosts *h, unsigned int host, struct sim_dev **dev, unsigned int nr,
	      const char *extra)
{
	char args[128];
	int r;

	snprintf(args, sizeof(args), "%u host %032x migration off %s", 4 + 2 * nr, host + 1, extra);
	r = sim_dev_create(dev, &h->setup->sb, args, false);
	if (r)
		return r;
	r = sim_dev_resume(*dev);
	if (r)
		sim_dev_destroy(*dev);
	return r;
}

int open_as(struct hosts *h, unsigned int host)
{
	int r = create_as(h, host, &h->dev[host], 0, "");

	h->open[host] = !r;
	return r;
}

void close_as(struct hosts *h, unsigned int host)
{
	sim_dev_remove(h->dev[host]);
	h->open[host] = false;
}

static bool may_write(struct sim_dev *dev)
{
	const struct fusion *fs = fs_of(dev);

	return fs->mode == FUSION_RW && fs->heart.begun && fs->heart.pass &&
	       hosts_ms() < fs->heart.lease_ms;
}

/* Never two at a time. */
static void check_alone(struct hosts *h)
{
	unsigned int i, n = 0;

	for (i = 0; i < NR_HOSTS; i++)
		n += h->open[i] && may_write(h->dev[i]);
	if (n > 1)
		sim_fail("%u machines may write to the set", n);
}

int write_as(struct hosts *h, unsigned int host, blk_opf_t opf)
{
	u64 stamps[FUSION_BLOCK_SECTORS];
	u64 stamp = ++h->stamp;
	unsigned int i;
	int r;

	for (i = 0; i < FUSION_BLOCK_SECTORS; i++)
		stamps[i] = stamp;
	h->tried[host] = stamp;
	check_alone(h);
	r = sim_dev_io(h->dev[host], REQ_OP_WRITE | opf, host * EXTENT_SECTORS,
		       FUSION_BLOCK_SECTORS, stamps);
	if (!r && opf & REQ_FUA)
		h->durable[host] = max(h->durable[host], stamp);
	check_alone(h);
	return r;
}

void discard_as(struct hosts *h, unsigned int host)
{
	h->durable[host] = 0;
	sim_dev_io(h->dev[host], REQ_OP_DISCARD, host * EXTENT_SECTORS, EXTENT_SECTORS, NULL);
	check_alone(h);
}

void check_as(struct hosts *h, unsigned int host)
{
	u64 found[FUSION_BLOCK_SECTORS];
	unsigned int i;

	check_invariants(fs_of(h->dev[host]));
	for (i = 0; i < NR_HOSTS; i++) {
		if (sim_dev_io(h->dev[host], REQ_OP_READ, i * EXTENT_SECTORS, FUSION_BLOCK_SECTORS,
			       found)) {
			if (fusion_mode(fs_of(h->dev[host])) != FUSION_FAIL)
				sim_fail("machine %u cannot read", host);
			return;
		}
		/* it is another machine's, and what is there may be as well */
		if (!may_write(h->dev[host]))
			continue;
		if (found[0] < h->durable[i] || found[0] > h->tried[i])
			sim_fail("machine %u finds %llu of machine %u, which was promised %llu",
				 host, found[0], i, h->durable[i]);
	}
}

/* Time never goes on by much at once while a disk is at something. */
static void tick(void *arg)
{
	for (;;)
		msleep(100);
}

void hosts_begin(struct hosts *h)
{
	unsigned int i;

	for (i = 0; i < SIM_NR_DISKS; i++) {
		world->disk[i] = sim_disk_new(i, &h->setup->sb, h->setup->discards[i], true);
		sim_disk_format(world->disk[i], &h->setup->sb, NULL, &world->rng);
	}
	if (h->setup->sb.landing_slots)
		landed_empty(h->setup, NR_HOSTS);
	memset(h->dev, 0, sizeof(h->dev));
	memset(h->open, 0, sizeof(h->open));
	memset(h->durable, 0, sizeof(h->durable));
	memset(h->tried, 0, sizeof(h->tried));
	world->shared = true;
	world->limit_ns = U64_MAX;
	sim_spawn("clock", tick, NULL);
	/*
	 * The heartbeat does not cover a write that a disk holds for longer than a watch, nor a
	 * task that sleeps that long between the look at the gate and its write. Late beats still
	 * occur.
	 */
	world->delay_mask = min(world->delay_mask, rnd_below(&world->rng, 2) ? 7U : 31U);
	world->io_share = max(world->io_share, 64U);
}

static bool rests(struct fusion *fs)
{
	return fs->heart.resting && !fs->heart.pass;
}

void wait_for_rest(struct hosts *h, unsigned int host)
{
	unsigned int i;

	for (i = 0; i < 600 && !rests(fs_of(h->dev[host])); i++)
		msleep(100);
	if (!rests(fs_of(h->dev[host])))
		sim_fail("nothing to do for a minute, and it does not rest");
}

void must(int r, const char *what)
{
	if (r)
		sim_fail("%s: %d", what, r);
}

void must_not(int r, int want, const char *what)
{
	if (r != want)
		sim_fail("%s: %d, not %d", what, r, want);
}

void settle_as(struct hosts *h, unsigned int host)
{
	unsigned int i;
	u64 n;

	for (i = 0; i < 10; i++) {
		n = fs_of(h->dev[host])->heart.beats;
		/* longer than the replica may be behind */
		hosts_nap(700000);
		if (n == fs_of(h->dev[host])->heart.beats && rests(fs_of(h->dev[host])))
			return;
	}
	sim_fail("nothing to do for two hours, and it beats");
}

bool not_now(int r)
{
	return r == -EUSERS || r == -ETIMEDOUT || r == -EIO || r == -EROFS;
}

void open_soon(struct hosts *h, unsigned int host, const char *what)
{
	unsigned int i;
	int r = -EUSERS;

	for (i = 0; i < 20 && not_now(r); i++) {
		r = open_as(h, host);
		if (r)
			hosts_nap(15000);
	}
	must(r, what);
}

void hosts_end(struct hosts *h)
{
	open_soon(h, 0, "open in the end");
	check_as(h, 0);
	close_as(h, 0);
}

void stop_heart(struct fusion *fs)
{
	cancel_delayed_work_sync(&fs->heart.work);
	cancel_delayed_work_sync(&fs->heart.gate_work);
	fusion_beat_freeze(fs, true);
}

void stop_machine(struct fusion *fs)
{
	fusion_migrate_stop(fs);
	fusion_replica_pause(fs);
	stop_heart(fs);
}

/* -- all of it ------------------------------------------------------------------------ */

struct all {
	struct hosts hosts;
	u64 seed;
};

/* Each in a world of its own. Return: the seed of the next one. */
static u64 run_scenes(struct all *all, const scene_fn *scene, u64 seed)
{
	for (; *scene; scene++) {
		sim_world_new(seed++);
		sim_run(*scene, &all->hosts);
		sim_world_free(world);
	}
	return seed;
}

static void run_world(void *arg)
{
	struct all *all = arg;
	u64 seed = run_scenes(all, scenes_in_turn, all->seed);

	seed = run_scenes(all, scenes_at_once, seed);
	run_scenes(all, scenes_of_copies, seed);
	all->hosts.result->opened += all->hosts.opened;
	all->hosts.result->elsewhere += all->hosts.refused;
	all->hosts.result->lost += all->hosts.lost;
}

const char *run_hosts(const struct setup *setup, u64 seed, struct opening *o)
{
	struct all all = { .hosts = { .setup = setup, .result = o }, .seed = seed };
	const char *result = sim_catch(run_world, &all);

	while (world)
		sim_world_free(world);
	return result;
}
