/* SPDX-License-Identifier: GPL-2.0-only */
/* Verb status: the parts that are not in status.c. */
#ifndef STATUS_H
#define STATUS_H

struct fusion_status;
struct json_object;
struct set;

/*
 * status-check.c: print the line of a plugin, of all open sets if @name is NULL. Its exit status, 0
 * to 3.
 */
int status_check(const char *name);

/* status-protected.c: a line, and the same for programs. */
void protected_print(const struct set *set);
struct json_object *protected_json(const struct fusion_status *st);

/* status-json.c: all that status tells of an open set. */
struct json_object *status_json(const struct set *set);

#endif
