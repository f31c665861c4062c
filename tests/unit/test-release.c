// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets that are released: power fails in any write, and of what was not flushed by then, any
 * sectors are lost. After each failure there is the set with its content, one in transit that can
 * be finished and undone, or the plain disk. That is judged by the bytes, and by what libblkid
 * recognises.
 */
#include "release-again.h"

/* -- tests ----------------------------------------------------------------------------------- */

static void test_whole(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(examples); i++) {
		const struct example *e = &examples[i];

		begin(e, i + 1);
		require_set(e, true);
		/* by itself, homing leaves a set */
		REQUIRE(!release(e, false), "%s", fus_last_error()->what);
		require_set(e, true);
		REQUIRE(!release(e, true), "%s", fus_last_error()->what);
		require_plain(e);
		require_nothing(FAST, true);
		REQUIRE_EQ(find(e), FOUND_NOTHING);
		end();
	}
}

/* In any write, and in what follows again. @from: of the writes, those from there on. */
static void cut(const struct example *e, unsigned int from, unsigned int step, unsigned int writes)
{
	for (unsigned int n = from; n < writes; n += step) {
		unsigned int more = 0;

		reset();
		power_on(n);
		REQUIRE(release(e, true) && world.dead);
		while (!go_on(e, rnd_below(&world.seed, 2), more < 3 ?
			      rnd_below(&world.seed, 60) : ~0U))
			more++;
		if (find(e) == FOUND_SET)
			REQUIRE(go_on(e, false, ~0U));
	}
}

/* Writes of homing, and of all of it. */
static void count(const struct example *e, unsigned int *homing, unsigned int *all)
{
	reset();
	REQUIRE(!release(e, false));
	*homing = world.writes;
	reset();
	REQUIRE(!release(e, true));
	*all = world.writes;
}

static void test_cut_homing(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(examples); i++) {
		const struct example *e = &examples[i];
		unsigned int homing, all, step;

		begin(e, i + 50);
		count(e, &homing, &all);
		step = max(homing / 4, 1U);
		cut(e, i % step, step, homing);
		end();
	}
}

/* Writes after the commit. */
static unsigned int wiping(const struct example *e)
{
	struct transit t = { 0 };
	unsigned int writes;
	struct fusion_sb sb;

	reset();
	sb = made.sb;
	for (int dev = 0; dev < 2; dev++)
		t.o[dev] = device(e, dev);
	REQUIRE(fus_release_plan(&t, &sb, &(struct fus_content){ .nr = 0 }));
	REQUIRE(!fus_release_wipe(&t));
	writes = world.writes + e->magics;
	put_transit(&t);
	return writes;
}

/* Those around the commit one by one. */
static void test_cut_transit(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(examples); i++) {
		const struct example *e = &examples[i];
		unsigned int homing, all, last, step;

		begin(e, i + 100);
		/* once for all of them */
		REQUIRE(!release(e, false));
		keep();
		count(e, &homing, &all);
		last = all - wiping(e) - 6;
		step = (last - homing) / 6;
		cut(e, homing + i % step, step, last);
		cut(e, last, 1, last + 8);
		cut(e, last + 8 + i, 9, all);
		end();
	}
}

static const struct unit_test tests[] = {
	{ "release: a set becomes a plain disk", test_whole },
	{ "release: power fails while extents go home, and again", test_cut_homing },
	{ "release: power fails in the last steps, and again", test_cut_transit },
};

UNIT_TESTS(tests)
