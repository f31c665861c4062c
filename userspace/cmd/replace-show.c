// SPDX-License-Identifier: GPL-2.0-only
/* Verb replace: output. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "replace.h"
#include "error.h"
#include "fusionctl.h"
#include "hit-files.h"
#include "json.h"
#include "meta.h"
#include "new-set.h"
#include "output.h"
#include "role.h"
#include "salvage.h"
#include "set-json.h"
#include "size.h"
#include "super.h"
#include "verb.h"

/* More of them would hide the rest. */
#define MAX_SHOWN	32

static const char *extents(const struct replacing *r, uint64_t nr, char buf[EXTENTS_TEXT])
{
	return fus_extents_text(buf, nr, r->sb.extent_sectors);
}

/* Extents that are, or will be, on the way. */
static uint64_t to_move(const struct replacing *r)
{
	return r->set.old && r->set.st.old.role >= 0 ? r->set.st.old.left :
	       r->running || r->begun || r->over ? 0 : r->set.st.used[r->role];
}

void replace_show_plan(const struct replacing *r)
{
	const struct device *old = &r->disk[OLD], *new = &r->disk[NEW];
	char nr[EXTENTS_TEXT], ident[160], size[SIZE_TEXT];

	fus_device_ident(new, ident, sizeof(ident));
	printf("%s: %s would move from its %s member %s to %s (%s%s%s)\n", r->name,
	       extents(r, to_move(r), nr), fus_role_name[r->role], old->path, new->path, ident,
	       *ident ? ", " : "", fus_size_text(size, new->sectors << 9));
	if (*r->content)
		printf("%s: would be erased, with %s\n", new->path, r->content);
}

/* What the set does not use of the disk that has come. */
static void show_more(const struct replacing *r)
{
	const struct device *new = replace_coming(r);
	const uint64_t more = new->sectors > r->sb.self_sectors ?
			      new->sectors - r->sb.self_sectors : 0;
	char size[SIZE_TEXT];

	/* less than an extent is of no use */
	if (more >= 2 * (uint64_t)r->sb.extent_sectors)
		printf("%s: has %s more than %s uses; to use that: fusionctl grow %s\n", new->path,
		       fus_size_text(size, more << 9), r->name, r->name);
}

void replace_show(const struct replacing *r)
{
	const struct device *going = replace_going(r), *coming = replace_coming(r);
	char nr[EXTENTS_TEXT];

	if (r->over && !r->wiped) {
		printf("%s: %s is its %s member; %s is none, nothing to do\n", r->name,
		       coming->path, fus_role_name[r->role], going->path);
		return;
	}
	if (r->ended || r->over) {
		printf("%s: %s is its %s member; %s%s\n", r->name, coming->path,
		       fus_role_name[r->role], going->path, r->wiped ? " is free" :
		       " has left, but was not wiped");
		if (r->ended && !r->back)
			show_more(r);
		return;
	}
	printf("%s: %s, to move from %s to %s, goes on by itself; to follow that, and to end it: "
	       "fusionctl replace %s --wait\n", r->name, extents(r, to_move(r), nr), going->path,
	       coming->path, r->name);
}

/* -- what cannot be read ----------------------------------------------------------------------- */

static struct salvage as_salvage(const struct replacing *r)
{
	return (struct salvage){ .part = r->lost, .nr = r->nr_lost };
}

int replace_show_lost(const struct replacing *r)
{
	const struct salvage s = as_salvage(r);
	const uint64_t per = r->sb.extent_sectors;

	for (size_t i = 0; i < r->nr_lost && i < MAX_SHOWN; i++) {
		const uint64_t first = r->lost[i].start / per, nr = r->lost[i].nr / per;

		if (nr == 1)
			printf("unreadable: extent %" PRIu64 "\n", first);
		else
			printf("unreadable: extents %" PRIu64 "-%" PRIu64 "\n", first,
			       first + nr - 1);
	}
	if (r->nr_lost > MAX_SHOWN)
		printf("unreadable: and %zu more ranges\n", r->nr_lost - MAX_SHOWN);
	return r->a->opt[OPT_FILES] && r->nr_lost ?
	       list_hit_files(r->a->opt[OPT_FILES], &s, NULL) : 0;
}

/* -- for programs ------------------------------------------------------------------------------ */

static struct json_object *lost_json(const struct replacing *r)
{
	struct json_object *list = json_object_new_array(), *o;

	for (size_t i = 0; i < r->nr_lost; i++) {
		o = json_object_new_object();
		fus_json_add_u64(o, "first", r->lost[i].start / r->sb.extent_sectors);
		fus_json_add_u64(o, "extents", r->lost[i].nr / r->sb.extent_sectors);
		json_object_array_add(list, o);
	}
	return list;
}

static const char *state(const struct replacing *r, bool dry_run)
{
	return dry_run && !r->running && !r->over ? "planned" :
	       r->ended || r->over ? "ended" : r->back ? "going_back" : "moving";
}

int replace_json(const struct replacing *r, bool dry_run)
{
	const struct device *going = replace_going(r), *coming = replace_coming(r);
	const bool planned = dry_run && !r->running && !r->over;
	const struct salvage s = as_salvage(r);
	struct json_object *o = fus_json_base();
	struct fusion_sb fast = r->sb;
	char node[2][160];
	const char *path[2] = { node[FAST], node[SLOW] };
	int rc = 0;

	for (int dev = 0; dev < 2; dev++)
		fus_device_node(r->set.member[dev], node[dev], sizeof(node[dev]));
	if (r->role == SLOW)
		fus_sb_of_peer(&r->sb, &fast);
	fus_json_add_bool(o, "dry_run", dry_run);
	fus_json_add_set(o, r->name, true, &fast, path);
	fus_json_add_str(o, "member", fus_role_name[r->role]);
	fus_json_add_str(o, "state", state(r, dry_run));
	fus_json_add_str(o, "old_device", going->path);
	fus_json_add_str(o, "new_device", coming->path);
	fus_json_add_u64(o, "new_bytes", coming->sectors << 9);
	fus_json_add_str(o, "content", *r->content ? r->content : NULL);
	fus_json_add_u64(o, "left", to_move(r));
	fus_json_add_u64(o, "unreadable", r->set.old ? r->set.st.old.unreadable : 0);
	json_object_object_add(o, "unreadable_ranges", lost_json(r));
	if (planned)
		json_object_object_add(o, "paused_ms", NULL);
	else
		fus_json_add_u64(o, "paused_ms", r->paused_ms);
	fus_json_add_bool(o, "wiped", r->wiped);
	json_object_object_add(o, "warnings", new_set_doubts_json(r->doubts));
	if (r->a->opt[OPT_FILES] && r->nr_lost)
		rc = list_hit_files(r->a->opt[OPT_FILES], &s, o);
	print_json(o, false);
	return rc;
}
