// SPDX-License-Identifier: GPL-2.0-only
/*
 * fusion-prepare: make a disk one that is to replace a member, as fusionctl replace does, or print
 * what its superblock says of that.
 *
 *	fusion-prepare MEMBER DISK
 *	fusion-prepare DISK
 *
 * The second form prints "none", or the state of the old member: joining, member, left, prepared.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "dm-fusion-codec.h"

static void *block;

static int failed(const char *path, const char *what)
{
	fprintf(stderr, "fusion-prepare: %s: %s\n", path, what);
	return 1;
}

static int read_super(const char *path, struct fusion_sb *sb)
{
	int fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	const char *why = "cannot be read";
	struct fusion_sb one;
	bool found = false;

	if (fd < 0)
		return failed(path, strerror(errno));
	for (int copy = 0; copy < 2; copy++) {
		const u64 nr = FUSION_SUPER_BLOCKNR(copy);

		if (pread(fd, block, FUSION_BLOCK_SIZE, nr * FUSION_BLOCK_SIZE) !=
		    FUSION_BLOCK_SIZE || fusion_sb_unpack_landing(block, nr, U64_MAX, &one,
					     &why))
			continue;
		if (!found || one.generation > sb->generation)
			*sb = one;
		found = true;
	}
	close(fd);
	return found ? 0 : failed(path, why);
}

static int write_supers(const char *path, struct fusion_sb *sb)
{
	int fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	u64 bytes;
	int rc = 0;

	if (fd < 0)
		return failed(path, strerror(errno));
	if (ioctl(fd, BLKGETSIZE64, &bytes))
		rc = failed(path, strerror(errno));
	sb->self_sectors = bytes >> 9;
	for (sb->generation = 1; sb->generation <= 2 && !rc; sb->generation++) {
		const u64 nr = FUSION_SUPER_BLOCKNR(sb->generation & 1);

		fusion_sb_pack(sb, nr, block);
		if (pwrite(fd, block, FUSION_BLOCK_SIZE, nr * FUSION_BLOCK_SIZE) !=
		    FUSION_BLOCK_SIZE)
			rc = failed(path, strerror(errno));
	}
	if (!rc && fsync(fd))
		rc = failed(path, strerror(errno));
	close(fd);
	return rc;
}

static int show(const char *path)
{
	static const char *const states[] = { "none", "joining", "member", "left", "prepared" };
	struct fusion_sb sb;

	if (read_super(path, &sb))
		return 1;
	puts(states[sb.incompat & FUSION_INCOMPAT_OLD_MEMBER ? sb.old.state : 0]);
	return 0;
}

int main(int argc, char **argv)
{
	struct fusion_sb sb, member;

	block = aligned_alloc(FUSION_BLOCK_SIZE, FUSION_BLOCK_SIZE);
	if (!block)
		return failed(argv[0], "out of memory");
	if (argc == 2)
		return show(argv[1]);
	if (argc != 3) {
		fprintf(stderr, "usage: fusion-prepare [MEMBER] DISK\n");
		return 2;
	}
	if (read_super(argv[1], &member))
		return 1;
	sb = member;
	if (getrandom(sb.dev_uuid, sizeof(sb.dev_uuid), 0) != sizeof(sb.dev_uuid))
		return failed(argv[2], strerror(errno));
	sb.flags = 0;
	fusion_sb_leave(&sb);
	/* as fusionctl does: it has no log */
	sb.incompat &= ~FUSION_INCOMPAT_LANDING;
	sb.old.state = FUSION_OLD_PREPARED;
	memcpy(sb.old.uuid, member.dev_uuid, sizeof(sb.old.uuid));
	sb.old.sectors = member.self_sectors;
	return write_supers(argv[2], &sb);
}
