/* SPDX-License-Identifier: GPL-2.0-only */
/* Verb where: on which member files lie. where.c is the verb. */
#ifndef WHERE_H
#define WHERE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "below.h"
#include "file-extents.h"
#include "placement.h"
#include "seen.h"

struct stat;

/* A mounted file system on a set. */
struct volume {
	struct volume *next;
	struct file_system fs;
	struct below *below;
	struct placement placement;
};

/*
 * What a file, or all below a directory, lies on. In bytes, and all of one type: tally_add().
 */
struct tally {
	uint64_t files;
	uint64_t bytes;			/* sizes of the files */
	uint64_t at[NR_PLACES];		/* on the set */
	uint64_t pinned[2];		/* of these, to each member */
	uint64_t logged;		/* of those on the slow member: newer in the landing log */
	uint64_t elsewhere;		/* on a disk outside the set */
	uint64_t holes;
	uint64_t inlined;		/* in metadata */
	uint64_t pending;		/* not written yet */
	uint64_t unknown;		/* the file system does not tell */
	uint64_t shared;		/* counted with another file already */
	uint64_t heat;			/* that of extents, times sectors */
};

struct where_row {
	char *path;
	bool directory;
	const struct volume *volume;
	struct tally sum;
};

/* Numbers of inodes, which each subvolume has for itself. */
struct inodes {
	struct inodes *next;
	dev_t st_dev;
	struct seen seen;
};

/* What has been counted below one path, and counts once. */
struct counted {
	struct seen blocks;	/* those that may be shared */
	struct inodes *inodes;	/* those with several names, and directories */
};

struct where {
	struct volume *volumes;
	/* a row for each file that lies on these bytes of the set; they alone count */
	bool backwards;
	uint64_t first, last;
	struct counted counted;	/* of all paths, if backwards */
	/* or NULL; then it is called with the bytes on each extent, which is not looked for */
	int (*each)(void *ctx, uint64_t extent, uint64_t bytes);
	/* or NULL; then it is called before the extents of a file, with its path */
	void (*begin)(void *ctx, const char *path);
	void *ctx;
	struct where_row *row;
	size_t nr;
	uint64_t unread;	/* files and directories that cannot be read */
};

/* Count what is at @path; a row for it, and with @tree for each directory below. */
int where_count(struct where *w, const char *path, bool tree);
/*
 * Count what lies on the extents first to last of a set, or on these sectors, in all mounted file
 * systems on it.
 */
int where_files_on(struct where *w, const char *set, bool sectors, uint64_t first, uint64_t last);
void where_free(struct where *w);

/* Find the volume of a path, or open it; its stat() has @st_dev. */
int where_volume(struct where *w, const char *path, dev_t st_dev, struct volume **v);

/* Return: 1 if the inode is new, 0, or -ENOMEM. */
int where_new_inode(struct counted *c, const struct stat *st);
void where_counted_free(struct counted *c);
/*
 * Count one file, which has @st; with @follow @path may be a link. Return: 0; -ENOENT also if
 * another one is there now; -errno; or an exit code, if the kernel does not tell the places.
 */
int where_file(const struct where *w, struct volume *v, struct counted *counted, const char *path,
	       const struct stat *st, bool follow, struct tally *t);
/* Return: whether anything lies on the set. */
bool tally_on_set(const struct tally *t);
void tally_add(struct tally *sum, const struct tally *t);
/* Mean heat, of what has any. */
double tally_heat(const struct tally *t);

/* Sort the rows: "size", "fast", "slow", "heat", greatest first, or "name". */
int where_sort(struct where *w, const char *key);
/* These, one after the other, and the order that each gives; NULL after the last. */
const char *where_sort_key(size_t i, const char **means);
void where_table(const struct where *w);
void where_json(const struct where *w);

int where_no_memory(void);

#endif
