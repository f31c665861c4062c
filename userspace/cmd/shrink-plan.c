// SPDX-License-Identifier: GPL-2.0-only
/* Verb shrink: what the content needs, and how small set and member become. */
#include <stdio.h>
#include <string.h>

#include "shrink.h"
#include "busy.h"
#include "device.h"
#include "error.h"
#include "fusionctl.h"
#include "landing-size.h"
#include "open-content.h"
#include "role.h"
#include "size.h"
#include "verb.h"

#define MIB_SECTORS	2048U

/* -- the content ---------------------------------------------------------------------------- */

static int look_at_content(struct shrinking *s)
{
	int rc;

	rc = look_at_open_content(s->r.name, s->r.table.devno, &s->content, &s->size,
				  &s->content_bytes);
	if (!rc)
		fus_reach(s->r.table.devno, &s->reach);
	return rc;
}

static const char *type_of(const struct shrinking *s)
{
	return *s->content.type ? s->content.type : "content";
}

/* Bytes from the beginning of the set that are in use for certain. */
static uint64_t needed(const struct shrinking *s)
{
	const uint64_t reach = s->reach.sectors << 9;
	const uint64_t content = s->size == SIZE_KNOWN ? s->content_bytes : 0;

	return reach > content ? reach : content;
}

/* Content whose size only its user knows, or nobody. */
static int check_content(const struct shrinking *s, bool size_given)
{
	const char *name = s->r.name;
	struct user user;

	if (*s->content.other && strcmp(s->content.type, s->content.other))
		return fus_fail(FC_REFUSED, name, "has signatures of %s and of %s; find out which "
				"is in use, and erase the other with wipefs --offset",
				s->content.type, s->content.other);
	if (s->size == SIZE_SEVERAL)
		return fus_fail(FC_REFUSED, name, "its %s is on several devices; remove the others "
				"first, with btrfs device remove", s->content.type);
	if (s->size == SIZE_KNOWN)
		return 0;
	if (s->reach.unknown)
		return fus_fail(FC_REFUSED, name, "is held by %s, and how much of it that uses is "
				"not known; remove that first", s->reach.name);
	if (s->size == SIZE_UNKNOWN && fus_device_user(s->r.table.devno, &user))
		return fus_fail(FC_REFUSED, name, "the size of its %s is not known, and it %s; end "
				"that first, and say with --size how much is in use", type_of(s),
				user.text);
	if (!size_given && !s->reach.held)
		return fus_fail(FC_USAGE, name, "the size of its %s is not known; say with --size "
				"how large %s is to become", type_of(s), name);
	return 0;
}

static int too_small(const struct shrinking *s, uint64_t bytes)
{
	char is[SIZE_TEXT], most[SIZE_TEXT], remedy[160];
	const char *how = fus_shrink_text(s->content.type);

	fus_size_text(is, needed(s));
	fus_size_text(most, bytes);
	if (s->reach.sectors << 9 > bytes)
		return fus_fail(FC_REFUSED, s->r.name, "%s on it reaches to %s, and %s would be "
				"left; shrink that first%s%s", s->reach.name, is, most,
				*how ? ", with " : "", how);
	if (*how)
		snprintf(remedy, sizeof(remedy), "shrink it first, with %s", how);
	else
		snprintf(remedy, sizeof(remedy), "it cannot shrink, copy it to another disk");
	return fus_fail(FC_REFUSED, s->r.name, "its %s has %s, and %s would be left; %s",
			type_of(s), is, most, remedy);
}

int shrink_check_content(const struct shrinking *s)
{
	const uint64_t bytes = fusion_sb_sectors(&s->r.sb) << 9;
	struct shrinking now = { .r = s->r, .dev = s->dev };
	int rc;

	rc = look_at_content(&now);
	if (!rc)
		rc = check_content(&now, true);
	if (!rc && (now.size != s->size || strcmp(now.content.type, s->content.type)))
		rc = fus_fail(FC_BUSY, s->r.name, "has other content by now; run fusionctl shrink "
			      "again");
	return rc ? rc : needed(&now) > bytes ? too_small(&now, bytes) : 0;
}

/* -- the sizes ------------------------------------------------------------------------------ */

/* Figures of a member of the set as it is. */
struct part {
	uint64_t start;		/* sector of its first slot */
	uint64_t slots, spare;
	uint64_t least;		/* slots that it has to keep */
};

static struct part part_of(const struct fusion_sb *sb, int dev)
{
	struct part p;

	p.start = dev == FAST ? sb->fast_data_start :
		  (uint64_t)sb->slow_first_slot * sb->extent_sectors;
	p.slots = fusion_sb_nr_slots(sb, dev);
	p.spare = dev == FAST ? sb->spare_fast : sb->spare_slow;
	/* as many as a new member has to have; and the present spares, for the moves */
	p.least = FUSION_MIN_DEV_EXTENTS;
	p.least -= p.start / sb->extent_sectors < p.least ? p.start / sb->extent_sectors : p.least;
	if (p.least < p.spare + FUSION_MIN_DATA_SLOTS)
		p.least = p.spare + FUSION_MIN_DATA_SLOTS;
	/* the landing log takes half of it at most */
	if (dev == FAST && p.least < 2ULL * sb->landing_slots)
		p.least = 2ULL * sb->landing_slots;
	return p;
}

/* Extents that fit if member @dev has so many slots: the spares stay as they are until the end. */
static uint64_t room(const struct fusion_sb *sb, int dev, uint64_t slots)
{
	const struct part this = part_of(sb, dev), other = part_of(sb, !dev);

	return slots - this.spare + other.slots - other.spare - sb->landing_slots;
}

/* The size of the member with so many slots: whole MiB, as partitions have, if that is not more. */
static uint64_t member_sectors(const struct fusion_sb *sb, int dev, uint64_t slots)
{
	const struct part p = part_of(sb, dev);
	const uint64_t now = shrink_sectors(sb, dev);
	uint64_t sectors = p.start + slots * sb->extent_sectors + FUSION_GUARD_SECTORS;

	if (slots >= p.slots)
		return now;
	sectors = (sectors + MIB_SECTORS - 1) / MIB_SECTORS * MIB_SECTORS;
	return sectors < now ? sectors : now;
}

/* --size, or what the content needs: first the extents, then the slots for them. */
static int plan_by_set(struct shrinking *s, const char *text, uint64_t *lexts, uint64_t *sectors)
{
	const struct fusion_sb *sb = &s->r.sb;
	const uint64_t extent = (uint64_t)sb->extent_sectors << 9;
	const struct part p = part_of(sb, s->dev);
	const uint64_t least = room(sb, s->dev, p.least < p.slots ? p.least : p.slots);
	uint64_t bytes = needed(s), slots;
	char size[SIZE_TEXT];

	if (text && (!fus_parse_size(text, &bytes) || !bytes))
		return fus_fail(FC_USAGE, text, "is no size; write it as 750G or 1.5T");
	*lexts = bytes / extent + !!(bytes % extent);
	if (text && *lexts >= sb->nr_lexts)
		return fus_fail(FC_USAGE, text, "is not less than %s has; choose a smaller size, "
				"or fusionctl grow", s->r.name);
	if (text && *lexts < least)
		return fus_fail(FC_REFUSED, text, "is less than is possible; the least is %s",
				fus_size_text(size, least * extent));
	if (!text && *lexts >= sb->nr_lexts)
		return too_small(s, (sb->nr_lexts - 1) * extent);
	if (*lexts < least)
		*lexts = least < sb->nr_lexts ? least : sb->nr_lexts;
	slots = p.least;
	if (*lexts > room(sb, s->dev, slots))
		slots += *lexts - room(sb, s->dev, slots);
	*sectors = member_sectors(sb, s->dev, slots);
	return 0;
}

/* --member-size: first the slots, then as many extents as fit. */
static int plan_by_member(struct shrinking *s, const char *text, uint64_t *lexts, uint64_t *sectors)
{
	const struct fusion_sb *sb = &s->r.sb;
	const struct part p = part_of(sb, s->dev);
	const uint64_t now = shrink_sectors(sb, s->dev);
	uint64_t bytes, least = member_sectors(sb, s->dev, p.least), slots;
	const char *path = s->r.m[s->dev]->path;
	char size[SIZE_TEXT];

	if (!fus_parse_size(text, &bytes) || !bytes)
		return fus_fail(FC_USAGE, text, "is no size; write it as 750G or 1.5T");
	/* whole MiB, as partitions have */
	*sectors = (bytes >> 9) / MIB_SECTORS * MIB_SECTORS;
	if (*sectors >= now)
		return fus_fail(FC_USAGE, text, "is not less than the %s that the set uses of %s; "
				"choose a smaller size", fus_size_text(size, now << 9), path);
	if (p.least >= p.slots || *sectors < least)
		return fus_fail(FC_REFUSED, text, "is less than %s may be as the %s member; the "
				"least is %s", path, fus_role_name[s->dev],
				fus_size_text(size, least << 9));
	slots = (*sectors - FUSION_GUARD_SECTORS - p.start) / sb->extent_sectors;
	if (slots > p.slots)
		slots = p.slots;
	*lexts = room(sb, s->dev, slots);
	if (*lexts > sb->nr_lexts)
		*lexts = sb->nr_lexts;
	return 0;
}

/* --landing: as many extents fewer as a log of that size has no slots. The members stay. */
static int plan_for_landing(struct shrinking *s, const char *text, uint64_t *lexts,
			    uint64_t *sectors)
{
	const struct fusion_sb *sb = &s->r.sb;
	const uint64_t slots = room(sb, s->dev, part_of(sb, s->dev).slots);
	uint32_t landing;
	int rc;

	rc = fus_landing_slots(text, sb, &landing);
	if (rc)
		return rc;
	*lexts = slots + sb->landing_slots - landing;
	*sectors = shrink_sectors(sb, s->dev);
	if (*lexts < sb->nr_lexts)
		return 0;
	return fus_fail(FC_REFUSED, s->r.name, "has room for that landing log already; close it, "
			"and run fusionctl landing %s %s", s->r.name, text);
}

static int choose_member(struct shrinking *s, const char *text)
{
	struct device dev;
	int rc;

	s->dev = SLOW;
	if (!text || !strcmp(text, fus_role_name[SLOW]))
		return 0;
	s->dev = FAST;
	if (!strcmp(text, fus_role_name[FAST]))
		return 0;
	rc = fus_device_get(text, &dev);
	if (rc)
		return rc;
	s->dev = dev.devno == s->r.m[SLOW]->devno ? SLOW : FAST;
	if (dev.devno != s->r.m[s->dev]->devno)
		rc = fus_fail(FC_USAGE, text, "is no member of %s; name %s or %s", s->r.name,
			      s->r.m[FAST]->path, s->r.m[SLOW]->path);
	fus_device_put(&dev);
	return rc;
}

int shrink_plan(struct shrinking *s, const struct args *a)
{
	const char *size = a->opt[OPT_SET_SIZE], *member = a->opt[OPT_MEMBER_SIZE];
	const char *landing = a->opt[OPT_LANDING];
	struct fusion_sb *sb = &s->r.sb;
	const uint64_t extent = (uint64_t)sb->extent_sectors << 9;
	struct fusion_misfit misfit;
	uint64_t lexts = 0, sectors = 0;
	int rc;

	if (size && member)
		return fus_fail(FC_USAGE, "--size", "and --member-size exclude each other; the one "
				"follows from the other");
	if (landing && (size || member || a->opt[OPT_MEMBER]))
		return fus_fail(FC_USAGE, "--landing", "says by how much the set shrinks, and its "
				"members stay as they are; leave the other options out");
	rc = choose_member(s, a->opt[OPT_MEMBER]);
	if (!rc)
		rc = look_at_content(s);
	if (!rc)
		rc = check_content(s, size || member || landing);
	if (!rc)
		rc = landing ? plan_for_landing(s, landing, &lexts, &sectors) :
		     member ? plan_by_member(s, member, &lexts, &sectors) :
		     plan_by_set(s, size, &lexts, &sectors);
	if (rc)
		return rc;
	if (needed(s) > lexts * extent)
		return too_small(s, lexts * extent);
	if (fusion_sb_shrink(sb, s->dev == FAST ? sectors : sb->self_sectors,
			     s->dev == SLOW ? sectors : sb->peer_sectors, lexts, &misfit))
		return fus_fail(FC_REFUSED, s->r.name, "cannot shrink: %s; %s", misfit.what,
				misfit.remedy ? misfit.remedy : "see fusionctl help shrink");
	return 0;
}
