/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_BITMAP_H
#define SHIM_LINUX_BITMAP_H

#include <linux/bitops.h>

#endif
