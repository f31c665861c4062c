// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb salvage: one member is lost. List what the other one holds, and provide a read-only device
 * on which the other areas return errors.
 */
#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "salvage.h"
#include "activate.h"
#include "dm.h"
#include "error.h"
#include "fsck.h"
#include "fusionctl.h"
#include "hit-files.h"
#include "json.h"
#include "meta-shadow.h"
#include "output.h"
#include "record.h"
#include "role.h"
#include "scan.h"
#include "size.h"
#include "super.h"
#include "text.h"
#include "trio.h"
#include "verb.h"

struct job {
	const struct args *a;
	struct meta meta;
	struct report found;	/* faults of the member itself */
	struct rebuild rb;
	struct salvage s;
	struct mountable mountable;
	int dev;
	dev_t devno;
	bool file;
	char label[FUSION_LABEL_SIZE * 4 + 1];
	char node[80];		/* of the device that was made, or "" */
};

/* -- reading ------------------------------------------------------------------------ */

static int no_super(const struct meta_member *m)
{
	const struct meta_copy *c = m->copy;

	if (c[0].err == -ENODATA && c[1].err == -ENODATA)
		return fus_fail(FC_MEMBER, m->o.path, "not a member of a fusion set; fusionctl "
				"list shows the members");
	return fus_fail(FC_DAMAGED, m->o.path, "both copies of its superblock are damaged (%s); "
			"fusionctl restore puts back what fusionctl dump saved", c[0].why);
}

/* The remaining member of a set; @path is as the user gave it, unless that was a name. */
static int find_left(const char *word, char *path, size_t size)
{
	struct member *list = NULL, *m = NULL, *peer = NULL;
	struct trio t;
	bool file;
	int rc;

	snprintf(path, size, "%s", word);
	if (strchr(word, '/') || (fus_path_kind(word, &file) && file))
		return 0;
	rc = fus_scan_members(&list);
	if (!rc)
		rc = fus_find_named(list, word, &m);
	if (!rc) {
		fus_find_trio(list, m->sb->set_uuid, &t);
		/* the old one may be the first that has the name */
		if (t.role >= 0)
			rc = fus_find_member(list, t.m[!t.role]->sb->dev_uuid, &m);
	}
	if (!rc)
		rc = fus_find_member(list, m->sb->peer_uuid, &peer);
	if (!rc && peer)
		rc = fus_fail(FC_USAGE, word, "both of its members are present; open it, or name "
			      "the one to examine, %s or %s", m->path, peer->path);
	if (!rc)
		snprintf(path, size, "%s", m->path);
	fus_free_members(list);
	return rc;
}

/* What a disk says of itself that another one is replacing is from before that. */
static int refuse_replaced(const struct meta *meta)
{
	const struct fusion_sb *sb = fus_meta_sb(meta, FAST) ? fus_meta_sb(meta, FAST) :
				     fus_meta_sb(meta, SLOW);
	struct member *list = NULL;
	struct trio t;
	int rc;

	if (!sb || meta->m[sb->role].o.file)
		return 0;
	rc = fus_scan_members(&list);
	if (rc)
		return rc;
	for (const struct member *m = list; m && !rc; m = m->next)
		if (m->devno == meta->m[sb->role].o.devno && m->state == MEMBER_PREPARED)
			rc = fus_check_member(m);
	fus_find_trio(list, sb->set_uuid, &t);
	if (!rc && t.role == (int)sb->role && !memcmp(t.by->old.uuid, sb->dev_uuid, 16))
		rc = fus_fail(FC_REFUSED, meta->m[sb->role].o.path, "is being replaced, and its "
			      "map is from before; name the member %s", t.m[!t.role]->path);
	fus_free_members(list);
	return rc;
}

/*
 * A power cut may have torn the unreadable block at which the journal ends; or it held changes, and
 * other extents than it seems are intact.
 */
static void check_end(struct job *job, const struct fusion_sb *sb)
{
	const u64 end = fusion_journal_blocknr(sb, job->rb.st.next_seq);
	const struct meta_ring *ring = &job->meta.m[job->dev].ring;

	if (sb->flags & FUSION_SB_CLEAN || !ring->unreadable[end - sb->journal_start[job->dev]])
		return;
	fus_report_add(&job->found, LEVEL_WARNING, job->dev, end,
		       job->dev == FAST ? "journal" : "replica",
		       "cannot be read; the last changes of the map may be missing");
}

/* Faults of the member itself. */
static int find_faults(struct job *job, const struct fusion_sb *sb)
{
	struct meta_state st;
	int rc;

	if (job->rb.exact) {
		check_end(job, sb);
		return 0;
	}
	rc = fus_state_init(&st, sb->nr_lexts);
	if (!rc)
		fus_state_load(&job->meta, sb, &st, &job->found);
	fus_state_free(&st);
	return rc;
}

static int load(struct job *job, const char *word)
{
	struct meta *meta = &job->meta;
	const struct fusion_sb *sb;
	char path[PATH_MAX];
	int rc;

	meta->landing = true;
	rc = find_left(word, path, sizeof(path));
	/* another device on the member needs exclusive access to it */
	if (!rc)
		rc = fus_offline_open(path, job->a->n > 1 ? OFFLINE_READ : OFFLINE_READ_BESIDE,
				      &meta->m[0].o);
	if (!rc)
		rc = fus_meta_read(meta);
	if (rc)
		return rc;
	rc = fus_meta_refuse_unknown(meta);
	if (!rc)
		rc = fus_meta_refuse_apart(meta);
	if (!rc)
		rc = refuse_replaced(meta);
	if (rc)
		return rc;
	if (!meta->known)
		return no_super(&meta->m[0]);
	job->dev = fus_meta_sb(meta, FAST) ? FAST : SLOW;
	sb = fus_meta_sb(meta, job->dev);
	fus_safe_text(job->label, sizeof(job->label), sb->label, FUSION_LABEL_SIZE,
		      fus_utf8_output());
	job->file = meta->m[job->dev].o.file;
	job->devno = meta->m[job->dev].o.devno;
	rc = fus_rebuild_state(meta, job->dev, &job->rb);
	if (!rc)
		rc = find_faults(job, sb);
	if (!rc)
		rc = fus_salvage_plan(meta, &job->rb, &job->s);
	if (!rc && job->s.landing.log && !fus_salvage_log_empty(&job->s.landing))
		fus_warn(job->label, "had a landing log on its fast member, and small writes that "
			 "were only there are lost; what %s has may be older in such places", path);
	return rc ? rc : fus_salvage_mountable(&job->s, &meta->m[job->dev].o, job->a->opt[OPT_ZERO],
					       fus_role_name[!job->dev], &job->mountable);
}

/* -- the device ------------------------------------------------------------------------ */

/* The table line for one part of the set. */
static void part_line(const struct job *job, const struct part *p, struct dm_line *line,
		      char *params, size_t size)
{
	const bool zero = p->kind == PART_EMPTY ||
			  (p->kind == PART_UNKNOWN && job->a->opt[OPT_ZERO]);

	line->sectors = p->nr;
	line->target = fus_part_is_here(p->kind) ? "linear" : zero ? "zero" : "error";
	line->params = "";
	if (!fus_part_is_here(p->kind))
		return;
	snprintf(params, size, "%u:%u %llu", major(job->devno), minor(job->devno),
		 (unsigned long long)p->where);
	line->params = params;
}

#define PARAMS	48

static int make_table(const struct job *job, const char *name, const char *uuid,
		      const struct part *part, size_t nr)
{
	struct dm_line *line = calloc(nr, sizeof(*line));
	char (*params)[PARAMS] = calloc(nr, PARAMS);
	int err, rc;

	rc = line && params ? 0 : fus_fail(FC_FAILED, "memory", "not enough for the table; close "
					   "programs and try again");
	for (size_t i = 0; i < nr && !rc; i++)
		part_line(job, &part[i], &line[i], params[i], PARAMS);
	err = rc ? 0 : fus_dm_create(name, uuid, line, nr, true);
	if (err)
		rc = fus_fail(err == -EBUSY ? FC_BUSY : FC_FAILED, name, "refused by the kernel: "
			      "%s; see dmesg", strerror(-err));
	free(line);
	free(params);
	return rc;
}

/* The stale parts, and errors in between. */
static int make_stale(const struct job *job, const char *name, const char *uuid, u64 sectors)
{
	const struct salvage *s = &job->s;
	struct part *part = calloc(2 * s->nr_stale + 1, sizeof(*part));
	size_t nr = 0;
	u64 next = 0;
	int rc;

	if (!part)
		return fus_fail(FC_FAILED, "memory", "not enough for the table; close programs and "
				"try again");
	for (size_t i = 0; i < s->nr_stale; i++) {
		if (s->stale[i].start > next)
			part[nr++] = (struct part){ next, s->stale[i].start - next, 0, PART_LOST };
		part[nr++] = s->stale[i];
		next = s->stale[i].start + s->stale[i].nr;
	}
	if (next < sectors)
		part[nr++] = (struct part){ next, sectors - next, 0, PART_LOST };
	rc = make_table(job, name, uuid, part, nr);
	free(part);
	return rc;
}

static int make_devices(struct job *job, const char *name)
{
	const struct fusion_sb *sb = fus_meta_sb(&job->meta, job->dev);
	const u64 sectors = fusion_sb_sectors(sb);
	char uuid[UUID_TEXT], dm_uuid[80], stale[128];
	int rc, lock = -1;

	if (job->file)
		return fus_fail(FC_USAGE, job->a->word[0], "is an image, which can only be listed; "
				"make a loop device of it with losetup -r");
	rc = fus_check_name(name);
	snprintf(stale, sizeof(stale), "%s" STALE_SUFFIX, name);
	if (!rc && job->a->opt[OPT_STALE])
		rc = fus_check_name(stale);
	if (!rc)
		rc = fus_run_lock(ASSEMBLY_LOCK, &lock);
	if (!rc)
		rc = free_name(name);
	if (!rc && job->a->opt[OPT_STALE])
		rc = free_name(stale);
	if (rc)
		goto out;
	fus_uuid_text(uuid, sb->set_uuid);
	/* the device mapper wants the member to itself, as we did */
	fus_offline_close(&job->meta.m[job->dev].o);
	snprintf(dm_uuid, sizeof(dm_uuid), DM_SALVAGE_PREFIX "%s", uuid);
	rc = make_table(job, name, dm_uuid, job->s.part, job->s.nr);
	if (!rc && job->a->opt[OPT_STALE]) {
		snprintf(dm_uuid, sizeof(dm_uuid), DM_SALVAGE_PREFIX "%s" STALE_SUFFIX, uuid);
		rc = make_stale(job, stale, dm_uuid, sectors);
		if (rc)
			fus_dm_remove(name);
	}
	if (!rc)
		snprintf(job->node, sizeof(job->node), "/dev/mapper/%s", name);
out:
	fus_run_unlock(&lock);
	return rc;
}

/* -- for people ------------------------------------------------------------------------- */

static void print_parts(const struct part *p, size_t nr, enum part_kind kind, const char *name)
{
	for (; nr; nr--, p++)
		if (p->kind == kind)
			printf("%s: sectors %llu-%llu\n", name, (unsigned long long)p->start,
			       (unsigned long long)(p->start + p->nr - 1));
}

static u64 stale_bytes(const struct salvage *s)
{
	u64 sectors = 0;

	for (size_t i = 0; i < s->nr_stale; i++)
		sectors += s->stale[i].nr;
	return sectors << 9;
}

/* Blocks that were in the landing log, and since when it is not known which. */
static void print_landing(const struct salvage_landing *l)
{
	char when[WHEN_TEXT], size[SIZE_TEXT];

	if (l->blocks)
		printf("%s of what is lost has its newest version in the landing log of the fast "
		       "member\n", fus_size_text(size, l->blocks * FUSION_BLOCK_SIZE));
	if (!l->known)
		printf("the slow member does not say which of its blocks were newer in the landing "
		       "log: what is intact may be outdated\n");
	else if (!l->exact)
		printf("the list of blocks that are newer in the landing log is of %s: what was "
		       "written later may be missing and is not listed\n",
		       fus_when_text(when, l->time));
	if (l->known && !l->whole)
		printf("parts of that list are damaged: more of what is intact may be outdated\n");
}

static void print_older(const struct salvage *s)
{
	char when[WHEN_TEXT], size[SIZE_TEXT];

	if (s->sectors[PART_SHADOW])
		printf("shadows are as of %s: what was written there after that is lost\n",
		       fus_when_text(when, s->point));
	if (s->nr_stale)
		printf("%s of what is lost has an older version, which is outdated: see --stale\n",
		       fus_size_text(size, stale_bytes(s)));
}

static void for_people(const struct job *job)
{
	static const char *const can[] = { "no", "perhaps", "yes" };
	const struct salvage *s = &job->s;
	char size[NR_PARTS][SIZE_TEXT], why[4 * sizeof(job->mountable.why)];

	report_print(&job->found, LEVEL_WARNING);
	if (job->a->opt[OPT_VERBOSE]) {
		print_parts(s->part, s->nr, PART_INTACT, "intact");
		print_parts(s->part, s->nr, PART_SHADOW, "shadow");
	}
	print_parts(s->part, s->nr, PART_LOST, "lost");
	print_parts(s->part, s->nr, PART_UNKNOWN, "unknown");
	if (job->a->opt[OPT_STALE])
		print_parts(s->stale, s->nr_stale, PART_INTACT, "stale");
	for (int i = 0; i < NR_PARTS; i++)
		fus_size_text(size[i], s->sectors[i] << 9);
	printf("%s, from its %s member alone: %s intact, ", job->label, fus_role_name[job->dev],
	       size[PART_INTACT]);
	if (s->sectors[PART_SHADOW])
		printf("%s in shadows, ", size[PART_SHADOW]);
	printf("%s lost, %s unknown, %s never written\n", size[PART_LOST], size[PART_UNKNOWN],
	       size[PART_EMPTY]);
	print_older(s);
	if (s->landing.log)
		print_landing(&s->landing);
	if (s->sectors[PART_UNKNOWN])
		printf("the replica of the map is slightly older than the loss: unknown areas had "
		       "not been written by then, but may have been since\n");
	printf("mountable: %s: %s\n", can[job->mountable.can],
	       fus_safe_text(why, sizeof(why), job->mountable.why, SIZE_MAX, fus_utf8_output()));
	if (*job->node)
		printf("%s is ready, read-only; fusionctl close %s closes it\n", job->node,
		       job->a->word[1]);
}

/* -- for programs ------------------------------------------------------------------------- */

static struct json_object *parts_json(const struct part *p, size_t nr, enum part_kind kind)
{
	struct json_object *list = json_object_new_array(), *o;

	for (; nr; nr--, p++) {
		if (p->kind != kind)
			continue;
		o = json_object_new_object();
		fus_json_add_u64(o, "first_sector", p->start);
		fus_json_add_u64(o, "sectors", p->nr);
		if (fus_part_is_here(kind))
			fus_json_add_u64(o, "member_sector", p->where);
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *landing_json(const struct salvage_landing *l)
{
	struct json_object *o;

	if (!l->log)
		return NULL;
	o = json_object_new_object();
	fus_json_add_u64(o, "blocks", l->blocks);
	fus_json_add_bool(o, "exact", l->exact);
	fus_json_add_bool(o, "damaged", l->known && !l->whole);
	if (l->known)
		fus_json_add_u64(o, "time", l->time);
	else
		json_object_object_add(o, "time", NULL);
	return o;
}

static struct json_object *to_json(const struct job *job)
{
	struct json_object *o = fus_json_base(), *found = json_object_new_array(), *sum;
	const struct salvage *s = &job->s;
	char uuid[UUID_TEXT];

	fus_json_add_str(o, "set", job->label);
	fus_json_add_str(o, "set_uuid", fus_uuid_text(uuid,
						      fus_meta_sb(&job->meta, job->dev)->set_uuid));
	fus_json_add_str(o, "member", fus_role_name[job->dev]);
	fus_json_add_str(o, "device", *job->node ? job->node : NULL);
	fus_json_add_bool(o, "current", s->current);
	if (job->mountable.can == MOUNT_MAYBE)
		json_object_object_add(o, "mountable", NULL);
	else
		fus_json_add_bool(o, "mountable", job->mountable.can == MOUNT_YES);
	fus_json_add_str(o, "mountable_why", job->mountable.why);
	fus_json_add_str(o, "content", *job->mountable.type ? job->mountable.type : NULL);
	sum = json_object_new_object();
	for (int i = 0; i < NR_PARTS; i++)
		fus_json_add_u64(sum, fus_part_name[i], s->sectors[i] << 9);
	json_object_object_add(o, "bytes", sum);
	if (s->sectors[PART_SHADOW] && s->point)
		fus_json_add_u64(o, "shadow_time", s->point);
	else
		json_object_object_add(o, "shadow_time", NULL);
	fus_json_add_u64(o, "stale_bytes", stale_bytes(s));
	json_object_object_add(o, "landing", landing_json(&s->landing));
	for (int i = 0; i < NR_PARTS; i++)
		json_object_object_add(o, fus_part_name[i], parts_json(s->part, s->nr, i));
	if (job->a->opt[OPT_STALE])
		json_object_object_add(o, "stale", parts_json(s->stale, s->nr_stale, PART_INTACT));
	for (unsigned int i = 0; i < job->found.nr; i++)
		json_object_array_add(found, finding_json(&job->found.f[i]));
	json_object_object_add(o, "findings", found);
	return o;
}

/* ---------------------------------------------------------------------------------------- */

static int salvage(struct job *job)
{
	const struct args *a = job->a;
	struct json_object *o = NULL;
	int rc;

	rc = load(job, a->word[0]);
	if (!rc && a->n > 1)
		rc = make_devices(job, a->word[1]);
	if (rc)
		return rc;
	if (a->opt[OPT_JSON])
		o = to_json(job);
	if (a->opt[OPT_FILES])
		rc = list_hit_files(a->opt[OPT_FILES], &job->s, o);
	if (o)
		print_json(o, false);
	else
		for_people(job);
	return rc;
}

int cmd_salvage(const struct args *a)
{
	struct job job = { .a = a, .meta.m = { { .o.fd = -1 }, { .o.fd = -1 } } };
	int rc;

	job.meta.landing = true;
	if (a->n > 1 && geteuid())
		return fus_fail(FC_FAILED, "salvage", "needs root to make a device; use sudo");
	rc = salvage(&job);
	fus_salvage_free(&job.s);
	fus_rebuild_free(&job.rb);
	fus_report_free(&job.found);
	fus_meta_free(&job.meta);
	return rc;
}
