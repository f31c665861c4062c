/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef REPLICA_H
#define REPLICA_H

#include "sim.h"

/*
 * Is the slow disk alone what it has to be: does it hold a map that can be read, no two
 * extents of which share a slot, and does each slot it names hold that extent's data (INV6)?
 * Fails the run if not. Nothing may be under way.
 */
void check_replica(struct sim_disk *slow);

#endif
