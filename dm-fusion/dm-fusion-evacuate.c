// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the extents inside the fence (dm-fusion-fence.c) are moved out of it, and those on the
 * old member off it, in the same way: its slots are fenced by nature.
 *
 * Each goes to a free slot of the same member, or if there is none besides the spares, to one of
 * the other member. Spares are never used: no slot comes back in exchange for one. The fence is
 * refused if its extents have no room elsewhere, but first writes may take that room later. Then
 * the rest stays until a discard makes room, or the fence is taken down.
 *
 * A move is like one of the policy: it keeps to duty, a write cancels its copy, and if it cannot be
 * made, its extent is left alone for a while. It needs not pay, and spends the write budget without
 * waiting for it.
 *
 * A move from one slow slot to another is recorded in the replica beforehand (INV7). So the
 * replica does not name the old slot when it is released (INV6).
 */
#include "dm-fusion.h"

/* Extents looked at in one go, and before others may run. */
#define SCAN		1048576U
#define SLICE		65536U
/* Pause after an attempt without a move. */
#define PAUSE_MS	1000U

static const struct fusion_force evacuation = { .kind = FUSION_EVACUATE };

/* Slots of a member that may take in extents. fs->lock held. */
static u32 fusion_evacuation_room(const struct fusion *fs, enum fusion_dev dev)
{
	return fusion_beside_spares(fs, dev, fusion_slots_obtainable(fs, dev));
}

/* -- requests -------------------------------------------------------------------------------- */

/* The landing log cannot leave slots that are to be fenced. Return: is it there? If so, logged. */
static bool fusion_fence_over_log(const struct fusion *fs, const struct fusion_force *force)
{
	if (force->to != FUSION_FAST || !fusion_land_within(&fs->land, force->next, force->last))
		return false;
	DMERR("%s: fence: fast slots %u to %u have a part of the landing log; fence others",
	      dm_table_device_name(fs->ti->table), force->next, force->last);
	return true;
}

int fusion_put_up_fence(struct fusion *fs, const struct fusion_force *force)
{
	struct fusion_fence *fence = &fs->slots.fence;
	const char *name = dm_table_device_name(fs->ti->table);
	u32 need, room;
	bool log;

	if (fusion_fence_size(fence)) {
		DMERR("%s: fence: slots %u to %u of the %s member are fenced; send fence off first",
		      name, fence->first, fence->end - 1,
		      fence->dev == FUSION_FAST ? "fast" : "slow");
		return -EBUSY;
	}
	if (fusion_fence_over_log(fs, force))
		return -EBUSY;
	/* Slots that were released a moment ago need no room. */
	if (fusion_commit_wait(fs))
		return -EIO;
	flush_work(&fs->txns.reclaim_work);
	if (force->to == FUSION_FAST)
		fusion_copies_stop(fs);
	fusion_fence_raise(fs, force->to, force->next, force->last);
	if (force->to == FUSION_SLOW)
		fusion_shadow_leave(fs, force->next, force->last);

	spin_lock_irq(&fs->lock);
	/* a commit may have opened a segment there before the fence was up */
	log = fusion_fence_over_log(fs, force);
	/* what leaves the old member needs room as well */
	need = fusion_fence_extents(fs) + fs->old.nr;
	room = fusion_evacuation_room(fs, FUSION_FAST) + fusion_evacuation_room(fs, FUSION_SLOW);
	if (need <= room && !log)
		fusion_fence_settle(fs);
	else
		fusion_fence_drop(fs);
	spin_unlock_irq(&fs->lock);
	fusion_copies_start(fs);
	if (log)
		return -EBUSY;
	if (need <= room)
		return 0;
	DMERR("%s: fence: %u extents need room, %u slots are free elsewhere without the spares",
	      name, need, room);
	return -ENOSPC;
}

int fusion_take_down_fence(struct fusion *fs)
{
	spin_lock_irq(&fs->lock);
	fusion_fence_drop(fs);
	spin_unlock_irq(&fs->lock);
	return 0;
}

void fusion_look_at_fence(struct fusion *fs)
{
	struct fusion_fence *fence = &fs->slots.fence;
	bool empty, held;

	if (!fusion_fence_size(fence))
		return;
	spin_lock_irq(&fs->lock);
	empty = !fusion_fence_used(fence);
	held = fence->nr_held && !fusion_fence_extents(fs);
	spin_unlock_irq(&fs->lock);
	/* Only the replica keeps it from being empty. */
	if (held)
		fusion_replica_soon(fs);
	if (empty && !fence->told)
		dm_table_event(fs->ti->table);
	fence->told = empty;
}

/* -- evacuation ------------------------------------------------------------------------------ */

bool fusion_evacuation_due(struct fusion *fs)
{
	struct fusion_fence *fence = &fs->slots.fence;
	bool due;

	if (!fusion_fence_size(fence) && !fusion_sb_has_old(&fs->sb))
		return false;
	if (fusion_now_ms() < fence->until_ms)
		return false;
	spin_lock_irq(&fs->lock);
	due = (fusion_fence_size(fence) && fusion_fence_extents(fs)) ||
	      fs->old.nr > fs->old.nr_tried;
	spin_unlock_irq(&fs->lock);
	return due;
}

/* Is an extent to be left alone now? What the old member did not return is tried by rounds. */
static bool fusion_may_not_leave(struct fusion *fs, u32 lext, u32 word, bool idle)
{
	if (fusion_was_tried(fs, word))
		return true;
	return !fusion_is_unread(fs, word) && fusion_policy_held(fs->policy, lext, idle);
}

/* The next extents that have to leave, up to @max, unless they are to be left alone. */
static unsigned int fusion_find_leaving(struct fusion *fs, struct fusion_move *moves,
					unsigned int max, bool idle)
{
	struct fusion_fence *fence = &fs->slots.fence;
	u32 left = min(fs->sb.nr_lexts, SCAN);
	unsigned int n = 0;

	while (left-- && n < max) {
		u32 lext = fence->next < fs->sb.nr_lexts ? fence->next : 0;
		u32 word = READ_ONCE(fs->map[lext]);

		fence->next = lext + 1;
		if (!(lext % SLICE))
			cond_resched();
		if (!fusion_word_leaves(fs, word) || fusion_may_not_leave(fs, lext, word, idle))
			continue;
		moves[n++] = (struct fusion_move) {
			.lext = lext,
			.to = fusion_word_dev(word),
			.hold = *fusion_cancels(fs, lext) >= FUSION_MAX_CANCELS,
		};
	}
	return n;
}

/* Complete partial extents. Return: number of moves left, without those that could not be. */
static unsigned int fusion_settle_leaving(struct fusion *fs, struct fusion_move *moves,
					  unsigned int nr)
{
	unsigned int i, n = 0;

	/* Let all be filled while the first is settled. */
	for (i = 0; i < nr; i++)
		fusion_open_fill(fs, moves[i].lext);
	for (i = 0; i < nr; i++) {
		fusion_settle(fs, moves[i].lext);
		if (fusion_word_state(READ_ONCE(fs->map[moves[i].lext])) == FUSION_OPEN)
			fusion_policy_done(fs->policy, &moves[i], FUSION_FAILED);
		else
			moves[n++] = moves[i];
	}
	return n;
}

/* Where the extents go: @to is where they are. Return: number of those that have a place. */
static unsigned int fusion_place_leaving(struct fusion *fs, struct fusion_move *moves,
					 unsigned int nr)
{
	u32 room[FUSION_NR_DEVS];
	unsigned int i;

	spin_lock_irq(&fs->lock);
	nr = min(nr, fusion_longest_batch(fs, FUSION_LONG_BATCH));
	room[FUSION_FAST] = fusion_evacuation_room(fs, FUSION_FAST);
	room[FUSION_SLOW] = fusion_evacuation_room(fs, FUSION_SLOW);
	spin_unlock_irq(&fs->lock);
	for (i = 0; i < nr; i++) {
		if (!room[moves[i].to])
			moves[i].to = fusion_other_dev(moves[i].to);
		if (!room[moves[i].to])
			break;
		room[moves[i].to]--;
	}
	return i;
}

bool fusion_evacuate(struct fusion *fs)
{
	struct fusion_move *moves = fs->mover.batch.moves;
	struct fusion_job *jobs = fs->mover.batch.jobs;
	bool idle = fusion_is_idle(fs);
	unsigned int i, n, moved = 0;
	u64 used;

	n = fusion_find_leaving(fs, moves, fusion_requested_batch(fs, idle), idle);
	n = fusion_settle_leaving(fs, moves, n);
	n = fusion_place_leaving(fs, moves, n);
	if (n)
		fusion_migrate_paced(fs, moves, jobs, n, &evacuation, idle, &used);
	for (i = 0; i < n; i++)
		moved += jobs[i].outcome == FUSION_MOVED;
	if (!moved)
		fs->slots.fence.until_ms = fusion_now_ms() + PAUSE_MS;
	return n;
}
