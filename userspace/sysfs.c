// SPDX-License-Identifier: GPL-2.0-only
/* What sysfs tells of a block device. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "fusionctl.h"

void sysfs_path(dev_t devno, const char *attr, char *buf, size_t size)
{
	snprintf(buf, size, "/sys/dev/block/%u:%u/%s", major(devno), minor(devno), attr);
}

bool sysfs_has(dev_t devno, const char *attr)
{
	char path[128];

	sysfs_path(devno, attr, path, sizeof(path));
	return !access(path, F_OK);
}

bool sysfs_read(dev_t devno, const char *attr, char *buf, size_t size)
{
	char path[128];
	ssize_t n;
	int fd;

	*buf = 0;
	sysfs_path(devno, attr, path, sizeof(path));
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

bool parse_devno(const char *s, dev_t *devno)
{
	unsigned int major, minor;
	char end;

	if (sscanf(s, "%u:%u%c", &major, &minor, &end) != 2)
		return false;
	*devno = makedev(major, minor);
	return true;
}

dev_t sysfs_disk(dev_t devno)
{
	dev_t disk;
	char buf[32];

	if (sysfs_has(devno, "partition") && sysfs_read(devno, "../dev", buf, sizeof(buf)) &&
	    parse_devno(buf, &disk))
		return disk;
	return devno;
}

void sysfs_name(dev_t devno, char *buf, size_t size)
{
	char path[128], target[512];
	ssize_t n;

	sysfs_path(devno, "", path, sizeof(path));
	path[strlen(path) - 1] = 0;
	n = readlink(path, target, sizeof(target) - 1);
	if (n > 0) {
		target[n] = 0;
		snprintf(buf, size, "%s", strrchr(target, '/') ? strrchr(target, '/') + 1 : target);
	} else {
		snprintf(buf, size, "%u:%u", major(devno), minor(devno));
	}
}

bool sysfs_any(dev_t devno, const char *dir_name, bool (*is)(dev_t devno, void *ctx), void *ctx)
{
	char path[128], attr[300], number[32];
	struct dirent *e;
	bool found = false;
	dev_t other;
	DIR *dir;

	sysfs_path(devno, dir_name, path, sizeof(path));
	dir = opendir(path);
	while (dir && !found && (e = readdir(dir))) {
		snprintf(attr, sizeof(attr), "%s/%s/dev", dir_name, e->d_name);
		found = *e->d_name != '.' && sysfs_read(devno, attr, number, sizeof(number)) &&
			parse_devno(number, &other) && is(other, ctx);
	}
	if (dir)
		closedir(dir);
	return found;
}
