// SPDX-License-Identifier: GPL-2.0-only
/* The settings of a set, for programs. */
#include <json-c/json.h>

#include "settings-json.h"
#include "json.h"
#include "setting.h"

void setting_add_value(struct json_object *o, const char *key, int i, uint32_t value)
{
	if (fusion_settings[i].unit == FUSION_UNIT_SWITCH)
		fus_json_add_bool(o, key, value);
	else
		fus_json_add_u64(o, key, value);
}

static struct json_object *setting_json(const struct settings *s, int i)
{
	const struct fusion_setting_info *info = &fusion_settings[i];
	struct json_object *o = json_object_new_object();

	fus_json_add_str(o, "key", info->key);
	fus_json_add_str(o, "unit", fus_setting_unit(i));
	setting_add_value(o, "value", i, s->value[i]);
	setting_add_value(o, "effective", i, fus_setting_effect(i, s->value[i], &s->scale));
	fus_json_add_str(o, "source", fus_source_name[s->source[i]]);
	if (s->kept[i])
		setting_add_value(o, "kept", i, s->kept_value[i]);
	else
		json_object_object_add(o, "kept", NULL);
	setting_add_value(o, "default", i, info->def);
	setting_add_value(o, "min", i, info->min);
	setting_add_value(o, "max", i, fusion_setting_max(i, s->scale.nr_fast_slots));
	fus_json_add_str(o, "zero", info->zero);
	fus_json_add_str(o, "help", info->help);
	return o;
}

struct json_object *settings_json(const struct settings *s)
{
	struct json_object *array = json_object_new_array();

	for (int i = 0; i < FUSION_SETTINGS; i++)
		json_object_array_add(array, setting_json(s, i));
	return array;
}
