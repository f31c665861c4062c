// SPDX-License-Identifier: GPL-2.0-only
/*
 * Facts about block devices in sysfs: attributes by path; devices, their names and disks by
 * libudev. This reads only files of sysfs and udev's database, and waits for nothing, so a program
 * that udev runs may use it.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libudev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "sysfs.h"
#include "size.h"

void fus_sysfs_path(dev_t devno, const char *attr, char *buf, size_t size)
{
	snprintf(buf, size, "/sys/dev/block/%u:%u/%s", major(devno), minor(devno), attr);
}

bool fus_sysfs_has(dev_t devno, const char *attr)
{
	char path[128];

	fus_sysfs_path(devno, attr, path, sizeof(path));
	return !access(path, F_OK);
}

bool fus_sysfs_read(dev_t devno, const char *attr, char *buf, size_t size)
{
	char path[128];
	ssize_t n;
	int fd;

	*buf = 0;
	fus_sysfs_path(devno, attr, path, sizeof(path));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n < 0)
		return false;
	while (n > 0 && isspace((unsigned char)buf[n - 1]))
		n--;
	buf[n] = 0;
	return true;
}

bool fus_parse_devno(const char *s, dev_t *devno)
{
	unsigned int major, minor;
	char end;

	if (sscanf(s, "%u:%u%c", &major, &minor, &end) != 2)
		return false;
	*devno = makedev(major, minor);
	return true;
}

static struct udev *context(void)
{
	static struct udev *udev;

	if (!udev)
		udev = udev_new();
	return udev;
}

dev_t fus_sysfs_disk(dev_t devno)
{
	struct udev_device *dev = udev_device_new_from_devnum(context(), 'b', devno);
	struct udev_device *disk = NULL;	/* @dev's own reference */

	if (dev)
		disk = udev_device_get_parent_with_subsystem_devtype(dev, "block", "disk");
	if (disk)
		devno = udev_device_get_devnum(disk);
	udev_device_unref(dev);
	return devno;
}

void fus_sysfs_name(dev_t devno, char *buf, size_t size)
{
	struct udev_device *dev = udev_device_new_from_devnum(context(), 'b', devno);

	/*
	 * the last word of its path, such as cciss!c0d0, is its name in holders and slaves as well
	 */
	if (dev)
		snprintf(buf, size, "%s", strrchr(udev_device_get_syspath(dev), '/') + 1);
	else
		snprintf(buf, size, "%u:%u", major(devno), minor(devno));
	udev_device_unref(dev);
}

uint64_t fus_sysfs_bytes(dev_t devno)
{
	uint64_t sectors = 0;
	char text[32];

	if (fus_sysfs_read(devno, "size", text, sizeof(text)))
		fus_parse_number(text, UINT64_MAX >> 9, &sectors);
	return sectors << 9;
}

bool fus_sysfs_is_mapping(dev_t devno, const char *uuid_prefix)
{
	char uuid[160];

	return fus_sysfs_read(devno, "dm/uuid", uuid, sizeof(uuid)) &&
	       !strncmp(uuid, uuid_prefix, strlen(uuid_prefix));
}

bool fus_sysfs_any(dev_t devno, const char *dir_name, bool (*is)(dev_t devno, void *ctx), void *ctx)
{
	char path[128], attr[300], number[32];
	struct dirent *e;
	bool found = false;
	dev_t other;
	DIR *dir;

	fus_sysfs_path(devno, dir_name, path, sizeof(path));
	dir = opendir(path);
	while (dir && !found && (e = readdir(dir))) {
		snprintf(attr, sizeof(attr), "%s/%s/dev", dir_name, e->d_name);
		found = *e->d_name != '.' && fus_sysfs_read(devno, attr, number, sizeof(number)) &&
			fus_parse_devno(number, &other) && (!is || is(other, ctx));
	}
	if (dir)
		closedir(dir);
	return found;
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(udev_device_get_sysname(*(struct udev_device *const *)a),
			  udev_device_get_sysname(*(struct udev_device *const *)b));
}

/* Return: how many devices are in the array, or -errno */
static int collect(struct udev_enumerate *e, struct udev_device ***all)
{
	struct udev_list_entry *first = udev_enumerate_get_list_entry(e), *i;
	size_t nr = 0;

	udev_list_entry_foreach(i, first)
		nr++;
	*all = calloc(nr + 1, sizeof(**all));
	if (!*all)
		return -ENOMEM;
	nr = 0;
	udev_list_entry_foreach(i, first) {
		(*all)[nr] = udev_device_new_from_syspath(context(), udev_list_entry_get_name(i));
		nr += !!(*all)[nr];	/* or it has disappeared since */
	}
	qsort(*all, nr, sizeof(**all), by_name);
	return nr;
}

static int add_match(struct udev_enumerate *e, const struct block_match *m)
{
	struct udev_device *disk;
	int err = udev_enumerate_add_match_subsystem(e, "block");

	if (!err && m->name)
		err = udev_enumerate_add_match_sysname(e, m->name);
	if (!err && m->attr)
		err = udev_enumerate_add_match_sysattr(e, m->attr, m->value);
	if (!err && m->property)
		err = udev_enumerate_add_match_property(e, m->property, m->value);
	if (!err && m->disk) {
		disk = udev_device_new_from_devnum(context(), 'b', m->disk);
		err = disk ? udev_enumerate_add_match_parent(e, disk) : -ENODEV;
		udev_device_unref(disk);
	}
	return err;
}

int fus_block_any(const struct block_match *m, bool (*is)(struct udev_device *dev, void *ctx),
		  void *ctx)
{
	struct udev_device **all = NULL;
	struct udev_enumerate *e;
	int nr, found;

	/* to libudev it would be a machine without disks */
	if (access(BLOCK_CLASS, F_OK))
		return -errno;
	e = udev_enumerate_new(context());
	if (!e)
		return -ENOMEM;
	nr = add_match(e, m);
	if (!nr)
		nr = udev_enumerate_scan_devices(e);
	if (nr >= 0)
		nr = collect(e, &all);
	udev_enumerate_unref(e);
	found = nr < 0 ? nr : 0;
	for (int i = 0; i < nr; i++) {
		if (!found)
			found = is(all[i], ctx);
		udev_device_unref(all[i]);
	}
	free(all);
	return found;
}
