// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the mover.
 *
 * One worker ticks the policy, asks it for moves, and carries them out in batches
 * (dm-fusion-batch.c), unless moves on request are waiting (dm-fusion-forced.c), or extents have to
 * leave the fence (dm-fusion-evacuate.c) or to go home (dm-fusion-home.c). In turn with these moves
 * it empties the landing log (dm-fusion-land-drain.c).
 */
#include <linux/jiffies.h>
#include <linux/string.h>

#include "dm-fusion.h"

/* Idle time after which partial extents are completed. */
#define FILL_IDLE_MS	10000U

/* -- the budget: dm-fusion-budget.c ---------------------------------------------------------- */

/*
 * Fast slots that demotions should free for the reserve, not for promotions. Those that copy
 * something do so only if the device is idle.
 */
static u32 fusion_wanted_demotions(const struct fusion_policy_env *env)
{
	if (env->free_fast >= env->reserve)
		return 0;
	return min(env->reserve - env->free_fast, env->free_slow);
}

/*
 * May a demotion take place in its own right: for the reserve, which still wants *@wanted, or as
 * its extent is pinned to the slow member? It takes one of the *@down slots that are free there.
 */
static bool fusion_may_demote(const struct fusion_policy_env *env, const struct fusion_move *move,
			      u32 *wanted, u32 *down)
{
	bool pinned = move->pinned && env->idle, reserve = *wanted && (env->idle || move->flips);

	if (!*down || (!pinned && !reserve))
		return false;
	--*down;
	*wanted -= min(*wanted, 1U);
	return true;
}

/*
 * Drop promotions that exceed the budget. Drop with each the demotion that makes its room, unless
 * the reserve needs that one, or a pin wants it. Return: number of moves left.
 */
static unsigned int fusion_keep_to_budget(struct fusion *fs, const struct fusion_policy_env *env,
					  struct fusion_move *moves, unsigned int nr)
{
	u32 wanted = fusion_wanted_demotions(env), down = env->free_slow;
	s64 left = fusion_budget_extents(fs);
	unsigned int i, n = 0;

	for (i = 0; i < nr; i++) {
		if (moves[i].to == FUSION_FAST ? left-- > 0 :
		    left > 0 || fusion_may_demote(env, &moves[i], &wanted, &down))
			moves[n++] = moves[i];
		else
			fusion_policy_done(fs->policy, &moves[i], FUSION_SKIPPED);
	}
	return n;
}

/* -- the policy's moves ---------------------------------------------------------------------- */

unsigned int fusion_look_at_slots(const struct fusion *fs, struct fusion_policy_env *env)
{
	u32 fast = fusion_slots_obtainable(fs, FUSION_FAST);
	u32 slow = fusion_slots_obtainable(fs, FUSION_SLOW);
	u32 spares = fusion_spares(fs, FUSION_SLOW), lacking = spares - min(spares, slow);

	env->free_fast = fusion_beside_spares(fs, FUSION_FAST, fast);
	env->free_slow = fusion_beside_spares(fs, FUSION_SLOW, slow);
	/*
	 * A promotion that cannot write its slot retires it, and the demotion of its swap has taken
	 * a spare of the slow member. If that happens until none is left there, no swap can begin.
	 * A promotion into a spare leaves a slot there; not so if that lies inside a fence, or on
	 * the old member.
	 */
	if (fast && !slow && fs->mover.nr_retired && !fusion_fence_size(&fs->slots.fence) &&
	    !fs->old.nr)
		env->free_fast = max(env->free_fast, 1U);
	/*
	 * Homing uses spares of the slow member, and so does a swap whose promotion a write
	 * cancels. Swaps need them. So many promotions give them back, also if the reserve is low.
	 */
	if (lacking)
		env->reserve = min(env->reserve - min(env->reserve, lacking),
				   env->free_fast - min(env->free_fast, lacking));
	/* even if errors have left no slot: a demotion or a promotion makes room */
	return clamp(2 * min(fast, slow), 2U, fusion_longest_batch(fs, FUSION_BATCH));
}

static bool fusion_move_leaves_fence(const struct fusion *fs, const struct fusion_move *move)
{
	return fusion_word_leaves(fs, READ_ONCE(fs->map[move->lext]));
}

/*
 * Drop swaps with an extent inside the fence. A swap takes spares, and gives them back in the slots
 * that it leaves; one inside the fence would be no use to anyone. Return: number of moves left.
 */
static unsigned int fusion_keep_to_exchange(struct fusion *fs, struct fusion_move *moves,
					    unsigned int nr)
{
	unsigned int i, k, n = 0;

	for (i = 0; i < nr; i += k) {
		bool fenced = fusion_move_leaves_fence(fs, &moves[i]);

		k = fusion_policy_pair_length(&moves[i], nr - i);
		fenced |= fusion_move_leaves_fence(fs, &moves[i + k - 1]);
		if (k == 1 || !fenced) {
			memmove(&moves[n], &moves[i], k * sizeof(*moves));
			n += k;
			continue;
		}
		fusion_policy_done(fs->policy, &moves[i], FUSION_SKIPPED);
		fusion_policy_done(fs->policy, &moves[i + 1], FUSION_SKIPPED);
	}
	return n;
}

/*
 * Report the cost of a copy, from large batches only. A copy in a small batch costs more. If that
 * were reported, few moves would pay, so batches would stay small. And few moves cost little.
 */
static void fusion_tell_moves(struct fusion *fs, const struct fusion_job *jobs, unsigned int nr,
			      u64 used_us)
{
	unsigned int i, copied = 0;

	for (i = 0; i < nr; i++) {
		/* an I/O error takes time of its own */
		if (jobs[i].outcome == FUSION_FAILED)
			return;
		copied += jobs[i].copied && !jobs[i].flips;
	}
	if (copied >= FUSION_BATCH / 2)
		fusion_policy_moves(fs->policy, used_us, copied);
}

/* Run the moves that the policy picks. Return: were there any? */
static bool fusion_mover_run_policy(struct fusion *fs)
{
	struct fusion_policy_env env = {
		.reserve = fusion_reserve(fs),
		.idle = fusion_is_idle(fs),
		.most = FUSION_LONG_BATCH,
	};
	struct fusion_move *moves = fs->mover.batch.moves;
	struct fusion_job *jobs = fs->mover.batch.jobs;
	unsigned int i, n, max, batches;
	u64 used;

	spin_lock_irq(&fs->lock);
	max = fusion_look_at_slots(fs, &env);
	spin_unlock_irq(&fs->lock);

	/* No move could be made. */
	env.spent = fusion_budget_extents(fs) <= 0;
	if (env.spent &&
	    !(fusion_wanted_demotions(&env) && (env.idle || fusion_shadows_current(fs))) &&
	    !(env.idle && fusion_policy_nr_pinned(fs->policy, FUSION_SLOW)))
		return false;
	n = fusion_policy_pick(fs->policy, &env, moves, max);
	n = fusion_keep_to_budget(fs, &env, moves, n);
	n = fusion_keep_to_exchange(fs, moves, n);
	for (i = 0; i < n; i++)
		moves[i].hold = *fusion_cancels(fs, moves[i].lext) >= FUSION_MAX_CANCELS;
	if (!n)
		return false;
	batches = fusion_migrate_paced(fs, moves, jobs, n, NULL, env.idle, &used);
	if (batches == 1)
		fusion_tell_moves(fs, jobs, n, used);
	return true;
}

/*
 * Moves in the background: first those out of the fence, off the old member or home, which were
 * asked for. They take no notice of the settings migration and standby. Return: were there any?
 */
static bool fusion_mover_run(struct fusion *fs)
{
	/* Every move of the policy reads, writes or flushes the slow member. */
	bool policy = READ_ONCE(fs->opt.migration) && !fs->mover.slow_asleep &&
		      !fs->mover.homing.on;
	bool evacuate = fusion_evacuation_due(fs), home = fusion_homing_due(fs), turn;

	if (fusion_now_ms() < fs->mover.next_batch_ms && !fusion_is_idle(fs))
		return false;
	if ((evacuate && fusion_evacuate(fs)) || (home && fusion_bring_home(fs)))
		return true;
	/* The landing log and the others take turns. */
	turn = fs->land.drained_last;
	fs->land.drained_last = !turn && fusion_drain_landing(fs);
	if (fs->land.drained_last)
		return true;
	return fusion_point(fs) || (policy && fusion_mover_run_policy(fs)) || fusion_refresh(fs) ||
	       (turn && fusion_drain_landing(fs));
}

/* -- the worker ------------------------------------------------------------------------------ */

static void fusion_do_move(struct work_struct *work)
{
	struct fusion *fs = container_of(work, struct fusion, mover.work.work);
	struct fusion_force *force;
	unsigned int pause = FUSION_TICK_MS;
	bool pressed;

	fusion_mover_tick(fs);
	fusion_look_at_slow(fs);
	fusion_budget_refill(fs, fusion_now_ms());
	fusion_look_at_fence(fs);
	fusion_look_at_homing(fs);
	fusion_look_at_old(fs);
	fusion_shadow_tend(fs);
	if (READ_ONCE(fs->mover.stopping))
		return;
	/* users wait for that */
	pressed = fusion_drain_pressed(fs);
	force = fusion_first_forced(fs);
	if (force) {
		if (fusion_mode(fs) != FUSION_RW)
			fusion_end_forced(fs, force, -EROFS);
		else if (READ_ONCE(force->abandoned))
			fusion_end_forced(fs, force, -ERESTARTSYS);
		else if (fusion_homing_forbids(fs, force))
			fusion_end_forced(fs, force, -EBUSY);
		else if (force->kind == FUSION_HOMING || force->kind == FUSION_NO_HOMING)
			fusion_end_forced(fs, force, fusion_set_homing(fs, force));
		else if (force->kind == FUSION_FENCE)
			fusion_end_forced(fs, force, fusion_put_up_fence(fs, force));
		else if (force->kind == FUSION_NO_FENCE)
			fusion_end_forced(fs, force, fusion_take_down_fence(fs));
		else if (force->kind == FUSION_SETTLE)
			fusion_end_forced(fs, force, fusion_settle_most(fs, force));
		else if (force->kind == FUSION_POINT)
			fusion_end_forced(fs, force, fusion_point_now(fs, force));
		else if (force->kind == FUSION_DRAIN)
			fusion_run_drain(fs, force);
		else if (force->next > force->last)
			fusion_end_forced(fs, force, 0);
		else
			fusion_run_forced(fs, force);
		pause = 0;
	} else if (fusion_mode(fs) == FUSION_RW) {
		if (fusion_idle_ms(fs) >= FILL_IDLE_MS)
			fusion_open_fill_idle(fs, fs->mover.slow_asleep);
		fs->mover.look_usable = true;
		if (fusion_mover_run(fs))
			pause = min_t(u64, FUSION_TICK_MS, fs->mover.next_batch_ms -
						    min(fs->mover.next_batch_ms, fusion_now_ms()));
	}
	if (pressed)
		pause = 0;
	queue_delayed_work(fs->mover.wq, &fs->mover.work, msecs_to_jiffies(pause));
}

void fusion_migrate_start(struct fusion *fs)
{
	WRITE_ONCE(fs->mover.stopping, false);
	fusion_pace_start(fs);
	fusion_open_fill_anew(fs);
	queue_delayed_work(fs->mover.wq, &fs->mover.work, msecs_to_jiffies(FUSION_TICK_MS));
}

void fusion_migrate_stop(struct fusion *fs)
{
	struct fusion_force *force;

	spin_lock_irq(&fs->lock);
	WRITE_ONCE(fs->mover.stopping, true);
	fusion_pace_stop(fs);
	spin_unlock_irq(&fs->lock);
	cancel_delayed_work_sync(&fs->mover.work);
	while ((force = fusion_first_forced(fs)))
		fusion_end_forced(fs, force, -EAGAIN);
}

int fusion_migrate_init(struct fusion *fs)
{
	mutex_init(&fs->mover.pins.mutex);
	INIT_LIST_HEAD(&fs->mover.forced);
	INIT_DELAYED_WORK(&fs->mover.work, fusion_do_move);
	fs->mover.stopping = true;
	fs->mover.opened_ms = fusion_now_ms();
	fs->mover.last_busy_ms = fs->mover.opened_ms;
	fs->mover.slow_used_ms = fs->mover.opened_ms;
	fusion_budget_init(fs, fs->mover.opened_ms);
	fs->kcopyd = dm_kcopyd_client_create(NULL);
	if (IS_ERR(fs->kcopyd)) {
		int r = PTR_ERR(fs->kcopyd);

		fs->kcopyd = NULL;
		return r;
	}
	fs->mover.pieces = fusion_pieces_new(fs);
	return fs->mover.pieces ? 0 : -ENOMEM;
}

void fusion_migrate_exit(struct fusion *fs)
{
	fusion_pieces_free(fs->mover.pieces);
	if (fs->kcopyd)
		dm_kcopyd_client_destroy(fs->kcopyd);
}
