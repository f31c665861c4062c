// SPDX-License-Identifier: GPL-2.0-only
/* Fields of a JSON file that is trusted no more than a disk. */
#include <json-c/json.h>
#include <string.h>
#include <uuid/uuid.h>

#include "json-field.h"
#include "error.h"
#include "fusionctl.h"

int fus_field_bad(const struct json_source *s, const char *key, const char *why)
{
	return fus_fail(FC_FAILED, s->path, "%s: %s; %s", key, why, s->remedy);
}

int fus_field_u64(const struct json_source *s, struct json_object *o, const char *key,
		  u64 max, u64 *v)
{
	struct json_object *field;

	if (!json_object_object_get_ex(o, key, &field) ||
	    !json_object_is_type(field, json_type_int) || json_object_get_int64(field) < 0)
		return fus_field_bad(s, key, "is not a number");
	*v = json_object_get_uint64(field);
	return *v > max ? fus_field_bad(s, key, "is out of bounds") : 0;
}

int fus_field_u32(const struct json_source *s, struct json_object *o, const char *key,
		  u32 max, u32 *v)
{
	u64 n = 0;
	int rc = fus_field_u64(s, o, key, max, &n);

	*v = n;
	return rc;
}

const char *fus_field_text(struct json_object *o, const char *key)
{
	struct json_object *field;

	if (!json_object_object_get_ex(o, key, &field) ||
	    !json_object_is_type(field, json_type_string))
		return NULL;
	return json_object_get_string(field);
}

int fus_field_uuid(const struct json_source *s, struct json_object *o, const char *key,
		   unsigned char uuid[16])
{
	const char *text = fus_field_text(o, key);

	return text && !uuid_parse(text, uuid) ? 0 : fus_field_bad(s, key, "is not a uuid");
}

static unsigned char hex_digit(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

int fus_field_hex(const struct json_source *s, struct json_object *o, const char *key, void *p,
		  size_t size)
{
	const char *text = fus_field_text(o, key);
	unsigned char *b = p;

	if (!text || strlen(text) > 2 * size || strlen(text) % 2 ||
	    text[strspn(text, "0123456789abcdef")])
		return fus_field_bad(s, key, "is not a string of hexadecimal digits, or too long");
	for (size_t i = 0; i < strlen(text) / 2; i++)
		b[i] = hex_digit(text[2 * i]) << 4 | hex_digit(text[2 * i + 1]);
	return 0;
}

int fus_field_child(const struct json_source *s, struct json_object *o, const char *key,
		    enum json_type type, struct json_object **child)
{
	if (json_object_object_get_ex(o, key, child) && json_object_is_type(*child, type))
		return 0;
	return fus_field_bad(s, key, "is missing, or of another kind");
}
