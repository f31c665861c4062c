/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: the drain of the landing log, which copies blocks to the slow member. Context: the
 * mover. dm-fusion-land-drain.c says when, dm-fusion-land-round.c how, dm-fusion-land-sweep.c which
 * blocks are next; dm-fusion-pieces.c reads and writes them. dm-fusion-land-moves.c lays blocks of
 * extents that move to the fast member over their copies.
 */
#ifndef DM_FUSION_LAND_DRAIN_H
#define DM_FUSION_LAND_DRAIN_H

#include <linux/types.h>

#include "dm-fusion-io.h"

struct fusion;
struct fusion_force;
struct fusion_job;
struct fusion_land;

/* The shortest pause after a copy that has failed, and if nothing could be copied. */
#define FUSION_DRAIN_PAUSE_MS	1000U

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

/* Return: 0 or -ENOMEM; fusion_drain_exit() must follow in any case. */
int fusion_drain_init(struct fusion *fs);
void fusion_drain_exit(struct fusion *fs);

/**
 * fusion_drain_round() - copy blocks to the slow member
 * @fs: device
 * @end: of segments with lower numbers
 * @force: the request that wants them, or NULL
 * @way: what it is for; the round ends early if the slow member is quiet no longer
 * @counts: result
 *
 * Sleeps. Return: 0, or -EIO: nothing may be written.
 */
int fusion_drain_round(struct fusion *fs, u64 end, const struct fusion_force *force,
		       enum fusion_drain_way way, struct fusion_drained *counts);

/* -- dm-fusion-land-moves.c, dm-fusion-land-drain.c -------------------------------------------- */

/*
 * Behind step 5: flush what was copied to the slow member; then lay entries of extents that were
 * copied to the fast one over the copies, for which these are LOCKED. A job that fails gets its
 * @outcome, and is not @copied any more. Sleeps.
 */
void fusion_merge_jobs(struct fusion *fs, struct fusion_job *jobs, unsigned int nr);

/* Has a job that was copied to the fast member entries that are not in the copy? fs->lock held. */
bool fusion_merge_lacks(struct fusion *fs, const struct fusion_job *job);

/* Behind step 7: what was laid over copies is dead. */
void fusion_merge_forget(struct fusion *fs, const struct fusion_job *jobs, unsigned int nr);

/*
 * Is a job to move an extent to the slow member where entries of it would count again, as no commit
 * has recorded their death yet? fs->lock held.
 */
bool fusion_merge_unrecorded(struct fusion *fs, const struct fusion_job *job);

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
