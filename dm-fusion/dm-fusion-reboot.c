// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: reboot and hibernation.
 *
 * Reboot: the device of the root file system is not suspended at shutdown, so its set is closed
 * now (fusion_seal()): the next activation has little to replay, the current heat, and the shadows.
 * Flushed data is durable all the same, so a member that does not answer delays the reboot for a
 * bounded time only.
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

/* Time for each set: until a point is not waited for, and then until the set is not. */
#define POINT_SECONDS	10
#define CLOSE_SECONDS	5

static int fusion_reboot_notify(struct notifier_block *nb, unsigned long event, void *cmd)
{
	struct fusion *fs = container_of(nb, struct fusion, reboot_nb);

	if (fusion_mode(fs) == FUSION_RW && !fusion_seal(fs, POINT_SECONDS, CLOSE_SECONDS))
		DMWARN("%s: not closed within %u s before the reboot; what was flushed is safe",
		       dm_table_device_name(fs->ti->table), POINT_SECONDS + CLOSE_SECONDS);
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
	/* before the drivers below, but after dm-integrity, which may lie above, and writes then */
	fs->reboot_nb.priority = INT_MAX - 2;
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
	flush_work(&fs->seal.work);
	unregister_pm_notifier(&fs->pm_nb);
}
