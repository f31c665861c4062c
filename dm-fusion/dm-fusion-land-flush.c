// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: writes with FUA that got into the landing log.
 *
 * When its batch has ended, as all before it, such a write is durable with the next flush of the
 * fast member. It is the newest of its blocks, so whatever older entries the journal still calls
 * live, an opening finds this one. And the extent has been durably STABLE since before it was
 * written. So it need not wait for a commit, which would flush a dirty slow member as well. Several
 * that have ended meanwhile share the next flush.
 *
 * A flush of the fast member must not run beside a commit: see dm-fusion-journal.c. Then these
 * writes wait for the next commit instead, as they do while deaths of entries are pending, or after
 * an error.
 */
#include "dm-fusion.h"

void fusion_land_flush(struct fusion *fs, struct bio *bio)
{
	unsigned long flags;

	spin_lock_irqsave(&fs->lock, flags);
	bio_list_add(&fs->land.fua, bio);
	/* the bio keeps the set, and may end as soon as the lock is dropped */
	queue_work(fs->land.fua_wq, &fs->land.fua_work);
	spin_unlock_irqrestore(&fs->lock, flags);
}

/* Is a flush of the fast member enough? Then the next commit waits for it. fs->lock held. */
static bool fusion_land_flush_begin(struct fusion *fs)
{
	if (fusion_mode(fs) != FUSION_RW || READ_ONCE(fs->flush.lost) || fs->commit.running ||
	    fs->flush.hold || fusion_land_pending(fs))
		return false;
	fs->flush.nr++;
	return true;
}

static void fusion_land_flush_end(struct fusion *fs, bool failed)
{
	spin_lock_irq(&fs->lock);
	if (failed)
		WRITE_ONCE(fs->flush.lost, 1);
	WRITE_ONCE(fs->flush.nr, fs->flush.nr - 1);
	spin_unlock_irq(&fs->lock);
	wake_up(&fs->flush.wait);
	if (!failed)
		return;
	fusion_member_failed(fs, FUSION_FAST);
	/* it changes the mode */
	fusion_commit_kick(fs);
}

static void fusion_do_land_flush(struct work_struct *work)
{
	struct fusion *fs = container_of(work, struct fusion, land.fua_work);
	struct bio_list bios;
	bool direct, any;
	struct bio *bio;
	int r;

	spin_lock_irq(&fs->lock);
	bios = fs->land.fua;
	bio_list_init(&fs->land.fua);
	any = !bio_list_empty(&bios);
	direct = any && fusion_land_flush_begin(fs);
	if (!direct)
		bio_list_merge(&fs->commit.waiters, &bios);
	spin_unlock_irq(&fs->lock);
	if (any && !direct)
		fusion_commit_kick(fs);
	if (!direct)
		return;
	r = fusion_flush_fast(fs);
	fusion_land_flush_end(fs, r);
	while ((bio = bio_list_pop(&bios))) {
		if (r)
			bio->bi_status = BLK_STS_IOERR;
		bio_endio(bio);
	}
}

void fusion_land_flush_init(struct fusion *fs)
{
	bio_list_init(&fs->land.fua);
	INIT_WORK(&fs->land.fua_work, fusion_do_land_flush);
}
