// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verbs list and status without root. The device mapper and the superblocks are for root; sysfs
 * tells everybody which sets are open and of which devices, and udev which devices are members.
 */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <libudev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "health.h"
#include "json.h"
#include "list.h"
#include "output.h"
#include "rescued.h"
#include "released.h"
#include "role.h"
#include "set-json.h"
#include "show-rescued.h"
#include "size.h"
#include "super.h"
#include "sysfs.h"
#include "table.h"

/* A member, as our rule has told udev; or a device beneath an open set that udev does not know. */
struct part {
	struct part *next;
	dev_t devno;
	char set[128], set_uuid[UUID_TEXT], device_uuid[UUID_TEXT], role[8];
};

struct seen {
	struct mapping *open, *rescued;
	struct part *parts;
};

/* -- what there is --------------------------------------------------------------------- */

static bool add_mapping(struct udev_device *dev, void *ctx)
{
	const char *name = udev_device_get_sysattr_value(dev, "dm/name");
	const char *uuid = udev_device_get_sysattr_value(dev, "dm/uuid");
	const char *suspended = udev_device_get_sysattr_value(dev, "dm/suspended");
	struct mapping ***tail = ctx, *m;

	m = name && uuid ? calloc(1, sizeof(*m)) : NULL;
	if (!m)
		return false;
	snprintf(m->name, sizeof(m->name), "%s", name);
	snprintf(m->uuid, sizeof(m->uuid), "%s", uuid);
	m->devno = udev_device_get_devnum(dev);
	m->suspended = suspended && !strcmp(suspended, "1");
	m->exists = true;
	m->live = fus_sysfs_bytes(m->devno);
	**tail = m;
	*tail = &m->next;
	return false;
}

static bool add_set(struct udev_device *dev, void *ctx)
{
	return !fus_is_released(udev_device_get_devnum(dev)) && add_mapping(dev, ctx);
}

static void copy(struct udev_device *dev, const char *key, char *buf, size_t size)
{
	const char *value = udev_device_get_property_value(dev, key);

	snprintf(buf, size, "%s", value ? value : "");
}

static struct part *new_part(struct seen *s, dev_t devno)
{
	struct part *p = calloc(1, sizeof(*p)), **end = &s->parts;

	if (!p)
		return NULL;
	p->devno = devno;
	while (*end)
		end = &(*end)->next;
	*end = p;
	return p;
}

static bool add_part(struct udev_device *dev, void *ctx)
{
	struct part *p = new_part(ctx, udev_device_get_devnum(dev));

	if (!p)
		return false;
	copy(dev, "ID_FS_LABEL", p->set, sizeof(p->set));
	copy(dev, "ID_FS_UUID", p->set_uuid, sizeof(p->set_uuid));
	copy(dev, "ID_FS_UUID_SUB", p->device_uuid, sizeof(p->device_uuid));
	copy(dev, "ID_FUSION_ROLE", p->role, sizeof(p->role));
	return false;
}

struct beneath {
	struct seen *s;
	const struct mapping *m;
};

static bool add_beneath(dev_t devno, void *ctx)
{
	struct beneath *b = ctx;
	struct part *p;

	for (p = b->s->parts; p; p = p->next)
		if (p->devno == devno)
			return false;
	p = new_part(b->s, devno);
	if (p)
		snprintf(p->set_uuid, sizeof(p->set_uuid), "%s", fus_dm_set_uuid(b->m));
	return false;
}

static int look(struct seen *s)
{
	static const struct block_match sets = { .attr = "dm/uuid", .value = DM_PREFIX "*" };
	static const struct block_match rescued = {
		.attr = "dm/uuid", .value = DM_SALVAGE_PREFIX "*",
	};
	static const struct block_match members = {
		.property = "ID_FS_TYPE", .value = "fusion_member",
	};
	struct mapping **tail = &s->open;
	int err;

	err = fus_block_any(&sets, add_set, &tail);
	tail = &s->rescued;
	if (err >= 0)
		err = fus_block_any(&rescued, add_mapping, &tail);
	if (err >= 0)
		err = fus_block_any(&members, add_part, s);
	if (err < 0)
		return fus_fail(FC_FAILED, BLOCK_CLASS, "%s; mount sysfs", strerror(-err));
	for (const struct mapping *m = s->open; m; m = m->next)
		fus_sysfs_any(m->devno, "slaves", add_beneath, &(struct beneath){ s, m });
	return 0;
}

static void forget(struct seen *s)
{
	struct part *next;

	for (; s->parts; s->parts = next) {
		next = s->parts->next;
		free(s->parts);
	}
	fus_dm_free_list(s->open);
	fus_dm_free_list(s->rescued);
}

/* -- health, as far as sysfs goes ------------------------------------------------------ */

static bool count_well(dev_t devno, void *ctx)
{
	unsigned int *well = ctx;

	*well += !fus_device_gone(devno);
	return false;
}

/* Any other set ends with NULL: only root can see more. */
static const char *condition_of(const struct mapping *m, const char **why)
{
	unsigned int well = 0;

	*why = NULL;
	fus_sysfs_any(m->devno, "slaves", count_well, &well);
	if (m->live && well < 2) {
		*why = "a member is gone from this system";
		return fus_condition_name[CONDITION_MISSING];
	}
	if (m->suspended) {
		*why = "is suspended, all I/O waits";
		return fus_condition_name[CONDITION_DEGRADED];
	}
	return NULL;
}

static const struct mapping *open_of(const struct seen *s, const char *set_uuid)
{
	const struct mapping *m = s->open;

	while (m && strcmp(fus_dm_set_uuid(m), set_uuid))
		m = m->next;
	return m;
}

static bool stands_on(const struct mapping *m, const struct part *p)
{
	char name[128], attr[160];

	fus_sysfs_name(p->devno, name, sizeof(name));
	snprintf(attr, sizeof(attr), "slaves/%s", name);
	return fus_sysfs_has(m->devno, attr);
}

/* -- list ------------------------------------------------------------------------------ */

static const char *or_else(const char *text, const char *other)
{
	return text && *text ? text : other;
}

static void list_table(const struct seen *s)
{
	static const char *const headings[] = {
		"SET", "ROLE", "DEVICE", ">SIZE", "OPEN AS", "HEALTH", "UUID", NULL
	};
	struct libscols_table *tb = table_new(headings);
	char node[160], size[SIZE_TEXT], uuid[UUID_TEXT];
	const char *why;
	bool stale;

	for (const struct part *p = s->parts; p; p = p->next) {
		const struct mapping *m = open_of(s, p->set_uuid);

		fus_device_node(p->devno, node, sizeof(node));
		table_row(tb, (const char *[]) {
			or_else(p->set, "?"), or_else(p->role, "?"), node,
			fus_size_text(size, fus_sysfs_bytes(p->devno)), m ? m->name : "-",
			or_else(m ? condition_of(m, &why) : NULL, "?"), or_else(p->set_uuid, "?"),
		});
	}
	for (const struct mapping *m = s->rescued; m; m = m->next) {
		snprintf(node, sizeof(node), "/dev/mapper/%s", m->name);
		table_row(tb, (const char *[]) {
			"?", "rescued", node, fus_size_text(size, fus_sysfs_bytes(m->devno)),
			m->name, "-",
			fus_dm_rescued_uuid(m, uuid, &stale),
		});
	}
	table_print(tb);
}

static struct json_object *set_json(const struct mapping *m)
{
	struct json_object *o = json_object_new_object(), *reasons = json_object_new_array();
	const char *why, *word = condition_of(m, &why);

	fus_json_add_open(o, m);
	fus_json_add_str(o, "health", word);
	if (why)
		json_object_array_add(reasons, fus_reason_json(HEALTH_WARNING, why, NULL));
	json_object_object_add(o, "reasons", reasons);
	return o;
}

static struct json_object *part_json(const struct seen *s, const struct part *p)
{
	static const char *const unknown[] = { "state", "reason", "host", "clone_of" };
	const struct mapping *m = open_of(s, p->set_uuid);
	struct json_object *o = json_object_new_object();
	char node[160];

	fus_device_node(p->devno, node, sizeof(node));
	fus_json_add_str(o, "device", node);
	fus_json_add_u64(o, "bytes", fus_sysfs_bytes(p->devno));
	fus_json_add_str(o, "set", *p->set ? p->set : NULL);
	fus_json_add_str(o, "role", *p->role ? p->role : NULL);
	fus_json_add_str(o, "set_uuid", *p->set_uuid ? p->set_uuid : NULL);
	fus_json_add_str(o, "device_uuid", *p->device_uuid ? p->device_uuid : NULL);
	fus_json_add_str(o, "open_as", m ? m->name : NULL);
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		json_object_object_add(o, unknown[i], NULL);
	return o;
}

static void list_json(const struct seen *s)
{
	struct json_object *o = fus_json_base(), *open = json_object_new_array();
	struct json_object *sets = json_object_new_array(), *parts = json_object_new_array(), *one;

	fus_json_add_bool(o, "complete", false);
	for (const struct mapping *m = s->open; m; m = m->next) {
		one = json_object_new_object();
		fus_json_add_open(one, m);
		json_object_array_add(open, one);
		one = set_json(m);
		json_object_object_del(one, "name");
		json_object_object_add(one, "set", NULL);
		fus_json_add_str(one, "open_as", m->name);
		json_object_object_add(one, "landing_bytes", NULL);
		json_object_array_add(sets, one);
	}
	for (const struct part *p = s->parts; p; p = p->next)
		json_object_array_add(parts, part_json(s, p));
	json_object_object_add(o, "open", open);
	json_object_object_add(o, "sets", sets);
	json_object_object_add(o, "members", parts);
	json_object_object_add(o, "missing", json_object_new_array());
	json_object_object_add(o, "rescued", fus_rescued_array(s->rescued, NULL));
	print_json(o, false);
}

int list_unprivileged(bool json)
{
	struct seen s = { 0 };
	int rc;

	rc = look(&s);
	if (!rc && json)
		list_json(&s);
	else if (!rc && (s.parts || s.rescued))
		list_table(&s);
	else if (!rc)
		puts("no members of fusion sets are known to udev");
	if (!rc)
		fus_warn("list", "without root it shows only what sysfs and udev know; use sudo "
			 "for states, missing members and health");
	forget(&s);
	return rc;
}

/* -- status ---------------------------------------------------------------------------- */

/* Completed reads and writes, since it was opened. */
static void io_of(const struct mapping *m, uint64_t io[2])
{
	char text[256];

	memset(io, 0, 2 * sizeof(*io));
	if (fus_sysfs_read(m->devno, "stat", text, sizeof(text)))
		sscanf(text, "%" SCNu64 " %*u %*u %*u %" SCNu64, &io[0], &io[1]);
}

static void status_text(const struct seen *s, const struct mapping *m)
{
	static const char *const headings[] = { "MEMBER", "DEVICE", ">SIZE", NULL };
	const char *why, *word = condition_of(m, &why);
	struct libscols_table *tb = table_new(headings);
	char size[SIZE_TEXT], node[160];
	uint64_t io[2];

	io_of(m, io);
	printf("%s: %s, %" PRIu64 " reads, %" PRIu64 " writes\n", m->name,
	       fus_size_text(size, fus_sysfs_bytes(m->devno)), io[0], io[1]);
	printf("health   %s%s%s\n", word ? word : "not known without root", why ? ": " : "",
	       why ? why : "");
	for (const struct part *p = s->parts; p; p = p->next) {
		if (strcmp(p->set_uuid, fus_dm_set_uuid(m)) || !stands_on(m, p))
			continue;
		fus_device_node(p->devno, node, sizeof(node));
		table_row(tb, (const char *[]) {
			or_else(p->role, "?"), node, fus_size_text(size, fus_sysfs_bytes(p->devno)),
		});
	}
	table_print(tb);
}

static struct json_object *status_json(const struct seen *s, const struct mapping *m)
{
	struct json_object *o = set_json(m), *members = json_object_new_array(), *one;
	char node[160];
	uint64_t io[2];

	io_of(m, io);
	fus_json_add_u64(o, "bytes", fus_sysfs_bytes(m->devno));
	fus_json_add_bool(o, "suspended", m->suspended);
	fus_json_add_u64(o, "reads", io[0]);
	fus_json_add_u64(o, "writes", io[1]);
	for (const struct part *p = s->parts; p; p = p->next) {
		if (strcmp(p->set_uuid, fus_dm_set_uuid(m)) || !stands_on(m, p))
			continue;
		one = json_object_new_object();
		fus_device_node(p->devno, node, sizeof(node));
		fus_json_add_str(one, "role", *p->role ? p->role : NULL);
		fus_json_add_str(one, "device", node);
		fus_json_add_u64(one, "bytes", fus_sysfs_bytes(p->devno));
		json_object_array_add(members, one);
	}
	json_object_object_add(o, "members", members);
	return o;
}

/* Closed, as far as udev knows its members, or none at all. */
static int fail_closed(const struct seen *s, const char *name)
{
	bool here[2] = { false, false };

	for (const struct part *p = s->parts; p; p = p->next)
		for (int role = 0; role < 2; role++)
			here[role] |= (!strcmp(name, p->set) || !strcasecmp(name, p->set_uuid)) &&
				      !strcmp(p->role, fus_role_name[role]);
	if (here[FAST] && here[SLOW])
		return fus_fail(FC_FAILED, name, "is closed; sudo fusionctl open %s opens it",
				name);
	if (here[FAST] || here[SLOW])
		return fus_fail(FC_FAILED, name, "is closed, and cannot be opened: the %s member "
				"is missing; connect it, or see fusionctl help salvage",
				fus_role_name[here[FAST] ? SLOW : FAST]);
	return fus_fail(FC_FAILED, name, "no such set is open; fusionctl list shows the open sets");
}

int status_unprivileged(const char *name, bool json, bool one_line)
{
	struct json_object *o = fus_json_base(), *sets = json_object_new_array();
	unsigned int nr = 0, rescued = 0;
	static bool warned;
	struct seen s = { 0 };
	int rc;

	rc = look(&s);
	for (const struct mapping *m = s.open; m && !rc; m = m->next) {
		if (name && strcmp(name, m->name) && strcasecmp(name, fus_dm_set_uuid(m)))
			continue;
		if (json)
			json_object_array_add(sets, status_json(&s, m));
		if (nr++ && !json)
			putchar('\n');
		if (!json)
			status_text(&s, m);
	}
	for (const struct mapping *m = s.rescued; m; m = m->next)
		rescued += !name || !strcmp(name, m->name);
	if (!rc && !json)
		rescued_print(s.rescued, name);
	if (!rc && name && !nr && !rescued)
		rc = fail_closed(&s, name);
	fus_json_add_bool(o, "complete", false);
	json_object_object_add(o, "sets", sets);
	json_object_object_add(o, "rescued", fus_rescued_array(s.rescued, name));
	if (!rc && json)
		print_json(o, one_line);
	else
		json_object_put(o);
	if (!rc && !json && !nr && !rescued)
		puts("no set is open");
	if (!rc && !warned)
		fus_warn("status", "without root it shows only what sysfs and udev know; use sudo "
			 "for fill, migration, errors and health");
	warned = true;
	forget(&s);
	return rc;
}
