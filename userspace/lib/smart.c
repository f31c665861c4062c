// SPDX-License-Identifier: GPL-2.0-only
/*
 * The JSON of smartctl. A number that is missing, of another type, or out of bounds is unknown.
 *
 * The attributes of ATA have no meaning by themselves: makers use the same number for different
 * things. smartctl has a database, so what counts is the name that it gives them.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "json-field.h"
#include "smart.h"
#include "text.h"

#define MAX_BYTES	1000000000000000000LL
#define NVME_UNIT	512000LL	/* bytes of a data unit */
#define SECTOR		512LL

void fus_smart_clear(struct smart *s)
{
	*s = (struct smart) {
		.passed = -1,
		.temperature = SMART_UNKNOWN,
		.limit = SMART_UNKNOWN,
		.hours = SMART_UNKNOWN,
		.wear = SMART_UNKNOWN,
		.spare = SMART_UNKNOWN,
		.written = SMART_UNKNOWN,
		.pending = SMART_UNKNOWN,
		.reallocated = SMART_UNKNOWN,
		.media_errors = SMART_UNKNOWN,
	};
}

/* -- fields ------------------------------------------------------------------------ */

static struct json_object *child(struct json_object *o, const char *key)
{
	struct json_object *field;

	return json_object_is_type(o, json_type_object) && json_object_object_get_ex(o, key, &field)
	       ? field : NULL;
}

static int64_t bounded(struct json_object *field, int64_t min, int64_t max)
{
	int64_t v;

	if (!json_object_is_type(field, json_type_int))
		return SMART_UNKNOWN;
	v = json_object_get_int64(field);
	return v >= min && v <= max ? v : SMART_UNKNOWN;
}

static int64_t number(struct json_object *o, const char *key, int64_t max)
{
	return bounded(child(o, key), 0, max);
}

/* The first source that knows it counts. */
static void learn(int64_t *v, int64_t is)
{
	if (*v == SMART_UNKNOWN)
		*v = is;
}

static void learn_units(int64_t *v, int64_t units, int64_t bytes)
{
	if (units != SMART_UNKNOWN && units <= MAX_BYTES / bytes)
		learn(v, units * bytes);
}

static void text(struct json_object *o, const char *key, char buf[SMART_TEXT])
{
	const char *t = json_object_is_type(o, json_type_object) ? fus_field_text(o, key) : NULL;
	size_t len;

	if (!t || *buf)
		return;
	fus_safe_text(buf, SMART_TEXT, t + strspn(t, " "), SIZE_MAX, true);
	for (len = strlen(buf); len && buf[len - 1] == ' '; len--)
		buf[len - 1] = 0;
}

/* -- ATA --------------------------------------------------------------------------- */

/* Attributes with a value that falls from 100 to 0 as the drive wears out. */
static const struct {
	int id;
	const char *name;	/* contains this */
} lives[] = {
	{ 169, "Remaining_Life" },
	{ 177, "Wear_Leveling" },
	{ 202, "Lifetime_Remain" },
	{ 231, "Life_Left" },
	{ 231, "Lifetime_Left" },
	{ 232, "Lifetime_Left" },
	{ 233, "Media_Wearout" },
};

static const struct {
	const char *name;
	int64_t bytes;
} written_names[] = {
	{ "Total_LBAs_Written", SECTOR },
	{ "Host_Writes_32MiB", 32LL << 20 },
	{ "Total_Writes_32MiB", 32LL << 20 },
	{ "Host_Writes_GiB", 1LL << 30 },
	{ "Total_Writes_GiB", 1LL << 30 },
	{ "Lifetime_Writes_GiB", 1LL << 30 },
	{ "Host_Writes_MiB", 1LL << 20 },
};

static void attribute(struct json_object *row, struct smart *s)
{
	const char *name = json_object_is_type(row, json_type_object) ?
			   fus_field_text(row, "name") : NULL;
	int64_t id = number(row, "id", 255), value = number(row, "value", 255);
	int64_t raw = number(child(row, "raw"), "value", INT64_MAX);

	if (!name)
		return;
	if (id == 5)
		learn(&s->reallocated, raw);
	else if (id == 197)
		learn(&s->pending, raw);
	else if (id == 187 && strstr(name, "Uncorrect"))
		learn(&s->media_errors, raw);
	for (size_t i = 0; i < sizeof(lives) / sizeof(lives[0]); i++)
		if (id == lives[i].id && strstr(name, lives[i].name) && value >= 0 && value <= 100)
			learn(&s->wear, 100 - value);
	for (size_t i = 0; i < sizeof(written_names) / sizeof(written_names[0]); i++)
		if (!strcmp(name, written_names[i].name))
			learn_units(&s->written, raw, written_names[i].bytes);
}

static void each(struct json_object *array, void (*row)(struct json_object *row, struct smart *s),
		 struct smart *s)
{
	size_t nr = 0;

	if (json_object_is_type(array, json_type_array))
		nr = json_object_array_length(array);
	for (size_t i = 0; i < nr; i++)
		row(json_object_array_get_idx(array, i), s);
}

static void statistic(struct json_object *row, struct smart *s)
{
	const char *name = json_object_is_type(row, json_type_object) ?
			   fus_field_text(row, "name") : NULL;

	if (!name || !json_object_get_boolean(child(child(row, "flags"), "valid")))
		return;
	if (!strcmp(name, "Percentage Used Endurance Indicator"))
		learn(&s->wear, number(row, "value", 255));
	else if (!strcmp(name, "Logical Sectors Written"))
		learn_units(&s->written, number(row, "value", INT64_MAX), SECTOR);
	else if (!strcmp(name, "Specified Maximum Operating Temperature"))
		learn(&s->limit, number(row, "value", 200));
}

static void page(struct json_object *row, struct smart *s)
{
	each(child(row, "table"), statistic, s);
}

/* The drive's own statistics mean the same with each maker, so they come before attributes. */
static void ata(struct json_object *o, struct smart *s)
{
	each(child(child(o, "ata_device_statistics"), "pages"), page, s);
	each(child(child(o, "ata_smart_attributes"), "table"), attribute, s);
}

/* -- NVMe and SCSI ----------------------------------------------------------------- */

static void nvme(struct json_object *o, struct smart *s)
{
	struct json_object *log = child(o, "nvme_smart_health_information_log");

	learn(&s->wear, number(log, "percentage_used", 255));
	learn(&s->spare, number(log, "available_spare", 100));
	learn_units(&s->written, number(log, "data_units_written", INT64_MAX), NVME_UNIT);
	learn(&s->media_errors, number(log, "media_errors", INT64_MAX));
	learn(&s->limit, number(child(o, "nvme_composite_temperature_threshold"), "warning", 200));
}

static void scsi(struct json_object *o, struct smart *s)
{
	learn(&s->reallocated, number(o, "scsi_grown_defect_list", INT64_MAX));
	learn(&s->wear, number(o, "scsi_percentage_used_endurance_indicator", 255));
}

/* -- all --------------------------------------------------------------------------- */

/* "/dev/sdc: Unknown USB bridge [0x0bc2:0x2322 (0x100)]" */
static void message(struct json_object *row, struct smart *s)
{
	const char *t = json_object_is_type(row, json_type_object) ?
			fus_field_text(row, "string") : NULL;
	const char *lead = t && !strncmp(t, "/dev/", 5) ? strstr(t, ": ") : NULL;

	if (!t)
		return;
	if (strstr(t, "mode, exit("))
		s->asleep = strstr(t, "STANDBY") || strstr(t, "SLEEP");
	if (!*s->trouble)
		fus_safe_text(s->trouble, sizeof(s->trouble), lead ? lead + 2 : t, SIZE_MAX, true);
}

/* Bits of its exit status: the command line, or the open, has failed. */
#define EXIT_NOTHING	3

static void parse(struct json_object *o, struct smart *s)
{
	struct json_object *status = child(child(o, "smart_status"), "passed");
	struct json_object *heat = child(o, "temperature");
	int64_t code = number(child(o, "smartctl"), "exit_status", 255);

	if (code == SMART_UNKNOWN) {
		snprintf(s->trouble, sizeof(s->trouble), "smartctl printed something other "
			 "than JSON");
		return;
	}
	each(child(child(o, "smartctl"), "messages"), message, s);
	text(o, "model_name", s->model);
	text(o, "scsi_model_name", s->model);
	text(o, "serial_number", s->serial);
	text(o, "firmware_version", s->firmware);
	text(child(child(o, "interface_speed"), "current"), "string", s->link);
	s->known = !s->asleep && !(code & EXIT_NOTHING);
	if (!s->known && !*s->trouble)
		snprintf(s->trouble, sizeof(s->trouble), "smartctl has failed with status %d",
			 (int)code);
	if (!s->known)
		return;
	if (json_object_is_type(status, json_type_boolean))
		s->passed = json_object_get_boolean(status);
	learn(&s->temperature, bounded(child(heat, "current"), -100, 200));
	learn(&s->limit, number(heat, "op_limit_max", 200));
	learn(&s->hours, number(child(o, "power_on_time"), "hours", 1000000));
	learn(&s->wear, number(child(o, "endurance_used"), "current_percent", 255));
	learn(&s->spare, number(child(o, "spare_available"), "current_percent", 100));
	nvme(o, s);
	ata(o, s);
	scsi(o, s);
	/* it answers, but has nothing to tell */
	s->known = s->passed >= 0 || s->temperature != SMART_UNKNOWN || s->hours != SMART_UNKNOWN ||
		   s->wear != SMART_UNKNOWN || s->pending != SMART_UNKNOWN;
	if (s->known)
		*s->trouble = 0;
	else if (!*s->trouble)
		snprintf(s->trouble, sizeof(s->trouble), "the drive has no SMART");
}

void fus_smart_parse(const char *json, struct smart *s)
{
	struct json_object *o = json_tokener_parse(json);

	fus_smart_clear(s);
	parse(o, s);
	json_object_put(o);
	if (s->asleep)
		*s->trouble = 0;
}
