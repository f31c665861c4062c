/* SPDX-License-Identifier: GPL-2.0-only */
/* Devices beneath others, and beneath file systems: stands-on.c. */
#ifndef STANDS_ON_H
#define STANDS_ON_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Return: whether @is is true for the device, or for any beneath its partitions and mappings. */
bool fus_stands_on(dev_t devno, bool (*is)(dev_t devno, void *ctx), void *ctx);
/* Return: whether it is the device @on, or @on is beneath it. */
bool fus_device_stands_on(dev_t devno, dev_t on);
/* The device of the file system that has @path; false if it has none. */
bool fus_path_device(const char *path, dev_t *devno);
/* The same, for one device beneath. */
bool fus_path_stands_on(const char *path, dev_t devno);
/* The type of that file system, as mounted: "tmpfs", or "unknown". */
void fus_path_type(const char *path, char *buf, size_t size);

#endif
