// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the target's face to device-mapper: constructor, suspend and resume, limits.
 */
#include <linux/module.h>

#include "dm-fusion.h"

#define CREATE_TRACE_POINTS
#include "dm-fusion-trace.h"

/* A suspend that takes longer is told of. */
#define WAIT_SECONDS	10

/* -- mode ---------------------------------------------------------------------- */

void fusion_set_mode(struct fusion *fs, enum fusion_mode mode, const char *why)
{
	unsigned long flags;
	bool worse;

	spin_lock_irqsave(&fs->lock, flags);
	worse = mode > fs->mode;
	if (worse) {
		WRITE_ONCE(fs->mode, mode);
		fs->needs_check = true;
		fusion_beat_gate(fs);
		fusion_unpark(fs);
		/* Exclusive operations of OPEN extents may have waited for the heartbeat. */
		queue_work(fs->deferred_wq, &fs->deferred_work);
	}
	spin_unlock_irqrestore(&fs->lock, flags);
	if (!worse)
		return;
	DMERR("%s: %s: switched to mode %s", dm_table_device_name(fs->ti->table), why,
	      fusion_mode_name(mode));
	dm_table_event(fs->ti->table);
}

/* -- constructor ------------------------------------------------------------------------ */

static int parse_dev(struct fusion *fs, enum fusion_dev dev, struct dm_arg_set *as,
		     char **error)
{
	unsigned int bytes;
	int r;

	r = dm_get_device(fs->ti, dm_shift_arg(as), dm_table_get_mode(fs->ti->table),
			  &fs->dev[dev]);
	if (r) {
		*error = dev == FUSION_FAST ? "Error opening the fast device" :
					      "Error opening the slow device";
		return r;
	}
	bytes = bdev_logical_block_size(fs->dev[dev]->bdev);
	if (!fusion_block_size_fits(bytes)) {
		DMERR("%s device %s: has logical blocks of %u bytes; use one with at most %u",
		      dev == FUSION_FAST ? "fast" : "slow", fs->dev[dev]->name, bytes,
		      FUSION_BLOCK_SIZE);
		*error = dev == FUSION_FAST ?
			 "Fast device has logical blocks of more than 4 KiB; see the kernel log" :
			 "Slow device has logical blocks of more than 4 KiB; see the kernel log";
		return -EINVAL;
	}
	return 0;
}

/* What is wrong with a member, for the one who made the table. */
static char *member_error(enum fusion_dev dev, int r)
{
	static char *const texts[][FUSION_NR_DEVS] = {
		{ "Fast device has no valid superblock; see the kernel log",
		  "Slow device has no valid superblock; see the kernel log" },
		{ "Fast device is not a fusion member; fusionctl format makes one",
		  "Slow device is not a fusion member; fusionctl format makes one" },
		{ "Fast device is smaller than when it was formatted",
		  "Slow device is smaller than when it was formatted" },
		{ "Fast device is the slow member; swap the devices",
		  "Slow device is the fast member; swap the devices" },
		{ "Fast device has the format of another version; see the kernel log",
		  "Slow device has the format of another version; see the kernel log" },
	};

	switch (r) {
	case -ENODATA:
		return texts[1][dev];
	case -ENOSPC:
		return texts[2][dev];
	case -EXDEV:
		return texts[3][dev];
	case -EPROTONOSUPPORT:
		return texts[4][dev];
	default:
		return texts[0][dev];
	}
}

/* The geometry, from both superblocks. What else they say is read again by fusion_load(). */
static int read_geometry(struct fusion *fs, char **error)
{
	struct fusion_sb *slow = &fs->sb_next;
	struct dm_target *ti = fs->ti;
	const char *why = NULL;
	unsigned int dev, tries = 0;
	sector_t len;
	int r;

again:
	for (dev = 0; dev < FUSION_NR_DEVS; dev++) {
		r = fusion_super_read(fs, dev, dev == FUSION_FAST ? &fs->sb : slow, NULL, &why);
		if (r) {
			DMERR("%s device %s: %s", dev == FUSION_FAST ? "fast" : "slow",
			      fs->dev[dev]->name, why);
			*error = member_error(dev, r);
			return r;
		}
	}

	r = fusion_sb_match(&fs->sb, slow, &why);
	/* Another machine may just be opening or closing it, between these reads. */
	if (r == -ESTALE && !tries++)
		goto again;
	if (r) {
		DMERR("%s and %s: %s", fs->dev[FUSION_FAST]->name, fs->dev[FUSION_SLOW]->name,
		      why);
		*error = r == -ESTALE ?
			 "One of the devices was used without the other; see the kernel log" :
			 "The devices are not members of the same set";
		return r;
	}

	fs->shift = __ffs(fs->sb.extent_sectors);
	fs->base[FUSION_FAST] = fs->sb.fast_data_start;
	len = (sector_t)fs->sb.nr_lexts << fs->shift;
	if (ti->len != len) {
		DMERR("device length must be %llu sectors, not %llu", (unsigned long long)len,
		      (unsigned long long)ti->len);
		*error = "Device length does not match the set; see the kernel log";
		return -EINVAL;
	}
	return 0;
}

/*
 * Suspending waits until copies have completed and the set is closed, as long as the members take:
 * an I/O that was sent to one cannot be taken back, and must not meet the next table.
 */
static void suspend_waits(struct work_struct *work)
{
	struct fusion *fs = container_of(work, struct fusion, wait_work.work);

	DMWARN("%s: suspending waits for I/O of %s or %s; resume that device, or restore its paths",
	       dm_table_device_name(fs->ti->table), fs->dev[FUSION_FAST]->name,
	       fs->dev[FUSION_SLOW]->name);
}

static int alloc_workqueues(struct fusion *fs)
{
	fs->deferred_wq = alloc_ordered_workqueue("fusion-io", WQ_MEM_RECLAIM);
	fs->commit_wq = alloc_ordered_workqueue("fusion-commit", WQ_MEM_RECLAIM);
	fs->reclaim_wq = alloc_ordered_workqueue("fusion-reclaim", WQ_MEM_RECLAIM);
	fs->replica.wq = alloc_ordered_workqueue("fusion-replica", WQ_MEM_RECLAIM);
	fs->move_wq = alloc_ordered_workqueue("fusion-move", WQ_MEM_RECLAIM);
	/* Of its own: nothing that may wait for a member is before it. */
	fs->wait_wq = alloc_ordered_workqueue("fusion-wait", 0);
	if (!fs->deferred_wq || !fs->commit_wq || !fs->reclaim_wq || !fs->replica.wq ||
	    !fs->move_wq || !fs->wait_wq)
		return -ENOMEM;
	INIT_WORK(&fs->deferred_work, fusion_do_deferred);
	INIT_DELAYED_WORK(&fs->commit_work, fusion_do_commit);
	INIT_WORK(&fs->reclaim_work, fusion_do_reclaim);
	INIT_DELAYED_WORK(&fs->replica.work, fusion_do_replica);
	INIT_DELAYED_WORK(&fs->wait_work, suspend_waits);
	return 0;
}

static void free_workqueues(struct fusion *fs)
{
	if (fs->wait_wq)
		destroy_workqueue(fs->wait_wq);
	if (fs->move_wq)
		destroy_workqueue(fs->move_wq);
	if (fs->replica.wq)
		destroy_workqueue(fs->replica.wq);
	if (fs->reclaim_wq)
		destroy_workqueue(fs->reclaim_wq);
	if (fs->commit_wq)
		destroy_workqueue(fs->commit_wq);
	if (fs->deferred_wq)
		destroy_workqueue(fs->deferred_wq);
}

static int alloc_map(struct fusion *fs)
{
	fs->map = kvmalloc_array(fs->sb.nr_lexts, sizeof(*fs->map), GFP_KERNEL);
	if (!fs->map)
		return -ENOMEM;
	memset32(fs->map, FUSION_WORD_UNMAPPED, fs->sb.nr_lexts);
	fs->policy = fusion_policy_create(fs->map, fs->sb.nr_lexts, fs->sb.nr_fast_slots);
	if (!fs->policy)
		return -ENOMEM;
	fusion_policy_set_half_life(fs->policy, fusion_half_life(fs));
	fs->stats = alloc_percpu(struct fusion_stats);
	return fs->stats ? 0 : -ENOMEM;
}

/* Undoes whatever part of the constructor was done. */
static void destroy(struct fusion *fs)
{
	unsigned int dev;

	free_workqueues(fs);
	fusion_migrate_exit(fs);
	fusion_beat_exit(fs);
	bioset_exit(&fs->bs);
	bioset_exit(&fs->meta_bs);
	fusion_open_exit(fs);
	fusion_discard_exit(fs);
	fusion_journal_exit_state(fs);
	fusion_replica_exit(fs);
	fusion_alloc_exit(fs);
	if (fs->epochs_ready)
		fusion_epochs_exit(fs);
	free_percpu(fs->stats);
	if (fs->policy)
		fusion_policy_destroy(fs->policy);
	kvfree(fs->map);
	for (dev = 0; dev < FUSION_NR_DEVS; dev++)
		if (fs->dev[dev])
			dm_put_device(fs->ti, fs->dev[dev]);
	kvfree(fs);
}

static int allocate(struct fusion *fs)
{
	int r;

	r = alloc_map(fs);
	if (!r)
		r = fusion_epochs_init(fs);
	if (r)
		return r;
	fs->epochs_ready = true;

	r = fusion_alloc_init(fs);
	if (!r)
		r = fusion_discard_init(fs);
	if (!r)
		r = fusion_journal_init_state(fs);
	if (!r)
		r = fusion_open_init(fs);
	if (!r)
		r = fusion_replica_init(fs);
	if (!r)
		r = fusion_migrate_init(fs);
	if (!r)
		r = fusion_beat_init(fs);
	if (!r)
		r = alloc_workqueues(fs);
	return r;
}

static int fusion_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct dm_arg_set as = { .argc = argc, .argv = argv };
	struct fusion *fs;
	int r;

	if (argc < 2) {
		ti->error = "Invalid argument count: fast and slow device are needed";
		return -EINVAL;
	}
	if (ti->begin) {
		ti->error = "The target must start at sector 0";
		return -EINVAL;
	}

	fs = kvzalloc(sizeof(*fs), GFP_KERNEL);
	if (!fs) {
		ti->error = "Cannot allocate memory";
		return -ENOMEM;
	}
	fs->ti = ti;
	fs->mode = FUSION_FAIL;
	fs->gate = true;
	spin_lock_init(&fs->lock);
	mutex_init(&fs->flush_mutex);
	/* Nobody knows what was there before. */
	fs->slow_dirty = 1;
	init_waitqueue_head(&fs->commit_wait);
	init_waitqueue_head(&fs->txn_wait);
	init_waitqueue_head(&fs->fill_wait);
	init_waitqueue_head(&fs->flush_wait);
	INIT_LIST_HEAD(&fs->free_txns);
	INIT_LIST_HEAD(&fs->quarantined);
	INIT_LIST_HEAD(&fs->claim.node);

	r = bioset_init(&fs->meta_bs, 4, 0, BIOSET_NEED_BVECS);
	if (!r)
		r = bioset_init(&fs->bs, 64, 0, 0);
	if (r) {
		ti->error = "Cannot allocate memory";
		goto out_with_fs;
	}

	r = parse_dev(fs, FUSION_FAST, &as, &ti->error);
	if (!r)
		r = parse_dev(fs, FUSION_SLOW, &as, &ti->error);
	if (r)
		goto out_with_fs;
	if (fs->dev[FUSION_FAST]->bdev == fs->dev[FUSION_SLOW]->bdev) {
		ti->error = "Fast and slow device are the same";
		r = -EINVAL;
		goto out_with_fs;
	}

	r = read_geometry(fs, &ti->error);
	if (r)
		goto out_with_fs;
	r = fusion_parse_options(fs, &as, &ti->error);
	if (r)
		goto out_with_fs;
	r = allocate(fs);
	if (r) {
		ti->error = "Cannot allocate memory";
		goto out_with_fs;
	}
	r = dm_set_target_max_io_len(ti, fs->sb.extent_sectors);
	if (r) {
		ti->error = "Cannot set the maximum I/O length";
		goto out_with_fs;
	}

	ti->private = fs;
	ti->per_io_data_size = sizeof(struct fusion_io);
	ti->num_flush_bios = 1;
	ti->num_discard_bios = 1;
	ti->num_write_zeroes_bios = 1;
	ti->flush_supported = true;
	ti->discards_supported = true;
	ti->limit_swap_bios = true;
	ti->accounts_remapped_io = true;
	return 0;

out_with_fs:
	destroy(fs);
	return r;
}

/*
 * No user I/O is in flight any more. Leave a clean set: the next to open it may be
 * another table, which loads from disk, so nothing may be written after this.
 */
static void close_set(struct fusion *fs)
{
	/* Zero-fills of OPEN extents are nobody's I/O: the core does not wait for them. */
	wait_event(fs->fill_wait, !READ_ONCE(fs->nr_fills));
	flush_work(&fs->deferred_work);
	/* It may wait for a commit, of which there are none after the next line. */
	fusion_replica_pause(fs);
	/* Whatever the mode: on removal nobody has waited for messages that ask for one. */
	fusion_checkpoint_wait(fs, true);
	cancel_delayed_work_sync(&fs->commit_work);
	flush_work(&fs->reclaim_work);
	fusion_replica_stop(fs);
	/* When the slots are free that the replica may have named. */
	fusion_discard_stop(fs);
	fusion_super_repeat(fs);
	fusion_note_mode(fs);
	fusion_beat_close(fs);
	fusion_claim_release(fs);
}

static void fusion_dtr(struct dm_target *ti)
{
	struct fusion *fs = ti->private;

	/* It was loaded and not resumed, because another target of the table could not be. */
	if (fs->claim.held)
		close_set(fs);
	fusion_claim_forget(fs);
	destroy(fs);
}

/* -- suspend and resume --------------------------------------------------------------------- */

/* For the first time, not in the constructor, which runs while an older table may still write. */
static int load_set(struct fusion *fs)
{
	int r;

	fs->loaded = true;
	/* The commits of loading work as any; bios do not come before resume. */
	fs->mode = FUSION_RW;
	r = fusion_load(fs, fs->read_only);
	if (r) {
		fusion_beat_close(fs);
		fs->mode = FUSION_FAIL;
		DMERR("%s: cannot load the set (%d); see fusionctl status",
		      dm_table_device_name(fs->ti->table), r);
	} else if (fs->read_only) {
		fs->mode = FUSION_RO;
	}
	fs->load_error = r;
	return r;
}

/* What suspend has closed; nobody has written to it since. */
static int reopen_set(struct fusion *fs)
{
	int r;

	/* Another target of the table could not be resumed: it was never suspended since. */
	if (!fs->closed)
		return 0;
	r = fusion_beat_reopen(fs);
	if (r)
		return r;
	r = fusion_replica_resume(fs);
	if (!r && fusion_mode(fs) == FUSION_RW)
		r = fusion_super_flags(fs, 0, FUSION_SB_CLEAN);
	/* In mode ro the map is not going to change. */
	if (r && fusion_mode(fs) == FUSION_RW) {
		/* It stays suspended: nobody else is going to end this. */
		fusion_replica_pause(fs);
		fusion_beat_close(fs);
		return r;
	}
	spin_lock_irq(&fs->lock);
	fs->closed = false;
	/* What ended mode rw just now is noted. */
	if (fusion_stopped(fs))
		fusion_commit_kick(fs);
	spin_unlock_irq(&fs->lock);
	return 0;
}

static int fusion_preresume(struct dm_target *ti)
{
	struct fusion *fs = ti->private;
	struct fusion *left;
	int r;

	if (fs->load_error)
		return fs->load_error;
	if (!fs->loaded)
		fs->read_only = get_disk_ro(dm_disk(dm_table_get_md(ti->table)));
	/* The core frees that table after this one has taken its place. */
	left = fusion_claim_left(fs);
	if (left)
		close_set(left);
	r = fusion_claim(fs);
	if (r)
		return r;
	r = fs->loaded ? reopen_set(fs) : load_set(fs);
	if (r)
		fusion_claim_release(fs);
	return r;
}

static void fusion_resume(struct dm_target *ti)
{
	struct fusion *fs = ti->private;

	/* Of a suspend that was given up after presuspend. */
	cancel_delayed_work_sync(&fs->wait_work);
	if (fusion_mode(fs) == FUSION_FAIL)
		return;
	fusion_discard_start(fs);
	fusion_migrate_start(fs);
	fusion_reboot_watch(fs);
}

static void fusion_presuspend(struct dm_target *ti)
{
	struct fusion *fs = ti->private;

	queue_delayed_work(fs->wait_wq, &fs->wait_work, WAIT_SECONDS * HZ);
	fusion_reboot_unwatch(fs);
	fusion_migrate_stop(fs);
}

static void fusion_postsuspend(struct dm_target *ti)
{
	struct fusion *fs = ti->private;

	if (fs->claim.held)
		close_set(fs);
	cancel_delayed_work_sync(&fs->wait_work);
}

/* -- limits ------------------------------------------------------------------------------- */

static int fusion_iterate_devices(struct dm_target *ti, iterate_devices_callout_fn fn,
				  void *data)
{
	struct fusion *fs = ti->private;
	int r;

	r = fn(ti, fs->dev[FUSION_FAST], fs->base[FUSION_FAST],
	       (sector_t)fs->sb.nr_fast_slots << fs->shift, data);
	if (!r)
		r = fn(ti, fs->dev[FUSION_SLOW], 0,
		       (sector_t)(fs->sb.slow_first_slot + fs->sb.nr_slow_slots) << fs->shift,
		       data);
	return r;
}

static void fusion_io_hints(struct dm_target *ti, struct queue_limits *limits)
{
	struct fusion *fs = ti->private;
	u32 max = round_down(UINT_MAX >> SECTOR_SHIFT, fs->sb.extent_sectors);

	/* Where bios are cut, it should not be inside of a block: see dm-fusion-open.c. */
	if (limits->max_sectors > FUSION_BLOCK_SECTORS)
		limits->max_sectors = round_down(limits->max_sectors, FUSION_BLOCK_SECTORS);
	/* newer kernels derive the other from it */
	if (limits->max_hw_sectors > FUSION_BLOCK_SECTORS)
		limits->max_hw_sectors = round_down(limits->max_hw_sectors, FUSION_BLOCK_SECTORS);
	/* Discards free whole extents, whatever the members can do. */
	limits->discard_granularity = fs->sb.extent_sectors << SECTOR_SHIFT;
	limits->discard_alignment = 0;
	limits->max_discard_sectors = max;
	limits->max_hw_discard_sectors = max;
}

static struct target_type fusion_target = {
	.name = "fusion",
	.version = { 1, 0, 0 },
	.features = DM_TARGET_NOWAIT,
	.module = THIS_MODULE,
	.ctr = fusion_ctr,
	.dtr = fusion_dtr,
	.map = fusion_map,
	.end_io = fusion_end_io,
	.presuspend = fusion_presuspend,
	.presuspend_undo = fusion_resume,
	.postsuspend = fusion_postsuspend,
	.preresume = fusion_preresume,
	.resume = fusion_resume,
	.status = fusion_status,
	.message = fusion_message,
	.iterate_devices = fusion_iterate_devices,
	.io_hints = fusion_io_hints,
};

static int __init fusion_init(void)
{
	fusion_beat_module_init();
	return dm_register_target(&fusion_target);
}

static void __exit fusion_exit(void)
{
	dm_unregister_target(&fusion_target);
}

module_init(fusion_init);
module_exit(fusion_exit);

MODULE_DESCRIPTION(DM_NAME " target fusing a fast and a slow device into one");
MODULE_AUTHOR("dm-fusion developers");
MODULE_VERSION("0.9");
MODULE_LICENSE("GPL");
