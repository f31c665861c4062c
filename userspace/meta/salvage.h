/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The data of a set that one member alone still has.
 *
 * salvage-plan.c	the intact sectors of the set, and their places
 * salvage-stale.c	the blocks of it that are older than those in a landing log
 * salvage-fs.c		whether its file system can be mounted
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
	PART_SHADOW,		/* was on the other member; here is what it had at a known time */
	PART_LOST,		/* was on the other member, or its place is unknown */
	PART_UNKNOWN,		/* not written as of the last replica, but perhaps since */
	NR_PARTS,
};

extern const char *const fus_part_name[NR_PARTS];

/* Parts of the set in order, which cover all of it. */
struct part {
	u64 start, nr;
	u64 where;		/* sector of the member, if fus_part_is_here() */
	enum part_kind kind;
};

static inline bool fus_part_is_here(enum part_kind kind)
{
	return kind == PART_INTACT || kind == PART_SHADOW;
}

/* What a slow member says of blocks whose newest version was in the landing log. */
struct salvage_landing {
	bool log;		/* the set has a landing log; otherwise the rest is 0 */
	bool known;		/* there is a stale list */
	bool whole;		/* all of that could be read */
	bool exact;		/* the set was closed with it, so nothing is missing */
	u64 time;		/* of the list, in s since 1970: what landed later is missing */
	u64 blocks;		/* in it, of intact areas: these are lost, and among the stale */
};

/* The set was closed, and nothing was in the log. */
static inline bool fus_salvage_log_empty(const struct salvage_landing *l)
{
	return l->exact && l->whole && !l->blocks;
}

struct salvage {
	struct part *part;
	size_t nr;
	u64 sectors[NR_PARTS];
	struct part *stale;	/* lost parts with an older version, by start */
	size_t nr_stale;
	bool current;		/* nothing is unknown */
	struct salvage_landing landing;
	u64 point;		/* the time of PART_SHADOW, in s since 1970; 0: unknown */
};

/* List what the member @dev of @meta has; @rb was rebuilt from it. */
int fus_salvage_plan(const struct meta *meta, const struct rebuild *rb, struct salvage *s);
void fus_salvage_free(struct salvage *s);
/* Take away what the slow member has of blocks that are stale; fus_salvage_plan() does that. */
int fus_salvage_landing(const struct meta *meta, struct salvage *s);
/* Add a part behind the others, or an older version of a lost one. Return: as these. */
int fus_salvage_add(struct salvage *s, u64 start, u64 sectors, enum part_kind kind, u64 where);
int fus_salvage_add_stale(struct salvage *s, u64 start, u64 sectors, u64 where);
/* The part that has this sector; NULL beyond the end. */
const struct part *fus_salvage_part(const struct salvage *s, u64 sector);
/* Return: whether a range of bytes of the set touches a lost or unknown area. */
bool fus_salvage_hit(const struct salvage *s, u64 byte, u64 bytes);

enum can_mount { MOUNT_NO, MOUNT_MAYBE, MOUNT_YES };

struct mountable {
	enum can_mount can;
	char type[32];		/* type of the file system, or of other content; "" if unknown */
	char why[256];
};

/*
 * Find out whether the rest can be mounted. @o is the member, @zero: unknown areas read as zeros,
 * @lost: role of the other member. Return: 0, or after a message.
 */
int fus_salvage_mountable(const struct salvage *s, const struct offline *o, bool zero,
			  const char *lost, struct mountable *m);

/* A file that is hit; path is safe to print. */
typedef void (*hit_fn)(void *ctx, const char *path, u64 inode);

/* What cannot be judged: mostly because the metadata of the file system is hit itself. */
struct files_unknown {
	u64 inodes;		/* in unreadable blocks */
	u64 files;		/* whose list of blocks cannot be read */
	u64 directories;	/* unreadable, so names below are missing */
	bool journal;		/* is not replayed, so files of the last seconds may be missing */
};

int fus_salvage_ext(const char *path, const struct salvage *s, hit_fn fn, void *ctx,
		    struct files_unknown *unknown);
int fus_salvage_mount(const char *path, const struct salvage *s, hit_fn fn, void *ctx,
		      struct files_unknown *unknown);

#endif
