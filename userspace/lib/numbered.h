/* SPDX-License-Identifier: GPL-2.0-only */
/* Directories with files for root, of which some are numbered: numbered.c. */
#ifndef NUMBERED_H
#define NUMBERED_H

#include <stddef.h>

#define NUMBERED_NAME	128

/*
 * Open a directory, and make it if it is missing: for root alone, as there are serial numbers in
 * its files. Return: file descriptor or -errno.
 */
int fus_private_dir(int at, const char *path);
/* The same with the directory above it. */
int fus_private_dir_below(const char *path);
/* Only one process at a time may write files there. Waits for two seconds at most; 0 or -errno. */
int fus_lock_dir(int dir);

/*
 * Add a file with this content: @stem.N.json, where N is higher by one than the highest that is
 * there. Then remove those with the lowest numbers, but for @most of them. @name, unless NULL, gets
 * its name. Return: 0 or -errno.
 */
int fus_numbered_add(int dir, const char *stem, const char *text, size_t size, unsigned int most,
		     char name[NUMBERED_NAME]);

#endif
