/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The metadata of a closed set: read completely, checked, and rewritten. The verbs check, dump,
 * restore, repair and salvage are built on it.
 *
 * offline.c		members: block devices, or images of them in files
 * meta-open.c		which members are meant
 * meta-hold.c		no other process opens them meanwhile
 * report.c		findings: report.h
 * meta-read.c		everything on the members, block by block
 * meta-unknown.c	superblocks that a verb does not know
 * meta-state.c		the place of each extent: a map copy and the journal after it
 * meta-shadow.c	shadows, which the replica names instead of a fast slot: meta-shadow.h
 * meta-landing.c	the landing log: meta-landing.h
 * log-drain.c		what it has, as the content of extents, and written to these
 * meta-stale.c		what the slow member says of it: meta-stale.h
 * meta-journal.c	the transactions in a ring, each by itself
 * meta-past.c		a member from an earlier time than the other
 * meta-check.c		every invariant
 * meta-rebuild.c	a state rebuilt from what is left
 * meta-replica.c	what the replica tells of it
 * meta-base.c		the map copy that this begins with: meta-base.h
 * meta-gap.c		without a superblock: what may be missing
 * meta-write.c		a state, written so that the old one holds until the end
 * meta-opens.c		the bitmaps of open extents
 * transit.c		a disk that becomes a member without being copied: transit.h
 * transit-compare.c	its copies, compared with the disk
 * transit-move.c	the steps of that which write
 * transit-release.c	the way back: the slow member becomes a plain disk
 * homing.c		before that: every extent goes to its place on the disk: homing.h
 * window.c		the content of a closed set, as far as libblkid looks at it
 * settings-closed.c	settings of a closed set: settings-closed.h
 * old-member.c		the disks of a member that is replaced: old-member.h
 * landing-change.c	another size of the landing log: landing-change.h
 * lost.c		a set whose fast member is lost goes on with another one: lost.h
 * new-uuid.c		another uuid for a closed set: new-uuid.h
 * new-uuid-write.c	the steps of that
 * salvage-*.c		the data on one member alone: salvage.h
 *
 * Except for meta-hold.c, none of it uses the device mapper or asks questions, so tests can use it
 * as the verbs do. Each member has two map copies and a journal of the same kind; those of the slow
 * member are the replica (dm-fusion-format.h).
 */
#ifndef META_H
#define META_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/string.h>

#include "meta-landing.h"
#include "report.h"

/* -- offline.c ------------------------------------------------------------------ */

/* A member, opened exclusively. */
struct offline {
	const char *path;	/* as given, owned; NULL if the member is missing */
	int fd;
	uint64_t sectors;
	unsigned int block_bytes;	/* of a logical block; 512 of an image */
	bool file;		/* an image */
	dev_t devno;		/* of the device, or of the file system of the image */
	ino_t ino;		/* of the image, otherwise 0 */
};

/* Return: whether @path may be a member. *file: it is an image. */
bool fus_path_kind(const char *path, bool *file);

enum offline_use {
	OFFLINE_READ,
	OFFLINE_WRITE,
	OFFLINE_READ_BESIDE,	/* next to devices that salvage made of it, its only users */
	OFFLINE_WRITE_HELD,	/* that of an open set, which is suspended while it is written */
};

/* Open a member. A device that is mounted, held or part of an open set is refused, unless @use. */
int fus_offline_open(const char *path, enum offline_use use, struct offline *o);
void fus_offline_close(struct offline *o);
/* Read whole blocks, or less at the end of a device; 0 or -errno. @buf is aligned. */
int fus_offline_read(const struct offline *o, u64 offset, size_t bytes, void *buf);
int fus_offline_write(const struct offline *o, u64 offset, size_t bytes, const void *buf);
int fus_offline_sync(const struct offline *o);
/* Return: whether the path leads to it. */
bool fus_same_storage(const struct offline *o, const char *path);
/* Memory for them, zeroed, whole blocks; NULL after a message. To be freed. */
void *fus_offline_buffer(size_t bytes);

/* -- meta-hold.c ------------------------------------------------------------------ */

struct meta;

/*
 * Call before the members are written: the set cannot be assembled until fus_run_unlock(). Fails if
 * another machine uses the set.
 */
int fus_meta_hold(const struct meta *meta, int *lock);
/* After it: as if the set had been open and closed. */
void fus_meta_keep_closed(const struct meta *meta);
/* And the backup of its geometry, except of images, which may be copies from any time. */
void fus_meta_backup(const struct meta *meta);

/* -- meta-read.c -------------------------------------------------------------------- */

/* One of the two copies of a superblock. */
struct meta_copy {
	int err;		/* 0, or of fusion_sb_unpack(), or -EIO */
	const char *why;
	struct fusion_sb sb;	/* if err is 0 or -ENOSPC; for fusion_sb_unknown() otherwise */
};

/* A block of a map copy that is valid in itself, or its fault. */
struct meta_block {
	const char *why;	/* NULL: valid */
	bool unreadable;
	u64 generation;
};

struct meta_set {
	struct meta_block *block;
	u32 *word;		/* nr_lexts of them; unmapped where the block is not valid */
};

/* The ring of a journal. */
struct meta_ring {
	u8 *block;		/* the contents; unreadable blocks are zero */
	bool *unreadable;
	u64 max_seq;		/* greatest numbers in any valid block */
	u64 max_txn;
	u32 max_epoch;
	struct fusion_progress peer_at;	/* how far the other member has got, at least */
	u64 kernel_seq;		/* like max_seq, of blocks with a claim: not those of a tool */
};

struct meta_member {
	struct offline o;
	struct meta_copy copy[2];
	int best;		/* the copy that counts, or -1 */
	struct meta_set set[FUSION_NR_SETS];
	struct meta_ring ring;
	struct meta_block *heat_block;	/* fast member only */
	u16 *heat;
};

struct meta {
	struct meta_member m[2];
	/*
	 * Identity and geometry, as each member has them. FUSION_INCOMPAT_SHADOW is always set for
	 * the slow member, and for it alone: blocks from before, with shadows in them, can be read
	 * whatever its superblock says, or without one. fus_state_load() goes by the superblock.
	 */
	struct fusion_sb geo[2];
	bool known;		/* geo is filled in; if not, the rest is empty */
	/*
	 * The set has shrunk, and the slow member lags: its superblock as it is. What counts of it,
	 * fus_meta_sb(), has the geometry of the fast member, beyond which the replica names
	 * nothing: the slow member was closed cleanly before.
	 */
	bool shrunk;
	struct fusion_sb before;
	bool landing;		/* sets with a landing log are known; for most verbs they are not */
};

/*
 * Read everything on the members that are open in meta->m[].o. Unreadable and invalid blocks are
 * part of the result. Return: 0, or after a message.
 */
int fus_meta_read(struct meta *meta);
/* Read it again, as a part of other work: with that one's progress. */
int fus_meta_read_again(struct meta *meta);

/* -- meta-unknown.c ------------------------------------------------------------------ */

/*
 * A copy from a version that this one does not know, or NULL. One is enough: see
 * fusion_sb_unpack().
 */
const struct meta_copy *fus_meta_unknown_copy(const struct meta_member *m);
/* The fault of a copy that is not valid, perhaps in @text, of FUSION_UNKNOWN_TEXT bytes. */
const char *fus_meta_copy_why(const struct meta_copy *c, char *text);
/*
 * Return: whether a member is of another version. Then @text, of FUSION_UNKNOWN_TEXT bytes, names
 * it.
 */
bool fus_meta_is_unknown(const struct meta_member *m, char *text);
/* Return: whether it is one of a set in transit, which only adopt or release may write. */
bool fus_meta_in_transit(const struct meta_member *m);
/* Return: whether the device has a valid block of this member, other than a superblock. */
bool fus_meta_has_blocks(const struct meta *meta, int dev);
/* Fails if either is of another version, or in transit. */
int fus_meta_refuse_unknown(const struct meta *meta);

/* The same of the superblocks only. */
int fus_meta_read_supers(struct meta *meta);
/*
 * The same, but identity and geometry are those of @geo, a fast superblock; superblocks of other
 * members do not count.
 */
int fus_meta_read_as(struct meta *meta, const struct fusion_sb *geo);
/* Free all of it and close the members. */
void fus_meta_free(struct meta *meta);

/* The superblock of the member that counts, or NULL. */
const struct fusion_sb *fus_meta_sb(const struct meta *meta, int dev);
/*
 * The set has been resized, and the slow member still says how large it was before: see
 * fusion_sb_match(). Its geometry in struct meta is the new one.
 */
bool fus_meta_slow_lags(const struct meta *meta);
/*
 * A superblock of the slow member with the geometry from before, if it lags: that of the words and
 * records of the replica. Otherwise @sb.
 */
const struct fusion_sb *fus_meta_bounds(const struct meta *meta, const struct fusion_sb *sb);
/*
 * Has the geometry in struct meta all that this superblock has, in the same places? If not, the
 * metadata of that member was read as if it were another one's.
 */
bool fus_meta_covers(const struct meta *meta, const struct fusion_sb *sb);
/* A member's superblock turned into that of the other member, without FUSION_INCOMPAT_SHADOW. */
void fus_sb_of_peer(const struct fusion_sb *sb, struct fusion_sb *peer);

/* -- meta-open.c --------------------------------------------------------------------- */

/*
 * Open and read the members that are meant: two devices or images, or one, or the name or
 * uuid of a set; the partner of a device is looked for. A member that is not found is left
 * out: meta->m[].o.fd is -1.
 */
int fus_meta_open(int nr, char **word, bool writable, struct meta *meta);
/* The same, and a set may have a landing log. */
int fus_meta_open_landing(int nr, char **word, bool writable, struct meta *meta);
/* The same, only to look at it. */
int fus_meta_open_to_look(int nr, char **word, struct meta *meta);
/* The same, but read the superblocks only. */
int fus_meta_open_supers(int nr, char **word, bool writable, struct meta *meta);
/* Fails if one is of a disk that is no member yet, or no longer. */
int fus_meta_refuse_apart(const struct meta *meta);
/* Fails if a member is being replaced; @verb: "restored". */
int fus_meta_refuse_old(const struct meta *meta, const char *verb);
/* Fails if extents may be lost, by the superblocks. */
int fus_meta_refuse_lost(const struct meta *meta, const char *verb);
/* One or two members by their paths, without reading them; the rest of *meta is left alone. */
int fus_open_members(const char *const path[2], bool writable, struct meta *meta);

/* -- meta-state.c --------------------------------------------------------------------- */

/* An OPEN extent with its bitmap. */
struct meta_open {
	u32 lext;
	u32 word;
	bool lost;		/* blocks that are not valid are lost; otherwise they are zeros */
	u8 bitmap[FUSION_MAX_EXTENT_SECTORS / FUSION_BLOCK_SECTORS / 8];
};

/* The place of each extent; in the replica, fusion_names_shadow() may be true of a word. */
struct meta_state {
	u32 *word;
	u32 nr_lexts;
	struct meta_open **open;	/* by lext */
	u32 nr_open;
	u64 next_seq, next_txn;		/* where the journal continues, */
	u32 next_csum;			/* if it ends in order */
	u64 nr_records;
	u64 point;		/* when the replica was brought up to date last, in s since 1970 */
	struct meta_log log;
};

/* Return: whether an extent lies on the member that is being replaced. */
static inline bool fus_word_is_old(const struct fusion_sb *sb, u32 word)
{
	return fusion_word_mapped(word) &&
	       fusion_slot_is_old(sb, fusion_word_dev(word), fusion_word_slot(word));
}

/* So many numbers have the slots of a member, with those of an old one behind them. */
static inline size_t fus_slots_of(const struct fusion_sb *sb, enum fusion_dev dev)
{
	if (fusion_sb_has_old(sb) && sb->old.dev == dev)
		return (size_t)sb->old.first_slot + sb->old.nr_slots;
	return fusion_sb_nr_slots(sb, dev);
}

/* The number of the slot of a valid word, from 0 on. */
static inline u32 fus_slot_number(const struct fusion_sb *sb, u32 word)
{
	return fusion_word_slot(word) -
	       (fusion_word_dev(word) == FUSION_SLOW ? sb->slow_first_slot : 0);
}

int fus_state_init(struct meta_state *st, u32 nr_lexts);
void fus_state_free(struct meta_state *st);
/* Bitmap of an OPEN extent, or NULL. */
struct meta_open *fus_state_open_find(const struct meta_state *st, u32 lext);
/* The same, created if missing; NULL if memory is short. */
struct meta_open *fus_state_open_get(struct meta_state *st, u32 lext);
void fus_state_open_drop(struct meta_state *st, u32 lext);
/* Extents that are lost, as a whole or in part, and *partly: in part. */
u32 fus_state_lost(const struct meta_state *st, u32 *partly);
/* Apply a record of any kind; 0 or -ENOMEM. */
int fus_state_apply(struct meta_state *st, const struct fusion_sb *sb,
		    const struct fusion_record *rec);

/*
 * The state that this superblock of a member leads to: its active map copy and the journal from its
 * replay_seq on, exactly as the kernel loads it. Obstacles go to the report (which may be NULL).
 * Return: true if the kernel would accept it.
 */
bool fus_state_load(const struct meta *meta, const struct fusion_sb *sb, struct meta_state *st,
		    struct report *r);
/*
 * Check the invariants of the map itself: no slot is used twice, by extents or segments of the
 * landing log, each OPEN extent has its bitmap.
 */
bool fus_state_check(const struct meta_state *st, const struct fusion_sb *sb, struct report *r);

/* -- meta-journal.c ---------------------------------------------------------------------- */

/* A transaction whose blocks are all present. */
struct meta_txn {
	u64 seq, txn;
	u32 epoch, count;
	u32 prev_csum, csum;	/* before its first block, and of its last */
};

struct meta_journal {
	struct meta_txn *t;	/* by seq */
	u32 nr;
};

typedef int (*record_fn)(void *ctx, const struct meta_txn *t, const struct fusion_record *rec);

/*
 * Return: whether the numbers of a block, whose checksum is right, are within the limits of the
 * format.
 */
bool fus_journal_sane(const struct fusion_journal_block *b);
/* The block with that sequence number, or NULL if it is missing or not valid. */
const struct fusion_journal_block *fus_ring_block(const struct meta *meta, int dev, u64 seq);
int fus_journal_list(const struct meta *meta, int dev, struct meta_journal *j);
void fus_journal_free(struct meta_journal *j);
/* Index of the first transaction of the unbroken chain that ends before @end. */
u32 fus_journal_chain(const struct meta_journal *j, u32 end);
/*
 * Without a superblock, nothing tells where the map copies stand in the journal. Return: whether
 * the last chain has everything since each of them was written: it is the first one of the ring, or
 * the ring is full.
 */
bool fus_journal_complete(const struct meta *meta, int dev, const struct meta_journal *j);
/* Return: whether @b continues the chain after @a. */
bool fus_txn_follows(const struct meta_txn *a, const struct meta_txn *b);
/* Call @fn for each record. Return: 0, -EILSEQ if it is invalid, or what @fn returned. */
int fus_journal_apply(const struct meta *meta, int dev, const struct meta_txn *t, record_fn fn,
		      void *ctx);

/* -- meta-past.c ------------------------------------------------------------------------- */

/* A member from an earlier time, and how far it is behind what the other one has seen of it. */
struct meta_past {
	int dev;		/* FAST or SLOW; BOTH: each was used with a copy of the other */
	u64 activations;
	u64 superblocks;
	u64 blocks;		/* of journal or log */
	u32 unreadable;		/* blocks of journal or log */
};

/* Extents that are not in the same place in the map and in the replica. */
u32 fus_meta_past_extents(const struct meta *meta);
/* Return: whether there is one. */
bool fus_meta_past(const struct meta *meta, struct meta_past *past);
/* The same by the superblocks alone, both of which are there. Return: which member, or -1. */
int fus_meta_past_by_supers(const struct meta *meta);
/* "from the past, or lost writes: last written 2026-11-24 09:00:00, 12 superblocks behind ..." */
void fus_meta_past_text(const struct meta *meta, const struct meta_past *past, char *buf,
			size_t size);

/* -- meta-check.c ------------------------------------------------------------------------ */

/* Test every invariant. */
void fus_meta_check(const struct meta *meta, struct report *r);
/* Return: whether that finds an error; the worst of them becomes @text. */
bool fus_meta_has_errors(const struct meta *meta, char *text, size_t size);

/* -- meta-rebuild.c ----------------------------------------------------------------------- */

enum doubt {
	DOUBT_NONE,
	DOUBT_OLD,		/* may be out of date */
	DOUBT_LOST,		/* its place is unknown; it reads as zeros */
	NR_DOUBTS,
};

/* Transactions that may be missing, and nothing tells which extents they changed. */
enum gap {
	GAP_NONE,
	GAP_BEGIN,		/* between the map copy and the first transaction */
	GAP_END,		/* after the last one */
};

struct rebuild {
	struct meta_state st;	/* consistent: fus_state_check() accepts it */
	int dev;
	bool exact;		/* nothing had to be rebuilt; the rest is not filled in */
	int set;		/* map copy it was built from, or -1 */
	u8 *doubt;		/* of each extent, enum doubt */
	u64 *stamp;		/* private: its evidence, and the replica */
	struct meta_state replica;
	bool have_replica;
	bool replica_same;	/* it was closed with the map, and is as good */
	bool replica_exact;	/* and what it calls current has what the extent has */
	u32 nr[NR_DOUBTS];	/* extents */
	u32 bad_blocks;		/* of the active set */
	u64 txns;		/* replayed */
	u64 missing_txns;	/* lost in the middle of the journal */
	bool from_replica;	/* which is up to date; the journal was not needed */
	enum gap gap;
	u64 gap_blocks;		/* with GAP_END: blocks of the journal that are missing */
};

/* Rebuild the map, or the replica, whose superblocks are those of the slow member. */
int fus_rebuild_state(const struct meta *meta, int dev, struct rebuild *rb);
void fus_rebuild_free(struct rebuild *rb);

/* -- meta-write.c -------------------------------------------------------------------------- */

/*
 * Write a state that fus_state_check() accepts as that of a set that was closed cleanly, map and
 * replica. Identity and geometry are those of meta->geo. @go_on: the journal continues where it
 * ends according to the state; otherwise it starts again. @built_from: without a superblock, the
 * map copy to be kept until the end, or -1. @heat: as long as meta->m[FAST].heat.
 */
int fus_meta_write(const struct meta *meta, const struct meta_state *st, bool go_on, int built_from,
		   const u16 *heat);
/*
 * Its parts. The superblocks to be written, with the places for map and bitmaps that nothing uses;
 */
void fus_meta_next(const struct meta *meta, const struct meta_state *st, bool go_on,
		   int built_from, struct fusion_sb sb[2]);
/* can both of them be read? Fails if not; */
int fus_meta_check_next(const struct meta *meta, const struct fusion_sb sb[2]);
/* the map, in the place that @sb names, and for the set that it names; */
int fus_meta_put_map(const struct meta *meta, const struct fusion_sb *sb,
		     const struct meta_state *st);
/*
 * the same with the bitmaps and the landing log behind it, for which the journal needs this number
 * of blocks;
 */
u32 fus_meta_open_blocks(const struct fusion_sb *sb, const struct meta_state *st);
/*
 * Return: whether a state can be written without a block of the chain that the member, if it has a
 * superblock, leads to until then. The rest is as with fus_meta_write().
 */
bool fus_meta_keeps_present(const struct meta *meta, int dev, const struct meta_state *st,
			    bool go_on, int built_from);
/* Return: whether the new ring leaves the chain alone that is in force until then. */
bool fus_meta_has_room(const struct meta *meta, const struct fusion_sb *sb,
		       const struct meta_state *st);
int fus_meta_put_state(const struct meta *meta, const struct fusion_sb *sb,
		       const struct meta_state *st);
/* these alone; */
int fus_meta_put_opens(const struct meta *meta, const struct fusion_sb *sb,
		       const struct meta_state *st);
/* the heat, which is as long as meta->m[FAST].heat; */
int fus_meta_put_heat(const struct meta *meta, const struct fusion_sb *sb, const u16 *heat);
/* a flush, and the message about I/O that has failed; */
int fus_meta_flush(const struct meta *meta, int dev);
int fus_meta_io_failed(const struct meta *meta, int dev, const char *what, int err);
/* a superblock. Its generation, which decides to which copy it goes, rises by one afterwards. */
int fus_meta_put_super(const struct meta *meta, struct fusion_sb *sb);
/*
 * Write the superblocks of a set that was closed cleanly again, both copies of both members, with
 * the settings that @from has. The slow member's come first: a set that is opened after an
 * interruption uses those of the fast one.
 */
int fus_meta_write_kept(const struct meta *meta, const struct fusion_sb *from);
/*
 * Where neither member has a superblock: write both copies of the slow member's, with identity and
 * geometry of meta->geo, and with the replica as far as it can be told from its own blocks. It is
 * what fus_rebuild_state() needs to rebuild the map. The fast member's would have to say where the
 * map lies, which is known only then.
 */
int fus_meta_write_geometry(const struct meta *meta);
/* Zero the content found in heads and tails. */
int fus_guards_clear(const struct meta *meta, const struct report *r);

#endif
