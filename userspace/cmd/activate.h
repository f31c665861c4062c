/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Open a set.
 *
 * activate.c		whose members are known
 * activate-trio.c	of which a member is being replaced
 * open.c		verb open
 */
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
/*
 * The same of three disks, while @old is being replaced by one of the two; NULL if it is not there,
 * which the kernel accepts if nothing lies on it.
 */
int open_set_with(const char *name, struct member *a, struct member *b, struct member *old,
		  bool take_over, struct json_object *json);
/* -- activate-trio.c */

struct trio;
/*
 * The set of @list is one of which a member is being replaced: activate all three disks. Without
 * the old one the kernel does that only if nothing lies there.
 */
int open_three(const char *name, struct member *list, const struct trio *t, bool take_over,
	       struct json_object *json);

/* Fail if a mapped device has that name, except one that a killed fusionctl left behind. */
int check_name_free(const char *name);
/*
 * The same, and remove that one. Hold the assembly lock: a device that another process is just
 * creating looks the same.
 */
int free_name(const char *name);

/* Fail if the set of @m is open. A mapping that a killed fusionctl left is removed. */
int check_not_open(const struct member *m);

#endif
