/* SPDX-License-Identifier: GPL-2.0-only */
/* Verb where: on which member files lie. where.c is the verb. */
#ifndef WHERE_H
#define WHERE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "below.h"
#include "file-extents.h"
#include "placement.h"
#include "seen.h"

/* A mounted file system on a set. */
struct volume {
	struct volume *next;
	struct file_system fs;
	struct below *below;
	struct placement placement;
	struct seen blocks;	/* those counted that may be shared */
	struct links *links;	/* inodes with several names */
};

/* What a file, or all below a directory, lies on. In bytes. */
struct tally {
	uint64_t files;
	uint64_t bytes;			/* sizes of the files */
	uint64_t at[NR_PLACES];		/* on the set */
	uint64_t elsewhere;		/* on a disk that is not of the set */
	uint64_t holes;
	uint64_t inlined;		/* in metadata */
	uint64_t pending;		/* not written yet */
	uint64_t unknown;		/* the file system does not tell */
	uint64_t shared;		/* were counted with another file */
	uint64_t heat;			/* that of extents, times bytes */
};

struct where_row {
	char *path;
	bool directory;
	const struct volume *volume;
	struct tally sum;
};

struct where {
	struct volume *volumes;
	bool backwards;		/* a row for each file that lies on these extents, and only there */
	uint64_t first, last;
	struct where_row *row;
	size_t nr;
	uint64_t unread;	/* files and directories that cannot be read */
};

/* Count what is at @path; a row for it, and with @tree for each directory below. */
int where_count(struct where *w, const char *path, bool tree);
/* Count what lies on the extents of w->backwards, in all mounted file systems on the set. */
int where_files_on(struct where *w, const char *set);
void where_free(struct where *w);

void tally_add(struct tally *sum, const struct tally *t);
/* Mean heat, of what has any. */
double tally_heat(const struct tally *t);

/* Sort the rows: "size", "fast", "slow", "heat", greatest first, or "name". */
int where_sort(struct where *w, const char *key);
void where_table(const struct where *w);
void where_json(const struct where *w);

#endif
