// SPDX-License-Identifier: GPL-2.0-only
/*
 * The amount that moves may write to the fast member in a day: income, savings, debt, and the
 * effect of a change of the setting.
 */
#include "dm-fusion.h"

#include "unit.h"

#define EXTENT	1048576LL
#define GB	1000000000LL
#define MINUTE	60000ULL
#define HOUR	(60 * MINUTE)
#define DAY	(24 * HOUR)
#define YEAR	(365 * DAY)

/* Where the simulator's kernel would let other tasks run. */
int sim_preempt_left = 1;

void sim_preempt(void)
{
	sim_preempt_left = 1;
}

static struct fusion fs;
static u64 now;

/* What copies of what is read have written, and have not told yet. */
static u64 copied;

u64 fusion_copies_pay(struct fusion *of)
{
	const u64 bytes = of == &fs ? copied : 0;

	copied = 0;
	return bytes;
}

static void set_budget(u32 gb_a_day)
{
	fs.opt.write_budget = gb_a_day;
	fusion_budget_refill(&fs, now);
}

/* A set of extents of 1 MiB that was just opened. */
static void start(u32 gb_a_day)
{
	memset(&fs, 0, sizeof(fs));
	fs.shift = ilog2(EXTENT) - SECTOR_SHIFT;
	now = 12345678;
	fusion_budget_init(&fs, now);
	set_budget(gb_a_day);
}

static void pass(u64 ms)
{
	now += ms;
	fusion_budget_refill(&fs, now);
}

static void spend(u32 extents)
{
	while (extents--)
		fusion_budget_spend(&fs);
}

/* It cannot be told from one that never ends. */
static void unlimited(void)
{
	REQUIRE(fusion_budget_extents(&fs) > 100000 * 86400LL, "%lld extents left",
		(long long)fusion_budget_extents(&fs));
	REQUIRE_EQ(fusion_budget_left(&fs), 0);
}

static void test_none(void)
{
	start(0);
	unlimited();
	for (u32 i = 0; i < 1000; i++) {
		spend(1000);
		unlimited();
		pass(i);
		unlimited();
	}
	REQUIRE_EQ(fs.mover.copied_fast, 1000000);
}

/* A set that is opened may use an hour's worth at once. */
static void test_begins(void)
{
	static const u32 gb[] = { 1, 24, 70, 100000 };

	for (u32 i = 0; i < ARRAY_SIZE(gb); i++) {
		start(gb[i]);
		REQUIRE_EQ(fusion_budget_left(&fs), gb[i] * GB / 24);
		REQUIRE_EQ(fusion_budget_extents(&fs), gb[i] * GB / 24 / EXTENT);
	}
}

static void test_spend(void)
{
	start(24);
	spend(953);
	REQUIRE_EQ(fs.mover.copied_fast, 953);
	REQUIRE_EQ(fusion_budget_left(&fs), GB - 953 * EXTENT);
	/* what is left is less than one */
	REQUIRE_EQ(fusion_budget_extents(&fs), 0);
	fs.shift = ilog2(65536) - SECTOR_SHIFT;
	REQUIRE_EQ(fusion_budget_extents(&fs), (GB - 953 * EXTENT) / 65536);
	spend(1);
	REQUIRE_EQ(fusion_budget_left(&fs), GB - 953 * EXTENT - 65536);
	REQUIRE_EQ(fs.mover.copied_fast, 954);
}

static void test_comes_in(void)
{
	u64 before;

	/* a GB an hour */
	start(24);
	spend(953);
	before = fusion_budget_left(&fs);
	pass(0);
	REQUIRE_EQ(fusion_budget_left(&fs), before);
	pass(54);
	REQUIRE_EQ(fusion_budget_left(&fs), before + 24 * 625);
	pass(MINUTE);
	REQUIRE_EQ(fusion_budget_left(&fs), before + 24 * 625 + 24 * 625 * MINUTE / 54);

	/* in many small steps hardly less than at once */
	start(70);
	spend(10000);
	for (u32 i = 0; i < 3 * 36000; i++)
		pass(100);
	before = 70 * GB / 24 - 10000 * EXTENT + 70 * GB / 8;
	REQUIRE(fusion_budget_left(&fs) <= before);
	REQUIRE(fusion_budget_left(&fs) >= before - 3 * 36000);
}

/* An hour's worth, however long nothing was spent. */
static void test_saved_up(void)
{
	static const u64 ms[] = { HOUR, HOUR + 1, DAY, DAY + 1, YEAR, 100 * YEAR };

	for (u32 i = 0; i < ARRAY_SIZE(ms); i++) {
		start(100000);
		spend(1000);
		pass(ms[i]);
		REQUIRE_EQ(fusion_budget_left(&fs), 100000 * GB / 24);
		pass(ms[i]);
		REQUIRE_EQ(fusion_budget_left(&fs), 100000 * GB / 24);
	}
}

/* Moves on request go on; of what they owe the rest waits for a day at most. */
static void test_debt(void)
{
	start(24);
	spend(954);
	REQUIRE_EQ(fusion_budget_extents(&fs), -1);
	REQUIRE_EQ(fusion_budget_left(&fs), 0);
	spend(1000);
	REQUIRE_EQ(fusion_budget_extents(&fs), -1001);
	pass(HOUR);
	REQUIRE_EQ(fusion_budget_extents(&fs), (2 * GB - 1954 * EXTENT) >> 20);
	REQUIRE_EQ(fusion_budget_left(&fs), 0);

	spend(1000000);
	REQUIRE_EQ(fusion_budget_left(&fs), 0);
	pass(0);
	REQUIRE_EQ(fusion_budget_extents(&fs), -24 * GB >> 20);
	pass(DAY - 54);
	REQUIRE_EQ(fusion_budget_extents(&fs), -1);
	REQUIRE_EQ(fusion_budget_left(&fs), 0);
	pass(54);
	REQUIRE_EQ(fusion_budget_extents(&fs), 0);
	pass(10000);
	REQUIRE_EQ(fusion_budget_extents(&fs), 2);
	pass(HOUR);
	REQUIRE_EQ(fusion_budget_left(&fs), GB);
}

static void test_changed(void)
{
	/* there was none: as when the set is opened */
	start(0);
	spend(5000);
	pass(DAY);
	set_budget(24);
	REQUIRE_EQ(fusion_budget_left(&fs), GB);
	spend(900);

	/* more: what there is stays, and what comes in is more */
	set_budget(48);
	REQUIRE_EQ(fusion_budget_left(&fs), GB - 900 * EXTENT);
	pass(54);
	REQUIRE_EQ(fusion_budget_left(&fs), GB - 900 * EXTENT + 48 * 625);
	pass(HOUR);
	REQUIRE_EQ(fusion_budget_left(&fs), 2 * GB);

	/* less: at most an hour of that can be saved, or a day of it owed */
	fs.opt.write_budget = 12;
	REQUIRE_EQ(fusion_budget_left(&fs), GB / 2);
	pass(0);
	REQUIRE_EQ(fusion_budget_left(&fs), GB / 2);
	spend(1000000);
	pass(0);
	REQUIRE_EQ(fusion_budget_extents(&fs), -12 * GB >> 20);
	set_budget(1);
	REQUIRE_EQ(fusion_budget_extents(&fs), -GB >> 20);

	/* none: at once, and a debt is forgotten with it */
	set_budget(0);
	unlimited();
	set_budget(24);
	REQUIRE_EQ(fusion_budget_left(&fs), GB);
}

/* Any operations, with numbers of any size. */
static void test_any(void)
{
	for (u64 seed = 1; seed <= 200; seed++) {
		u64 s = seed;
		u32 gb = rnd_log(&s, 1, 100000);
		__int128 left, most;

		start(gb);
		left = (s64)fusion_budget_left(&fs);
		for (u32 i = 0; i < 500; i++) {
			u32 n = rnd_below(&s, 2) ? 0 : rnd_log(&s, 1, 2000);
			u64 ms = rnd_log(&s, 1, rnd_below(&s, 10) ? MINUTE : 3 * DAY);

			spend(n);
			left -= n * EXTENT;
			pass(ms);
			left += (__int128)gb * GB * (ms < DAY ? ms : DAY) / DAY;
			most = gb * GB / 24;
			if (left > most)
				left = most;
			if (left < -(__int128)gb * GB)
				left = -(__int128)gb * GB;
			REQUIRE_EQ(fs.mover.budget, (s64)left);
			REQUIRE_EQ(fusion_budget_left(&fs), left > 0 ? (s64)left : 0);
			REQUIRE((fusion_budget_extents(&fs) > 0) == (left >= EXTENT));
		}
	}
}

/* Copies of what is read count as well, and stop first. */
static void test_copies(void)
{
	start(24);
	REQUIRE(fusion_budget_copies(&fs, 0));
	REQUIRE(!fusion_budget_copies(&fs, GB * 3 / 4));
	copied = GB / 2;
	pass(0);
	REQUIRE_EQ(fusion_budget_left(&fs), GB / 2);
	REQUIRE(fusion_budget_copies(&fs, GB / 8));
	copied = GB / 4;
	pass(0);
	REQUIRE(!fusion_budget_copies(&fs, 0));
	REQUIRE(fusion_budget_extents(&fs) > 0);
	/* without a budget nobody counts, and nothing of that is left when there is one */
	set_budget(0);
	copied = 100 * GB;
	pass(MINUTE);
	REQUIRE(fusion_budget_copies(&fs, 100 * GB));
	set_budget(24);
	REQUIRE_EQ(fusion_budget_left(&fs), GB);
}

static const struct unit_test tests[] = {
	{ "budget: none", test_none },
	{ "budget: an hour's worth to begin with", test_begins },
	{ "budget: what a copy takes", test_spend },
	{ "budget: what comes in", test_comes_in },
	{ "budget: an hour's worth can be saved up", test_saved_up },
	{ "budget: a day's worth can be owed", test_debt },
	{ "budget: changed", test_changed },
	{ "budget: copies of what is read", test_copies },
	{ "budget: anything", test_any },
};

UNIT_TESTS(tests)
