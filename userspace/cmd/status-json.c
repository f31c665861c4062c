// SPDX-License-Identifier: GPL-2.0-only
/* Verb status, for programs. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "status.h"
#include "device.h"
#include "fusionctl.h"
#include "health.h"
#include "json.h"
#include "landing-size.h"
#include "open-set.h"
#include "role.h"
#include "set-json.h"
#include "size.h"
#include "status-parse.h"

static struct json_object *member_json(const struct set *set, int i)
{
	struct json_object *o = json_object_new_object();
	uint64_t extent = set->st.extent_sectors << 9;
	char node[160];

	fus_device_node(set->member[i], node, sizeof(node));
	fus_json_add_str(o, "device", node);
	fus_json_add_u64(o, "total_bytes", set->st.total[i] * extent);
	fus_json_add_u64(o, "used_bytes", set->st.used[i] * extent);
	fus_json_add_u64(o, "reads", set->st.reads[i]);
	fus_json_add_u64(o, "writes", set->st.writes[i]);
	fus_json_add_u64(o, "errors", set->st.errors[i]);
	return o;
}

static struct json_object *old_member_json(const struct set *set)
{
	const struct fusion_status *st = &set->st;
	struct json_object *o;
	char node[160];

	if (!set->old)
		return NULL;
	o = json_object_new_object();
	fus_device_node(set->old, node, sizeof(node));
	fus_json_add_str(o, "role", fus_role_name[set->old_role]);
	fus_json_add_str(o, "device", node);
	fus_json_add_u64(o, "left", st->old.left);
	fus_json_add_u64(o, "total", st->old.total);
	fus_json_add_u64(o, "unreadable", st->old.unreadable);
	return o;
}

static struct json_object *option_json(const char *value)
{
	uint64_t n;

	if (!strcmp(value, "on") || !strcmp(value, "off"))
		return json_object_new_boolean(!strcmp(value, "on"));
	return fus_parse_number(value, UINT64_MAX, &n) ? json_object_new_uint64(n) :
	       json_object_new_string(value);
}

static struct json_object *log_json(const struct fusion_status *st)
{
	struct json_object *o;

	if (!st->logs)
		return NULL;
	o = json_object_new_object();
	fus_json_add_u64(o, "blocks", st->log_blocks);
	fus_json_add_u64(o, "segments", st->log_segments);
	fus_json_add_u64(o, "most", st->log_most);
	fus_json_add_u64(o, "drained", st->log_drained);
	fus_json_add_u64(o, "copies", st->copies);
	fus_json_add_u64(o, "copies_read", st->copies_read);
	fus_json_add_u64(o, "copies_made", st->copies_made);
	fus_json_add_str(o, "state", fus_landing_state(st));
	return o;
}

struct json_object *status_json(const struct set *set)
{
	struct json_object *o = json_object_new_object(), *options = json_object_new_object();
	const struct fusion_status *st = &set->st;
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{ "extent_bytes", st->extent_sectors << 9 },
		{ "extents", st->extents },
		{ "mapped", st->mapped },
		{ "open", st->open },
		{ "quarantined", st->quarantined },
		{ "reserve", st->reserve },
		{ "reserve_free", st->reserve_free },
		{ "promotions", st->promotions },
		{ "demotions", st->demotions },
		{ "demotions_free", st->demotions_free },
		{ "shadows", st->shadows },
		{ "shadows_current", st->shadows_current },
		{ "cancelled", st->cancelled },
		{ "in_flight", st->in_flight },
		{ "journal_blocks", st->journal_size },
		{ "journal_used", st->journal_used },
		{ "commits", st->commits },
		{ "checkpoints", st->checkpoints },
		{ "slow_flushes", st->slow_flushes },
		{ "replica_dirty", st->replica_dirty },
		{ "replica_age", st->replica_age },
		{ "fence_slots", st->fence_slots },
		{ "fence_used", st->fence_used },
		{ "homing_away", st->homing_away },
		{ "homing_blank", st->homing_blank },
		{ "lost", st->lost },
		{ "partly_lost", st->partly_lost },
	};

	fus_json_add_open(o, &set->m);
	fus_condition_json(o, set);
	fus_json_add_str(o, "host_id", *set->host ? set->host : NULL);
	fus_json_add_str(o, "mode", st->mode);
	fus_json_add_str(o, "replica", st->replica);
	fus_json_add_bool(o, "needs_check", st->needs_check);
	fus_json_add_bool(o, "suspended", set->m.suspended);
	fus_json_add_bool(o, "homing", st->homing);
	json_object_object_add(o, "fast", member_json(set, FAST));
	json_object_object_add(o, "slow", member_json(set, SLOW));
	json_object_object_add(o, "old", old_member_json(set));
	json_object_object_add(o, "landing_log", log_json(st));
	json_object_object_add(o, "protected", protected_json(st));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		fus_json_add_u64(o, numbers[i].key, numbers[i].value);
	for (unsigned int i = 0; i < st->nr_options; i++)
		json_object_object_add(options, st->option[i].key,
				       option_json(st->option[i].value));
	json_object_object_add(o, "options", options);
	return o;
}
