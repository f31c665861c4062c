/* SPDX-License-Identifier: GPL-2.0-only */
/* Which member each extent of an open set lies on, and how hot it is: placement.c. */
#ifndef PLACEMENT_H
#define PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

enum place {
	PLACE_FAST, PLACE_SLOW,		/* as FAST and SLOW */
	PLACE_UNMAPPED,			/* never written, or discarded */
	PLACE_LOST,			/* with a member that is gone */
	NR_PLACES
};

struct placement_extent {
	uint16_t heat;
	uint8_t place;
	uint8_t pin;		/* FAST + 1, SLOW + 1, or 0 */
	bool known;		/* the kernel has been asked */
	uint32_t logged;	/* blocks that are newer in the landing log */
};

/* It is filled on demand, one window of the answer of the kernel at a time. */
struct placement {
	const char *set;
	uint64_t extents, extent_bytes;
	struct placement_extent *extent;
	struct {
		uint64_t extent;
		uint8_t *block;	/* or NULL: 1 for each that is newer there */
	} log;
};

/* @set has to last as long. It is to be freed, also if this has failed. */
int fus_placement_get(const char *set, struct placement *p);
void fus_placement_put(struct placement *p);
/* One extent, below @p->extents. Exit code. */
int fus_placement_find(struct placement *p, uint64_t extent, const struct placement_extent **out);
/*
 * placement-log.c: how many of these bytes of the set, which are in one extent, are newer in the
 * landing log? Exit code, or -ENOMEM.
 */
int fus_placement_logged(struct placement *p, uint64_t at, uint64_t bytes, uint64_t *logged);

#endif
