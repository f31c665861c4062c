// SPDX-License-Identifier: GPL-2.0-only
/* Items in the trees of a mounted btrfs. That takes root. */
#include <errno.h>
#include <linux/btrfs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "file-extents.h"

#define BUFFER	65536

int fus_btrfs_items_begin(struct btrfs_items *it, int fd, uint64_t tree, uint64_t object,
			  uint32_t type)
{
	struct btrfs_ioctl_search_key *key;

	memset(it, 0, sizeof(*it));
	it->fd = fd;
	it->args = calloc(1, sizeof(*it->args) + BUFFER);
	if (!it->args)
		return -ENOMEM;
	key = &it->args->key;
	key->tree_id = tree;
	key->min_objectid = object;
	key->max_objectid = object;
	key->min_type = type;
	key->max_type = type;
	key->max_offset = UINT64_MAX;
	key->max_transid = UINT64_MAX;
	it->buf_size = BUFFER;
	return 0;
}

void fus_btrfs_items_end(struct btrfs_items *it)
{
	free(it->args);
	it->args = NULL;
}

static int search(struct btrfs_items *it)
{
	it->args->key.nr_items = UINT32_MAX;
	it->args->buf_size = it->buf_size;
	if (ioctl(it->fd, BTRFS_IOC_TREE_SEARCH_V2, it->args))
		return -errno;
	it->next = (const char *)it->args->buf;
	it->left = it->args->key.nr_items;
	return 0;
}

int fus_btrfs_items_next(struct btrfs_items *it, uint64_t *offset, const void **data,
			 uint32_t *bytes)
{
	const char *end = (const char *)it->args->buf + it->buf_size;
	struct btrfs_ioctl_search_header h;
	int err;

	if (!it->left) {
		/* the last one was the last possible */
		err = it->next && !it->args->key.min_offset ? 0 : search(it);
		if (err || !it->left)
			return err;
	}
	if ((size_t)(end - it->next) < sizeof(h))
		return -EIO;
	memcpy(&h, it->next, sizeof(h));
	it->next += sizeof(h);
	if ((size_t)(end - it->next) < h.len)
		return -EIO;
	*offset = h.offset;
	*data = it->next;
	*bytes = h.len;
	it->next += h.len;
	it->left--;
	it->args->key.min_offset = h.offset + 1;
	return 1;
}
