/* SPDX-License-Identifier: GPL-2.0-only */
/* Verb list. */
#ifndef LIST_H
#define LIST_H

#include <stdbool.h>

struct json_object;
struct member;

/* "ok", "shrank" ... */
const char *member_state_text(const struct member *m);
/* What list shows of a member. */
struct json_object *found_json(const struct member *m);

/* -- without root: unprivileged.c */

/* The output of list and status without root. */
int list_unprivileged(bool json);
int status_unprivileged(const char *name, bool json, bool one_line);

#endif
