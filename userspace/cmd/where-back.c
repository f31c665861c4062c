// SPDX-License-Identifier: GPL-2.0-only
/*
 * The files on extents of a set: all files of the mounted file systems on it are looked at. The
 * indexes that XFS and btrfs have for that are not used, as ext4 has none.
 */
#include <libmount/libmount.h>
#include <string.h>
#include <sys/stat.h>

#include "where.h"
#include "error.h"
#include "open-set.h"
#include "stands-on.h"

static bool is_device(dev_t devno, void *ctx)
{
	return devno == *(dev_t *)ctx;
}

/* Is it a whole file system, mounted where it can be seen, on this device or above it? */
static bool is_on(struct libmnt_fs *fs, dev_t set, dev_t *devno)
{
	const char *source = mnt_fs_get_srcpath(fs), *root = mnt_fs_get_root(fs);
	struct stat st;

	if (!source || stat(source, &st) || !S_ISBLK(st.st_mode))
		return false;
	*devno = st.st_rdev;
	return root && !strcmp(root, "/") && fus_stands_on(*devno, is_device, &set);
}

static bool is_counted(const struct where *w, dev_t devno)
{
	const struct volume *v = w->volumes;

	while (v && v->fs.devno != devno)
		v = v->next;
	return v;
}

int where_files_on(struct where *w, const char *name)
{
	struct libmnt_iter *it = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_table *tb = NULL;
	struct libmnt_fs *fs;
	bool found = false;
	struct set set;
	dev_t devno;
	int rc;

	rc = fus_set_get(name, &set);
	if (rc)
		goto out;
	if (w->last >= set.st.extents)
		rc = fus_fail(FC_USAGE, name, "has no extent %llu; the last one is %llu",
			      (unsigned long long)w->last,
			      (unsigned long long)set.st.extents - 1);
	tb = mnt_new_table_from_file("/proc/self/mountinfo");
	while (!rc && tb && it && !mnt_table_next_fs(tb, it, &fs)) {
		if (!is_on(fs, set.m.devno, &devno) || is_counted(w, devno))
			continue;
		found = true;
		rc = where_count(w, mnt_fs_get_target(fs), false);
	}
	if (!rc && !found)
		rc = fus_fail(FC_FAILED, name, "no file system on it is mounted as a whole; mount "
			      "it (btrfs: its top level) and ask again");
	fus_set_put(&set);
out:
	mnt_unref_table(tb);
	mnt_free_iter(it);
	return rc;
}
