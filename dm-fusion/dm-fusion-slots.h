/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: slots of the members: which are free (dm-fusion-alloc.c), discards of free ones
 * (dm-fusion-discard.c), and the fence (dm-fusion-fence.c). fs->lock is held unless said otherwise.
 */
#ifndef DM_FUSION_SLOTS_H
#define DM_FUSION_SLOTS_H

#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "dm-fusion-codec.h"
#include "dm-fusion-used.h"

struct fusion;

/**
 * struct fusion_discards - the slots of a member that await a discard
 * @fs: device
 * @dev: member
 * @at: slot at which the search for the next one starts; only the discard worker's
 * @turn: word of the bitmap at which adding free slots continues; only the bio worker's
 * @work: the discard worker
 * @wq: queue of @work
 *
 * Protected by fs->lock:
 * @todo: a bit for each slot to be discarded; such a slot is free, or held for the replica. NULL if
 *	the member knew no discards when the table was loaded
 * @nr: bits set in @todo
 * @first: first slot of the discard under way
 * @in_flight: slots taken for a discard that is under way, side by side from @first on
 * @active: the discard worker may be queued
 */
struct fusion_discards {
	struct fusion *fs;
	enum fusion_dev dev;
	u32 at;
	u32 turn;
	struct delayed_work work;
	struct workqueue_struct *wq;

	unsigned long *todo;
	u32 nr;
	u32 first;
	u32 in_flight;
	bool active;
};

/**
 * struct fusion_fence - slots of one member that are to become empty, and to stay so
 * @dev: member
 * @first: first slot
 * @end: slot behind the last one; nothing is fenced if it is not beyond @first
 * @nr_empty: free slots inside, which nr_free does not count
 * @nr_retired: slots inside that hold nothing and were lost to write errors
 * @nr_held: slots inside that are held for the replica
 * @rising: it is being put up, or will be taken back: first writes wait until that is decided
 * @told: an event has told that it is empty; only the mover's, as the next two
 * @next: extent at which the search for extents inside continues
 * @until_ms: ktime before which there is nothing to do
 *
 * Only the mover puts it up and takes it down, between batches. So it reads @dev, @first and @end
 * without fs->lock; others do so for a hint.
 */
struct fusion_fence {
	enum fusion_dev dev;
	u32 first;
	u32 end;
	u32 nr_empty;
	u32 nr_retired;
	u32 nr_held;
	bool rising;
	bool told;
	u32 next;
	u64 until_ms;
};

/**
 * struct fusion_slots - the slots of both members
 * @used: those that are taken, reserved ones among them
 * @retired: a bit per slot that a write error has taken out of use; such a slot is used
 * @nr_free: slots that are not in @used, except inside the fence
 * @fence: slots that are not allocated, whether free or not
 * @cursor: slot at which the search for the next one starts
 * @nr_quarantined: slots released by transactions that are not committed and drained
 * @discards: slots that await a discard, for each member
 * @hold_discards: the mover needs slots: take none for discards
 * @discard_wait: woken when discards[].in_flight falls
 */
struct fusion_slots {
	struct fusion_used used[FUSION_NR_DEVS];
	unsigned long *retired[FUSION_NR_DEVS];
	struct fusion_fence fence;
	u32 nr_free[FUSION_NR_DEVS];
	u32 cursor[FUSION_NR_DEVS];
	u32 nr_quarantined;
	struct fusion_discards discards[FUSION_NR_DEVS];
	bool hold_discards;
	wait_queue_head_t discard_wait;
};

/* -- the fence --------------------------------------------------------------------------- */

/* Slots inside it. Any context; without fs->lock for a hint. */
static inline u32 fusion_fence_size(const struct fusion_fence *fence)
{
	u32 first = READ_ONCE(fence->first), end = READ_ONCE(fence->end);

	return end > first ? end - first : 0;
}

/* The number of slots inside it among the @nr from @from on. As fusion_fence_size(). */
static inline u32 fusion_fence_overlap(const struct fusion_fence *fence, enum fusion_dev dev,
				       u32 from, u32 nr)
{
	u32 first = max(from, READ_ONCE(fence->first));
	u32 end = min(from + nr, READ_ONCE(fence->end));

	return dev == READ_ONCE(fence->dev) && end > first ? end - first : 0;
}

static inline bool fusion_fenced(const struct fusion_fence *fence, enum fusion_dev dev, u32 slot)
{
	return fusion_fence_overlap(fence, dev, slot, 1);
}

/* Is this the word of an extent inside? Context: the mover, or fs->lock held. */
static inline bool fusion_word_fenced(const struct fusion_fence *fence, u32 word)
{
	return fusion_word_mapped(word) &&
	       fusion_fenced(fence, fusion_word_dev(word), fusion_word_slot(word));
}

/* A bit for each slot inside it among those of word @i of a bitmap. As fusion_fence_size(). */
static inline unsigned long fusion_fence_bits(const struct fusion_fence *fence,
					      enum fusion_dev dev, size_t i)
{
	u32 from = i * BITS_PER_LONG, first = READ_ONCE(fence->first);
	u32 nr = fusion_fence_overlap(fence, dev, from, BITS_PER_LONG);

	return nr ? ~0UL >> (BITS_PER_LONG - nr) << (first > from ? first - from : 0) : 0;
}

/* Slots inside it that are neither free nor retired. */
static inline u32 fusion_fence_used(const struct fusion_fence *fence)
{
	return fusion_fence_size(fence) - fence->nr_empty - fence->nr_retired;
}

/* @nr slots that were counted as free lie inside the fence: nobody may wait for them. */
static inline void fusion_fence_keep(struct fusion_slots *slots, enum fusion_dev dev, u32 nr)
{
	slots->nr_free[dev] -= nr;
	slots->fence.nr_empty += nr;
}

/* -- dm-fusion-alloc.c ------------------------------------------------------------------- */

int fusion_alloc_init(struct fusion *fs);
void fusion_alloc_exit(struct fusion *fs);

/* Take a slot while loading, without a lock. Return: -EILSEQ if it is taken. */
int fusion_slot_claim(struct fusion *fs, u32 word);

/**
 * fusion_slot_get() - allocate a slot
 * @fs: device
 * @dev: member
 * @lext: extent that gets the slot; on the slow member its home slot is preferred
 * @keep: slots that must stay free
 *
 * Return: STABLE word, or FUSION_WORD_UNMAPPED if no more than @keep are free.
 */
u32 fusion_slot_get(struct fusion *fs, enum fusion_dev dev, u32 lext, u32 keep);

/* Take this very slot. Return: STABLE word, or FUSION_WORD_UNMAPPED if it is not free. */
u32 fusion_slot_take(struct fusion *fs, enum fusion_dev dev, u32 slot);

/*
 * Free a slot that no map word, bio or transaction refers to, and that is not held. Inside the
 * fence it stays out of reach until the fence is gone.
 */
void fusion_slot_put(struct fusion *fs, u32 word);

/* Never use a slot again: it could not be written. */
void fusion_slot_retire(struct fusion *fs, u32 word);

/* -- dm-fusion-discard.c ----------------------------------------------------------------- */

int fusion_discard_init(struct fusion *fs);
void fusion_discard_exit(struct fusion *fs);

/* Discard the content of a slot, once the slot is free. */
void fusion_discard_add(struct fusion *fs, u32 word);

/* Do not discard a slot any more: it has been given to an extent. */
void fusion_discard_forget(struct fusion *fs, enum fusion_dev dev, u32 slot);

/* Continue discarding: held slots are free now, or the option has changed. */
void fusion_discard_kick(struct fusion *fs);

/*
 * As fusion_discard_add(), for @nr free slots or a few more. Successive calls take different slots
 * until all free ones have been added. Bio worker only; takes fs->lock itself.
 */
void fusion_discard_free(struct fusion *fs, u32 nr);

/**
 * fusion_discard_hold() - make sure that slots are available
 * @fs: device
 * @nr: number of slots needed on each member
 *
 * No slots are taken for discards until fusion_discard_go_on(). If few slots are free, this waits
 * for those that are being discarded.
 *
 * Context: the mover; sleeps, but waits for the members only; takes fs->lock itself.
 */
void fusion_discard_hold(struct fusion *fs, u32 nr);
void fusion_discard_go_on(struct fusion *fs);

/* Let the workers run; takes fs->lock itself. */
void fusion_discard_start(struct fusion *fs);

/*
 * Stop the workers, after a short time for remaining discards. They can be started again. No I/O is
 * in flight. Sleeps; takes fs->lock itself.
 */
void fusion_discard_stop(struct fusion *fs);

/* -- dm-fusion-fence.c ------------------------------------------------------------------- */

/**
 * fusion_fence_raise() - put up a fence
 * @fs: device; there is no fence
 * @dev: member
 * @first: first slot
 * @last: last slot
 *
 * fusion_fence_settle() or fusion_fence_drop() must follow.
 * Context: the mover, between batches; takes fs->lock itself.
 */
void fusion_fence_raise(struct fusion *fs, enum fusion_dev dev, u32 first, u32 last);

/* Keep the fence that was raised. */
void fusion_fence_settle(struct fusion *fs);

/* Take the fence down, if there is one: what is free inside it is free for all. */
void fusion_fence_drop(struct fusion *fs);

/* Slots inside that hold extents, or did until a transaction that is not drained yet. */
u32 fusion_fence_extents(const struct fusion *fs);

#endif
