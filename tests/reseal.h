/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_RESEAL_H
#define TESTS_RESEAL_H

#include <linux/crc32c.h>
#include <linux/types.h>
#include <asm/byteorder.h>

#include "dm-fusion-format.h"

/* Give a modified block a valid checksum. */
static inline void reseal(void *block)
{
	struct fusion_block_header *h = block;

	h->csum = cpu_to_le32(crc32c(~0U, (u8 *)block + sizeof(h->csum),
				     FUSION_BLOCK_SIZE - sizeof(h->csum)));
}

#endif
