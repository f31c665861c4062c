// SPDX-License-Identifier: GPL-2.0-only
/*
 * Find the files of an ext2, ext3 or ext4 file system, on a device or in an image, that lie in lost
 * or unknown areas of the set. The file system need not be intact: unreadable metadata is counted.
 */
#include <errno.h>
#include <ext2fs/ext2fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "fusionctl.h"
#include "progress.h"
#include "salvage.h"
#include "text.h"

#define MAX_DEPTH	256

/* A name of an inode, for directories and files that are hit. */
struct name {
	ext2_ino_t ino, parent;
	char *text;		/* safe to print */
};

struct scan {
	ext2_filsys fs;
	const struct salvage *s;
	struct files_unknown *unknown;
	ext2fs_inode_bitmap hit, dir;
	struct name *name;
	size_t nr;
	ext2_ino_t parent;	/* directory that is being read */
	bool is_hit;		/* of the inode that is being looked at */
	int rc;
};

static int no_memory(void)
{
	return fus_fail(FC_FAILED, "memory", "not enough for the names of files; close programs "
			"and try again");
}

/* Places of superblock copies, in case the first is lost. */
static errcode_t open_fs(const char *path, ext2_filsys *fs)
{
	static const struct { int block; int size; } place[] = {
		{ 0, 0 }, { 32768, 4096 }, { 98304, 4096 }, { 163840, 4096 }, { 8193, 1024 },
		{ 24577, 1024 }, { 16384, 2048 },
	};
	const int flags = EXT2_FLAG_64BITS | EXT2_FLAG_IGNORE_CSUM_ERRORS |
			  EXT2_FLAG_FORCE | EXT2_FLAG_SOFTSUPP_FEATURES;
	errcode_t err = 0;

	for (size_t i = 0; i < sizeof(place) / sizeof(place[0]); i++) {
		err = ext2fs_open(path, flags, place[i].block, place[i].size, unix_io_manager, fs);
		if (!err)
			return 0;
	}
	return err;
}

/* -- inodes ------------------------------------------------------------------------ */

static bool block_hit(const struct scan *sc, blk64_t block)
{
	return fus_salvage_hit(sc->s, (u64)block * sc->fs->blocksize, sc->fs->blocksize);
}

static int look_at_block(ext2_filsys fs, blk64_t *block, e2_blkcnt_t count, blk64_t ref,
			 int offset, void *ctx)
{
	struct scan *sc = ctx;

	(void)fs;
	(void)count;
	(void)ref;
	(void)offset;
	if (!block_hit(sc, *block))
		return 0;
	sc->is_hit = true;
	return BLOCK_ABORT;
}

static void look_at_inode(struct scan *sc, ext2_ino_t ino, struct ext2_inode *inode)
{
	errcode_t err;

	const bool reserved = ino < EXT2_FIRST_INODE(sc->fs->super) && ino != EXT2_ROOT_INO;

	if (!inode->i_links_count || reserved)
		return;
	if (LINUX_S_ISDIR(inode->i_mode))
		ext2fs_mark_inode_bitmap2(sc->dir, ino);
	if (!ext2fs_inode_has_valid_blocks2(sc->fs, inode))
		return;
	sc->is_hit = false;
	err = ext2fs_block_iterate3(sc->fs, ino, BLOCK_FLAG_READ_ONLY, NULL, look_at_block, sc);
	if (sc->is_hit)
		ext2fs_mark_inode_bitmap2(sc->hit, ino);
	else if (err)
		sc->unknown->files++;
}

/*
 * A scan stops for good at an unreadable block, unless it is known to be bad. Only blocks that are
 * hit can be bad; in an image from elsewhere they may still be there.
 */
static errcode_t find_bad_tables(struct scan *sc)
{
	ext2_filsys fs = sc->fs;
	char *buf = malloc(fs->blocksize);
	ext2_badblocks_list bad;
	errcode_t err;

	if (!buf)
		return EXT2_ET_NO_MEMORY;
	err = ext2fs_badblocks_list_create(&bad, 0);
	for (dgrp_t g = 0; g < fs->group_desc_count && !err; g++) {
		const blk64_t table = ext2fs_inode_table_loc(fs, g);

		for (unsigned int i = 0; i < fs->inode_blocks_per_group && !err; i++)
			if (block_hit(sc, table + i) &&
			    io_channel_read_blk64(fs->io, table + i, 1, buf))
				err = ext2fs_badblocks_list_add(bad, table + i);
	}
	if (!err)
		fs->badblocks = bad;	/* freed with it */
	free(buf);
	return err;
}

static errcode_t scan_inodes(struct scan *sc)
{
	struct ext2_inode inode;
	ext2_inode_scan it;
	ext2_ino_t ino;
	errcode_t err;

	err = find_bad_tables(sc);
	if (!err)
		err = ext2fs_open_inode_scan(sc->fs, 0, &it);
	if (err)
		return err;
	ext2fs_inode_scan_flags(it, EXT2_SF_SKIP_MISSING_ITABLE, 0);
	do {
		err = ext2fs_get_next_inode(it, &ino, &inode);
		if (err == EXT2_ET_BAD_BLOCK_IN_INODE_TABLE)
			sc->unknown->inodes++;
		else if ((!err || err == EXT2_ET_INODE_CSUM_INVALID) && ino)
			look_at_inode(sc, ino, &inode);
		fus_progress_at(ino, NULL);
	} while (err ? err == EXT2_ET_BAD_BLOCK_IN_INODE_TABLE ||
		       err == EXT2_ET_INODE_CSUM_INVALID || err == EXT2_ET_MISSING_INODE_TABLE :
		 ino != 0);
	ext2fs_close_inode_scan(it);
	return err;
}

/* -- names -------------------------------------------------------------------------------- */

static int look_at_entry(struct ext2_dir_entry *e, int offset, int size, char *buf, void *ctx)
{
	struct scan *sc = ctx;
	char safe[EXT2_NAME_LEN * 4 + 1];
	const int len = ext2fs_dirent_name_len(e);
	struct name *n;

	(void)offset;
	(void)size;
	(void)buf;
	if (!e->inode || e->inode > sc->fs->super->s_inodes_count ||
	    (len == 1 && e->name[0] == '.') || (len == 2 && e->name[0] == '.' && e->name[1] == '.'))
		return 0;
	if (!ext2fs_test_inode_bitmap2(sc->hit, e->inode) &&
	    !ext2fs_test_inode_bitmap2(sc->dir, e->inode))
		return 0;
	if (!(sc->nr & (sc->nr - 1))) {
		n = realloc(sc->name, (sc->nr ? 2 * sc->nr : 1) * sizeof(*n));
		if (!n) {
			sc->rc = no_memory();
			return DIRENT_ABORT;
		}
		sc->name = n;
	}
	n = &sc->name[sc->nr];
	n->ino = e->inode;
	n->parent = sc->parent;
	n->text = strdup(fus_safe_text(safe, sizeof(safe), e->name, len, fus_utf8_output()));
	if (!n->text) {
		sc->rc = no_memory();
		return DIRENT_ABORT;
	}
	sc->nr++;
	return 0;
}

static int by_inode(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

static void read_names(struct scan *sc)
{
	const ext2_ino_t last = sc->fs->super->s_inodes_count;

	for (ext2_ino_t ino = EXT2_ROOT_INO; ino <= last && !sc->rc; ino++) {
		fus_progress_at(ino, NULL);
		if (!ext2fs_test_inode_bitmap2(sc->dir, ino))
			continue;
		sc->parent = ino;
		if (ext2fs_dir_iterate(sc->fs, ino, 0, NULL, look_at_entry, sc))
			sc->unknown->directories++;
	}
	if (sc->nr)
		qsort(sc->name, sc->nr, sizeof(*sc->name), by_inode);
}

static const struct name *find_name(const struct scan *sc, ext2_ino_t ino)
{
	const struct name key = { .ino = ino };

	return sc->nr ? bsearch(&key, sc->name, sc->nr, sizeof(key), by_inode) : NULL;
}

/* "/a/b", or "?/b" where a directory is not known; built from the end. */
static const char *path_of(const struct scan *sc, const struct name *n, char *buf, size_t size)
{
	char *p = buf + size - 1;

	*p = 0;
	for (int depth = 0; n && depth < MAX_DEPTH; depth++) {
		size_t len = strlen(n->text);

		if ((size_t)(p - buf) < len + 3)
			break;
		p -= len;
		memcpy(p, n->text, len);
		*--p = '/';
		if (n->parent == EXT2_ROOT_INO)
			return p;
		n = find_name(sc, n->parent);
	}
	*--p = '?';
	return p;
}

static void tell_hits(const struct scan *sc, hit_fn fn, void *ctx)
{
	static char buf[64 * 1024];
	ext2_ino_t ino = 0;

	/* every name of it, hard links included */
	for (size_t i = 0; i < sc->nr; i++) {
		if (ext2fs_test_inode_bitmap2(sc->hit, sc->name[i].ino))
			fn(ctx, path_of(sc, &sc->name[i], buf, sizeof(buf)), sc->name[i].ino);
	}
	for (ino = EXT2_ROOT_INO; ino <= sc->fs->super->s_inodes_count; ino++) {
		if (!ext2fs_test_inode_bitmap2(sc->hit, ino) || find_name(sc, ino))
			continue;
		snprintf(buf, sizeof(buf), "%s", ino == EXT2_ROOT_INO ? "/" : "?");
		fn(ctx, buf, ino);
	}
}

/* --------------------------------------------------------------------------------------------- */

int fus_salvage_ext(const char *path, const struct salvage *s, hit_fn fn, void *ctx,
		    struct files_unknown *unknown)
{
	struct scan sc = { .s = s, .unknown = unknown };
	errcode_t err;

	err = open_fs(path, &sc.fs);
	if (err)
		return fus_fail(FC_FAILED, path, "no ext2, ext3 or ext4 file system that can be "
				"read is on it; mount others and give the mount point");
	unknown->journal = ext2fs_has_feature_journal_needs_recovery(sc.fs->super);
	err = ext2fs_allocate_inode_bitmap(sc.fs, "hit", &sc.hit);
	if (!err)
		err = ext2fs_allocate_inode_bitmap(sc.fs, "dir", &sc.dir);
	fus_progress_begin("reading the inodes", &fus_progress_inodes,
			   sc.fs->super->s_inodes_count);
	if (!err)
		err = scan_inodes(&sc);
	if (!err) {
		fus_progress_begin("reading the directories", &fus_progress_inodes,
				   sc.fs->super->s_inodes_count);
		read_names(&sc);
		fus_progress_end();
		tell_hits(&sc, fn, ctx);
	} else {
		sc.rc = fus_fail(FC_FAILED, path, "cannot read its inodes; see e2fsck -n");
	}
	for (size_t i = 0; i < sc.nr; i++)
		free(sc.name[i].text);
	free(sc.name);
	if (sc.hit)
		ext2fs_free_inode_bitmap(sc.hit);
	if (sc.dir)
		ext2fs_free_inode_bitmap(sc.dir);
	ext2fs_close(sc.fs);
	fus_progress_end();
	return sc.rc;
}
