// SPDX-License-Identifier: GPL-2.0-only
/* Facts about block devices, from their node and sysfs. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/fs.h>

#include "device.h"
#include "error.h"
#include "fusionctl.h"
#include "sysfs.h"

void fus_device_node(dev_t devno, char *buf, size_t size)
{
	char name[128];
	struct stat st;

	if (fus_sysfs_read(devno, "dm/name", name, sizeof(name))) {
		snprintf(buf, size, "/dev/mapper/%s", name);
		if (!stat(buf, &st) && st.st_rdev == devno)
			return;
	}
	fus_sysfs_name(devno, name, sizeof(name));
	for (char *p = name; *p; p++)
		if (*p == '!')	/* cciss!c0d0 */
			*p = '/';
	snprintf(buf, size, "/dev/%s", name);
}

struct slaves {
	unsigned int nr;
	dev_t last;
};

static bool count_slave(dev_t devno, void *ctx)
{
	struct slaves *s = ctx;

	s->nr++;
	s->last = devno;
	return false;
}

/* The one device that a disk stands on, if it is a mapping or an array of one. */
static bool only_slave(dev_t devno, dev_t *slave)
{
	struct slaves s = { 0 };

	fus_sysfs_any(devno, "slaves", count_slave, &s);
	*slave = s.last;
	return s.nr == 1;
}

/* SCSI and SATA give the serial number in page 0x80: four bytes of header, then text. */
static void scsi_serial(dev_t devno, char *buf, size_t size)
{
	unsigned char page[256];
	char path[128];
	ssize_t n;
	int fd;

	fus_sysfs_path(devno, "device/vpd_pg80", path, sizeof(path));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, page, sizeof(page) - 1);
	close(fd);
	if (n <= 4)
		return;
	page[n] = 0;
	while (n > 4 && isspace(page[n - 1]))
		page[--n] = 0;
	snprintf(buf, size, "%s", (char *)page + 4 + strspn((char *)page + 4, " "));
}

void fus_device_serial(dev_t disk, char *buf, size_t size)
{
	if (!fus_sysfs_read(disk, "device/serial", buf, size) &&
	    !fus_sysfs_read(disk, "serial", buf, size))
		scsi_serial(disk, buf, size);
}

/* Model and serial number of the hardware, or the file under a loop device. */
static void identify(struct device *dev)
{
	dev_t devno = dev->disk, slave;
	struct stat st;

	for (int depth = 0; depth < 8; depth++) {
		if (only_slave(devno, &slave)) {
			devno = fus_sysfs_disk(slave);
			continue;
		}
		if (devno == dev->disk)
			fus_sysfs_read(devno, "loop/backing_file", dev->backing,
				       sizeof(dev->backing));
		if (!*dev->backing || stat(dev->backing, &st) || !S_ISBLK(st.st_mode))
			break;
		devno = fus_sysfs_disk(st.st_rdev);
	}
	dev->base = devno;
	if (!fus_sysfs_read(devno, "device/model", dev->model, sizeof(dev->model)) && *dev->backing)
		snprintf(dev->model, sizeof(dev->model), "file %.*s", (int)sizeof(dev->model) - 6,
			 dev->backing);
	fus_device_serial(devno, dev->serial, sizeof(dev->serial));
}

int fus_open_node(const char *path, dev_t devno, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && S_ISBLK(st.st_mode) && st.st_rdev == devno)
		return fd;
	close(fd);
	errno = ESTALE;
	return -1;
}

int fus_device_get(const char *path, struct device *dev)
{
	uint64_t bytes = 0;
	struct stat st;
	int ro = 0, fd, block = 0;
	char buf[16];

	memset(dev, 0, sizeof(*dev));
	/* checked before it is opened, because opening other things may have effects */
	if (stat(path, &st))
		return fus_fail(FC_MEMBER, path, "%s; name a block device", strerror(errno));
	if (!S_ISBLK(st.st_mode))
		return fus_fail(FC_MEMBER, path, "not a block device; name a disk or a partition%s",
				S_ISREG(st.st_mode) ? ", or a loop device over this file" : "");
	fd = fus_open_node(path, st.st_rdev, O_RDONLY);
	if (fd < 0)
		return fus_fail(errno == EACCES || errno == EPERM ? FC_FAILED : FC_MEMBER, path,
				"%s; %s", strerror(errno), errno == EACCES || errno == EPERM ?
				"run fusionctl as root" : "check the device");
	if (ioctl(fd, BLKGETSIZE64, &bytes) || ioctl(fd, BLKROGET, &ro) ||
	    ioctl(fd, BLKSSZGET, &block)) {
		close(fd);
		return fus_fail(FC_MEMBER, path, "%s; check the device", strerror(errno));
	}
	close(fd);
	dev->path = strdup(path);
	dev->devno = st.st_rdev;
	dev->disk = fus_sysfs_disk(st.st_rdev);
	dev->sectors = bytes >> 9;
	dev->block_bytes = block;
	dev->read_only = ro;
	/*
	 * Loop devices, mappings and arrays inherit the flag of the devices below: the kernel
	 * stacks it. A partition has none of its own.
	 */
	dev->rotational = fus_sysfs_read(dev->disk, "queue/rotational", buf, sizeof(buf)) ?
			  *buf == '1' : -1;
	identify(dev);
	return 0;
}

int fus_device_open(const struct device *dev, int flags)
{
	return fus_open_node(dev->path, dev->devno, flags);
}

void fus_device_put(struct device *dev)
{
	free((char *)dev->path);
	dev->path = NULL;
}

bool fus_device_same(const struct device *a, const struct device *b)
{
	char offset[2][32];

	if (a->devno == b->devno)
		return true;
	/* a disk and a partition of it, but not two partitions */
	if (a->disk == b->disk)
		return a->devno == a->disk || b->devno == b->disk;
	if (!*a->backing || strcmp(a->backing, b->backing))
		return false;
	fus_sysfs_read(a->disk, "loop/offset", offset[0], sizeof(offset[0]));
	fus_sysfs_read(b->disk, "loop/offset", offset[1], sizeof(offset[1]));
	return !strcmp(offset[0], offset[1]);
}

void fus_device_ident(const struct device *dev, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s", dev->model, *dev->serial ? *dev->model ? ", serial " :
		 "serial " : "", dev->serial);
}
