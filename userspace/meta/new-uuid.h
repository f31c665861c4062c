/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Another uuid for a closed set, such as a copy of one that is used beside it.
 *
 * new-uuid.c		which set it is, how far that has got, what is to be written
 * new-uuid-write.c	the steps, and why a power cut in each of them is safe
 */
#ifndef NEW_UUID_H
#define NEW_UUID_H

#include "meta.h"

struct new_uuid {
	struct meta *meta;		/* as the members are, the owner's */
	struct meta_state st;		/* the map, unless fast_done */
	struct fusion_sb sb[2];		/* as the superblocks are going to be */
	struct fusion_transit transit;	/* and the slow member's until then */
	u64 generation;			/* the highest of the fast member's superblock before */
	bool resumed;			/* an interruption left it half-way: go on from there */
	bool fast_done;			/* and the fast member has the new uuids */
};

/*
 * Plan it for members that were read by fus_meta_open(). Fails unless they are a set that was
 * closed cleanly, or one whose change of uuid was interrupted; then the uuids are those that were
 * drawn at that time. fus_new_uuid_end() in any case.
 */
int fus_new_uuid_plan(struct new_uuid *n, struct meta *meta);
void fus_new_uuid_end(struct new_uuid *n);
/* Between plan and write: the name of the set. */
void fus_new_uuid_label(struct new_uuid *n, const char *label);
/* The same: the disk of a member. Fails if another one was begun with. */
int fus_new_uuid_disk(struct new_uuid *n, int dev, const struct fusion_disk_ident *ident);
/* Do it, after fus_meta_hold(). */
int fus_new_uuid_write(struct new_uuid *n);

#endif
