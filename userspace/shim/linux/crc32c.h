/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_CRC32C_H
#define SHIM_LINUX_CRC32C_H

#include <linux/types.h>

/* a program that links libfusion.a may have its own */
#define crc32c	fus_crc32c

/* As in the kernel: @crc goes in and the result comes out without inversion. */
u32 crc32c(u32 crc, const void *address, unsigned int length);
/* The same, where the processor has no instruction for it. */
u32 fus_crc32c_portable(u32 crc, const void *address, unsigned int length);

#endif
