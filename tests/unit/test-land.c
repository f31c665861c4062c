// SPDX-License-Identifier: GPL-2.0-only
/* The index of the landing log: the same as a list of what is where, and as small as promised. */
#include <errno.h>

#include "dm-fusion-land-view.h"

#include "land-bound.h"
#include "sim-kernel.h"
#include "unit.h"

#define SEGMENTS	5U
#define BLOCKS		16U
#define LEXTS		7U
#define POSITIONS	(SEGMENTS * BLOCKS)
#define STEPS		20000U

/* What is where. */
struct list {
	struct fusion_land land;
	u32 at[LEXTS][BLOCKS];
	bool used[POSITIONS];
	u64 seed;
};

static void begin(struct list *l, u64 seed)
{
	memset(l, 0, sizeof(*l));
	memset(l->at, 0xff, sizeof(l->at));
	l->seed = seed;
	REQUIRE_EQ(fusion_land_init(&l->land, SEGMENTS, BLOCKS, LEXTS), 0);
}

static void check_run(const struct list *l, u32 lext, u32 block, u32 end)
{
	const u32 *at = l->at[lext];
	u32 nr = 1, pos;

	while (block + nr < end &&
	       (at[block] == FUSION_LAND_NONE ? at[block + nr] == FUSION_LAND_NONE :
		at[block + nr] == at[block] + nr &&
		at[block + nr] / BLOCKS == at[block] / BLOCKS))
		nr++;
	REQUIRE_EQ(fusion_land_run(&l->land, lext, block, end, &pos), nr);
	REQUIRE_EQ(pos, at[block]);
}

static void check(const struct list *l)
{
	const struct fusion_land *land = &l->land;
	u32 lext, block, pos, nr[SEGMENTS] = {};

	for (lext = 0; lext < LEXTS; lext++)
		for (block = 0; block < BLOCKS; block++)
			REQUIRE_EQ(fusion_land_find(land, lext, block), l->at[lext][block]);
	for (pos = 0; pos < POSITIONS; pos++) {
		const u8 *live = land->live + pos / BLOCKS * land->bitmap_bytes;

		REQUIRE_EQ(live[pos % BLOCKS / 8] >> pos % 8 & 1, l->used[pos]);
		nr[pos / BLOCKS] += l->used[pos];
	}
	for (pos = 0; pos < SEGMENTS; pos++)
		REQUIRE_EQ(land->segment[pos].nr_live, nr[pos]);
}

static void insert(struct list *l, u32 pos, u32 lext, u32 block)
{
	fusion_land_insert(&l->land, pos, lext, block);
	l->at[lext][block] = pos;
	l->used[pos] = true;
}

/* Enter a block, where there is room for it; often those that follow it as well. */
static void some(struct list *l)
{
	u32 pos = rnd_below(&l->seed, POSITIONS), lext = rnd_below(&l->seed, LEXTS);
	u32 block = rnd_below(&l->seed, BLOCKS), nr = 1 + rnd_below(&l->seed, 6);

	for (; nr && pos < POSITIONS && block < BLOCKS; nr--, pos++, block++)
		if (!l->used[pos] && l->at[lext][block] == FUSION_LAND_NONE)
			insert(l, pos, lext, block);
}

static void test_entries(void)
{
	struct list l;
	u32 i, block, lext, pos;

	begin(&l, 1);
	for (i = 0; i < STEPS; i++) {
		pos = rnd_below(&l.seed, POSITIONS);
		lext = rnd_below(&l.seed, LEXTS);
		if (rnd_below(&l.seed, 4)) {
			some(&l);
		} else if (l.used[pos]) {
			struct fusion_land_entry *e = &l.land.entry[pos];

			e->flags = 3;
			l.at[e->lext][e->block] = FUSION_LAND_NONE;
			l.used[pos] = false;
			fusion_land_remove(&l.land, pos);
			REQUIRE_EQ(e->flags, 0);
		} else if (!rnd_below(&l.seed, 8)) {
			for (block = 0; block < BLOCKS; block++) {
				if (l.at[lext][block] != FUSION_LAND_NONE)
					l.used[l.at[lext][block]] = false;
				l.at[lext][block] = FUSION_LAND_NONE;
			}
			fusion_land_kill_extent(&l.land, lext);
		}
		block = rnd_below(&l.seed, BLOCKS);
		check_run(&l, lext, block, block + 1 + rnd_below(&l.seed, BLOCKS - block));
		if (!(i % 16))
			check(&l);
	}
	fusion_land_exit(&l.land);
}

/* What dies is to be recorded, once for a segment; then the extent may go. */
static void test_deaths(void)
{
	struct list l;

	begin(&l, 2);
	REQUIRE(!fusion_land_has(&l.land, 3));
	insert(&l, 2, 3, 5);
	insert(&l, 3, 3, 6);
	insert(&l, BLOCKS, 3, 7);
	REQUIRE(fusion_land_has(&l.land, 3));
	REQUIRE(fusion_land_any(&l.land, 3, false));
	REQUIRE(!fusion_land_any(&l.land, 2, false));
	fusion_land_kill(&l.land, 2);
	fusion_land_kill(&l.land, 3);
	REQUIRE_EQ(l.land.dirty, 1);
	REQUIRE(l.land.segment[0].dirty && !l.land.segment[1].dirty);
	REQUIRE(fusion_land_any(&l.land, 3, false));
	fusion_land_kill_extent(&l.land, 3);
	REQUIRE_EQ(l.land.dirty, 2);
	REQUIRE(!fusion_land_any(&l.land, 3, false));
	REQUIRE(fusion_land_has(&l.land, 3));
	fusion_land_exit(&l.land);
}

/* A commit: what died before it is durable. */
static void commit(struct list *l)
{
	l->land.dirty = 0;
	fusion_land_extents_take(&l->land);
	fusion_land_extents_gone(&l->land);
}

/* An extent loses its bit with the commit behind the last death, unless it has entries again. */
static void test_extents(void)
{
	struct list l;
	u32 i;

	begin(&l, 5);
	insert(&l, 2, 3, 5);
	insert(&l, 3, 3, 6);
	fusion_land_kill(&l.land, 2);
	commit(&l);
	REQUIRE(fusion_land_has(&l.land, 3));
	REQUIRE_EQ(fusion_land_counted(&l.land, 3), 1);
	fusion_land_extents_take(&l.land);
	fusion_land_kill(&l.land, 3);
	fusion_land_extents_gone(&l.land);
	REQUIRE(fusion_land_has(&l.land, 3));
	/* back between the two halves of a commit, and on its way only */
	fusion_land_extents_take(&l.land);
	fusion_land_begin(&l.land, 4, 3, 5);
	fusion_land_extents_gone(&l.land);
	REQUIRE(fusion_land_has(&l.land, 3) && fusion_land_any(&l.land, 3, false));
	fusion_land_arrive(&l.land);
	REQUIRE_EQ(fusion_land_counted(&l.land, 3), 1);
	fusion_land_begin(&l.land, 5, 3, 5);
	fusion_land_begin(&l.land, 6, 2, 5);
	REQUIRE_EQ(fusion_land_counted(&l.land, 3), 2);
	fusion_land_ground(&l.land);
	REQUIRE(!fusion_land_flies(&l.land, 3, 5, 6) && !fusion_land_any(&l.land, 2, false));
	fusion_land_kill(&l.land, 4);
	commit(&l);
	REQUIRE(!fusion_land_has(&l.land, 3) && !fusion_land_has(&l.land, 2));
	/* as often as there is need of places */
	for (i = 0; i < POSITIONS; i++) {
		insert(&l, 2, i % LEXTS, 5);
		fusion_land_kill(&l.land, 2);
		commit(&l);
		REQUIRE(!fusion_land_has(&l.land, i % LEXTS));
	}
	fusion_land_exit(&l.land);
}

/* There are more extents than places: who asks looks for the blocks of the others. */
static void test_crowd(void)
{
	const u32 lexts = BLOCKS;
	struct fusion_land land = {};
	u32 i, places;

	REQUIRE_EQ(fusion_land_init(&land, 2, BLOCKS, lexts), 0);
	places = land.extents;
	REQUIRE(places > 1 && places < lexts);
	for (i = 0; i < lexts; i++) {
		fusion_land_insert(&land, i, i, 1);
		REQUIRE_EQ(fusion_land_counted(&land, i), i < places ? 1 : FUSION_LAND_NONE);
		REQUIRE(fusion_land_any(&land, i, false));
	}
	for (i = 0; i < lexts; i++) {
		fusion_land_kill(&land, i);
		REQUIRE(!fusion_land_any(&land, i, false) && fusion_land_has(&land, i));
	}
	land.dirty = 0;
	fusion_land_extents_take(&land);
	fusion_land_extents_gone(&land);
	for (i = 0; i < lexts; i++) {
		REQUIRE_EQ(fusion_land_has(&land, i), i >= places);
		REQUIRE(!fusion_land_any(&land, i, true));
		REQUIRE_EQ(fusion_land_has(&land, i), i >= places);
		REQUIRE(!fusion_land_any(&land, i, false));
		REQUIRE(!fusion_land_has(&land, i));
	}
	fusion_land_exit(&land);
}

/* A block on its way is not found; once it is there, it has superseded the older one. */
static void test_flight(void)
{
	struct list l;
	u32 i;

	begin(&l, 4);
	fusion_land_begin(&l.land, 1, 3, 5);
	fusion_land_begin(&l.land, 2, 3, 6);
	fusion_land_begin(&l.land, BLOCKS + 1, 3, 5);
	REQUIRE(fusion_land_has(&l.land, 3) && fusion_land_any(&l.land, 3, false));
	REQUIRE(fusion_land_flies(&l.land, 3, 5, 6) && fusion_land_flies(&l.land, 3, 6, 7));
	REQUIRE(fusion_land_flies(&l.land, 3, 0, BLOCKS));
	REQUIRE(!fusion_land_flies(&l.land, 3, 7, 8) && !fusion_land_flies(&l.land, 2, 5, 6));
	REQUIRE_EQ(fusion_land_find(&l.land, 3, 5), FUSION_LAND_NONE);
	fusion_land_arrive(&l.land);
	fusion_land_arrive(&l.land);
	REQUIRE_EQ(fusion_land_find(&l.land, 3, 5), 1);
	REQUIRE(fusion_land_flies(&l.land, 3, 5, 6) && !fusion_land_flies(&l.land, 3, 6, 7));
	REQUIRE_EQ(l.land.dirty, 0);
	fusion_land_arrive(&l.land);
	REQUIRE_EQ(fusion_land_find(&l.land, 3, 5), BLOCKS + 1);
	REQUIRE_EQ(fusion_land_find(&l.land, 3, 6), 2);
	REQUIRE(l.land.segment[0].older && !l.land.segment[0].dead && !l.land.deaths);
	REQUIRE_EQ(l.land.segment[0].nr_live, 1);
	REQUIRE_EQ(l.land.segment[1].nr_live, 1);
	REQUIRE_EQ(l.land.dirty, 1);
	/* they go round in a ring */
	for (i = 0; i < 2 * FUSION_LAND_FLIGHT; i++) {
		fusion_land_begin(&l.land, 2 * BLOCKS + i % 2, 1, 1);
		REQUIRE(fusion_land_flies(&l.land, 1, 1, 2));
		fusion_land_arrive(&l.land);
		REQUIRE_EQ(fusion_land_find(&l.land, 1, 1), 2 * BLOCKS + i % 2);
	}
	REQUIRE_EQ(l.land.nr_flight, 0);
	fusion_land_exit(&l.land);
}

/* -- views --------------------------------------------------------------------------------- */

#define PLACES	100U

static struct fusion_land big;
static u64 big_seed;
static u32 nr_changes;

/* Entries come and go. The block is that of the position, so none is there twice. */
static void change(void)
{
	u32 i, pos;

	for (i = 0; i < 200; i++, nr_changes++) {
		pos = rnd_below(&big_seed, PLACES * BLOCKS);
		if (fusion_land_find(&big, pos / BLOCKS, pos % BLOCKS) == FUSION_LAND_NONE)
			fusion_land_insert(&big, pos, pos / BLOCKS, pos % BLOCKS);
		else if (rnd_below(&big_seed, 2))
			fusion_land_remove(&big, pos);
		else
			fusion_land_kill(&big, pos);
	}
}

/* A view is of the moment when it was begun, whatever changes while it is taken. */
static void test_view(void)
{
	struct fusion_land_view view = { };
	u32 i, k, nr_live[PLACES];
	u8 *live;

	REQUIRE_EQ(fusion_land_init(&big, PLACES, BLOCKS, PLACES), 0);
	view.segment = calloc(PLACES, sizeof(*view.segment));
	view.live = calloc(PLACES, big.bitmap_bytes);
	view.untaken = calloc(BITS_TO_LONGS(PLACES), sizeof(long));
	live = calloc(PLACES, big.bitmap_bytes);
	for (i = 0; i < 20; i++) {
		change();
		memcpy(live, big.live, PLACES * big.bitmap_bytes);
		for (k = 0; k < PLACES; k++)
			nr_live[k] = big.segment[k].nr_live;
		fusion_land_view_begin(&big, &view);
		nr_changes = 0;
		others = change;
		fusion_land_view_take(&big);
		others = NULL;
		REQUIRE(nr_changes);
		REQUIRE(!memcmp(live, view.live, PLACES * big.bitmap_bytes));
		for (k = 0; k < PLACES; k++)
			REQUIRE_EQ(view.segment[k].nr_live, nr_live[k]);
	}
	fusion_land_exit(&big);
	free(view.segment);
	free(view.live);
	free(view.untaken);
	free(live);
}

static void test_slots(void)
{
	struct list l;

	begin(&l, 3);
	l.land.segment[1] = (struct fusion_land_segment){ .slot = 7, .state = FUSION_LAND_LEFT };
	REQUIRE(!fusion_land_within(&l.land, 0, 6));
	REQUIRE(fusion_land_within(&l.land, 7, 7));
	REQUIRE(!fusion_land_within(&l.land, 8, 100));
	fusion_land_exit(&l.land);
}

/* a segment of 64 KiB has as much beside its entries as its entries take */
static void require_bound(struct fusion_land *land)
{
	REQUIRE(bytes <= BOUND_AREA * 45 / 10000 + BOUND_LEXTS / 8 + 40ULL * land->max, "%zu",
		bytes);
}

static void test_bound(void)
{
	each_log_size(require_bound);
}

static void test_memory(void)
{
	unsigned int left;

	for (left = 0; left < 15; left++) {
		struct fusion_land land = {};

		memory = left;
		REQUIRE_EQ(fusion_land_init(&land, SEGMENTS, BLOCKS, LEXTS),
			   left < 14 ? -ENOMEM : 0);
		fusion_land_exit(&land);
	}
	memory = -1U;
}

/* A set without a log has nothing of it. */
static void test_none(void)
{
	struct fusion_land land = {};

	bytes = 0;
	REQUIRE_EQ(fusion_land_init(&land, 0, BLOCKS, LEXTS), 0);
	REQUIRE_EQ(bytes, 0);
	REQUIRE(!fusion_land_has(&land, 0) && !fusion_land_any(&land, 0, false));
	fusion_land_kill_extent(&land, 0);
	fusion_land_exit(&land);
}

static const struct unit_test tests[] = {
	{ "land: entries", test_entries },
	{ "land: entries that die", test_deaths },
	{ "land: extents with entries", test_extents },
	{ "land: more of them than places", test_crowd },
	{ "land: blocks on their way", test_flight },
	{ "land: views", test_view },
	{ "land: slots of segments", test_slots },
	{ "land: no more memory than promised", test_bound },
	{ "land: no memory", test_memory },
	{ "land: no log", test_none },
};

UNIT_TESTS(tests)
