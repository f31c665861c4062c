/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_LOG2_H
#define SHIM_LINUX_LOG2_H

#include <linux/types.h>

static inline bool is_power_of_2(unsigned long n)
{
	return n && !(n & (n - 1));
}

/* @n is not 0. */
static inline int ilog2(u64 n)
{
	return 63 - __builtin_clzll(n);
}

#endif
