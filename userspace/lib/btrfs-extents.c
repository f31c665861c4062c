// SPDX-License-Identifier: GPL-2.0-only
/*
 * The blocks of files on btrfs, from its trees: FIEMAP does not tell how much a compressed extent
 * takes on the disk.
 */
#include <endian.h>
#include <errno.h>
#include <linux/btrfs_tree.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "file-extents.h"

struct walk {
	const struct btrfs_chunks *chunks;
	file_extent_fn *fn;
	void *ctx;
	uint64_t last;		/* compressed extent that was counted last */
};

/* Blocks at one of btrfs' addresses, which may reach over the end of a chunk. */
static bool tell_blocks(struct walk *w, struct file_extent *e, uint64_t address)
{
	const uint64_t bytes = e->bytes, on_disk = e->on_disk;
	uint64_t done = 0, run;

	while (done < on_disk) {
		if (!fus_btrfs_find(w->chunks, address + done, &e->at, &run))
			e->part = FILE_UNKNOWN;
		e->on_disk = on_disk - done;
		if (e->part == FILE_BLOCKS && run < e->on_disk)
			e->on_disk = run;
		/* what is compressed is in the file as a whole with its first block */
		e->bytes = bytes == on_disk ? e->on_disk : done ? 0 : bytes;
		if (!w->fn(w->ctx, e))
			return false;
		done += e->on_disk;
		e->logical += e->bytes;
	}
	return true;
}

static bool tell_item(struct walk *w, uint64_t offset, const void *data, uint32_t bytes)
{
	const size_t head = offsetof(struct btrfs_file_extent_item, disk_bytenr);
	struct btrfs_file_extent_item item = { 0 };
	struct file_extent e = { .logical = offset };
	uint64_t address;

	if (bytes < head)
		return true;
	memcpy(&item, data, bytes < sizeof(item) ? bytes : sizeof(item));
	if (item.type == BTRFS_FILE_EXTENT_INLINE) {
		e.part = FILE_INLINE;
		e.bytes = le64toh(item.ram_bytes);
		return w->fn(w->ctx, &e);
	}
	address = le64toh(item.disk_bytenr);
	e.bytes = le64toh(item.num_bytes);
	if (bytes < sizeof(item) || !address)
		return true;		/* a hole */
	e.part = FILE_BLOCKS;
	e.shared = true;		/* the extent tree would tell; a look there costs more */
	if (item.compression || item.encryption || item.other_encoding) {
		/* the whole extent is needed, for each part of it */
		e.on_disk = address == w->last ? 0 : le64toh(item.disk_num_bytes);
		w->last = address;
		return e.on_disk ? tell_blocks(w, &e, address) : w->fn(w->ctx, &e);
	}
	e.on_disk = e.bytes;
	return tell_blocks(w, &e, address + le64toh(item.offset));
}

/* So that what is written since is in the tree. */
static void write_out(int fd)
{
	struct fiemap map = { .fm_length = 1, .fm_flags = FIEMAP_FLAG_SYNC };

	(void)ioctl(fd, FS_IOC_FIEMAP, &map);
}

int fus_btrfs_extents(const struct btrfs_chunks *chunks, int fd, file_extent_fn *fn, void *ctx)
{
	struct walk w = { .chunks = chunks, .fn = fn, .ctx = ctx };
	struct btrfs_items it;
	uint64_t offset;
	const void *data;
	uint32_t bytes;
	struct stat st;
	int rc;

	if (fstat(fd, &st))
		return -errno;
	write_out(fd);
	rc = fus_btrfs_items_begin(&it, fd, 0, st.st_ino, BTRFS_EXTENT_DATA_KEY);
	if (rc)
		return rc;
	while ((rc = fus_btrfs_items_next(&it, &offset, &data, &bytes)) > 0)
		if (!tell_item(&w, offset, data, bytes)) {
			rc = 0;
			break;
		}
	fus_btrfs_items_end(&it);
	return rc;
}
