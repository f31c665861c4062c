// SPDX-License-Identifier: GPL-2.0-only
/* Devices opened by salvage, for people. */
#include <stdio.h>

#include "show-rescued.h"
#include "dm.h"
#include "rescued.h"
#include "role.h"
#include "size.h"
#include "text.h"

unsigned int rescued_print(const struct mapping *list, const char *name)
{
	char size[SIZE_TEXT], from[256], line[1024], safe[2 * sizeof(line)];
	unsigned int nr = 0;
	struct rescued r;

	for (; list; list = list->next) {
		if (!fus_rescued_is(list, name))
			continue;
		fus_rescued_get(list, &r);
		if (*r.node)
			snprintf(from, sizeof(from), "from its %s member %s",
				 r.role < 0 ? "other" : fus_role_name[r.role], r.node);
		else
			snprintf(from, sizeof(from), "of which there is nothing");
		snprintf(line, sizeof(line), "%s: rescued by salvage, read-only: %s of the set %s, "
			 "%s, %s; fusionctl close %s closes it", list->name,
			 r.stale ? "stale extents" : "what is left", r.label,
			 fus_size_text(size, r.bytes), from, list->name);
		puts(fus_safe_text(safe, sizeof(safe), line, sizeof(line), fus_utf8_output()));
		nr++;
	}
	return nr;
}
