// SPDX-License-Identifier: GPL-2.0-only
/* Verb list: sets that are open, and members found. */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "fusionctl.h"
#include "dm-fusion-codec.h"

const char *member_state_text(const struct member *m)
{
	switch (m->state) {
	case MEMBER_OK:
		return m->why ? "one copy damaged" : "ok";
	case MEMBER_SHRUNK:
		return "shrank";
	case MEMBER_UNKNOWN:
		return "of a newer release";
	case MEMBER_COVERED:
		return "written over";
	default:
		return "damaged";
	}
}

/* Name under which the set is open, or NULL. */
static const char *open_as(const struct member *m, const struct mapping *open)
{
	char uuid[UUID_TEXT];

	uuid_text(uuid, m->sb->set_uuid);
	for (; open; open = open->next)
		if (!strcmp(dm_set_uuid(open), uuid))
			return open->name;
	return NULL;
}

static void list_table(const struct mapping *open, const struct member *members)
{
	static const char *const headings[] = {
		"SET", "ROLE", "DEVICE", ">SIZE", "STATE", "OPEN AS", "UUID", NULL
	};
	struct libscols_table *tb = table_new(headings);

	for (const struct member *m = members; m; m = m->next) {
		bool known = has_identity(m);
		char size[SIZE_TEXT], uuid[UUID_TEXT];
		const char *name = known ? open_as(m, open) : NULL;
		const char *cells[] = {
			known ? m->sb->label : "?", known ? role_name[m->sb->role] : "?", m->path,
			size_text(size, m->sectors << 9), member_state_text(m), name ? name : "-",
			known ? uuid_text(uuid, m->sb->set_uuid) : "?",
		};

		table_row(tb, cells);
	}
	table_print(tb);
}

struct json_object *found_json(const struct member *m)
{
	bool known = has_identity(m);
	struct json_object *o = json_object_new_object();
	char uuid[UUID_TEXT];

	json_add_str(o, "device", m->path);
	json_add_u64(o, "bytes", m->sectors << 9);
	json_add_str(o, "state", member_state_text(m));
	json_add_str(o, "reason", m->why);
	json_add_str(o, "set", known ? m->sb->label : NULL);
	json_add_str(o, "role", known ? role_name[m->sb->role] : NULL);
	json_add_str(o, "set_uuid", known ? uuid_text(uuid, m->sb->set_uuid) : NULL);
	json_add_str(o, "device_uuid", known ? uuid_text(uuid, m->sb->dev_uuid) : NULL);
	return o;
}

static struct json_object *member_json(const struct member *m, const struct mapping *open)
{
	bool known = has_identity(m);
	struct json_object *o = found_json(m);

	host_json(o, known ? m->sb : NULL);
	json_add_str(o, "open_as", known ? open_as(m, open) : NULL);
	return o;
}

static void list_json(const struct mapping *open, const struct member *members)
{
	struct json_object *o = json_base(), *sets = json_object_new_array();
	struct json_object *found = json_object_new_array(), *set;

	for (const struct mapping *m = open; m; m = m->next) {
		set = json_object_new_object();
		json_add_open(set, m);
		json_object_array_add(sets, set);
	}
	json_object_object_add(o, "open", sets);
	for (const struct member *m = members; m; m = m->next)
		json_object_array_add(found, member_json(m, open));
	json_object_object_add(o, "members", found);
	print_json(o, false);
}

/* One line per open set whose members are not found, so that it is not overlooked. */
static void list_lonely(const struct mapping *open, const struct member *members)
{
	for (; open; open = open->next) {
		const struct member *m = members;

		while (m && open_as(m, open) != open->name)
			m = m->next;
		if (!m)
			warn(open->name, "is open, but no superblock of its members can be read; "
			     "see dmesg");
	}
}

int cmd_list(const struct args *a)
{
	struct member *members = NULL;
	struct mapping *open;
	int rc;

	rc = dm_list(MAPPING_INFO, &open);
	if (!rc)
		rc = scan_members(&members);
	if (!rc && a->opt[OPT_JSON]) {
		list_json(open, members);
	} else if (!rc) {
		if (members)
			list_table(open, members);
		else
			puts("no members of fusion sets are found");
		list_lonely(open, members);
	}
	free_members(members);
	dm_free_list(open);
	return rc;
}
