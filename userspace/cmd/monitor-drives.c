// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb monitor: what the drives of a set say about themselves, before the set notices. A drive that
 * sleeps is not woken, and is not asked often, since each question may restart the timer that lets
 * it sleep. The state has
 *
 *	drives_time	when they were asked
 *	drives		for each fault of each: its text, and a value that is reported if it grows
 *
 * What is known of a drive that does not answer stays as it was.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "device.h"
#include "drive.h"
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

static void ask(struct asked *a, dev_t disk)
{
	struct drive_finding f[NR_DRIVE_FAULTS];
	char id[SMART_TEXT * 2 + 8];
	unsigned int nr;
	struct drive d;

	fus_drive_get(disk, &d);
	/* as the kernel knows it: the same if the drive does not answer the next time */
	snprintf(id, sizeof(id), "%s", *d.serial ? d.serial : d.node);
	fus_drive_ask(&d);
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

static void ask_all(const struct set *set, struct json_object *was, struct json_object *is)
{
	struct asked a = { .set = set, .was = was, .is = is };
	dev_t disks[MAX_DRIVES];
	char node[160];

	for (int i = 0; i < 3; i++) {
		a.member = i < 2 ? set->member[i] : set->old;
		a.role = i < 2 ? i : set->old_role;
		if (!a.member || fus_device_gone(a.member))
			continue;
		a.drives = fus_drives_under(a.member, disks);
		if (a.drives > MAX_DRIVES) {
			fus_device_node(a.member, node, sizeof(node));
			fus_warn(node, "only %d of its %u drives are asked; watch the others by "
				 "smartd", MAX_DRIVES, a.drives);
		}
		for (unsigned int k = 0; k < a.drives && k < MAX_DRIVES; k++)
			ask(&a, disks[k]);
	}
}

void compare_drives(const struct set *set, struct json_object *old, struct json_object *new,
		    int64_t now)
{
	struct json_object *was = json_object_object_get(old, "drives"), *is;
	int64_t last = json_object_get_int64(json_object_object_get(old, "drives_time"));

	if ((was && last <= now && now < last + ASK_S) || !fus_smart_exists()) {
		is = json_object_get(was);
	} else {
		last = now;
		is = json_object_new_object();
		ask_all(set, was, is);
	}
	json_object_object_add(new, "drives", is);
	json_object_object_add(new, "drives_time", json_object_new_int64(last));
}
