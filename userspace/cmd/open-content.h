/* SPDX-License-Identifier: GPL-2.0-only */
/* The content of an open set, which may be in use: open-content.c. */
#ifndef OPEN_CONTENT_H
#define OPEN_CONTENT_H

#include <stdint.h>
#include <sys/types.h>

#include "content-size.h"
#include "probe.h"

/* Return: a descriptor of the open set, or negative after a message. */
int open_set_device(const char *name, dev_t devno);
/* The same, to read what a mounted file system has written, its superblocks as well. */
int open_content(const char *name, dev_t devno);
/* What is on it, and how large that is: *bytes, if it is known. */
int look_at_open_content(const char *name, dev_t devno, struct fus_content *c,
			 enum content_size *size, uint64_t *bytes);
/* Write out what a mounted file system has in memory: to freeze it takes as long as that. */
void sync_open_content(dev_t devno);

#endif
