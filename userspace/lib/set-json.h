/* SPDX-License-Identifier: GPL-2.0-only */
/* A set that was made or opened, or would be, as JSON: set-json.c. */
#ifndef SET_JSON_H
#define SET_JSON_H

#include <stdbool.h>

#include "probe.h"

struct fusion_sb;
struct json_object;
struct mapping;

/*
 * What a set is, of which @fast is the fast member's superblock, on which devices, and what its
 * own one is, if it is open. A uuid of zeros is null.
 */
void fus_json_add_set(struct json_object *o, const char *name, bool open,
		      const struct fusion_sb *fast, const char *const path[2]);
/* After that: what was recognised on the devices; "" becomes null. */
void fus_json_add_contents(struct json_object *o, char content[2][CONTENT_TEXT]);
/* Which one it is, of those that are open. */
void fus_json_add_open(struct json_object *o, const struct mapping *m);

#endif
