// SPDX-License-Identifier: GPL-2.0-only
/* Verb members, for programs. */
#include <json-c/json.h>
#include <string.h>

#include "members.h"
#include "device.h"
#include "drive-json.h"
#include "health.h"
#include "json.h"
#include "role.h"

static void add_text(struct json_object *o, const char *key, const char *text)
{
	fus_json_add_str(o, key, *text ? text : NULL);
}

/* For numbers that have another value for unknown. */
static void add_known(struct json_object *o, const char *key, int64_t v, bool known)
{
	json_object_object_add(o, key, known ? json_object_new_int64(v) : NULL);
}

static struct json_object *endurance_json(const struct owned *m, const struct drive *d)
{
	struct json_object *o;
	struct endurance e;

	if (!members_endurance(m, d, &e))
		return NULL;
	o = json_object_new_object();
	add_known(o, "life_bytes_per_day", e.life_rate, e.life_rate);
	add_known(o, "bytes_per_day", e.rate, e.rate);
	add_known(o, "moved_bytes_per_day", e.move_rate, e.moves_known);
	add_known(o, "capacity_bytes", e.capacity, e.capacity);
	add_known(o, "life_days", e.life_days, e.life_days >= 0);
	add_known(o, "days", e.days, e.days >= 0);
	add_known(o, "write_budget", m->budget, *m->open_as && !m->role && !m->old);
	add_known(o, "budget_days", e.budget_days, e.budget_days >= 0);
	add_known(o, "five_years_budget", e.advice, e.advice >= 0 && !m->role);
	return o;
}

static struct json_object *findings_json(const struct owned *m, const struct drive *d)
{
	struct json_object *array = json_object_new_array();
	struct drive_finding f[NR_DRIVE_FAULTS];
	unsigned int nr = fus_drive_findings(d, f);
	char remedy[512];

	for (unsigned int i = 0; i < nr; i++) {
		members_remedy(m, d, &f[i], remedy, sizeof(remedy));
		json_object_array_add(array, fus_reason_json(f[i].level, f[i].text, remedy));
	}
	return array;
}

static struct json_object *drive_json(const struct owned *m, const struct drive *d)
{
	struct json_object *o = json_object_new_object();

	fus_drive_json(o, d);
	json_object_object_add(o, "endurance", endurance_json(m, d));
	json_object_object_add(o, "findings", findings_json(m, d));
	return o;
}

static struct json_object *member_json(const struct inventory *inv, const struct owned *m)
{
	struct json_object *o = json_object_new_object(), *drives = json_object_new_array();
	char node[160];

	fus_device_node(m->devno, node, sizeof(node));
	add_text(o, "set", m->label);
	add_text(o, "set_uuid", m->set_uuid);
	add_text(o, "open_as", m->open_as);
	fus_json_add_str(o, "role", m->role < 0 ? NULL : fus_role_name[m->role]);
	fus_json_add_str(o, "device", m->missing ? NULL : node);
	add_text(o, "device_uuid", m->uuid);
	fus_json_add_u64(o, "bytes", m->bytes);
	fus_json_add_bool(o, "missing", m->missing);
	add_text(o, "missing_model", m->model);
	add_text(o, "missing_serial", m->serial);
	fus_json_add_bool(o, "being_replaced", m->old);
	for (unsigned int i = 0; i < m->nr; i++)
		json_object_array_add(drives, drive_json(m, &inv->drive[m->drive[i]]));
	json_object_object_add(o, "drives", drives);
	return o;
}

struct json_object *members_json(const struct inventory *inv)
{
	struct json_object *o = fus_json_base(), *array = json_object_new_array();

	fus_json_add_bool(o, "smartctl", inv->smartctl);
	for (unsigned int i = 0; i < inv->nr; i++)
		if (inv->m[i].chosen)
			json_object_array_add(array, member_json(inv, &inv->m[i]));
	json_object_object_add(o, "members", array);
	return o;
}
