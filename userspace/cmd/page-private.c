// SPDX-License-Identifier: GPL-2.0-only
/*
 * Leave out of a document what is private: serial numbers, uuids, and what identifies the machine.
 * Texts for people and the names of devices may contain them as well, so these are searched.
 */
#include <ctype.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <uuid/uuid.h>

#include "page.h"
#include "json.h"

#define LONG		8	/* anything shorter may be a part of other words */
#define TEXT		4096
#define HIDDEN		"(left out)"

#define NO_UUID		"00000000-0000-0000-0000-000000000000"
#define UUID_LENGTH	(UUID_STR_LEN - 1)

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
	char **text;
	unsigned int nr;
	bool failed;		/* memory was short */
};

static const struct field *find_field(const char *key)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (!strcmp(fields[i].key, key))
			return &fields[i];
	return NULL;
}

static void remember(struct secrets *s, const char *text, size_t len)
{
	char **more = len ? realloc(s->text, (s->nr + 1) * sizeof(*more)) : NULL;

	if (more) {
		s->text = more;
		s->text[s->nr] = strndup(text, len);
	}
	if (more && s->text[s->nr])
		s->nr++;
	else
		s->failed |= len;
}

/* Of a worldwide name, what all its forms have in common; of a host, what is before the domain. */
static void remember_field(struct secrets *s, const char *key, const char *text)
{
	static const char *const prefixes[] = { "0x", "naa.", "eui.", "nvme.", "t10." };

	if (!strcmp(key, "wwn"))
		for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
			if (!strncmp(text, prefixes[i], strlen(prefixes[i])))
				text += strlen(prefixes[i]);
	remember(s, text, strlen(text));
	if (!strcmp(key, "host") && strchr(text, '.'))
		remember(s, text, strcspn(text, "."));
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
			remember_field(s, f->key, json_object_get_string(value));
			fus_json_add_str(o, f->key, f->instead);
		} else {
			hide_fields(value, s);
		}
	}
}

static bool word(char c)
{
	return isalnum((unsigned char)c);
}

/* Length of a uuid that starts there, or 0. */
static size_t uuid_at(const char *text)
{
	uuid_t uuid;

	return strnlen(text, UUID_LENGTH) == UUID_LENGTH &&
	       !uuid_parse_range(text, text + UUID_LENGTH, uuid) ? UUID_LENGTH : 0;
}

/* Length of the secret that starts at @at of @text, or 0. A short one has to be a word. */
static size_t secret_at(const struct secrets *s, const char *text, const char *at)
{
	for (unsigned int i = 0; i < s->nr; i++) {
		size_t len = strlen(s->text[i]);

		if (!strncasecmp(at, s->text[i], len) &&
		    (len >= LONG || !((at > text && word(at[-1])) || word(at[len]))))
			return len;
	}
	return uuid_at(at);
}

static void hide_in_text(struct json_object *o, const struct secrets *s)
{
	const char *text = json_object_get_string(o), *at = text;
	char clean[TEXT];
	size_t n = 0, len;
	bool found = false;

	while (*at && n + sizeof(HIDDEN) < sizeof(clean)) {
		len = secret_at(s, text, at);
		if (len)
			n += snprintf(clean + n, sizeof(clean) - n, HIDDEN);
		else
			clean[n++] = *at;
		at += len ? len : 1;
		found |= len;
	}
	clean[n] = 0;
	if (found)
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
			hide_in_text(value, s);
	}
}

static int longer(const void *a, const void *b)
{
	size_t x = strlen(*(char *const *)a), y = strlen(*(char *const *)b);

	return (x < y) - (x > y);
}

bool page_anonymise(struct json_object *doc)
{
	struct secrets s = { .text = NULL };

	hide_fields(doc, &s);
	/* one may be the beginning of another */
	if (s.nr)
		qsort(s.text, s.nr, sizeof(*s.text), longer);
	hide_texts(doc, &s);
	fus_json_add_bool(doc, "anonymous", true);
	for (unsigned int i = 0; i < s.nr; i++)
		free(s.text[i]);
	free(s.text);
	return !s.failed;
}
