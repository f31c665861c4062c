// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: epochs of map words, and the drain.
 */
#include "dm-fusion.h"

static void fusion_epoch_released(struct percpu_ref *ref)
{
	complete(&container_of(ref, struct fusion_epoch, ref)->drained);
}

int fusion_epochs_init(struct fusion *fs)
{
	unsigned int i;
	int r;

	mutex_init(&fs->drain_mutex);
	for (i = 0; i < 2; i++) {
		init_completion(&fs->epochs[i].drained);
		r = percpu_ref_init(&fs->epochs[i].ref, fusion_epoch_released,
				    PERCPU_REF_ALLOW_REINIT, GFP_KERNEL);
		if (r)
			break;
	}
	if (r && i)
		percpu_ref_exit(&fs->epochs[0].ref);
	return r;
}

void fusion_epochs_exit(struct fusion *fs)
{
	percpu_ref_exit(&fs->epochs[1].ref);
	percpu_ref_exit(&fs->epochs[0].ref);
}

/*
 * The load of the epoch, the tryget and the caller's load of the map word lie in
 * one RCU section. percpu_ref_kill() takes effect after a grace period, so a
 * reader that is preempted anywhere in the section delays a drain, even before it
 * has its reference: it either gets one and is waited for, or sees the reference
 * dying and tries again with the new epoch.
 */
unsigned int fusion_enter(struct fusion *fs)
{
	unsigned int epoch;

	for (;;) {
		/* Pairs with the release in fusion_drain(): new epoch, new words. */
		epoch = smp_load_acquire(&fs->epoch);
		if (likely(percpu_ref_tryget_live_rcu(&fs->epochs[epoch].ref)))
			return epoch;
		cpu_relax();
	}
}

void fusion_leave(struct fusion *fs, unsigned int epoch)
{
	percpu_ref_put(&fs->epochs[epoch].ref);
}

void fusion_drain(struct fusion *fs)
{
	unsigned int old;

	mutex_lock(&fs->drain_mutex);
	old = fs->epoch;
	/* Pairs with the acquire in fusion_enter(). */
	smp_store_release(&fs->epoch, !old);
	percpu_ref_kill(&fs->epochs[old].ref);
	wait_for_completion(&fs->epochs[old].drained);
	percpu_ref_reinit(&fs->epochs[old].ref);
	mutex_unlock(&fs->drain_mutex);
}
