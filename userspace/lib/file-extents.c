// SPDX-License-Identifier: GPL-2.0-only
/*
 * The blocks of files, by FIEMAP. Its addresses are bytes of the device if the file system has one
 * device, and addresses on it mean that, as for ext2 to ext4, XFS and F2FS.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "file-extents.h"
#include "error.h"
#include "stands-on.h"

#define EXTENTS		256U

static int open_chunks(const char *path, struct file_system *fs)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), rc;

	if (fd < 0)
		return fus_fail(FC_FAILED, path, "cannot open: %s", strerror(errno));
	rc = fus_btrfs_open(path, fd, &fs->chunks);
	close(fd);
	return rc;
}

int fus_file_system_open(const char *path, struct file_system *fs)
{
	struct statfs sf;
	struct stat st;

	memset(fs, 0, sizeof(*fs));
	if (statfs(path, &sf) || stat(path, &st))
		return fus_fail(FC_FAILED, path, "cannot read its file system: %s",
				strerror(errno));
	fs->st_dev = st.st_dev;
	if (!fus_path_device(path, &fs->devno))
		fs->devno = 0;
	return sf.f_type == BTRFS_SUPER_MAGIC ? open_chunks(path, fs) : 0;
}

bool fus_file_system_has(const struct file_system *fs, const char *path, dev_t st_dev)
{
	dev_t devno;

	return fs->st_dev == st_dev ||
	       (fs->chunks && fus_path_device(path, &devno) && devno == fs->devno);
}

void fus_file_system_close(struct file_system *fs)
{
	fus_btrfs_close(fs->chunks);
	fs->chunks = NULL;
}

static enum file_part part_of(unsigned int flags)
{
	if (flags & FIEMAP_EXTENT_DELALLOC)
		return FILE_PENDING;
	if (flags & (FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_DATA_TAIL))
		return FILE_INLINE;
	return flags & (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_ENCODED) ? FILE_UNKNOWN : FILE_BLOCKS;
}

static int by_fiemap(int fd, struct fiemap *map, file_extent_fn *fn, void *ctx)
{
	uint64_t next = 0;

	for (;;) {
		memset(map, 0, sizeof(*map));
		map->fm_start = next;
		map->fm_length = FIEMAP_MAX_OFFSET - next;
		map->fm_flags = FIEMAP_FLAG_SYNC;
		map->fm_extent_count = EXTENTS;
		if (ioctl(fd, FS_IOC_FIEMAP, map))
			return -errno;
		if (!map->fm_mapped_extents)
			return 0;
		for (unsigned int i = 0; i < map->fm_mapped_extents && i < EXTENTS; i++) {
			const struct fiemap_extent *m = &map->fm_extents[i];
			const struct file_extent e = {
				.part = part_of(m->fe_flags),
				.logical = m->fe_logical,
				.bytes = m->fe_length,
				.at = m->fe_physical,
				.on_disk = m->fe_length,
				.shared = m->fe_flags & FIEMAP_EXTENT_SHARED,
			};

			if (!fn(ctx, &e) || m->fe_flags & FIEMAP_EXTENT_LAST)
				return 0;
			if (m->fe_logical + m->fe_length <= next)
				return -EIO;	/* would not end */
			next = m->fe_logical + m->fe_length;
		}
	}
}

int fus_file_extents(const struct file_system *fs, int fd, file_extent_fn *fn, void *ctx)
{
	struct fiemap *map;
	int err;

	if (fs->chunks)
		return fus_btrfs_extents(fs->chunks, fd, fn, ctx);
	map = malloc(sizeof(*map) + EXTENTS * sizeof(map->fm_extents[0]));
	err = map ? by_fiemap(fd, map, fn, ctx) : -ENOMEM;
	free(map);
	return err;
}
