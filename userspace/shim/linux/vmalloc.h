/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_VMALLOC_H
#define SHIM_LINUX_VMALLOC_H

#include <stdlib.h>

#define vzalloc(size)	calloc(1, size)
#define vfree(p)	free(p)

#endif
