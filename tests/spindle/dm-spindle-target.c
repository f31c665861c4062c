// SPDX-License-Identifier: GPL-2.0-only
/*
 * spindle: a dm target that makes a fast device as slow as a disk, or as an
 * SSD. For tests and benchmarks.
 *
 *   <start> <len> spindle <dev> [<#opt args> [<key> <value>]...]
 *
 * Sector s of the target is sector s of <dev>. Only the timing is modelled: data
 * goes to <dev> at once, flush and FUA with it, and the bio completes when the
 * model says so (or, if <dev> is slower, when <dev> does). So a read sees every
 * write that was complete before it, cached or not; and what the "volatile
 * cache" holds is not lost with the power.
 *
 * key              unit     hdd  consumer  what
 * profile                                  hdd (the default), consumer or ssd: sets
 *                                          the defaults of the others
 * depth            commands  32         7  served out of order; more wait outside
 * overhead_us      us        50        50  to complete any command
 * rpm              1/min   7200      5400
 * heads                       4         4  tracks of a cylinder
 * seek_track_us    us      1000      1000  to the next cylinder
 * seek_full_us     us     16000     21200  over the whole target, whatever its size
 * head_switch_us   us       500       500  to another track of the cylinder
 * write_settle_us  us      1000      1000  more, to write after a seek
 * rate             MB/s     150       120  along a track; sets the size of a track
 * interface        MB/s     300       300  to and from the caches
 * age_ms           ms       410       500  older than that, the oldest command is
 *                                          served next, every second time
 * cache_kib        KiB     2048      2048  write cache; 0: none
 * cache_slots      extents    8         8  that it holds; adjacent writes share one
 * readahead        KiB     1280      1280  read on into the track buffer; 0: none
 *
 *                            ssd
 * depth            commands   32
 * overhead_us      us          9  controller's time for a command, one at a time
 * read_us          us        102  to read a stripe from a channel
 * write_us         us         60  to write one
 * channels                     8  working in parallel
 * stripe_kib       KiB        16  consecutive data on a channel
 * read_rate        MB/s      480  of the link, reading
 * write_rate       MB/s      307  and writing
 * flush_us         us       3000  of a flush after writes, and of an FUA write
 *
 * MB are 10^6 bytes. dm-spindle-params.c has the ranges; dm-spindle-hdd.c and
 * dm-spindle-ssd.c say how it works. The platter turns by ktime_get(), from boot
 * on, so runs differ unless the clock is virtual.
 *
 * A flush is alone in the drive: it waits for all commands before it, and
 * everything after waits for it. A disk's flush takes as long as it takes to
 * empty the write cache. A discard costs the overhead and is passed down if
 * <dev> can discard. Write-zeroes is left to the block layer, which writes zeros.
 * The device looks rotational unless the profile is ssd. Suspending it waits
 * until the cache is clean.
 *
 * Status: "<key>=<value>" words; later versions may append some.
 *
 *   reads writes flushes discards     bios that reached the device. Each counts
 *                                     in one of them; a flush with data is two
 *   fuas                              of the writes
 *   read_sectors write_sectors discard_sectors
 *   errors                            bios that <dev> failed
 *   inflight queue_max                bios in the target, now and at most
 *   dirty_kib                         in the write cache, now
 *   busy_us                           with at least one bio in the target or the
 *                                     write cache dirty
 *   read_hits                         reads served from a cache
 *   cached                            writes acknowledged from the cache
 *   destages                          extents written from the cache
 *   seeks seek_us                     moves of the arm, and their time (with
 *                                     switching of heads)
 *   rotate_us transfer_us             waiting for the sector; data passing the head
 *   aged                              commands served because of age_ms
 *   work_us                           how long the arm was on its way or at work; of an SSD
 *                                     the time of controller and channels, added up
 *   watched watched_us                how often for what begins in the sectors watched,
 *                                     and how much of work_us
 *
 * Messages: "reset" sets the counters to zero (queue_max to inflight). "watch <first sector>
 * <count>" does so as well, and from then on counts I/O to these sectors separately; a count of 0
 * ends that.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "dm-spindle-target.h"

#define DM_MSG_PREFIX "spindle"

/* Largest bio, as the block layer sends to a disk: 1280 KiB. */
#define MAX_IO_SECTORS	2560U

/*
 * A bio has two ends: of its I/O on @dev and of its time in the model. Each sets
 * its flag under the lock, and the later one completes the bio: spindle_end_io()
 * by letting it pass, the timer by ending it once more.
 */
struct spindle_bio {
	struct spindle_io io;
	bool io_over;
	bool time_over;
};

/* -- the model's clock -------------------------------------------------- */

static void set_timer(struct spindle *s)
{
	struct spindle_drive *d = &s->drive;
	u64 next = list_empty(&d->done) ? spindle_next(d) : 0;

	lockdep_assert_held(&s->lock);
	if (spindle_idle(d))
		complete_all(&s->clean);
	if (next != U64_MAX)
		hrtimer_start(&s->timer, ns_to_ktime(next), HRTIMER_MODE_ABS_SOFT);
}

#ifndef HAVE_HRTIMER_SETUP
static void hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *),
			  clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

static enum hrtimer_restart spindle_timer(struct hrtimer *timer)
{
	struct spindle *s = container_of(timer, struct spindle, timer);
	struct spindle_bio *sb, *next;
	unsigned long flags;
	LIST_HEAD(over);

	spin_lock_irqsave(&s->lock, flags);
	spindle_advance(&s->drive, ktime_get_ns());
	list_for_each_entry_safe(sb, next, &s->drive.done, io.list) {
		sb->time_over = true;
		if (sb->io_over)
			list_move_tail(&sb->io.list, &over);
		else
			list_del_init(&sb->io.list);
	}
	set_timer(s);
	spin_unlock_irqrestore(&s->lock, flags);

	list_for_each_entry_safe(sb, next, &over, io.list) {
		struct bio *bio = dm_bio_from_per_bio_data(sb, sizeof(*sb));

		/* it has been through this when it ended on the device below */
		bio_clear_flag(bio, BIO_QOS_THROTTLED);
		bio_clear_flag(bio, BIO_QOS_MERGED);
		bio_endio(bio);
	}
	return HRTIMER_NORESTART;
}

/* -- I/O ---------------------------------------------------------------- */

static int spindle_map(struct dm_target *ti, struct bio *bio)
{
	struct spindle *s = ti->private;
	struct spindle_bio *sb = dm_per_bio_data(bio, sizeof(*sb));
	unsigned long flags;

	bio_set_dev(bio, s->dev->bdev);
	bio->bi_iter.bi_sector = dm_target_offset(ti, bio->bi_iter.bi_sector);

	*sb = (struct spindle_bio) {
		.io.start = bio->bi_iter.bi_sector,
		.io.end = bio->bi_iter.bi_sector + bio_sectors(bio),
	};
	if (!bio_sectors(bio)) {
		sb->io.op = SPINDLE_FLUSH;
	} else if (bio_op(bio) == REQ_OP_DISCARD) {
		sb->io.op = SPINDLE_DISCARD;
	} else if (op_is_write(bio_op(bio))) {
		sb->io.op = SPINDLE_WRITE;
		sb->io.fua = bio->bi_opf & REQ_FUA;
	}

	spin_lock_irqsave(&s->lock, flags);
	reinit_completion(&s->clean);
	spindle_submit(&s->drive, &sb->io, ktime_get_ns());
	set_timer(s);
	spin_unlock_irqrestore(&s->lock, flags);

	return DM_MAPIO_REMAPPED;
}

static int spindle_end_io(struct dm_target *ti, struct bio *bio, blk_status_t *error)
{
	struct spindle *s = ti->private;
	struct spindle_bio *sb = dm_per_bio_data(bio, sizeof(*sb));
	unsigned long flags;
	bool time_over;

	/* the second time, from the timer, nothing else knows the bio any more */
	if (sb->io_over)
		return DM_ENDIO_DONE;

	spin_lock_irqsave(&s->lock, flags);
	if (*error)
		s->errors++;
	sb->io_over = true;
	time_over = sb->time_over;
	spin_unlock_irqrestore(&s->lock, flags);

	return time_over ? DM_ENDIO_DONE : DM_ENDIO_INCOMPLETE;
}

/* -- construction ------------------------------------------------------- */

static int spindle_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct dm_arg_set as = { .argc = argc, .argv = argv };
	struct spindle_params p;
	struct spindle *s;
	int r;

	if (!argc) {
		ti->error = "Requires a device";
		return -EINVAL;
	}
	if (ti->len > MAX_SECTORS) {
		ti->error = "Too large";
		return -EINVAL;
	}

	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s) {
		ti->error = "Cannot allocate context";
		return -ENOMEM;
	}

	r = dm_get_device(ti, dm_shift_arg(&as), dm_table_get_mode(ti->table), &s->dev);
	if (r) {
		ti->error = "Device lookup failed";
		goto out_with_context;
	}

	r = spindle_options(s, &as, &ti->error);
	if (r)
		goto out_with_dev;

	spin_lock_init(&s->lock);
	init_completion(&s->clean);
	complete_all(&s->clean);
	hrtimer_setup(&s->timer, spindle_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	p = s->drive.p;
	spindle_init(&s->drive, &p, ti->len);

	ti->num_flush_bios = 1;
	ti->num_discard_bios = 1;
	ti->flush_supported = true;
	ti->per_io_data_size = sizeof(struct spindle_bio);
	ti->private = s;
	return 0;

out_with_dev:
	dm_put_device(ti, s->dev);
out_with_context:
	kfree(s);
	return r;
}

static void spindle_dtr(struct dm_target *ti)
{
	struct spindle *s = ti->private;

	/* no bio is left; at most the rest of a destage */
	hrtimer_cancel(&s->timer);
	dm_put_device(ti, s->dev);
	kfree(s);
}

/* -- everything else ---------------------------------------------------- */

/* dm has waited for the bios; wait for the cache as well. */
static void spindle_postsuspend(struct dm_target *ti)
{
	struct spindle *s = ti->private;

	wait_for_completion(&s->clean);
}

/*
 * Since 6.11 being rotational is a queue limit. Before, it is a flag that dm
 * inherits from the devices below, just before it resumes the targets.
 */
#ifdef BLK_FEAT_ROTATIONAL
static void set_rotational(struct dm_target *ti, struct queue_limits *limits)
{
	struct spindle *s = ti->private;

	if (spindle_is_ssd(&s->drive))
		limits->features &= ~BLK_FEAT_ROTATIONAL;
	else
		limits->features |= BLK_FEAT_ROTATIONAL;
}

#define spindle_resume	NULL
#else
static void spindle_resume(struct dm_target *ti)
{
	struct spindle *s = ti->private;
	struct request_queue *q = dm_disk(dm_table_get_md(ti->table))->queue;

	if (spindle_is_ssd(&s->drive))
		blk_queue_flag_set(QUEUE_FLAG_NONROT, q);
	else
		blk_queue_flag_clear(QUEUE_FLAG_NONROT, q);
}

static void set_rotational(struct dm_target *ti, struct queue_limits *limits)
{
}
#endif

static void spindle_io_hints(struct dm_target *ti, struct queue_limits *limits)
{
	set_rotational(ti, limits);
	/* A RAM disk that does not say what it can take is thought to take 255 sectors. */
	limits->max_hw_sectors = MAX_IO_SECTORS;
	limits->max_sectors = MAX_IO_SECTORS;
}

static int spindle_iterate_devices(struct dm_target *ti, iterate_devices_callout_fn fn,
				   void *data)
{
	struct spindle *s = ti->private;

	return fn(ti, s->dev, 0, ti->len, data);
}

static struct target_type spindle_target = {
	.name = "spindle",
	.version = { 1, 1, 0 },
	.features = DM_TARGET_NOWAIT,
	.module = THIS_MODULE,
	.ctr = spindle_ctr,
	.dtr = spindle_dtr,
	.map = spindle_map,
	.end_io = spindle_end_io,
	.postsuspend = spindle_postsuspend,
	.resume = spindle_resume,
	.status = spindle_status,
	.message = spindle_message,
	.iterate_devices = spindle_iterate_devices,
	.io_hints = spindle_io_hints,
};

static int __init spindle_module_init(void)
{
	return dm_register_target(&spindle_target);
}

static void __exit spindle_module_exit(void)
{
	dm_unregister_target(&spindle_target);
}

module_init(spindle_module_init);
module_exit(spindle_module_exit);

MODULE_DESCRIPTION(DM_NAME " target that models a disk's timing");
MODULE_LICENSE("GPL");
