// SPDX-License-Identifier: GPL-2.0-only
/* Write identity, geometry and kept settings of a set as JSON. */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "geometry-json.h"
#include "json.h"
#include "role.h"
#include "super.h"
#include "text.h"
#include "dm-fusion-codec.h"
#include "dm-fusion-settings.h"

const struct geometry_field fus_geometry_fields[] = {
#define FIELD(name, member)	{ name, offsetof(struct fusion_sb, member), \
				  sizeof_field(struct fusion_sb, member) }
	FIELD("extent_sectors", extent_sectors),
	FIELD("extents", nr_lexts),
	FIELD("map_blocks", map_blocks),
	FIELD("heat_blocks", heat_blocks),
	FIELD("journal_start", journal_start[FUSION_FAST]),
	FIELD("journal_blocks", journal_blocks[FUSION_FAST]),
	FIELD("map_start_0", map_start[FUSION_FAST][0]),
	FIELD("map_start_1", map_start[FUSION_FAST][1]),
	FIELD("heat_start", heat_start),
	FIELD("fast_data_start", fast_data_start),
	FIELD("fast_slots", nr_fast_slots),
	FIELD("log_start", journal_start[FUSION_SLOW]),
	FIELD("log_blocks", journal_blocks[FUSION_SLOW]),
	FIELD("replica_start_0", map_start[FUSION_SLOW][0]),
	FIELD("replica_start_1", map_start[FUSION_SLOW][1]),
	FIELD("layout_seq", layout_seq),
	FIELD("slow_first_slot", slow_first_slot),
	FIELD("slow_slots", nr_slow_slots),
	FIELD("spare_fast", spare_fast),
	FIELD("spare_slow", spare_slow),
	{ 0 },
#undef FIELD
};

static struct json_object *add_object(struct json_object *o, const char *key)
{
	struct json_object *sub = json_object_new_object();

	json_object_object_add(o, key, sub);
	return sub;
}

void fus_json_add_hex(struct json_object *o, const char *key, const void *p, size_t n)
{
	char text[2 * 512 + 1] = "";
	const unsigned char *b = p;

	for (size_t i = 0; i < n && i < 512; i++)
		snprintf(text + 2 * i, 3, "%02x", b[i]);
	fus_json_add_str(o, key, text);
}

/* Text from the disk: to be read, and the bytes themselves, which need not be UTF-8. */
static void add_text(struct json_object *o, const char *key, const char *text, size_t size)
{
	char safe[FUSION_LABEL_SIZE * 4 + 1], bytes[32];

	fus_safe_text(safe, sizeof(safe), text, size, true);
	fus_json_add_str(o, key, safe);
	snprintf(bytes, sizeof(bytes), "%s_bytes", key);
	fus_json_add_hex(o, bytes, text, strnlen(text, size));
}

static void add_member(struct json_object *members, const char *key, const unsigned char uuid[16],
		       u64 sectors, const struct fusion_disk_ident *ident)
{
	struct json_object *o = add_object(members, key);
	char text[UUID_TEXT];

	fus_json_add_str(o, "device_uuid", fus_uuid_text(text, uuid));
	fus_json_add_u64(o, "sectors", sectors);
	add_text(o, "model", ident->model, sizeof(ident->model));
	add_text(o, "serial", ident->serial, sizeof(ident->serial));
}

static void add_members(struct json_object *o, const struct fusion_sb *sb)
{
	struct json_object *members = add_object(o, "members");

	/* in the same order, whichever superblock it is */
	for (u32 role = FUSION_FAST; role <= FUSION_SLOW; role++) {
		if (role == sb->role)
			add_member(members, fus_role_name[role], sb->dev_uuid, sb->self_sectors,
				   &sb->self);
		else
			add_member(members, fus_role_name[role], sb->peer_uuid, sb->peer_sectors,
				   &sb->peer);
	}
}

/* A third disk that has extents. */
static void add_old(struct json_object *o, const struct fusion_sb *sb)
{
	struct json_object *old;

	if (!(sb->incompat & FUSION_INCOMPAT_OLD_MEMBER))
		return;
	add_member(o, "old_member", sb->old.uuid, sb->old.sectors, &sb->old.ident);
	old = json_object_object_get(o, "old_member");
	fus_json_add_str(old, "role", fus_role_name[sb->old.dev]);
	fus_json_add_u64(old, "first_slot", sb->old.first_slot);
	fus_json_add_u64(old, "slots", sb->old.nr_slots);
	fus_json_add_u64(old, "data_start", sb->old.data_start);
}

static void add_numbers(struct json_object *o, const struct fusion_sb *sb)
{
	struct json_object *geometry = add_object(o, "geometry");
	u32 small;
	u64 big;

	for (const struct geometry_field *f = fus_geometry_fields; f->name; f++) {
		memcpy(&big, (const char *)sb + f->offset, f->size == 8 ? 8 : 0);
		memcpy(&small, (const char *)sb + f->offset, sizeof(small));
		fus_json_add_u64(geometry, f->name, f->size == 8 ? big : small);
	}
}

/*
 * By key, or where this release knows none by number, in the kernel's units. A value out of range
 * has no effect, and the file would be refused for it.
 */
static void add_settings(struct json_object *o, const struct fusion_sb *sb)
{
	struct json_object *settings = add_object(o, "settings");
	char number[8];
	u32 value;

	for (int s = 0; s < FUSION_NR_SETTINGS; s++) {
		snprintf(number, sizeof(number), "%d", s);
		if (s < FUSION_SETTINGS && fusion_sb_setting(sb, s, &value))
			fus_json_add_u64(settings, fusion_settings[s].key, value);
		else if (s >= FUSION_SETTINGS && sb->settings_mask & BIT(s))
			fus_json_add_u64(settings, number, sb->setting[s]);
	}
}

void fus_geometry_json(struct json_object *o, const struct fusion_sb *sb)
{
	struct json_object *features;
	char uuid[UUID_TEXT];

	fus_json_add_str(o, "set_uuid", fus_uuid_text(uuid, sb->set_uuid));
	add_text(o, "label", sb->label, FUSION_LABEL_SIZE);
	fus_json_add_u64(o, "create_time", sb->create_time);
	add_members(o, sb);
	add_old(o, sb);
	features = add_object(o, "features");
	fus_json_add_u64(features, "incompat", sb->incompat);
	fus_json_add_u64(features, "ro_compat", sb->ro_compat);
	fus_json_add_u64(features, "compat", sb->compat);
	add_numbers(o, sb);
	add_settings(o, sb);
}
