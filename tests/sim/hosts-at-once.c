// SPDX-License-Identifier: GPL-2.0-only
/* Machines that open, write, rest and close at the same time, at any time. */
#include "dm-fusion.h"
#include "hosts.h"

#define TRIES		24U

struct actor {
	struct hosts *h;
	unsigned int host;
};

/* The number of actors that run_actors() and similar functions wait for. */
static void leave(struct hosts *h)
{
	h->running--;
	wake_up_all(&h->wait);
}

/*
 * Open, write, rest, close; at any time. A machine that loses the set opens it again later. A
 * machine that may write finds everything that was promised.
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
		check_as(h, host);
		do {
			if (write_as(h, host, rnd_below(rng, 2) ? REQ_FUA : 0))
				break;
			check_as(h, host);
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

	hosts_begin(h);
	run_actors(h);
	if (!h->opened)
		sim_fail("nobody ever got the set");
	hosts_end(h);
}

/*
 * The same with beats that come late, or are read late: then no machine may have the set for some
 * time.
 */
static void all_at_once_and_late(void *arg)
{
	struct hosts *h = arg;

	hosts_begin(h);
	world->late_ms = 512 << rnd_below(&world->rng, 6);
	run_actors(h);
	world->late_ms = 0;
	hosts_end(h);
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

	hosts_begin(h);
	open_soon(h, 0, "open");
	must(write_as(h, 0, REQ_FUA), "write");
	settle_as(h, 0);
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
	hosts_end(h);
}

/* Opens it, which is seen to by who has it. */
static void open_it(void *arg)
{
	struct actor *a = arg;

	open_as(a->h, a->host);
	leave(a->h);
}

/*
 * It wakes when another machine has read the set, and before the claim of that one has got there,
 * which may be late. It writes, if there is a log to that, with no record in the journal. Then it
 * stands still for good.
 */
static void dies_as_it_is_claimed(void *arg)
{
	struct hosts *h = arg;
	struct actor other = { h, 1 };
	struct fusion *fs;
	unsigned int i;

	for (i = 0; i < 8; i++) {
		hosts_begin(h);
		open_soon(h, 0, "open");
		fs = fs_of(h->dev[0]);
		wait_for_rest(h, 0);
		h->running = 1;
		sim_spawn("machine", open_it, &other);
		world->late_ms = 4096;
		while (h->running && (!h->dev[1] ||
				      fs_of(h->dev[1])->heart.own.state != FUSION_BEAT_CLAIM))
			schedule_timeout_uninterruptible(1);
		write_as(h, 0, REQ_FUA);
		stop_machine(fs);
		wait_event(h->wait, !h->running);
		world->late_ms = 0;
		if (!h->open[1])
			open_soon(h, 1, "open what stands still");
		check_as(h, 1);
		close_as(h, 1);
		fusion_beat_freeze(fs, false);
		close_as(h, 0);
	}
}

/* Drains the log, as far as it may. */
static void drain_it(void *arg)
{
	struct actor *a = arg;

	sim_dev_message(a->h->dev[a->host], "drain");
	leave(a->h);
}

/* Makes zeros of half its block, as far as it may. */
static void zero_half(void *arg)
{
	struct actor *a = arg;

	/* it would want the heart to beat */
	fusion_migrate_stop(fs_of(a->h->dev[a->host]));
	a->h->durable[a->host] = 0;
	sim_dev_io(a->h->dev[a->host], REQ_OP_WRITE_ZEROES, 0, FUSION_BLOCK_SECTORS / 2, NULL);
	leave(a->h);
}

/* Promotes its extent, as far as it may. */
static void promote_it(void *arg)
{
	struct actor *a = arg;

	sim_dev_message(a->h->dev[a->host], "promote 0");
	leave(a->h);
}

/*
 * Another machine writes the block of the first one, and has it on the slow disk, or in a slot of
 * the fast one: that in which the first one was about to have it.
 */
static void write_over(struct hosts *h, unsigned int host, bool fast)
{
	u64 stamps[FUSION_BLOCK_SECTORS];
	unsigned int i;

	if (fast)
		must_not(sim_dev_message(h->dev[host], "promote 0"), 1, "promote");
	h->stamp++;
	for (i = 0; i < FUSION_BLOCK_SECTORS; i++)
		stamps[i] = h->stamp;
	must(sim_dev_io(h->dev[host], REQ_OP_WRITE | REQ_FUA, 0, FUSION_BLOCK_SECTORS, stamps),
	     "write over what was another machine's");
	h->tried[0] = h->stamp;
	h->durable[0] = h->stamp;
	must(sim_dev_message(h->dev[host], "drain"), "drain");
}

/*
 * A block of the log is read to be written elsewhere, and the fast disk stalls. Before the read
 * ends, the lease does, and another machine has taken the set, and written that block.
 */
static void taken_in(struct hosts *h, const char *what, void (*begin)(void *arg), bool fast)
{
	struct actor one = { h, 0 };
	struct fusion *fs;

	if (!h->setup->sb.landing_slots)
		return;
	hosts_begin(h);
	open_soon(h, 0, "open");
	fs = fs_of(h->dev[0]);
	must(write_as(h, 0, REQ_FUA), "write");
	/* it might wait for that */
	fusion_replica_pause(fs);
	h->running = 1;
	world->stall_ms = 3600000;
	sim_spawn(what, begin, &one);
	while (h->running && world->stall_ms)
		msleep(20);
	/* it had nothing to read */
	world->stall_ms = 0;
	/* half of the time, so does the timer that shuts its gate */
	if (rnd_below(&world->rng, 2))
		cancel_delayed_work_sync(&fs->heart.gate_work);
	/* nor does anything else want the heart to beat */
	cancel_delayed_work_sync(&fs->stale->work);
	cancel_delayed_work_sync(&fs->heart.work);
	open_soon(h, 1, "open what stands still");
	write_over(h, 1, fast);
	wait_event(h->wait, !h->running);
	close_as(h, 0);
	close_as(h, 1);
	hosts_end(h);
}

static void taken_in_a_drain(void *arg)
{
	taken_in(arg, "drain", drain_it, false);
}

/* No block with zeros gets into the log. */
static void taken_in_a_merge(void *arg)
{
	taken_in(arg, "zeros", zero_half, false);
}

static void taken_in_a_promotion(void *arg)
{
	taken_in(arg, "promote", promote_it, true);
}

const scene_fn scenes_at_once[] = {
	all_at_once, all_at_once_and_late, taken_as_it_wakes, dies_as_it_is_claimed,
	taken_in_a_drain, taken_in_a_merge, taken_in_a_promotion, NULL,
};
