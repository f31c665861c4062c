/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef REPLICA_H
#define REPLICA_H

#include "model.h"
#include "sim.h"

/*
 * The state and the data on the slow disk alone. All of these fail the run if they are wrong; no
 * I/O may be in flight on that disk.
 */
struct replica;

/*
 * Read it: there must be a map that can be read, no two extents of which share a slot. It belongs
 * to the world.
 */
struct replica *replica_load(struct sim_disk *slow, struct sim_disk *old);
void replica_free(struct replica *rep);

/* Does it say exactly which shadows were current when the set was closed? */
bool replica_is_exact(const struct replica *rep);

/*
 * Would salvage serve the right data? A slot it names must hold data of that extent (INV6), and
 * the newest that was flushed (INV7). A shadow must have a version of its extent, and, if the set
 * @private has written the replica since it was opened, one that is as new as its point (INV15),
 * and with @exact of that very instant, if it was made for that (INV16). It is not where a write
 * may fail: then a disk may lose what it has shown.
 */
void replica_check_content(const struct replica *rep, struct model *model,
			   const void *private, bool exact);

/* Does a set say no more of it than it has (target.rst, "protected")? */
void replica_check_told(const struct replica *rep, struct model *model, const void *private);

/* Is a slot it names given to another extent in a running set, or may be at any time (INV6)? */
void replica_check_owners(const struct replica *rep, const void *private);

/* How many extents have a shadow that it calls current? */
u32 replica_shadows(const struct replica *rep);

/*
 * Does it fit the map that was found beside it: does it call slow what is (INV7), and is it the
 * same if it says that it is up to date?
 */
void replica_check_map(const struct replica *rep, const struct model *model, const void *private);

#endif
