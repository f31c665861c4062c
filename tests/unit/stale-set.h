/* SPDX-License-Identifier: GPL-2.0-only */
/* Sets with a stale list. */
#ifndef UNIT_STALE_SET_H
#define UNIT_STALE_SET_H

#include "unit.h"

static inline void stale_set(struct fusion_sb *sb, u32 extent_sectors, u32 places)
{
	struct fusion_misfit misfit;

	example_sb(sb, 400ULL * extent_sectors, 900ULL * extent_sectors, extent_sectors);
	REQUIRE(!fusion_sb_plan_landing(sb, places, &misfit), "%s", misfit.what);
}

#endif
