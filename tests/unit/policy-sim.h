/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A migration engine and loads in miniature, to see what the policy makes of them.
 * Deterministic: own clock, own random numbers. Every answer of the policy is checked
 * for what is promised of all of them.
 */
#ifndef POLICY_SIM_H
#define POLICY_SIM_H

#include <linux/compiler.h>

#include "dm-fusion-heat.h"
#include "unit.h"

#define SIM_STEP_MS	50U
#define SIM_IDLE_MS	1000U
#define SIM_EXTENT	2048U		/* sectors */

struct sim {
	struct fusion_policy *policy;
	u32 *map;
	u32 nr;
	s32 nr_free[FUSION_NR_DEVS];	/* below 0: spares in use */
	u64 now_ms;
	u64 last_io_ms;
	u64 seed;
	u64 where;
	struct fusion_streams streams;
	u32 owed;			/* thousandths of an I/O */

	/* to be set */
	u32 reserve;
	u32 batch;			/* moves asked for per step; 0: migration is off */
	enum fusion_outcome (*outcome)(struct sim *sim, const struct fusion_move *move);

	/* results */
	u64 ios;
	u64 hits;			/* of these, on the fast member */
	u64 moves[FUSION_NR_DEVS];	/* by destination */
	u64 asked;			/* moves in answers of the policy */
};

/* Nothing is mapped; both devices are empty and hold all extents together. */
static inline void sim_init(struct sim *sim, u32 nr_fast, u32 nr_slow, u32 reserve)
{
	memset(sim, 0, sizeof(*sim));
	sim->nr = nr_fast + nr_slow;
	sim->nr_free[FUSION_FAST] = nr_fast;
	sim->nr_free[FUSION_SLOW] = nr_slow;
	sim->reserve = reserve;
	sim->batch = 4;
	sim->map = malloc(sim->nr * sizeof(*sim->map));
	for (u32 i = 0; i < sim->nr; i++)
		sim->map[i] = FUSION_WORD_UNMAPPED;
	sim->policy = fusion_policy_create(sim->map, sim->nr, nr_fast);
	REQUIRE(sim->policy, "no memory");
}

static inline void sim_exit(struct sim *sim)
{
	fusion_policy_destroy(sim->policy);
	free(sim->map);
}

/* Map extents as a first write does, the fast member first; those mapped stay. */
static inline void sim_fill(struct sim *sim, u32 first, u32 n)
{
	for (u32 i = first; i < first + n; i++) {
		enum fusion_dev dev = sim->nr_free[FUSION_FAST] > 0 ? FUSION_FAST : FUSION_SLOW;

		if (fusion_word_mapped(sim->map[i]))
			continue;
		sim->map[i] = fusion_word(FUSION_STABLE, dev, i);
		sim->nr_free[dev]--;
	}
}

static inline void sim_discard(struct sim *sim, u32 lext)
{
	sim->nr_free[fusion_word_dev(sim->map[lext])]++;
	sim->map[lext] = FUSION_WORD_UNMAPPED;
	fusion_policy_forget(sim->policy, lext);
}

static inline void sim_access_at(struct sim *sim, u64 sector, u32 sectors)
{
	unsigned int weight = fusion_weigh(&sim->streams, sector, sectors, FUSION_NORMAL);
	u32 lext = sector / SIM_EXTENT, word = sim->map[lext];

	sim->ios++;
	sim->hits += fusion_word_mapped(word) && fusion_word_dev(word) == FUSION_FAST;
	sim->last_io_ms = sim->now_ms;
	if (weight)
		fusion_policy_touch(sim->policy, lext, weight);
}

/* Somewhere in an extent. */
static inline void sim_access(struct sim *sim, u32 lext, u32 sectors)
{
	u32 room = SIM_EXTENT - min(sectors, SIM_EXTENT);

	sim_access_at(sim, (u64)lext * SIM_EXTENT + rnd_below(&sim->where, room / 8 + 1) * 8,
		      sectors);
}

static inline void sim_check_answer(const struct sim *sim, const struct fusion_policy_env *env,
				    const struct fusion_move *moves, unsigned int n)
{
	enum { PROMOTIONS, PAIRS, DEMOTIONS } part = PROMOTIONS;
	u32 promoted = 0, demoted = 0, copied = 0, last = 0, pinned = 0;

	REQUIRE(n <= sim->batch);
	for (unsigned int i = 0; i < n; i++) {
		const struct fusion_move *m = &moves[i];

		REQUIRE(m->lext < sim->nr);
		REQUIRE(fusion_word_mapped(sim->map[m->lext]));
		REQUIRE(fusion_word_state(sim->map[m->lext]) == FUSION_STABLE ||
			(fusion_word_state(sim->map[m->lext]) == FUSION_WATCHED &&
			 m->to == FUSION_SLOW));
		REQUIRE(fusion_word_dev(sim->map[m->lext]) != m->to);
		REQUIRE(fusion_policy_pinned(sim->policy, m->lext) != !m->to, "against its pin");
		for (unsigned int k = 0; k < i; k++)
			REQUIRE(moves[k].lext != m->lext, "named twice");
	}
	for (unsigned int i = 0; i < n; i++) {
		if (moves[i].to == FUSION_FAST) {
			REQUIRE(part == PROMOTIONS, "a promotion without room at %u", i);
			promoted++;
		} else if (i + 1 < n && moves[i + 1].to == FUSION_FAST) {
			REQUIRE(part <= PAIRS);
			part = PAIRS;
			i++;
		} else if (moves[i].pinned) {
			REQUIRE(!demoted);
			part = DEMOTIONS;
			pinned++;
		} else {
			bool copies = fusion_word_state(sim->map[moves[i].lext]) != FUSION_WATCHED;

			/* those with shadows first */
			REQUIRE(copies || !copied);
			REQUIRE(!demoted || moves[i].lext > last || (copies && !copied),
				"not ascending");
			part = DEMOTIONS;
			copied += copies;
			last = moves[i].lext;
			demoted++;
		}
	}
	REQUIRE(!promoted || env->free_fast >= env->reserve + promoted, "into the reserve");
	REQUIRE(!(copied + pinned) || env->idle);
	REQUIRE(!demoted || env->free_fast + demoted <= env->reserve, "more than the reserve");
	REQUIRE(demoted + pinned <= env->free_slow);
}

static inline bool sim_move(struct sim *sim, const struct fusion_move *move, bool possible)
{
	enum fusion_outcome outcome = FUSION_MOVED;

	if (!possible)
		outcome = FUSION_SKIPPED;
	else if (sim->outcome)
		outcome = sim->outcome(sim, move);
	if (outcome == FUSION_MOVED) {
		sim->nr_free[!move->to]++;
		sim->nr_free[move->to]--;
		sim->map[move->lext] = fusion_word(FUSION_STABLE, move->to, move->lext);
		sim->moves[move->to]++;
	}
	sim->asked++;
	fusion_policy_done(sim->policy, move, outcome);
	return outcome == FUSION_MOVED;
}

/* Tick, pick, carry out, report; then SIM_STEP_MS have passed. Return: moves in the answer. */
static inline unsigned int sim_step(struct sim *sim)
{
	struct fusion_move moves[FUSION_MAX_PICK];
	struct fusion_policy_env env = {
		.free_fast = max(sim->nr_free[FUSION_FAST], 0),
		.free_slow = max(sim->nr_free[FUSION_SLOW], 0),
		.reserve = sim->reserve,
		.idle = sim->now_ms - sim->last_io_ms >= SIM_IDLE_MS,
	};
	unsigned int n = 0;
	bool moved = true;

	fusion_policy_tick(sim->policy, sim->now_ms);
	if (!env.idle)
		fusion_policy_used(sim->policy, SIM_STEP_MS * 1000);
	if (sim->batch)
		n = fusion_policy_pick(sim->policy, &env, moves, sim->batch);
	sim_check_answer(sim, &env, moves, n);
	/* without its demotion, the promotion of a pair has no room */
	for (unsigned int i = 0; i < n; i++)
		moved = sim_move(sim, &moves[i], moved || moves[i].to == FUSION_SLOW);
	sim->now_ms += SIM_STEP_MS;
	return n;
}

/* Time without I/O. */
static inline void sim_rest(struct sim *sim, u64 ms)
{
	for (; ms >= SIM_STEP_MS; ms -= SIM_STEP_MS)
		sim_step(sim);
}

/* Random accesses of 4 KiB to [first, first + n). */
static inline void sim_load(struct sim *sim, u32 first, u32 n, u32 iops, u64 ms)
{
	for (; ms >= SIM_STEP_MS; ms -= SIM_STEP_MS) {
		for (sim->owed += iops * SIM_STEP_MS; sim->owed >= 1000; sim->owed -= 1000)
			sim_access(sim, first + rnd_below(&sim->seed, n), 8);
		sim_step(sim);
	}
}

/* Read or write [first, first + n) through, once, in bios of @sectors. */
static inline void sim_scan(struct sim *sim, u32 first, u32 n, u32 sectors, u32 extents_per_s)
{
	const u64 end = (u64)n * SIM_EXTENT;
	u64 sector = 0, until = 0;

	while (sector < end) {
		until += extents_per_s * SIM_EXTENT * SIM_STEP_MS / 1000;
		for (; sector < until && sector < end; sector += sectors) {
			sim_fill(sim, first + sector / SIM_EXTENT, 1);
			sim_access_at(sim, (u64)first * SIM_EXTENT + sector, sectors);
		}
		sim_step(sim);
	}
}

/* How many of [first, first + n) are on the fast member? */
static inline u32 sim_on_fast(const struct sim *sim, u32 first, u32 n)
{
	u32 nr = 0;

	for (u32 i = first; i < first + n; i++)
		nr += fusion_word_mapped(sim->map[i]) &&
		      fusion_word_dev(sim->map[i]) == FUSION_FAST;
	return nr;
}

static inline u64 sim_moves(const struct sim *sim)
{
	return sim->moves[FUSION_FAST] + sim->moves[FUSION_SLOW];
}

#endif
