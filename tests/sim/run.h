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

/* opening.c; @failed: how many allocations did, each in its turn. */
const char *run_opening(const struct setup *setup, u32 *failed);

#endif
