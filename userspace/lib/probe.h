/* SPDX-License-Identifier: GPL-2.0-only */
/* Block devices: what is on them: probe.c. */
#ifndef PROBE_H
#define PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct device;

#define CONTENT_TEXT	512

/*
 * Describe what is on the device in @buf: "ext4 (label home, uuid ...) at byte 1080".
 * *found is false if there is nothing that libblkid or we know.
 */
int fus_probe_signature(const struct device *dev, bool *found, char *buf, size_t size);
/* The same of what others left there, in an image as well; closes @fd. */
int fus_probe_foreign(const char *path, int fd, bool *found, char *buf, size_t size);
/* The same without a message: what can't be read is nobody's data. */
bool fus_probe_cover(const char *path, dev_t devno, char *buf, size_t size);
/* What libblkid calls what is there; false if it knows nothing. *fs: that is a file system. */
bool fus_probe_type(int fd, bool *fs, char *buf, size_t size);
/* Does it belong to a RAID (md, DRBD, firmware), by the signature of that? */
bool fus_probe_raid(const char *path, dev_t devno);
/* Erase every signature that libblkid knows. */
int fus_wipe_signatures(const struct device *dev, int fd);

#endif
