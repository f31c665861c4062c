/* SPDX-License-Identifier: GPL-2.0-only */
/* Verbs repair and restore: may a device be overwritten by a member: overwrite.c. */
#ifndef OVERWRITE_H
#define OVERWRITE_H

#include "probe.h"

struct args;
struct meta;

/* Check that the device has room for this member of the set of @whose. */
int overwrite_check_size(const struct meta *meta, int dev, const char *whose);
/*
 * Find other content where the superblock is not whole. Such content needs --force, or a user to
 * ask. Return: 0 with the content or "" in @content, or an exit code.
 */
int overwrite_check_content(const struct meta *meta, int dev, const struct args *a,
			    char content[CONTENT_TEXT]);

#endif
