// SPDX-License-Identifier: GPL-2.0-only
/*
 * Addresses of btrfs are its own: chunks say where they lie on its devices. Only file systems on
 * one device are followed, as others have parts elsewhere.
 */
#include <endian.h>
#include <errno.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "file-extents.h"
#include "error.h"

struct chunk {
	uint64_t address, length, at;
};

struct btrfs_chunks {
	struct chunk *chunk;
	size_t nr;
};

/*
 * Copies on the same device (DUP) hold the same: the first one stands for both. Return: 0;
 * -EOPNOTSUPP: it has parts elsewhere; -ENOMEM.
 */
static int add_chunk(struct btrfs_chunks *c, uint64_t address, const void *data, uint32_t bytes)
{
	const uint64_t striped = BTRFS_BLOCK_GROUP_PROFILE_MASK & ~BTRFS_BLOCK_GROUP_DUP;
	struct btrfs_chunk item;
	struct chunk *chunk;

	if (bytes < sizeof(item))
		return -EIO;
	memcpy(&item, data, sizeof(item));
	if (le64toh(item.type) & striped)
		return -EOPNOTSUPP;
	chunk = realloc(c->chunk, (c->nr + 1) * sizeof(*chunk));
	if (!chunk)
		return -ENOMEM;
	c->chunk = chunk;
	chunk[c->nr++] = (struct chunk){
		address, le64toh(item.length), le64toh(item.stripe.offset)
	};
	return 0;
}

static int read_chunks(struct btrfs_chunks *c, int fd)
{
	struct btrfs_items it;
	uint64_t address;
	const void *data;
	uint32_t bytes;
	int rc;

	rc = fus_btrfs_items_begin(&it, fd, BTRFS_CHUNK_TREE_OBJECTID,
				   BTRFS_FIRST_CHUNK_TREE_OBJECTID, BTRFS_CHUNK_ITEM_KEY);
	if (rc)
		return rc;
	while ((rc = fus_btrfs_items_next(&it, &address, &data, &bytes)) > 0) {
		rc = add_chunk(c, address, data, bytes);
		if (rc)
			break;
	}
	fus_btrfs_items_end(&it);
	return rc;
}

int fus_btrfs_open(const char *path, int fd, struct btrfs_chunks **chunks)
{
	struct btrfs_ioctl_fs_info_args info = { 0 };
	struct btrfs_chunks *c;
	int err;

	*chunks = NULL;
	if (ioctl(fd, BTRFS_IOC_FS_INFO, &info))
		return fus_fail(FC_FAILED, path, "cannot read the devices of its btrfs: %s",
				strerror(errno));
	if (info.num_devices != 1)
		return fus_fail(FC_REFUSED, path, "its btrfs has %llu devices; only one can be "
				"followed", (unsigned long long)info.num_devices);
	c = calloc(1, sizeof(*c));
	err = c ? read_chunks(c, fd) : -ENOMEM;
	if (!err) {
		*chunks = c;
		return 0;
	}
	fus_btrfs_close(c);
	return err == -EOPNOTSUPP ?
		fus_fail(FC_REFUSED, path, "its btrfs has chunks of a RAID profile; only the "
			 "profiles single and DUP can be followed") :
		fus_fail(FC_FAILED, path, "cannot read the chunks of its btrfs: %s",
			 strerror(-err));
}

void fus_btrfs_close(struct btrfs_chunks *c)
{
	if (c)
		free(c->chunk);
	free(c);
}

bool fus_btrfs_find(const struct btrfs_chunks *c, uint64_t address, uint64_t *at, uint64_t *run)
{
	size_t low = 0, high = c->nr;

	while (low < high) {
		size_t mid = (low + high) / 2;
		const struct chunk *k = &c->chunk[mid];

		if (address < k->address) {
			high = mid;
		} else if (address - k->address >= k->length) {
			low = mid + 1;
		} else {
			*at = k->at + (address - k->address);
			*run = k->length - (address - k->address);
			return true;
		}
	}
	return false;
}
