// SPDX-License-Identifier: GPL-2.0-only
/*
 * Machines that reach the same disks. Each is a device with a number of its own; they know of
 * each other by the disks only. Whatever they try, and whenever: what one of them has been told to
 * be durable is there for the next one, and two never write to the set at the same time.
 */
#include <stdio.h>

#include "dm-fusion.h"
#include "image.h"
#include "invariants.h"

#define NR_HOSTS	3
#define TRIES		24U
/* How long the heartbeat of another machine is watched, in ms. */
#define WATCH		(2 * FUSION_BEAT_MS + FUSION_BEAT_GRACE_MS)

struct hosts {
	const struct setup *setup;
	struct opening *result;
	struct sim_dev *dev[NR_HOSTS];
	bool open[NR_HOSTS];
	u64 stamp;			/* last one used */
	u64 durable[NR_HOSTS];		/* greatest one of a host's own that must be found */
	u64 tried[NR_HOSTS];		/* greatest one that was tried */
	unsigned int running;
	unsigned int opened;
	unsigned int refused;
	unsigned int lost;
	wait_queue_head_t wait;
};

static struct fusion *fs_of(struct sim_dev *dev)
{
	return sim_dev_private(dev);
}

static u64 ms(void)
{
	return sim_now_ns() / 1000000;
}

/* Sleep, and let the disks be no slower than they are: time goes on from one timer to the next. */
static void nap(u64 time)
{
	for (; time > 100; time -= 100)
		msleep(100);
}

/* @extra: more options, two words for each of @nr */
static int create(struct hosts *h, unsigned int host, struct sim_dev **dev, unsigned int nr,
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

static int open_as(struct hosts *h, unsigned int host)
{
	int r = create(h, host, &h->dev[host], 0, "");

	h->open[host] = !r;
	return r;
}

static void close_as(struct hosts *h, unsigned int host)
{
	sim_dev_remove(h->dev[host]);
	h->open[host] = false;
}

static bool may_write(struct sim_dev *dev)
{
	const struct fusion *fs = fs_of(dev);

	return fs->mode == FUSION_RW && fs->heart.begun && fs->heart.pass &&
	       ms() < fs->heart.lease_ms;
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

/* Each machine has an extent to itself. Return: 0 or the error. */
static int write_as(struct hosts *h, unsigned int host, blk_opf_t opf)
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

/* Its slot is free then, and some other machine's first write may be given it. */
static void discard_as(struct hosts *h, unsigned int host)
{
	h->durable[host] = 0;
	sim_dev_io(h->dev[host], REQ_OP_DISCARD, host * EXTENT_SECTORS, EXTENT_SECTORS, NULL);
	check_alone(h);
}

/* All that was promised to anybody is found by the one that has the set. */
static void check_all(struct hosts *h, unsigned int host)
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

static void begin(struct hosts *h)
{
	unsigned int i;

	for (i = 0; i < SIM_NR_DISKS; i++) {
		world->disk[i] = sim_disk_new(i, &h->setup->sb, h->setup->discards[i], true);
		sim_disk_format(world->disk[i], &h->setup->sb, &world->rng);
	}
	memset(h->dev, 0, sizeof(h->dev));
	memset(h->open, 0, sizeof(h->open));
	memset(h->durable, 0, sizeof(h->durable));
	memset(h->tried, 0, sizeof(h->tried));
	world->shared = true;
	world->limit_ns = U64_MAX;
	sim_spawn("clock", tick, NULL);
	/*
	 * A write that a disk holds for longer than a watch, or a task that sleeps so long
	 * between the look at the gate and its write, is beyond what the heartbeat covers. Beats
	 * that come late there are all the same.
	 */
	world->delay_mask = min(world->delay_mask, rnd_below(&world->rng, 2) ? 7U : 31U);
	world->io_share = max(world->io_share, 64U);
}

static bool rests(struct fusion *fs)
{
	return fs->heart.resting && !fs->heart.pass;
}

static void wait_for_rest(struct hosts *h, unsigned int host)
{
	unsigned int i;

	for (i = 0; i < 600 && !rests(fs_of(h->dev[host])); i++)
		msleep(100);
	if (!rests(fs_of(h->dev[host])))
		sim_fail("nothing to do for a minute, and it does not rest");
}

static void must(int r, const char *what)
{
	if (r)
		sim_fail("%s: %d", what, r);
}

static void must_not(int r, int want, const char *what)
{
	if (r != want)
		sim_fail("%s: %d, not %d", what, r, want);
}

/* Let it have done what it does by itself when it has time: complete extents, write the replica. */
static void settle(struct hosts *h, unsigned int host)
{
	unsigned int i;
	u64 n;

	for (i = 0; i < 10; i++) {
		n = fs_of(h->dev[host])->heart.beats;
		/* longer than the replica may be behind */
		nap(700000);
		if (n == fs_of(h->dev[host])->heart.beats && rests(fs_of(h->dev[host])))
			return;
	}
	sim_fail("nothing to do for two hours, and it beats");
}

/* In use elsewhere, or the disks stood still for seconds on the way, as they do here. */
static bool not_now(int r)
{
	return r == -EUSERS || r == -ETIMEDOUT || r == -EIO || r == -EROFS;
}

/* As open_as(), of what rests: it may have something to do just then. */
static void open_soon(struct hosts *h, unsigned int host, const char *what)
{
	unsigned int i;
	int r = -EUSERS;

	for (i = 0; i < 20 && not_now(r); i++) {
		r = open_as(h, host);
		if (r)
			nap(15000);
	}
	must(r, what);
}

/* Whatever has become of it: somebody gets it in the end, and finds all that was promised. */
static void end(struct hosts *h)
{
	open_soon(h, 0, "open in the end");
	check_all(h, 0);
	close_as(h, 0);
}

/* Its timers do not run, its clock does. */
static void stop_machine(struct fusion *fs)
{
	fusion_migrate_stop(fs);
	fusion_replica_pause(fs);
	cancel_delayed_work_sync(&fs->heart.work);
	cancel_delayed_work_sync(&fs->heart.gate_work);
	fusion_beat_freeze(fs, true);
}

/* -- one thing after the other ----------------------------------------------------- */

/* In use elsewhere: refused, whatever the one that has it does meanwhile. */
static void beats(void *arg)
{
	struct hosts *h = arg;

	begin(h);
	open_soon(h, 0, "open");
	must(write_as(h, 0, REQ_FUA), "write");
	must_not(open_as(h, 1), -EUSERS, "open while another machine beats");
	must(write_as(h, 0, REQ_FUA), "write after that");
	if (fusion_mode(fs_of(h->dev[0])) != FUSION_RW)
		sim_fail("the one that has it suffers from that");
	close_as(h, 0);
	open_soon(h, 1, "open what was closed");
	check_all(h, 1);
	close_as(h, 1);
}

/* At rest nothing is written, to either member; what wants to write beats first. */
static void rest_and_wake(void *arg)
{
	struct hosts *h = arg;
	struct fusion *fs;
	u64 n;

	begin(h);
	open_soon(h, 0, "open");
	fs = fs_of(h->dev[0]);
	must(write_as(h, 0, REQ_FUA), "write");
	do {
		settle(h, 0);
	} while (fs->replica.nr_dirty || fs->replica.nr_away || fs->replica.nr_held);
	n = fs->heart.beats;
	world->quiet = true;
	world->shared = false;
	nap(60000);
	world->shared = true;
	if (fs->heart.beats != n)
		sim_fail("it rests, and beats");
	must(write_as(h, 0, REQ_FUA), "write that wakes");
	if (fs->heart.beats == n)
		sim_fail("a write has passed without a beat");
	wait_for_rest(h, 0);
	n = fs->heart.beats;
	must(sim_dev_message(h->dev[0], "checkpoint"), "checkpoint that wakes");
	if (fs->heart.beats == n)
		sim_fail("a checkpoint has passed without a beat");
	check_all(h, 0);
	close_as(h, 0);
}

/* Taken while it rests: what it has to write then fails, and nothing of it gets through. */
static void taken_at_rest(void *arg)
{
	struct hosts *h = arg;
	u64 start;

	begin(h);
	open_soon(h, 0, "open");
	must(write_as(h, 0, REQ_FUA), "write");
	settle(h, 0);
	start = ms();
	open_soon(h, 1, "open what rests");
	if (ms() - start < WATCH)
		sim_fail("taken after %llu ms", ms() - start);
	must(write_as(h, 1, REQ_FUA), "write");
	must_not(write_as(h, 0, REQ_FUA), -EIO, "write to what is another machine's");
	if (fusion_mode(fs_of(h->dev[0])) != FUSION_FAIL)
		sim_fail("it has not noticed");
	must(write_as(h, 1, 0), "write");
	close_as(h, 0);
	check_all(h, 1);
	close_as(h, 1);
	open_soon(h, 1, "open again");
	check_all(h, 1);
	close_as(h, 1);
}

/* The same by what the module writes of itself. */
static void taken_before_a_checkpoint(void *arg)
{
	struct hosts *h = arg;

	begin(h);
	open_soon(h, 0, "open");
	must(write_as(h, 0, REQ_FUA), "write");
	settle(h, 0);
	open_soon(h, 1, "open what rests");
	must(write_as(h, 1, REQ_FUA), "write");
	must_not(sim_dev_message(h->dev[0], "checkpoint"), -EIO, "checkpoint of what is lost");
	close_as(h, 0);
	check_all(h, 1);
	close_as(h, 1);
}

/* The machine stood still for so long that another one took its set; then it goes on. */
static void stopped(void *arg)
{
	struct hosts *h = arg;
	struct fusion *fs;

	begin(h);
	open_soon(h, 0, "open");
	fs = fs_of(h->dev[0]);
	must(write_as(h, 0, REQ_FUA), "write");
	settle(h, 0);
	must(write_as(h, 0, REQ_FUA), "write");
	stop_machine(fs);
	open_soon(h, 1, "open what stands still");
	must(write_as(h, 1, REQ_FUA), "write");
	must_not(write_as(h, 0, REQ_FUA), -EIO, "write of a machine that stood still");
	fusion_beat_freeze(fs, false);
	close_as(h, 0);
	check_all(h, 1);
	close_as(h, 1);

	/* nobody took it: it goes on */
	begin(h);
	open_soon(h, 0, "open");
	fs = fs_of(h->dev[0]);
	stop_machine(fs);
	nap(3 * WATCH);
	must(write_as(h, 0, REQ_FUA), "write of a machine that stood still");
	fusion_beat_freeze(fs, false);
	check_all(h, 0);
	close_as(h, 0);
}

/* Suspended, and used elsewhere: it is not resumed. */
static void suspended(void *arg)
{
	struct hosts *h = arg;

	begin(h);
	open_soon(h, 0, "open");
	must(write_as(h, 0, REQ_FUA), "write");
	sim_dev_suspend(h->dev[0]);
	must(sim_dev_resume(h->dev[0]), "resume");
	must(write_as(h, 0, REQ_FUA), "write");
	sim_dev_suspend(h->dev[0]);
	open_soon(h, 1, "open what is suspended");
	must(write_as(h, 1, REQ_FUA), "write");
	close_as(h, 1);
	must_not(sim_dev_resume(h->dev[0]), -ESTALE, "resume what was used elsewhere");
	h->open[0] = false;
	sim_dev_destroy(h->dev[0]);
	open_soon(h, 1, "open again");
	check_all(h, 1);
	close_as(h, 1);
}

/* A tool that knows nothing of heartbeats has written to the set at rest: see the superblock. */
static void changed_at_rest(void *arg)
{
	u8 block[FUSION_BLOCK_SIZE];
	struct hosts *h = arg;
	struct fusion_sb sb;
	u64 nr;

	begin(h);
	open_soon(h, 0, "open");
	must(write_as(h, 0, REQ_FUA), "write");
	settle(h, 0);
	sim_disk_super(world->disk[FUSION_FAST], &sb);
	sb.generation++;
	sb.activation++;
	nr = FUSION_SUPER_BLOCKNR(sb.generation & 1);
	fusion_sb_pack(&sb, nr, block);
	sim_disk_set_block(world->disk[FUSION_FAST], nr, block);
	must_not(write_as(h, 0, REQ_FUA), -EIO, "write to what was changed");
	close_as(h, 0);
}

/* An administrator insists. */
static void taken_by_force(void *arg)
{
	struct hosts *h = arg;
	unsigned int i;

	begin(h);
	open_soon(h, 0, "open");
	must(write_as(h, 0, REQ_FUA), "write");
	/* where a disk is so slow that beats come late, neither may have it in the end */
	for (i = 0; i < (fs_of(h->dev[0])->heart.late ? 9 : 1) && !h->open[1]; i++)
		h->open[1] = !create(h, 1, &h->dev[1], 1, "takeover on");
	if (!h->open[1])
		sim_fail("an administrator insists, and does not get it");
	must(write_as(h, 1, REQ_FUA), "write");
	must_not(write_as(h, 0, REQ_FUA), -EIO, "write to what was taken");
	close_as(h, 0);
	check_all(h, 1);
	close_as(h, 1);
}

/* Two paths to the same disks, one machine. */
static void same_machine(void *arg)
{
	struct hosts *h = arg;
	struct sim_dev *twice;

	begin(h);
	open_soon(h, 0, "open");
	must_not(create(h, 0, &twice, 0, ""), -EBUSY, "open by another path");
	must(write_as(h, 0, REQ_FUA), "write");
	close_as(h, 0);
}

/* -- all at once -------------------------------------------------------------------- */

struct actor {
	struct hosts *h;
	unsigned int host;
};

/* Of those that run_actors() and the like wait for. */
static void leave(struct hosts *h)
{
	h->running--;
	wake_up_all(&h->wait);
}

/*
 * Open, write, rest, close; at any time. A machine that loses the set opens it again later. Whoever
 * may write finds all that was promised.
 */
static void act(void *arg)
{
	struct actor *a = arg;
	struct hosts *h = a->h;
	unsigned int host = a->host, tries;
	u64 *rng = &world->rng;
	int r;

	for (tries = 0; tries < TRIES; tries++) {
		msleep(rnd_below(rng, 3) ? rnd_below(rng, 100) : rnd_below(rng, 9000));
		r = open_as(h, host);
		if (r && !not_now(r))
			sim_fail("machine %u cannot open the set: %d", host, r);
		if (r) {
			h->refused++;
			continue;
		}
		h->opened++;
		check_all(h, host);
		do {
			if (write_as(h, host, rnd_below(rng, 2) ? REQ_FUA : 0))
				break;
			check_all(h, host);
			if (!rnd_below(rng, 4))
				discard_as(h, host);
			msleep(rnd_below(rng, 4) ? rnd_below(rng, 50) : rnd_below(rng, 16000));
		} while (rnd_below(rng, 4));
		if (fusion_mode(fs_of(h->dev[host])) == FUSION_FAIL)
			h->lost++;
		else if (fusion_mode(fs_of(h->dev[host])) != FUSION_RW &&
			 !fs_of(h->dev[host])->heart.late)
			sim_fail("machine %u: mode ro without an error", host);
		close_as(h, host);
	}
	leave(h);
}

static void run_actors(struct hosts *h)
{
	struct actor actor[NR_HOSTS];
	unsigned int i;

	h->running = NR_HOSTS;
	for (i = 0; i < NR_HOSTS; i++) {
		actor[i] = (struct actor){ h, i };
		sim_spawn("machine", act, &actor[i]);
	}
	wait_event(h->wait, !h->running);
}

static void all_at_once(void *arg)
{
	struct hosts *h = arg;

	begin(h);
	run_actors(h);
	if (!h->opened)
		sim_fail("nobody ever got the set");
	end(h);
}

/* The same where beats come late, or are read late: then nobody may have the set for some time. */
static void all_at_once_and_late(void *arg)
{
	struct hosts *h = arg;

	begin(h);
	world->late_ms = 512 << rnd_below(&world->rng, 6);
	run_actors(h);
	world->late_ms = 0;
	end(h);
}

/* Opens it, and keeps writing for some seconds. */
static void take_and_write(void *arg)
{
	struct actor *a = arg;
	struct hosts *h = a->h;
	unsigned int i;

	if (!h->open[a->host])
		open_as(h, a->host);
	for (i = 0; h->open[a->host] && i < 16; i++) {
		if (write_as(h, a->host, REQ_FUA))
			break;
		msleep(rnd_below(&world->rng, 600));
	}
	leave(h);
}

/* It wakes just when others that have watched it at rest are about to claim it. */
static void taken_as_it_wakes(void *arg)
{
	struct actor actor[NR_HOSTS];
	struct hosts *h = arg;
	unsigned int i;

	begin(h);
	open_soon(h, 0, "open");
	must(write_as(h, 0, REQ_FUA), "write");
	settle(h, 0);
	world->late_ms = rnd_below(&world->rng, 4) ? 4096 : 0;
	h->running = NR_HOSTS;
	for (i = NR_HOSTS; i--; ) {
		actor[i] = (struct actor){ h, i };
		if (!i)
			msleep(WATCH - 1000 + rnd_below(&world->rng, 4000));
		sim_spawn("machine", take_and_write, &actor[i]);
	}
	wait_event(h->wait, !h->running);
	world->late_ms = 0;
	for (i = 0; i < NR_HOSTS; i++)
		if (h->open[i])
			close_as(h, i);
	end(h);
}

/* -- all of it ------------------------------------------------------------------------ */

struct all {
	struct hosts hosts;
	u64 seed;
};

static void run_world(void *arg)
{
	static void (*const scenes[])(void *) = {
		beats, rest_and_wake, taken_at_rest, taken_before_a_checkpoint, stopped, suspended,
		changed_at_rest,
		taken_by_force, same_machine, all_at_once, all_at_once_and_late,
		taken_as_it_wakes,
	};
	struct all *all = arg;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(scenes); i++) {
		sim_world_new(all->seed + i);
		sim_run(scenes[i], &all->hosts);
		sim_world_free(world);
	}
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
