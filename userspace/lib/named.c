// SPDX-License-Identifier: GPL-2.0-only
/* Find the open set that a word means: by its name, its label, its uuid, or a device. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <uuid/uuid.h>

#include "named.h"
#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "health.h"
#include "nearest.h"
#include "released.h"
#include "scan.h"
#include "sets.h"
#include "size.h"
#include "super.h"
#include "sysfs.h"
#include "dm-fusion-codec.h"

struct search {
	const char *prefix;	/* of the device mapper's uuid */
	const char *label;
	char *name;
	size_t size;
};

/* Return: whether the device is a set, or one that salvage made. */
static bool take_mapping(dev_t devno, void *ctx)
{
	const struct search *s = ctx;
	char uuid[130];

	return fus_sysfs_read(devno, "dm/uuid", uuid, sizeof(uuid)) &&
	       !strncmp(uuid, s->prefix, strlen(s->prefix)) && !strstr(uuid, STALE_SUFFIX) &&
	       (strcmp(s->prefix, DM_PREFIX) || !fus_is_released(devno)) &&
	       fus_sysfs_read(devno, "dm/name", s->name, s->size);
}

/* The device itself, or the set of which it is a member. */
static bool find_by_device(const char *path, struct search *s)
{
	struct stat st;

	return !stat(path, &st) && S_ISBLK(st.st_mode) &&
	       (take_mapping(st.st_rdev, s) ||
		fus_sysfs_any(st.st_rdev, "holders", take_mapping, s));
}

static int find_by_uuid(const unsigned char uuid[16], struct search *s, bool *found)
{
	char text[UUID_TEXT], dm_uuid[64];
	struct mapping m;
	int rc;

	snprintf(dm_uuid, sizeof(dm_uuid), "%s%s", s->prefix, fus_uuid_text(text, uuid));
	rc = fus_dm_get(NULL, dm_uuid, MAPPING_INFO, &m);
	*found = !rc && m.exists &&
		 (strcmp(s->prefix, DM_PREFIX) || !fus_is_released(m.devno));
	if (*found)
		snprintf(s->name, s->size, "%s", m.name);
	return rc;
}

/* Return: whether it is a fast member that has the label; a slow one may have an earlier label. */
static bool is_labelled(dev_t devno, void *ctx)
{
	const struct search *s = ctx;
	struct member *m;
	bool is;

	is = !fus_member_at(devno, &m) && m && fus_has_identity(m) &&
	     m->sb->role == FUSION_FAST && !strcmp(m->sb->label, s->label);
	fus_free_members(m);
	return is;
}

/* A set that is open under a name other than its label. */
static int find_by_label(struct search *s, bool *found)
{
	struct mapping *list;
	int rc;

	rc = fus_dm_list(MAPPING_INFO, &list);
	for (struct mapping *m = list; m && !rc; m = m->next) {
		if (!m->live || !fus_sysfs_any(m->devno, "slaves", is_labelled, s))
			continue;
		if (*found)
			rc = fus_fail(FC_FAILED, s->label, "both %s and %s are open sets of that "
				      "name; give the one that is meant", s->name, m->name);
		*found = true;
		snprintf(s->name, s->size, "%s", m->name);
	}
	fus_dm_free_list(list);
	return rc;
}

static int find(const char *word, struct search *s, bool *found)
{
	unsigned char uuid[16];

	if (strchr(word, '/')) {
		*found = find_by_device(word, s);
		return 0;
	}
	if (!uuid_parse(word, uuid))
		return find_by_uuid(uuid, s, found);
	s->label = word;
	return fus_valid_name(word) ? find_by_label(s, found) : 0;
}

int fus_open_name(const char *word, bool salvaged, char *name, size_t size, bool *found)
{
	struct search s = { .prefix = DM_PREFIX, .name = name, .size = size };
	struct mapping m;
	int rc;

	*found = false;
	if (fus_valid_name(word)) {
		rc = fus_dm_get(word, NULL, MAPPING_INFO, &m);
		if (rc || m.exists)
			return rc;
	}
	rc = find(word, &s, found);
	/* a device that salvage made has only its own name */
	if (rc || *found || !salvaged || s.label)
		return rc;
	s.prefix = DM_SALVAGE_PREFIX;
	return find(word, &s, found);
}

int fus_open_set_name(const char *word, char *name, size_t size, bool *found)
{
	struct mapping m;
	int rc;

	rc = fus_open_name(word, false, name, size, found);
	if (rc || *found || !fus_valid_name(word))
		return rc;
	rc = fus_dm_get(word, NULL, MAPPING_INFO, &m);
	*found = !rc && fus_dm_is_set(&m) && m.live;
	if (*found)
		snprintf(name, size, "%s", word);
	return rc;
}

/* -- the one that was meant ------------------------------------------------------- */

static const struct mapping *open_sets;

static const char *nth_open(unsigned int i)
{
	const struct mapping *m = open_sets;

	for (; m && i; i--)
		m = m->next;
	return m ? m->name : NULL;
}

static bool describe_closed(const struct found_set *s, const char *name, struct fus_error *e)
{
	const struct reason *why = fus_worst_reason(s);

	memset(e, 0, sizeof(*e));
	e->code = FC_FAILED;
	snprintf(e->subject, sizeof(e->subject), "%s", name);
	if (s->condition >= CONDITION_FAILED && why) {
		snprintf(e->what, sizeof(e->what), "is closed, and cannot be opened: %s",
			 why->text);
		snprintf(e->remedy, sizeof(e->remedy), "%s", why->remedy);
	} else {
		snprintf(e->what, sizeof(e->what), "is closed");
		snprintf(e->remedy, sizeof(e->remedy), "fusionctl open %s opens it", name);
	}
	return true;
}

bool fus_closed_error(const char *name, struct fus_error *e)
{
	struct found_sets sets = { 0 };
	struct member *list = NULL;
	bool found = false;

	if (!fus_scan_members(&list) && !fus_find_sets(NULL, list, &sets))
		for (unsigned int i = 0; i < sets.nr && !found; i++)
			found = fus_member_called(sets.set[i].any, name) &&
				describe_closed(&sets.set[i], name, e);
	fus_free_sets(&sets);
	fus_free_members(list);
	return found;
}

int fus_fail_not_open(const char *name)
{
	const char *meant = NULL;
	struct mapping *list;
	struct fus_error closed;

	if (fus_closed_error(name, &closed))
		return fus_fail(FC_FAILED, name, "%s; %s", closed.what, closed.remedy);
	if (!fus_dm_list(MAPPING_INFO, &list)) {
		open_sets = list;
		meant = fus_nearest_word(name, nth_open);
	}
	if (meant)
		fus_fail(FC_FAILED, name, "no such set is open; did you mean %s?", meant);
	else
		fus_fail(FC_FAILED, name, "no such set is open; fusionctl list shows the open "
			 "sets");
	fus_dm_free_list(list);
	return FC_FAILED;
}
