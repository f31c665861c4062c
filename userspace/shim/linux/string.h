/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_STRING_H
#define SHIM_LINUX_STRING_H

#include_next <linux/string.h>
#include <string.h>

/* First byte that is not @c, or NULL. */
static inline void *memchr_inv(const void *start, int c, size_t bytes)
{
	const unsigned char *p = start;

	for (; bytes; p++, bytes--)
		if (*p != (unsigned char)c)
			return (void *)p;
	return NULL;
}

#endif
