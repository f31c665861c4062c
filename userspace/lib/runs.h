/* SPDX-License-Identifier: GPL-2.0-only */
/* The map of an open set: runs.c. */
#ifndef RUNS_H
#define RUNS_H

#include <stdbool.h>
#include <stdint.h>

/* Extents in a row that lie in slots in a row, and are in the same state. */
struct map_run {
	uint64_t first, nr;
	int dev;		/* FAST, SLOW, or -1: unmapped, or */
	bool lost;		/* lost */
	uint64_t slot;		/* of the first one */
	bool stable;		/* neither partial nor on the move */
};

/* Call @take for each run of the extents of a set, which has @nr of them. */
int fus_each_run(const char *name, uint64_t nr, void (*take)(void *ctx, const struct map_run *run),
		 void *ctx);

#endif
