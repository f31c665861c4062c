// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write a state to both members, in the order of a checkpoint. The map goes to the map copy that is
 * not active, and the bitmaps of open extents to the end of the journal. After a flush, the
 * superblock that names them goes to the older superblock copy. Up to there the set is unchanged,
 * and may be repaired again. The other superblock copy follows, so that either is enough. Epochs
 * rise as in an activation, the slow member's first.
 *
 * A ring that cannot be continued starts again, with numbers above all numbers in it: so no old
 * block can be taken for a part of the new chain. But if the old chain was in order, as it may be
 * where restore --force overwrites a set, it can't be followed any more once the new ring has a
 * block. Until the superblocks name the new ring, repair leaves that out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "error.h"
#include "fusionctl.h"
#include "meta.h"
#include "meta-base.h"
#include "super.h"
#include "dm-fusion-settings.h"

#define CHUNK_BLOCKS	256U

int fus_meta_io_failed(const struct meta *meta, int dev, const char *what, int err)
{
	return fus_fail(FC_FAILED, meta->m[dev].o.path, "%s failed: %s; check the device and the "
			"kernel's log", what, strerror(-err));
}

static int put(const struct meta *meta, int dev, u64 block, u32 nr, const void *buf)
{
	int err = fus_offline_write(&meta->m[dev].o, block * FUSION_BLOCK_SIZE,
				    (size_t)nr * FUSION_BLOCK_SIZE, buf);

	return err ? fus_meta_io_failed(meta, dev, "write", err) : 0;
}

int fus_meta_flush(const struct meta *meta, int dev)
{
	int err = fus_offline_sync(&meta->m[dev].o);

	return err ? fus_meta_io_failed(meta, dev, "flush", err) : 0;
}

/* -- map and heat --------------------------------------------------------------------- */

/*
 * The replica's map copies have no open extents; its log has them. Where extents are lost, one that
 * is cut off from the log counts as lost, too.
 */
static void map_words(const struct fusion_sb *sb, const struct meta_state *st, u32 index,
		      u32 *words)
{
	const u32 n = fusion_map_entries(sb, index);

	memcpy(words, st->word + (size_t)index * FUSION_MAP_PER_BLOCK, n * sizeof(*words));
	for (u32 i = 0; i < n && sb->role == FUSION_SLOW; i++)
		if (fusion_word_mapped(words[i]) && fusion_word_state(words[i]) == FUSION_OPEN)
			words[i] = sb->incompat & FUSION_INCOMPAT_DAMAGED ? FUSION_WORD_LOST :
									    FUSION_WORD_UNMAPPED;
}

int fus_meta_put_map(const struct meta *meta, const struct fusion_sb *sb,
		     const struct meta_state *st)
{
	const u64 start = sb->map_start[sb->role][sb->active_set];
	char *buf = fus_offline_buffer((size_t)min(sb->map_blocks,
						   CHUNK_BLOCKS) * FUSION_BLOCK_SIZE);
	u32 words[FUSION_MAP_PER_BLOCK], i, j, n;
	int rc = 0;

	if (!buf)
		return FC_FAILED;
	for (i = 0; i < sb->map_blocks && !rc; i += n) {
		n = min(sb->map_blocks - i, CHUNK_BLOCKS);
		for (j = 0; j < n; j++) {
			map_words(sb, st, i + j, words);
			fusion_map_pack(sb, sb->active_set, i + j, sb->set_generation, words,
					buf + (size_t)j * FUSION_BLOCK_SIZE);
		}
		rc = put(meta, sb->role, start + i, n, buf);
	}
	free(buf);
	return rc;
}

int fus_meta_put_heat(const struct meta *meta, const struct fusion_sb *sb, const u16 *heat)
{
	char *buf = fus_offline_buffer(FUSION_BLOCK_SIZE);
	int rc = buf ? 0 : FC_FAILED;

	for (u32 i = 0; i < sb->heat_blocks && !rc; i++) {
		fusion_heat_pack(sb, i, sb->set_generation,
				 heat + (size_t)i * FUSION_HEAT_PER_BLOCK, buf);
		rc = put(meta, FAST, sb->heat_start + i, 1, buf);
	}
	free(buf);
	return rc;
}

/* -- journal ------------------------------------------------------------------------------ */

/*
 * Remove everything that is not a block of the journal: foreign content by which another owner may
 * be recognised (the superblock of btrfs lies here), and blocks with a valid checksum but numbers
 * beyond the limits of the format, or of a later epoch than the set is about to have, because the
 * ring could not continue after them. The present set uses none of them.
 */
static int clear_nonsense(const struct meta *meta, int dev, u32 epoch)
{
	const struct fusion_sb *geo = &meta->geo[dev];
	const struct meta_ring *ring = &meta->m[dev].ring;
	void *zero = fus_offline_buffer(FUSION_BLOCK_SIZE);
	int rc = zero ? 0 : FC_FAILED;

	for (u32 pos = 0; pos < geo->journal_blocks[dev] && !rc; pos++) {
		const u64 blocknr = geo->journal_start[dev] + pos;
		const struct fusion_journal_block *b =
			(const void *)(ring->block + (size_t)pos * FUSION_BLOCK_SIZE);

		if (memchr_inv(b, 0, FUSION_BLOCK_SIZE) &&
		    (fusion_block_check(geo, FUSION_MAGIC_JOURNAL, blocknr, b) ||
		     !fus_journal_sane(b) || le32_to_cpu(b->epoch) > epoch))
			rc = put(meta, dev, blocknr, 1, zero);
	}
	free(zero);
	return rc;
}

/* Return: whether fus_meta_put_opens() has written there. */
static bool in_new_ring(const struct fusion_sb *sb, u32 pos, u64 end)
{
	for (u64 seq = sb->replay_seq; seq < end; seq++)
		if (fusion_journal_blocknr(sb, seq) == sb->journal_start[sb->role] + pos)
			return true;
	return false;
}

/*
 * Unreadable blocks become readable once they are written. The active map copy and journal wait
 * until the new ones are in use: until then, an unreadable block may stand for one that proves how
 * far the member has got, but zeros may not.
 */
static int clear_unreadable(const struct meta *meta, const struct fusion_sb *sb, u64 end)
{
	const struct meta_ring *ring = &meta->m[sb->role].ring;
	const unsigned int nr = !sb->active_set;
	const struct meta_block *block = meta->m[sb->role].set[nr].block;
	void *zero = fus_offline_buffer(FUSION_BLOCK_SIZE);
	int rc = zero ? 0 : FC_FAILED;

	for (u32 i = 0; i < sb->map_blocks && !rc; i++)
		if (block[i].unreadable)
			rc = put(meta, sb->role, sb->map_start[sb->role][nr] + i, 1, zero);
	for (u32 pos = 0; pos < sb->journal_blocks[sb->role] && !rc; pos++)
		if (ring->unreadable[pos] && !in_new_ring(sb, pos, end))
			rc = put(meta, sb->role, sb->journal_start[sb->role] + pos, 1, zero);
	free(zero);
	return rc;
}

/* -- superblocks ---------------------------------------------------------------------------- */

static u64 max_generation(const struct meta *meta, int dev)
{
	const struct meta_member *m = &meta->m[dev];
	u64 g = 0;

	for (int i = 0; i < 2; i++)
		if (!m->copy[i].err)
			g = max(g, m->copy[i].sb.generation);
	for (int set = 0; set < FUSION_NR_SETS; set++)
		for (u32 i = 0; i < meta->geo[dev].map_blocks; i++)
			if (!m->set[set].block[i].why &&
			    m->set[set].block[i].generation < FUSION_MAX_COUNTER / 2)
				g = max(g, m->set[set].block[i].generation);
	return g;
}

/* The superblock that will name the written blocks. */
static void next_super(const struct meta *meta, int dev, const struct meta_state *st,
		       bool go_on, int built_from, struct fusion_sb *sb)
{
	const struct fusion_sb *have = fus_meta_sb(meta, dev);
	const struct meta_ring *ring = &meta->m[dev].ring;
	/* until the other member is written, it would count one that is behind as stale */
	const struct fusion_progress least = fus_claimed(meta, !dev);
	u32 partly;

	*sb = meta->geo[dev];
	/* a state that is written names no shadows, and on the fast member the bit has no place */
	sb->incompat &= ~(FUSION_INCOMPAT_SHADOW | FUSION_INCOMPAT_DAMAGED);
	if (fus_state_lost(st, &partly))
		sb->incompat |= FUSION_INCOMPAT_DAMAGED;
	fusion_sb_drop_bad_settings(sb);
	sb->flags = FUSION_SB_CLEAN;
	sb->generation = max(max_generation(meta, dev), least.generation) + 1;
	if (dev == FAST && !have)
		sb->generation += HEADLESS_JUMP;
	/* into the superblock copy that is not in force */
	if (have && !((sb->generation ^ have->generation) & 1))
		sb->generation++;
	sb->set_generation = sb->generation;
	sb->active_set = have ? !have->active_set : built_from < 0 ? 0 : !built_from;
	if (go_on) {
		sb->replay_seq = st->next_seq;
		sb->replay_txn = st->next_txn;
		sb->replay_csum = st->next_csum;
	} else {
		sb->replay_seq = max(ring->max_seq, have ? have->replay_seq : 0) + 1;
		sb->replay_seq = max(sb->replay_seq, least.seq);
		sb->replay_txn = max(ring->max_txn, have ? have->replay_txn : 0) + 1;
		sb->replay_csum = 0;
	}
}

/* Return: whether the kernel would open the members as a set. */
static bool fit(const struct meta *meta)
{
	struct meta_past past;
	const char *why;

	return !fusion_sb_match(fus_meta_sb(meta, FAST), fus_meta_sb(meta, SLOW), &why) &&
	       !fus_meta_past(meta, &past);
}

/*
 * The slow member's superblock comes first. Until the fast member's is written as well, members
 * that fit must do so still, as after an interrupted opening, so the epoch is the next one; and
 * members that do not fit must not begin to, so the epoch is one that the fast member can't reach
 * by an opening.
 */
static u32 next_epoch(const struct meta *meta)
{
	const struct fusion_sb *fast = fus_meta_sb(meta, FAST), *slow = fus_meta_sb(meta, SLOW);
	u32 newest = max(meta->m[FAST].ring.max_epoch, meta->m[SLOW].ring.max_epoch);

	if (fast && slow && fit(meta))
		return fast->epoch + 1;
	/* the geometry from a dump has an epoch of its own */
	newest = max(newest, meta->geo[FAST].epoch);
	if (slow)
		newest = max(newest, slow->epoch);
	if (fast)
		newest = max(newest, fast->epoch + (slow ? 1 : 0));
	return newest + 1;
}

/*
 * This is an activation: both members get the epoch after the fast member's, or after the newest
 * that left a trace, and a new activation number. So a member that was used apart from them no
 * longer fits. The new superblocks claim nothing about how far the other member has got.
 */
static void set_epochs(const struct meta *meta, struct fusion_sb sb[2])
{
	const struct fusion_sb *fast = fus_meta_sb(meta, FAST);
	const u64 activation = fus_super_new_activation();
	const u32 epoch = next_epoch(meta);

	for (int dev = 0; dev < 2; dev++) {
		sb[dev].epoch = epoch;
		sb[dev].prev_activation = fast ? fast->activation : activation;
		sb[dev].activation = activation;
		sb[dev].peer_at = (struct fusion_progress){ 0 };
	}
}

static int put_super(const struct meta *meta, struct fusion_sb *sb, time_t when)
{
	const u64 blocknr = FUSION_SUPER_BLOCKNR(sb->generation & 1);
	void *buf = fus_offline_buffer(FUSION_BLOCK_SIZE);
	int rc = buf ? 0 : FC_FAILED;

	if (!rc) {
		sb->write_time = when;
		fusion_sb_pack(sb, blocknr, buf);
		rc = put(meta, sb->role, blocknr, 1, buf);
	}
	if (!rc)
		rc = fus_meta_flush(meta, sb->role);
	free(buf);
	sb->generation++;
	return rc;
}

int fus_meta_put_super(const struct meta *meta, struct fusion_sb *sb)
{
	return put_super(meta, sb, time(NULL));
}

void fus_meta_next(const struct meta *meta, const struct meta_state *st, bool go_on,
		   int built_from, struct fusion_sb sb[2])
{
	next_super(meta, FAST, st, go_on, built_from, &sb[FAST]);
	next_super(meta, SLOW, st, false, -1, &sb[SLOW]);
	set_epochs(meta, sb);
}

bool fus_meta_has_room(const struct meta *meta, const struct fusion_sb *sb,
		       const struct meta_state *st)
{
	const struct fusion_sb *is = fus_meta_sb(meta, sb->role);
	const u64 end = sb->replay_seq + fus_meta_open_blocks(sb, st);

	return end - is->replay_seq <= is->journal_blocks[sb->role];
}

bool fus_meta_keeps_present(const struct meta *meta, int dev, const struct meta_state *st,
			    bool go_on, int built_from)
{
	struct fusion_sb next[2];

	if (!fus_meta_sb(meta, dev))
		return true;
	fus_meta_next(meta, st, go_on, built_from, next);
	return fus_meta_has_room(meta, &next[dev], st);
}

int fus_meta_put_state(const struct meta *meta, const struct fusion_sb *sb,
		       const struct meta_state *st)
{
	int rc = fus_meta_put_map(meta, sb, st);

	/* a ring that begins proves that its map copy is whole: see meta-rebuild.c */
	if (!rc)
		rc = fus_meta_flush(meta, sb->role);
	if (!rc)
		rc = fus_meta_put_opens(meta, sb, st);
	return rc ? rc : fus_meta_flush(meta, sb->role);
}

int fus_meta_check_next(const struct meta *meta, const struct fusion_sb sb[2])
{
	const char *why = NULL;

	for (int dev = 0; dev < 2 && !why; dev++)
		why = fusion_check_geometry(&sb[dev]);
	return !why ? 0 : fus_fail(FC_FAILED, meta->geo[FAST].label, "would get a superblock that "
				   "cannot be read (%s), so nothing is written; report this", why);
}

/* The bit of a landing log that a member still has, and no longer is to have; or 0. */
static u64 landing_ends(const struct meta *meta)
{
	u64 has = 0;

	for (int dev = 0; dev < 2; dev++)
		if (fus_meta_sb(meta, dev))
			has |= fus_meta_sb(meta, dev)->incompat;
	return has & ~meta->geo[SLOW].incompat & FUSION_INCOMPAT_LANDING;
}

int fus_meta_write(const struct meta *meta, const struct meta_state *st, bool go_on, int built_from,
		   const u16 *heat)
{
	const u64 ends = landing_ends(meta);
	struct fusion_sb sb[2];
	int dev, rc;

	fus_meta_next(meta, st, go_on, built_from, sb);
	rc = fus_meta_check_next(meta, sb);
	for (dev = 0; dev < 2 && !rc; dev++) {
		rc = clear_nonsense(meta, dev, sb[dev].epoch);
		if (!rc)
			rc = fus_meta_put_state(meta, &sb[dev], st);
	}
	if (!rc)
		rc = fus_meta_put_heat(meta, &sb[FAST], heat);
	if (!rc)
		rc = fus_meta_flush(meta, FAST);
	/*
	 * The slow member's first, as its epoch may be ahead while it is not CLEAN. If the fast
	 * member has no superblock, the set cannot be opened until it gets one. After a cut before
	 * that, only a CLEAN slow member tells that its replica is as good as the map. And the slow
	 * member has to say that there is a landing log as long as a superblock of the fast one
	 * does: it is all that tells of it if the fast one is lost.
	 */
	if (fus_meta_sb(meta, FAST))
		sb[SLOW].flags = 0;
	sb[SLOW].incompat |= ends;
	if (!rc)
		rc = fus_meta_put_super(meta, &sb[SLOW]);
	for (int copy = 0; copy < (ends ? 2 : 1) && !rc; copy++)
		rc = fus_meta_put_super(meta, &sb[FAST]);
	sb[SLOW].flags = FUSION_SB_CLEAN;
	sb[SLOW].incompat &= ~ends;
	for (int copy = 0; copy < 2 && !rc; copy++)
		rc = fus_meta_put_super(meta, &sb[SLOW]);
	if (!rc && !ends)
		rc = fus_meta_put_super(meta, &sb[FAST]);
	for (dev = 0; dev < 2 && !rc; dev++)
		rc = clear_unreadable(meta, &sb[dev], sb[dev].replay_seq +
				      fus_meta_open_blocks(&sb[dev], st));
	return rc;
}

int fus_meta_write_kept(const struct meta *meta, const struct fusion_sb *from)
{
	struct fusion_sb sb[2] = { *fus_meta_sb(meta, FAST), *fus_meta_sb(meta, SLOW) };
	int rc = 0;

	/* The copy that was found may only be in the disk's cache. The other one is overwritten. */
	for (int dev = 0; dev < 2 && !rc; dev++) {
		sb[dev].generation++;
		fusion_sb_copy_kept(from, &sb[dev]);
		rc = fus_meta_flush(meta, dev);
	}
	for (int copy = 0; copy < 2 && !rc; copy++) {
		rc = fus_meta_put_super(meta, &sb[SLOW]);
		if (!rc)
			rc = fus_meta_put_super(meta, &sb[FAST]);
	}
	return rc;
}

/*
 * The newest map copy of the replica and the log after it. If something may be missing between
 * them, the log begins with a transaction that is not there, so that nothing takes the replica for
 * a whole one.
 */
static int find_replica(const struct meta *meta, struct fusion_sb *sb)
{
	const struct rebuild rb = { .dev = SLOW };
	const struct base base = fus_newest_base(meta, &rb);
	const struct meta_ring *ring = &meta->m[SLOW].ring;
	struct meta_journal j;
	u32 first;
	int rc;

	rc = fus_journal_list(meta, SLOW, &j);
	if (rc)
		return rc;
	first = fus_journal_chain(&j, j.nr);
	sb->active_set = base.set < 0 ? 0 : base.set;
	/* no block has that, nor may a log that is gone as a whole count as an empty one */
	sb->set_generation = sb->generation;
	sb->replay_seq = ring->max_seq + 1;
	sb->replay_txn = ring->max_txn + 1;
	sb->replay_csum = 0;
	if (first < j.nr && base.set >= 0 && base.generation < FUSION_MAX_COUNTER / 2) {
		sb->set_generation = base.generation;
		sb->replay_seq = j.t[first].seq;
		sb->replay_txn = j.t[first].txn;
		sb->replay_csum = j.t[first].prev_csum;
		if ((fus_newer_copy(meta, SLOW, base.generation) ||
		     !fus_journal_complete(meta, SLOW, &j)) && sb->replay_txn > 1)
			sb->replay_txn--;
	}
	fus_journal_free(&j);
	return 0;
}

int fus_meta_write_geometry(const struct meta *meta)
{
	struct fusion_sb sb = meta->geo[SLOW];
	int rc;

	/* the replica tells */
	sb.incompat |= FUSION_INCOMPAT_DAMAGED;
	sb.flags = 0;
	sb.generation = max(max_generation(meta, SLOW), fus_claimed(meta, FAST).generation) + 1;
	sb.epoch = max(meta->m[FAST].ring.max_epoch, meta->m[SLOW].ring.max_epoch);
	sb.activation = fus_super_new_activation();
	sb.prev_activation = sb.activation;
	sb.peer_at = fus_claimed(meta, SLOW);
	rc = find_replica(meta, &sb);
	/* it names the replica with its shadows, of a time that it does not know */
	for (int copy = 0; copy < 2 && !rc; copy++)
		rc = put_super(meta, &sb, 0);
	return rc;
}

int fus_guards_clear(const struct meta *meta, const struct report *r)
{
	void *zero = fus_offline_buffer(FUSION_BLOCK_SIZE);
	int err = 0, rc = zero ? 0 : FC_FAILED;

	for (unsigned int i = 0; i < r->nr && !rc; i++) {
		const struct finding *f = &r->f[i];
		const u64 offset = f->block * FUSION_BLOCK_SIZE;
		u64 bytes;

		if (strcmp(f->what, "guard") || f->block == NO_BLOCK)
			continue;
		bytes = (meta->geo[f->dev].self_sectors << 9) - offset;
		err = fus_offline_write(&meta->m[f->dev].o, offset,
					min_t(u64, bytes, FUSION_BLOCK_SIZE), zero);
		if (err)
			rc = fus_meta_io_failed(meta, f->dev, "write", err);
	}
	free(zero);
	return rc;
}
