// SPDX-License-Identifier: GPL-2.0-only
/* A replica that names shadows: what the tool reads of it, and never writes. */
#include "shadow-set.h"
#include "meta-base.h"
#include "old-member.h"
#include "printed.h"
#include "role.h"

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

/* An opening that was interrupted wrote a superblock, and brought nothing up to date. */
static void interrupted(void)
{
	static struct image im;
	struct meta_state st;
	struct meta meta;

	make(&im, 15, true);
	im.side[SLOW].sb.write_time += 1000;
	image_activate_slow(&im);
	open_image(&im, &meta);
	load(&meta, SLOW, &st);
	REQUIRE_EQ(st.point, im.point);
	fus_state_free(&st);
	fus_meta_free(&meta);
	image_free(&im);
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

static void put(const struct image *im, const struct fusion_sb *sb)
{
	const u64 blocknr = FUSION_SUPER_BLOCKNR(sb->generation & 1);

	fusion_sb_pack(sb, blocknr, im->mem[SLOW] + blocknr * FUSION_BLOCK_SIZE);
}

/* What the slow member says then of its shadows, in either copy: the greater number. */
static u64 claim(struct image *im)
{
	struct meta meta;
	u64 at;

	open_image(im, &meta);
	at = max(meta.m[SLOW].copy[0].sb.shadows_at, meta.m[SLOW].copy[1].sb.shadows_at);
	fus_meta_free(&meta);
	return at;
}

/* As a close leaves it. Return: the generation of the first superblock. */
static u64 claim_all(struct image *im)
{
	struct meta meta;
	struct fusion_sb sb;
	u64 at;

	open_image(im, &meta);
	sb = *fus_meta_sb(&meta, SLOW);
	fus_meta_free(&meta);
	at = sb.generation - 1;
	for (sb.generation = at; sb.generation <= at + 1; sb.generation++) {
		sb.shadows_at = at;
		put(im, &sb);
	}
	REQUIRE_EQ(claim(im), at);
	return at;
}

/* Shadows are exact only as a close has left them; whoever writes a superblock makes that void. */
static void exact(void)
{
	static struct image im;
	struct fusion_sb sb, was;
	struct rebuild rb;
	struct meta meta;
	u64 at;

	make(&im, 35, true);
	at = claim_all(&im);
	open_image(&im, &meta);
	was = *fus_meta_sb(&meta, SLOW);
	for (int i = 0; i < 6; i++) {
		u8 block[FUSION_BLOCK_SIZE];
		const char *why;
		u64 nr;

		sb = was;
		sb.generation += i == 1 ? 1 : i == 2 ? -2 : 0;
		sb.flags = i == 3 ? 0 : sb.flags;
		sb.incompat = i == 4 ? 0 : sb.incompat;
		sb.shadows_at = i == 5 ? 0 : sb.shadows_at;
		nr = FUSION_SUPER_BLOCKNR(sb.generation & 1);
		fusion_sb_pack(&sb, nr, block);
		REQUIRE_EQ(get_le(block + FUSION_SHADOWS_OFFSET, 8), i ? 0 : at);
		REQUIRE(!fusion_sb_unpack(block, nr, sb.self_sectors, &sb, &why), "%s", why);
		REQUIRE_EQ(sb.shadows_at, i ? 0 : at);
		/* and if somebody has written it all the same */
		put_le(block + FUSION_SHADOWS_OFFSET, 8, at);
		reseal(block);
		REQUIRE(!fusion_sb_unpack(block, nr, sb.self_sectors, &sb, &why), "%s", why);
		REQUIRE_EQ(sb.shadows_at, !i || i == 5 ? at : 0);
	}
	REQUIRE(!fus_meta_write_kept(&meta, &meta.geo[FAST]));
	fus_meta_free(&meta);
	REQUIRE_EQ(claim(&im), 0);
	claim_all(&im);
	open_image(&im, &meta);
	write_back(&meta, &rb);
	fus_rebuild_free(&rb);
	fus_meta_free(&meta);
	REQUIRE_EQ(claim(&im), 0);
	image_free(&im);
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

/* -- check ------------------------------------------------------------------------- */

static const struct finding *worst(struct image *im, struct report *r)
{
	struct meta meta;

	open_image(im, &meta);
	fus_meta_check(&meta, r);
	fus_meta_free(&meta);
	return fus_report_worst(r);
}

static void checked(void)
{
	static struct image im;
	struct report r = { 0 };
	u32 nr[2] = { 0 }, a, b, slot;

	for (int closed = 0; closed < 2; closed++) {
		make(&im, 70 + closed, closed);
		memset(nr, 0, sizeof(nr));
		for (u32 i = 0; i < im.side[0].sb.nr_lexts; i++)
			if (im.shadow[i])
				nr[fusion_word_state(im.shadow[i]) == (u32)FUSION_SHADOW]++;
		worst(&im, &r);
		REQUIRE(!r.count[LEVEL_ERROR] && !r.count[LEVEL_WARNING], "%s",
			fus_report_worst(&r)->text);
		REQUIRE_EQ(r.shadows.current, nr[1]);
		REQUIRE_EQ(r.shadows.outdated, nr[0]);
		REQUIRE_EQ(r.shadows.point, im.point);
		fus_report_free(&r);
		if (!closed)
			image_free(&im);
	}
	/* of an extent on the slow member, of one that is unmapped, and of an open one */
	slot = image_free_slot(&im, SLOW, 0);
	for (int i = 0; i < 3; i++) {
		a = i == 0 ? find(&im, 0, FUSION_STABLE, FUSION_SLOW, false) :
		    i == 1 ? 0 : find(&im, 0, FUSION_OPEN, FUSION_FAST, false);
		while (i == 1 && fusion_word_mapped(im.word[a]))
			REQUIRE(++a < im.side[0].sb.nr_lexts);
		im.shadow[a] = fusion_shadow_word(FUSION_SHADOW, slot);
		close_again(&im);
		REQUIRE(worst(&im, &r), "%d", i);
		REQUIRE(strstr(fus_report_worst(&r)->text, "has a shadow, but"), "%d", i);
		REQUIRE(!r.count[LEVEL_ERROR]);
		fus_report_free(&r);
		im.shadow[a] = 0;
	}
	/* a slot of another extent, and of another shadow, whichever comes first */
	for (int i = 0; i < 4; i++) {
		u32 was;

		a = find(&im, i & 1 ? 200 : 0, FUSION_STABLE, FUSION_FAST, true);
		b = find(&im, i & 1 ? 0 : a + 1, FUSION_STABLE, i & 2 ? FUSION_SLOW : FUSION_FAST,
			 !(i & 2));
		was = im.shadow[a];
		slot = fusion_word_slot(i & 2 ? im.word[b] : im.shadow[b]);
		im.shadow[a] = fusion_shadow_word(FUSION_OUTDATED, slot);
		close_again(&im);
		REQUIRE(worst(&im, &r), "%d", i);
		REQUIRE(strstr(fus_report_worst(&r)->text, "is a slot of another one"), "%s",
			fus_report_worst(&r)->text);
		if (i & 2) {
			char text[64];

			snprintf(text, sizeof(text), "the shadow of extent %u is ", a);
			REQUIRE(strstr(fus_report_worst(&r)->text, text));
		}
		fus_report_free(&r);
		im.shadow[a] = was;
	}
	close_again(&im);
	worst(&im, &r);
	REQUIRE(!r.count[LEVEL_ERROR] && !r.count[LEVEL_WARNING]);
	fus_report_free(&r);
	/* the bit, where it must not be */
	im.side[FAST].sb.incompat = FUSION_INCOMPAT_SHADOW;
	im.side[FAST].sb.generation++;
	image_super(&im, FAST);
	REQUIRE(strstr(worst(&im, &r)->text, "announces shadows"));
	fus_report_free(&r);
	image_free(&im);
}

/* A set that was not closed: the slot of a shadow belongs to another extent by now. */
static void checked_open(void)
{
	static struct image im;
	struct report r = { 0 };
	u32 a, b, was;

	make(&im, 80, false);
	a = find(&im, 0, FUSION_STABLE, FUSION_FAST, true);
	b = find(&im, 0, FUSION_STABLE, FUSION_SLOW, false);
	was = im.word[b];
	im.word[b] = fusion_word(FUSION_STABLE, SLOW, fusion_word_slot(im.shadow[a]));
	image_checkpoint(&im, FAST, im.side[FAST].sb.epoch, false);
	REQUIRE(worst(&im, &r) && strstr(fus_report_worst(&r)->text, "belongs to"));
	fus_report_free(&r);
	/* while it is the extent's own, it has been demoted since */
	im.word[b] = was;
	im.word[a] = fusion_word(FUSION_STABLE, SLOW, fusion_word_slot(im.shadow[a]));
	image_checkpoint(&im, FAST, im.side[FAST].sb.epoch, false);
	worst(&im, &r);
	REQUIRE(!r.count[LEVEL_WARNING], "%s", fus_report_worst(&r)->text);
	fus_report_free(&r);
	image_free(&im);
}

/* The verb: how many, and of when. */
static void check_prints(void)
{
	static struct image im;
	struct json_object *o, *shadows;
	char *text, *word[2];

	REQUIRE(!setenv("TZ", "UTC", 1));
	image_format(&im, 85, FAST_SECTORS, SLOW_SECTORS);
	image_name_shadows(&im);
	image_activate(&im);
	for (u32 i = 0; i < 3; i++) {
		im.word[i] = fusion_word(FUSION_STABLE, FAST, image_free_slot(&im, FAST, i));
		im.shadow[i] = fusion_shadow_word(i ? FUSION_SHADOW : FUSION_OUTDATED,
						  image_free_slot(&im, SLOW, i));
	}
	image_close(&im);
	for (int dev = 0; dev < 2; dev++)
		word[dev] = im.path[dev];
	text = printed(cmd_check, word, 2, false);
	REQUIRE(strstr(text, " has 2 shadows as of 2023-11-14 22:"), "%s", text);
	REQUIRE(strstr(text, " has 1 outdated shadow\n"), "%s", text);
	free(text);
	text = printed(cmd_check, word, 2, true);
	o = json_tokener_parse(text);
	free(text);
	REQUIRE(o);
	shadows = field(o, "shadows");
	REQUIRE_EQ(json_object_get_int64(field(shadows, "current")), 2);
	REQUIRE_EQ(json_object_get_int64(field(shadows, "outdated")), 1);
	REQUIRE_EQ(json_object_get_int64(field(shadows, "time")), im.point);
	json_object_put(o);
	image_free(&im);
}

static const struct unit_test tests[] = {
	{ "loaded", loaded },
	{ "an opening that was interrupted", interrupted },
	{ "written", written },
	{ "superblocks that are kept", kept },
	{ "shadows that are exact", exact },
	{ "superblocks from those of the other member", of_the_other },
	{ "superblocks from a backup", geometry },
	{ "shadows that are not announced", not_announced },
	{ "check of a set that was closed", checked },
	{ "check of a set whose power failed", checked_open },
	{ "what check says", check_prints },
};

UNIT_TESTS(tests)
