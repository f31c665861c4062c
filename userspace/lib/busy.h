/* SPDX-License-Identifier: GPL-2.0-only */
/* Block devices: who uses them: busy.c. */
#ifndef BUSY_H
#define BUSY_H

#include <stdbool.h>
#include <sys/types.h>

struct device;

/* Who uses something: what ends that depends on the kind. */
struct user {
	enum user_kind {
		USER_OTHER,
		USER_MOUNT,
		USER_SWAP,
		USER_SET,	/* an open set, or one that salvage made */
		USER_HOLDER,	/* another mapping, an array, a loop device */
	} kind;
	char text[512];		/* "is mounted on /home" */
};

/* Say who uses a device; false if nobody is found. */
bool fus_device_user(dev_t devno, struct user *user);
/* Has it only what salvage made of it, which reads? */
bool fus_device_salvaged(dev_t devno);
/* As fus_device_user(), of processes that have the device open. */
bool fus_device_opener(dev_t devno, struct user *user);
/* The same for a file that a loop device stands on. */
bool fus_file_user(dev_t dev, ino_t ino, struct user *user);
/* Fail with what these found, and its remedy. */
int fus_fail_busy(const char *thing, const struct user *user);
/* It cannot be opened exclusively: fail, and say who has it if that is known. */
int fus_device_refused(const char *path, dev_t devno);
/*
 * Open it for writing and keep everyone else out until *fd is closed; what is in use is refused
 * without appeal.
 */
int fus_device_claim(const struct device *dev, int *fd);

#endif
