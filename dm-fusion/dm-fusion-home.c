// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: homing: every extent goes to its home, so that the slow member can become a plain disk
 * with the content of the set. It is in memory only.
 *
 * The home of an extent is the slot of the slow member with its number. One without such a slot
 * belongs on the fast member. While homing is on, the mover does nothing else:
 *
 *  - An extent whose home is free moves there. One without a home moves to the fast member.
 *  - If there are few of these, extents make room that are in the home of another one: they step
 *    aside, to the fast member or to a slow slot that is no home, or none that is wanted. They may
 *    take spares. That begins a chain, in which each extent that comes home leaves the home of the
 *    next one, and it breaks cycles.
 *  - If none can move, unmapped extents get zeros at their homes, if that is asked for. And partial
 *    extents are completed, which comes last as they may be in use.
 *
 * Why it ends: A move either brings an extent to where it belongs, and there it stays. Or it takes
 * an extent out of the home of another one, and from then on it is in no extent's way. So without
 * new writes there are at most two moves of each extent. And it does not get stuck: as many slots
 * are free in all as there are spares, or more, as each move gives back one. If all of those are on
 * the fast member, an extent can step aside there. A free slow slot is either the home of one that
 * can move, or get zeros, or is wanted by nobody, and an extent can step aside to it. If no extent
 * is in the way of another, then all homes that are wanted are free. For extents without a home,
 * the fast member has to be large enough, which is checked at the beginning. All that waits only
 * for a slot to be released, or for the replica to forget it, unless a write error has retired it.
 *
 * What holds, and why:
 *
 *  - Each is a move like any other, so whenever power fails there is a valid set (INV1, INV4). It
 *    keeps to duty, a write cancels its copy, and if it cannot be made, its extent is left alone
 *    for a while. It needs not pay, and spends the write budget without waiting for it.
 *  - Slots are chosen as a hint, and taken by fusion_slot_take() under fs->lock if their bit says
 *    that they are free. So nobody comes home to a slot in quarantine (INV2), with another extent
 *    (INV3), or held for the replica (INV6), neither a move nor a first write.
 *  - A move from one slow slot to another is announced to the replica (INV7): fusion_leaves_slow().
 *    So the slot that it leaves need not be held for it, and can be the home of the next at once.
 *  - Unmapped extents are mapped by the worker, and here for zeros. Both decide under fs->lock, by
 *    the word. From then on such an extent is like one with a first write that wrote nothing: it
 *    reads as zeros by its bitmap, whatever the slot held.
 *  - What is not at home is counted wherever a word changes, under fs->lock (fusion_homing_note()).
 *    A moved extent is at home when its MOVE is durable, and so is its copy.
 *  - Spares that are used up are no harm to users, whose first writes have other slots: as many are
 *    free in all. The policy needs them for swaps, and gets them back (fusion_look_at_slots()).
 */
#include <linux/sched.h>

#include "dm-fusion.h"
#include "dm-fusion-trace.h"

/* Extents, or free slots, looked at in one go, and before others may run or get the lock. */
#define SCAN		1048576U
#define SLICE		65536U
#define LOCKED_SLICE	4096U
/* Pause if nothing could be moved. */
#define PAUSE_MS	1000U

static const struct fusion_force home_request = { .kind = FUSION_HOME };

/* -- on and off ------------------------------------------------------------------------------ */

static void fusion_homing_off(struct fusion *fs)
{
	struct fusion_homing *h = &fs->mover.homing;

	spin_lock_irq(&fs->lock);
	h->on = false;
	h->zero = false;
	h->counted = 0;
	h->away = 0;
	h->blank = 0;
	spin_unlock_irq(&fs->lock);
}

/* Count what is not at home. Return: number of mapped extents without a home. */
static u32 fusion_count_away(struct fusion *fs)
{
	struct fusion_homing *h = &fs->mover.homing;
	u32 homeless = 0, end, word;

	while (h->counted < fs->sb.nr_lexts) {
		spin_lock_irq(&fs->lock);
		end = h->counted + min(fs->sb.nr_lexts - h->counted, LOCKED_SLICE);
		for (; h->counted < end; h->counted++) {
			word = READ_ONCE(fs->map[h->counted]);
			h->away += fusion_word_away(&fs->sb, h->counted, word);
			h->blank += fusion_word_blank(h, &fs->sb, h->counted, word);
			homeless += fusion_word_mapped(word) &&
				    !fusion_has_home(&fs->sb, h->counted);
		}
		spin_unlock_irq(&fs->lock);
		cond_resched();
	}
	return homeless;
}

int fusion_set_homing(struct fusion *fs, const struct fusion_force *force)
{
	struct fusion_homing *h = &fs->mover.homing;
	const char *name = dm_table_device_name(fs->ti->table);
	u32 homeless;

	if (force->kind == FUSION_NO_HOMING) {
		fusion_homing_off(fs);
		return 0;
	}
	h->told = false;
	if (h->on && h->zero == force->zero)
		return 0;
	if (fusion_fence_size(&fs->slots.fence)) {
		DMERR("%s: homing: there is a fence; send fence off first", name);
		return -EBUSY;
	}
	fusion_homing_off(fs);
	spin_lock_irq(&fs->lock);
	h->zero = force->zero;
	spin_unlock_irq(&fs->lock);
	homeless = fusion_count_away(fs);
	if (homeless > fs->sb.nr_fast_slots) {
		fusion_homing_off(fs);
		DMERR("%s: homing: %u extents have no home, and %u fast slots exist; discard some",
		      name, homeless, fs->sb.nr_fast_slots);
		return -ENOSPC;
	}
	h->barren = 0;
	h->until_ms = 0;
	h->moves = 0;
	h->nr_ready = 0;
	spin_lock_irq(&fs->lock);
	h->on = true;
	spin_unlock_irq(&fs->lock);
	/* Homes are wanted for others. */
	fusion_shadow_forget_all(fs);
	return 0;
}

bool fusion_homing_forbids(const struct fusion *fs, const struct fusion_force *force)
{
	if (!fs->mover.homing.on || (force->kind != FUSION_MOVE && force->kind != FUSION_FENCE))
		return false;
	DMERR("%s: %s: homing is on; send homing off first", dm_table_device_name(fs->ti->table),
	      force->kind == FUSION_FENCE ? "fence" :
	      force->to == FUSION_FAST ? "promote" : "demote");
	return true;
}

static bool fusion_homing_left(struct fusion *fs)
{
	const struct fusion_homing *h = &fs->mover.homing;
	bool left;

	spin_lock_irq(&fs->lock);
	left = h->away || h->blank;
	spin_unlock_irq(&fs->lock);
	return left;
}

void fusion_look_at_homing(struct fusion *fs)
{
	struct fusion_homing *h = &fs->mover.homing;
	bool left;

	if (!h->on)
		return;
	left = fusion_homing_left(fs);
	if (!left && !h->told)
		dm_table_event(fs->ti->table);
	h->told = !left;
}

bool fusion_homing_due(struct fusion *fs)
{
	const struct fusion_homing *h = &fs->mover.homing;

	return h->on && fusion_now_ms() >= h->until_ms && fusion_homing_left(fs);
}

/* -- what can be done ------------------------------------------------------------------------ */

static bool fusion_list_has(const struct fusion_home_list *list, u32 lext)
{
	u32 i;

	for (i = 0; i < list->nr; i++)
		if (list->lext[i] == lext)
			return true;
	return false;
}

static void fusion_list_add(struct fusion_home_list *list, u32 lext)
{
	if (list->nr < ARRAY_SIZE(list->lext) && !fusion_list_has(list, lext))
		list->lext[list->nr++] = lext;
}

/* A hint, as no lock is held. */
static bool fusion_home_free(const struct fusion *fs, u32 lext)
{
	return !test_bit(lext, fs->slots.used[FUSION_SLOW].bits);
}

/* Is this slow slot, which its own extent has not got, the home of one that wants to go there? */
static bool fusion_home_wanted(const struct fusion *fs, u32 slot)
{
	return slot < fs->sb.nr_lexts &&
	       (fs->mover.homing.zero || fusion_word_mapped(READ_ONCE(fs->map[slot])));
}

/* Is the extent with this word, which is astray, in the home of another one? */
static bool fusion_in_the_way(const struct fusion *fs, u32 word)
{
	return fusion_word_dev(word) == FUSION_SLOW &&
	       fusion_home_wanted(fs, fusion_word_slot(word));
}

/* The beginning of a chain, unless another one comes along here. */
static void fusion_plan_aside(const struct fusion *fs, struct fusion_home_list *aside, u32 lext,
			      u32 word)
{
	u32 i;

	if (fusion_list_has(aside, fusion_word_slot(word)))
		return;
	for (i = 0; i < aside->nr; i++)
		if (fusion_word_slot(READ_ONCE(fs->map[aside->lext[i]])) == lext)
			return;
	fusion_list_add(aside, lext);
}

static void fusion_plan_extent(const struct fusion *fs, struct fusion_home_plan *p, u32 lext)
{
	const struct fusion_homing *h = &fs->mover.homing;
	u32 word = READ_ONCE(fs->map[lext]);

	if (!fusion_word_away(&fs->sb, lext, word) &&
	    !fusion_word_blank(h, &fs->sb, lext, word))
		return;
	if (fusion_policy_held(fs->policy, lext, p->idle))
		return;
	if (!fusion_word_mapped(word)) {
		if (fusion_home_free(fs, lext))
			fusion_list_add(&p->blank, lext);
	} else if (fusion_word_state(word) == FUSION_OPEN) {
		fusion_list_add(&p->open, lext);
	} else if (!fusion_has_home(&fs->sb, lext)) {
		fusion_list_add(&p->homeless, lext);
	} else if (fusion_home_free(fs, lext)) {
		fusion_list_add(&p->home, lext);
	} else if (fusion_in_the_way(fs, word)) {
		fusion_plan_aside(fs, &p->aside, lext, word);
	}
}

/* Those whose homes have become free come first, then what is found elsewhere. */
static void fusion_plan_homing(struct fusion *fs, struct fusion_home_plan *p)
{
	struct fusion_homing *h = &fs->mover.homing;
	u32 i, max = min(fs->sb.nr_lexts, SCAN);

	memset(p, 0, sizeof(*p));
	p->idle = fusion_is_idle(fs);
	p->max = fusion_requested_batch(fs, p->idle);
	for (i = 0; i < h->nr_ready; i++)
		fusion_plan_extent(fs, p, h->ready[i]);
	h->nr_ready = 0;
	for (; p->looked < max && p->home.nr < p->max; p->looked++) {
		u32 lext = h->next < fs->sb.nr_lexts ? h->next : 0;

		h->next = lext + 1;
		if (!(lext % SLICE))
			cond_resched();
		fusion_plan_extent(fs, p, lext);
	}
}

/* -- moves ----------------------------------------------------------------------------------- */

/* Up to @max free slow slots that no extent wants. Return: their number. */
static u32 fusion_find_aside(struct fusion *fs, u32 *slots, u32 max)
{
	struct fusion_homing *h = &fs->mover.homing;
	u32 end = fusion_slot_end(fs, FUSION_SLOW), from = h->aside, nr = 0, i, slot;
	bool again = false;

	for (i = 0; nr < max && i < SCAN; i++) {
		if (!(i % LOCKED_SLICE))
			cond_resched();
		spin_lock_irq(&fs->lock);
		slot = fusion_used_next_free(&fs->slots.used[FUSION_SLOW], h->aside);
		spin_unlock_irq(&fs->lock);
		if (again && slot >= from)
			break;
		again |= slot >= end;
		h->aside = slot < end ? slot + 1 : 0;
		if (slot < end && !fusion_home_wanted(fs, slot))
			slots[nr++] = slot;
	}
	return nr;
}

static void fusion_add_move(struct fusion *fs, struct fusion_move *move, u32 lext,
			    enum fusion_dev to, u32 slot)
{
	*move = (struct fusion_move) {
		.lext = lext,
		.to = to,
		.hold = *fusion_cancels(fs, lext) >= FUSION_MAX_CANCELS,
		.slot = slot,
	};
}

/*
 * Those that make room, up to @max. They take spares if nothing else is free. @fast: free fast
 * slots, @beside: of these, without the spares. Return: number of moves.
 */
static unsigned int fusion_place_aside(struct fusion *fs, const struct fusion_home_list *aside,
				       struct fusion_move *moves, u32 max, u32 fast, u32 beside)
{
	u32 slots[FUSION_LONG_BATCH], n, i, slow = 0;

	n = min(max, aside->nr);
	beside = min(beside, n);
	if (n > beside)
		slow = fusion_find_aside(fs, slots, n - beside);
	n = min(n, fast + slow);
	for (i = 0; i < n; i++) {
		bool to_slow = i >= beside && i < beside + slow;

		fusion_add_move(fs, &moves[i], aside->lext[i], to_slow ? FUSION_SLOW : FUSION_FAST,
				to_slow ? slots[i - beside] : 0);
	}
	return n;
}

/* Where the extents go. Return: number of moves. */
static unsigned int fusion_place_home(struct fusion *fs, struct fusion_home_plan *p,
				      struct fusion_move *moves)
{
	unsigned int i, max, n = 0;
	u32 fast, beside;
	bool few;

	spin_lock_irq(&fs->lock);
	max = fusion_longest_batch(fs, p->max);
	fast = fs->slots.nr_free[FUSION_FAST];
	spin_unlock_irq(&fs->lock);
	beside = fusion_beside_spares(fs, FUSION_FAST, fast);

	for (; n < p->home.nr && n < max; n++)
		fusion_add_move(fs, &moves[n], p->home.lext[n], FUSION_SLOW, p->home.lext[n]);
	few = n <= max / 2;
	for (i = 0; i < p->homeless.nr && n < max; i++) {
		u32 lext = p->homeless.lext[i], word = READ_ONCE(fs->map[lext]);

		if (beside || (few && fast)) {
			beside -= min(beside, 1U);
			fast--;
			fusion_add_move(fs, &moves[n++], lext, FUSION_FAST, 0);
		} else if (fusion_word_mapped(word) && fusion_in_the_way(fs, word)) {
			fusion_plan_aside(fs, &p->aside, lext, word);
		}
	}
	if (few)
		n += fusion_place_aside(fs, &p->aside, &moves[n], max - n, fast, beside);
	return n;
}

/* The extents whose homes have been left are the next to go. */
static void fusion_note_ready(struct fusion *fs, const struct fusion_job *job)
{
	struct fusion_homing *h = &fs->mover.homing;

	if (fusion_word_dev(job->old) == FUSION_SLOW &&
	    fusion_word_slot(job->old) < fs->sb.nr_lexts && h->nr_ready < ARRAY_SIZE(h->ready))
		h->ready[h->nr_ready++] = fusion_word_slot(job->old);
}

/* Return: was any move tried? */
static bool fusion_move_home(struct fusion *fs, struct fusion_home_plan *p)
{
	struct fusion_move *moves = fs->mover.batch.moves;
	struct fusion_job *jobs = fs->mover.batch.jobs;
	unsigned int i, n = fusion_place_home(fs, p, moves), moved = 0;
	u64 used;

	if (!n)
		return false;
	fusion_migrate_paced(fs, moves, jobs, n, &home_request, p->idle, &used);
	for (i = 0; i < n; i++) {
		const struct fusion_job *job = &jobs[i];

		if (job->outcome == FUSION_MOVED) {
			moved++;
			fusion_note_ready(fs, job);
		} else if (job->retire && job->move.slot == job->move.lext) {
			DMERR("%s: homing: cannot write the home of extent %u; replace that disk",
			      dm_table_device_name(fs->ti->table), job->move.lext);
		}
	}
	if (!moved)
		fs->mover.homing.until_ms = fusion_now_ms() + PAUSE_MS;
	return true;
}

/* -- zeros, and partial extents --------------------------------------------------------------- */

/* Map an unmapped extent at home, with nothing in it. Return: was that possible? */
static bool fusion_map_blank(struct fusion *fs, u32 lext)
{
	u32 word = FUSION_WORD_UNMAPPED;

	spin_lock_irq(&fs->lock);
	/* First writes need structures as well. */
	if (READ_ONCE(fs->map[lext]) == FUSION_WORD_UNMAPPED && fs->opens.nr < fs->opens.max / 2 &&
	    !list_empty(&fs->opens.free))
		word = fusion_slot_take(fs, FUSION_SLOW, lext);
	if (fusion_word_mapped(word))
		word = fusion_open_first(fs, lext, word);
	spin_unlock_irq(&fs->lock);
	if (!fusion_word_mapped(word))
		return false;
	trace_fusion_alloc(fs, lext, word);
	return true;
}

/* Complete partial extents; those that cannot be are left alone for a while. */
static void fusion_complete(struct fusion *fs, const struct fusion_home_list *list)
{
	u32 i;

	/* Let all be filled while the first is settled. */
	for (i = 0; i < list->nr; i++)
		fusion_open_fill(fs, list->lext[i]);
	for (i = 0; i < list->nr; i++) {
		const struct fusion_move move = { .lext = list->lext[i], .to = FUSION_SLOW };

		fusion_settle(fs, move.lext);
		if (fusion_word_state(READ_ONCE(fs->map[move.lext])) == FUSION_OPEN)
			fusion_policy_done(fs->policy, &move, FUSION_FAILED);
	}
}

/* Return: was there anything to fill? */
static bool fusion_fill_home(struct fusion *fs, struct fusion_home_plan *p)
{
	u64 start = fusion_now_us();
	struct fusion_home_list list = {};
	u32 i;

	for (i = 0; i < p->blank.nr && list.nr < FUSION_MAX_FILLS; i++)
		if (fusion_map_blank(fs, p->blank.lext[i]))
			fusion_list_add(&list, p->blank.lext[i]);
	for (i = 0; i < p->open.nr && list.nr < FUSION_MAX_FILLS; i++)
		fusion_list_add(&list, p->open.lext[i]);
	if (!list.nr)
		return false;
	fusion_complete(fs, &list);
	if (!p->idle || !fusion_is_idle(fs))
		fusion_pace(fs, fusion_now_us() - start);
	return true;
}

/* -- all of it ------------------------------------------------------------------------------- */

bool fusion_bring_home(struct fusion *fs)
{
	struct fusion_homing *h = &fs->mover.homing;
	struct fusion_home_plan *p = &h->plan;
	bool held;

	fusion_plan_homing(fs, p);
	if (fusion_move_home(fs, p) || fusion_fill_home(fs, p)) {
		h->barren = 0;
		return true;
	}
	h->barren += p->looked;
	if (h->barren < fs->sb.nr_lexts)
		return true;
	h->barren = 0;
	h->until_ms = fusion_now_ms() + PAUSE_MS;
	/* Homes may wait for the replica. */
	spin_lock_irq(&fs->lock);
	held = fusion_slots_freed_soon(fs);
	spin_unlock_irq(&fs->lock);
	if (held)
		fusion_replica_soon(fs);
	return false;
}
