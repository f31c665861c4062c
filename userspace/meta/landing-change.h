/* SPDX-License-Identifier: GPL-2.0-only */
/* The landing log of a closed set is turned on or off, or gets another size: landing-change.c. */
#ifndef LANDING_CHANGE_H
#define LANDING_CHANGE_H

#include "meta.h"

struct landing_change {
	struct meta *meta;
	struct meta_state st;
	u32 slots;		/* that the log is to have */
	u64 blocks;		/* that are in it now */
	bool changes;		/* there is something to write */
};

/* May the size be changed at all, and what is in the log? fus_landing_end() in any case. */
int fus_landing_look(struct landing_change *c, struct meta *meta);
/* Is there room for @size, as it was given? Nothing is written. */
int fus_landing_plan(struct landing_change *c, const char *size);
/*
 * Write it, as a checkpoint would: until the end of that, the set has the log that it had. The
 * members are held.
 */
int fus_landing_write(struct landing_change *c);
void fus_landing_end(struct landing_change *c);

#endif
