// SPDX-License-Identifier: GPL-2.0-only
/* A set that grows: its layout, and what the tools make of members that are not of one size yet. */
#include <errno.h>

#include "resized.h"

#define GROWN_SECTORS	(256ULL << 11)
#define HEAT_SECTORS	(160ULL << 11)	/* with more than one block of heat */
#define PLANS		2000U

static void check_grown(const struct fusion_sb *sb, const struct fusion_sb *old, u64 fast, u64 slow)
{
	const u64 block = FUSION_SUPER_BLOCKNR(sb->generation & 1);
	u8 buf[FUSION_BLOCK_SIZE];
	struct fusion_sb other, got;
	const char *why = NULL;

	fusion_sb_pack(sb, block, buf);
	REQUIRE(!fusion_sb_unpack(buf, block, sb->self_sectors, &got, &why), "%s", why);
	REQUIRE(fusion_sb_same_places(sb, old));
	REQUIRE_EQ(sb->layout_seq, old->layout_seq + 1);
	REQUIRE(sb->nr_lexts > old->nr_lexts);
	REQUIRE_EQ(fusion_sb_dev_sectors(sb, FUSION_FAST), fast);
	REQUIRE_EQ(fusion_sb_dev_sectors(sb, FUSION_SLOW), slow);
	REQUIRE(fusion_sb_grown_from(sb, old));
	REQUIRE(!fusion_sb_grown_from(old, sb));
	fusion_sb_for_slow(sb, &other);
	REQUIRE(fusion_sb_grown_from(&other, old));
	fusion_sb_for_slow(old, &other);
	REQUIRE(fusion_sb_grown_from(sb, &other));
	/* the geometry of one member, given to the other one */
	fusion_sb_take_geometry(&other, sb);
	REQUIRE(fusion_same_geometry(sb, &other));
	REQUIRE_EQ(other.layout_seq, sb->layout_seq);
	REQUIRE_EQ(other.role, FUSION_SLOW);
	REQUIRE(!memcmp(other.dev_uuid, old->peer_uuid, sizeof(other.dev_uuid)));
}

static void test_layout(void)
{
	static const char *const full = "the map has no room for more extents";
	unsigned int grown = 0, filled = 0;
	u64 seed = 11;

	for (u32 i = 0; i < PLANS; i++) {
		const u32 extent = FUSION_MIN_EXTENT_SECTORS << rnd_below(&seed, 9);
		const u64 fast = rnd_log(&seed, 64ULL * extent + 8192, 1ULL << 32);
		const u64 slow = rnd_log(&seed, 64ULL * extent + 8192, 1ULL << 34);
		const u64 more[2] = { rnd_log(&seed, 1, 1ULL << 34) - 1,
				      rnd_log(&seed, 1, 1ULL << 36) - 1 };
		struct fusion_misfit misfit = { 0 };
		struct fusion_sb sb = { 0 }, old, again;

		if (fusion_sb_plan(&sb, fast, slow, extent, &misfit))
			continue;
		memset(sb.dev_uuid, 1, sizeof(sb.dev_uuid));
		memset(sb.peer_uuid, 2, sizeof(sb.peer_uuid));
		old = sb;
		REQUIRE(fusion_sb_grow(&sb, fast, slow, 0, &misfit));
		REQUIRE(!memcmp(&sb, &old, sizeof(sb)));
		if (fusion_sb_grow(&sb, fast + more[0], slow + more[1], 0, &misfit)) {
			REQUIRE(!memcmp(&sb, &old, sizeof(sb)));
			continue;
		}
		check_grown(&sb, &old, fast + more[0], slow + more[1]);
		grown++;
		/* all of it: there is no more */
		again = sb;
		REQUIRE(fusion_sb_grow(&again, fast + more[0], slow + more[1], 0, &misfit));
		filled += !strcmp(misfit.what, full);
		REQUIRE(fusion_sb_grow(&again, fast + more[0], slow + more[1], sb.nr_lexts + 1,
				       &misfit));
		/* a part of it, then the rest */
		again = old;
		REQUIRE(!fusion_sb_grow(&again, fast + more[0], slow + more[1], old.nr_lexts + 1,
					&misfit));
		REQUIRE_EQ(again.nr_lexts, old.nr_lexts + 1);
		check_grown(&again, &old, fast + more[0], slow + more[1]);
		if (sb.nr_lexts == old.nr_lexts + 1)
			continue;
		REQUIRE(!fusion_sb_grow(&again, fast + more[0], slow + more[1], 0, &misfit));
		REQUIRE_EQ(again.nr_lexts, sb.nr_lexts);
		REQUIRE_EQ(again.layout_seq, old.layout_seq + 2);
	}
	REQUIRE(grown > PLANS / 4, "only %u of %u have grown", grown, PLANS);
	printf("# %u of %u plans have grown, %u until the map was full\n", grown, PLANS, filled);
	REQUIRE(filled);
}

static void test_match(void)
{
	struct fusion_sb fast, slow, old, a;
	struct fusion_misfit misfit;
	const char *why;

	example_sb(&fast, FAST_SECTORS, SLOW_SECTORS, FUSION_MIN_EXTENT_SECTORS);
	fusion_sb_for_slow(&fast, &old);
	old.flags = 0;
	REQUIRE(!fusion_sb_grow(&fast, FAST_SECTORS, GROWN_SECTORS, 0, &misfit));
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
	MISMATCH(a.layout_seq++, -EXDEV);
	MISMATCH(a.layout_seq += 2; a.journal_blocks[FUSION_SLOW]--, -EXDEV);
	MISMATCH(a.layout_seq += 2, -ESTALE);
	REQUIRE(strstr(why, "the fast member is from before"));
	MISMATCH(a.nr_lexts = fast.nr_lexts + 1, -EXDEV);
	MISMATCH(a.map_start[FUSION_SLOW][1]--, -EXDEV);
	MISMATCH(a.journal_blocks[FUSION_FAST]--, -EXDEV);
	MISMATCH(a.nr_slow_slots = fast.nr_slow_slots + 1, -EXDEV);
	MISMATCH(a.self_sectors = GROWN_SECTORS + 1, -EXDEV);
	fast.layout_seq++;
	MISMATCH(a.role = FUSION_SLOW, -ESTALE);
	REQUIRE(strstr(why, "the slow member is from before"));
}

/* -- a set whose slow member has the old size ---------------------------------------------- */

static void lagging(struct image *im, u64 seed, u64 slow_sectors)
{
	struct image_side *fast = &im->side[FUSION_FAST];
	struct fusion_misfit misfit;
	u32 was;

	image_format(im, seed, FAST_SECTORS, slow_sectors);
	image_activate(im);
	image_work(im, 5 + rnd_below(&im->seed, 40));
	if (rnd_below(&im->seed, 2))
		image_close(im);
	image_activate_slow(im);
	was = fast->sb.nr_lexts;
	REQUIRE(!ftruncate(atoi(im->path[FUSION_SLOW] + strlen("/proc/self/fd/")),
			   GROWN_SECTORS << 9));
	REQUIRE(!fusion_sb_grow(&fast->sb, FAST_SECTORS, GROWN_SECTORS, 0, &misfit));
	REQUIRE(fast->sb.map_blocks > im->side[FUSION_SLOW].sb.map_blocks);
	im->word = realloc(im->word, fast->sb.nr_lexts * sizeof(*im->word));
	for (u32 i = was; i < fast->sb.nr_lexts; i++)
		im->word[i] = FUSION_WORD_UNMAPPED;
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
		lagging(&im, seed, SLOW_SECTORS);
		check_sound(&im, true);

		/* what the slow member alone would tell is the set as it was */
		open_it(&im, false, &meta);
		REQUIRE(!fus_rebuild_state(&meta, SLOW, &rb));
		REQUIRE(rb.exact);
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
		image_free(&im);
	}
}

/* -- its heat ------------------------------------------------------------------------------- */

static void save_heat(struct image *im, u32 from, u64 generation)
{
	static const u16 heat[FUSION_HEAT_PER_BLOCK] = { 1, 2, 3 };
	const struct fusion_sb *sb = &im->side[FUSION_FAST].sb;
	u8 buf[FUSION_BLOCK_SIZE];

	for (; from < sb->heat_blocks; from++) {
		fusion_heat_pack(sb, from, generation, heat, buf);
		image_write(im, FUSION_FAST, sb->heat_start + from, buf);
	}
}

static void write_super(struct image *im, u32 flags)
{
	struct fusion_sb *sb = &im->side[FUSION_FAST].sb;

	sb->flags = flags;
	sb->generation++;
	image_super(im, FUSION_FAST);
}

/* Return: whether check names the heat. */
static bool heat_named(struct image *im)
{
	struct report r = { 0 };
	struct meta meta;
	bool named;

	open_it(im, false, &meta);
	fus_meta_check(&meta, &r);
	named = fus_report_has(&r, "heat");
	fus_report_free(&r);
	fus_meta_free(&meta);
	return named;
}

/*
 * A set that grows keeps the heat of its last close but for the blocks from that on in which it
 * ended. One that is closed soon after a checkpoint keeps the heat, and the generation, of that.
 */
static void test_heat(void)
{
	unsigned int older = 0;
	struct image im;

	for (u64 seed = 1; seed <= 12; seed++) {
		const struct fusion_sb *sb = &im.side[FUSION_FAST].sb;
		u32 from;

		lagging(&im, seed, HEAT_SECTORS);
		from = im.side[FUSION_SLOW].sb.nr_lexts / FUSION_HEAT_PER_BLOCK;
		REQUIRE(from && from < sb->heat_blocks);
		save_heat(&im, from, sb->set_generation);
		older += !!memchr_inv(im.mem[FUSION_FAST] + sb->heat_start * FUSION_BLOCK_SIZE, 0,
				      FUSION_BLOCK_SIZE);
		check_sound(&im, true);

		image_checkpoint(&im, FUSION_FAST, sb->epoch, false);
		save_heat(&im, 0, sb->set_generation);
		write_super(&im, 0);
		check_sound(&im, true);
		write_super(&im, FUSION_SB_CLEAN);
		write_super(&im, FUSION_SB_CLEAN);
		REQUIRE(sb->set_generation + 3 == sb->generation);
		check_sound(&im, true);

		/* no such set has older heat */
		save_heat(&im, sb->heat_blocks - 1, sb->set_generation - 1);
		REQUIRE(heat_named(&im));
		write_super(&im, 0);
		REQUIRE(!heat_named(&im));
		image_free(&im);
	}
	REQUIRE(older);
}

static const struct unit_test tests[] = {
	{ "grow: the layout of a set that grows", test_layout },
	{ "grow: members of a set that has grown", test_match },
	{ "grow: tools on a set whose slow member has the old size", test_lagging },
	{ "grow: heat of another generation", test_heat },
};

UNIT_TESTS(tests)
