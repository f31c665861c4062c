// SPDX-License-Identifier: GPL-2.0-only
/*
 * Read identity, geometry and kept settings of a set from JSON. The file is trusted no more than a
 * disk: its numbers pass the checks of a superblock.
 */
#include <json-c/json.h>
#include <linux/kernel.h>
#include <stdlib.h>
#include <string.h>

#include "geometry-json.h"
#include "error.h"
#include "fusionctl.h"
#include "json-field.h"
#include "role.h"
#include "size.h"
#include "dm-fusion-codec.h"
#include "dm-fusion-settings.h"

static int read_member(const struct json_source *s, struct json_object *members, int dev,
		       u8 uuid[16], struct fusion_disk_ident *ident, u64 *sectors)
{
	struct json_object *o;
	int rc;

	rc = fus_field_child(s, members, fus_role_name[dev], json_type_object, &o);
	if (!rc)
		rc = fus_field_uuid(s, o, "device_uuid", uuid);
	if (!rc)
		rc = fus_field_u64(s, o, "sectors", INT64_MAX, sectors);
	if (!rc)
		rc = fus_field_hex(s, o, "model_bytes", ident->model, sizeof(ident->model));
	return rc ? rc : fus_field_hex(s, o, "serial_bytes", ident->serial, sizeof(ident->serial));
}

static int read_identity(const struct json_source *s, struct json_object *o, struct fusion_sb *sb)
{
	struct json_object *members = NULL, *features = NULL;
	int rc;

	rc = fus_field_uuid(s, o, "set_uuid", sb->set_uuid);
	if (!rc)
		rc = fus_field_hex(s, o, "label_bytes", sb->label, FUSION_LABEL_SIZE);
	if (!rc)
		rc = fus_field_u64(s, o, "create_time", INT64_MAX, &sb->create_time);
	if (!rc)
		rc = fus_field_child(s, o, "members", json_type_object, &members);
	if (!rc)
		rc = read_member(s, members, FAST, sb->dev_uuid, &sb->self, &sb->self_sectors);
	if (!rc)
		rc = read_member(s, members, SLOW, sb->peer_uuid, &sb->peer, &sb->peer_sectors);
	if (!rc)
		rc = fus_field_child(s, o, "features", json_type_object, &features);
	if (!rc)
		rc = fus_field_u64(s, features, "incompat", UINT64_MAX, &sb->incompat);
	if (!rc)
		rc = fus_field_u64(s, features, "ro_compat", UINT64_MAX, &sb->ro_compat);
	return rc ? rc : fus_field_u64(s, features, "compat", UINT64_MAX, &sb->compat);
}

/* A superblock that the codec accepts is consistent. */
static int check_super(const struct json_source *s, struct fusion_sb *sb)
{
	void *block = calloc(1, FUSION_BLOCK_SIZE);
	char text[FUSION_UNKNOWN_TEXT];
	struct fusion_sb checked;
	const char *why;
	int err, rc = 0;

	if (!block)
		return fus_fail(FC_FAILED, "memory", "not enough; close programs and try again");
	if (sb->incompat & FUSION_INCOMPAT_OLD_MEMBER) {
		free(block);
		return fus_fail(FC_REFUSED, s->path, "is of a set of which a member was being "
				"replaced; use one from before or after that");
	}
	if (sb->incompat & FUSION_INCOMPAT_LANDING && !sb->landing_slots) {
		free(block);
		return fus_fail(FC_REFUSED, s->path, "is of a set with a landing log, and does not "
				"tell what that has; use a file that fusionctl dump wrote");
	}
	sb->version = FUSION_VERSION;
	sb->role = FUSION_FAST;
	sb->generation = 2;
	sb->set_generation = 1;
	sb->replay_seq = 1;
	sb->replay_txn = 1;
	fusion_sb_pack(sb, FUSION_SUPER_BLOCKNR(0), block);
	err = fusion_sb_unpack_landing(block, FUSION_SUPER_BLOCKNR(0), sb->self_sectors, &checked,
				       &why);
	if (*fusion_sb_unknown_landing(sb, text))
		rc = fus_fail(FC_REFUSED, s->path, "is of a set that %s; use the fusionctl that "
			      "wrote it", text);
	else if (err)
		rc = fus_field_bad(s, "geometry", why);
	else
		*sb = checked;	/* with the places that follow from other fields */
	free(block);
	return rc;
}

/* Only a dump has it, of a set that has one: what a superblock says of the landing log. */
static int read_landing(const struct json_source *s, struct json_object *from,
			struct fusion_sb *sb)
{
	struct json_object *o;
	u64 start = 0;
	int rc;

	if (!(sb->incompat & FUSION_INCOMPAT_LANDING) ||
	    !json_object_object_get_ex(from, "landing", NULL))
		return 0;
	rc = fus_field_child(s, from, "landing", json_type_object, &o);
	if (!rc)
		rc = fus_field_u32(s, o, "slots", U32_MAX, &sb->landing_slots);
	if (!rc)
		rc = fus_field_u32(s, o, "stale_places", U32_MAX, &sb->stale_places);
	if (!rc)
		rc = fus_field_u64(s, o, "stale_start", INT64_MAX, &start);
	sb->stale_start = start;
	return rc;
}

static int find_setting(const struct json_source *s, const char *key, int *which)
{
	uint64_t number;

	*which = fusion_setting_find(key);
	if (*which < 0 && fus_parse_number(key, FUSION_NR_SETTINGS - 1, &number) &&
	    number >= FUSION_SETTINGS)
		*which = number;
	return *which < 0 ? fus_field_bad(s, key, "is not a setting") : 0;
}

/* All of them are optional. The geometry is checked when this runs. */
static int read_settings(const struct json_source *s, struct json_object *from,
			 struct fusion_sb *sb)
{
	struct json_object *o;
	u32 value;
	int rc, i;

	if (!json_object_object_get_ex(from, "settings", &o))
		return 0;
	rc = fus_field_child(s, from, "settings", json_type_object, &o);
	if (rc)
		return rc;
	json_object_object_foreach(o, key, field) {
		(void)field;
		rc = find_setting(s, key, &i);
		if (!rc)
			rc = fus_field_u32(s, o, key, U32_MAX, &value);
		if (!rc && i < FUSION_SETTINGS &&
		    !fusion_setting_valid(i, value, sb->nr_fast_slots))
			rc = fus_field_bad(s, key, "is out of bounds");
		if (rc)
			return rc;
		sb->settings_mask |= BIT(i);
		sb->setting[i] = value;
	}
	return 0;
}

int fus_geometry_parse(const struct json_source *s, struct json_object *o, struct fusion_sb *sb)
{
	struct json_object *geometry;
	u64 v = 0;
	u32 small;
	int rc;

	memset(sb, 0, sizeof(*sb));
	rc = read_identity(s, o, sb);
	if (!rc)
		rc = fus_field_child(s, o, "geometry", json_type_object, &geometry);
	for (const struct geometry_field *f = fus_geometry_fields; f->name && !rc; f++) {
		rc = fus_field_u64(s, geometry, f->name, f->size == 8 ? INT64_MAX : U32_MAX, &v);
		small = v;
		memcpy((char *)sb + f->offset, f->size == 8 ? (void *)&v : &small, f->size);
	}
	if (!rc)
		rc = read_landing(s, o, sb);
	if (!rc)
		rc = check_super(s, sb);
	return rc ? rc : read_settings(s, o, sb);
}
