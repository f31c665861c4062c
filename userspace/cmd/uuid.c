// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb uuid: give a closed set, which may be a copy of another one, uuids of its own.
 * meta/new-uuid.c has the steps.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "ask.h"
#include "backup.h"
#include "device.h"
#include "error.h"
#include "fusionctl.h"
#include "json.h"
#include "new-uuid.h"
#include "output.h"
#include "record.h"
#include "role.h"
#include "scan.h"
#include "set-json.h"
#include "size.h"
#include "super.h"
#include "text.h"
#include "verb.h"

struct job {
	struct meta meta;
	struct new_uuid n;
	char disk[2][160];	/* the hardware, for people */
};

static const char *path_of(const struct job *j, int dev)
{
	return j->meta.m[dev].o.path;
}

static const char *label_of(const struct job *j)
{
	return j->n.sb[FAST].label;
}

/* -- the two devices, and others ----------------------------------------------------------- */

/* The copy is on other disks than the original, which its superblocks still name. */
static int take_disks(struct job *j)
{
	struct fusion_disk_ident ident;
	struct device dev;
	int rc = 0;

	for (int i = 0; i < 2 && !rc; i++) {
		const struct offline *o = &j->meta.m[i].o;
		char size[SIZE_TEXT];

		if (o->file) {
			snprintf(j->disk[i], sizeof(j->disk[i]), "image, %s",
				 fus_size_text(size, o->sectors << 9));
			continue;
		}
		rc = fus_device_get(o->path, &dev);
		if (rc)
			break;
		memset(&ident, 0, sizeof(ident));
		fus_ident_set(&ident, &dev);
		fus_device_put(&dev);
		fus_ident_text(&ident, o->sectors, j->disk[i], sizeof(j->disk[i]));
		rc = fus_new_uuid_disk(&j->n, i, &ident);
	}
	return rc;
}

/* Return: whether the device is one of the two, or a path to one, or stands on one. */
static bool is_ours(const struct job *j, const struct member *list, const struct member *m)
{
	for (const struct member *i = list; i; i = i->next)
		for (int dev = 0; dev < 2; dev++)
			if (i->devno == j->meta.m[dev].o.devno &&
			    (i == m || fus_member_stands_on(i, m) || fus_member_stands_on(m, i)))
				return true;
	return false;
}

/* Of two sets with one name, open has to be told which by its uuid. */
static int check_name(const struct job *j, const struct member *list, bool chosen)
{
	char uuid[UUID_TEXT];

	for (const struct member *m = list; m; m = m->next) {
		if (is_ours(j, list, m) || !fus_member_called(m, label_of(j)))
			continue;
		if (chosen)
			return fus_fail(FC_REFUSED, label_of(j), "is the name of another set, of "
					"which %s is a member; choose another name", m->path);
		fus_warn(label_of(j), "is also the name of the set of which %s is a member; give "
			 "this one another: fusionctl rename %s NEW", m->path,
			 fus_uuid_text(uuid, j->n.sb[FAST].set_uuid));
		break;
	}
	return 0;
}

static void tell_others(const struct job *j, const struct member *list)
{
	for (const struct member *m = list; m; m = m->next)
		if (!is_ours(j, list, m) && fus_has_identity(m) &&
		    !memcmp(m->sb->set_uuid, j->n.transit.was_set, 16))
			printf("%s: %s member with the old uuid, stays as it is\n", m->path,
			       fus_role_name[m->sb->role]);
}

static int look_at_others(const struct job *j, bool chosen, bool json)
{
	struct member *list = NULL;
	int rc;

	/* others do not concern an image, which may be for another machine */
	if (j->meta.m[FAST].o.file || j->meta.m[SLOW].o.file)
		return 0;
	rc = fus_scan_members(&list);
	if (!rc && !json)
		tell_others(j, list);
	if (!rc)
		rc = check_name(j, list, chosen);
	fus_free_members(list);
	return rc;
}

/* -- doing it -------------------------------------------------------------------------------- */

static void show(const struct job *j)
{
	char safe[1024], line[512];

	for (int i = 0; i < 2; i++) {
		snprintf(line, sizeof(line), "%s: %s member of %s (%s), gets the new uuid",
			 path_of(j, i), fus_role_name[i], label_of(j), j->disk[i]);
		puts(fus_safe_text(safe, sizeof(safe), line, sizeof(line), fus_utf8_output()));
	}
	if (j->n.resumed)
		puts("this was interrupted before, and goes on from there");
}

static int ask(const struct job *j)
{
	char nobody[512], question[1024];
	const char *fast = path_of(j, FAST), *slow = path_of(j, SLOW);

	snprintf(nobody, sizeof(nobody), "%s and %s would get another uuid", fast, slow);
	snprintf(question, sizeof(question), "%s (%s) and %s (%s) will be changed, and get another "
		 "uuid", fast, j->disk[FAST], slow, j->disk[SLOW]);
	return confirm(label_of(j), nobody, question);
}

static int carry_out(struct job *j)
{
	const bool image = j->meta.m[FAST].o.file || j->meta.m[SLOW].o.file;
	int rc, lock;

	rc = fus_meta_hold(&j->meta, &lock);
	if (rc)
		return rc;
	rc = fus_new_uuid_write(&j->n);
	if (rc) {
		fus_warn(path_of(j, FAST), "and %s may have the new uuid in part; to go on, run "
			 "fusionctl uuid %s %s again", path_of(j, SLOW), path_of(j, FAST),
			 path_of(j, SLOW));
	} else {
		fus_meta_keep_closed(&j->meta);
		if (!image)
			fus_backup_write(&j->n.sb[FAST]);
	}
	fus_run_unlock(&lock);
	return rc;
}

static void print(const struct job *j, bool json)
{
	const char *path[2] = { path_of(j, FAST), path_of(j, SLOW) };
	struct json_object *o;
	char uuid[UUID_TEXT];

	if (!json) {
		printf("%s: its uuid is %s; a file system in it has the same uuid as before\n",
		       label_of(j), fus_uuid_text(uuid, j->n.sb[FAST].set_uuid));
		return;
	}
	o = fus_json_base();
	fus_json_add_set(o, label_of(j), false, &j->n.sb[FAST], path);
	fus_json_add_str(o, "old_set_uuid", fus_uuid_text(uuid, j->n.transit.was_set));
	fus_json_add_bool(o, "resumed", j->n.resumed);
	print_json(o, false);
}

int cmd_uuid(const struct args *a)
{
	const char *label = a->opt[OPT_LABEL];
	struct job j = { 0 };
	int rc;

	rc = label ? fus_check_name(label) : 0;
	if (!rc && a->opt[OPT_JSON] && !a->opt[OPT_YES])
		rc = fus_fail(FC_USAGE, "--json", "allows no question; add --yes");
	if (!rc)
		rc = fus_meta_open_landing(2, a->word, true, &j.meta);
	if (rc)
		return rc;
	rc = fus_new_uuid_plan(&j.n, &j.meta);
	if (!rc && label)
		fus_new_uuid_label(&j.n, label);
	if (!rc)
		rc = take_disks(&j);
	if (!rc && !a->opt[OPT_JSON])
		show(&j);
	if (!rc)
		rc = look_at_others(&j, label, a->opt[OPT_JSON]);
	if (!rc && !a->opt[OPT_YES])
		rc = ask(&j);
	if (!rc)
		rc = carry_out(&j);
	if (!rc)
		print(&j, a->opt[OPT_JSON]);
	fus_new_uuid_end(&j.n);
	fus_meta_free(&j.meta);
	return rc;
}
