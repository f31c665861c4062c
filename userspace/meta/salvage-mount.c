// SPDX-License-Identifier: GPL-2.0-only
/*
 * Find files of a mounted file system in lost or unknown areas. It works with any file system that
 * supports FIEMAP and fills its device, as XFS and ext4 do. Links are not followed, nor mount
 * points.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "error.h"
#include "fusionctl.h"
#include "progress.h"
#include "salvage.h"
#include "text.h"

#define EXTENTS		256U
#define MAX_FDS		32

/* nftw() passes nothing on. */
static struct {
	const struct salvage *s;
	hit_fn fn;
	void *ctx;
	struct files_unknown *unknown;
	struct fiemap *map;
} walk;

/* Return: 1 if one of its extents is hit, 0 if none, -1 if that is unknown. */
static int file_hit(int fd)
{
	struct fiemap *map = walk.map;
	u64 next = 0;

	for (;;) {
		memset(map, 0, sizeof(*map));
		map->fm_start = next;
		map->fm_length = FIEMAP_MAX_OFFSET - next;
		map->fm_extent_count = EXTENTS;
		if (ioctl(fd, FS_IOC_FIEMAP, map))
			return -1;
		if (!map->fm_mapped_extents)
			return 0;
		for (u32 i = 0; i < map->fm_mapped_extents && i < EXTENTS; i++) {
			const struct fiemap_extent *e = &map->fm_extents[i];

			if (!(e->fe_flags & (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DATA_INLINE)) &&
			    fus_salvage_hit(walk.s, e->fe_physical, e->fe_length))
				return 1;
			if (e->fe_flags & FIEMAP_EXTENT_LAST)
				return 0;
			if (e->fe_logical + e->fe_length <= next)
				return -1;	/* would not end */
			next = e->fe_logical + e->fe_length;
		}
	}
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
	int err;

	walk.s = s;
	walk.fn = fn;
	walk.ctx = ctx;
	walk.unknown = unknown;
	begin_progress(path);
	walk.map = malloc(sizeof(*walk.map) + EXTENTS * sizeof(walk.map->fm_extents[0]));
	err = walk.map ? nftw(path, visit, MAX_FDS, FTW_PHYS | FTW_MOUNT) : -1;
	free(walk.map);
	fus_progress_end();
	if (!err)
		return 0;
	return fus_fail(FC_FAILED, path, "cannot read: %s; check that it is mounted",
			strerror(errno));
}
