/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: a member that is being replaced.
 */
#ifndef DM_FUSION_REPLACE_H
#define DM_FUSION_REPLACE_H

#include <linux/types.h>

#include "dm-fusion-codec.h"

struct fusion;

/* The disks of a set: its members, numbered as in enum fusion_dev, and behind them the old one. */
#define FUSION_OLD		2U
#define FUSION_NR_DISKS		3U

/**
 * struct fusion_old_disk - the old member, if fs->dev[FUSION_OLD] is not NULL
 * @dev: the member that it was
 * @used: a bit for each of its data slots with an extent, or that had one until a transaction that
 *	is not drained yet; under fs->lock
 * @nr: bits set in @used; under fs->lock
 * @at_first: what @nr was when the set was loaded
 */
struct fusion_old_disk {
	enum fusion_dev dev;
	unsigned long *used;
	u32 nr;
	u32 at_first;
};

#endif
