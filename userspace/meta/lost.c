// SPDX-License-Identifier: GPL-2.0-only
/*
 * A set whose fast member is lost goes on with another one. What the replica has on the slow member
 * stays there, shadows become the content of their extents, and the rest is lost: reads of it fail.
 *
 * The new disk is written first, as the member that it is to become, with the map and the bitmaps
 * of partial extents. The slow member does not name it yet, so it is a member of nothing. Then the
 * map goes to the slow member's other map copy, and after a flush the superblock that names the new
 * disk goes to the older superblock copy: that is the commit. Up to there the old replica is whole,
 * and the command can be given again. The log must not be written before, as its next chain would
 * make the old one look damaged. So the bitmaps follow in the log after the commit, and then the
 * other superblock copy. In between, the replica calls partial extents lost; the map does not.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#include "lost.h"
#include "error.h"
#include "fusionctl.h"
#include "meta-shadow.h"

/* -- the plan --------------------------------------------------------------------------- */

struct planning {
	const struct fusion_sb *sb;
	const struct rebuild *rb;
	struct lost_plan *p;
	bool current;		/* the replica was up to date */
	bool stale;
	u32 most;		/* extents that may be lost in part */
};

static u32 count_valid(const struct fusion_sb *sb, const struct meta_open *open)
{
	u32 nr = 0;

	for (u32 i = 0; i < sb->extent_sectors / FUSION_BLOCK_SECTORS; i++)
		nr += open->bitmap[i / 8] >> i % 8 & 1;
	return nr;
}

static void lose(struct planning *pl, u32 lext)
{
	pl->p->st.word[lext] = FUSION_WORD_LOST;
	pl->p->lost++;
	pl->p->lost_sectors += pl->sb->extent_sectors;
}

/* What the replica does not know to be valid was perhaps written since. */
static int keep_open(struct planning *pl, u32 lext, const struct meta_open *open)
{
	const u32 blocks = pl->sb->extent_sectors / FUSION_BLOCK_SECTORS;
	const u32 valid = count_valid(pl->sb, open);
	const bool lost = open->lost || !pl->current;
	struct lost_plan *p = pl->p;
	struct meta_open *to;

	if (lost && valid < blocks && p->partly >= pl->most) {
		lose(pl, lext);
		if (!open->lost)
			p->unknown_sectors += (blocks - valid) * FUSION_BLOCK_SECTORS;
		return 0;
	}
	p->st.word[lext] = open->word;
	if (valid == blocks) {
		p->st.word[lext] = fusion_word_set_state(open->word, FUSION_STABLE);
		return 0;
	}
	to = fus_state_open_get(&p->st, lext);
	if (!to)
		return fus_fail(FC_FAILED, "memory", "not enough for the map; close programs and "
				"try again");
	*to = *open;
	to->lost = lost;
	if (!lost)
		return 0;
	p->lost++;
	p->partly++;
	p->lost_sectors += (blocks - valid) * FUSION_BLOCK_SECTORS;
	if (!open->lost)
		p->unknown_sectors += (blocks - valid) * FUSION_BLOCK_SECTORS;
	return 0;
}

static void use_shadow(struct planning *pl, u32 lext, u32 word)
{
	const bool outdated = fusion_word_state(word) == (u32)FUSION_OUTDATED;

	pl->p->outdated += outdated;
	pl->p->shadows += !outdated;
	if (outdated && !pl->stale)
		lose(pl, lext);
	else
		pl->p->st.word[lext] = fusion_word(FUSION_STABLE, FUSION_SLOW,
						   fusion_word_slot(word));
}

static int plan_extent(struct planning *pl, u32 lext)
{
	const u32 word = pl->rb->st.word[lext];
	const struct meta_open *open;

	if ((pl->rb->doubt && pl->rb->doubt[lext]) || fusion_word_lost(word)) {
		lose(pl, lext);
	} else if (fusion_names_shadow(word)) {
		use_shadow(pl, lext, word);
	} else if (!fusion_word_mapped(word)) {
		if (!pl->current) {
			lose(pl, lext);
			pl->p->unknown_sectors += pl->sb->extent_sectors;
		}
	} else if (fusion_word_dev(word) == FUSION_FAST) {
		lose(pl, lext);
	} else if (fusion_word_state(word) == FUSION_OPEN) {
		open = fus_state_open_find(&pl->rb->st, lext);
		if (open)
			return keep_open(pl, lext, open);
		lose(pl, lext);
	} else {
		pl->p->st.word[lext] = word;
	}
	return 0;
}

int fus_lost_plan(const struct meta *meta, const struct rebuild *rb, bool stale,
		  struct lost_plan *p)
{
	const struct fusion_sb *sb = fus_meta_sb(meta, SLOW);
	struct planning pl = {
		.sb = sb, .rb = rb, .p = p, .stale = stale,
		.current = rb->exact && sb->flags & FUSION_SB_CLEAN,
		/* half as many as the module allows (dm-fusion-lost.c), so that it can go on */
		.most = fusion_open_limit(sb) / 8,
	};
	int rc;

	memset(p, 0, sizeof(*p));
	rc = fus_state_init(&p->st, sb->nr_lexts);
	for (u32 lext = 0; lext < sb->nr_lexts && !rc; lext++)
		rc = plan_extent(&pl, lext);
	return rc;
}

void fus_lost_plan_free(struct lost_plan *p)
{
	fus_state_free(&p->st);
}

/* -- writing it --------------------------------------------------------------------------- */

bool fus_lost_begun(const struct fusion_sb *slow, const struct fusion_sb *disk)
{
	/*
	 * A member of the past, or one that was replaced, has not seen that epoch. One that was in
	 * use since then says how far the other one had got.
	 */
	return disk->role == FUSION_FAST && disk->flags & FUSION_SB_CLEAN &&
	       disk->epoch > slow->epoch && !disk->peer_at.generation && !disk->peer_at.seq &&
	       !memcmp(disk->set_uuid, slow->set_uuid, sizeof(disk->set_uuid)) &&
	       !memcmp(disk->peer_uuid, slow->dev_uuid, sizeof(disk->peer_uuid)) &&
	       memcmp(disk->dev_uuid, slow->peer_uuid, sizeof(disk->dev_uuid));
}

static int zero_blocks(const struct meta *meta, u64 block, u32 nr)
{
	void *zero = fus_offline_buffer(FUSION_BLOCK_SIZE);
	int err = 0, rc = zero ? 0 : FC_FAILED;

	for (; nr-- && !rc; block++) {
		err = fus_offline_write(&meta->m[FAST].o, block * FUSION_BLOCK_SIZE,
					FUSION_BLOCK_SIZE, zero);
		if (err)
			rc = fus_meta_io_failed(meta, FAST, "write", err);
	}
	free(zero);
	return rc;
}

/* It may have been the member of the set, in another life. */
static int clear_disk(const struct meta *meta)
{
	const struct fusion_sb *geo = &meta->geo[FAST];
	int rc = zero_blocks(meta, geo->journal_start[FAST], geo->journal_blocks[FAST]);

	for (int set = 0; set < FUSION_NR_SETS && !rc; set++)
		rc = zero_blocks(meta, geo->map_start[FAST][set], geo->map_blocks);
	return rc ? rc : fus_meta_flush(meta, FAST);
}

static void set_identity(struct meta *meta, const struct fusion_disk_ident *ident)
{
	struct fusion_sb *fast = &meta->geo[FAST], *slow = &meta->geo[SLOW];

	uuid_generate_random(fast->dev_uuid);
	fast->self = *ident;
	fast->self_sectors = meta->m[FAST].o.sectors;
	memcpy(slow->peer_uuid, fast->dev_uuid, sizeof(slow->peer_uuid));
	slow->peer = fast->self;
	slow->peer_sectors = fast->self_sectors;
}

int fus_lost_write(struct meta *meta, const struct lost_plan *p,
		   const struct fusion_disk_ident *ident)
{
	struct fusion_sb sb[2];
	int rc;

	rc = clear_disk(meta);
	if (!rc)
		rc = fus_meta_read_again(meta);
	if (rc)
		return rc;
	if (fus_meta_sb(meta, FAST) || !fus_meta_sb(meta, SLOW))
		return fus_fail(FC_FAILED, meta->m[FAST].o.path, "could not be erased; use another "
				"device");
	set_identity(meta, ident);
	fus_meta_next(meta, &p->st, false, -1, sb);
	rc = fus_meta_put_heat(meta, &sb[FAST], meta->m[FAST].heat);
	if (!rc)
		rc = fus_meta_put_state(meta, &sb[FAST], &p->st);
	for (int copy = 0; copy < 2 && !rc; copy++)
		rc = fus_meta_put_super(meta, &sb[FAST]);
	if (!rc)
		rc = fus_meta_put_map(meta, &sb[SLOW], &p->st);
	if (!rc)
		rc = fus_meta_flush(meta, SLOW);
	/* the commit */
	if (!rc)
		rc = fus_meta_put_super(meta, &sb[SLOW]);
	if (!rc)
		rc = fus_meta_put_opens(meta, &sb[SLOW], &p->st);
	if (!rc)
		rc = fus_meta_flush(meta, SLOW);
	return rc ? rc : fus_meta_put_super(meta, &sb[SLOW]);
}
