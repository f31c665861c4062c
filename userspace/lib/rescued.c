// SPDX-License-Identifier: GPL-2.0-only
/* Devices opened by salvage: read-only devices with the data left on one member of a set. */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "rescued.h"
#include "busy.h"
#include "device.h"
#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "json.h"
#include "role.h"
#include "scan.h"
#include "super.h"
#include "sysfs.h"
#include "dm-fusion-codec.h"

/* The member that it stands on is the one device beneath it. */
static bool take_member(dev_t devno, void *ctx)
{
	struct rescued *r = ctx;
	struct member *m;

	fus_device_node(devno, r->node, sizeof(r->node));
	if (fus_member_at(devno, &m) || !m)
		return true;
	if (fus_has_identity(m)) {
		snprintf(r->label, sizeof(r->label), "%s", m->sb->label);
		r->role = m->sb->role;
	}
	fus_free_members(m);
	return true;
}

/* A salvaged device without any data uses no member, but its member may be present. */
static void find_label(struct rescued *r)
{
	struct member *list;
	char uuid[UUID_TEXT];

	if (fus_scan_members(&list))
		return;
	for (struct member *m = list; m; m = m->next)
		if (fus_has_identity(m) && !strcmp(fus_uuid_text(uuid, m->sb->set_uuid),
						   r->set_uuid))
			snprintf(r->label, sizeof(r->label), "%s", m->sb->label);
	fus_free_members(list);
}

void fus_rescued_get(const struct mapping *m, struct rescued *r)
{
	*r = (struct rescued) { .m = m, .label = "?", .role = -1 };
	fus_dm_rescued_uuid(m, r->set_uuid, &r->stale);
	r->bytes = fus_sysfs_bytes(m->devno);
	fus_sysfs_any(m->devno, "slaves", take_member, r);
	if (!*r->node)
		find_label(r);
}

bool fus_rescued_is(const struct mapping *m, const char *name)
{
	char uuid[UUID_TEXT];
	bool stale;

	return !name || !strcmp(name, m->name) ||
	       !strcmp(name, fus_dm_rescued_uuid(m, uuid, &stale));
}

struct json_object *fus_rescued_json(const struct rescued *r)
{
	struct json_object *o = json_object_new_object();
	char node[160];

	snprintf(node, sizeof(node), "/dev/mapper/%s", r->m->name);
	fus_json_add_str(o, "name", r->m->name);
	fus_json_add_str(o, "device", node);
	fus_json_add_u64(o, "bytes", r->bytes);
	fus_json_add_bool(o, "stale", r->stale);
	fus_json_add_str(o, "set", strcmp(r->label, "?") ? r->label : NULL);
	fus_json_add_str(o, "set_uuid", r->set_uuid);
	fus_json_add_str(o, "member", r->role < 0 ? NULL : fus_role_name[r->role]);
	fus_json_add_str(o, "member_device", *r->node ? r->node : NULL);
	return o;
}

struct json_object *fus_rescued_array(const struct mapping *list, const char *name)
{
	struct json_object *array = json_object_new_array();
	struct rescued r;

	for (; list; list = list->next) {
		if (!fus_rescued_is(list, name))
			continue;
		fus_rescued_get(list, &r);
		json_object_array_add(array, fus_rescued_json(&r));
	}
	return array;
}

int fus_rescued_close_stale(const struct mapping *m)
{
	char uuid[UUID_TEXT], dm_uuid[64];
	struct user user;
	struct mapping twin;
	bool stale;
	int rc, err;

	if (!fus_dm_is_rescued(m))
		return 0;
	fus_dm_rescued_uuid(m, uuid, &stale);
	if (stale)
		return 0;
	snprintf(dm_uuid, sizeof(dm_uuid), DM_SALVAGE_PREFIX "%s-stale", uuid);
	rc = fus_dm_get(NULL, dm_uuid, MAPPING_INFO, &twin);
	if (rc || !twin.exists)
		return rc;
	if (twin.open_count && fus_device_user(twin.devno, &user))
		return fus_fail_busy(twin.name, &user);
	err = fus_dm_remove(twin.name);
	return !err ? 0 : fus_fail(err == -EBUSY ? FC_BUSY : FC_FAILED, twin.name, "cannot close: "
				   "%s; run fusionctl close %s", strerror(-err), twin.name);
}
