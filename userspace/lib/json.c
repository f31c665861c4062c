// SPDX-License-Identifier: GPL-2.0-only
/* JSON. */
#include <json-c/json.h>
#include <stdint.h>

#include "json.h"
#include "fusionctl.h"
#include "text.h"

struct json_object *fus_json_base(void)
{
	struct json_object *o = json_object_new_object();

	fus_json_add_u64(o, "version", JSON_VERSION);
	return o;
}

void fus_json_add_u64(struct json_object *o, const char *key, uint64_t v)
{
	json_object_object_add(o, key, json_object_new_uint64(v));
}

void fus_json_add_str(struct json_object *o, const char *key, const char *v)
{
	char safe[4096];

	if (v)
		fus_safe_text(safe, sizeof(safe), v, SIZE_MAX, true);
	json_object_object_add(o, key, v ? json_object_new_string(safe) : NULL);
}

void fus_json_add_bool(struct json_object *o, const char *key, bool v)
{
	json_object_object_add(o, key, json_object_new_boolean(v));
}
