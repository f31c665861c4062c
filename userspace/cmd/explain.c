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

/* A file on so many extents has each of them explained; one on more needs --verbose for that. */
#define FEW	8

/* Extents to explain, without those that the file is not on, if one was named. */
struct range {
	uint64_t first, last;
};

struct explaining {
	const struct explain_set *set;
	bool each;			/* not only their number, */
	struct json_object *array;	/* here, or if NULL to standard output */
	struct explain_summary summary;
};

/* -- which extents ------------------------------------------------------------------- */

static int range_of_file(const char *path, struct explain_set *set, struct explain_file *file,
			 struct range *r)
{
	int rc = explain_file_get(path, set->name, file);

	set->file = file;
	*r = file->nr ? (struct range) { file->first, file->last } : (struct range) { 1, 0 };
	return rc;
}

/* The word names extents, or a file. */
static int range_of_word(const char *word, struct explain_set *set, struct explain_file *file,
			 struct range *r)
{
	if (!fus_parse_range(word, &r->first, &r->last))
		return range_of_file(word, set, file, r);
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

static int find_range(const struct args *a, struct explain_set *set, struct explain_file *file,
		      struct range *r)
{
	return a->opt[OPT_SECTOR] ? range_of_sector(a->opt[OPT_SECTOR], set, r) :
	       range_of_word(a->word[1], set, file, r);
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

static int explain_line(struct explaining *x, char *line, uint64_t lext)
{
	const struct explain_set *set = x->set;
	struct explain_extent e;
	struct explain_answer answer;
	const char *why = line ? explain_parse_extent(line, &e) : "a line is missing";

	if (!why && e.lext != lext)
		why = "it is of other extents";
	if (why)
		return bad_answer(set->name, "extents", why);
	explain_judge(set->world, &set->policy, &e, &answer);
	if (x->array)
		json_object_array_add(x->array, explain_extent_json(set, &e, &answer));
	else if (x->each)
		explain_print_extent(set, &e, &answer);
	return explain_count(&x->summary, &e, &answer, set->file ? set->file->on[lext] : 0);
}

static bool is_left_out(const struct explain_set *set, uint64_t lext)
{
	return set->file && !set->file->on[lext];
}

static int explain_window(struct explaining *x, uint64_t first, uint64_t last)
{
	char *answer, *rest, *line;
	int rc = get_extents(x->set, first, last - first + 1, &answer);

	rest = answer;
	for (uint64_t lext = first; !rc && lext <= last; lext++) {
		line = strsep(&rest, "\n");
		if (!is_left_out(x->set, lext))
			rc = explain_line(x, line, lext);
	}
	free(answer);
	return rc;
}

static int explain_range(struct explaining *x, const struct range *r)
{
	uint64_t lext = r->first, last;
	int rc = 0;

	while (!rc && lext <= r->last) {
		if (is_left_out(x->set, lext)) {
			lext++;
			continue;
		}
		last = r->last - lext < EXPLAIN_WINDOW ? r->last : lext + EXPLAIN_WINDOW - 1;
		rc = explain_window(x, lext, last);
		lext = last + 1;
	}
	return rc;
}

/* -- the verb ------------------------------------------------------------------------- */

static int print_text(struct explaining *x, const struct range *r)
{
	int rc;

	explain_print_policy(x->set);
	rc = explain_range(x, r);
	if (!rc && x->set->file)
		explain_print_summary(x->set->file, &x->summary);
	return rc;
}

static int print_whole_json(struct explaining *x, const struct range *r, const struct set *open)
{
	struct json_object *o = fus_json_base();
	int rc;

	x->array = json_object_new_array();
	fus_json_add_open(o, &open->m);
	fus_json_add_u64(o, "extent_bytes", x->set->extent_bytes);
	json_object_object_add(o, "policy", explain_policy_json(x->set));
	json_object_object_add(o, "extents", x->array);
	rc = explain_range(x, r);
	json_object_object_add(o, "file", explain_file_json(x->set->file));
	json_object_object_add(o, "summary", explain_summary_json(x->set, &x->summary));
	if (!rc)
		print_json(o, false);
	else
		json_object_put(o);
	return rc;
}

static int explain(const struct args *a, struct explain_set *set, const struct set *open,
		   struct explain_file *file)
{
	struct explaining x = { .set = set };
	struct range r;
	int rc;

	rc = find_range(a, set, file, &r);
	if (!rc)
		rc = get_policy(set, open);
	if (rc)
		return rc;
	x.each = !set->file || set->file->nr <= FEW || a->opt[OPT_VERBOSE];
	rc = a->opt[OPT_JSON] ? print_whole_json(&x, &r, open) : print_text(&x, &r);
	explain_summary_free(&x.summary);
	return rc;
}

int cmd_explain(const struct args *a)
{
	struct explain_set set = { .name = a->word[0] };
	struct explain_file file = { 0 };
	struct set open;
	int rc;

	if (a->n - 1 == !!a->opt[OPT_SECTOR])
		return fus_fail(FC_USAGE, "explain", "needs either FIRST[-LAST], FILE or --sector "
				"N; see fusionctl help explain");
	rc = fus_set_get(set.name, &open);
	if (rc)
		return rc;
	set.extents = open.st.extents;
	set.extent_bytes = open.st.extent_sectors << 9;
	rc = explain(a, &set, &open, &file);
	explain_file_put(&file);
	explain_world_destroy(set.world);
	fus_set_put(&open);
	return rc;
}
