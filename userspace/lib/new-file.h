/* SPDX-License-Identifier: GPL-2.0-only */
/* Files that are whole or as before: new-file.c. */
#ifndef NEW_FILE_H
#define NEW_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Write all of it, in as many calls as that takes. Return: false with errno. */
bool fus_write_all(int fd, const char *text, size_t size);
/*
 * Make @name in the directory @dir a file of this content, only for root, in place of the one that
 * is there. A power cut leaves one or the other. Only one process at a time may do that in a
 * directory. Return: 0 or -errno.
 */
int fus_new_file(int dir, const char *name, const char *text, size_t size);
/*
 * The content of a file, with a NUL behind it, to be freed; *size may be NULL. NULL with errno:
 * EFBIG if it is larger than @max, EINVAL if it is no file.
 */
char *fus_file_text(int dir, const char *name, size_t max, size_t *size);

#endif
