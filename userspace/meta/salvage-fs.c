// SPDX-License-Identifier: GPL-2.0-only
/*
 * Find out whether the file system on the set can be mounted from one member alone. libblkid
 * examines a copy of its beginning. For ext2, ext3 and ext4, the metadata that a mount reads next
 * is checked as well.
 */
#include <errno.h>
#include <ext2fs/ext2_fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fusionctl.h"
#include "probe.h"
#include "salvage.h"

#define HEAD	(1024 * 1024)	/* where superblocks are */
#define BLOCK	FUSION_BLOCK_SIZE

/* The set as the salvaged device shows it. */
struct view {
	const struct salvage *s;
	const struct offline *o;
	bool zero;		/* unknown areas read as zeros */
	const char *lost;	/* role of the other member */
	u8 *buf;		/* of a block */
	u64 at;			/* byte of the set that is in there */
};

static bool readable(const struct view *v, const struct part *p)
{
	return p->kind < PART_LOST || (p->kind == PART_UNKNOWN && v->zero);
}

/* Read the block that has this byte of the set to v->buf; 0 or -EIO. */
static int view_block(struct view *v, u64 byte)
{
	const u64 sector = round_down(byte, BLOCK) >> 9;
	const struct part *p = fus_salvage_part(v->s, sector);

	v->at = sector << 9;
	memset(v->buf, 0, BLOCK);
	if (!p || !readable(v, p))
		return -EIO;
	return !fus_part_is_here(p->kind) ? 0 :
	       fus_offline_read(v->o, (p->where + sector - p->start) << 9, BLOCK, v->buf);
}

/* The text about a range that cannot be read; NULL if it can. */
static const char *view_lacks(const struct view *v, u64 byte, u64 bytes)
{
	static char text[64];

	for (u64 at = byte >> 9; at < (byte + bytes + 511) >> 9;) {
		const struct part *p = fus_salvage_part(v->s, at);

		if (!p)
			return "is beyond the end of the set";
		if (!readable(v, p)) {
			snprintf(text, sizeof(text), p->kind == PART_LOST ?
				 "was on the %s member" : "may have been on the %s member",
				 v->lost);
			return text;
		}
		at = p->start + p->nr;
	}
	return NULL;
}

/* -- ext2, ext3, ext4 ------------------------------------------------------------------ */

#define SUPER_AT	1024

static bool ext_super(struct view *v, u64 byte, struct ext2_super_block *es)
{
	if (view_block(v, byte))
		return false;
	memcpy(es, v->buf + (byte - v->at), sizeof(*es));
	return le16_to_cpu(es->s_magic) == EXT2_SUPER_MAGIC &&
	       le32_to_cpu(es->s_log_block_size) <= 6 && es->s_blocks_per_group;
}

/* The place of the first copy. */
static void add_copy(struct view *v, struct mountable *m)
{
	static const struct { u32 block, size; } places[] = {
		{ 32768, 4096 }, { 8193, 1024 }, { 16384, 2048 },
	};
	struct ext2_super_block es;
	const size_t n = strlen(m->why);

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (!ext_super(v, (u64)places[i].block * places[i].size, &es) ||
		    1024U << le32_to_cpu(es.s_log_block_size) != places[i].size)
			continue;
		snprintf(m->why + n, sizeof(m->why) - n, "; a copy of an ext superblock is left: "
			 "copy the device, then run e2fsck -b %u -B %u on the copy",
			 places[i].block, places[i].size);
		return;
	}
}

/* The first block of the root directory, or 0 if it is not in the inode. */
static u64 first_block(const struct ext2_inode *inode)
{
	const u8 *p = (const u8 *)inode->i_block;

	if (!(le32_to_cpu(inode->i_flags) & EXT4_EXTENTS_FL))
		return le32_to_cpu(inode->i_block[0]);
	/* a header of 12 bytes: entries at 2, depth at 6; then the first extent, of 12 */
	if (!(p[2] | p[3] << 8) || p[6] | p[7])
		return 0;
	return (u32)(p[20] | p[21] << 8 | p[22] << 16 | (u32)p[23] << 24) |
	       (u64)(p[18] | p[19] << 8) << 32;
}

static void cannot(struct mountable *m, const char *what, const char *why)
{
	m->can = MOUNT_NO;
	snprintf(m->why, sizeof(m->why), "%s of its %s %s", what, m->type, why);
}

/* Superblock, group descriptors, root inode: without these no mount. */
static void check_ext(struct view *v, struct mountable *m)
{
	struct ext2_super_block es;
	struct ext2_inode inode;
	u64 size, blocks, groups, descs, start, table, at;
	u32 desc_size, first, isize;
	const char *lacks;

	if (!ext_super(v, SUPER_AT, &es)) {
		cannot(m, "the superblock", "cannot be read");
		return;
	}
	size = 1024U << le32_to_cpu(es.s_log_block_size);
	first = le32_to_cpu(es.s_first_data_block);
	blocks = le32_to_cpu(es.s_blocks_count);
	desc_size = EXT2_MIN_DESC_SIZE;
	if (le32_to_cpu(es.s_feature_incompat) & EXT4_FEATURE_INCOMPAT_64BIT) {
		blocks |= (u64)le32_to_cpu(es.s_blocks_count_hi) << 32;
		desc_size = le16_to_cpu(es.s_desc_size);
	}
	groups = (blocks - first + le32_to_cpu(es.s_blocks_per_group) - 1) /
		 le32_to_cpu(es.s_blocks_per_group);
	descs = (groups * desc_size + size - 1) / size;
	/* with meta_bg the others are elsewhere */
	if (le32_to_cpu(es.s_feature_incompat) & EXT2_FEATURE_INCOMPAT_META_BG &&
	    descs > le32_to_cpu(es.s_first_meta_bg))
		descs = le32_to_cpu(es.s_first_meta_bg) ? le32_to_cpu(es.s_first_meta_bg) : 1;
	start = (first + 1) * size;
	lacks = view_lacks(v, start, descs * size);
	if (lacks || view_block(v, start)) {
		cannot(m, "a group descriptor", lacks ? lacks : "cannot be read");
		return;
	}
	table = le32_to_cpu(((struct ext4_group_desc *)(v->buf + (start - v->at)))->bg_inode_table);
	if (desc_size >= EXT2_MIN_DESC_SIZE_64BIT)
		table |= (u64)le32_to_cpu(((struct ext4_group_desc *)
					   (v->buf + (start - v->at)))->bg_inode_table_hi) << 32;
	isize = le32_to_cpu(es.s_rev_level) ? le16_to_cpu(es.s_inode_size) :
		EXT2_GOOD_OLD_INODE_SIZE;
	at = table * size + (EXT2_ROOT_INO - 1) * isize;
	lacks = table < blocks ? view_lacks(v, at, isize) : "cannot be found";
	if (lacks || view_block(v, at) || at - v->at + sizeof(inode) > BLOCK) {
		cannot(m, "the root inode", lacks ? lacks : "cannot be read");
		return;
	}
	memcpy(&inode, v->buf + (at - v->at), sizeof(inode));
	m->can = MOUNT_YES;
	snprintf(m->why, sizeof(m->why), "%s, with mount -o ro%s", m->type,
		 strcmp(m->type, "ext2") ? ",noload" : "");
	at = first_block(&inode);
	if (at && view_lacks(v, at * size, size))
		snprintf(m->why + strlen(m->why), sizeof(m->why) - strlen(m->why),
			 "; but the root directory %s: files are reached by inode only, with "
			 "debugfs -c", view_lacks(v, at * size, size));
}

/* -------------------------------------------------------------------------------------------- */

/* A file with the beginning of the set, with zeros for unreadable areas. -1 with errno. */
static int copy_head(struct view *v, u64 bytes)
{
	int fd = memfd_create("set", MFD_CLOEXEC);

	if (fd < 0 || !ftruncate(fd, bytes)) {
		for (u64 at = 0; fd >= 0 && at < bytes && at < HEAD; at += BLOCK)
			if (!view_block(v, at) && pwrite(fd, v->buf, BLOCK, at) != BLOCK)
				break;
		return fd;
	}
	close(fd);
	return -1;
}

static void look(struct view *v, int fd, struct mountable *m)
{
	bool fs = false;
	const char *lacks = view_lacks(v, 0, BLOCK);

	if (fus_probe_type(fd, &fs, m->type, sizeof(m->type))) {
		m->can = MOUNT_MAYBE;
		if (fs && !strncmp(m->type, "ext", 3))
			check_ext(v, m);
		else if (fs)
			snprintf(m->why, sizeof(m->why), "the superblock of its %s is there; try "
				 "mount -o ro", m->type);
		else
			snprintf(m->why, sizeof(m->why), "it contains %s, which was not examined",
				 m->type);
		return;
	}
	m->can = MOUNT_NO;
	if (!lacks)
		lacks = view_lacks(v, 0, HEAD / 8);
	if (lacks) {
		snprintf(m->why, sizeof(m->why), "its beginning, where the superblock of a file "
			 "system is, %s", lacks);
		add_copy(v, m);
	} else {
		snprintf(m->why, sizeof(m->why), "no file system is recognised on it");
	}
}

int fus_salvage_mountable(const struct salvage *s, const struct offline *o, bool zero,
			  const char *lost, struct mountable *m)
{
	struct view v = { .s = s, .o = o, .zero = zero, .lost = lost };
	const struct part *last = s->nr ? &s->part[s->nr - 1] : NULL;
	int fd;

	memset(m, 0, sizeof(*m));
	v.buf = fus_offline_buffer(BLOCK);
	if (!v.buf)
		return FC_FAILED;
	fd = last ? copy_head(&v, (last->start + last->nr) << 9) : -1;
	if (fd >= 0) {
		look(&v, fd, m);
		close(fd);
	} else {
		m->can = MOUNT_MAYBE;
		snprintf(m->why, sizeof(m->why), "cannot look: %s", strerror(errno));
	}
	free(v.buf);
	return 0;
}
