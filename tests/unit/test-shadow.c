// SPDX-License-Identifier: GPL-2.0-only
/* A replica that names shadows: what the tool reads of it, and never writes. */
#include "image-blocks.h"
#include "fusionctl.h"
#include "meta.h"
#include "meta-base.h"
#include "nobody.h"
#include "old-member.h"
#include "role.h"

static void open_image(struct image *im, struct meta *meta)
{
	char *path[2] = { im->path[FUSION_FAST], im->path[FUSION_SLOW] };

	REQUIRE(!fus_meta_open(2, path, true, meta));
	REQUIRE(meta->known);
}

/* A set with shadows of either kind. */
static void make(struct image *im, u64 seed, bool closed)
{
	u32 nr[2] = { 0 };

	image_format(im, seed, 3 * FAST_SECTORS, SLOW_SECTORS);
	image_name_shadows(im);
	for (int i = 0; i < 2; i++) {
		image_activate(im);
		image_work(im, 30);
		if (!i || closed)
			image_close(im);
	}
	for (u32 i = 0; i < im->side[0].sb.nr_lexts; i++)
		if (im->shadow[i])
			nr[fusion_word_state(im->shadow[i]) == (u32)FUSION_SHADOW]++;
	REQUIRE(nr[0] > 3 && nr[1] > 3, "%u %u", nr[0], nr[1]);
}

static void load(const struct meta *meta, int dev, struct meta_state *st)
{
	REQUIRE(!fus_state_init(st, meta->geo[dev].nr_lexts));
	REQUIRE(fus_state_load(meta, fus_meta_sb(meta, dev), st, NULL));
}

/* Map copy and log of either member say what was written, and when. */
static void loaded(void)
{
	static struct image im;
	struct meta_state st;
	struct meta meta;

	for (int seed = 1; seed < 12; seed++) {
		make(&im, seed, seed & 1);
		open_image(&im, &meta);
		REQUIRE(!(meta.geo[FAST].incompat & FUSION_INCOMPAT_SHADOW));
		for (int dev = 0; dev < 2; dev++) {
			load(&meta, dev, &st);
			for (u32 i = 0; i < st.nr_lexts; i++)
				REQUIRE_EQ(st.word[i], image_word(&im, dev, i));
			if (dev == SLOW)
				REQUIRE_EQ(st.point, im.point);
			fus_state_free(&st);
		}
		fus_meta_free(&meta);
		image_free(&im);
	}
}

static u64 write_back(struct meta *meta, struct rebuild *rb)
{
	REQUIRE(!fus_rebuild_state(meta, FAST, rb));
	REQUIRE(!fus_any_shadow(rb->st.word, rb->st.nr_lexts));
	REQUIRE(!fus_meta_write(meta, &rb->st, rb->exact, rb->set, meta->m[FAST].heat));
	return 0;
}

static void no_bits(const struct meta *meta)
{
	for (int dev = 0; dev < 2; dev++)
		for (int i = 0; i < 2; i++)
			REQUIRE(!meta->m[dev].copy[i].err &&
				!(meta->m[dev].copy[i].sb.incompat & FUSION_INCOMPAT_SHADOW),
				"%s copy %d", fus_role_name[dev], i);
}

/* Whatever is written has neither shadows nor the bit. */
static void written(void)
{
	static struct image im;
	struct report r = { 0 };
	struct meta_state st;
	struct rebuild rb;
	struct meta meta;

	for (int seed = 20; seed < 24; seed++) {
		make(&im, seed, seed & 1);
		open_image(&im, &meta);
		write_back(&meta, &rb);
		fus_rebuild_free(&rb);
		fus_meta_free(&meta);
		open_image(&im, &meta);
		no_bits(&meta);
		for (int dev = 0; dev < 2; dev++) {
			load(&meta, dev, &st);
			REQUIRE(!memcmp(st.word, im.word, st.nr_lexts * sizeof(*st.word)));
			fus_state_free(&st);
		}
		fus_meta_check(&meta, &r);
		REQUIRE(!r.count[LEVEL_ERROR] && !r.count[LEVEL_WARNING] && !r.count[LEVEL_NOTE],
			"%s", fus_report_worst(&r)->text);
		fus_report_free(&r);
		fus_meta_free(&meta);
		image_free(&im);
	}
}

/* The superblocks alone are written again: the replica stays, and so does the bit. */
static void kept(void)
{
	static struct image im;
	struct meta_state st;
	struct meta meta;

	make(&im, 30, true);
	open_image(&im, &meta);
	REQUIRE(!fus_meta_write_kept(&meta, &meta.geo[FAST]));
	fus_meta_free(&meta);
	open_image(&im, &meta);
	load(&meta, SLOW, &st);
	for (u32 i = 0; i < st.nr_lexts; i++)
		REQUIRE_EQ(st.word[i], image_word(&im, SLOW, i));
	fus_state_free(&st);
	for (int i = 0; i < 2; i++) {
		REQUIRE(meta.m[SLOW].copy[i].sb.incompat & FUSION_INCOMPAT_SHADOW);
		REQUIRE(!(meta.m[FAST].copy[i].sb.incompat & FUSION_INCOMPAT_SHADOW));
	}
	fus_meta_free(&meta);
	image_free(&im);
}

static void forget(struct image *im, int dev)
{
	for (int i = 0; i < 2; i++)
		memset(im->mem[dev] + FUSION_SUPER_BLOCKNR(i) * FUSION_BLOCK_SIZE, 0,
		       FUSION_BLOCK_SIZE);
}

/* Superblocks made from the other member's do not have its bit. */
static void of_the_other(void)
{
	static struct image im;
	struct fusion_sb sb;
	struct rebuild rb;
	struct meta meta;

	for (int lost = 0; lost < 2; lost++) {
		make(&im, 40 + lost, true);
		forget(&im, lost);
		open_image(&im, &meta);
		REQUIRE(!(meta.geo[FAST].incompat & FUSION_INCOMPAT_SHADOW));
		write_back(&meta, &rb);
		REQUIRE(!memcmp(rb.st.word, im.word, rb.st.nr_lexts * sizeof(*im.word)));
		fus_rebuild_free(&rb);
		fus_meta_free(&meta);
		open_image(&im, &meta);
		no_bits(&meta);
		fus_meta_free(&meta);
		image_free(&im);
	}
	make(&im, 42, true);
	fus_prepared_sb(&im.side[SLOW].sb, im.side[SLOW].sb.self_sectors, &im.side[SLOW].sb.self,
			&sb);
	REQUIRE_EQ(sb.incompat, FUSION_INCOMPAT_OLD_MEMBER);
	image_free(&im);
}

/* With neither superblock, one is made that names the replica as it is, of an unknown time. */
static void geometry(void)
{
	static struct image im;
	const struct fusion_sb *sb;
	struct meta_state st;
	struct meta meta;

	make(&im, 50, false);
	forget(&im, FAST);
	forget(&im, SLOW);
	memset(&meta, 0, sizeof(meta));
	REQUIRE(!fus_open_members((const char *[]){ im.path[0], im.path[1] }, true, &meta));
	REQUIRE(!fus_meta_read_as(&meta, &im.side[FAST].sb));
	REQUIRE(!fus_meta_write_geometry(&meta));
	fus_meta_free(&meta);
	open_image(&im, &meta);
	sb = fus_meta_sb(&meta, SLOW);
	REQUIRE(sb && sb->incompat & FUSION_INCOMPAT_SHADOW);
	REQUIRE_EQ(sb->write_time, 0);
	load(&meta, SLOW, &st);
	for (u32 i = 0; i < st.nr_lexts; i++)
		REQUIRE_EQ(st.word[i], image_word(&im, SLOW, i));
	fus_state_free(&st);
	fus_meta_free(&meta);
	image_free(&im);
}

/* Without the bit, the kernel refuses a replica with shadows. So does the tool. */
static void not_announced(void)
{
	static struct image im;
	struct report r = { 0 };
	struct meta_state st;
	struct rebuild rb;
	struct meta meta;

	make(&im, 60, true);
	im.side[SLOW].sb.incompat = 0;
	for (int i = 0; i < 2; i++) {
		im.side[SLOW].sb.generation++;
		image_super(&im, SLOW);
	}
	open_image(&im, &meta);
	REQUIRE(!fus_state_init(&st, meta.geo[SLOW].nr_lexts));
	REQUIRE(!fus_state_load(&meta, fus_meta_sb(&meta, SLOW), &st, &r));
	REQUIRE(strstr(fus_report_worst(&r)->text, "names shadows"));
	fus_report_free(&r);
	fus_state_free(&st);
	REQUIRE(!fus_rebuild_state(&meta, SLOW, &rb));
	REQUIRE(!rb.exact && !fus_any_shadow(rb.st.word, rb.st.nr_lexts));
	REQUIRE(fus_state_check(&rb.st, fus_meta_sb(&meta, SLOW), NULL));
	fus_rebuild_free(&rb);
	write_back(&meta, &rb);
	REQUIRE(rb.exact);
	fus_rebuild_free(&rb);
	fus_meta_free(&meta);
	image_free(&im);
}

static const struct unit_test tests[] = {
	{ "loaded", loaded },
	{ "written", written },
	{ "superblocks that are kept", kept },
	{ "superblocks from those of the other member", of_the_other },
	{ "superblocks from a backup", geometry },
	{ "shadows that are not announced", not_announced },
};

UNIT_TESTS(tests)
