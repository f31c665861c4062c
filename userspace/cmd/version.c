// SPDX-License-Identifier: GPL-2.0-only
/* Verb version. */
#include <json-c/json.h>
#include <stdio.h>

#include "dm.h"
#include "fusionctl.h"
#include "json.h"
#include "output.h"
#include "verb.h"
#include "dm-fusion-codec.h"

int cmd_version(const struct args *a)
{
	unsigned int target[3];
	char text[64] = "";
	struct json_object *o;
	bool found;
	int rc;

	rc = fus_dm_target_version(false, target, &found);
	if (rc)
		return rc;
	if (found)
		snprintf(text, sizeof(text), "%u.%u.%u", target[0], target[1], target[2]);
	if (a->opt[OPT_JSON]) {
		o = fus_json_base();
		fus_json_add_str(o, "fusionctl", FUSIONCTL_VERSION);
		fus_json_add_u64(o, "format", FUSION_VERSION);
		fus_json_add_str(o, "target", found ? text : NULL);
		print_json(o, false);
	} else {
		printf("fusionctl %s, on-disk format %d, kernel target %s\n", FUSIONCTL_VERSION,
		       FUSION_VERSION, found ? text : "not loaded");
	}
	return 0;
}
