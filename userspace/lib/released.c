// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices of sets that were released while they were in use. Such a device leads to the disk that
 * was the slow member, until it is removed or the machine restarts. The device mapper cannot change
 * its uuid, which is that of a set. But it stands on one device, and a set on two: also when one of
 * these has vanished, as its link remains.
 */
#include <dirent.h>

#include "released.h"
#include "dm.h"
#include "size.h"
#include "sysfs.h"

static unsigned int count_entries(dev_t devno, const char *dir_name)
{
	unsigned int nr = 0;
	struct dirent *e;
	char path[128];
	DIR *dir;

	fus_sysfs_path(devno, dir_name, path, sizeof(path));
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		nr += *e->d_name != '.';
	if (dir)
		closedir(dir);
	return nr;
}

bool fus_is_released(dev_t devno)
{
	char text[32];
	uint64_t sectors;

	/* without a size it has no table yet, and the first one may be half loaded */
	return fus_sysfs_read(devno, "size", text, sizeof(text)) &&
	       fus_parse_number(text, UINT64_MAX, &sectors) && sectors &&
	       count_entries(devno, "slaves") == 1;
}

bool fus_sysfs_is_set(dev_t devno)
{
	return fus_sysfs_is_mapping(devno, DM_PREFIX) && !fus_is_released(devno);
}
