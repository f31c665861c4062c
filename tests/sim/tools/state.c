// SPDX-License-Identifier: GPL-2.0-only
/*
 * States that something may leave: every block of metadata damaged, an opening interrupted at each
 * of its writes, members that are none, or of another time.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tool.h"
#include "../../reseal.h"

#define MAX_CUTS	400U

static const char * const image_name[NR_DUMPS] = { "older", "closed", "earlier", "cut" };
static const char * const dev_name[FUSION_NR_DEVS] = { "fast", "slow" };

struct maker {
	const struct life *life;
	const struct image *image[NR_DUMPS];
	char *dump[NR_DUMPS];
	u8 *place[NR_DUMPS];
	u32 one_in;
	struct tally *tally;
};

static struct state state_of(const struct maker *m, unsigned int nr)
{
	struct state st = {
		.life = m->life,
		.image = m->image[nr],
		.own = nr,
		.place = m->place[nr],
	};

	memcpy(st.dump, m->dump, sizeof(st.dump));
	snprintf(st.what, sizeof(st.what), "%s", image_name[nr]);
	return st;
}

static void add_what(struct state *st, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void add_what(struct state *st, const char *fmt, ...)
{
	size_t len = strlen(st->what);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(st->what + len, sizeof(st->what) - len, fmt, ap);
	va_end(ap);
}

static bool chosen(const struct maker *m)
{
	return !rnd_below(&world->rng, m->one_in);
}

/* -- blocks ----------------------------------------------------------------------- */

enum damage {
	DAMAGE_ZEROS,
	DAMAGE_TORN,		/* the first sectors of it, and then what was there before */
	DAMAGE_OLDER,
	DAMAGE_NOISE,
	DAMAGE_UNREADABLE,
	NR_DAMAGES,
};

static const char * const damage_name[NR_DAMAGES] = {
	"zeros", "torn", "older", "noise", "unreadable",
};

/* Does anything of a member lie in this block? */
static bool is_metadata(const struct fusion_sb *sb, enum fusion_dev dev, u64 nr)
{
	unsigned int i;

	if (nr == FUSION_SUPER_BLOCKNR(0) || nr == FUSION_SUPER_BLOCKNR(1))
		return true;
	if (dev == FUSION_FAST && (nr == FUSION_BEAT_BLOCKNR ||
				   (nr >= sb->heat_start && nr < sb->heat_start + sb->heat_blocks)))
		return true;
	for (i = 0; i < FUSION_NR_SETS; i++)
		if (nr >= sb->map_start[dev][i] && nr < sb->map_start[dev][i] + sb->map_blocks)
			return true;
	return nr >= sb->journal_start[dev] &&
	       nr < sb->journal_start[dev] + sb->journal_blocks[dev];
}

/* Return: false: that would be no difference. */
static bool do_damage(const struct life *life, enum fusion_dev dev, u64 nr, enum damage damage)
{
	const u8 *now = sim_disk_block(world->disk[dev], nr);
	const u8 *older = sim_disk_block(life->older.disk[dev], nr);
	u8 b[FUSION_BLOCK_SIZE];
	u32 i;

	memcpy(b, now, sizeof(b));
	switch (damage) {
	case DAMAGE_ZEROS:
		memset(b, 0, sizeof(b));
		break;
	case DAMAGE_TORN:
		i = 512 * (1 + rnd_below(&world->rng, FUSION_BLOCK_SECTORS - 1));
		memcpy(b + i, older + i, sizeof(b) - i);
		break;
	case DAMAGE_OLDER:
		memcpy(b, older, sizeof(b));
		break;
	case DAMAGE_NOISE:
		for (i = 0; i < sizeof(b); i++)
			b[i] = rnd(&world->rng);
		break;
	default:
		sim_disk_set_bad(world->disk[dev], nr);
		return true;
	}
	if (!memcmp(b, now, sizeof(b)))
		return false;
	sim_disk_set_block(world->disk[dev], nr, b);
	return true;
}

/* Damage it in the world as it is. Return: false: that would be no difference. */
static bool damage_block(const struct maker *m, struct state *st, enum fusion_dev dev, u64 nr,
			 enum damage damage)
{
	const struct fusion_sb *sb = &m->life->setup->sb;

	if (!do_damage(m->life, dev, nr, damage))
		return false;
	add_what(st, ", %s block %llu %s", dev_name[dev], nr, damage_name[damage]);
	if (dev == FUSION_FAST && nr >= sb->journal_start[dev] &&
	    nr < sb->journal_start[dev] + sb->journal_blocks[dev])
		st->torn[st->damaged] = nr;
	/* the cut may have torn the other copy, or that was damaged before */
	if (nr == FUSION_SUPER_BLOCKNR(0) || nr == FUSION_SUPER_BLOCKNR(1)) {
		st->wiped[dev] |= st->interrupted || st->super[dev];
		st->super[dev] = true;
	}
	st->damaged++;
	return true;
}

/* A block of any kind, and any damage. */
static void damage_any(const struct maker *m, struct state *st)
{
	const struct fusion_sb *sb = &m->life->setup->sb;
	u32 dev = rnd_below(&world->rng, SIM_NR_DISKS), nr;

	do
		nr = rnd_below(&world->rng, sim_disk_blocks(world->disk[dev]));
	while (!is_metadata(sb, dev, nr));
	damage_block(m, st, dev, nr, rnd_below(&world->rng, NR_DAMAGES));
}

/* Both copies of a member's superblock. */
static void wipe(struct state *st, enum fusion_dev dev)
{
	static const u8 zeros[FUSION_BLOCK_SIZE];
	unsigned int i;

	for (i = 0; i < 2; i++)
		sim_disk_set_block(world->disk[dev], FUSION_SUPER_BLOCKNR(i), zeros);
	st->wiped[dev] = true;
}

/* The one block is damaged, perhaps a second one, or a member has no superblock besides. */
static void with_more_damage(const struct maker *m, struct state *st)
{
	u32 dev = rnd_below(&world->rng, SIM_NR_DISKS);

	switch (rnd_below(&world->rng, 8)) {
	case 0:
		damage_any(m, st);
		break;
	case 1:
		wipe(st, dev);
		add_what(st, ", the %s member without superblocks", dev_name[dev]);
		break;
	}
	judge_state(st, m->tally);
}

static void blocks_damaged(const struct maker *m, unsigned int nr)
{
	const struct image *image = m->image[nr];
	struct fusion_sb sb;
	u32 dev, block, damage;

	image_super(image, FUSION_FAST, &sb);
	for (dev = 0; dev < SIM_NR_DISKS; dev++)
		for (block = 0; block < sim_disk_blocks(image->disk[dev]); block++)
			for (damage = 0; damage < NR_DAMAGES; damage++) {
				struct state st = state_of(m, nr);

				if (!is_metadata(&sb, dev, block) || !chosen(m))
					continue;
				image_enter(image);
				if (damage_block(m, &st, dev, block, damage))
					with_more_damage(m, &st);
				image_leave();
			}
}

/* The superblock before @now, which the other copy holds. */
static void super_before(struct sim_disk *disk, const struct fusion_sb *now, struct fusion_sb *sb)
{
	static const u8 zeros[FUSION_BLOCK_SIZE];
	const u64 nr = FUSION_SUPER_BLOCKNR(now->generation & 1);
	u8 b[FUSION_BLOCK_SIZE];

	memcpy(b, sim_disk_block(disk, nr), sizeof(b));
	sim_disk_set_block(disk, nr, zeros);
	if (sim_disk_super(disk, sb) != 1)
		sim_fail("a superblock of a set that is well is not");
	sim_disk_set_block(disk, nr, b);
}

/* Of the fast journal only what lies behind the older map copy. Return: false: not all of that. */
static bool forget_history(const struct fusion_sb *before)
{
	static const u8 zeros[FUSION_BLOCK_SIZE];
	struct sim_disk *disk = world->disk[FUSION_FAST];
	const struct fusion_journal_block *b;
	bool all = false;
	u32 i;

	for (i = 0; i < before->journal_blocks[FUSION_FAST]; i++) {
		const u64 nr = before->journal_start[FUSION_FAST] + i;

		b = (const void *)sim_disk_block(disk, nr);
		if (fusion_block_check(before, FUSION_MAGIC_JOURNAL, nr, b) ||
		    le64_to_cpu(b->seq) < before->replay_seq)
			sim_disk_set_block(disk, nr, zeros);
		else
			all |= le64_to_cpu(b->seq) == before->replay_seq;
	}
	return all;
}

/* One block of the map in use is damaged: the older copy and the journal make up for it. */
static void map_blocks_damaged(const struct maker *m, unsigned int nr)
{
	struct fusion_sb sb, before;
	u32 i, damage;

	image_super(m->image[nr], FUSION_FAST, &sb);
	for (i = 0; i < sb.map_blocks; i++)
		for (damage = 0; damage < NR_DAMAGES; damage++) {
			struct state st = state_of(m, nr);

			image_enter(m->image[nr]);
			super_before(world->disk[FUSION_FAST], &sb, &before);
			st.costs_nothing = before.active_set != sb.active_set &&
					   forget_history(&before);
			add_what(&st, ", history forgotten");
			if (st.costs_nothing &&
			    damage_block(m, &st, FUSION_FAST,
					 sb.map_start[FUSION_FAST][sb.active_set] + i, damage))
				judge_state(&st, m->tally);
			image_leave();
		}
}

/* -- openings --------------------------------------------------------------------- */

struct interrupted {
	const struct life *life;
	u32 left;		/* changes of the disks until the cut */
	bool opened;
};

static void cut_later(struct sim_world *w, void *ctx)
{
	struct interrupted *in = ctx;

	w->stop = !in->left--;
}

static void open_it(void *arg)
{
	struct interrupted *in = arg;
	struct sim_dev *dev;

	if (image_open(in->life->setup, &dev, false))
		sim_fail("a set that is well cannot be opened");
	world->cut = NULL;
	sim_dev_remove(dev);
	in->opened = true;
}

static void interrupted_at(const struct maker *m, unsigned int nr, struct interrupted *in)
{
	struct state st = state_of(m, nr);
	struct sim_world *from = world;
	struct sim_world *w = sim_world_new(rnd(&world->rng));
	unsigned int i;

	for (i = 0; i < SIM_NR_DISKS; i++)
		w->disk[i] = sim_disk_after_cut(from->disk[i], rnd_below(&w->rng, SIM_NR_LOSSES),
						&w->rng, true);
	st.interrupted = true;
	add_what(&st, ", opening cut at %u", in->left);
	if (rnd_below(&world->rng, 2))
		damage_any(m, &st);
	if (!rnd_below(&world->rng, 4)) {
		u32 dev = rnd_below(&world->rng, SIM_NR_DISKS);

		wipe(&st, dev);
		add_what(&st, ", the %s member without superblocks", dev_name[dev]);
	}
	judge_state(&st, m->tally);
	sim_world_free(world);
}

static void openings(const struct maker *m, unsigned int nr)
{
	struct interrupted in = { .life = m->life };
	u32 left;

	for (left = 0; left < MAX_CUTS && !in.opened; left++) {
		image_enter(m->image[nr]);
		in.left = left;
		world->cut = cut_later;
		world->cut_ctx = &in;
		sim_run(open_it, &in);
		in.left = left;
		if (!in.opened)
			interrupted_at(m, nr, &in);
		image_leave();
	}
}

/* -- members that are none -------------------------------------------------------- */

enum strangers {
	STRANGER_ZEROS,
	STRANGER_NOISE,
	STRANGER_WIPED,		/* both copies of the superblock */
	STRANGER_OTHER_SET,
	STRANGER_OTHER_TIME,	/* up to NR_DUMPS of them */
	NR_STRANGERS = STRANGER_OTHER_TIME + NR_DUMPS,
};

static const char * const stranger_name[NR_STRANGERS] = {
	"zeros", "noise", "wiped", "of another set", "of older", "of closed", "of earlier",
	"of cut",
};

static void of_another_set(struct sim_disk *disk)
{
	union {
		u8 raw[FUSION_BLOCK_SIZE];
		struct fusion_block_header h;
	} b;
	u32 nr;

	for (nr = 0; nr < sim_disk_blocks(disk); nr++) {
		memcpy(b.raw, sim_disk_block(disk, nr), sizeof(b));
		if (!b.h.magic)
			continue;
		b.h.set_uuid[0]++;
		reseal(b.raw);
		sim_disk_set_block(disk, nr, b.raw);
	}
}

static void fill(struct sim_disk *disk, bool noise)
{
	u8 b[FUSION_BLOCK_SIZE];
	u32 nr, i;

	for (nr = 0; nr < sim_disk_blocks(disk); nr++) {
		memset(b, 0, sizeof(b));
		for (i = 0; noise && i < sizeof(b); i++)
			b[i] = rnd(&world->rng);
		sim_disk_set_block(disk, nr, b);
	}
	sim_disk_lose_data(disk, &world->rng);
}

/* Return: false: there is no such state. */
static bool exchange(const struct maker *m, unsigned int nr, enum fusion_dev dev,
		     enum strangers kind, struct state *st)
{
	struct sim_disk **disk = &world->disk[dev];

	st->stranger[dev] = kind != STRANGER_WIPED;
	switch (kind) {
	case STRANGER_ZEROS:
	case STRANGER_NOISE:
		st->blank[dev] = true;
		fill(*disk, kind == STRANGER_NOISE);
		break;
	case STRANGER_WIPED:
		wipe(st, dev);
		break;
	case STRANGER_OTHER_SET:
		of_another_set(*disk);
		break;
	default:
		if (kind - STRANGER_OTHER_TIME == nr)
			return false;
		*disk = sim_disk_after_cut(m->image[kind - STRANGER_OTHER_TIME]->disk[dev],
					   SIM_LOSE_ALL, &world->rng, false);
	}
	return true;
}

static void strangers(const struct maker *m, unsigned int nr)
{
	u32 dev, kind;

	for (dev = 0; dev < SIM_NR_DISKS; dev++)
		for (kind = 0; kind < NR_STRANGERS; kind++) {
			struct state st = state_of(m, nr);

			image_enter(m->image[nr]);
			add_what(&st, ", the %s member %s", dev_name[dev], stranger_name[kind]);
			if (exchange(m, nr, dev, kind, &st))
				judge_state(&st, m->tally);
			/* nothing but the order of the last writes tells whose set it becomes */
			if (kind == STRANGER_WIPED)
				judge_last_writes(&st, m->tally);
			image_leave();
		}
}

/* --------------------------------------------------------------------------------- */

static char *map_of(const struct image *image)
{
	struct tool_result r;
	char *text;

	image_enter(image);
	tool_run(&r, TOOL_DUMP, 0, NULL, 0);
	image_leave();
	if (r.rc)
		sim_fail("dump of a set that is well: %s", r.err);
	text = sim_alloc(strlen(r.out) + 1, false);
	strcpy(text, r.out);
	tool_end(&r);
	return text;
}

void states_all(const struct life *life, u32 one_in, struct tally *t)
{
	struct maker m = {
		.life = life,
		.image = { &life->older, &life->closed, &life->earlier, &life->cut },
		.one_in = one_in,
		.tally = t,
	};
	struct state st;
	unsigned int i;

	for (i = 0; i < NR_DUMPS; i++) {
		m.dump[i] = map_of(m.image[i]);
		m.place[i] = judge_places(life, m.image[i]);
	}
	for (i = 0; i < NR_DUMPS; i++) {
		st = state_of(&m, i);
		image_enter(m.image[i]);
		judge_state(&st, t);
		image_leave();
		strangers(&m, i);
	}
	openings(&m, 1);
	openings(&m, 3);
	blocks_damaged(&m, 1);
	blocks_damaged(&m, 3);
	map_blocks_damaged(&m, 1);
	map_blocks_damaged(&m, 3);
}
