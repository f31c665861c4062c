// SPDX-License-Identifier: GPL-2.0-only
/*
 * Machines that do one thing after the other: each scene is one way to open, rest, stand still, or
 * lose the set.
 */
#include "dm-fusion.h"
#include "hosts.h"

/* In use elsewhere: refused, whatever the one that has it does meanwhile. */
static void beats(void *arg)
{
	struct hosts *h = arg;

	hosts_begin(h);
	open_soon(h, 0, "open");
	must(write_as(h, 0, REQ_FUA), "write");
	must_not(open_as(h, 1), -EUSERS, "open while another machine beats");
	must(write_as(h, 0, REQ_FUA), "write after that");
	if (fusion_mode(fs_of(h->dev[0])) != FUSION_RW)
		sim_fail("the one that has it suffers from that");
	close_as(h, 0);
	open_soon(h, 1, "open what was closed");
	check_as(h, 1);
	close_as(h, 1);
}

/* At rest nothing is written, to either member; what wants to write beats first. */
static void rest_and_wake(void *arg)
{
	struct hosts *h = arg;
	struct fusion *fs;
	u64 n;

	hosts_begin(h);
	open_soon(h, 0, "open");
	fs = fs_of(h->dev[0]);
	must(write_as(h, 0, REQ_FUA), "write");
	do {
		settle_as(h, 0);
	} while (fs->replica.nr_dirty || fs->replica.nr_away || fs->replica.nr_held);
	n = fs->heart.beats;
	world->quiet = true;
	world->shared = false;
	hosts_nap(60000);
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
	check_as(h, 0);
	close_as(h, 0);
}

/* Taken while it rests: what it has to write then fails, and nothing of it gets through. */
static void taken_at_rest(void *arg)
{
	struct hosts *h = arg;
	u64 start;

	hosts_begin(h);
	open_soon(h, 0, "open");
	must(write_as(h, 0, REQ_FUA), "write");
	settle_as(h, 0);
	start = hosts_ms();
	open_soon(h, 1, "open what rests");
	if (hosts_ms() - start < WATCH)
		sim_fail("taken after %llu ms", hosts_ms() - start);
	must(write_as(h, 1, REQ_FUA), "write");
	must_not(write_as(h, 0, REQ_FUA), -EIO, "write to what is another machine's");
	if (fusion_mode(fs_of(h->dev[0])) != FUSION_FAIL)
		sim_fail("it has not noticed");
	must(write_as(h, 1, 0), "write");
	close_as(h, 0);
	check_as(h, 1);
	close_as(h, 1);
	open_soon(h, 1, "open again");
	check_as(h, 1);
	close_as(h, 1);
}

/* The same by what the module writes of itself. */
static void taken_before_a_checkpoint(void *arg)
{
	struct hosts *h = arg;

	hosts_begin(h);
	open_soon(h, 0, "open");
	must(write_as(h, 0, REQ_FUA), "write");
	settle_as(h, 0);
	open_soon(h, 1, "open what rests");
	must(write_as(h, 1, REQ_FUA), "write");
	must_not(sim_dev_message(h->dev[0], "checkpoint"), -EIO, "checkpoint of what is lost");
	close_as(h, 0);
	check_as(h, 1);
	close_as(h, 1);
}

/* The machine stood still for so long that another one took its set; then it goes on. */
static void stopped(void *arg)
{
	struct hosts *h = arg;
	struct fusion *fs;

	hosts_begin(h);
	open_soon(h, 0, "open");
	fs = fs_of(h->dev[0]);
	must(write_as(h, 0, REQ_FUA), "write");
	settle_as(h, 0);
	must(write_as(h, 0, REQ_FUA), "write");
	stop_machine(fs);
	open_soon(h, 1, "open what stands still");
	must(write_as(h, 1, REQ_FUA), "write");
	must_not(write_as(h, 0, REQ_FUA), -EIO, "write of a machine that stood still");
	fusion_beat_freeze(fs, false);
	close_as(h, 0);
	check_as(h, 1);
	close_as(h, 1);

	/* no other machine took it: it goes on */
	hosts_begin(h);
	open_soon(h, 0, "open");
	fs = fs_of(h->dev[0]);
	stop_machine(fs);
	hosts_nap(3 * WATCH);
	must(write_as(h, 0, REQ_FUA), "write of a machine that stood still");
	fusion_beat_freeze(fs, false);
	check_as(h, 0);
	close_as(h, 0);
}

/* Suspended, and used elsewhere: it is not resumed. */
static void suspended(void *arg)
{
	struct hosts *h = arg;

	hosts_begin(h);
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
	check_as(h, 1);
	close_as(h, 1);
}

/* A tool that knows nothing of heartbeats has written to the set at rest: see the superblock. */
static void changed_at_rest(void *arg)
{
	u8 block[FUSION_BLOCK_SIZE];
	struct hosts *h = arg;
	struct fusion_sb sb;
	u64 nr;

	hosts_begin(h);
	open_soon(h, 0, "open");
	must(write_as(h, 0, REQ_FUA), "write");
	settle_as(h, 0);
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

	hosts_begin(h);
	open_soon(h, 0, "open");
	must(write_as(h, 0, REQ_FUA), "write");
	/* where a disk is so slow that beats come late, neither may have it in the end */
	for (i = 0; i < (fs_of(h->dev[0])->heart.late ? 9 : 1) && !h->open[1]; i++)
		h->open[1] = !create_as(h, 1, &h->dev[1], 1, "takeover on");
	if (!h->open[1])
		sim_fail("an administrator insists, and does not get it");
	must(write_as(h, 1, REQ_FUA), "write");
	must_not(write_as(h, 0, REQ_FUA), -EIO, "write to what was taken");
	close_as(h, 0);
	check_as(h, 1);
	close_as(h, 1);
}

/* Two paths to the same disks, one machine. */
static void same_machine(void *arg)
{
	struct hosts *h = arg;
	struct sim_dev *twice;

	hosts_begin(h);
	open_soon(h, 0, "open");
	must_not(create_as(h, 0, &twice, 0, ""), -EBUSY, "open by another path");
	must(write_as(h, 0, REQ_FUA), "write");
	close_as(h, 0);
}

const scene_fn scenes_in_turn[] = {
	beats, rest_and_wake, taken_at_rest, taken_before_a_checkpoint, stopped, suspended,
	changed_at_rest, taken_by_force, same_machine, NULL,
};
