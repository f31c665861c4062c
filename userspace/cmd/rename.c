// SPDX-License-Identifier: GPL-2.0-only
/* Verb rename: give a set another name, whether it is open or closed. */
#include <ctype.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backup.h"
#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "json.h"
#include "open-set.h"
#include "output.h"
#include "record.h"
#include "scan.h"
#include "setting.h"
#include "settings-closed.h"
#include "size.h"
#include "super.h"
#include "tell.h"
#include "verb.h"

struct job {
	const char *to;
	char label[FUSION_LABEL_SIZE + 1];	/* its name until now; an open set's device */
	char device[128];			/* may have another one */
	char uuid[UUID_TEXT];
	struct closed *closed;			/* unless it is open */
	dev_t fast;				/* if it is open */
	bool open, dry_run;
};

/* The one that users see. */
static const char *old_name(const struct job *j)
{
	return j->open ? j->device : j->label;
}

/* -- may it have that name? ------------------------------------------------------------- */

static int check_devices(const struct job *j)
{
	struct mapping m;
	int rc;

	rc = fus_dm_get(j->to, NULL, MAPPING_INFO, &m);
	if (rc || !m.exists || (fus_dm_is_set(&m) && !strcmp(fus_dm_set_uuid(&m), j->uuid)))
		return rc;
	return fus_fail(FC_REFUSED, j->to, "is the name of another mapped device; choose another "
			"name");
}

/* Of two sets of one name, a user or the next boot would open either. */
static int check_sets(const struct job *j)
{
	char uuid[UUID_TEXT];
	struct member *list;
	int rc;

	rc = fus_scan_members(&list);
	if (rc)
		return rc;
	for (const struct member *m = list; m && !rc; m = m->next)
		if (fus_member_called(m, j->to) &&
		    strcasecmp(fus_uuid_text(uuid, m->sb->set_uuid), j->uuid))
			rc = fus_fail(FC_REFUSED, j->to, "is the name of another set, of which %s "
				      "is a member; choose another name", m->path);
	fus_free_members(list);
	return rc;
}

/* -- who knows it by its old name? ------------------------------------------------------ */

/* Return: whether a line that is no comment has the path as a word. */
static bool names_path(const char *line, const char *path)
{
	size_t n = strlen(path);

	line += strspn(line, " \t");
	if (*line == '#')
		return false;
	while ((line = strstr(line, path))) {
		line += n;
		if (!*line || isspace((unsigned char)*line) || strchr(",\"'[/", *line))
			return true;
	}
	return false;
}

static void warn_of(const char *file, const char *path, const char *remedy)
{
	FILE *f = fopen(file, "re");
	bool found = false;
	char *line = NULL;
	size_t size = 0;

	while (f && !found && getline(&line, &size, f) > 0)
		found = names_path(line, path);
	free(line);
	if (f)
		fclose(f);
	if (found)
		fus_warn(file, "names the device %s, which has another name now; %s", path, remedy);
}

static void warn_of_old_name(const struct job *j)
{
	char path[160];

	snprintf(path, sizeof(path), "/dev/mapper/%s", old_name(j));
	warn_of("/etc/fstab", path, "change it there, best to UUID=, as blkid shows it");
	warn_of("/etc/crypttab", path, "change it there, best to UUID=, as blkid shows it");
	warn_of("/proc/cmdline", path, "change it in the configuration of the boot loader before "
		"the next boot");
}

/* -- the new name ------------------------------------------------------------------------ */

static int tell_label(const char *name, const char *label)
{
	char msg[sizeof("label ") + FUSION_LABEL_SIZE], *answer = NULL;
	int rc;

	snprintf(msg, sizeof(msg), "label %s", label);
	rc = fus_tell_set(name, msg, &answer);
	free(answer);
	return rc;
}

/*
 * First in the set, as that lasts: if this process ends in between, the device gets its new name
 * when the set is opened next.
 */
static int rename_open(const struct job *j)
{
	int rc, err, lock;

	/* not while it is suspended, by its old name, to be released or resized */
	rc = fus_run_lock(ASSEMBLY_LOCK, &lock);
	if (rc)
		return rc;
	rc = tell_label(j->device, j->to);
	err = !rc && strcmp(j->device, j->to) ? fus_dm_rename(j->device, j->to) : 0;
	fus_run_unlock(&lock);
	if (rc)
		return rc;
	if (!err) {
		fus_backup_changed(j->fast);
		return 0;
	}
	if (fus_valid_name(j->label))
		tell_label(j->device, j->label);
	return fus_fail(FC_FAILED, j->device, "the device mapper does not rename it: %s; see "
			"dmesg", strerror(-err));
}

/* -- the set ------------------------------------------------------------------------------ */

/* Fails if the kernel would not write superblocks. */
static int find_open(struct job *j, const char *name, bool *found)
{
	struct member *m = NULL;
	struct set set;
	int rc = 0;

	*found = false;
	if (fus_valid_name(name))
		rc = fus_set_get_if_open(name, &set, found);
	if (rc || !*found)
		return rc;
	j->open = true;
	j->fast = set.member[FAST];
	snprintf(j->device, sizeof(j->device), "%s", set.m.name);
	snprintf(j->uuid, sizeof(j->uuid), "%s", fus_dm_set_uuid(&set.m));
	if (!fus_member_at(j->fast, &m) && m && fus_has_identity(m))
		snprintf(j->label, sizeof(j->label), "%s", m->sb->label);
	fus_free_members(m);
	if (strcmp(set.st.mode, "rw"))
		rc = fus_fail(FC_FAILED, name, "cannot be renamed, it is in mode %s; see fusionctl "
			      "status %s", set.st.mode, name);
	else if (set.m.suspended)
		rc = fus_fail_suspended(name, "cannot be renamed");
	fus_set_put(&set);
	return rc;
}

static int find_closed(struct job *j, const char *name)
{
	struct settings s;
	int rc;

	rc = fus_settings_closed(name, !j->dry_run, &s, &j->closed);
	if (rc)
		return rc;
	snprintf(j->label, sizeof(j->label), "%s", s.name);
	snprintf(j->uuid, sizeof(j->uuid), "%s", s.uuid);
	return 0;
}

static bool has_it(const struct job *j)
{
	return !strcmp(j->label, j->to) && (!j->open || !strcmp(j->device, j->to));
}

static int rename_it(struct job *j)
{
	int rc;

	if (has_it(j))
		return 0;
	rc = check_devices(j);
	if (!rc)
		rc = check_sets(j);
	if (rc || j->dry_run)
		return rc;
	rc = j->open ? rename_open(j) : fus_closed_rename(j->closed, j->to);
	if (!rc && strcmp(old_name(j), j->to))
		warn_of_old_name(j);
	return rc;
}

static void print(const struct job *j, bool json)
{
	struct json_object *o;

	if (json) {
		o = fus_json_base();
		fus_json_add_str(o, "name", j->to);
		fus_json_add_str(o, "old_name", old_name(j));
		fus_json_add_str(o, "set_uuid", j->uuid);
		fus_json_add_bool(o, "open", j->open);
		fus_json_add_bool(o, "dry_run", j->dry_run);
		print_json(o, false);
	} else if (has_it(j)) {
		printf("%s: has this name already\n", j->to);
	} else {
		printf("%s: %s %s\n", old_name(j), j->dry_run ? "would be renamed" : "is now named",
		       j->to);
	}
}

int cmd_rename(const struct args *a)
{
	struct job j = { .to = a->word[1], .dry_run = a->opt[OPT_DRY_RUN] };
	bool found;
	int rc;

	rc = fus_check_name(j.to);
	if (!rc)
		rc = find_open(&j, a->word[0], &found);
	if (!rc && !found)
		rc = find_closed(&j, a->word[0]);
	if (!rc)
		rc = rename_it(&j);
	if (!rc)
		print(&j, a->opt[OPT_JSON]);
	if (j.closed)
		fus_closed_end(j.closed);
	return rc;
}
