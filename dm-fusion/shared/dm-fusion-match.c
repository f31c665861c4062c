// SPDX-License-Identifier: GPL-2.0-only
/* dm-fusion: whether two superblocks belong together. See dm-fusion-codec.h for the contract. */
#include <linux/errno.h>
#include <linux/string.h>

#include "dm-fusion-codec.h"

bool fusion_sb_same_uuids(const struct fusion_sb *a, const struct fusion_sb *b)
{
	return !memcmp(a->set_uuid, b->set_uuid, sizeof(a->set_uuid)) &&
	       !memcmp(a->dev_uuid, b->dev_uuid, sizeof(a->dev_uuid));
}

bool fusion_sb_same_member(const struct fusion_sb *a, const struct fusion_sb *b)
{
	return fusion_sb_same_uuids(a, b) && fusion_same_layout(a, b) && fusion_same_old(a, b);
}

int fusion_sb_match(const struct fusion_sb *fast, const struct fusion_sb *slow,
		    const char **why)
{
	if (memcmp(fast->set_uuid, slow->set_uuid, sizeof(fast->set_uuid))) {
		*why = "the two devices are members of different sets";
		return -EXDEV;
	}
	*why = fusion_sb_apart(fast) ?: fusion_sb_apart(slow);
	if (*why)
		return -EXDEV;
	if (fast->role == slow->role) {
		*why = "both devices are the same member of the set";
		return -EXDEV;
	}
	if (fast->role != FUSION_FAST) {
		*why = "fast and slow member are swapped";
		return -EXDEV;
	}
	if (memcmp(fast->peer_uuid, slow->dev_uuid, sizeof(fast->peer_uuid)) ||
	    memcmp(slow->peer_uuid, fast->dev_uuid, sizeof(slow->peer_uuid))) {
		*why = "the two members do not name each other";
		return -EXDEV;
	}
	/* The set is as large as the fast member says; the slow one gets to know it afterwards. */
	if (!fusion_sb_same_places(fast, slow)) {
		*why = "the two members disagree on the geometry of the set";
		return -EXDEV;
	}
	if (slow->layout_seq > fast->layout_seq) {
		*why = "the fast member is from before the set was resized";
		return -ESTALE;
	}
	if (fast->layout_seq - slow->layout_seq > 1) {
		*why = "the slow member is from before the set was resized";
		return -ESTALE;
	}
	if (slow->layout_seq == fast->layout_seq ? !fusion_same_geometry(fast, slow) :
						   !fusion_sb_resized_from(fast, slow) &&
						   !fusion_sb_parted_from(fast, slow)) {
		*why = "the two members disagree on the geometry of the set";
		return -EXDEV;
	}
	/*
	 * The slow superblock is written first, so it may be one epoch ahead after a power cut,
	 * but not if the set was closed since.
	 */
	if (slow->epoch != fast->epoch &&
	    (slow->epoch != fast->epoch + 1 || slow->flags & FUSION_SB_CLEAN)) {
		*why = slow->epoch > fast->epoch ?
		       "the fast member is from before the last opening" :
		       "the slow member is from before the last opening";
		return -ESTALE;
	}
	if (fast->activation !=
	    (slow->epoch == fast->epoch ? slow->activation : slow->prev_activation)) {
		*why = "the members were opened apart from each other";
		return -ESTALE;
	}
	return 0;
}

bool fusion_sb_reached(const struct fusion_sb *sb, bool single, u64 next_seq,
		       const struct fusion_progress *claim)
{
	if (claim->generation > sb->generation + single)
		return false;
	if (sb->role == FUSION_SLOW && sb->flags & FUSION_SB_CLEAN)
		return true;
	return claim->seq <= next_seq;
}
