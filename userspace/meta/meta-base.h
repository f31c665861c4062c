/* SPDX-License-Identifier: GPL-2.0-only */
/* Map copies that meta-rebuild.c builds on, and what members know of each other: meta-base.c. */
#ifndef META_BASE_H
#define META_BASE_H

#include "meta.h"

/* A map copy, and where the journal after it begins. */
struct base {
	int set;		/* -1: none */
	u64 generation;
	u64 replay_seq;		/* 0 if unknown */
};

/* By the superblock of rb->dev; without one, the map copy with the most good blocks. */
struct base fus_newest_base(const struct meta *meta, const struct rebuild *rb);
/*
 * A map copy that is written for a member without a superblock is numbered that far ahead. So a
 * repair that was cut short is told from use of the member by the kernel, which numbers one by one.
 */
#define HEADLESS_JUMP	0x1000000ULL

/* Return: whether a block of either map copy is of a later one, at most HEADLESS_JUMP ahead. */
bool fus_newer_block(const struct meta *meta, int dev, u64 generation);
/*
 * Return: whether a later map copy was whole once, so that the journal need not have what came
 * before it. One that was never finished has blocks of an earlier one as well.
 */
bool fus_newer_copy(const struct meta *meta, int dev, u64 generation);
/* The map copy before @a. Only one that the older superblock copy names has its numbers. */
struct base fus_older_base(const struct meta *meta, const struct rebuild *rb, const struct base *a);

/* How far the other member has got at least, according to this one. */
struct fusion_progress fus_claimed(const struct meta *meta, int dev);

/* -- meta-rebuild.c, meta-replica.c ---------------------------------------------------------- */

/* Evidence of an extent: sequence number of the transaction, or */
#define FROM_MAP	2	/* the active set */
#define FROM_OLDER	1	/* the older one */
#define FROM_NOTHING	0

/* The place of an extent is not known. */
void fus_rebuild_drop(struct rebuild *rb, u32 lext);
/* Add an open extent with its bitmap; 0, or after a message. */
int fus_rebuild_open(struct rebuild *rb, const struct meta_open *from);
/* Load the replica, to rebuild the map, if it is intact. */
int fus_replica_load(const struct meta *meta, struct rebuild *rb);
/* Use it for all extents. It agrees with the words that rb->st has: see fus_replica_is_last(). */
int fus_replica_take(struct rebuild *rb);
/* Use it for the extents of @bad map blocks that are in doubt. */
int fus_replica_use(const bool *bad, struct rebuild *rb);

/* -- meta-shadow.c --------------------------------------------------------------------------- */

/*
 * The replica was rebuilt: drop shadows that the superblock does not announce. If transactions are
 * missing, one of them may have said that a shadow is out of date.
 */
void fus_shadows_judge(const struct fusion_sb *sb, struct rebuild *rb);

/* -- meta-gap.c: the fast member has no superblock ------------------------------------------ */

/*
 * Return: whether the replica was loaded, and is that of the last close. On entry rb->st has the
 * words of the map copy, before the journal, and rb->bad_blocks counts its damaged blocks.
 */
bool fus_replica_is_last(const struct meta *meta, const struct rebuild *rb);
/* Find out whether transactions may be missing that the map copy @a lacks. */
void fus_find_gap(const struct meta *meta, const struct meta_journal *j, const struct base *a,
		  struct rebuild *rb);

#endif
