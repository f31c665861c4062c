// SPDX-License-Identifier: GPL-2.0-only
/*
 * Look at an open set: its status line, messages that tell what is in memory, and the counters of
 * its members in sysfs. No disk is woken by any of these.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "top.h"
#include "device.h"
#include "error.h"
#include "fusionctl.h"
#include "health.h"
#include "sysfs.h"

/* Seconds between two looks at the heat, at least. */
#define HEAT_SECONDS	5
/* What the kernel goes through all extents for takes this share of the time: one in so many. */
#define SHARE		20

double top_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static bool is_due(const struct top_asked *q, double least)
{
	double pause = SHARE * q->took;

	return top_now() - q->at >= (pause > least ? pause : least);
}

/* Ask for what the kernel goes through all extents for. */
static int survey(struct top_look *look, struct top_asked *q, const char *msg, char **answer)
{
	int err;

	q->at = top_now();
	err = fus_dm_message(look->name, msg, answer);
	q->took = top_now() - q->at;
	return err;
}

static void get_disk(dev_t member, struct top_disk *d)
{
	char text[512];

	if (!fus_sysfs_read(member, "stat", text, sizeof(text)) || !top_parse_disk(text, d))
		*d = (struct top_disk) { 0 };
	d->devno = member;
}

/* The counters that the status line has not. */
static void get_stats(struct top_look *look)
{
	char *answer;

	/* each refusal is a line in the kernel log */
	if (look->refused)
		return;
	look->refused = fus_dm_message(look->name, "stats", &answer);
	if (look->refused)
		return;
	top_parse_stats(answer, &look->sample);
	free(answer);
}

static void get_policy(struct top_look *look)
{
	char *answer;

	if (!look->refused && !is_due(&look->asked_policy, 0))
		return;
	look->has_policy = false;
	if (look->refused)
		return;
	look->refused = survey(look, &look->asked_policy, "policy", &answer);
	look->has_policy = answer && !explain_parse_policy(answer, &look->policy);
	free(answer);
}

static void get_heat(struct top_look *look)
{
	struct heat_map map = {
		.name = look->name, .extents = look->st.extents,
		.extent_bytes = look->st.extent_sectors << 9,
		.log_used = look->st.log_segments, .log_most = look->st.log_most,
		.log_blocks = look->st.log_blocks,
	};
	char msg[32], *answer;

	if (look->refused || (look->heat.cell && look->heat.extents == map.extents &&
			      !is_due(&look->asked_heat, HEAT_SECONDS)))
		return;
	free(look->heat.cell);
	look->heat = (struct heat_map) { 0 };
	heat_message(map.extents, look->heat_cells ? look->heat_cells : MAP_MAX_CELLS, msg,
		     sizeof(msg));
	if (survey(look, &look->asked_heat, msg, &answer))
		return;
	if (answer && !heat_parse(answer, &map))
		look->heat = map;
	else
		free(map.cell);
	free(answer);
}

static void take_sample(struct top_look *look, const struct set *set)
{
	const struct fusion_status *st = &set->st;
	struct top_sample *s = &look->sample;

	*s = (struct top_sample) {
		.at = top_now(),
		.hits = {
			[TOP_READ] = { st->reads[FAST], st->reads[SLOW] },
			[TOP_WRITE] = { st->writes[FAST], st->writes[SLOW] },
		},
		.moves = {
			[TOP_PROMOTED] = st->promotions, [TOP_DEMOTED] = st->demotions,
			[TOP_DEMOTED_FREE] = st->demotions_free, [TOP_CANCELLED] = st->cancelled,
		},
		.drained = st->log_drained,
	};
	for (int dev = 0; dev < 2; dev++)
		get_disk(set->member[dev], &s->disk[dev]);
}

static void take_set(struct top_look *look, const struct set *set)
{
	for (int dev = 0; dev < 2; dev++)
		fus_device_node(set->member[dev], look->device[dev], sizeof(look->device[dev]));
	look->st = set->st;
	look->health = fus_condition_name[fus_set_condition(set)];
	look->suspended = set->m.suspended;
	look->replacing = set->old;
	look->refused |= !strcmp(set->st.mode, "fail");
}

static int get_set(const char *name, char uuid[UUID_TEXT], struct set *set)
{
	bool found = true;
	int rc;

	rc = *uuid ? fus_set_get_if_open(name, set, &found) : fus_set_get(name, set);
	if (rc)
		return rc;
	if (!found)
		return fus_fail(FC_FAILED, name, "not open any more, closed or renamed; see "
				"fusionctl list");
	if (!*uuid)
		snprintf(uuid, UUID_TEXT, "%s", fus_dm_set_uuid(&set->m));
	if (!strcmp(uuid, fus_dm_set_uuid(&set->m)))
		return 0;
	fus_set_put(set);
	return fus_fail(FC_FAILED, name, "another set has this name now; start top again");
}

int top_look(struct top_look *look, const char *name, char uuid[UUID_TEXT])
{
	struct top_sample was = look->sample;
	bool first = !*uuid;
	struct set set;
	int rc;

	rc = get_set(name, uuid, &set);
	if (rc)
		return rc;
	look->name = name;
	take_sample(look, &set);
	take_set(look, &set);
	get_stats(look);
	get_policy(look);
	get_heat(look);
	fus_set_put(&set);
	if (!first)
		top_get_rates(&was, &look->sample, &look->rates);
	top_remember(&look->history, &look->sample);
	return 0;
}

void top_look_end(struct top_look *look)
{
	free(look->heat.cell);
	top_names_free(&look->names);
	*look = (struct top_look) { 0 };
}

int top_next_set(const char *name, char *next, size_t size)
{
	const struct mapping *after = NULL, *first = NULL;
	struct mapping *list;
	int rc;

	rc = fus_dm_list(MAPPING_INFO, &list);
	if (rc)
		return rc;
	/* in the order of their names, whatever the kernel's is */
	for (const struct mapping *m = list; m; m = m->next) {
		if (!first || strcmp(m->name, first->name) < 0)
			first = m;
		if (name && strcmp(m->name, name) > 0 &&
		    (!after || strcmp(m->name, after->name) < 0))
			after = m;
	}
	if (!after)
		after = first;
	if (after)
		snprintf(next, size, "%s", after->name);
	else
		rc = fus_fail(FC_FAILED, "top", "no set is open; see fusionctl list");
	fus_dm_free_list(list);
	return rc;
}
