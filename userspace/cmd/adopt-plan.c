// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb adopt, --at-boot: a disk that is in use now, such as that of the root, is adopted before
 * anything is mounted. Only the other device is written until then: its superblocks say which disk
 * is to be adopted, so that what is done then is done once. at-boot.c carries it out.
 */
#include <stdio.h>
#include <unistd.h>

#include "adopt.h"
#include "boot-names.h"
#include "busy.h"
#include "error.h"
#include "fusionctl.h"
#include "record.h"
#include "scan.h"
#include "stands-on.h"
#include "verb.h"

int adopt_check_boot(const struct device *disk)
{
	char instead[256];
	int rc;

	snprintf(instead, sizeof(instead), "adopt %s", disk->path);
	rc = check_boot_script(instead);
	if (rc)
		return rc;
	if (fus_path_stands_on("/boot", disk->devno))
		return fus_fail(FC_REFUSED, disk->path, "has /boot, which no boot loader can read "
				"on a set; move /boot to a partition of its own");
	return check_boot_names(disk->devno);
}

/* -- cancelling it --------------------------------------------------------------------------- */

bool adopt_planned(const struct member *m)
{
	return m->state == MEMBER_TRANSIT && m->sb->transit.kind == FUSION_TRANSIT_ADOPT &&
	       m->sb->transit.state == FUSION_TRANSIT_PLANNED;
}

int adopt_find_planned(const char *name, const char *other, char path[PATH_MAX])
{
	struct member *list = NULL, *m;
	struct device dev;
	int rc;

	*path = 0;
	if (other) {
		rc = fus_device_get(other, &dev);
		if (!rc && fus_member_at(dev.devno, &list))
			rc = fus_fail(FC_FAILED, other, "cannot be read; check the device");
		fus_device_put(&dev);
	} else {
		rc = fus_scan_members(&list);
	}
	for (m = list; m && !*path; m = m->next)
		if (adopt_planned(m) && fus_member_called(m, name))
			snprintf(path, PATH_MAX, "%s", other ? other : m->path);
	fus_free_members(list);
	return rc;
}

/* Only the other device is needed, and the disk may be in use. */
int adopt_cancel(const char *path, bool dry_run, bool silent)
{
	struct transit t = { .o = { { .fd = -1 }, { .fd = -1 } } };
	struct device dev;
	struct member *m = NULL;
	int rc, fd = -1;

	rc = fus_device_get(path, &dev);
	if (!rc)
		rc = fus_device_claim(&dev, &fd);
	if (!rc && fus_member_at(dev.devno, &m))
		rc = fus_fail(FC_FAILED, path, "cannot be read; check the device");
	if (!rc && !(m && adopt_planned(m)))
		rc = fus_fail(FC_MEMBER, path, "changed while it was read; try again");
	if (!rc && !dry_run) {
		t.sb = *m->sb;
		t.other = m->sb->role;
		rc = adopt_open_one(&dev, &t.o[t.other]);
		if (!rc)
			rc = fus_transit_discard(&t);
		adopt_close(&t);
	}
	if (!rc && !silent)
		printf("%s %s no longer a member; nothing else was written\n", path,
		       dry_run ? "would be" : "is");
	if (fd >= 0)
		close(fd);
	fus_free_members(m);
	fus_device_put(&dev);
	return rc;
}
