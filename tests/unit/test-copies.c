// SPDX-License-Identifier: GPL-2.0-only
/* The index of copies of what was read: the same as a list, and as small as promised. */
#include <errno.h>

#include "dm-fusion-copies.h"

#include "land-bound.h"
#include "sim-kernel.h"
#include "unit.h"

#define PLACES		5U
#define BLOCKS		16U
#define LEXTS		7U
#define POSITIONS	(PLACES * BLOCKS)
#define STEPS		20000U

/* What is where. */
struct list {
	struct fusion_land land;
	u32 at[LEXTS][BLOCKS];
	u32 nr;
	u64 seed;
};

static u32 draw(struct list *l, u32 below)
{
	l->seed = l->seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (l->seed >> 33) % below;
}

static void begin(struct list *l, u64 seed)
{
	memset(l, 0, sizeof(*l));
	memset(l->at, 0xff, sizeof(l->at));
	l->seed = seed;
	REQUIRE_EQ(fusion_land_init(&l->land, PLACES, BLOCKS, LEXTS), 0);
	REQUIRE_EQ(fusion_copies_index_init(&l->land), 0);
}

static void end(struct list *l)
{
	fusion_copies_index_exit(&l->land);
	REQUIRE(!l->land.copies);
	fusion_land_exit(&l->land);
}

static void compare(const struct list *l)
{
	const struct fusion_copies *c = l->land.copies;
	u32 lext, block, nr = 0, pos;

	for (lext = 0; lext < LEXTS; lext++) {
		for (block = 0; block < BLOCKS; block++) {
			pos = l->at[lext][block];
			nr += pos != FUSION_LAND_NONE;
			if (pos != FUSION_LAND_NONE && c->shelf[pos / BLOCKS] != FUSION_SHELF_LENT)
				pos = FUSION_LAND_NONE;
			REQUIRE_EQ(fusion_copies_find(&l->land, lext, block), pos);
			/* the log knows nothing of them */
			REQUIRE_EQ(fusion_land_find(&l->land, lext, block), FUSION_LAND_NONE);
		}
	}
	REQUIRE_EQ(c->nr, nr);
}

static void forget_at(struct list *l, u32 pos)
{
	u32 i;

	for (i = 0; i < LEXTS * BLOCKS; i++)
		if (l->at[i / BLOCKS][i % BLOCKS] == pos)
			l->at[i / BLOCKS][i % BLOCKS] = FUSION_LAND_NONE;
}

/* The hand finds positions, and blocks that have no copy get one there. */
static void fill(struct list *l)
{
	u32 pos[8], steps = l->land.copies->nr_shelves * BLOCKS, nr, i, k, lext, block;

	nr = fusion_copies_turn(&l->land, pos, 1 + draw(l, 8), &steps);
	for (i = 0; i < nr; i++) {
		for (k = 0; k < i; k++)
			REQUIRE(pos[i] != pos[k]);
		forget_at(l, pos[i]);
	}
	for (i = 0; i < nr; i++) {
		REQUIRE_EQ(l->land.copies->shelf[pos[i] / BLOCKS], FUSION_SHELF_LENT);
		lext = draw(l, LEXTS);
		block = draw(l, BLOCKS);
		if (l->at[lext][block] != FUSION_LAND_NONE)
			continue;
		fusion_copies_enter(&l->land, pos[i], lext, block);
		l->at[lext][block] = pos[i];
	}
}

static void kill_some(struct list *l)
{
	const u32 lext = draw(l, LEXTS), first = draw(l, BLOCKS);
	const u32 last = first + draw(l, BLOCKS - first);
	u32 block;

	if (draw(l, 4)) {
		fusion_copies_kill(&l->land, lext, first, last + 1);
		for (block = first; block <= last; block++)
			l->at[lext][block] = FUSION_LAND_NONE;
		return;
	}
	fusion_copies_forget(&l->land, lext);
	for (block = 0; block < BLOCKS; block++)
		l->at[lext][block] = FUSION_LAND_NONE;
}

static void change_place(struct list *l)
{
	const u32 place = draw(l, PLACES);
	u32 block;

	switch (l->land.copies->shelf[place]) {
	case FUSION_SHELF_NONE:
		REQUIRE(!fusion_copies_leave(&l->land, place));
		fusion_copies_lend(&l->land, place);
		return;
	case FUSION_SHELF_LENT:
		REQUIRE(fusion_copies_leave(&l->land, place));
		return;
	}
	for (block = 0; block < BLOCKS; block += 5)
		fusion_copies_clear(&l->land, place, block, 5);
	for (block = 0; block < BLOCKS; block++)
		forget_at(l, place * BLOCKS + block);
	fusion_copies_give_back(&l->land, place);
}

static void test_random(void)
{
	struct list l;
	u32 i, pos;

	begin(&l, 1);
	for (i = 0; i < STEPS; i++) {
		switch (draw(&l, 8)) {
		case 0:
			kill_some(&l);
			break;
		case 1:
			change_place(&l);
			break;
		case 2 ... 4:
			pos = l.at[draw(&l, LEXTS)][draw(&l, BLOCKS)];
			if (pos != FUSION_LAND_NONE)
				fusion_copies_use(&l.land, pos);
			break;
		default:
			fill(&l);
		}
		compare(&l);
	}
	end(&l);
}

/* Fills are told of what begins while they are under way, block by block. */
static void test_fills(void)
{
	struct list l;
	struct fusion_fill *f;

	begin(&l, 2);
	f = l.land.copies->free;
	l.land.copies->free = f->next;
	l.land.copies->nr_fills = 1;
	*f = (struct fusion_fill){ .lext = 3, .block = 6, .nr = 4, .state = FUSION_FILL_READING };
	fusion_copies_kill(&l.land, 2, 0, BLOCKS);
	fusion_copies_kill(&l.land, 3, 0, 6);
	fusion_copies_kill(&l.land, 3, 10, BLOCKS);
	REQUIRE_EQ(f->dead, 0);
	fusion_copies_kill(&l.land, 3, 9, BLOCKS);
	REQUIRE_EQ(f->dead, 8);
	fusion_copies_kill(&l.land, 3, 7, 8);
	REQUIRE_EQ(f->dead, 10);
	fusion_copies_forget(&l.land, 3);
	REQUIRE_EQ(f->dead, 15);
	end(&l);
}

/* What is used stays for as many rounds of the hand more, up to three. */
static void test_rounds(void)
{
	struct list l;
	u32 pos, steps, round, i;

	begin(&l, 3);
	fusion_copies_lend(&l.land, 2);
	for (i = 0; i < BLOCKS; i++) {
		steps = POSITIONS;
		REQUIRE_EQ(fusion_copies_turn(&l.land, &pos, 1, &steps), 1);
		REQUIRE_EQ(pos, 2 * BLOCKS + i);
		fusion_copies_enter(&l.land, pos, 1, i);
	}
	for (i = 0; i < 9; i++)
		fusion_copies_use(&l.land, 2 * BLOCKS + 4);
	for (round = 0; round < 4; round++) {
		for (i = 0; i < BLOCKS - (round < 3); i++) {
			steps = POSITIONS;
			REQUIRE_EQ(fusion_copies_turn(&l.land, &pos, 1, &steps), 1);
			REQUIRE((pos == 2 * BLOCKS + 4) == (round == 3 && i == 4));
		}
		REQUIRE_EQ(l.land.copies->nr, round < 3);
	}
	/* without a place nothing is found */
	fusion_copies_leave(&l.land, 2);
	steps = POSITIONS;
	REQUIRE_EQ(fusion_copies_turn(&l.land, &pos, 1, &steps), 0);
	end(&l);
}

static void test_ghosts(void)
{
	struct list l;

	begin(&l, 4);
	REQUIRE(!fusion_copies_seen(&l.land, 1, 2));
	REQUIRE(fusion_copies_seen(&l.land, 1, 2));
	REQUIRE(!fusion_copies_seen(&l.land, 2, 1));
	/* there is more to be had, or there is not, and what there is gets full */
	REQUIRE(fusion_copies_roomy(&l.land));
	l.land.copies->more = false;
	REQUIRE(!fusion_copies_roomy(&l.land));
	fusion_copies_lend(&l.land, 0);
	REQUIRE(fusion_copies_roomy(&l.land));
	l.land.copies->nr_fills = BLOCKS - 1;
	REQUIRE(!fusion_copies_roomy(&l.land));
	end(&l);
}

/* Copies earn their keep with one block read for every two made, reckoned by windows. */
static void test_earnings(void)
{
	const u32 window = POSITIONS / 4;
	struct fusion_copies *c;
	struct list l;
	u32 i, round;

	begin(&l, 5);
	c = l.land.copies;
	fusion_copies_lend(&l.land, 0);
	for (round = 0; round < 4; round++) {
		c->served += window / 2 - round % 2;
		for (i = 0; i < window; i++) {
			REQUIRE_EQ(c->poor, round && !(round % 2));
			fusion_copies_enter(&l.land, 3, 1, 2);
			fusion_copies_remove(&l.land, 3);
		}
		REQUIRE_EQ(c->poor, round % 2);
		REQUIRE_EQ(fusion_copies_roomy(&l.land), !c->poor);
	}
	REQUIRE_EQ(c->made, 4 * window);
	end(&l);
}

static void require_bound(struct fusion_land *land)
{
	REQUIRE_EQ(fusion_copies_index_init(land), 0);
	REQUIRE(bytes <= BOUND_AREA * 5 / 1000 + BOUND_LEXTS / 8 + 41ULL * land->max +
			 sizeof(struct fusion_copies), "%zu", bytes);
	fusion_copies_index_exit(land);
}

static void test_bound(void)
{
	each_log_size(require_bound);
}

static void test_memory(void)
{
	unsigned int left;

	for (left = 0; left < 5; left++) {
		struct fusion_land land = {};

		REQUIRE_EQ(fusion_land_init(&land, PLACES, BLOCKS, LEXTS), 0);
		memory = left;
		REQUIRE_EQ(fusion_copies_index_init(&land), left < 4 ? -ENOMEM : 0);
		memory = -1U;
		fusion_copies_index_exit(&land);
		fusion_land_exit(&land);
	}
}

static const struct unit_test tests[] = {
	{ "copies: found where they are", test_random },
	{ "copies: reads that get some", test_fills },
	{ "copies: rounds of the hand", test_rounds },
	{ "copies: which blocks get one", test_ghosts },
	{ "copies: what they earn", test_earnings },
	{ "copies: memory is bounded", test_bound },
	{ "copies: no memory", test_memory },
};

UNIT_TESTS(tests)
