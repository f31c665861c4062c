/* SPDX-License-Identifier: GPL-2.0-only */
/* Sets that begin with a landing log, which no module has written. */
#ifndef LANDED_H
#define LANDED_H

#include "model.h"
#include "ops.h"

/* Have a set that may have such a log, as the story wants it. */
void landed_setup(struct setup *s, u64 seed, const struct story *story);

/* The disks get a set, with an empty log or without one: nothing is known of what they had. */
void landed_begin(const struct fusion_sb *sb);

/*
 * Write extents and a log to the world's disks, in place of what was formatted, and have the model
 * know the content. Without a log in the setup, nothing.
 */
void landed_make(const struct setup *s, struct model *m, u64 *rng);

/* The same with an empty log, and the first @nr extents on the slow disk, full of zeros. */
void landed_empty(const struct setup *s, u32 nr);

/* The module writes a batch with this header. */
void landed_note(const void *header);

/* Has the set of this run such a log? */
bool landed_log(void);

/* Had an extent ever blocks in the log of this run? The replica knows nothing of these. */
bool landed_any(u32 lext);

/* -- landed-raw.c: metadata in a slot, where a disk keeps but a stamp for each sector ------ */

/* The stamps of a block of metadata, for as long as the run lasts. */
void landed_raw_add(const void *block, u64 stamps[FUSION_BLOCK_SECTORS]);
void landed_raw_forget(void);

/* The stamps of a block: what it was made of, or if that is no data of users as metadata. */
void landed_raw_stamps(const void *block, u64 stamps[FUSION_BLOCK_SECTORS]);

/* The stamp of a sector of users' data. */
u64 landed_raw_stamp(const void *sector);

/* The 512 bytes that a stamp stands for, to who reads it as metadata. */
void landed_raw_bytes(u64 stamp, void *bytes);

#endif
