/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fusionctl simulate: inside of a simulated set, for sim-engine.c, sim-create.c, sim-phase.c,
 * sim-mover.c and sim-land*.c only.
 */
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include <stdbool.h>

#include "sim.h"
#include "sim-copies.h"
#include "sim-land.h"

/* Numbers of commands and events: I/Os below SIM_MAX_DEPTH, then these. */
#define SIM_ID_ARRIVAL	0x10000U	/* + load; a multiple of SIM_MAX_LOADS */
#define SIM_ID_MOVER	0x20000U	/* + what the mover makes of it */
#define SIM_ID_LOG	0x40000U	/* + what the landing log makes of it */
#define SIM_ID_NOBODY	SIM_ID_LOG	/* nobody waits for it */
#define SIM_ID_COPY	(SIM_ID_LOG + 1)	/* the write of a copy: nor for that */

/* Hits of an extent that was on the fast member from the beginning: it is never called wasted. */
#define SIM_ALWAYS_THERE	0x80000000U

#define SIM_AWAY	8192U
#define SIM_REPLICA_S	60U

/* An I/O under way. */
struct sim_io {
	u64 since;
	u32 lext, offset, bytes;
	u8 load;
	bool write;
	bool stream;		/* it is part of one, or large */
	bool fills;		/* what it reads gets copies */
	bool paced;		/* it has waited for room in the landing log */
	u8 epoch;		/* 0, 1; SIM_NO_EPOCH: holds none */
	u8 dev;			/* if it holds one */
};

#define SIM_NO_EPOCH	2

struct sim_event {
	u64 at;
	u32 id;
};

/* A load, or the trace, which is then the only one. */
struct sim_source {
	struct sim_load load;
	bool active, ended;
	bool late;		/* open loop: an arrival waits for a free I/O */
	u64 next;		/* open loop: when the next I/O arrives */
	u64 rng;		/* for that */
	u32 depth;		/* most I/Os at a time */
	u32 nr;			/* of them under way */
};

enum sim_step { SIM_WAITS, SIM_DRAINS, SIM_COPIES, SIM_RECORDS, SIM_COMMITS, SIM_RECLAIMS };

struct sim_job {
	struct fusion_move move;
	u32 old, new;
	enum fusion_outcome outcome;
	bool started, copied, flips;
};

/* See dm-fusion-batch.c; the names are those there. */
struct sim_mover {
	enum sim_step step;
	u64 at;			/* timer of SIM_WAITS */
	u64 start, waited, wait_since, next_batch;
	u32 queue, queue_looks;
	u64 look, look_done[FUSION_NR_DEVS], look_unweighed;
	bool look_usable;
	bool was_idle;
	struct fusion_move picked[FUSION_LONG_BATCH];
	unsigned int nr_picked, next;
	unsigned int nr_batches, nr_copies, nr_copied;	/* of them */
	struct sim_job job[FUSION_LONG_BATCH];	/* of this batch */
	unsigned int nr, current;
	unsigned int ops;	/* commands of this step under way */
	bool recording;		/* the replica's record is under way */
	struct {
		u32 lext;
		u8 nr;
	} cancels[FUSION_CANCELS];
	u64 *away;		/* by lext: the replica records that it may be leaving */
	u32 away_list[SIM_AWAY];
	unsigned int nr_away;
	u64 away_since;
};

struct sim_engine {
	const struct sim_config *cfg;
	enum sim_kind kind;
	enum fusion_dev alone;
	struct sim_result *result;

	struct fusion_sb sb;
	u32 nr_used;		/* lexts that the load goes to */
	u32 nr_mapped;
	u32 reserve;
	u32 *map;
	struct sim_slots slots[FUSION_NR_DEVS];
	u32 fill_fast[2];	/* the first placement: lexts from, to on the fast member */
	struct fusion_policy *policy;
	u32 *shadow;		/* by fast slot: the slow slot of its extent's shadow, 0: none */
	u32 *shadow_of;		/* by fast slot: that extent */
	u32 nr_shadows, shadow_next;

	u64 now;
	u64 hdd_at;
	struct sim_event *heap;
	u32 nr_events;
	u64 boundary;		/* the loads change */

	struct sim_source source[SIM_MAX_LOADS];
	unsigned int nr_sources;
	u64 trace_next, trace_base;

	struct sim_io io[SIM_MAX_DEPTH];
	u32 free_io[SIM_MAX_DEPTH], nr_free_io;
	u32 parked[SIM_MAX_DEPTH], nr_parked;
	u32 nr_flying[2];	/* by epoch */
	u8 epoch;
	u32 nr_at[FUSION_NR_DEVS];	/* I/Os at a member */
	u64 nr_done[FUSION_NR_DEVS];
	u64 unweighed;
	struct fusion_streams streams;
	u64 last_busy;

	struct sim_hdd hdd;
	struct sim_ssd ssd;
	struct sim_mover mover;
	struct sim_land land;
	struct sim_copies copies;

	struct sim_point *point;	/* the running one */
	u64 point_end;
	struct sim_point total;
	u64 phase_start;
	u32 phase_point;	/* its first one */
	u32 *slot_hits;		/* by fast slot, since its extent was promoted */
	u32 *slot_since_s;	/* by fast slot: second in which that was */
	u32 *left_s;		/* by lext: second after it was demoted, 0 never */
	const char *broken;
};

void sim_submit(struct sim_engine *e, enum fusion_dev dev, u64 byte, u32 bytes, bool write,
		u32 id);
void sim_event_at(struct sim_engine *e, u64 at, u32 id);
/* Send an I/O to where it belongs now. */
void sim_route(struct sim_engine *e, u32 id);
/* A free slot for an extent, at home if it can be; SIM_NO_SLOT: there is none. */
u32 sim_take_slot(struct sim_engine *e, enum fusion_dev dev, u32 lext);
u64 sim_word_byte(const struct sim_engine *e, u32 word);
/* Let parked writes try again. */
void sim_unpark(struct sim_engine *e);
bool sim_is_idle(const struct sim_engine *e);

/* -- sim-shadow.c: the names are those of dm-fusion-shadow.c */

bool sim_shadows_init(struct sim_engine *e);
void sim_shadows_exit(struct sim_engine *e);
bool sim_shadow_wanted(const struct sim_engine *e, u32 old, u32 new);
bool sim_shadow_keep(struct sim_engine *e, u32 lext, u32 old, u32 new);
bool sim_has_shadow(const struct sim_engine *e, u32 word);
u32 sim_shadow_take(struct sim_engine *e, u32 word);
void sim_shadow_drop(struct sim_engine *e, u32 word);
void sim_shadows_yield(struct sim_engine *e, u32 keep);
void sim_shadows_tend(struct sim_engine *e);

/* -- sim-phase.c */

void sim_point_add(struct sim_point *sum, const struct sim_point *p);
/* Begin a point; the previous one is complete. */
int sim_point_next(struct sim_engine *e);
/* A phase ends now: judge it, and begin a point for the next one. */
int sim_phase_end(struct sim_engine *e);
/* Promotions that may be called wasted when they leave, and that had time to prove useful. */
void sim_count_resting(struct sim_engine *e);

/* -- sim-mover.c: the time of its timer has come; one of its commands is done; the I/Os it
 * drains have completed
 */
void sim_mover_timer(struct sim_engine *e);
void sim_mover_done(struct sim_engine *e, u32 id);
void sim_mover_drained(struct sim_engine *e);
/* Slots that it has taken and that no map word has. */
u32 sim_mover_slots(const struct sim_engine *e);

#endif
