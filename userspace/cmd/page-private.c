// SPDX-License-Identifier: GPL-2.0-only
/*
 * Leave out of a document what is private: serial numbers, uuids, and what identifies the machine.
 * Texts for people and the names of devices may contain them as well, so these are searched.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"
#include "json.h"

#define MAX_SECRETS	128
#define SHORTEST	4	/* anything shorter is in other words as well */
#define TEXT		4096
#define HIDDEN		"(left out)"

#define NO_UUID		"00000000-0000-0000-0000-000000000000"

/* Fields that are private, and what takes their place: null, or a uuid of zeros. */
static const struct field {
	const char *key, *instead;
} fields[] = {
	{ "host", NULL },
	{ "host_id", NULL },
	{ "serial", NULL },
	{ "missing_serial", NULL },
	{ "wwn", NULL },
	{ "set_uuid", NO_UUID },
	{ "device_uuid", NO_UUID },
};

struct secrets {
	char *text[MAX_SECRETS];
	unsigned int nr;
};

static const struct field *find_field(const char *key)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (!strcmp(fields[i].key, key))
			return &fields[i];
	return NULL;
}

static void remember(struct secrets *s, struct json_object *value)
{
	const char *text = json_object_get_string(value);

	if (!text || strlen(text) < SHORTEST || s->nr == MAX_SECRETS)
		return;
	s->text[s->nr] = strdup(text);
	if (s->text[s->nr])
		s->nr++;
}

static void hide_fields(struct json_object *o, struct secrets *s)
{
	struct lh_entry *e;

	if (json_object_is_type(o, json_type_array))
		for (size_t i = 0; i < json_object_array_length(o); i++)
			hide_fields(json_object_array_get_idx(o, i), s);
	if (!json_object_is_type(o, json_type_object))
		return;
	for (e = json_object_get_object(o)->head; e; e = e->next) {
		const struct field *f = find_field(lh_entry_k(e));
		struct json_object *value = (struct json_object *)lh_entry_v(e);

		if (f && json_object_is_type(value, json_type_string)) {
			remember(s, value);
			fus_json_add_str(o, f->key, f->instead);
		} else {
			hide_fields(value, s);
		}
	}
}

static void hide_in_text(struct json_object *o, const char *secret)
{
	const char *text = json_object_get_string(o), *at;
	char clean[TEXT] = "";
	size_t n = 0;

	if (!strstr(text, secret))
		return;
	for (; (at = strstr(text, secret)) && n < sizeof(clean); text = at + strlen(secret))
		n += snprintf(clean + n, sizeof(clean) - n, "%.*s" HIDDEN, (int)(at - text), text);
	if (n < sizeof(clean))
		snprintf(clean + n, sizeof(clean) - n, "%s", text);
	json_object_set_string(o, clean);
}

static bool is_free_text(const char *key)
{
	static const char *const keys[] = {
		"text", "remedy", "subject", "verdict", "smart_reason", "device",
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(keys[i], key))
			return true;
	return false;
}

static void hide_texts(struct json_object *o, const struct secrets *s)
{
	struct lh_entry *e;

	if (json_object_is_type(o, json_type_array))
		for (size_t i = 0; i < json_object_array_length(o); i++)
			hide_texts(json_object_array_get_idx(o, i), s);
	if (!json_object_is_type(o, json_type_object))
		return;
	for (e = json_object_get_object(o)->head; e; e = e->next) {
		struct json_object *value = (struct json_object *)lh_entry_v(e);

		if (!json_object_is_type(value, json_type_string))
			hide_texts(value, s);
		else if (is_free_text(lh_entry_k(e)))
			for (unsigned int i = 0; i < s->nr; i++)
				hide_in_text(value, s->text[i]);
	}
}

void page_anonymise(struct json_object *doc)
{
	struct secrets s = { .nr = 0 };

	hide_fields(doc, &s);
	hide_texts(doc, &s);
	fus_json_add_bool(doc, "anonymous", true);
	for (unsigned int i = 0; i < s.nr; i++)
		free(s.text[i]);
}
