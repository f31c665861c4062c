// SPDX-License-Identifier: GPL-2.0-only
/* The map from the replica, where it is better than what is left of the map itself. */
#include "error.h"
#include "fusionctl.h"
#include "meta.h"
#include "meta-base.h"

/*
 * After a clean close: does a shadow that is called current have what the extent has? Otherwise it
 * is as of the last point. A copy of a superblock that nobody can read may be of a later opening:
 * see dm-fusion-load-shadow.c.
 */
static bool is_exact(const struct meta *meta)
{
	const struct fusion_sb *fast = fus_meta_sb(meta, FAST), *slow = fus_meta_sb(meta, SLOW);

	for (int dev = 0; dev < 2; dev++)
		if (meta->m[dev].copy[0].err || meta->m[dev].copy[1].err)
			return false;
	return fusion_shadows_exact(fast, slow);
}

int fus_replica_load(const struct meta *meta, struct rebuild *rb)
{
	const struct fusion_sb *fast = fus_meta_sb(meta, FAST), *slow = fus_meta_sb(meta, SLOW);
	int rc;

	if (rb->dev == SLOW || !slow)
		return 0;
	rc = fus_state_init(&rb->replica, meta->geo[SLOW].nr_lexts);
	if (rc)
		return rc;
	rb->have_replica = fus_state_load(meta, slow, &rb->replica, NULL);
	rb->replica_same = rb->have_replica && fast && fast->epoch == slow->epoch &&
			   (fast->flags & slow->flags & FUSION_SB_CLEAN);
	rb->replica_exact = rb->replica_same && is_exact(meta);
	return 0;
}

int fus_rebuild_open(struct rebuild *rb, const struct meta_open *from)
{
	struct meta_open *to = fus_state_open_get(&rb->st, from->lext);

	if (!to)
		return fus_fail(FC_FAILED, "memory", "not enough to rebuild the map; close "
				"programs and try again");
	*to = *from;
	return 0;
}

int fus_replica_take(struct rebuild *rb)
{
	int rc = 0;

	rb->from_replica = true;
	for (u32 lext = 0; lext < rb->st.nr_lexts; lext++) {
		/* with a shadow it agrees, but only the map knows the place */
		if (!fusion_names_shadow(rb->replica.word[lext]))
			rb->st.word[lext] = rb->replica.word[lext];
		rb->stamp[lext] = FROM_MAP;
	}
	for (u32 i = 0; i < rb->replica.nr_open && !rc; i++)
		rc = fus_rebuild_open(rb, rb->replica.open[i]);
	return rc;
}

/*
 * The extent is on the fast member, and the replica does not tell where. If a shadow has the same
 * content, it becomes the place of the extent. Otherwise a place on the fast member stays in doubt
 * if there is other evidence of it. If there is none, a clean close leaves what the extent had at
 * the last point, and nothing else is believed.
 */
static void use_shadow(struct rebuild *rb, u32 lext)
{
	const u32 shadow = rb->replica.word[lext], word = rb->st.word[lext];
	const bool current = rb->replica_same && fusion_word_state(shadow) == (u32)FUSION_SHADOW;
	const bool fast = fusion_word_mapped(word) && fusion_word_dev(word) == FUSION_FAST;

	if (current && (rb->replica_exact || !fast)) {
		rb->st.word[lext] = fusion_word(FUSION_STABLE, FUSION_SLOW,
						fusion_word_slot(shadow));
		rb->doubt[lext] = rb->replica_exact ? DOUBT_NONE : DOUBT_OLD;
		rb->stamp[lext] = rb->replica_exact ? FROM_MAP : FROM_OLDER;
		fus_state_open_drop(&rb->st, lext);
	} else if (!fast) {
		fus_rebuild_drop(rb, lext);
	}
}

int fus_replica_use(const bool *bad, struct rebuild *rb)
{
	int rc = 0;

	for (u32 lext = 0; rb->have_replica && lext < rb->st.nr_lexts && !rc; lext++) {
		const struct meta_open *open = fus_state_open_find(&rb->replica, lext);

		if (!bad[lext / FUSION_MAP_PER_BLOCK] || !rb->doubt[lext])
			continue;
		if (rb->replica.word[lext] == FUSION_WORD_AWAY) {
			fus_rebuild_drop(rb, lext);
			continue;
		}
		if (fusion_names_shadow(rb->replica.word[lext])) {
			use_shadow(rb, lext);
			continue;
		}
		rb->st.word[lext] = rb->replica.word[lext];
		rb->doubt[lext] = rb->replica_same ? DOUBT_NONE : DOUBT_OLD;
		rb->stamp[lext] = rb->replica_same ? FROM_MAP : FROM_OLDER;
		fus_state_open_drop(&rb->st, lext);
		if (open)
			rc = fus_rebuild_open(rb, open);
	}
	return rc;
}
