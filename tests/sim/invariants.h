/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef INVARIANTS_H
#define INVARIANTS_H

#include "sim.h"

/* Fails the run if the tables contradict each other. Whenever no lock is held. */
void check_invariants(const void *private);

/* Is the set in mode rw? */
bool set_writable(const void *private);

/* Where the set has an extent, as a word on disk; the bitmap if it is open. */
u32 set_word(const void *private, u32 lext);
const void *set_bitmap(const void *private, u32 lext);

/* Return: whether no extent may get this slow slot. */
bool set_slot_taken(const void *private, u32 slot);

/* Does it say of the replica that it durably knows where this extent is now? */
bool set_replica_knows(const void *private, u32 lext);

/* The half-life that the set keeps, 0 if none; fails the run if that is not in effect. */
u32 set_kept(const void *private);

/* Let it write the replica now. */
void set_update_replica(void *private);

#endif
