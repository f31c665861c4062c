// SPDX-License-Identifier: GPL-2.0-only
/*
 * The landing log of a closed set is turned off and on again, with the power cut at any write: each
 * leaves a good set with the log of before, or the one of after, and the same map.
 *
 * One file because only one part of a test can have the writes that are cut.
 */
#include "cut.h"
#include "error.h"
#include "landing-change.h"
#include "landing-size.h"
#include "log-set.h"
#include "new-uuid.h"
#include "dm-fusion-settings.h"
#include "dm-fusion-stale.h"

static struct log_set l;
static bool listed;		/* it has a stale list */
static bool roomy;		/* there is room for one */
static u8 *before[2];
static size_t kept[2];

static void keep(void)
{
	for (int dev = 0; dev < 2; dev++)
		memcpy(before[dev], l.im.mem[dev], kept[dev]);
}

static void put_back(void)
{
	for (int dev = 0; dev < 2; dev++)
		memcpy(l.im.mem[dev], before[dev], kept[dev]);
}

/* Closed; the log has no block, or @batches, and segments that the journal lists. */
static void begin(u64 seed, u32 batches)
{
	if (listed)
		log_set_make_listed(&l, seed);
	else
		log_set_make_roomy(&l, seed, roomy ? 2 : 0);
	for (u32 i = 0; i < batches; i++)
		log_batch(&l.g, 2);
	log_land(&l.g);
	log_set_write(&l);
	image_close(&l.im);
	log_set_record(&l);
	for (int dev = 0; dev < 2; dev++) {
		const struct fusion_sb *sb = &l.im.side[dev].sb;

		kept[dev] = fusion_slot_sector(sb, dev, dev == FAST ? 0 : sb->slow_first_slot) << 9;
		before[dev] = malloc(kept[dev]);
	}
	keep();
}

static void end(void)
{
	free(before[FAST]);
	free(before[SLOW]);
	log_set_free(&l);
}

/* As the verb does, up to what it would write. */
static int plan(struct landing_change *c, struct meta *meta, const char *size)
{
	int rc;

	log_set_open(&l, true, meta);
	rc = fus_landing_look(c, meta);
	return rc ?: fus_landing_plan(c, size);
}

/* Return: whether it was written whole. */
static bool change(const char *size, unsigned int writes)
{
	struct landing_change c;
	struct meta meta;
	int rc;

	rc = plan(&c, &meta, size);
	REQUIRE(!rc, "%s: %s", fus_last_error()->subject, fus_last_error()->what);
	cut_at(writes);
	rc = fus_landing_write(&c);
	cut_over();
	REQUIRE(!rc || cut.dead);
	fus_landing_end(&c);
	fus_meta_free(&meta);
	return !rc;
}

static void refuses(const char *size, int code, const char *what, const char *remedy)
{
	struct landing_change c;
	struct meta meta;

	REQUIRE_EQ(plan(&c, &meta, size), code);
	REQUIRE(strstr(fus_last_error()->what, what), "%s", fus_last_error()->what);
	REQUIRE(strstr(fus_last_error()->remedy, remedy), "%s", fus_last_error()->remedy);
	fus_landing_end(&c);
	fus_meta_free(&meta);
	for (int dev = 0; dev < 2; dev++)
		REQUIRE(!memcmp(l.im.mem[dev], before[dev], kept[dev]));
}

/*
 * After a cut, a superblock copy may be torn, the heat be of two times, and the log of the replica
 * begin again half-way.
 */
static void require_good(const struct report *r, bool cut_short)
{
	REQUIRE(!r->count[LEVEL_ERROR] && (cut_short || !r->count[LEVEL_WARNING]), "%s: %s",
		fus_report_worst(r)->what, fus_report_worst(r)->text);
	for (u32 i = 0; i < r->nr; i++)
		REQUIRE(r->f[i].level < LEVEL_WARNING || !strcmp(r->f[i].what, "superblock") ||
			!strcmp(r->f[i].what, "heat") ||
			(r->f[i].dev == SLOW && !strcmp(r->f[i].what, "replica")), "%s: %s",
			r->f[i].what, r->f[i].text);
}

/*
 * The slow member says that there is a log as long as any superblock of the fast one says so: what
 * becomes of the set without its fast member depends on that.
 */
static void require_told(const struct meta *meta)
{
	const u64 slow = fus_meta_sb(meta, SLOW)->incompat;

	for (int i = 0; i < 2; i++)
		if (!meta->m[FAST].copy[i].err)
			REQUIRE(!(meta->m[FAST].copy[i].sb.incompat & ~slow &
				  FUSION_INCOMPAT_LANDING));
}

/* The stale list stays where it is, also without a log. */
static void require_list(const struct fusion_sb *sb)
{
	if (roomy) {
		REQUIRE(!sb->stale_places || sb->stale_places == LOG_SLOTS);
		return;
	}
	REQUIRE_EQ(sb->stale_places, listed ? LOG_SLOTS : 0);
	REQUIRE_EQ(sb->stale_start, l.im.side[sb->role].sb.stale_start);
}

/* Return: slots of the log. */
static u32 require_set(bool cut_short)
{
	const struct fusion_sb *fast, *slow;
	struct report r = { 0 };
	struct meta_state st;
	struct meta meta;
	const char *why;
	u32 slots;

	log_set_open(&l, false, &meta);
	fus_meta_check(&meta, &r);
	require_good(&r, cut_short);
	fus_report_free(&r);
	fast = fus_meta_sb(&meta, FAST);
	slow = fus_meta_sb(&meta, SLOW);
	REQUIRE(!fusion_sb_match(fast, slow, &why), "%s", why);
	REQUIRE_EQ(fast->nr_lexts, l.im.side[0].sb.nr_lexts);
	REQUIRE(fast->flags & FUSION_SB_CLEAN);
	REQUIRE(cut_short || fast->incompat == slow->incompat);
	require_told(&meta);
	require_list(fast);
	require_list(slow);
	slots = fast->landing_slots;
	REQUIRE(!fus_state_init(&st, fast->nr_lexts));
	REQUIRE(fus_state_load(&meta, fast, &st, NULL));
	REQUIRE_EQ(st.nr_open, l.im.nr_open);
	REQUIRE(!memcmp(st.word, l.im.word, st.nr_lexts * sizeof(*st.word)));
	for (u32 i = 0; i < st.nr_open; i++)
		REQUIRE(!memcmp(st.open[i]->bitmap, l.im.bitmap[st.open[i]->lext],
				fusion_bitmap_bytes(fast->extent_sectors)));
	fus_state_free(&st);
	fus_meta_free(&meta);
	return slots;
}

static char size_of[32];

/* So many slots, as users write it. */
static const char *size(u32 slots)
{
	snprintf(size_of, sizeof(size_of), "%llu",
		 (unsigned long long)slots * l.im.side[0].sb.extent_sectors * 512);
	return size_of;
}

/* Nothing of the log is left to mislead a repair, which reads older transactions as well. */
static void require_repairable(void)
{
	const struct fusion_sb *fast;
	struct rebuild rb;
	struct meta meta;

	log_set_open(&l, false, &meta);
	fast = fus_meta_sb(&meta, FAST);
	meta.m[FAST].set[fast->active_set].block[0].why = "damaged";
	REQUIRE(!fus_rebuild_state(&meta, FAST, &rb));
	REQUIRE(!rb.exact);
	REQUIRE_EQ(rb.st.log.nr, 0);
	REQUIRE_EQ(rb.nr[DOUBT_LOST], 0);
	REQUIRE(!memcmp(rb.st.word, l.im.word, rb.st.nr_lexts * sizeof(*rb.st.word)));
	fus_rebuild_free(&rb);
	fus_meta_free(&meta);
}

static void test_whole(void)
{
	begin(60, 0);
	REQUIRE_EQ(require_set(false), LOG_SLOTS);
	REQUIRE(change("0", ~0U));
	REQUIRE_EQ(require_set(false), 0);
	require_repairable();
	REQUIRE(change(size(LOG_SLOTS), ~0U));
	REQUIRE_EQ(require_set(false), LOG_SLOTS);
	REQUIRE(change(size(FUS_MIN_LANDING), ~0U));
	REQUIRE_EQ(require_set(false), FUS_MIN_LANDING);
	REQUIRE(change(size(LOG_SLOTS), ~0U));
	REQUIRE_EQ(require_set(false), LOG_SLOTS);
	end();
}

/* At each write. */
static void test_cut(u32 was, u32 is)
{
	unsigned int seen[2] = { 0 }, writes = 0;

	begin(61, 0);
	if (was != LOG_SLOTS)
		REQUIRE(change(size(was), ~0U));
	keep();
	REQUIRE_EQ(require_set(false), was);
	for (; !change(size(is), writes); writes++)
		put_back();
	REQUIRE_EQ(require_set(false), is);
	for (unsigned int n = 0; n < 3 * writes; n++) {
		u32 slots;

		put_back();
		cut.seed = n;
		REQUIRE(!change(size(is), n % writes));
		slots = require_set(true);
		REQUIRE(slots == was || slots == is);
		seen[slots == is]++;
		/* one of the members may know it alone */
		REQUIRE(change(size(is), ~0U));
		REQUIRE_EQ(require_set(false), is);
	}
	printf("# %u cuts: %u left the old log, %u the new one\n", 3 * writes, seen[0], seen[1]);
	REQUIRE(seen[0] && seen[1]);
	end();
}

/* Also of a log that is larger than before, as far as there are lists for it. */
static void test_cut_larger(void)
{
	test_cut(FUS_MIN_LANDING, LOG_SLOTS);
}

static void test_cut_smaller(void)
{
	test_cut(LOG_SLOTS, FUS_MIN_LANDING);
}

static void test_cut_off(void)
{
	test_cut(LOG_SLOTS, 0);
}

static void test_cut_on(void)
{
	test_cut(0, LOG_SLOTS);
}

/* -- what is refused ------------------------------------------------------------------------- */

static void test_full(void)
{
	struct new_uuid n;
	struct meta meta;

	begin(62, 3);
	refuses("0", FC_REFUSED, "cannot be given another landing log while it has 24K in its "
		"landing log", "open it, run fusionctl drain home, and close it");
	refuses("much", FC_USAGE, "not a size", "");
	log_set_open(&l, true, &meta);
	REQUIRE_EQ(fus_new_uuid_plan(&n, &meta), FC_REFUSED);
	REQUIRE(strstr(fus_last_error()->what, "cannot be given another uuid while it has 24K"),
		"%s", fus_last_error()->what);
	fus_new_uuid_end(&n);
	fus_meta_free(&meta);
	end();
}

static void test_refused(void)
{
	struct fusion_sb *sb = &l.im.side[FAST].sb;

	begin(63, 0);
	if (listed)
		refuses("50%", FC_REFUSED, "has a list for a landing log of only ", "choose");
	else
		refuses("50%", FC_REFUSED, "has room for a landing log of only ", "shrink ");
	fusion_sb_keep(sb, FUSION_SET_SHADOW_AGE, true, 180);
	sb->generation++;
	image_super(&l.im, FAST);
	keep();
	refuses(size(LOG_SLOTS - 1), FC_REFUSED, "has shadow_age", "shadow_age=never first");
	sb->flags &= ~FUSION_SB_CLEAN;
	sb->generation++;
	image_super(&l.im, FAST);
	keep();
	refuses("0", FC_REFUSED, "was not closed cleanly", "fusionctl close");
	end();
}

/* -- what check says ------------------------------------------------------------------- */

static void require_finding(const char *text, enum severity level)
{
	struct report r = { 0 };
	bool found = false;
	struct meta meta;

	log_set_open(&l, false, &meta);
	fus_meta_check(&meta, &r);
	REQUIRE_EQ(r.count[LEVEL_ERROR], 0);
	REQUIRE_EQ(r.count[LEVEL_WARNING], level == LEVEL_WARNING);
	for (u32 i = 0; i < r.nr; i++)
		found |= r.f[i].level == level && strstr(r.f[i].text, text);
	REQUIRE(found);
	REQUIRE_EQ(r.landing.listed, listed && r.landing.found);
	fus_report_free(&r);
	fus_meta_free(&meta);
}

/* The slow member tells nothing of a log that there is, or of its list. */
static void test_untold(void)
{
	struct fusion_sb *sb = &l.im.side[SLOW].sb;

	for (int i = 0; i < 3; i++) {
		listed = i;
		begin(66, 0);
		if (i < 2) {
			sb->incompat = 0;
		} else {
			sb->stale_places = 0;
			sb->stale_start = 0;
		}
		for (int copy = 0; copy < 2; copy++) {
			sb->generation++;
			image_super(&l.im, SLOW);
		}
		require_finding("does not tell of the landing log", LEVEL_WARNING);
		end();
	}
	listed = false;
}

/* Power has failed before the fast member knew of it. */
static void test_told_first(void)
{
	struct fusion_sb sb;
	const char *why;

	begin(67, 0);
	REQUIRE(change("0", ~0U));
	for (int copy = 0; copy < 2; copy++) {
		const u64 blocknr = FUSION_SUPER_BLOCKNR(copy);
		u8 *block = l.im.mem[SLOW] + blocknr * FUSION_BLOCK_SIZE;

		REQUIRE(!fusion_sb_unpack(block, blocknr, l.im.bytes[SLOW] >> 9, &sb, &why));
		sb.incompat |= FUSION_INCOMPAT_LANDING;
		fusion_sb_pack(&sb, blocknr, block);
	}
	require_finding("tells of a landing log, and the fast member has none", LEVEL_NOTE);
	REQUIRE(change("0", ~0U));
	REQUIRE_EQ(require_set(false), 0);
	end();
}

/* -- another uuid ---------------------------------------------------------------------------- */

static bool renew(unsigned int writes)
{
	struct new_uuid n;
	struct meta meta;
	int rc;

	log_set_open(&l, true, &meta);
	rc = fus_new_uuid_plan(&n, &meta);
	REQUIRE(!rc, "%s: %s", fus_last_error()->subject, fus_last_error()->what);
	cut_at(writes);
	rc = fus_new_uuid_write(&n);
	cut_over();
	fus_new_uuid_end(&n);
	fus_meta_free(&meta);
	return !rc;
}

/* A set with an empty log keeps the slots for it, also if that was interrupted. */
static void test_uuid(void)
{
	unsigned int writes = 0;

	begin(64, 0);
	for (; !renew(writes); writes++)
		put_back();
	REQUIRE_EQ(require_set(false), LOG_SLOTS);
	for (unsigned int n = 0; n < writes; n++) {
		put_back();
		cut.seed = n;
		REQUIRE(!renew(n));
		REQUIRE(renew(~0U));
		REQUIRE_EQ(require_set(false), LOG_SLOTS);
	}
	end();
}

/* -- sets with a stale list ---------------------------------------------------------------- */

static void test_listed(void)
{
	static void (*const test[])(void) = {
		test_whole, test_cut_off, test_cut_on, test_cut_larger, test_cut_smaller,
		test_full, test_refused, test_uuid,
	};

	listed = true;
	for (unsigned int i = 0; i < ARRAY_SIZE(test); i++)
		test[i]();
	listed = false;
}

/* No log is larger than there are lists for its segments. */
static void test_too_large(void)
{
	listed = true;
	begin(65, 0);
	refuses(size(LOG_SLOTS + 1), FC_REFUSED, "has a list for a landing log of only 768K on its "
		"slow member", "choose at most that");
	REQUIRE(change("0", ~0U));
	keep();
	refuses(size(LOG_SLOTS + 1), FC_REFUSED, "of only 768K", "choose at most that");
	end();
	listed = false;
}

/* Return: so many lists that the set has, at the end of what is ahead of the slots. */
static u32 lists(void)
{
	const struct fusion_sb *sb;
	struct meta meta;
	u32 places;

	log_set_open(&l, false, &meta);
	sb = fus_meta_sb(&meta, FAST);
	places = sb->stale_places;
	if (places) {
		REQUIRE_EQ(sb->stale_start + fusion_stale_size(sb, places),
			   (u64)sb->slow_first_slot * sb->extent_sectors / FUSION_BLOCK_SECTORS);
		REQUIRE(sb->stale_start >= sb->map_start[SLOW][1] + sb->map_blocks);
		REQUIRE_EQ(fus_meta_sb(&meta, SLOW)->stale_start, sb->stale_start);
	}
	fus_meta_free(&meta);
	return places;
}

/* A set that was made without a list gets one where there is room; the power fails at any write. */
static void test_room_for_list(void)
{
	unsigned int seen[2] = { 0 }, writes = 0;

	roomy = true;
	begin(66, 0);
	REQUIRE_EQ(lists(), 0);
	for (; !change(size(LOG_SLOTS), writes); writes++)
		put_back();
	REQUIRE_EQ(require_set(false), LOG_SLOTS);
	REQUIRE_EQ(lists(), LOG_SLOTS);
	for (unsigned int n = 0; n < 2 * writes; n++) {
		put_back();
		cut.seed = n;
		REQUIRE(!change(size(LOG_SLOTS), n % writes));
		REQUIRE_EQ(require_set(true), LOG_SLOTS);
		seen[!!lists()]++;
		/* one of the members may know it alone */
		change(size(LOG_SLOTS), ~0U);
		REQUIRE_EQ(lists(), LOG_SLOTS);
	}
	REQUIRE(seen[0] && seen[1]);
	put_back();
	REQUIRE(change("0", ~0U));
	REQUIRE_EQ(lists(), 0);
	REQUIRE(change(size(LOG_SLOTS), ~0U));
	REQUIRE_EQ(lists(), LOG_SLOTS);
	end();
	roomy = false;
}

static const struct unit_test tests[] = {
	{ "log, change: off, on, and another size", test_whole },
	{ "log, change: power fails while it is turned off", test_cut_off },
	{ "log, change: power fails while it is turned on", test_cut_on },
	{ "log, change: power fails while it becomes larger", test_cut_larger },
	{ "log, change: power fails while it becomes smaller", test_cut_smaller },
	{ "log, change: a log that is not empty", test_full },
	{ "log, change: what else is refused", test_refused },
	{ "log, change: a slow member that does not tell of it", test_untold },
	{ "log, change: a slow member that alone tells of one", test_told_first },
	{ "log, change: another uuid", test_uuid },
	{ "log, change: all of that with a stale list", test_listed },
	{ "log, change: larger than the stale list", test_too_large },
	{ "log, change: room for a stale list", test_room_for_list },
};

UNIT_TESTS(tests)
