/* SPDX-License-Identifier: GPL-2.0-only */
/* What salvage has opened: rescued.c. */
#ifndef RESCUED_H
#define RESCUED_H

#include <stdbool.h>
#include <stdint.h>

#include "dm.h"

struct json_object;

/* What salvage has made of one member of a set. */
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
/* Is it called so, by its name or by the uuid of its set? Any is if @name is NULL. */
bool fus_rescued_is(const struct mapping *m, const char *name);
/* An array of all of the list, or of those that are called so. */
struct json_object *fus_rescued_array(const struct mapping *list, const char *name);
/* Close the one of stale extents that goes with this one. Exit code. */
int fus_rescued_close_stale(const struct mapping *m);

#endif
