/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_HASH_H
#define SHIM_HASH_H

#include <linux/types.h>

/* Any hash that mixes well would do. The kernel's also multiplies by the golden ratio. */
static inline u32 hash_32(u32 value, unsigned int bits)
{
	return value * 0x61c88647U >> (32 - bits);
}

#endif
