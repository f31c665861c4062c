// SPDX-License-Identifier: GPL-2.0-only
/* Verb restore: write a saved dump, unless the content of the members forbids it. */
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "restore.h"
#include "ask.h"
#include "error.h"
#include "fusionctl.h"
#include "json.h"
#include "output.h"
#include "overwrite.h"
#include "probe.h"
#include "record.h"
#include "role.h"
#include "scan.h"
#include "set-json.h"
#include "text.h"
#include "verb.h"

/* -- may it be written there? ---------------------------------------------------------------- */

/* A member of another set. */
static int check_copies(const char *file, const struct meta *meta, int dev,
			const struct args *a, char content[CONTENT_TEXT])
{
	const struct fusion_sb *geo = &meta->geo[dev];
	const struct meta_member *m = &meta->m[dev];
	char text[FUSION_UNKNOWN_TEXT];

	if (fus_meta_in_transit(m))
		return fus_meta_refuse_unknown(meta);
	if (fus_meta_refuse_old(meta, "restored"))
		return FC_REFUSED;
	if (fus_meta_is_unknown(m, text)) {
		snprintf(content, CONTENT_TEXT, "a member of a fusion set that %s", text);
		return a->opt[OPT_FORCE] || may_ask(a) ? 0 :
		       fus_fail(FC_REFUSED, m->o.path, "%s; use a newer fusionctl and dm-fusion, "
				"or to overwrite that, add --force", text);
	}
	for (int i = 0; i < 2; i++) {
		const struct fusion_sb *sb = &m->copy[i].sb;

		if (m->copy[i].err)
			continue;
		if (memcmp(sb->set_uuid, geo->set_uuid, 16) ||
		    memcmp(sb->dev_uuid, geo->dev_uuid, 16) || sb->role != geo->role) {
			snprintf(content, CONTENT_TEXT, "the %s member of the set %s",
				 fus_role_name[sb->role], sb->label);
			return a->opt[OPT_FORCE] || may_ask(a) ? 0 :
			       fus_fail(FC_REFUSED, m->o.path, "is %s, not of that in %s; to "
					"overwrite that, add --force", content, file);
		}
	}
	return 0;
}

int restore_check_member(const char *file, const struct meta *meta, int dev,
			 const struct args *a, char content[CONTENT_TEXT])
{
	int rc;

	*content = 0;
	rc = overwrite_check_size(meta, dev, file);
	if (!rc)
		rc = check_copies(file, meta, dev, a, content);
	return rc || *content ? rc : overwrite_check_content(meta, dev, a, content);
}

static u32 count_mapped(const struct dump *d)
{
	u32 mapped = 0;

	for (u32 i = 0; i < d->sb.nr_lexts; i++)
		mapped += fusion_word_mapped(d->st.word[i]);
	return mapped;
}

static void print_plan(const struct dump *d, const char *const path[2],
		       char content[2][CONTENT_TEXT], bool dry_run)
{
	char label[FUSION_LABEL_SIZE + 1];
	struct json_object *o = fus_json_base();

	snprintf(label, sizeof(label), "%.*s", FUSION_LABEL_SIZE, d->sb.label);
	fus_json_add_bool(o, "dry_run", dry_run);
	fus_json_add_str(o, "file", d->path);
	fus_json_add_set(o, label, false, &d->sb, path);
	fus_json_add_contents(o, content);
	fus_json_add_u64(o, "mapped", count_mapped(d));
	print_json(o, false);
}

static void show_plan(const struct dump *d, const char *const path[2],
		      char content[2][CONTENT_TEXT])
{
	const struct fusion_sb *sb = &d->sb;
	char text[1536] = "", line[4096], safe[4 * sizeof(line)];

	add_contents(text, sizeof(text), path, content);
	snprintf(line, sizeof(line), "the metadata on %s and %s would be replaced by that of %s%s: "
		 "the set %.*s, of which %u of %u extents have data", path[FAST], path[SLOW],
		 d->path, text, FUSION_LABEL_SIZE, sb->label, count_mapped(d), sb->nr_lexts);
	puts(fus_safe_text(safe, sizeof(safe), line, sizeof(line), fus_utf8_output()));
}

static int ask(const struct dump *d, const char *const path[2], char content[2][CONTENT_TEXT])
{
	char by[1536];
	const struct question q = {
		d->path, "the metadata", "replaced", "Replace the metadata on", by,
	};

	snprintf(by, sizeof(by), " by that of %s", d->path);
	return confirm_devices(&q, path, content);
}

static int write_dump(struct dump *d, const char *const path[2], struct meta *meta,
		      char content[2][CONTENT_TEXT], bool json)
{
	struct report r = { 0 };
	int rc, lock = -1;

	rc = fus_meta_hold(meta, &lock);
	if (rc)
		return rc;
	fus_meta_check(meta, &r);
	rc = fus_guards_clear(meta, &r);
	fus_report_free(&r);
	if (!rc)
		rc = fus_meta_write(meta, &d->st, d->goes_on, -1, d->heat);
	if (!rc)
		fus_meta_keep_closed(meta);
	if (!rc)
		fus_meta_backup(meta);
	fus_run_unlock(&lock);
	if (!rc && json)
		print_plan(d, path, content, false);
	else if (!rc)
		printf("restored; fusionctl check %s %s tests it\n", path[FAST], path[SLOW]);
	return rc;
}

/* Both members of the set with this name. */
static int find_both(const char *name, char found[2][PATH_MAX])
{
	struct member *list = NULL, *m = NULL, *peer = NULL;
	int rc;

	if (strchr(name, '/'))
		return fus_fail(FC_USAGE, name, "name both members, the fast one first, or the "
				"set");
	rc = fus_scan_members(&list);
	if (!rc)
		rc = fus_find_named(list, name, &m);
	if (!rc)
		rc = fus_find_member(list, m->sb->peer_uuid, &peer);
	if (!rc && (!peer || peer->sb->role == m->sb->role))
		rc = fus_fail(FC_MEMBER, name, "its %s member is missing or damaged; name both "
			      "members, the fast one first", fus_role_name[!m->sb->role]);
	if (!rc) {
		snprintf(found[m->sb->role], PATH_MAX, "%s", m->path);
		snprintf(found[peer->sb->role], PATH_MAX, "%s", peer->path);
	}
	fus_free_members(list);
	return rc;
}

/* What a member has now lasts until a superblock names what is restored. */
static int refuse_no_room(const struct dump *d, const struct meta *meta, bool force)
{
	const char *path = meta->m[FAST].o.path;

	if (fus_meta_keeps_present(meta, FAST, &d->st, d->goes_on, -1))
		return 0;
	if (!force)
		return fus_fail(FC_REFUSED, path, "its journal has no room for what %s has beside "
				"what it has now, so a power cut would leave the set unusable "
				"until %s is restored again; keep that file, and add --force",
				d->path, d->path);
	/* which may have been given for another refusal */
	fus_warn(path, "its journal has no room for what %s has beside what it has now: after a "
		 "power cut, restore that file again", d->path);
	return 0;
}

static int restore(struct dump *d, const struct args *a)
{
	char found[2][PATH_MAX], content[2][CONTENT_TEXT];
	const char *path[2] = { a->word[1], a->word[2] };
	struct meta meta = { .m = { { .o.fd = -1 }, { .o.fd = -1 } } };
	int rc = 0;

	if (a->n == 2) {
		rc = find_both(a->word[1], found);
		path[FAST] = found[FAST];
		path[SLOW] = found[SLOW];
	}
	if (!rc)
		rc = fus_open_members(path, !a->opt[OPT_DRY_RUN], &meta);
	meta.landing = fus_has_landing(&d->sb);
	if (!rc)
		rc = fus_meta_read_as(&meta, &d->sb);
	for (int dev = 0; dev < 2 && !rc; dev++)
		rc = restore_check_member(d->path, &meta, dev, a, content[dev]);
	if (!rc)
		rc = restore_check_age(d, &meta, a->opt[OPT_FORCE]);
	if (!rc)
		rc = restore_check_landing(d, &meta, a->opt[OPT_FORCE]);
	if (!rc)
		rc = refuse_no_room(d, &meta, a->opt[OPT_FORCE]);
	if (!rc && a->opt[OPT_DRY_RUN] && a->opt[OPT_JSON]) {
		print_plan(d, path, content, true);
	} else if (!rc && a->opt[OPT_DRY_RUN]) {
		show_plan(d, path, content);
	} else if (!rc) {
		rc = a->opt[OPT_YES] ? 0 : ask(d, path, content);
		if (!rc)
			rc = write_dump(d, path, &meta, content, a->opt[OPT_JSON]);
	}
	fus_meta_free(&meta);
	return rc;
}

int cmd_restore(const struct args *a)
{
	struct json_object *o;
	struct dump d;
	int rc;

	rc = check_no_question(a);
	if (rc)
		return rc;
	if (a->opt[OPT_GEOMETRY])
		return restore_geometry(a);
	rc = dump_read(a->word[0], &o);
	if (rc)
		return rc;
	rc = dump_parse(a->word[0], o, &d);
	if (!rc)
		rc = restore(&d, a);
	dump_free(&d);
	return rc;
}
