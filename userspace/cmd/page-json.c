// SPDX-License-Identifier: GPL-2.0-only
/* One document of all that the verbs tell of a set, with a verdict. */
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "page.h"
#include "fusionctl.h"
#include "json.h"
#include "top.h"

/* -- fields ------------------------------------------------------------------------- */

struct json_object *page_at(struct json_object *o, const char *path)
{
	struct json_object *found;

	return o && !json_pointer_get(o, path, &found) ? found : NULL;
}

uint64_t page_u64(struct json_object *o, const char *path)
{
	return json_object_get_uint64(page_at(o, path));
}

double page_number(struct json_object *o, const char *path)
{
	return json_object_get_double(page_at(o, path));
}

const char *page_text(struct json_object *o, const char *path)
{
	return json_object_get_string(page_at(o, path));
}

bool page_is(struct json_object *o, const char *path)
{
	return json_object_get_boolean(page_at(o, path));
}

/* -- the verdict -------------------------------------------------------------------- */

static enum health level_of(struct json_object *finding)
{
	const char *name = page_text(finding, "/level");

	for (int i = 0; name && i < NR_HEALTHS; i++)
		if (!strcmp(name, fus_health_name[i]))
			return i;
	return HEALTH_OK;
}

/* The first of the worst; NULL if there are none. */
static struct json_object *worst_of(struct json_object *findings)
{
	size_t nr = findings ? json_object_array_length(findings) : 0;
	struct json_object *worst = NULL, *one;

	for (size_t i = 0; i < nr; i++) {
		one = json_object_array_get_idx(findings, i);
		if (!worst || level_of(one) > level_of(worst))
			worst = one;
	}
	return worst;
}

enum health page_level(struct json_object *doc)
{
	return level_of(worst_of(page_at(doc, "/doctor/findings")));
}

static void add_verdict(struct json_object *o)
{
	static const char *const words[NR_CONDITIONS] = {
		[CONDITION_DEGRADED] = "The set works, but needs attention: ",
		[CONDITION_FAILED] = "The set does not work as it should: ",
		[CONDITION_MISSING] = "A member is missing: ",
	};
	struct json_object *reason = worst_of(page_at(o, "/status/reasons"));
	struct json_object *worst = worst_of(page_at(o, "/doctor/findings"));
	const char *health = page_text(o, "/status/health");
	char text[1024] = "The set is healthy, and there is nothing to do.";

	for (int i = CONDITION_DEGRADED; i < NR_CONDITIONS && health && reason; i++)
		if (!strcmp(health, fus_condition_name[i])) {
			snprintf(text, sizeof(text), "%s%s.", words[i],
				 page_text(reason, "/text"));
			worst = NULL;
		}
	if (level_of(worst) >= HEALTH_WARNING)
		snprintf(text, sizeof(text), "The set is healthy, but there is %s: %s: %s.",
			 level_of(worst) == HEALTH_ERROR ? "a fault" : "a warning",
			 page_text(worst, "/subject"), page_text(worst, "/text"));
	fus_json_add_str(o, "level", fus_health_name[page_level(o)]);
	fus_json_add_str(o, "verdict", text);
}

/* -- hits over time ----------------------------------------------------------------- */

static struct json_object *hits_between(const uint64_t was[2], const uint64_t is[2])
{
	struct json_object *o = json_object_new_object();

	fus_json_add_u64(o, "fast", is[FAST] - was[FAST]);
	fus_json_add_u64(o, "all", is[FAST] - was[FAST] + is[SLOW] - was[SLOW]);
	return o;
}

/* They are fewer looks than there is room for, so the ring begins at 0. */
static struct json_object *history_json(const struct top_history *h)
{
	struct json_object *array = json_object_new_array(), *o, *seconds;

	for (unsigned int i = 1; h && i < h->nr; i++) {
		o = json_object_new_object();
		seconds = json_object_new_double(h->mark[i].at - h->mark[i - 1].at);
		json_object_set_serializer(seconds, json_object_double_to_json_string, "%.3f",
					   NULL);
		json_object_object_add(o, "seconds", seconds);
		json_object_object_add(o, "reads", hits_between(h->mark[i - 1].hits[TOP_READ],
								h->mark[i].hits[TOP_READ]));
		json_object_object_add(o, "writes", hits_between(h->mark[i - 1].hits[TOP_WRITE],
								 h->mark[i].hits[TOP_WRITE]));
		json_object_array_add(array, o);
	}
	return array;
}

struct json_object *page_json(const struct page_parts *p)
{
	struct json_object *o = fus_json_base();
	struct utsname u;
	bool known = !uname(&u);

	fus_json_add_str(o, "name", p->name);
	fus_json_add_u64(o, "time", p->time);
	fus_json_add_str(o, "host", known ? u.nodename : NULL);
	fus_json_add_str(o, "kernel", known ? u.release : NULL);
	fus_json_add_bool(o, "anonymous", false);
	json_object_object_add(o, "software", p->version);
	json_object_object_add(o, "status", p->status);
	json_object_object_add(o, "doctor", p->doctor);
	add_verdict(o);
	json_object_object_add(o, "map", p->map);
	json_object_object_add(o, "top", p->top);
	json_object_object_add(o, "history", history_json(p->history));
	json_object_object_add(o, "members", p->members);
	json_object_object_add(o, "settings", p->settings);
	return o;
}
