// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: moves on request: the messages promote and demote.
 */
#include <linux/jiffies.h>

#include "dm-fusion.h"

#define SETTLE_TRIES	1000U
/* Extents scanned at once for victims; attempts in a row to move any victim. */
#define SCAN_SLICE	16384U
#define MAX_VAIN	4U

void fusion_settle(struct fusion *fs, u32 lext)
{
	unsigned int tries;

	for (tries = 0; tries < SETTLE_TRIES; tries++) {
		if (fusion_word_state(READ_ONCE(fs->map[lext])) != FUSION_OPEN ||
		    READ_ONCE(fs->mover.stopping))
			return;
		if (!fusion_open_fill(fs, lext) || fusion_commit_wait(fs))
			return;
		schedule_timeout_uninterruptible(1);
	}
}

/* The oldest OPEN extent if there are more than may be at a join. Return: false: no more are. */
static bool fusion_oldest_open(struct fusion *fs, u32 *lext)
{
	struct fusion_open *open;
	bool found = false;

	spin_lock_irq(&fs->lock);
	if (fs->opens.nr > FUSION_JOIN_OPENS) {
		list_for_each_entry(open, &fs->opens.lru, lru) {
			if (open->closed)
				continue;
			*lext = open->lext;
			found = true;
			break;
		}
	}
	spin_unlock_irq(&fs->lock);
	return found;
}

int fusion_settle_most(struct fusion *fs, const struct fusion_force *force)
{
	/* One that fails becomes the youngest, unless it failed before, and is tried again. */
	const u32 vain = 2 * FUSION_JOIN_OPENS;
	u32 lext, failed = 0, tries = fs->opens.max;

	/* Nothing completes those; with them, no disk can join. */
	if (READ_ONCE(fs->opens.nr_lost) && (fusion_commit_wait(fs) || fs->opens.nr_lost)) {
		DMERR("%s: settle: %u extents have lost blocks: write or discard all of each",
		      dm_table_device_name(fs->ti->table), READ_ONCE(fs->opens.nr_lost));
		return -EBUSY;
	}
	while (tries-- && failed <= vain && !READ_ONCE(fs->mover.stopping)) {
		if (READ_ONCE(force->abandoned))
			return -ERESTARTSYS;
		if (!fusion_oldest_open(fs, &lext))
			return 0;
		/* let the next ones be filled while this one is settled */
		fusion_open_fill_oldest(fs, FUSION_MAX_FILLS);
		fusion_settle(fs, lext);
		failed += fusion_word_state(READ_ONCE(fs->map[lext])) == FUSION_OPEN;
	}
	return failed > vain ? -EIO : -EAGAIN;
}

static unsigned int fusion_take_forced(struct fusion *fs, struct fusion_force *force,
				       struct fusion_move *moves)
{
	unsigned int n = 0, max = fusion_requested_batch(fs, fusion_is_idle(fs));
	u32 lext;

	/* Let the next ones be filled while the first is settled. */
	for (lext = force->next; lext <= force->last && lext - force->next < max; lext++)
		fusion_open_fill(fs, lext);

	while (n < max && force->next <= force->last) {
		u32 word = READ_ONCE(fs->map[force->next]);

		/* No room is made for those inside the fence: fusion_make_room(). */
		if (n && fusion_word_leaves(fs, word) != force->fenced)
			break;
		force->fenced = fusion_word_leaves(fs, word);
		lext = force->next++;
		if (!fusion_word_mapped(word)) {
			force->unmapped++;
		} else if (fusion_word_dev(word) == force->to) {
			force->already++;
		} else {
			fusion_settle(fs, lext);
			moves[n++] = (struct fusion_move) { .lext = lext, .to = force->to };
		}
	}
	return n;
}

/* -- room for them --------------------------------------------------------------------------- */

/* Free slots for moves on request, and for the moves that make room for them. */
static void fusion_look_for_room(struct fusion *fs, const struct fusion_force *force, u32 *room,
				 u32 *spares)
{
	spin_lock_irq(&fs->lock);
	*room = fusion_beside_spares(fs, force->to, fusion_slots_obtainable(fs, force->to));
	*spares = min(fusion_slots_obtainable(fs, fusion_other_dev(force->to)),
		      fusion_longest_batch(fs, FUSION_BATCH));
	spin_unlock_irq(&fs->lock);
}

/* Scan for extents that may make room. Return: were any found? */
static bool fusion_find_victims(struct fusion *fs, struct fusion_force *force)
{
	struct fusion_victims *v = &force->victims;
	u32 lext, end;

	force->next_victim = 0;
	if (fs->slots.fence.dev == v->dev) {
		v->fence_first = fs->slots.fence.first;
		v->fence_end = fs->slots.fence.end;
	}
	/* what leaves the old member makes no room here either */
	v->old_slot = fs->old_slot[v->dev];
	v->nr = 0;
	v->held = 0;
	for (lext = 0; lext < fs->sb.nr_lexts; lext = end) {
		end = lext + min(fs->sb.nr_lexts - lext, SCAN_SLICE);
		fusion_policy_victims(fs->policy, v, lext, end);
		cond_resched();
	}
	return v->nr;
}

/* Choose moves that make room for @want extents and take up to @spares slots. */
static unsigned int fusion_take_victims(struct fusion *fs, struct fusion_force *force, u32 want,
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

		/* A new scan may find the victims of this batch again, so move these first. */
		if (force->next_victim == v->nr && (n || !fusion_find_victims(fs, force)))
			break;
		lext = v->best[force->next_victim++].lext;
		fusion_settle(fs, lext);
		word = READ_ONCE(fs->map[lext]);
		if (fusion_word_mapped(word) && fusion_word_dev(word) == force->to)
			moves[n++] = (struct fusion_move) {
				.lext = lext,
				.to = fusion_other_dev(force->to),
				.hold = *fusion_cancels(fs, lext) >= FUSION_MAX_CANCELS,
			};
	}
	if (!n && force->next_victim == v->nr)
		force->obstacle = v->held ? FUSION_VICTIMS_BUSY : FUSION_RANGE_FILLS;
	return n;
}

/*
 * If there is no room for @want extents, move others away: the coldest of the fast member, or the
 * hottest of the slow one. These may take spares of the other member, as the extents that get
 * their room leave as many slots there. Extents inside the fence do not, so no others move for
 * them. Return: number of slots available now.
 */
static u32 fusion_make_room(struct fusion *fs, struct fusion_force *force, u32 want)
{
	struct fusion_move *moves = fs->mover.room.moves;
	struct fusion_job *jobs = fs->mover.room.jobs;
	unsigned int i, n, moved = 0;
	u32 room, spares;

	fusion_look_for_room(fs, force, &room, &spares);
	if (room >= want || force->obstacle || force->fenced)
		return room;
	/* First try to free slots that were released a moment ago. */
	if (fusion_commit_wait(fs))
		return room;
	flush_work(&fs->txns.reclaim_work);
	fusion_look_for_room(fs, force, &room, &spares);
	if (room >= want)
		return room;

	n = fusion_take_victims(fs, force, want - room, spares, moves);
	if (!n)
		return room;
	fusion_migrate(fs, moves, jobs, n, force, false);
	for (i = 0; i < n; i++)
		moved += jobs[i].outcome == FUSION_MOVED;
	force->vain = moved ? 0 : force->vain + 1;
	if (force->vain == MAX_VAIN)
		force->obstacle = FUSION_VICTIMS_BUSY;
	fusion_look_for_room(fs, force, &room, &spares);
	return room;
}

/* Did a first write take the slot meanwhile? */
static bool fusion_lost_its_room(const struct fusion *fs, const struct fusion_job *job)
{
	return job->outcome == FUSION_SKIPPED && !job->started &&
	       fusion_word_state(job->old) == FUSION_STABLE;
}

/* -- requests -------------------------------------------------------------------------------- */

void fusion_run_forced(struct fusion *fs, struct fusion_force *force)
{
	struct fusion_move *moves = fs->mover.batch.moves;
	struct fusion_job *jobs = fs->mover.batch.jobs;
	unsigned int i, k, again, skips = 0, n = fusion_take_forced(fs, force, moves);

	while (n && !READ_ONCE(fs->mover.stopping) && !READ_ONCE(force->abandoned)) {
		k = min(n, fusion_make_room(fs, force, n));
		if (!k) {
			if (force->fenced || force->obstacle || fusion_mode(fs) != FUSION_RW)
				break;
			continue;
		}
		force->rest = moves + k;
		force->nr_rest = n - k;
		fusion_migrate(fs, moves, jobs, k, force, false);
		force->nr_rest = 0;
		again = 0;
		for (i = 0; i < k; i++) {
			if (jobs[i].outcome == FUSION_MOVED) {
				force->moved++;
			} else if (jobs[i].outcome == FUSION_CANCELLED && !jobs[i].move.hold &&
				   !READ_ONCE(fs->mover.stopping)) {
				moves[again] = jobs[i].move;
				moves[again++].hold = true;
			} else if (fusion_lost_its_room(fs, &jobs[i]) && skips < MAX_VAIN) {
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

struct fusion_force *fusion_first_forced(struct fusion *fs)
{
	struct fusion_force *force;

	spin_lock_irq(&fs->lock);
	force = list_first_entry_or_null(&fs->mover.forced, struct fusion_force, list);
	spin_unlock_irq(&fs->lock);
	return force;
}

void fusion_end_forced(struct fusion *fs, struct fusion_force *force, int result)
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
	if (fs->mover.stopping) {
		spin_unlock_irq(&fs->lock);
		return -EAGAIN;
	}
	list_add_tail(&force->list, &fs->mover.forced);
	spin_unlock_irq(&fs->lock);

	mod_delayed_work(fs->mover.wq, &fs->mover.work, 0);
	if (wait_for_completion_interruptible(&force->done)) {
		/* The mover may be serving the request: it stops after this batch. */
		WRITE_ONCE(force->abandoned, true);
		wait_for_completion(&force->done);
	}
	return force->result;
}
