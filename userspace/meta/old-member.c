// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the tool writes on the disks of a member that is replaced.
 *
 * The new disk gets superblocks that call it PREPARED: no member before the module makes it one.
 * The old one is erased when its own newest superblock says that it has LEFT, and in an order that
 * keeps this superblock until there is nothing else: a copy that is older, and says that the disk
 * is a member, must not outlive it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#include "old-member.h"
#include "error.h"
#include "fusionctl.h"

#define HEAD_BLOCKS	(FUSION_GUARD_SECTORS / FUSION_BLOCK_SECTORS)

/* -- the disk that comes ---------------------------------------------------------------------- */

void fus_prepared_sb(const struct fusion_sb *old, u64 sectors,
		     const struct fusion_disk_ident *ident, struct fusion_sb *new)
{
	*new = *old;
	uuid_generate_random(new->dev_uuid);
	new->self = *ident;
	new->self_sectors = sectors;
	new->flags &= ~(FUSION_SB_CLEAN | FUSION_SB_NEEDS_CHECK);
	/* it has no replica yet, nor a landing log */
	new->incompat &= ~(FUSION_INCOMPAT_SHADOW | FUSION_INCOMPAT_LANDING);
	new->landing_slots = 0;
	new->incompat |= FUSION_INCOMPAT_OLD_MEMBER;
	fusion_old_describe(old, FUSION_OLD_PREPARED, &new->old);
}

static int failed(const struct offline *o, const char *what, int err)
{
	return fus_fail(FC_FAILED, o->path, "%s failed: %s; check the device, and see dmesg", what,
			strerror(-err));
}

static int write_block(const struct offline *o, u64 block, const void *buf)
{
	int err = fus_offline_write(o, block * FUSION_BLOCK_SIZE, FUSION_BLOCK_SIZE, buf);

	return err ? failed(o, "write", err) : 0;
}

static int sync_disk(const struct offline *o)
{
	int err = fus_offline_sync(o);

	return err ? failed(o, "flush", err) : 0;
}

/* Generation g goes to copy g & 1, and both are valid from the start. */
static int write_copies(const struct offline *o, struct fusion_sb *sb, void *buf)
{
	int rc = 0;

	for (sb->generation = 1; sb->generation <= 2 && !rc; sb->generation++) {
		const u64 block = FUSION_SUPER_BLOCKNR(sb->generation & 1);

		fusion_sb_pack(sb, block, buf);
		rc = write_block(o, block, buf);
		if (!rc)
			rc = sync_disk(o);
	}
	sb->generation = 2;
	return rc;
}

/* A copy of the superblock; false if it is not valid. */
static bool read_copy(const struct offline *o, int copy, struct fusion_sb *sb, void *buf, int *err)
{
	const u64 block = FUSION_SUPER_BLOCKNR(copy);
	const char *why;

	*err = fus_offline_read(o, block * FUSION_BLOCK_SIZE, FUSION_BLOCK_SIZE, buf);
	/* the size does not matter: it is only to be recognised */
	return !*err && !fusion_sb_unpack_landing(buf, block, UINT64_MAX, sb, &why);
}

int fus_prepare(const struct offline *o, struct fusion_sb *new)
{
	void *buf = fus_offline_buffer(FUSION_BLOCK_SIZE);
	struct fusion_sb found;
	int rc, err = 0;

	if (!buf)
		return FC_FAILED;
	rc = write_copies(o, new, buf);
	for (int i = 0; i < 2 && !rc; i++) {
		if (read_copy(o, i, &found, buf, &err) &&
		    !memcmp(found.dev_uuid, new->dev_uuid, sizeof(found.dev_uuid)))
			continue;
		rc = err ? failed(o, "read", err) :
		     fus_fail(FC_FAILED, o->path, "does not return what was written to it; use "
			      "another device");
	}
	free(buf);
	return rc;
}

/* -- the disk that goes ------------------------------------------------------------------------ */

static bool parted(const struct fusion_sb *sb)
{
	return sb->incompat & FUSION_INCOMPAT_OLD_MEMBER &&
	       (sb->old.state == FUSION_OLD_LEFT || sb->old.state == FUSION_OLD_PREPARED);
}

/*
 * May a block be what a power cut has left of a superblock, or of zeros written over it? A
 * superblock has its magic in the first sector, and nothing behind its third one.
 */
static bool was_super(const void *buf)
{
	const struct fusion_block_header *h = buf;

	return (le32_to_cpu(h->magic) == FUSION_MAGIC_SUPER || !memchr_inv(buf, 0, 512)) &&
	       !memchr_inv((const char *)buf + 3 * 512, 0, FUSION_BLOCK_SIZE - 3 * 512);
}

/* The copy that counts, or -1. *covered: something else was written in place of one. */
static int newest_copy(const struct offline *o, struct fusion_sb sb[2], void *buf, bool *covered,
		       int *err)
{
	bool valid[2];

	*covered = false;
	for (int i = 0; i < 2; i++) {
		valid[i] = read_copy(o, i, &sb[i], buf, err);
		if (*err)
			return -1;
		*covered |= !valid[i] && !was_super(buf);
	}
	if (valid[0] && valid[1])
		return sb[1].generation > sb[0].generation;
	return valid[1] ? 1 : valid[0] ? 0 : -1;
}

int fus_parting(const struct offline *o, const unsigned char uuid[16], enum fus_parting *parting)
{
	void *buf = fus_offline_buffer(FUSION_BLOCK_SIZE);
	struct fusion_sb sb[2];
	int newest, err;
	bool covered;

	if (!buf)
		return FC_FAILED;
	newest = newest_copy(o, sb, buf, &covered, &err);
	free(buf);
	if (err)
		return failed(o, "read", err);
	if (newest < 0)
		*parting = FUS_NOTHING_LEFT;
	else if (!parted(&sb[newest]) || memcmp(sb[newest].set_uuid, uuid, 16))
		*parting = FUS_NOT_PARTED;
	else
		*parting = covered ? FUS_PARTED_COVERED : FUS_PARTED;
	return 0;
}

static int zero(const struct offline *o, u64 offset, u64 bytes, const void *zeros)
{
	int err = bytes ? fus_offline_write(o, offset, bytes, zeros) : 0;

	return err ? failed(o, "write", err) : 0;
}

/* All of head and tail but the superblocks. */
static int clear_rest(const struct offline *o, const void *zeros)
{
	const u64 size = o->sectors << 9, guard = FUSION_GUARD_SECTORS * 512ULL;
	const u64 tail = (size - guard) & ~(FUSION_BLOCK_SIZE - 1ULL);
	const u64 from[2] = { 1, FUSION_SUPER_BLOCKNR(1) + 1 };
	const u64 to[2] = { FUSION_SUPER_BLOCKNR(1), HEAD_BLOCKS };
	int rc = 0;

	for (int i = 0; i < 2 && !rc; i++)
		rc = zero(o, from[i] * FUSION_BLOCK_SIZE, (to[i] - from[i]) * FUSION_BLOCK_SIZE,
			  zeros);
	if (!rc && tail > guard)
		rc = zero(o, tail, size - tail, zeros);
	return rc ? rc : sync_disk(o);
}

int fus_part(const struct offline *o)
{
	/* the tail may be up to a block longer */
	void *zeros = fus_offline_buffer((HEAD_BLOCKS + 1) * FUSION_BLOCK_SIZE);
	void *buf = fus_offline_buffer(FUSION_BLOCK_SIZE);
	struct fusion_sb sb[2];
	int newest, err = 0, rc = zeros && buf ? 0 : FC_FAILED;
	bool covered;

	newest = rc ? -1 : newest_copy(o, sb, buf, &covered, &err);
	if (err)
		rc = failed(o, "read", err);
	if (!rc)
		rc = clear_rest(o, zeros);
	for (int i = 0; i < 2 && !rc && newest >= 0; i++) {
		rc = write_block(o, FUSION_SUPER_BLOCKNR(i ? newest : !newest), zeros);
		if (!rc)
			rc = sync_disk(o);
	}
	free(zeros);
	free(buf);
	return rc;
}
