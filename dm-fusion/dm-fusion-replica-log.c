// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the log of the replica: what has changed since its map set.
 *
 * See the head of dm-fusion-replica.c. replica.mutex is held.
 */
#include <linux/bitops.h>
#include <linux/mm.h>

#include "dm-fusion.h"

int fusion_replica_wait_for_map(struct fusion *fs)
{
	bool pending;

	spin_lock_irq(&fs->lock);
	pending = fs->commit.running || fs->txns.running->nr || !list_empty(&fs->opens.dirty) ||
		  fusion_land_pending(fs);
	spin_unlock_irq(&fs->lock);
	if (pending)
		return fusion_commit_wait(fs);
	return fusion_mode(fs) == FUSION_RW ? 0 : -EROFS;
}

int fusion_replica_write_log(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;
	int r;

	if (!rep->nr)
		return 0;
	r = fusion_replica_wait_for_map(fs);
	if (!r) {
		r = fusion_chain_write(fs, &rep->log, rep->nr);
		/* It may be on the disk all the same: do not replay it behind the next map copy. */
		rep->restart |= r;
	}
	rep->nr = 0;
	if (!r)
		rep->writes++;
	return r;
}

/* Begin a block. Return: 0, an error, or FUSION_LOG_FULL if no more than @keep would be left. */
static int fusion_replica_next_block(struct fusion *fs, u32 keep)
{
	struct fusion_replica *rep = &fs->replica;
	int r;

	if (rep->nr + keep >= fusion_chain_free(&rep->log))
		return FUSION_LOG_FULL;
	if (rep->nr == FUSION_BUF_BLOCKS && rep->one_txn)
		return FUSION_LOG_FULL;
	if (rep->nr == FUSION_BUF_BLOCKS) {
		r = fusion_replica_write_log(fs);
		if (r)
			return r;
	}
	fusion_journal_init(page_address(rep->log.buf[rep->nr++]));
	return 0;
}

static bool fusion_replica_try_add(struct fusion_replica *rep, const struct fusion_record *rec)
{
	return rep->nr &&
	       fusion_journal_add(&rep->sb, page_address(rep->log.buf[rep->nr - 1]), rec);
}

/* Take a dirty extent into the log. Return: false if the block has no room. */
static bool fusion_replica_try_add_dirty(struct fusion *fs, u32 lext)
{
	struct fusion_record rec = { .lext = lext, .old = FUSION_WORD_UNMAPPED };
	struct fusion_open *open;
	bool added = true;

	spin_lock_irq(&fs->lock);
	if (test_bit(lext, fs->replica.dirty)) {
		rec.new = fusion_shadow_record(fs, READ_ONCE(fs->map[lext]),
					       fs->replica.names &&
					       fusion_replica_sb_names(&fs->replica.sb));
		rec.op = FUSION_OP_STABLE;
		if (!fusion_word_mapped(rec.new)) {
			rec.op = FUSION_OP_UNMAP;
		} else if (fusion_names_shadow(rec.new)) {
			rec.op = FUSION_OP_SHADOW;
		} else if (fusion_word_state(rec.new) == FUSION_OPEN) {
			open = fusion_open_find(fs, lext);
			rec.op = open->lost ? FUSION_OP_PARTLY_LOST : FUSION_OP_OPEN;
			rec.bitmap = open->bitmap;
		}
		added = fusion_replica_try_add(&fs->replica, &rec);
		if (added)
			fusion_replica_recorded(fs, lext);
	}
	spin_unlock_irq(&fs->lock);
	return added;
}

int fusion_replica_log_point(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;
	struct fusion_record rec = {
		.new = (u32)rep->point_s,
		.old = rep->point_s >> 32,
		.op = FUSION_OP_POINT,
	};
	int r;

	if (!rep->pointing || rep->pointed)
		return 0;
	rep->pointed = fusion_replica_try_add(rep, &rec);
	if (rep->pointed)
		return 0;
	/* This may write the blocks that are full. */
	r = fusion_replica_next_block(fs, rep->keep);
	if (!r)
		rep->pointed = fusion_replica_try_add(rep, &rec);
	return r == FUSION_LOG_FULL ? 0 : r;
}

int fusion_replica_log_dirty(struct fusion *fs, u32 keep)
{
	struct fusion_replica *rep = &fs->replica;
	u32 lext = 0;
	int r;

	for (;;) {
		lext = find_next_bit(rep->dirty, fs->sb.nr_lexts, lext);
		if (lext >= fs->sb.nr_lexts)
			return 0;
		if (fusion_replica_try_add_dirty(fs, lext)) {
			lext++;
			continue;
		}
		r = fusion_replica_next_block(fs, keep);
		if (r)
			return r;
		cond_resched();
	}
}
