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
struct fusion_land;
struct fusion_land_batch;
struct fusion_land_segment;
struct page;

/* Allocate batches, if the set has a log. Return: 0 or -ENOMEM; fusion_land_append_exit() frees. */
int fusion_land_append_init(struct fusion *fs);
void fusion_land_append_exit(struct fusion *fs);

/* Is @bio such as the log takes? Any context, no lock. */
bool fusion_land_fits(const struct fusion *fs, struct bio *bio);

/**
 * fusion_land_append() - find a place in the log for a write that fits
 * @fs: device
 * @bio: the bio, which is in an epoch; in map() it may be cut
 * @word: of its extent, on the slow member, loaded in that epoch; unless fusion_land_beside_copy(),
 *	a copy was cancelled
 * @in_map: the caller is map()
 *
 * Context: any, no lock. Return: FUSION_LAND, with the number of the place in place of the word:
 * fusion_land_fill() must follow, and the task cannot sleep before that; FUSION_PACED: it waits for
 * room; FUSION_SUBMIT: it goes past the log; FUSION_AGAIN with the word that there is now.
 */
struct fusion_found fusion_land_append(struct fusion *fs, struct bio *bio, u32 word, bool in_map);

/*
 * May a write to an extent with this word, which is WATCHED, get into the log, and does not cancel
 * the copy then? Any context, for a hint: fusion_land_append() looks again.
 */
bool fusion_land_beside_copy(const struct fusion *fs, u32 word);

/*
 * The same for a block of which a bio has a part, and which has an entry, or none. land->lock held.
 * Return: has it got a place? fusion_land_fill_part() must follow.
 */
bool fusion_land_append_part(struct fusion *fs, u32 lext, u32 block, u32 *place);

/*
 * Copy the data of a bio, which is pinned, to its place. It ends with its batch. @more: the batch
 * may wait for others: fusion_land_push() follows.
 */
void fusion_land_fill(struct fusion *fs, struct bio *bio, u32 place, bool more);

/* The same for a part of a block, the rest of which is in @page. */
void fusion_land_fill_part(struct fusion *fs, struct bio *bio, u32 place, struct page *page);

/* Send batches that have been filled. Context: the worker. */
void fusion_land_push(struct fusion *fs);

/* The log's part of fusion_settle_failed(): no opening must find a batch that has failed. */
void fusion_land_settle(struct fusion *fs);

/* -- dm-fusion-land-off.c: no lock; sleeps, but for the last one ----------------------------- */

/*
 * The log is off. Return: has it ended? Otherwise blocks are on their way, and it is to be called
 * again; what the segments have is to be drained then.
 */
bool fusion_land_turn_off(struct fusion *fs);

/* It is on again. */
void fusion_land_turn_on(struct fusion *fs);

/* As the status says it. */
const char *fusion_land_state(const struct fusion_land *land);

/* -------------------------------------------------------------------------------------------- */

/* The first batches have ended, or failed: their bios end as well, or go past the log. */
void fusion_land_finish(struct fusion *fs);

/*
 * Park a bio until blocks of an extent that are on their way have got there, or what is under way
 * over entries of it has ended. Of an extent with blocks on their way no others get into the log
 * until the bio has gone on, or it would find some each time; unless bios wait for those of another
 * extent. fs->lock held.
 */
void fusion_land_park(struct fusion *fs, struct bio *bio, u32 lext);

/*
 * No block of an extent gets into the log from now on until its word has changed, and
 * fusion_land_kill_extent() is called, or until another extent is barred. fs->lock held. Return:
 * are some on their way? Then @bio is parked.
 */
bool fusion_land_bar(struct fusion *fs, u32 lext, struct bio *bio);

/* Bios that are parked may go on. fs->lock held. */
void fusion_land_wake(struct fusion *fs);

/* The worker has got to all of them. fs->lock held. */
void fusion_land_served(struct fusion *fs);
/* -- dm-fusion-land-flush.c; the set has a log ------------------------------------------------ */

void fusion_land_flush_init(struct fusion *fs);

/* A write with FUA that got into the log has ended: it is acknowledged once it is durable. */
void fusion_land_flush(struct fusion *fs, struct bio *bio);

/* Do writes wait for room, or for a flush, or is a block being merged? fs->lock held. */
bool fusion_land_busy(const struct fusion *fs);

/* -- summaries; the set has a log ---------------------------------------------------------- */

/* Return: 0 or -ENOMEM; fusion_land_summary_exit() must follow in any case. */
int fusion_land_summary_init(struct fusion *fs);
void fusion_land_summary_exit(struct fusion *fs);

/* The batch has ended, as all before it. Both locks held, as for the next one. */
void fusion_land_summary_add(struct fusion *fs, const struct fusion_land_batch *b);

/* That was the last one of its segment. */
void fusion_land_summary_begin(struct fusion *fs, const struct fusion_land_segment *seg);

/* Is there one to be written? Any context. */
bool fusion_land_summary_due(const struct fusion *fs);

/* Write the next block of it. Context: land->work; sleeps. */
void fusion_land_summary_write(struct fusion *fs);

/* -- dm-fusion-land-merge.c: the worker ---------------------------------------------------- */

/* Return: 0 or -ENOMEM; fusion_land_merge_exit() must follow in any case. */
int fusion_land_merge_init(struct fusion *fs);
void fusion_land_merge_exit(struct fusion *fs);

/*
 * The bio got FUSION_MERGE. Return: false if it has to look again; otherwise it comes back when it
 * can go on.
 */
bool fusion_land_merge(struct fusion *fs, struct bio *bio);

/* A bio comes to the worker, perhaps back from a merge. Return: is it seen to? */
bool fusion_land_merge_goes_on(struct fusion *fs, struct bio *bio);

#endif
