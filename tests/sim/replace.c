// SPDX-License-Identifier: GPL-2.0-only
/*
 * A member is replaced while the set is open, as fusionctl does it: a new disk is prepared, another
 * table lets it join, the set works on with three disks, and a table without the old one is loaded
 * when nothing is left there. Or the disk is taken back, which is a join as well.
 */
#include <stdio.h>

#include "disk.h"
#include "invariants.h"
#include "replace.h"

struct sim_disk *any_disk(void)
{
	u32 i = rnd_below(&world->rng, world->disk[SIM_THIRD] ? SIM_MAX_DISKS : SIM_NR_DISKS);

	return world->disk[i];
}

void table_options(const struct setup *s, bool old, char *text, size_t size)
{
	/* two more words than without: see make_setup() */
	if (old)
		snprintf(text, size, "22%s old_%s old", s->options + 2,
			 world->disk[SIM_THIRD]->role == FUSION_FAST ? "fast" : "slow");
	else
		snprintf(text, size, "%s", s->options);
}

/* -- which disk is what ---------------------------------------------------------------------- */

void exchange_disks(void)
{
	swap(world->disk[world->disk[SIM_THIRD]->role], world->disk[SIM_THIRD]);
}

static bool same_uuid(const u8 *a, const u8 *b)
{
	return !memcmp(a, b, 16);
}

/* The superblocks, as they are read. Return: are they all there? */
static bool see(struct fusion_sb sb[SIM_MAX_DISKS])
{
	unsigned int i;

	for (i = 0; i < SIM_MAX_DISKS; i++)
		if (world->disk[i] && !sim_disk_super_seen(world->disk[i], &sb[i]))
			return false;
	return true;
}

bool needs_old(void)
{
	struct fusion_sb fast;

	return world->disk[SIM_THIRD] && sim_disk_super_seen(world->disk[FUSION_FAST], &fast) &&
	       fusion_sb_has_old(&fast);
}

/* Of two members of one role the other member names one. */
static void put_in_place(void)
{
	const enum fusion_dev role = world->disk[SIM_THIRD]->role;
	struct fusion_sb sb[SIM_MAX_DISKS];

	if (!see(sb))
		sim_fail("a disk has no superblock");
	if (same_uuid(sb[!role].peer_uuid, sb[role].dev_uuid))
		return;
	if (!same_uuid(sb[!role].peer_uuid, sb[SIM_THIRD].dev_uuid))
		sim_fail("the %s member names none of the other disks",
			 role == FUSION_FAST ? "slow" : "fast");
	exchange_disks();
}

/* A set of the other two disks must be none. */
static void try_wrong_pair(const struct setup *s)
{
	struct fusion_sb sb;
	struct sim_dev *dev;

	sim_disk_super_seen(world->disk[FUSION_FAST], &sb);
	exchange_disks();
	if (!sim_dev_create(&dev, &sb, s->options, false))
		sim_fail("a disk that is no member makes a set with the other member");
	exchange_disks();
}

/* May the third disk take the place of the member of its role? */
static bool may_join(const struct fusion_sb sb[SIM_MAX_DISKS])
{
	const enum fusion_dev role = sb[SIM_THIRD].role;
	const char *why;

	return !fusion_sb_may_join(&sb[role], &sb[!role], &sb[SIM_THIRD], &why);
}

void draw_opening(struct state *st, bool read_only, struct arrangement *how)
{
	u64 *rng = &world->rng;
	struct fusion_sb sb[SIM_MAX_DISKS];

	*how = (struct arrangement){ };
	if (!world->disk[SIM_THIRD])
		return;
	put_in_place();
	see(sb);
	if (!rnd_below(rng, 8))
		try_wrong_pair(&st->run->setup);
	if (!read_only && may_join(sb) && !rnd_below(rng, 6)) {
		how->old = true;
		how->joins = true;
	} else if (fusion_sb_has_old(&sb[FUSION_FAST])) {
		how->without = !rnd_below(rng, 4);
		how->old = !how->without;
	} else {
		/* it may have been told that it has left, or not */
		how->old = sb[SIM_THIRD].old.state != FUSION_OLD_PREPARED && !rnd_below(rng, 4);
	}
}

bool may_fail(const struct arrangement *how, int r)
{
	if (how->joins)
		exchange_disks();
	return (how->joins && (r == -EAGAIN || r == -EBUSY)) || (how->without && r == -ENODEV);
}

/* -- a new disk ------------------------------------------------------------------------------ */

/* Its metadata may be that of another life, which ended as that of the member did. */
static void copy_remains(struct sim_disk *to, const struct sim_disk *from)
{
	u32 i;

	for (i = FUSION_FIRST_FREE_BLOCK; i < sim_disk_blocks(from); i++)
		sim_disk_set_block(to, i, sim_disk_block(from, i));
	sim_disk_set_block(to, FUSION_BEAT_BLOCKNR, sim_disk_block(from, FUSION_BEAT_BLOCKNR));
}

static void prepare(struct sim_disk *disk, const struct fusion_sb *member)
{
	u64 *rng = &world->rng;
	struct fusion_sb sb = *member;
	u8 block[FUSION_BLOCK_SIZE];
	u32 i;

	for (i = 0; i < sizeof(sb.dev_uuid); i++)
		sb.dev_uuid[i] = rnd(rng);
	sb.self_sectors = disk->sectors;
	sb.flags = 0;
	fusion_sb_leave(&sb);
	sb.old.state = FUSION_OLD_PREPARED;
	sb.old.sectors = member->self_sectors;
	memcpy(sb.old.uuid, member->dev_uuid, sizeof(sb.old.uuid));
	sb.generation = rnd_below(rng, 2) ? 1 : member->generation + rnd_below(rng, 4);
	for (i = 0; i < 2; i++, sb.generation++) {
		const u64 nr = FUSION_SUPER_BLOCKNR(sb.generation & 1);

		fusion_sb_pack(&sb, nr, block);
		sim_disk_set_block(disk, nr, block);
	}
}

/* In the place of the member @role, which becomes the third disk. */
static void add_disk(struct state *st, enum fusion_dev role, const struct fusion_sb *member)
{
	const struct setup *s = &st->run->setup;
	const u64 now = world->disk[role]->sectors, most = fusion_sb_dev_sectors(&s->most, role);
	u64 *rng = &world->rng;
	struct sim_disk *disk = disk_alloc(world->disk[role]);

	/* one that is worn out could not join: neither the new one, nor the old one once more */
	disk->worn = 0;
	world->disk[role]->worn = 0;
	disk->discards = rnd_below(rng, 2);
	disk->fua = rnd_below(rng, 2);
	disk->through = !rnd_below(rng, 8);
	disk->tears = rnd_below(rng, 2);
	if (most > now)
		disk->sectors = now + rnd_below(rng, (most - now) / EXTENT_SECTORS + 1) *
				EXTENT_SECTORS;
	sim_disk_lose_data(disk, rng);
	if (rnd_below(rng, 2))
		copy_remains(disk, world->disk[role]);
	prepare(disk, member);
	world->disk[SIM_THIRD] = world->disk[role];
	world->disk[role] = disk;
}

/* -- another table --------------------------------------------------------------------------- */

/*
 * It takes over. Where disks may fail, they do, now and then, but not while the set is closed: the
 * next table would take a superblock for durable that is in a cache only, as any table does.
 * Return: 0 or its error.
 */
static int take_over(struct state *st, struct sim_dev *old)
{
	u64 *rng = &world->rng;

	st->ready = false;
	stop_faults();
	sim_dev_suspend(old);
	if (st->run->setup.faults && rnd_below(rng, 2))
		sim_disk_set_faults(any_disk(), SIM_FAULT_WRITE * (1 + rnd_below(rng, 3)),
				    2 << rnd_below(rng, 5));
	return sim_dev_resume(st->dev);
}

/* The set goes on as it was, after a join that could not be. */
static void go_on(struct state *st)
{
	int r;

	sim_dev_destroy(st->dev);
	exchange_disks();
	r = make_table(st, &st->dev, false);
	if (!r)
		r = sim_dev_resume(st->dev);
	if (r)
		sim_fail("the set cannot be opened again as it was: %d", r);
}

/* @joins: the disks of a role have changed places; @old: the table names the third one */
static void load_other(struct state *st, bool joins, bool old)
{
	struct sim_dev *was = st->dev;
	int r;

	r = make_table_with(st, &st->dev, false, old);
	if (r) {
		/* a read fails, or the slow member does not know of the last change yet */
		if (!st->run->setup.faults && r != -EAGAIN)
			sim_fail("a table for the disks in their new places cannot be made: %d", r);
		st->dev = was;
		if (joins)
			exchange_disks();
		return;
	}
	r = take_over(st, was);
	sim_log("%s: %d", joins ? "join" : old ? "with the old disk" : "without it", r);
	/* content that an error has left in a cache is not promised */
	if (st->run->setup.faults || gave_up()) {
		st->crashed = true;
		return;
	}
	if ((r == -EAGAIN || (r == -EBUSY && set_partly_lost(sim_dev_private(was)))) && joins)
		go_on(st);
	else if (r)
		sim_fail("the set cannot be opened with the disks in their new places: %d", r);
	st->ready = true;
	st->fence.nr = 0;
	sim_dev_destroy(was);
	check_all(st);
}

/* The disk that has left can be used for anything. */
static void forget_third(void)
{
	struct fusion_sb sb;

	if (rnd_below(&world->rng, 2) || !sim_disk_super_seen(world->disk[SIM_THIRD], &sb) ||
	    !fusion_sb_apart(&sb))
		return;
	sim_disk_lose_data(world->disk[SIM_THIRD], &world->rng);
}

void replace(struct state *st)
{
	u64 *rng = &world->rng;
	struct fusion_sb sb[SIM_MAX_DISKS];
	const void *set = sim_dev_private(st->dev);
	u32 role, left;

	wait_busy(st, 0);
	/* what is under way may end, as a release of slots; and the set may stop */
	if (!set_writable(set) || !see(sb))
		return;
	turn_log_off(st);
	left = set_old_left(set);
	if (!set_has_old(set)) {
		if (world->disk[SIM_THIRD])
			forget_third();
		if (sb[FUSION_FAST].layout_seq != sb[FUSION_SLOW].layout_seq)
			return;
		role = rnd_below(rng, 2);
		add_disk(st, role, &sb[role]);
		load_other(st, true, true);
	} else if (!left && rnd_below(rng, 4)) {
		load_other(st, false, rnd_below(rng, 2));
	} else if (rnd_below(rng, 2)) {
		exchange_disks();
		load_other(st, true, true);
	} else {
		load_other(st, false, true);
	}
}
