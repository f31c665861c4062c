/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The disks of a member that is replaced: what the tool writes on them, before the new one joins an
 * open set, and after the old one has left it: old-member.c. All in between is the module's.
 */
#ifndef OLD_MEMBER_H
#define OLD_MEMBER_H

#include <stdint.h>

#include "meta.h"

/*
 * The superblock of the disk that is to take the place of the member that @old is of: as the same
 * member, with a uuid of its own, of @sectors, on the hardware @ident.
 */
void fus_prepared_sb(const struct fusion_sb *old, u64 sectors,
		     const struct fusion_disk_ident *ident, struct fusion_sb *new);
/*
 * Write both copies of it, and read them back. The device is open, past the page cache, and its
 * head is erased.
 */
int fus_prepare(const struct offline *o, struct fusion_sb *new);

enum fus_parting {
	FUS_PARTED,		/* nothing of the set @uuid is on it: it may be wiped */
	FUS_PARTED_COVERED,	/* the same, but other content may be on it by now */
	FUS_NOT_PARTED,		/* it does not say so */
	FUS_NOTHING_LEFT,	/* has no superblock */
};

/*
 * May the disk be wiped, as far as it says itself? It has left the set @uuid, or was prepared for
 * it and never joined. A power cut may leave zeros or a torn superblock in the place of one copy;
 * anything else there may be content that no program recognises, as of dm-crypt.
 */
int fus_parting(const struct offline *o, const unsigned char uuid[16], enum fus_parting *parting);
/* Erase what is on such a disk. It says so until all else is gone, so this can be repeated. */
int fus_part(const struct offline *o);

#endif
