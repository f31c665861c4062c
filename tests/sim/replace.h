/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A set of which a member is being replaced: the third disk of the world. The first two are the
 * members; which disk that is, the superblocks tell.
 */
#ifndef REPLACE_H
#define REPLACE_H

#include "run-state.h"

/* How a set is opened. */
struct arrangement {
	bool old;		/* the table names the third disk */
	bool joins;		/* the third disk and that of its role change places */
	bool without;		/* the old disk is left out, which is right only if it is empty */
};

/* The options of a set's table, with the third disk or without. */
void table_options(const struct setup *s, bool old, char *text, size_t size);

/* Has the set, as its superblocks are read, an old member? */
bool needs_old(void);

/*
 * Put the world's disks in their places, as the superblocks say, and choose how to open the set.
 * Fails the run if they belong nowhere, or if they make a set in other places as well.
 */
void draw_opening(struct state *st, bool read_only, struct arrangement *how);

/* The third disk and that of its role change places. */
void exchange_disks(void);

/* May the set fail to open in that way? Then the disks are back in their places. */
bool may_fail(const struct arrangement *how, int r);

/* One of the world's disks. */
struct sim_disk *any_disk(void);

#endif
