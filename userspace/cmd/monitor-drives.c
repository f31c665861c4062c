// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb monitor: what the drives of a set say about themselves, before the set notices. A drive that
 * sleeps is not woken, and is not asked often, since each question may restart the timer that lets
 * it sleep. The state has
 *
 *	drives_time	when they were asked
 *	drives		for each fault of each: its text, and a value that is reported if it grows
 *	readings	for each: what members --json says of it, and its member; for the metrics
 *
 * A fault of a drive that does not answer stays as it was. Its readings are unknown.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "device.h"
#include "drive.h"
#include "drive-json.h"
#include "error.h"
#include "fusionctl.h"
#include "json.h"
#include "json-field.h"
#include "monitor.h"
#include "open-set.h"
#include "role.h"

#define ASK_S	1800	/* as smartd does */
#define KEY_TEXT	200

struct asked {
	const struct set *set;
	dev_t member;
	int role;
	unsigned int drives;		/* beneath the member */
	struct json_object *was;	/* or NULL */
	struct json_object *is;
	struct json_object *readings;
};

static struct json_object *was_of(const struct asked *a, const char *key, int64_t *value)
{
	struct json_object *o;

	*value = 0;
	if (!json_object_is_type(a->was, json_type_object) ||
	    !json_object_object_get_ex(a->was, key, &o) ||
	    !json_object_is_type(o, json_type_object) || !fus_field_text(o, "text"))
		return NULL;
	*value = json_object_get_int64(json_object_object_get(o, "value"));
	return o;
}

static void report(const struct asked *a, const struct drive *d, const struct drive_finding *f,
		   const char *key)
{
	const struct drive_place at = {
		.open_as = a->set->m.name, .member = a->member, .old = a->member == a->set->old,
		.drives = a->drives,
	};
	struct event begun = monitor_event(a->set, "begun", f->level);
	char name[256], text[512], node[160], remedy[320];
	struct json_object *o;
	int64_t value;
	bool known = was_of(a, key, &value);

	fus_device_node(a->member, node, sizeof(node));
	snprintf(text, sizeof(text), "%s member %s, %s: %s", fus_role_name[a->role], node,
		 fus_drive_name(d, name, sizeof(name)), f->text);
	begun.remedy = fus_drive_remedy(f, d, &at, remedy, sizeof(remedy));
	if (!known || f->value > value)
		monitor_say(&begun, "%s", text);
	o = json_object_new_object();
	fus_json_add_str(o, "text", text);
	json_object_object_add(o, "value", json_object_new_int64(f->value));
	json_object_object_add(a->is, key, o);
}

/* Two members of one role, of which one replaces the other, may have parts of the same drive. */
static bool is_noted(const struct asked *a, const struct drive *d)
{
	for (size_t i = 0; i < json_object_array_length(a->readings); i++) {
		struct json_object *o = json_object_array_get_idx(a->readings, i);

		if (!strcmp(fus_field_text(o, "member"), fus_role_name[a->role]) &&
		    !strcmp(fus_field_text(o, "device"), d->node))
			return true;
	}
	return false;
}

static void note_reading(const struct asked *a, const struct drive *d, const char *model)
{
	struct json_object *o;

	if (is_noted(a, d))
		return;
	o = json_object_new_object();
	fus_json_add_str(o, "member", fus_role_name[a->role]);
	fus_drive_json(o, d);
	fus_json_add_str(o, "model", model);
	json_object_array_add(a->readings, o);
}

static void ask(struct asked *a, dev_t disk)
{
	struct drive_finding f[NR_DRIVE_FAULTS];
	char id[SMART_TEXT * 2 + 8], model[SMART_TEXT];
	unsigned int nr;
	struct drive d;

	fus_drive_get(disk, &d);
	/* as the kernel knows it: the same if the drive does not answer the next time */
	snprintf(id, sizeof(id), "%s", *d.serial ? d.serial : d.node);
	snprintf(model, sizeof(model), "%s", d.model);
	fus_drive_ask(&d);
	note_reading(a, &d, model);
	nr = fus_drive_findings(&d, f);
	for (int fault = 0; fault < NR_DRIVE_FAULTS; fault++) {
		struct event over = monitor_event(a->set, "over", HEALTH_OK);
		char key[KEY_TEXT];
		struct json_object *old;
		unsigned int i = 0;
		int64_t value;

		over.lead = "resolved: ";
		snprintf(key, sizeof(key), "%s %s %s", fus_role_name[a->role],
			 id, fus_drive_fault_name[fault]);
		while (i < nr && (int)f[i].fault != fault)
			i++;
		old = was_of(a, key, &value);
		if (i < nr)
			report(a, &d, &f[i], key);
		else if (old && d.smart.known)
			monitor_say(&over, "%s", fus_field_text(old, "text"));
		else if (old)
			json_object_object_add(a->is, key, json_object_get(old));
	}
}

static void ask_all(struct asked *a)
{
	dev_t disks[MAX_DRIVES];
	char node[160];

	for (int i = 0; i < 3; i++) {
		a->member = i < 2 ? a->set->member[i] : a->set->old;
		a->role = i < 2 ? i : a->set->old_role;
		if (!a->member || fus_device_gone(a->member))
			continue;
		a->drives = fus_drives_under(a->member, disks);
		if (a->drives > MAX_DRIVES) {
			fus_device_node(a->member, node, sizeof(node));
			fus_warn(node, "only %d of its %u drives are asked; watch the others by "
				 "smartd", MAX_DRIVES, a->drives);
		}
		for (unsigned int k = 0; k < a->drives && k < MAX_DRIVES; k++)
			ask(a, disks[k]);
	}
}

void compare_drives(const struct set *set, struct json_object *old, struct json_object *new,
		    int64_t now)
{
	struct json_object *readings = json_object_object_get(old, "readings");
	struct asked a = { .set = set, .was = json_object_object_get(old, "drives") };
	int64_t last = json_object_get_int64(json_object_object_get(old, "drives_time"));
	bool exists = fus_smart_exists();

	if (!exists || (a.was && readings && last <= now && now < last + ASK_S)) {
		a.is = json_object_get(a.was);
		/* without smartctl they would stay for ever */
		a.readings = exists ? json_object_get(readings) : NULL;
	} else {
		last = now;
		a.is = json_object_new_object();
		a.readings = json_object_new_array();
		ask_all(&a);
	}
	json_object_object_add(new, "drives", a.is);
	json_object_object_add(new, "readings", a.readings);
	json_object_object_add(new, "drives_time", json_object_new_int64(last));
}
