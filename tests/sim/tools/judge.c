// SPDX-License-Identifier: GPL-2.0-only
/*
 * The effect of each verb on a state. The kernel's own code opens the members before and after. No
 * data that it could read before, or that lies where the set had it, may be worse after, except
 * with --force.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "judge.h"

bool tool_tracing;

/* Verbs that a refusal may name; one that it does must do. */
#define SAYS_FORCE	"--force"

/* -- what is expected ------------------------------------------------------------- */

bool is_strange(const struct state *st)
{
	return st->stranger[FUSION_FAST] || st->stranger[FUSION_SLOW];
}

/* Is the extent's data there at all? */
static bool is_there(const struct state *st, u32 lext)
{
	return st->place[lext] == FUSION_NR_DEVS ? !is_strange(st) : !st->stranger[st->place[lext]];
}

void complain(const struct state *st, const char *verb, const struct tool_result *r,
	      const char *why)
{
	static char text[600];

	if (tool_tracing) {
		dprintf(STDOUT_FILENO, "# %s: %s\n%s%s# the kernel says:\n", st->what, verb, r->err,
			r->out);
		sim_tracing = true;
		kernel_reads(st, verb);
		sim_tracing = false;
	}
	snprintf(text, sizeof(text), "%.*s", (int)sizeof(text) - 1,
		 *r->err ? r->err : r->out);
	sim_fail("%s: %s: %s; status %d, %u writes: %s", st->what, verb, why, r->rc, r->writes,
		 text);
}

/* It has done nothing, and says what to do. */
static void check_refusal(const struct state *st, const char *verb, const struct tool_result *r)
{
	static const char * const remedy[] = {
		SAYS_FORCE, "salvage", "restore", "repair", "connect", "name ",
	};
	unsigned int i;

	if (r->writes)
		complain(st, verb, r, "refused, but written");
	for (i = 0; i < ARRAY_SIZE(remedy); i++)
		if (strstr(r->err, remedy[i]))
			return;
	complain(st, verb, r, "refused, and no remedy");
}

static void excuse(void *ctx, u64 first, u64 nr, u64 where)
{
	struct excuse *e = ctx;

	for (; nr; nr--, first++) {
		if (first >= e->nr_extents)
			sim_fail("an extent beyond the end");
		e->nr += !e->given[first];
		e->given[first] = true;
	}
}

void check_written(const struct state *st, const char *verb, const struct tool_result *r,
		   const struct found *before, const struct excuse *e)
{
	const struct found *f = kernel_reads(st, verb);
	u32 lext, dev;

	if (f->error)
		complain(st, verb, r, "done, and the kernel refuses it");
	/* one that is not in use may be, and the next opening writes the heartbeat's */
	for (dev = 0; dev < SIM_NR_DISKS && r->writes; dev++)
		if (sim_disk_bad(world->disk[dev]) != U32_MAX &&
		    sim_disk_bad(world->disk[dev]) != FUSION_BEAT_BLOCKNR)
			complain(st, verb, r, "done, and a block of metadata cannot be read");
	for (lext = 0; lext < st->life->setup->sb.nr_lexts; lext++) {
		if (f->right[lext])
			continue;
		if (before->right[lext])
			complain(st, verb, r, "an extent that could be read is worse");
		if (e && !e->given[lext] && is_there(st, lext))
			complain(st, verb, r, "an extent is wrong, and not a word of it");
	}
}

/* -- check ------------------------------------------------------------------------ */

static void judge_check(const struct state *st, const struct found *before, bool after)
{
	struct tool_result r;
	bool well;

	tool_run(&r, TOOL_CHECK, rnd_below(&world->rng, 2) ? TOOL_SWAPPED : 0, NULL, 0);
	well = r.rc == 0 || r.rc == 1;
	if (r.writes)
		complain(st, "check", &r, "it has written");
	if (well && before->error)
		complain(st, "check", &r, "no error, and the kernel refuses it");
	if (!well && !before->error && !before->nr_wrong)
		complain(st, "check", &r, "an error, and the kernel opens it");
	if (after && r.rc)
		complain(st, "check", &r, "not clean after that");
	tool_end(&r);
}

/* -- repair ----------------------------------------------------------------------- */

void add_excuses(const struct state *st, const struct tool_result *r, struct excuse *e)
{
	/* only --force goes on then, and says that nothing tells which extents these are */
	bool gap = strstr(r->out, "\"journal_gap\": \"end\"");

	tool_ranges(r, "lost", excuse, e);
	tool_ranges(r, "stale", excuse, e);
	if (!is_torn(st) || (!tool_number(r, "transactions_missing") && !gap))
		return;
	e->nr++;
	image_enter(st->image);
	for (unsigned int i = 0; i < MAX_DAMAGED; i++)
		if (st->torn[i])
			tool_touched(st->torn[i], e->given, gap);
	image_leave();
}

struct excuse *excuses(const struct state *st, const struct tool_result *r)
{
	struct excuse *e = sim_alloc(sizeof(*e), true);

	e->nr_extents = st->life->setup->sb.nr_lexts;
	e->given = sim_alloc(e->nr_extents, true);
	add_excuses(st, r, e);
	return e;
}

/* One member has no superblock, and what is damaged besides was the last one of the other. */
static bool headless(const struct state *st, const struct tool_result *r)
{
	return (st->wiped[FUSION_FAST] || st->wiped[FUSION_SLOW]) &&
	       (st->damaged || st->interrupted) && strstr(r->err, "has a valid superblock");
}

static void judge_repair(const struct state *st, const struct found *before, bool force,
			 struct tally *t)
{
	const char *verb = force ? "repair --force" : "repair";
	unsigned int flags = (force ? TOOL_FORCE : 0) |
			     (rnd_below(&world->rng, 2) ? TOOL_SWAPPED : 0);
	struct tool_result r;
	struct excuse *e;

	copy_world();
	tool_run(&r, TOOL_REPAIR, flags, NULL, U32_MAX);
	if (r.rc == 0) {
		if (r.writes || before->error)
			complain(st, verb, &r, "nothing to repair, it says");
	} else if (r.rc == 1) {
		e = excuses(st, &r);
		if (!before->error && e->nr)
			complain(st, verb, &r, "extents are lost that the kernel can read");
		if (st->costs_nothing && e->nr)
			complain(st, verb, &r, "extents are lost that need not be");
		if (is_strange(st) && !force)
			complain(st, verb, &r, "a member that is none was taken");
		check_written(st, verb, &r, before, force && is_strange(st) ? NULL : e);
		judge_check(st, kernel_reads(st, verb), true);
		t->repaired++;
		t->forced += force;
	} else {
		check_refusal(st, verb, &r);
		if (!before->error)
			complain(st, verb, &r, "refused, and the kernel opens it");
		if (!is_strange(st) && (force || !strstr(r.err, SAYS_FORCE)) && !headless(st, &r))
			complain(st, verb, &r, "refused, and both members are there");
		t->refused++;
	}
	end_world();
	/* what it names must help */
	if (r.rc > 1 && !force && strstr(r.err, SAYS_FORCE)) {
		struct tool_result forced;

		copy_world();
		tool_run(&forced, TOOL_REPAIR, TOOL_FORCE, NULL, U32_MAX);
		if (forced.rc != 1)
			complain(st, "repair --force", &forced, "refused, and repair named it");
		tool_end(&forced);
		end_world();
	}
	tool_end(&r);
}

/* -- restore ---------------------------------------------------------------------- */

/*
 * The dump of the set as it was may be all that is left. But an opening, even one cut short, makes
 * it older; and without the last block of the journal the set is as one whose last transaction was
 * torn, or one from the past, which a second damaged block may hide from the kernel.
 */
static bool must_restore(const struct state *st, const struct found *before)
{
	if (is_strange(st))
		return st->blank[FUSION_FAST] || st->blank[FUSION_SLOW];
	return !st->interrupted && st->damaged < 2 && before->error != -ESTALE &&
	       (before->error || !is_torn(st));
}

/* What a dump made of the members, it may make of them again without --force. */
static void restore_again(const struct state *st, const char *dump, unsigned int flags)
{
	struct tool_result r;

	tool_run(&r, TOOL_RESTORE, flags, dump, U32_MAX);
	if (r.rc)
		complain(st, "restore after restore --force", &r, "refused");
	tool_end(&r);
}

static void judge_restore(const struct state *st, const struct found *before, unsigned int nr,
			  unsigned int flags, struct tally *t)
{
	static const char * const name[NR_DUMPS] = { "older", "closed", "earlier", "cut" };
	const bool force = flags & TOOL_FORCE;
	struct excuse none = { .given = NULL };
	struct tool_result r;
	char verb[64];

	snprintf(verb, sizeof(verb), "restore%s%s the dump of %s", force ? " --force" : "",
		 flags & TOOL_SWAPPED ? " to exchanged members" : "", name[nr]);
	none.given = sim_alloc(st->life->setup->sb.nr_lexts, true);
	copy_world();
	tool_run(&r, TOOL_RESTORE, flags, st->dump[nr], U32_MAX);
	if (r.rc) {
		check_refusal(st, verb, &r);
		if (nr == st->own && !(flags & TOOL_SWAPPED) && must_restore(st, before))
			complain(st, verb, &r, "refused, and it is of the set as it was");
		t->refused++;
	} else if (force) {
		const struct found *f = kernel_reads(st, verb);

		if (f->error)
			complain(st, verb, &r, "done, and the kernel refuses it");
		restore_again(st, st->dump[nr], flags & ~TOOL_FORCE);
		t->forced++;
	} else {
		if (is_strange(st) && !st->blank[FUSION_FAST] && !st->blank[FUSION_SLOW])
			complain(st, verb, &r, "a member that is none was taken");
		check_written(st, verb, &r, before, &none);
		t->restored++;
	}
	end_world();
	tool_end(&r);
}

/* -- salvage ---------------------------------------------------------------------- */

struct salvaging {
	const struct state *st;
	enum fusion_dev dev;
	const struct tool_result *r;
};

/* Areas that it calls intact are intact; the replica need not know of discards. */
static void check_intact(void *ctx, u64 first, u64 nr, u64 where)
{
	const struct salvaging *s = ctx;
	const struct state *st = s->st;
	const u64 *content = st->image->content, *before = st->life->before;
	u64 i, found;

	for (i = 0; i < nr; i++) {
		if (st->life->discarded[(first + i) / EXTENT_SECTORS])
			continue;
		found = sim_disk_stamp(world->disk[s->dev], where + i);
		if (found != content[first + i] && found != before[first + i])
			complain(st, "salvage", s->r, "a sector is not intact");
	}
}

/* With a gap in the log it cannot be known what is intact, and salvage says so. */
static bool says_gap(const char *out)
{
	return strstr(out, "transactions are missing") ||
	       strstr(out, "a journal block that is in use cannot be read") ||
	       strstr(out, "the last changes of the map may be missing");
}

/*
 * The last block of its log is gone, as the fast member knows. The slow member by itself looks as
 * if that had never been written.
 */
static bool lost_its_end(const struct found *before, enum fusion_dev dev)
{
	return before->error == -ESTALE && dev == FUSION_SLOW;
}

static void judge_salvage(const struct state *st, const struct found *before, enum fusion_dev dev,
			  struct tally *t)
{
	struct salvaging s = { .st = st, .dev = dev };
	struct tool_result r;

	tool_run(&r, TOOL_SALVAGE, dev == FUSION_SLOW ? TOOL_SLOW : 0, NULL, 0);
	s.r = &r;
	if (!st->stranger[dev] && !st->wiped[dev] && r.rc)
		complain(st, "salvage", &r, "refused, and the member is there");
	if (r.rc && (!*r.err || r.writes))
		complain(st, "salvage", &r, "no reason");
	if (!st->stranger[dev] && !says_gap(r.out) && !lost_its_end(before, dev)) {
		tool_ranges(&r, "intact", check_intact, &s);
		t->salvaged++;
	}
	tool_end(&r);
}

/* --------------------------------------------------------------------------------- */

void judge_state(const struct state *st, struct tally *t)
{
	const struct found *before = kernel_reads(st, "");
	unsigned int other = rnd_below(&world->rng, NR_DUMPS);

	if (!before->error && before->nr_wrong && lost_last_two(st))
		return;
	if (!before->error && before->nr_wrong)
		sim_fail("%s: the kernel opens it, and %u extents are wrong", st->what,
			 before->nr_wrong);
	t->states++;
	t->opened += !before->error;
	judge_check(st, before, false);
	judge_repair(st, before, false, t);
	judge_repair(st, before, true, t);
	judge_restore(st, before, st->own, 0, t);
	judge_restore(st, before, other, 0, t);
	if (!rnd_below(&world->rng, 4)) {
		judge_restore(st, before, other, TOOL_FORCE, t);
		judge_restore(st, before, st->own, TOOL_SWAPPED, t);
	}
	judge_salvage(st, before, FUSION_FAST, t);
	judge_salvage(st, before, FUSION_SLOW, t);
	judge_cuts(st, before, t);
}
