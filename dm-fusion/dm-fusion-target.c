// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the device-mapper target: constructor, suspend and resume, limits.
 */
#include <linux/module.h>

#include "dm-fusion.h"

#define CREATE_TRACE_POINTS
#include "dm-fusion-trace.h"

/* A suspend that takes longer is logged. */
#define WAIT_SECONDS	10

/* -- constructor ------------------------------------------------------------------------ */

/*
 * A suspend waits until copies have completed and the set is closed, however long the members take.
 * I/O that was sent to a member cannot be recalled, and must not overlap with the next table.
 */
static void fusion_suspend_waits(struct work_struct *work)
{
	struct fusion *fs = container_of(work, struct fusion, wait_work.work);
	const struct dm_dev *old = fs->dev[FUSION_OLD];

	DMWARN("%s: suspending waits for I/O of %s or %s%s%s; resume it, or restore its paths",
	       dm_table_device_name(fs->ti->table), fs->dev[FUSION_FAST]->name,
	       fs->dev[FUSION_SLOW]->name, old ? " or " : "", old ? old->name : "");
}

static int fusion_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
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
	INIT_DELAYED_WORK(&fs->wait_work, fusion_suspend_waits);
	fusion_seal_init(fs);

	r = fusion_create(fs, argc, argv);
	if (r)
		goto out_with_fs;
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
	fusion_destroy(fs);
	return r;
}

static void fusion_dtr(struct dm_target *ti)
{
	struct fusion *fs = ti->private;

	/* It was loaded but not resumed, because another target of the table failed. */
	if (fs->claim.held)
		fusion_close_set(fs);
	fusion_claim_forget(fs);
	fusion_destroy(fs);
}

/* -- suspend and resume --------------------------------------------------------------------- */

/* Load on the first resume: during the constructor an older table may still write. */
static int fusion_load_set(struct fusion *fs)
{
	int r;

	fs->loaded = true;
	/* Loading needs commits, hence mode RW; no bios arrive before resume. */
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

/* Reopen the set that suspend closed; nothing has written to it since. */
static int fusion_reopen_set(struct fusion *fs)
{
	int r;

	/* A resume failed at another target of the table: this one was not suspended since. */
	if (!fs->commit.closed)
		return 0;
	r = fusion_beat_reopen(fs);
	if (r)
		return r;
	r = fusion_replica_resume(fs);
	if (!r && fusion_mode(fs) == FUSION_RW)
		r = fusion_super_flags(fs, 0, FUSION_SB_CLEAN);
	/* In mode RO the map does not change. */
	if (r && fusion_mode(fs) == FUSION_RW) {
		/* The fused device stays suspended, so stop this here. */
		fusion_replica_pause(fs);
		fusion_settle_failed(fs);
		fusion_beat_close(fs);
		return r;
	}
	spin_lock_irq(&fs->lock);
	fs->commit.closed = false;
	/* If this resume has ended mode RW, record it. */
	if (fusion_stopped(fs))
		fusion_commit_kick(fs);
	spin_unlock_irq(&fs->lock);
	fusion_unseal(fs);
	return 0;
}

static int fusion_preresume(struct dm_target *ti)
{
	struct fusion *fs = ti->private;
	struct fusion *left, *before;
	int r;

	if (fs->load_error)
		return fs->load_error;
	if (!fs->loaded)
		fs->read_only = get_disk_ro(dm_disk(dm_table_get_md(ti->table)));
	/* The core frees that table after this one has taken its place. */
	left = fusion_claim_left(fs);
	if (left)
		fusion_close_set(left);
	r = fusion_claim(fs);
	if (r)
		return r;
	if (fs->loaded) {
		r = fusion_reopen_set(fs);
	} else {
		/* if loading fails, a later table inherits them from this one */
		before = fusion_claim_before(fs);
		if (before)
			fusion_pins_inherit(fs, before);
		r = fusion_load_set(fs);
	}
	if (r)
		fusion_claim_release(fs);
	return r;
}

static void fusion_resume(struct dm_target *ti)
{
	struct fusion *fs = ti->private;

	/* Left from a suspend that was aborted after presuspend. */
	cancel_delayed_work_sync(&fs->wait_work);
	if (fusion_mode(fs) == FUSION_FAIL)
		return;
	fusion_discard_start(fs);
	fusion_stale_start(fs);
	fusion_copies_start(fs);
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
		fusion_close_set(fs);
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
		       (sector_t)fusion_slot_end(fs, FUSION_SLOW) << fs->shift, data);
	if (!r && fs->dev[FUSION_OLD])
		r = fn(ti, fs->dev[FUSION_OLD], fs->sb.old.data_start,
		       (sector_t)fs->sb.old.first_slot << fs->shift, data);
	return r;
}

static void fusion_io_hints(struct dm_target *ti, struct queue_limits *limits)
{
	struct fusion *fs = ti->private;
	u32 max = round_down(UINT_MAX >> SECTOR_SHIFT, fs->sb.extent_sectors);

	/* Bios should not be split inside a block: see dm-fusion-open.c. */
	if (limits->max_sectors > FUSION_BLOCK_SECTORS)
		limits->max_sectors = round_down(limits->max_sectors, FUSION_BLOCK_SECTORS);
	/* newer kernels derive max_sectors from this */
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
