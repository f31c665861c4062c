/* SPDX-License-Identifier: GPL-2.0-only */
/* Devices opened by salvage: rescued.c. */
#ifndef RESCUED_H
#define RESCUED_H

#include <stdbool.h>
#include <stdint.h>

#include "dm.h"

struct json_object;

/* The devices that salvage made from one member of a set. */
struct rescued {
	const struct mapping *m;
	char set_uuid[UUID_TEXT];
	bool stale;		/* of stale extents only */
	char label[128];	/* of the set, or "?" */
	char node[160];		/* of the member, or "" */
	int role;		/* of the member, or -1 */
	uint64_t bytes;
};

void fus_rescued_get(const struct mapping *m, struct rescued *r);
struct json_object *fus_rescued_json(const struct rescued *r);
/* Return: whether @name is its name, or the uuid of its set. NULL matches any. */
bool fus_rescued_is(const struct mapping *m, const char *name);
/* An array of all in the list, or of those that @name matches. */
struct json_object *fus_rescued_array(const struct mapping *list, const char *name);
/* Close the device of stale extents that belongs to this one. Exit code. */
int fus_rescued_close_stale(const struct mapping *m);

#endif
