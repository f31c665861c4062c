// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: reboot and hibernation.
 *
 * Reboot: the device of the root file system is not suspended at shutdown, so its set is not
 * closed. Flushed data is durable all the same. A checkpoint leaves the next activation little to
 * replay, and saves the current heat. Nothing depends on the checkpoint, so a member that does not
 * answer delays the reboot for a bounded time only.
 *
 * Hibernation: the memory image holds the map as it was. After that, this kernel may write to the
 * members before it powers off. So may the next kernel, which opens the sets it finds before it
 * knows of the image. The resumed kernel does not know of these writes, and overwrites them. So
 * hibernation is refused while a set is open.
 *
 * Lock order: the core's suspend lock, the locks of the kernel's notifiers, fs->lock.
 */
#include <linux/notifier.h>
#include <linux/reboot.h>
#include <linux/suspend.h>

#include "dm-fusion.h"

#define CHECKPOINT_SECONDS	5	/* for each set */

static int fusion_reboot_notify(struct notifier_block *nb, unsigned long event, void *cmd)
{
	struct fusion *fs = container_of(nb, struct fusion, reboot_nb);
	u64 mine;

	if (fusion_mode(fs) != FUSION_RW)
		return NOTIFY_DONE;
	mine = fusion_checkpoint_ask(fs, false);
	if (mine && !wait_event_timeout(fs->commit.wait,
					READ_ONCE(fs->commit.checkpoint_done) >= mine,
					CHECKPOINT_SECONDS * HZ))
		DMWARN("%s: no checkpoint within %u s before the reboot; what was flushed is safe",
		       dm_table_device_name(fs->ti->table), CHECKPOINT_SECONDS);
	return NOTIFY_DONE;
}

static int fusion_pm_notify(struct notifier_block *nb, unsigned long event, void *unused)
{
	struct fusion *fs = container_of(nb, struct fusion, pm_nb);

	if (event == PM_SUSPEND_PREPARE || event == PM_POST_SUSPEND)
		fusion_beat_freeze(fs, event == PM_SUSPEND_PREPARE);
	if (event != PM_HIBERNATION_PREPARE)
		return NOTIFY_DONE;
	DMERR("%s: an open set would not survive hibernation; close it, or suspend to memory",
	      dm_table_device_name(fs->ti->table));
	return notifier_from_errno(-EBUSY);
}

void fusion_reboot_watch(struct fusion *fs)
{
	fs->reboot_nb.notifier_call = fusion_reboot_notify;
	/* before the drivers below, as dm-integrity does */
	fs->reboot_nb.priority = INT_MAX - 1;
	register_reboot_notifier(&fs->reboot_nb);
	fs->pm_nb.notifier_call = fusion_pm_notify;
	register_pm_notifier(&fs->pm_nb);
}

void fusion_reboot_unwatch(struct fusion *fs)
{
	/*
	 * This waits for a call that is under way, so the set is not closed before it has ended.
	 * It is harmless if the notifier is not registered.
	 */
	unregister_reboot_notifier(&fs->reboot_nb);
	unregister_pm_notifier(&fs->pm_nb);
}
