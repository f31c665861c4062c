// SPDX-License-Identifier: GPL-2.0-only
/*
 * Power fails in a write of a verb: anywhere, or among its last writes, which are those of the
 * superblocks. The set is then as it was, or as the verb leaves it, or the kernel refuses it; and
 * the verb, run again, does what it would have done.
 */
#include <string.h>

#include "judge.h"

#define LAST_WRITES	8U

struct cut {
	const char *name;
	enum tool_verb verb;
	unsigned int flags;
	bool exact;		/* what it writes does not depend on what is there */
};

static const struct cut cuts[] = {
	{ "repair", TOOL_REPAIR, 0, false },
	{ "repair --force", TOOL_REPAIR, TOOL_FORCE, false },
	{ "restore", TOOL_RESTORE, 0, true },
	{ "restore --force", TOOL_RESTORE, TOOL_FORCE, true },
};

static bool is_done(const struct cut *c, const struct tool_result *r)
{
	return r->rc == 0 || (c->verb == TOOL_REPAIR && r->rc == 1);
}

/* To its end, on a copy. Return: how many writes that takes, or 0 if it refuses. */
static u32 count_writes(const struct cut *c, const char *dump, struct found *done)
{
	struct tool_result r;
	u32 writes;

	copy_world();
	tool_run(&r, c->verb, c->flags, dump, U32_MAX);
	writes = is_done(c, &r) ? r.writes : 0;
	if (writes)
		found_read(done);
	end_world();
	tool_end(&r);
	return writes;
}

static u32 choose(u32 writes)
{
	if (rnd_below(&world->rng, 2) && writes > LAST_WRITES)
		return writes - 1 - rnd_below(&world->rng, LAST_WRITES);
	return rnd_below(&world->rng, writes);
}

/* A ring that a forced restoration has begun keeps the set from being opened; repair drops it. */
static void check_way_back(const struct state *st, const char *verb, const struct found *before)
{
	struct tool_result r;

	copy_world();
	tool_run(&r, TOOL_REPAIR, 0, NULL, U32_MAX);
	if (r.rc != 1 || tool_number(&r, "transactions_missing") || excuses(st, &r)->nr)
		complain(st, verb, &r, "repair does not bring back what it was");
	if (!same_found(st, kernel_reads(st, verb), before))
		complain(st, verb, &r, "repair brings back another set");
	tool_end(&r);
	end_world();
}

/*
 * Neither the set as it was nor the one that it is to become may be mixed with the other. A set
 * that lacked nothing but superblocks may have them by now. A blank device that is made a member by
 * force lacks its data either way.
 */
static void check_cut(const struct state *st, const char *verb, const struct tool_result *r,
		      const struct found *before, const struct found *done, const struct excuse *e)
{
	const struct found *now = kernel_reads(st, verb);
	u32 i;

	if (now->error) {
		if (!before->error && e)
			complain(st, verb, r, "the kernel does not open that any more");
		else if (!before->error)
			check_way_back(st, verb, before);
		return;
	}
	if (!now->nr_wrong || same_found(st, now, before) || same_found(st, now, done))
		return;
	if (!e && (st->blank[FUSION_FAST] || st->blank[FUSION_SLOW]))
		return;
	if (!e)
		complain(st, verb, r, "the kernel opens that, and it is neither set");
	for (i = 0; i < e->nr_extents; i++)
		if (!now->right[i] && !e->given[i])
			complain(st, verb, r, "the kernel opens that, and it is wrong");
}

/* It does not forget what the first one has lost. */
static void check_again(const struct state *st, const struct cut *c, const char *verb,
			const char *dump, const struct found *before, const struct found *done,
			struct excuse *e)
{
	const bool lossy = c->flags & TOOL_FORCE;
	struct tool_result r;

	tool_run(&r, c->verb, c->flags, dump, U32_MAX);
	if (!is_done(c, &r))
		complain(st, verb, &r, "not done the second time");
	if (c->exact) {
		if (!same_found(st, kernel_reads(st, verb), done))
			complain(st, verb, &r, "another set than without the cut");
	} else {
		if (r.rc == 1)
			add_excuses(st, &r, e);
		if (!before->error && e->nr)
			complain(st, verb, &r, "extents are lost that the kernel can read");
		check_written(st, verb, &r, before, lossy ? NULL : e);
	}
	tool_end(&r);
}

static void cut_at(const struct state *st, const struct cut *c, const char *dump, u32 at,
		   u32 writes, const struct found *before, const struct found *done,
		   struct tally *t)
{
	struct tool_result r;
	struct excuse *e;
	char verb[64];

	snprintf(verb, sizeof(verb), "%s, cut at %u of %u", c->name, at, writes);
	copy_world();
	tool_run(&r, c->verb, c->flags, dump, at);
	e = excuses(st, &r);	/* it lists them although it was cut short */
	if (is_done(c, &r) && r.writes < writes)
		complain(st, verb, &r, "done, it says");
	check_cut(st, verb, &r, before, done, c->flags & TOOL_FORCE ? NULL : e);
	check_again(st, c, verb, dump, before, done, e);
	tool_end(&r);
	end_world();
	t->cut++;
}

static void cut_short(const struct state *st, const struct cut *c, bool thorough,
		      const struct found *before, struct tally *t)
{
	const unsigned int other = rnd_below(&world->rng, NR_DUMPS);
	const char *dump = st->dump[c->flags & TOOL_FORCE ? other : st->own];
	struct found *done = found_new(st, c->name);
	const u32 writes = count_writes(c, dump, done);
	u32 at;

	if (!writes)
		return;
	if (!thorough)
		cut_at(st, c, dump, choose(writes), writes, before, done, t);
	for (at = writes - min(writes, LAST_WRITES); thorough && at < writes; at++)
		cut_at(st, c, dump, at, writes, before, done, t);
}

void judge_cuts(const struct state *st, const struct found *before, struct tally *t)
{
	cut_short(st, &cuts[rnd_below(&world->rng, ARRAY_SIZE(cuts))], false, before, t);
}

void judge_last_writes(const struct state *st, struct tally *t)
{
	const struct found *before = kernel_reads(st, "");
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cuts); i++)
		cut_short(st, &cuts[i], true, before, t);
}
