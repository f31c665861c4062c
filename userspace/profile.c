// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb tune: the settings that go together for a use. fusionctl(8) has the reasons for the
 * values. All of them are set, or none: what was set is put back if one is refused.
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
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

struct change {
	char key[24];
	char from[24], to[24];
};

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

static const char *present(const struct fusion_status *st, const char *key)
{
	for (unsigned int i = 0; i < st->nr_options; i++)
		if (!strcmp(st->option[i].key, key))
			return st->option[i].value;
	return NULL;
}

/* What is to be changed for a profile. */
static int compare(const struct profile *p, const struct set *set,
		   struct change change[NR_SETTINGS], unsigned int *nr)
{
	char msg[64];
	int rc;

	*nr = 0;
	for (int i = 0; i < NR_SETTINGS; i++) {
		struct change *c = &change[*nr];
		const char *from;

		rc = parse_setting(p->setting[i], &set->st, msg, sizeof(msg));
		if (rc)
			return rc;
		if (sscanf(msg, "%23s %23s", c->key, c->to) != 2)
			return fail(FC_FAILED, msg, "not a setting; this is a bug");
		from = present(&set->st, c->key);
		if (!from)
			return fail(FC_FAILED, set->m.name, "the kernel's module has no option %s; "
				    "use matching versions of fusionctl and dm-fusion", c->key);
		snprintf(c->from, sizeof(c->from), "%s", from);
		*nr += !!strcmp(c->from, c->to);
	}
	return 0;
}

static int set_one(const char *name, const char *key, const char *value, char *reason, size_t size)
{
	char msg[64], *answer = NULL;
	int rc;

	snprintf(msg, sizeof(msg), "%s %s", key, value);
	rc = send_message(name, msg, &answer, reason, size);
	free(answer);
	return rc;
}

/* The last one first. Return: NULL, or a key that could not be put back. */
static const char *put_back(const char *name, const struct change *change, unsigned int nr)
{
	const char *failed = NULL;
	char reason[256];

	while (nr--)
		if (set_one(name, change[nr].key, change[nr].from, reason, sizeof(reason)))
			failed = change[nr].key;
	return failed;
}

static int apply(const char *name, const struct change *change, unsigned int nr)
{
	const char *failed;
	char reason[256];
	unsigned int i;
	int rc;

	for (i = 0; i < nr; i++) {
		rc = set_one(name, change[i].key, change[i].to, reason, sizeof(reason));
		if (!rc)
			continue;
		failed = put_back(name, change, i);
		if (failed)
			return fail(rc, name, "the kernel refuses \"%s %s\": %s, and %s could not "
				    "be put back; see fusionctl status --json, and dmesg",
				    change[i].key, change[i].to, reason, failed);
		return fail(rc, name, "the kernel refuses \"%s %s\": %s, %s; see dmesg",
			    change[i].key, change[i].to, reason, i ?
			    "and what was set before it is put back" : "nothing was changed");
	}
	return 0;
}

static void print_text(const char *name, const char *profile, const struct change *change,
		       unsigned int nr, bool dry_run)
{
	static const char *const headings[] = { "KEY", ">FROM", ">TO", "UNIT", NULL };
	struct libscols_table *tb;

	if (!nr) {
		printf("%s: all is set as profile %s has it\n", name, profile);
		return;
	}
	printf("%s: profile %s%s\n", name, profile, dry_run ? " would change" : "");
	tb = table_new(headings);
	for (unsigned int i = 0; i < nr; i++) {
		const char *cells[] = {
			change[i].key, change[i].from, change[i].to, setting_unit(change[i].key),
		};

		table_row(tb, cells);
	}
	table_print(tb);
}

static void add_value(struct json_object *o, const char *key, const char *value)
{
	uint64_t n;

	if (parse_number(value, UINT64_MAX, &n))
		json_add_u64(o, key, n);
	else
		json_add_str(o, key, value);
}

static void print_changes(const char *name, const char *profile, const struct change *change,
			  unsigned int nr, bool dry_run)
{
	struct json_object *o = json_base(), *list = json_object_new_array(), *one;

	json_add_str(o, "name", name);
	json_add_str(o, "profile", profile);
	json_object_object_add(o, "dry_run", json_object_new_boolean(dry_run));
	for (unsigned int i = 0; i < nr; i++) {
		one = json_object_new_object();
		json_add_str(one, "key", change[i].key);
		json_add_str(one, "unit", setting_unit(change[i].key));
		add_value(one, "from", change[i].from);
		add_value(one, "to", change[i].to);
		json_object_array_add(list, one);
	}
	json_object_object_add(o, "changes", list);
	print_json(o, false);
}

int cmd_tune(const struct args *a)
{
	const char *name = a->word[0], *wanted = a->opt[OPT_PROFILE];
	bool dry_run = a->opt[OPT_DRY_RUN];
	struct change change[NR_SETTINGS];
	const struct profile *p;
	unsigned int nr;
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
	rc = compare(p, &set, change, &nr);
	set_put(&set);
	if (!rc && !dry_run)
		rc = apply(name, change, nr);
	if (rc)
		return rc;
	if (a->opt[OPT_JSON])
		print_changes(name, p->name, change, nr, dry_run);
	else
		print_text(name, p->name, change, nr, dry_run);
	return 0;
}
