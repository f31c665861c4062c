/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fields of a JSON file that is trusted no more than a disk: each is tested for its type and its
 * bounds before it is used: json-field.c.
 */
#ifndef JSON_FIELD_H
#define JSON_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>
#include <json-c/json_types.h>

/* The file, for messages. */
struct json_source {
	const char *path;
	const char *remedy;	/* for a file with a wrong field: "use a file that ... wrote" */
};

/* Fail: the field is wrong. */
int fus_field_bad(const struct json_source *s, const char *key, const char *why);
/* A number from 0 to @max. */
int fus_field_u64(const struct json_source *s, struct json_object *o, const char *key,
		  u64 max, u64 *v);
int fus_field_u32(const struct json_source *s, struct json_object *o, const char *key,
		  u32 max, u32 *v);
/* The string, which belongs to @o, or NULL. */
const char *fus_field_text(struct json_object *o, const char *key);
int fus_field_uuid(const struct json_source *s, struct json_object *o, const char *key,
		   unsigned char uuid[16]);
/* Read up to @size bytes in hexadecimal; the rest of @p stays as it is. */
int fus_field_hex(const struct json_source *s, struct json_object *o, const char *key, void *p,
		  size_t size);
int fus_field_child(const struct json_source *s, struct json_object *o, const char *key,
		    enum json_type type, struct json_object **child);

#endif
