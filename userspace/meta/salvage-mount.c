// SPDX-License-Identifier: GPL-2.0-only
/*
 * Find files of a mounted file system in lost or unknown areas. It works with btrfs, and with any
 * file system that supports FIEMAP and fills its device, as XFS and ext4 do. Links are not followed,
 * nor mount points.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "error.h"
#include "file-extents.h"
#include "fusionctl.h"
#include "progress.h"
#include "salvage.h"
#include "text.h"

#define MAX_FDS		32

/* nftw() passes nothing on. */
static struct {
	const struct salvage *s;
	hit_fn fn;
	void *ctx;
	struct files_unknown *unknown;
	struct file_system fs;
} walk;

static bool look_at_extent(void *ctx, const struct file_extent *e)
{
	bool *hit = ctx;

	*hit = e->part == FILE_BLOCKS && e->on_disk &&
	       fus_salvage_hit(walk.s, e->at, e->on_disk);
	return !*hit;
}

/* Return: 1 if one of its extents is hit, 0 if none, -1 if that is unknown. */
static int file_hit(int fd)
{
	bool hit = false;

	return fus_file_extents(&walk.fs, fd, look_at_extent, &hit) ? -1 : hit;
}

static int visit(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	char safe[4 * 4096];
	int fd, hit;

	(void)ftw;
	fus_progress_add(1);
	if (type == FTW_DNR || type == FTW_NS) {
		walk.unknown->directories++;
		return 0;
	}
	if (type != FTW_F || !S_ISREG(st->st_mode))
		return 0;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	hit = fd < 0 ? -1 : file_hit(fd);
	if (fd >= 0)
		close(fd);
	if (hit < 0)
		walk.unknown->files++;
	if (hit > 0)
		walk.fn(walk.ctx, fus_safe_text(safe, sizeof(safe), path, SIZE_MAX,
						fus_utf8_output()), st->st_ino);
	return 0;
}

/* The file system may not know their number. */
static void begin_progress(const char *path)
{
	struct statvfs st;
	u64 files = 0;

	if (!statvfs(path, &st) && st.f_files > st.f_ffree)
		files = st.f_files - st.f_ffree;
	fus_progress_begin(path, &fus_progress_inodes, files);
}

int fus_salvage_mount(const char *path, const struct salvage *s, hit_fn fn, void *ctx,
		      struct files_unknown *unknown)
{
	int err, rc;

	walk.s = s;
	walk.fn = fn;
	walk.ctx = ctx;
	walk.unknown = unknown;
	rc = fus_any_file_system_open(path, &walk.fs);
	if (rc)
		return rc;
	begin_progress(path);
	err = nftw(path, visit, MAX_FDS, FTW_PHYS | FTW_MOUNT);
	fus_progress_end();
	if (err)
		rc = fus_fail(FC_FAILED, path, "cannot read: %s; check that it is mounted",
			      strerror(errno));
	fus_file_system_close(&walk.fs);
	return rc;
}
