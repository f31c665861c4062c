// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: flushes of the members, and the order of data and metadata.
 */
#include "dm-fusion.h"

/* A failure is not forgotten. Return: @r, or -EIO after an earlier one. */
static int fusion_flush_ended(struct fusion *fs, unsigned int disk, bool *under_way, int r)
{
	bool lost;

	spin_lock_irq(&fs->lock);
	*under_way = false;
	if (r) {
		WRITE_ONCE(fs->dirty[disk], 1);
		WRITE_ONCE(fs->flush.lost, 1);
	}
	lost = fs->flush.lost;
	spin_unlock_irq(&fs->lock);
	if (r)
		DMERR("%s: %s member %s: a flush failed: %d", dm_table_device_name(fs->ti->table),
		      disk == FUSION_SLOW ? "slow" : "old", fs->dev[disk]->name, r);
	return r ?: lost ? -EIO : 0;
}

/* Flush a disk if it was written since its last flush began. flush.mutex is held. */
static int fusion_flush_disk(struct fusion *fs, unsigned int disk)
{
	bool dirty, beside;
	int r;

	/*
	 * The lock makes both one step for fusion_map_flush(). xchg() is for
	 * fusion_mark_written(), which holds no lock; its full barrier pairs with the order there.
	 */
	spin_lock_irq(&fs->lock);
	dirty = xchg(&fs->dirty[disk], 0);
	fs->flush.flushing = dirty;
	beside = fs->flush.beside && disk == FUSION_SLOW;
	spin_unlock_irq(&fs->lock);
	if (!dirty)
		return 0;
	fs->flush.slow_flushes += disk == FUSION_SLOW;
	r = blkdev_issue_flush(fs->dev[disk]->bdev);
	/* The one that had begun before may be the one that hears of what both have lost. */
	if (beside)
		wait_event(fs->flush.wait, !READ_ONCE(fs->flush.beside));
	return fusion_flush_ended(fs, disk, &fs->flush.flushing, r);
}

int fusion_flush_slow(struct fusion *fs)
{
	int r;

	mutex_lock(&fs->flush.mutex);
	if (READ_ONCE(fs->flush.lost)) {
		mutex_unlock(&fs->flush.mutex);
		return -EIO;
	}
	r = fusion_flush_disk(fs, FUSION_SLOW);
	if (!r)
		r = fusion_flush_disk(fs, FUSION_OLD);
	mutex_unlock(&fs->flush.mutex);
	if (r)
		fusion_set_mode(fs, FUSION_RO, "a flush failed");
	return r;
}

int fusion_flush_slow_now(struct fusion *fs)
{
	int r;

	mutex_lock(&fs->flush.beside_mutex);
	/* It begins behind one that is under way; those behind it do not wait to begin. */
	mutex_lock(&fs->flush.mutex);
	spin_lock_irq(&fs->lock);
	r = fs->flush.lost ? -EIO : 0;
	fs->flush.beside = !r;
	spin_unlock_irq(&fs->lock);
	mutex_unlock(&fs->flush.mutex);
	if (!r) {
		r = blkdev_issue_flush(fs->dev[FUSION_SLOW]->bdev);
		r = fusion_flush_ended(fs, FUSION_SLOW, &fs->flush.beside, r);
		wake_up(&fs->flush.wait);
	}
	mutex_unlock(&fs->flush.beside_mutex);
	if (r)
		fusion_set_mode(fs, FUSION_RO, "a flush failed");
	return r;
}

int fusion_flush_fast(struct fusion *fs)
{
	int r = blkdev_issue_flush(fs->dev[FUSION_FAST]->bdev);

	if (r)
		DMERR("%s: fast member %s: a flush failed: %d",
		      dm_table_device_name(fs->ti->table), fs->dev[FUSION_FAST]->name, r);
	return r;
}

int fusion_flushes_ended(struct fusion *fs)
{
	bool lost;

	wait_event(fs->flush.wait, !READ_ONCE(fs->flush.nr));
	/* The lock pairs with fusion_end_io(), which sets flush.lost before it counts. */
	spin_lock_irq(&fs->lock);
	lost = fs->flush.lost;
	spin_unlock_irq(&fs->lock);
	return lost ? -EIO : 0;
}

blk_opf_t fusion_meta_fua(const struct fusion *fs, enum fusion_dev dev)
{
	/* if metadata of the fast member cannot be written, for any reason, mode RW ends */
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
