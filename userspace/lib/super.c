// SPDX-License-Identifier: GPL-2.0-only
/* Superblocks on a member, and the names by which people know it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "super.h"
#include "device.h"
#include "role.h"
#include "size.h"
#include "dm-fusion-codec.h"

_Static_assert(SUPER_TEXT == FUSION_UNKNOWN_TEXT, "texts are of one size");

/* How a copy was found, worst last; of copies that are not valid the worst decides. */
static enum member_state judge(int err)
{
	switch (err) {
	case 0:
		return MEMBER_OK;
	case -ENODATA:
		return MEMBER_NONE;
	case -EPROTONOSUPPORT:
		return MEMBER_UNKNOWN;
	case -ENOSPC:
		return MEMBER_SHRUNK;
	default:
		return MEMBER_DAMAGED;
	}
}

uint64_t fus_super_new_activation(void)
{
	uint64_t half[2];
	uuid_t random;

	/* Six bits of a uuid are not random. They are in one half or the other. */
	uuid_generate_random(random);
	memcpy(half, random, sizeof(half));
	return half[0] ^ half[1];
}

const char *fus_unknown_remedy(const struct fusion_sb *sb)
{
	if (!fusion_sb_in_transit(sb))
		return "use a newer fusionctl and dm-fusion";
	switch (sb->transit.kind) {
	case FUSION_TRANSIT_UUID:
		return "see fusionctl help uuid";
	case FUSION_TRANSIT_RELEASE:
		return "see fusionctl help release";
	default:
		return "see fusionctl help adopt";
	}
}

const char *fus_transit_verb(const struct fusion_sb *sb)
{
	return sb->transit.kind == FUSION_TRANSIT_RELEASE ? "release" : "adopt";
}

const char *fus_transit_text(const struct fusion_sb *sb)
{
	if (sb->transit.kind == FUSION_TRANSIT_UUID)
		return "whose uuid is being changed";
	if (sb->transit.state == FUSION_TRANSIT_PLANNED)
		return "which is to be adopted at the next boot";
	if (fusion_sb_released(sb))
		return "which is released";
	return sb->transit.kind == FUSION_TRANSIT_RELEASE ? "which is still being released" :
							    "which is still being adopted";
}

const char *fus_transit_remedy(const struct fusion_sb *sb)
{
	if (sb->transit.state == FUSION_TRANSIT_PLANNED)
		return "reboot, or fusionctl adopt it with --abort";
	if (fusion_sb_released(sb))
		return "fusionctl release it with --resume, or fusionctl wipe the device";
	return sb->transit.kind == FUSION_TRANSIT_RELEASE ?
	       "fusionctl release it with --resume, or with --abort" :
	       "fusionctl adopt it with --resume, or with --abort";
}

/* A copy that only adopt or release can use. They find out if its member has shrunk meanwhile. */
static bool in_transit(const void *block, u64 blocknr, struct fusion_sb *sb)
{
	const char *why;

	return fusion_sb_in_transit(sb) &&
	       !fusion_sb_unpack_transit(block, blocknr, UINT64_MAX, sb, &why);
}

/* Of a disk that is not a member yet, or no longer, the size does not matter. */
static enum member_state apart(const struct fusion_sb *sb, enum member_state state)
{
	if (!(sb->incompat & FUSION_INCOMPAT_OLD_MEMBER))
		return state;
	return sb->old.state == FUSION_OLD_PREPARED ? MEMBER_PREPARED :
	       sb->old.state == FUSION_OLD_LEFT ? MEMBER_LEFT : state;
}

void fus_apart_text(const struct fusion_sb *sb, char *buf, size_t size)
{
	const char *role = fus_role_name[sb->role];

	if (sb->old.state != FUSION_OLD_LEFT)
		snprintf(buf, size, "was prepared to replace the %s member of %s", role, sb->label);
	else
		snprintf(buf, size, "was the %s member of %s and has been replaced", role,
			 sb->label);
}

int fus_super_read(int fd, uint64_t sectors, enum member_state *state, struct fusion_sb *sb,
		   const char **why, char unknown[SUPER_TEXT])
{
	const char *text, *bad = NULL;
	int copy, err, failed = 0;
	enum member_state s;
	struct fusion_sb one;
	void *block;
	ssize_t n;

	*state = MEMBER_NONE;
	*why = NULL;
	err = posix_memalign(&block, FUSION_BLOCK_SIZE, FUSION_BLOCK_SIZE);
	if (err)
		return -err;
	for (copy = 0; copy < 2; copy++) {
		u64 blocknr = FUSION_SUPER_BLOCKNR(copy);

		text = NULL;
		n = pread(fd, block, FUSION_BLOCK_SIZE, blocknr * FUSION_BLOCK_SIZE);
		if (n < 0) {
			failed--;
			err = -errno;
			bad = "it cannot be read";
			continue;
		}
		if (n < FUSION_BLOCK_SIZE)
			continue;
		s = judge(fusion_sb_unpack_landing(block, blocknr, sectors, &one, &text));
		if (s == MEMBER_UNKNOWN && in_transit(block, blocknr, &one)) {
			if (*state != MEMBER_TRANSIT || one.generation > sb->generation)
				*sb = one;
			*state = MEMBER_TRANSIT;
			*why = fusion_sb_unknown_landing(&one, unknown);
			continue;
		}
		/* the other copy may be from before the change that this version does not know */
		if (s == MEMBER_UNKNOWN) {
			*state = s;
			*why = fusion_sb_unknown_landing(&one, unknown);
			break;
		}
		if (*state == MEMBER_TRANSIT)
			continue;
		/* for the message: which member has shrunk? */
		if (s == MEMBER_SHRUNK &&
		    fusion_sb_unpack_landing(block, blocknr, UINT64_MAX, &one, &text))
			s = MEMBER_DAMAGED;
		if (s == MEMBER_OK || s == MEMBER_SHRUNK) {
			/* before a set shrank, its member was larger: the newer copy counts */
			if ((*state == MEMBER_OK || *state == MEMBER_SHRUNK) &&
			    one.generation < sb->generation)
				continue;
			*sb = one;
			*state = s;
			*why = s == MEMBER_SHRUNK ? "the device is smaller than it was" : NULL;
			continue;
		}
		bad = s == MEMBER_NONE ? "it is gone" : text;
		if (*state != MEMBER_OK && *state != MEMBER_SHRUNK && s > *state) {
			*state = s;
			*why = text;
		}
	}
	free(block);
	if (*state == MEMBER_OK)
		*why = bad;
	if (*state == MEMBER_OK || *state == MEMBER_SHRUNK)
		*state = apart(sb, *state);
	/* any disk may have a bad sector: an unreadable copy counts as no superblock */
	return failed == -2 ? err : 0;
}

char *fus_uuid_text(char buf[UUID_TEXT], const unsigned char uuid[16])
{
	uuid_unparse_lower(uuid, buf);
	return buf;
}

static void ident_field(char *to, const char *from, size_t size)
{
	memset(to, 0, size);
	memcpy(to, from, strnlen(from, size));
}

void fus_ident_set(struct fusion_disk_ident *id, const struct device *dev)
{
	ident_field(id->model, dev->model, sizeof(id->model));
	ident_field(id->serial, dev->serial, sizeof(id->serial));
}

void fus_ident_text(const struct fusion_disk_ident *id, uint64_t sectors, char *buf, size_t size)
{
	char bytes[SIZE_TEXT];
	bool serial = id->serial[0];

	snprintf(buf, size, "%.*s%s%.*s%s%s", (int)sizeof(id->model), id->model,
		 serial ? id->model[0] ? ", serial " : "serial " : "",
		 (int)sizeof(id->serial), id->serial, serial || id->model[0] ? ", " : "",
		 fus_size_text(bytes, sectors << 9));
}

void fus_hardware_text(const struct fusion_disk_ident *id, char *buf, size_t size)
{
	const bool model = id->model[0], serial = id->serial[0];

	if (!model && !serial)
		snprintf(buf, size, "-");
	else
		snprintf(buf, size, "(%.*s%s%.*s)", (int)sizeof(id->model), id->model,
			 !serial ? "" : model ? ", serial " : "serial ",
			 (int)sizeof(id->serial), id->serial);
}
