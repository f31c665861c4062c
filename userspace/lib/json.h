/* SPDX-License-Identifier: GPL-2.0-only */
/* JSON, by json-c: json.c. */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stdint.h>

struct json_object;
struct json_object *fus_json_base(void);
void fus_json_add_u64(struct json_object *o, const char *key, uint64_t v);
void fus_json_add_str(struct json_object *o, const char *key, const char *v);
void fus_json_add_bool(struct json_object *o, const char *key, bool v);

#endif
