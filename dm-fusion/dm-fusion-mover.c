// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the mover.
 *
 * One worker ticks the policy, asks it for moves, and carries them out in batches
 * (dm-fusion-batch.c), unless moves on request are waiting (dm-fusion-forced.c).
 */
#include <linux/jiffies.h>
#include <linux/math64.h>

#include "dm-fusion.h"

/* Idle time after which partial extents are completed. */
#define FILL_IDLE_MS	10000U

/* -- the budget: dm-fusion-budget.c ---------------------------------------------------------- */

/* Fast slots that demotions should free for the reserve, not for promotions. */
static u32 fusion_wanted_demotions(const struct fusion_policy_env *env)
{
	if (!env->idle || env->free_fast >= env->reserve)
		return 0;
	return min(env->reserve - env->free_fast, env->free_slow);
}

/*
 * Drop promotions that exceed the budget. Drop with each the demotion that makes its room, unless
 * the reserve needs that one. Return: number of moves left.
 */
static unsigned int fusion_keep_to_budget(struct fusion *fs, const struct fusion_policy_env *env,
					  struct fusion_move *moves, unsigned int nr)
{
	u32 wanted = fusion_wanted_demotions(env);
	s64 left = fusion_budget_extents(fs);
	unsigned int i, n = 0;

	for (i = 0; i < nr; i++) {
		if (moves[i].to == FUSION_FAST ? left-- > 0 : left > 0 || (wanted && wanted--))
			moves[n++] = moves[i];
		else
			fusion_policy_done(fs->policy, &moves[i], FUSION_SKIPPED);
	}
	return n;
}

/* -- the policy's moves ---------------------------------------------------------------------- */

/*
 * Count the free slots for the policy. Return: the most moves that may be under way. Each move
 * takes a slot, and a pair takes one on each member; a small set has few spares. fs->lock held.
 */
static unsigned int fusion_look_at_slots(const struct fusion *fs, struct fusion_policy_env *env)
{
	u32 fast = fusion_slots_free(fs, FUSION_FAST);
	u32 slow = fusion_slots_free(fs, FUSION_SLOW) + fusion_replica_held(fs);

	env->free_fast = fusion_beside_spares(fs, FUSION_FAST, fast);
	env->free_slow = fusion_beside_spares(fs, FUSION_SLOW, slow);
	/* even if errors have left no slot: a demotion or a promotion makes room */
	return clamp(2 * min(fast, slow), 2U, fusion_longest_batch(fs));
}

/*
 * The slow member's time that a batch of @us has used. If foreground I/O queues there, it is only
 * the share that the batch's commands have in the queue. So migration also advances under full
 * load, and adds to the load only its share.
 */
static u64 fusion_time_used(const struct fusion *fs, u64 us)
{
	u32 looks = max(fs->mover.queue_looks, 1U);

	return div_u64(us * FUSION_COPY_QUEUE * looks, FUSION_COPY_QUEUE * looks + fs->mover.queue);
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
		copied += jobs[i].copied;
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
	};
	struct fusion_move moves[FUSION_BATCH];
	struct fusion_job jobs[FUSION_BATCH];
	unsigned int i, n, max, batches;
	u32 duty = READ_ONCE(fs->opt.duty);
	u64 start, used;

	spin_lock_irq(&fs->lock);
	max = fusion_look_at_slots(fs, &env);
	spin_unlock_irq(&fs->lock);

	/* No move could be made. */
	if (fusion_budget_extents(fs) <= 0 && !fusion_wanted_demotions(&env))
		return false;
	n = fusion_policy_pick(fs->policy, &env, moves, max);
	n = fusion_keep_to_budget(fs, &env, moves, n);
	for (i = 0; i < n; i++)
		moves[i].hold = *fusion_cancels(fs, moves[i].lext) >= FUSION_MAX_CANCELS;
	if (!n)
		return false;
	fs->mover.waited_us = 0;
	fs->mover.queue = 0;
	fs->mover.queue_looks = 0;
	start = fusion_now_us();
	batches = fusion_migrate(fs, moves, jobs, n, NULL, env.idle);

	used = fusion_now_us() - start;
	used = fusion_time_used(fs, used - min(used, fs->mover.waited_us));
	if (batches == 1)
		fusion_tell_moves(fs, jobs, n, used);
	if (!env.idle || !fusion_is_idle(fs))
		fs->mover.next_batch_ms = fusion_now_ms() +
				    min_t(u64, div_u64(used * (100 - duty), duty * 1000),
					  FUSION_MAX_PAUSE_MS);
	return true;
}

/* -- the worker ------------------------------------------------------------------------------ */

static void fusion_do_move(struct work_struct *work)
{
	struct fusion *fs = container_of(work, struct fusion, mover.work.work);
	struct fusion_force *force;
	unsigned int pause = FUSION_TICK_MS;

	fusion_mover_tick(fs);
	fusion_look_at_slow(fs);
	fusion_budget_refill(fs, fusion_now_ms());
	if (READ_ONCE(fs->mover.stopping))
		return;
	force = fusion_first_forced(fs);
	if (force) {
		if (fusion_mode(fs) != FUSION_RW)
			fusion_end_forced(fs, force, -EROFS);
		else if (READ_ONCE(force->abandoned))
			fusion_end_forced(fs, force, -ERESTARTSYS);
		else if (force->next > force->last)
			fusion_end_forced(fs, force, 0);
		else
			fusion_run_forced(fs, force);
		pause = 0;
	} else if (fusion_mode(fs) == FUSION_RW) {
		if (fusion_idle_ms(fs) >= FILL_IDLE_MS)
			fusion_open_fill_idle(fs, fs->mover.slow_asleep);
		fs->mover.look_usable = true;
		/* Every move reads or writes the slow member. */
		if (READ_ONCE(fs->opt.migration) && !fs->mover.slow_asleep &&
		    (fusion_now_ms() >= fs->mover.next_batch_ms || fusion_is_idle(fs)) &&
		    fusion_mover_run_policy(fs))
			pause = min_t(u64, FUSION_TICK_MS, fs->mover.next_batch_ms -
						    min(fs->mover.next_batch_ms, fusion_now_ms()));
	}
	queue_delayed_work(fs->mover.wq, &fs->mover.work, msecs_to_jiffies(pause));
}

void fusion_migrate_start(struct fusion *fs)
{
	WRITE_ONCE(fs->mover.stopping, false);
	fusion_open_fill_anew(fs);
	queue_delayed_work(fs->mover.wq, &fs->mover.work, msecs_to_jiffies(FUSION_TICK_MS));
}

void fusion_migrate_stop(struct fusion *fs)
{
	struct fusion_force *force;

	spin_lock_irq(&fs->lock);
	WRITE_ONCE(fs->mover.stopping, true);
	spin_unlock_irq(&fs->lock);
	cancel_delayed_work_sync(&fs->mover.work);
	while ((force = fusion_first_forced(fs)))
		fusion_end_forced(fs, force, -EAGAIN);
}

int fusion_migrate_init(struct fusion *fs)
{
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
	return 0;
}

void fusion_migrate_exit(struct fusion *fs)
{
	if (fs->kcopyd)
		dm_kcopyd_client_destroy(fs->kcopyd);
}
