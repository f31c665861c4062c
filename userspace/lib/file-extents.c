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

/* Their blocks were compared with those on the device. */
static const struct {
	unsigned int magic;
	const char *type;
} types[] = {
	{ EXT4_SUPER_MAGIC, "ext4" },		/* ext2 and ext3 as well */
	{ XFS_SUPER_MAGIC, "xfs" },
	{ BTRFS_SUPER_MAGIC, "btrfs" },
};

/* Return: whether it is of one of these types. */
static bool known_type(struct file_system *fs, unsigned int magic)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].magic == magic) {
			strcpy(fs->type, types[i].type);
			return true;
		}
	return false;
}

int fus_any_file_system_open(const char *path, struct file_system *fs)
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
	/* so that nothing is divided by zero */
	fs->block_bytes = sf.f_bsize >= 512 && sf.f_bsize <= 1 << 20 ? sf.f_bsize : 4096;
	known_type(fs, sf.f_type);
	return sf.f_type == BTRFS_SUPER_MAGIC ? open_chunks(path, fs) : 0;
}

int fus_file_system_open(const char *path, struct file_system *fs)
{
	int rc = fus_any_file_system_open(path, fs);
	char type[64];

	if (rc || (*fs->type && fs->devno))
		return rc;
	if (*fs->type)
		return fus_fail(FC_FAILED, path, "cannot find the device of its file system; see "
				"findmnt");
	fus_path_type(path, type, sizeof(type));
	return fus_fail(FC_REFUSED, path, "files cannot be followed on a file system of type %s; "
			"only those on ext2 to ext4, XFS and btrfs can", type);
}

bool fus_file_system_has(struct file_system *fs, const char *path, dev_t st_dev)
{
	dev_t devno;

	if (st_dev == fs->st_dev || (fs->also && st_dev == fs->also))
		return true;
	if (!fs->chunks)
		return false;
	if (fs->asked != st_dev)
		fs->asked_is = fus_path_device(path, &devno) && devno == fs->devno;
	fs->asked = st_dev;
	return fs->asked_is;
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

/* Files on another device of the file system have addresses there. */
static bool on_other_device(const struct file_system *fs, int fd)
{
	struct fsxattr attr;

	return !strcmp(fs->type, "xfs") && !ioctl(fd, FS_IOC_FSGETXATTR, &attr) &&
	       attr.fsx_xflags & FS_XFLAG_REALTIME;
}

/*
 * What of an extent lies from byte @from of the file on: if the file has changed since the extents
 * before were read, it may begin earlier. Return: false if nothing is left, or if it cannot be.
 */
static bool part_from(const struct fiemap_extent *m, uint64_t from, struct file_extent *e)
{
	const uint64_t skip = m->fe_logical < from ? from - m->fe_logical : 0;

	if (m->fe_length <= skip || m->fe_length > UINT64_MAX - m->fe_logical ||
	    m->fe_length > UINT64_MAX - m->fe_physical)
		return false;
	*e = (struct file_extent){
		.part = part_of(m->fe_flags),
		.logical = m->fe_logical + skip,
		.bytes = m->fe_length - skip,
		.at = m->fe_physical + skip,
		.on_disk = m->fe_length - skip,
		.shared = m->fe_flags & FIEMAP_EXTENT_SHARED,
	};
	return true;
}

static int by_fiemap(int fd, bool elsewhere, struct fiemap *map, file_extent_fn *fn, void *ctx)
{
	struct file_extent e;
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
			const bool last = map->fm_extents[i].fe_flags & FIEMAP_EXTENT_LAST;

			if (!part_from(&map->fm_extents[i], next, &e))
				return last ? 0 : -EIO;	/* it would not end */
			if (elsewhere)
				e.part = FILE_UNKNOWN;
			if (!fn(ctx, &e) || last)
				return 0;
			next = e.logical + e.bytes;
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
	err = map ? by_fiemap(fd, on_other_device(fs, fd), map, fn, ctx) : -ENOMEM;
	free(map);
	return err;
}
