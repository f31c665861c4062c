/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: epochs of map words, and the drain (dm-fusion-epoch.c). Bios enter and leave in
 * dm-fusion-bio.h.
 */
#ifndef DM_FUSION_EPOCH_H
#define DM_FUSION_EPOCH_H

struct fusion;

void fusion_epochs_init(struct fusion *fs);

/* Leave an epoch that is being drained. Any context in which wake_up() may be called. */
void fusion_leave_old(struct fusion *fs, unsigned int epoch);

/**
 * fusion_drain() - wait until no bio uses a map word that it loaded before this call
 * @fs: device
 *
 * Context: process, sleeps; takes drain_mutex.
 */
void fusion_drain(struct fusion *fs);

#endif
