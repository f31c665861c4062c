// SPDX-License-Identifier: GPL-2.0-only
/* Verb open: find the members of the set that is meant, or say what is missing. */
#include <json-c/json.h>
#include <string.h>
#include <strings.h>

#include "activate.h"
#include "backup.h"
#include "error.h"
#include "fusionctl.h"
#include "json.h"
#include "output.h"
#include "probe.h"
#include "record.h"
#include "role.h"
#include "scan.h"
#include "size.h"
#include "super.h"
#include "trio.h"
#include "verb.h"
#include "dm-fusion-codec.h"

/* A set from before there were backups gets one. */
static int open_and_back_up(const char *name, struct member *a, struct member *b, bool take_over,
			    struct json_object *json)
{
	int rc = open_set(name, a, b, take_over, json);

	if (!rc)
		fus_backup_first(a->sb, false);
	return rc;
}

/*
 * The other member of the set was not found: report what to look for, and devices that may be it.
 */
static int partner_missing(const char *name, const struct member *m, const struct member *list)
{
	const struct member *renewed = fus_renewed_of(list, m);
	int role = !m->sb->role;
	char ident[160], text[CONTENT_TEXT + 128];

	if (renewed)
		return fus_check_member(renewed);
	fus_missing_text(m, ident, sizeof(ident));
	for (; list; list = list->next) {
		if (list->state == MEMBER_COVERED &&
		    !memcmp(list->sb->dev_uuid, m->sb->peer_uuid, sizeof(m->sb->peer_uuid))) {
			fus_covered_text(list, text, sizeof(text));
			return fus_fail(FC_MEMBER, list->path, "%s; if that can be overwritten, "
					"run fusionctl repair %s %s --force", text, list->path,
					m->path);
		}
		if (list->state == MEMBER_UNKNOWN)
			return fus_fail(FC_FAILED, name, "its %s member is missing (%s), but %s "
					"%s; if that is the member, use a newer fusionctl and "
					"dm-fusion", fus_role_name[role], ident, list->path,
					list->why);
		if (list->state == MEMBER_DAMAGED)
			return fus_fail(FC_DAMAGED, list->path, "both copies of its superblock are "
					"damaged (%s) and the %s member of %s is missing (%s); if "
					"that is the member, run fusionctl repair %s %s", list->why,
					fus_role_name[role], name, ident, list->path, m->path);
	}
	return fus_fail(FC_MEMBER, name, "its %s member is missing (%s); connect it and open the "
			"set again, or see what the other one has: fusionctl salvage %s",
			fus_role_name[role], ident, m->path);
}

/*
 * @m names @peer. If that names another disk, @m has been replaced and does not know: what is
 * missing then is the disk that replaced it.
 */
static bool replacement_missing(const struct member *m, const struct member *peer,
				const struct member *list)
{
	if (fus_name_each_other(m, peer))
		return false;
	while (list && !fus_member_is(list, peer->sb->peer_uuid))
		list = list->next;
	return !list;
}

/* Find the partner of @m among @list and open both. */
static int open_with_partner(const char *name, struct member *m, struct member *list,
			     bool take_over, struct json_object *json)
{
	struct member *peer;
	struct trio t;
	int rc;

	rc = free_name(name);
	if (!rc)
		rc = check_not_open(m);
	fus_find_trio(list, m->sb->set_uuid, &t);
	if (!rc && t.role >= 0)
		return open_three(name, list, &t, take_over, json);
	if (!rc)
		rc = fus_check_member(m);
	if (!rc)
		rc = fus_find_member(list, m->sb->peer_uuid, &peer);
	if (rc)
		return rc;
	if (!peer)
		return partner_missing(name, m, list);
	rc = fus_check_member(peer);
	if (rc)
		return rc;
	if (replacement_missing(m, peer, list))
		return partner_missing(name, peer, list);
	return open_and_back_up(name, m, peer, take_over, json);
}

static int open_one(const char *name, const char *path, bool take_over, struct json_object *json)
{
	struct member *m, *list = NULL;
	int rc;

	rc = fus_load_member(path, &m);
	if (!rc)
		rc = fus_scan_members(&list);
	if (!rc)
		rc = open_with_partner(name, m, list, take_over, json);
	fus_free_members(m);
	fus_free_members(list);
	return rc;
}

/* Open the set under its label, or under its uuid if the label cannot name a device. */
static int open_by_device(const char *path, bool take_over, struct json_object *json)
{
	struct member *m = NULL, *list = NULL;
	char uuid[UUID_TEXT];
	int rc;

	rc = fus_load_member(path, &m);
	if (!rc)
		rc = fus_scan_members(&list);
	if (!rc)
		rc = open_with_partner(fus_valid_name(m->sb->label) ? m->sb->label :
				       fus_uuid_text(uuid, m->sb->set_uuid), m, list, take_over,
				       json);
	fus_free_members(m);
	fus_free_members(list);
	return rc;
}

/* Any member of the set with this name. */
static int open_by_name(const char *name, bool take_over, struct json_object *json)
{
	struct member *list, *m;
	char uuid[UUID_TEXT];
	int rc;

	rc = check_name_free(name);
	if (rc)
		return rc;
	rc = fus_scan_members(&list);
	if (!rc)
		rc = fus_find_named(list, name, &m);
	/* a set that is opened by uuid gets its label as its name */
	if (!rc && !strcasecmp(fus_uuid_text(uuid, m->sb->set_uuid), name) &&
	    fus_valid_name(m->sb->label))
		name = m->sb->label;
	if (!rc)
		rc = open_with_partner(name, m, list, take_over, json);
	fus_free_members(list);
	return rc;
}

static int open_both(const char *name, char *const path[2], bool take_over,
		     struct json_object *json)
{
	struct member *one, *two;
	int rc;

	rc = fus_load_member(path[0], &one);
	if (rc)
		return rc;
	rc = fus_load_member(path[1], &two);
	/* the third one is looked for */
	if (!rc && (fus_tells_of_old(one->sb) || fus_tells_of_old(two->sb)))
		rc = open_one(name, path[fus_tells_of_old(two->sb)], take_over, json);
	else if (!rc)
		rc = open_and_back_up(name, one, two, take_over, json);
	fus_free_members(one);
	fus_free_members(two);
	return rc;
}

int cmd_open(const struct args *a)
{
	const bool take_over = a->opt[OPT_TAKE_OVER];
	const char *name = a->word[0];
	struct json_object *json;
	int rc, lock;

	/* the label of a set is that of its members */
	rc = a->n == 1 && *name == '/' ? 0 : fus_check_name(name);
	if (!rc)
		rc = fus_run_lock(ASSEMBLY_LOCK, &lock);
	if (rc)
		return rc;
	json = a->opt[OPT_JSON] ? fus_json_base() : NULL;
	rc = a->n == 1 && *name == '/' ? open_by_device(name, take_over, json) :
	     a->n == 1 ? open_by_name(name, take_over, json) :
	     a->n == 2 ? open_one(name, a->word[1], take_over, json) :
	     open_both(name, a->word + 1, take_over, json);
	fus_run_unlock(&lock);
	if (json && !rc)
		print_json(json, false);
	else
		json_object_put(json);
	return rc;
}
