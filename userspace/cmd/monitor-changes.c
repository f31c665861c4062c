// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb monitor: find the changes since the last run. The state of a set between two runs is a JSON
 * object, so that it can be kept in a file:
 *
 *	name		under which it is open
 *	findings	the findings of fus_set_health()
 *	look		when that was, in seconds
 *	exhausted	since when there has been no reserve, in seconds, or 0
 *	errors_fast, errors_slow	what the members have failed
 *	promotions, demotions, reads, hits	counters
 *	time		when the counters were last compared
 *	share		per mille of the reads then that were hits, or -1
 *	in_vain		how many times in a row there was much exchanged and little gained
 *	drives, drives_time, readings	monitor-drives.c
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "dm.h"
#include "fusionctl.h"
#include "health.h"
#include "json.h"
#include "monitor.h"
#include "open-set.h"
#include "role.h"
#include "status-parse.h"

#define EXHAUSTED_S	600	/* a burst of writes empties the reserve, too */
#define COMPARE_S	300	/* the least time in which exchanges are judged */
#define MUCH		20	/* a twentieth of the fast member */
#define LITTLE		10	/* per mille more hits */
#define TOO_OFTEN	3	/* times in a row */

static int64_t number(struct json_object *o, const char *key)
{
	return json_object_get_int64(json_object_object_get(o, key));
}

static void add_number(struct json_object *o, const char *key, int64_t v)
{
	json_object_object_add(o, key, json_object_new_int64(v));
}

/* -- findings ------------------------------------------------------------------- */

struct event monitor_event(const struct set *set, const char *kind, enum health health)
{
	return (struct event) {
		.kind = kind,
		.health = health,
		.name = set->m.name,
		.uuid = fus_dm_set_uuid(&set->m),
		.condition = fus_condition_name[fus_set_condition(set)],
	};
}

struct comparison {
	const struct set *set;
	struct json_object *was;	/* texts, or NULL */
	struct json_object *is;
};

static bool contains(struct json_object *texts, const char *text)
{
	for (size_t i = 0; i < json_object_array_length(texts); i++)
		if (!strcmp(json_object_get_string(json_object_array_get_idx(texts, i)), text))
			return true;
	return false;
}

static void note_finding(void *ctx, enum health health, const char *text, const char *remedy)
{
	struct comparison *c = ctx;
	struct event e = monitor_event(c->set, "begun", health);
	char lead[32];

	e.remedy = remedy;
	snprintf(lead, sizeof(lead), "%s: ", e.condition);
	e.lead = health >= HEALTH_WARNING ? lead : NULL;
	json_object_array_add(c->is, json_object_new_string(text));
	if (!c->was || !contains(c->was, text))
		monitor_say(&e, "%s", text);
}

static struct json_object *compare_findings(const struct set *set, struct json_object *old)
{
	struct comparison c = {
		.set = set,
		.was = json_object_object_get(old, "findings"),
		.is = json_object_new_array(),
	};
	struct event over = monitor_event(set, "over", HEALTH_OK);
	const char *text;

	over.lead = "resolved: ";
	fus_set_health(set, note_finding, &c);
	for (size_t i = 0; c.was && i < json_object_array_length(c.was); i++) {
		text = json_object_get_string(json_object_array_get_idx(c.was, i));
		if (!contains(c.is, text))
			monitor_say(&over, "%s", text);
	}
	return c.is;
}

/* -- reserve -------------------------------------------------------------------- */

/* The time since when the reserve has been empty. */
static int64_t compare_reserve(const struct set *set, struct json_object *old, int64_t now)
{
	const struct event over = monitor_event(set, "over", HEALTH_OK);
	struct event begun = monitor_event(set, "begun", HEALTH_WARNING);
	int64_t since = number(old, "exhausted"), last = number(old, "look");

	if (!set->st.reserve || set->st.reserve_free) {
		if (since && last >= since + EXHAUSTED_S)
			monitor_say(&over, "the reserve has room again");
		return 0;
	}
	if (!since)
		return now;
	begun.remedy = "let it rest, or give it a larger reserve";
	if (now >= since + EXHAUSTED_S && last < since + EXHAUSTED_S)
		monitor_say(&begun, "there has been no reserve for %" PRId64 " min, new data goes "
			    "to the slow member", (now - since) / 60);
	return since;
}

/* -- errors --------------------------------------------------------------------- */

static const char *const errors_key[] = { "errors_fast", "errors_slow" };

/* The first errors are a finding, which is reported once. This reports later ones. */
static void compare_errors(const struct set *set, struct json_object *old,
			   struct json_object *new)
{
	const struct event begun = monitor_event(set, "begun", HEALTH_WARNING);

	for (int dev = 0; dev < 2; dev++) {
		uint64_t was = number(old, errors_key[dev]), is = set->st.errors[dev];

		if (was && is > was)
			monitor_say(&begun, "the %s member has failed %" PRIu64 " more I/Os",
				    fus_role_name[dev], is - was);
		add_number(new, errors_key[dev], is);
	}
}

/* -- exchanges ------------------------------------------------------------------ */

static uint64_t since(struct json_object *old, const char *key, uint64_t is)
{
	uint64_t was = number(old, key);

	return is >= was ? is - was : is;	/* it was reopened */
}

/*
 * Thrashing: a large part of the fast member is exchanged in each interval, but the share of reads
 * that hit does not grow. The policy then demands more of each swap. If that does not help, the
 * working set is larger than the fast member.
 */
static void compare_exchanges(const struct set *set, struct json_object *old,
			      struct json_object *new, int64_t now)
{
	const struct fusion_status *st = &set->st;
	const uint64_t reads = st->reads[FAST] + st->reads[SLOW];
	uint64_t up = since(old, "promotions", st->promotions);
	uint64_t down = since(old, "demotions", st->demotions);
	uint64_t asked = since(old, "reads", reads), times = number(old, "in_vain");
	struct event begun = monitor_event(set, "begun", HEALTH_WARNING);
	int64_t share = -1, before = -1;
	struct json_object *o;

	if (json_object_object_get_ex(old, "share", &o))
		before = json_object_get_int64(o);
	if (asked)
		share = since(old, "hits", st->reads[FAST]) * 1000 / asked;
	if ((up < down ? up : down) < st->total[FAST] / MUCH || share < 0)
		times = 0;
	else if (before >= 0)
		times = share < before + LITTLE ? times + 1 : 0;
	begun.remedy = "see fusionctl whatif for the effect of a larger SSD";
	if (times == TOO_OFTEN)
		monitor_say(&begun, "%" PRIu64 " extents were exchanged in %" PRId64 " min, and "
			    "hits stay at %" PRId64 ".%" PRId64 "%%", up,
			    (now - number(old, "time")) / 60, share / 10, share % 10);
	add_number(new, "time", now);
	add_number(new, "promotions", st->promotions);
	add_number(new, "demotions", st->demotions);
	add_number(new, "reads", reads);
	add_number(new, "hits", st->reads[FAST]);
	add_number(new, "share", share);
	add_number(new, "in_vain", times);
}

static void keep(struct json_object *new, struct json_object *old, const char *key)
{
	json_object_object_add(new, key, json_object_get(json_object_object_get(old, key)));
}

/* -- all ------------------------------------------------------------------------ */

static struct json_object *compare_set(const struct set *set, struct json_object *old,
				       int64_t now)
{
	static const char *const counters[] = {
		"time", "promotions", "demotions", "reads", "hits", "share", "in_vain",
	};
	const struct event opened = monitor_event(set, "opened", HEALTH_OK);
	struct json_object *new = json_object_new_object();

	if (!old)
		monitor_say(&opened, "is open");
	fus_json_add_str(new, "name", set->m.name);
	json_object_object_add(new, "findings", compare_findings(set, old));
	add_number(new, "exhausted", compare_reserve(set, old, now));
	compare_errors(set, old, new);
	compare_drives(set, old, new, now);
	add_number(new, "look", now);
	if (!old || now >= number(old, "time") + COMPARE_S)
		compare_exchanges(set, old, new, now);
	else
		for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
			keep(new, old, counters[i]);
	return new;
}

/* A file that was not written by us counts as missing. */
static struct json_object *checked(struct json_object *state, int64_t now)
{
	struct json_object *findings;

	if (!json_object_is_type(state, json_type_object))
		return NULL;
	json_object_object_foreach(state, uuid, old) {
		(void)uuid;
		if (!json_object_is_type(old, json_type_object) ||
		    !json_object_object_get_ex(old, "findings", &findings) ||
		    !json_object_is_type(findings, json_type_array) ||
		    !json_object_get_string(json_object_object_get(old, "name")) ||
		    number(old, "look") > now)
			return NULL;
		for (size_t i = 0; i < json_object_array_length(findings); i++)
			if (!json_object_get_string(json_object_array_get_idx(findings, i)))
				return NULL;
	}
	return state;
}

struct json_object *tell_changes(struct json_object *state, const struct look *look, int64_t now)
{
	struct json_object *was = checked(state, now), *is = json_object_new_object();
	const struct set *set = look->set;
	const char *uuid;

	for (; set < look->set + look->nr; set++) {
		uuid = fus_dm_set_uuid(&set->m);
		json_object_object_add(is, uuid,
				       compare_set(set, json_object_object_get(was, uuid), now));
	}
	json_object_object_foreach(was ? was : is, key, old) {
		const struct event closed = {
			.kind = "closed",
			.health = HEALTH_OK,
			.name = json_object_get_string(json_object_object_get(old, "name")),
			.uuid = key,
		};

		if (!json_object_object_get_ex(is, key, NULL))
			monitor_say(&closed, "is closed");
	}
	json_object_put(state);
	return is;
}
