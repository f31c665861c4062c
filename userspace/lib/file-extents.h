/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The blocks of files: file-extents.c for file systems with FIEMAP, btrfs-extents.c and
 * btrfs-chunks.c for btrfs.
 */
#ifndef FILE_EXTENTS_H
#define FILE_EXTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What a part of a file is on. */
enum file_part {
	FILE_BLOCKS,		/* blocks of its own, which may be unwritten yet */
	FILE_INLINE,		/* metadata of the file system */
	FILE_PENDING,		/* memory: it is not written yet */
	FILE_UNKNOWN,		/* the file system does not tell */
};

struct file_extent {
	enum file_part part;
	uint64_t logical, bytes;	/* in the file */
	uint64_t at, on_disk;		/* FILE_BLOCKS: bytes of the device; fewer if compressed */
	bool shared;			/* perhaps with other files */
};

/* Return: whether to go on. */
typedef bool file_extent_fn(void *ctx, const struct file_extent *e);

/* A mounted file system. */
struct file_system {
	char type[16];		/* "ext4" */
	dev_t st_dev;		/* of the path that it was opened by */
	dev_t also;		/* another one that is known to be of it, or 0 */
	dev_t devno;		/* the device it lies on, or 0 */
	unsigned int block_bytes;
	struct btrfs_chunks *chunks;	/* or NULL */
	/* the last answer of fus_file_system_has() that took a search */
	dev_t asked;
	bool asked_is;
};

/*
 * The file system of @path. One is refused whose type is not known to report addresses on its
 * device, and one without a device. It is to be closed, also if this has failed.
 */
int fus_file_system_open(const char *path, struct file_system *fs);
/* The same for one of any type, even without a device: what FIEMAP says of it is taken as it is. */
int fus_any_file_system_open(const char *path, struct file_system *fs);
void fus_file_system_close(struct file_system *fs);
/*
 * Return: whether it has @path, whose stat() has that @st_dev. Those of btrfs have several, one for
 * each subvolume.
 */
bool fus_file_system_has(struct file_system *fs, const char *path, dev_t st_dev);

/* Call @fn for each part of an open file that is no hole, in their order. Return: 0 or -errno. */
int fus_file_extents(const struct file_system *fs, int fd, file_extent_fn *fn, void *ctx);

/* -- btrfs ------------------------------------------------------------------------------------ */

/* Read where its chunks lie. @path: something on it. */
int fus_btrfs_open(const char *path, int fd, struct btrfs_chunks **chunks);
void fus_btrfs_close(struct btrfs_chunks *chunks);
/*
 * The byte of the device for one of btrfs' own addresses; *@run: so many bytes follow. Return:
 * false if no chunk has it.
 */
bool fus_btrfs_find(const struct btrfs_chunks *chunks, uint64_t address, uint64_t *at,
		    uint64_t *run);
/* As fus_file_extents() */
int fus_btrfs_extents(const struct btrfs_chunks *chunks, int fd, file_extent_fn *fn, void *ctx);

/* An answer of the kernel's search in a tree of btrfs, and the place in it. */
struct btrfs_items {
	int fd;
	struct btrfs_ioctl_search_args_v2 *args;
	size_t buf_size;
	const char *next;
	unsigned int left;
};

/* Look in @tree, 0 for that of the file itself, for items of one type of one object. */
int fus_btrfs_items_begin(struct btrfs_items *it, int fd, uint64_t tree, uint64_t object,
			  uint32_t type);
void fus_btrfs_items_end(struct btrfs_items *it);
/* The next one. Return: 1; 0 at the end; -errno. @data is not aligned. */
int fus_btrfs_items_next(struct btrfs_items *it, uint64_t *offset, const void **data,
			 uint32_t *bytes);

#endif
