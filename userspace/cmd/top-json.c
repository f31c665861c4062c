// SPDX-License-Identifier: GPL-2.0-only
/* Verb top: a look as JSON. */
#include <json-c/json.h>

#include "top.h"
#include "fusionctl.h"
#include "json.h"
#include "landing-size.h"
#include "role.h"

#define MOST_RANGES	20

/* To a thousandth: more digits would say nothing. */
static void add_number(struct json_object *o, const char *key, double v)
{
	struct json_object *number = json_object_new_double(v);

	json_object_set_serializer(number, json_object_double_to_json_string, "%.3f", NULL);
	json_object_object_add(o, key, number);
}

static struct json_object *member_json(const struct top_look *look, int dev)
{
	static const char *const key[2][3] = {
		[TOP_READ] = { "read_bytes_per_second", "reads_per_second", "read_ms" },
		[TOP_WRITE] = { "write_bytes_per_second", "writes_per_second", "write_ms" },
	};
	const struct top_rate *r = &look->rates.disk[dev];
	struct json_object *o = json_object_new_object();

	fus_json_add_str(o, "device", look->device[dev]);
	fus_json_add_bool(o, "present", look->sample.disk[dev].known);
	for (int dir = 0; dir < 2; dir++) {
		add_number(o, key[dir][0], r->bytes[dir]);
		add_number(o, key[dir][1], r->ios[dir]);
		if (r->ms[dir] < 0)
			json_object_object_add(o, key[dir][2], NULL);
		else
			add_number(o, key[dir][2], r->ms[dir]);
	}
	add_number(o, "queue", r->queue);
	fus_json_add_u64(o, "in_flight", r->in_flight);
	add_number(o, "busy", r->busy);
	fus_json_add_u64(o, "used_bytes", look->st.used[dev] * look->st.extent_sectors << 9);
	fus_json_add_u64(o, "total_bytes", look->st.total[dev] * look->st.extent_sectors << 9);
	return o;
}

static struct json_object *hits_json(const struct top_look *look, enum top_direction dir)
{
	struct json_object *o = json_object_new_object();
	struct top_hits hits;

	top_get_hits(&look->history, dir, look->rates.seconds, &hits);
	fus_json_add_u64(o, "fast", hits.fast);
	fus_json_add_u64(o, "all", hits.all);
	return o;
}

static struct json_object *moves_json(const struct top_look *look)
{
	static const char *const key[NR_TOP_MOVES] = {
		[TOP_PROMOTED] = "promoted_bytes_per_second",
		[TOP_DEMOTED] = "demoted_bytes_per_second",
		[TOP_DEMOTED_FREE] = "demoted_free_bytes_per_second",
		[TOP_CANCELLED] = "cancelled_bytes_per_second",
		[TOP_EVACUATED] = "evacuated_bytes_per_second",
		[TOP_SHADOWED] = "shadow_bytes_per_second",
	};
	struct json_object *o = json_object_new_object(), *waits = json_object_new_array();
	unsigned int bits = top_waits(look);
	uint64_t extent = look->st.extent_sectors << 9;

	for (int i = 0; i < NR_TOP_MOVES; i++)
		add_number(o, key[i], look->rates.moves[i] * extent);
	add_number(o, "swaps_per_second_at_most", look->rates.swaps);
	fus_json_add_u64(o, "in_flight", look->st.in_flight);
	for (int i = 0; i < NR_WAITS; i++)
		if (bits >> i & 1)
			json_object_array_add(waits, json_object_new_string(explain_wait_name[i]));
	json_object_object_add(o, "waits_for", waits);
	if (look->has_policy)
		fus_json_add_u64(o, "candidates", look->policy.candidates);
	else
		json_object_object_add(o, "candidates", NULL);
	return o;
}

/* null: nobody asked for it, or no file has any of it. */
static void add_file(struct json_object *o, const struct top_look *look, const struct cell *c)
{
	const struct top_named *named = top_names_find(&look->names, &look->heat, c);

	if (named) {
		fus_json_add_u64(o, "files", named->files);
		fus_json_add_str(o, "file", named->path);
	} else {
		json_object_object_add(o, "files", NULL);
		json_object_object_add(o, "file", NULL);
	}
}

static struct json_object *hottest_json(const struct top_look *look)
{
	struct json_object *array = json_object_new_array(), *o;
	uint64_t per_extent = look->st.extent_sectors;
	const struct cell *found[TOP_MOST_RANGES];
	unsigned int nr = top_hottest(&look->heat, TOP_BY_MEAN, MOST_RANGES, found);

	for (unsigned int i = 0; i < nr; i++) {
		const struct cell *c = found[i];

		o = json_object_new_object();
		fus_json_add_u64(o, "first", c->first);
		fus_json_add_u64(o, "count", c->count);
		fus_json_add_u64(o, "first_sector", c->first * per_extent);
		fus_json_add_u64(o, "last_sector", (c->first + c->count) * per_extent - 1);
		fus_json_add_u64(o, "heat_mean", c->mean);
		fus_json_add_u64(o, "heat_max", c->max);
		fus_json_add_u64(o, "fast", c->fast);
		fus_json_add_u64(o, "slow", c->slow);
		add_file(o, look, c);
		json_object_array_add(array, o);
	}
	return array;
}

static struct json_object *log_json(const struct top_look *look)
{
	const struct fusion_status *st = &look->st;
	const struct log_stats *log = &look->sample.log;
	const struct top_rates *r = &look->rates;
	struct json_object *o;

	if (!st->logs)
		return NULL;
	o = json_object_new_object();
	fus_json_add_str(o, "state", fus_landing_state(st));
	fus_json_add_u64(o, "bytes", st->log_most * st->extent_sectors << 9);
	fus_json_add_u64(o, "used_bytes", st->log_segments * st->extent_sectors << 9);
	fus_json_add_u64(o, "logged_bytes", st->log_blocks * FUS_LANDING_BLOCK);
	add_number(o, "landed_bytes_per_second", r->landed * FUS_LANDING_BLOCK);
	add_number(o, "drained_bytes_per_second", r->drained * FUS_LANDING_BLOCK);
	fus_json_add_u64(o, "writes_waiting", log->waiting);
	add_number(o, "writes_delayed_per_second", r->waited);
	return o;
}

struct json_object *top_json(const struct top_look *look, const char *uuid)
{
	struct json_object *o = fus_json_base(), *hits = json_object_new_object();
	uint64_t extent = look->st.extent_sectors << 9;

	fus_json_add_str(o, "name", look->name);
	fus_json_add_str(o, "set_uuid", uuid);
	fus_json_add_str(o, "health", look->health);
	fus_json_add_str(o, "mode", look->st.mode);
	fus_json_add_bool(o, "suspended", look->suspended);
	add_number(o, "seconds", look->rates.seconds);
	fus_json_add_u64(o, "extent_bytes", extent);
	for (int dev = 0; dev < 2; dev++)
		json_object_object_add(o, fus_role_name[dev], member_json(look, dev));
	json_object_object_add(hits, "reads", hits_json(look, TOP_READ));
	json_object_object_add(hits, "writes", hits_json(look, TOP_WRITE));
	json_object_object_add(o, "hits", hits);
	json_object_object_add(o, "moves", moves_json(look));
	fus_json_add_u64(o, "reserve_bytes", look->st.reserve * extent);
	fus_json_add_u64(o, "reserve_free_bytes", look->st.reserve_free * extent);
	fus_json_add_u64(o, "partial_extents", look->st.open);
	json_object_object_add(o, "landing_log", log_json(look));
	json_object_object_add(o, "hottest", hottest_json(look));
	return o;
}
