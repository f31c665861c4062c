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
 * Add the identity of the set whose fast superblock is @fast, its members' devices, and the fused
 * device if it is open. A uuid of zeros becomes null.
 */
void fus_json_add_set(struct json_object *o, const char *name, bool open,
		      const struct fusion_sb *fast, const char *const path[2]);
/* After that: add the content recognised on the devices; "" becomes null. */
void fus_json_add_contents(struct json_object *o, char content[2][CONTENT_TEXT]);
/* Add the identity of an open set. */
void fus_json_add_open(struct json_object *o, const struct mapping *m);

#endif
