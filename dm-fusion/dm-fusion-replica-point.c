// SPDX-License-Identifier: GPL-2.0-only
/* dm-fusion: what an update of the replica has to do with shadows, and with points. */
#include "dm-fusion.h"

bool fusion_replica_hands_over(const struct fusion *fs)
{
	return fs->replica.closing && fs->replica.names && fusion_shadows_current(fs) &&
	       !READ_ONCE(fs->shadows.changed) && !READ_ONCE(fs->shadows.unsure);
}

void fusion_replica_take_point(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;

	/* Asked once: a point is whole, or none. */
	rep->pointing = rep->names && fusion_shadow_allowed(fs);
	rep->point_end(fs, rep->pointing);
	rep->point_end = NULL;
	if (rep->pointing) {
		rep->point_s = rep->next_point_s;
		fusion_shadow_look(fs, true);
	}
}
