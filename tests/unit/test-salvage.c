// SPDX-License-Identifier: GPL-2.0-only
/*
 * The data that one member alone still has: every sector of a set with known content, compared with
 * the real writes.
 */
#include "image.h"
#include "role.h"
#include "salvage.h"

#define FAST_SECTORS	(16ULL << 11)
#define SLOW_SECTORS	(96ULL << 11)

static void plan_of(struct image *im, int dev, struct meta *meta, struct rebuild *rb,
		    struct salvage *s)
{
	memset(meta, 0, sizeof(*meta));
	meta->m[1].o.fd = -1;
	REQUIRE(!fus_offline_open(im->path[dev], OFFLINE_READ, &meta->m[0].o));
	REQUIRE(!fus_meta_read(meta));
	REQUIRE(fus_meta_sb(meta, dev) && !fus_meta_sb(meta, !dev));
	REQUIRE(!fus_rebuild_state(meta, dev, rb));
	REQUIRE(!fus_salvage_plan(meta, rb, s));
}

/* The expected state of a block of 4 KiB of the set, seen from the member. */
static enum part_kind truth(const struct image *im, int dev, bool current, u64 block, u64 *where)
{
	const struct fusion_sb *sb = &im->side[dev].sb;
	const u32 per_extent = sb->extent_sectors / FUSION_BLOCK_SECTORS;
	const u32 lext = block / per_extent, i = block % per_extent, word = im->word[lext];
	const enum part_kind hole = current ? PART_EMPTY : PART_UNKNOWN;

	if (!fusion_word_mapped(word))
		return hole;
	if ((int)fusion_word_dev(word) != dev)
		return PART_LOST;
	*where = fusion_slot_sector(sb, dev, fusion_word_slot(word)) +
		 (u64)i * FUSION_BLOCK_SECTORS;
	if (fusion_word_state(word) == FUSION_OPEN && !(im->bitmap[lext][i / 8] >> i % 8 & 1))
		return hole;
	return PART_INTACT;
}

static void check_plan(const struct image *im, int dev, const struct salvage *s)
{
	const u64 end = (u64)im->side[dev].sb.nr_lexts * im->side[dev].sb.extent_sectors;
	u64 next = 0, sum[NR_PARTS] = { 0 };

	for (size_t i = 0; i < s->nr; i++) {
		const struct part *p = &s->part[i];

		REQUIRE_EQ(p->start, next);
		for (u64 at = p->start; at < p->start + p->nr; at += FUSION_BLOCK_SECTORS) {
			u64 where = 0;
			enum part_kind want = truth(im, dev, s->current, at / FUSION_BLOCK_SECTORS,
						    &where);

			REQUIRE(p->kind == want, "sector %llu is %s, not %s",
				(unsigned long long)at, fus_part_name[p->kind],
				fus_part_name[want]);
			if (want == PART_INTACT)
				REQUIRE_EQ(p->where + at - p->start, where);
			REQUIRE_EQ(fus_salvage_hit(s, at << 9, 4096), want >= PART_LOST);
		}
		sum[p->kind] += p->nr;
		next += p->nr;
	}
	REQUIRE_EQ(next, end);
	for (int i = 0; i < NR_PARTS; i++)
		REQUIRE_EQ(sum[i], s->sectors[i]);
	REQUIRE(!fus_salvage_hit(s, end << 9, 1 << 20));
	REQUIRE(!fus_salvage_hit(s, 0, 0));
}

/*
 * An older version is offered only of lost extents, from a slot that no other extent has had since.
 */
static u64 check_stale(const struct image *im, int dev, const struct salvage *s)
{
	const struct fusion_sb *sb = &im->side[dev].sb;
	u64 nr = 0;

	for (size_t i = 0; i < s->nr_stale; i++) {
		const struct part *p = &s->stale[i];

		for (u64 k = 0; k < p->nr; k += sb->extent_sectors, nr++) {
			const u32 lext = (p->start + k) / sb->extent_sectors;
			const u64 at = p->where + k - (dev ? 0 : sb->fast_data_start);
			const u32 slot = at / sb->extent_sectors - (dev ? sb->slow_first_slot : 0);

			REQUIRE(fusion_word_mapped(im->word[lext]) &&
				(int)fusion_word_dev(im->word[lext]) != dev);
			REQUIRE_EQ(im->content[dev][slot], lext);
		}
	}
	return nr;
}

static void salvage_all(struct image *im, bool current, const char *what)
{
	struct rebuild rb;
	struct salvage s;
	struct meta meta;

	for (int dev = 0; dev < 2; dev++) {
		u64 stale;

		plan_of(im, dev, &meta, &rb, &s);
		REQUIRE(rb.exact);
		REQUIRE_EQ(s.current, dev == FUSION_FAST || current);
		check_plan(im, dev, &s);
		stale = check_stale(im, dev, &s);
		REQUIRE(s.sectors[PART_INTACT] && s.sectors[PART_LOST]);
		printf("# %s, from the %s member: %llu MiB intact, %llu lost, %llu unknown, %llu "
		       "extents stale\n", what, fus_role_name[dev],
		       (unsigned long long)s.sectors[PART_INTACT] >> 11,
		       (unsigned long long)s.sectors[PART_LOST] >> 11,
		       (unsigned long long)s.sectors[PART_UNKNOWN] >> 11,
		       (unsigned long long)stale);
		/* fast slots are soon reused */
		if (dev == FUSION_SLOW)
			REQUIRE(stale);
		fus_salvage_free(&s);
		fus_rebuild_free(&rb);
		fus_meta_free(&meta);
	}
}

static void closed_set(void)
{
	static struct image im;

	image_format(&im, 4, FAST_SECTORS, SLOW_SECTORS);
	image_activate(&im);
	image_work(&im, 40);
	image_close(&im);
	salvage_all(&im, true, "closed");
	image_free(&im);
}

static void crashed_set(void)
{
	static struct image im;

	for (int seed = 100; seed < 112; seed++) {
		image_format(&im, seed, FAST_SECTORS, SLOW_SECTORS);
		for (int i = 0; i < 3; i++) {
			image_activate(&im);
			image_work(&im, 35 + i);
		}
		salvage_all(&im, false, "crashed");
		image_free(&im);
	}
}

/* A block of the replica is gone: what it said is lost, and nothing else is made up. */
static void damaged_replica(void)
{
	static struct image im;
	const struct fusion_sb *sb = &im.side[FUSION_SLOW].sb;
	struct rebuild rb;
	struct salvage s;
	struct meta meta;
	u64 block, intact = 0;

	image_format(&im, 6, FAST_SECTORS, SLOW_SECTORS);
	image_activate(&im);
	image_work(&im, 40);
	image_close(&im);
	block = sb->map_start[FUSION_SLOW][sb->active_set];
	memset(im.mem[FUSION_SLOW] + block * FUSION_BLOCK_SIZE, 0, FUSION_BLOCK_SIZE);
	plan_of(&im, FUSION_SLOW, &meta, &rb, &s);
	REQUIRE(!rb.exact && !s.current);
	for (size_t i = 0; i < s.nr; i++) {
		const struct part *p = &s.part[i];

		for (u64 k = 0; p->kind == PART_INTACT && k < p->nr; k += FUSION_BLOCK_SECTORS) {
			const u64 b = (p->start + k) / FUSION_BLOCK_SECTORS;
			u64 where = 0;

			REQUIRE(truth(&im, FUSION_SLOW, false, b, &where) == PART_INTACT);
			REQUIRE_EQ(p->where + k, where);
			intact++;
		}
	}
	REQUIRE(intact);
	fus_salvage_free(&s);
	fus_rebuild_free(&rb);
	fus_meta_free(&meta);
	image_free(&im);
}

static const struct unit_test tests[] = {
	{ "a set that was closed", closed_set },
	{ "a set whose power failed", crashed_set },
	{ "a replica that is damaged", damaged_replica },
};

UNIT_TESTS(tests)
