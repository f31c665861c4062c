// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: a batch of moves.
 *
 * The mover (dm-fusion-mover.c) makes moves in batches. A batch takes these steps; each
 * step names what it relies on:
 *
 * What extents that move to the fast member have in the landing log is laid over their copies
 * behind step 5, and forgotten behind step 7: dm-fusion-land-moves.c.
 *
 *  1. Take a slot for each extent: on the other member, or, to leave the fence or go home, on
 *     either. One that is demoted, and whose shadow is current, gets that: it flips, without the
 *     steps 2 to 5 (dm-fusion-shadow.c).
 *  2. STABLE -> WATCHED (or LOCKED, after too many cancels).
 *  3. Drain: writes that saw STABLE have completed, and later ones cancel the copy (or
 *     wait, if the extent is LOCKED), so the source does not change.
 *  4. Begin to record in the replica which extents leave a slow slot, mostly promotions: from
 *     here on it no longer trusts their slow content (INV7). The extents that may be promoted
 *     next are recorded with them.
 *  5. Copy, in the order of the slow member (dm-fusion-copy.c); then wait for that record.
 *  6. WATCHED -> LOCKED for each extent that no write cancelled, and record its MOVE.
 *  7. Commit: flush the copies, make the MOVEs durable, then apply them and let waiting
 *     writes continue. The old slots are in quarantine from here on.
 *  8. Release the replica for other updates; it learns soon what has come to the slow member.
 *  9. Report the outcome to the policy.
 *
 * Readers never wait. A writer waits for one commit, or, if its extent had to be LOCKED
 * from the start, for a batch of four extents at most.
 */
#include <linux/math64.h>
#include <linux/sort.h>

#include "dm-fusion.h"
#include "dm-fusion-trace.h"

/* -- cancels --------------------------------------------------------------------------------- */

u8 *fusion_cancels(struct fusion *fs, u32 lext)
{
	u32 i = lext % ARRAY_SIZE(fs->mover.cancels);

	if (fs->mover.cancels[i].lext != lext) {
		fs->mover.cancels[i].lext = lext;
		fs->mover.cancels[i].nr = 0;
	}
	return &fs->mover.cancels[i].nr;
}

/* -- the steps ------------------------------------------------------------------------------- */

/* Does the move stay on its member? Only those out of the fence do, and those of homing. */
static bool fusion_stays(const struct fusion_job *job)
{
	return fusion_word_dev(job->old) == job->move.to;
}

/* Does it leave a slow slot, so that the replica has to know first? */
static bool fusion_leaves_slow(const struct fusion_job *job)
{
	return job->started && fusion_word_dev(job->old) == FUSION_SLOW;
}

/*
 * May the extent with the word job->old move? It is where the move expects it, and neither partial
 * nor being moved. fs->lock held.
 */
static bool fusion_may_start(struct fusion *fs, const struct fusion_job *job,
			     const struct fusion_force *force)
{
	const struct fusion_move *move = &job->move;

	if (!fusion_word_mapped(job->old) || fusion_word_state(job->old) != FUSION_STABLE ||
	    fusion_merge_unrecorded(fs, job))
		return false;
	if (force && force->kind == FUSION_EVACUATE)
		return fusion_word_leaves(fs, job->old);
	if (force && force->kind == FUSION_HOME && move->to == FUSION_SLOW)
		return fusion_word_astray(&fs->sb, move->lext, job->old);
	return fusion_word_dev(job->old) != move->to;
}

/*
 * On request, only moves that make room take spares: fusion_make_room(). A move out of the fence
 * gives no slot in exchange, so it never does. Homing takes them as a last resort.
 */
static u32 fusion_slots_to_keep(const struct fusion *fs, enum fusion_dev to,
				const struct fusion_force *force)
{
	return force && (force->kind == FUSION_EVACUATE ||
			 (force->kind == FUSION_MOVE && to == force->to)) ?
	       fusion_spares(fs, to) : 0;
}

/* Step 1 for one job. On the slow member, homing wants a certain slot. fs->lock held. */
static u32 fusion_take_slot(struct fusion *fs, const struct fusion_move *move,
			    const struct fusion_force *force)
{
	u32 keep = fusion_slots_to_keep(fs, move->to, force);

	if (force && force->kind == FUSION_HOME && move->to == FUSION_SLOW)
		return fusion_slot_take(fs, FUSION_SLOW, move->slot);
	if (move->to == FUSION_SLOW)
		fusion_shadow_yield(fs, keep);
	return fusion_slot_get(fs, move->to, move->lext, keep);
}

/*
 * The word from which a move begins. Between two batches only an extent whose shadow is current is
 * WATCHED. fs->lock held.
 */
static u32 fusion_old_word(const struct fusion *fs, u32 lext)
{
	u32 word = READ_ONCE(fs->map[lext]);

	if (fusion_word_state(word) == FUSION_WATCHED && fusion_has_shadow(fs, word))
		return fusion_word_set_state(word, FUSION_STABLE);
	return word;
}

/*
 * Steps 1 and 2 for an extent that goes to its shadow. It stays WATCHED: a write still cancels the
 * move. If one has done so just now, that is found in step 6. fs->lock held.
 */
static bool fusion_start_flip(struct fusion *fs, struct fusion_job *job,
			      const struct fusion_force *force)
{
	u32 keep = fusion_slots_to_keep(fs, FUSION_SLOW, force);

	/* its slot would be one of those that are to stay */
	if (keep && fusion_slots_obtainable(fs, FUSION_SLOW) <= keep)
		return false;
	if (job->move.to != FUSION_SLOW || !fusion_shadow_is_current(fs, job->old) ||
	    fusion_word_state(READ_ONCE(fs->map[job->move.lext])) != FUSION_WATCHED)
		return false;
	job->new = fusion_shadow_take(fs, job->old);
	job->flips = true;
	job->copied = true;
	job->outcome = FUSION_CANCELLED;
	return true;
}

/* Steps 1 and 2 for one that is copied. fs->lock held. */
static bool fusion_start_copy(struct fusion *fs, struct fusion_job *job,
			      const struct fusion_force *force)
{
	/* What is out of date makes room first. Then the extent is STABLE. */
	fusion_shadow_drop(fs, job->old);
	job->new = fusion_take_slot(fs, &job->move, force);
	if (!fusion_word_mapped(job->new))
		return false;
	fusion_map_copy(fs, job->move.lext, job->old,
			job->move.hold ? FUSION_LOCKED : FUSION_WATCHED);
	return true;
}

/* Of a swap of the policy, which is a demotion followed by the promotion that needs its room. */
static bool fusion_swaps(const struct fusion_job *demotion, const struct fusion_job *promotion)
{
	return demotion->move.to == FUSION_SLOW && promotion->move.to == FUSION_FAST;
}

/*
 * Steps 1 and 2. Without the first move of a swap, skip the second. Return: number of jobs that
 * started.
 */
static unsigned int fusion_start_jobs(struct fusion *fs, struct fusion_job *jobs, unsigned int nr,
				      const struct fusion_force *force)
{
	unsigned int i, started = 0;

	for (i = 0; i < nr; i++) {
		struct fusion_job *job = &jobs[i];

		if (READ_ONCE(fs->mover.stopping))
			continue;
		if (!force && i && fusion_swaps(job - 1, job) && !jobs[i - 1].started)
			continue;

		spin_lock_irq(&fs->lock);
		job->old = fusion_old_word(fs, job->move.lext);
		job->started = fusion_may_start(fs, job, force) &&
			       (fusion_start_flip(fs, job, force) ||
				((force || !job->move.flips) && fusion_start_copy(fs, job, force)));
		fs->mover.in_flight += job->started;
		spin_unlock_irq(&fs->lock);
		started += job->started;
	}
	return started;
}

static u32 fusion_slow_slot(const struct fusion_job *job)
{
	return fusion_word_slot(fusion_word_dev(job->old) == FUSION_SLOW ? job->old : job->new);
}

static int fusion_compare_jobs(const void *a, const void *b)
{
	const struct fusion_job *ja = a, *jb = b;

	return fusion_copy_order(ja->started, fusion_slow_slot(ja), jb->started,
				 fusion_slow_slot(jb));
}

/* Step 6. Return: number of MOVEs recorded. */
static unsigned int fusion_record_jobs(struct fusion *fs, struct fusion_job *jobs, unsigned int nr)
{
	unsigned int i, recorded = 0;

	for (;;) {
		spin_lock_irq(&fs->lock);
		if (fusion_log_room(fs, nr))
			break;
		spin_unlock_irq(&fs->lock);
		if (fusion_commit_wait(fs)) {
			/* Nothing can be recorded any more. */
			for (i = 0; i < nr; i++)
				jobs[i].copied = false;
			spin_lock_irq(&fs->lock);
			break;
		}
	}

	for (i = 0; i < nr; i++) {
		struct fusion_job *job = &jobs[i];

		if (!job->started)
			continue;
		fs->mover.in_flight--;
		/* INV18, whatever came before: the word says that it is being copied */
		job->copied = job->copied && !fusion_merge_lacks(fs, job);
		if (job->copied && fusion_map_lock(fs, job->move.lext, job->old)) {
			fusion_log(fs, job->move.lext, job->new, job->old, FUSION_OP_MOVE);
			job->outcome = FUSION_MOVED;
			recorded++;
			continue;
		}
		fusion_map_uncopy(fs, job->move.lext, job->old);
		if (job->retire)
			fusion_slot_retire(fs, job->new);
		else if (job->flips)
			fusion_replica_release(fs, job->new, false);
		else
			fusion_slot_put(fs, job->new);
	}
	fusion_unpark(fs);
	spin_unlock_irq(&fs->lock);
	return recorded;
}

/* Moves that take a free slot: to the member @to, or to either if that is FUSION_NR_DEVS. */
static unsigned int fusion_slots_needed(const struct fusion_job *jobs, unsigned int nr,
					unsigned int to)
{
	unsigned int i, n = 0;

	for (i = 0; i < nr; i++)
		n += !jobs[i].move.flips && (to == FUSION_NR_DEVS || jobs[i].move.to == to);
	return n;
}

/* Are there too few slow slots for these moves, while an update would free some? */
static bool fusion_held_slots_needed(struct fusion *fs, const struct fusion_job *jobs,
				     unsigned int nr)
{
	unsigned int n = fusion_slots_needed(jobs, nr, FUSION_SLOW);
	bool needed;

	spin_lock_irq(&fs->lock);
	needed = n && fusion_slots_at_hand(fs, FUSION_SLOW) < n + fs->sb.spare_slow &&
		 !fs->replica.failed && fusion_slots_held(fs);
	if (needed)
		fusion_shadow_yield(fs, n + fs->sb.spare_slow - 1);
	spin_unlock_irq(&fs->lock);
	return needed;
}

/* Fail the moves that leave slow slots: the replica has no record of them. */
static void fusion_refuse_promotions(struct fusion_job *jobs, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (fusion_leaves_slow(&jobs[i])) {
			jobs[i].copied = false;
			jobs[i].outcome = FUSION_FAILED;
		}
	}
}

/*
 * The extents that may leave slow slots after this batch, up to @max, the next ones first. For a
 * request: promotions that it has taken and that have no room yet, then the rest of its range; if
 * it demotes, its next victims. Return: number.
 */
static unsigned int fusion_next_to_leave(struct fusion *fs, const struct fusion_force *force,
					 u32 *lexts, unsigned int max)
{
	unsigned int i, n = 0;
	u32 lext;

	if (!force)
		return fusion_policy_next(fs->policy, lexts, max);
	if (force->kind != FUSION_MOVE)
		return 0;
	if (force->to == FUSION_SLOW) {
		for (i = force->next_victim; i < force->victims.nr && n < max; i++)
			lexts[n++] = force->victims.best[i].lext;
		return n;
	}
	for (i = 0; i < force->nr_rest && n < max; i++)
		lexts[n++] = force->rest[i].lext;
	for (lext = force->next; lext <= force->last && n < max; lext++)
		lexts[n++] = lext;
	return n;
}

/*
 * Step 4. Extents that leave the fence, or go home, are recorded batch by batch: those recorded too
 * early count as lost if the fast member dies. Return: does any extent leave a slow slot, and may
 * it?
 */
static bool fusion_announce_jobs(struct fusion *fs, struct fusion_job *jobs, unsigned int nr,
				 const struct fusion_force *force)
{
	u32 lexts[FUSION_MAX_LEAVING];
	unsigned int i, n = 0, max;

	for (i = 0; i < nr; i++)
		if (fusion_leaves_slow(&jobs[i]))
			lexts[n++] = jobs[i].move.lext;
	if (!n)
		return false;
	max = n + fusion_next_to_leave(fs, force, lexts + n, FUSION_MAX_LEAVING - n);
	if (!fusion_replica_promote(fs, lexts, n, max))
		return true;
	fusion_refuse_promotions(jobs, nr);
	return false;
}

/*
 * End of step 5. On a busy disk the record may wait long in the queue. Migration does not use the
 * disk in that time, so it does not count as duty. Return: are the promotions recorded?
 */
static bool fusion_wait_for_record(struct fusion *fs, struct fusion_job *jobs, unsigned int nr)
{
	u64 start = fusion_now_us();
	int r = fusion_replica_promote_wait(fs);

	fs->mover.waited_us += fusion_now_us() - start;
	if (r)
		fusion_refuse_promotions(jobs, nr);
	return !r;
}

static void fusion_count_move(struct fusion *fs, const struct fusion_job *job,
			      const struct fusion_force *force)
{
	if (force && force->kind == FUSION_EVACUATE)
		fs->mover.evacuated++;
	if (force && force->kind == FUSION_HOME)
		fs->mover.homing.moves++;
	if (fusion_stays(job))
		return;
	if (job->move.to == FUSION_FAST)
		fs->mover.promotions++;
	else
		fs->mover.demotions++;
	fs->shadows.demotions += job->flips;
}

/* Is any extent copied? Then writes that are in flight to it have to end first. */
static bool fusion_any_copy(const struct fusion_job *jobs, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (jobs[i].started && !jobs[i].flips)
			return true;
	return false;
}

/*
 * Run a batch. @force is the request that wants it, or NULL: the policy; @idle_only: it was chosen
 * because the fused device was idle.
 */
static void fusion_run_batch(struct fusion *fs, struct fusion_job *jobs, unsigned int nr,
			     const struct fusion_force *force, bool idle_only)
{
	unsigned int i, started, recorded, to_slow = 0;
	bool promoting;
	int r = 0;

	fusion_discard_hold(fs, fusion_slots_needed(jobs, nr, FUSION_NR_DEVS));
	if (fusion_held_slots_needed(fs, jobs, nr))
		fusion_replica_update(fs, false);
	started = fusion_start_jobs(fs, jobs, nr, force);
	fusion_discard_go_on(fs);
	if (started) {
		if (fusion_any_copy(jobs, nr))
			fusion_drain(fs);
		sort(jobs, nr, sizeof(*jobs), fusion_compare_jobs, NULL);
		promoting = fusion_announce_jobs(fs, jobs, nr, force);
		fusion_copy_jobs(fs, jobs, nr, force, idle_only);
		promoting = promoting && fusion_wait_for_record(fs, jobs, nr);
		fusion_merge_jobs(fs, jobs, nr);
		recorded = fusion_record_jobs(fs, jobs, nr);
		if (recorded)
			r = fusion_commit_wait(fs);
		if (recorded && !r)
			fusion_merge_forget(fs, jobs, nr);
		if (promoting)
			fusion_replica_promoted(fs);
		/*
		 * This frees the old slots, which the next batch needs, or makes them shadows. It
		 * must be before the next batch makes any extent WATCHED: the old slot of one that
		 * was written meanwhile would be taken for its shadow (INV13).
		 */
		if (recorded)
			flush_work(&fs->txns.reclaim_work);
	}

	for (i = 0; i < nr; i++) {
		struct fusion_job *job = &jobs[i];

		if (r && job->outcome == FUSION_MOVED)
			job->outcome = FUSION_FAILED;
		switch (job->outcome) {
		case FUSION_MOVED:
			to_slow += job->move.to == FUSION_SLOW;
			fusion_count_move(fs, job, force);
			*fusion_cancels(fs, job->move.lext) = 0;
			break;
		case FUSION_CANCELLED:
			fs->mover.cancelled++;
			++*fusion_cancels(fs, job->move.lext);
			break;
		default:
			break;
		}
		if (job->started)
			trace_fusion_move(fs, job->move.lext, job->old, job->new, job->outcome);
		/* To the policy, an extent that has stayed on its member has not moved. */
		if (job->outcome != FUSION_MOVED || !fusion_stays(job))
			fusion_policy_done(fs->policy, &job->move, job->outcome);
	}
	if (to_slow)
		fusion_replica_soon(fs);
}

unsigned int fusion_migrate(struct fusion *fs, struct fusion_move *moves,
			    struct fusion_job *jobs, unsigned int nr,
			    const struct fusion_force *force, bool idle_only)
{
	unsigned int i, k, n, batches = 0;

	fs->mover.look_usable = false;
	for (i = 0; i < nr; i += n, batches++) {
		n = fusion_policy_batch(&moves[i], nr - i);
		for (k = i; k < i + n; k++)
			jobs[k] = (struct fusion_job) {
				.move = moves[k],
				.outcome = FUSION_SKIPPED,
			};
		fusion_run_batch(fs, &jobs[i], n, force, idle_only);
	}
	return batches;
}

unsigned int fusion_migrate_paced(struct fusion *fs, struct fusion_move *moves,
				  struct fusion_job *jobs, unsigned int nr,
				  const struct fusion_force *force, bool idle, u64 *used)
{
	u64 start = fusion_pace_begin(fs), flushes = READ_ONCE(fs->flush.slow_flushes);
	unsigned int batches;

	batches = fusion_migrate(fs, moves, jobs, nr, force, idle);

	*used = fusion_pace_used(fs, start);
	/* to shadows: the slow member had nothing to do */
	if (!fusion_any_copy(jobs, nr) && READ_ONCE(fs->flush.slow_flushes) == flushes)
		*used = 0;
	if (!idle || !fusion_is_idle(fs))
		fusion_pace(fs, *used);
	return batches;
}
