/* SPDX-License-Identifier: GPL-2.0-only */
/* A dump of a set that was just closed: close-dump.c. */
#ifndef CLOSE_DUMP_H
#define CLOSE_DUMP_H

#include <limits.h>
#include <sys/types.h>

struct meta;

#define DUMP_DIR	"/var/lib/fusion/dump"

/* That one, except in tests. */
extern const char *dump_dir;

/*
 * Write a brief dump of the set on these members, which are closed cleanly, and keep the newest
 * three of the set. @path gets its name, or "". It never fails: if it cannot be written, a warning
 * says so. Does nothing unless for root, or without /var/lib.
 */
void close_dump(const char *name, const dev_t member[2], char path[PATH_MAX]);
/* The same of members that were read. Return: 0, -errno, or the exit code of an error. */
int close_dump_to(const char *dir, const struct meta *meta, char path[PATH_MAX]);

#endif
