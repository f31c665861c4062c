/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A set of which a member is being replaced has three disks: trio.c.
 *
 * The one that stays, the peer, tells: its superblock names the new member as the other one, and
 * the old member. What those two say of themselves may be from before. So one superblock of the
 * peer makes the new disk a member, or the old one again.
 */
#ifndef TRIO_H
#define TRIO_H

#include <stdbool.h>
#include <stddef.h>

struct fusion_sb;
struct member;

struct trio {
	int role;			/* of the old member and the new one; -1: there is none */
	const struct fusion_sb *by;	/* the superblock that describes the old one */
	const struct fusion_sb *peer;	/* that of the member that stays */
	const struct member *m[2];	/* the members by role; NULL if not found */
	const struct member *old;	/* NULL if not found */
	bool over;			/* nothing lies there: the set opens without it */
};

/* Does this superblock, of the one that stays, say that its peer is being replaced? */
bool fus_tells_of_old(const struct fusion_sb *peer);
/*
 * Find all three disks of the set @uuid. When nothing is left on the old one, one of the members
 * may say so before the other does.
 */
void fus_find_trio(const struct member *list, const unsigned char uuid[16], struct trio *t);
/*
 * A disk that was to become a member, when power failed or the kernel refused it, may look like
 * one, but the peer does not name it. Such ones of the list become MEMBER_PREPARED.
 */
void fus_set_apart(struct member *list);
/*
 * Was the disk of @sb a member until it was replaced, as @now tells, that of a present member in
 * either role? Nothing of the set lies on it, but it says that it is a member: it could not be
 * told, or was not there. Both superblocks are of disks with an identity.
 */
bool fus_was_replaced(const struct fusion_sb *sb, const struct fusion_sb *now);
/* Describe an old member that is missing: its model, serial number and size. */
void fus_old_text(const struct fusion_sb *by, char *buf, size_t size);
/* Fail because a member is being replaced; @verb: "grow". */
int fus_fail_replaced(const char *name, const char *verb);

#endif
