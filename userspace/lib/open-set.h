/* SPDX-License-Identifier: GPL-2.0-only */
/* An open set as the verbs show it: open-set.c. */
#ifndef OPEN_SET_H
#define OPEN_SET_H

#include <stdbool.h>
#include <sys/types.h>

#include "dm.h"
#include "host.h"
#include "status-parse.h"

struct set {
	struct mapping m;
	dev_t member[2];
	dev_t old;		/* the member that is being replaced, or 0 */
	int old_role;		/* its role, or -1: the table names none */
	char host[HOST_HEX];	/* of the table: this machine's number, or "" */
	struct fusion_status st;
};

int fus_set_get(const char *name, struct set *set);
/* The same for one of a list, which may have been closed since: *found is false then. */
int fus_set_get_if_open(const char *name, struct set *set, bool *found);
void fus_set_put(struct set *set);

#endif
