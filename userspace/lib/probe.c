// SPDX-License-Identifier: GPL-2.0-only
/*
 * The content of block devices. libblkid recognises all signatures except those of members, which
 * are checked here. A device is free only if neither finds any.
 */
#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe.h"
#include "device.h"
#include "error.h"
#include "fusionctl.h"
#include "role.h"
#include "super.h"
#include "dm-fusion-codec.h"

blkid_probe fus_new_probe(int fd)
{
	blkid_probe pr = blkid_new_probe();

	if (pr && !blkid_probe_set_device(pr, fd, 0, 0) &&
	    !blkid_probe_enable_superblocks(pr, 1) &&
	    !blkid_probe_set_superblocks_flags(pr, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_UUID |
					       BLKID_SUBLKS_LABEL | BLKID_SUBLKS_MAGIC |
					       BLKID_SUBLKS_BADCSUM) &&
	    !blkid_probe_enable_partitions(pr, 1) &&
	    !blkid_probe_set_partitions_flags(pr, BLKID_PARTS_MAGIC | BLKID_PARTS_FORCE_GPT))
		return pr;
	blkid_free_probe(pr);
	return NULL;
}

static const char *value(blkid_probe pr, const char *name)
{
	const char *data;

	return blkid_probe_lookup_value(pr, name, &data, NULL) ? NULL : data;
}

/* One signature: "ext4 (label home, uuid 1234-...) at byte 1080" */
static void describe(blkid_probe pr, char *buf, size_t size)
{
	const char *type = value(pr, "TYPE"), *label = value(pr, "LABEL");
	const char *uuid = value(pr, "UUID"), *offset = value(pr, "SBMAGIC_OFFSET");
	const char *table = value(pr, "PTTYPE");

	if (!type && table) {
		uuid = value(pr, "PTUUID");
		offset = value(pr, "PTMAGIC_OFFSET");
	}
	snprintf(buf, size, "%s%s%s%s%s%s%s%s%s%s", type ? type : table ? table : "something",
		 type || !table ? "" : " partition table",
		 label || uuid ? " (" : "", label ? "label " : "", label ? label : "",
		 label && uuid ? ", " : "", uuid ? "uuid " : "", uuid ? uuid : "",
		 label || uuid ? ")" : "", offset ? " at byte " : "");
	if (offset)
		snprintf(buf + strlen(buf), size - strlen(buf), "%s", offset);
}

/* *whole: both copies of the superblock are */
static int probe_ours(const struct device *dev, bool *found, bool *whole, char *buf, size_t size)
{
	enum member_state state;
	char uuid[UUID_TEXT], text[SUPER_TEXT];
	struct fusion_sb sb;
	const char *why;
	int fd, err;

	fd = fus_device_open(dev, O_RDONLY | O_DIRECT);
	if (fd < 0)
		return fus_fail(FC_FAILED, dev->path, "cannot open: %s; check the device",
				strerror(errno));
	err = fus_super_read(fd, dev->sectors, &state, &sb, &why, text);
	close(fd);
	if (err)
		return fus_fail(FC_FAILED, dev->path, "cannot read: %s; check the device",
				strerror(-err));
	*found = state != MEMBER_NONE;
	*whole = ((state == MEMBER_OK || state == MEMBER_PREPARED || state == MEMBER_LEFT) &&
		  !why) || state == MEMBER_TRANSIT;
	if (state == MEMBER_OK || state == MEMBER_SHRUNK)
		snprintf(buf, size, "the %s member of the fusion set %s (uuid %s)",
			 fus_role_name[sb.role], sb.label, fus_uuid_text(uuid, sb.set_uuid));
	else if (state == MEMBER_TRANSIT)
		snprintf(buf, size, "the %s member of the fusion set %s, %s (uuid %s)",
			 fus_role_name[sb.role], sb.label, fus_transit_text(&sb),
			 fus_uuid_text(uuid, sb.set_uuid));
	else if (state == MEMBER_PREPARED || state == MEMBER_LEFT)
		snprintf(buf, size, "a superblock of the fusion set %s (uuid %s), %s its %s member",
			 sb.label, fus_uuid_text(uuid, sb.set_uuid), state == MEMBER_LEFT ?
			 "once" : "prepared as", fus_role_name[sb.role]);
	else if (state == MEMBER_UNKNOWN)
		snprintf(buf, size, "a member of a fusion set that %s", why);
	else if (*found)
		snprintf(buf, size, "a damaged member of a fusion set");
	return 0;
}

/* Append other recognised content to @buf, and close @fd; false with errno if that fails. */
static bool look(int fd, bool *found, char *buf, size_t size)
{
	blkid_probe pr = fd < 0 ? NULL : fus_new_probe(fd);
	int rc = -1, err = errno;
	size_t used;

	while (pr && !(rc = blkid_do_probe(pr))) {
		*found = true;
		used = strlen(buf);
		if (used + 32 > size)
			continue;
		if (used)
			used += snprintf(buf + used, size - used, ", ");
		describe(pr, buf + used, size - used);
	}
	err = pr ? errno : err;
	blkid_free_probe(pr);
	if (fd >= 0)
		close(fd);
	errno = err;
	return rc > 0;
}

static int cannot_look(const char *path)
{
	return fus_fail(FC_FAILED, path, "cannot look for data: %s; check the device",
			strerror(errno));
}

int fus_probe_foreign(const char *path, int fd, bool *found, char *buf, size_t size)
{
	*buf = 0;
	*found = false;
	return look(fd, found, buf, size) ? 0 : cannot_look(path);
}

bool fus_probe_cover(const char *path, dev_t devno, char *buf, size_t size)
{
	bool found = false;

	*buf = 0;
	look(fus_open_node(path, devno, O_RDONLY), &found, buf, size);
	return found;
}

int fus_probe_signature(const struct device *dev, bool *found, char *buf, size_t size)
{
	bool whole;
	int rc;

	*buf = 0;
	rc = probe_ours(dev, found, &whole, buf, size);
	if (rc || whole)
		return rc;
	return look(fus_device_open(dev, O_RDONLY), found, buf, size) ? 0 : cannot_look(dev->path);
}

bool fus_probe_type(int fd, bool *fs, char *buf, size_t size)
{
	blkid_probe pr = blkid_new_probe();
	const char *type = NULL, *usage, *table;

	*fs = false;
	*buf = 0;
	if (pr && !blkid_probe_set_device(pr, fd, 0, 0) &&
	    !blkid_probe_enable_superblocks(pr, 1) &&
	    !blkid_probe_set_superblocks_flags(pr, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE) &&
	    !blkid_probe_enable_partitions(pr, 1) && !blkid_do_safeprobe(pr)) {
		type = value(pr, "TYPE");
		usage = value(pr, "USAGE");
		table = value(pr, "PTTYPE");
		*fs = type && usage && !strcmp(usage, "filesystem");
		if (type || table)
			snprintf(buf, size, "%s%s", type ? type : table,
				 type ? "" : " partitions");
	}
	blkid_free_probe(pr);
	return *buf;
}

bool fus_probe_raid(const char *path, dev_t devno)
{
	int fd = fus_open_node(path, devno, O_RDONLY);
	blkid_probe pr = fd < 0 ? NULL : blkid_new_probe();
	bool found;

	found = pr && !blkid_probe_set_device(pr, fd, 0, 0) &&
		!blkid_probe_enable_superblocks(pr, 1) &&
		!blkid_probe_filter_superblocks_usage(pr, BLKID_FLTR_ONLYIN, BLKID_USAGE_RAID) &&
		!blkid_do_probe(pr);
	blkid_free_probe(pr);
	if (fd >= 0)
		close(fd);
	return found;
}

int fus_wipe_signatures(const struct device *dev, int fd)
{
	blkid_probe pr = fus_new_probe(fd);
	int rc, rounds = 0;

	/* the bound is for a device that does not keep written data */
	while (pr && !(rc = blkid_do_probe(pr)) && rounds++ < 256)
		if (blkid_do_wipe(pr, false))
			break;
	if (!pr || rc != 1) {
		rc = fus_fail(FC_FAILED, dev->path, "cannot erase the old signatures: %s; try "
			      "wipefs -a on it", strerror(errno ? errno : EIO));
	} else {
		rc = fsync(fd) ? fus_fail(FC_FAILED, dev->path, "write failed: %s; check the "
					  "device", strerror(errno)) : 0;
	}
	blkid_free_probe(pr);
	return rc;
}
