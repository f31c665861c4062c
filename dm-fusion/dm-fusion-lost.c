// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: extents whose content is lost, since it lay on a fast member that is gone.
 *
 * Nothing but "fusionctl replace --lost" makes them. They have no slot, and reads of them fail:
 * never zeros, never older content. A discard of all of such an extent unmaps it. A write to a part
 * makes it OPEN, as a first write does. The blocks that are not valid then are still lost, so they
 * are never zeroed, and reads of them fail. The extent becomes STABLE when all blocks have been
 * written, or zeroed by a write-zeroes. A discard of a part of such an extent does nothing: it
 * would make blocks that are valid lost. A write of a part of a lost block fails, as it does on a
 * disk that has to read the rest of its sector first.
 *
 * Nothing completes these extents in the background, so they keep their structures. At most a
 * quarter of all is theirs. Writes to further lost extents fail, unless one of those may be about
 * to become STABLE.
 */
#include "dm-fusion.h"

int fusion_lost_may_open(struct fusion *fs, struct bio *bio)
{
	const sector_t mask = FUSION_BLOCK_SECTORS - 1;
	const struct fusion_opens *opens = &fs->opens;

	if (!((bio->bi_iter.bi_sector | bio_end_sector(bio)) & mask)) {
		if (opens->nr_lost < opens->max / 4)
			return 0;
		if (opens->nr_full || opens->lost_writers || fs->commit.running) {
			fusion_park(fs, bio, opens->nr_full);
			return -EAGAIN;
		}
	}
	return -EIO;
}

bool fusion_lost_ends(const struct fusion *fs, const struct fusion_open *open, struct bio *bio)
{
	return open->lost && (bio_op(bio) == REQ_OP_DISCARD ||
			      fusion_open_partial_block(fs, open, bio) >= 0);
}
