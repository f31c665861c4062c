/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fusionctl simulate: the landing log of a simulated set: which writes get into it, when they wait,
 * and how it is drained. The names are those of dm-fusion-land*.c, whose rules these are.
 *
 * sim-land.c		its segments and its index
 * sim-land-append.c	writes and reads, and writes that wait
 * sim-land-drain.c	the drain
 */
#ifndef SIM_LAND_H
#define SIM_LAND_H

#include <stdbool.h>

#include "sim.h"

struct sim_engine;
struct sim_io;

#define SIM_BLOCK	4096U
#define SIM_NO_POS	UINT32_MAX
#define SIM_NO_BLOCK	UINT64_MAX
/* Copies that are under way at once, at most. */
#define SIM_LAND_COPIES	8U

struct sim_segment {
	u64 segno;		/* 0: it is free */
	u32 slot;		/* of the fast member */
	u32 nr_live;
};

/* A block that is to be drained, and where it goes to. */
struct sim_swept {
	u64 to;			/* byte of the slow member */
	u64 block;		/* of the set */
	u32 pos;
};

struct sim_land {
	u32 max;		/* segments; 0: there is no log */
	u32 blocks;		/* of a segment, and of an extent */
	struct sim_segment *segment;
	u32 nr_free;
	/* by position: block b of segment s is s * blocks + b */
	u64 *block;		/* of the set, or SIM_NO_BLOCK: there is no entry */
	u32 *next;		/* in its bucket */
	u32 *bucket;
	u32 nr_buckets;
	u32 nr_live, nr_filled;	/* entries, and segments with any */

	/* the end of the log */
	u64 segno;
	u32 at_segment, at;
	u64 end;		/* positions given so far */
	u32 since_header;

	/* writes that wait */
	u32 waiting[SIM_MAX_DEPTH], nr_waiting;
	u64 wait_since[SIM_MAX_DEPTH];
	u64 limit, admitted;
	u32 part;

	/* the drain */
	u64 timer;		/* when to look */
	u64 slow_used;		/* when users last used the slow member */
	bool pressed, quiet;
	u64 next_round, round_start;
	struct sim_swept *sweep;
	u32 nr_sweep, sweep_at;
	u32 left;		/* of this round */
	u32 most;		/* copies at once */
	u32 copied;
	u32 nr_copies;		/* under way */
	struct sim_copy {
		struct sim_swept of[16];	/* side by side on the slow member */
		u32 nr;			/* 0: not under way */
	} copy[SIM_LAND_COPIES];
};

/* sim-land.c. Return: false if memory is short. */
bool sim_land_init(struct sim_engine *e);
void sim_land_exit(struct sim_engine *e);
/* Free positions, and all. */
u64 sim_land_free(const struct sim_land *land, u64 *total);
/* The position of a block of the set, or SIM_NO_POS. */
u32 sim_land_find(const struct sim_land *land, u64 block);
void sim_land_kill(struct sim_engine *e, u32 pos);
/* Is there room for so many blocks? It opens the next segment. */
bool sim_land_room(struct sim_engine *e, u32 nr);
/* The next position is that of this block. Return: it. */
u32 sim_land_put(struct sim_engine *e, u64 block);
u64 sim_land_byte(const struct sim_engine *e, u32 pos);
/* Check it. Return: NULL, or the fault. */
const char *sim_land_check(const struct sim_engine *e);

/* sim-land-append.c. An I/O to an extent of the slow member; return: whether the log has it. */
bool sim_land_route(struct sim_engine *e, u32 id);
/* Its first block, of the set, and the one behind its last. */
u64 sim_land_first(const struct sim_engine *e, const struct sim_io *io);
u64 sim_land_end(const struct sim_engine *e, const struct sim_io *io);
/* An I/O goes to a position of the log. */
void sim_land_send(struct sim_engine *e, u32 id, u32 pos);
/* Those that wait go on as far as the limit allows. */
void sim_land_admit(struct sim_engine *e, bool dry);
/* The drain has copied so many blocks. */
void sim_land_credit(struct sim_engine *e, u32 nr);
void sim_land_trickle(struct sim_engine *e);

/* sim-land-drain.c. Time has come; one of its commands is done. */
void sim_land_timer(struct sim_engine *e);
void sim_land_done(struct sim_engine *e, u32 id);
/* An extent is about to be promoted: its blocks are written to the slow member before. */
void sim_land_evict(struct sim_engine *e, u32 lext);

#endif
