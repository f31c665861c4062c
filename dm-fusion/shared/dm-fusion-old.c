// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: a member that is being replaced, in the superblocks.
 *
 * Pure code, like dm-fusion-codec.c. dm-fusion-format.h describes the format.
 */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <asm/byteorder.h>

#include "dm-fusion-codec.h"

static_assert(sizeof(struct fusion_super_old) == 144);
static_assert(sizeof(struct fusion_super) <= FUSION_OLD_OFFSET);
static_assert(FUSION_OLD_OFFSET + sizeof(struct fusion_super_old) <= FUSION_TRANSIT_OFFSET);

/* -- on disk --------------------------------------------------------------------------------- */

void fusion_old_pack(const struct fusion_old *old, struct fusion_super_old *d)
{
	memcpy(d->uuid, old->uuid, sizeof(d->uuid));
	d->state = cpu_to_le32(old->state);
	d->dev = cpu_to_le32(old->dev);
	d->first_slot = cpu_to_le32(old->first_slot);
	d->nr_slots = cpu_to_le32(old->nr_slots);
	d->data_start = cpu_to_le64(old->data_start);
	d->sectors = cpu_to_le64(old->sectors);
	d->ident = old->ident;
}

void fusion_old_from_disk(const struct fusion_super_old *d, struct fusion_old *old)
{
	memcpy(old->uuid, d->uuid, sizeof(old->uuid));
	old->state = le32_to_cpu(d->state);
	old->dev = le32_to_cpu(d->dev);
	old->first_slot = le32_to_cpu(d->first_slot);
	old->nr_slots = le32_to_cpu(d->nr_slots);
	old->data_start = le64_to_cpu(d->data_start);
	old->sectors = le64_to_cpu(d->sectors);
	old->ident = d->ident;
}

/* Sectors that a disk must have to be such a member. The layout is valid. */
static u64 fusion_least_sectors(const struct fusion_sb *sb, enum fusion_dev dev)
{
	return (dev == FUSION_FAST ? sb->fast_data_start : 0) +
	       (u64)fusion_sb_slot_end(sb, dev) * sb->extent_sectors + FUSION_GUARD_SECTORS;
}

static const char *fusion_check_old_identity(const struct fusion_sb *sb)
{
	const struct fusion_old *old = &sb->old;
	const bool itself = !memcmp(old->uuid, sb->dev_uuid, sizeof(old->uuid));

	switch (old->state) {
	case FUSION_OLD_LEFT:
		if (itself && old->dev == sb->role)
			return NULL;
		break;
	case FUSION_OLD_JOINING:
	case FUSION_OLD_PREPARED:
		if (old->dev != sb->role)
			break;
		fallthrough;
	case FUSION_OLD_MEMBER:
		if (!itself && memcmp(old->uuid, sb->peer_uuid, sizeof(old->uuid)))
			return NULL;
		break;
	}
	return "identity of the old member is wrong";
}

/* The geometry is checked when this runs. */
const char *fusion_check_old(const struct fusion_sb *sb)
{
	const struct fusion_old *old = &sb->old;
	u64 end;

	if (!(sb->incompat & FUSION_INCOMPAT_OLD_MEMBER))
		return NULL;
	if (old->state < FUSION_OLD_JOINING || old->state > FUSION_OLD_PREPARED ||
	    old->dev >= FUSION_NR_DEVS)
		return "state of the old member is wrong";
	/* slot 0 has the number first_slot, and the last one is no further than a word can tell */
	end = (u64)old->first_slot + fusion_sb_slot_end(sb, old->dev);
	if (old->first_slot != fusion_sb_slot_end(sb, old->dev) ||
	    old->nr_slots != fusion_sb_nr_slots(sb, old->dev) || end > FUSION_WORD_AWAY ||
	    old->data_start != (old->dev == FUSION_FAST ? sb->fast_data_start : 0))
		return "slots of the old member are wrong";
	if (old->sectors > FUSION_MAX_DEV_SECTORS ||
	    old->sectors < fusion_least_sectors(sb, old->dev))
		return "size of the old member is wrong";
	return fusion_check_old_identity(sb);
}

/* -- which disks make a set ------------------------------------------------------------------ */

const char *fusion_sb_apart(const struct fusion_sb *sb)
{
	if (!(sb->incompat & FUSION_INCOMPAT_OLD_MEMBER))
		return NULL;
	if (sb->old.state == FUSION_OLD_PREPARED)
		return "a device is only prepared to replace a member: run fusionctl replace";
	if (sb->old.state == FUSION_OLD_LEFT)
		return "a device was replaced, and has left the set: fusionctl wipe frees it";
	return NULL;
}

int fusion_sb_match_old(const struct fusion_sb *sb, const struct fusion_sb *disk,
			const char **why)
{
	if (memcmp(sb->set_uuid, disk->set_uuid, sizeof(sb->set_uuid)) ||
	    memcmp(sb->old.uuid, disk->dev_uuid, sizeof(sb->old.uuid)) ||
	    sb->old.dev != disk->role)
		*why = "is not the old member of the set";
	else if (disk->incompat & FUSION_INCOMPAT_OLD_MEMBER &&
		 (disk->old.state == FUSION_OLD_LEFT || disk->old.state == FUSION_OLD_PREPARED))
		*why = "is not a part of the set any more";
	else if (!fusion_same_layout(sb, disk))
		*why = "has another layout than the old member of the set";
	else
		return 0;
	return -EXDEV;
}

int fusion_sb_may_join(const struct fusion_sb *member, const struct fusion_sb *peer,
		       const struct fusion_sb *disk, const char **why)
{
	const bool prepared = disk->incompat & FUSION_INCOMPAT_OLD_MEMBER &&
			      (disk->old.state == FUSION_OLD_PREPARED ||
			       disk->old.state == FUSION_OLD_JOINING) &&
			      !memcmp(disk->old.uuid, member->dev_uuid, sizeof(disk->old.uuid)) &&
			      !memcmp(disk->peer_uuid, peer->dev_uuid, sizeof(disk->peer_uuid));

	if (fusion_sb_has_old(member)) {
		if (fusion_sb_match_old(member, disk, why))
			return -EXDEV;
	} else if (memcmp(disk->set_uuid, member->set_uuid, sizeof(disk->set_uuid)) ||
		   disk->role != member->role || !prepared) {
		*why = "is not prepared to replace that member: run fusionctl replace";
		return -EXDEV;
	} else if (!fusion_same_layout(disk, member)) {
		*why = "was prepared for another layout of the set: run fusionctl replace again";
		return -EXDEV;
	} else if (disk->self_sectors < member->self_sectors) {
		*why = "is smaller than the member that it replaces: run fusionctl shrink first";
		return -EXDEV;
	}
	if (member->layout_seq != peer->layout_seq) {
		*why = "cannot join yet: the slow member lags";
		return -EAGAIN;
	}
	/* the end of the replacement raises it once more */
	if (member->layout_seq >= U32_MAX - 1) {
		*why = "the layout of the set was changed too often: copy the data to a new set";
		return -EINVAL;
	}
	return 0;
}

/* -- its life -------------------------------------------------------------------------------- */

void fusion_old_describe(const struct fusion_sb *disk, enum fusion_old_state state,
			 struct fusion_old *old)
{
	const enum fusion_dev dev = disk->role;

	memset(old, 0, sizeof(*old));
	memcpy(old->uuid, disk->dev_uuid, sizeof(old->uuid));
	old->state = state;
	old->dev = dev;
	old->first_slot = fusion_sb_slot_end(disk, dev);
	old->nr_slots = fusion_sb_nr_slots(disk, dev);
	old->data_start = dev == FUSION_FAST ? disk->fast_data_start : 0;
	old->sectors = disk->self_sectors;
	old->ident = disk->self;
}

void fusion_sb_join(struct fusion_sb *sb, const struct fusion_sb *member,
		    const struct fusion_sb *disk)
{
	const bool itself = sb->role == member->role;
	struct fusion_old old;

	fusion_old_describe(member, FUSION_OLD_MEMBER, &old);
	memcpy(itself ? sb->dev_uuid : sb->peer_uuid, disk->dev_uuid, sizeof(sb->dev_uuid));
	*(itself ? &sb->self : &sb->peer) = disk->self;
	*(itself ? &sb->self_sectors : &sb->peer_sectors) = disk->self_sectors;
	sb->incompat |= FUSION_INCOMPAT_OLD_MEMBER;
	sb->old = old;
	sb->layout_seq++;
}

void fusion_sb_part(struct fusion_sb *sb)
{
	sb->incompat &= ~FUSION_INCOMPAT_OLD_MEMBER;
	memset(&sb->old, 0, sizeof(sb->old));
	sb->layout_seq++;
}

bool fusion_sb_parted_from(const struct fusion_sb *sb, const struct fusion_sb *old)
{
	return sb->layout_seq == old->layout_seq + 1 && fusion_same_layout(sb, old) &&
	       !fusion_sb_has_old(sb) && fusion_sb_has_old(old);
}

void fusion_sb_leave(struct fusion_sb *disk)
{
	fusion_old_describe(disk, FUSION_OLD_LEFT, &disk->old);
	disk->incompat |= FUSION_INCOMPAT_OLD_MEMBER;
	disk->generation++;
}
