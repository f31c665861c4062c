// SPDX-License-Identifier: GPL-2.0-only
/*
 * The files on a part of a set: all files of the mounted file systems on it are looked at. The
 * indexes that XFS and btrfs have for that are not used, as ext4 has none.
 */
#include <errno.h>
#include <libmount/libmount.h>
#include <string.h>
#include <sys/stat.h>

#include "where.h"
#include "error.h"
#include "open-set.h"
#include "stands-on.h"

struct search {
	struct where *w;
	struct libmnt_table *tb;
	dev_t set;
	const struct volume *whole;	/* those that need no other mount */
	bool found;
};

static bool is_among(const struct volume *v, dev_t devno)
{
	while (v && v->fs.devno != devno)
		v = v->next;
	return v;
}

/*
 * Return: whether a directory of a file system on the set is mounted here, of the device *@devno,
 * and no other file system over it.
 */
static bool is_on(const struct search *s, struct libmnt_fs *fs, dev_t *devno)
{
	const char *source = mnt_fs_get_srcpath(fs), *target = mnt_fs_get_target(fs);
	dev_t seen;
	struct stat st;

	if (!source || !target || stat(source, &st) || !S_ISBLK(st.st_mode))
		return false;
	*devno = st.st_rdev;
	return fus_device_stands_on(*devno, s->set) && !stat(target, &st) &&
	       S_ISDIR(st.st_mode) && fus_path_device(target, &seen) && seen == *devno;
}

static int count_part(struct search *s, const char *target, dev_t devno)
{
	const bool first = !is_among(s->w->volumes, devno);
	int rc = where_count(s->w, target, false);

	if (!rc && first)
		fus_warn(target, "not all of its file system is mounted, and only files that are "
			 "mounted are found; mount its top level to find all");
	return rc;
}

/* Mounts of whole file systems; or mounts of parts, if the whole is mounted nowhere. */
static int count_mounts(struct search *s, bool whole)
{
	struct libmnt_iter *it = mnt_new_iter(MNT_ITER_FORWARD);
	int rc = it ? 0 : where_no_memory(), worst = rc;
	struct libmnt_fs *fs;
	const char *root;
	dev_t devno;

	while (it && !mnt_table_next_fs(s->tb, it, &fs)) {
		root = mnt_fs_get_root(fs);
		if (!root || whole == !!strcmp(root, "/") || !is_on(s, fs, &devno))
			continue;
		s->found = true;
		if (is_among(whole ? s->w->volumes : s->whole, devno))
			continue;
		rc = whole ? where_count(s->w, mnt_fs_get_target(fs), false) :
			     count_part(s, mnt_fs_get_target(fs), devno);
		/* the others are of use all the same */
		worst = worst ? worst : rc;
	}
	mnt_free_iter(it);
	return worst;
}

static int search(struct where *w, const char *name, dev_t set)
{
	struct search s = { .w = w, .set = set };
	int rc, worst;

	s.tb = mnt_new_table_from_file("/proc/self/mountinfo");
	if (!s.tb)
		return fus_fail(FC_FAILED, "/proc/self/mountinfo", "cannot read: %s; mount /proc",
				strerror(errno));
	worst = count_mounts(&s, true);
	s.whole = w->volumes;
	rc = count_mounts(&s, false);
	mnt_unref_table(s.tb);
	if (!s.found)
		return fus_fail(FC_FAILED, name, "no file system on it is mounted; mount it and "
				"ask again");
	return worst ? worst : rc;
}

int where_files_on(struct where *w, const char *name, bool sectors, uint64_t first, uint64_t last)
{
	struct set set;
	uint64_t bytes, end;
	dev_t devno;
	int rc = fus_set_get(name, &set);

	if (rc)
		return rc;
	bytes = sectors ? 512 : (uint64_t)set.st.extent_sectors << 9;
	end = sectors ? set.m.sectors : set.st.extents;
	devno = set.m.devno;
	fus_set_put(&set);
	if (last >= end)
		return fus_fail(FC_USAGE, name, "has no %s %llu; the last one is %llu",
				sectors ? "sector" : "extent", (unsigned long long)last,
				(unsigned long long)end - 1);
	w->backwards = true;
	w->first = first * bytes;
	w->last = (last + 1) * bytes - 1;
	return search(w, name, devno);
}
