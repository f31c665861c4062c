// SPDX-License-Identifier: GPL-2.0-only
/* Verbs pin and unpin: keep files where they are wanted. */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "pin.h"
#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "json.h"
#include "named.h"
#include "output.h"
#include "record.h"
#include "size.h"
#include "verb.h"

/* Only one process at a time changes pins. */
#define PINS_LOCK	RUN_DIR "/pins.lock"

/* -- which sets ------------------------------------------------------------------------------- */

/* What may be done with all open sets. */
struct job {
	const struct pin_change *change;
	uint64_t used_within;
	bool named;			/* the one set of the command line */
	int (*one)(const struct job *job, const char *name);
};

/* Sets that can have no pins now are left out, unless they are named. */
static int all_sets(const struct job *job)
{
	struct mapping *list = NULL;
	int rc = fus_dm_list(MAPPING_INFO, &list), one;

	for (struct mapping *m = list; m; m = m->next) {
		one = m->live && !m->suspended ? job->one(job, m->name) : 0;
		rc = rc ? rc : one;
	}
	fus_dm_free_list(list);
	return rc;
}

/* The name that a set is open as. */
static int open_name(const char *word, char *name, size_t size)
{
	bool found;
	int rc = fus_open_name(word, false, name, size, &found);

	if (!rc && !found)
		snprintf(name, size, "%s", word);
	return rc;
}

static int one_or_all(const struct args *a, struct job *job)
{
	char name[128];
	int rc;

	if (!a->n)
		return all_sets(job);
	job->named = true;
	rc = open_name(a->word[0], name, sizeof(name));
	return rc ? rc : job->one(job, name);
}

static int list_one(const struct job *job, const char *name)
{
	struct pinning p = { .places = true };
	int rc = pin_get(&p, name);

	if (!rc)
		rc = pin_find(&p);
	if (!rc)
		job->change->done(job->change->ctx, &p);
	if (!rc && p.where.unread)
		rc = FC_FAILED;
	pin_put(&p);
	return rc;
}

static int refresh_one(const struct job *job, const char *name)
{
	return pin_refresh(job->change, name, job->named, job->used_within);
}

static int refresh(const struct args *a, const struct pin_change *change)
{
	struct job job = { .change = change, .used_within = UINT64_MAX, .one = refresh_one };
	const char *since = a->opt[OPT_USED_WITHIN];

	if (since && !fus_parse_number(since, UINT32_MAX, &job.used_within))
		return fus_fail(FC_USAGE, since, "not a time; give a number of seconds");
	return one_or_all(a, &job);
}

/* -- what the options want -------------------------------------------------------------------- */

static int check_all(const struct args *a)
{
	const char *what = a->opt[OPT_LIST] ? "--list" : "--refresh";

	if (a->opt[OPT_LIST] && a->opt[OPT_REFRESH])
		return fus_fail(FC_USAGE, "--list", "does not go with --refresh; give one of them");
	if (a->opt[OPT_PIN_FAST] || a->opt[OPT_PIN_SLOW] || a->opt[OPT_PIN_EXTENTS])
		return fus_fail(FC_USAGE, what, "is only for pins that are there; leave out "
				"--fast, --slow and --extents");
	return a->n > 1 ? fus_fail(FC_USAGE, a->word[1], "unexpected argument with %s; give the "
				   "name of one set, or none", what) : 0;
}

static int check_words(const struct args *a, const char *verb)
{
	const bool extents = a->opt[OPT_PIN_EXTENTS];

	if (!a->n)
		return fus_fail(FC_USAGE, verb, "needs a PATH, or NAME and --extents "
				"FIRST[-LAST]; see fusionctl help %s", verb);
	return extents && a->n > 1 ? fus_fail(FC_USAGE, a->word[1], "unexpected argument with "
					      "--extents; give the name of one set") : 0;
}

static int check_options(const struct args *a)
{
	if (a->opt[OPT_USED_WITHIN] && !a->opt[OPT_REFRESH])
		return fus_fail(FC_USAGE, "--used-within", "is for --refresh; leave it out");
	if (a->opt[OPT_LIST] || a->opt[OPT_REFRESH])
		return check_all(a);
	if (!a->opt[OPT_PIN_FAST] == !a->opt[OPT_PIN_SLOW])
		return fus_fail(FC_USAGE, "pin", "needs either --fast or --slow; see fusionctl "
				"help pin");
	return check_words(a, "pin");
}

/* -- the verbs -------------------------------------------------------------------------------- */

typedef int paths_fn(const struct pin_change *c, char *const *path, int n);
typedef int extents_fn(const struct pin_change *c, const char *name, const char *range);

static int change(const struct args *a, const struct pin_change *c, paths_fn *paths,
		  extents_fn *extents)
{
	char name[128];
	int rc;

	if (!a->opt[OPT_PIN_EXTENTS])
		return paths(c, a->word, a->n);
	rc = open_name(a->word[0], name, sizeof(name));
	return rc ? rc : extents(c, name, a->opt[OPT_PIN_EXTENTS]);
}

static int pin(const struct args *a, const struct pin_change *c)
{
	struct job list = { .change = c, .one = list_one };
	int lock, rc;

	if (a->opt[OPT_LIST])
		return one_or_all(a, &list);
	rc = fus_run_lock(PINS_LOCK, &lock);
	if (rc)
		return rc;
	rc = a->opt[OPT_REFRESH] ? refresh(a, c) :
				   change(a, c, pin_add_paths, pin_add_extents);
	fus_run_unlock(&lock);
	return rc;
}

int cmd_pin(const struct args *a)
{
	struct pin_change c = {
		.member = a->opt[OPT_PIN_FAST] ? FAST : SLOW,
		.places = a->opt[OPT_LIST] || a->opt[OPT_JSON],
		.done = a->opt[OPT_LIST] ? pin_print : a->opt[OPT_REFRESH] ? NULL : pin_print_sum,
	};
	struct json_object *o;
	int rc = check_options(a);

	if (rc)
		return rc;
	if (a->opt[OPT_JSON]) {
		c.done = pin_add_json;
		c.ctx = json_object_new_array();
	}
	rc = pin(a, &c);
	if (!a->opt[OPT_JSON])
		return rc;
	o = fus_json_base();
	json_object_object_add(o, "sets", c.ctx);
	print_json(o, false);
	return rc;
}

int cmd_unpin(const struct args *a)
{
	const struct pin_change c = { .done = pin_print_sum };
	int lock, rc = check_words(a, "unpin");

	if (!rc)
		rc = fus_run_lock(PINS_LOCK, &lock);
	if (rc)
		return rc;
	rc = change(a, &c, pin_remove_paths, pin_remove_extents);
	fus_run_unlock(&lock);
	return rc;
}
