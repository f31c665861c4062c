// SPDX-License-Identifier: GPL-2.0-only
/*
 * Find files of a mounted file system in lost or unknown areas. It works with btrfs, and with any
 * file system that supports FIEMAP and fills its device, as XFS and ext4 do. Links are not
 * followed, nor mount points.
 */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
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

struct walk {
	const struct salvage *s;
	hit_fn fn;
	void *ctx;
	struct files_unknown *unknown;
	struct file_system fs;
	bool hit;		/* the file that is being looked at */
};

static bool look_at_extent(void *ctx, const struct file_extent *e)
{
	struct walk *w = ctx;

	w->hit = e->part == FILE_BLOCKS && e->on_disk &&
		 fus_salvage_hit(w->s, e->at, e->on_disk);
	return !w->hit;
}

static void look_at_file(struct walk *w, const FTSENT *e)
{
	int fd = open(e->fts_accpath, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char safe[4 * 4096];

	w->hit = false;
	if (fd < 0 || fus_file_extents(&w->fs, fd, look_at_extent, w))
		w->unknown->files++;
	else if (w->hit)
		w->fn(w->ctx, fus_safe_text(safe, sizeof(safe), e->fts_path, SIZE_MAX,
					    fus_utf8_output()), e->fts_statp->st_ino);
	if (fd >= 0)
		close(fd);
}

static void look_at(struct walk *w, FTS *fts, FTSENT *e)
{
	switch (e->fts_info) {
	case FTS_D:
		if (!fus_file_system_has(&w->fs, e->fts_accpath, e->fts_statp->st_dev))
			fts_set(fts, e, FTS_SKIP);
		break;
	case FTS_DNR:
	case FTS_NS:
	case FTS_ERR:
		w->unknown->directories++;
		break;
	case FTS_F:
		look_at_file(w, e);
		break;
	}
	if (e->fts_info != FTS_DP)
		fus_progress_add(1);
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

/* Return: 0 or -errno. */
static int walk_tree(struct walk *w, const char *path)
{
	char *const roots[] = { (char *)path, NULL };
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW, NULL);
	FTSENT *e;
	int err;

	if (!fts)
		return -errno;
	while ((e = fts_read(fts)))
		look_at(w, fts, e);
	err = errno;		/* 0 at the end */
	fts_close(fts);
	return -err;
}

int fus_salvage_mount(const char *path, const struct salvage *s, hit_fn fn, void *ctx,
		      struct files_unknown *unknown)
{
	struct walk w = { .s = s, .fn = fn, .ctx = ctx, .unknown = unknown };
	int rc = fus_any_file_system_open(path, &w.fs), err;

	if (!rc) {
		begin_progress(path);
		err = walk_tree(&w, path);
		fus_progress_end();
		if (err)
			rc = fus_fail(FC_FAILED, path, "cannot read: %s; check that it is mounted",
				      strerror(-err));
	}
	fus_file_system_close(&w.fs);
	return rc;
}
