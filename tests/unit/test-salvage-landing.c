// SPDX-License-Identifier: GPL-2.0-only
/* The data that the slow member of a set with a landing log still has: less what is stale. */
#include <json-c/json.h>

#include "dm-fusion-landing.h"
#include "dm-fusion-stale.h"
#include "image.h"
#include "meta-stale.h"
#include "printed.h"
#include "salvage.h"

#define FAST_SECTORS	(16ULL << 11)
#define SLOW_SECTORS	(96ULL << 11)
#define PLACES		4U
#define TIME		1700000000

static struct image im;
static u32 lext[8];		/* stable extents of the slow member */
static u32 blocks;		/* of an extent */

/* The first slots of the slow member have the list. */
static void begin(u64 seed)
{
	u32 list, nr = 0;

	image_format(&im, seed, FAST_SECTORS, SLOW_SECTORS);
	blocks = im.side[0].sb.extent_sectors / FUSION_BLOCK_SECTORS;
	list = DIV_ROUND_UP(fusion_stale_size(&im.side[0].sb, PLACES), blocks);
	for (int dev = 0; dev < 2; dev++) {
		struct fusion_sb *sb = &im.side[dev].sb;

		sb->incompat = FUSION_INCOMPAT_LANDING;
		sb->stale_places = PLACES;
		sb->stale_start = (u64)sb->slow_first_slot * blocks;
		sb->slow_first_slot += list;
		sb->nr_slow_slots -= list;
		sb->nr_lexts -= PLACES + list;
	}
	im.side[FUSION_FAST].sb.landing_slots = PLACES;
	image_activate(&im);
	image_work(&im, 20);
	for (u32 i = 0; i < im.side[0].sb.nr_lexts && nr < ARRAY_SIZE(lext); i++)
		if (fusion_word_mapped(im.word[i]) &&
		    fusion_word_dev(im.word[i]) == FUSION_SLOW &&
		    fusion_word_state(im.word[i]) == FUSION_STABLE)
			lext[nr++] = i;
	REQUIRE_EQ(nr, ARRAY_SIZE(lext));
}

static void put(u64 blocknr, const void *block)
{
	memcpy(im.mem[FUSION_SLOW] + blocknr * FUSION_BLOCK_SIZE, block, FUSION_BLOCK_SIZE);
}

/* A list, and a head that makes it count, or not yet. */
static void list_blocks(const struct fusion_stale_entry *entry, u32 nr, bool counts)
{
	const struct fusion_sb *sb = &im.side[FUSION_SLOW].sb;
	const struct fusion_stale_list list = {
		.run = 4, .seq = 9, .time = TIME, .segno = 1, .key = 5, .epoch = sb->epoch,
		.total = nr,
	};
	struct fusion_stale_head head = {
		.run = 4, .seq = 9, .time = TIME, .epoch = sb->epoch, .nr_lists = 1,
		.nr_blocks = nr,
	};
	u8 block[FUSION_BLOCK_SIZE];

	head.sum = fusion_stale_pack(sb, 1, 2, 0, &list, entry, block);
	put(fusion_stale_blocknr(sb, 1, 2, 0), block);
	if (!counts)
		return;
	fusion_stale_head_pack(sb, &head, block);
	put(fusion_stale_head_blocknr(sb, 0), block);
}

static void salvage(struct salvage *s)
{
	struct meta meta = { .m = { { .o.fd = -1 }, { .o.fd = -1 } }, .landing = true };
	struct rebuild rb;

	REQUIRE(!fus_offline_open(im.path[FUSION_SLOW], OFFLINE_READ, &meta.m[0].o));
	REQUIRE(!fus_meta_read(&meta));
	REQUIRE(fus_meta_sb(&meta, FUSION_SLOW));
	REQUIRE(!fus_rebuild_state(&meta, FUSION_SLOW, &rb));
	REQUIRE(!fus_salvage_plan(&meta, &rb, s));
	fus_rebuild_free(&rb);
	fus_meta_free(&meta);
}

/* Two blocks side by side, the last of one extent with the first of the next, and one alone. */
static u32 some_entries(struct fusion_stale_entry *e)
{
	e[0] = (struct fusion_stale_entry){ lext[0], 3, 1 };
	e[1] = (struct fusion_stale_entry){ lext[0], 4, 2 };
	e[2] = (struct fusion_stale_entry){ lext[1], blocks - 1, 3 };
	e[3] = (struct fusion_stale_entry){ lext[3], 0, 5 };
	/* once more, and one of an extent that is not there */
	e[4] = (struct fusion_stale_entry){ lext[0], 3, 6 };
	e[5] = (struct fusion_stale_entry){ im.side[0].sb.nr_lexts - 1, 0, 7 };
	return im.word[im.side[0].sb.nr_lexts - 1] == FUSION_WORD_UNMAPPED ? 6 : 5;
}

static bool listed(const struct fusion_stale_entry *e, u32 nr, u64 block)
{
	for (u32 i = 0; i < nr; i++)
		if ((u64)e[i].lext * blocks + e[i].block == block)
			return true;
	return false;
}

static void test_listed(void)
{
	struct fusion_stale_entry e[6];
	struct salvage before, s;
	u64 stale = 0;
	u32 nr;

	begin(3);
	salvage(&before);
	REQUIRE(before.landing.log && !before.landing.known && !before.landing.exact);
	nr = some_entries(e);
	list_blocks(e, nr, true);
	salvage(&s);
	REQUIRE(s.landing.known && s.landing.whole && !s.landing.exact);
	REQUIRE_EQ(s.landing.time, TIME);
	REQUIRE_EQ(s.landing.blocks, 4);
	REQUIRE_EQ(s.sectors[PART_LOST], before.sectors[PART_LOST] + 4 * 8);
	REQUIRE_EQ(s.sectors[PART_INTACT], before.sectors[PART_INTACT] - 4 * 8);
	for (u64 b = 0; b < (u64)im.side[0].sb.nr_lexts * blocks; b++) {
		const struct part *p = fus_salvage_part(&before, b * 8);
		const struct part *q = fus_salvage_part(&s, b * 8);

		if (p->kind == PART_INTACT && listed(e, nr, b)) {
			REQUIRE_EQ(q->kind, PART_LOST);
			continue;
		}
		REQUIRE_EQ(p->kind, q->kind);
		if (fus_part_is_here(p->kind))
			REQUIRE_EQ(p->where + b * 8 - p->start, q->where + b * 8 - q->start);
	}
	/* the older versions are where they were */
	for (size_t i = 0; i < s.nr_stale; i++) {
		const struct part *p = fus_salvage_part(&before, s.stale[i].start);

		REQUIRE(!i || s.stale[i].start >= s.stale[i - 1].start + s.stale[i - 1].nr);
		if (p->kind != PART_INTACT)
			continue;
		stale += s.stale[i].nr;
		REQUIRE_EQ(s.stale[i].where, p->where + s.stale[i].start - p->start);
	}
	REQUIRE_EQ(stale, 4 * 8);
	fus_salvage_free(&before);
	fus_salvage_free(&s);
	image_free(&im);
}

/* A run that was cut short has listed them: they are stale, but it is not known what else is. */
static void test_cut_short(void)
{
	struct fusion_stale_entry e[6];
	struct salvage s;
	u32 nr;

	begin(4);
	nr = some_entries(e);
	list_blocks(e, nr, false);
	salvage(&s);
	REQUIRE(!s.landing.known);
	REQUIRE_EQ(s.landing.blocks, 4);
	fus_salvage_free(&s);
	image_free(&im);
}

static void test_closed(void)
{
	struct fusion_stale_entry e[6];
	struct salvage s;
	u32 nr;

	begin(5);
	nr = some_entries(e);
	image_close(&im);
	list_blocks(e, nr, true);
	salvage(&s);
	REQUIRE(s.landing.exact && s.current);
	fus_salvage_free(&s);

	/* damaged: it is not known what is missing */
	im.mem[FUSION_SLOW][fusion_stale_blocknr(&im.side[1].sb, 1, 2, 0) *
			    FUSION_BLOCK_SIZE + 100] ^= 1;
	salvage(&s);
	REQUIRE(s.landing.known && !s.landing.whole && !s.landing.exact);
	REQUIRE_EQ(s.landing.blocks, 0);
	fus_salvage_free(&s);
	image_free(&im);
}

/* Findings about the list, if these blocks are in the log. */
static u32 checked(const u64 *block, u32 nr)
{
	struct meta meta = { .m = { { .o.fd = -1 }, { .o.fd = -1 } }, .landing = true };
	struct report r = { };
	u32 found;

	for (int dev = 0; dev < 2; dev++)
		REQUIRE(!fus_offline_open(im.path[dev], OFFLINE_READ, &meta.m[dev].o));
	REQUIRE(!fus_meta_read(&meta));
	fus_stale_check(&meta, block, nr, &r);
	found = r.nr;
	fus_report_free(&r);
	fus_meta_free(&meta);
	return found;
}

static void test_checked(void)
{
	struct fusion_stale_entry e[6];
	u64 block[3];
	u32 nr;

	begin(7);
	image_close(&im);
	nr = some_entries(e);
	list_blocks(e, nr, true);
	block[0] = (u64)lext[0] * blocks + 3;
	block[1] = (u64)lext[3] * blocks;
	block[2] = (u64)lext[3] * blocks + 1;
	REQUIRE_EQ(checked(block, 0), 0);
	REQUIRE_EQ(checked(block, 2), 0);
	REQUIRE_EQ(checked(block, 3), 1);
	/* of an earlier opening, or gone altogether */
	im.side[FUSION_SLOW].sb.epoch++;
	list_blocks(e, nr, true);
	im.side[FUSION_SLOW].sb.epoch--;
	REQUIRE_EQ(checked(block, 2), 1);
	REQUIRE_EQ(checked(block, 0), 0);
	for (u32 copy = 0; copy < FUSION_STALE_COPIES; copy++)
		memset(im.mem[FUSION_SLOW] + FUSION_BLOCK_SIZE *
		       fusion_stale_head_blocknr(&im.side[FUSION_SLOW].sb, copy), 0,
		       FUSION_BLOCK_SIZE);
	REQUIRE_EQ(checked(block, 2), 1);
	REQUIRE_EQ(checked(block, 0), 0);
	list_blocks(e, nr, true);
	REQUIRE_EQ(checked(block, 2), 0);
	/* blocks may be missing until the set is closed */
	image_activate(&im);
	REQUIRE_EQ(checked(block, 3), 0);
	im.mem[FUSION_SLOW][fusion_stale_blocknr(&im.side[1].sb, 1, 2, 0) *
			    FUSION_BLOCK_SIZE + 100] ^= 1;
	REQUIRE_EQ(checked(block, 2), 1);
	image_free(&im);
}

static void test_printed(void)
{
	char *word[] = { im.path[FUSION_SLOW] }, *text;
	struct fusion_stale_entry e[6];
	struct json_object *o, *l;
	u32 nr;

	begin(6);
	word[0] = im.path[FUSION_SLOW];
	text = printed(cmd_salvage, word, 1, false);
	REQUIRE(strstr(text, "does not say which of its blocks"), "%s", text);
	free(text);
	nr = some_entries(e);
	list_blocks(e, nr, true);
	text = printed(cmd_salvage, word, 1, false);
	REQUIRE(strstr(text, "16K of what is lost has its newest version"), "%s", text);
	REQUIRE(strstr(text, "is of 2023-11-14"), "%s", text);
	free(text);
	text = printed(cmd_salvage, word, 1, true);
	o = json_tokener_parse(text);
	l = field(o, "landing");
	REQUIRE_EQ(json_object_get_int64(field(l, "blocks")), 4);
	REQUIRE_EQ(json_object_get_int64(field(l, "time")), TIME);
	REQUIRE(!json_object_get_boolean(field(l, "exact")));
	REQUIRE(!json_object_get_boolean(field(l, "damaged")));
	json_object_put(o);
	free(text);
	image_free(&im);
}

static const struct unit_test tests[] = {
	{ "salvage, landing: blocks of the stale list", test_listed },
	{ "salvage, landing: a run that was cut short", test_cut_short },
	{ "salvage, landing: a set that was closed", test_closed },
	{ "salvage, landing: against the log", test_checked },
	{ "salvage, landing: what it prints", test_printed },
};

UNIT_TESTS(tests)
