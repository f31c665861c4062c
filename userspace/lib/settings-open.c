// SPDX-License-Identifier: GPL-2.0-only
/* Settings of an open set: the kernel has them, and keeps them on request. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "open-set.h"
#include "setting.h"
#include "size.h"
#include "tell.h"

const char *const fus_source_name[NR_SOURCES] = { "default", "set", "table", "now" };

static bool parse_number_or_switch(const char *word, uint32_t *v)
{
	uint64_t n;

	if (!strcmp(word, "on") || !strcmp(word, "off")) {
		*v = !strcmp(word, "on");
		return true;
	}
	if (!fus_parse_number(word, UINT32_MAX, &n))
		return false;
	*v = n;
	return true;
}

/* "<key> <value> <source> <kept>"; a setting that this tool does not know is left alone. */
static bool parse_line(const char *line, struct settings *s, bool seen[FUSION_SETTINGS])
{
	char key[24], value[16], source[16], kept[16];
	int i, from = 0;

	if (sscanf(line, "%23s %15s %15s %15s", key, value, source, kept) != 4)
		return false;
	i = fusion_setting_find(key);
	if (i < 0)
		return true;
	while (from < NR_SOURCES && strcmp(source, fus_source_name[from]))
		from++;
	s->kept[i] = strcmp(kept, "-");
	if (from == NR_SOURCES || !parse_number_or_switch(value, &s->value[i]) ||
	    (s->kept[i] && !parse_number_or_switch(kept, &s->kept_value[i])))
		return false;
	s->source[i] = from;
	seen[i] = true;
	return true;
}

static int parse_answer(const char *answer, struct settings *s)
{
	bool seen[FUSION_SETTINGS] = { false }, ok = true;
	const char *end;
	char line[128];

	for (; ok && answer && *answer; answer = *end ? end + 1 : end) {
		end = answer + strcspn(answer, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)(end - answer), answer);
		ok = parse_line(line, s, seen);
	}
	if (!ok)
		return fus_fail(FC_FAILED, s->name, "cannot read the kernel's answer on settings; "
				"use matching versions of fusionctl and dm-fusion");
	for (int i = 0; i < FUSION_SETTINGS; i++)
		if (!seen[i])
			return fus_fail(FC_FAILED, s->name, "the kernel's module has no setting "
					"%s; use matching versions of fusionctl and dm-fusion",
					fusion_settings[i].key);
	return 0;
}

int fus_settings_open(const char *name, struct settings *s, bool *found)
{
	char *answer = NULL;
	struct set set;
	int rc;

	memset(s, 0, sizeof(*s));
	*found = false;
	if (!fus_valid_name(name))
		return 0;
	rc = fus_set_get_if_open(name, &set, found);
	if (rc || !*found)
		return rc;
	s->open = true;
	s->fast = set.member[FAST];
	s->scale.nr_fast_slots = set.st.total[FAST];
	s->scale.extent_sectors = set.st.extent_sectors;
	snprintf(s->name, sizeof(s->name), "%s", set.m.name);
	snprintf(s->uuid, sizeof(s->uuid), "%s", fus_dm_set_uuid(&set.m));
	fus_set_put(&set);
	rc = fus_tell_set(name, "settings", &answer);
	if (!rc)
		rc = parse_answer(answer, s);
	free(answer);
	return rc;
}

/* In one message, so that all of them change, or none. */
int fus_settings_tell(const struct settings *s, const struct setting *to, unsigned int nr,
		      bool keep)
{
	char msg[256], value[16], *answer = NULL;
	size_t n = snprintf(msg, sizeof(msg), "%s", keep ? "keep" : "");
	int rc;

	for (; nr--; to++) {
		const struct fusion_setting_info *info = &fusion_settings[to->which];

		snprintf(value, sizeof(value), "%" PRIu32, to->value);
		n += snprintf(msg + n, sizeof(msg) - n, "%s%s %s", n ? " " : "", info->key,
			      to->is_default ? "default" :
			      info->unit != FUSION_UNIT_SWITCH ? value : to->value ? "on" : "off");
	}
	rc = fus_tell_set(s->name, msg, &answer);
	free(answer);
	return rc;
}
