/* SPDX-License-Identifier: GPL-2.0-only */
/* The largest log that is made by default, for what its index takes. */
#ifndef LAND_BOUND_H
#define LAND_BOUND_H

#include "dm-fusion-land.h"
#include "sim-kernel.h"
#include "unit.h"

#define BOUND_AREA	(8ULL << 30)
#define BOUND_LEXTS	(4U << 20)

/* A log of 8 GiB, in extents of any size, of a set of four million. @bytes begin at 0. */
static inline void each_log_size(void (*judge)(struct fusion_land *land))
{
	u32 blocks;

	for (blocks = 16; blocks <= 4096; blocks *= 2) {
		struct fusion_land land = {};

		bytes = 0;
		REQUIRE_EQ(fusion_land_init(&land, BOUND_AREA / FUSION_BLOCK_SIZE / blocks, blocks,
					    BOUND_LEXTS), 0);
		judge(&land);
		fusion_land_exit(&land);
	}
}

#endif
