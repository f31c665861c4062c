/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef INVARIANTS_H
#define INVARIANTS_H

#include "sim.h"

/* Fails the run if the tables contradict each other. Whenever no lock is held. */
void check_invariants(const void *private);

/* Is the set in mode rw? */
/* Extents that it has. */
u32 set_lexts(const void *private);

bool set_writable(const void *private);

/* Where the set has an extent, as a word on disk; the bitmap if it is open. */
u32 set_word(const void *private, u32 lext);
const void *set_bitmap(const void *private, u32 lext);

/* Return: whether no extent may get this slow slot. */
bool set_slot_taken(const void *private, u32 slot);

/* Does it say of the replica that it durably knows where this extent is now? */
bool set_replica_knows(const void *private, u32 lext);

/* What the set keeps: a half-life, and a number in its name; 0 for one that was never changed. */
struct kept {
	u32 half_life;
	u32 label;
};

/* Fails the run if the half-life is not in effect. */
struct kept set_kept(const void *private);
/* The number in a name of a set, 0 if it has none. */
u32 label_number(const char *label);

/* Let it write the replica now. */
void set_update_replica(void *private);

#endif
