// SPDX-License-Identifier: GPL-2.0-only
/* The map of an open set, as the kernel tells it: the answers to the message map. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runs.h"
#include "error.h"
#include "fusionctl.h"
#include "role.h"
#include "tell.h"

/* So many extents of the map at a time. */
#define WINDOW		65536U

/* "FIRST COUNT fast|slow|- SLOT STATE" */
static bool next_run(char **map, struct map_run *run)
{
	const char *line = strsep(map, "\n");
	char member[8], at[16], state[12];

	if (!line || sscanf(line, "%" SCNu64 " %" SCNu64 " %7s %15s %11s", &run->first, &run->nr,
			    member, at, state) != 5)
		return false;
	run->dev = !strcmp(member, fus_role_name[FAST]) ? FAST :
		   !strcmp(member, fus_role_name[SLOW]) ? SLOW : -1;
	run->slot = strtoull(at, NULL, 10);
	run->lost = !strcmp(state, "lost");
	run->stable = !strcmp(state, "stable");
	return true;
}

int fus_each_run(const char *name, uint64_t nr, void (*take)(void *ctx, const struct map_run *run),
		 void *ctx)
{
	char msg[64], *map, *line;
	struct map_run run;
	uint64_t next, end;
	int rc;

	for (next = 0; next < nr;) {
		end = nr - next < WINDOW ? nr : next + WINDOW;
		snprintf(msg, sizeof(msg), "map %" PRIu64 " %u", next, WINDOW);
		map = NULL;
		rc = fus_tell_set(name, msg, &map);
		if (rc)
			return rc;
		for (line = map; line && next_run(&line, &run) && run.first == next &&
		     run.nr <= end - next; next += run.nr)
			take(ctx, &run);
		free(map);
		if (next != end)
			return fus_fail(FC_FAILED, name, "cannot read the kernel's map; use "
					"matching versions of fusionctl and dm-fusion");
	}
	return 0;
}
