// SPDX-License-Identifier: GPL-2.0-only
/* A look into the target: extents that are lost. */
#include "dm-fusion.h"

#include "invariants.h"

u32 set_most_lost(const void *private)
{
	return ((const struct fusion *)private)->opens.max / 4;
}

void check_lost_extents(const void *private)
{
	const struct fusion *fs = private;
	const struct fusion_open *open;
	u32 lext, lost = 0, partly = 0;

	for (lext = 0; lext < fs->sb.nr_lexts; lext++)
		lost += fusion_word_lost(fs->map[lext]);
	list_for_each_entry(open, &fs->opens.lru, lru)
		partly += open->lost && !open->closed;
	if (lost != fs->nr_lost || partly != fs->opens.nr_lost)
		sim_fail("%u extents lost, and %u in part; %u and %u counted", lost, partly,
			 fs->nr_lost, fs->opens.nr_lost);
	/* as many as there may be of a larger set may be found in a smaller one */
	if (partly > set_most_lost(fs) && !fs->sb.layout_seq)
		sim_fail("%u extents are lost in part, of %u that may be open", partly,
			 fs->opens.max);
	if (lost + partly && !(fs->sb.incompat & FUSION_INCOMPAT_DAMAGED))
		sim_fail("%u extents are lost, and the superblock does not say so", lost + partly);
}

u32 set_partly_lost(const void *private)
{
	return ((const struct fusion *)private)->opens.nr_lost;
}

bool set_is_partly_lost(const void *private, u32 lext)
{
	const struct fusion_open *open = fusion_open_find((struct fusion *)private, lext);

	return open && open->lost;
}
