// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb checkpoint: have the members know all of the map, and the heat of now. The next open then
 * replays little: extents that are partly written.
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "json.h"
#include "open-set.h"
#include "output.h"
#include "set-json.h"
#include "size.h"
#include "status-parse.h"
#include "tell.h"
#include "verb.h"

struct job {
	uint64_t used_within;
	bool dry_run;
	struct json_object *sets;	/* with --json */
};

static void tell(const struct job *job, const struct set *set, const char *why)
{
	const struct fusion_status *st = &set->st;
	struct json_object *o;

	if (job->sets) {
		o = json_object_new_object();
		fus_json_add_open(o, &set->m);
		fus_json_add_bool(o, "checkpoint", !why);
		fus_json_add_str(o, "reason", why);
		fus_json_add_u64(o, "journal_used", st->journal_used);
		fus_json_add_u64(o, "replica_dirty", st->replica_dirty);
		json_object_array_add(job->sets, o);
	} else if (job->dry_run && why) {
		printf("%s: would be skipped: %s\n", set->m.name, why);
	} else if (job->dry_run) {
		printf("%s: would be written: %" PRIu64 " blocks of the journal are in use, the "
		       "replica is %" PRIu64 " extents behind\n", set->m.name, st->journal_used,
		       st->replica_dirty);
	}
}

static int checkpoint(const struct job *job, const struct set *set)
{
	const char *name = set->m.name, *why = NULL;
	char *answer = NULL;
	uint64_t idle = 0;
	int rc = 0;

	if (job->used_within != UINT64_MAX)
		rc = fus_tell_stat(name, "slow_idle", &idle);
	/* it may have stopped its motor */
	if (idle > job->used_within)
		why = "its slow member has not been used since";
	if (!rc && !why && !job->dry_run) {
		rc = fus_tell_set(name, "checkpoint", &answer);
		free(answer);
	}
	if (!rc)
		tell(job, set, why);
	return rc;
}

/* Why it cannot be written now, or NULL. */
static const char *obstacle(const struct set *set)
{
	return strcmp(set->st.mode, "rw") ? "it is not in mode rw" : set->m.suspended ?
	       "it is suspended" : NULL;
}

/* A set that cannot be checkpointed now is an error only if it was @named. */
static int checkpoint_one(const struct job *job, const char *name, bool named)
{
	const char *why;
	struct set set;
	int rc;

	rc = fus_set_get(name, &set);
	if (rc)
		return rc;
	why = obstacle(&set);
	if (why && named)
		rc = fus_fail(FC_FAILED, name, "cannot be checkpointed, %s; see fusionctl status "
			      "%s", why, name);
	else if (why)
		tell(job, &set, why);
	else
		rc = checkpoint(job, &set);
	fus_set_put(&set);
	return rc;
}

static int checkpoint_all(const struct job *job)
{
	struct mapping *list = NULL;
	int rc, one;

	rc = fus_dm_list(MAPPING_INFO, &list);
	for (struct mapping *m = list; m; m = m->next) {
		one = m->live ? checkpoint_one(job, m->name, false) : 0;
		rc = rc ? rc : one;
	}
	fus_dm_free_list(list);
	return rc;
}

int cmd_checkpoint(const struct args *a)
{
	struct job job = { .used_within = UINT64_MAX, .dry_run = a->opt[OPT_DRY_RUN] };
	const char *since = a->opt[OPT_USED_WITHIN];
	struct json_object *o;
	int rc;

	if (since && !fus_parse_number(since, UINT32_MAX, &job.used_within))
		return fus_fail(FC_USAGE, since, "not a time; give a number of seconds");
	if (a->opt[OPT_JSON])
		job.sets = json_object_new_array();
	rc = a->n ? checkpoint_one(&job, a->word[0], true) : checkpoint_all(&job);
	if (job.sets) {
		o = fus_json_base();
		fus_json_add_bool(o, "dry_run", job.dry_run);
		json_object_object_add(o, "sets", job.sets);
		print_json(o, false);
	}
	return rc;
}
