/* SPDX-License-Identifier: GPL-2.0-only */
/* Verb open: activate.c. */
#ifndef ACTIVATE_H
#define ACTIVATE_H

#include <stdbool.h>
#include <stddef.h>

struct json_object;
struct member;

/*
 * Activate the set of these two members, in either order, as @name; with @take_over even if another
 * machine has it open. The set is added to @json, unless that is NULL, by fus_json_add_set().
 */
int open_set(const char *name, struct member *a, struct member *b, bool take_over,
	     struct json_object *json);
/* Fail if a mapped device has that name, except one that a killed fusionctl left behind. */
int check_name_free(const char *name);
/*
 * The same, and remove that one. Hold the assembly lock: a device that another process is just
 * creating looks the same.
 */
int free_name(const char *name);

#endif
