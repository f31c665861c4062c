/* SPDX-License-Identifier: GPL-2.0-only */
/* The stale list on the slow member of a closed set: meta-stale.c. */
#ifndef META_STALE_H
#define META_STALE_H

#include <stddef.h>

#include "dm-fusion-stale.h"

struct meta;
struct offline;
struct report;

/* Blocks of the set, in ascending order; one may be there twice. */
struct stale_blocks {
	u64 *block;
	size_t nr;
	struct fusion_stale_scan scan;	/* what else was found; without its callbacks */
};

/* Read the list of a slow member. Return: 0 or -ENOMEM; fus_stale_free() in any case. */
int fus_stale_read(const struct offline *o, const struct fusion_sb *sb, struct stale_blocks *list);
void fus_stale_free(struct stale_blocks *list);

/* For qsort() and bsearch(): numbers of type u64. */
int fus_stale_compare(const void *a, const void *b);

/*
 * Check the list against the @nr blocks of the set in the landing log: after a close, it has all of
 * them. Damage goes to the report.
 */
void fus_stale_check(const struct meta *meta, const u64 *block, u64 nr, struct report *r);

#endif
