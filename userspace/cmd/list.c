// SPDX-License-Identifier: GPL-2.0-only
/* Verb list: the members found and missing, and the health of their sets. */
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adopt.h"
#include "list.h"
#include "device.h"
#include "dm.h"
#include "fusionctl.h"
#include "health.h"
#include "host.h"
#include "identify.h"
#include "json.h"
#include "output.h"
#include "rescued.h"
#include "role.h"
#include "scan.h"
#include "set-json.h"
#include "sets.h"
#include "size.h"
#include "super.h"
#include "sysfs.h"
#include "table.h"
#include "text.h"
#include "verb.h"
#include "dm-fusion-codec.h"

const char *member_state_text(const struct member *m)
{
	switch (m->state) {
	case MEMBER_OK:
		return m->why ? "one copy damaged" : "ok";
	case MEMBER_SHRUNK:
		return "shrank";
	case MEMBER_PREPARED:
		return "prepared";
	case MEMBER_LEFT:
		return "has left";
	case MEMBER_UNKNOWN:
		return "of a newer release";
	case MEMBER_TRANSIT:
		return adopt_planned(m) ? "planned" : "in transit";
	case MEMBER_COVERED:
		return "written over";
	default:
		return "damaged";
	}
}

struct view {
	struct mapping *open, *rescued;
	struct member *members;
	struct found_sets sets;
};

/* -- for people ------------------------------------------------------------------- */

/* Return: whether the set is open on this device, or on one above it. */
static bool is_used(const struct view *v, const struct found_set *s, const struct member *m)
{
	const struct member *used = v->members;

	if (!s || !s->has_status)
		return false;
	while (used && used->devno != s->set.member[m->sb->role])
		used = used->next;
	return used && (used == m || fus_member_stands_on(used, m));
}

/* Return: whether it is the one that is being replaced. */
static bool is_old(const struct found_set *s, const struct member *m)
{
	return s && s->trio.role >= 0 && fus_has_identity(m) && (int)m->sb->role == s->trio.role &&
	       fus_member_is(m, s->trio.by->old.uuid);
}

static const char *state_of(const struct view *v, const struct found_set *s,
			    const struct member *m, char buf[PATH_MAX + 16])
{
	const struct member *twin = fus_clone_of(v->members, m);
	bool used = is_used(v, s, m);

	if (is_old(s, m) && !twin)
		return "being replaced";
	if (twin && !used)
		snprintf(buf, PATH_MAX + 16, "clone of %s", twin->path);
	else if (used && s->set.st.errors[m->sb->role])
		return "I/O errors";
	else
		return member_state_text(m);
	return buf;
}

/* The fast member knows best: the kernel writes to it whenever the set is opened. */
static const char *host_of(const struct view *v, const struct found_set *s, char buf[HOST_SHORT])
{
	const struct member *m = s ? fus_member_of(s, v->members, FAST) : NULL;

	if (s && !m)
		m = fus_member_of(s, v->members, SLOW);
	return m ? fus_host_short(m->sb, buf) : "-";
}

/* The one that is being replaced, from the superblock of the one that stays. */
static void missing_old_row(struct libscols_table *tb, const struct view *v,
			    const struct found_set *s)
{
	char device[160] = "?", size[SIZE_TEXT] = "?", uuid[UUID_TEXT], host[HOST_SHORT];
	const bool known = s->trio.role >= 0;
	const int role = known ? s->trio.role : s->set.old_role;

	if (known) {
		fus_hardware_text(&s->trio.by->old.ident, device, sizeof(device));
		fus_size_text(size, s->trio.by->old.sectors << 9);
	}
	table_row(tb, (const char *[]) {
		s->any ? s->any->sb->label : s->open->name, fus_role_name[role], device, size,
		"MISSING", s->open ? s->open->name : "-", fus_condition_name[s->condition],
		host_of(v, s, host),
		s->any ? fus_uuid_text(uuid, s->any->sb->set_uuid) : fus_dm_set_uuid(s->open),
	});
}

/* Identify a missing member from the superblock of the other one. */
static void missing_row(struct libscols_table *tb, const struct view *v,
			const struct found_set *s, int role)
{
	const struct member *peer = fus_member_of(s, v->members, !role);
	char device[160] = "?", size[SIZE_TEXT] = "?", uuid[UUID_TEXT], sectors[32];
	char host[HOST_SHORT];
	const char *state = "MISSING", *name = s->open ? s->open->name : "-";
	uint64_t n;

	if (s->has_status && !fus_device_gone(s->set.member[role])) {
		state = "unreadable";
		fus_device_node(s->set.member[role], device, sizeof(device));
		if (fus_sysfs_read(s->set.member[role], "size", sectors, sizeof(sectors)) &&
		    fus_parse_number(sectors, UINT64_MAX, &n))
			fus_size_text(size, n << 9);
	} else if (peer) {
		fus_hardware_text(&peer->sb->peer, device, sizeof(device));
		fus_size_text(size, peer->sb->peer_sectors << 9);
	}
	table_row(tb, (const char *[]) {
		s->any ? s->any->sb->label : name, fus_role_name[role], device, size, state, name,
		fus_condition_name[s->condition], host_of(v, s, host),
		s->any ? fus_uuid_text(uuid, s->any->sb->set_uuid) : fus_dm_set_uuid(s->open),
	});
}

static void member_row(struct libscols_table *tb, const struct view *v, const struct member *m)
{
	char size[SIZE_TEXT], uuid[UUID_TEXT], state[PATH_MAX + 16], host[HOST_SHORT];
	const struct found_set *s = fus_set_of(&v->sets, m);
	bool known = fus_has_super(m);

	table_row(tb, (const char *[]) {
		known ? m->sb->label : "?", known ? fus_role_name[m->sb->role] : "?", m->path,
		fus_size_text(size, m->sectors << 9), state_of(v, s, m, state),
		s && s->open ? s->open->name : "-", s ? fus_condition_name[s->condition] : "-",
		host_of(v, s, host), known ? fus_uuid_text(uuid, m->sb->set_uuid) : "?",
	});
}

static void rescued_row(struct libscols_table *tb, const struct mapping *m)
{
	char size[SIZE_TEXT], node[160];
	struct rescued r;

	fus_rescued_get(m, &r);
	snprintf(node, sizeof(node), "/dev/mapper/%s", m->name);
	table_row(tb, (const char *[]) {
		r.label, "rescued", node, fus_size_text(size, r.bytes),
		r.stale ? "read-only, stale" : "read-only", m->name, "-", "-",
		r.set_uuid,
	});
}

static void list_table(const struct view *v)
{
	static const char *const headings[] = {
		"SET", "ROLE", "DEVICE", ">SIZE", "STATE", "OPEN AS", "HEALTH", "HOST", "UUID",
		NULL
	};
	struct libscols_table *tb = table_new(headings);

	for (const struct member *m = v->members; m; m = m->next)
		member_row(tb, v, m);
	for (unsigned int i = 0; i < v->sets.nr; i++) {
		for (int role = 0; role < 2; role++)
			if (v->sets.set[i].missing[role])
				missing_row(tb, v, &v->sets.set[i], role);
		if (v->sets.set[i].missing_old)
			missing_old_row(tb, v, &v->sets.set[i]);
	}
	for (const struct mapping *m = v->rescued; m; m = m->next)
		rescued_row(tb, m);
	table_print(tb);
}

/* "data: missing: the fast member is missing (64M); connect it ..." */
static void list_reasons(const struct view *v)
{
	for (unsigned int i = 0; i < v->sets.nr; i++) {
		const struct found_set *s = &v->sets.set[i];
		const struct reason *r = fus_worst_reason(s);
		char line[1024], safe[2 * sizeof(line)];

		if (s->condition == CONDITION_OK || !r)
			continue;
		snprintf(line, sizeof(line), "%s: %s: %s%s%s", s->open ? s->open->name :
			 s->any->sb->label, fus_condition_name[s->condition], r->text, r->remedy ?
			 "; " : "", r->remedy ? r->remedy : "");
		puts(fus_safe_text(safe, sizeof(safe), line, sizeof(line), fus_utf8_output()));
	}
}

/* -- for programs ------------------------------------------------------------------ */

struct json_object *found_json(const struct member *m)
{
	bool known = fus_has_super(m);
	struct json_object *o = json_object_new_object();
	char uuid[UUID_TEXT];

	fus_json_add_str(o, "device", m->path);
	fus_json_add_u64(o, "bytes", m->sectors << 9);
	fus_json_add_str(o, "state", member_state_text(m));
	fus_json_add_str(o, "reason", m->why);
	fus_json_add_str(o, "set", known ? m->sb->label : NULL);
	fus_json_add_str(o, "role", known ? fus_role_name[m->sb->role] : NULL);
	fus_json_add_str(o, "set_uuid", known ? fus_uuid_text(uuid, m->sb->set_uuid) : NULL);
	fus_json_add_str(o, "device_uuid", known ? fus_uuid_text(uuid, m->sb->dev_uuid) : NULL);
	return o;
}

static struct json_object *member_json(const struct member *m, const struct view *v)
{
	const struct found_set *s = fus_set_of(&v->sets, m);
	const struct member *twin = fus_clone_of(v->members, m);
	struct json_object *o = found_json(m);

	fus_host_json(o, fus_has_identity(m) ? m->sb : NULL);
	fus_json_add_str(o, "open_as", s && s->open ? s->open->name : NULL);
	fus_json_add_str(o, "clone_of", twin ? twin->path : NULL);
	fus_json_add_bool(o, "being_replaced", is_old(s, m));
	return o;
}

static struct json_object *set_json(const struct view *v, const struct found_set *s)
{
	struct json_object *o = json_object_new_object(), *reasons = json_object_new_array();
	const struct member *fast = fus_member_of(s, v->members, FAST);
	char uuid[UUID_TEXT];

	fus_json_add_str(o, "set", s->any ? s->any->sb->label : NULL);
	fus_json_add_str(o, "set_uuid", s->any ? fus_uuid_text(uuid, s->any->sb->set_uuid) :
			 fus_dm_set_uuid(s->open));
	fus_json_add_str(o, "open_as", s->open ? s->open->name : NULL);
	fus_json_add_str(o, "health", fus_condition_name[s->condition]);
	for (unsigned int i = 0; i < s->nr_reasons; i++)
		json_object_array_add(reasons,
				      fus_reason_json(s->reason[i].level, s->reason[i].text,
						      s->reason[i].remedy));
	json_object_object_add(o, "reasons", reasons);
	/* the slow one says only whether it has a log */
	if (fast)
		fus_json_add_u64(o, "landing_bytes", (uint64_t)fast->sb->landing_slots *
				 fast->sb->extent_sectors << 9);
	else
		json_object_object_add(o, "landing_bytes", NULL);
	return o;
}

static struct json_object *missing_json(const struct view *v, const struct found_set *s, int role)
{
	static const char *const keys[] = { "device_uuid", "model", "serial", "bytes" };
	const struct member *peer = fus_member_of(s, v->members, !role);
	struct json_object *o = peer ? peer_json(peer->sb) : json_object_new_object();
	char node[160];

	fus_json_add_str(o, "role", fus_role_name[role]);
	for (size_t i = 0; !peer && i < sizeof(keys) / sizeof(keys[0]); i++)
		json_object_object_add(o, keys[i], NULL);
	fus_json_add_str(o, "set", s->any ? s->any->sb->label : NULL);
	fus_device_node(s->set.member[role], node, sizeof(node));
	fus_json_add_str(o, "device", s->has_status && !fus_device_gone(s->set.member[role]) ?
			 node : NULL);
	return o;
}

static struct json_object *missing_old_json(const struct found_set *s)
{
	struct json_object *o = old_json(s->trio.by);
	char uuid[UUID_TEXT];

	fus_json_add_str(o, "set", s->any->sb->label);
	json_object_object_add(o, "device", NULL);
	fus_json_add_str(o, "set_uuid", fus_uuid_text(uuid, s->any->sb->set_uuid));
	return o;
}

static void add_missing(struct json_object *array, const struct view *v)
{
	struct json_object *o;
	char uuid[UUID_TEXT];

	for (unsigned int i = 0; i < v->sets.nr; i++) {
		const struct found_set *s = &v->sets.set[i];

		for (int role = 0; role < 2; role++) {
			if (!s->missing[role])
				continue;
			o = missing_json(v, s, role);
			fus_json_add_str(o, "set_uuid", s->any ?
					 fus_uuid_text(uuid, s->any->sb->set_uuid) :
					 fus_dm_set_uuid(s->open));
			json_object_array_add(array, o);
		}
		if (s->missing_old && s->trio.role >= 0)
			json_object_array_add(array, missing_old_json(s));
	}
}

static void list_json(const struct view *v)
{
	struct json_object *o = fus_json_base(), *open = json_object_new_array();
	struct json_object *found = json_object_new_array(), *sets = json_object_new_array();
	struct json_object *missing = json_object_new_array(), *set;

	for (const struct mapping *m = v->open; m; m = m->next) {
		set = json_object_new_object();
		fus_json_add_open(set, m);
		json_object_array_add(open, set);
	}
	fus_json_add_bool(o, "complete", true);
	json_object_object_add(o, "open", open);
	for (unsigned int i = 0; i < v->sets.nr; i++)
		json_object_array_add(sets, set_json(v, &v->sets.set[i]));
	json_object_object_add(o, "sets", sets);
	for (const struct member *m = v->members; m; m = m->next)
		json_object_array_add(found, member_json(m, v));
	json_object_object_add(o, "members", found);
	add_missing(missing, v);
	json_object_object_add(o, "missing", missing);
	json_object_object_add(o, "rescued", fus_rescued_array(v->rescued, NULL));
	print_json(o, false);
}

int cmd_list(const struct args *a)
{
	struct view v = { 0 };
	int rc;

	if (geteuid())
		return list_unprivileged(a->opt[OPT_JSON]);
	rc = fus_dm_list(MAPPING_INFO, &v.open);
	if (!rc)
		rc = fus_dm_list_rescued(&v.rescued);
	if (!rc)
		rc = fus_scan_members(&v.members);
	if (!rc) {
		/* a set that could not be examined is shown as far as it is known */
		rc = fus_find_sets(v.open, v.members, &v.sets);
		if (a->opt[OPT_JSON]) {
			list_json(&v);
		} else if (v.members || v.open || v.rescued) {
			list_table(&v);
			list_reasons(&v);
		} else {
			puts("no members of fusion sets found");
		}
	}
	fus_free_sets(&v.sets);
	fus_free_members(v.members);
	fus_dm_free_list(v.open);
	fus_dm_free_list(v.rescued);
	return rc;
}
