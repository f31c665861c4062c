/* SPDX-License-Identifier: GPL-2.0-only */
/* Verbs repair and restore: may a device be overwritten by a member: overwrite.c. */
#ifndef OVERWRITE_H
#define OVERWRITE_H

#include "probe.h"

struct args;
struct meta;

/* Has it room for the member that is to be written there, of the set of @whose? */
int overwrite_check_size(const struct meta *meta, int dev, const char *whose);
/*
 * What of others lies on it, where the superblock is not whole. If there is something it takes
 * --force, or somebody to ask. Return: 0 with "" or what it is in @content, or an exit code.
 */
int overwrite_check_content(const struct meta *meta, int dev, const struct args *a,
			    char content[CONTENT_TEXT]);

#endif
