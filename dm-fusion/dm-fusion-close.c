// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: closing a set, when its device is suspended or removed, or before a reboot.
 *
 * The device of the root file system is never suspended. So it is sealed when the machine is about
 * to shut down: it is closed as well, and writes that come after that are held for good. Reads go
 * on. No flush covers a write that is held, so nothing is lost that a program could rely on. If
 * the set were not closed, the next activation would have to copy all shadows again.
 *
 * No write reaches a member after a seal. One that has found the gate open (fs->gate) is in the
 * same RCU section until it has entered an epoch. The first drain lasts longer than all these
 * sections, so each of them has entered the old epoch by then, or the new one, which the second
 * drain waits for. What the worker has begun is waited for before that.
 */
#include "dm-fusion.h"

/* No write of a user is in flight any more, and none will be. */
static void fusion_close(struct fusion *fs)
{
	/* The core does not wait for zero-fills of OPEN extents, as they are not its bios. */
	wait_event(fs->opens.fill_wait, !READ_ONCE(fs->opens.nr_fills));
	flush_work(&fs->worker.work);
	fusion_copies_stop(fs);
	/* Batches have ended with their bios, and have queued it before that. */
	if (fs->land.max)
		flush_work(fs->land.work);
	if (fs->land.max)
		flush_work(&fs->land.fua_work);
	/* An update may wait for a commit, and there are no commits after the next line. */
	fusion_replica_pause(fs);
	/* In any mode: on removal, checkpoints requested by messages may still be pending. */
	fusion_checkpoint_wait(fs, true);
	cancel_delayed_work_sync(&fs->commit.work);
	flush_work(&fs->txns.reclaim_work);
	fusion_stale_stop(fs);
	fusion_replica_stop(fs);
	/* Only now are the slots free that the replica may have named. */
	fusion_discard_stop(fs);
	fusion_super_repeat(fs);
	fusion_note_mode(fs);
	fusion_settle_failed(fs);
	fusion_beat_close(fs);
}

void fusion_close_set(struct fusion *fs)
{
	if (!fs->seal.on)
		fusion_close(fs);
	fusion_claim_release(fs);
}

/* -- before a reboot ------------------------------------------------------------------------- */

/* All that was acknowledged is durable, so what waits for a flush need not wait any more. */
static void fusion_seal_end(struct fusion *fs)
{
	struct bio_list waiters;
	struct bio *bio;

	spin_lock_irq(&fs->lock);
	fs->seal.flushed = fusion_mode(fs) == FUSION_RW;
	waiters = fs->commit.waiters;
	bio_list_init(&fs->commit.waiters);
	spin_unlock_irq(&fs->lock);
	while ((bio = bio_list_pop(&waiters))) {
		if (!fs->seal.flushed)
			bio->bi_status = BLK_STS_IOERR;
		bio_endio(bio);
	}
}

static void fusion_do_seal(struct work_struct *work)
{
	struct fusion *fs = container_of(work, struct fusion, seal.work);

	/* Without a point, what was written since the last one would be out of date. */
	fs->seal.point = (struct fusion_force){ .kind = FUSION_POINT };
	fusion_force(fs, &fs->seal.point);
	fusion_migrate_stop(fs);

	spin_lock_irq(&fs->lock);
	fs->seal.on = true;
	fusion_gate_update(fs);
	spin_unlock_irq(&fs->lock);
	/* what the worker has begun is sent, or is an exclusive operation, which ends */
	flush_work(&fs->worker.work);
	wait_event(fs->opens.fill_wait, !READ_ONCE(fs->opens.nr_excl));
	flush_work(&fs->worker.work);
	fusion_drain(fs);
	fusion_drain(fs);
	fusion_close(fs);
	fusion_seal_end(fs);

	WRITE_ONCE(fs->seal.over, true);
	wake_up_all(&fs->commit.wait);
}

void fusion_seal_init(struct fusion *fs)
{
	INIT_WORK(&fs->seal.work, fusion_do_seal);
}

bool fusion_seal(struct fusion *fs, unsigned int point_seconds, unsigned int close_seconds)
{
	queue_work(fs->wait_wq, &fs->seal.work);
	if (wait_event_timeout(fs->commit.wait, READ_ONCE(fs->seal.over), point_seconds * HZ))
		return true;
	/* rather without a point */
	WRITE_ONCE(fs->seal.point.abandoned, true);
	return wait_event_timeout(fs->commit.wait, READ_ONCE(fs->seal.over), close_seconds * HZ);
}

void fusion_unseal(struct fusion *fs)
{
	spin_lock_irq(&fs->lock);
	fs->seal.on = false;
	fs->seal.flushed = false;
	WRITE_ONCE(fs->seal.over, false);
	fusion_gate_update(fs);
	fusion_unpark(fs);
	spin_unlock_irq(&fs->lock);
}
