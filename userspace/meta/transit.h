/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A disk that becomes a member of a new set with its content, of which only a small part is copied:
 * to the other member go the extents where the disk gets its superblocks and its part of the
 * metadata, those of its last slots, which have to be spares, those behind its slots, and those
 * that have a signature of the content. All others stay where they are.
 *
 * transit.c		what goes where, and how far it has got
 * transit-compare.c	what was copied, compared with the disk and with its checksum
 * transit-move.c	the steps that write
 * transit-release.c	the way back, of any set: the slow member becomes a disk with the content
 *
 * The steps: fus_transit_prepare() writes the other member only, whose superblocks say from the
 * start that the set is in transit. fus_transit_commit() erases the signatures on the disk, one
 * after the other. With the last one, the content is in the set and no longer on the disk.
 * fus_transit_finish() makes the disk a member, and ends the transit. Before the commit, the disk
 * may be mounted and written to, so a preparation that was interrupted is worth nothing. After it,
 * no program recognises the disk.
 *
 * A release begins with a set whose extents are where an adoption would have them, or unmapped:
 * homing.h. fus_release_begin() puts it in transit, fus_release_finish() writes what lies on the
 * fast member to the disk, the signatures last. Until the last one is there, the fast member has
 * all that is needed for either way.
 */
#ifndef TRANSIT_H
#define TRANSIT_H

#include "meta.h"

struct fus_content;

/* Extents in a row that go to slots in a row. */
struct transit_range {
	u32 lext, nr;
	u32 at;			/* number of the first one among all that go */
};

struct transit {
	struct fusion_sb sb;	/* of the other member */
	int disk, other;		/* FAST or SLOW */
	u32 content;		/* extents of the disk, the last one perhaps in part */
	struct transit_range range[FUSION_MAX_MAGICS + 2];
	unsigned int nr_ranges;
	u32 moved;		/* extents in them */
	struct offline o[FUSION_NR_DEVS];
	u64 generation[FUSION_NR_DEVS];	/* of the superblock to be written next */
	bool marked;		/* the disk has a superblock of the set */
	u32 gone;		/* signatures that are erased */
	u32 *word;		/* of a set that is released: its map, or NULL */
	bool whole;		/* the disk has all content again, and signatures that tell so */
};

/* How far it has got. */
enum transit_at {
	TRANSIT_THERE,		/* the disk has its content, and may have been in use since */
	TRANSIT_SOME,		/* some of its signatures are erased, nothing else has changed */
	TRANSIT_GONE,		/* all are, or it is released: the content is in the set */
};

/* -- transit.c ---------------------------------------------------------------------------- */

/*
 * Decide what goes where. @fast: planned superblock of the fast member, perhaps with a landing log.
 * @disk: the member that the disk becomes. Return: whether the other member has room for what has
 * to go there; t->moved and fus_transit_room() tell.
 */
bool fus_transit_plan(struct transit *t, const struct fusion_sb *fast, int disk,
		      const struct fus_content *content);
/* The same of a set that exists, @fast is the superblock of its fast member: the way back. */
bool fus_release_plan(struct transit *t, const struct fusion_sb *fast,
		      const struct fus_content *content);
/* Extents for which the other member has room. */
u32 fus_transit_room(const struct transit *t);
/* The place of an extent in the set. */
u32 fus_transit_word(const struct transit *t, u32 lext);
/* The places of @nr extents. */
void fus_transit_words(const struct transit *t, u32 lext, u32 nr, u32 *words);
/* Return: whether it is one of those that go. */
bool fus_transit_goes(const struct transit *t, u32 lext);
/* The extent with the number @nr among those that go, and its first sector on the other member. */
u32 fus_transit_lext(const struct transit *t, u32 nr);
u64 fus_transit_copy_sector(const struct transit *t, u32 nr);
/* The superblock of a member, in transit, and as it is when that has ended. */
void fus_transit_sb(const struct transit *t, int dev, struct fusion_sb *sb);
void fus_transit_sb_after(const struct transit *t, int dev, struct fusion_sb *sb);

/*
 * Read how far it has got. On entry, t->o[0] is the disk and t->o[1] the other member; then they
 * are in the order of their roles. Fails if they are not what they are said to be, or if it is not
 * of this kind. The disk of a set that is released is not looked at.
 */
int fus_transit_read(struct transit *t, enum fusion_transit_kind kind);
/*
 * After that: how far it has got. Fails if the disk is not the one that was copied, or has been
 * changed when some of its signatures were erased. Of a disk that has signatures again its content
 * has to tell.
 */
int fus_transit_judge(const struct transit *t, enum transit_at *at);
/* Return: whether signatures are there that were erased, since a program has repaired them. */
bool fus_transit_again(const struct transit *t);

/* The copy of a sector of the disk that was copied, and its byte on the other member. */
u64 fus_transit_copy_place(const struct transit *t, u64 sector);
int fus_transit_copy_of(const struct transit *t, u64 sector, u8 data[512]);
/* Sectors of the disk are written alone, so that a torn write leaves all others as they are. */
int fus_transit_get_magic(const struct transit *t, u64 sector, u8 data[512]);
int fus_transit_put_magic(const struct transit *t, u64 sector, const u8 data[512]);

/* -- transit-compare.c ---------------------------------------------------------------------- */

/* Compare the disk with the copies, except where a step changes it; *same is the result. */
int fus_transit_compare(const struct transit *t, bool *same);
/* Check the copies against their checksum. */
int fus_transit_check_copies(const struct transit *t);
/* Both of these, with each copy read once. */
int fus_transit_check_both(const struct transit *t, bool *same);

/* The copy with the number @nr, as large as an extent. */
int fus_transit_get_copy(const struct transit *t, u32 nr, u8 *buf);
/* Zero the sectors with signatures in the content of an extent. */
void fus_transit_blank_magics(const struct transit *t, u32 lext, u8 *buf);

/* -- transit-move.c ------------------------------------------------------------------------- */

/* The content of an extent of the disk, with zeros behind its end. */
int fus_transit_get_extent(const struct transit *t, u32 lext, u8 *buf);
/* Fails after a message about an I/O error. */
int fus_transit_failed(const struct transit *t, int dev, const char *what, int err);

/* Only say what is to be done at the next boot. */
int fus_transit_write_plan(struct transit *t);
int fus_transit_prepare(struct transit *t);
int fus_transit_commit(struct transit *t);
int fus_transit_finish(struct transit *t);
/* Go on after an interruption, with TRANSIT_SOME or TRANSIT_GONE. */
int fus_transit_resume(struct transit *t, enum transit_at at);
/* Give the disk its content back; the other member is no longer one. */
int fus_transit_undo(struct transit *t);
/* The disk has its content: the other member is no longer one. */
int fus_transit_discard(struct transit *t);

/* Parts of these: both copies of a superblock; zeros; all copied extents but the signatures. */
int fus_transit_put_supers(struct transit *t, int dev, bool in_transit);
int fus_transit_zero(const struct transit *t, int dev, u64 offset, u64 end);
int fus_transit_put_back(const struct transit *t, bool verify);
int fus_transit_put_magics_back(const struct transit *t);
int fus_transit_flush(const struct transit *t, int dev);
/* All but the data slots of the disk, and its superblocks; then it is no longer in transit. */
int fus_transit_put_member(struct transit *t);

/* -- transit-release.c ---------------------------------------------------------------------- */

/*
 * Put a set in transit that is closed, and whose extents are where fus_release_plan() wants them;
 * @supers are the superblocks of its members.
 */
int fus_release_begin(struct transit *t, const struct fusion_sb *const supers[2]);
/* Before it: zeros behind the slots of the disk. If it cannot be written there, that shows now. */
int fus_release_clear(const struct transit *t);
/* Does the fast member say that its set is in transit? Without a message. */
enum release_begun { RELEASE_NOT_BEGUN, RELEASE_BEGUN, RELEASE_UNKNOWN };
enum release_begun fus_release_begun(const struct offline *fast);
/* After that, or after an interruption with TRANSIT_GONE: make the slow member a plain disk. */
int fus_release_finish(struct transit *t);
/* The same, but the fast member is not wiped yet. Even if it fails, t->whole may be set. */
int fus_release_write(struct transit *t);
/* The disk is a plain one: nothing on the fast member is needed any more. */
int fus_release_wipe(struct transit *t);
/* With TRANSIT_GONE: make it a closed set again. */
int fus_release_undo(struct transit *t);

#endif
