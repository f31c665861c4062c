// SPDX-License-Identifier: GPL-2.0-only
/* What adopt and release have in common: their options, and the devices of a set in transit. */
#include <libudev.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "in-transit.h"
#include "ask.h"
#include "device.h"
#include "error.h"
#include "fusionctl.h"
#include "scan.h"
#include "size.h"
#include "super.h"
#include "sysfs.h"
#include "verb.h"
#include "dm-fusion-codec.h"

int transit_check_options(const struct args *a)
{
	int rc = check_no_question(a);

	if (!rc && a->opt[OPT_RESUME] && a->opt[OPT_ABORT])
		rc = fus_fail(FC_USAGE, "--abort", "cannot be combined with --resume; choose one");
	return rc;
}

/* -- which devices --------------------------------------------------------------------------- */

/* The disk has no superblock for a time: its size and hardware tell. */
struct wanted {
	const struct fusion_sb *sb;	/* of the other member */
	unsigned int nr;
	char path[PATH_MAX];
};

static bool is_wanted(struct udev_device *udev, void *ctx)
{
	const dev_t devno = udev_device_get_devnum(udev);
	struct fusion_disk_ident ident;
	struct wanted *w = ctx;
	char text[32], node[160];
	struct device dev;
	uint64_t sectors;

	if (!fus_sysfs_read(devno, "size", text, sizeof(text)) ||
	    !fus_parse_number(text, UINT64_MAX, &sectors) || sectors != w->sb->peer_sectors)
		return false;
	/* one below it, such as a path of a multipath device */
	if (fus_sysfs_any(devno, "holders", NULL, NULL))
		return false;
	fus_device_node(devno, node, sizeof(node));
	if (fus_device_get(node, &dev))
		return false;
	memset(&ident, 0, sizeof(ident));
	fus_ident_set(&ident, &dev);
	fus_device_put(&dev);
	if (memcmp(&ident, &w->sb->peer, sizeof(ident)))
		return false;
	w->nr++;
	snprintf(w->path, sizeof(w->path), "%s", node);
	return false;
}

static int find_disk(const char *name, struct member *list, const struct member *other,
		     char path[PATH_MAX])
{
	const bool release = other->sb->transit.kind == FUSION_TRANSIT_RELEASE;
	struct wanted w = { .sb = other->sb };
	struct member *m;
	char ident[160];
	int rc;

	rc = fus_find_member(list, other->sb->peer_uuid, &m);
	if (rc)
		return rc;
	if (m) {
		snprintf(path, PATH_MAX, "%s", m->path);
		return 0;
	}
	fus_block_any(&(struct block_match){ 0 }, is_wanted, &w);
	if (w.nr == 1) {
		snprintf(path, PATH_MAX, "%s", w.path);
		return 0;
	}
	fus_missing_text(other, ident, sizeof(ident));
	if (release)
		return fus_fail(FC_MEMBER, name, "%s fit the disk that is being released (%s); "
				"name both: fusionctl release %s DISK", w.nr ? "several devices" :
				"no device", ident, other->path);
	return fus_fail(FC_MEMBER, name, "%s fit the disk that is being adopted (%s); name both: "
			"fusionctl adopt %s DISK %s", w.nr ? "several devices" : "no device", ident,
			name, other->path);
}

static bool is_other(const struct member *m, const char *name, u32 kind)
{
	return m->state == MEMBER_TRANSIT && fus_member_called(m, name) &&
	       m->sb->transit.dev != m->sb->role && m->sb->transit.kind == kind;
}

int transit_find(const char *name, enum fusion_transit_kind kind, char path[2][PATH_MAX])
{
	struct member *list = NULL, *m = NULL, *other;
	int rc;

	rc = fus_scan_members(&list);
	for (other = rc ? NULL : list; other && !is_other(other, name, kind); other = other->next)
		;
	if (!rc && !other) {
		rc = fus_find_named(list, name, &m);
		if (!rc && m->state == MEMBER_TRANSIT)
			rc = fus_check_member(m);
		if (!rc)
			rc = fus_fail(FC_MEMBER, name, "no device of it is in transit; %s",
				      kind == FUSION_TRANSIT_RELEASE ? "leave out that option, to "
				      "begin or to go on" : "fusionctl list shows the members");
	}
	if (!rc) {
		snprintf(path[1], PATH_MAX, "%s", other->path);
		*path[0] = 0;
	}
	/* a plain disk may be anywhere by now */
	if (!rc && !fusion_sb_released(other->sb))
		rc = find_disk(name, list, other, path[0]);
	fus_free_members(list);
	return rc;
}

int transit_check_no_copy(const struct transit *t)
{
	struct member *list, *m;
	int rc;

	rc = fus_scan_members(&list);
	if (rc)
		return rc;
	rc = fus_find_member(list, t->sb.peer_uuid, &m);
	if (!rc && m && m->devno != t->o[t->disk].devno)
		rc = fus_fail(FC_MEMBER, t->o[t->disk].path, "is a copy of %s, which is the disk "
			      "that is being %s; name that one", m->path,
			      t->sb.transit.kind == FUSION_TRANSIT_RELEASE ? "released" :
			      "adopted");
	fus_free_members(list);
	return rc;
}

int transit_check_name(const struct transit *t, const char *name)
{
	char uuid[UUID_TEXT];

	if (!strcmp(t->sb.label, name) ||
	    !strcasecmp(fus_uuid_text(uuid, t->sb.set_uuid), name))
		return 0;
	return fus_fail(FC_MEMBER, t->o[t->other].path, "is of the set %s, not of %s; give that "
			"name", t->sb.label, name);
}
