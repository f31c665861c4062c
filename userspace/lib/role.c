// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decide which of two devices is the slow one.
 *
 * The kernel's rotational flag decides if the two differ in it, unless the sizes
 * contradict: a spinning disk smaller than the solid-state one is more likely a
 * flag that lies, as behind USB bridges and in virtual machines, or a set that
 * makes no sense. If both say the same, size decides if it is clear.
 */
#include <stdio.h>

#include "role.h"
#include "fusionctl.h"

const char *const fus_role_name[2] = { "fast", "slow" };

int fus_choose_slow(const struct role_fact f[2], char *why, size_t size)
{
	int bigger = f[1].sectors > f[0].sectors;
	bool clear = f[bigger].sectors / 2 > f[!bigger].sectors;
	bool unknown = f[0].rotational < 0 || f[1].rotational < 0;
	int spins;

	if (unknown || f[0].rotational == f[1].rotational) {
		const char *flag =
			unknown ? "the kernel does not report whether both are rotational" :
			f[0].rotational ? "both are rotational" : "neither is rotational";

		snprintf(why, size, clear ? "%s, the slow one is much larger" :
			 "%s, and their sizes are similar", flag);
		return clear ? bigger : -1;
	}
	spins = f[1].rotational;
	if (f[spins].sectors >= f[!spins].sectors) {
		snprintf(why, size, "the slow one is rotational");
		return spins;
	}
	snprintf(why, size, "the rotational one is smaller");
	return -1;
}

unsigned int fus_role_doubts(const struct role_fact f[2], bool one_disk)
{
	return (f[FAST].rotational > 0) << ROLE_FAST_ROTATES |
	       (f[FAST].sectors > f[SLOW].sectors) << ROLE_FAST_LARGER |
	       one_disk << ROLE_ONE_DISK;
}
