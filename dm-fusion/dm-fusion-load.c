// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: loading a set on its first resume, and starting a new epoch.
 */
#include <linux/mm.h>

#include "dm-fusion.h"

/* -- superblocks ----------------------------------------------------------------------------- */

/* sb_next stays what the fast member has, until the new epoch begins. */
static int fusion_load_supers(struct fusion *fs, bool read_only, bool single[FUSION_NR_DEVS])
{
	struct fusion_sb *slow = &fs->replica.sb;
	struct fusion_sb *fast = &fs->sb_next;
	struct fusion_sb *next = &fs->replica.next;
	const bool joins = fs->old.joins;
	const char *why;
	bool matched;
	int r, disk;

	/*
	 * Memory and the fused device have the size that the constructor read (INV5), but the disk
	 * may have changed since. Messages and status read fs->sb at any time, so only a
	 * superblock that matches replaces it.
	 */
	r = fusion_trio_read(fs, fast, slow, single, &disk, &matched, &why);
	if (!r) {
		*next = *fast;
		if (joins)
			fusion_sb_join(next, fs->old.dev == FUSION_FAST ? fast : slow,
				       &fs->old.sb);
	}
	if (!r && (fs->old.joins != joins || !fusion_resize_expected(fs, next))) {
		why = "there is another set on the devices than when the table was made";
		r = -ESTALE;
	}
	if (r) {
		DMERR("%s: %s%s%s", dm_table_device_name(fs->ti->table),
		      disk < 0 ? "" : fs->dev[disk]->name, disk < 0 ? "" : ": ", why);
		return r;
	}
	r = fusion_resize_allowed(fs, read_only);
	if (!r)
		r = fusion_trio_allowed(fs, read_only);
	if (r)
		return r;
	fusion_sb_take_geometry(next, &fs->sb);
	fs->sb = *next;
	why = fusion_sb_unknown_landing(fast, fs->unknown);
	if (!*why)
		why = fusion_sb_unknown_landing(slow, fs->unknown);
	if (!read_only && *why) {
		DMERR("%s: the set %s; it can be opened read-only",
		      dm_table_device_name(fs->ti->table), why);
		return -EROFS;
	}
	if (!read_only && (!fusion_sb_lasts(fast) || !fusion_sb_lasts(slow))) {
		DMERR("%s: a superblock's counter is almost exhausted; open it read-only",
		      dm_table_device_name(fs->ti->table));
		return -EROFS;
	}
	return 0;
}

/* -- map and heat ---------------------------------------------------------------------------- */

static int fusion_load_failed(struct fusion *fs, int r, const char *what, u64 blocknr,
			      const char *why)
{
	DMERR("%s: %s, block %llu of the fast member: %s", dm_table_device_name(fs->ti->table),
	      what, blocknr, why);
	return r;
}

/* The map is as large as it was when the set was closed, before it grows or shrinks. */
static int fusion_load_map(struct fusion *fs)
{
	const struct fusion_sb *sb = &fs->sb_next;
	u64 start = sb->map_start[FUSION_FAST][sb->active_set];
	const char *why = "cannot be read";
	u32 index, i, nr;
	int r;

	for (index = 0; index < sb->map_blocks; index += nr) {
		nr = min(sb->map_blocks - index, FUSION_BUF_BLOCKS);
		r = fusion_rw_blocks(fs, &fs->journal, REQ_OP_READ | REQ_META, start + index, 0,
				     nr);
		if (r)
			return fusion_load_failed(fs, r, "map", start + index, why);
		for (i = 0; i < nr; i++) {
			r = fusion_map_unpack(sb, sb->active_set, index + i, sb->set_generation,
					      page_address(fs->journal.buf[i]),
					      fs->map + (size_t)(index + i) * FUSION_MAP_PER_BLOCK,
					      &why);
			if (r)
				return fusion_load_failed(fs, r, "map", start + index + i, why);
		}
	}
	return 0;
}

/* Check INV3, and that each OPEN word has a bitmap. Fills the slot bitmaps. */
static int fusion_load_check_map(struct fusion *fs)
{
	u32 lext, nr_open = 0;

	for (lext = 0; lext < fs->sb.nr_lexts; lext++) {
		u32 word = fs->map[lext];

		if (!(lext % 65536))
			cond_resched();
		fs->nr_lost += fusion_word_lost(word);
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
		fs->nr_fast += fusion_word_dev(word) == FUSION_FAST;
		if (fusion_word_state(word) != FUSION_OPEN)
			continue;
		nr_open++;
		if (!fusion_open_find(fs, lext)) {
			DMERR("%s: extent %u is open but has no bitmap",
			      dm_table_device_name(fs->ti->table), lext);
			return -EILSEQ;
		}
	}
	if (nr_open != fs->opens.nr) {
		DMERR("%s: %u open extents but %u bitmaps", dm_table_device_name(fs->ti->table),
		      nr_open, fs->opens.nr);
		return -EILSEQ;
	}
	return 0;
}

/* Heat of any age is better than none, and each block is valid by itself. */
static void fusion_load_heat(struct fusion *fs)
{
	u16 *heat = page_address(fs->journal.buf[FUSION_BUF_BLOCKS - 1]);
	const struct fusion_sb *sb = &fs->sb_next;
	const char *why;
	u32 index, i, j, nr, nr_heats;

	for (index = 0; index < sb->heat_blocks; index += nr) {
		nr = min(sb->heat_blocks - index, FUSION_BUF_BLOCKS - 1);
		if (fusion_rw_blocks(fs, &fs->journal, REQ_OP_READ | REQ_META,
				     sb->heat_start + index, 0, nr))
			return;
		for (i = 0; i < nr; i++) {
			u32 first = (index + i) * FUSION_HEAT_PER_BLOCK;

			if (fusion_heat_unpack(sb, index + i,
					       page_address(fs->journal.buf[i]), heat, &why))
				continue;
			nr_heats = fusion_heat_entries(sb, index + i);
			for (j = 0; j < nr_heats && first + j < fs->sb.nr_lexts; j++)
				fusion_policy_set_heat(fs->policy, first + j, heat[j]);
		}
	}
}

/* -- the journal, and the log ---------------------------------------------------------------- */

static int fusion_load_record(void *ctx, const struct fusion_record *rec)
{
	struct fusion *fs = ((struct fusion_load_ring *)ctx)->fs;
	const bool lost = rec->op == FUSION_OP_PARTLY_LOST;
	struct fusion_open *open;

	if (fusion_op_is_landing(rec->op))
		return fusion_land_load_record(fs, rec);
	open = fusion_open_find(fs, rec->lext);
	fusion_map_load(fs, rec->lext, rec->new);
	/* Behind the end of a set that shrinks. If it stays mapped, the set is not loaded. */
	if (rec->lext >= fs->sb.nr_lexts)
		return 0;
	if (open && (!fusion_op_has_bitmap(rec->op) || open->word != rec->new ||
		     open->lost != lost)) {
		fusion_open_close(fs, open);
		open = NULL;
	}
	if (!fusion_op_has_bitmap(rec->op))
		return 0;
	if (!open)
		open = fusion_open_new(fs, rec->lext, rec->new);
	if (!open)
		return -EILSEQ;
	if (lost)
		fusion_open_set_lost(fs, open);
	fusion_open_load(fs, open, rec->bitmap);
	return 0;
}

/* @peer_at: set to how far the slow member had got, according to the journal */
static int fusion_load_journal(struct fusion *fs, struct fusion_progress *peer_at)
{
	struct fusion_load_ring ring = { .fs = fs, .chain = &fs->journal };
	struct fusion_replay replay = {
		.sb = &fs->sb_next,	/* with the bounds of what was written */
		.read = fusion_load_read_ring,
		.apply = fusion_load_record,
		.ctx = &ring,
	};
	int r;

	r = fusion_replay(&replay);
	if (r) {
		DMERR("%s: journal: %s", dm_table_device_name(fs->ti->table),
		      replay.why ?: "more OPEN extents than possible");
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

static int fusion_load_ignore_record(void *ctx, const struct fusion_record *rec)
{
	return 0;
}

/* Does the journal still end where it did when it was loaded? Return: 0, -EUSERS, or -EIO. */
static int fusion_load_check_journal(struct fusion *fs)
{
	struct fusion_load_ring ring = { .fs = fs, .chain = &fs->journal };
	struct fusion_replay replay = {
		.sb = &fs->sb_next,
		.read = fusion_load_read_ring,
		.apply = fusion_load_ignore_record,
		.ctx = &ring,
	};
	int r = fusion_replay(&replay);

	if (!r && replay.next_seq == fs->journal.next_seq && replay.csum == fs->journal.prev_csum)
		return 0;
	/* Another machine makes it longer; only a disk that cannot read it makes it shorter. */
	if (r == -EIO || (!r && replay.next_seq < fs->journal.next_seq)) {
		DMERR("%s: journal: %s", dm_table_device_name(fs->ti->table),
		      replay.why ?: "it now reads differently");
		return -EIO;
	}
	return -EUSERS;
}

/*
 * The set was not closed, and taken by a claim. Its owner may have woken just before that, or have
 * continued for a while if the claim was late, and stopped for good since. Superblocks have been
 * compared.
 */
static int fusion_load_check_end(struct fusion *fs)
{
	int r = fusion_load_check_journal(fs);

	if (!r)
		r = fusion_land_check_end(fs);
	if (r == -EUSERS)
		DMERR("%s: another machine has written to the set while it was being opened",
		      dm_table_device_name(fs->ti->table));
	return r;
}

#define FROM_THE_PAST "%s: %s member %s is from the past, or lost writes: superblock %llu and %s block %llu, where the %s member has seen %llu and %llu; see fusionctl check"

static int fusion_from_the_past(struct fusion *fs, const struct fusion_sb *sb, u64 next_seq,
				const struct fusion_progress *claim)
{
	const bool fast = sb->role == FUSION_FAST;

	DMERR(FROM_THE_PAST,
	      dm_table_device_name(fs->ti->table), fast ? "fast" : "slow",
	      fs->dev[fs->meta[sb->role]]->name, sb->generation, fast ? "journal" : "log",
	      next_seq - 1,
	      fast ? "slow" : "fast", claim->generation, claim->seq ? claim->seq - 1 : 0);
	return -ESTALE;
}

/*
 * INV8: check that neither member is from an earlier time than the other. @claim is how far the
 * slow member had got, according to the fast one. The slow member's log is read block by block for
 * its claims. Nothing else in it matters, so unreadable or damaged blocks are no obstacle.
 */
static int fusion_load_check_times(struct fusion *fs, const bool single[FUSION_NR_DEVS],
				   const struct fusion_progress *claim)
{
	struct fusion_replica *rep = &fs->replica;
	struct fusion_load_ring ring = { .fs = fs, .chain = &rep->log };
	struct fusion_ring scan = {
		.sb = &rep->sb,
		.read = fusion_load_read_ring,
		.ctx = &ring,
		.wanted = claim->seq,
	};

	fusion_ring_scan(&scan);
	rep->found_seq = scan.next_seq;
	if (!fusion_sb_reached(&rep->sb, single[FUSION_SLOW], scan.next_seq, claim))
		return fusion_from_the_past(fs, &rep->sb, scan.next_seq, claim);
	if (!fusion_sb_reached(&fs->sb, single[FUSION_FAST], fs->journal.next_seq, &scan.peer_at))
		return fusion_from_the_past(fs, &fs->sb, fs->journal.next_seq, &scan.peer_at);
	return 0;
}

/* -- a new epoch ----------------------------------------------------------------------------- */

/* The block of heat that ends with the set as it was is not valid in one of another size. */
static u32 fusion_load_heat_from(const struct fusion *fs)
{
	return !fs->grows && !fs->shrinks ? FUSION_NO_HEAT :
	       min(fs->sb.nr_lexts, fs->sb_next.nr_lexts) / FUSION_HEAT_PER_BLOCK;
}

/*
 * A set that grows or shrinks: the superblock of the fast member that begins the epoch is the
 * commit. What is written before it belongs to the set as it was: its map copy is the inactive one,
 * the journal is the same, and no extent or slot that is new, or given up, is in use. The slow
 * member follows with its next map copy, and until then describes the set as it was. After a set
 * has shrunk, both superblock copies of each member are written: the end of a member may be cut
 * off, and a copy with the size from before is not valid then.
 *
 * Start a new epoch, so that no other block in the ring can be taken for its transactions. The
 * commits of this checkpoint still belong to the old epoch, as the old superblock is in force until
 * the new one is written. The second commit is written even if it is empty, because of the blocks
 * it may overwrite: a transaction that was torn or unreadable could be whole the next time.
 *
 * The slow member gets the epoch first, so it is at most one ahead. Once the new replica is in the
 * other superblock copy, either copy is enough. Before that, what was found is made durable: it may
 * be only in the caches if the machine stopped without a power cut, and that of the fast member two
 * epochs newer than what is on the medium. fusion_super_settle() has the rest.
 */
static int fusion_load_write_epoch(struct fusion *fs, u32 epoch)
{
	int r;

	r = fusion_replica_epoch(fs, epoch);
	if (!r)
		r = fusion_load_make_room(fs);
	if (!r)
		r = fusion_resize_clear_tails(fs);
	if (!r)
		r = fusion_checkpoint(fs, epoch, false, fusion_load_heat_from(fs));
	if (!r && (fs->shrinks || fs->old.over))
		r = fusion_super_again(fs);
	return r;
}

static int fusion_load_start_epoch(struct fusion *fs)
{
	u32 epoch = fs->sb.epoch + 1;
	int r;

	r = fusion_load_flush(fs);
	if (!r)
		r = fusion_super_settle(fs);
	if (r)
		return r;
	if (fs->old.joins) {
		/* dm-fusion-replace.c has the order */
		r = fusion_load_complete(fs);
		if (!r)
			r = fusion_trio_make(fs, epoch);
	} else {
		r = fusion_load_write_epoch(fs, epoch);
	}
	if (!r)
		r = fusion_beat_begun(fs);
	if (r)
		return r;
	fusion_replica_start(fs, fs->old.joins);
	fusion_trio_leave(fs);
	return 0;
}

/* -- all of it ------------------------------------------------------------------------------- */

static int fusion_load_all(struct fusion *fs, bool read_only)
{
	struct fusion_progress claim;
	bool single[FUSION_NR_DEVS];
	int r;

	r = fusion_load_supers(fs, read_only, single);
	if (!r && !read_only) {
		r = fusion_beat_look(fs, &fs->sb);
		/* Read them again, as they are after that. */
		if (!r)
			r = fusion_load_supers(fs, false, single);
	}
	if (r)
		return r;
	fs->needs_check = fs->sb.flags & FUSION_SB_NEEDS_CHECK;
	fusion_load_settings(fs, true);

	r = fusion_land_load_begin(fs);
	if (!r)
		r = fusion_load_map(fs);
	if (!r)
		r = fusion_load_journal(fs, &claim);
	if (!r)
		r = fusion_load_check_times(fs, single, &claim);
	if (!r && fs->shrinks)
		r = fusion_resize_check(fs);
	if (r)
		return r;
	fusion_trio_renumber(fs);
	r = fusion_load_check_map(fs);
	if (!r)
		r = fusion_trio_check(fs, read_only);
	if (!r)
		r = fusion_land_load(fs);
	if (r)
		return r;
	/* The replica follows with its next map copy. */
	if (!read_only && !fs->nr_lost && !fs->opens.nr_lost)
		fs->sb.incompat &= ~FUSION_INCOMPAT_DAMAGED;
	if (!read_only)
		fusion_load_shadows(fs, single);
	fusion_load_heat(fs);
	return 0;
}

int fusion_load(struct fusion *fs, bool read_only)
{
	int r;

	fusion_beat_peek(fs);
	r = fusion_load_all(fs, read_only);
	if (r) {
		fusion_land_loaded(fs, false);
		return read_only || r == -EUSERS ? r : fusion_beat_blame(fs, r);
	}
	if (!read_only)
		r = fusion_beat_take(fs);
	if (!r && !read_only && fs->heart.claimed)
		r = fusion_load_check_end(fs);
	if (!r && !read_only)
		r = fusion_load_start_epoch(fs);
	fusion_land_loaded(fs, !r && !read_only);
	if (r && !read_only)
		fusion_settle_failed(fs);
	/* It took so long that another machine has taken the set, which is logged already. */
	return r && READ_ONCE(fs->heart.lost) && fusion_mode(fs) == FUSION_FAIL ? -EUSERS : r;
}
