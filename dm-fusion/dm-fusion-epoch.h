/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: epochs of map words, and the drain (dm-fusion-epoch.c).
 */
#ifndef DM_FUSION_EPOCH_H
#define DM_FUSION_EPOCH_H

#include <linux/completion.h>
#include <linux/percpu-refcount.h>

struct fusion;

/* The bios that loaded their map word in one epoch. */
struct fusion_epoch {
	struct percpu_ref ref;
	struct completion drained;	/* @ref has gone to zero after it was killed */
};

int fusion_epochs_init(struct fusion *fs);
void fusion_epochs_exit(struct fusion *fs);

/**
 * fusion_enter() - take a reference of the current epoch
 * @fs: device
 *
 * Context: inside rcu_read_lock(), which must also span the load of the map word.
 * Return: the epoch, for fusion_leave().
 */
unsigned int fusion_enter(struct fusion *fs);
void fusion_leave(struct fusion *fs, unsigned int epoch);

/**
 * fusion_drain() - wait until no bio uses a map word that it loaded before this call
 * @fs: device
 *
 * Context: process, sleeps; takes drain_mutex.
 */
void fusion_drain(struct fusion *fs);

#endif
