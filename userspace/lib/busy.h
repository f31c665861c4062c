/* SPDX-License-Identifier: GPL-2.0-only */
/* Block devices: who uses them: busy.c. */
#ifndef BUSY_H
#define BUSY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct device;

/* Say who uses a device, e.g. "is mounted on /home"; false if nobody is found. */
bool device_user(dev_t devno, char *buf, size_t size);
/* Has it only what salvage made of it, which reads? */
bool device_salvaged(dev_t devno);
/* As device_user(), of processes that have the device open. */
bool device_opener(dev_t devno, char *buf, size_t size);
/* The same for a file that a loop device stands on. */
bool file_user(dev_t dev, ino_t ino, char *buf, size_t size);
/* Fail with what these found, and its remedy. */
int fail_busy(const char *thing, const char *user);
/* It cannot be opened exclusively: fail, and say who has it if that is known. */
int device_refused(const char *path, dev_t devno);
/*
 * Open it for writing and keep everyone else out until *fd is closed; what is in use is refused
 * without appeal.
 */
int device_claim(const struct device *dev, int *fd);

#endif
