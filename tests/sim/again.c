// SPDX-License-Identifier: GPL-2.0-only
/*
 * A set with open extents was cut off, and each of its recoveries is cut short behind the journal
 * block that records the bitmaps again, before the superblock that would take the blocks before it
 * out of use: so the ring is used up. The recovery that finds it so fills the open extents, as
 * there is no room for their bitmaps; and is also cut short, at any point.
 *
 * Of a set with a landing log it is never used up.
 */
#include "image.h"
#include "invariants.h"

/* More than it takes, and more than a recovery has of places to be cut at. */
#define MAX_CUTS	200U
/* Blocks of the smallest journal, and some. */
#define MAX_ROUNDS	80U

struct again {
	const struct life *life;
	u32 left;		/* changes of the disks or promises until the cut */
	bool opened;
	u32 nr_open;		/* extents, once it is opened */
};

static void cut_later(struct sim_world *w, void *ctx)
{
	struct again *a = ctx;

	w->stop = !a->left--;
}

static void open_it(void *arg)
{
	struct again *a = arg;
	struct sim_dev *dev;
	u32 lext;

	if (image_open(a->life->setup, &dev, false))
		sim_fail("after a recovery cut short: the set cannot be opened");
	/* as it is now: there is no other cut */
	world->cut = NULL;
	check_invariants(sim_dev_private(dev));
	a->nr_open = 0;
	for (lext = 0; lext < a->life->setup->sb.nr_lexts; lext++) {
		u32 word = set_word(sim_dev_private(dev), lext);

		a->nr_open += fusion_word_mapped(word) &&
			      fusion_word_state(word) == FUSION_OPEN;
	}
	image_check(a->life, dev, a->life->cut.content, NULL, "after recoveries cut short");
	sim_dev_remove(dev);
	a->opened = true;
}

/* Open what is found on the disks of this world after a cut, cut at @left changes; U32_MAX: not. */
static void enter(struct again *a, const enum sim_loss *loss, u32 left)
{
	struct sim_world *from = world, *w = sim_world_new(rnd(&world->rng));
	unsigned int i;

	for (i = 0; i < SIM_NR_DISKS; i++)
		w->disk[i] = sim_disk_after_cut(from->disk[i], loss[i], &w->rng, true);
	a->left = left;
	a->opened = false;
	if (left != U32_MAX) {
		w->cut = cut_later;
		w->cut_ctx = a;
	}
	sim_run(open_it, a);
}

/* Does a recovery find it used up? */
static bool used_up(struct again *a)
{
	static const enum sim_loss none[SIM_NR_DISKS] = { SIM_LOSE_NONE, SIM_LOSE_NONE };

	enter(a, none, U32_MAX);
	sim_world_free(world);
	return !a->nr_open;
}

/* Cut it at each place, then see what is there. Return: at how many. */
static u32 cut_everywhere(struct again *a)
{
	static const enum sim_loss found[SIM_NR_DISKS] = { SIM_LOSE_NONE, SIM_LOSE_NONE };
	u32 left, cuts = 0;
	bool opened;

	for (left = 0; left < MAX_CUTS; left++) {
		enum sim_loss loss[SIM_NR_DISKS] = { left % 2 ? SIM_LOSE_ALL : SIM_LOSE_NONE,
						     SIM_LOSE_ALL };

		enter(a, found, left);
		opened = a->opened;
		if (!opened) {
			cuts++;
			enter(a, loss, U32_MAX);
			sim_world_free(world);
		}
		sim_world_free(world);
		if (opened)
			return cuts;
	}
	sim_fail("a recovery without an end");
	return 0;
}

/* Return: whether recoveries cut at @left changes use it up. */
static bool cut_again(const struct life *life, u32 left, struct opening *o)
{
	static const enum sim_loss none[SIM_NR_DISKS] = { SIM_LOSE_NONE, SIM_LOSE_NONE };
	struct again a = { .life = life };
	bool full = false;
	u32 i;

	image_enter(&life->cut);
	for (i = 0; i < MAX_ROUNDS && !full; i++) {
		enter(&a, none, left);
		sim_world_drop_parent();
		o->cuts++;
		if (a.opened)
			break;
		full = used_up(&a);
	}
	if (full)
		o->cuts += cut_everywhere(&a);
	image_leave();
	return full;
}

void again_all(const struct life *life, struct opening *o)
{
	u32 left;

	for (left = 0; left < MAX_CUTS; left++)
		if (cut_again(life, left, o))
			return;
	sim_fail("no way to use up the journal in recoveries");
}

static u32 epoch_found(void)
{
	struct fusion_sb sb;

	sim_disk_super(world->disk[FUSION_FAST], &sb);
	return sb.epoch;
}

/* Does an opening cut at @left changes get as far as the superblock that begins the epoch? */
static bool begins(struct again *a, u32 left, u32 epoch)
{
	static const enum sim_loss none[SIM_NR_DISKS] = { SIM_LOSE_NONE, SIM_LOSE_NONE };
	bool begun;

	enter(a, none, left);
	begun = a->opened;
	/* what was on its way then is there */
	enter(a, none, 0);
	begun |= epoch_found() != epoch;
	sim_world_free(world);
	return begun;
}

/*
 * Each is cut just before that; and one that takes more steps than all before, as it finds the ring
 * short, in each other place as well.
 */
void again_landed(const struct life *life, struct opening *o)
{
	struct again a = { .life = life };
	u32 left = 0, most = 0, epoch, i;

	image_enter(&life->cut);
	epoch = epoch_found();
	for (i = 0; i < MAX_ROUNDS; i++) {
		while (!begins(&a, left, epoch)) {
			sim_world_free(world);
			left++;
		}
		sim_world_free(world);
		if (left > most) {
			most = left;
			o->cuts += cut_everywhere(&a);
		}
		while (begins(&a, left ? --left : 0, epoch))
			sim_world_free(world);
		sim_world_drop_parent();
		o->cuts++;
	}
	begins(&a, U32_MAX, epoch);
	sim_world_free(world);
	image_leave();
}
