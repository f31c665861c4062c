// SPDX-License-Identifier: GPL-2.0-only
/* Verb version. */
#include <json-c/json.h>
#include <stdio.h>

#include "version.h"
#include "dm.h"
#include "fusionctl.h"
#include "json.h"
#include "output.h"
#include "verb.h"
#include "dm-fusion-codec.h"

/* The text is "" if the target is not loaded. */
static int target_version(char *text, size_t size)
{
	unsigned int target[3];
	bool found;
	int rc;

	*text = 0;
	rc = fus_dm_target_version(false, target, &found);
	if (!rc && found)
		snprintf(text, size, "%u.%u.%u", target[0], target[1], target[2]);
	return rc;
}

int version_json(struct json_object **o)
{
	char text[64];
	int rc = target_version(text, sizeof(text));

	if (rc)
		return rc;
	*o = fus_json_base();
	fus_json_add_str(*o, "fusionctl", FUSIONCTL_VERSION);
	fus_json_add_u64(*o, "format", FUSION_VERSION);
	fus_json_add_str(*o, "target", *text ? text : NULL);
	return 0;
}

int cmd_version(const struct args *a)
{
	struct json_object *o;
	char text[64];
	int rc;

	if (a->opt[OPT_JSON]) {
		rc = version_json(&o);
		if (!rc)
			print_json(o, false);
		return rc;
	}
	rc = target_version(text, sizeof(text));
	if (!rc)
		printf("fusionctl %s, on-disk format %d, kernel target %s\n", FUSIONCTL_VERSION,
		       FUSION_VERSION, *text ? text : "not loaded");
	return rc;
}
