/* SPDX-License-Identifier: GPL-2.0-only */
/* Superblocks on a member, and the names by which people know it: super.c. */
#ifndef SUPER_H
#define SUPER_H

#include <stddef.h>
#include <stdint.h>

struct device;

struct fusion_sb;
struct fusion_disk_ident;

enum member_state {
	MEMBER_NONE,		/* no fusion superblock */
	MEMBER_OK,
	MEMBER_DAMAGED,		/* ours, no copy is valid */
	MEMBER_UNKNOWN,		/* of a newer release, by at least one copy */
	MEMBER_TRANSIT,		/* in transit, by at least one copy: adopt, release, uuid */
	MEMBER_PREPARED,	/* valid, but its disk is only to become a member: trio.h */
	MEMBER_LEFT,		/* valid, but another disk has taken its place */
	MEMBER_SHRUNK,		/* valid, but the device is smaller now */
	MEMBER_COVERED,		/* the remains of a superblock lie beneath other content: scan.c */
};

/* A random number for an activation that the kernel does not begin. */
uint64_t fus_super_new_activation(void);

/*
 * Read the newest valid superblock. With MEMBER_OK, MEMBER_PREPARED and MEMBER_LEFT, *sb is filled
 * in, and *why is NULL or the fault of the other copy. With MEMBER_TRANSIT, *sb is the newest copy
 * that says so. With the others, except MEMBER_NONE, *why is the reason, perhaps in @text. Return:
 * 0 or -errno of the read.
 */
#define SUPER_TEXT	160
int fus_super_read(int fd, uint64_t sectors, enum member_state *state, struct fusion_sb *sb,
		   const char **why, char text[SUPER_TEXT]);

/* The remedy for a member of a version that is not known, or in transit. */
const char *fus_unknown_remedy(const struct fusion_sb *sb);
/* The verb that put it in transit, and ends that: "adopt" or "release". */
const char *fus_transit_verb(const struct fusion_sb *sb);
/* What its set is, "which is still being adopted"; and, unless it gets a uuid, the remedy. */
const char *fus_transit_text(const struct fusion_sb *sb);
const char *fus_transit_remedy(const struct fusion_sb *sb);

/* Of MEMBER_PREPARED and MEMBER_LEFT: "was the fast member of data and has been replaced". */
#define APART_TEXT	160
void fus_apart_text(const struct fusion_sb *sb, char *buf, size_t size);

#define UUID_TEXT	37
char *fus_uuid_text(char buf[UUID_TEXT], const unsigned char uuid[16]);
void fus_ident_text(const struct fusion_disk_ident *id, uint64_t sectors, char *buf, size_t size);
/* "(Samsung SSD 860, serial S4EV)", or "-" */
void fus_hardware_text(const struct fusion_disk_ident *id, char *buf, size_t size);
void fus_ident_set(struct fusion_disk_ident *id, const struct device *dev);

#endif
