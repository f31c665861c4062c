// SPDX-License-Identifier: GPL-2.0-only
/* Mounts of the file systems on a device. */
#include <blkid/blkid.h>
#include <errno.h>
#include <libmount/libmount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "mounted.h"
#include "device.h"
#include "error.h"
#include "stands-on.h"

static bool is_on(struct libmnt_fs *fs, dev_t on, dev_t *devno)
{
	const char *source = mnt_fs_get_srcpath(fs), *target = mnt_fs_get_target(fs);
	dev_t seen;
	struct stat st;

	if (!source || !target || stat(source, &st) || !S_ISBLK(st.st_mode))
		return false;
	*devno = st.st_rdev;
	return fus_device_stands_on(*devno, on) && !stat(target, &st) && S_ISDIR(st.st_mode) &&
	       fus_path_device(target, &seen) && seen == *devno;
}

static bool add(struct mounted **list, size_t *nr, struct libmnt_fs *fs, dev_t devno)
{
	struct mounted *more = realloc(*list, (*nr + 1) * sizeof(*more));
	char *target = strdup(mnt_fs_get_target(fs));

	if (more)
		*list = more;
	if (!more || !target) {
		free(target);
		return false;
	}
	more[(*nr)++] = (struct mounted) {
		.target = target, .devno = devno, .whole = !strcmp(mnt_fs_get_root(fs), "/"),
	};
	return true;
}

int fus_mounted_on(dev_t on, struct mounted **list, size_t *nr)
{
	struct libmnt_table *tb = mnt_new_table_from_file("/proc/self/mountinfo");
	struct libmnt_iter *it = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *fs;
	bool good = it;
	dev_t devno;

	*list = NULL;
	*nr = 0;
	if (!tb) {
		mnt_free_iter(it);
		return fus_fail(FC_FAILED, "/proc/self/mountinfo", "cannot read: %s; mount /proc",
				strerror(errno));
	}
	while (good && !mnt_table_next_fs(tb, it, &fs))
		if (mnt_fs_get_root(fs) && is_on(fs, on, &devno))
			good = add(list, nr, fs, devno);
	mnt_free_iter(it);
	mnt_unref_table(tb);
	return good ? 0 : fus_fail(FC_FAILED, "memory", "not enough for the list of mounts; close "
				   "programs and try again");
}

void fus_mounted_free(struct mounted *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free(list[i].target);
	free(list);
}

bool fus_file_system_uuid(dev_t devno, char buf[FILE_SYSTEM_UUID])
{
	const char *uuid;
	blkid_probe pr;
	char node[160];
	bool found;

	fus_device_node(devno, node, sizeof(node));
	pr = blkid_new_probe_from_filename(node);
	found = pr && !blkid_probe_enable_superblocks(pr, 1) &&
		!blkid_probe_set_superblocks_flags(pr, BLKID_SUBLKS_UUID) &&
		!blkid_do_safeprobe(pr) && !blkid_probe_lookup_value(pr, "UUID", &uuid, NULL) &&
		strlen(uuid) < FILE_SYSTEM_UUID;
	if (found)
		snprintf(buf, FILE_SYSTEM_UUID, "%s", uuid);
	blkid_free_probe(pr);
	return found;
}
