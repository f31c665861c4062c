/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: bios on their way to a slot: the epoch that they are in, and their place. Part of
 * dm-fusion.h, as it looks into struct fusion. All of this is inlined into the fast path.
 */
#ifndef DM_FUSION_BIO_H
#define DM_FUSION_BIO_H

#include <linux/percpu.h>
#include <linux/rcupdate.h>

static inline struct fusion_io *fusion_io(struct bio *bio)
{
	return dm_per_bio_data(bio, sizeof(struct fusion_io));
}

/**
 * fusion_enter() - enter the current epoch on behalf of a bio
 * @fs: device
 * @io: of the bio
 *
 * Context: inside rcu_read_lock_sched(), which must also span the load of the map word.
 */
static inline void fusion_enter(struct fusion *fs, struct fusion_io *io)
{
	/* Pairs with the release in fusion_drain(): new epoch, new words. */
	io->epoch = smp_load_acquire(&fs->epoch);
	this_cpu_inc(fs->stats->inside[io->epoch]);
}

/* Leave it. Any context in which wake_up() may be called. */
static inline void fusion_leave(struct fusion *fs, struct fusion_io *io)
{
	const unsigned int epoch = io->epoch;
	bool old;

	io->epoch = FUSION_NO_EPOCH;
	/* Pairs with synchronize_rcu() in fusion_drain(): see dm-fusion-epoch.c. */
	rcu_read_lock_sched();
	old = epoch != READ_ONCE(fs->epoch);
	if (likely(!old))
		this_cpu_dec(fs->stats->inside[epoch]);
	rcu_read_unlock_sched();
	if (unlikely(old))
		fusion_leave_old(fs, epoch);
}

/**
 * fusion_has_fua() - can a member make a single write durable?
 * @fs: device
 * @disk: member, or FUSION_OLD
 *
 * If it cannot, the block layer turns REQ_FUA into a write and a flush of everything, and reports
 * a failure of either by the same error. Then it is unknown whether other writes are lost. So such
 * a member gets REQ_FUA only where a failure ends mode RW anyway. Other writes are made durable by
 * fusion_flush_slow() or a commit, which detect a failed flush.
 *
 * Context: any.
 */
static inline bool fusion_has_fua(const struct fusion *fs, unsigned int disk)
{
	struct block_device *bdev = fs->dev[disk]->bdev;

	return bdev_fua(bdev) || !bdev_write_cache(bdev);
}

/* Send @bio to @disk. It is inside an epoch, which fusion_end_io() leaves. */
static inline void fusion_pin(struct fusion *fs, struct fusion_io *io, struct bio *bio,
			      unsigned int disk)
{
	io->disk = disk;
	/* a commit after the write flushes it */
	if (unlikely(bio->bi_opf & REQ_FUA) && !fusion_has_fua(fs, disk)) {
		bio->bi_opf &= ~REQ_FUA;
		io->fua = true;
	}
	this_cpu_inc(fs->stats->ios[fusion_disk_dev(fs, disk)][op_is_write(bio_op(bio))]);
}

/* It was not sent after all, and is no longer in its epoch: it will be pinned again. */
static inline void fusion_unpin(struct fusion *fs, struct fusion_io *io)
{
	this_cpu_inc(fs->stats->done[fusion_disk_dev(fs, io->disk)]);
	fusion_leave(fs, io);
}

/* Remap @bio to its place in the slot of @word. */
static inline void fusion_remap(struct fusion *fs, struct bio *bio, u32 word)
{
	const unsigned int disk = fusion_word_disk(fs, word);

	bio->bi_iter.bi_sector = fs->base[disk] + ((sector_t)fusion_word_slot(word) << fs->shift) +
				 fusion_offset(fs, bio->bi_iter.bi_sector);
	/* last, as it calls a function */
	bio_set_dev(bio, fs->dev[disk]->bdev);
}

/* Note that the slow member, or the old one, has something in its cache. Any context. */
static inline void fusion_mark_written(struct fusion *fs, unsigned int disk)
{
	/*
	 * Set before the bio completes, cleared by the committer before it flushes: whoever saw the
	 * completion gets a flush that covers it.
	 */
	if (disk != FUSION_FAST && !READ_ONCE(fs->dirty[disk]))
		WRITE_ONCE(fs->dirty[disk], 1);
}

#endif
