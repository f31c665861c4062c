/* SPDX-License-Identifier: GPL-2.0-only */
/* A run: operations on a set, and cuts at all places on the way. */
#ifndef RUN_H
#define RUN_H

#include "ops.h"

struct run {
	u64 seed;			/* of set, operations and schedule */
	u64 schedule;			/* varies the schedule alone */
	u64 max_points;			/* no more cuts are tried after these */
	struct setup setup;
	struct op *ops;
	u32 nr_ops;

	/* results */
	u64 points;			/* recoveries tried */
	u64 nested;			/* of these, after a cut in a recovery */
	u64 cuts;			/* places where power was cut */
};

/* Return: NULL, or what went wrong. */
const char *run_ops(struct run *run);

/* Faults while a set is opened, each in its turn. */
struct opening {
	u32 allocations;
	u32 reads;
	u32 blocks;			/* damaged */
	u32 refused;			/* of these: what could not be opened */
	u32 cuts;			/* of recoveries in a row */
	u32 opened;			/* by several machines in turn */
	u32 elsewhere;			/* refused, as another machine had it */
	u32 lost;			/* to another machine */
};

/* opening.c; adds to the counts. Return: as above. */
const char *run_opening(const struct setup *setup, u64 seed, struct opening *o);

/* hosts.c: the same of several machines. */
const char *run_hosts(const struct setup *setup, u64 seed, struct opening *o);

#endif
