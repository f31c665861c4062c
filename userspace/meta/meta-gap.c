// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fast member has no superblock, so nothing tells where its map copies stand in the journal,
 * nor where the journal ends. What the slow member says of it, and what the ring looks like, may
 * tell that nothing is missing; otherwise the map would be a guess.
 */
#include "fusionctl.h"
#include "meta-base.h"
#include "meta-shadow.h"

/* Return: whether the fast member has nothing that the slow one had not seen when it was closed. */
static bool seen_all(const struct meta *meta)
{
	const struct fusion_sb *slow = fus_meta_sb(meta, SLOW);

	return meta->m[FAST].ring.max_seq < slow->peer_at.seq &&
	       !fus_newer_block(meta, FAST, slow->peer_at.generation);
}

/* What fusionctl wrote claims nothing, and has a higher epoch than all that was there. */
static bool written_by_tool(const struct meta *meta)
{
	const struct fusion_sb *slow = fus_meta_sb(meta, SLOW);

	return !slow->peer_at.generation && !slow->peer_at.seq &&
	       meta->m[FAST].ring.max_epoch < slow->epoch;
}

/*
 * Return: whether the map copy is whole and the same as the replica. Nothing but that tells that
 * the replica has not lost its own end.
 */
static bool agrees(const struct rebuild *rb)
{
	for (u32 lext = 0; lext < rb->st.nr_lexts; lext++)
		if (!fus_replica_agrees(rb->st.word[lext], rb->replica.word[lext]))
			return false;
	return !rb->bad_blocks;
}

bool fus_replica_is_last(const struct meta *meta, const struct rebuild *rb)
{
	return rb->dev == FAST && !fus_meta_sb(meta, FAST) && rb->have_replica &&
	       (fus_meta_sb(meta, SLOW)->flags & FUSION_SB_CLEAN) &&
	       (seen_all(meta) || written_by_tool(meta)) && agrees(rb);
}

/* The first opening writes another map copy. */
static bool never_opened(const struct meta *meta, const struct base *a)
{
	const struct fusion_sb *slow = fus_meta_sb(meta, SLOW);

	return a->generation == 1 && !meta->m[FAST].ring.max_seq && !meta->m[SLOW].ring.max_seq &&
	       !(slow && slow->epoch) && !fus_claimed(meta, SLOW).seq;
}

void fus_find_gap(const struct meta *meta, const struct meta_journal *j, const struct base *a,
		  struct rebuild *rb)
{
	const u64 end = j->nr ? j->t[j->nr - 1].seq + j->t[j->nr - 1].count : 1;
	const u64 claimed = fus_claimed(meta, SLOW).seq;

	if (claimed > end) {
		rb->gap = GAP_END;
		rb->gap_blocks = claimed - end;
	} else if (fus_newer_copy(meta, FAST, a->generation) ||
		   (!never_opened(meta, a) && !fus_journal_complete(meta, FAST, j))) {
		rb->gap = GAP_BEGIN;
	}
}
