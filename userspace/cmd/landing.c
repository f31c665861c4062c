// SPDX-License-Identifier: GPL-2.0-only
/* Verb landing: show the landing log of a set; of a closed one, turn it on or off. */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "fusionctl.h"
#include "json.h"
#include "landing-change.h"
#include "landing-health.h"
#include "landing-size.h"
#include "open-set.h"
#include "output.h"
#include "record.h"
#include "size.h"
#include "super.h"
#include "verb.h"

struct job {
	char name[128];
	char uuid[UUID_TEXT];
	bool open, dry_run;
	uint64_t was, bytes;		/* its size, and as it is or would be */
	uint64_t logged;		/* what is in it */
	bool known;			/* that is known */
	bool listed;			/* the slow member has a stale list */
};

static int take_open(struct job *j, const struct set *set)
{
	const struct fusion_status *st = &set->st;
	int err;

	j->open = true;
	snprintf(j->name, sizeof(j->name), "%s", set->m.name);
	snprintf(j->uuid, sizeof(j->uuid), "%s", fus_dm_set_uuid(&set->m));
	j->was = st->log_most * (st->extent_sectors << 9);
	j->bytes = j->was;
	j->logged = st->log_blocks * FUS_LANDING_BLOCK;
	j->known = true;
	err = fus_landing_listed(set, &j->listed);
	if (err)
		return fus_fail(FC_MEMBER, j->name, "the superblock of its fast member cannot be "
				"read (%s); see fusionctl status %s", strerror(-err), j->name);
	return 0;
}

static void take_closed(struct job *j, const struct fusion_sb *sb, u32 slots, u64 blocks)
{
	const uint64_t extent = (uint64_t)sb->extent_sectors << 9;

	snprintf(j->name, sizeof(j->name), "%s", sb->label);
	fus_uuid_text(j->uuid, sb->set_uuid);
	j->was = sb->landing_slots * extent;
	j->bytes = slots * extent;
	j->logged = blocks * FUS_LANDING_BLOCK;
	j->known = true;
	j->listed = sb->stale_places;
}

/* Whatever else is wrong with the set; what is in the log only if it can be read. */
static int look_at_closed(struct job *j, const struct meta *meta)
{
	const struct fusion_sb *sb = fus_meta_sb(meta, FAST);
	struct report r = { 0 };
	int rc;

	rc = fus_meta_refuse_unknown(meta);
	if (rc)
		return rc;
	if (!sb)
		return fus_fail(FC_MEMBER, meta->m[SLOW].o.path ?: meta->m[FAST].o.path,
				"its set has no fast member with a valid superblock, which tells "
				"the size of its landing log; connect that one, or run fusionctl "
				"check");
	fus_meta_check(meta, &r);
	take_closed(j, sb, sb->landing_slots, r.landing.blocks);
	j->known = !sb->landing_slots || r.landing.found;
	fus_report_free(&r);
	return 0;
}

/* -- output ---------------------------------------------------------------------------------- */

static void print_list(const struct job *j)
{
	printf("%s: " FUS_NO_LIST "; " FUS_NO_LIST_REMEDY "\n", j->name);
}

static void print_text(const struct job *j)
{
	/* even if it is written once more */
	const bool same = j->was == j->bytes;
	char size[SIZE_TEXT], logged[SIZE_TEXT], was[SIZE_TEXT];

	fus_size_text(size, j->bytes);
	fus_size_text(was, j->was);
	if (same && !j->bytes)
		printf("%s: has no landing log\n", j->name);
	else if (!j->known)
		printf("%s: has a landing log of %s; what is in it cannot be read: run fusionctl "
		       "check %s\n", j->name, size, j->name);
	else if (same)
		printf("%s: has a landing log of %s, with %s in it\n", j->name, size,
		       fus_size_text(logged, j->logged));
	else if (!j->bytes)
		printf("%s: its landing log of %s %s turned off; to use the room, open it and run "
		       "fusionctl grow %s\n", j->name, was, j->dry_run ? "would be" : "is",
		       j->name);
	else
		printf("%s: %s a landing log of %s; if the fast member is lost, small writes that "
		       "are not on the slow one yet are lost with it\n", j->name,
		       j->dry_run ? "would have" : "has", size);
	if (j->bytes && !j->listed)
		print_list(j);
}

static void print(const struct job *j, bool json)
{
	struct json_object *o;

	if (!json) {
		print_text(j);
		return;
	}
	o = fus_json_base();
	fus_json_add_bool(o, "dry_run", j->dry_run);
	fus_json_add_str(o, "name", j->name);
	fus_json_add_str(o, "set_uuid", j->uuid);
	fus_json_add_bool(o, "open", j->open);
	fus_json_add_u64(o, "old_bytes", j->was);
	fus_json_add_u64(o, "bytes", j->bytes);
	if (j->known)
		fus_json_add_u64(o, "logged_bytes", j->logged);
	else
		json_object_object_add(o, "logged_bytes", NULL);
	fus_json_add_bool(o, "stale_list", j->listed);
	print_json(o, false);
}

/* -- a closed set ---------------------------------------------------------------------------- */

static int write_it(struct landing_change *c)
{
	int rc, lock;

	rc = fus_meta_hold(c->meta, &lock);
	if (rc)
		return rc;
	rc = fus_landing_write(c);
	if (!rc) {
		fus_meta_keep_closed(c->meta);
		fus_meta_backup(c->meta);
	}
	fus_run_unlock(&lock);
	return rc;
}

static int of_closed(struct job *j, char *name, const char *size)
{
	struct landing_change c;
	struct meta meta;
	int rc;

	rc = fus_meta_open_landing(1, &name, size && !j->dry_run, &meta);
	if (rc)
		return rc;
	if (!size) {
		rc = look_at_closed(j, &meta);
		fus_meta_free(&meta);
		return rc;
	}
	rc = fus_landing_look(&c, &meta);
	if (!rc)
		rc = fus_landing_plan(&c, size);
	if (!rc)
		take_closed(j, fus_meta_sb(&meta, FAST), c.slots, c.blocks);
	/* it may be made as well */
	if (!rc && c.changes)
		j->listed = meta.geo[FAST].stale_places;
	if (!rc && c.changes && !j->dry_run)
		rc = write_it(&c);
	fus_landing_end(&c);
	fus_meta_free(&meta);
	return rc;
}

/* -------------------------------------------------------------------------------------------- */

int cmd_landing(const struct args *a)
{
	const char *size = a->n > 1 ? a->word[1] : NULL;
	struct job j = { .dry_run = a->opt[OPT_DRY_RUN] };
	bool found = false;
	struct set set;
	int rc = 0;

	if (fus_valid_name(a->word[0]))
		rc = fus_set_get_if_open(a->word[0], &set, &found);
	if (!rc && found) {
		rc = take_open(&j, &set);
		fus_set_put(&set);
		if (!rc && size)
			rc = fus_fail(FC_BUSY, j.name, "is open, and its landing log can only "
				      "change while it is closed; unmount it, run fusionctl %s%s%s "
				      "first", j.logged ? "drain " : "close ", j.name,
				      j.logged ? ", and close it" : "");
	} else if (!rc) {
		rc = of_closed(&j, a->word[0], size);
	}
	if (!rc)
		print(&j, a->opt[OPT_JSON]);
	return rc;
}
