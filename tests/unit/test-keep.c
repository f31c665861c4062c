// SPDX-License-Identifier: GPL-2.0-only
/*
 * Settings and the name in the superblocks of a closed set: written by fusionctl set and rename,
 * with the power cut at any write; found by check; kept by repair and by dump and restore.
 */
#include <json-c/json.h>

#include "image.h"
#include "cut.h"
#include "dump.h"
#include "fusionctl.h"

#include "dm-fusion-settings.h"

#define SECTORS	(64U << 11)

static void make(struct image *im, u64 seed)
{
	image_format(im, seed, SECTORS, 2 * SECTORS);
	image_activate(im);
	image_work(im, 3);
	image_close(im);
}

static void open_image(struct image *im, bool writable, struct meta *meta, bool all)
{
	char *path[2] = { im->path[FAST], im->path[SLOW] };

	REQUIRE(!(all ? fus_meta_open : fus_meta_open_supers)(2, path, writable, meta));
	REQUIRE(meta->known);
}

/* The worst finding, and how many there are of @what. */
static enum severity check(struct image *im, const char *what, unsigned int *nr)
{
	struct report r = { 0 };
	enum severity worst = LEVEL_NOTE;
	struct meta meta;

	open_image(im, false, &meta, true);
	fus_meta_check(&meta, &r);
	*nr = 0;
	for (unsigned int i = 0; i < r.nr; i++) {
		*nr += !strcmp(r.f[i].what, what);
		worst = max(worst, r.f[i].level);
	}
	fus_report_free(&r);
	fus_meta_free(&meta);
	return worst;
}

static u32 kept(struct image *im, int dev, int s)
{
	struct meta meta;
	u32 value;

	open_image(im, false, &meta, false);
	REQUIRE(fus_meta_sb(&meta, dev));
	if (!fusion_sb_setting(fus_meta_sb(&meta, dev), s, &value))
		value = U32_MAX;
	fus_meta_free(&meta);
	return value;
}

static bool named(struct image *im, int dev, const char *name)
{
	struct meta meta;
	bool is;

	open_image(im, false, &meta, false);
	is = !strcmp(fus_meta_sb(&meta, dev)->label, name);
	fus_meta_free(&meta);
	return is;
}

/* And the name, as rename does. */
static int keep(struct image *im, u32 duty, u32 idle)
{
	struct fusion_sb sb;
	struct meta meta;
	int rc;

	open_image(im, true, &meta, false);
	sb = meta.geo[FAST];
	fusion_sb_keep(&sb, FUSION_SET_DUTY, true, duty);
	fusion_sb_keep(&sb, FUSION_SET_IDLE, true, idle);
	memset(sb.label, 0, sizeof(sb.label));
	snprintf(sb.label, sizeof(sb.label), "set-%u", duty);
	rc = fus_meta_write_kept(&meta, &sb);
	fus_meta_free(&meta);
	return rc;
}

static void test_written(void)
{
	struct image im;
	unsigned int n;

	make(&im, 1);
	REQUIRE_EQ(kept(&im, FAST, FUSION_SET_DUTY), U32_MAX);
	REQUIRE(!keep(&im, 40, 0));
	for (int dev = 0; dev < 2; dev++) {
		struct fusion_sb sb[2];
		const char *why;

		/* either copy is enough */
		for (int copy = 0; copy < 2; copy++) {
			const u64 block = FUSION_SUPER_BLOCKNR(copy);

			REQUIRE(!fusion_sb_unpack(im.mem[dev] + block * FUSION_BLOCK_SIZE, block,
						  im.bytes[dev] >> 9, &sb[copy], &why), "%s", why);
			REQUIRE_EQ(sb[copy].setting[FUSION_SET_DUTY], 40);
			REQUIRE_EQ(sb[copy].settings_mask, BIT(FUSION_SET_DUTY) |
				   BIT(FUSION_SET_IDLE));
			REQUIRE(sb[copy].flags & FUSION_SB_CLEAN);
		}
		REQUIRE(fusion_sb_same_kept(&sb[0], &sb[1]));
	}
	REQUIRE_EQ(check(&im, "settings", &n), LEVEL_NOTE);
	REQUIRE_EQ(n, 0);
	image_free(&im);
}

/* Whenever the power fails, the set is whole, and keeps either all of the old or of the new. */
static void test_cut_short(void)
{
	unsigned int cuts = 0, old = 0, n;
	struct image im;
	bool done = false;

	make(&im, 2);
	for (u64 seed = 1; seed < 200; seed++) {
		REQUIRE(!keep(&im, 10, 100));
		cut.armed = true;
		cut.dead = false;
		cut.writes_left = seed % 5;
		cut.seed = seed;
		done = !keep(&im, 20, 200);
		cut.armed = false;
		cut.nr = 0;
		cuts += !done;
		REQUIRE(check(&im, "settings", &n) < LEVEL_ERROR, "seed %llu", seed);
		if (done || kept(&im, FAST, FUSION_SET_DUTY) == 20) {
			REQUIRE_EQ(kept(&im, FAST, FUSION_SET_DUTY), 20);
			REQUIRE_EQ(kept(&im, FAST, FUSION_SET_IDLE), 200);
			REQUIRE(named(&im, FAST, "set-20"));
			/* it was first */
			REQUIRE_EQ(kept(&im, SLOW, FUSION_SET_DUTY), 20);
		} else {
			REQUIRE_EQ(kept(&im, FAST, FUSION_SET_DUTY), 10);
			REQUIRE_EQ(kept(&im, FAST, FUSION_SET_IDLE), 100);
			REQUIRE(named(&im, FAST, "set-10"));
			old++;
		}
	}
	REQUIRE(cuts > 100 && old > 20 && old < cuts, "%u cuts, %u old", cuts, old);
	image_free(&im);
}

static void put_super(struct image *im, int dev, void (*change)(struct fusion_sb *sb))
{
	const char *why;

	for (int copy = 0; copy < 2; copy++) {
		const u64 block = FUSION_SUPER_BLOCKNR(copy);
		u8 *at = im->mem[dev] + block * FUSION_BLOCK_SIZE;
		struct fusion_sb sb;

		REQUIRE(!fusion_sb_unpack(at, block, im->bytes[dev] >> 9, &sb, &why));
		change(&sb);
		fusion_sb_pack(&sb, block, at);
	}
}

static void nonsense(struct fusion_sb *sb)
{
	fusion_sb_keep(sb, FUSION_SET_DUTY, true, 777);
	fusion_sb_keep(sb, FUSION_SET_IDLE, true, 3);
	sb->settings_mask |= BIT(31);
	sb->setting[31] = 31;
}

static void repair(struct image *im)
{
	struct rebuild rb;
	struct meta meta;

	open_image(im, true, &meta, true);
	REQUIRE(!fus_rebuild_state(&meta, FAST, &rb));
	REQUIRE(!fus_meta_write(&meta, &rb.st, rb.exact, rb.set, meta.m[FAST].heat));
	fus_rebuild_free(&rb);
	fus_meta_free(&meta);
}

/* One that is out of range has no effect, and repair drops it; what is not known stays. */
static void test_out_of_range(void)
{
	struct image im;
	unsigned int n;

	make(&im, 3);
	put_super(&im, FAST, nonsense);
	REQUIRE_EQ(kept(&im, FAST, FUSION_SET_DUTY), U32_MAX);
	REQUIRE_EQ(check(&im, "settings", &n), LEVEL_WARNING);
	/* the value, the bit, and that the slow member has none */
	REQUIRE_EQ(n, 3);
	repair(&im);
	REQUIRE_EQ(check(&im, "settings", &n), LEVEL_NOTE);
	REQUIRE_EQ(n, 2);
	for (int dev = 0; dev < 2; dev++) {
		struct meta meta;

		REQUIRE_EQ(kept(&im, dev, FUSION_SET_DUTY), U32_MAX);
		REQUIRE_EQ(kept(&im, dev, FUSION_SET_IDLE), 3);
		open_image(&im, false, &meta, false);
		REQUIRE_EQ(fus_meta_sb(&meta, dev)->settings_mask, BIT(31) | BIT(FUSION_SET_IDLE));
		REQUIRE_EQ(fus_meta_sb(&meta, dev)->setting[31], 31);
		fus_meta_free(&meta);
	}
	image_free(&im);
}

/* The superblocks of one member are gone: the other one has them. */
static void test_repaired(void)
{
	struct image im;

	for (int dev = 0; dev < 2; dev++) {
		make(&im, 4 + dev);
		REQUIRE(!keep(&im, 40, 400));
		for (int copy = 0; copy < 2; copy++)
			memset(im.mem[dev] + FUSION_SUPER_BLOCKNR(copy) * FUSION_BLOCK_SIZE, 0,
			       FUSION_BLOCK_SIZE);
		repair(&im);
		for (int i = 0; i < 2; i++) {
			REQUIRE_EQ(kept(&im, i, FUSION_SET_DUTY), 40);
			REQUIRE_EQ(kept(&im, i, FUSION_SET_IDLE), 400);
			REQUIRE(named(&im, i, "set-40"));
		}
		image_free(&im);
	}
}

static void test_dumped(void)
{
	struct json_object *o = NULL, *settings, *field;
	struct image im;
	struct meta meta;

	make(&im, 6);
	REQUIRE(!keep(&im, 40, 400));
	open_image(&im, false, &meta, true);
	REQUIRE(!dump_json(&meta, false, &o));
	fus_meta_free(&meta);
	REQUIRE(json_object_object_get_ex(o, "settings", &settings));
	REQUIRE_EQ(json_object_object_length(settings), 2);
	REQUIRE(json_object_object_get_ex(settings, "duty", &field));
	REQUIRE_EQ(json_object_get_int(field), 40);
	REQUIRE(json_object_object_get_ex(settings, "idle", &field));
	REQUIRE_EQ(json_object_get_int(field), 400);
	json_object_put(o);
	image_free(&im);
}

static void seen_more(struct fusion_sb *sb)
{
	sb->peer_at.generation = 1000;
}

/* Superblocks alone tell of a member that has not got as far as the other one has seen. */
static void test_past(void)
{
	struct image im;
	struct meta meta;

	for (int dev = 0; dev < 2; dev++) {
		make(&im, 7 + dev);
		open_image(&im, true, &meta, false);
		REQUIRE_EQ(fus_meta_past_by_supers(&meta), -1);
		fus_meta_free(&meta);
		put_super(&im, !dev, seen_more);
		open_image(&im, true, &meta, false);
		REQUIRE_EQ(fus_meta_past_by_supers(&meta), dev);
		fus_meta_free(&meta);
		image_free(&im);
	}
}

static const struct unit_test tests[] = {
	{ "settings written to a closed set", test_written },
	{ "settings, and a power cut", test_cut_short },
	{ "settings out of range", test_out_of_range },
	{ "settings after a repair", test_repaired },
	{ "settings in a dump", test_dumped },
	{ "settings, and a member from the past", test_past },
};

UNIT_TESTS(tests)
