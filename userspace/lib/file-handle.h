/* SPDX-License-Identifier: GPL-2.0-only */
/* Files by the handles that their file system gives them, whatever their names: file-handle.c. */
#ifndef FILE_HANDLE_H
#define FILE_HANDLE_H

#include <stddef.h>

#define FILE_HANDLE	288	/* size of its text */

/*
 * The handle of a file as text: inode and generation, in the form of its file system. It outlives a
 * rename and a reboot, and no later file gets the same. Return: 0 or -errno.
 */
int fus_file_handle(const char *path, char buf[FILE_HANDLE]);
/*
 * Open the file or directory with this handle, on the file system of the directory that is open at
 * @mount. Return: descriptor; -ENOENT if it is gone; or -errno, -EINVAL if the text is no handle.
 */
int fus_open_handle(int mount, const char *text);

#endif
