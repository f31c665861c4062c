/* SPDX-License-Identifier: GPL-2.0-only */
/* A set whose fast member is lost goes on with another one: lost.c. */
#ifndef LOST_H
#define LOST_H

#include "meta.h"

/* What becomes of the extents, and of their sectors. */
struct lost_plan {
	struct meta_state st;	/* the map of the set from then on */
	u32 lost, partly;	/* extents that are lost, and of these: in part */
	u32 shadows;		/* extents whose shadow becomes their content */
	u32 outdated;		/* the same if @stale; otherwise they are among those lost */
	u64 lost_sectors;
	u64 unknown_sectors;	/* of these: perhaps written since the last replica, or not */
};

/*
 * Plan it. @meta has the slow member, of which @rb was rebuilt. @stale: what has only an outdated
 * shadow becomes that, instead of being lost.
 */
int fus_lost_plan(const struct meta *meta, const struct rebuild *rb, bool stale,
		  struct lost_plan *p);
void fus_lost_plan_free(struct lost_plan *p);
/* Return: whether a disk was written for that before, and did not become the member. */
bool fus_lost_begun(const struct fusion_sb *slow, const struct fusion_sb *disk);
/*
 * Do it. @meta has the slow member, and in meta->m[FAST].o the new disk, which was erased. Until
 * the superblock of the slow member names the new disk, the slow member is as it was.
 */
int fus_lost_write(struct meta *meta, const struct lost_plan *p,
		   const struct fusion_disk_ident *ident);

#endif
