// SPDX-License-Identifier: GPL-2.0-only
/* What the target tells users of the copies that the slow disk has. */
#include "dm-fusion.h"

#include "invariants.h"

/* Milliseconds in the seconds of the model, in which POINTs are. */
#define SECONDS_PER_MS	10U

/* As counted, and by the map. */
static void check_fast(const struct fusion *fs)
{
	u32 lext, nr = 0;

	for (lext = 0; lext < fs->sb.nr_lexts; lext++)
		nr += fusion_word_mapped(fs->map[lext]) &&
		      fusion_word_dev(fs->map[lext]) == FUSION_FAST;
	if (nr != fs->nr_fast)
		sim_fail("%u extents lie on the fast member, %u counted", nr, fs->nr_fast);
}

struct told set_told(const void *private)
{
	const struct fusion *fs = private;
	struct told told = { 0 };
	u64 since;

	if (fs->lock.held || !fs->loaded || fs->read_only)
		return told;
	check_fast(fs);
	told.protected = fusion_shadow_protected(fs);
	since = fusion_replica_since(fs);
	told.second = since ? since * SECONDS_PER_MS : (u64)ktime_get_real_seconds();
	return told;
}

bool set_takes_over(const void *private)
{
	const struct fusion *fs = private;

	return !fusion_sb_has_old(&fs->sb) && !fs->old.over && !fs->needs_check;
}
