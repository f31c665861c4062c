// SPDX-License-Identifier: GPL-2.0-only
/*
 * A write fails on one member, and leaves behind what the disk's cache has, but nothing promises. A
 * copy of that is made on the other member, which is durable. Then the set is closed, and power
 * fails: what the two slots have differs now, so neither is a shadow of the other.
 */
#include <stdio.h>

#include "image.h"
#include "invariants.h"

#define NR	4U		/* extents; the first is written to in vain */
#define AT	8U		/* sectors of it */
#define LEN	64U
#define TRIES	100U		/* a disk may do without an error what is only advice */
#define OPTIONS	"20 host 000102030405060708090a0b0c0d0e0f commit_interval 10 migration off " \
		"idle 60000 duty 100 discard_passdown on replica_interval 60 standby 0 " \
		"shadow on shadow_age 10"

static const struct trial {
	const char *what;
	enum fusion_dev dev;
	blk_opf_t op;
	bool fails;
} trials[] = {
	{ "written on the slow member", FUSION_SLOW, REQ_OP_WRITE, false },
	{ "a write fails on the slow member", FUSION_SLOW, REQ_OP_WRITE, true },
	{ "zeroes fail on the slow member", FUSION_SLOW, REQ_OP_WRITE_ZEROES, true },
	{ "a discard fails on the slow member", FUSION_SLOW, REQ_OP_DISCARD, true },
	{ "written on the fast member", FUSION_FAST, REQ_OP_WRITE, false },
	{ "a write fails on the fast member", FUSION_FAST, REQ_OP_WRITE, true },
	{ "zeroes fail on the fast member", FUSION_FAST, REQ_OP_WRITE_ZEROES, true },
	{ "a discard fails on the fast member", FUSION_FAST, REQ_OP_DISCARD, true },
};

struct unsure {
	struct setup setup;
	const struct trial *trial;
	bool failed;
	u32 current;		/* shadows when it is closed */
};

static struct sim_dev *begin(struct unsure *u)
{
	struct sim_dev *dev;

	if (image_open(&u->setup, &dev, false))
		sim_fail("%s: the set cannot be opened", u->trial->what);
	return dev;
}

static void draw(u64 *content)
{
	u32 i;

	for (i = 0; i < EXTENT_SECTORS; i++)
		content[i] = rnd(&world->rng);
}

/* All of it is on the slow member. */
static void fill(struct unsure *u, struct sim_dev *dev)
{
	u64 content[EXTENT_SECTORS];
	u32 lext;

	for (lext = 0; lext < NR; lext++) {
		draw(content);
		if (sim_dev_io(dev, REQ_OP_WRITE | REQ_FUA, lext * EXTENT_SECTORS, EXTENT_SECTORS,
			       content))
			sim_fail("%s: extent %u cannot be written", u->trial->what, lext);
	}
	sim_dev_message(dev, "demote 0-3");
	set_update_replica(sim_dev_private(dev));
	msleep(2000);
}

/* All that is written to slots of the member fails meanwhile: no copy is due. */
static void change(struct unsure *u, struct sim_dev *dev)
{
	const struct trial *t = u->trial;
	u64 content[EXTENT_SECTORS];
	u32 tries;

	for (tries = 0; tries < TRIES && !u->failed; tries++) {
		draw(content);
		if (t->fails)
			sim_disk_set_faults(world->disk[t->dev], SIM_FAULT_DATA, 1);
		u->failed = sim_dev_io(dev, t->op, AT, LEN,
				       t->op == REQ_OP_WRITE ? content : NULL);
		sim_disk_set_faults(world->disk[t->dev], 0, 0);
	}
	if (u->failed != t->fails && t->op != REQ_OP_DISCARD)
		sim_fail("%s: and it did %s", t->what, t->fails ? "not" : "fail");
}

/* Until the first extent has a shadow, and the replica may call it current. */
static void wait_for_shadow(const struct unsure *u, struct sim_dev *dev)
{
	const void *set = sim_dev_private(dev);
	u32 tries;

	for (tries = 0; tries < TRIES; tries++) {
		if (set_has_current_shadow(set, 0) && set_shadows_settled(set))
			return;
		msleep(1000);
	}
	sim_fail("%s: it has no shadow", u->trial->what);
}

static void live(void *arg)
{
	struct unsure *u = arg;
	struct sim_dev *dev = begin(u);

	fill(u, dev);
	if (u->trial->dev == FUSION_SLOW)
		change(u, dev);
	sim_dev_message(dev, "promote 0-3");
	wait_for_shadow(u, dev);
	if (u->trial->dev == FUSION_FAST) {
		change(u, dev);
		sim_dev_message(dev, "shadow_age 1");
		wait_for_shadow(u, dev);
	}
	set_update_replica(sim_dev_private(dev));
	msleep(3000);
	u->current = set_shadows_current(sim_dev_private(dev));
	sim_dev_remove(dev);
}

/* What is read does not change by itself. */
static void find(void *arg)
{
	struct unsure *u = arg;
	struct sim_dev *dev = begin(u);
	u64 before[EXTENT_SECTORS], after[EXTENT_SECTORS];
	u32 current = set_shadows_current(sim_dev_private(dev));

	check_invariants(sim_dev_private(dev));
	check_shadow_counts(sim_dev_private(dev));
	if (current != (u->failed ? 0 : u->current))
		sim_fail("%s: %u of %u shadows are taken over", u->trial->what, current,
			 u->current);
	if (sim_dev_io(dev, REQ_OP_READ, 0, EXTENT_SECTORS, before))
		sim_fail("%s: it cannot be read", u->trial->what);
	sim_dev_message(dev, "demote 0-3");
	if (sim_dev_io(dev, REQ_OP_READ, 0, EXTENT_SECTORS, after))
		sim_fail("%s: it cannot be read", u->trial->what);
	if (memcmp(before, after, sizeof(before)))
		sim_fail("%s: its content has changed", u->trial->what);
	sim_dev_remove(dev);
}

static void try_one(struct unsure *u)
{
	struct sim_world *w = sim_world_new(rnd(&world->rng)), *cut;
	unsigned int i;

	for (i = 0; i < SIM_NR_DISKS; i++) {
		w->disk[i] = sim_disk_new(i, &u->setup.sb, u->setup.discards[i],
					  u->setup.fua[i]);
		sim_disk_format(w->disk[i], &u->setup.sb, NULL, &w->rng);
	}
	u->failed = false;
	sim_run(live, u);
	cut = sim_world_new(rnd(&w->rng));
	for (i = 0; i < SIM_NR_DISKS; i++)
		cut->disk[i] = sim_disk_after_cut(w->disk[i], SIM_LOSE_ALL, &cut->rng, false);
	sim_run(find, u);
	sim_world_free(cut);
	sim_world_free(w);
}

void unsure_all(const struct setup *setup)
{
	struct unsure *u = sim_alloc(sizeof(*u), true);
	unsigned int i;

	u->setup = *setup;
	snprintf(u->setup.options, sizeof(u->setup.options), OPTIONS);
	for (i = 0; i < ARRAY_SIZE(trials); i++) {
		u->trial = &trials[i];
		try_one(u);
	}
}
