// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shadows that an opening takes over, or must not: something is wrong with what a close has left,
 * one thing at a time. Where the set opens, what it calls current is so (INV13).
 *
 * The set lives through two closes. Of each moment there is an image:
 *
 *	first	closed
 *	gone_on	opened again, resumed after another close; an extent with a shadow is written to
 *	second	closed again
 */
#include <stdio.h>

#include "image.h"
#include "invariants.h"

#define NR		4U		/* extents that have shadows, as far as there is room */
#define SLOW		NR		/* an extent that has none */
#define PARTLY		(NR + 1)
#define OPTIONS		"20 host 000102030405060708090a0b0c0d0e0f commit_interval 10 " \
			"migration off idle 60000 duty 100 discard_passdown on " \
			"replica_interval 60 standby 0 shadow %s shadow_age %u"
#define ANY		U32_MAX		/* as many as there are, or refused as stale */

struct moment {
	struct sim_disk *disk[SIM_NR_DISKS];
	u64 content[NR * EXTENT_SECTORS];
	u32 current;			/* shadows */
};

struct takeover {
	struct setup setup;
	struct moment first, suspended, gone_on, second;
	u64 content[NR * EXTENT_SECTORS];
	/* of the trial under way */
	const char *what;
	const struct moment *now;
	u32 want;
	bool read_only;
	bool refused;			/* must be so */
};

/* -- the life of the set ------------------------------------------------------------- */

static void set_options(struct takeover *t, const char *shadow, u32 age)
{
	snprintf(t->setup.options, sizeof(t->setup.options), OPTIONS, shadow, age);
}

static void change(struct takeover *t, struct sim_dev *dev, u32 lext)
{
	u64 *content = t->content + lext * EXTENT_SECTORS;
	u32 i;

	for (i = 0; i < EXTENT_SECTORS; i++)
		content[i] = rnd(&world->rng);
	if (sim_dev_io(dev, REQ_OP_WRITE | REQ_FUA, lext * EXTENT_SECTORS, EXTENT_SECTORS,
		       content))
		sim_fail("extent %u cannot be written", lext);
}

static void take(struct takeover *t, struct moment *m, u32 current)
{
	unsigned int i;

	for (i = 0; i < SIM_NR_DISKS; i++)
		m->disk[i] = sim_disk_after_cut(world->disk[i], SIM_LOSE_ALL, &world->rng, true);
	memcpy(m->content, t->content, sizeof(m->content));
	m->current = current;
}

static u32 move(struct sim_dev *dev, const char *what)
{
	char text[32];
	u32 tries;

	snprintf(text, sizeof(text), "%s 0-%u", what, NR - 1);
	sim_dev_message(dev, text);
	/* they come about when the moves are drained */
	for (tries = 0; tries < 100 && !set_shadows_current(sim_dev_private(dev)); tries++)
		msleep(20);
	return set_shadows_current(sim_dev_private(dev));
}

static u32 first_shadow(const struct sim_dev *dev)
{
	u32 lext;

	for (lext = 0; lext < NR; lext++)
		if (set_has_current_shadow(sim_dev_private((struct sim_dev *)dev), lext))
			return lext;
	sim_fail("no extent has a shadow");
	return 0;
}

static struct sim_dev *begin(struct takeover *t)
{
	struct sim_dev *dev;

	if (image_open(&t->setup, &dev, false))
		sim_fail("the set cannot be opened");
	return dev;
}

static void live(void *arg)
{
	struct takeover *t = arg;
	struct sim_dev *dev = begin(t);
	u32 lext, current, tries;

	for (lext = 0; lext < NR; lext++)
		change(t, dev, lext);
	/* and one that stays on the slow member, and a partial one */
	if (sim_dev_io(dev, REQ_OP_WRITE, SLOW * EXTENT_SECTORS, EXTENT_SECTORS, t->content) ||
	    sim_dev_io(dev, REQ_OP_WRITE, PARTLY * EXTENT_SECTORS, FUSION_BLOCK_SECTORS,
		       t->content))
		sim_fail("an extent cannot be written");
	sim_dev_message(dev, "demote 0-4");
	set_update_replica(sim_dev_private(dev));
	msleep(2000);
	current = move(dev, "promote");
	if (!current)
		sim_fail("nothing has a shadow");
	/* what the map copy at the close has to be newer than; some may be given up meanwhile */
	set_update_replica(sim_dev_private(dev));
	msleep(3000);
	current = set_shadows_current(sim_dev_private(dev));
	sim_dev_remove(dev);
	take(t, &t->first, current);

	dev = begin(t);
	if (set_shadows_current(sim_dev_private(dev)) != current)
		sim_fail("%u of %u shadows are taken over",
			 set_shadows_current(sim_dev_private(dev)), current);
	set_update_replica(sim_dev_private(dev));
	sim_dev_suspend(dev);
	take(t, &t->suspended, current);
	if (sim_dev_resume(dev))
		sim_fail("the set cannot be resumed");
	change(t, dev, first_shadow(dev));
	take(t, &t->gone_on, 0);
	/* a close hands nothing over of what was written to since the last point */
	sim_dev_message(dev, "shadow_age 1");
	for (tries = 0; tries < 100 && !set_shadows_settled(sim_dev_private(dev)); tries++)
		msleep(1000);
	current = set_shadows_current(sim_dev_private(dev));
	sim_dev_remove(dev);
	take(t, &t->second, current);
}

/* -- trials -------------------------------------------------------------------------- */

static void attempt(void *arg)
{
	struct takeover *t = arg;
	u64 found[NR * EXTENT_SECTORS];
	struct sim_dev *dev;
	int r = image_open(&t->setup, &dev, t->read_only);
	unsigned int i;
	u32 current;

	if (r && r != -ESTALE)
		sim_fail("%s: the error is %d", t->what, r);
	if (t->refused != !!r && t->want != ANY)
		sim_fail("%s: %s", t->what, r ? "refused" : "opened");
	if (r)
		return;
	check_invariants(sim_dev_private(dev));
	check_shadow_counts(sim_dev_private(dev));
	current = set_shadows_current(sim_dev_private(dev));
	if (current != t->want && t->want != ANY)
		sim_fail("%s: %u shadows are taken over, not %u", t->what, current, t->want);
	for (i = 0; i < 2; i++) {
		if (sim_dev_io(dev, REQ_OP_READ, 0, NR * EXTENT_SECTORS, found))
			sim_fail("%s: it cannot be read", t->what);
		if (memcmp(found, t->now->content, sizeof(found)))
			sim_fail("%s: its content is another", t->what);
		if (!i && !t->read_only)
			sim_dev_message(dev, "demote 0-3");
	}
	sim_dev_remove(dev);
}

/* In a world with both members as they were then. */
static void enter(struct takeover *t, const char *what, const struct moment *fast,
		  const struct moment *slow)
{
	struct sim_world *w = sim_world_new(rnd(&world->rng));

	w->disk[0] = sim_disk_after_cut(fast->disk[0], SIM_LOSE_ALL, &w->rng, false);
	w->disk[1] = sim_disk_after_cut(slow->disk[1], SIM_LOSE_ALL, &w->rng, false);
	t->what = what;
	t->now = fast;
}

static void find(struct takeover *t, u32 want)
{
	t->want = want;
	sim_run(attempt, t);
	sim_world_free(world);
	t->refused = false;
	t->read_only = false;
}

static void open_again(struct takeover *t, const char *what, u32 want)
{
	enter(t, what, &t->first, &t->first);
	find(t, want);
}

static void get_super(enum fusion_dev dev, struct fusion_sb *sb)
{
	if (!sim_disk_super(world->disk[dev], sb))
		sim_fail("there is no superblock");
}

static void put_super(struct fusion_sb *sb)
{
	u8 block[FUSION_BLOCK_SIZE];
	u64 nr = FUSION_SUPER_BLOCKNR(sb->generation & 1);

	fusion_sb_pack(sb, nr, block);
	sim_disk_set_block(world->disk[sb->role], nr, block);
}

static void zero(enum fusion_dev dev, u64 nr)
{
	static const u8 nothing[FUSION_BLOCK_SIZE];

	sim_disk_set_block(world->disk[dev], nr, nothing);
}

/* The newest superblock of a member is gone, or what was there before is still there. */
static void lose_newest(enum fusion_dev dev, const struct moment *before)
{
	struct fusion_sb sb;
	u64 nr;

	get_super(dev, &sb);
	nr = FUSION_SUPER_BLOCKNR(sb.generation & 1);
	if (before)
		sim_disk_set_block(world->disk[dev], nr, sim_disk_block(before->disk[dev], nr));
	else
		zero(dev, nr);
}

static void damaged_supers(struct takeover *t)
{
	static const char * const what[] = {
		"fast superblock 0 damaged", "fast superblock 1 damaged",
		"slow superblock 0 damaged", "slow superblock 1 damaged",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(what); i++) {
		enter(t, what[i], &t->first, &t->first);
		zero(i / 2, FUSION_SUPER_BLOCKNR(i % 2));
		find(t, 0);
	}
}

/* As a program does that changes something, and copies what it does not know of. */
static void rewritten(struct takeover *t)
{
	struct fusion_sb sb[2];
	unsigned int i;

	for (i = 0; i < 3; i++) {
		enter(t, i == 2 ? "a set that needs a check" : i ? "written again" :
		      "superblocks written again", &t->first, &t->first);
		get_super(FUSION_FAST, &sb[FUSION_FAST]);
		get_super(FUSION_SLOW, &sb[FUSION_SLOW]);
		if (!sb[FUSION_SLOW].shadows_at ||
		    sb[FUSION_FAST].peer_at.generation != sb[FUSION_SLOW].generation)
			sim_fail("a close does not say that the shadows are right");
		/* once or twice, and the fast member sees it */
		for (; i < 2 && sb[FUSION_SLOW].generation <= sb[FUSION_SLOW].shadows_at + 1 + i;) {
			sb[FUSION_SLOW].generation++;
			put_super(&sb[FUSION_SLOW]);
		}
		sb[FUSION_FAST].peer_at.generation = sb[FUSION_SLOW].generation;
		if (i == 2)
			sb[FUSION_FAST].flags |= FUSION_SB_NEEDS_CHECK;
		sb[FUSION_FAST].generation++;
		put_super(&sb[FUSION_FAST]);
		find(t, 0);
	}
	/* the fast member has not seen the slow one closed */
	enter(t, "closed, and not seen so", &t->first, &t->first);
	get_super(FUSION_FAST, &sb[FUSION_FAST]);
	sb[FUSION_FAST].peer_at.generation--;
	sb[FUSION_FAST].generation++;
	put_super(&sb[FUSION_FAST]);
	find(t, 0);
	enter(t, "the fast member is not closed", &t->first, &t->first);
	get_super(FUSION_FAST, &sb[FUSION_FAST]);
	sb[FUSION_FAST].flags &= ~FUSION_SB_CLEAN;
	sb[FUSION_FAST].generation++;
	put_super(&sb[FUSION_FAST]);
	find(t, 0);
}

/* -- the map copy -------------------------------------------------------------------- */

enum forgery {
	SET_OLDER,
	SLOT_IN_USE,
	SLOT_TWICE,
	NOT_ON_FAST,
	UNMAPPED,
	PARTIAL,
	NR_FORGERIES,
};

static void forge_words(enum forgery how, u32 *word, u32 nr)
{
	u32 shadow = NR, i;

	while (shadow && !fusion_names_shadow(word[--shadow]))
		;
	switch (how) {
	case SLOT_IN_USE:
		word[shadow] = fusion_shadow_word(FUSION_SHADOW, fusion_word_slot(word[SLOW]));
		break;
	case SLOT_TWICE:
		for (i = 0; i < shadow && !fusion_names_shadow(word[i]); i++)
			;
		word[i] = word[shadow];
		break;
	case NOT_ON_FAST:
		word[SLOW] = fusion_shadow_word(FUSION_SHADOW, fusion_word_slot(word[shadow]));
		word[shadow] = FUSION_WORD_UNMAPPED;
		break;
	case UNMAPPED:
		word[nr - 1] = word[shadow];
		word[shadow] = FUSION_WORD_UNMAPPED;
		break;
	case PARTIAL:
		/* map copies have none, unless it has been completed */
		word[fusion_word_mapped(word[PARTLY]) ? nr - 1 : PARTLY] = word[shadow];
		word[shadow] = FUSION_WORD_UNMAPPED;
		break;
	default:
		break;
	}
}

static void forged_map(struct takeover *t)
{
	static const char * const what[] = {
		"a block of the map copy is older", "a shadow in a slot that is in use",
		"a shadow of two extents", "a shadow of an extent that is not on the fast member",
		"a shadow of an unmapped extent", "a shadow of a partial extent",
	};
	u32 words[FUSION_MAP_PER_BLOCK], how;
	u8 block[FUSION_BLOCK_SIZE];
	struct fusion_sb sb;
	const char *why;

	for (how = 0; how < NR_FORGERIES; how++) {
		u64 nr;

		enter(t, what[how], &t->first, &t->first);
		get_super(FUSION_SLOW, &sb);
		nr = sb.map_start[FUSION_SLOW][sb.active_set];
		if (fusion_map_unpack(&sb, sb.active_set, 0, sb.set_generation,
				      sim_disk_block(world->disk[FUSION_SLOW], nr), words, &why))
			sim_fail("the map copy of a close: %s", why);
		forge_words(how, words, fusion_map_entries(&sb, 0));
		fusion_map_pack(&sb, sb.active_set, 0, sb.set_generation - (how == SET_OLDER),
				words, block);
		sim_disk_set_block(world->disk[FUSION_SLOW], nr, block);
		find(t, 0);
	}
}

/* -- what came after ------------------------------------------------------------------ */

static void gone_on(struct takeover *t)
{
	unsigned int i;

	/* the newest superblock of each there, gone, or never written, but not the last of both */
	for (i = 0; i < 8; i++) {
		enter(t, "resumed, and superblocks are lost", &t->gone_on, &t->gone_on);
		if (i % 3)
			lose_newest(FUSION_FAST, i % 3 == 1 ? NULL : &t->suspended);
		if (i / 3)
			lose_newest(FUSION_SLOW, i / 3 == 1 ? NULL : &t->suspended);
		find(t, i ? ANY : 0);
	}
	enter(t, "the slow member is from before", &t->second, &t->first);
	t->refused = true;
	find(t, 0);
	enter(t, "the slow member is from before the last close", &t->second, &t->suspended);
	t->refused = true;
	find(t, 0);
	enter(t, "the fast member is from before", &t->first, &t->second);
	t->refused = true;
	find(t, 0);
	enter(t, "closed again", &t->second, &t->second);
	find(t, t->second.current);
}

static void open_and_close(void *arg)
{
	struct takeover *t = arg;

	sim_dev_remove(begin(t));
}

/* The power fails as soon as it is open. */
static void open_and_cut(void *arg)
{
	begin(arg);
	world->stop = true;
}

/* The map copy of the opening calls shadows current, and the log does not: no other one follows. */
static void write_to_all(void *arg)
{
	struct takeover *t = arg;
	struct sim_dev *dev = begin(t);
	u32 lext;

	set_update_replica(sim_dev_private(dev));
	msleep(3000);
	/* no point any more */
	sim_dev_message(dev, "shadow_age 86400");
	for (lext = 0; lext < NR; lext++)
		change(t, dev, lext);
	/* the others may have got one as well */
	for (; lext <= PARTLY; lext++)
		if (sim_dev_io(dev, REQ_OP_WRITE | REQ_FUA, lext * EXTENT_SECTORS, EXTENT_SECTORS,
			       t->content))
			sim_fail("extent %u cannot be written", lext);
	sim_dev_remove(dev);
}

static void settings(struct takeover *t)
{
	const u32 all = t->first.current;
	static struct moment cut;

	open_again(t, "closed", all);
	t->read_only = true;
	open_again(t, "opened read-only", 0);
	set_options(t, "on", 0);
	open_again(t, "with shadow_age 0", 0);
	set_options(t, "off", 10);
	open_again(t, "with shadow off", 0);

	/* nobody has named them since */
	set_options(t, "on", 0);
	enter(t, "closed without shadow_age", &t->first, &t->first);
	sim_run(open_and_close, t);
	set_options(t, "on", 10);
	find(t, 0);
	enter(t, "opened and closed", &t->first, &t->first);
	sim_run(open_and_close, t);
	find(t, all);
	enter(t, "all written to, and closed", &t->first, &t->first);
	sim_run(write_to_all, t);
	take(t, &cut, 0);
	enter(t, "all written to, and closed", &cut, &cut);
	find(t, 0);
	sim_world_free(world);
	enter(t, "opened and cut off", &t->first, &t->first);
	sim_run(open_and_cut, t);
	take(t, &cut, 0);
	enter(t, "opened and cut off", &cut, &cut);
	t->now = &t->first;
	find(t, 0);
	sim_world_free(world);
}

void taken_over_all(const struct setup *setup)
{
	struct takeover *t = sim_alloc(sizeof(*t), true);

	t->setup = *setup;
	set_options(t, "on", 10);
	sim_run(live, t);
	settings(t);
	damaged_supers(t);
	rewritten(t);
	forged_map(t);
	gone_on(t);
}
