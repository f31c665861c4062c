// SPDX-License-Identifier: GPL-2.0-only
/* The gain that a swap must promise: by measurements, and by the outcome of earlier swaps. */
#include "policy-sim.h"

#define TOUCH	FUSION_HEAT_TOUCH
#define HOUR	3600000ULL

static struct sim sim;
static struct fusion_policy *p;

static void start(void)
{
	sim_init(&sim, 490, 4080, 10);
	p = sim.policy;
}

static void end(void)
{
	sim_exit(&sim);
}

/* Return: whether it is the result of the figures, except for rounding. */
static void check_pay(u32 pay, u32 wanted)
{
	REQUIRE(pay + wanted / 100 + 1 >= wanted && pay <= wanted + wanted / 100 + 1,
		"%u, not %u", pay, wanted);
}

/* Members as they are measured under some load, for long. */
static u32 pay_of(u32 slow_us, u32 fast_us, u32 move_us)
{
	u32 pay;

	start();
	for (u32 i = 0; i < 100; i++) {
		fusion_policy_accesses(p, FUSION_SLOW, 100 * slow_us, 100);
		fusion_policy_accesses(p, FUSION_FAST, 1000 * fast_us, 1000);
		fusion_policy_moves(p, 4 * move_us, 4);
	}
	pay = fusion_policy_pay(p);
	end();
	return pay;
}

static void test_measured(void)
{
	start();
	/* a guess until there is enough to go by */
	REQUIRE_EQ(fusion_policy_pay(p), 10 * TOUCH);
	fusion_policy_accesses(p, FUSION_SLOW, 1000, 1000);
	fusion_policy_moves(p, 1000, 15);
	REQUIRE_EQ(fusion_policy_pay(p), 10 * TOUCH);
	end();

	/* a disk: 5 ms for an access in a queue, 28 for a copy */
	check_pay(pay_of(5000, 20, 28000), 2 * 28000 * TOUCH / 4980);
	/* one with a large extent */
	check_pay(pay_of(5000, 20, 250000), 2 * 250000 * TOUCH / 4980);
	/* SSDs: a slow and a fast one */
	check_pay(pay_of(80, 20, 2500), 2 * 2500 * TOUCH / 60);
	/* hardly any gain, none, and the wrong way round */
	check_pay(pay_of(70, 20, 2500), 2 * 2500 * TOUCH / 50);
	check_pay(pay_of(20, 20, 2500), 128 * TOUCH);
	check_pay(pay_of(20, 5000, 2500), 128 * TOUCH);
	/* bounds */
	check_pay(pay_of(5000, 20, 1), 10 * TOUCH);
	check_pay(pay_of(12000, 20, 28000), 10 * TOUCH);
	check_pay(pay_of(30, 20, 100000000), 128 * TOUCH);
}

/* Old outcomes do not count forever. */
static void test_forgets(void)
{
	start();
	for (u32 i = 0; i < 10000; i++) {
		fusion_policy_accesses(p, FUSION_SLOW, 20 * 100, 100);
		fusion_policy_moves(p, 28000, 1);
	}
	REQUIRE_EQ(fusion_policy_pay(p), 128 * TOUCH);
	for (u32 i = 0; i < 200; i++)
		fusion_policy_accesses(p, FUSION_SLOW, 5000 * 100, 100);
	REQUIRE(fusion_policy_pay(p) >= 10 * TOUCH && fusion_policy_pay(p) <= 12 * TOUCH, "%u",
		fusion_policy_pay(p));
	end();
}

static void test_extremes(void)
{
	start();
	for (u32 i = 0; i < 100; i++) {
		fusion_policy_accesses(p, FUSION_SLOW, (1ULL << 40) - 1, 1);
		fusion_policy_accesses(p, FUSION_SLOW, 0, (1U << 24) - 1);
		fusion_policy_accesses(p, FUSION_FAST, (1ULL << 40) - 1, 0);
		fusion_policy_accesses(p, FUSION_FAST, 0, 0);
		fusion_policy_moves(p, (1ULL << 40) - 1, 64);
		fusion_policy_moves(p, 0, 0);
		REQUIRE(fusion_policy_pay(p) >= 10 * TOUCH);
		REQUIRE(fusion_policy_pay(p) <= 8 * 128 * TOUCH);
	}
	end();
}

/* -- trials ------------------------------------------------------------------ */

/* A load that stays: swaps prove right, and the rule stays as it is. */
static void test_right(void)
{
	start();
	sim_fill(&sim, 0, sim.nr);
	sim_rest(&sim, 10000);
	for (u32 i = 0; i < 8; i++)
		sim_load(&sim, 3000, 400, 400, HOUR / 8);
	REQUIRE(sim_on_fast(&sim, 3000, 400) >= 390);
	REQUIRE_EQ(p->wrong, 0);
	REQUIRE_EQ(fusion_policy_pay(p), 10 * TOUCH);
	end();
}

/*
 * An extent that is hot for a minute and never again is not worth a swap: the policy learns that.
 */
static void test_wrong(void)
{
	u64 first, last = 0;
	u32 place = 500;

	start();
	fusion_policy_set_half_life(p, 600);
	sim_fill(&sim, 0, sim.nr);
	sim_rest(&sim, 10000);
	sim_load(&sim, place, 32, 100, 10000);
	first = sim_moves(&sim);
	REQUIRE(first);
	for (u32 i = 0; i < 100; i++) {
		place = 500 + (place + 1234 + i) % 4000;
		last = sim_moves(&sim);
		sim_load(&sim, place, 32, 100, 10000);
		last = sim_moves(&sim) - last;
		sim_load(&sim, 0, 1, 1, 600000);
	}
	printf("# %llu moves the first time, %llu the hundredth; pay %u\n", first, last,
	       fusion_policy_pay(p));
	REQUIRE(last <= first / 4, "%llu moves at first, %llu in the end", first, last);
	REQUIRE(fusion_policy_pay(p) > 30 * TOUCH);

	/* and unlearned when there is something to be learned */
	for (u32 i = 0; i < 48; i++)
		sim_load(&sim, 3000 + i % 3 * 200, 200, 400, HOUR);
	REQUIRE(fusion_policy_pay(p) < 20 * TOUCH, "%u", fusion_policy_pay(p));
	end();
}

/* A night proves nothing, however many swaps there were in the evening. */
static void test_night(void)
{
	start();
	sim_fill(&sim, 0, sim.nr);
	sim_rest(&sim, 10000);
	for (u32 day = 0; day < 5; day++) {
		sim_load(&sim, 500, 400, 400, HOUR);
		sim_load(&sim, 2000 + 200 * day, 100, 100, 9000);
		sim_rest(&sim, 12 * HOUR);
	}
	REQUIRE_EQ(p->wrong, 0);
	REQUIRE(fusion_policy_pay(p) <= 11 * TOUCH, "%u", fusion_policy_pay(p));
	end();
}

/* Nor do moves that were asked for. */
static void test_on_request(void)
{
	start();
	sim_fill(&sim, 0, sim.nr);
	for (u32 i = 0; i < 32; i++)
		fusion_policy_set_heat(p, 3000 + i, 20 * TOUCH);
	sim_rest(&sim, 10000);
	REQUIRE_EQ(sim_on_fast(&sim, 3000, 32), 32);
	sim.batch = 0;
	for (u32 i = 0; i < 32; i++)
		sim.map[3000 + i] = fusion_word(FUSION_STABLE, FUSION_SLOW, 3000 + i);
	sim_load(&sim, 500, 200, 10, 2 * HOUR);
	REQUIRE(p->wrong < 3000, "%u", p->wrong);
	end();
}

/*
 * However it was made as severe as it can get, at any half-life: what is used all the time
 * comes up, and in some half-lives the rule is forgotten.
 */
static void test_not_for_good(void)
{
	static const u32 half_life[] = { 1, 2, 5, 10, 60, 600 };

	for (u32 i = 0; i < ARRAY_SIZE(half_life); i++) {
		start();
		fusion_policy_set_half_life(p, half_life[i]);
		sim_fill(&sim, 0, sim.nr);
		sim_rest(&sim, 5000);
		p->wrong = 65536;
		for (u32 k = 0; k < 100; k++) {
			fusion_policy_accesses(p, FUSION_SLOW, 2000, 100);
			fusion_policy_moves(p, 28000, 1);
		}
		sim_load(&sim, 3000, 20, 1000, max(20 * half_life[i] * 1000ULL, 60000ULL));
		REQUIRE(sim_on_fast(&sim, 3000, 20) >= 15, "half-life %u: %u, pay %u",
			half_life[i], sim_on_fast(&sim, 3000, 20), fusion_policy_pay(p));
		sim_rest(&sim, 40 * half_life[i] * 1000ULL);
		REQUIRE(p->wrong < 3000, "half-life %u: %u", half_life[i], p->wrong);
		end();
	}
}

/*
 * A swap of which neither extent was used since is undecided until its time is over. If the policy
 * reverses it before, it was useless. If a request reverses it, that proves nothing.
 */
static void test_taken_back(void)
{
	enum { CANDIDATE = 3000, VICTIM = 7 };

	for (u32 on_request = 0; on_request < 2; on_request++) {
		start();
		sim.reserve = 0;
		sim_fill(&sim, 0, sim.nr);
		for (u32 i = 0; i < 490; i++)
			fusion_policy_set_heat(p, i, i == VICTIM ? 0 : 1000);
		fusion_policy_set_heat(p, CANDIDATE, 20 * TOUCH);
		sim_rest(&sim, 10000);
		REQUIRE_EQ(sim_moves(&sim), 2);
		REQUIRE(sim_on_fast(&sim, CANDIDATE, 1) && !sim_on_fast(&sim, VICTIM, 1));
		REQUIRE_EQ(p->wrong, 0);

		for (u32 i = 0; i < 490; i++)
			sim_discard(&sim, 1000 + i);
		if (on_request)
			sim.map[CANDIDATE] = fusion_word(FUSION_STABLE, FUSION_SLOW, CANDIDATE);
		else
			sim.reserve = 490;
		sim_rest(&sim, 60000);
		REQUIRE_EQ(sim_on_fast(&sim, CANDIDATE, 1), 0);
		REQUIRE_EQ(p->wrong, on_request ? 0 : 65536 / 32);
		end();
	}
}

/* A trial ends with its extents. */
static void test_discarded(void)
{
	start();
	sim_fill(&sim, 0, sim.nr);
	sim_rest(&sim, 10000);
	for (u32 i = 0; i < 50; i++) {
		sim_load(&sim, 3000, 32, 300, 10000);
		for (u32 k = 0; k < 32; k++)
			sim_discard(&sim, 3000 + k);
		sim_rest(&sim, 3 * HOUR);
		sim_fill(&sim, 3000, 32);
	}
	REQUIRE_EQ(p->wrong, 0);
	end();
}

/* No trial outlives a change of the half-life, which its end was reckoned by. */
static void test_half_life(void)
{
	u32 runs = 0;

	start();
	sim_fill(&sim, 0, sim.nr);
	sim_rest(&sim, 10000);
	for (u32 i = 0; i < 32; i++)
		fusion_policy_set_heat(p, 3000 + i, 20 * TOUCH);
	sim_rest(&sim, 10000);
	REQUIRE_EQ(sim_on_fast(&sim, 3000, 32), 32);
	for (u32 i = 0; i < FUSION_TRIALS; i++)
		runs += p->trial[i].state == FUSION_TRIAL_RUNS;
	REQUIRE(runs);
	fusion_policy_set_half_life(p, 60);
	for (u32 i = 0; i < FUSION_TRIALS; i++)
		REQUIRE_EQ(p->trial[i].state, FUSION_TRIAL_NONE);
	sim_rest(&sim, HOUR);
	REQUIRE_EQ(p->wrong, 0);
	end();
}

/* Without foreground I/O, half of the gain is enough. */
static void test_idle(void)
{
	for (u32 idle = 0; idle < 2; idle++) {
		struct fusion_policy_env env = { .idle = idle };
		struct fusion_move moves[8];

		start();
		sim_fill(&sim, 0, sim.nr);
		sim.batch = 0;
		for (u32 i = 0; i < 8; i++)
			fusion_policy_set_heat(p, 3000 + i, 6 * TOUCH + i);
		/* the bar is set by a pick, what is above it found by the sweep */
		sim_rest(&sim, 10000);
		fusion_policy_pick(p, &env, moves, 8);
		sim_rest(&sim, 10000);
		REQUIRE_EQ(fusion_policy_pick(p, &env, moves, 8), idle ? 8 : 0);
		end();
	}
}

/* A promoted extent stays for a minute, even if it cools down at once, and is one of many. */
static void test_residence(void)
{
	u64 until = 0;

	start();
	sim_fill(&sim, 0, sim.nr);
	for (u32 i = 0; i < 490; i++)
		fusion_policy_set_heat(p, i, 60000);
	fusion_policy_set_half_life(p, 1);
	fusion_policy_set_heat(p, 7, 0);
	fusion_policy_set_heat(p, 3000, 60000);
	fusion_policy_done(p, &(struct fusion_move){ .lext = 8, .to = FUSION_FAST },
			   FUSION_MOVED);
	for (u32 i = 1000; i < 1400; i++)
		fusion_policy_done(p, &(struct fusion_move){ .lext = i, .to = FUSION_FAST },
				   FUSION_MOVED);
	fusion_policy_forget(p, 8);
	while (sim_on_fast(&sim, 8, 1) && sim.now_ms < HOUR) {
		for (u32 i = 0; i < 490; i++)
			if (i != 8)
				fusion_policy_set_heat(p, i, 1000);
		fusion_policy_set_heat(p, 4000, 60000);
		sim_step(&sim);
		until = sim.now_ms;
	}
	REQUIRE(until >= 60000 && until < 70000, "%llu ms", until);
	end();
}

static const struct unit_test tests[] = {
	{ "by what was measured", test_measured },
	{ "what was long ago", test_forgets },
	{ "extremes", test_extremes },
	{ "swaps that prove right", test_right },
	{ "swaps that prove wrong make it severe", test_wrong },
	{ "a night proves nothing", test_night },
	{ "nor what was asked for", test_on_request },
	{ "a swap that is taken back was wrong", test_taken_back },
	{ "discarded extents prove nothing", test_discarded },
	{ "never so severe that nothing moves", test_not_for_good },
	{ "the half-life ends trials", test_half_life },
	{ "idle: half of it will do", test_idle },
	{ "least time on the fast member", test_residence },
};

UNIT_TESTS(tests)
