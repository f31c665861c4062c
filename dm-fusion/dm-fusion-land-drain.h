/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: the drain of the landing log, which copies blocks to the slow member. Context: the
 * mover. dm-fusion-land-drain.c says when, dm-fusion-land-round.c how.
 */
#ifndef DM_FUSION_LAND_DRAIN_H
#define DM_FUSION_LAND_DRAIN_H

#include <linux/types.h>

struct fusion;
struct fusion_force;
struct fusion_land;

/* Entries in a round of the drain. */
struct fusion_drained {
	u32 taken;
	u32 copied;		/* these are dead */
	u32 failed;		/* entered in @uncopied of the log */
	u32 in_the_way;		/* not taken: writes are over them, or a copy for a bio */
	u32 given_up;		/* not taken: in @uncopied */
};

/**
 * fusion_drain_round() - copy blocks to the slow member
 * @fs: device
 * @end: of segments with lower numbers, the lowest first
 * @force: the request that wants them, or NULL
 * @quiet: fusion_drain_quiet(); if it is no longer, the round ends early
 * @counts: result
 *
 * Sleeps. Return: 0, -ENOMEM, or -EIO: nothing may be written.
 */
int fusion_drain_round(struct fusion *fs, u64 end, const struct fusion_force *force, bool quiet,
		       struct fusion_drained *counts);

/* Has the slow member nothing to do for users, and does nobody wait for the round? */
bool fusion_drain_quiet(struct fusion *fs);

/*
 * The segment with the lowest number, from *@segno on and below @end, that has entries. Sets
 * *@segno. fs->lock held. Return: its index, or @land->max.
 */
u32 fusion_drain_oldest(const struct fusion_land *land, u64 *segno, u64 end);

/* Drain some of the log, if it is time to. Sleeps. Return: was anything copied? */
bool fusion_drain_landing(struct fusion *fs);

/*
 * The same for a request, which wants all that there was when it began; end it when nothing is
 * left, or what is left cannot be copied. Sleeps.
 */
void fusion_run_drain(struct fusion *fs, struct fusion_force *force);

#endif
