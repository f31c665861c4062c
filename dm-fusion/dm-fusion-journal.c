// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: commits.
 *
 * The order of these steps is what makes a commit correct:
 *
 *  1. Under fs->lock, take the running transaction, the dirty OPEN extents, what there is
 *     to record of the landing log, and the waiting flushes. Anything that arrives later
 *     belongs to the next commit.
 *  2. Pack records. A bitmap is copied under fs->lock: its bits stand for writes that
 *     have completed, so the flushes that follow cover them.
 *  3. Flush the slow member, if it has been written since its last flush and either a
 *     record points to it or a flush is waiting.
 *  4. Write the journal with PREFLUSH | FUA. The preflush makes the fast member's data
 *     durable before the records that point to it (INV1). Before that, wait for users'
 *     flushes that went to the fast member directly; none of them begins during a
 *     commit. If one of them fails, a disk may drop the data that it should have made
 *     durable, and a later preflush that succeeds does not bring the data back. The
 *     records would then be durable and point to nothing, whatever memory does. The
 *     same holds for a map copy and the superblock that names it.
 *  5. Apply the changes that had to wait for durability: MOVE, and OPEN to STABLE.
 *  6. Quarantine the released slots, complete the flushes (INV4), and let parked bios
 *     continue.
 *
 * Each record carries the absolute state of one extent, so a transaction may be split
 * where the buffer ends.
 *
 * When the ring runs short, the committer writes a checkpoint first, so it never
 * overwrites a block from replay_seq on. Ring arithmetic: a commit takes at most
 * max_blocks. It starts only with four times that free; otherwise a checkpoint goes
 * first. So a checkpoint finds room for at least three commits: its first one, its
 * second one, which records all OPEN extents again, and that same second commit in the
 * recovery, if power fails just before the superblock is written.
 */
#include <linux/mm.h>

#include "dm-fusion.h"
#include "dm-fusion-trace.h"

/* OPEN extents that become STABLE under one lock. */
#define CHUNK	64U

int fusion_journal_init_state(struct fusion *fs)
{
	u32 per_block = FUSION_JOURNAL_PAYLOAD / sizeof(struct fusion_journal_record);
	u32 sixteenth = fs->sb.journal_blocks[FUSION_FAST] / 16;

	/* A transaction is no longer than a quarter of the ring: fusion_replay() relies on that. */
	fs->txns.max_records = min(FUSION_TXN_RECORDS, sixteenth * per_block);
	fs->commit.max_blocks = DIV_ROUND_UP(fs->txns.max_records, per_block) + sixteenth + 1 +
				fusion_land_journal_blocks(fs);
	return fusion_chain_init(&fs->journal, &fs->sb);
}

void fusion_journal_exit_state(struct fusion *fs)
{
	fusion_chain_exit(&fs->journal);
}

int fusion_commit_wait(struct fusion *fs)
{
	u64 mine;

	spin_lock_irq(&fs->lock);
	mine = fs->commit.started + 1;
	fs->commit.forced = max(fs->commit.forced, mine);
	spin_unlock_irq(&fs->lock);

	fusion_commit_kick(fs);
	wait_event(fs->commit.wait, READ_ONCE(fs->commit.done) >= mine);
	return fusion_mode(fs) == FUSION_RW ? 0 : -EIO;
}

/* -- packing --------------------------------------------------------------------------------- */

/* The blocks packed so far; belongs to one commit. */
struct packer {
	struct fusion *fs;
	unsigned int nr;	/* blocks in fs->journal.buf; the last one can take more records */
	bool slow;		/* a record points to the slow member */
	bool waiters;		/* a flush waits */
	bool flushed_slow;
	unsigned int total;
};

static bool fusion_slot_on_slow(u32 word)
{
	return fusion_word_mapped(word) && fusion_word_dev(word) == FUSION_SLOW;
}

static int fusion_commit_flush_slow(struct packer *pk)
{
	if (!pk->slow && !pk->waiters)
		return 0;
	pk->flushed_slow |= READ_ONCE(pk->fs->dirty[FUSION_SLOW]);
	return fusion_flush_slow(pk->fs);
}

/* Write the packed blocks as one transaction. */
static int fusion_commit_write_packed(struct packer *pk)
{
	struct fusion *fs = pk->fs;
	u64 txn = fs->journal.next_txn;
	int r;

	r = fusion_commit_flush_slow(pk);
	if (!r)
		r = fusion_flushes_ended(fs);
	if (r)
		return r;
	r = fusion_chain_write(fs, &fs->journal, pk->nr);
	trace_fusion_commit(fs, txn, pk->nr, pk->flushed_slow, r);
	if (r) {
		DMERR("%s: writing the journal failed: %d",
		      dm_table_device_name(fs->ti->table), r);
		return r;
	}
	pk->total += pk->nr;
	pk->nr = 0;
	pk->slow = false;
	return 0;
}

static int fusion_commit_next_block(struct packer *pk)
{
	int r = 0;

	if (pk->nr == FUSION_BUF_BLOCKS)
		r = fusion_commit_write_packed(pk);
	if (!r)
		fusion_journal_init(page_address(pk->fs->journal.buf[pk->nr++]));
	return r;
}

static bool fusion_commit_try_add(struct packer *pk, const struct fusion_record *rec)
{
	struct fusion *fs = pk->fs;

	if (!pk->nr ||
	    !fusion_journal_add(&fs->sb, page_address(fs->journal.buf[pk->nr - 1]), rec))
		return false;
	pk->slow |= fusion_slot_on_slow(rec->new);
	return true;
}

static int fusion_commit_add(struct packer *pk, const struct fusion_record *rec)
{
	int r = 0;

	while (!r && !fusion_commit_try_add(pk, rec))
		r = fusion_commit_next_block(pk);
	return r;
}

/* Records of the landing log: their order is at the head of dm-fusion-land-commit.c. */
static int fusion_commit_pack_land(struct packer *pk)
{
	struct fusion_land_cursor at = { .step = FUSION_LAND_VOID };
	struct fusion_record rec;
	int r = 0;

	for (; !r && fusion_land_next(pk->fs, &at, &rec); at.i++) {
		r = fusion_commit_add(pk, &rec);
		/* what took the place of entries that are dead: INV20 */
		pk->slow = true;
	}
	return r;
}

static int fusion_commit_pack_txn(struct packer *pk, const struct fusion_txn *txn)
{
	int r = 0;
	u32 i;

	for (i = 0; !r && i < txn->nr; i++) {
		struct fusion_record rec = {
			.lext = txn->rec[i].lext,
			.new = txn->rec[i].new,
			.old = txn->rec[i].old,
			.op = txn->rec[i].op,
		};

		r = fusion_commit_add(pk, &rec);
	}
	return r;
}

/* Take the first OPEN extent off the list into the journal; full ones move to @closing. */
static bool fusion_commit_try_add_open(struct packer *pk, struct list_head *dirty,
				       struct list_head *closing)
{
	struct fusion *fs = pk->fs;
	struct fusion_open *open;
	struct fusion_record rec;
	bool stable;
	bool added = true;

	spin_lock_irq(&fs->lock);
	open = list_first_entry_or_null(dirty, struct fusion_open, dirty_node);
	if (open) {
		stable = fusion_open_full(fs, open) && !open->excl;
		rec.lext = open->lext;
		rec.old = open->word;
		rec.new = stable ? fusion_word_set_state(open->word, FUSION_STABLE) : open->word;
		rec.op = stable ? FUSION_OP_STABLE :
			 open->lost ? FUSION_OP_PARTLY_LOST : FUSION_OP_OPEN;
		rec.bitmap = stable ? NULL : open->bitmap;
		added = fusion_commit_try_add(pk, &rec);
		if (added) {
			open->dirty = false;
			list_del(&open->dirty_node);
			if (stable) {
				open->closing = true;
				fs->opens.nr_full--;
				list_add_tail(&open->dirty_node, closing);
			}
		}
	}
	spin_unlock_irq(&fs->lock);
	return added;
}

static int fusion_commit_pack_opens(struct packer *pk, struct list_head *dirty,
				    struct list_head *closing)
{
	int r;

	/* An OPEN extent that is discarded leaves the list by itself, under the lock. */
	while (!list_empty_careful(dirty)) {
		if (fusion_commit_try_add_open(pk, dirty, closing))
			continue;
		r = fusion_commit_next_block(pk);
		if (r)
			return r;
	}
	return 0;
}

/* -- a commit -------------------------------------------------------------------------------- */

/*
 * An extent is in its new slot. What it has left may become its shadow, once that is drained; not
 * if there are newer blocks in the landing log, which were laid over the copy.
 */
static void fusion_commit_move(struct fusion *fs, u32 lext, u32 old, u32 new)
{
	if (fusion_shadow_wanted(fs, lext, old, new) && !fusion_land_any(&fs->land, lext, true))
		fusion_map_shadowed(fs, lext, new);
	else
		fusion_map_stable(fs, lext, new);
}

/* The records are durable: make their changes visible. fs->lock held. */
static void fusion_commit_apply(struct fusion *fs, struct fusion_txn *txn)
{
	u32 i;

	for (i = 0; i < txn->nr; i++)
		if (txn->rec[i].op == FUSION_OP_MOVE)
			fusion_commit_move(fs, txn->rec[i].lext, txn->rec[i].old, txn->rec[i].new);
}

/* The same for full extents, some at a time: there may be thousands. */
static void fusion_commit_close_opens(struct fusion *fs, struct list_head *closing)
{
	struct fusion_open *open, *next;
	unsigned int left;

	while (!list_empty(closing)) {
		left = CHUNK;
		spin_lock_irq(&fs->lock);
		list_for_each_entry_safe(open, next, closing, dirty_node) {
			u32 word = fusion_word_set_state(open->word, FUSION_STABLE);

			if (!left--)
				break;
			list_del(&open->dirty_node);
			fusion_map_stable(fs, open->lext, word);
			trace_fusion_stable(fs, open->lext, word);
			fusion_open_close(fs, open);
		}
		spin_unlock_irq(&fs->lock);
	}
}

/*
 * The commit failed: nothing is applied. But its records may be on the disk all the same, and then
 * the next activation finds the moves done. So the extents stay LOCKED. Otherwise a write that saw
 * mode RW before it ended could go to the old slot, be made durable there by FUA, and be
 * acknowledged; now it finds the mode instead. Both slots have the same content for readers.
 */
static void fusion_commit_revert(struct fusion *fs, struct list_head *closing)
{
	struct fusion_open *open, *next;

	list_for_each_entry_safe(open, next, closing, dirty_node) {
		list_del(&open->dirty_node);
		open->closing = false;
		fs->opens.nr_full++;
	}
}

static void fusion_commit_complete(struct bio_list *waiters, int r)
{
	struct bio *bio;

	while ((bio = bio_list_pop(waiters))) {
		if (r)
			bio->bi_status = errno_to_blk_status(r);
		bio_endio(bio);
	}
}

int fusion_commit(struct fusion *fs, bool always)
{
	struct packer pk = { .fs = fs };
	struct fusion_txn *txn, *fresh;
	struct bio_list waiters;
	LIST_HEAD(dirty);
	LIST_HEAD(closing);
	int r;

	/* If all transactions are in quarantine, a drain frees one, without a commit. */
	wait_event(fs->txns.wait, (fresh = fusion_txn_get(fs)));
	fresh->nr = 0;

	spin_lock_irq(&fs->lock);
	fs->commit.running = true;
	fs->commit.started++;
	txn = fs->txns.running;
	fs->txns.running = fresh;
	list_splice_init(&fs->opens.dirty, &dirty);
	fusion_land_take(fs);
	waiters = fs->commit.waiters;
	bio_list_init(&fs->commit.waiters);
	spin_unlock_irq(&fs->lock);

	pk.waiters = !bio_list_empty(&waiters);
	r = fusion_mode(fs) == FUSION_RW ? 0 : -EROFS;
	if (!r)
		r = fusion_commit_pack_txn(&pk, txn);
	if (!r)
		r = fusion_commit_pack_land(&pk);
	if (!r)
		r = fusion_commit_pack_opens(&pk, &dirty, &closing);
	/* A ring filled to the last block has no block that must be overwritten. */
	if (!r && always && !pk.nr && !pk.total && fusion_chain_free(&fs->journal))
		r = fusion_commit_next_block(&pk);
	if (!r && pk.nr) {
		r = fusion_commit_write_packed(&pk);
	} else if (!r && pk.waiters && !pk.total) {
		r = fusion_commit_flush_slow(&pk);
		if (!r)
			r = fusion_flushes_ended(fs);
		if (!r)
			r = fusion_flush_fast(fs);
	}
	/* A flush of the slow member that failed meanwhile may be why this one found it clean. */
	if (!r && READ_ONCE(fs->flush.lost))
		r = -EIO;
	if (r)
		fusion_set_mode(fs, FUSION_RO, "a commit failed");
	else
		fusion_commit_close_opens(fs, &closing);

	spin_lock_irq(&fs->lock);
	if (r) {
		fusion_commit_revert(fs, &closing);
		list_splice_init(&dirty, &fs->opens.dirty);
	} else {
		fusion_commit_apply(fs, txn);
	}
	if (fusion_land_committed(fs, !r))
		queue_work(fs->txns.reclaim_wq, &fs->txns.reclaim_work);
	/* After a failure the slots stay taken: their release is not durable. */
	if (!r && txn->nr) {
		list_add_tail(&txn->list, &fs->txns.quarantined);
		queue_work(fs->txns.reclaim_wq, &fs->txns.reclaim_work);
	} else {
		list_add(&txn->list, &fs->txns.free);
	}
	fs->commit.running = false;
	fusion_unpark(fs);
	fs->commit.commits++;
	WRITE_ONCE(fs->commit.done, fs->commit.started);
	spin_unlock_irq(&fs->lock);

	wake_up_all(&fs->commit.wait);
	fusion_commit_complete(&waiters, r);
	return r;
}

bool fusion_commit_needed(struct fusion *fs, bool urgent)
{
	bool needed;

	spin_lock_irq(&fs->lock);
	needed = !bio_list_empty(&fs->commit.waiters) || fs->commit.forced > fs->commit.started ||
		 (!urgent && (fs->txns.running->nr || !list_empty(&fs->opens.dirty) ||
			      fusion_land_unrecorded(fs)));
	spin_unlock_irq(&fs->lock);
	return needed;
}

int fusion_commit_urgent(struct fusion *fs)
{
	/* The second commit of the checkpoint, and that of a recovery, must still fit. */
	if (fusion_chain_free(&fs->journal) < 3 * fs->commit.max_blocks ||
	    !fusion_commit_needed(fs, true))
		return 0;
	return fusion_commit(fs, false);
}
