/* SPDX-License-Identifier: GPL-2.0-only */
/* An open set that gets another table: resize.c, for the verbs grow, shrink and release. */
#ifndef RESIZE_H
#define RESIZE_H

#include <stdint.h>

#include "dm.h"
#include "open-set.h"
#include "scan.h"
#include "dm-fusion-codec.h"

struct resizing {
	const char *name;
	const char *verb, *done;	/* "grow", "grown" */
	struct mapping table;		/* the present one */
	struct member *m[2];		/* as they are */
	struct fusion_sb sb;		/* of the fast member: as it is, then as it will be */
	unsigned int paused_ms;
};

/* Find the open set: nothing may be wrong with it. resize_put() in any case. */
int resize_get(struct resizing *r);
void resize_put(struct resizing *r);
/*
 * Until fus_run_unlock(), no other command gives a set another table, or opens a member. Fails if
 * the set has been closed, suspended or released since resize_get().
 */
int resize_lock(struct resizing *r, int *lock);
/*
 * Put a table in the place of the present one, for a set of geometry @r->sb, with @options more,
 * as in " slow_sectors 4096". I/O waits from the suspend to the resume. Takes that lock.
 */
int resize_exchange(struct resizing *r, const char *options);
/* The backup of the geometry gets the new size. Return: whether the slow member has it, too. */
bool resize_finish(const struct resizing *r);

#endif
