// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb checkpoint: have the members know all of the map, and the heat of now. The next open then
 * replays little: extents that are partly written.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fusionctl.h"

/* For how many seconds has nobody used the slow member? */
static int slow_idle(const char *name, uint64_t *seconds)
{
	static const char key[] = "slow_idle ";
	char *answer, *line;
	int rc;

	rc = tell_set(name, "stats", &answer);
	if (rc)
		return rc;
	line = answer ? strstr(answer, key) : NULL;
	if (!line || sscanf(line + strlen(key), "%" SCNu64, seconds) != 1)
		rc = fail(FC_FAILED, name, "the kernel does not say how long its slow member has "
			  "rested; use matching versions of fusionctl and dm-fusion");
	free(answer);
	return rc;
}

static int checkpoint(const char *name, uint64_t used_within)
{
	char *answer = NULL;
	uint64_t idle = 0;
	int rc = 0;

	if (used_within != UINT64_MAX)
		rc = slow_idle(name, &idle);
	/* it may have stopped its motor */
	if (rc || idle > used_within)
		return rc;
	rc = tell_set(name, "checkpoint", &answer);
	free(answer);
	return rc;
}

/* One of all: what cannot be written now is none of its business. */
static int checkpoint_any(const char *name, uint64_t used_within)
{
	struct set set;
	bool writable;
	int rc;

	rc = set_get(name, &set);
	if (rc)
		return rc;
	writable = !strcmp(set.st.mode, "rw") && !set.m.suspended;
	set_put(&set);
	return writable ? checkpoint(name, used_within) : 0;
}

int cmd_checkpoint(const struct args *a)
{
	const char *since = a->opt[OPT_USED_WITHIN];
	uint64_t used_within = UINT64_MAX;
	struct mapping *list = NULL;
	struct set set;
	int rc, one;

	if (since && !parse_number(since, UINT32_MAX, &used_within))
		return fail(FC_USAGE, since, "not a time; give a number of seconds");
	if (a->n) {
		rc = set_get(a->word[0], &set);
		if (rc)
			return rc;
		set_put(&set);
		return checkpoint(a->word[0], used_within);
	}
	rc = dm_list(MAPPING_INFO, &list);
	for (struct mapping *m = list; m; m = m->next) {
		one = m->live ? checkpoint_any(m->name, used_within) : 0;
		rc = rc ? rc : one;
	}
	dm_free_list(list);
	return rc;
}
