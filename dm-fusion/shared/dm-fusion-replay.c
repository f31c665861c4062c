// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: replay of the journal, and of the replica's log.
 *
 * After a power cut the ring may hold the following, given that a transaction is not started
 * before the previous one is durable, and that no block from replay_seq on is overwritten:
 *
 *   - the whole transactions since replay_seq, chained by checksum;
 *   - then any of the blocks of the transaction that was being written (a bio may be torn
 *     anywhere, and two bios are needed where it wraps round the end of the ring);
 *   - elsewhere, blocks with a lower transaction number: from the previous lap, or from a torn
 *     transaction whose number and place another one has taken since;
 *   - and the disk's content from before the format (no valid block).
 *
 * Where power failed during a write, a disk may return an error until the block is written again.
 * So an unreadable block ends the chain, like a torn one. It may hide a transaction that was
 * durable, as damage to the last one does. Then a valid block of a later transaction proves the
 * gap, or the other member's claim does (INV8). A power cut leaves nothing unreadable farther on
 * than a transaction is long. Such a block does no harm if the end of the chain was read, as it
 * then holds something older. If the end is unreadable as well, more is wrong than a power cut,
 * and the proof of the gap may be in the blocks that cannot be read.
 *
 * A recovery starts where the chain ends, with the next number, so the torn tail may contain
 * several attempts at one transaction. The checksum of the previous block, or the epoch, tells
 * the blocks of one attempt from those of another.
 *
 * An activation records the bitmaps of OPEN extents in the epoch it found, then writes the
 * superblock of the next epoch, which points to them. So the chain begins in the superblock's epoch
 * or the one before, and the epoch rises at most once. Each activation starts the replica's log
 * over. If an activation is cut short before that, the epoch has risen but the log is still that
 * of an earlier activation.
 *
 * Any other valid block proves that something in between was durable once and is no longer there.
 * So the search beyond the chain does more than look for whole transactions. One block of a later
 * transaction is proof enough, and so is one of a later epoch, which is what a superblock older
 * than the newest would meet.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/byteorder.h>

#include "dm-fusion-landing.h"

/* A valid journal block; raw is good until the next read. */
struct journal_block {
	const struct fusion_journal_block *raw;
	u64 seq;
	u64 txn;
	u32 epoch;
	u32 index;
	u32 count;
	u32 prev_csum;
	u32 csum;
	u32 used;
	struct fusion_progress peer_at;
};

/* Most blocks that are written, and so torn, together: see fusion_journal_init_state(). */
static u32 fusion_replay_max_torn(const struct fusion_sb *sb)
{
	return min(FUSION_TXN_BLOCKS, sb->journal_blocks[sb->role] / 4);
}

/* The first sequence number that is not in the ring together with replay_seq. */
static u64 fusion_replay_end_of_ring(const struct fusion_sb *sb)
{
	return sb->replay_seq + sb->journal_blocks[sb->role];
}

/* Look at j->raw, which was read from @blocknr. Return: is it a valid block? */
static bool fusion_replay_parse_block(const struct fusion_sb *sb, u64 blocknr,
				      struct journal_block *j)
{
	if (fusion_block_check(sb, FUSION_MAGIC_JOURNAL, blocknr, j->raw))
		return false;

	j->seq = le64_to_cpu(j->raw->seq);
	j->txn = le64_to_cpu(j->raw->txn);
	j->epoch = le32_to_cpu(j->raw->epoch);
	j->index = le16_to_cpu(j->raw->index);
	j->count = le16_to_cpu(j->raw->count);
	j->prev_csum = le32_to_cpu(j->raw->prev_csum);
	j->csum = le32_to_cpu(j->raw->h.csum);
	j->used = le32_to_cpu(j->raw->used);
	j->peer_at.generation = le64_to_cpu(j->raw->peer_generation);
	j->peer_at.seq = le64_to_cpu(j->raw->peer_seq);
	return fusion_journal_blocknr(sb, j->seq) == blocknr &&
	       j->index < j->count && j->index < j->seq &&
	       j->count <= sb->journal_blocks[sb->role] && j->used <= FUSION_JOURNAL_PAYLOAD &&
	       j->peer_at.generation <= FUSION_MAX_COUNTER && j->peer_at.seq <= FUSION_MAX_COUNTER;
}

/* Read the ring where @seq belongs. Return: 0, -EIO, or -ENODATA: no valid block there. */
static int fusion_replay_read_block(struct fusion_replay *r, u64 seq, struct journal_block *j)
{
	const struct fusion_sb *sb = r->sb;
	const u64 blocknr = fusion_journal_blocknr(sb, seq);

	j->raw = r->read(r->ctx, blocknr - sb->journal_start[sb->role]);
	if (!j->raw)
		return -EIO;
	return fusion_replay_parse_block(sb, blocknr, j) ? 0 : -ENODATA;
}

static bool fusion_replay_record_valid(const struct fusion_sb *sb, const struct fusion_record *rec)
{
	const bool open = fusion_word_state(rec->new) == FUSION_OPEN;
	const bool shadow = rec->op == FUSION_OP_SHADOW;

	if (rec->op == FUSION_OP_POINT)
		return sb->role == FUSION_SLOW && sb->incompat & FUSION_INCOMPAT_SHADOW &&
		       !rec->lext;
	if (rec->lext >= sb->nr_lexts || !fusion_word_valid(sb, rec->old))
		return false;
	if (rec->op == FUSION_OP_AWAY)
		return sb->role == FUSION_SLOW && rec->new == FUSION_WORD_AWAY &&
		       fusion_word_mapped(rec->old) && fusion_word_dev(rec->old) == FUSION_SLOW;
	if (!fusion_word_valid(sb, rec->new) || fusion_names_shadow(rec->new) != shadow)
		return false;
	switch (rec->op) {
	case FUSION_OP_PARTLY_LOST:
		if (!(sb->incompat & FUSION_INCOMPAT_DAMAGED))
			return false;
		fallthrough;
	case FUSION_OP_OPEN:
		return fusion_word_mapped(rec->new) && open;
	case FUSION_OP_STABLE:
	case FUSION_OP_MOVE:
		return fusion_word_mapped(rec->new) && !open;
	case FUSION_OP_UNMAP:
		return !fusion_word_mapped(rec->new);
	case FUSION_OP_SHADOW:
		return true;
	default:
		return false;
	}
}

/* No bit beyond the extent may be set. */
static bool fusion_replay_bitmap_valid(const struct fusion_sb *sb, const u8 *bitmap)
{
	const u32 used = sb->extent_sectors / FUSION_BLOCK_SECTORS / 8;

	return !memchr_inv(bitmap + used, 0, fusion_bitmap_bytes(sb->extent_sectors) - used);
}

static bool fusion_replay_op_known(const struct fusion_sb *sb, u32 op)
{
	return op <= FUSION_OP_LAST ||
	       (fusion_op_is_landing(op) && sb->incompat & FUSION_INCOMPAT_LANDING);
}

/*
 * Check a record and unpack it. @left: bytes from there to the end of what is used. Return: the
 * bytes that it takes, or 0: then r->why says what is wrong.
 */
static u32 fusion_replay_unpack_record(struct fusion_replay *r,
				       const struct fusion_journal_record *d, u32 left,
				       struct fusion_record *rec)
{
	u32 bytes;

	r->why = "a journal record is out of bounds";
	if (left < sizeof(*d))
		return 0;
	*rec = (struct fusion_record){ .op = le32_to_cpu(d->op) };
	if (!fusion_replay_op_known(r->sb, rec->op)) {
		snprintf(r->text, sizeof(r->text),
			 "a journal record has operation %u, of a newer version", rec->op);
		r->why = r->text;
		return 0;
	}
	bytes = fusion_record_bytes(r->sb, rec->op);
	if (left < bytes)
		return 0;
	if (fusion_op_is_landing(rec->op))
		return fusion_landing_record_unpack(r->sb, d, bytes, rec, &r->why) ? 0 : bytes;
	rec->lext = le32_to_cpu(d->lext);
	rec->new = le32_to_cpu(d->new);
	rec->old = le32_to_cpu(d->old);
	if (fusion_op_has_bitmap(rec->op))
		rec->bitmap = d + 1;
	if (!fusion_replay_record_valid(r->sb, rec) ||
	    (rec->bitmap && !fusion_replay_bitmap_valid(r->sb, rec->bitmap)))
		return 0;
	return bytes;
}

/*
 * Check the records of a block, and @apply them each after its check. Return: 0, -EILSEQ,
 * or what @apply returned.
 */
static int fusion_replay_walk_records(struct fusion_replay *r, const struct journal_block *j,
				      bool apply)
{
	struct fusion_record rec;
	u32 pos, bytes;
	int err;

	for (pos = 0; pos < j->used; pos += bytes) {
		bytes = fusion_replay_unpack_record(r, (const void *)(j->raw->payload + pos),
						    j->used - pos, &rec);
		if (!bytes)
			return -EILSEQ;
		if (!apply)
			continue;
		err = r->apply(r->ctx, &rec);
		if (err) {
			r->why = "a journal record was refused";
			return err;
		}
		r->nr_records++;
	}
	r->why = NULL;
	return 0;
}

/*
 * Take the transaction next_txn at next_seq. Return: 1 if it counts, 0 if it is not (wholly)
 * there, or can't be read, -EILSEQ if it is but cannot be right, or what @apply returned.
 */
static int fusion_replay_walk_txn(struct fusion_replay *r, bool apply)
{
	const u64 room = fusion_replay_end_of_ring(r->sb) - r->next_seq;
	const char *damage = NULL;
	struct fusion_progress peer_at = r->peer_at;
	u32 count = 1, csum = r->csum, epoch = r->epoch, i;
	struct journal_block j;
	int err;

	for (i = 0; i < count; i++) {
		if (i >= room)
			return 0;
		err = fusion_replay_read_block(r, r->next_seq + i, &j);
		r->unreadable |= err == -EIO;
		if (err)
			return 0;
		if (j.seq != r->next_seq + i || j.txn != r->next_txn || j.index != i ||
		    j.epoch < epoch || j.epoch > r->sb->epoch)
			return 0;
		if (!i) {
			count = j.count;
			epoch = j.epoch;
			if (j.prev_csum != csum)
				damage = "the chain of journal blocks is broken";
		} else if (j.count != count || j.epoch != epoch || j.prev_csum != csum) {
			return 0;	/* of another attempt */
		}
		csum = j.csum;
		fusion_progress_raise(&peer_at, j.peer_at.generation, j.peer_at.seq);
		if (damage)
			continue;
		err = fusion_replay_walk_records(r, &j, apply);
		if (err && apply)
			return err;
		damage = r->why;
	}
	if (damage) {
		r->why = damage;
		return -EILSEQ;
	}
	r->next_seq += count;
	r->next_txn++;
	r->csum = csum;
	r->epoch = epoch;
	r->peer_at = peer_at;
	return 1;
}

/* Is every block beyond the chain one that a power cut may leave there? */
static int fusion_replay_search_beyond(struct fusion_replay *r)
{
	const u64 end = fusion_replay_end_of_ring(r->sb);
	bool hidden = false;
	struct journal_block j;
	u64 seq;
	int err;

	for (seq = r->next_seq; seq < end; seq++) {
		err = fusion_replay_read_block(r, seq, &j);
		hidden |= err == -EIO && seq - r->next_seq >= fusion_replay_max_torn(r->sb);
		if (err)
			continue;
		if (j.epoch <= r->sb->epoch && j.txn < r->next_txn)
			continue;
		if (j.epoch <= r->sb->epoch && j.txn == r->next_txn &&
		    j.seq - j.index == r->next_seq && j.count <= end - r->next_seq)
			continue;	/* part of the torn tail */
		r->why = r->unreadable ? "a journal block that is in use cannot be read" :
			 "transactions are missing in the middle of the journal";
		return r->unreadable ? -EIO : -EILSEQ;
	}
	if (r->unreadable && hidden && !(r->sb->flags & FUSION_SB_CLEAN)) {
		r->why = "journal blocks cannot be read, and it may go on behind them";
		return -EIO;
	}
	return 0;
}

static void fusion_replay_rewind(struct fusion_replay *r)
{
	r->next_seq = r->sb->replay_seq;
	r->next_txn = r->sb->replay_txn;
	r->csum = r->sb->replay_csum;
	r->epoch = r->sb->epoch && r->sb->role == FUSION_FAST ? r->sb->epoch - 1 : 0;
	r->nr_records = 0;
	r->peer_at = r->sb->peer_at;
	r->unreadable = false;
	r->why = NULL;
}

int fusion_replay(struct fusion_replay *r)
{
	u64 end;
	int ret;

	fusion_replay_rewind(r);
	do {
		ret = fusion_replay_walk_txn(r, false);
	} while (ret > 0);
	if (!ret)
		ret = fusion_replay_search_beyond(r);
	if (ret)
		return ret;

	end = r->next_seq;
	fusion_replay_rewind(r);
	while (r->next_seq < end) {
		ret = fusion_replay_walk_txn(r, true);
		if (ret < 0)
			return ret;
		if (!ret) {
			r->why = "the journal reads differently the second time";
			return -EIO;
		}
	}
	return 0;
}

/* A chain that is begun behind this number has room to go on: see fusion_sb_lasts(). */
static bool fusion_replay_seq_lasts(u64 seq)
{
	return seq < FUSION_MAX_COUNTER / 4;
}

void fusion_ring_scan(struct fusion_ring *r)
{
	const struct fusion_sb *sb = r->sb;
	const u64 start = sb->journal_start[sb->role];
	struct journal_block j;
	u32 pos;

	r->next_seq = sb->replay_seq;
	r->peer_at = sb->peer_at;
	r->unreadable = 0;
	for (pos = 0; pos < sb->journal_blocks[sb->role]; pos++) {
		j.raw = r->read(r->ctx, pos);
		if (!j.raw) {
			r->unreadable++;
			if (r->wanted && fusion_replay_seq_lasts(r->wanted) &&
			    fusion_journal_blocknr(sb, r->wanted - 1) == start + pos)
				r->next_seq = max(r->next_seq, r->wanted);
			continue;
		}
		if (!fusion_replay_parse_block(sb, start + pos, &j) ||
		    !fusion_replay_seq_lasts(j.seq))
			continue;
		r->next_seq = max(r->next_seq, j.seq + 1);
		if (j.seq >= sb->replay_seq)
			fusion_progress_raise(&r->peer_at, j.peer_at.generation, j.peer_at.seq);
	}
}
