/* SPDX-License-Identifier: GPL-2.0-only */
/* The profiles of verb set: profile.c. */
#ifndef PROFILE_H
#define PROFILE_H

/* The profiles of set, one after the other; NULL after the last. */
const char *profile_name(unsigned int i);

#define PROFILE_SETTINGS	7

struct profile {
	const char *name;
	const char *setting[PROFILE_SETTINGS];	/* "key=value" */
};

/* NULL after a message. */
const struct profile *find_profile(const char *name);

#endif
