// SPDX-License-Identifier: GPL-2.0-only
/* A drive and what it tells, as JSON. */
#include <json-c/json.h>

#include "drive-json.h"
#include "json.h"

const char *const fus_drive_state_name[NR_DRIVE_STATES] = {
	[DRIVE_OK] = "ok",
	[DRIVE_ASLEEP] = "asleep",
	[DRIVE_UNKNOWN] = "unknown",
};

static void add_text(struct json_object *o, const char *key, const char *text)
{
	fus_json_add_str(o, key, *text ? text : NULL);
}

static void add_number(struct json_object *o, const char *key, int64_t v)
{
	json_object_object_add(o, key, v == SMART_UNKNOWN ? NULL : json_object_new_int64(v));
}

/* -1 is unknown */
static void add_bool(struct json_object *o, const char *key, int v)
{
	json_object_object_add(o, key, v < 0 ? NULL : json_object_new_boolean(v));
}

static enum drive_state state_of(const struct smart *s)
{
	return s->known ? DRIVE_OK : s->asleep ? DRIVE_ASLEEP : DRIVE_UNKNOWN;
}

void fus_drive_json(struct json_object *o, const struct drive *d)
{
	const struct smart *s = &d->smart;

	fus_json_add_str(o, "device", d->node);
	add_text(o, "model", d->model);
	add_text(o, "serial", d->serial);
	add_text(o, "firmware", d->firmware);
	add_text(o, "wwn", d->wwn);
	add_text(o, "link", d->link);
	fus_json_add_u64(o, "bytes", d->bytes);
	add_bool(o, "rotational", d->rotational);
	fus_json_add_str(o, "smart", fus_drive_state_name[state_of(s)]);
	add_text(o, "smart_reason", s->trouble);
	add_bool(o, "passed", s->passed);
	add_number(o, "temperature", s->temperature);
	add_number(o, "temperature_limit", s->limit);
	add_number(o, "power_on_hours", s->hours);
	add_number(o, "percentage_used", s->wear);
	add_number(o, "spare_percentage", s->spare);
	add_number(o, "written_bytes", s->written);
	add_number(o, "pending_sectors", s->pending);
	add_number(o, "reallocated_sectors", s->reallocated);
	add_number(o, "media_errors", s->media_errors);
}
