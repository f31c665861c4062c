// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb tune: the settings that go together for a use. fusionctl(8) has the reasons for the
 * values.
 */
#include <string.h>

#include "fusionctl.h"

#define NR_SETTINGS	7

/* As fusionctl set takes them. */
static const struct profile {
	const char *name;
	const char *setting[NR_SETTINGS];
} profiles[] = {
	{ "desktop", {
		"half_life=1d", "duty=10%", "idle=2s", "reserve=5%", "commit_interval=1s",
		"replica_interval=2m", "standby=10m",
	} },
	{ "database", {
		"half_life=30m", "duty=40%", "idle=200ms", "reserve=1%", "commit_interval=200ms",
		"replica_interval=15s", "standby=0",
	} },
	{ "archive", {
		"half_life=7d", "duty=25%", "idle=10s", "reserve=10%", "commit_interval=5s",
		"replica_interval=5m", "standby=15m",
	} },
};

#define NR_PROFILES	(sizeof(profiles) / sizeof(profiles[0]))

static const struct profile *find_profile(const char *name)
{
	for (size_t i = 0; i < NR_PROFILES; i++)
		if (!strcmp(profiles[i].name, name))
			return &profiles[i];
	return NULL;
}

const char *profile_name(unsigned int i)
{
	return i < NR_PROFILES ? profiles[i].name : NULL;
}

static void print_text(const struct changes *list, const char *name, const char *profile,
		       bool dry_run)
{
	if (!list->nr) {
		printf("%s: all is set as profile %s has it\n", name, profile);
		return;
	}
	printf("%s: profile %s%s\n", name, profile, dry_run ? " would change" : "");
	changes_print(list);
}

int cmd_tune(const struct args *a)
{
	const char *name = a->word[0], *wanted = a->opt[OPT_PROFILE];
	bool dry_run = a->opt[OPT_DRY_RUN];
	struct changes list = { 0 };
	struct json_object *o;
	const struct profile *p;
	struct set set;
	int rc;

	if (!wanted)
		return fail(FC_USAGE, "tune", "--profile is missing; give desktop, database or "
			    "archive");
	p = find_profile(wanted);
	if (!p)
		return fail(FC_USAGE, wanted, "no such profile; choose desktop, database or "
			    "archive");
	rc = set_get(name, &set);
	if (rc)
		return rc;
	for (int i = 0; i < NR_SETTINGS && !rc; i++)
		rc = changes_add(&list, p->setting[i], &set);
	set_put(&set);
	if (!rc && !dry_run)
		rc = changes_apply(&list, name);
	if (rc)
		return rc;
	if (a->opt[OPT_JSON]) {
		o = changes_json(&list, &set, dry_run);
		json_add_str(o, "profile", p->name);
		print_json(o, false);
	} else {
		print_text(&list, name, p->name, dry_run);
	}
	return 0;
}
