// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: epochs of map words, and the drain.
 *
 * A bio is counted in the epoch that it found, in fusion_enter(), until fusion_leave(). The counts
 * are per CPU, and a bio may leave on another CPU than it has entered on. So only the sum means
 * anything, and only of an epoch that nobody enters any more, since CPUs are examined in turn.
 *
 * fs->epoch, the count, and the map word are accessed in one RCU section. So when a drain has
 * flipped the epoch and waited for all sections of before, whoever will be in the old one is
 * counted, and a reader that is held up anywhere in the section delays the drain. From then on
 * each part of the sum only falls. So the sum that is found is never below the number of those who
 * are inside at the end of the search, and 0 means that there is none.
 *
 * Who leaves the present epoch need not tell anybody. It looks at fs->epoch and counts in one RCU
 * section as well: if a drain begins after that look, it waits for the section before it sums up.
 * Who leaves another epoch has a drain waiting, since a drain lasts until the old epoch is empty,
 * and drains come one after another.
 */
#include "dm-fusion.h"

void fusion_epochs_init(struct fusion *fs)
{
	mutex_init(&fs->drain_mutex);
	init_waitqueue_head(&fs->drain_wait);
}

static bool fusion_epoch_empty(const struct fusion *fs, unsigned int epoch)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(fs->stats, cpu)->inside[epoch]);
	/* Pairs with the barrier in fusion_leave_old(): what was done inside is done. */
	smp_mb();
	return !sum;
}

void fusion_leave_old(struct fusion *fs, unsigned int epoch)
{
	/* Pairs with the barrier in fusion_epoch_empty(). */
	smp_mb();
	this_cpu_dec(fs->stats->inside[epoch]);
	/* The table cannot be freed before this bio has ended. */
	wake_up(&fs->drain_wait);
}

void fusion_drain(struct fusion *fs)
{
	unsigned int old;

	mutex_lock(&fs->drain_mutex);
	old = fs->epoch;
	/* Pairs with the acquire in fusion_enter(). */
	smp_store_release(&fs->epoch, !old);
	synchronize_rcu();
	wait_event(fs->drain_wait, fusion_epoch_empty(fs, old));
	mutex_unlock(&fs->drain_mutex);
}
