// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: creating a device from its table line, and freeing it.
 *
 * Only superblocks are read here, for the geometry: an older table may still write.
 */
#include <linux/mm.h>

#include "dm-fusion.h"

/* -- the table line ---------------------------------------------------------------------- */

static const char *const disk_names[] = { "fast", "slow", "old" };

static int fusion_parse_dev(struct fusion *fs, unsigned int disk, const char *path, char **error)
{
	static char *const cannot_open[] = {
		"Error opening the fast device", "Error opening the slow device",
		"Error opening the old device",
	};
	static char *const large_blocks[] = {
		"Fast device has logical blocks of more than 4 KiB; see the kernel log",
		"Slow device has logical blocks of more than 4 KiB; see the kernel log",
		"Old device has logical blocks of more than 4 KiB; see the kernel log",
	};
	unsigned int bytes, i;
	int r;

	r = dm_get_device(fs->ti, path, dm_table_get_mode(fs->ti->table), &fs->dev[disk]);
	if (r) {
		*error = cannot_open[disk];
		return r;
	}
	bytes = bdev_logical_block_size(fs->dev[disk]->bdev);
	if (!fusion_block_size_fits(bytes)) {
		DMERR("%s device %s: has logical blocks of %u bytes; use one with at most %u",
		      disk_names[disk], fs->dev[disk]->name, bytes, FUSION_BLOCK_SIZE);
		*error = large_blocks[disk];
		return -EINVAL;
	}
	for (i = 0; i < disk; i++) {
		if (fs->dev[i]->bdev != fs->dev[disk]->bdev)
			continue;
		*error = disk == FUSION_OLD ? "Old device is the same as another one" :
					      "Fast and slow device are the same";
		return -EINVAL;
	}
	return 0;
}

/* "old_fast DEVICE" or "old_slow DEVICE", anywhere behind the number of optional arguments. */
static int fusion_parse_old(struct fusion *fs, const struct dm_arg_set *as, char **error)
{
	unsigned int i;
	int r;

	for (i = 1; i + 1 < as->argc; i += 2) {
		const bool fast = !strcmp(as->argv[i], "old_fast");

		if (!fast && strcmp(as->argv[i], "old_slow"))
			continue;
		if (fs->dev[FUSION_OLD]) {
			*error = "More than one old device";
			return -EINVAL;
		}
		fs->old.dev = fast ? FUSION_FAST : FUSION_SLOW;
		r = fusion_parse_dev(fs, FUSION_OLD, as->argv[i + 1], error);
		if (r)
			return r;
	}
	return 0;
}

/* The error text of a disk, for ti->error. */
static char *fusion_member_error(unsigned int disk, int r)
{
	static char *const texts[][FUSION_NR_DISKS] = {
		{ "Fast device has no valid superblock; see the kernel log",
		  "Slow device has no valid superblock; see the kernel log",
		  "Old device has no valid superblock; see the kernel log" },
		{ "Fast device is not a fusion member; fusionctl format makes one",
		  "Slow device is not a fusion member; fusionctl format makes one",
		  "Old device is not a fusion member" },
		{ "Fast device is smaller than when it was formatted",
		  "Slow device is smaller than when it was formatted",
		  "Old device is smaller than when it was formatted" },
		{ "Fast device is the slow member; swap the devices",
		  "Slow device is the fast member; swap the devices",
		  "Old device was the other member; see the kernel log" },
		{ "Fast device has the format of another version; see the kernel log",
		  "Slow device has the format of another version; see the kernel log",
		  "Old device has the format of another version; see the kernel log" },
	};

	switch (r) {
	case -ENODATA:
		return texts[1][disk];
	case -ENOSPC:
		return texts[2][disk];
	case -EXDEV:
		return texts[3][disk];
	case -EPROTONOSUPPORT:
		return texts[4][disk];
	default:
		return texts[0][disk];
	}
}

/* The error text of disks that make no set. */
static char *fusion_set_error(const struct fusion *fs, int disk, int r)
{
	if (r == -ESTALE)
		return "One of the devices was used without the other; see the kernel log";
	if (disk < 0)
		return "The devices are not members of the same set";
	if (disk == FUSION_OLD)
		return "Old device is not the old member of the set; see the kernel log";
	return "The device cannot take the place of the old one; see the kernel log";
}

/* Read the geometry from the superblocks. fusion_load() reads everything else again. */
static int fusion_read_geometry(struct fusion *fs, char **error)
{
	struct fusion_sb *fast = &fs->sb, *slow = &fs->sb_next;
	const char *why = NULL;
	unsigned int tries = 0;
	bool matched;
	int r, disk;

	/* Another machine may have opened or closed the set between these reads. */
	do {
		r = fusion_trio_read(fs, fast, slow, NULL, &disk, &matched, &why);
	} while (r == -ESTALE && !tries++);
	if (r && disk < 0)
		DMERR("%s and %s: %s", fs->dev[FUSION_FAST]->name, fs->dev[FUSION_SLOW]->name,
		      why);
	else if (r)
		DMERR("%s device %s: %s", disk_names[disk], fs->dev[disk]->name, why);
	if (r) {
		*error = disk < 0 || matched ? fusion_set_error(fs, disk, r) :
					       fusion_member_error(disk, r);
		return r;
	}
	if (fs->old.joins)
		fusion_sb_join(fast, fs->old.dev == FUSION_FAST ? fast : slow, &fs->old.sb);

	fs->shift = __ffs(fast->extent_sectors);
	fs->base[FUSION_FAST] = fast->fast_data_start;
	fs->heart.disk = fs->meta[FUSION_FAST];
	return 0;
}

/* -- memory and workers ------------------------------------------------------------------ */

static int fusion_alloc_workqueues(struct fusion *fs)
{
	fs->worker.wq = alloc_ordered_workqueue("fusion-io", WQ_MEM_RECLAIM);
	fs->commit.wq = alloc_ordered_workqueue("fusion-commit", WQ_MEM_RECLAIM);
	fs->txns.reclaim_wq = alloc_ordered_workqueue("fusion-reclaim", WQ_MEM_RECLAIM);
	fs->replica.wq = alloc_ordered_workqueue("fusion-replica", WQ_MEM_RECLAIM);
	fs->mover.wq = alloc_ordered_workqueue("fusion-move", WQ_MEM_RECLAIM);
	/* A queue of its own: no work that may wait for a member is queued before it. */
	fs->wait_wq = alloc_ordered_workqueue("fusion-wait", 0);
	if (!fs->worker.wq || !fs->commit.wq || !fs->txns.reclaim_wq || !fs->replica.wq ||
	    !fs->mover.wq || !fs->wait_wq)
		return -ENOMEM;
	INIT_WORK(&fs->worker.work, fusion_do_deferred);
	INIT_DELAYED_WORK(&fs->commit.work, fusion_do_commit);
	INIT_WORK(&fs->txns.reclaim_work, fusion_do_reclaim);
	INIT_DELAYED_WORK(&fs->replica.work, fusion_do_replica);
	return 0;
}

static void fusion_free_workqueues(struct fusion *fs)
{
	if (fs->wait_wq)
		destroy_workqueue(fs->wait_wq);
	if (fs->mover.wq)
		destroy_workqueue(fs->mover.wq);
	if (fs->replica.wq)
		destroy_workqueue(fs->replica.wq);
	if (fs->txns.reclaim_wq)
		destroy_workqueue(fs->txns.reclaim_wq);
	if (fs->commit.wq)
		destroy_workqueue(fs->commit.wq);
	if (fs->worker.wq)
		destroy_workqueue(fs->worker.wq);
}

static int fusion_alloc_map(struct fusion *fs)
{
	fs->map = kvmalloc_array(fs->nr_words, sizeof(*fs->map), GFP_KERNEL);
	if (!fs->map)
		return -ENOMEM;
	memset32(fs->map, FUSION_WORD_UNMAPPED, fs->nr_words);
	fs->policy = fusion_policy_create(fs->map, fs->sb.nr_lexts,
					  fs->sb.nr_fast_slots - fs->sb.landing_slots);
	if (!fs->policy)
		return -ENOMEM;
	fusion_policy_set_half_life(fs->policy, fusion_half_life(fs));
	fs->stats = alloc_percpu(struct fusion_stats);
	return fs->stats ? 0 : -ENOMEM;
}

static int fusion_allocate(struct fusion *fs)
{
	int r;

	fusion_epochs_init(fs);
	r = fusion_alloc_map(fs);
	if (!r)
		r = fusion_alloc_init(fs);
	if (!r)
		r = fusion_shadow_init(fs);
	if (!r)
		r = fusion_trio_init(fs);
	if (!r)
		r = fusion_discard_init(fs);
	if (!r)
		r = fusion_land_init(&fs->land, fs->sb.landing_slots, fusion_open_blocks(fs),
				     fs->nr_words);
	if (!r)
		r = fusion_copies_init(fs);
	if (!r)
		r = fusion_land_append_init(fs);
	if (!r)
		r = fusion_land_merge_init(fs);
	if (!r)
		r = fusion_drain_init(fs);
	if (!r)
		r = fusion_stale_init(fs);
	if (!r)
		r = fusion_txns_init(fs);
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
		r = fusion_alloc_workqueues(fs);
	return r;
}

void fusion_destroy(struct fusion *fs)
{
	unsigned int dev;

	fusion_free_workqueues(fs);
	fusion_migrate_exit(fs);
	fusion_beat_exit(fs);
	bioset_exit(&fs->worker.clones);
	bioset_exit(&fs->meta_bs);
	fusion_open_exit(fs);
	fusion_discard_exit(fs);
	fusion_journal_exit_state(fs);
	fusion_txns_exit(fs);
	fusion_stale_exit(fs);
	fusion_land_merge_exit(fs);
	fusion_drain_exit(fs);
	fusion_land_append_exit(fs);
	fusion_copies_exit(fs);
	fusion_land_exit(&fs->land);
	fusion_shadow_exit(fs);
	fusion_replica_exit(fs);
	fusion_alloc_exit(fs);
	fusion_trio_exit(fs);
	free_percpu(fs->stats);
	fusion_pins_exit(fs);
	if (fs->policy)
		fusion_policy_destroy(fs->policy);
	kvfree(fs->map);
	for (dev = 0; dev < FUSION_NR_DISKS; dev++)
		if (fs->dev[dev])
			dm_put_device(fs->ti, fs->dev[dev]);
	kvfree(fs);
}

int fusion_create(struct fusion *fs, unsigned int argc, char **argv)
{
	struct dm_arg_set as = { .argc = argc, .argv = argv };
	struct dm_target *ti = fs->ti;
	int r;

	fs->mode = FUSION_FAIL;
	fs->gate = true;
	spin_lock_init(&fs->lock);
	mutex_init(&fs->flush.mutex);
	mutex_init(&fs->flush.beside_mutex);
	/* The cache of the slow member may hold earlier writes. */
	fs->dirty[FUSION_SLOW] = 1;
	/* No slot is that of an old member. */
	fs->old_slot[FUSION_FAST] = U32_MAX;
	fs->old_slot[FUSION_SLOW] = U32_MAX;
	init_waitqueue_head(&fs->commit.wait);
	init_waitqueue_head(&fs->txns.wait);
	init_waitqueue_head(&fs->opens.fill_wait);
	init_waitqueue_head(&fs->flush.wait);
	INIT_LIST_HEAD(&fs->txns.free);
	INIT_LIST_HEAD(&fs->txns.quarantined);
	INIT_LIST_HEAD(&fs->claim.node);

	r = bioset_init(&fs->meta_bs, 4, 0, BIOSET_NEED_BVECS);
	if (!r)
		r = bioset_init(&fs->worker.clones, 64, 0, 0);
	if (r) {
		ti->error = "Cannot allocate memory";
		return r;
	}

	r = fusion_parse_dev(fs, FUSION_FAST, dm_shift_arg(&as), &ti->error);
	if (!r)
		r = fusion_parse_dev(fs, FUSION_SLOW, dm_shift_arg(&as), &ti->error);
	if (!r)
		r = fusion_parse_old(fs, &as, &ti->error);
	if (r)
		return r;

	r = fusion_read_geometry(fs, &ti->error);
	if (!r)
		r = fusion_parse_options(fs, &as, &ti->error);
	if (!r)
		r = fusion_resize_plan(fs, &ti->error);
	if (r)
		return r;
	fusion_beat_default_host(fs);
	r = fusion_allocate(fs);
	if (r)
		ti->error = "Cannot allocate memory";
	return r;
}
