// SPDX-License-Identifier: GPL-2.0-only
/* Device mapper: single requests, and udev's part in them. */
#include <errno.h>
#include <libdevmapper.h>
#include <unistd.h>

#include "dm-task.h"
#include "dm.h"
#include "error.h"

#define UDEV_POLL_MS	20

static unsigned int udev_wait_ms = 30000;

void fus_dm_udev_limit(unsigned int ms)
{
	udev_wait_ms = ms;
}

struct dm_task *fus_dm_task(int type, const char *name)
{
	struct dm_task *t = dm_task_create(type);

	if (t && name && !dm_task_set_name(t, name)) {
		dm_task_destroy(t);
		t = NULL;
	}
	return t;
}

int fus_dm_run(struct dm_task *t)
{
	int err;

	if (dm_task_run(t))
		return 0;
	err = dm_task_get_errno(t);
	return -(err ? err : EIO);
}

/* dm_udev_wait() has no limit, and an event that udev lost would block us forever. */
void fus_dm_wait_for_udev(const char *name, uint32_t cookie)
{
	int ready = 0;

	for (unsigned int ms = 0; cookie && ms < udev_wait_ms; ms += UDEV_POLL_MS) {
		if (!dm_udev_wait_immediate(cookie, &ready) || ready)
			break;
		usleep(UDEV_POLL_MS * 1000);
	}
	if (cookie && !ready)
		fus_warn(name, "udev has not answered in time; links in /dev may be missing, see "
			 "udevadm settle");
	dm_task_update_nodes();
}

int fus_dm_run_with_udev(struct dm_task *t, const char *name)
{
	uint32_t cookie = 0;
	int err;

	if (!dm_task_set_cookie(t, &cookie, DM_UDEV_DISABLE_LIBRARY_FALLBACK))
		return -EIO;
	err = fus_dm_run(t);
	fus_dm_wait_for_udev(name, cookie);
	return err;
}
