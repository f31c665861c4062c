/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cut-every: its scenarios.
 *
 * cut-every.c		each is cut everywhere, and so is each recovery
 * cut-scenarios.c	what is done, and the content that it begins with
 */
#ifndef CUT_EVERY_H
#define CUT_EVERY_H

#include <linux/types.h>
#include <stdbool.h>

#include "power.h"

/* The place of each extent at the start. */
enum {
	ON_FAST		= 0,	/* stable */
	ON_SLOW		= 8,
	HALF_FAST	= 16,	/* open, the first half written */
	HALF_SLOW	= 20,
	NOTHING		= 24,
	FILLER		= 32,	/* nothing either, but to begin with */
	VERIFIED	= 40,	/* those from here on are of no interest */
};

/* The first sector of an extent. */
static inline __u64 at(unsigned int extent)
{
	return (__u64)extent * rig.extent_sectors;
}

/* @act returns false where it ends early, which is well if the power is gone. NULL: nothing. */
struct scenario {
	const char *name;	/* NULL: the end of the list */
	bool (*act)(void);
};

extern const struct scenario scenarios[];
extern const struct scenario log_scenarios[];	/* only with a landing log */

/* Write the content that each scenario begins with, to a set that is empty. */
bool populate(void);

#endif
