// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: bios on their way to the members.
 */
#include <linux/rcupdate.h>

#include "dm-fusion.h"

void fusion_pin_slot(struct fusion *fs, struct bio *bio, unsigned int disk)
{
	struct fusion_io *io = fusion_io(bio);

	rcu_read_lock_sched();
	fusion_enter(fs, io);
	rcu_read_unlock_sched();
	fusion_pin(fs, io, bio, disk);
}

void fusion_submit(struct fusion *fs, struct bio *bio, u32 word)
{
	fusion_remap(fs, bio, word);
	dm_submit_bio_remap(bio, NULL);
}

static void fusion_zeroes_done(int read_err, unsigned long write_err, void *context)
{
	struct bio *bio = context;

	if (write_err)
		bio->bi_status = BLK_STS_IOERR;
	bio_endio(bio);
}

void fusion_submit_zeroes(struct fusion *fs, struct bio *bio, u32 word)
{
	struct dm_io_region dest = {
		.bdev = fusion_word_bdev(fs, word),
		.sector = fusion_word_sector(fs, word) +
			  fusion_offset(fs, bio->bi_iter.bi_sector),
		.count = bio_sectors(bio),
	};

	/* A member that cannot write zeroes by itself gets data; a commit makes that durable. */
	fusion_io(bio)->fua |= !!(bio->bi_opf & REQ_FUA);
	dm_kcopyd_zero(fs->kcopyd, 1, &dest, 0, fusion_zeroes_done, bio);
}
