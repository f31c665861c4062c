// SPDX-License-Identifier: GPL-2.0-only
/* A set that was made or opened, or would be, for programs. */
#include <json-c/json.h>
#include <stdio.h>
#include <uuid/uuid.h>

#include "set-json.h"
#include "dm.h"
#include "fusionctl.h"
#include "json.h"
#include "probe.h"
#include "role.h"
#include "super.h"
#include "dm-fusion-codec.h"

/* A field without a value yet is null. */
static void add_uuid(struct json_object *o, const char *key, const unsigned char uuid[16])
{
	char text[UUID_TEXT];

	fus_json_add_str(o, key, uuid_is_null(uuid) ? NULL : fus_uuid_text(text, uuid));
}

static void add_member(struct json_object *o, int role, const char *path,
		       const unsigned char uuid[16], uint64_t sectors)
{
	struct json_object *m = json_object_new_object();

	fus_json_add_str(m, "device", path);
	add_uuid(m, "device_uuid", uuid);
	fus_json_add_u64(m, "bytes", sectors << 9);
	json_object_object_add(o, fus_role_name[role], m);
}

void fus_json_add_contents(struct json_object *o, char content[2][CONTENT_TEXT])
{
	struct json_object *member;

	for (int i = 0; i < 2; i++) {
		member = json_object_object_get(o, fus_role_name[i]);
		fus_json_add_str(member, "content", *content[i] ? content[i] : NULL);
	}
}

void fus_json_add_open(struct json_object *o, const struct mapping *m)
{
	fus_json_add_str(o, "name", m->name);
	fus_json_add_str(o, "set_uuid", fus_dm_set_uuid(m));
}

void fus_json_add_set(struct json_object *o, const char *name, bool open,
		      const struct fusion_sb *fast, const char *const path[2])
{
	char node[160];

	snprintf(node, sizeof(node), "/dev/mapper/%s", name);
	fus_json_add_str(o, "name", name);
	add_uuid(o, "set_uuid", fast->set_uuid);
	fus_json_add_str(o, "device", open ? node : NULL);
	fus_json_add_u64(o, "bytes", fusion_sb_sectors(fast) << 9);
	fus_json_add_u64(o, "extent_bytes", (uint64_t)fast->extent_sectors << 9);
	fus_json_add_u64(o, "extents", fast->nr_lexts);
	add_member(o, FAST, path[FAST], fast->dev_uuid, fast->self_sectors);
	add_member(o, SLOW, path[SLOW], fast->peer_uuid, fast->peer_sectors);
}
