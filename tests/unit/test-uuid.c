// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets that get another uuid, with the power cut at any write: each leaves the old set, or the new
 * one, or one that says that it is to be finished, and can be. Whichever it is, it holds the same.
 */
#include <errno.h>

#include "backup-set.h"
#include "cut.h"
#include "image-blocks.h"
#include "new-uuid.h"
#include "dm-fusion-settings.h"

#define SOME_DATA	0x100000U

static u8 *before[2];			/* the metadata of each member, and some data */

static u64 data_start(const struct image *im, int dev)
{
	const struct fusion_sb *sb = &im->side[dev].sb;

	return fusion_slot_sector(sb, dev, dev == FAST ? 0 : sb->slow_first_slot) << 9;
}

static size_t kept(const struct image *im, int dev)
{
	return data_start(im, dev) + SOME_DATA;
}

static void keep(struct image *im)
{
	for (int dev = 0; dev < 2; dev++)
		memcpy(before[dev], im->mem[dev], kept(im, dev));
}

static void put_back(struct image *im)
{
	for (int dev = 0; dev < 2; dev++)
		memcpy(im->mem[dev], before[dev], kept(im, dev));
}

/* Closed; the journal of a set with partial extents has their bitmaps. */
static void begin(struct image *im, u64 seed, unsigned int times, u32 txns)
{
	image_format(im, seed, FAST_SECTORS, 2 * FAST_SECTORS);
	for (unsigned int i = 0; i < times; i++) {
		image_activate(im);
		image_work(im, txns);
		image_close(im);
	}
	for (int dev = 0; dev < 2; dev++) {
		rnd_fill(&im->seed, im->mem[dev] + data_start(im, dev), SOME_DATA);
		before[dev] = malloc(kept(im, dev));
	}
	keep(im);
}

static void end(struct image *im)
{
	free(before[FAST]);
	free(before[SLOW]);
	image_free(im);
}

static void open_image(struct image *im, bool writable, struct meta *meta)
{
	char *path[2] = { im->path[FAST], im->path[SLOW] };

	REQUIRE(!fus_meta_open(2, path, writable, meta), "%s", fus_last_error()->what);
}

/* -- what a set has to be -------------------------------------------------------------------- */

static void require_content(struct image *im, const struct meta *meta, int dev)
{
	const u32 bytes = im->side[0].sb.extent_sectors / 64;
	const struct meta_open *open;
	struct meta_state st;

	REQUIRE(!fus_state_init(&st, meta->geo[FAST].nr_lexts));
	REQUIRE(fus_state_load(meta, fus_meta_sb(meta, dev), &st, NULL));
	REQUIRE_EQ(st.nr_open, im->nr_open);
	for (u32 lext = 0; lext < st.nr_lexts; lext++) {
		REQUIRE(st.word[lext] == im->word[lext], "extent %u", lext);
		open = fus_state_open_find(&st, lext);
		REQUIRE(!open || !memcmp(open->bitmap, im->bitmap[lext], bytes));
	}
	fus_state_free(&st);
}

/* Blocks of the set by which a backup would be taken to fit. */
static unsigned int blocks_of(const struct image *im, const u8 uuid[16])
{
	unsigned int nr = 0;

	for (int dev = 0; dev < 2; dev++)
		for (u64 at = 0; at < data_start(im, dev); at += FUSION_BLOCK_SIZE)
			nr += !memcmp(im->mem[dev] + at + offsetof(struct fusion_block_header,
								     set_uuid), uuid, 16);
	return nr;
}

/* @torn: a superblock copy of the slow member may be. */
static void require_set(struct image *im, bool old, bool torn)
{
	const struct fusion_sb *was = &im->side[FAST].sb, *fast, *slow;
	struct report r = { 0 };
	struct meta meta;
	const char *why;

	open_image(im, false, &meta);
	fus_meta_check(&meta, &r);
	fast = fus_meta_sb(&meta, FAST);
	slow = fus_meta_sb(&meta, SLOW);
	REQUIRE(fast && slow && !fusion_sb_match(fast, slow, &why));
	REQUIRE(!r.count[LEVEL_ERROR] && r.count[LEVEL_WARNING] <= torn, "%s",
		fus_report_worst(&r)->text);
	REQUIRE(!r.count[LEVEL_WARNING] || (!strcmp(fus_report_worst(&r)->what, "superblock") &&
					    fus_report_worst(&r)->dev == SLOW));
	REQUIRE(fast->flags & slow->flags & FUSION_SB_CLEAN);
	REQUIRE_EQ(old, !memcmp(fast->set_uuid, was->set_uuid, 16));
	REQUIRE_EQ(old, !memcmp(fast->dev_uuid, was->dev_uuid, 16));
	REQUIRE_EQ(old, !memcmp(fast->peer_uuid, was->peer_uuid, 16));
	REQUIRE(old || memcmp(fast->dev_uuid, slow->dev_uuid, 16));
	REQUIRE(fusion_sb_same_kept(fast, slow) && fast->settings_mask == was->settings_mask);
	for (int dev = 0; dev < 2; dev++) {
		const u64 at = data_start(im, dev);

		require_content(im, &meta, dev);
		REQUIRE(!memcmp(im->mem[dev] + at, before[dev] + at, SOME_DATA));
	}
	REQUIRE(old || !blocks_of(im, was->set_uuid), "blocks of the old set");
	fus_report_free(&r);
	fus_meta_free(&meta);
}

static bool is_transit(struct image *im)
{
	char text[FUSION_UNKNOWN_TEXT];
	struct meta meta;
	bool is;

	open_image(im, false, &meta);
	is = fus_meta_in_transit(&meta.m[SLOW]);
	REQUIRE(!fus_meta_in_transit(&meta.m[FAST]));
	REQUIRE(is == fus_meta_is_unknown(&meta.m[SLOW], text));
	REQUIRE(!is || strstr(text, "fusionctl uuid"), "%s", text);
	REQUIRE(!is || fus_meta_refuse_unknown(&meta));
	fus_meta_free(&meta);
	return is;
}

static bool is_old(struct image *im)
{
	struct meta meta;
	bool old;

	open_image(im, false, &meta);
	old = !memcmp(meta.geo[FAST].set_uuid, im->side[FAST].sb.set_uuid, 16);
	fus_meta_free(&meta);
	return old;
}

/* -- doing it -------------------------------------------------------------------------------- */

/* Up to the write @writes. Return: whether it came to its end. */
static bool renew(struct image *im, unsigned int writes)
{
	struct new_uuid n;
	struct meta meta;
	int rc;

	open_image(im, true, &meta);
	rc = fus_new_uuid_plan(&n, &meta);
	REQUIRE(!rc, "%s: %s", fus_last_error()->subject, fus_last_error()->what);
	cut_at(writes);
	rc = fus_new_uuid_write(&n);
	cut_over();
	REQUIRE(!rc || cut.dead, "%s", fus_last_error()->what);
	fus_new_uuid_end(&n);
	fus_meta_free(&meta);
	return !rc;
}

/* How far a cut at a random write has got; not all writes are as likely to matter. */
static void judge(struct image *im, unsigned int seen[3])
{
	if (is_transit(im)) {
		seen[1]++;
	} else if (is_old(im)) {
		seen[0]++;
		require_set(im, true, true);
	} else {
		seen[2]++;
		require_set(im, false, true);
	}
}

static unsigned int count_writes(struct image *im)
{
	unsigned int n = 0;

	for (; !renew(im, n); n++)
		put_back(im);
	put_back(im);
	return n;
}

/* -- tests ----------------------------------------------------------------------------------- */

static void test_whole(void)
{
	static struct image im;

	quiet();
	for (unsigned int times = 0; times < 3; times++) {
		begin(&im, 40 + times, times, 60);
		for (unsigned int again = 0; again < 2; again++) {
			u16 *heat;
			struct meta meta;
			size_t bytes;

			open_image(&im, false, &meta);
			bytes = meta.geo[FAST].heat_blocks * FUSION_HEAT_PER_BLOCK * 2;
			heat = malloc(bytes);
			memcpy(heat, meta.m[FAST].heat, bytes);
			fus_meta_free(&meta);
			REQUIRE(renew(&im, ~0U));
			require_set(&im, false, false);
			open_image(&im, false, &meta);
			REQUIRE(!memcmp(heat, meta.m[FAST].heat, bytes));
			free(heat);
			fus_meta_free(&meta);
		}
		end(&im);
	}
}

/* At each write; then it is finished, perhaps after more cuts. */
static void test_cut(void)
{
	unsigned int seen[3] = { 0 }, cuts = 0;
	static struct image im;

	for (unsigned int set = 0; set < 2; set++) {
		unsigned int writes;

		begin(&im, 7 + set, 1 + set, 20 + 200 * set);
		REQUIRE(im.nr_open > 3);
		writes = count_writes(&im);
		for (unsigned int n = 0; n < writes; n++) {
			for (unsigned int seed = 0; seed < 3; seed++) {
				cut.seed = 100 * n + seed;
				REQUIRE(!renew(&im, n));
				judge(&im, seen);
				while (!renew(&im, cuts++ % 2 ? rnd_below(&cut.seed, writes) : ~0U))
					judge(&im, seen);
				require_set(&im, false, false);
				put_back(&im);
			}
		}
		end(&im);
	}
	printf("# %u cuts: %u left the old set, %u an unfinished one, %u the new one\n",
	       seen[0] + seen[1] + seen[2], seen[0], seen[1], seen[2]);
	REQUIRE(seen[0] > 20 && seen[1] > 20 && seen[2]);
}

/* An old set that is left is used, and gets another uuid later. */
static void test_used_after_cut(void)
{
	static struct image im;
	unsigned int used = 0;
	bool old = true;

	for (unsigned int n = 0; old; n++) {
		begin(&im, 21, 1, 30);
		cut.seed = n;
		REQUIRE(!renew(&im, n));
		old = !is_transit(&im) && is_old(&im);
		if (old) {
			image_activate(&im);
			image_work(&im, 10);
			image_close(&im);
			keep(&im);
			require_set(&im, true, false);
			REQUIRE(renew(&im, ~0U));
			require_set(&im, false, false);
			used++;
		}
		end(&im);
	}
	REQUIRE(used > 3);
}

static void refuses(struct image *im, int code, const char *why)
{
	const u64 was = sum(im);
	struct new_uuid n;
	struct meta meta;

	open_image(im, true, &meta);
	REQUIRE_EQ(fus_new_uuid_plan(&n, &meta), code);
	REQUIRE(strstr(fus_last_error()->what, why), "%s", fus_last_error()->what);
	fus_new_uuid_end(&n);
	fus_meta_free(&meta);
	REQUIRE(sum(im) == was);
}

/* Cut where the slow member is marked and the fast one is as before. */
static void leave_marked(struct image *im)
{
	unsigned int n = 0;

	do {
		put_back(im);
		cut.seed = n;
		REQUIRE(!renew(im, n++));
	} while (!is_transit(im) || !is_old(im));
}

static void test_refusals(void)
{
	static struct image im;
	struct fusion_sb *sb = &im.side[FAST].sb;

	begin(&im, 31, 1, 30);
	leave_marked(&im);
	/* a fast member that was written, or used, meanwhile */
	sb->generation += 2;
	image_super(&im, FAST);
	refuses(&im, FC_MEMBER, "was written since");
	sb->generation++;
	sb->epoch++;
	image_super(&im, FAST);
	refuses(&im, FC_MEMBER, "not the fast member with which");
	end(&im);

	/* one that was not closed; one with a fault; one of another version; and half of one */
	begin(&im, 32, 1, 30);
	image_activate(&im);
	refuses(&im, FC_REFUSED, "was not closed cleanly");
	image_close(&im);
	keep(&im);
	memset(im.mem[FAST] + sb->map_start[FAST][sb->active_set] * FUSION_BLOCK_SIZE, 1, 512);
	refuses(&im, FC_DAMAGED, "map");
	put_back(&im);
	sb->flags |= FUSION_SB_NEEDS_CHECK;
	sb->generation++;
	image_super(&im, FAST);
	refuses(&im, FC_DAMAGED, "had an error");
	sb->flags &= ~FUSION_SB_NEEDS_CHECK;
	sb->incompat = FUSION_INCOMPAT_DAMAGED;
	sb->generation++;
	image_super(&im, FAST);
	refuses(&im, FC_REFUSED, "extents of it are lost");
	sb->incompat = FUSION_INCOMPAT_LANDING;
	sb->generation++;
	image_super(&im, FAST);
	refuses(&im, FC_REFUSED, "has a landing log");
	sb->incompat = 0;
	put_back(&im);
	forget(&im, SLOW);
	refuses(&im, FC_MEMBER, "no valid superblock");
	end(&im);
}

static const struct unit_test tests[] = {
	{ "uuid: a set gets another one, twice", test_whole },
	{ "uuid: power fails in any write, and again", test_cut },
	{ "uuid: the set is used after a power cut", test_used_after_cut },
	{ "uuid: what is refused", test_refusals },
};

UNIT_TESTS(tests)
