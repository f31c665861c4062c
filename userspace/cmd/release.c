// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb release: the slow member of a closed set becomes a plain disk with the content of the set.
 * First each extent goes to its place (meta/homing.h), while the set stays one. Then it is in
 * transit, for seconds (meta/transit.h). All refusals come before the first byte is written.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "release.h"
#include "ask.h"
#include "error.h"
#include "fusionctl.h"
#include "hold-signals.h"
#include "in-transit.h"
#include "json.h"
#include "landing-size.h"
#include "named.h"
#include "output.h"
#include "record.h"
#include "set-json.h"
#include "size.h"
#include "verb.h"

/* -- may it be done? ------------------------------------------------------------------------- */

static int check_pair(const struct meta *meta)
{
	const char *path = meta->m[FAST].o.path;
	struct meta_past past;
	const char *why;
	char text[256];
	int rc;

	rc = fus_meta_refuse_unknown(meta);
	if (!rc)
		rc = fus_meta_refuse_old(meta, "released");
	if (!rc)
		rc = fus_meta_refuse_lost(meta, "released");
	if (rc)
		return rc;
	for (int dev = 0; dev < 2; dev++)
		if (meta->m[dev].o.fd < 0)
			return fus_fail(FC_MEMBER, meta->m[!dev].o.path, "the other member of its "
					"set is missing; connect it");
	for (int dev = 0; dev < 2; dev++)
		if (!meta->known || !fus_meta_sb(meta, dev))
			return fus_fail(FC_DAMAGED, meta->m[dev].o.path, "has no valid superblock; "
					"run fusionctl repair");
	if (fus_meta_past(meta, &past)) {
		fus_meta_past_text(meta, &past, text, sizeof(text));
		return fus_fail(FC_REFUSED, meta->m[past.dev == BOTH ? FAST : past.dev].o.path,
				"%s; connect the current one, or run fusionctl repair", text);
	}
	if (fusion_sb_match(fus_meta_sb(meta, FAST), fus_meta_sb(meta, SLOW), &why))
		return fus_fail(FC_MEMBER, path, "does not belong together with %s: %s; name two "
				"members of one set", meta->m[SLOW].o.path, why);
	for (int dev = 0; dev < 2; dev++)
		if (*fusion_sb_unknown_landing(fus_meta_sb(meta, dev), text))
			return fus_fail(FC_REFUSED, meta->m[dev].o.path, "%s; release it with that "
					"version", text);
	return 0;
}

/* What an interrupted release leaves is only worth a warning, and is written again first. */
static int check_state(const struct meta *meta)
{
	const struct fusion_sb *sb = fus_meta_sb(meta, FAST);
	char text[320];

	if (sb->flags & FUSION_SB_NEEDS_CHECK)
		return fus_fail(FC_REFUSED, sb->label, "had an error that may have left its "
				"metadata wrong; run fusionctl repair %s", sb->label);
	if (!(sb->flags & FUSION_SB_CLEAN))
		return fus_fail(FC_REFUSED, sb->label, "was not closed cleanly; open it and close "
				"it once, with fusionctl open %s and fusionctl close %s", sb->label,
				sb->label);
	if (!fusion_sb_lasts(sb) || !fusion_sb_lasts(fus_meta_sb(meta, SLOW)))
		return fus_fail(FC_DAMAGED, sb->label, "its superblocks contradict themselves; "
				"have the disks examined");
	if (fus_meta_has_errors(meta, text, sizeof(text)))
		return fus_fail(FC_DAMAGED, sb->label, "%s; run fusionctl repair %s", text,
				sb->label);
	return 0;
}

/* An extent with neither a home nor room on the fast member. */
int release_no_room(const struct releasing *r)
{
	const uint64_t es = (uint64_t)r->t.sb.extent_sectors << 9;
	char need[SIZE_TEXT], room[SIZE_TEXT];

	return fus_fail(FC_REFUSED, r->t.sb.label, "%s has room for %s, and %s have to lie on it "
			"while %s is changed; copy the content to another disk",
			r->meta.m[FAST].o.path, fus_size_text(room, fus_transit_room(&r->t) * es),
			fus_size_text(need, r->t.moved * es), r->meta.m[SLOW].o.path);
}

int release_prepare(struct releasing *r, uint64_t keep)
{
	struct fus_content none = { .nr = 0 };
	bool room;
	int rc;

	rc = check_pair(&r->meta);
	if (!rc)
		rc = check_state(&r->meta);
	if (rc)
		return rc;
	r->h.meta = &r->meta;
	r->h.t = &r->t;
	rc = fus_homing_load(&r->h);
	r->logged = r->h.st.log.has.nr * FUS_LANDING_BLOCK;
	if (!rc)
		rc = release_look(r);
	if (rc)
		return rc;
	/* its signatures may be too many, or behind the end: the counts do not depend on them */
	room = fus_release_plan(&r->t, fus_meta_sb(&r->meta, FAST), &none);
	rc = fus_homing_plan(&r->h);
	if (!rc)
		rc = release_check_content(r, keep);
	if (!rc)
		room = fus_release_plan(&r->t, fus_meta_sb(&r->meta, FAST), &r->content);
	if (!rc && !room)
		rc = release_no_room(r);
	return rc ? rc : fus_homing_plan(&r->h);
}

/* -- output ---------------------------------------------------------------------------------- */

static uint64_t extents(const struct releasing *r, uint32_t nr)
{
	return (uint64_t)nr * r->t.sb.extent_sectors << 9;
}

void release_print(const struct args *a, const struct transit *t, const struct releasing *r)
{
	const char *const path[2] = { t->o[FAST].path, t->o[SLOW].path };
	struct json_object *o = fus_json_base();
	const bool leave = a->opt[OPT_LEAVE_UNMAPPED], online = r && r->open_as;

	fus_json_add_bool(o, "dry_run", a->opt[OPT_DRY_RUN]);
	fus_json_add_str(o, "action", a->opt[OPT_ABORT] ? "abort" : a->opt[OPT_RESUME] ? "resume" :
			 "release");
	fus_json_add_set(o, online ? r->open_as : t->sb.label, online, &t->sb, path);
	fus_json_add_bool(o, "online", online);
	fus_json_add_str(o, "content", r && *r->content.type ? r->content.text : NULL);
	if (r && r->size == SIZE_KNOWN)
		fus_json_add_u64(o, "content_bytes", r->content_bytes);
	else
		json_object_object_add(o, "content_bytes", NULL);
	fus_json_add_u64(o, "logged_bytes", r ? r->logged : 0);
	fus_json_add_u64(o, "moved_bytes", r ? extents(r, r->h.away) : 0);
	fus_json_add_u64(o, "zeroed_bytes", r && !leave ? extents(r, r->h.blank) : 0);
	fus_json_add_u64(o, "dropped_bytes", r ? extents(r, r->h.beyond) : 0);
	if (online)
		fus_json_add_u64(o, "expected_ms", r->expected_ms);
	else
		json_object_object_add(o, "expected_ms", NULL);
	if (online && !a->opt[OPT_DRY_RUN]) {
		fus_json_add_u64(o, "late_bytes", r->late);
		fus_json_add_u64(o, "paused_ms", r->paused_ms);
	} else {
		json_object_object_add(o, "late_bytes", NULL);
		json_object_object_add(o, "paused_ms", NULL);
	}
	print_json(o, false);
}

void release_show(const struct releasing *r, const struct args *a)
{
	const bool dry_run = a->opt[OPT_DRY_RUN];
	const struct meta *meta = &r->meta;
	char size[SIZE_TEXT];

	printf("%s: %s a plain disk of %s with %s\n", meta->m[SLOW].o.path,
	       dry_run ? "would become" : "becomes",
	       fus_size_text(size, meta->geo[SLOW].self_sectors << 9),
	       release_content_text(&r->content));
	if (r->logged)
		printf("%s: %s in its landing log %s written to %s first\n",
		       meta->geo[FAST].label, fus_size_text(size, r->logged),
		       dry_run ? "would be" : "are", meta->m[SLOW].o.path);
	printf("%s: %s of extents %s moved to their place\n", meta->geo[FAST].label,
	       fus_size_text(size, extents(r, r->h.away)), dry_run ? "would be" : "are");
	if (r->h.blank && a->opt[OPT_LEAVE_UNMAPPED])
		printf("%s: %s that are unmapped %s what is on the disk there\n",
		       meta->geo[FAST].label, fus_size_text(size, extents(r, r->h.blank)),
		       dry_run ? "would keep" : "keep");
	else if (r->h.blank)
		printf("%s: %s that are unmapped %s zeroed\n", meta->geo[FAST].label,
		       fus_size_text(size, extents(r, r->h.blank)), dry_run ? "would be" : "are");
	if (r->h.beyond)
		printf("%s: %s behind the end of %s %s given up\n", meta->geo[FAST].label,
		       fus_size_text(size, extents(r, r->h.beyond)), meta->m[SLOW].o.path,
		       dry_run ? "would be" : "are");
	printf("%s: %s wiped in the end\n", meta->m[FAST].o.path, dry_run ? "would be" : "is");
}

void release_tell(const char *disk, const char *fast)
{
	printf("%s is a plain disk, and %s is no longer a member; use it by UUID, and no longer as "
	       "a mapped device\n", disk, fast);
}

int release_ask(const struct releasing *r)
{
	const char *name = r->meta.geo[FAST].label, *disk = r->meta.m[SLOW].o.path;
	const char *fast = r->meta.m[FAST].o.path;
	char nobody[512], question[640], size[SIZE_TEXT], lost[128] = "";

	if (r->h.beyond)
		snprintf(lost, sizeof(lost), ", %s behind its end are lost",
			 fus_size_text(size, extents(r, r->h.beyond)));
	snprintf(nobody, sizeof(nobody), "%s would become a plain disk, and %s be wiped", disk,
		 fast);
	snprintf(question, sizeof(question), "%s will become a plain disk with the content of "
		 "%s%s, and %s will be wiped", disk, name, lost, fast);
	return confirm(name, nobody, question);
}

/* -- doing it ---------------------------------------------------------------------------------- */

/* From here on, it is --resume or --abort that goes on. */
static int do_transit(struct releasing *r)
{
	const struct fusion_sb *sb[2] = {
		fus_meta_sb(&r->meta, FAST), fus_meta_sb(&r->meta, SLOW)
	};
	const char *name = r->meta.geo[FAST].label;
	sigset_t before;
	int rc, lock;

	rc = fus_meta_hold(&r->meta, &lock);
	if (rc)
		return rc;
	for (int dev = 0; dev < 2; dev++)
		r->t.o[dev] = r->meta.m[dev].o;
	hold_ending_signals(&before);
	rc = fus_release_begin(&r->t, sb);
	if (!rc)
		rc = fus_release_finish(&r->t);
	sigprocmask(SIG_SETMASK, &before, NULL);
	fus_run_unlock(&lock);
	if (rc)
		fus_warn(name, "may be in transit; run fusionctl release %s --resume, or --abort",
			 name);
	return rc;
}

static int carry_out(struct releasing *r, const struct args *a)
{
	const char *name = r->meta.geo[FAST].label;
	int rc, lock;

	/* the members stay open, so the lock is not needed for hours; but it has to be there */
	rc = fus_meta_hold(&r->meta, &lock);
	if (rc)
		return rc;
	fus_meta_keep_closed(&r->meta);
	fus_run_unlock(&lock);
	rc = fus_homing_run(&r->h, !a->opt[OPT_LEAVE_UNMAPPED]);
	if (rc) {
		fus_warn(name, "is still a set, with all its content; run fusionctl release again");
		return rc;
	}
	return do_transit(r);
}

static int release_closed(const struct args *a, uint64_t keep)
{
	const bool json = a->opt[OPT_JSON], dry_run = a->opt[OPT_DRY_RUN];
	struct releasing r = { .h = { .meta = NULL } };
	int rc;

	rc = fus_meta_open_landing(a->n, a->word, !dry_run, &r.meta);
	if (rc)
		return rc;
	rc = release_prepare(&r, keep);
	for (int dev = 0; dev < 2; dev++)
		r.t.o[dev] = r.meta.m[dev].o;
	if (!rc && !json)
		release_show(&r, a);
	if (!rc && json && dry_run)
		release_print(a, &r.t, &r);
	if (!rc && !dry_run) {
		rc = a->opt[OPT_YES] ? 0 : release_ask(&r);
		if (!rc)
			rc = carry_out(&r, a);
		if (!rc && json)
			release_print(a, &r.t, &r);
		else if (!rc)
			release_tell(r.t.o[SLOW].path, r.t.o[FAST].path);
	}
	fus_homing_free(&r.h);
	fus_meta_free(&r.meta);
	return rc;
}

static int release(const struct args *a)
{
	char name[128];
	uint64_t keep = 0;
	bool open = false;
	int rc = 0;

	if (a->opt[OPT_SIZE] && (!fus_parse_size(a->opt[OPT_SIZE], &keep) || !keep))
		return fus_fail(FC_USAGE, a->opt[OPT_SIZE], "not a size; write e.g. --size 500G");
	if (a->n == 1)
		rc = fus_open_set_name(a->word[0], name, sizeof(name), &open);
	if (rc)
		return rc;
	return open ? release_online(a, name, keep) : release_closed(a, keep);
}

int cmd_release(const struct args *a)
{
	char set[UUID_TEXT];
	int rc;

	rc = transit_check_options(a);
	if (rc)
		return rc;
	if (a->opt[OPT_AT_BOOT])
		return release_plan(a);
	if (a->opt[OPT_ABORT] && a->n == 1 && release_is_planned(a->word[0], set))
		return release_cancel(a, set);
	return a->opt[OPT_RESUME] || a->opt[OPT_ABORT] ? release_go_on(a) : release(a);
}
