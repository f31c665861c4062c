/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: slots of the members: which are free (dm-fusion-alloc.c), and discards of free ones
 * (dm-fusion-discard.c). fs->lock is held unless said otherwise.
 */
#ifndef DM_FUSION_SLOTS_H
#define DM_FUSION_SLOTS_H

#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "dm-fusion-codec.h"

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
 * @todo: a bit for each slot to be discarded; such a slot is free, or held for the replica
 * @nr: bits set in @todo
 * @in_flight: slots taken for a discard that is under way
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
	u32 in_flight;
	bool active;
};

/**
 * struct fusion_slots - the slots of both members
 * @used: a bit per slot, reserved ones set
 * @nr_free: bits that are not set
 * @cursor: slot at which the search for the next one starts
 * @nr_quarantined: slots released by transactions that are not committed and drained
 * @discards: slots that await a discard, for each member
 * @hold_discards: the mover needs slots: take none for discards
 * @discard_wait: woken when discards[].in_flight falls
 */
struct fusion_slots {
	unsigned long *used[FUSION_NR_DEVS];
	u32 nr_free[FUSION_NR_DEVS];
	u32 cursor[FUSION_NR_DEVS];
	u32 nr_quarantined;
	struct fusion_discards discards[FUSION_NR_DEVS];
	bool hold_discards;
	wait_queue_head_t discard_wait;
};

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

/* Free a slot that no map word, bio or transaction refers to, and that is not held. */
void fusion_slot_put(struct fusion *fs, u32 word);

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

#endif
