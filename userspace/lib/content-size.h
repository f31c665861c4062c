/* SPDX-License-Identifier: GPL-2.0-only */
/* How much of a device its content uses: content-size.c. */
#ifndef CONTENT_SIZE_H
#define CONTENT_SIZE_H

#include <stdint.h>

struct fus_content;

enum content_size {
	SIZE_KNOWN,
	SIZE_WHOLE,		/* all of its device, however large that is */
	SIZE_UNKNOWN,		/* of a type whose size is not known here */
	SIZE_NOTHING,		/* nothing is recognised */
	SIZE_SEVERAL,		/* it is on other devices, too */
};

/* @fd: of a device, or of a file like it. *bytes: from its beginning, if it is known. */
enum content_size fus_content_size(int fd, const struct fus_content *c, uint64_t *bytes);
/* How to make content of this type smaller, "" if that is impossible. */
const char *fus_shrink_text(const char *type);

#endif
