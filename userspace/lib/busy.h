/* SPDX-License-Identifier: GPL-2.0-only */
/* Block devices: their users: busy.c. */
#ifndef BUSY_H
#define BUSY_H

#include <stdbool.h>
#include <sys/types.h>

struct device;

/* A user of a device: how to end the use depends on the kind. */
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

/* Find the user of a device; false if none is found. */
bool fus_device_user(dev_t devno, struct user *user);
/* Return: whether its only users are devices that salvage made, which only read. */
bool fus_device_salvaged(dev_t devno);
/* As fus_device_user(), of processes that have the device open. */
bool fus_device_opener(dev_t devno, struct user *user);
/* The same for a file that a loop device stands on. */
bool fus_file_user(dev_t dev, ino_t ino, struct user *user);
/* Fail with the text about @user, and its remedy. */
int fus_fail_busy(const char *thing, const struct user *user);
/* The device cannot be opened exclusively: fail, and name its user if known. */
int fus_device_refused(const char *path, dev_t devno);
/*
 * Open the device for writing, exclusively until *fd is closed. A device in use is always refused.
 */
int fus_device_claim(const struct device *dev, int *fd);

#endif
