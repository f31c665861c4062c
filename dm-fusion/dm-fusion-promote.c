// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: how the replica learns that extents leave their slow slots before they do (INV7): of
 * promotions, and of moves out of the fence or home.
 *
 * See the head of dm-fusion-replica.c.
 */
#include <linux/bitops.h>
#include <linux/mm.h>

#include "dm-fusion.h"

static void fusion_replica_promotions_written(struct bio *bio)
{
	complete(bio->bi_private);
}

/* Record that an extent is away. Return: false if the block is full. */
static bool fusion_replica_add_leaving(struct fusion *fs, u32 lext)
{
	struct fusion_replica *rep = &fs->replica;
	struct fusion_record rec = {
		.lext = lext,
		.new = FUSION_WORD_AWAY,
		.old = fusion_word_on_disk(READ_ONCE(fs->map[lext])),
		.op = FUSION_OP_AWAY,
	};

	if (test_bit(lext, rep->away) || !fusion_word_mapped(rec.old) ||
	    fusion_word_dev(rec.old) != FUSION_SLOW)
		return true;
	if (rep->nr_leaving == FUSION_MAX_LEAVING ||
	    !fusion_journal_add(&rep->sb, page_address(rep->log.buf[0]), &rec))
		return false;
	rep->leaving[rep->nr_leaving++] = lext;
	return true;
}

/* Submit a block of them if any is new. After an update the log has room for it. */
static int fusion_replica_submit_leaving(struct fusion *fs, const u32 *lexts, unsigned int nr,
					 unsigned int max)
{
	struct fusion_replica *rep = &fs->replica;
	struct fusion_chain *log = &rep->log;
	void *block = page_address(log->buf[0]);
	unsigned int i;
	bool room = true;

	fusion_journal_init(block);
	rep->nr_leaving = 0;
	rep->bio = NULL;
	spin_lock_irq(&fs->lock);
	for (i = 0; i < nr && room; i++)
		room = fusion_replica_add_leaving(fs, lexts[i]);
	if (room && rep->nr_leaving)
		for (; i < max && fusion_replica_add_leaving(fs, lexts[i]); i++)
			;
	spin_unlock_irq(&fs->lock);
	if (!room || (rep->nr_leaving && !fusion_chain_free(log)))
		return -ENOSPC;
	if (!rep->nr_leaving)
		return 0;
	fusion_note_peer(fs, log, &rep->sb);
	log->prev_csum = fusion_journal_seal(&rep->sb, block, log->next_seq, log->next_txn, 0, 1,
					     log->prev_csum);

	reinit_completion(&rep->written);
	rep->bio = bio_alloc_bioset(fs->dev[FUSION_SLOW]->bdev, 1,
				    REQ_OP_WRITE | REQ_SYNC | REQ_META |
				    fusion_meta_fua(fs, FUSION_SLOW), GFP_NOIO, &fs->meta_bs);
	rep->bio->bi_iter.bi_sector = fusion_journal_blocknr(&rep->sb, log->next_seq) *
				      FUSION_BLOCK_SECTORS;
	rep->bio->bi_end_io = fusion_replica_promotions_written;
	rep->bio->bi_private = &rep->written;
	__bio_add_page(rep->bio, log->buf[0], FUSION_BLOCK_SIZE, 0);
	submit_bio(rep->bio);
	return 0;
}

int fusion_replica_promote(struct fusion *fs, const u32 *lexts, unsigned int nr, unsigned int max)
{
	struct fusion_replica *rep = &fs->replica;
	bool full;
	int r;

	mutex_lock(&rep->mutex);
	r = fusion_gate_ready(fs);
	full = fusion_chain_free(&rep->log) <= rep->keep;
	/* Extents that are away give the update something to write, so there is room then. */
	if (!r && (rep->stale || rep->unsure || full))
		r = fusion_replica_do_update(fs, full, false);
	if (!r)
		r = fusion_replica_submit_leaving(fs, lexts, nr, max);
	if (r)
		mutex_unlock(&rep->mutex);
	return r;
}

/* The records are durable. */
static void fusion_replica_end_leaving(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;
	unsigned int i;

	if (!rep->nr_away)
		rep->away_ms = fusion_now_ms();
	for (i = 0; i < rep->nr_leaving; i++)
		if (!__test_and_set_bit(rep->leaving[i], rep->away))
			rep->nr_away++;
	spin_lock_irq(&fs->lock);
	rep->writes++;
	fusion_replica_schedule(fs, fusion_replica_interval_ms(fs));
	spin_unlock_irq(&fs->lock);
}

int fusion_replica_promote_wait(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;
	int r;

	if (!rep->bio)
		return 0;
	wait_for_completion_io(&rep->written);
	r = blk_status_to_errno(rep->bio->bi_status);
	if (!r)
		r = fusion_flush_after(fs, FUSION_SLOW, rep->bio->bi_opf & REQ_FUA);
	bio_put(rep->bio);
	if (r) {
		fusion_rw_failed(fs, &rep->log, true,
				 fusion_journal_blocknr(&rep->sb, rep->log.next_seq), 1, r);
		/* A new map copy, and a new chain behind it, replace whatever the disk has now. */
		rep->restart = true;
		fusion_replica_end_update(fs, r, false, fusion_now_ms());
		mutex_unlock(&rep->mutex);
		return r;
	}
	rep->log.next_seq++;
	rep->log.next_txn++;
	fusion_note_durable(&rep->log, 0, rep->log.next_seq);
	rep->backoff_ms = 0;
	fusion_replica_end_leaving(fs);
	return 0;
}

void fusion_replica_promoted(struct fusion *fs)
{
	mutex_unlock(&fs->replica.mutex);
}
