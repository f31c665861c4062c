/* SPDX-License-Identifier: GPL-2.0-only */
/* The settings of a set, for programs: settings-json.c. */
#ifndef SETTINGS_JSON_H
#define SETTINGS_JSON_H

#include <stdint.h>

struct json_object;
struct settings;

/* A value of setting @i: a switch is true or false. */
void setting_add_value(struct json_object *o, const char *key, int i, uint32_t value);
/* An array of all settings. */
struct json_object *settings_json(const struct settings *s);

#endif
