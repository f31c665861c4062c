// SPDX-License-Identifier: GPL-2.0-only
/*
 * Machines that copy what they have, as copies of what is read or when extents move, and lose the
 * set meanwhile.
 */
#include "dm-fusion.h"
#include "hosts.h"

#define STALL_MS	3600000U

struct reader {
	struct hosts *h;
	int result;
};

static int read_block(struct hosts *h, unsigned int host)
{
	u64 found[FUSION_BLOCK_SECTORS];

	return sim_dev_io(h->dev[host], REQ_OP_READ, host * EXTENT_SECTORS, FUSION_BLOCK_SECTORS,
			  found);
}

static void read_it(void *arg)
{
	struct reader *r = arg;

	r->result = read_block(r->h, 0);
	r->h->running--;
	wake_up_all(&r->h->wait);
}

/* A read that takes until the stall ends, which is *@stall until it has begun. */
static void begin_to_read(struct reader *r, u32 *stall)
{
	r->h->running = 1;
	*stall = STALL_MS;
	sim_spawn("reader", read_it, r);
	while (*stall)
		msleep(20);
}

/* A set that the first machine has, with its block on the slow disk. */
static struct fusion *begin(struct hosts *h)
{
	hosts_begin(h);
	open_soon(h, 0, "open");
	must(write_as(h, 0, REQ_FUA), "write");
	must(sim_dev_message(h->dev[0], "drain"), "drain");
	return fs_of(h->dev[0]);
}

/* Another machine takes it, and the first one knows. */
static void take(struct hosts *h)
{
	open_soon(h, 1, "open what rests");
	must(write_as(h, 1, REQ_FUA), "write");
	must_not(write_as(h, 0, REQ_FUA), -EIO, "write to what is another machine's");
	if (fusion_mode(fs_of(h->dev[0])) != FUSION_FAIL)
		sim_fail("it has not noticed");
}

static void end(struct hosts *h)
{
	wait_event(h->wait, !h->running);
	close_as(h, 0);
	check_as(h, 1);
	close_as(h, 1);
	hosts_end(h);
}

/* A copy cannot be read, but that is known only when the set is another machine's. */
static void taken_in_a_read(void *arg)
{
	struct hosts *h = arg;
	struct reader r = { .h = h };
	struct fusion *fs;

	if (!h->setup->sb.landing_slots)
		return;
	fs = begin(h);
	must(read_block(h, 0), "read");
	settle_as(h, 0);
	if (fs->land.copies->nr) {
		begin_to_read(&r, &world->stall_ms);
		take(h);
		sim_disk_set_faults(world->disk[FUSION_FAST], SIM_FAULT_READ, 1);
		wait_event(h->wait, !h->running);
		sim_disk_set_faults(world->disk[FUSION_FAST], 0, 0);
		must_not(r.result, -EIO, "read of what is another machine's");
	} else {
		take(h);
	}
	end(h);
}

/* Another machine has its extents where the first one would write to. */
static void take_slots(struct hosts *h)
{
	u64 stamps[FUSION_BLOCK_SECTORS];
	unsigned int i, s;

	must_not(sim_dev_message(h->dev[1], "promote 0 3"), 1, "promote");
	for (i = 0; i < NR_HOSTS; i++) {
		h->stamp++;
		for (s = 0; s < FUSION_BLOCK_SECTORS; s++)
			stamps[s] = h->stamp;
		must(sim_dev_io(h->dev[1], REQ_OP_WRITE | REQ_FUA, i * EXTENT_SECTORS,
				FUSION_BLOCK_SECTORS, stamps), "write what was promoted");
		h->tried[i] = h->stamp;
		h->durable[i] = h->stamp;
	}
}

/* A read that is to get a copy ends when the set, which has come to rest, is another machine's. */
static void taken_before_a_copy(void *arg)
{
	struct hosts *h = arg;
	struct reader r = { .h = h };

	if (!h->setup->sb.landing_slots)
		return;
	begin(h);
	settle_as(h, 0);
	begin_to_read(&r, &world->stall_slow_data_ms);
	open_soon(h, 1, "open what rests");
	take_slots(h);
	end(h);
}

static void promote_it(void *arg)
{
	struct reader *r = arg;

	r->result = sim_dev_message(r->h->dev[0], "promote 0 3");
	r->h->running--;
	wake_up_all(&r->h->wait);
}

/* A machine stands still in a move. It has read the extent when the set is another machine's. */
static void taken_before_a_move(void *arg)
{
	struct hosts *h = arg;
	struct reader r = { .h = h };

	hosts_begin(h);
	open_soon(h, 0, "open");
	must(write_as(h, 0, REQ_FUA), "write");
	must_not(sim_dev_message(h->dev[0], "demote 0 3"), 1, "demote");
	settle_as(h, 0);
	h->running = 1;
	world->stall_slow_data_ms = STALL_MS;
	sim_spawn("mover", promote_it, &r);
	while (world->stall_slow_data_ms && h->running)
		msleep(20);
	/* it may lie on the fast member again */
	world->stall_slow_data_ms = 0;
	/* the list of stale blocks is written meanwhile */
	hosts_nap(60000);
	stop_heart(fs_of(h->dev[0]));
	open_soon(h, 1, "open what stands still");
	take_slots(h);
	wait_event(h->wait, !h->running);
	fusion_beat_freeze(fs_of(h->dev[0]), false);
	end(h);
}

const scene_fn scenes_of_copies[] = {
	taken_in_a_read, taken_before_a_copy, taken_before_a_move, NULL,
};
