/* SPDX-License-Identifier: GPL-2.0-only */
/* Verb list. */
#ifndef LIST_H
#define LIST_H

#include <stdbool.h>

struct json_object;
struct member;

/* "ok", "shrank" ... */
const char *member_state_text(const struct member *m);
/* What is known of it. */
struct json_object *found_json(const struct member *m);

/* -- without root: unprivileged.c */

/* What list and status can show without root. */
int list_unprivileged(bool json);
int status_unprivileged(const char *name, bool json, bool one_line);

#endif
