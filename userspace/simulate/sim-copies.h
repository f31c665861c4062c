/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fusionctl simulate: copies of what is read from the slow member, in segments of the landing log
 * that it does not use at the moment: which blocks get one, and which of these give way. The names
 * and the rules are those of dm-fusion-copies*.c.
 */
#ifndef SIM_COPIES_H
#define SIM_COPIES_H

#include <stdbool.h>

#include "random.h"

struct sim_engine;
struct sim_io;

/* Writes of copies under way, at most. */
#define SIM_MOST_COPIES	256U

struct sim_copies {
	/* by position, as those of the log */
	u64 *block;		/* of the set, or SIM_NO_BLOCK: there is no copy */
	u32 *next;		/* in its bucket */
	u8 *rounds;		/* of the hand that it has left */
	u32 *bucket;
	u16 *ghost;		/* traces of blocks that were read */
	u8 *lent;		/* by segment */
	u32 nr_lent, nr;
	u32 hand;
	bool poor;		/* they earn too little */
	u64 made_then, served_then;
	u64 served;		/* blocks read from them */
	u32 nr_writes;		/* under way */
};

/* Return: false if memory is short. */
bool sim_copies_init(struct sim_engine *e);
void sim_copies_exit(struct sim_engine *e);
/* A read that only the slow member can serve. Return: whether a copy does. */
bool sim_copies_read(struct sim_engine *e, u32 id);
/* It has ended, and gets copies. */
void sim_copies_fill(struct sim_engine *e, const struct sim_io *io);
/* Blocks have another content: they have no copies any more. */
void sim_copies_kill(struct sim_engine *e, u64 first, u64 end);
/* An extent is on the fast member. */
void sim_copies_forget(struct sim_engine *e, u32 lext);
/* The log takes a segment over. */
void sim_copies_leave(struct sim_engine *e, u32 segment);
/* Check them. Return: NULL, or the fault. */
const char *sim_copies_check(const struct sim_engine *e);

#endif
