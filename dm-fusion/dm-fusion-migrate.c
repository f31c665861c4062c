// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the mover.
 *
 * One worker ticks the policy, asks it for moves, and carries them out in
 * batches. A batch goes through these steps; each names what it relies on:
 *
 *  1. take a slot for each on the other member;
 *  2. STABLE -> COPYING (or LOCKED, after too many cancels) by cmpxchg;
 *  3. drain: writes that saw STABLE have completed, later ones cancel the copy
 *     (or wait, if LOCKED), so the source holds still;
 *  4. begin to record promotions in the replica: from here on their slow content is not
 *     believed any more (INV7). Those that may be next go along;
 *  5. copy, in the order of the slow member; then wait for that record;
 *  6. COPYING -> LOCKED for all that no write cancelled, and record their MOVEs;
 *  7. commit: flushes the copies, makes the MOVEs durable, then applies them and
 *     lets waiting writes go on; the old slots are in quarantine from here;
 *  8. let others write the replica again; it learns of demotions soon;
 *  9. tell the policy.
 *
 * Readers are never held. A writer waits for one commit, or, if its extent had to
 * be LOCKED from the start, for a batch of four extents at most.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/sort.h>

#include "dm-fusion.h"
#include "dm-fusion-trace.h"

#define TICK_MS		100U
#define BATCH		16U
/* Cancels of one extent after which its writes are held. */
#define MAX_CANCELS	2U
/* Idle time after which half-written extents are completed. */
#define FILL_IDLE_MS	10000U
#define SETTLE_TRIES	1000U
/* Extents looked at in one go for some that make room, and attempts to move any of these away. */
#define SCAN_SLICE	16384U
#define MAX_VAIN	4U
/* Longest pause between batches while others use the device. */
#define MAX_PAUSE_MS	60000U
/* Most I/Os at the slow member that are thought of. */
#define MAX_QUEUE	4096U
/* Commands that a copy has there. */
#define COPY_QUEUE	2U
/* Longest time between two looks that tells what accesses cost. */
#define MAX_LOOK_US	1000000U

struct job {
	struct fusion_move move;
	u32 old;		/* STABLE word before */
	u32 new;		/* STABLE word after; unmapped: no slot */
	enum fusion_outcome outcome;
	bool started;		/* COPYING or LOCKED was set */
	bool copied;
	bool retire;		/* the new slot could not be written */
};

static enum fusion_dev other_dev(enum fusion_dev dev)
{
	return dev == FUSION_FAST ? FUSION_SLOW : FUSION_FAST;
}

static u64 now_us(void)
{
	return ktime_to_us(ktime_get());
}

/* Accesses between two ticks count once, so it must not stop for a batch. */
static void tick(struct fusion *fs)
{
	if (xchg(&fs->half_life_changed, 0))
		fusion_policy_set_half_life(fs->policy, fusion_half_life(fs));
	fusion_policy_tick(fs->policy, fusion_now_ms() - fs->opened_ms);
}

/* -- foreground ------------------------------------------------------------------ */

static void look(struct fusion *fs, struct fusion_look *sum)
{
	unsigned int dev;
	int cpu;

	memset(sum, 0, sizeof(*sum));
	sum->us = now_us();
	for_each_possible_cpu(cpu) {
		const struct fusion_stats *stats = per_cpu_ptr(fs->stats, cpu);

		for (dev = 0; dev < FUSION_NR_DEVS; dev++) {
			sum->done[dev] += READ_ONCE(stats->done[dev]);
			sum->ios[dev] += READ_ONCE(stats->ios[dev][0]) +
					 READ_ONCE(stats->ios[dev][1]);
		}
		sum->unweighed += READ_ONCE(stats->unweighed);
	}
}

/* I/Os at a member; CPUs are looked at one after another, so it may be off by some. */
static u64 in_flight(const struct fusion_look *sum, enum fusion_dev dev)
{
	return sum->ios[dev] > sum->done[dev] ? sum->ios[dev] - sum->done[dev] : 0;
}

/*
 * Tell the policy what random accesses cost, of a time in which there was nothing else. A
 * member is taken to have been as busy all that time as it is at its end: right on average.
 */
static void tell_accesses(struct fusion *fs, const struct fusion_look *now)
{
	const struct fusion_look *before = &fs->look;
	u64 us = now->us - before->us;
	unsigned int dev;

	if (!fs->look_usable || us > MAX_LOOK_US || now->unweighed != before->unweighed)
		return;
	for (dev = 0; dev < FUSION_NR_DEVS; dev++)
		fusion_policy_accesses(fs->policy, dev, in_flight(now, dev) ? us : 0,
				       now->done[dev] - before->done[dev]);
}

/*
 * Look whether there was foreground I/O since the last look, or is some that waits. Return: ms
 * without.
 */
static u64 idle_ms(struct fusion *fs)
{
	struct fusion_look now;
	unsigned int dev;
	bool busy;

	/* no member has seen the writers to LOCKED extents */
	spin_lock_irq(&fs->lock);
	busy = !bio_list_empty(&fs->parked);
	spin_unlock_irq(&fs->lock);

	look(fs, &now);
	for (dev = 0; dev < FUSION_NR_DEVS; dev++)
		busy |= now.ios[dev] != fs->look.ios[dev] || in_flight(&now, dev);
	if (busy) {
		fs->last_busy_ms = div_u64(now.us, 1000);
		fusion_policy_used(fs->policy, min_t(u64, now.us - fs->look.us, MAX_LOOK_US));
	}
	tell_accesses(fs, &now);
	fs->queue += min_t(u64, in_flight(&now, FUSION_SLOW), MAX_QUEUE);
	fs->queue_looks++;
	fs->look = now;
	return div_u64(now.us, 1000) - fs->last_busy_ms;
}

static bool is_idle(struct fusion *fs)
{
	return idle_ms(fs) >= READ_ONCE(fs->opt.idle);
}

/*
 * Look whether others have used the slow member since the last look. If not for opt.standby, it
 * may have stopped its motor: it is left alone by moves nobody asked for, and by zero-fills
 * and updates of the replica that can come later.
 */
static void look_at_slow(struct fusion *fs)
{
	u64 ios = fusion_count_ios(fs, FUSION_SLOW, false) +
		  fusion_count_ios(fs, FUSION_SLOW, true);
	u64 now = fusion_now_ms(), standby = (u64)READ_ONCE(fs->opt.standby) * MSEC_PER_SEC;

	if (ios != fs->slow_ios) {
		fs->slow_ios = ios;
		WRITE_ONCE(fs->slow_used_ms, now);
	}
	WRITE_ONCE(fs->slow_asleep, standby && now - fs->slow_used_ms >= standby);
}

/* -- the budget: dm-fusion-budget.c ------------------------------------------------------ */

/* Free fast slots that demotions should make, with no promotions to take them. */
static u32 wanted_demotions(const struct fusion_policy_env *env)
{
	if (!env->idle || env->free_fast >= env->reserve)
		return 0;
	return min(env->reserve - env->free_fast, env->free_slow);
}

/*
 * Drop promotions that there is no budget for, each with the demotion before it that was to make
 * its room, unless the reserve wants that. Return: number of moves that are left.
 */
static unsigned int keep_to_budget(struct fusion *fs, const struct fusion_policy_env *env,
				   struct fusion_move *moves, unsigned int nr)
{
	u32 wanted = wanted_demotions(env);
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

/* -- cancels ----------------------------------------------------------------------- */

/* A small table, indexed by extent; a collision only forgets. */
static u8 *cancels(struct fusion *fs, u32 lext)
{
	u32 i = lext % ARRAY_SIZE(fs->cancels);

	if (fs->cancels[i].lext != lext) {
		fs->cancels[i].lext = lext;
		fs->cancels[i].nr = 0;
	}
	return &fs->cancels[i].nr;
}

/* -- the steps of a batch ------------------------------------------------------------ */

/*
 * Steps 1 and 2. The policy's swaps come as a demotion and the promotion that needs
 * its room: without the first there is no second. Return: number of jobs that started.
 */
static unsigned int start_jobs(struct fusion *fs, struct job *jobs, unsigned int nr,
			       const struct fusion_force *force)
{
	unsigned int i, started = 0;

	for (i = 0; i < nr; i++) {
		struct job *job = &jobs[i];
		u32 lext = job->move.lext;
		enum fusion_dev to = job->move.to;
		u32 spare = fusion_spares(fs, to);
		enum fusion_state state = job->move.hold ? FUSION_LOCKED : FUSION_COPYING;

		job->outcome = FUSION_SKIPPED;
		job->started = false;
		job->copied = false;
		job->retire = false;
		if (READ_ONCE(fs->stopping))
			continue;
		if (!force && to == FUSION_FAST && i && jobs[i - 1].move.to == FUSION_SLOW &&
		    !jobs[i - 1].started)
			continue;

		spin_lock_irq(&fs->lock);
		job->old = READ_ONCE(fs->map[lext]);
		if (fusion_word_mapped(job->old) &&
		    fusion_word_state(job->old) == FUSION_STABLE &&
		    fusion_word_dev(job->old) != to) {
			/* On request the spares are for what makes room; see make_room(). */
			job->new = fusion_slot_get(fs, to, lext,
						   force && to == force->to ? spare : 0);
			if (fusion_word_mapped(job->new)) {
				/* Only writes race with this, and they leave STABLE alone. */
				WRITE_ONCE(fs->map[lext], fusion_word_set_state(job->old, state));
				job->started = true;
				fs->in_flight++;
				started++;
			}
		}
		spin_unlock_irq(&fs->lock);
	}
	return started;
}

static u32 slow_slot(const struct job *job)
{
	return fusion_word_slot(job->move.to == FUSION_SLOW ? job->new : job->old);
}

static int compare_jobs(const void *a, const void *b)
{
	const struct job *ja = a, *jb = b;

	if (ja->started != jb->started)
		return ja->started ? -1 : 1;
	if (!ja->started || slow_slot(ja) == slow_slot(jb))
		return 0;
	return slow_slot(ja) < slow_slot(jb) ? -1 : 1;
}

struct copy {
	struct completion done;
	bool read_failed;
	bool write_failed;
};

static void copy_done(int read_err, unsigned long write_err, void *context)
{
	struct copy *copy = context;

	copy->read_failed = read_err;
	copy->write_failed = write_err;
	complete(&copy->done);
}

/* Step 5 for one job. */
static void copy_extent(struct fusion *fs, struct job *job)
{
	struct dm_io_region from = {
		.bdev = fs->dev[fusion_word_dev(job->old)]->bdev,
		.sector = fusion_word_sector(fs, job->old),
		.count = 1UL << fs->shift,
	};
	struct dm_io_region to = {
		.bdev = fs->dev[job->move.to]->bdev,
		.sector = fusion_word_sector(fs, job->new),
		.count = 1UL << fs->shift,
	};
	struct copy copy = {};

	init_completion(&copy.done);
	dm_kcopyd_copy(fs->kcopyd, &from, 1, &to, 0, copy_done, &copy);
	wait_for_completion(&copy.done);
	fusion_mark_written(fs, job->move.to);
	if (copy.read_failed)
		fusion_member_failed(fs, fusion_word_dev(job->old));
	if (copy.write_failed)
		fusion_member_failed(fs, job->move.to);
	job->copied = !copy.read_failed && !copy.write_failed;
	job->outcome = job->copied ? FUSION_CANCELLED : FUSION_FAILED;
	job->retire = copy.write_failed;
	if (job->move.to == FUSION_FAST)
		fusion_budget_spend(fs);
}

/* Has a write cancelled it, or is it gone? */
static bool still_ours(struct fusion *fs, const struct job *job)
{
	u32 word = READ_ONCE(fs->map[job->move.lext]);

	return word == fusion_word_set_state(job->old, FUSION_COPYING) ||
	       word == fusion_word_set_state(job->old, FUSION_LOCKED);
}

static void copy_jobs(struct fusion *fs, struct job *jobs, unsigned int nr, bool idle_only)
{
	unsigned int i;
	bool idle;

	for (i = 0; i < nr; i++) {
		if (!jobs[i].started || jobs[i].outcome == FUSION_FAILED)
			continue;
		/* Somebody came: leave the rest for later. */
		idle = is_idle(fs);
		if (READ_ONCE(fs->stopping) || (idle_only && !idle))
			continue;
		if (fusion_beat_ready(fs))
			continue;
		if (still_ours(fs, &jobs[i]))
			copy_extent(fs, &jobs[i]);
		else
			jobs[i].outcome = FUSION_CANCELLED;
		tick(fs);
	}
}

/* Step 6. Return: number of MOVEs recorded. */
static unsigned int record_jobs(struct fusion *fs, struct job *jobs, unsigned int nr)
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
		struct job *job = &jobs[i];
		u32 *word = &fs->map[job->move.lext];
		u32 copying = fusion_word_set_state(job->old, FUSION_COPYING);
		u32 locked = fusion_word_set_state(job->old, FUSION_LOCKED);

		if (!job->started)
			continue;
		fs->in_flight--;
		/* Pairs with the cmpxchg() of writes, in look_up() and unmap(). */
		if (job->copied &&
		    (READ_ONCE(*word) == locked || cmpxchg(word, copying, locked) == copying)) {
			fusion_log(fs, job->move.lext, job->new, job->old, FUSION_OP_MOVE);
			job->outcome = FUSION_MOVED;
			recorded++;
			continue;
		}
		if (READ_ONCE(*word) == locked)
			WRITE_ONCE(*word, job->old);
		else
			cmpxchg(word, copying, job->old);
		if (job->retire)
			fs->nr_retired++;
		else
			fusion_slot_put(fs, job->new);
	}
	fusion_unpark(fs);
	spin_unlock_irq(&fs->lock);
	return recorded;
}

/* Are there too few slow slots for these demotions, but some that an update would free? */
static bool held_slots_needed(struct fusion *fs, const struct job *jobs, unsigned int nr)
{
	unsigned int i, demotions = 0;
	bool needed;

	for (i = 0; i < nr; i++)
		demotions += jobs[i].move.to == FUSION_SLOW;
	spin_lock_irq(&fs->lock);
	needed = demotions && fs->nr_free[FUSION_SLOW] < demotions + fs->sb.spare_slow &&
		 fusion_replica_held(fs);
	spin_unlock_irq(&fs->lock);
	return needed;
}

/* Promotions that the replica does not know of fail. */
static void refuse_promotions(struct job *jobs, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (jobs[i].started && jobs[i].move.to == FUSION_FAST) {
			jobs[i].copied = false;
			jobs[i].outcome = FUSION_FAILED;
		}
	}
}

/* Step 4. Return: are there promotions, and may they go on? */
static bool announce_jobs(struct fusion *fs, struct job *jobs, unsigned int nr,
			  const struct fusion_force *force)
{
	u32 lexts[FUSION_MAX_LEAVING], lext;
	unsigned int i, n = 0, max;

	for (i = 0; i < nr; i++)
		if (jobs[i].started && jobs[i].move.to == FUSION_FAST)
			lexts[n++] = jobs[i].move.lext;
	if (!n)
		return false;
	max = n;
	if (!force)
		max += fusion_policy_next(fs->policy, lexts + n, FUSION_MAX_LEAVING - n);
	else if (force->to == FUSION_SLOW)
		for (i = force->next_victim; i < force->victims.nr; i++)
			lexts[max++] = force->victims.best[i].lext;
	else
		for (lext = force->next; lext <= force->last && max < FUSION_MAX_LEAVING; lext++)
			lexts[max++] = lext;
	if (!fusion_replica_promote(fs, lexts, n, max))
		return true;
	refuse_promotions(jobs, nr);
	return false;
}

/*
 * Step 5 ends. On a busy disk the record waits long for its turn: time in which nothing is
 * done to the disk, so it does not count as duty. Return: are the promotions recorded?
 */
static bool wait_for_record(struct fusion *fs, struct job *jobs, unsigned int nr)
{
	u64 start = now_us();
	int r = fusion_replica_promote_wait(fs);

	fs->waited_us += now_us() - start;
	if (r)
		refuse_promotions(jobs, nr);
	return !r;
}

/*
 * A batch. @force is who wants it, or NULL: the policy; @idle_only: it was decided on since nobody
 * used the device.
 */
static void run_batch(struct fusion *fs, struct job *jobs, unsigned int nr,
		      const struct fusion_force *force, bool idle_only)
{
	unsigned int i, started, recorded, demoted = 0;
	bool promoting;
	int r = 0;

	fusion_discard_hold(fs, nr);
	if (held_slots_needed(fs, jobs, nr))
		fusion_replica_update(fs, false);
	started = start_jobs(fs, jobs, nr, force);
	fusion_discard_go_on(fs);
	if (started) {
		fusion_drain(fs);
		sort(jobs, nr, sizeof(*jobs), compare_jobs, NULL);
		promoting = announce_jobs(fs, jobs, nr, force);
		copy_jobs(fs, jobs, nr, idle_only);
		promoting = promoting && wait_for_record(fs, jobs, nr);
		recorded = record_jobs(fs, jobs, nr);
		if (recorded)
			r = fusion_commit_wait(fs);
		if (promoting)
			fusion_replica_promoted(fs);
		/* Frees the old slots: the next batch counts on them. */
		if (recorded)
			flush_work(&fs->reclaim_work);
	}

	for (i = 0; i < nr; i++) {
		struct job *job = &jobs[i];

		if (r && job->outcome == FUSION_MOVED)
			job->outcome = FUSION_FAILED;
		switch (job->outcome) {
		case FUSION_MOVED:
			if (job->move.to == FUSION_FAST)
				fs->promotions++;
			else
				demoted++;
			*cancels(fs, job->move.lext) = 0;
			break;
		case FUSION_CANCELLED:
			fs->cancelled++;
			++*cancels(fs, job->move.lext);
			break;
		default:
			break;
		}
		if (job->started)
			trace_fusion_move(fs, job->move.lext, job->old, job->new, job->outcome);
		fusion_policy_done(fs->policy, &job->move, job->outcome);
	}
	fs->demotions += demoted;
	if (demoted)
		fusion_replica_soon(fs);
}

/* Carry @moves out, in batches; they, and @jobs beside them, get another order. Return: batches. */
static unsigned int migrate(struct fusion *fs, struct fusion_move *moves, struct job *jobs,
			    unsigned int nr, const struct fusion_force *force, bool idle_only)
{
	unsigned int i, k, n, batches = 0;

	fs->look_usable = false;
	for (i = 0; i < nr; i += n, batches++) {
		n = fusion_policy_batch(&moves[i], nr - i);
		for (k = i; k < i + n; k++)
			jobs[k] = (struct job) { .move = moves[k] };
		run_batch(fs, &jobs[i], n, force, idle_only);
	}
	return batches;
}

/* -- slots -------------------------------------------------------------------------------- */

static u32 beside_spares(const struct fusion *fs, enum fusion_dev dev, u32 nr)
{
	return nr - min(nr, fusion_spares(fs, dev));
}

/*
 * The most moves of a batch: where few slots are left besides the spares, first writes wait for
 * those that moves have. fs->lock held.
 */
static unsigned int longest_batch(const struct fusion *fs)
{
	u32 left = beside_spares(fs, FUSION_FAST, fusion_slots_free(fs, FUSION_FAST)) +
		   beside_spares(fs, FUSION_SLOW, fusion_slots_free(fs, FUSION_SLOW));

	return left < BATCH && fs->nr_mapped < fs->sb.nr_lexts ? FUSION_SHORT_BATCH : BATCH;
}

/*
 * Tell the policy what slots there are. Return: the most moves that may be under way. Each takes
 * one, and those of a pair on both members: in a small set the spares are few. fs->lock held.
 */
static unsigned int look_at_slots(const struct fusion *fs, struct fusion_policy_env *env)
{
	u32 fast = fusion_slots_free(fs, FUSION_FAST);
	u32 slow = fusion_slots_free(fs, FUSION_SLOW) + fusion_replica_held(fs);

	env->free_fast = beside_spares(fs, FUSION_FAST, fast);
	env->free_slow = beside_spares(fs, FUSION_SLOW, slow);
	/* even if errors have left none: a demotion makes room, or a promotion */
	return clamp(2 * min(fast, slow), 2U, longest_batch(fs));
}

/* -- moves on request ------------------------------------------------------------------ */

/* Make an OPEN extent STABLE, so that it can be moved. */
static void settle(struct fusion *fs, u32 lext)
{
	unsigned int tries;

	for (tries = 0; tries < SETTLE_TRIES; tries++) {
		if (fusion_word_state(READ_ONCE(fs->map[lext])) != FUSION_OPEN ||
		    READ_ONCE(fs->stopping))
			return;
		if (!fusion_open_fill(fs, lext) || fusion_commit_wait(fs))
			return;
		schedule_timeout_uninterruptible(1);
	}
}

static unsigned int take_forced(struct fusion *fs, struct fusion_force *force,
				struct fusion_move *moves)
{
	unsigned int n = 0;
	u32 lext;

	/* Let the next ones be filled while the first is settled. */
	for (lext = force->next; lext <= force->last && lext - force->next < BATCH; lext++)
		fusion_open_fill(fs, lext);

	while (n < BATCH && force->next <= force->last) {
		u32 word = READ_ONCE(fs->map[force->next]);

		lext = force->next++;
		if (!fusion_word_mapped(word)) {
			force->unmapped++;
		} else if (fusion_word_dev(word) == force->to) {
			force->already++;
		} else {
			settle(fs, lext);
			moves[n++] = (struct fusion_move) { .lext = lext, .to = force->to };
		}
	}
	return n;
}

/* Free slots that moves on request may take, and those that what makes room for them may. */
static void look_for_room(struct fusion *fs, const struct fusion_force *force, u32 *room,
			  u32 *spares)
{
	u32 nr[FUSION_NR_DEVS];

	spin_lock_irq(&fs->lock);
	nr[FUSION_FAST] = fusion_slots_free(fs, FUSION_FAST);
	nr[FUSION_SLOW] = fusion_slots_free(fs, FUSION_SLOW) + fusion_replica_held(fs);
	*room = beside_spares(fs, force->to, nr[force->to]);
	*spares = min(nr[other_dev(force->to)], longest_batch(fs));
	spin_unlock_irq(&fs->lock);
}

/* Find extents that may make room. Return: are there any? */
static bool find_victims(struct fusion *fs, struct fusion_force *force)
{
	struct fusion_victims *v = &force->victims;
	u32 lext, end;

	force->next_victim = 0;
	v->nr = 0;
	v->held = 0;
	for (lext = 0; lext < fs->sb.nr_lexts; lext = end) {
		end = lext + min(fs->sb.nr_lexts - lext, SCAN_SLICE);
		fusion_policy_victims(fs->policy, v, lext, end);
		cond_resched();
	}
	return v->nr;
}

/* Moves that make room for @want extents, if @spares slots can be had for them. */
static unsigned int take_victims(struct fusion *fs, struct fusion_force *force, u32 want,
				 u32 spares, struct fusion_move *moves)
{
	struct fusion_victims *v = &force->victims;
	unsigned int n = 0;

	if (!spares) {
		force->obstacle = FUSION_NO_SPARE;
		return 0;
	}
	while (n < min(want, spares)) {
		u32 lext, word;

		/* Those of this batch may be found again, so they are moved first. */
		if (force->next_victim == v->nr && (n || !find_victims(fs, force)))
			break;
		lext = v->best[force->next_victim++].lext;
		settle(fs, lext);
		word = READ_ONCE(fs->map[lext]);
		if (fusion_word_mapped(word) && fusion_word_dev(word) == force->to)
			moves[n++] = (struct fusion_move) {
				.lext = lext,
				.to = other_dev(force->to),
				.hold = *cancels(fs, lext) >= MAX_CANCELS,
			};
	}
	if (!n && force->next_victim == v->nr)
		force->obstacle = v->held ? FUSION_VICTIMS_BUSY : FUSION_RANGE_FILLS;
	return n;
}

/*
 * Move others away if there is no room for @want extents: the coldest of the fast member, or the
 * hottest of the slow one. They may take the spares of the other member, as the extents that they
 * make room for leave as many slots there. Return: slots there are now.
 */
static u32 make_room(struct fusion *fs, struct fusion_force *force, u32 want)
{
	struct fusion_move moves[BATCH];
	struct job jobs[BATCH];
	unsigned int i, n, moved = 0;
	u32 room, spares;

	look_for_room(fs, force, &room, &spares);
	if (room >= want || force->obstacle)
		return room;
	/* Slots that were released a moment ago. */
	if (fusion_commit_wait(fs))
		return room;
	flush_work(&fs->reclaim_work);
	look_for_room(fs, force, &room, &spares);
	if (room >= want)
		return room;

	n = take_victims(fs, force, want - room, spares, moves);
	if (!n)
		return room;
	migrate(fs, moves, jobs, n, force, false);
	for (i = 0; i < n; i++)
		moved += jobs[i].outcome == FUSION_MOVED;
	force->vain = moved ? 0 : force->vain + 1;
	if (force->vain == MAX_VAIN)
		force->obstacle = FUSION_VICTIMS_BUSY;
	look_for_room(fs, force, &room, &spares);
	return room;
}

/* Did a first write take the slot meanwhile? */
static bool lost_its_room(const struct fusion *fs, const struct job *job)
{
	return job->outcome == FUSION_SKIPPED && !job->started &&
	       fusion_word_state(job->old) == FUSION_STABLE;
}

static void run_forced(struct fusion *fs, struct fusion_force *force)
{
	struct fusion_move moves[BATCH];
	struct job jobs[BATCH];
	unsigned int i, k, again, skips = 0, n = take_forced(fs, force, moves);

	while (n && !READ_ONCE(fs->stopping) && !READ_ONCE(force->abandoned)) {
		k = min(n, make_room(fs, force, n));
		if (!k) {
			if (force->obstacle || fusion_mode(fs) != FUSION_RW)
				break;
			continue;
		}
		migrate(fs, moves, jobs, k, force, false);
		again = 0;
		for (i = 0; i < k; i++) {
			if (jobs[i].outcome == FUSION_MOVED) {
				force->moved++;
			} else if (jobs[i].outcome == FUSION_CANCELLED && !jobs[i].move.hold &&
				   !READ_ONCE(fs->stopping)) {
				moves[again] = jobs[i].move;
				moves[again++].hold = true;
			} else if (lost_its_room(fs, &jobs[i]) && skips < MAX_VAIN) {
				moves[again++] = jobs[i].move;
				skips++;
			} else {
				force->failed++;
			}
		}
		for (; i < n; i++)
			moves[again++] = moves[i];
		n = again;
	}
	force->failed += n;
}

static struct fusion_force *first_forced(struct fusion *fs)
{
	struct fusion_force *force;

	spin_lock_irq(&fs->lock);
	force = list_first_entry_or_null(&fs->forced, struct fusion_force, list);
	spin_unlock_irq(&fs->lock);
	return force;
}

static void end_forced(struct fusion *fs, struct fusion_force *force, int result)
{
	spin_lock_irq(&fs->lock);
	list_del(&force->list);
	spin_unlock_irq(&fs->lock);
	force->result = result;
	complete(&force->done);
}

int fusion_force(struct fusion *fs, struct fusion_force *force)
{
	init_completion(&force->done);
	spin_lock_irq(&fs->lock);
	if (fs->stopping) {
		spin_unlock_irq(&fs->lock);
		return -EAGAIN;
	}
	list_add_tail(&force->list, &fs->forced);
	spin_unlock_irq(&fs->lock);

	mod_delayed_work(fs->move_wq, &fs->move_work, 0);
	if (wait_for_completion_interruptible(&force->done)) {
		/* The mover may be at it: it ends after this batch. */
		WRITE_ONCE(force->abandoned, true);
		wait_for_completion(&force->done);
	}
	return force->result;
}

/* -- the worker ------------------------------------------------------------------------ */

/*
 * What a batch of @us took of the slow member's time: not all of it, if others queue there,
 * but the share that its commands have of the queue. So migration gets on under a full load,
 * too, and adds as much to it as it should.
 */
static u64 time_used(const struct fusion *fs, u64 us)
{
	u32 looks = max(fs->queue_looks, 1U);

	return div_u64(us * COPY_QUEUE * looks, COPY_QUEUE * looks + fs->queue);
}

/*
 * What a copy costs, in a batch that has many. One of few costs more for each; but if that were
 * told, little would pay, so batches would stay small; and few moves cost little in all.
 */
static void tell_moves(struct fusion *fs, const struct job *jobs, unsigned int nr, u64 used_us)
{
	unsigned int i, copied = 0;

	for (i = 0; i < nr; i++) {
		/* an I/O error takes its time */
		if (jobs[i].outcome == FUSION_FAILED)
			return;
		copied += jobs[i].copied;
	}
	if (copied >= BATCH / 2)
		fusion_policy_moves(fs->policy, used_us, copied);
}

/* A batch of the policy's. Return: was there one? */
static bool run_policy(struct fusion *fs)
{
	struct fusion_policy_env env = {
		.reserve = fusion_reserve(fs),
		.idle = is_idle(fs),
	};
	struct fusion_move moves[BATCH];
	struct job jobs[BATCH];
	unsigned int i, n, max, batches;
	u32 duty = READ_ONCE(fs->opt.duty);
	u64 start, used;

	spin_lock_irq(&fs->lock);
	max = look_at_slots(fs, &env);
	spin_unlock_irq(&fs->lock);

	/* Nothing could come of it. */
	if (fusion_budget_extents(fs) <= 0 && !wanted_demotions(&env))
		return false;
	n = fusion_policy_pick(fs->policy, &env, moves, max);
	n = keep_to_budget(fs, &env, moves, n);
	for (i = 0; i < n; i++)
		moves[i].hold = *cancels(fs, moves[i].lext) >= MAX_CANCELS;
	if (!n)
		return false;
	fs->waited_us = 0;
	fs->queue = 0;
	fs->queue_looks = 0;
	start = now_us();
	batches = migrate(fs, moves, jobs, n, NULL, env.idle);

	used = now_us() - start;
	used = time_used(fs, used - min(used, fs->waited_us));
	if (batches == 1)
		tell_moves(fs, jobs, n, used);
	if (!env.idle || !is_idle(fs))
		fs->next_batch_ms = fusion_now_ms() +
				    min_t(u64, div_u64(used * (100 - duty), duty * 1000),
					  MAX_PAUSE_MS);
	return true;
}

static void do_move(struct work_struct *work)
{
	struct fusion *fs = container_of(work, struct fusion, move_work.work);
	struct fusion_force *force;
	unsigned int pause = TICK_MS;

	tick(fs);
	look_at_slow(fs);
	fusion_budget_refill(fs, fusion_now_ms());
	if (READ_ONCE(fs->stopping))
		return;
	force = first_forced(fs);
	if (force) {
		if (fusion_mode(fs) != FUSION_RW)
			end_forced(fs, force, -EROFS);
		else if (READ_ONCE(force->abandoned))
			end_forced(fs, force, -ERESTARTSYS);
		else if (force->next > force->last)
			end_forced(fs, force, 0);
		else
			run_forced(fs, force);
		pause = 0;
	} else if (fusion_mode(fs) == FUSION_RW) {
		if (idle_ms(fs) >= FILL_IDLE_MS)
			fusion_open_fill_idle(fs, fs->slow_asleep);
		fs->look_usable = true;
		/* Every move reads or writes the slow member. */
		if (READ_ONCE(fs->opt.migration) && !fs->slow_asleep &&
		    (fusion_now_ms() >= fs->next_batch_ms || is_idle(fs)) && run_policy(fs))
			pause = min_t(u64, TICK_MS, fs->next_batch_ms -
						    min(fs->next_batch_ms, fusion_now_ms()));
	}
	queue_delayed_work(fs->move_wq, &fs->move_work, msecs_to_jiffies(pause));
}

void fusion_migrate_start(struct fusion *fs)
{
	WRITE_ONCE(fs->stopping, false);
	fusion_open_fill_anew(fs);
	queue_delayed_work(fs->move_wq, &fs->move_work, msecs_to_jiffies(TICK_MS));
}

void fusion_migrate_stop(struct fusion *fs)
{
	struct fusion_force *force;

	spin_lock_irq(&fs->lock);
	WRITE_ONCE(fs->stopping, true);
	spin_unlock_irq(&fs->lock);
	cancel_delayed_work_sync(&fs->move_work);
	while ((force = first_forced(fs)))
		end_forced(fs, force, -EAGAIN);
}

int fusion_migrate_init(struct fusion *fs)
{
	INIT_LIST_HEAD(&fs->forced);
	INIT_DELAYED_WORK(&fs->move_work, do_move);
	fs->stopping = true;
	fs->opened_ms = fusion_now_ms();
	fs->last_busy_ms = fs->opened_ms;
	fs->slow_used_ms = fs->opened_ms;
	fusion_budget_init(fs, fs->opened_ms);
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
