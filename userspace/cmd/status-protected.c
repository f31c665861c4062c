// SPDX-License-Identifier: GPL-2.0-only
/* Verb status: what would be left of the fast member's data without it. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "fusionctl.h"
#include "json.h"
#include "open-set.h"
#include "protected.h"
#include "status.h"

static void print_share(const struct fusion_status *st)
{
	char age[AGE_TEXT];

	printf("%u %% of what is on the fast member, as of ", fus_status_protected(st));
	if (st->point_age)
		printf("%s ago", fus_age_text(age, st->point_age));
	else
		printf("now");
	if (st->metadata_fast)
		printf("; metadata %u %%", fus_status_metadata(st));
	putchar('\n');
}

void protected_print(const struct set *set)
{
	const struct fusion_status *st = &set->st;
	const char *setting;

	/* opened read-only, the set does not look after that */
	if (!strcmp(st->replica, "-"))
		return;
	fputs("protected ", stdout);
	if (!fus_protects(st, &setting))
		printf("nothing, as %s is %s; to change that: fusionctl set %s %sshadow_age=3m\n",
		       setting, strcmp(setting, "shadow") ? "never" : "off", set->m.name,
		       strcmp(setting, "shadow") ? "" : "shadow=on ");
	else if (!st->on_fast)
		puts("nothing is on the fast member");
	else if (!st->pointed)
		puts("nothing yet, the slow member has not recorded a copy");
	else
		print_share(st);
}

struct json_object *protected_json(const struct fusion_status *st)
{
	const uint64_t extent = st->extent_sectors << 9;
	struct json_object *o = json_object_new_object();

	fus_json_add_u64(o, "extents", st->protected);
	fus_json_add_u64(o, "bytes", st->protected * extent);
	fus_json_add_u64(o, "fast_extents", st->on_fast);
	fus_json_add_u64(o, "fast_bytes", st->on_fast * extent);
	fus_json_add_u64(o, "percent", fus_status_protected(st));
	fus_json_add_u64(o, "metadata", st->metadata);
	fus_json_add_u64(o, "metadata_fast", st->metadata_fast);
	json_object_object_add(o, "as_of", st->pointed ?
			       json_object_new_uint64(st->point_age) : NULL);
	return o;
}
