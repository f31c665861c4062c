// SPDX-License-Identifier: GPL-2.0-only
/* Blocks whose checksum is right, and whose content is not: nothing crashes on them. */
#include <json-c/json.h>

#include "dump.h"
#include "fusionctl.h"
#include "image-blocks.h"
#include "salvage.h"

static u64 any_metadata(struct image *im, int dev)
{
	const u64 end = dev ? im->side[1].sb.map_start[1][1] + im->side[1].sb.map_blocks :
			im->side[0].sb.heat_start + im->side[0].sb.heat_blocks;
	u64 block;

	/* superblocks more often than they are many */
	if (!rnd_below(&im->seed, 3))
		return FUSION_SUPER_BLOCKNR(rnd_below(&im->seed, 2));
	do {
		block = rnd_below(&im->seed, end);
	} while (!is_metadata(im, dev, block) || !im->written[dev][block]);
	return block;
}

static void tamper(struct image *im)
{
	static const unsigned int size[] = { 2, 4, 4, 8 };
	const int dev = rnd_below(&im->seed, 2);
	const u64 block = any_metadata(im, dev);
	const unsigned int n = size[rnd_below(&im->seed, 4)];
	u8 *p = im->mem[dev] + block * FUSION_BLOCK_SIZE;
	/* beside the header, mostly in the fields */
	const unsigned int end = rnd_below(&im->seed, 4) ? 560 : FUSION_BLOCK_SIZE;
	const unsigned int at = 32 + rnd_below(&im->seed, (end - 32) / n - 1) * n;
	u64 v = rnd_below(&im->seed, 2) ? rnd_log(&im->seed, 1, U64_MAX / 2) :
		get_le(p + at, n) + rnd_below(&im->seed, 5) - 2;

	put_le(p + at, n, v);
	reseal(p);
}

/* Nothing may crash; what check then calls repaired must be so. */
static bool survive(struct image *im)
{
	char *path[2] = { im->path[FUSION_FAST], im->path[FUSION_SLOW] };
	struct report r = { 0 }, left = { 0 };
	struct json_object *o = NULL;
	const char *why;
	struct rebuild rb;
	struct salvage s;
	struct meta meta;
	bool repaired = false;

	if (fus_meta_open(2, path, true, &meta))
		return false;
	fus_meta_check(&meta, &r);
	dump_json(&meta, false, &o);
	json_object_put(o);
	for (int dev = 0; dev < 2; dev++) {
		if (!fus_meta_sb(&meta, dev))
			continue;
		REQUIRE(!fus_rebuild_state(&meta, dev, &rb));
		REQUIRE(fus_state_check(&rb.st, fus_meta_sb(&meta, dev), NULL));
		fus_salvage_plan(&meta, &rb, &s);
		fus_salvage_free(&s);
		fus_rebuild_free(&rb);
	}
	if (meta.known && fus_meta_sb(&meta, FAST) && fus_meta_sb(&meta, SLOW) &&
	    !fusion_sb_match(fus_meta_sb(&meta, FAST), fus_meta_sb(&meta, SLOW), &why)) {
		REQUIRE(!fus_rebuild_state(&meta, FAST, &rb));
		if (!fus_meta_write(&meta, &rb.st, rb.exact, rb.set, meta.m[FAST].heat)) {
			fus_meta_free(&meta);
			REQUIRE(!fus_meta_open(2, path, false, &meta));
			fus_meta_check(&meta, &left);
			REQUIRE(!left.count[LEVEL_ERROR], "%s", fus_report_worst(&left)->text);
			repaired = true;
		}
		fus_rebuild_free(&rb);
	}
	fus_report_free(&r);
	fus_report_free(&left);
	fus_meta_free(&meta);
	return repaired;
}

static void hostile(bool shadows)
{
	static struct image im;
	const size_t bytes = 2 << 20;
	unsigned int repaired = 0;
	u8 *keep[2];

	quiet();
	image_format(&im, 7, FAST_SECTORS, SLOW_SECTORS);
	if (shadows)
		image_name_shadows(&im);
	image_activate(&im);
	image_work(&im, 40);
	image_close(&im);
	image_activate(&im);
	image_work(&im, 20);
	for (int dev = 0; dev < 2; dev++) {
		keep[dev] = malloc(bytes);
		memcpy(keep[dev], im.mem[dev], bytes);
	}
	for (int round = 0; round < 400; round++) {
		for (u64 n = 1 + rnd_below(&im.seed, 6); n; n--)
			tamper(&im);
		repaired += survive(&im);
		for (int dev = 0; dev < 2; dev++)
			memcpy(im.mem[dev], keep[dev], bytes);
	}
	printf("# 400 sets tampered with, %u of them repaired\n", repaired);
	REQUIRE(repaired > 50);
	free(keep[0]);
	free(keep[1]);
	image_free(&im);
}

static void hostile_blocks(void)
{
	hostile(false);
}

static void hostile_shadows(void)
{
	hostile(true);
}

static const struct unit_test tests[] = {
	{ "valid blocks with any content", hostile_blocks },
	{ "the same, with shadows", hostile_shadows },
};

UNIT_TESTS(tests)
