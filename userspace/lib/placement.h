/* SPDX-License-Identifier: GPL-2.0-only */
/* Which member each extent of an open set lies on, and how hot it is: placement.c. */
#ifndef PLACEMENT_H
#define PLACEMENT_H

#include <stdint.h>

enum place {
	PLACE_FAST, PLACE_SLOW,		/* as FAST and SLOW */
	PLACE_UNMAPPED,			/* never written, or discarded */
	PLACE_LOST,			/* with a member that is gone */
	NR_PLACES
};

struct placement {
	uint64_t extents, extent_bytes;
	uint8_t *place;		/* of each extent */
	uint16_t *heat;		/* of each extent, as far as the kernel tells */
};

/* Ask the kernel; to be freed, also if this has failed. */
int fus_placement_get(const char *set, struct placement *p);
void fus_placement_put(struct placement *p);

#endif
