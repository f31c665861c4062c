/* SPDX-License-Identifier: GPL-2.0-only */
/* The signatures of what may be on a disk that is adopted, as libblkid looks for them. */
#ifndef CONTENTS_H
#define CONTENTS_H

#include "unit.h"

#include "fusionctl.h"

static inline void put_be(u8 *at, unsigned int size, u64 v)
{
	for (unsigned int i = 0; i < size; i++)
		at[i] = v >> 8 * (size - 1 - i);
}

static inline void make_ext4(u8 *disk)
{
	u8 *sb = disk + 1024;

	memset(disk, 0, 2048);
	put_le(sb + 0x20, 4, 8192);
	put_le(sb + 0x38, 2, 0xef53);
	put_le(sb + 0x5c, 4, 0x4);	/* a journal */
	put_le(sb + 0x60, 4, 0x42);	/* extents, types in directories */
	memset(sb + 0x68, 0xe4, 16);
	memcpy(sb + 0x78, "home", 5);
}

static inline void make_xfs(u8 *disk)
{
	memset(disk, 0, 512);
	memcpy(disk, "XFSB", 4);
	put_be(disk + 4, 4, 4096);
	put_be(disk + 8, 8, 4096);	/* blocks */
	memset(disk + 32, 0x1f, 16);
	put_be(disk + 80, 4, 1);
	put_be(disk + 84, 4, 1024);	/* blocks of a group */
	put_be(disk + 88, 4, 4);
	put_be(disk + 100, 2, 4);
	put_be(disk + 102, 2, 512);
	put_be(disk + 104, 2, 256);
	put_be(disk + 106, 2, 16);
	disk[120] = 12;
	disk[121] = 9;
	disk[122] = 8;
	disk[123] = 4;
	disk[124] = 10;
	disk[127] = 25;
}

static inline void make_btrfs_at(u8 *sb)
{
	memset(sb, 0, 4096);
	memset(sb + 32, 0xb7, 16);
	memcpy(sb + 64, "_BHRfS_M", 8);
	put_le(sb + 136, 8, 1);
	put_le(sb + 144, 4, 4096);
}

/* With its first mirror. */
static inline void make_btrfs(u8 *disk)
{
	make_btrfs_at(disk + (64 << 10));
	make_btrfs_at(disk + (64 << 20));
}

static inline void make_luks_at(u8 *disk, unsigned int version, u64 at)
{
	u8 *h = disk + at;

	memset(h, 0, 4096);
	memcpy(h, at ? "SKUL\xba\xbe" : "LUKS\xba\xbe", 6);
	put_be(h + 6, 2, version);
	memcpy(h + 168, "11111111-2222-3333-4444-555555555555", 36);
	if (version == 2)
		put_be(h + 256, 8, at);
}

static inline void make_luks1(u8 *disk)
{
	make_luks_at(disk, 1, 0);
}

/* With its second header. */
static inline void make_luks2(u8 *disk)
{
	make_luks_at(disk, 2, 0);
	make_luks_at(disk, 2, 0x4000);
}

static inline void make_lvm(u8 *disk)
{
	u8 *label = disk + 512;

	memset(disk, 0, 1024);
	memcpy(label, "LABELONE", 8);
	put_le(label + 8, 8, 1);
	put_le(label + 20, 4, 32);
	memcpy(label + 24, "LVM2 001", 8);
	memcpy(label + 32, "abcdefghijklmnopqrstuvwxyz012345", 32);
}

/* What is adopted, and into which set. */
static const struct kind {
	const char *type;
	void (*make)(u8 *disk);
	unsigned int magics;
	int disk;			/* the member that it becomes */
	u64 sectors[2];
	u32 extent_sectors;
	unsigned int block_bytes;
	unsigned int step;		/* of the writes in which power fails */
	u32 landing;			/* slots of its landing log */
} kinds[] = {
	{ "ext4", make_ext4, 1, SLOW, { 8 << 11, (16 << 11) + 37 }, 128, 512, 1, 0 },
	{ "ext4", make_ext4, 1, FAST, { (16 << 11) + 37, 8 << 11 }, 128, 512, 1, 0 },
	{ "xfs", make_xfs, 1, SLOW, { 8 << 11, (16 << 11) + 8 }, 128, 4096, 1, 0 },
	{ "xfs", make_xfs, 1, FAST, { 16 << 11, 8 << 11 }, 256, 512, 1, 0 },
	{ "crypto_LUKS", make_luks1, 1, SLOW, { 8 << 11, 16 << 11 }, 128, 512, 3, 0 },
	{ "crypto_LUKS", make_luks2, 2, SLOW, { 8 << 11, (16 << 11) + 128 }, 128, 512, 1, 0 },
	{ "crypto_LUKS", make_luks2, 2, FAST, { (16 << 11) + 8, 8 << 11 }, 128, 4096, 2, 0 },
	{ "LVM2_member", make_lvm, 1, SLOW, { 8 << 11, (16 << 11) + 1 }, 128, 512, 3, 0 },
	{ "btrfs", make_btrfs, 2, SLOW, { 8 << 11, (66 << 11) + 3 }, 128, 512, 5, 0 },
	{ "btrfs", make_btrfs, 2, FAST, { 66 << 11, 8 << 11 }, 128, 512, 5, 0 },
	{ "ext4", make_ext4, 1, SLOW, { 8 << 11, (16 << 11) + 37 }, 128, 512, 3, 8 },
	{ "xfs", make_xfs, 1, FAST, { 16 << 11, 8 << 11 }, 128, 512, 5, 6 },
};

#endif
