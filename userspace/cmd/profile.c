// SPDX-License-Identifier: GPL-2.0-only
/* The settings that suit a use. fusionctl(8) gives the reasons for the values. */
#include <string.h>

#include "profile.h"
#include "error.h"
#include "fusionctl.h"
#include "nearest.h"

static const struct profile profiles[] = {
	{ "desktop", {
		"half_life=1d", "duty=10%", "idle=2s", "reserve=5%", "commit_interval=1s",
		"replica_interval=2m", "standby=10m",
	} },
	{ "database", {
		"half_life=30m", "duty=40%", "idle=200ms", "reserve=1%", "commit_interval=200ms",
		"replica_interval=15s", "standby=0",
	} },
	{ "archive", {
		"half_life=7d", "duty=25%", "idle=10s", "reserve=10%", "commit_interval=5s",
		"replica_interval=5m", "standby=15m",
	} },
};

#define NR_PROFILES	(sizeof(profiles) / sizeof(profiles[0]))

const char *profile_name(unsigned int i)
{
	return i < NR_PROFILES ? profiles[i].name : NULL;
}

const struct profile *find_profile(const char *name)
{
	const char *meant;

	for (size_t i = 0; i < NR_PROFILES; i++)
		if (!strcmp(profiles[i].name, name))
			return &profiles[i];
	meant = fus_nearest_word(name, profile_name);
	if (meant)
		fus_fail(FC_USAGE, name, "no such profile; did you mean %s?", meant);
	else
		fus_fail(FC_USAGE, name, "no such profile; choose desktop, database or archive");
	return NULL;
}
