// SPDX-License-Identifier: GPL-2.0-only
/* Devices beneath others, and beneath file systems. */
#include <libmount/libmount.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "stands-on.h"
#include "sysfs.h"

#define MAX_DEPTH	16	/* depth of mappings on mappings */

struct search {
	bool (*is)(dev_t devno, void *ctx);
	void *ctx;
	unsigned int depth;
};

static bool search(dev_t devno, void *data)
{
	struct search s = *(struct search *)data;

	if (s.is(devno, s.ctx))
		return true;
	if (s.depth++ == MAX_DEPTH)
		return false;
	return fus_sysfs_any(devno, "slaves", search, &s) ||
	       (fus_sysfs_disk(devno) != devno && search(fus_sysfs_disk(devno), &s));
}

bool fus_stands_on(dev_t devno, bool (*is)(dev_t devno, void *ctx), void *ctx)
{
	struct search s = { is, ctx, 0 };

	return search(devno, &s);
}

static bool is_device(dev_t devno, void *ctx)
{
	return devno == *(dev_t *)ctx;
}

bool fus_device_stands_on(dev_t devno, dev_t on)
{
	return fus_stands_on(devno, is_device, &on);
}

/*
 * The number that stat() has for btrfs and its like is of no device, and for each subvolume another
 * one. So the mount is found by its path.
 */
bool fus_path_device(const char *path, dev_t *devno)
{
	char real[PATH_MAX];
	struct libmnt_table *tb;
	struct libmnt_fs *fs;
	const char *source;
	struct stat st;
	bool found;

	if (stat(path, &st) || !realpath(path, real))
		return false;
	*devno = st.st_dev;
	if (major(st.st_dev))
		return true;
	tb = mnt_new_table_from_file("/proc/self/mountinfo");
	fs = tb ? mnt_table_find_mountpoint(tb, real, MNT_ITER_BACKWARD) : NULL;
	source = fs ? mnt_fs_get_source(fs) : NULL;
	found = source && !stat(source, &st) && S_ISBLK(st.st_mode);
	if (found)
		*devno = st.st_rdev;
	mnt_unref_table(tb);
	return found;
}

bool fus_path_stands_on(const char *path, dev_t devno)
{
	dev_t on;

	return fus_path_device(path, &on) && fus_device_stands_on(on, devno);
}

void fus_path_type(const char *path, char *buf, size_t size)
{
	struct libmnt_table *tb = mnt_new_table_from_file("/proc/self/mountinfo");
	struct libmnt_fs *fs = NULL;
	struct stat st;

	if (tb && !stat(path, &st))
		fs = mnt_table_find_devno(tb, st.st_dev, MNT_ITER_BACKWARD);
	snprintf(buf, size, "%s", fs && mnt_fs_get_fstype(fs) ? mnt_fs_get_fstype(fs) : "unknown");
	mnt_unref_table(tb);
}
