/* SPDX-License-Identifier: GPL-2.0-only */
/* The stale list on the slow disk, read as if the fast one were lost. */
#ifndef STALE_H
#define STALE_H

#include "sim.h"

struct stale;

/* @sb: superblock of the slow disk. Without a list, or a head, nothing is known. */
struct stale *stale_load(struct sim_disk *slow, const struct fusion_sb *sb);
void stale_free(struct stale *stale);

/* Is a block of an extent in a list? */
bool stale_has(const struct stale *stale, u32 lext, u32 block);

/* The second in which the run of the head began; 0: there is none. */
u64 stale_time(const struct stale *stale);

/* Is all there that the head speaks of? Without a head, there is nothing. */
bool stale_whole(const struct stale *stale);

/* Was the set closed with it? */
bool stale_exact(const struct stale *stale);

/* Blocks in lists. */
u32 stale_nr(const struct stale *stale);

#endif
