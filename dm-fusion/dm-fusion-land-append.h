/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: blocks on their way into the landing log. dm-fusion-land-append.c gives them a place,
 * dm-fusion-land-batch.c sends them, dm-fusion-land-summary.c says what a full segment has, and
 * dm-fusion-land-flush.c makes durable what has to be so at once.
 */
#ifndef DM_FUSION_LAND_APPEND_H
#define DM_FUSION_LAND_APPEND_H

#include <linux/types.h>

struct bio;
struct fusion;
struct fusion_land_batch;
struct fusion_land_segment;

/* Allocate batches, if the set has a log. Return: 0 or -ENOMEM; fusion_land_append_exit() frees. */
int fusion_land_append_init(struct fusion *fs);
void fusion_land_append_exit(struct fusion *fs);

/* Is @bio such as the log takes? Any context, no lock. */
bool fusion_land_fits(const struct fusion *fs, struct bio *bio);

/**
 * fusion_land_append() - find a place in the log for a write that fits
 * @fs: device
 * @bio: the bio, which is in an epoch; in map() it may be cut
 * @word: of its extent, on the slow member, loaded in that epoch; a copy was cancelled
 * @in_map: the caller is map()
 *
 * Context: any, no lock. Return: FUSION_LAND, with the number of the place in place of the word:
 * fusion_land_fill() must follow; FUSION_PACED: it waits for room; FUSION_SUBMIT: it goes past the
 * log; FUSION_AGAIN with the word that there is now.
 */
struct fusion_found fusion_land_append(struct fusion *fs, struct bio *bio, u32 word, bool in_map);

/*
 * Copy the data of a bio, which is pinned, to its place. It ends with its batch. @more: the batch
 * may wait for others: fusion_land_send() follows. May sleep.
 */
void fusion_land_fill(struct fusion *fs, struct bio *bio, u32 place, bool more);

/* Send batches as far as that is possible. Context: process; @work: it may wait for the gate. */
void fusion_land_send(struct fusion *fs, bool work);

/* The log's part of fusion_settle_failed(): no opening must find a batch that has failed. */
void fusion_land_settle(struct fusion *fs);

/* The first batches have ended, or failed: their bios end as well, or go past the log. */
void fusion_land_finish(struct fusion *fs);

/*
 * No block of an extent gets into the log from now on until its word has changed, and
 * fusion_land_kill_extent() is called, or until another extent is barred. fs->lock held. Return:
 * are some on their way? Then bios that wait are unparked when these have got there.
 */
bool fusion_land_bar(struct fusion *fs, u32 lext);

/* Has an extent whose word the mover has just changed got a block in the log? fs->lock held. */
bool fusion_land_got(struct fusion *fs, u32 lext);

/* Bios that wait for entries may go on. fs->lock held. */
void fusion_land_wake(struct fusion *fs);

/* -- dm-fusion-land-flush.c; the set has a log ------------------------------------------------ */

void fusion_land_flush_init(struct fusion *fs);

/* A write with FUA that got into the log has ended: it is acknowledged once it is durable. */
void fusion_land_flush(struct fusion *fs, struct bio *bio);

/* -- summaries; the set has a log ---------------------------------------------------------- */

/* Return: 0 or -ENOMEM; fusion_land_summary_exit() must follow in any case. */
int fusion_land_summary_init(struct fusion *fs);
void fusion_land_summary_exit(struct fusion *fs);

/* The batch has ended, as all before it. Both locks held, as for the next one. */
void fusion_land_summary_add(struct fusion *fs, const struct fusion_land_batch *b);

/* That was the last one of its segment. */
void fusion_land_summary_begin(struct fusion *fs, const struct fusion_land_segment *seg);

/* Is there one to be written? Then land->work writes it. Any context; sleeps. */
bool fusion_land_summary_due(const struct fusion *fs);
void fusion_land_summary_write(struct fusion *fs);

#endif
