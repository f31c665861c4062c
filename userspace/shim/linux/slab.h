/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_SLAB_H
#define SHIM_LINUX_SLAB_H

#include <linux/types.h>
#include <stdlib.h>

#define GFP_KERNEL	0U
#define GFP_NOIO	0U

#define kcalloc(n, size, gfp)	((void)(gfp), calloc(n, size))
#define kzalloc(size, gfp)	kcalloc(1, size, gfp)
#define kvcalloc(n, size, gfp)	kcalloc(n, size, gfp)
#define kvzalloc(size, gfp)	kcalloc(1, size, gfp)
#define kfree(p)		free(p)
#define kvfree(p)		free(p)

#endif
