/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: what commits record of the landing log, and when the slots of its segments are free.
 * Context: the committer or the loader; fs->lock is held unless said otherwise.
 */
#ifndef DM_FUSION_LAND_COMMIT_H
#define DM_FUSION_LAND_COMMIT_H

#include <linux/types.h>

struct fusion;
struct fusion_land;
struct fusion_record;

/* Where a commit is among its records of the log. */
struct fusion_land_cursor {
	u32 step;
	u32 i;
};

/* Blocks of the journal that these take at most, or those of @nr segments. No lock. */
u32 fusion_land_journal_blocks(const struct fusion *fs);
u32 fusion_land_record_blocks(const struct fusion *fs, u32 nr);

/* Step 1 of a commit: what there is to record now belongs to it. */
void fusion_land_take(struct fusion *fs);

/*
 * The record at @at, which begins with FUSION_LAND_VOID. The next one is at @at->i + 1. Context:
 * the committer, without a lock. Return: false if there is none any more.
 */
bool fusion_land_next(const struct fusion *fs, struct fusion_land_cursor *at,
		      struct fusion_record *rec);

/* It is durable, or has failed. Return: have segments become free, once they are drained? */
bool fusion_land_committed(struct fusion *fs, bool ok);

/* Has the next commit something to record that flushes wait for? */
bool fusion_land_pending(const struct fusion *fs);

/* Or anything at all? */
bool fusion_land_unrecorded(const struct fusion *fs);

/* Have the next commit record all segments. */
void fusion_land_record_all(struct fusion *fs);

/*
 * The set has rested, and writes go on. Another machine may have begun to open it meanwhile, and
 * have recorded where the log ends, before it found this one awake: flushes wait for a commit,
 * which takes the place of that in the journal.
 */
void fusion_land_woken(struct fusion *fs);

/* Has the next commit to open segments soon? land.lock held as well. */
bool fusion_land_runs_short(const struct fusion *fs);

/* Before a drain. Return: is there a segment that waits for it? Behind it, these are free. */
bool fusion_land_drains(struct fusion *fs);
void fusion_land_drained(struct fusion *fs);

#endif
