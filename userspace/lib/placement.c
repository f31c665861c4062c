// SPDX-License-Identifier: GPL-2.0-only
/* Which member each extent of an open set lies on, and how hot it is. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "placement.h"
#include "error.h"
#include "open-set.h"
#include "runs.h"
#include "tell.h"

#define CELLS	4096	/* most that the message heat returns */
#define NUMBER	"%" SCNu64 " "

static void take_run(void *ctx, const struct map_run *run)
{
	struct placement *p = ctx;

	memset(&p->place[run->first], run->lost ? PLACE_LOST : run->dev < 0 ? PLACE_UNMAPPED :
	       run->dev == FAST ? PLACE_FAST : PLACE_SLOW, run->nr);
}

/* Lines "first count fast slow mean max protected" */
static bool take_heat(struct placement *p, char *text)
{
	uint64_t next = 0, first, count, mean, max;
	char *line;

	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		if (sscanf(line, NUMBER NUMBER "%*u %*u " NUMBER NUMBER, &first, &count, &mean,
			   &max) != 4 || first != next || count > p->extents - next ||
		    mean > UINT16_MAX)
			return false;
		for (uint64_t i = 0; i < count; i++)
			p->heat[first + i] = mean;
		next += count;
	}
	return next == p->extents;
}

static int get_heat(const char *set, struct placement *p)
{
	char msg[32], *answer = NULL;
	int rc;

	snprintf(msg, sizeof(msg), "heat %" PRIu64, p->extents < CELLS ? p->extents : CELLS);
	rc = fus_tell_set(set, msg, &answer);
	if (!rc && (!answer || !take_heat(p, answer)))
		rc = fus_fail(FC_FAILED, set, "cannot read the heat that the kernel returns; use "
			      "matching versions of fusionctl and dm-fusion");
	free(answer);
	return rc;
}

int fus_placement_get(const char *name, struct placement *p)
{
	struct set set;
	int rc;

	memset(p, 0, sizeof(*p));
	rc = fus_set_get(name, &set);
	if (rc)
		return rc;
	p->extents = set.st.extents;
	p->extent_bytes = (uint64_t)set.st.extent_sectors << 9;
	fus_set_put(&set);
	p->place = malloc(p->extents);
	p->heat = calloc(p->extents, sizeof(*p->heat));
	if (!p->place || !p->heat)
		return fus_fail(FC_FAILED, name, "not enough memory for its map; close programs "
				"and try again");
	rc = fus_each_run(name, p->extents, take_run, p);
	return rc ? rc : get_heat(name, p);
}

void fus_placement_put(struct placement *p)
{
	free(p->place);
	free(p->heat);
}
