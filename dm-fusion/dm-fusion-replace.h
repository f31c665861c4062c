/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: a member that is being replaced: dm-fusion-replace.c.
 */
#ifndef DM_FUSION_REPLACE_H
#define DM_FUSION_REPLACE_H

#include <linux/types.h>

#include "dm-fusion-codec.h"

struct fusion;

/* The disks of a set: its members, numbered as in enum fusion_dev, and behind them the old one. */
#define FUSION_OLD		2U
#define FUSION_NR_DISKS		3U

/* More partial extents are not completed while the fused device is suspended for a join. */
#define FUSION_JOIN_OPENS	64U

/**
 * struct fusion_old_disk - the old member
 * @dev: the member that it was; only if the table line names it, or the set has one
 * @joins: the disk in the place of @dev is no member yet: this table makes it one
 * @joining: that has begun, and the other member does not name it yet
 * @over: the set has no old member any more, or will have none once it is loaded
 * @sb: superblock of the third disk: of the one that joins, or else of the old member
 * @used: a bit for each slot number from old_slot on, set for those with an extent, or that had one
 *	until a transaction that is not drained yet; under fs->lock
 * @nr: bits set in @used; under fs->lock
 * @at_first: what @nr was when the set was loaded
 * @unread: a bit for each of these that could not be read when its extent was to be moved; under
 *	fs->lock, as all that follows
 * @nr_unread: bits set in @unread
 * @tried: the same since the last round of attempts began
 * @nr_tried: bits set in @tried
 * @retry_ms: ktime at which the next round begins, if any slot was tried in vain
 * @round: rounds so far
 * @told_empty: an event has told that no extent is left; the mover's, as the next
 * @told_unread: an event has told that some cannot be read
 */
struct fusion_old_disk {
	enum fusion_dev dev;
	bool joins;
	bool joining;
	bool over;
	struct fusion_sb sb;
	unsigned long *used;
	u32 nr;
	u32 at_first;
	unsigned long *unread;
	u32 nr_unread;
	unsigned long *tried;
	u32 nr_tried;
	u64 retry_ms;
	u32 round;
	bool told_empty;
	bool told_unread;
};

/* -- dm-fusion-unread.c ------------------------------------------------------------------ */

/* A slot could not be read for a move; of the old member, that is remembered. Takes fs->lock. */
void fusion_note_unread(struct fusion *fs, u32 word);

/* Begin a round of attempts now. Takes fs->lock. */
void fusion_retry_unread_now(struct fusion *fs);

/*
 * Has the extent with this word been tried in vain in this round; or before, the last time? A hint
 * without fs->lock.
 */
bool fusion_was_tried(const struct fusion *fs, u32 word);
bool fusion_is_unread(const struct fusion *fs, u32 word);

/* Print the ranges of extents whose slots could not be read. Return: 1. */
int fusion_message_unread(struct fusion *fs, char *result, unsigned int maxlen);

/* Raise an event when nothing is left on the old member, or when something cannot be read. */
void fusion_look_at_old(struct fusion *fs);

/* -- dm-fusion-replace.c; no locks, nothing else runs --------------------------------------- */

/**
 * fusion_trio_read() - read the superblocks of a set, which may have an old member
 * @fs: device; sets fs->meta, and what fs->old says of the third disk
 * @fast: result
 * @slow: result
 * @single: as of fusion_super_read(), for both; or NULL
 * @disk: set on error: the disk that it is about, or -1: no single one
 * @matched: set on error: all superblocks could be read, and do not go together
 * @why: set on error
 *
 * Context: process, sleeps. Return: 0; an error of fusion_super_read(), fusion_sb_match() or
 * fusion_sb_may_join(); -EXDEV: the third disk is not that of the set.
 */
int fusion_trio_read(struct fusion *fs, struct fusion_sb *fast, struct fusion_sb *slow,
		     bool single[FUSION_NR_DEVS], int *disk, bool *matched, const char **why);

/* Set up what map() asks of the old member of fs->sb. Return: 0 or -ENOMEM. */
int fusion_trio_init(struct fusion *fs);
void fusion_trio_exit(struct fusion *fs);

/* May the set be loaded as the table line wants? As fusion_resize_allowed(). */
int fusion_trio_allowed(struct fusion *fs, bool read_only);

/* The map and the OPEN extents are loaded as found: give all words what they are after a join. */
void fusion_trio_renumber(struct fusion *fs);

/*
 * The map is loaded and counted: can the set be opened with these disks, and does it keep its old
 * member? Return: 0; -EAGAIN: too many partial extents for a join; -ENODEV: the old member is
 * missing, and something lies on it.
 */
int fusion_trio_check(struct fusion *fs, bool read_only);

/*
 * Make the new disk a member, with @epoch. All OPEN extents are completed. Sleeps. Return: 0 or a
 * negative errno: the set is as it was, or has joined all the same; the next opening finds that.
 */
int fusion_trio_make(struct fusion *fs, u32 epoch);

/* If the set is without an old member, durably, tell the disk so: best effort. Sleeps. */
void fusion_trio_leave(struct fusion *fs);

#endif
