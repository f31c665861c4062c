/* SPDX-License-Identifier: GPL-2.0-only */
/* Facts about block devices from sysfs and udev: sysfs.c. */
#ifndef SYSFS_H
#define SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* "8:1" */
bool fus_parse_devno(const char *s, dev_t *devno);
/* Path of an attribute of a block device, or of a directory. */
void fus_sysfs_path(dev_t devno, const char *attr, char *buf, size_t size);
/* Its value, without the newline. */
bool fus_sysfs_read(dev_t devno, const char *attr, char *buf, size_t size);
bool fus_sysfs_has(dev_t devno, const char *attr);
/* Its size, or 0 if it is gone. */
uint64_t fus_sysfs_bytes(dev_t devno);
/* Return: whether it is a mapped device whose uuid begins with @uuid_prefix. */
bool fus_sysfs_is_mapping(dev_t devno, const char *uuid_prefix);
/*
 * Return: whether @is is true for a block device in the directory "slaves" or "holders"; if @is is
 * NULL, whether there is any.
 */
bool fus_sysfs_any(dev_t devno, const char *dir_name, bool (*is)(dev_t devno, void *ctx),
		   void *ctx);
/* The disk a partition is on; otherwise the device itself. */
dev_t fus_sysfs_disk(dev_t devno);
/* "sda1", "dm-0", or "8:1" if it is gone. */
void fus_sysfs_name(dev_t devno, char *buf, size_t size);

#define BLOCK_CLASS	"/sys/class/block"

/* Block devices to look for; a field that is NULL or 0 matches any. */
struct block_match {
	const char *name;	/* shell pattern: "loop*" */
	const char *attr;	/* an attribute, or */
	const char *property;	/* a property in udev's database, where that exists */
	const char *value;	/* matches this pattern */
	dev_t disk;		/* only this one and its partitions */
};

struct udev_device;
/*
 * Call @is for each one, in the order of their names, until it returns true. Return: 1 if it did,
 * 0, or -errno.
 */
int fus_block_any(const struct block_match *m, bool (*is)(struct udev_device *dev, void *ctx),
		  void *ctx);

#endif
