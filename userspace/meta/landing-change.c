// SPDX-License-Identifier: GPL-2.0-only
/*
 * The landing log of a closed set is turned on or off, or gets another size. It must be empty: what
 * is in it would be lost. The whole state is written again, so no record of the log is left in the
 * part of the journal that counts, and no shadow in the replica: the two exclude each other.
 */
#include "landing-change.h"

#include <stdlib.h>

#include "error.h"
#include "fusionctl.h"
#include "landing-size.h"
#include "role.h"
#include "size.h"
#include "dm-fusion-settings.h"
#include "dm-fusion-stale.h"

/* Written at once. */
#define CLEAR_BLOCKS	256U

static int see_check(const char *label, int code, const char *what)
{
	return fus_fail(code, label, "%s; run fusionctl check %s", what, label);
}

static int check_supers(const struct meta *meta)
{
	const char *label = meta->geo[FAST].label;
	const struct fusion_sb *sb;
	char text[FUSION_UNKNOWN_TEXT];

	for (int dev = 0; dev < 2; dev++)
		if (meta->m[dev].o.fd < 0)
			return fus_fail(FC_MEMBER, meta->m[!dev].o.path, "the %s member of its set "
					"is missing; connect it", fus_role_name[dev]);
	for (int dev = 0; dev < 2; dev++) {
		sb = fus_meta_sb(meta, dev);
		if (!sb)
			return see_check(label, FC_DAMAGED, "a member has no valid superblock");
		if (*fusion_sb_unknown_landing(sb, text))
			return fus_fail(FC_REFUSED, label, "%s; use a newer fusionctl and "
					"dm-fusion", text);
		if (!fusion_sb_lasts(sb))
			return see_check(label, FC_REFUSED, "can only be opened read-only");
		if (sb->flags & FUSION_SB_NEEDS_CHECK)
			return see_check(label, FC_DAMAGED, "had an error that may have left its "
					 "metadata wrong");
		/* the slow one may not be, if this was interrupted before */
		if (dev == FAST && !(sb->flags & FUSION_SB_CLEAN))
			return fus_fail(FC_REFUSED, label, "was not closed cleanly; run fusionctl "
					"open %s, and fusionctl close %s", label, label);
	}
	return 0;
}

/* All that check finds; and what the log has. */
static int check_all(struct landing_change *c)
{
	const struct fusion_sb *fast = fus_meta_sb(c->meta, FAST);
	struct report r = { 0 };
	char text[320];
	int rc = 0;

	fus_meta_check(c->meta, &r);
	c->blocks = r.landing.blocks;
	if (r.count[LEVEL_ERROR]) {
		fus_finding_text(fus_report_worst(&r), text, sizeof(text));
		rc = see_check(fast->label, FC_DAMAGED, text);
	}
	fus_report_free(&r);
	return rc;
}

int fus_meta_refuse_logged(const struct meta *meta, const char *verb)
{
	const struct fusion_sb *sb = fus_meta_sb(meta, FAST);
	struct report r = { 0 };
	char text[SIZE_TEXT];
	u64 blocks;

	if (!fus_has_landing(sb))
		return 0;
	fus_meta_check(meta, &r);
	blocks = r.landing.blocks;
	fus_report_free(&r);
	return !blocks ? 0 : fus_fail(FC_REFUSED, sb->label, "cannot be %s while it has %s in its "
				      "landing log; open it, run fusionctl drain %s, and close it",
				      verb, fus_size_text(text, blocks * FUS_LANDING_BLOCK),
				      sb->label);
}

int fus_landing_look(struct landing_change *c, struct meta *meta)
{
	const struct fusion_sb *fast;
	int rc;

	*c = (struct landing_change){ .meta = meta };
	rc = fus_meta_refuse_unknown(meta);
	if (!rc)
		rc = fus_meta_refuse_old(meta, "given another landing log");
	if (!rc)
		rc = fus_meta_refuse_lost(meta, "given another landing log");
	if (!rc)
		rc = check_supers(meta);
	if (!rc)
		rc = check_all(c);
	if (rc)
		return rc;
	fast = fus_meta_sb(meta, FAST);
	c->slots = fast->landing_slots;
	rc = fus_state_init(&c->st, fast->nr_lexts);
	if (!rc && !fus_state_load(meta, fast, &c->st, NULL))
		rc = see_check(fast->label, FC_DAMAGED, "its map cannot be read");
	return rc;
}

/* The slots of the log float: any that no extent can have will do. */
static int check_room(const struct fusion_sb *sb, const char *size, u32 slots)
{
	const u64 all = (u64)sb->nr_fast_slots - sb->spare_fast + sb->nr_slow_slots -
			sb->spare_slow;
	const u64 room = all - sb->nr_lexts;
	char text[SIZE_TEXT];

	if (slots <= room)
		return 0;
	return fus_fail(FC_REFUSED, sb->label, "has room for a landing log of only %s beside its "
			"extents; open it, and run fusionctl shrink %s --landing %s first",
			fus_slots_text(text, sb, room), sb->label, size);
}

/*
 * A set that was made without a stale list has room for one behind its second map copy, in what
 * that may grow into: nothing else is there. Return: its first block; 0: it has a list, or no room.
 */
static u64 place_of_list(const struct fusion_sb *sb, u32 slots)
{
	const u64 end = (u64)sb->slow_first_slot * (sb->extent_sectors / FUSION_BLOCK_SECTORS);
	const u64 size = fusion_stale_size(sb, slots);

	if (!slots || sb->stale_places ||
	    sb->map_start[SLOW][1] + sb->map_blocks + size > end)
		return 0;
	return end - size;
}

/* The stale list has a place for each segment. */
static int check_list(const struct fusion_sb *sb, u32 slots)
{
	char text[SIZE_TEXT];

	if (!sb->stale_places || slots <= sb->stale_places)
		return 0;
	return fus_fail(FC_REFUSED, sb->label, "has a list for a landing log of only %s on its "
			"slow member, as the set was created; choose at most that",
			fus_slots_text(text, sb, sb->stale_places));
}

static int check_age(const struct fusion_sb *sb)
{
	u32 age;

	if (!fusion_sb_setting(sb, FUSION_SET_SHADOW_AGE, &age) || !age)
		return 0;
	return fus_fail(FC_REFUSED, sb->label, "has shadow_age, which a set with a landing log "
			"cannot have; run fusionctl set %s shadow_age=never first", sb->label);
}

/* What is written next. */
static void give_slots(struct meta *meta, u32 slots)
{
	const u64 list = place_of_list(&meta->geo[FAST], slots);

	if (list) {
		meta->geo[FAST].stale_places = slots;
		meta->geo[FAST].stale_start = list;
	}
	meta->geo[FAST].incompat &= ~FUSION_INCOMPAT_LANDING;
	meta->geo[FAST].incompat |= slots ? FUSION_INCOMPAT_LANDING : 0;
	meta->geo[FAST].landing_slots = slots;
	fusion_sb_take_landing(&meta->geo[SLOW], &meta->geo[FAST]);
}

int fus_landing_plan(struct landing_change *c, const char *size)
{
	const struct fusion_sb *sb = fus_meta_sb(c->meta, FAST);
	/* the members may differ in that, if it was interrupted */
	const u64 differ = (sb->incompat ^ fus_meta_sb(c->meta, SLOW)->incompat) &
			   FUSION_INCOMPAT_LANDING;
	struct fusion_sb next[2];
	u32 slots;
	int rc;

	rc = fus_landing_slots(size, sb, &slots);
	if (rc || (slots == c->slots && !differ && !place_of_list(sb, slots)))
		return rc;
	rc = fus_meta_refuse_logged(c->meta, "given another landing log");
	if (!rc)
		rc = check_list(sb, slots);
	if (!rc)
		rc = check_room(sb, size, slots);
	if (!rc && slots)
		rc = check_age(sb);
	if (rc)
		return rc;
	c->slots = slots;
	c->changes = true;
	/* it is empty, and begins again */
	fus_log_free(&c->st.log);
	give_slots(c->meta, slots);
	fus_meta_next(c->meta, &c->st, true, -1, next);
	for (int dev = 0; dev < 2; dev++)
		if (!fus_meta_has_room(c->meta, &next[dev], &c->st))
			return fus_fail(FC_FAILED, sb->label, "its journal has no room for the "
					"partial extents a second time; open it, close it, and try "
					"again");
	return fus_meta_check_next(c->meta, next);
}

/* No superblock names the place yet, and what lies there must not be taken for a list. */
static int clear_list(const struct meta *meta)
{
	const struct fusion_sb *sb = &meta->geo[SLOW];
	const u64 end = sb->stale_start + fusion_stale_size(sb, sb->stale_places);
	void *zero = fus_offline_buffer(CLEAR_BLOCKS * FUSION_BLOCK_SIZE);
	int err = 0, rc = zero ? 0 : FC_FAILED;
	u32 n;

	for (u64 at = sb->stale_start; at < end && !rc && !err; at += n) {
		n = min_t(u64, end - at, CLEAR_BLOCKS);
		err = fus_offline_write(&meta->m[SLOW].o, at * FUSION_BLOCK_SIZE,
					(size_t)n * FUSION_BLOCK_SIZE, zero);
	}
	free(zero);
	if (err)
		return fus_meta_io_failed(meta, SLOW, "write", err);
	return rc ? rc : fus_meta_flush(meta, SLOW);
}

int fus_landing_write(struct landing_change *c)
{
	const struct fusion_sb *geo = &c->meta->geo[SLOW];
	int rc = 0;

	if (geo->stale_start && !fus_meta_sb(c->meta, FAST)->stale_start)
		rc = clear_list(c->meta);
	return rc ? rc : fus_meta_write(c->meta, &c->st, true, -1, c->meta->m[FAST].heat);
}

void fus_landing_end(struct landing_change *c)
{
	fus_state_free(&c->st);
}
