// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the shadows of a set that is being loaded, as the replica names them.
 *
 * Only the map of the fast member says where extents are. The replica adds what it alone knows: in
 * which slow slots there are copies of extents of the fast member. It may be older than the map.
 * Even so, a slot that it names has what it says, unless the map has given it to another extent
 * since: no other extent got it while the replica named it (INV6).
 *
 * If both members were closed in order, by the same activation, then the replica was brought up to
 * date behind the last write, and what it calls current is so. Otherwise there may have been writes
 * after that. Then each shadow counts as out of date, until it is copied again.
 *
 * The new replica names the same slots, so they are never free in between. A set that grows,
 * shrinks or gets another member starts without shadows.
 */
#include <linux/mm.h>
#include <linux/sched.h>

#include "dm-fusion.h"

/* What the replica says is taken over with each record. */
struct claims {
	struct fusion_chain_ring ring;
	bool exact;
};

static bool fusion_load_shadows_exact(const struct fusion *fs)
{
	const struct fusion_sb *fast = &fs->sb_next, *slow = &fs->replica.sb;

	return fast->flags & slow->flags & FUSION_SB_CLEAN && fast->epoch == slow->epoch &&
	       fast->activation == slow->activation && !(fast->flags & FUSION_SB_NEEDS_CHECK);
}

static int fusion_load_shadow_set(struct fusion *fs, struct claims *claims)
{
	struct fusion_chain *log = &fs->replica.log;
	const struct fusion_sb *sb = log->sb;
	u32 *words = page_address(log->buf[FUSION_BUF_BLOCKS - 1]);
	const char *why;
	u32 index, i, k, nr;
	int r;

	for (index = 0; index < sb->map_blocks; index += nr) {
		nr = min(sb->map_blocks - index, FUSION_BUF_BLOCKS - 1);
		r = fusion_rw_blocks(fs, log, REQ_OP_READ | REQ_META,
				     sb->map_start[FUSION_SLOW][sb->active_set] + index, 0, nr);
		for (i = 0; i < nr && !r; i++) {
			r = fusion_map_unpack(sb, sb->active_set, index + i, sb->set_generation,
					      page_address(log->buf[i]), words, &why);
			for (k = 0; k < fusion_map_entries(sb, index + i) && !r; k++)
				if (fusion_names_shadow(words[k]))
					fusion_shadow_claim(fs, (index + i) *
							    FUSION_MAP_PER_BLOCK + k, words[k],
							    claims->exact);
		}
		if (r)
			return r;
		cond_resched();
	}
	return 0;
}

static int fusion_load_shadow_record(void *ctx, const struct fusion_record *rec)
{
	struct claims *claims = container_of(ctx, struct claims, ring);

	if (rec->op != FUSION_OP_POINT)
		fusion_shadow_claim(claims->ring.fs, rec->lext, rec->new, claims->exact);
	return 0;
}

void fusion_load_shadows(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;
	struct claims claims = {
		.ring = { .fs = fs, .chain = &rep->log },
		.exact = fusion_load_shadows_exact(fs),
	};
	struct fusion_replay replay = {
		.sb = &rep->sb,
		.read = fusion_chain_read,
		.apply = fusion_load_shadow_record,
		.ctx = &claims.ring,
	};
	u32 lext;

	if (!fs->opt.shadow || !fusion_replica_sb_names(&rep->sb) || fs->grows || fs->shrinks ||
	    fs->old.joins || fusion_sb_has_old(&fs->sb) ||
	    rep->sb.layout_seq != fs->sb.layout_seq || rep->sb.nr_lexts != fs->sb.nr_lexts)
		return;
	if (!fusion_load_shadow_set(fs, &claims) && !fusion_replay(&replay))
		return;
	DMINFO("%s: the replica of the map cannot be read: no shadows are taken over",
	       dm_table_device_name(fs->ti->table));
	for (lext = 0; lext < fs->sb.nr_lexts; lext++)
		fusion_shadow_claim(fs, lext, FUSION_WORD_UNMAPPED, false);
}
