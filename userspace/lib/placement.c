// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which member each extent of an open set lies on, and how hot it is: the answers to the message
 * extents, which is sent for as many extents as fit into one, when the first of them is asked for.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "placement.h"
#include "error.h"
#include "fusionctl.h"
#include "open-set.h"
#include "role.h"
#include "tell.h"

#define WINDOW	4096U	/* most that the message returns */

/* "EXTENT fast|slow|- SLOT STATE HEAT AGE HOLD SECONDS VALID SHADOW REPLICA [PIN [LOGGED]]" */
static bool take_line(const char *line, uint64_t extent, struct placement_extent *e)
{
	char member[8], state[12], pin[8] = "-";
	uint64_t number;
	unsigned int heat, logged = 0;

	if (!line || sscanf(line, "%" SCNu64 " %7s %*s %11s %u %*s %*s %*s %*s %*s %*s %7s %u",
			    &number, member, state, &heat, pin, &logged) < 4 || number != extent ||
	    heat > UINT16_MAX)
		return false;
	e->heat = heat;
	e->logged = logged;
	e->pin = !strcmp(pin, fus_role_name[FAST]) ? FAST + 1 :
		 !strcmp(pin, fus_role_name[SLOW]) ? SLOW + 1 : 0;
	e->place = !strcmp(member, fus_role_name[FAST]) ? PLACE_FAST :
		   !strcmp(member, fus_role_name[SLOW]) ? PLACE_SLOW :
		   !strcmp(state, "lost") ? PLACE_LOST : PLACE_UNMAPPED;
	e->known = true;
	return true;
}

/* Ask for the extents beside this one as well. */
static int ask(struct placement *p, uint64_t extent)
{
	uint64_t next = extent / WINDOW * WINDOW, end = next + WINDOW;
	char msg[48], *answer = NULL, *line;
	int rc;

	if (end > p->extents)
		end = p->extents;
	snprintf(msg, sizeof(msg), "extents %" PRIu64 " %" PRIu64, next, end - next);
	rc = fus_tell_set(p->set, msg, &answer);
	if (rc)
		return rc;
	for (line = answer; next < end && take_line(strsep(&line, "\n"), next, &p->extent[next]);)
		next++;
	free(answer);
	return next == end ? 0 : fus_fail(FC_FAILED, p->set, "cannot read the places of extents "
					  "that the kernel returns; use matching versions of "
					  "fusionctl and dm-fusion");
}

int fus_placement_find(struct placement *p, uint64_t extent, const struct placement_extent **out)
{
	*out = &p->extent[extent];
	return (*out)->known ? 0 : ask(p, extent);
}

int fus_placement_get(const char *name, struct placement *p)
{
	struct set set;
	int rc;

	memset(p, 0, sizeof(*p));
	rc = fus_set_get(name, &set);
	if (rc)
		return rc;
	p->set = name;
	p->extents = set.st.extents;
	p->extent_bytes = (uint64_t)set.st.extent_sectors << 9;
	fus_set_put(&set);
	p->extent = calloc(p->extents, sizeof(*p->extent));
	return p->extent ? 0 : fus_fail(FC_FAILED, name, "not enough memory for its map; close "
					"programs and try again");
}

void fus_placement_put(struct placement *p)
{
	free(p->log.block);
	free(p->extent);
}
