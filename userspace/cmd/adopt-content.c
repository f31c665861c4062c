// SPDX-License-Identifier: GPL-2.0-only
/* Verb adopt: what may be on the disk. */
#include <stdio.h>
#include <string.h>

#include "adopt.h"
#include "error.h"
#include "fusionctl.h"
#include "scan.h"

/*
 * Content that finds its data by offsets from the beginning of its device, may lie on a larger one,
 * and is recognised by the signatures that libblkid knows, so not without these. RAID and ZFS have
 * signatures at the end of the device, and swap is better made again.
 */
static const struct {
	const char *type, *grow;	/* with the name of the set */
} known[] = {
	{ "ext2", "mount /dev/mapper/%s and run resize2fs" },
	{ "ext3", "mount /dev/mapper/%s and run resize2fs" },
	{ "ext4", "mount /dev/mapper/%s and run resize2fs" },
	{ "xfs", "mount /dev/mapper/%s and run xfs_growfs" },
	{ "btrfs", "mount /dev/mapper/%s and run btrfs filesystem resize max" },
	{ "crypto_LUKS", "open the encrypted device /dev/mapper/%s and run cryptsetup resize" },
	{ "LVM2_member", "pvresize /dev/mapper/%s" },
};

#define NR_KNOWN	(sizeof(known) / sizeof(known[0]))

void adopt_grow_text(const char *type, const char *name, char *buf, size_t size)
{
	*buf = 0;
	for (size_t i = 0; i < NR_KNOWN; i++)
		if (!strcmp(known[i].type, type))
			snprintf(buf, size, known[i].grow, name);
}

static bool is_known(const char *type)
{
	char buf[160];

	adopt_grow_text(type, "", buf, sizeof(buf));
	return *buf;
}

/* A member, of whatever set and in whatever state. */
static int check_no_member(const struct device *dev)
{
	struct member *m;
	int rc = 0;

	if (fus_member_at(dev->devno, &m))
		return fus_fail(FC_FAILED, dev->path, "cannot be read; check the device");
	if (m && m->state == MEMBER_TRANSIT)
		rc = fus_check_member(m);
	else if (m && m->state != MEMBER_COVERED)
		rc = fus_fail(FC_REFUSED, dev->path, "is a member of a fusion set already; "
			      "fusionctl list shows it");
	else if (m)
		rc = fus_fail(FC_REFUSED, dev->path, "contains %s, and beneath it half of the "
			      "superblock of a member; remove that first: fusionctl help wipe",
			      m->cover);
	fus_free_members(m);
	return rc;
}

int adopt_check_content(const struct device *dev, int fd, struct fus_content *c)
{
	int rc;

	rc = check_no_member(dev);
	if (!rc)
		rc = fus_probe_magics(dev->path, fd, c);
	if (rc)
		return rc;
	if (!*c->type)
		return fus_fail(FC_REFUSED, dev->path, "has no content that is recognised; use "
				"fusionctl create, which erases it");
	if (!strcmp(c->type, PARTITION_TABLE) && !*c->other)
		return fus_fail(FC_REFUSED, dev->path, "has partitions; name one of them");
	if (*c->other && strcmp(c->type, c->other))
		return fus_fail(FC_REFUSED, dev->path, "has signatures of %s and of %s; find out "
				"which is in use, and erase the other with wipefs --offset",
				c->type, c->other);
	if (!is_known(c->type) || *c->other || !c->nr)
		return fus_fail(FC_REFUSED, dev->path, "contains %s, which cannot be adopted; back "
				"it up, and make a set with fusionctl create", c->text);
	if (c->nr > MAX_MAGICS)
		return fus_fail(FC_REFUSED, dev->path, "has %u signatures of %s, at most %d are "
				"supported; make a set with fusionctl create, and copy it", c->nr,
				c->type, MAX_MAGICS);
	return 0;
}
