/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A migration engine and a load in miniature, to see what the policy does with them.
 * Deterministic: its own clock and its own random numbers. Each answer of the policy is
 * checked for what is promised of all of them.
 */
#ifndef POLICY_SIM_H
#define POLICY_SIM_H

#include <linux/types.h>

#include "dm-fusion-heat.h"

#define SIM_STEP_MS	50U
#define SIM_IDLE_MS	1000U

struct sim {
	struct fusion_policy *policy;
	u32 *map;
	u32 nr;
	u32 nr_fast;
	s32 nr_free[FUSION_NR_DEVS];	/* below 0: spares in use */
	u32 reserve;
	u64 now_ms;
	u64 last_io_ms;
	u64 seed;

	/* settings */
	u32 batch;		/* moves asked for in each step; 0: migration is off */
	enum fusion_outcome (*outcome)(struct sim *sim, const struct fusion_move *move);

	/* results */
	u64 ios;
	u64 hits;		/* of these, on the fast device */
	u64 moves[FUSION_NR_DEVS];	/* by destination */
	u64 asked;		/* moves in answers of the policy */
	const char *broken;	/* first promise broken */
};

/* All extents unmapped, both devices empty. */
void sim_init(struct sim *sim, u32 nr_fast, u32 nr_slow, u32 reserve);
void sim_exit(struct sim *sim);

/* 0..n - 1 */
u32 sim_random(struct sim *sim, u32 n);

/* Map extents of [first, first + n) that are not, as a first write does: fast first. */
void sim_write_first(struct sim *sim, u32 first, u32 n);

/* Map a stretch of extents to one device. */
void sim_place(struct sim *sim, u32 first, u32 n, enum fusion_dev dev);

/* One access, now. */
void sim_access(struct sim *sim, u32 lext, u32 sectors);

/* Tick, pick, carry out, report; then SIM_STEP_MS have passed. */
void sim_step(struct sim *sim);

/* Time without I/O. */
void sim_rest(struct sim *sim, u64 ms);

/* @iops random accesses of 4 KiB to [first, first + n) for @ms. */
void sim_load(struct sim *sim, u32 first, u32 n, u32 iops, u64 ms);

/* Read [first, first + n) through in bios of @sectors at @extents_per_s of 1 MiB. */
void sim_scan(struct sim *sim, u32 first, u32 n, u32 sectors, u32 extents_per_s);

/* How many extents of [first, first + n) are on the fast device? */
u32 sim_on_fast(const struct sim *sim, u32 first, u32 n);

u64 sim_moves(const struct sim *sim);

#endif
