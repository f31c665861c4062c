// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb restore --geometry: superblocks from a backup, where neither member has one. Nothing else is
 * as small and is missed as much: map copies and journals have the rest, and repair reads them as
 * soon as it knows where they are.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "restore.h"
#include "ask.h"
#include "backup.h"
#include "error.h"
#include "fusionctl.h"
#include "json.h"
#include "output.h"
#include "record.h"
#include "role.h"
#include "set-json.h"
#include "text.h"
#include "verb.h"

struct job {
	const struct args *a;
	const char *path[2];
	char file[PATH_MAX];
	struct fusion_sb sb;		/* of the fast member, from the file */
	bool found, found_map;		/* a backup of which is something there, on the fast one */
	bool several;			/* and another one as good */
	int rc;
};

/* -- the file ------------------------------------------------------------------------------ */

static bool fits(const struct meta *meta, const struct fusion_sb *sb)
{
	return meta->m[FAST].o.sectors >= sb->self_sectors &&
	       meta->m[SLOW].o.sectors >= sb->peer_sectors;
}

/*
 * The set that was made last counts: format does not clear all that an older set left. On devices
 * of two sets, that of the fast one counts, which has the map; the other one is found to be wrong.
 */
static void take_better(struct job *job, const char *path, const struct fusion_sb *sb,
			bool has_map)
{
	const bool equal = job->found && has_map == job->found_map;

	if (equal && sb->create_time == job->sb.create_time)
		job->several = true;
	if (job->found && has_map < job->found_map)
		return;
	if (equal && sb->create_time <= job->sb.create_time)
		return;
	snprintf(job->file, sizeof(job->file), "%s", path);
	job->sb = *sb;
	job->found = true;
	job->found_map = has_map;
	job->several = false;
}

/* Each candidate is read in its own places: the devices tell nothing about those. */
static bool is_of_these(void *ctx, const char *path, const struct fusion_sb *sb)
{
	struct job *job = ctx;
	struct meta meta = { .m = { { .o.fd = -1 }, { .o.fd = -1 } } };
	bool map;

	job->rc = fus_open_members(job->path, false, &meta);
	if (!job->rc && fits(&meta, sb)) {
		job->rc = fus_meta_read_as(&meta, sb);
		map = !job->rc && fus_meta_has_blocks(&meta, FAST);
		if (map || (!job->rc && fus_meta_has_blocks(&meta, SLOW)))
			take_better(job, path, sb, map);
	}
	fus_meta_free(&meta);
	return job->rc;
}

static int find_backup(struct job *job)
{
	int rc = fus_backup_find(is_of_these, job);

	rc = rc ? rc : job->rc;
	if (!rc && !job->found)
		rc = fus_fail(FC_MEMBER, job->path[FAST], "no backup in %s is of a set that has "
			      "metadata on this device as the fast member, or on %s as the slow "
			      "one; name the file, or other devices", fus_backup_dir,
			      job->path[SLOW]);
	else if (!rc && job->several)
		rc = fus_fail(FC_MEMBER, job->path[FAST], "there are backups of two sets that have "
			      "metadata on this device or on %s; name the file with the right one",
			      job->path[SLOW]);
	return rc;
}

/* -- may it be written there? ---------------------------------------------------------------- */

/* With one superblock of the set, repair does all of it, and knows more. */
static int refuse_better(const struct meta *meta)
{
	for (int dev = 0; dev < 2; dev++)
		if (fus_meta_sb(meta, dev))
			return fus_fail(FC_REFUSED, meta->m[dev].o.path, "has a valid superblock, "
					"and needs no backup of it; run fusionctl repair %s %s",
					meta->m[FAST].o.path, meta->m[SLOW].o.path);
	return 0;
}

/* A geometry that is not that of the members leads repair to places where nothing is. */
static int check_blocks(const struct job *job, const struct meta *meta)
{
	if (!fus_meta_has_blocks(meta, FAST))
		return fus_fail(FC_MEMBER, meta->m[FAST].o.path, "has no block of the fast member "
				"of the set in %s, so there is no map; name the fast member first, "
				"or the file with the right geometry", job->file);
	if (fus_meta_has_blocks(meta, SLOW))
		return 0;
	if (!job->a->opt[OPT_FORCE])
		return fus_fail(FC_REFUSED, meta->m[SLOW].o.path, "has no block of the slow member "
				"of the set in %s; name that member, or if this is certainly the "
				"device, add --force", job->file);
	fus_warn(meta->m[SLOW].o.path, "has no block of the slow member of the set in %s",
		 job->file);
	return 0;
}

static int check(const struct job *job, const struct meta *meta, char content[2][CONTENT_TEXT])
{
	int rc = refuse_better(meta);

	for (int dev = 0; dev < 2 && !rc; dev++)
		rc = restore_check_member(job->file, meta, dev, job->a, content[dev]);
	return rc ? rc : check_blocks(job, meta);
}

/* -- doing it ---------------------------------------------------------------------------------- */

static void print_result(const struct job *job, char content[2][CONTENT_TEXT], bool dry_run)
{
	char label[FUSION_LABEL_SIZE + 1];
	struct json_object *o = fus_json_base();

	snprintf(label, sizeof(label), "%.*s", FUSION_LABEL_SIZE, job->sb.label);
	fus_json_add_bool(o, "dry_run", dry_run);
	fus_json_add_str(o, "file", job->file);
	fus_json_add_set(o, label, false, &job->sb, job->path);
	fus_json_add_contents(o, content);
	json_object_object_add(o, "mapped", NULL);
	print_json(o, false);
}

static void show(const struct job *job, char content[2][CONTENT_TEXT], bool dry_run)
{
	char text[1536] = "", line[4096], safe[4 * sizeof(line)];

	add_contents(text, sizeof(text), job->path, content);
	snprintf(line, sizeof(line), "the superblocks on %s %s those of the slow member of the set "
		 "%.*s in %s%s", job->path[SLOW], dry_run ? "would become" : "are",
		 FUSION_LABEL_SIZE, job->sb.label, job->file, dry_run ? text : "");
	puts(fus_safe_text(safe, sizeof(safe), line, sizeof(line), fus_utf8_output()));
	printf("next: fusionctl repair %s %s\n", job->path[FAST], job->path[SLOW]);
}

static int ask(const struct job *job, char content[2][CONTENT_TEXT])
{
	char by[PATH_MAX + 32];
	const struct question q = {
		job->path[SLOW], "the superblocks", "replaced", "Replace the superblocks on", by,
	};

	snprintf(by, sizeof(by), " by those in %s", job->file);
	return confirm_devices(&q, job->path, content);
}

static int write_supers(const struct meta *meta)
{
	int rc, lock;

	rc = fus_meta_hold(meta, &lock);
	if (!rc)
		rc = fus_meta_write_geometry(meta);
	if (!rc)
		fus_meta_backup(meta);
	fus_run_unlock(&lock);
	return rc;
}

static int restore(struct job *job)
{
	const struct args *a = job->a;
	const bool dry_run = a->opt[OPT_DRY_RUN];
	struct meta meta = { .m = { { .o.fd = -1 }, { .o.fd = -1 } } };
	char content[2][CONTENT_TEXT];
	int rc;

	rc = fus_open_members(job->path, !dry_run, &meta);
	if (!rc)
		rc = fus_meta_read_as(&meta, &job->sb);
	if (!rc)
		rc = check(job, &meta, content);
	if (!rc && !dry_run && !a->opt[OPT_YES])
		rc = ask(job, content);
	if (!rc && !dry_run)
		rc = write_supers(&meta);
	fus_meta_free(&meta);
	if (!rc && a->opt[OPT_JSON])
		print_result(job, content, dry_run);
	else if (!rc)
		show(job, content, dry_run);
	return rc;
}

int restore_geometry(const struct args *a)
{
	struct job job = { .a = a, .path = { a->word[a->n - 2], a->word[a->n - 1] } };
	int rc;

	if (a->n == 3) {
		snprintf(job.file, sizeof(job.file), "%s", a->word[0]);
		rc = fus_backup_read(job.file, &job.sb);
	} else {
		rc = find_backup(&job);
	}
	return rc ? rc : restore(&job);
}
