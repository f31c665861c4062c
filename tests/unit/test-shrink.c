// SPDX-License-Identifier: GPL-2.0-only
/*
 * A set that shrinks: its layout, what fusionctl plans, and what the tools make of members of which
 * the slow one has the size from before.
 */
#include <errno.h>

#include "resized.h"

/* to see inside */
#include "shrink-plan.c"

#define SHRUNK_SECTORS	(40ULL << 11)
#define PLANS		2000U

/* -- the layout ---------------------------------------------------------------------------- */

static void check_valid(const struct fusion_sb *sb)
{
	const u64 block = FUSION_SUPER_BLOCKNR(sb->generation & 1);
	u8 buf[FUSION_BLOCK_SIZE];
	struct fusion_sb got;
	const char *why = NULL;

	fusion_sb_pack(sb, block, buf);
	REQUIRE(!fusion_sb_unpack(buf, block, sb->self_sectors, &got, &why), "%s", why);
	/* and not on a device that is a sector smaller */
	REQUIRE_EQ(fusion_sb_unpack(buf, block, sb->self_sectors - 1, &got, &why), -ENOSPC);
}

static void check_shrunk(const struct fusion_sb *sb, const struct fusion_sb *old, u64 fast,
			 u64 slow)
{
	struct fusion_sb other;

	check_valid(sb);
	REQUIRE(fusion_sb_same_places(sb, old));
	REQUIRE_EQ(sb->layout_seq, old->layout_seq + 1);
	REQUIRE(sb->nr_lexts <= old->nr_lexts);
	REQUIRE_EQ(fusion_sb_dev_sectors(sb, FUSION_FAST), fast);
	REQUIRE_EQ(fusion_sb_dev_sectors(sb, FUSION_SLOW), slow);
	REQUIRE(fusion_sb_within(sb, old) && !fusion_sb_within(old, sb));
	REQUIRE(fusion_sb_shrunk_from(sb, old) && fusion_sb_resized_from(sb, old));
	REQUIRE(!fusion_sb_grown_from(sb, old));
	REQUIRE(!fusion_sb_shrunk_from(old, sb) && !fusion_sb_resized_from(old, sb));
	/* in superblocks of either member */
	fusion_sb_for_slow(sb, &other);
	check_valid(&other);
	REQUIRE(fusion_sb_shrunk_from(&other, old));
	fusion_sb_for_slow(old, &other);
	REQUIRE(fusion_sb_shrunk_from(sb, &other));
	fusion_sb_take_geometry(&other, sb);
	REQUIRE(fusion_same_geometry(sb, &other));
	/* the last MiB is free of slots */
	REQUIRE(fast >= fusion_slot_sector(sb, FUSION_FAST, sb->nr_fast_slots) +
			FUSION_GUARD_SECTORS);
	REQUIRE(slow >= fusion_slot_sector(sb, FUSION_SLOW,
					   sb->slow_first_slot + sb->nr_slow_slots) +
			FUSION_GUARD_SECTORS);
}

/* It grows again, to what it was. */
static void check_grows_back(struct fusion_sb *sb, const struct fusion_sb *old)
{
	struct fusion_misfit misfit;
	const struct fusion_sb small = *sb;

	if (fusion_sb_grow(sb, fusion_sb_dev_sectors(old, FUSION_FAST),
			   fusion_sb_dev_sectors(old, FUSION_SLOW), 0, &misfit)) {
		REQUIRE_EQ(small.nr_lexts, old->nr_lexts);
		return;
	}
	check_valid(sb);
	REQUIRE(fusion_sb_grown_from(sb, &small));
	REQUIRE_EQ(sb->nr_lexts, old->nr_lexts);
	REQUIRE_EQ(sb->nr_fast_slots, old->nr_fast_slots);
	REQUIRE_EQ(sb->nr_slow_slots, old->nr_slow_slots);
	REQUIRE_EQ(sb->spare_slow, old->spare_slow);
	REQUIRE_EQ(sb->map_blocks, old->map_blocks);
	REQUIRE_EQ(sb->layout_seq, old->layout_seq + 2);
}

static bool random_plan(u64 *seed, struct fusion_sb *sb)
{
	const u32 extent = FUSION_MIN_EXTENT_SECTORS << rnd_below(seed, 9);
	const u64 fast = rnd_log(seed, 64ULL * extent + 8192, 1ULL << 32);
	const u64 slow = rnd_log(seed, 64ULL * extent + 8192, 1ULL << 34);
	struct fusion_misfit misfit;

	memset(sb, 0, sizeof(*sb));
	if (fusion_sb_plan(sb, fast, slow, extent, &misfit))
		return false;
	memset(sb->dev_uuid, 1, sizeof(sb->dev_uuid));
	memset(sb->peer_uuid, 2, sizeof(sb->peer_uuid));
	return true;
}

static void test_layout(void)
{
	unsigned int shrunk = 0, refused = 0;
	u64 seed = 12;

	for (u32 i = 0; i < PLANS; i++) {
		struct fusion_misfit misfit = { 0 };
		struct fusion_sb sb, old;
		u64 fast, slow;
		u32 lexts;

		if (!random_plan(&seed, &sb))
			continue;
		old = sb;
		fast = rnd_below(&seed, 3) ? sb.self_sectors : rnd_log(&seed, 1, sb.self_sectors);
		slow = rnd_below(&seed, 3) ? rnd_log(&seed, 1, sb.peer_sectors) : sb.peer_sectors;
		lexts = rnd_below(&seed, 2) ? rnd_log(&seed, 1, sb.nr_lexts) : 0;
		if (fusion_sb_shrink(&sb, fast, slow, lexts, &misfit)) {
			REQUIRE(misfit.what);
			REQUIRE(!memcmp(&sb, &old, sizeof(sb)));
			refused++;
			continue;
		}
		shrunk++;
		REQUIRE(!lexts || sb.nr_lexts == lexts);
		check_shrunk(&sb, &old, fast, slow);
		check_grows_back(&sb, &old);
	}
	REQUIRE(shrunk > PLANS / 4, "only %u of %u have shrunk", shrunk, PLANS);
	REQUIRE(refused > PLANS / 20, "only %u were refused", refused);
	printf("# %u of %u plans have shrunk, %u were refused\n", shrunk, PLANS, refused);
}

static void test_limits(void)
{
	struct fusion_sb sb, old;
	struct fusion_misfit misfit;

	example_sb(&sb, FAST_SECTORS, SLOW_SECTORS, FUSION_MIN_EXTENT_SECTORS);
	old = sb;
#define REFUSED(fast, slow, lexts, text) do {						\
	REQUIRE(fusion_sb_shrink(&sb, fast, slow, lexts, &misfit));			\
	REQUIRE(strstr(misfit.what, text), "%s", misfit.what);				\
	REQUIRE(!memcmp(&sb, &old, sizeof(sb)));					\
} while (0)
	REFUSED(FAST_SECTORS, SLOW_SECTORS, 0, "that small already");
	REFUSED(FAST_SECTORS, SLOW_SECTORS, sb.nr_lexts, "that small already");
	REFUSED(FAST_SECTORS + 1, SLOW_SECTORS - 4096, 0, "that small already");
	REFUSED(FAST_SECTORS, SLOW_SECTORS + 1, 5, "that small already");
	REFUSED(FAST_SECTORS, SLOW_SECTORS, sb.nr_lexts + 1, "that small already");
	REFUSED(FAST_SECTORS, 1, 1, "slow member would be too small");
	REFUSED(1, SLOW_SECTORS, 1, "fast member would be too small");
	REFUSED(FAST_SECTORS, SLOW_SECTORS - 4096, sb.nr_lexts, "no room for the extents");
	sb.layout_seq = U32_MAX;
	old.layout_seq = U32_MAX;
	REFUSED(FAST_SECTORS, SLOW_SECTORS, 5, "resized too often");
	sb.layout_seq = 0;
	old.layout_seq = 0;
	/* only the set, and only a member in which there are more slots than are needed */
	REQUIRE(!fusion_sb_shrink(&sb, FAST_SECTORS, SLOW_SECTORS, sb.nr_lexts - 100, &misfit));
	REQUIRE_EQ(sb.nr_slow_slots, old.nr_slow_slots);
	REQUIRE(!fusion_sb_shrink(&sb, FAST_SECTORS, SLOW_SECTORS - 4096, sb.nr_lexts, &misfit));
	REQUIRE_EQ(sb.nr_lexts, old.nr_lexts - 100);
	REQUIRE_EQ(sb.layout_seq, 2);
}

static void test_match(void)
{
	struct fusion_sb fast, slow, old, a;
	struct fusion_misfit misfit;
	const char *why;

	example_sb(&fast, FAST_SECTORS, SLOW_SECTORS, FUSION_MIN_EXTENT_SECTORS);
	fusion_sb_for_slow(&fast, &old);
	old.flags = 0;
	REQUIRE(!fusion_sb_shrink(&fast, FAST_SECTORS, SHRUNK_SECTORS, 0, &misfit));
	fusion_sb_for_slow(&fast, &slow);
	slow.flags = 0;
	REQUIRE(!fusion_sb_match(&fast, &slow, &why), "%s", why);
	REQUIRE(!fusion_sb_match(&fast, &old, &why), "%s", why);

#define MISMATCH(change, error) do {					\
	a = old;							\
	change;								\
	why = NULL;							\
	REQUIRE_EQ(fusion_sb_match(&fast, &a, &why), error);		\
	REQUIRE(why);							\
} while (0)
	/* some of it larger, some of it smaller: neither growth nor shrinking leads there */
	MISMATCH(a.nr_fast_slots = fast.nr_fast_slots - 1, -EXDEV);
	MISMATCH(a.nr_lexts = fast.nr_lexts - 1, -EXDEV);
	MISMATCH(a.self_sectors = SHRUNK_SECTORS - 1, -EXDEV);
	MISMATCH(a.map_start[FUSION_SLOW][1]--, -EXDEV);
	MISMATCH(a.layout_seq++, -EXDEV);
	MISMATCH(a.layout_seq += 2, -ESTALE);
	REQUIRE(strstr(why, "the fast member is from before"));
	fast.layout_seq++;
	MISMATCH(a.role = FUSION_SLOW, -ESTALE);
	REQUIRE(strstr(why, "the slow member is from before"));
}

/* -- the plan of the tool ------------------------------------------------------------------ */

static char size_text[32];

static const char *size(u64 bytes)
{
	snprintf(size_text, sizeof(size_text), "%llu", (unsigned long long)bytes);
	return size_text;
}

/* All extents fit while the spares are as many as before, so the evacuation never lacks room. */
static void check_plan(const struct shrinking *s, u64 lexts, u64 sectors)
{
	const struct fusion_sb *old = &s->r.sb;
	struct fusion_sb sb = *old;
	struct fusion_misfit misfit = { 0 };
	const u64 now = shrink_sectors(old, s->dev);

	REQUIRE(!fusion_sb_shrink(&sb, s->dev == FAST ? sectors : sb.self_sectors,
				  s->dev == SLOW ? sectors : sb.peer_sectors, lexts, &misfit),
		"%s", misfit.what);
	check_valid(&sb);
	REQUIRE(sectors <= now);
	REQUIRE((u64)sb.nr_fast_slots - old->spare_fast + sb.nr_slow_slots - old->spare_slow >=
		lexts);
	REQUIRE(sectors >> ilog2(sb.extent_sectors) >= FUSION_MIN_DEV_EXTENTS);
}

/* One slot less would be too few, or is not worth a MiB. */
static void check_least(const struct shrinking *s, uint64_t lexts, uint64_t sectors)
{
	const struct part p = part_of(&s->r.sb, s->dev);
	const uint64_t slots = (sectors - FUSION_GUARD_SECTORS - p.start) / s->r.sb.extent_sectors;
	const uint64_t spare = MIB_SECTORS / s->r.sb.extent_sectors + 1;

	REQUIRE(slots < p.least + spare || room(&s->r.sb, s->dev, slots) < lexts + spare);
}

static void test_plan_by_set(void)
{
	unsigned int planned = 0, cut = 0;
	u64 seed = 13;

	for (u32 i = 0; i < PLANS; i++) {
		struct shrinking s = { .r.name = "data", .dev = rnd_below(&seed, 4) ? SLOW : FAST };
		uint64_t lexts, sectors, want, extent;

		if (!random_plan(&seed, &s.r.sb))
			continue;
		extent = (u64)s.r.sb.extent_sectors << 9;
		want = s.r.sb.nr_lexts * extent / 100 * (1 + rnd_below(&seed, 100));
		if (plan_by_set(&s, size(want), &lexts, &sectors))
			continue;
		planned++;
		REQUIRE(lexts * extent >= want && lexts * extent < want + extent);
		check_plan(&s, lexts, sectors);
		if (sectors == shrink_sectors(&s.r.sb, s.dev))
			continue;
		cut++;
		REQUIRE(!(sectors % MIB_SECTORS));
		/* no larger than it has to be */
		check_least(&s, lexts, sectors);
		/* the same by what the content needs */
		s.size = SIZE_KNOWN;
		s.content_bytes = want;
		REQUIRE(!plan_by_set(&s, NULL, &lexts, &sectors));
		check_plan(&s, lexts, sectors);
	}
	REQUIRE(planned > PLANS / 8 && cut > PLANS / 8, "%u plans, %u cut a member", planned, cut);
	printf("# %u plans by the size of the set, %u of them cut a member\n", planned, cut);
}

static void test_plan_by_member(void)
{
	struct member m = { .path = "/dev/sda2" };
	unsigned int planned = 0;
	u64 seed = 14;

	for (u32 i = 0; i < PLANS; i++) {
		struct shrinking s = {
			.r = { .name = "data", .m = { &m, &m } },
			.dev = rnd_below(&seed, 4) ? SLOW : FAST,
		};
		uint64_t lexts, sectors, want;

		if (!random_plan(&seed, &s.r.sb))
			continue;
		want = rnd_log(&seed, 1, shrink_sectors(&s.r.sb, s.dev) << 9);
		if (plan_by_member(&s, size(want), &lexts, &sectors))
			continue;
		planned++;
		REQUIRE_EQ(sectors, (want >> 9) / MIB_SECTORS * MIB_SECTORS);
		check_plan(&s, lexts, sectors);
	}
	REQUIRE(planned > PLANS / 8, "%u plans", planned);
	printf("# %u plans by the size of a member\n", planned);
}

static void test_reach(void)
{
	uint64_t end;

	REQUIRE(fus_reach_of_line("crypt", "aes-xts-plain64 :64:logon:x 0 253:5 32768", 1000,
				  "253:5", &end));
	REQUIRE_EQ(end, 33768);
	REQUIRE(fus_reach_of_line("linear", "253:55 2048", 1000, "253:5", &end));
	REQUIRE_EQ(end, 0);
	REQUIRE(fus_reach_of_line("linear", "253:5 2048", 1000, "253:5", &end));
	REQUIRE_EQ(end, 3048);
	REQUIRE(!fus_reach_of_line("thin-pool", "253:4 253:5 128 0", 1000, "253:5", &end));
	REQUIRE(fus_reach_of_line("linear", "253:5 18446744073709551615", 1000, "253:5", &end));
	REQUIRE_EQ(end, 0);
}

/* -- a set whose slow member has the size from before --------------------------------------- */

/* Unmap what lies behind the ends of @sb, so that the log of both members names places there. */
static void empty_ends(struct image *im, const struct fusion_sb *sb)
{
	static u32 lexts[256], olds[256], ops[256];
	u32 nr = 0, all = im->side[FUSION_FAST].sb.nr_lexts;

	for (u32 i = 0; i <= all; i++) {
		const u32 word = i < all ? im->word[i] : FUSION_WORD_UNMAPPED;

		if (nr == ARRAY_SIZE(lexts) || (i == all && nr)) {
			image_commit(im, FUSION_FAST, lexts, olds, ops, nr);
			image_commit(im, FUSION_SLOW, lexts, olds, ops, nr);
			nr = 0;
		}
		if (!fusion_word_mapped(word) ||
		    (i < sb->nr_lexts && fusion_slot_valid(sb, fusion_word_dev(word),
							   fusion_word_slot(word))))
			continue;
		im->nr_open -= fusion_word_state(word) == FUSION_OPEN;
		image_release(im, word);
		im->word[i] = FUSION_WORD_UNMAPPED;
		lexts[nr] = i;
		olds[nr] = word;
		ops[nr++] = FUSION_OP_UNMAP;
	}
}

/* As if power failed after the superblock of the fast member that made the set smaller. */
static void lagging(struct image *im, u64 seed)
{
	struct image_side *fast = &im->side[FUSION_FAST];
	struct fusion_misfit misfit;
	struct fusion_sb small;

	image_format(im, seed, FAST_SECTORS, SLOW_SECTORS);
	image_activate(im);
	image_work(im, 5 + rnd_below(&im->seed, 40));
	small = fast->sb;
	REQUIRE(!fusion_sb_shrink(&small, FAST_SECTORS, SHRUNK_SECTORS, 0, &misfit), "%s",
		misfit.what);
	empty_ends(im, &small);
	/* as it closes, the slow member only gets a superblock: the records stay in its log */
	image_checkpoint(im, FUSION_FAST, fast->sb.epoch, true);
	image_activate_slow(im);
	REQUIRE(!fusion_sb_shrink(&fast->sb, FAST_SECTORS, SHRUNK_SECTORS, 0, &misfit));
	fast->sb.prev_activation = im->side[FUSION_SLOW].sb.prev_activation;
	fast->sb.activation = im->side[FUSION_SLOW].sb.activation;
	image_checkpoint(im, FUSION_FAST, fast->sb.epoch + 1, false);
}

static void test_lagging(void)
{
	struct rebuild rb;
	struct meta meta;
	struct image im;
	u32 lost = 0;

	for (u64 seed = 1; seed <= 12; seed++) {
		lagging(&im, seed);
		check_sound(&im, true);

		/* the slow member's replica has all that is left, by its own bounds */
		open_it(&im, false, &meta);
		REQUIRE(!fus_rebuild_state(&meta, SLOW, &rb));
		REQUIRE(rb.exact);
		REQUIRE_EQ(rb.st.nr_lexts, im.side[FUSION_FAST].sb.nr_lexts);
		for (u32 i = 0; i < rb.st.nr_lexts; i++)
			REQUIRE(rb.st.word[i] == im.word[i], "extent %u", i);
		fus_rebuild_free(&rb);
		fus_meta_free(&meta);

		/* a block of the map is lost, or none: then both have the new size */
		if (seed % 2) {
			const struct fusion_sb *sb = &im.side[FUSION_FAST].sb;

			lost = seed % sb->map_blocks;
			memset(im.mem[FUSION_FAST] +
			       (sb->map_start[FUSION_FAST][sb->active_set] + lost) *
			       FUSION_BLOCK_SIZE, 0, FUSION_BLOCK_SIZE);
		}
		repair_it(&im, !(seed % 2), lost);
		check_sound(&im, false);
		/* and the end of the slow member may go */
		REQUIRE(!ftruncate(atoi(im.path[FUSION_SLOW] + strlen("/proc/self/fd/")),
				   SHRUNK_SECTORS << 9));
		check_sound(&im, false);
		REQUIRE(!ftruncate(atoi(im.path[FUSION_SLOW] + strlen("/proc/self/fd/")),
				   SLOW_SECTORS << 9));
		image_free(&im);
	}
}

static const struct unit_test tests[] = {
	{ "shrink: the layout of a set that shrinks", test_layout },
	{ "shrink: how small a set can become", test_limits },
	{ "shrink: members of a set that has shrunk", test_match },
	{ "shrink: a plan by the size of the set", test_plan_by_set },
	{ "shrink: a plan by the size of a member", test_plan_by_member },
	{ "shrink: how far mappings reach", test_reach },
	{ "shrink: tools on a set whose slow member has the old size", test_lagging },
};

UNIT_TESTS(tests)
