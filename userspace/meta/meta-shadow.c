// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shadows: an extent of the fast member may have a slot on the slow one with what it had before.
 * The replica names that slot instead of the fast one, which it does not know then. So such a word
 * is no place of the extent, and nothing may take it for one.
 */
#include "meta.h"
#include "meta-base.h"

bool fus_any_shadow(const u32 *word, u32 nr)
{
	for (u32 i = 0; i < nr; i++)
		if (fusion_names_shadow(word[i]))
			return true;
	return false;
}

bool fus_replica_agrees(u32 map, u32 replica)
{
	if (!fusion_names_shadow(replica))
		return map == replica;
	return fusion_word_mapped(map) && fusion_word_dev(map) == FUSION_FAST &&
	       fusion_word_state(map) == FUSION_STABLE;
}

void fus_shadows_judge(const struct fusion_sb *sb, struct rebuild *rb)
{
	const bool announced = sb && sb->incompat & FUSION_INCOMPAT_SHADOW;

	for (u32 lext = 0; lext < rb->st.nr_lexts; lext++) {
		const u32 word = rb->st.word[lext];

		if (!fusion_names_shadow(word))
			continue;
		if (!announced)
			fus_rebuild_drop(rb, lext);
		else if (rb->missing_txns)
			rb->st.word[lext] = fusion_shadow_word(FUSION_OUTDATED,
							       fusion_word_slot(word));
	}
}
