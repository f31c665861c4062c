// SPDX-License-Identifier: GPL-2.0-only
/*
 * fusionctl replace on an open set, which the module has open in this world, with the power cut at
 * any write of either. What the verb asks of the host is answered by open-host.c; all else of it is
 * the real one.
 *
 * After each cut the tool's own search for three disks tells how to open the set, which has all its
 * content then. The command is given again, or --abort, and has to come to its end.
 */
#include <string.h>

#include "assemble.h"
#include "fusionctl.h"
#include "super.h"
#include "trio.h"
#include "open-host.h"
#include "../disk.h"
#include "../invariants.h"

static struct rig {
	struct tool_set set;
	const struct life *life;
	const struct image *image;
	struct tally *tally;
	enum fusion_dev role;	/* of the member that is replaced */
	u32 one_in;		/* changes of a disk after which power is cut */
} *rig;

/* -- opening ---------------------------------------------------------------------- */

static struct member *all_members(void)
{
	struct member *list = NULL, **tail = &list;
	int nr;

	for (nr = 0; nr < SIM_MAX_DISKS; nr++) {
		__wrap_fus_member_at(tool_devno(nr), tail);
		if (*tail)
			tail = &(*tail)->next;
	}
	fus_set_apart(list);
	return list;
}

/* As fusionctl finds it; nobody helps. Fails the run unless it opens, and has its content. */
static void open_found(const char *when)
{
	struct member *list = all_members(), *m = list;
	struct pair p;
	int fast, slow, r;

	while (m && !fus_has_identity(m))
		m = m->next;
	if (!m || find_pair(list, m, &p) || !is_complete(&p))
		sim_fail("%s: fusionctl does not find the disks of the set", when);
	/* p.foreign: the old disk, if power failed before that was told that it has left */
	fast = tool_disk_with((p.m->sb->role == FUSION_FAST ? p.m : p.peer)->devno);
	slow = tool_disk_with((p.m->sb->role == FUSION_FAST ? p.peer : p.m)->devno);
	rig->set.table = tool_table_with(fast, slow, p.old ? (int)p.old->sb->role : -1);
	fus_free_members(list);
	r = tool_make(&rig->set.table, &rig->set.dev);
	if (!r)
		r = sim_dev_resume(rig->set.dev);
	if (r)
		sim_fail("%s: the kernel refuses the disks that fusionctl finds: %d", when, r);
	check_invariants(sim_dev_private(rig->set.dev));
	image_check(rig->life, rig->set.dev, rig->image->content, NULL, when);
}

/* -- a command -------------------------------------------------------------------- */

static void complain_of(const struct tool_result *r, const char *what)
{
	sim_fail("replace: %s; status %d: %.300s%.300s", what, r->rc, r->err, r->out);
}

/* Which disk is the member now? */
static bool is_new(void)
{
	return rig->set.table.disk[rig->role] == SIM_THIRD;
}

/* It has joined, and the command does not wait. */
static void only_begin(void)
{
	struct tool_result r;

	tool_replace(&r, rig->role, TOOL_NO_WAIT);
	if (r.rc)
		complain_of(&r, "it does not begin");
	tool_end(&r);
}

/* To the end, whatever was before; then nothing is left of the disk that is none of the set. */
static void command(bool abort)
{
	unsigned int flags = TOOL_WAIT;
	struct tool_result r;
	struct fusion_sb sb;

	tool_replace(&r, rig->role, abort ? TOOL_ABORT : 0);
	if (!r.rc) {
		if (is_new() == abort)
			complain_of(&r, "it ends, with the wrong member");
	} else {
		/* too late for the one, or too early for the other: what does it say? */
		if (strstr(r.err, "no member of it is being replaced"))
			flags = 0;
		else if (!strstr(r.err, "fusionctl replace set --wait"))
			complain_of(&r, "it does not end, and there is no remedy");
		tool_end(&r);
		tool_replace(&r, rig->role, flags);
		if (r.rc)
			complain_of(&r, "the remedy does not end it");
	}
	if (rig->set.table.old_role >= 0)
		complain_of(&r, "it ends, and there is an old member");
	if (sim_disk_super_seen(world->disk[SIM_THIRD], &sb) && fusion_sb_apart(&sb))
		complain_of(&r, "it ends, and a disk that has left is not wiped");
	tool_end(&r);
	check_invariants(sim_dev_private(rig->set.dev));
	image_check(rig->life, rig->set.dev, rig->image->content, NULL, "after the command");
}

static void shut(void)
{
	sim_dev_remove(rig->set.dev);
	rig->set.dev = NULL;
}

/* Power has failed; or the command has ended. */
static void go_on(void *arg)
{
	const bool *power_failed = arg;

	open_found(*power_failed ? "after the cut" : "closed");
	if (!*power_failed)
		goto out;
	/* perhaps after it was closed once more */
	if (!rnd_below(&world->rng, 4)) {
		shut();
		open_found("opened twice");
	}
	command(!rnd_below(&world->rng, 3));
	shut();
	open_found("in the end");
out:
	shut();
}

/* In a world of its own, with the same tables, which are another world's to change. */
static void in_another_world(bool power_failed)
{
	struct sim_world *from = world, *w = sim_world_new(rnd(&world->rng));
	struct rig inner = *rig, *outer = rig;
	u8 place[SIM_MAX_DISKS];
	int i;

	memcpy(place, tool_place, sizeof(place));
	for (i = 0; i < SIM_MAX_DISKS; i++)
		w->disk[i] = sim_disk_after_cut(from->disk[i], power_failed ?
						rnd_below(&w->rng, SIM_NR_LOSSES) : SIM_LOSE_NONE,
						&w->rng, false);
	rig = &inner;
	tool_set = &inner.set;
	sim_run(go_on, &power_failed);
	sim_world_free(w);
	rig = outer;
	tool_set = &outer->set;
	memcpy(tool_place, place, sizeof(place));
}

static void cut(struct sim_world *w, void *ctx)
{
	if (rnd_below(&w->rng, rig->one_in))
		return;
	rig->tally->replacing_cut++;
	in_another_world(true);
}

static void whole(void *arg)
{
	struct fusion_sb sb;

	open_found("at first");
	world->cut = cut;
	if (rnd_below(&world->rng, 2)) {
		only_begin();
		command(true);
	}
	command(false);
	if (sim_disk_super_seen(world->disk[SIM_THIRD], &sb))
		sim_fail("the old disk was not told that it has left, or is not wiped");
	/* once more: nothing is to be done */
	command(false);
	shut();
	world->cut = NULL;
}

/* Of another life, perhaps, with as much room or more. */
static struct sim_disk *new_disk(const struct sim_disk *member)
{
	const u8 zeros[FUSION_BLOCK_SIZE] = { 0 };
	struct sim_disk *disk = disk_alloc(member);
	u32 i;

	for (i = 0; i < sim_disk_blocks(member); i++)
		sim_disk_set_block(disk, i, sim_disk_block(member, i));
	disk->tears = false;
	sim_disk_lose_data(disk, &world->rng);
	if (rnd_below(&world->rng, 2))
		disk->sectors += EXTENT_SECTORS * rnd_below(&world->rng, 4);
	/* no member of this set, as fusionctl does not let one be used */
	sim_disk_set_block(disk, FUSION_SUPER_BLOCKNR(0), zeros);
	sim_disk_set_block(disk, FUSION_SUPER_BLOCKNR(1), zeros);
	return disk;
}

void replacing_all(const struct life *life, u32 one_in, struct tally *t)
{
	const struct image *images[] = { &life->closed, &life->cut };
	u32 i;

	for (i = 0; i < 2 * ARRAY_SIZE(images); i++) {
		struct rig r = {
			.set.setup = life->setup,
			.life = life,
			.image = images[i / 2],
			.tally = t,
			.role = i & 1,
			.one_in = one_in,
		};

		rig = &r;
		tool_set = &r.set;
		image_enter(r.image);
		for (int nr = 0; nr < SIM_MAX_DISKS; nr++)
			tool_place[nr] = nr;
		world->disk[SIM_THIRD] = new_disk(world->disk[r.role]);
		sim_run(whole, NULL);
		in_another_world(false);
		t->replaced++;
		image_leave();
		for (int nr = 0; nr < SIM_MAX_DISKS; nr++)
			tool_place[nr] = nr;
	}
}
