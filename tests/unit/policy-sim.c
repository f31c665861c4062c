// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include <linux/minmax.h>

#include "policy-sim.h"

#define EXTENT_SECTORS	2048U

void sim_init(struct sim *sim, u32 nr_fast, u32 nr_slow, u32 reserve)
{
	memset(sim, 0, sizeof(*sim));
	sim->nr = nr_fast + nr_slow;
	sim->nr_fast = nr_fast;
	sim->nr_free[FUSION_FAST] = nr_fast;
	sim->nr_free[FUSION_SLOW] = nr_slow;
	sim->reserve = reserve;
	sim->seed = 88172645463325252ULL;
	sim->batch = 4;

	sim->map = malloc(sim->nr * sizeof(*sim->map));
	for (u32 i = 0; i < sim->nr; i++)
		sim->map[i] = FUSION_WORD_UNMAPPED;
	sim->policy = fusion_policy_create(sim->map, sim->nr, nr_fast);
	if (!sim->policy)
		abort();
}

void sim_exit(struct sim *sim)
{
	fusion_policy_destroy(sim->policy);
	free(sim->map);
}

u32 sim_random(struct sim *sim, u32 n)
{
	/* xorshift64* */
	sim->seed ^= sim->seed >> 12;
	sim->seed ^= sim->seed << 25;
	sim->seed ^= sim->seed >> 27;
	return ((sim->seed * 2685821657736338717ULL) >> 32) * n >> 32;
}

void sim_place(struct sim *sim, u32 first, u32 n, enum fusion_dev dev)
{
	for (u32 i = first; i < first + n; i++) {
		if (fusion_word_mapped(sim->map[i]))
			sim->nr_free[fusion_word_dev(sim->map[i])]++;
		sim->map[i] = fusion_word(FUSION_STABLE, dev, i);
		sim->nr_free[dev]--;
	}
}

void sim_write_first(struct sim *sim, u32 first, u32 n)
{
	for (u32 i = first; i < first + n; i++)
		if (!fusion_word_mapped(sim->map[i]))
			sim_place(sim, i, 1, sim->nr_free[FUSION_FAST] ? FUSION_FAST : FUSION_SLOW);
}

void sim_access(struct sim *sim, u32 lext, u32 sectors)
{
	sim->ios++;
	sim->hits += fusion_word_mapped(sim->map[lext]) &&
		     fusion_word_dev(sim->map[lext]) == FUSION_FAST;
	sim->last_io_ms = sim->now_ms;
	fusion_policy_touch(sim->policy, lext, sectors);
}

static void check(struct sim *sim, bool good, const char *what)
{
	if (!good && !sim->broken)
		sim->broken = what;
}

static void check_answer(struct sim *sim, const struct fusion_policy_env *env,
			 const struct fusion_move *moves, unsigned int n)
{
	bool alone[FUSION_MAX_PICK] = {};	/* not half of a pair */
	u32 promoted = 0, demoted = 0;

	check(sim, n <= sim->batch, "more moves than asked for");
	for (unsigned int i = 0; i < n; i++) {
		u32 word = moves[i].lext < sim->nr ? sim->map[moves[i].lext] : FUSION_WORD_UNMAPPED;

		check(sim, moves[i].lext < sim->nr, "no such extent");
		check(sim, fusion_word_mapped(word), "moves an unmapped extent");
		check(sim, fusion_word_state(word) == FUSION_STABLE, "moves one not STABLE");
		check(sim, fusion_word_dev(word) != moves[i].to, "moves one that is there");
		for (unsigned int k = 0; k < i; k++)
			check(sim, moves[k].lext != moves[i].lext, "moves one twice");

		alone[i] = true;
		if (moves[i].to == FUSION_FAST && i && moves[i - 1].to == FUSION_SLOW) {
			alone[i] = false;
			alone[i - 1] = false;
		}
	}
	for (unsigned int i = 0; i < n; i++) {
		if (!alone[i])
			continue;
		if (moves[i].to == FUSION_FAST)
			check(sim, !demoted && !(i && !alone[i - 1]), "promotion out of order");
		else
			for (unsigned int k = i + 1; k < n; k++)
				check(sim, moves[k].to == FUSION_SLOW && moves[k].lext > moves[i].lext,
				      "demotions not ascending");
		promoted += moves[i].to == FUSION_FAST;
		demoted += moves[i].to == FUSION_SLOW;
	}
	check(sim, !promoted || env->free_fast >= env->reserve + promoted,
	      "promotes into the reserve");
	check(sim, !demoted || env->idle, "refills the reserve when not idle");
	check(sim, !demoted || env->free_fast + demoted <= env->reserve,
	      "demotes more than the reserve wants");
	check(sim, demoted <= env->free_slow, "demotes without room");
}

static bool carry_out(struct sim *sim, const struct fusion_move *move, bool possible)
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

void sim_step(struct sim *sim)
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
	if (sim->batch)
		n = fusion_policy_pick(sim->policy, &env, moves, sim->batch);
	check_answer(sim, &env, moves, n);
	/* without its demotion, the promotion of a pair has no room */
	for (unsigned int i = 0; i < n; i++)
		moved = carry_out(sim, &moves[i], moved || moves[i].to == FUSION_SLOW);
	sim->now_ms += SIM_STEP_MS;
}

void sim_rest(struct sim *sim, u64 ms)
{
	for (; ms >= SIM_STEP_MS; ms -= SIM_STEP_MS)
		sim_step(sim);
}

void sim_load(struct sim *sim, u32 first, u32 n, u32 iops, u64 ms)
{
	u32 owed = 0;

	for (; ms >= SIM_STEP_MS; ms -= SIM_STEP_MS) {
		for (owed += iops * SIM_STEP_MS; owed >= 1000; owed -= 1000)
			sim_access(sim, first + sim_random(sim, n), 8);
		sim_step(sim);
	}
}

void sim_scan(struct sim *sim, u32 first, u32 n, u32 sectors, u32 extents_per_s)
{
	u64 end = (u64)n * EXTENT_SECTORS, sector = 0;
	u32 owed = 0;

	while (sector < end) {
		for (owed += extents_per_s * EXTENT_SECTORS * SIM_STEP_MS / 1000;
		     owed >= sectors && sector < end; owed -= sectors, sector += sectors)
			sim_access(sim, first + sector / EXTENT_SECTORS, sectors);
		sim_step(sim);
	}
}

u32 sim_on_fast(const struct sim *sim, u32 first, u32 n)
{
	u32 nr = 0;

	for (u32 i = first; i < first + n; i++)
		nr += fusion_word_mapped(sim->map[i]) &&
		      fusion_word_dev(sim->map[i]) == FUSION_FAST;
	return nr;
}

u64 sim_moves(const struct sim *sim)
{
	return sim->moves[FUSION_FAST] + sim->moves[FUSION_SLOW];
}
