/* SPDX-License-Identifier: GPL-2.0-only */
/* Mounts of the file systems on a device: mounted.c. */
#ifndef MOUNTED_H
#define MOUNTED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define FILE_SYSTEM_UUID	40	/* size of its text */

struct mounted {
	char *target;		/* the directory */
	dev_t devno;		/* the device of the file system */
	bool whole;		/* all of it, not only a directory or a subvolume */
};

/*
 * All directories at which a file system on @on is mounted, and no other one over it. The list is
 * to be freed, also if this fails.
 */
int fus_mounted_on(dev_t on, struct mounted **list, size_t *nr);
void fus_mounted_free(struct mounted *list, size_t nr);
/* The uuid of the file system on a device; false if it has none. */
bool fus_file_system_uuid(dev_t devno, char buf[FILE_SYSTEM_UUID]);

#endif
