// SPDX-License-Identifier: GPL-2.0-only
/* The policy: what moves together, and what makes room for it. */
#include "policy-set.h"

/* Moves as a text: up P, down D, in lower case those with writes held; then as batches. */
static void in_batches(const char *moves, const char *want)
{
	struct fusion_move m[FUSION_MAX_PICK];
	unsigned int i, k, n, nr = strlen(moves);
	char got[2 * FUSION_MAX_PICK + 1], *to = got;

	for (i = 0; i < nr; i++)
		m[i] = (struct fusion_move) {
			.lext = i,
			.to = strchr("Pp", moves[i]) ? FUSION_FAST : FUSION_SLOW,
			.hold = strchr("pd", moves[i]),
		};
	for (i = 0; i < nr; i += n) {
		n = fusion_policy_batch(&m[i], nr - i);
		REQUIRE(n && n <= nr - i);
		if (i)
			*to++ = ' ';
		for (k = i; k < i + n; k++) {
			REQUIRE(k == i || m[k].lext > m[k - 1].lext);
			*to++ = moves[m[k].lext];
		}
	}
	*to = 0;
	REQUIRE(!strcmp(got, want), "%s: in batches %s, not %s", moves, got, want);
}

static void test_batches(void)
{
	in_batches("P", "P");
	in_batches("PPPPPPPPDPDPDPDP", "PPPPPPPPDPDPDPDP");
	in_batches("pppppppp", "pppp pppp");
	in_batches("PpPpP", "pp PPP");
	in_batches("PPDpDPdPDP", "DpdP PPDPDP");
	in_batches("pDpdPP", "pDp dP P");
	in_batches("pppdPp", "ppp dPp");
	in_batches("pppdPpDP", "ppp dPp DP");
	in_batches("DPDPDDDd", "d DPDPDDD");
	in_batches("ddddddDPDP", "dddd dd DPDP");
	in_batches("DDpDP", "Dp DDP");
}

static u32 nr_victims;
static u32 least_victim;

static enum fusion_outcome cold_victim(struct sim *s, const struct fusion_move *move)
{
	if (move->to == FUSION_SLOW) {
		REQUIRE(fusion_policy_heat(s->policy, move->lext) <= 5);
		REQUIRE(!nr_victims || move->lext > least_victim, "not as the hand goes");
		least_victim = move->lext;
		nr_victims++;
	}
	return FUSION_MOVED;
}

static enum fusion_outcome any_victim(struct sim *s, const struct fusion_move *move)
{
	(void)s;
	nr_victims += move->to == FUSION_SLOW;
	return FUSION_MOVED;
}

/*
 * The coldest 32nd of the fast member makes room, and nothing else does until the sweep has seen
 * what the coldest are then, though all there would be cold enough for these candidates.
 */
static void test_coldest(void)
{
	enum { NR_FAST = 6400, COLD = NR_FAST / 32, HOT = 2 * COLD };

	start(NR_FAST, 4 * NR_FAST, 0);
	sim_fill(&sim, 0, sim.nr);
	for (u32 i = 0; i < NR_FAST; i++)
		fusion_policy_set_heat(p, i, i % 64 == 17 ? 3 : i % 64 == 49 ? 5 : 100);
	for (u32 i = 0; i < HOT; i++)
		fusion_policy_set_heat(p, 2 * NR_FAST + i, 10000);
	/* the bar is set by a pick, what is above it found by the sweep */
	sim.batch = 0;
	sim_rest(&sim, 5000);
	while (sim.now_ms < 20000 && p->sweep)
		sim_step(&sim);
	fusion_policy_pick(p, &(struct fusion_policy_env){ .idle = true }, NULL, 0);
	sim_rest(&sim, FUSION_PASS_MS - SIM_STEP_MS);
	while (sim.now_ms < 30000 && p->sweep)
		sim_step(&sim);
	REQUIRE_EQ(p->cold, 5);

	nr_victims = 0;
	sim.batch = FUSION_MAX_PICK;
	sim.outcome = cold_victim;
	/* in a part of a pass */
	for (u32 i = 0; i < 10; i++)
		sim_step(&sim);
	REQUIRE_EQ(nr_victims, COLD);

	sim.outcome = any_victim;
	sim_rest(&sim, 5000);
	REQUIRE_EQ(nr_victims, HOT);
	end();
}

/* What is told to be next is next, if nothing comes in between. */
static void test_next(void)
{
	const struct fusion_policy_env env = { .free_fast = 100 };
	struct fusion_move moves[FUSION_MAX_PICK];
	u32 next[2 * FUSION_MAX_PICK];
	const u32 first = 2000;
	unsigned int n, i;

	start(FAST, SLOW, 0);
	sim_fill(&sim, 0, sim.nr);
	REQUIRE_EQ(fusion_policy_next(p, next, 8), 0);
	for (i = 0; i < 100; i++)
		fusion_policy_set_heat(p, first + i, 1000 + 10 * i);
	sim.batch = 0;
	sim_rest(&sim, 5000);
	REQUIRE_EQ(fusion_policy_pick(p, &env, moves, 4), 4);
	for (i = 0; i < 4; i++)
		REQUIRE_EQ(moves[i].lext, first + 99 - i);
	REQUIRE_EQ(fusion_policy_next(p, next, 8), 8);
	REQUIRE_EQ(fusion_policy_next(p, next, ARRAY_SIZE(next)), FUSION_MAX_PICK);
	for (i = 0; i < FUSION_MAX_PICK; i++)
		REQUIRE_EQ(next[i], first + 95 - i);
	/* it has not been used up */
	n = fusion_policy_pick(p, &env, moves, 4);
	REQUIRE_EQ(n, 4);
	for (i = 0; i < n; i++)
		REQUIRE_EQ(moves[i].lext, next[i]);
	/* not those that are left alone for a while, or are elsewhere by now */
	sim.map[first + 91] = fusion_word(FUSION_STABLE, FUSION_FAST, 0);
	fusion_policy_done(p, &(struct fusion_move){ .lext = first + 90, .to = FUSION_FAST },
			   FUSION_CANCELLED);
	REQUIRE_EQ(fusion_policy_next(p, next, 1), 1);
	REQUIRE_EQ(next[0], first + 89);
	end();
}

static void victims_of(enum fusion_dev dev, u32 first, u32 last, struct fusion_victims *v)
{
	*v = (struct fusion_victims){ .dev = dev, .first = first, .last = last };
	/* in slices, as the mover does */
	for (u32 lext = 0; lext < sim.nr; lext += 100)
		fusion_policy_victims(p, v, lext, min(lext + 100, sim.nr));
}

static void moved_up(u32 lext, enum fusion_outcome outcome)
{
	fusion_policy_done(p, &(struct fusion_move){ .lext = lext, .to = FUSION_FAST }, outcome);
}

/* Room on request: from the coldest of the fast member, the hottest of the slow one. */
static void test_victims(void)
{
	struct fusion_victims v;
	u32 i;

	start(100, 1000, 0);
	sim_fill(&sim, 0, sim.nr);
	REQUIRE_EQ(sim_on_fast(&sim, 0, 100), 100);
	for (i = 0; i < sim.nr; i++)
		fusion_policy_set_heat(p, i, 100 + (i * 7) % 1100);

	/* all but those that stay, which were 40 of 100 */
	victims_of(FUSION_FAST, 30, 69, &v);
	REQUIRE_EQ(v.nr, 60);
	REQUIRE_EQ(v.held, 0);
	for (i = 0; i < v.nr; i++) {
		REQUIRE(v.best[i].lext < 30 || (v.best[i].lext > 69 && v.best[i].lext < 100));
		REQUIRE(!i || heat(v.best[i].lext) >= heat(v.best[i - 1].lext));
	}
	/* no more than fit, and these are the coldest */
	victims_of(FUSION_FAST, 2000, 2000, &v);
	REQUIRE_EQ(v.nr, FUSION_VICTIMS);
	for (i = 0; i < v.nr; i++)
		REQUIRE_EQ(v.best[i].lext, i);
	victims_of(FUSION_SLOW, 1000, 1099, &v);
	REQUIRE_EQ(v.nr, FUSION_VICTIMS);
	for (i = 0; i < v.nr; i++)
		REQUIRE(v.best[i].lext >= 100 && v.best[i].lext < 1000 &&
			(!i || heat(v.best[i].lext) <= heat(v.best[i - 1].lext)));

	/* what was just promoted comes last; what could not be moved not at all; OPEN does */
	moved_up(0, FUSION_MOVED);
	moved_up(1, FUSION_FAILED);
	sim.map[2] = fusion_word_set_state(sim.map[2], FUSION_OPEN);
	sim.map[3] = fusion_word_set_state(sim.map[3], FUSION_LOCKED);
	/* one with a shadow makes room as others do */
	sim.map[4] = fusion_word_set_state(sim.map[4], FUSION_WATCHED);
	victims_of(FUSION_FAST, 10, 99, &v);
	REQUIRE_EQ(v.nr, 8);
	REQUIRE_EQ(v.held, 1);
	REQUIRE_EQ(v.best[0].lext, 2);
	REQUIRE_EQ(v.best[1].lext, 4);
	REQUIRE_EQ(v.best[7].lext, 0);
	sim.map[2] = fusion_word_set_state(sim.map[2], FUSION_STABLE);
	sim.map[3] = fusion_word_set_state(sim.map[3], FUSION_STABLE);
	sim.map[4] = fusion_word_set_state(sim.map[4], FUSION_STABLE);
	victims_of(FUSION_FAST, 0, 99, &v);
	REQUIRE_EQ(v.nr, 0);

	/* what lies inside a fence makes no room by leaving */
	v = (struct fusion_victims){
		.dev = FUSION_FAST, .first = 2000, .last = 2000, .fence_first = 10, .fence_end = 90,
	};
	fusion_policy_victims(p, &v, 0, sim.nr);
	REQUIRE_EQ(v.nr + v.held, 20);
	for (i = 0; i < v.nr; i++)
		REQUIRE(fusion_word_slot(sim.map[v.best[i].lext]) < 10 ||
			fusion_word_slot(sim.map[v.best[i].lext]) >= 90);
	end();
}

static const struct unit_test tests[] = {
	{ "the coldest make room", test_coldest },
	{ "what is next", test_next },
	{ "what makes room on request", test_victims },
	{ "batches of what is to move", test_batches },
};

UNIT_TESTS(tests)
