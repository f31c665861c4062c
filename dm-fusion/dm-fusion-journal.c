// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: transactions and the committer.
 *
 * The order of a commit is its correctness:
 *
 *  1. Under fs->lock take the running transaction, the dirty OPEN extents and
 *     the waiting flushes; what comes later belongs to the next commit.
 *  2. Pack records. A bitmap is snapshot under fs->lock: its bits stand for
 *     writes that have completed, so the flushes that follow cover them.
 *  3. Flush the slow member, if it has been written since its last flush and a
 *     record points to it or a flush waits.
 *  4. Write the journal, PREFLUSH | FUA: the preflush makes the fast member's
 *     data durable before the records that point to it (INV1). Before, wait for users'
 *     flushes that went to the fast member directly, of which none begins during a
 *     commit: where one fails, a disk may drop what it should have made durable, and a
 *     later preflush that succeeds does not bring it back. The records would be durable
 *     and point to nothing, whatever memory does then. The same goes for a map set and
 *     the superblock that names it.
 *  5. Apply what had to wait for durability: MOVEs, and OPEN to STABLE.
 *  6. Quarantine the slots released; complete the flushes (INV4), let parked
 *     bios go on.
 *
 * Records carry absolute state of one extent each, so a transaction may be cut
 * into several where the buffer ends.
 *
 * The committer checkpoints first when the ring is short, so it never overwrites
 * a block from replay_seq on. Ring arithmetic: a commit takes at most
 * max_commit_blocks and starts with four times that free, else a checkpoint goes
 * first. So a checkpoint finds at least three: one for its first commit, one for
 * its second, which records all OPEN extents again, and one for the same second
 * commit in the recovery, if power fails just before the superblock is written.
 */
#include <linux/highmem.h>
#include <linux/mm.h>

#include "dm-fusion.h"
#include "dm-fusion-trace.h"

int fusion_chain_init(struct fusion_chain *chain, struct fusion_sb *sb)
{
	unsigned int i;

	chain->sb = sb;
	for (i = 0; i < FUSION_BUF_BLOCKS; i++) {
		chain->buf[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!chain->buf[i])
			return -ENOMEM;
	}
	return 0;
}

void fusion_chain_exit(struct fusion_chain *chain)
{
	unsigned int i;

	for (i = 0; i < FUSION_BUF_BLOCKS; i++)
		if (chain->buf[i])
			__free_page(chain->buf[i]);
}

int fusion_journal_init_state(struct fusion *fs)
{
	u32 per_block = FUSION_JOURNAL_PAYLOAD / sizeof(struct fusion_journal_record);
	u32 sixteenth = fs->sb.journal_blocks[FUSION_FAST] / 16;
	unsigned int i;

	/* A transaction is no longer than a quarter of the ring: fusion_replay() relies on that. */
	fs->max_records = min(FUSION_TXN_RECORDS, sixteenth * per_block);
	fs->max_commit_blocks = DIV_ROUND_UP(fs->max_records, per_block) + sixteenth + 1;

	for (i = 0; i < FUSION_NR_TXNS; i++) {
		struct fusion_txn *txn = kvzalloc(sizeof(*txn), GFP_KERNEL);

		if (!txn)
			return -ENOMEM;
		list_add(&txn->list, &fs->free_txns);
	}
	fs->running = list_first_entry(&fs->free_txns, struct fusion_txn, list);
	list_del_init(&fs->running->list);

	return fusion_chain_init(&fs->journal, &fs->sb);
}

void fusion_journal_exit_state(struct fusion *fs)
{
	struct fusion_txn *txn, *next;

	fusion_chain_exit(&fs->journal);
	kvfree(fs->running);
	list_splice_init(&fs->quarantined, &fs->free_txns);
	list_for_each_entry_safe(txn, next, &fs->free_txns, list)
		kvfree(txn);
}

bool fusion_log_room(const struct fusion *fs, u32 nr)
{
	return fs->running->nr + nr <= fs->max_records;
}

void fusion_log(struct fusion *fs, u32 lext, u32 new, u32 old, enum fusion_op op)
{
	struct fusion_txn *txn = fs->running;

	if (WARN_ON_ONCE(txn->nr >= FUSION_TXN_RECORDS))
		return;
	txn->rec[txn->nr].lext = lext;
	txn->rec[txn->nr].new = new;
	txn->rec[txn->nr].old = old;
	txn->rec[txn->nr].op = op;
	txn->nr++;
	fs->nr_quarantined++;
}

void fusion_commit_kick(struct fusion *fs)
{
	mod_delayed_work(fs->commit_wq, &fs->commit_work, 0);
}

void fusion_commit_soon(struct fusion *fs)
{
	queue_delayed_work(fs->commit_wq, &fs->commit_work,
			   msecs_to_jiffies(READ_ONCE(fs->opt.commit_interval)));
}

int fusion_commit_wait(struct fusion *fs)
{
	u64 mine;

	spin_lock_irq(&fs->lock);
	mine = fs->commit_started + 1;
	fs->commit_forced = max(fs->commit_forced, mine);
	spin_unlock_irq(&fs->lock);

	fusion_commit_kick(fs);
	wait_event(fs->commit_wait, READ_ONCE(fs->commit_done) >= mine);
	return fusion_mode(fs) == FUSION_RW ? 0 : -EIO;
}

u64 fusion_checkpoint_ask(struct fusion *fs, bool clean)
{
	u64 mine = 0;

	/*
	 * The one that closes the set is the last, and serves all that were asked for before.
	 * The kick is in the same section: postsuspend cancels the work after its own.
	 */
	spin_lock_irq(&fs->lock);
	if (!fs->closed) {
		fs->closed = clean;
		mine = ++fs->checkpoint_wanted;
		fusion_commit_kick(fs);
	}
	spin_unlock_irq(&fs->lock);
	return mine;
}

int fusion_checkpoint_wait(struct fusion *fs, bool clean)
{
	u64 mine = fusion_checkpoint_ask(fs, clean);

	if (!mine)
		return -EAGAIN;
	wait_event(fs->commit_wait, READ_ONCE(fs->checkpoint_done) >= mine);
	return fusion_mode(fs) == FUSION_RW ? 0 : -EIO;
}

/* -- flushing -------------------------------------------------------------------- */

int fusion_flush_slow(struct fusion *fs)
{
	bool dirty;
	int r = 0;

	mutex_lock(&fs->flush_mutex);
	if (READ_ONCE(fs->flush_lost)) {
		mutex_unlock(&fs->flush_mutex);
		return -EIO;
	}
	/*
	 * The lock makes both one step for map_flush(). xchg() for fusion_mark_written(),
	 * which holds no lock; its full barrier pairs with the order there.
	 */
	spin_lock_irq(&fs->lock);
	dirty = xchg(&fs->slow_dirty, 0);
	fs->slow_flushing = dirty;
	spin_unlock_irq(&fs->lock);
	if (!dirty)
		goto out;

	fs->slow_flushes++;
	r = blkdev_issue_flush(fs->dev[FUSION_SLOW]->bdev);
	spin_lock_irq(&fs->lock);
	fs->slow_flushing = false;
	if (r) {
		WRITE_ONCE(fs->slow_dirty, 1);
		WRITE_ONCE(fs->flush_lost, 1);
	}
	spin_unlock_irq(&fs->lock);
out:
	mutex_unlock(&fs->flush_mutex);
	if (r) {
		DMERR("%s: slow device %s: a flush failed: %d",
		      dm_table_device_name(fs->ti->table), fs->dev[FUSION_SLOW]->name, r);
		fusion_set_mode(fs, FUSION_RO, "a flush failed");
	}
	return r;
}

int fusion_flush_fast(struct fusion *fs)
{
	int r = blkdev_issue_flush(fs->dev[FUSION_FAST]->bdev);

	if (r)
		DMERR("%s: fast device %s: a flush failed: %d",
		      dm_table_device_name(fs->ti->table), fs->dev[FUSION_FAST]->name, r);
	return r;
}

int fusion_flushes_ended(struct fusion *fs)
{
	bool lost;

	wait_event(fs->flush_wait, !READ_ONCE(fs->nr_flushes));
	/* The lock pairs with fusion_end_io(), which sets flush_lost before it counts. */
	spin_lock_irq(&fs->lock);
	lost = fs->flush_lost;
	spin_unlock_irq(&fs->lock);
	return lost ? -EIO : 0;
}

blk_opf_t fusion_meta_fua(const struct fusion *fs, enum fusion_dev dev)
{
	/* if metadata of the fast member can't be written, for whatever reason, mode RW ends */
	return dev == FUSION_FAST || fusion_has_fua(fs, dev) ? REQ_FUA : 0;
}

int fusion_flush_after(struct fusion *fs, enum fusion_dev dev, blk_opf_t fua)
{
	if (fua)
		return 0;
	fusion_mark_written(fs, dev);
	return fusion_flush_slow(fs);
}

int fusion_flush_before(struct fusion *fs, const struct fusion_chain *chain,
			blk_opf_t *preflush)
{
	*preflush = 0;
	if (chain->sb->role == FUSION_SLOW)
		return fusion_flush_slow(fs);
	*preflush = REQ_PREFLUSH;
	return 0;
}

/* -- writing --------------------------------------------------------------------- */

void fusion_note_peer(struct fusion *fs, const struct fusion_chain *chain, struct fusion_sb *sb)
{
	const struct fusion_chain *other = chain == &fs->journal ? &fs->replica.log : &fs->journal;

	/* What @sb says already was true when it was written. */
	fusion_progress_raise(&sb->peer_at, READ_ONCE(other->durable.generation),
			      READ_ONCE(other->durable.seq));
}

/* Where the ring wraps, in two bios. */
int fusion_chain_write(struct fusion *fs, struct fusion_chain *chain, unsigned int nr)
{
	struct fusion_sb *sb = chain->sb;
	u64 ring = sb->journal_start[sb->role];
	u64 start = fusion_journal_blocknr(sb, chain->next_seq);
	unsigned int first_part = min_t(u64, nr, ring + sb->journal_blocks[sb->role] - start);
	blk_opf_t fua = fusion_meta_fua(fs, sb->role);
	blk_opf_t opf = REQ_OP_WRITE | REQ_SYNC | REQ_META | fua, preflush;
	u32 csum = chain->prev_csum;
	unsigned int i;
	int r;

	if (WARN_ON_ONCE(nr > fusion_chain_free(chain)))
		return -ENOSPC;
	r = fusion_flush_before(fs, chain, &preflush);
	if (r)
		return r;
	fusion_note_peer(fs, chain, sb);
	for (i = 0; i < nr; i++)
		csum = fusion_journal_seal(sb, page_address(chain->buf[i]), chain->next_seq + i,
					   chain->next_txn, i, nr, csum);

	r = fusion_rw_blocks(fs, chain, opf | preflush, start, 0, first_part);
	if (!r && first_part < nr)
		r = fusion_rw_blocks(fs, chain, opf, ring, first_part, nr - first_part);
	if (!r)
		r = fusion_flush_after(fs, sb->role, fua);
	if (r)
		return r;
	chain->prev_csum = csum;
	WRITE_ONCE(chain->next_seq, chain->next_seq + nr);
	chain->next_txn++;
	fusion_note_durable(chain, 0, chain->next_seq);
	return 0;
}

/* The blocks packed so far; belongs to one commit. */
struct packer {
	struct fusion *fs;
	unsigned int nr;	/* blocks in fs->journal.buf, the last one open for records */
	bool slow;		/* a record points to the slow member */
	bool waiters;		/* a flush waits */
	bool flushed_slow;
	unsigned int total;
};

static bool slot_on_slow(u32 word)
{
	return fusion_word_mapped(word) && fusion_word_dev(word) == FUSION_SLOW;
}

static int flush_slow(struct packer *pk)
{
	if (!pk->slow && !pk->waiters)
		return 0;
	pk->flushed_slow |= READ_ONCE(pk->fs->slow_dirty);
	return fusion_flush_slow(pk->fs);
}

/* Write the packed blocks as one transaction. */
static int write_packed(struct packer *pk)
{
	struct fusion *fs = pk->fs;
	u64 txn = fs->journal.next_txn;
	int r;

	r = flush_slow(pk);
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

static int next_block(struct packer *pk)
{
	int r = 0;

	if (pk->nr == FUSION_BUF_BLOCKS)
		r = write_packed(pk);
	if (!r)
		fusion_journal_init(page_address(pk->fs->journal.buf[pk->nr++]));
	return r;
}

static bool try_add(struct packer *pk, const struct fusion_record *rec)
{
	struct fusion *fs = pk->fs;

	if (!pk->nr ||
	    !fusion_journal_add(&fs->sb, page_address(fs->journal.buf[pk->nr - 1]), rec))
		return false;
	pk->slow |= slot_on_slow(rec->new);
	return true;
}

static int pack_txn(struct packer *pk, const struct fusion_txn *txn)
{
	u32 i;
	int r;

	for (i = 0; i < txn->nr; i++) {
		struct fusion_record rec = {
			.lext = txn->rec[i].lext,
			.new = txn->rec[i].new,
			.old = txn->rec[i].old,
			.op = txn->rec[i].op,
		};

		while (!try_add(pk, &rec)) {
			r = next_block(pk);
			if (r)
				return r;
		}
	}
	return 0;
}

/* Take the first OPEN extent off the list into the journal; full ones move to @closing. */
static bool try_add_open(struct packer *pk, struct list_head *dirty, struct list_head *closing)
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
		rec.op = stable ? FUSION_OP_STABLE : FUSION_OP_OPEN;
		rec.bitmap = stable ? NULL : open->bitmap;
		added = try_add(pk, &rec);
		if (added) {
			open->dirty = false;
			list_del(&open->dirty_node);
			if (stable) {
				open->closing = true;
				fs->nr_full--;
				list_add_tail(&open->dirty_node, closing);
			}
		}
	}
	spin_unlock_irq(&fs->lock);
	return added;
}

static int pack_opens(struct packer *pk, struct list_head *dirty, struct list_head *closing)
{
	int r;

	/* An OPEN extent that is discarded leaves the list by itself, under the lock. */
	while (!list_empty_careful(dirty)) {
		if (try_add_open(pk, dirty, closing))
			continue;
		r = next_block(pk);
		if (r)
			return r;
	}
	return 0;
}

/* -- a commit ----------------------------------------------------------------------- */

static struct fusion_txn *get_free_txn(struct fusion *fs)
{
	struct fusion_txn *txn;

	spin_lock_irq(&fs->lock);
	txn = list_first_entry_or_null(&fs->free_txns, struct fusion_txn, list);
	if (txn)
		list_del_init(&txn->list);
	spin_unlock_irq(&fs->lock);
	return txn;
}

static void set_word(struct fusion *fs, u32 lext, u32 word)
{
	WRITE_ONCE(fs->map[lext], word);
	fusion_replica_mark(fs, lext);
}

/* The records are durable: now they may be seen. */
static void apply(struct fusion *fs, struct fusion_txn *txn, struct list_head *closing)
{
	struct fusion_open *open, *next;
	u32 i;

	for (i = 0; i < txn->nr; i++)
		if (txn->rec[i].op == FUSION_OP_MOVE)
			set_word(fs, txn->rec[i].lext, txn->rec[i].new);

	list_for_each_entry_safe(open, next, closing, dirty_node) {
		u32 word = fusion_word_set_state(open->word, FUSION_STABLE);

		list_del(&open->dirty_node);
		set_word(fs, open->lext, word);
		trace_fusion_stable(fs, open->lext, word);
		fusion_open_close(fs, open);
	}
}

/*
 * The commit failed: nothing is applied. But its records may be on the medium all the same, and
 * then the next to open the set finds the moves done. So the extents stay LOCKED: a write that saw
 * mode RW before it ended, and would now go to the old slot, be durable there by FUA and
 * acknowledged, finds the mode instead. Either slot has the same content for readers.
 */
static void revert(struct fusion *fs, struct list_head *closing)
{
	struct fusion_open *open, *next;

	list_for_each_entry_safe(open, next, closing, dirty_node) {
		list_del(&open->dirty_node);
		open->closing = false;
		fs->nr_full++;
	}
}

static void complete_waiters(struct bio_list *waiters, int r)
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

	/* All transactions in quarantine: a drain, which needs no commit, frees one. */
	wait_event(fs->txn_wait, (fresh = get_free_txn(fs)));
	fresh->nr = 0;

	spin_lock_irq(&fs->lock);
	fs->committing = true;
	fs->commit_started++;
	txn = fs->running;
	fs->running = fresh;
	list_splice_init(&fs->open_dirty, &dirty);
	waiters = fs->waiters;
	bio_list_init(&fs->waiters);
	spin_unlock_irq(&fs->lock);

	pk.waiters = !bio_list_empty(&waiters);
	r = fusion_mode(fs) == FUSION_RW ? 0 : -EROFS;
	if (!r)
		r = pack_txn(&pk, txn);
	if (!r)
		r = pack_opens(&pk, &dirty, &closing);
	/* In a ring filled to the last block there is nothing to be overwritten. */
	if (!r && always && !pk.nr && !pk.total && fusion_chain_free(&fs->journal))
		r = next_block(&pk);
	if (!r && pk.nr) {
		r = write_packed(&pk);
	} else if (!r && pk.waiters && !pk.total) {
		r = flush_slow(&pk);
		if (!r)
			r = fusion_flushes_ended(fs);
		if (!r)
			r = fusion_flush_fast(fs);
	}
	/* Of the slow member: one that failed meanwhile may be why this one found it clean. */
	if (!r && READ_ONCE(fs->flush_lost))
		r = -EIO;
	if (r)
		fusion_set_mode(fs, FUSION_RO, "a commit failed");

	spin_lock_irq(&fs->lock);
	if (r) {
		revert(fs, &closing);
		list_splice_init(&dirty, &fs->open_dirty);
	} else {
		apply(fs, txn, &closing);
	}
	/* After a failure the slots stay taken: their release is not durable. */
	if (!r && txn->nr) {
		list_add_tail(&txn->list, &fs->quarantined);
		queue_work(fs->reclaim_wq, &fs->reclaim_work);
	} else {
		list_add(&txn->list, &fs->free_txns);
	}
	fs->committing = false;
	fusion_unpark(fs);
	fs->commits++;
	WRITE_ONCE(fs->commit_done, fs->commit_started);
	spin_unlock_irq(&fs->lock);

	wake_up_all(&fs->commit_wait);
	complete_waiters(&waiters, r);
	return r;
}

/* -- the committer ------------------------------------------------------------------ */

static bool commit_needed(struct fusion *fs, bool urgent)
{
	bool needed;

	spin_lock_irq(&fs->lock);
	needed = !bio_list_empty(&fs->waiters) || fs->commit_forced > fs->commit_started ||
		 (!urgent && (fs->running->nr || !list_empty(&fs->open_dirty)));
	spin_unlock_irq(&fs->lock);
	return needed;
}

int fusion_commit_urgent(struct fusion *fs)
{
	/* The checkpoint's second commit and that of a recovery must still fit. */
	if (fusion_chain_free(&fs->journal) < 3 * fs->max_commit_blocks || !commit_needed(fs, true))
		return 0;
	return fusion_commit(fs, false);
}

/* Must a checkpoint come first? */
static bool journal_short(const struct fusion *fs)
{
	return fusion_chain_free(&fs->journal) < 4 * fs->max_commit_blocks;
}

void fusion_note_mode(struct fusion *fs)
{
	if (fusion_stopped(fs))
		fusion_super_flags(fs, FUSION_SB_NEEDS_CHECK, FUSION_SB_CLEAN);
}

void fusion_do_commit(struct work_struct *work)
{
	struct fusion *fs = container_of(work, struct fusion, commit_work.work);
	bool clean, asked;
	u64 wanted, keep;

	if (READ_ONCE(fs->flush_lost))
		fusion_set_mode(fs, FUSION_RO, "a flush failed");

	spin_lock_irq(&fs->lock);
	wanted = fs->checkpoint_wanted;
	clean = fs->closed;
	keep = fs->keep_wanted;
	spin_unlock_irq(&fs->lock);

	asked = wanted > fs->checkpoint_done;
	if (asked || journal_short(fs)) {
		if (fusion_mode(fs) == FUSION_RW && fusion_checkpoint(fs, clean && asked, asked))
			fusion_set_mode(fs, FUSION_RO, "a checkpoint failed");
		WRITE_ONCE(fs->checkpoint_done, wanted);
		wake_up_all(&fs->commit_wait);
	}

	/* One that closes the set has done this: nothing is written then. */
	if (keep > fs->keep_done) {
		if (fusion_mode(fs) == FUSION_RW && fusion_super_flags(fs, 0, 0))
			fusion_set_mode(fs, FUSION_RO, "writing settings failed");
		WRITE_ONCE(fs->keep_done, keep);
		wake_up_all(&fs->commit_wait);
	}

	/* A checkpoint may have filled the ring itself: then another one goes first. */
	if (fusion_mode(fs) == FUSION_RW && journal_short(fs))
		fusion_commit_kick(fs);
	else if (commit_needed(fs, false))
		fusion_commit(fs, false);

	fusion_note_mode(fs);
}
