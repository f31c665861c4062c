// SPDX-License-Identifier: GPL-2.0-only
/*
 * Backups of the geometry of sets, away from their members.
 *
 *	/etc/fusion/backup/UUID.json		of the set with that uuid
 *	/etc/fusion/backup/archive/UUID.N.json	older ones; the highest N is the last before it
 *
 * What they hold ages only when the set grows or gets another name. An unchanged one is never
 * written again. One of a set that has grown elsewhere is written when the set is opened here.
 * Settings change more often than the rest: one with other settings replaces the one before, so
 * that the archive keeps what repair depends on.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backup.h"
#include "error.h"
#include "fusionctl.h"
#include "geometry-json.h"
#include "json.h"
#include "json-field.h"
#include "new-file.h"
#include "numbered.h"
#include "scan.h"
#include "super.h"
#include "dm-fusion-codec.h"

#define MAX_BYTES	(64U << 10)	/* some 2 KiB are used */
#define MAX_DUMP	0x40000000U
#define MAX_OLDER	10
#define FILE_NAME	(UUID_TEXT + 32)

const char *fus_backup_dir = BACKUP_DIR;

static void file_name(const struct fusion_sb *sb, char name[FILE_NAME])
{
	char uuid[UUID_TEXT];

	snprintf(name, FILE_NAME, "%s.json", fus_uuid_text(uuid, sb->set_uuid));
}

/* -- writing ------------------------------------------------------------------------------ */

static int keep_older(int dir, const struct fusion_sb *sb, const char *text, size_t size)
{
	int archive = fus_private_dir(dir, "archive"), err;
	char uuid[UUID_TEXT];

	if (archive < 0)
		return archive;
	err = fus_numbered_add(archive, fus_uuid_text(uuid, sb->set_uuid), text, size, MAX_OLDER,
			       NULL);
	close(archive);
	return err;
}

/* The content of the file; to be put. */
static struct json_object *backup_json(const struct fusion_sb *sb)
{
	struct json_object *o = fus_json_base();

	fus_json_add_str(o, "content", GEOMETRY_CONTENT);
	fus_geometry_json(o, sb);
	return o;
}

static struct json_object *without_settings(const char *text)
{
	struct json_object *o = json_tokener_parse(text);

	if (json_object_is_type(o, json_type_object))
		json_object_object_del(o, "settings");
	return o;
}

static bool differs_more(const char *old, const char *new)
{
	struct json_object *a = without_settings(old), *b = without_settings(new);
	const bool equal = a && b && json_object_equal(a, b);

	json_object_put(a);
	json_object_put(b);
	return !equal;
}

static int write_to(int dir, const struct fusion_sb *sb, const char *text)
{
	char name[FILE_NAME], *old;
	size_t size = 0;
	int err;

	file_name(sb, name);
	old = fus_file_text(dir, name, MAX_BYTES, &size);
	if (!old && errno != ENOENT)
		return -errno;
	if (old && size == strlen(text) && !memcmp(old, text, size)) {
		free(old);
		return 0;
	}
	err = old && differs_more(old, text) ? keep_older(dir, sb, old, size) : 0;
	free(old);
	return err ? err : fus_new_file(dir, name, text, strlen(text));
}

static int write_backup(const struct fusion_sb *sb)
{
	struct json_object *o;
	char *text = NULL;
	int dir, err;

	dir = fus_private_dir_below(fus_backup_dir);
	if (dir < 0)
		return dir;
	o = backup_json(sb);
	if (asprintf(&text, "%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY |
			JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE)) < 0)
		text = NULL;
	json_object_put(o);
	err = text ? fus_lock_dir(dir) : -ENOMEM;
	if (!err)
		err = write_to(dir, sb, text);
	free(text);
	close(dir);
	return err;
}

static void backup(const struct fusion_sb *sb, bool quiet)
{
	char name[FILE_NAME], path[PATH_MAX];
	int err;

	if (geteuid())
		return;
	err = write_backup(sb);
	if (!err || quiet)
		return;
	file_name(sb, name);
	snprintf(path, sizeof(path), "%s/%s", fus_backup_dir, name);
	fus_warn(path, "cannot write the backup of the geometry: %s; the set is not affected, keep "
		 "a dump of it elsewhere", strerror(-err));
}

void fus_backup_write(const struct fusion_sb *sb)
{
	backup(sb, false);
}

void fus_backup_changed(dev_t fast)
{
	struct member *m = NULL;

	if (!fus_member_at(fast, &m) && m && fus_has_identity(m))
		fus_backup_write(m->sb);
	fus_free_members(m);
}

static bool exists(const char *uuid)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s.json", fus_backup_dir, uuid);
	return !access(path, F_OK);
}

void fus_backup_first(const struct fusion_sb *sb, bool quiet)
{
	char uuid[UUID_TEXT];

	/* One that has grown may have done so elsewhere, or the tool was killed. */
	if (sb->layout_seq || !exists(fus_uuid_text(uuid, sb->set_uuid)))
		backup(sb, quiet);
}

void fus_backup_open(const char *uuid, dev_t member)
{
	struct member *m = NULL;

	if (!exists(uuid) && !fus_member_at(member, &m) && m && fus_has_identity(m))
		backup(m->sb, true);
	fus_free_members(m);
}

/* -- reading ------------------------------------------------------------------------------ */

static int parse(const char *path, const char *text, struct fusion_sb *sb)
{
	const struct json_source s = {
		path, "use a backup from " BACKUP_DIR ", or a file that fusionctl dump wrote",
	};
	struct json_object *o = json_tokener_parse(text);
	const char *content;
	u64 version = 0;
	int rc;

	content = json_object_is_type(o, json_type_object) ? fus_field_text(o, "content") : NULL;
	if (!o)
		rc = fus_fail(FC_FAILED, path, "not JSON; %s", s.remedy);
	else if (!content || (strcmp(content, GEOMETRY_CONTENT) && strcmp(content, DUMP_CONTENT)))
		rc = fus_field_bad(&s, "content", "is neither a backup nor a dump");
	else
		rc = fus_field_u64(&s, o, "version", INT64_MAX, &version);
	if (!rc && version != JSON_VERSION)
		rc = fus_fail(FC_FAILED, path, "is of version %llu; use the fusionctl that wrote "
			      "it", (unsigned long long)version);
	if (!rc)
		rc = fus_geometry_parse(&s, o, sb);
	json_object_put(o);
	return rc;
}

int fus_backup_read(const char *path, struct fusion_sb *sb)
{
	char *text = fus_file_text(AT_FDCWD, path, MAX_DUMP, NULL);
	int rc;

	if (!text)
		return fus_fail(FC_FAILED, path, "%s; name a backup from " BACKUP_DIR ", or a file "
				"that fusionctl dump wrote", errno == EINVAL ? "is not a file" :
				strerror(errno));
	rc = parse(path, text, sb);
	free(text);
	return rc;
}

static bool is_backup(const struct dirent *e)
{
	const size_t len = strlen(e->d_name);

	return *e->d_name != '.' && len > 5 && !strcmp(e->d_name + len - 5, ".json");
}

int fus_backup_find(bool (*is)(void *ctx, const char *path, const struct fusion_sb *sb),
		    void *ctx)
{
	DIR *dir = opendir(fus_backup_dir);
	char path[PATH_MAX];
	struct fusion_sb sb;
	struct dirent *e;
	bool found = false;

	if (!dir)
		return fus_fail(FC_FAILED, fus_backup_dir, "%s; name the file with the backup, or "
				"a dump", strerror(errno));
	while (!found && (e = readdir(dir))) {
		if (!is_backup(e))
			continue;
		snprintf(path, sizeof(path), "%s/%s", fus_backup_dir, e->d_name);
		found = !fus_backup_read(path, &sb) && is(ctx, path, &sb);
	}
	closedir(dir);
	return 0;
}
