// SPDX-License-Identifier: GPL-2.0-only
/* Verb explain: why an extent lies where it does, and what would move it. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "error.h"
#include "fusionctl.h"
#include "json.h"
#include "open-set.h"
#include "output.h"
#include "set-json.h"
#include "size.h"
#include "tell.h"
#include "verb.h"

/* Extents to explain. */
struct range {
	uint64_t first, last;
};

/* -- which extents ------------------------------------------------------------------- */

/* The word names extents. A file would be the third kind: then there are several ranges. */
static int range_of_word(const char *word, const struct explain_set *set, struct range *r)
{
	if (!fus_parse_range(word, &r->first, &r->last))
		return fus_fail(FC_USAGE, word, "not a range of extents; write e.g. 18211 or "
				"0-1023");
	if (r->last >= set->extents)
		return fus_fail(FC_USAGE, word, "beyond the end; the extents of %s are 0-%" PRIu64,
				set->name, set->extents - 1);
	return 0;
}

static int range_of_sector(const char *text, const struct explain_set *set, struct range *r)
{
	uint64_t sector, per_extent = set->extent_bytes >> 9;

	if (!fus_parse_number(text, UINT64_MAX, &sector))
		return fus_fail(FC_USAGE, text, "not a sector; give a number");
	if (sector >= set->extents * per_extent)
		return fus_fail(FC_USAGE, text, "beyond the end; the sectors of %s are 0-%" PRIu64,
				set->name, set->extents * per_extent - 1);
	r->first = sector / per_extent;
	r->last = r->first;
	return 0;
}

static int find_range(const struct args *a, const struct explain_set *set, struct range *r)
{
	return a->opt[OPT_SECTOR] ? range_of_sector(a->opt[OPT_SECTOR], set, r) :
	       range_of_word(a->word[1], set, r);
}

/* -- what the kernel knows ------------------------------------------------------------ */

static int bad_answer(const char *name, const char *message, const char *why)
{
	return fus_fail(FC_FAILED, name, "cannot read the kernel's answer to \"%s\": %s; use "
			"matching versions of fusionctl and dm-fusion", message, why);
}

static int get_policy(struct explain_set *set, const struct set *open)
{
	char *answer = NULL;
	const char *why;
	int rc;

	rc = fus_tell_set(set->name, "policy", &answer);
	if (rc)
		return rc;
	why = answer ? explain_parse_policy(answer, &set->policy) : "it is empty";
	free(answer);
	if (why)
		return bad_answer(set->name, "policy", why);
	set->policy.rw = !strcmp(open->st.mode, "rw");
	set->world = explain_world_create(&set->policy);
	if (!set->world)
		return fus_fail(FC_FAILED, set->name, "not enough memory for a policy; close "
				"programs and try again");
	return 0;
}

/* The lines of a window of the range. */
static int get_extents(const struct explain_set *set, uint64_t first, uint64_t count,
		       char **answer)
{
	char msg[64];
	int rc;

	snprintf(msg, sizeof(msg), "extents %" PRIu64 " %" PRIu64, first, count);
	*answer = NULL;
	rc = fus_tell_set(set->name, msg, answer);
	return rc || *answer ? rc : bad_answer(set->name, "extents", "it is empty");
}

/* Explain one line; into @array, or else to standard output. */
static int explain_line(const struct explain_set *set, char *line, uint64_t lext,
			struct json_object *array)
{
	struct explain_extent e;
	struct explain_answer answer;
	const char *why = line ? explain_parse_extent(line, &e) : "a line is missing";

	if (!why && e.lext != lext)
		why = "it is of other extents";
	if (why)
		return bad_answer(set->name, "extents", why);
	explain_judge(set->world, &set->policy, &e, &answer);
	if (array)
		json_object_array_add(array, explain_extent_json(set, &e, &answer));
	else
		explain_print_extent(set, &e, &answer);
	return 0;
}

static int explain_range(const struct explain_set *set, const struct range *r,
			 struct json_object *array)
{
	uint64_t lext, end;
	char *answer, *rest;
	int rc = 0;

	for (lext = r->first; !rc && lext <= r->last; free(answer)) {
		end = r->last - lext < EXPLAIN_WINDOW ? r->last + 1 : lext + EXPLAIN_WINDOW;
		rc = get_extents(set, lext, end - lext, &answer);
		for (rest = answer; !rc && lext < end; lext++)
			rc = explain_line(set, strsep(&rest, "\n"), lext, array);
	}
	return rc;
}

/* -- the verb ------------------------------------------------------------------------- */

static int explain(const struct args *a, struct explain_set *set, const struct set *open)
{
	struct json_object *o = NULL, *array = NULL;
	struct range r;
	int rc;

	rc = find_range(a, set, &r);
	if (!rc)
		rc = get_policy(set, open);
	if (rc)
		return rc;
	if (a->opt[OPT_JSON]) {
		o = fus_json_base();
		array = json_object_new_array();
		fus_json_add_open(o, &open->m);
		fus_json_add_u64(o, "extent_bytes", set->extent_bytes);
		json_object_object_add(o, "policy", explain_policy_json(set));
		json_object_object_add(o, "extents", array);
	} else {
		explain_print_policy(set);
	}
	rc = explain_range(set, &r, array);
	if (o && !rc)
		print_json(o, false);
	else
		json_object_put(o);
	return rc;
}

int cmd_explain(const struct args *a)
{
	struct explain_set set = { .name = a->word[0] };
	struct set open;
	int rc;

	if (a->n - 1 == !!a->opt[OPT_SECTOR])
		return fus_fail(FC_USAGE, "explain", "needs either FIRST[-LAST] or --sector N; see "
				"fusionctl help explain");
	rc = fus_set_get(set.name, &open);
	if (rc)
		return rc;
	set.extents = open.st.extents;
	set.extent_bytes = open.st.extent_sectors << 9;
	rc = explain(a, &set, &open);
	explain_world_destroy(set.world);
	fus_set_put(&open);
	return rc;
}
