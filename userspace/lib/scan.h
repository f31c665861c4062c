/* SPDX-License-Identifier: GPL-2.0-only */
/* Members among all block devices: scan.c. */
#ifndef SCAN_H
#define SCAN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "super.h"

struct member {
	struct member *next;
	char path[PATH_MAX];
	dev_t devno;
	uint64_t sectors;
	enum member_state state;
	const char *why;
	char why_text[SUPER_TEXT];	/* for @why */
	struct fusion_sb *sb;	/* of a covered one zeros, if no copy is valid */
	char *cover;		/* the content over a covered one: "ext4 at byte 1080" */
};

/* Every block device with a fusion superblock, except those that cannot be read. */
int fus_scan_members(struct member **list);
/* Examine one device; *m is NULL if it is no member. Return: 0 or -errno */
int fus_member_at(dev_t devno, struct member **m);
/* Return: whether the identity of the member is known. */
bool fus_has_identity(const struct member *m);
/* Return: whether it has a valid superblock, perhaps of a disk that is not a member now. */
bool fus_has_super(const struct member *m);
/* Return: whether it is the slow member of a set that is getting another uuid. */
bool fus_is_renewed(const struct member *m);
/* The same, of those in the list, whose set had this fast member as its own before; or NULL. */
const struct member *fus_renewed_of(const struct member *list, const struct member *fast);
/* Return: whether it is member @uuid of its set, or is prepared to become it. */
bool fus_member_is(const struct member *m, const unsigned char uuid[16]);
/* Return: whether each names the other as the other member. @b has a superblock. */
bool fus_name_each_other(const struct member *a, const struct member *b);
/* Return: whether this is the name or the uuid of its set. */
bool fus_member_called(const struct member *m, const char *name);
/* Return: whether one is a mapping, or similar, above the other. */
bool fus_member_stands_on(const struct member *upper, const struct member *lower);
/*
 * Return: whether another device of the list with the same identity lies above, e.g. a multipath
 * device.
 */
bool fus_under_another(const struct member *list, const struct member *m);
/* The text about a covered one: "was the fast member of data and contains ext4 at byte 1080 now" */
void fus_covered_text(const struct member *m, char *buf, size_t size);
/* Describe the missing other member: its model, serial number and size. */
void fus_missing_text(const struct member *m, char *buf, size_t size);
/* Check that the member can be used. */
int fus_check_member(const struct member *m);
/* One given device; fails if it is no member that can be used. */
int fus_load_member(const char *path, struct member **m);
void fus_free_members(struct member *list);

/*
 * The one device that is member @uuid of a set, or NULL. If devices are stacked, such as a
 * multipath device on its paths, it is the topmost. Two that are not stacked are an error.
 */
int fus_find_member(struct member *list, const unsigned char uuid[16], struct member **m);

/*
 * Does the other member of @m name it as well? A disk that was replaced, and could not be told so,
 * names a member that does not.
 */
bool fus_named_back(const struct member *list, const struct member *m);

/*
 * The topmost device of any member of the set of this name or uuid, one that is named back if there
 * is one; fails if there is none.
 */
int fus_find_named(struct member *list, const char *name, struct member **m);

#endif
