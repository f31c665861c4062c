// SPDX-License-Identifier: GPL-2.0-only
/* The policy: extents that are pinned to a member. */
#include <stdlib.h>

#include "policy-set.h"

static struct fusion_pins pins;

static void unpin_all(void)
{
	for (unsigned int dev = 0; dev < FUSION_NR_DEVS; dev++) {
		free(pins.on[dev]);
		pins.on[dev] = calloc(BITS_TO_LONGS(sim.nr), sizeof(long));
		pins.nr[dev] = 0;
	}
	fusion_policy_pin(p, &pins);
}

/* Begin with a new set of pins. */
static void start_pins(u32 nr_fast, u32 nr_slow, u32 reserve)
{
	start(nr_fast, nr_slow, reserve);
	unpin_all();
}

static void end_pins(void)
{
	for (unsigned int dev = 0; dev < FUSION_NR_DEVS; dev++) {
		free(pins.on[dev]);
		pins.on[dev] = NULL;
	}
	end();
}

static void pin(enum fusion_dev dev, u32 first, u32 n)
{
	for (u32 i = first; i < first + n; i++) {
		pins.nr[dev] += !test_bit(i, pins.on[dev]);
		pins.on[dev][i / BITS_PER_LONG] |= 1UL << i % BITS_PER_LONG;
	}
	fusion_policy_pin(p, &pins);
}

static void set_heat(u32 first, u32 n, u32 h)
{
	for (u32 i = first; i < first + n; i++)
		fusion_policy_set_heat(p, i, h);
}

/* -- the fast member ------------------------------------------------------------- */

/* What is cold and pinned stays, while hot extents displace all others. */
static void test_victims(void)
{
	start_pins(64, 1000, 4);
	sim_fill(&sim, 0, sim.nr - 10);
	pin(FUSION_FAST, 10, 30);
	sim_rest(&sim, 5000);
	sim_load(&sim, 500, 200, 500, 300000);
	sim_rest(&sim, 100000);
	REQUIRE_EQ(sim_on_fast(&sim, 10, 30), 30);
	/* pinned ones leave so much, less the reserve */
	REQUIRE_EQ(sim_on_fast(&sim, 500, 200), 64 - 30 - 4);
	REQUIRE_EQ(sim.nr_free[FUSION_FAST], 4);
	end_pins();
}

/* What is cold and pinned comes up, whatever the heat of what makes room, and once. */
static void test_swaps(void)
{
	start_pins(64, 1000, 0);
	sim_fill(&sim, 0, sim.nr);
	set_heat(0, 64, 20000);
	for (u32 i = 0; i < 8; i++)
		fusion_policy_set_heat(p, 20 + i, 10000);
	sim_rest(&sim, 5000);
	REQUIRE_EQ(sim_moves(&sim), 0);
	pin(FUSION_FAST, 700, 20);
	/* also under load that adds no heat */
	sim_scan(&sim, 900, 100, 2048, 10);
	REQUIRE_EQ(sim_on_fast(&sim, 700, 20), 20);
	REQUIRE_EQ(sim_moves(&sim), 40);
	/* it gives no verdict on swaps */
	for (u32 i = 0; i < FUSION_TRIALS; i++)
		REQUIRE_EQ(p->trial[i].state, FUSION_TRIAL_NONE);
	sim_rest(&sim, 100000);
	REQUIRE_EQ(sim_moves(&sim), 40);
	end_pins();
}

/* Before all others, into what is free beyond the reserve. */
static void test_order(void)
{
	struct fusion_policy_env env = { .free_fast = 14, .free_slow = 100, .reserve = 10 };
	struct fusion_move moves[16];
	unsigned int n;

	start_pins(100, 1000, 10);
	sim_fill(&sim, 0, 1000);
	set_heat(200, 50, 30000);
	sim.batch = 0;
	sim_rest(&sim, 5000);
	pin(FUSION_FAST, 600, 3);
	n = fusion_policy_pick(p, &env, moves, 16);
	REQUIRE(n >= 4);
	for (unsigned int i = 0; i < 4; i++) {
		REQUIRE_EQ(moves[i].to, FUSION_FAST);
		REQUIRE(i < 3 ? moves[i].lext == 600 + i : moves[i].lext / 50 == 4);
	}
	/* not if there is no budget for them */
	env.spent = true;
	n = fusion_policy_pick(p, &env, moves, 16);
	for (unsigned int i = 0; i < n; i++)
		REQUIRE(moves[i].lext < 300);
	end_pins();
}

/* A fast member that is full of pinned extents: nothing moves, and little is looked at. */
static void test_bound(void)
{
	u32 hand;

	start_pins(64, 1000, 0);
	sim_fill(&sim, 0, sim.nr);
	pin(FUSION_FAST, 0, 64);
	sim_rest(&sim, 5000);
	sim_load(&sim, 500, 100, 500, 60000);
	REQUIRE_EQ(sim_moves(&sim), 0);
	/* more than find room */
	pin(FUSION_FAST, 800, 10);
	sim_rest(&sim, 60000);
	REQUIRE_EQ(sim_moves(&sim), 0);
	hand = p->hand[0];
	p->sweep = 0;
	for (u32 i = 0; i < 10; i++)
		sim_step(&sim);
	REQUIRE(p->hand[0] == hand || p->hand[0] == sim.nr || !hand);
	end_pins();
}

/* What comes next is known, with none of what would have to wait for it. */
static void test_next(void)
{
	struct fusion_policy_env env = { .free_fast = 100, .free_slow = 100 };
	struct fusion_move moves[4];
	u32 next[16];

	start_pins(200, 1000, 0);
	sim_fill(&sim, 0, 1100);
	set_heat(700, 50, 30000);
	sim.batch = 0;
	sim_rest(&sim, 5000);
	REQUIRE_EQ(fusion_policy_next(p, next, 16), 16);
	REQUIRE_EQ(next[0] / 50, 14);
	pin(FUSION_FAST, 400, 8);
	REQUIRE_EQ(fusion_policy_pick(p, &env, moves, 4), 4);
	for (u32 again = 0; again < 2; again++) {
		REQUIRE_EQ(fusion_policy_next(p, next, 3), 3);
		REQUIRE_EQ(fusion_policy_next(p, next, 16), 4);
		for (u32 i = 0; i < 4; i++)
			REQUIRE_EQ(next[i], 404 + i);
	}
	REQUIRE_EQ(fusion_policy_pick(p, &env, moves, 4), 4);
	for (u32 i = 0; i < 4; i++)
		REQUIRE_EQ(moves[i].lext, next[i]);
	end_pins();
}

/* Many cold ones on the fast member do not hide the coldest of the others. */
static void test_cold_ones(void)
{
	start_pins(FAST, SLOW, 0);
	sim_fill(&sim, 0, sim.nr);
	pin(FUSION_FAST, 0, 400);
	set_heat(400, 90, 1000);
	sim_rest(&sim, 5000);
	set_heat(2000, 20, 30000);
	sim_rest(&sim, 30000);
	REQUIRE_EQ(sim_on_fast(&sim, 2000, 20), 20);
	REQUIRE_EQ(sim_on_fast(&sim, 0, 400), 400);
	end_pins();
}

/* -- the slow member --------------------------------------------------------------- */

static void test_candidates(void)
{
	start_pins(64, 1000, 4);
	sim_fill(&sim, 0, sim.nr);
	pin(FUSION_SLOW, 500, 20);
	sim_rest(&sim, 5000);
	sim_load(&sim, 500, 40, 300, 300000);
	sim_rest(&sim, 10000);
	REQUIRE_EQ(sim_on_fast(&sim, 500, 20), 0);
	REQUIRE_EQ(sim_on_fast(&sim, 520, 20), 20);
	end_pins();
}

/* They go down by themselves in idle time, though the reserve is free and they are hot. */
static void test_demotions(void)
{
	start_pins(64, 1000, 4);
	sim_fill(&sim, 0, 900);
	set_heat(4, 60, 20000);
	sim_rest(&sim, 10000);
	REQUIRE_EQ(sim.nr_free[FUSION_FAST], 4);
	pin(FUSION_SLOW, 20, 10);
	sim_scan(&sim, 800, 100, 2048, 10);
	REQUIRE_EQ(sim_on_fast(&sim, 20, 10), 10);
	sim_rest(&sim, 10000);
	REQUIRE_EQ(sim_on_fast(&sim, 20, 10), 0);
	/* that is all, except that others get their room */
	for (u32 i = 0; i < 10000; i++)
		REQUIRE_EQ(sim_step(&sim), 0);
	end_pins();
}

/* Many pinned to the fast member, all there, do not hide those pinned to the slow one. */
static void test_both(void)
{
	struct fusion_policy_env env = { .free_slow = 100, .idle = true };
	struct fusion_move moves[16];
	const u32 nr = FUSION_SLICE + 100;

	start_pins(nr, 1000, 0);
	sim_fill(&sim, 0, nr + 900);
	sim.batch = 0;
	sim_rest(&sim, 5000);
	pin(FUSION_FAST, 8, nr - 8);
	pin(FUSION_SLOW, 0, 8);
	REQUIRE_EQ(fusion_policy_pick(p, &env, moves, 16), 8);
	end_pins();
}

/* The first to make room, for a candidate, a pinned extent, and on request. */
static void test_first_victims(void)
{
	struct fusion_victims v = { .dev = FUSION_FAST, .first = 1, .last = 0 };

	start_pins(64, 1000, 0);
	sim_fill(&sim, 0, sim.nr);
	set_heat(30, 1, 40000);
	set_heat(40, 1, 50000);
	sim_rest(&sim, 5000);
	pin(FUSION_SLOW, 30, 1);
	pin(FUSION_SLOW, 40, 1);
	pin(FUSION_FAST, 50, 2);
	fusion_policy_victims(p, &v, 0, sim.nr);
	REQUIRE_EQ(v.nr, 64);
	REQUIRE_EQ(v.best[0].lext, 30);
	REQUIRE_EQ(v.best[1].lext, 40);
	REQUIRE(v.best[62].lext / 2 == 25 && v.best[63].lext / 2 == 25);

	/* the slow member is full, so they go only in exchange */
	sim_rest(&sim, 5000);
	REQUIRE_EQ(sim_moves(&sim), 0);
	pin(FUSION_FAST, 700, 1);
	sim_rest(&sim, 5000);
	REQUIRE(sim_on_fast(&sim, 700, 1) && !sim_on_fast(&sim, 30, 1));
	REQUIRE_EQ(sim_moves(&sim), 2);
	sim_load(&sim, 600, 1, 100, 20000);
	REQUIRE(sim_on_fast(&sim, 600, 1) && !sim_on_fast(&sim, 40, 1));
	REQUIRE_EQ(sim_moves(&sim), 4);

	/* the hottest come up for others, those pinned to the slow member last */
	v = (struct fusion_victims){ .dev = FUSION_SLOW, .first = 1, .last = 0 };
	set_heat(30, 1, 40000);
	fusion_policy_victims(p, &v, 0, 64);
	REQUIRE(v.nr == 2 && v.best[0].lext + v.best[1].lext == 70);
	end_pins();
}

/* -- changes, and all together ------------------------------------------------------ */

/* New pins are heeded at once, though the search for the old ones rests; and so is their end. */
static void test_changes(void)
{
	start_pins(FAST, SLOW, 0);
	sim_fill(&sim, 0, sim.nr);
	pin(FUSION_FAST, 0, 10);
	sim_rest(&sim, 20000);
	pin(FUSION_FAST, 4000, 4);
	sim_step(&sim);
	REQUIRE_EQ(sim.moves[FUSION_FAST], 2);
	sim_step(&sim);
	REQUIRE_EQ(sim_on_fast(&sim, 4000, 4), 4);
	unpin_all();
	sim_load(&sim, 2000, FAST, 2000, 600000);
	REQUIRE_EQ(sim_on_fast(&sim, 4000, 4), 0);
	fusion_policy_pin(p, NULL);
	REQUIRE_EQ(fusion_policy_pinned(p, 4000), FUSION_UNPINNED);
	REQUIRE_EQ(fusion_policy_nr_pinned(p, FUSION_FAST), 0);
	sim_rest(&sim, 1000);
	end_pins();
}

/* What users learn of them. */
static void test_survey(void)
{
	struct fusion_survey s = { };

	start_pins(64, 1000, 0);
	sim_fill(&sim, 0, 900);
	sim.batch = 0;
	set_heat(500, 10, 30000);
	set_heat(600, 1, 20000);
	sim_rest(&sim, 5000);
	pin(FUSION_FAST, 60, 8);
	pin(FUSION_FAST, 890, 20);
	pin(FUSION_SLOW, 0, 10);
	pin(FUSION_SLOW, 500, 10);
	fusion_policy_survey(p, &s, 0, sim.nr);
	/* without those that are there, or unmapped */
	REQUIRE_EQ(s.pinned[FUSION_FAST], 4 + 10);
	REQUIRE_EQ(s.pinned[FUSION_SLOW], 10);
	REQUIRE_EQ(s.victims[0], 64 - 10 - 4);
	REQUIRE_EQ(s.candidates, 1);
	REQUIRE_EQ(fusion_survey_beyond(&s, 0), 20000);
	/* the free slots are theirs first */
	REQUIRE_EQ(fusion_survey_beyond(&s, 14), 20000);
	REQUIRE_EQ(fusion_survey_beyond(&s, 15), 0);
	end_pins();
}

/* A write cancels it, or it fails: it is tried again. */
static enum fusion_outcome mostly_in_vain(struct sim *s, const struct fusion_move *move)
{
	u32 die = rnd_below(&s->seed, 8);

	return move->to != FUSION_FAST || die < 4 ? FUSION_MOVED :
	       die < 7 ? FUSION_CANCELLED : FUSION_FAILED;
}

/* Whatever is pinned comes to its member if there is room, and nothing else is out of order. */
static void test_random(void)
{
	u64 seed = 1;

	for (u32 turn = 0; turn < 40; turn++) {
		u32 nr_fast = 20 + rnd_below(&seed, 200), nr_slow = 200 + rnd_below(&seed, 800);
		u32 reserve = rnd_below(&seed, 10), n, most;

		start_pins(nr_fast, nr_slow, reserve);
		sim.batch = 1 + rnd_below(&seed, 16);
		/* one at a time cannot swap */
		sim.batch += sim.batch == 1;
		sim.outcome = rnd_below(&seed, 2) ? mostly_in_vain : NULL;
		sim_fill(&sim, 0, sim.nr - 10 - rnd_below(&seed, 30));
		for (u32 i = 0; i < sim.nr; i++)
			fusion_policy_set_heat(p, i, rnd_below(&seed, 1 << rnd_below(&seed, 15)));
		most = nr_fast - reserve;
		for (u32 k = 0; k < 3; k++) {
			unpin_all();
			for (n = rnd_below(&seed, most + 1); n; n--) {
				u32 lext = rnd_below(&seed, sim.nr);

				if (pins.nr[FUSION_FAST] < most &&
				    fusion_word_mapped(sim.map[lext]))
					pin(FUSION_FAST, lext, 1);
			}
			for (n = rnd_below(&seed, 100); n; n--) {
				u32 lext = rnd_below(&seed, sim.nr);

				if (!test_bit(lext, pins.on[FUSION_FAST]))
					pin(FUSION_SLOW, lext, 1);
			}
			sim_load(&sim, rnd_below(&seed, sim.nr - 250), 100, 200, 20000);
			sim_rest(&sim, 300000);
			for (u32 i = 0; i < sim.nr; i++) {
				bool up = sim_on_fast(&sim, i, 1);

				/* reads of it have failed again and again */
				if (fusion_policy_held(p, i, true))
					continue;
				REQUIRE(up || !test_bit(i, pins.on[FUSION_FAST]),
					"turn %u, %u: %u is down", turn, k, i);
				REQUIRE(!up || !test_bit(i, pins.on[FUSION_SLOW]) ||
					sim.nr_free[FUSION_SLOW] <= 0,
					"turn %u, %u: %u is up", turn, k, i);
			}
		}
		end_pins();
	}
}

static const struct unit_test tests[] = {
	{ "pins: what is pinned to fast is no victim", test_victims },
	{ "pins: it comes up whatever the heats", test_swaps },
	{ "pins: it comes first", test_order },
	{ "pins: no more than there is room for", test_bound },
	{ "pins: what comes next", test_next },
	{ "pins: cold ones hide no victims", test_cold_ones },
	{ "pins: what is pinned to slow is no candidate", test_candidates },
	{ "pins: it goes down in idle time", test_demotions },
	{ "pins: those of one member hide none of the other", test_both },
	{ "pins: it makes room first", test_first_victims },
	{ "pins: changes", test_changes },
	{ "pins: survey", test_survey },
	{ "pins: anything", test_random },
};

UNIT_TESTS(tests)
