// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the journal of a set that is being loaded, and room in it.
 *
 * An opening writes its second commit behind what it has found, and then the superblock that takes
 * all before that out of use. If power fails in between, the next opening finds both, and writes
 * another one. The ring had room for one commit of the largest size when the set was cut off first.
 *
 * What openings write again and again are bitmaps, and segments of the landing log. Extents without
 * lost blocks are completed when the ring is short, so that they have no bitmaps any more. Those
 * with lost blocks cannot be, but are at most a quarter of all: if there are any, the others are
 * completed earlier, so that many more attempts find room.
 *
 * A set with a log is not left to that. When its ring is short, no segment is opened, and another
 * superblock goes first: with a map copy of what was found, and the last position from which on the
 * journal still has a record of each segment. Behind an opening that was cut short this is where
 * its commit begins. So no number of them uses up the ring, except for those in which a commit of
 * several transactions, with more than FUSION_TXN_BLOCKS blocks, is cut between these; and where
 * extents with lost blocks are left, for which the same is not done. Nor is it where the superblock
 * says more than before: a set that is to grow or shrink has to be opened as it is first, and one
 * that parts from its old member has no segments.
 */
#include <linux/mm.h>

#include "dm-fusion.h"

/* -- reading it ------------------------------------------------------------------------------ */

const void *fusion_load_read_ring(void *ctx, u32 pos)
{
	struct fusion_load_ring *ring = ctx;
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

/* -- the records that are needed ------------------------------------------------------------- */

/* What the journal has of the log. */
struct records {
	struct fusion_load_ring ring;
	struct fusion_replay replay;
	struct fusion_txn_at *segment;	/* the transaction with the last record of each */
	struct fusion_txn_at landed;
};

static int fusion_load_note_record(void *ctx, const struct fusion_record *rec)
{
	struct records *found = ctx;
	const struct fusion_txn_at at = {
		.seq = found->replay.next_seq,
		.txn = found->replay.next_txn,
		.csum = found->replay.csum,
	};
	u32 place;

	if (rec->op == FUSION_OP_LANDED)
		found->landed = at;
	if (rec->op != FUSION_OP_SEGMENT)
		return 0;
	place = fusion_land_listed(found->ring.fs, &rec->segment);
	if (place != FUSION_LAND_NONE)
		found->segment[place] = at;
	return 0;
}

/* The first transaction that is needed of those in the journal. Return: 0 or a negative errno. */
static int fusion_load_first_needed(struct fusion *fs, struct records *found,
				    struct fusion_txn_at *first)
{
	u32 i;
	int r;

	r = fusion_replay(&found->replay);
	if (r)
		return r;
	*first = (struct fusion_txn_at){
		.seq = found->replay.next_seq,
		.txn = found->replay.next_txn,
		.csum = found->replay.csum,
	};
	for (i = 0; i < fs->land.max; i++)
		if (found->segment[i].seq && found->segment[i].seq < first->seq)
			*first = found->segment[i];
	if (found->landed.seq && found->landed.seq < first->seq)
		*first = found->landed;
	return 0;
}

/* Take what is not needed any more out of use. Return: 0 or a negative errno, logged. */
static int fusion_load_skip(struct fusion *fs)
{
	struct records *found = kzalloc(sizeof(*found), GFP_KERNEL);
	struct fusion_txn_at first = {};
	int r = -ENOMEM;

	if (!found)
		return r;
	found->ring = (struct fusion_load_ring){ .fs = fs, .chain = &fs->journal };
	found->replay.sb = &fs->sb;
	found->replay.read = fusion_load_read_ring;
	found->replay.apply = fusion_load_note_record;
	found->replay.ctx = found;
	found->segment = kvcalloc(fs->land.max, sizeof(*found->segment), GFP_KERNEL);
	if (found->segment)
		r = fusion_load_first_needed(fs, found, &first);
	if (r)
		DMERR("%s: journal: %s", dm_table_device_name(fs->ti->table),
		      found->replay.why ?: "out of memory");
	else if (first.seq > fs->sb.replay_seq)
		r = fusion_checkpoint_skip(fs, &first);
	kvfree(found->segment);
	kfree(found);
	return r;
}

/* -- room ------------------------------------------------------------------------------------ */

int fusion_load_make_room(struct fusion *fs)
{
	const bool twice = fs->opens.nr_lost || fs->land.max;
	u32 want = (twice ? 2 : 1) * fs->commit.max_blocks;
	u32 per_block = FUSION_JOURNAL_PAYLOAD / (sizeof(struct fusion_journal_record) +
						  fusion_bitmap_bytes(fs->sb.extent_sectors));
	u32 need;
	int r;

	if (fusion_chain_free(&fs->journal) >= want)
		return 0;
	/* the superblock that goes first would be the commit of the new size */
	if (fs->land.max && (fs->grows || fs->shrinks)) {
		DMERR("%s: the journal has little room: open the set with its present size first",
		      dm_table_device_name(fs->ti->table));
		return -EAGAIN;
	}
	r = fusion_load_complete(fs);
	if (r)
		return r;
	fs->land.tight = fs->land.max;
	if (fs->land.max && !fs->opens.nr_lost && !fs->old.over)
		r = fusion_load_skip(fs);
	need = DIV_ROUND_UP(fs->opens.nr_lost, per_block) + fusion_land_listed_blocks(fs);
	if (r || fusion_chain_free(&fs->journal) >= need)
		return r;
	DMERR("%s: the journal is full after openings cut short: dump and restore the set",
	      dm_table_device_name(fs->ti->table));
	return -ENOSPC;
}
