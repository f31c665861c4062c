// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: superblocks, checkpoints, loading.
 *
 * A checkpoint writes the live map into the inactive set while the device works
 * on. What it catches half-way is put right by the journal: every change visible
 * in the set is in a transaction from the first commit of the checkpoint on, and
 * the second commit makes the last of them durable before the superblock, which
 * names the set and the place to replay from, is written.
 *
 * The replica on the slow member has its own: see dm-fusion-replica.c.
 *
 * Bitmaps of OPEN extents are not in the set. The second commit records all of
 * them again, so replay finds each after the place it starts from.
 */
#include <linux/mm.h>
#include <linux/timekeeping.h>
#include <linux/utsname.h>

#include "dm-fusion.h"
#include "dm-fusion-settings.h"
#include "dm-fusion-trace.h"

static int rw_pages(struct fusion *fs, struct block_device *bdev, blk_opf_t opf, u64 blocknr,
		    struct page **pages, unsigned int nr)
{
	struct bio *bio = bio_alloc_bioset(bdev, nr, opf, GFP_NOIO, &fs->meta_bs);
	unsigned int i;
	int r;

	bio->bi_iter.bi_sector = blocknr * FUSION_BLOCK_SECTORS;
	for (i = 0; i < nr; i++)
		__bio_add_page(bio, pages[i], FUSION_BLOCK_SIZE, 0);
	r = submit_bio_wait(bio);
	bio_put(bio);
	return r;
}

/* What becomes of it the caller knows; where it was only who did it does. */
void fusion_rw_failed(struct fusion *fs, const struct fusion_chain *chain, bool write, u64 blocknr,
		      unsigned int nr, int r)
{
	DMERR_LIMIT("%s: %s device %s: metadata can't be %s, sectors %llu to %llu: %d",
		    dm_table_device_name(fs->ti->table),
		    chain->sb->role == FUSION_FAST ? "fast" : "slow",
		    fs->dev[chain->sb->role]->name, write ? "written" : "read",
		    blocknr * FUSION_BLOCK_SECTORS, (blocknr + nr) * FUSION_BLOCK_SECTORS - 1, r);
}

int fusion_rw_page(struct fusion *fs, enum fusion_dev dev, blk_opf_t opf, u64 blocknr,
		   struct page *page)
{
	return rw_pages(fs, fs->dev[dev]->bdev, opf, blocknr, &page, 1);
}

int fusion_rw_blocks(struct fusion *fs, struct fusion_chain *chain, blk_opf_t opf, u64 blocknr,
		     unsigned int first, unsigned int nr)
{
	int r;

	if (op_is_write(opf)) {
		r = fusion_beat_ready(fs);
		if (r)
			return r;
	}
	r = rw_pages(fs, fs->dev[chain->sb->role]->bdev, opf, blocknr, chain->buf + first, nr);
	if (r)
		fusion_rw_failed(fs, chain, op_is_write(opf), blocknr, nr, r);
	return r;
}

/* -- superblocks --------------------------------------------------------------- */

int fusion_super_read(struct fusion *fs, enum fusion_dev dev, struct fusion_sb *sb,
		      bool *single, const char **why)
{
	struct block_device *bdev = fs->dev[dev]->bdev;
	/* NOIO: the device may be suspended, so reclaim must not write to it. */
	struct page *page = alloc_page(GFP_NOIO);
	struct fusion_sb *one;
	const char *reason = NULL;
	u64 generation[2] = { };
	unsigned int copy;
	int best = 1;
	int r;

	one = kmalloc(sizeof(*one), GFP_NOIO);
	if (!page || !one) {
		*why = "out of memory";
		best = -ENOMEM;
		goto out;
	}

	for (copy = 0; copy < 2; copy++) {
		u64 blocknr = FUSION_SUPER_BLOCKNR(copy);

		r = rw_pages(fs, bdev, REQ_OP_READ | REQ_META, blocknr, &page, 1);
		if (r)
			reason = "superblock can't be read";
		else
			r = fusion_sb_unpack(page_address(page), blocknr, bdev_nr_sectors(bdev),
					     one, &reason);
		/* The other copy may be from before that was begun. */
		if (r == -EPROTONOSUPPORT) {
			*why = fusion_sb_unknown(one, fs->unknown);
			best = r;
			break;
		}
		if (!r && one->role != dev) {
			reason = one->role == FUSION_FAST ?
				 "is the fast member of its set" : "is the slow member of its set";
			r = -EXDEV;
		}
		if (!r)
			generation[copy] = one->generation;
		if (!r && (best || one->generation > sb->generation)) {
			*sb = *one;
			best = 0;
		} else if (r && (best == 1 || best == -ENODATA)) {
			/* "Not a superblock" is the weakest of reasons. */
			best = r;
			*why = reason;
		}
	}
	/* As they are written in turn, one is the successor of the other. */
	if (single)
		*single = max(generation[0], generation[1]) !=
			  min(generation[0], generation[1]) + 1;
out:
	kfree(one);
	if (page)
		__free_page(page);
	return best;
}

int fusion_super_write(struct fusion *fs, struct fusion_chain *chain, struct fusion_sb *sb)
{
	u64 blocknr = FUSION_SUPER_BLOCKNR(sb->generation & 1);
	blk_opf_t fua = fusion_meta_fua(fs, sb->role);
	blk_opf_t preflush;
	int r;

	fusion_note_peer(fs, chain, sb);
	sb->write_time = ktime_get_real_seconds();
	fusion_sb_pack(sb, blocknr, page_address(chain->buf[0]));
	r = fusion_flush_before(fs, chain, &preflush);
	if (!r)
		r = fusion_rw_blocks(fs, chain,
				     REQ_OP_WRITE | REQ_SYNC | REQ_META | preflush | fua,
				     blocknr, 0, 1);
	if (!r)
		r = fusion_flush_after(fs, sb->role, fua);
	if (r)
		DMERR("%s: writing the superblock of the %s device failed: %d",
		      dm_table_device_name(fs->ti->table),
		      sb->role == FUSION_FAST ? "fast" : "slow", r);
	else
		fusion_note_durable(chain, sb->generation, 0);
	return r;
}

void fusion_super_activate(struct fusion *fs, struct fusion_sb *sb)
{
	/* The fast member's has it still, whatever the slow one's was written with in vain. */
	sb->prev_activation = fs->sb.activation;
	sb->activation = fs->activation;
	sb->open_time = ktime_get_real_seconds();
	memcpy(sb->host_id, fs->heart.host_id, sizeof(sb->host_id));
	memset(sb->host_name, 0, sizeof(sb->host_name));
	strscpy(sb->host_name, init_utsname()->nodename, sizeof(sb->host_name));
}

/*
 * Write fs->sb_next, of the next generation, and from then on go by it. One copy at a time is
 * not known to be good, that of a write that failed; the next write is to the same one, since
 * the generation has not moved on.
 */
static int write_next(struct fusion *fs)
{
	struct fusion_sb *sb = &fs->sb_next;
	int r = fusion_super_write(fs, &fs->journal, sb);

	if (r)
		return r;
	fs->sb.active_set = sb->active_set;
	fs->sb.generation = sb->generation;
	fs->sb.epoch = sb->epoch;
	fs->sb.set_generation = sb->set_generation;
	fs->sb.flags = sb->flags;
	fusion_sb_copy_settings(sb, &fs->sb);
	WRITE_ONCE(fs->sb.replay_seq, sb->replay_seq);
	fs->sb.replay_txn = sb->replay_txn;
	fs->sb.replay_csum = sb->replay_csum;
	fs->sb.prev_activation = sb->prev_activation;
	fs->sb.activation = sb->activation;
	fs->sb.open_time = sb->open_time;
	memcpy(fs->sb.host_id, sb->host_id, sizeof(sb->host_id));
	memcpy(fs->sb.host_name, sb->host_name, sizeof(sb->host_name));
	fs->sb.peer_at = sb->peer_at;
	return 0;
}

/* -- checkpoint ------------------------------------------------------------------ */

static int write_map(struct fusion *fs, unsigned int set, u64 generation)
{
	u32 index, i, nr;
	int r;

	for (index = 0; index < fs->sb.map_blocks; index += nr) {
		nr = min(fs->sb.map_blocks - index, FUSION_BUF_BLOCKS);
		for (i = 0; i < nr; i++)
			fusion_map_pack(&fs->sb, set, index + i, generation,
					fs->map + (size_t)(index + i) * FUSION_MAP_PER_BLOCK,
					page_address(fs->journal.buf[i]));
		r = fusion_rw_blocks(fs, &fs->journal, REQ_OP_WRITE | REQ_META,
				     fs->sb.map_start[FUSION_FAST][set] + index, 0, nr);
		if (!r)
			r = fusion_commit_urgent(fs);
		if (r)
			return r;
	}
	return 0;
}

/*
 * Best effort: without it the policy learns anew. The last page of the buffer is scratch.
 * Return: 0, or the error of a commit that could not wait.
 */
static int write_heat(struct fusion *fs, u64 generation)
{
	u16 *heat = page_address(fs->journal.buf[FUSION_BUF_BLOCKS - 1]);
	u32 index, i, j, nr;
	int r;

	for (index = 0; index < fs->sb.heat_blocks; index += nr) {
		nr = min(fs->sb.heat_blocks - index, FUSION_BUF_BLOCKS - 1);
		for (i = 0; i < nr; i++) {
			u32 first = (index + i) * FUSION_HEAT_PER_BLOCK;

			for (j = 0; j < fusion_heat_entries(&fs->sb, index + i); j++)
				heat[j] = fusion_policy_heat(fs->policy, first + j);
			fusion_heat_pack(&fs->sb, index + i, generation, heat,
					 page_address(fs->journal.buf[i]));
		}
		if (fusion_rw_blocks(fs, &fs->journal, REQ_OP_WRITE | REQ_META,
				     fs->sb.heat_start + index, 0, nr)) {
			DMWARN("%s: heat could not be saved",
			       dm_table_device_name(fs->ti->table));
			return 0;
		}
		r = fusion_commit_urgent(fs);
		if (r)
			return r;
	}
	return 0;
}

/* Users' flushes that come meanwhile wait for the next commit. */
static void hold_flushes(struct fusion *fs, bool hold)
{
	spin_lock_irq(&fs->lock);
	fs->hold_flushes = hold;
	spin_unlock_irq(&fs->lock);
}

/* @asked: somebody did, so that heat is saved as well; always if @clean */
static int checkpoint(struct fusion *fs, u32 epoch, bool clean, bool asked)
{
	bool new_epoch = epoch != fs->sb.epoch;
	struct fusion_open *open;
	struct fusion_sb *sb = &fs->sb_next;
	int r;

	r = fusion_commit(fs, false);
	if (r)
		return r;

	*sb = fs->sb;
	fusion_take_settings(fs, sb);
	sb->active_set = !fs->sb.active_set;
	sb->generation = fs->sb.generation + 1;
	sb->set_generation = sb->generation;
	sb->epoch = epoch;
	if (new_epoch)
		fusion_super_activate(fs, sb);
	sb->replay_seq = fs->journal.next_seq;
	sb->replay_txn = fs->journal.next_txn;
	sb->replay_csum = fs->journal.prev_csum;
	sb->flags &= ~(FUSION_SB_CLEAN | FUSION_SB_NEEDS_CHECK);
	if (clean)
		sb->flags |= FUSION_SB_CLEAN;
	if (fs->needs_check)
		sb->flags |= FUSION_SB_NEEDS_CHECK;

	r = write_map(fs, sb->active_set, sb->generation);
	if (!r && asked)
		r = write_heat(fs, sb->set_generation);
	if (r)
		goto out;

	spin_lock_irq(&fs->lock);
	list_for_each_entry(open, &fs->open_lru, lru)
		if (!open->closed)
			fusion_open_mark_dirty(fs, open);
	spin_unlock_irq(&fs->lock);
	r = fusion_commit(fs, new_epoch);
	if (r)
		goto out;

	/* Its preflush covers the set, unless one in between has failed. */
	hold_flushes(fs, true);
	r = fusion_flushes_ended(fs);
	if (!r)
		r = write_next(fs);
	hold_flushes(fs, false);
	if (!r)
		fs->checkpoints++;
out:
	trace_fusion_checkpoint(fs, sb->generation, clean, r);
	return r;
}

int fusion_checkpoint(struct fusion *fs, bool clean, bool asked)
{
	return checkpoint(fs, fs->sb.epoch, clean, asked);
}

/* -- loading ----------------------------------------------------------------------- */

static int load_failed(struct fusion *fs, int r, const char *what, u64 blocknr, const char *why)
{
	DMERR("%s: %s, block %llu of the fast device: %s", dm_table_device_name(fs->ti->table),
	      what, blocknr, why);
	return r;
}

static int load_map(struct fusion *fs)
{
	u64 start = fs->sb.map_start[FUSION_FAST][fs->sb.active_set];
	const char *why = "can't be read";
	u32 index, i, nr;
	int r;

	for (index = 0; index < fs->sb.map_blocks; index += nr) {
		nr = min(fs->sb.map_blocks - index, FUSION_BUF_BLOCKS);
		r = fusion_rw_blocks(fs, &fs->journal, REQ_OP_READ | REQ_META, start + index, 0,
				     nr);
		if (r)
			return load_failed(fs, r, "map", start + index, why);
		for (i = 0; i < nr; i++) {
			r = fusion_map_unpack(&fs->sb, fs->sb.active_set, index + i,
					      fs->sb.set_generation,
					      page_address(fs->journal.buf[i]),
					      fs->map + (size_t)(index + i) * FUSION_MAP_PER_BLOCK,
					      &why);
			if (r)
				return load_failed(fs, r, "map", start + index + i, why);
		}
	}
	return 0;
}

/* The part of a ring that the buffers of its chain hold. */
struct ring {
	struct fusion *fs;
	struct fusion_chain *chain;
	u32 pos;
	u32 nr;
};

static const void *read_ring(void *ctx, u32 pos)
{
	struct ring *ring = ctx;
	struct fusion *fs = ring->fs;
	struct fusion_chain *chain = ring->chain;
	const u32 role = chain->sb->role;
	const u64 start = chain->sb->journal_start[role];
	u32 nr;

	if (pos < ring->pos || pos - ring->pos >= ring->nr) {
		nr = min(chain->sb->journal_blocks[role] - pos, FUSION_BUF_BLOCKS);
		if (fusion_rw_blocks(fs, chain, REQ_OP_READ | REQ_META, start + pos, 0, nr)) {
			/* Only the block asked for matters; its neighbours may be bad. */
			nr = 1;
			if (fusion_rw_blocks(fs, chain, REQ_OP_READ | REQ_META, start + pos, 0,
					     nr)) {
				ring->nr = 0;
				return NULL;
			}
		}
		ring->pos = pos;
		ring->nr = nr;
	}
	return page_address(chain->buf[pos - ring->pos]);
}

static int apply_record(void *ctx, const struct fusion_record *rec)
{
	struct fusion *fs = ((struct ring *)ctx)->fs;
	struct fusion_open *open = fusion_open_find(fs, rec->lext);

	fs->map[rec->lext] = rec->new;
	if (open && (rec->op != FUSION_OP_OPEN || open->word != rec->new)) {
		fusion_open_close(fs, open);
		open = NULL;
	}
	if (rec->op != FUSION_OP_OPEN)
		return 0;
	if (!open)
		open = fusion_open_new(fs, rec->lext, rec->new);
	if (!open)
		return -EILSEQ;
	fusion_open_load(fs, open, rec->bitmap);
	return 0;
}

/* @peer_at: what it says of the slow member */
static int load_journal(struct fusion *fs, struct fusion_progress *peer_at)
{
	struct ring ring = { .fs = fs, .chain = &fs->journal };
	struct fusion_replay replay = {
		.sb = &fs->sb,
		.read = read_ring,
		.apply = apply_record,
		.ctx = &ring,
	};
	int r;

	r = fusion_replay(&replay);
	if (r) {
		DMERR("%s: journal: %s", dm_table_device_name(fs->ti->table),
		      replay.why ?: "more OPEN extents than there can be");
		return r;
	}
	fs->journal.next_seq = replay.next_seq;
	fs->journal.next_txn = replay.next_txn;
	fs->journal.prev_csum = replay.csum;
	*peer_at = replay.peer_at;
	if (replay.nr_records && !(fs->sb.flags & FUSION_SB_CLEAN))
		DMINFO("%s: recovered, %llu journal records replayed",
		       dm_table_device_name(fs->ti->table), replay.nr_records);
	return 0;
}

static int ignore_record(void *ctx, const struct fusion_record *rec)
{
	return 0;
}

/*
 * The set was taken by a claim that came late, under which its owner may have gone on for a while:
 * does the journal still end where it did when it was loaded? Superblocks have been compared.
 */
static int check_end(struct fusion *fs)
{
	struct ring ring = { .fs = fs, .chain = &fs->journal };
	struct fusion_replay replay = {
		.sb = &fs->sb,
		.read = read_ring,
		.apply = ignore_record,
		.ctx = &ring,
	};
	int r = fusion_replay(&replay);

	if (!r && replay.next_seq == fs->journal.next_seq && replay.csum == fs->journal.prev_csum)
		return 0;
	/* What others write makes it longer; shorter it is only if the disk does not say all. */
	if (r == -EIO || (!r && replay.next_seq < fs->journal.next_seq)) {
		DMERR("%s: journal: %s", dm_table_device_name(fs->ti->table),
		      replay.why ?: "it cannot be read again as it was");
		return -EIO;
	}
	DMERR("%s: another machine has written to the set while it was being opened",
	      dm_table_device_name(fs->ti->table));
	return -EUSERS;
}

#define FROM_THE_PAST "%s: %s device %s is from the past, or has lost writes: superblock %llu and %s block %llu, where the %s device has seen %llu and %llu; see fusionctl check"

static int from_the_past(struct fusion *fs, const struct fusion_sb *sb, u64 next_seq,
			 const struct fusion_progress *claim)
{
	const bool fast = sb->role == FUSION_FAST;

	DMERR(FROM_THE_PAST,
	      dm_table_device_name(fs->ti->table), fast ? "fast" : "slow",
	      fs->dev[sb->role]->name, sb->generation, fast ? "journal" : "log", next_seq - 1,
	      fast ? "slow" : "fast", claim->generation, claim->seq ? claim->seq - 1 : 0);
	return -ESTALE;
}

/*
 * INV8: is either member from an earlier time than the other one? @claim is what the fast member
 * says of the slow one. The slow member's log is read for what it says, block by block: nothing
 * else in it matters, so one that can't be read, or is damaged, is no obstacle.
 */
static int check_times(struct fusion *fs, const bool single[FUSION_NR_DEVS],
		       const struct fusion_progress *claim)
{
	struct fusion_replica *rep = &fs->replica;
	struct ring ring = { .fs = fs, .chain = &rep->log };
	struct fusion_ring scan = {
		.sb = &rep->sb,
		.read = read_ring,
		.ctx = &ring,
		.wanted = claim->seq,
	};

	fusion_ring_scan(&scan);
	rep->found_seq = scan.next_seq;
	if (!fusion_sb_reached(&rep->sb, single[FUSION_SLOW], scan.next_seq, claim))
		return from_the_past(fs, &rep->sb, scan.next_seq, claim);
	if (!fusion_sb_reached(&fs->sb, single[FUSION_FAST], fs->journal.next_seq, &scan.peer_at))
		return from_the_past(fs, &fs->sb, fs->journal.next_seq, &scan.peer_at);
	return 0;
}

/* INV3, and that OPEN words and bitmaps belong together. Fills the slot bitmaps. */
static int check_map(struct fusion *fs)
{
	u32 lext, nr_open = 0;

	for (lext = 0; lext < fs->sb.nr_lexts; lext++) {
		u32 word = fs->map[lext];

		if (!(lext % 65536))
			cond_resched();
		if (!fusion_word_mapped(word))
			continue;
		if (fusion_slot_claim(fs, word)) {
			DMERR("%s: extent %u lies on a slot of another one: %s slot %u",
			      dm_table_device_name(fs->ti->table), lext,
			      fusion_word_dev(word) == FUSION_FAST ? "fast" : "slow",
			      fusion_word_slot(word));
			return -EILSEQ;
		}
		fs->nr_mapped++;
		if (fusion_word_state(word) != FUSION_OPEN)
			continue;
		nr_open++;
		if (!fusion_open_find(fs, lext)) {
			DMERR("%s: extent %u is open but has no bitmap",
			      dm_table_device_name(fs->ti->table), lext);
			return -EILSEQ;
		}
	}
	if (nr_open != fs->nr_open) {
		DMERR("%s: %u open extents but %u bitmaps", dm_table_device_name(fs->ti->table),
		      nr_open, fs->nr_open);
		return -EILSEQ;
	}
	return 0;
}

/* Of whenever it was saved: old heat is better than none, and a block stands for itself. */
static void load_heat(struct fusion *fs)
{
	u16 *heat = page_address(fs->journal.buf[FUSION_BUF_BLOCKS - 1]);
	const char *why;
	u32 index, i, j, nr;

	for (index = 0; index < fs->sb.heat_blocks; index += nr) {
		nr = min(fs->sb.heat_blocks - index, FUSION_BUF_BLOCKS - 1);
		if (fusion_rw_blocks(fs, &fs->journal, REQ_OP_READ | REQ_META,
				     fs->sb.heat_start + index, 0, nr))
			return;
		for (i = 0; i < nr; i++) {
			u32 first = (index + i) * FUSION_HEAT_PER_BLOCK;

			if (fusion_heat_unpack(&fs->sb, index + i,
					       page_address(fs->journal.buf[i]), heat, &why))
				continue;
			for (j = 0; j < fusion_heat_entries(&fs->sb, index + i); j++)
				fusion_policy_set_heat(fs->policy, first + j, heat[j]);
		}
	}
}

/*
 * Make an OPEN extent STABLE by writing its holes, before any user I/O. Harmless if
 * power fails on the way: until the map says STABLE, nobody reads the holes.
 */
static int fill_holes(struct fusion *fs, struct fusion_open *open)
{
	u32 blocks = fusion_open_blocks(fs);
	u32 first = 0, end;
	int r;

	for (;;) {
		first = find_next_zero_bit_le(open->bitmap, blocks, first);
		if (first >= blocks)
			break;
		end = find_next_bit_le(open->bitmap, blocks, first);
		r = fusion_beat_ready(fs);
		if (r)
			return r;
		r = blkdev_issue_zeroout(fs->dev[fusion_word_dev(open->word)]->bdev,
					 fusion_word_sector(fs, open->word) +
					 first * FUSION_BLOCK_SECTORS,
					 (end - first) * FUSION_BLOCK_SECTORS, GFP_NOIO, 0);
		if (r)
			return r;
		first = end;
	}
	fs->map[open->lext] = fusion_word_set_state(open->word, FUSION_STABLE);
	spin_lock_irq(&fs->lock);
	fusion_open_close(fs, open);
	spin_unlock_irq(&fs->lock);
	return 0;
}

/*
 * A recovery interrupted again and again, each time after it recorded the bitmaps,
 * may have used the ring up. Then there must be no bitmaps.
 */
static int make_room(struct fusion *fs)
{
	struct fusion_open *open, *next;
	unsigned int dev;
	int r = 0;

	if (fusion_chain_free(&fs->journal) >= fs->max_commit_blocks)
		return 0;
	list_for_each_entry_safe(open, next, &fs->open_lru, lru) {
		r = fill_holes(fs, open);
		if (r)
			return r;
	}
	for (dev = 0; dev < FUSION_NR_DEVS && !r; dev++)
		r = blkdev_issue_flush(fs->dev[dev]->bdev);
	return r;
}

/*
 * A new epoch: whatever else is in the ring can't be taken for its transactions. The
 * commits of this checkpoint still belong to the old one, since it is the old
 * superblock that counts until the new one is written. The second of them is written even
 * if it has nothing to say, for what may lie in its place: a transaction that was torn, or
 * could not be read, and is whole the next time. The slow member learns of the epoch
 * first, so it is at most one ahead; with the new replica in the other copy, either copy
 * is enough. Before that the fast member is flushed: where the machine stopped and power did not
 * fail, or a write failed, the superblock that was found may be in its cache only, and the one
 * behind it two epochs back.
 */
static int start_epoch(struct fusion *fs)
{
	u32 epoch = fs->sb.epoch + 1;
	int r;

	r = fusion_flush_fast(fs);
	if (!r)
		r = fusion_replica_epoch(fs, epoch);
	if (!r)
		r = make_room(fs);
	if (!r)
		r = checkpoint(fs, epoch, false, false);
	if (!r)
		r = fusion_beat_begun(fs);
	if (!r)
		fusion_replica_start(fs);
	return r;
}

int fusion_super_flags(struct fusion *fs, u32 set, u32 clear)
{
	struct fusion_sb *sb = &fs->sb_next;

	*sb = fs->sb;
	fusion_take_settings(fs, sb);
	sb->flags = (sb->flags & ~clear) | set;
	if (sb->flags == fs->sb.flags && fusion_sb_same_settings(sb, &fs->sb))
		return 0;
	sb->generation++;
	return write_next(fs);
}

void fusion_super_repeat(struct fusion *fs)
{
	if (fusion_mode(fs) != FUSION_RW || !(fs->sb.flags & FUSION_SB_CLEAN))
		return;
	fs->sb_next = fs->sb;
	fs->sb_next.generation++;
	if (write_next(fs))
		fusion_set_mode(fs, FUSION_RO, "a superblock could not be written");
}

static int load_supers(struct fusion *fs, bool read_only, bool single[FUSION_NR_DEVS])
{
	struct fusion_sb *slow = &fs->replica.sb;
	struct fusion_sb *fast = &fs->sb_next;
	const char *why;
	int r;

	/*
	 * Memory and the device have the size of what the constructor read (INV5); the disk may
	 * say something else now. Messages and status look at fs->sb all the time, so it is
	 * replaced by what fits only.
	 */
	r = fusion_super_read(fs, FUSION_FAST, fast, &single[FUSION_FAST], &why);
	if (!r)
		r = fusion_super_read(fs, FUSION_SLOW, slow, &single[FUSION_SLOW], &why);
	if (!r)
		r = fusion_sb_match(fast, slow, &why);
	if (!r && !fusion_sb_same_member(fast, &fs->sb)) {
		why = "there is another set on the devices than when the table was made";
		r = -ESTALE;
	}
	if (r) {
		DMERR("%s: %s", dm_table_device_name(fs->ti->table), why);
		return r;
	}
	fs->sb = *fast;
	why = fusion_sb_unknown(fast, fs->unknown);
	if (!*why)
		why = fusion_sb_unknown(slow, fs->unknown);
	if (!read_only && *why) {
		DMERR("%s: the set %s; it can be opened read-only",
		      dm_table_device_name(fs->ti->table), why);
		return -EROFS;
	}
	if (!read_only && (!fusion_sb_lasts(fast) || !fusion_sb_lasts(slow))) {
		DMERR("%s: a superblock counts near its end: the set can be opened read-only",
		      dm_table_device_name(fs->ti->table));
		return -EROFS;
	}
	return 0;
}

static int load_all(struct fusion *fs, bool read_only)
{
	struct fusion_progress claim;
	bool single[FUSION_NR_DEVS];
	int r;

	r = load_supers(fs, read_only, single);
	if (!r && !read_only) {
		r = fusion_beat_look(fs, &fs->sb);
		/* Again: as they are after that. */
		if (!r)
			r = load_supers(fs, false, single);
	}
	if (r)
		return r;
	fs->needs_check = fs->sb.flags & FUSION_SB_NEEDS_CHECK;
	fusion_load_settings(fs, true);

	r = load_map(fs);
	if (!r)
		r = load_journal(fs, &claim);
	if (!r)
		r = check_times(fs, single, &claim);
	if (!r)
		r = check_map(fs);
	if (r)
		return r;
	load_heat(fs);
	return 0;
}

int fusion_load(struct fusion *fs, bool read_only)
{
	int r;

	fusion_beat_peek(fs);
	r = load_all(fs, read_only);
	if (r)
		return read_only || r == -EUSERS ? r : fusion_beat_blame(fs, r);
	if (!read_only)
		r = fusion_beat_take(fs);
	if (!r && !read_only && fs->heart.overdue)
		r = check_end(fs);
	if (!r && !read_only)
		r = start_epoch(fs);
	/* It took so long that another machine has it now, which the log has told. */
	return r && READ_ONCE(fs->heart.lost) && fusion_mode(fs) == FUSION_FAIL ? -EUSERS : r;
}
