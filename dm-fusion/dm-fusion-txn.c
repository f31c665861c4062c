// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: transactions, which record changes of the map until they are committed, and the slots
 * that they release.
 *
 * After its commit, a transaction is in quarantine with its slots. They become free, or held for
 * the replica, or shadows, after a drain that begins after the commit (INV2).
 */
#include <linux/mm.h>

#include "dm-fusion.h"
#include "dm-fusion-trace.h"

int fusion_txns_init(struct fusion *fs)
{
	unsigned int i;

	for (i = 0; i < FUSION_NR_TXNS; i++) {
		struct fusion_txn *txn = kvzalloc(sizeof(*txn), GFP_KERNEL);

		if (!txn)
			return -ENOMEM;
		list_add(&txn->list, &fs->txns.free);
	}
	fs->txns.running = list_first_entry(&fs->txns.free, struct fusion_txn, list);
	list_del_init(&fs->txns.running->list);
	return 0;
}

void fusion_txns_exit(struct fusion *fs)
{
	struct fusion_txn *txn, *next;

	kvfree(fs->txns.running);
	list_splice_init(&fs->txns.quarantined, &fs->txns.free);
	list_for_each_entry_safe(txn, next, &fs->txns.free, list)
		kvfree(txn);
}

bool fusion_log_room(const struct fusion *fs, u32 nr)
{
	return fs->txns.running->nr + nr <= fs->txns.max_records;
}

void fusion_log(struct fusion *fs, u32 lext, u32 new, u32 old, enum fusion_op op)
{
	struct fusion_txn *txn = fs->txns.running;

	if (WARN_ON_ONCE(txn->nr >= FUSION_TXN_RECORDS))
		return;
	txn->rec[txn->nr].lext = lext;
	txn->rec[txn->nr].new = new;
	txn->rec[txn->nr].old = old;
	txn->rec[txn->nr].op = op;
	txn->nr++;
	/* an extent that was lost had no slot */
	fs->slots.nr_quarantined += fusion_word_mapped(old);
}

bool fusion_log_unmap(struct fusion *fs, u32 lext, u32 old)
{
	if (!fusion_map_clear(fs, lext, old))
		return false;
	fusion_shadow_drop(fs, old);
	fusion_point_forget(fs, old);
	fusion_land_kill_extent(&fs->land, lext);
	fusion_log(fs, lext, FUSION_WORD_UNMAPPED, fusion_word_set_state(old, FUSION_STABLE),
		   FUSION_OP_UNMAP);
	return true;
}

struct fusion_txn *fusion_txn_get(struct fusion *fs)
{
	struct fusion_txn *txn;

	spin_lock_irq(&fs->lock);
	txn = list_first_entry_or_null(&fs->txns.free, struct fusion_txn, list);
	if (txn)
		list_del_init(&txn->list);
	spin_unlock_irq(&fs->lock);
	return txn;
}

/* -- quarantine ------------------------------------------------------------------------------ */

static void fusion_release_slots(struct fusion *fs, struct fusion_txn *txn)
{
	u32 i;

	for (i = 0; i < txn->nr; i++) {
		bool moved = txn->rec[i].op == FUSION_OP_MOVE;

		if (!fusion_word_mapped(txn->rec[i].old))
			continue;
		spin_lock_irq(&fs->lock);
		/* A move out of a slow slot was recorded in the replica before it took effect. */
		if (!moved || !fusion_shadow_keep(fs, txn->rec[i].lext, txn->rec[i].old,
						  txn->rec[i].new))
			fusion_replica_release(fs, txn->rec[i].old, moved);
		fs->slots.nr_quarantined--;
		spin_unlock_irq(&fs->lock);
	}
}

void fusion_do_reclaim(struct work_struct *work)
{
	struct fusion *fs = container_of(work, struct fusion, txns.reclaim_work);
	struct fusion_txn *txn, *next;
	LIST_HEAD(committed);
	bool segments;

	/* Only transactions committed before the drain begins: INV2. And segments: INV21. */
	spin_lock_irq(&fs->lock);
	list_splice_init(&fs->txns.quarantined, &committed);
	segments = fusion_land_drains(fs);
	spin_unlock_irq(&fs->lock);
	if (list_empty(&committed) && !segments)
		return;
	fusion_drain(fs);

	list_for_each_entry_safe(txn, next, &committed, list) {
		trace_fusion_reclaim(fs, txn->nr);
		fusion_release_slots(fs, txn);
		spin_lock_irq(&fs->lock);
		list_move(&txn->list, &fs->txns.free);
		fusion_unpark(fs);
		spin_unlock_irq(&fs->lock);
		wake_up(&fs->txns.wait);
	}
	if (segments) {
		spin_lock_irq(&fs->lock);
		fusion_land_drained(fs);
		fusion_unpark(fs);
		spin_unlock_irq(&fs->lock);
	}
}
