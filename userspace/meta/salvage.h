/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What one member alone still has of a set.
 *
 * salvage-plan.c	which sectors of the set are intact, and where
 * salvage-fs.c		can its file system be mounted?
 * salvage-ext.c	files of an ext2, ext3 or ext4 file system that are hit
 * salvage-mount.c	files of a mounted file system that are hit
 * salvage.c		verb salvage
 */
#ifndef SALVAGE_H
#define SALVAGE_H

#include <stdbool.h>

#include "meta.h"

enum part_kind {
	PART_INTACT,		/* on this member */
	PART_EMPTY,		/* never written: reads as zeros */
	PART_LOST,		/* was on the other member, or nobody knows where */
	PART_UNKNOWN,		/* not written when the replica last was; since then perhaps */
	NR_PARTS,
};

extern const char *const fus_part_name[NR_PARTS];

/* Sectors of the set, one behind the other and covering it. */
struct part {
	u64 start, nr;
	u64 where;		/* PART_INTACT: sector of the member */
	enum part_kind kind;
};

struct salvage {
	struct part *part;
	size_t nr;
	u64 sectors[NR_PARTS];
	struct part *stale;	/* lost ones of which an older version is there, by start */
	size_t nr_stale;
	bool current;		/* nothing is unknown */
};

/* What the member @dev of @meta has; @rb was rebuilt from it. */
int fus_salvage_plan(const struct meta *meta, const struct rebuild *rb, struct salvage *s);
void fus_salvage_free(struct salvage *s);
/* The part that has this sector; NULL beyond the end. */
const struct part *fus_salvage_part(const struct salvage *s, u64 sector);
/* Does a range of bytes of the set touch what is lost or unknown? */
bool fus_salvage_hit(const struct salvage *s, u64 byte, u64 bytes);

enum can_mount { MOUNT_NO, MOUNT_MAYBE, MOUNT_YES };

struct mountable {
	enum can_mount can;
	char type[32];		/* of the file system, or what else is there; "" if not known */
	char why[256];
};

/*
 * Could what is left be mounted? @o is the member, @zero: what is unknown reads as zeros, @lost:
 * role of the other member. Return: 0, or after a message.
 */
int fus_salvage_mountable(const struct salvage *s, const struct offline *o, bool zero,
			  const char *lost, struct mountable *m);

/* A file that is hit; path is safe to print. */
typedef void (*hit_fn)(void *ctx, const char *path, u64 inode);

/* What can't be judged, since the metadata of the file system is hit itself. */
struct files_unknown {
	u64 inodes;		/* in blocks that can't be read */
	u64 files;		/* whose list of blocks can't be read */
	u64 directories;	/* that can't be read: names below are missing */
};

int fus_salvage_ext(const char *path, const struct salvage *s, hit_fn fn, void *ctx,
		    struct files_unknown *unknown);
int fus_salvage_mount(const char *path, const struct salvage *s, hit_fn fn, void *ctx,
		      struct files_unknown *unknown);

#endif
