// SPDX-License-Identifier: GPL-2.0-only
/* The next free slot: the same as by a scan of all bits, from one slot to many words of a level. */
#include <errno.h>

#include "dm-fusion-used.h"

#include "unit.h"

#define STEPS	3000U

/* Where the simulator's kernel would let other tasks run, and its memory. */
int sim_preempt_left = 1;

void sim_preempt(void)
{
	sim_preempt_left = 1;
}

/* Allocations that succeed before one fails. */
static unsigned int memory = -1U;

bool sim_out_of_memory(void)
{
	return !memory || !memory--;
}

void *sim_alloc(size_t size, bool zero)
{
	return zero ? calloc(1, size) : malloc(size);
}

void sim_free(const void *p)
{
	free((void *)p);
}

/* What the module had before: a scan. */
static u32 scan(const bool *taken, u32 nr, u32 from)
{
	while (from < nr && taken[from])
		from++;
	return min(from, nr);
}

static void check_search(const struct fusion_used *used, const bool *taken, u64 *seed)
{
	u32 from = rnd_below(seed, used->nr + 1);

	REQUIRE_EQ(fusion_used_next_free(used, from), scan(taken, used->nr, from));
}

/* Take or free a run of slots. */
static void change(struct fusion_used *used, bool *taken, u64 *seed)
{
	u32 first = rnd_below(seed, used->nr), end, slot;
	bool take = rnd_below(seed, 2);

	end = first + rnd_log(seed, 1, used->nr - first);
	for (slot = first; slot < end; slot++) {
		REQUIRE_EQ(take ? fusion_used_set(used, slot) : fusion_used_clear(used, slot),
			   taken[slot]);
		taken[slot] = take;
	}
}

static void change_word(struct fusion_used *used, bool *taken, u64 *seed)
{
	size_t i = rnd_below(seed, BITS_TO_LONGS(used->nr));
	u32 end = min_t(u64, used->nr, (i + 1) * BITS_PER_LONG), slot;
	unsigned long bits = 0;

	for (slot = i * BITS_PER_LONG; slot < end; slot++) {
		if (taken[slot] && rnd_below(seed, 2)) {
			bits |= 1UL << slot % BITS_PER_LONG;
			taken[slot] = false;
		}
	}
	fusion_used_clear_bits(used, i, bits);
}

static void life(u32 nr, u64 seed)
{
	struct fusion_used used = {};
	bool *taken = calloc(nr, sizeof(*taken));
	unsigned int i;

	REQUIRE_EQ(fusion_used_init(&used, nr), 0);
	for (i = 0; i < STEPS; i++) {
		switch (rnd_below(&seed, 64)) {
		case 0:
			fusion_used_fill(&used);
			memset(taken, true, nr);
			break;
		case 1 ... 16:
			change_word(&used, taken, &seed);
			break;
		case 17 ... 20:
			change(&used, taken, &seed);
			break;
		default:
			check_search(&used, taken, &seed);
		}
	}
	fusion_used_exit(&used);
	free(taken);
}

static void test_small(void)
{
	u32 nr;

	for (nr = 1; nr < 300; nr++)
		life(nr, nr);
}

static void test_large(void)
{
	static const u32 sizes[] = { 4095, 4096, 4097, 12345, 262143, 262144, 262145, 600000 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		life(sizes[i], i);
}

/* The last free slot of a full member. */
static void test_last(void)
{
	const u32 nr = 600000;
	struct fusion_used used = {};
	u32 slot;

	REQUIRE_EQ(fusion_used_init(&used, nr), 0);
	fusion_used_fill(&used);
	REQUIRE_EQ(fusion_used_next_free(&used, 0), nr);
	for (slot = 0; slot < nr; slot += 4093) {
		REQUIRE(fusion_used_clear(&used, slot));
		REQUIRE_EQ(fusion_used_next_free(&used, 0), slot);
		REQUIRE_EQ(fusion_used_next_free(&used, slot), slot);
		REQUIRE_EQ(fusion_used_next_free(&used, slot + 1), nr);
		REQUIRE(!fusion_used_set(&used, slot));
	}
	fusion_used_exit(&used);
}

static void test_memory(void)
{
	unsigned int left;

	for (left = 0; left < 4; left++) {
		struct fusion_used used = {};

		memory = left;
		REQUIRE_EQ(fusion_used_init(&used, 100000), left < 3 ? -ENOMEM : 0);
		fusion_used_exit(&used);
	}
	memory = -1U;
}

static const struct unit_test tests[] = {
	{ "used: few slots", test_small },
	{ "used: many slots", test_large },
	{ "used: the last free one", test_last },
	{ "used: no memory", test_memory },
};

UNIT_TESTS(tests)
