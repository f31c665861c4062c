/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_STRING_H
#define SHIM_LINUX_STRING_H

#include_next <linux/string.h>
#include <string.h>

/* First byte that is not @c, or NULL. */
static inline void *memchr_inv(const void *start, int c, size_t bytes)
{
	const unsigned char *p = start;

	/* All bytes are @c if the first is and each other one equals the one before it. */
	if (!bytes || (*p == (unsigned char)c && !memcmp(p, p + 1, bytes - 1)))
		return NULL;
	while (*p == (unsigned char)c)
		p++;
	return (void *)p;
}

#endif
