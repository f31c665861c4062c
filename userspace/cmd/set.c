// SPDX-License-Identifier: GPL-2.0-only
/* Verb set: show the settings of a set, or change the given ones, all or none. */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backup.h"
#include "error.h"
#include "fusionctl.h"
#include "json.h"
#include "output.h"
#include "profile.h"
#include "setting.h"
#include "settings-closed.h"
#include "settings-json.h"
#include "table.h"
#include "verb.h"

/* The job of one call. */
struct job {
	struct settings s;
	struct closed *closed;		/* unless it is open */
	const struct profile *profile;
	bool keep, dry_run;
	struct setting to[FUSION_SETTINGS];
	unsigned int nr;
};

/* -- what changes --------------------------------------------------------------------- */

/* The last word on a setting counts. */
static int add(struct job *j, const char *word)
{
	struct setting new;
	unsigned int i;
	int rc;

	rc = fus_parse_setting(word, &j->s.scale, &new);
	if (rc)
		return rc;
	for (i = 0; i < j->nr && j->to[i].which != new.which; i++)
		;
	j->to[i] = new;
	j->nr += i == j->nr;
	return 0;
}

static bool changes(const struct job *j, const struct setting *to)
{
	const struct settings *s = &j->s;
	int i = to->which;

	if (s->value[i] != to->value)
		return true;
	if (!j->keep)
		return false;
	return to->is_default ? s->kept[i] : !s->kept[i] || s->kept_value[i] != to->value;
}

static int collect(struct job *j, const struct args *a)
{
	unsigned int n = 0;
	int rc = 0;

	for (int i = 0; j->profile && i < PROFILE_SETTINGS && !rc; i++)
		rc = add(j, j->profile->setting[i]);
	for (int i = 1; i < a->n && !rc; i++)
		rc = add(j, a->word[i]);
	for (unsigned int i = 0; i < j->nr; i++)
		if (changes(j, &j->to[i]))
			j->to[n++] = j->to[i];
	j->nr = n;
	return rc;
}

/* -- for people ----------------------------------------------------------------------- */

/* If the present value differs from the one that the set keeps, the latter is shown as well. */
static void source_text(char *buf, size_t size, const struct settings *s, int i)
{
	static const char *const words[NR_SOURCES] = {
		[SOURCE_DEFAULT] = "default", [SOURCE_SET] = "set",
		[SOURCE_TABLE] = "table line", [SOURCE_NOW] = "now only",
	};
	char kept[SETTING_TEXT];

	if (s->kept[i] && s->source[i] != SOURCE_SET)
		snprintf(buf, size, "%s; set: %s", words[s->source[i]],
			 fus_setting_text(kept, i, s->kept_value[i], &s->scale));
	else
		snprintf(buf, size, "%s", words[s->source[i]]);
}

static void show(const struct settings *s)
{
	static const char *const headings[] = {
		"KEY", "VALUE", "FROM", "DEFAULT", "RANGE", NULL
	};
	struct libscols_table *tb = table_new(headings);

	for (int i = 0; i < FUSION_SETTINGS; i++) {
		char value[SETTING_SHOWN], from[80], def[SETTING_TEXT], range[128];
		const char *cells[] = { fusion_settings[i].key, value, from, def, range };

		fus_setting_shown(value, i, s->value[i], &s->scale);
		source_text(from, sizeof(from), s, i);
		fus_setting_text(def, i, fusion_settings[i].def, &s->scale);
		fus_setting_range(range, sizeof(range), i, &s->scale);
		table_row(tb, cells);
	}
	table_print(tb);
}

static void print_changes(const struct job *j)
{
	static const char *const headings[] = { "KEY", ">FROM", ">TO", NULL };
	struct libscols_table *tb;

	if (!j->nr) {
		printf("%s: nothing to change\n", j->s.name);
		return;
	}
	printf("%s: %s%s\n", j->s.name, j->dry_run ? "would change" : "changed",
	       j->keep ? "" : " until it is closed");
	tb = table_new(headings);
	for (unsigned int n = 0; n < j->nr; n++) {
		char from[SETTING_TEXT], value[SETTING_TEXT], to[SETTING_TEXT + 16];
		const struct setting *c = &j->to[n];
		const char *cells[] = { fusion_settings[c->which].key, from, to };

		fus_setting_text(from, c->which, j->s.value[c->which], &j->s.scale);
		fus_setting_text(value, c->which, c->value, &j->s.scale);
		/* the value may be the same, with only its source changed */
		snprintf(to, sizeof(to), "%s%s", value, strcmp(from, value) ? "" :
			 c->is_default ? " (default)" : " (kept)");
		table_row(tb, cells);
	}
	table_print(tb);
}

/* -- for programs --------------------------------------------------------------------- */

static struct json_object *changes_json(const struct job *j)
{
	struct json_object *array = json_object_new_array(), *one;

	for (unsigned int n = 0; n < j->nr; n++) {
		const struct setting *c = &j->to[n];

		one = json_object_new_object();
		fus_json_add_str(one, "key", fusion_settings[c->which].key);
		fus_json_add_str(one, "unit", fus_setting_unit(c->which));
		setting_add_value(one, "from", c->which, j->s.value[c->which]);
		fus_json_add_str(one, "from_source", fus_source_name[j->s.source[c->which]]);
		setting_add_value(one, "to", c->which, c->value);
		fus_json_add_str(one, "to_source",
				 fus_source_name[!j->keep ? SOURCE_NOW : c->is_default ?
						 SOURCE_DEFAULT : SOURCE_SET]);
		json_object_array_add(array, one);
	}
	return array;
}

static struct json_object *job_json(const struct job *j)
{
	struct json_object *o = fus_json_base();

	fus_json_add_str(o, "name", j->s.name);
	fus_json_add_str(o, "set_uuid", j->s.uuid);
	fus_json_add_bool(o, "open", j->s.open);
	fus_json_add_bool(o, "dry_run", j->dry_run);
	fus_json_add_bool(o, "kept", j->keep);
	fus_json_add_str(o, "profile", j->profile ? j->profile->name : NULL);
	json_object_object_add(o, "changes", changes_json(j));
	return o;
}

/* -- the verb ------------------------------------------------------------------------- */

/* The settings afterwards: as the kernel reports them if the set is open, @after. */
static int apply(struct job *j, struct settings *after)
{
	bool found;
	int rc;

	*after = j->s;
	if (!j->nr || j->dry_run)
		return 0;
	if (j->closed)
		return fus_settings_write(j->closed, after, j->to, j->nr);
	rc = fus_settings_tell(&j->s, j->to, j->nr, j->keep);
	if (!rc && j->keep)
		fus_backup_changed(j->s.fast);
	if (!rc)
		rc = fus_settings_open(j->s.name, after, &found);
	if (!rc && !found)
		rc = fus_fail(FC_FAILED, j->s.name, "was closed meanwhile; see fusionctl list");
	return rc;
}

static int change(struct job *j, const struct args *a)
{
	struct settings after;
	struct json_object *o;
	int rc;

	rc = collect(j, a);
	if (!rc)
		rc = apply(j, &after);
	if (rc)
		return rc;
	if (a->opt[OPT_JSON]) {
		o = job_json(j);
		json_object_object_add(o, "settings", settings_json(&after));
		print_json(o, false);
	} else {
		print_changes(j);
	}
	return 0;
}

static void show_all(const struct job *j, const struct args *a)
{
	struct json_object *o;

	if (!a->opt[OPT_JSON]) {
		show(&j->s);
		return;
	}
	o = job_json(j);
	json_object_object_add(o, "settings", settings_json(&j->s));
	print_json(o, false);
}

/* Open or closed. */
static int find(struct job *j, const char *name, bool change)
{
	bool found;
	int rc;

	rc = fus_settings_open(name, &j->s, &found);
	if (!rc && !found)
		rc = fus_settings_closed(name, change && !j->dry_run, &j->s, &j->closed);
	return rc;
}

int cmd_set(const struct args *a)
{
	bool change_some = a->n > 1 || a->opt[OPT_PROFILE];
	struct job j = { .keep = !a->opt[OPT_NOW], .dry_run = a->opt[OPT_DRY_RUN] };
	int rc;

	if (!change_some && (a->opt[OPT_NOW] || a->opt[OPT_DRY_RUN]))
		return fus_fail(FC_USAGE, a->opt[OPT_NOW] ? "--now" : "--dry-run", "there is "
				"nothing to change; add KEY=VALUE or --profile");
	if (a->opt[OPT_PROFILE]) {
		j.profile = find_profile(a->opt[OPT_PROFILE]);
		if (!j.profile)
			return FC_USAGE;
	}
	rc = find(&j, a->word[0], change_some);
	if (rc)
		return rc;
	if (j.closed && !j.keep)
		rc = fus_fail(FC_USAGE, "--now", "works only on an open set; open %s, or leave "
			      "--now out", j.s.name);
	else if (change_some)
		rc = change(&j, a);
	else
		show_all(&j, a);
	if (j.closed)
		fus_closed_end(j.closed);
	return rc;
}
