// SPDX-License-Identifier: GPL-2.0-only
/* Verb repair: turn a set into one that check accepts, and report what is lost. */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "error.h"
#include "fsck.h"
#include "fusionctl.h"
#include "json.h"
#include "message.h"
#include "meta.h"
#include "output.h"
#include "overwrite.h"
#include "probe.h"
#include "record.h"
#include "role.h"
#include "size.h"
#include "verb.h"

struct plan {
	struct meta meta;
	struct report found;
	struct rebuild rb;
	bool past;		/* a stale member is used, so newer data is lost */
	char content[2][CONTENT_TEXT];	/* foreign content on the members */
};

static const char *const doubt_name[NR_DOUBTS] = {
	[DOUBT_OLD] = "stale", [DOUBT_LOST] = "lost",
};

static const char *const gap_name[] = {
	[GAP_NONE] = NULL, [GAP_BEGIN] = "begin", [GAP_END] = "end",
};

/* -- ranges of extents ----------------------------------------------------------------- */

/* The next range of extents from *first on that share this doubt; false at the end. */
static bool next_range(const struct rebuild *rb, enum doubt which, u32 *first, u32 *nr)
{
	const u32 end = rb->st.nr_lexts;
	u32 i = *first;

	while (i < end && rb->doubt[i] != which)
		i++;
	*first = i;
	while (i < end && rb->doubt[i] == which)
		i++;
	*nr = i - *first;
	return *nr;
}

static void print_ranges(const struct plan *p, enum doubt which, const char *means)
{
	const u64 es = p->meta.geo[FAST].extent_sectors;
	u32 first = 0, nr;

	for (; next_range(&p->rb, which, &first, &nr); first += nr)
		printf("%s: extents %u-%u, sectors %llu-%llu: %s\n", doubt_name[which], first,
		       first + nr - 1, (unsigned long long)(first * es),
		       (unsigned long long)((first + nr) * es - 1), means);
}

/* "all in all: 3 extents (192K) lost, 10 extents (640K) stale" */
static void print_sums(const struct plan *p)
{
	const u32 sectors = p->meta.geo[FAST].extent_sectors;
	char lost[EXTENTS_TEXT], stale[EXTENTS_TEXT];

	if (!p->rb.nr[DOUBT_LOST] && !p->rb.nr[DOUBT_OLD])
		return;
	printf("total: %s lost, %s stale\n",
	       fus_extents_text(lost, p->rb.nr[DOUBT_LOST], sectors),
	       fus_extents_text(stale, p->rb.nr[DOUBT_OLD], sectors));
}

static struct json_object *ranges_json(const struct plan *p, enum doubt which)
{
	struct json_object *list = json_object_new_array(), *o;
	const u64 es = p->meta.geo[FAST].extent_sectors;
	u32 first = 0, nr;

	for (; p->rb.doubt && next_range(&p->rb, which, &first, &nr); first += nr) {
		o = json_object_new_object();
		fus_json_add_u64(o, "first_extent", first);
		fus_json_add_u64(o, "extents", nr);
		fus_json_add_u64(o, "first_sector", first * es);
		fus_json_add_u64(o, "sectors", nr * es);
		json_object_array_add(list, o);
	}
	return list;
}

/* -- what is found and meant to be done -------------------------------------------------- */

/*
 * "at least 3 extents (768K)" that a member of the past makes doubtful, as far as the metadata
 * shows them: that it shows none does not mean that there is none.
 */
static void doubtful_text(const struct meta *meta, char *buf, size_t size)
{
	const u32 nr = fus_meta_past_extents(meta);
	char extents[EXTENTS_TEXT];

	if (nr)
		snprintf(buf, size, "at least %s",
			 fus_extents_text(extents, nr, meta->geo[FAST].extent_sectors));
	else
		snprintf(buf, size, "any extent");
}

/* A member from the past needs --force, and the possible loss is reported first. */
static int judge_past(struct plan *p, bool force)
{
	const struct meta *meta = &p->meta;
	struct meta_past past;
	char text[256], doubtful[64];
	const char *path;

	p->past = fus_meta_past(meta, &past);
	if (!p->past)
		return 0;
	fus_meta_past_text(meta, &past, text, sizeof(text));
	doubtful_text(meta, doubtful, sizeof(doubtful));
	path = meta->m[past.dev == BOTH ? FAST : past.dev].o.path;
	if (!force)
		return fus_fail(FC_REFUSED, path, "%s; connect the current one, or salvage either; "
				"with --force the member is used, and %s may then hold old or "
				"foreign data", text, doubtful);
	fus_warn(path, "%s; %s may hold old or foreign data", text, doubtful);
	return 0;
}

/* Does the device hold anything of the member that it is taken for? */
static bool is_of_set(const struct meta *meta, int dev)
{
	return fus_meta_sb(meta, dev) || fus_meta_has_blocks(meta, dev);
}

/* On a foreign device all extents of the member are lost, whatever the map says. */
static int judge_foreign(const struct meta *meta)
{
	for (int dev = 0; dev < 2; dev++)
		if (!is_of_set(meta, dev))
			return fus_fail(FC_MEMBER, meta->m[dev].o.path, "has no block of the %s "
					"member of %s; connect that member, or see what the other "
					"one has: fusionctl salvage %s", fus_role_name[dev],
					meta->m[!dev].o.path, meta->m[!dev].o.path);
	return 0;
}

/* Only the map and the journal as they are tell what the blocks of a landing log are. */
static int judge_landing(const struct plan *p)
{
	const struct fusion_sb *fast = fus_meta_sb(&p->meta, FAST);
	const bool known = p->rb.exact && p->found.landing.found;

	if (known || !(fus_has_landing(fast) ||
		       p->meta.geo[SLOW].incompat & FUSION_INCOMPAT_LANDING))
		return 0;
	return fus_fail(FC_REFUSED, p->meta.m[FAST].o.path, "has a landing log, and the map or the "
			"journal that tell of it are damaged, which repair cannot rebuild; if the "
			"set cannot be opened, copy what fusionctl salvage shows of each member");
}

static int judge(struct plan *p, bool force)
{
	const struct fusion_sb *fast, *slow;
	const struct meta *meta = &p->meta;
	char text[FUSION_UNKNOWN_TEXT];
	const char *why;
	int err, rc;

	rc = fus_meta_refuse_unknown(meta);
	if (!rc)
		rc = fus_meta_refuse_old(meta, "repaired");
	if (rc)
		return rc;
	for (int dev = 0; dev < 2; dev++)
		if (meta->m[dev].o.fd < 0)
			return fus_fail(FC_MEMBER, meta->m[!dev].o.path, "the other member of its "
					"set is missing; name both, or see what this one has: "
					"fusionctl salvage %s", meta->m[!dev].o.path);
	if (!meta->known)
		return fus_fail(FC_DAMAGED, meta->m[0].o.path, "neither this device nor %s has a "
				"valid superblock; fusionctl restore puts back what fusionctl dump "
				"saved, or restore --geometry the superblocks",
				meta->m[1].o.path);
	fast = fus_meta_sb(meta, FAST);
	slow = fus_meta_sb(meta, SLOW);
	for (int dev = 0; dev < 2; dev++)
		if (fus_meta_sb(meta, dev) &&
		    *fusion_sb_unknown_landing(fus_meta_sb(meta, dev), text))
			return fus_fail(FC_REFUSED, meta->m[dev].o.path, "%s; repair it with that "
					"version", text);
	rc = judge_foreign(meta);
	if (!rc)
		rc = judge_past(p, force);
	if (rc)
		return rc;
	err = fast && slow ? fusion_sb_match(fast, slow, &why) : 0;
	if (err && err != -ESTALE)
		return fus_fail(FC_MEMBER, meta->m[0].o.path, "does not belong together with %s: "
				"%s; name two members of one set", meta->m[1].o.path, why);
	fus_meta_check(meta, &p->found);
	rc = fus_rebuild_state(meta, FAST, &p->rb);
	return rc ? rc : judge_landing(p);
}

/* Without a valid superblock, the device may have been named by mistake. */
static int check_devices(struct plan *p, const struct args *a)
{
	const struct meta *meta = &p->meta;
	int rc = 0;

	for (int dev = 0; dev < 2 && !rc; dev++) {
		if (!fus_meta_sb(meta, dev))
			rc = overwrite_check_size(meta, dev, meta->m[!dev].o.path);
		if (!rc)
			rc = overwrite_check_content(meta, dev, a, p->content[dev]);
	}
	return rc;
}

static void print_gap(const struct rebuild *rb)
{
	if (rb->gap == GAP_END)
		printf("unknown: the end of the journal is missing, at least %llu blocks: extents "
		       "that moved, or were first written or discarded, after that point\n",
		       (unsigned long long)rb->gap_blocks);
	else if (rb->gap == GAP_BEGIN)
		printf("unknown: transactions between the map copy and the first one in the "
		       "journal, if there were any: extents that they moved, wrote first or "
		       "discarded, and that have not changed since\n");
}

/* Wrong data is worse than none: the administrator decides, knowing what it may cost. */
static int refuse_gap(const struct plan *p, bool force)
{
	const char *path = p->meta.m[FAST].o.path;

	if (!p->rb.gap || force)
		return 0;
	return fus_fail(FC_REFUSED, path, "has no superblock, and the %s of its journal %s: some "
			"extents would show older or foreign data, and nothing tells which; "
			"restore a dump if there is one, or copy the disks, then add --force to "
			"use the map as far as it is known", p->rb.gap == GAP_END ? "end" :
			"beginning", p->rb.gap == GAP_END ? "is missing" : "may be missing");
}

static void show(const struct plan *p)
{
	const struct rebuild *rb = &p->rb;

	report_print(&p->found, LEVEL_WARNING);
	if (rb->exact) {
		puts(p->past ? "the map is intact" : "the map is intact; nothing is lost");
		return;
	}
	if (rb->from_replica) {
		puts("the map is taken from the replica, which is up to date; nothing is lost");
		return;
	}
	printf("the map is rebuilt from map copy %d, in which %u blocks are damaged, and %llu "
	       "transactions\n", rb->set, rb->bad_blocks, (unsigned long long)rb->txns);
	if (rb->missing_txns)
		printf("stale: %llu transactions are missing in the middle of the journal: extents "
		       "that they moved or wrote first, and that have not changed since, are "
		       "unknown\n", (unsigned long long)rb->missing_txns);
	print_ranges(p, DOUBT_OLD, "content may be older than what was written last");
	print_ranges(p, DOUBT_LOST, "their place is no longer known, they read as zeros");
	print_sums(p);
	print_gap(rb);
	if (!p->past && !rb->missing_txns && !rb->gap && !rb->nr[DOUBT_OLD] && !rb->nr[DOUBT_LOST])
		puts("nothing is lost");
}

/* @error: why it was not completed, or NULL. */
static void show_json(const struct plan *p, const char *result, const struct fus_error *error)
{
	struct json_object *o = fus_json_base(), *found = json_object_new_array();
	const struct rebuild *rb = &p->rb;
	char text[MESSAGE_TEXT];

	fus_json_add_str(o, "result", result);
	if (error)
		fus_json_add_str(o, "error", message_text(text, error));
	for (unsigned int i = 0; i < p->found.nr; i++)
		json_object_array_add(found, finding_json(&p->found.f[i]));
	json_object_object_add(o, "findings", found);
	fus_json_add_u64(o, "transactions_missing", rb->missing_txns);
	fus_json_add_str(o, "journal_gap", gap_name[rb->gap]);
	for (int d = DOUBT_OLD; d < NR_DOUBTS; d++)
		json_object_object_add(o, doubt_name[d], ranges_json(p, d));
	print_json(o, false);
}

static int ask(struct plan *p)
{
	const char *const path[2] = { p->meta.m[FAST].o.path, p->meta.m[SLOW].o.path };
	const struct question q = {
		path[FAST], "the metadata", "written", "Write the metadata on", "",
	};

	return confirm_devices(&q, path, p->content);
}

/*
 * The state that this goes by has to last until a superblock names the new one: that of the replica
 * if the map is taken from it. Otherwise a power cut would leave less than there is now.
 */
static int refuse_no_room(const struct plan *p, bool force)
{
	static const char *const journal[2] = { [FAST] = "journal", [SLOW] = "replica log" };
	const struct rebuild *rb = &p->rb;
	const int dev = rb->from_replica ? SLOW : FAST;

	if (fus_meta_keeps_present(&p->meta, dev, &rb->st, rb->exact, rb->set))
		return 0;
	if (!force)
		return fus_fail(FC_REFUSED, p->meta.m[dev].o.path, "its %s has no room for what is "
				"to be written beside what it has now, so a power cut in between "
				"would lose some of that; copy the disks, then add --force",
				journal[dev]);
	/* which may have been given for another refusal */
	fus_warn(p->meta.m[dev].o.path, "its %s has no room for what is written beside what it has "
		 "now: a power cut in between loses some of that", journal[dev]);
	return 0;
}

/* -- doing it ---------------------------------------------------------------------------------- */

static int write_repaired(const struct plan *p)
{
	int rc = fus_guards_clear(&p->meta, &p->found);

	if (!rc)
		rc = fus_meta_write(&p->meta, &p->rb.st, p->rb.exact, p->rb.set,
				    p->meta.m[FAST].heat);
	if (!rc)
		fus_meta_keep_closed(&p->meta);
	if (!rc)
		fus_meta_backup(&p->meta);
	return rc;
}

/* Read everything again and check it. *told: the result was printed. */
static int verify(struct plan *p, const struct args *a, bool *told)
{
	struct report left = { 0 };
	char *path[2];
	struct meta meta;
	int rc;

	path[0] = strdup(p->meta.m[FAST].o.path);
	path[1] = strdup(p->meta.m[SLOW].o.path);
	for (int dev = 0; dev < 2; dev++)
		fus_offline_close(&p->meta.m[dev].o);
	rc = path[0] && path[1] ? fus_meta_open_landing(2, path, false, &meta) :
	     fus_fail(FC_FAILED, "memory", "not enough; close programs and try again");
	free(path[0]);
	free(path[1]);
	if (rc)
		return fsck_code(rc);
	*told = true;
	fus_meta_check(&meta, &left);
	rc = left.unrepaired ? FSCK_ERRORS : FSCK_MINOR;
	if (a->opt[OPT_JSON]) {
		show_json(p, rc == FSCK_MINOR ? "repaired" : "errors", NULL);
	} else {
		report_print(&left, LEVEL_WARNING);
		puts(rc == FSCK_MINOR ? "repaired" : "not all could be repaired");
	}
	fus_report_free(&left);
	fus_meta_free(&meta);
	return rc;
}

static int repair(struct plan *p, const struct args *a)
{
	const char *json = a->opt[OPT_JSON];
	bool began = false, told = false;
	int rc, lock = -1;

	rc = judge(p, a->opt[OPT_FORCE]);
	if (!rc)
		rc = check_devices(p, a);
	if (rc)
		return fsck_code(rc);
	if (!p->found.unrepaired) {
		if (json)
			show_json(p, "clean", NULL);
		else
			puts("nothing to repair");
		return 0;
	}
	if (!json)
		show(p);
	if (a->opt[OPT_DRY_RUN]) {
		if (json)
			show_json(p, "not repaired", NULL);
		return fsck_result(&p->found);
	}
	rc = refuse_gap(p, a->opt[OPT_FORCE]);
	if (!rc)
		rc = refuse_no_room(p, a->opt[OPT_FORCE]);
	if (!rc && !a->opt[OPT_YES])
		rc = ask(p);
	if (!rc)
		rc = fus_meta_hold(&p->meta, &lock);
	began = !rc;
	if (!rc)
		rc = write_repaired(p);
	rc = rc ? fsck_code(rc) : verify(p, a, &told);
	/* a second repair may not find again what the first one lost */
	if (json && !told)
		show_json(p, began ? "errors" : "not repaired", fus_last_error());
	fus_run_unlock(&lock);
	return rc;
}

int cmd_repair(const struct args *a)
{
	struct plan p = { 0 };
	int rc;

	rc = check_no_question(a);
	if (rc)
		return rc;
	rc = fus_meta_open_landing(a->n, a->word, !a->opt[OPT_DRY_RUN], &p.meta);
	if (rc)
		return fsck_code(rc);
	rc = repair(&p, a);
	fus_rebuild_free(&p.rb);
	fus_report_free(&p.found);
	fus_meta_free(&p.meta);
	return rc;
}
