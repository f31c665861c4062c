/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_LIMITS_H
#define SHIM_LINUX_LIMITS_H

#include_next <linux/limits.h>
#include <linux/types.h>

#define U8_MAX	((u8)~0U)
#define U16_MAX	((u16)~0U)
#define U32_MAX	((u32)~0U)
#define U64_MAX	((u64)~0ULL)

#endif
