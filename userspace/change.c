// SPDX-License-Identifier: GPL-2.0-only
/*
 * Settings of an open set that are changed together, by set or tune: all of them or none, as what
 * was set is put back if one is refused.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "fusionctl.h"

static void drop(struct changes *list, const char *key)
{
	struct change *c = list->change, *end = c + list->nr;

	while (c < end && strcmp(c->key, key))
		c++;
	if (c == end)
		return;
	memmove(c, c + 1, (end - c - 1) * sizeof(*c));
	list->nr--;
}

int changes_add(struct changes *list, const char *word, const struct set *set)
{
	struct change new;
	const char *from;
	char msg[64];
	int rc;

	rc = parse_setting(word, &set->st, msg, sizeof(msg));
	if (rc)
		return rc;
	if (sscanf(msg, "%23s %23s", new.key, new.to) != 2)
		return fail(FC_FAILED, msg, "not a setting; this is a bug");
	from = status_option(&set->st, new.key);
	if (!from)
		return fail(FC_FAILED, set->m.name, "the kernel's module has no option %s; use "
			    "matching versions of fusionctl and dm-fusion", new.key);
	snprintf(new.from, sizeof(new.from), "%s", from);
	/* the last word on a key counts */
	drop(list, new.key);
	if (strcmp(new.from, new.to))
		list->change[list->nr++] = new;
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

int changes_apply(const struct changes *list, const char *name)
{
	const struct change *change = list->change;
	const char *failed;
	char reason[256];
	unsigned int i;
	int rc;

	for (i = 0; i < list->nr; i++) {
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

void changes_print(const struct changes *list)
{
	static const char *const headings[] = { "KEY", ">FROM", ">TO", "UNIT", NULL };
	struct libscols_table *tb = table_new(headings);

	for (unsigned int i = 0; i < list->nr; i++) {
		const struct change *c = &list->change[i];
		const char *cells[] = { c->key, c->from, c->to, setting_unit(c->key) };

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

struct json_object *changes_json(const struct changes *list, const struct set *set, bool dry_run)
{
	struct json_object *o = json_base(), *array = json_object_new_array(), *one;

	json_add_open(o, &set->m);
	json_add_bool(o, "dry_run", dry_run);
	for (unsigned int i = 0; i < list->nr; i++) {
		const struct change *c = &list->change[i];

		one = json_object_new_object();
		json_add_str(one, "key", c->key);
		json_add_str(one, "unit", setting_unit(c->key));
		add_value(one, "from", c->from);
		add_value(one, "to", c->to);
		json_object_array_add(array, one);
	}
	json_object_object_add(o, "changes", array);
	return o;
}
