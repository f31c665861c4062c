// SPDX-License-Identifier: GPL-2.0-only
/*
 * fusionctl explain: what it says of each extent of many random sets, against what the policy then
 * chooses; the thresholds; the verdicts.
 */
#include "unit.h"

#include "dm-fusion-heat.h"
#include "explain.h"
#include "fusionctl.h"

#define NR_SETS		1500U
#define MAX_LEXTS	400U

/* A random set, and the kernel's policy of it. */
struct world {
	struct fusion_policy *kernel;
	struct explain_policy p;
	struct explain_world *w;
	u32 map[MAX_LEXTS];
	u32 nr;
	u64 seed;
};

static struct world s;

static u32 below(u32 n)
{
	return rnd_below(&s.seed, n);
}

/* -- a random set ------------------------------------------------------------------------ */

/* Mostly such heat as decides something. */
static u32 any_heat(void)
{
	static const u32 most[] = { 3, 30, 200, 2000, FUSION_HEAT_MAX };

	return below(4) ? below(most[below(ARRAY_SIZE(most))] + 1) : 0;
}

static u32 any_word(u32 lext)
{
	u32 word = fusion_word(FUSION_STABLE, below(3) ? FUSION_SLOW : FUSION_FAST, lext + 1);

	if (!below(12))
		return FUSION_WORD_UNMAPPED;
	if (!below(12))
		return fusion_word_set_state(word, FUSION_OPEN);
	/* current shadows; no batch is under way */
	if (fusion_word_dev(word) == FUSION_FAST && !below(3))
		return fusion_word_set_state(word, FUSION_WATCHED);
	return word;
}

static void hold_some(void)
{
	for (u32 n = below(2) ? below(s.nr) : 0; n; n--) {
		struct fusion_move move = { .lext = below(s.nr), .to = below(2) };

		fusion_policy_done(s.kernel, &move, below(4));
	}
}

static void any_set(u64 seed)
{
	struct fusion_policy_env *env = &s.p.env, first;
	struct fusion_move none[1];

	s.seed = seed;
	s.nr = 3 + below(MAX_LEXTS - 3);
	for (u32 i = 0; i < s.nr; i++)
		s.map[i] = any_word(i);
	s.kernel = fusion_policy_create(s.map, s.nr, 1 + below(s.nr));
	REQUIRE(s.kernel);
	for (u32 i = 0; i < s.nr; i++)
		fusion_policy_set_heat(s.kernel, i, any_heat());
	s.p = (struct explain_policy) { .rw = true, .migration = true };
	env->reserve = below(3) ? below(20) : 0;
	env->free_fast = below(3) ? below(20) : 0;
	env->free_slow = below(40);
	env->idle = below(2);
	s.p.batch = 2 + below(FUSION_MAX_PICK - 1);
	env->most = max(s.p.batch, below(FUSION_MAX_PICK + 1));
	if (below(2))
		for (unsigned int i = 0; i < 4; i++) {
			u64 us[] = { 400 * below(200), 400 * (1 + below(30000)) };

			fusion_policy_accesses(s.kernel, FUSION_FAST, us[FUSION_FAST], 400);
			fusion_policy_accesses(s.kernel, FUSION_SLOW, us[FUSION_SLOW], 400);
			fusion_policy_moves(s.kernel, 10 * below(200000), 10);
		}
	first = *env;
	first.most = 0;
	/* the bar, and the reserve, are known before the last pass looks for candidates */
	for (u64 ms = 100; ms < 12000; ms += 2100) {
		fusion_policy_tick(s.kernel, ms);
		fusion_policy_pick(s.kernel, &first, none, 0);
	}
	fusion_policy_tick(s.kernel, 14000);
	hold_some();
}

/* As the messages do. */
static void look(void)
{
	struct fusion_survey survey = { .idle = s.p.env.idle };
	u32 room = s.p.env.free_fast - min(s.p.env.free_fast, s.p.env.reserve);

	fusion_policy_view(s.kernel, &s.p.view);
	for (u32 from = 0; from < s.nr; from += 100)
		fusion_policy_survey(s.kernel, &survey, from, min(from + 100, s.nr));
	s.p.candidates = survey.candidates;
	s.p.hottest = fusion_survey_beyond(&survey, 0);
	s.p.hottest_swap = fusion_survey_beyond(&survey, room);
	memcpy(s.p.victims, survey.victims, sizeof(s.p.victims));
	memcpy(s.p.coldest, survey.coldest, sizeof(s.p.coldest));
	s.w = explain_world_create(&s.p);
	REQUIRE(s.w);
}

static void end_set(void)
{
	explain_world_destroy(s.w);
	fusion_policy_destroy(s.kernel);
}

/* What a line of the message extents has. */
static void extent(u32 lext, struct explain_extent *e)
{
	static const char *const names[] = {
		[FUSION_STABLE] = "stable", [FUSION_OPEN] = "open",
		[FUSION_WATCHED] = "watched", [FUSION_LOCKED] = "locked",
	};
	enum fusion_outcome why = FUSION_MOVED;
	u32 word = s.map[lext];
	bool mapped = fusion_word_mapped(word);
	u64 ms = fusion_policy_hold(s.kernel, lext, &why);

	*e = (struct explain_extent) {
		.lext = lext, .heat = fusion_policy_heat(s.kernel, lext),
		.member = mapped ? (int)fusion_word_dev(word) : -1,
		.hold = ms ? (enum explain_hold)why : NO_HOLD, .hold_s = (ms + 999) / 1000,
	};
	e->partial = mapped && fusion_word_state(word) == FUSION_OPEN;
	strcpy(e->state, mapped ? names[fusion_word_state(word)] : "unmapped");
	strcpy(e->shadow, fusion_word_shadowed(word) ? "current" : "none");
}

/* -- against the policy -------------------------------------------------------------------- */

/* What it says of all of them. The hottest that it says is promoted, if any, is *@first. */
static void ask(struct explain_answer *answer, u32 *first, bool *demotes)
{
	struct explain_extent e;
	u32 hottest = 0;

	*first = FUSION_NO_LEXT;
	*demotes = false;
	for (u32 i = 0; i < s.nr; i++) {
		extent(i, &e);
		explain_judge(s.w, &s.p, &e, &answer[i]);
		if (answer[i].verdict != VERDICT_MOVES)
			continue;
		*demotes |= answer[i].to == FUSION_SLOW;
		REQUIRE(answer[i].to == FUSION_FAST || e.heat <= s.p.view.cold);
		if (answer[i].to == FUSION_FAST && e.heat >= hottest) {
			*first = i;
			hottest = e.heat;
		}
	}
}

/*
 * Whatever moves was said to. If it says that something is promoted, or demoted, something is: the
 * hand of the policy has passed everywhere with the second answer.
 */
static void test_against_policy(void)
{
	static struct explain_answer answer[MAX_LEXTS];
	u32 said = 0, moved = 0, cases = 0, first;
	struct fusion_move moves[FUSION_MAX_PICK];
	bool demotes;

	for (u64 seed = 1; seed <= NR_SETS; seed++) {
		u32 nr[FUSION_NR_DEVS] = {}, heat = 0;

		any_set(seed);
		look();
		ask(answer, &first, &demotes);
		cases += s.nr;
		for (unsigned int round = 0; round < 2; round++) {
			unsigned int n = fusion_policy_pick(s.kernel, &s.p.env, moves, s.p.batch);

			for (unsigned int i = 0; i < n; i++) {
				const u32 lext = moves[i].lext;
				const struct explain_answer *a = &answer[lext];

				REQUIRE(a->verdict == VERDICT_MOVES && a->to == (int)moves[i].to,
					"set %llu, extent %u goes to %u: %s", seed, lext,
					moves[i].to, explain_verdict_name[a->verdict]);
				if (moves[i].to == FUSION_FAST)
					heat = max(heat, fusion_policy_heat(s.kernel, lext));
				nr[moves[i].to]++;
			}
			moved += n;
			if (n)
				break;
		}
		REQUIRE(first == FUSION_NO_LEXT || nr[FUSION_FAST],
			"set %llu: %u should be promoted", seed, first);
		REQUIRE(first == FUSION_NO_LEXT ||
			heat == fusion_policy_heat(s.kernel, first),
			"set %llu: %u should come first", seed, first);
		/* unless promotions fill the answer */
		REQUIRE(!demotes || nr[FUSION_SLOW] || nr[FUSION_FAST] + 2 > s.p.batch,
			"set %llu: one should be demoted", seed);
		for (u32 i = 0; i < s.nr; i++)
			said += answer[i].verdict == VERDICT_MOVES;
		end_set();
	}
	printf("# %u extents, %u said to move, %u moves\n", cases, said, moved);
	REQUIRE(cases > 100 * NR_SETS && moved > 5 * NR_SETS);
}

/* Is it held, as its last move had this outcome? */
static bool held_by(u32 lext, enum fusion_outcome outcome)
{
	enum fusion_outcome why;

	return fusion_policy_hold(s.kernel, lext, &why) && why == outcome;
}

/* The survey, by counting. */
static void test_survey(void)
{
	u32 found = 0, residents = 0;

	for (u64 seed = 1; seed <= 300; seed++) {
		u32 victims[2] = {}, coldest[2] = { FUSION_HEAT_MAX, FUSION_HEAT_MAX };

		any_set(seed);
		look();
		for (u32 i = 0; i < s.nr; i++) {
			bool shadowed = fusion_word_shadowed(s.map[i]);
			u32 heat = fusion_policy_heat(s.kernel, i);

			if (!fusion_word_movable(s.map[i], FUSION_FAST) || heat > s.p.view.cold ||
			    held_by(i, FUSION_FAILED) || held_by(i, FUSION_SKIPPED) ||
			    (held_by(i, FUSION_CANCELLED) && !s.p.env.idle))
				continue;
			residents += held_by(i, FUSION_MOVED);
			if (held_by(i, FUSION_MOVED))
				continue;
			victims[shadowed]++;
			coldest[shadowed] = min(coldest[shadowed], heat);
		}
		for (unsigned int k = 0; k < 2; k++) {
			REQUIRE_EQ(s.p.victims[k], victims[k]);
			REQUIRE(!victims[k] || s.p.coldest[k] == coldest[k]);
			found += victims[k];
		}
		end_set();
	}
	REQUIRE(found > 300 && residents > 300, "%u, %u", found, residents);
}

/* How long an extent is left alone, and how long ago it was used. */
static void test_times(void)
{
	const struct fusion_move move = { .lext = 1, .to = FUSION_FAST };
	enum fusion_outcome why = FUSION_MOVED;
	const u64 start = 14000;

	any_set(1);
	memset(s.kernel->hold, 0, sizeof(s.kernel->hold));
	fusion_policy_set_half_life(s.kernel, 80);
	fusion_policy_done(s.kernel, &move, FUSION_FAILED);
	REQUIRE_EQ(fusion_policy_hold(s.kernel, 1, &why), 60000);
	REQUIRE_EQ(why, FUSION_FAILED);
	fusion_policy_touch(s.kernel, 1, FUSION_HEAT_TOUCH);
	REQUIRE_EQ(fusion_policy_age(s.kernel, 1), 0);
	fusion_policy_tick(s.kernel, start + 9000);
	REQUIRE_EQ(fusion_policy_age(s.kernel, 1), 0);
	fusion_policy_tick(s.kernel, start + 25000);
	REQUIRE_EQ(fusion_policy_hold(s.kernel, 1, &why), 35000);
	/* at the end of the first 10 s, at the latest */
	REQUIRE_EQ(fusion_policy_age(s.kernel, 1), 15000);
	fusion_policy_tick(s.kernel, start + 60000);
	REQUIRE_EQ(fusion_policy_hold(s.kernel, 1, &why), 0);
	fusion_policy_destroy(s.kernel);
}

/* From the threshold on, and not before, it moves. */
static void test_thresholds(void)
{
	u32 found = 0;

	for (u64 seed = 1; seed <= 200; seed++) {
		any_set(seed);
		look();
		for (unsigned int k = 0; k < 8; k++) {
			struct explain_if what = { .idle = below(2), .not_held = below(2) };
			struct explain_extent e;
			u32 at;

			extent(below(s.nr), &e);
			at = explain_threshold(s.w, &e, &what);
			found += at != NO_HEAT && at > 0 && at < FUSION_HEAT_MAX;
			for (unsigned int i = 0; i < 40; i++) {
				what.heat = i < 10 && at != NO_HEAT ?
					    clamp((s64)at + i - 5, 0LL, (s64)FUSION_HEAT_MAX) :
					    any_heat();
				REQUIRE_EQ(explain_moves(s.w, &e, &what), at != NO_HEAT &&
					   (e.member == FAST ? what.heat <= at : what.heat >= at));
			}
		}
		end_set();
	}
	REQUIRE(found > 200, "%u", found);
}

static void test_decay(void)
{
	any_set(1);
	look();
	REQUIRE_EQ(explain_decay(s.w, 100, 100), 0);
	REQUIRE_EQ(explain_decay(s.w, 100, 50), 8);
	REQUIRE_EQ(explain_decay(s.w, 800, 100), 24);
	REQUIRE(explain_decay(s.w, FUSION_HEAT_MAX, 0) <= 17 * 8);
	end_set();
}

/* -- verdicts -------------------------------------------------------------------------------- */

/* The set has free fast slots, and the extent is hot. */
static struct explain_answer judge(const char *state, int member, u32 heat, enum explain_hold hold)
{
	struct explain_extent e = { .member = member, .heat = heat, .hold = hold };
	struct explain_world *w = explain_world_create(&s.p);
	struct explain_answer a;

	REQUIRE(w);
	e.hold_s = hold < HOLD_LEAVES ? 7 : 0;
	strcpy(e.state, state);
	strcpy(e.shadow, "none");
	explain_judge(w, &s.p, &e, &a);
	explain_world_destroy(w);
	return a;
}

static void calm(void)
{
	s.p = (struct explain_policy) {
		.rw = true, .migration = true, .batch = 16,
		.env = { .free_fast = 10, .free_slow = 100, .reserve = 5 },
		.view = { .pay = 40, .pay_shadowed = 40, .cold = 10, .half_life_ms = 3600000 },
	};
}

static void test_states(void)
{
	calm();
	REQUIRE_EQ(judge("unmapped", -1, 0, NO_HOLD).verdict, VERDICT_UNMAPPED);
	REQUIRE_EQ(judge("lost", -1, 0, NO_HOLD).verdict, VERDICT_LOST);
	REQUIRE_EQ(judge("open", FAST, 0, NO_HOLD).verdict, VERDICT_PARTIAL);
	REQUIRE_EQ(judge("locked", SLOW, 50, NO_HOLD).verdict, VERDICT_MOVING);
	REQUIRE_EQ(judge("watched", SLOW, 50, NO_HOLD).verdict, VERDICT_MOVING);
	REQUIRE_EQ(judge("stable", SLOW, 50, HOLD_LEAVES).verdict, VERDICT_LEAVES);
	REQUIRE_EQ(judge("stable", SLOW, 50, NO_HOLD).verdict, VERDICT_MOVES);
	REQUIRE_EQ(judge("stable", SLOW, 50, NO_HOLD).to, FAST);
	REQUIRE_EQ(judge("stable", SLOW, 9, NO_HOLD).verdict, VERDICT_STAYS);
	REQUIRE_EQ(judge("stable", FAST, 9, NO_HOLD).verdict, VERDICT_STAYS);
	REQUIRE_EQ(judge("stable", FAST, 9, NO_HOLD).at, NO_HEAT);
}

static unsigned int waits(u32 heat, enum explain_hold hold)
{
	struct explain_answer a = judge("stable", SLOW, heat, hold);

	REQUIRE_EQ(a.verdict, a.waits ? VERDICT_WAITS : VERDICT_MOVES);
	return a.waits;
}

static void test_waits(void)
{
	calm();
	s.p.rw = false;
	REQUIRE_EQ(waits(50, NO_HOLD), 1U << WAIT_MODE);
	calm();
	s.p.stopped = true;
	s.p.migration = false;
	REQUIRE_EQ(waits(50, NO_HOLD), 1U << WAIT_STOPPED | 1U << WAIT_MIGRATION);
	calm();
	s.p.standby = true;
	s.p.homing = true;
	s.p.requests = true;
	s.p.evacuate = 3;
	REQUIRE_EQ(waits(50, NO_HOLD), 1U << WAIT_STANDBY | 1U << WAIT_HOMING |
		   1U << WAIT_REQUESTS | 1U << WAIT_EVACUATION);
	calm();
	s.p.pause_ms = 900;
	REQUIRE_EQ(waits(50, NO_HOLD), 1U << WAIT_DUTY);
	s.p.env.idle = true;
	REQUIRE_EQ(waits(50, NO_HOLD), 0);
	calm();
	s.p.limited = true;
	s.p.budget = 1;
	REQUIRE_EQ(waits(50, NO_HOLD), 0);
	s.p.budget = 0;
	REQUIRE_EQ(waits(50, NO_HOLD), 1U << WAIT_BUDGET);
	calm();
	REQUIRE_EQ(waits(50, HOLD_FAILED), 1U << WAIT_HOLD);
	REQUIRE_EQ(waits(50, HOLD_CANCELLED), 1U << WAIT_HOLD);
	REQUIRE_EQ(waits(50, HOLD_MOVED), 0);
	s.p.env.idle = true;
	REQUIRE_EQ(waits(50, HOLD_CANCELLED), 0);
}

/* The reserve: what copies nothing goes at once, the rest without foreground I/O. */
static void test_reserve(void)
{
	struct explain_answer a;

	calm();
	s.p.env.free_fast = 2;
	a = judge("stable", FAST, 9, NO_HOLD);
	REQUIRE(a.verdict == VERDICT_WAITS && a.waits == 1U << WAIT_IDLE);
	REQUIRE(a.at == NO_HEAT && a.at_idle == 10);
	s.p.limited = true;	/* costs no budget */
	s.p.env.idle = true;
	REQUIRE_EQ(judge("stable", FAST, 9, NO_HOLD).verdict, VERDICT_MOVES);
	REQUIRE_EQ(judge("stable", FAST, 11, NO_HOLD).verdict, VERDICT_STAYS);
	REQUIRE_EQ(judge("stable", FAST, 11, NO_HOLD).eighths, 1);
}

/* A cold extent. */
static struct explain_answer judge_pinned(int member, int pin, enum explain_hold hold)
{
	struct explain_extent e = {
		.member = member, .pin = pin + 1, .state = "stable", .shadow = "none",
		.hold = hold, .hold_s = hold < HOLD_LEAVES ? 7 : 0,
	};
	struct explain_world *w = explain_world_create(&s.p);
	struct explain_answer a;

	REQUIRE(w);
	explain_judge(w, &s.p, &e, &a);
	explain_world_destroy(w);
	return a;
}

static void test_pinned(void)
{
	struct explain_answer a;

	calm();
	for (int member = 0; member < 2; member++) {
		a = judge_pinned(member, member, NO_HOLD);
		REQUIRE(a.verdict == VERDICT_PINNED && !a.waits && a.to == -1);
		REQUIRE_EQ(judge_pinned(member, !member, HOLD_LEAVES).verdict, VERDICT_LEAVES);
	}
	a = judge_pinned(SLOW, FAST, NO_HOLD);
	REQUIRE(a.verdict == VERDICT_MOVES && a.to == FAST && a.at == NO_HEAT);
	a = judge_pinned(SLOW, FAST, HOLD_FAILED);
	REQUIRE(a.verdict == VERDICT_WAITS && a.waits == 1U << WAIT_HOLD);
	a = judge_pinned(FAST, SLOW, NO_HOLD);
	REQUIRE(a.verdict == VERDICT_WAITS && a.waits == 1U << WAIT_IDLE && a.to == SLOW);
	s.p.limited = true;
	s.p.env.idle = true;
	REQUIRE_EQ(judge_pinned(SLOW, FAST, NO_HOLD).waits, 1U << WAIT_BUDGET);
	REQUIRE_EQ(judge_pinned(FAST, SLOW, NO_HOLD).verdict, VERDICT_MOVES);
	s.p.migration = false;
	REQUIRE_EQ(judge_pinned(FAST, SLOW, NO_HOLD).waits, 1U << WAIT_MIGRATION);
}

static void test_accesses(void)
{
	REQUIRE_EQ(explain_accesses(31, 44), 4);
	REQUIRE_EQ(explain_accesses(40, 44), 1);
	REQUIRE_EQ(explain_accesses(44, 44), 0);
	REQUIRE_EQ(explain_accesses(50, 44), 0);
}

static const struct unit_test tests[] = {
	{ "explain: what moves was said to", test_against_policy },
	{ "explain: the survey", test_survey },
	{ "explain: times", test_times },
	{ "explain: thresholds", test_thresholds },
	{ "explain: decay", test_decay },
	{ "explain: states", test_states },
	{ "explain: what a move waits for", test_waits },
	{ "explain: the reserve", test_reserve },
	{ "explain: pinned extents", test_pinned },
	{ "explain: accesses", test_accesses },
};

UNIT_TESTS(tests)
