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
 * machine has it open. Unless @json is NULL it is told
 * of the set, by fus_json_add_set().
 */
int open_set(const char *name, struct member *a, struct member *b, bool take_over,
	     struct json_object *json);
/* Fail if there is a mapped device of that name. What a killed fusionctl left does not count. */
int check_name_free(const char *name);
/*
 * The same, and remove that. Only with the assembly lock held: what somebody else is just about to
 * make looks alike.
 */
int free_name(const char *name);

#endif
