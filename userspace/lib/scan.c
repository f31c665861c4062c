// SPDX-License-Identifier: GPL-2.0-only
/* Members among all block devices. */
#include <errno.h>
#include <fcntl.h>
#include <libudev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "scan.h"
#include "device.h"
#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "nearest.h"
#include "probe.h"
#include "role.h"
#include "size.h"
#include "super.h"
#include "sysfs.h"
#include "trio.h"
#include "dm-fusion-codec.h"

static void free_member(struct member *m)
{
	if (m) {
		free(m->cover);
		free(m->sb);
	}
	free(m);
}

void fus_free_members(struct member *list)
{
	struct member *next;

	for (; list; list = next) {
		next = list->next;
		free_member(list);
	}
}

/*
 * A new file system or partition table on a former member may leave one of its two superblock
 * copies behind. So a single copy counts only if there is nothing else.
 */
static int check_cover(struct member *m)
{
	char content[CONTENT_TEXT];

	if ((fus_has_super(m) && m->state != MEMBER_SHRUNK && !m->why) ||
	    m->state == MEMBER_TRANSIT ||
	    !fus_probe_cover(m->path, m->devno, content, sizeof(content)))
		return 0;
	m->cover = strdup(content);
	if (!fus_has_super(m))
		memset(m->sb, 0, sizeof(*m->sb));
	m->state = MEMBER_COVERED;
	return m->cover ? 0 : -ENOMEM;
}

/* *m is NULL if the device has no fusion superblock. */
static int read_member(const char *path, dev_t devno, uint64_t sectors, struct member **m)
{
	struct member *new = calloc(1, sizeof(*new));
	int fd, err = -ENOMEM;

	*m = NULL;
	if (!new)
		return err;
	new->sb = calloc(1, sizeof(*new->sb));
	/* past the page cache, which the kernel's target bypasses */
	fd = fus_open_node(path, devno, O_RDONLY | O_DIRECT);
	err = !new->sb ? -ENOMEM : fd < 0 ? -errno :
	      fus_super_read(fd, sectors, &new->state, new->sb, &new->why, new->why_text);
	if (fd >= 0)
		close(fd);
	if (err || new->state == MEMBER_NONE) {
		free_member(new);
		return err;
	}
	snprintf(new->path, sizeof(new->path), "%s", path);
	new->devno = devno;
	new->sectors = sectors;
	err = check_cover(new);
	if (err) {
		free_member(new);
		return err;
	}
	*m = new;
	return 0;
}

int fus_member_at(dev_t devno, struct member **m)
{
	char text[32], node[160];
	uint64_t sectors;

	*m = NULL;
	/* a read from a suspended device waits, perhaps for this very process */
	if (fus_sysfs_read(devno, "dm/suspended", text, sizeof(text)) && *text == '1')
		return -EAGAIN;
	if (!fus_sysfs_read(devno, "size", text, sizeof(text)) ||
	    !fus_parse_number(text, UINT64_MAX, &sectors) || !sectors)
		return -ENXIO;
	fus_device_node(devno, node, sizeof(node));
	return read_member(node, devno, sectors, m);
}

/* The place of the next member in the list; never the member that is looked for. */
static bool add_member(struct udev_device *dev, void *ctx)
{
	const char *name = udev_device_get_sysname(dev);
	struct member ***tail = ctx, *m;

	/* floppies and optical drives take seconds to say that they are empty */
	if (!strncmp(name, "fd", 2) || !strncmp(name, "sr", 2) ||
	    fus_member_at(udev_device_get_devnum(dev), &m) || !m)
		return false;
	/* a half of a mirror begins as the mirror does, which is the member */
	if (fus_probe_raid(m->path, m->devno)) {
		free_member(m);
	} else {
		**tail = m;
		*tail = &m->next;
	}
	return false;
}

int fus_scan_members(struct member **list)
{
	struct member **first = list;
	int err;

	*list = NULL;
	err = fus_block_any(&(struct block_match){ 0 }, add_member, &list);
	if (err < 0)
		return fus_fail(FC_FAILED, BLOCK_CLASS, "%s; mount sysfs, or name both devices",
				strerror(-err));
	fus_set_apart(*first);
	return 0;
}

void fus_covered_text(const struct member *m, char *buf, size_t size)
{
	if (*m->sb->label)
		snprintf(buf, size, "was the %s member of %s and contains %s now",
			 fus_role_name[m->sb->role], m->sb->label, m->cover);
	else
		snprintf(buf, size, "was a member of a set and contains %s now", m->cover);
}

int fus_check_member(const struct member *m)
{
	char was[SIZE_TEXT], is[SIZE_TEXT], text[CONTENT_TEXT + 128];

	switch (m->state) {
	case MEMBER_OK:
		return 0;
	case MEMBER_SHRUNK:
		return fus_fail(FC_MEMBER, m->path, "shrank from %s to %s; restore its old size",
				fus_size_text(was, m->sb->self_sectors << 9),
				fus_size_text(is, m->sectors << 9));
	case MEMBER_UNKNOWN:
		return fus_fail(FC_FAILED, m->path, "%s; use a newer fusionctl and dm-fusion",
				m->why);
	case MEMBER_TRANSIT:
		if (fus_is_renewed(m))
			return fus_fail(FC_REFUSED, m->path, "is the slow member of %s, %s; run "
					"fusionctl uuid FAST %s with its fast member",
					m->sb->label, fus_transit_text(m->sb), m->path);
		if (m->sb->transit.state == FUSION_TRANSIT_PLANNED)
			return fus_fail(FC_REFUSED, m->path, "is a member of %s, %s; reboot, or "
					"cancel that with fusionctl adopt %s --abort",
					m->sb->label, fus_transit_text(m->sb), m->sb->label);
		return fus_fail(FC_REFUSED, m->path, "is a member of %s, %s; fusionctl %s "
				"%s --resume%s", m->sb->label, fus_transit_text(m->sb),
				fus_transit_verb(m->sb), m->sb->label,
				fusion_sb_released(m->sb) ? "" : ", or --abort");
	case MEMBER_PREPARED:
		fus_apart_text(m->sb, text, sizeof(text));
		return fus_fail(FC_REFUSED, m->path, "%s, and is not a member of it yet; run "
				"fusionctl replace with both disks again, or fusionctl wipe %s",
				text, m->path);
	case MEMBER_LEFT:
		fus_apart_text(m->sb, text, sizeof(text));
		return fus_fail(FC_MEMBER, m->path, "%s; run fusionctl wipe %s to use it for "
				"something else", text, m->path);
	case MEMBER_COVERED:
		fus_covered_text(m, text, sizeof(text));
		return fus_fail(FC_MEMBER, m->path, "%s; if that can be overwritten, run fusionctl "
				"repair with both members and --force", text);
	default:
		return fus_fail(FC_DAMAGED, m->path, "both copies of its superblock are damaged "
				"(%s); run fusionctl repair with both members", m->why);
	}
}

int fus_load_member(const char *path, struct member **m)
{
	struct device dev;
	int rc, err;

	*m = NULL;
	rc = fus_device_get(path, &dev);
	if (rc)
		return rc;
	err = read_member(path, dev.devno, dev.sectors, m);
	fus_device_put(&dev);
	if (err)
		return fus_fail(FC_FAILED, path, "cannot read: %s; check the device",
				strerror(-err));
	if (!*m)
		return fus_fail(FC_MEMBER, path, "not a member of a fusion set; fusionctl list "
				"shows the members");
	rc = fus_check_member(*m);
	if (rc) {
		free_member(*m);
		*m = NULL;
	}
	return rc;
}

bool fus_member_stands_on(const struct member *upper, const struct member *lower)
{
	char name[128], attr[160];

	fus_sysfs_name(upper->devno, name, sizeof(name));
	snprintf(attr, sizeof(attr), "holders/%s", name);
	return fus_sysfs_has(lower->devno, attr);
}

bool fus_under_another(const struct member *list, const struct member *m)
{
	for (; list; list = list->next)
		if (list != m && !memcmp(list->sb->dev_uuid, m->sb->dev_uuid, 16) &&
		    fus_member_stands_on(list, m))
			return true;
	return false;
}

bool fus_has_identity(const struct member *m)
{
	return m->state == MEMBER_OK || m->state == MEMBER_SHRUNK || m->state == MEMBER_TRANSIT;
}

bool fus_has_super(const struct member *m)
{
	return fus_has_identity(m) || m->state == MEMBER_PREPARED || m->state == MEMBER_LEFT;
}

bool fus_is_renewed(const struct member *m)
{
	return m->state == MEMBER_TRANSIT && m->sb->transit.kind == FUSION_TRANSIT_UUID;
}

const struct member *fus_renewed_of(const struct member *list, const struct member *fast)
{
	if (!fus_has_identity(fast) || fast->sb->role != FUSION_FAST)
		return NULL;
	for (; list; list = list->next)
		if (fus_is_renewed(list) &&
		    !memcmp(list->sb->transit.was_dev[FUSION_FAST], fast->sb->dev_uuid, 16))
			return list;
	return NULL;
}

bool fus_member_is(const struct member *m, const unsigned char uuid[16])
{
	return fus_has_super(m) && m->state != MEMBER_LEFT &&
	       !memcmp(m->sb->dev_uuid, uuid, sizeof(m->sb->dev_uuid));
}

bool fus_name_each_other(const struct member *a, const struct member *b)
{
	return fus_member_is(a, b->sb->peer_uuid) && fus_member_is(b, a->sb->peer_uuid);
}

int fus_find_member(struct member *list, const unsigned char uuid[16], struct member **found)
{
	*found = NULL;
	for (struct member *m = list; m; m = m->next) {
		if (!fus_member_is(m, uuid) || fus_under_another(list, m))
			continue;
		if (*found)
			return fus_fail(FC_MEMBER, m->path, "is a copy of %s, both claim to be the "
					"same member; detach one, or name the devices to use",
					(*found)->path);
		*found = m;
	}
	return 0;
}

bool fus_member_called(const struct member *m, const char *name)
{
	char uuid[UUID_TEXT];

	return (m->state == MEMBER_OK || m->state == MEMBER_TRANSIT) &&
	       (!strcmp(m->sb->label, name) ||
		!strcasecmp(fus_uuid_text(uuid, m->sb->set_uuid), name));
}

static const struct member *members;

static const char *nth_label(unsigned int i)
{
	const struct member *m;

	for (m = members; m && (m->state != MEMBER_OK || i--); m = m->next)
		;
	return m ? m->sb->label : NULL;
}

static int fail_not_found(struct member *list, const char *name)
{
	struct mapping open = { 0 };
	const char *meant;
	struct member *m;
	int rc;

	rc = fus_valid_name(name) ? fus_dm_get(name, NULL, MAPPING_INFO, &open) : 0;
	if (rc)
		return rc;
	if (fus_dm_is_set(&open))
		return fus_fail(FC_BUSY, name, "is an open set; close that first with fusionctl "
				"close %s", name);
	for (m = list; m && m->state != MEMBER_UNKNOWN; m = m->next)
		;
	if (m)
		return fus_fail(FC_FAILED, name, "no member of that set is found, but %s %s; use a "
				"newer fusionctl and dm-fusion", m->path, m->why);
	for (m = list; m && m->state != MEMBER_DAMAGED; m = m->next)
		;
	if (m)
		return fus_fail(FC_DAMAGED, name, "no member of that set is found, but %s has a "
				"damaged superblock (%s); run fusionctl repair with both members",
				m->path, m->why);
	members = list;
	meant = fus_nearest_word(name, nth_label);
	if (meant)
		return fus_fail(FC_MEMBER, name, "no member of that set is found; did you mean %s?",
				meant);
	return fus_fail(FC_MEMBER, name, "no member of that set is found; connect it, fusionctl "
			"list shows the members");
}

bool fus_named_back(const struct member *list, const struct member *m)
{
	for (; list; list = list->next)
		if (fus_name_each_other(list, m))
			return true;
	return false;
}

int fus_find_named(struct member *list, const char *name, struct member **found)
{
	struct member *first = NULL, *m;
	char uuid[2][UUID_TEXT];
	int rc;

	*found = NULL;
	for (m = list; m; m = m->next) {
		if (!fus_member_called(m, name))
			continue;
		/* its fast member may have the old uuid, and count as one of another set */
		if (fus_is_renewed(m))
			return fus_check_member(m);
		if (!first)
			first = m;
		else if (memcmp(first->sb->set_uuid, m->sb->set_uuid, 16))
			return fus_fail(FC_MEMBER, name, "there are two sets of that name; give "
					"the uuid, %s or %s",
					fus_uuid_text(uuid[0], first->sb->set_uuid),
					fus_uuid_text(uuid[1], m->sb->set_uuid));
		else if (!fus_named_back(list, first) && fus_named_back(list, m))
			first = m;
	}
	if (!first)
		return fail_not_found(list, name);
	rc = fus_find_member(list, first->sb->dev_uuid, found);
	if (!*found)
		*found = first;
	return rc;
}

void fus_missing_text(const struct member *m, char *buf, size_t size)
{
	fus_ident_text(&m->sb->peer, m->sb->peer_sectors, buf, size);
}
