/* SPDX-License-Identifier: GPL-2.0-only */
/* Facts about block devices: device.c. */
#ifndef DEVICE_H
#define DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define IDENT_TEXT	64

struct device {
	const char *path;	/* as the user gave it, owned */
	dev_t devno;
	dev_t disk;		/* whole disk it is a partition of, or itself */
	dev_t base;		/* the one disk beneath partitions, loops and mappings */
	uint64_t sectors;
	unsigned int block_bytes;	/* of a logical block */
	bool read_only;
	int rotational;		/* 1, 0, or -1 if the kernel does not say */
	char model[IDENT_TEXT];	/* of the storage beneath partitions, loops and mappings */
	char serial[IDENT_TEXT];
	char backing[256];	/* file under a loop device, or "" */
};

int fus_device_get(const char *path, struct device *dev);
void fus_device_put(struct device *dev);
/* As open(), if the path (still) leads to that block device; ESTALE otherwise. */
int fus_open_node(const char *path, dev_t devno, int flags);
int fus_device_open(const struct device *dev, int flags);
/* Return: whether both are the same storage. */
bool fus_device_same(const struct device *a, const struct device *b);
/* "Samsung SSD 860, serial S4EV" or "" */
void fus_device_ident(const struct device *dev, char *buf, size_t size);

/* The serial number of a whole disk, or "". The disk is not opened. */
void fus_device_serial(dev_t disk, char *buf, size_t size);
/* Path of its node, /dev/mapper/NAME for mappings. */
void fus_device_node(dev_t devno, char *buf, size_t size);

#endif
