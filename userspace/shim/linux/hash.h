/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_HASH_H
#define SHIM_HASH_H

#include <linux/types.h>

/* Any that mixes well would do; the kernel's multiplies by the golden ratio, too. */
static inline u32 hash_32(u32 value, unsigned int bits)
{
	return value * 0x61c88647U >> (32 - bits);
}

#endif
