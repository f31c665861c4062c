/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Verb shrink: shrink.c carries it out, shrink-plan.c decides how small, shrink-empty.c empties
 * what is given up.
 */
#ifndef SHRINK_H
#define SHRINK_H

#include <stdbool.h>
#include <stdint.h>

#include "content-size.h"
#include "probe.h"
#include "reach.h"
#include "resize.h"
#include "dm-fusion-codec.h"

struct args;

struct shrinking {
	struct resizing r;
	int dev;			/* the member whose end is given up */
	struct fus_content content;
	enum content_size size;		/* of the content, if it is known: @content_bytes */
	uint64_t content_bytes;
	struct reach reach;		/* of the mappings on the set */
	bool fenced;			/* the fence is up, and is ours */
	bool log_off;			/* the landing log was turned off for this */
	uint64_t kept;			/* extents that are mapped in what stays; */
	uint64_t behind;		/* behind the new end of the set; */
	uint64_t moving;		/* and of those that are kept, in slots that are given up */
};

/* Sizes of a member: as it is, and as it will be. */
static inline uint64_t shrink_sectors(const struct fusion_sb *fast, int dev)
{
	return fusion_sb_dev_sectors(fast, dev);
}

/* Look at the content, and plan: s->r.sb becomes the geometry that the set is to have. */
int shrink_plan(struct shrinking *s, const struct args *a);

/* Look again: whether it still fits. Meanwhile it may have been used, and grown. */
int shrink_check_content(const struct shrinking *s);

/* Count the extents in what is kept and what is given up. */
int shrink_count(struct shrinking *s);
/* Is there room for those that have to move? */
int shrink_check_room(const struct shrinking *s);
/* Discard the end of the set. If that fails or is stopped, the set has its size, and less in it. */
int shrink_discard(const struct shrinking *s);
/* Move what lies in the last slots of the member. The fence stays until there is another table; */
int shrink_evacuate(struct shrinking *s);
/* or until this. */
void shrink_end_fence(const struct shrinking *s);

#endif
