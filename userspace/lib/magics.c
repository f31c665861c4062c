// SPDX-License-Identifier: GPL-2.0-only
/* Every signature of the content of a device, so that it can be made unrecognisable, and again. */
#include <blkid/blkid.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/crc32c.h>

#include "probe.h"
#include "error.h"
#include "fusionctl.h"
#include "dm-fusion-codec.h"

_Static_assert(MAX_MAGICS == FUSION_MAX_MAGICS, "a superblock has room for all of them");

/* btrfs has copies of its superblock here, which repair tools find and libblkid does not. */
static const uint64_t btrfs_mirrors[] = { 64ULL << 20, 256ULL << 30 };
static const char btrfs_magic[] = "_BHRfS_M";
#define BTRFS_MAGIC_OFFSET	64

static const char *value(blkid_probe pr, const char *name, size_t *len)
{
	const char *data;

	return blkid_probe_lookup_value(pr, name, &data, len) ? NULL : data;
}

/* In order; a second one in a sector goes with the first. */
static void add(struct fus_content *c, uint64_t byte, size_t bytes)
{
	const uint64_t sector = byte >> 9;
	unsigned int i, at = 0;

	for (i = 0; i < c->nr && i < MAX_MAGICS; i++) {
		if (c->sector[i] == sector)
			return;
		at += c->sector[i] < sector;
	}
	if (c->nr++ >= MAX_MAGICS)
		return;
	memmove(c->sector + at + 1, c->sector + at, (i - at) * sizeof(*c->sector));
	memmove(c->offset + at + 1, c->offset + at, (i - at) * sizeof(*c->offset));
	memmove(c->bytes + at + 1, c->bytes + at, (i - at) * sizeof(*c->bytes));
	c->sector[at] = sector;
	c->offset[at] = byte & 511;
	c->bytes[at] = bytes < 512 - (byte & 511) ? bytes : 512 - (byte & 511);
	if (c->bytes[at] > 64)
		c->bytes[at] = 64;
}

/* The first one names the content. */
static void note(blkid_probe pr, struct fus_content *c)
{
	const char *type = value(pr, "TYPE", NULL), *label = value(pr, "LABEL", NULL);
	const char *uuid = value(pr, "UUID", NULL);
	const char *offset = value(pr, type ? "SBMAGIC_OFFSET" : "PTMAGIC_OFFSET", NULL);
	const char *magic = type ? "SBMAGIC" : "PTMAGIC";
	size_t bytes = 0;

	if (!type)
		type = PARTITION_TABLE;
	if (!*c->type) {
		snprintf(c->type, sizeof(c->type), "%s", type);
		snprintf(c->text, sizeof(c->text), "%s%s%s%s%s%s%s", type,
			 label || uuid ? " (" : "", label ? "label " : "", label ? label : "",
			 label && uuid ? ", " : "", uuid ? "uuid " : "", uuid ? uuid : "");
		if (label || uuid)
			snprintf(c->text + strlen(c->text), sizeof(c->text) - strlen(c->text), ")");
		c->id = crc32c(~0U, type, strlen(type) + 1);
		c->id = crc32c(c->id, uuid ? uuid : "", uuid ? strlen(uuid) : 0);
	} else if (strcmp(c->type, type)) {
		snprintf(c->other, sizeof(c->other), "%s", type);
	}
	if (offset && value(pr, magic, &bytes) && bytes)
		add(c, strtoull(offset, NULL, 10), bytes);
}

static void add_mirrors(int fd, struct fus_content *c)
{
	char *block;

	if (posix_memalign((void **)&block, FUSION_BLOCK_SIZE, FUSION_BLOCK_SIZE))
		return;
	for (size_t i = 0; i < sizeof(btrfs_mirrors) / sizeof(*btrfs_mirrors); i++)
		if (pread(fd, block, FUSION_BLOCK_SIZE, btrfs_mirrors[i]) == FUSION_BLOCK_SIZE &&
		    !memcmp(block + BTRFS_MAGIC_OFFSET, btrfs_magic, strlen(btrfs_magic)))
			add(c, btrfs_mirrors[i] + BTRFS_MAGIC_OFFSET, strlen(btrfs_magic));
	free(block);
}

int fus_probe_magics(const char *path, int fd, struct fus_content *c)
{
	blkid_probe pr = fus_new_probe(fd);
	int rc = -1, rounds = 0;

	memset(c, 0, sizeof(*c));
	while (pr && !(rc = blkid_do_probe(pr)) && rounds++ < 256) {
		note(pr, c);
		/* hides it from this probe only, and looks again; one without a magic stays */
		if (blkid_do_wipe(pr, true)) {
			snprintf(c->other, sizeof(c->other), "%s", c->type);
			rc = 1;
			break;
		}
	}
	blkid_free_probe(pr);
	if (rc != 1)
		return fus_fail(FC_FAILED, path, "cannot look for data: %s; check the device",
				strerror(errno ? errno : EIO));
	if (!strcmp(c->type, "btrfs"))
		add_mirrors(fd, c);
	return 0;
}
