// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb monitor: numbers of the drives for Prometheus, from the readings that monitor-drives.c keeps
 * in the state. A number that a drive does not tell is left out, and all of a drive that sleeps.
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "drive-json.h"
#include "json-field.h"
#include "monitor.h"
#include "open-set.h"

#define HOUR	3600
#define COLDEST	-100	/* degrees */

static const struct drive_metric {
	const char *name, *type, *help;
	const char *key;	/* of the reading */
	int unit;		/* of the key, in that of the metric */
	bool percent;		/* or a hundredth */
	int64_t least;		/* of the reading; others say nothing */
} metrics[] = {
	{ "fusion_drive_smart_passed", "gauge",
	  "1 if the drive's verdict about itself is good, 0 if it predicts its failure.",
	  "passed", 1, false, 0 },
	{ "fusion_drive_temperature_celsius", "gauge", "Temperature.", "temperature", 1, false,
	  COLDEST },
	{ "fusion_drive_temperature_limit_celsius", "gauge", "The limit that the drive names.",
	  "temperature_limit", 1, false, 1 },	/* 0 is how drives say that they have none */
	{ "fusion_drive_wear_used_ratio", "gauge",
	  "Share of its life that is used; may be above 1.", "percentage_used", 1, true, 0 },
	{ "fusion_drive_spare_ratio", "gauge", "Share of its spare blocks that is left.",
	  "spare_percentage", 1, true, 0 },
	{ "fusion_drive_pending_sectors", "gauge", "Sectors that cannot be read.",
	  "pending_sectors", 1, false, 0 },
	{ "fusion_drive_reallocated_sectors", "gauge", "Sectors that it has replaced.",
	  "reallocated_sectors", 1, false, 0 },
	{ "fusion_drive_media_errors_total", "counter",
	  "Media errors: data that the drive could not return.", "media_errors", 1, false, 0 },
	{ "fusion_drive_power_on_seconds_total", "counter", "Time for which it was on.",
	  "power_on_hours", HOUR, false, 0 },
	{ "fusion_drive_written_bytes_total", "counter", "Written in all its life.",
	  "written_bytes", 1, false, 0 },
};

/* -- readings ------------------------------------------------------------------- */

typedef void (*put_fn)(FILE *f, const struct set *set, struct json_object *reading,
		       const void *what);

static struct json_object *state_of(struct json_object *state, const struct set *set)
{
	return json_object_object_get(state, fus_dm_set_uuid(&set->m));
}

static void each(FILE *f, const struct look *look, struct json_object *state, put_fn put,
		 const void *what)
{
	for (unsigned int i = 0; i < look->nr; i++) {
		const struct set *set = &look->set[i];
		struct json_object *readings = json_object_object_get(state_of(state, set),
								      "readings");
		size_t nr = json_object_is_type(readings, json_type_array) ?
			    json_object_array_length(readings) : 0;

		for (size_t k = 0; k < nr; k++) {
			struct json_object *o = json_object_array_get_idx(readings, k);

			if (json_object_is_type(o, json_type_object))
				put(f, set, o, what);
		}
	}
}

/* The labels of a drive; the brace is left open. */
static void put_drive(FILE *f, const char *name, const struct set *set, struct json_object *reading)
{
	static const char *const labels[] = { "member", "device", "model" };

	metric_set(f, name, set);
	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
		const char *text = fus_field_text(reading, labels[i]);

		fprintf(f, ",%s=", labels[i]);
		metric_label(f, text ? text : "");
	}
}

/* -- numbers -------------------------------------------------------------------- */

static void put_number(FILE *f, const struct set *set, struct json_object *reading,
		       const void *what)
{
	const struct drive_metric *m = what;
	struct json_object *o = json_object_object_get(reading, m->key);
	int64_t v;

	if (!json_object_is_type(o, json_type_int) && !json_object_is_type(o, json_type_boolean))
		return;
	v = json_object_get_int64(o);
	/* the state is not trusted */
	if (v > INT64_MAX / m->unit || v < m->least)
		return;
	put_drive(f, m->name, set, reading);
	if (m->percent)
		fprintf(f, "} %" PRId64 ".%02" PRId64 "\n", v / 100, v % 100);
	else
		fprintf(f, "} %" PRId64 "\n", v * m->unit);
}

/* -- states --------------------------------------------------------------------- */

#define STATE	"fusion_drive_state"

static void put_state(FILE *f, const struct set *set, struct json_object *reading,
		      const void *what)
{
	const char *is = fus_field_text(reading, "smart");

	(void)what;
	for (int i = 0; i < NR_DRIVE_STATES; i++) {
		put_drive(f, STATE, set, reading);
		fprintf(f, ",state=\"%s\"} %d\n", fus_drive_state_name[i],
			is && !strcmp(is, fus_drive_state_name[i]));
	}
}

/* -- all ------------------------------------------------------------------------ */

static void put_age(FILE *f, const struct look *look, struct json_object *state, int64_t now)
{
	static const char name[] = "fusion_drives_age_seconds";

	metric_head(f, name, "gauge", "Time since the drives were asked.");
	for (unsigned int i = 0; i < look->nr; i++) {
		struct json_object *o = state_of(state, &look->set[i]);
		int64_t asked = json_object_get_int64(json_object_object_get(o, "drives_time"));

		if (!json_object_object_get(o, "readings") || asked > now)
			continue;
		metric_set(f, name, &look->set[i]);
		fprintf(f, "} %" PRId64 "\n", now - asked);
	}
}

void put_drive_metrics(FILE *f, const struct look *look, struct json_object *state, int64_t now)
{
	put_age(f, look, state, now);
	metric_head(f, STATE, "gauge", "1 for what the drive did when it was last asked: it has "
		    "answered, it slept, or neither.");
	each(f, look, state, put_state, NULL);
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
		metric_head(f, metrics[i].name, metrics[i].type, metrics[i].help);
		each(f, look, state, put_number, &metrics[i]);
	}
}
