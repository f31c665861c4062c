/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: the drain of the landing log, which copies blocks to the slow member. Context: the
 * mover. dm-fusion-land-drain.c says when, dm-fusion-land-round.c how. Which blocks are next,
 * dm-fusion-land-sweep.c does.
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

/* What a round is for. */
enum fusion_drain_way {
	FUSION_DRAIN_BESIDE,	/* beside users */
	FUSION_DRAIN_QUIET,	/* nobody uses the slow member */
	FUSION_DRAIN_PRESSED,	/* users wait for it */
};

/**
 * fusion_drain_round() - copy blocks to the slow member
 * @fs: device
 * @end: of segments with lower numbers
 * @force: the request that wants them, or NULL
 * @way: what it is for; the round ends early if the slow member is quiet no longer
 * @counts: result
 *
 * Sleeps. Return: 0, -ENOMEM, or -EIO: nothing may be written.
 */
int fusion_drain_round(struct fusion *fs, u64 end, const struct fusion_force *force,
		       enum fusion_drain_way way, struct fusion_drained *counts);

/* Has the slow member nothing to do for users, and does nobody wait for the round? */
bool fusion_drain_quiet(struct fusion *fs);

/* Drain some of the log, if it is time to. Sleeps. Return: was anything copied? */
bool fusion_drain_landing(struct fusion *fs);

/* The same at once, if writers wait for it, or will soon. */
bool fusion_drain_pressed(struct fusion *fs);

/*
 * The same for a request, which wants all that there was when it began; end it when nothing is
 * left, or what is left cannot be copied. Sleeps.
 */
void fusion_run_drain(struct fusion *fs, struct fusion_force *force);

#endif
