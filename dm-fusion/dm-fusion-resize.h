/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-fusion: a set that grows or shrinks. No locks: nothing else runs. */
#ifndef DM_FUSION_RESIZE_H
#define DM_FUSION_RESIZE_H

#include <linux/types.h>

struct fusion;
struct fusion_sb;

/**
 * fusion_resize_plan() - compare the set with the length and sizes in the table line
 * @fs: device; fs->sb and fs->sb_next are the superblocks that the constructor has read
 * @error: the error text of the constructor
 *
 * If they differ, and may, fs->sb becomes the geometry that the set is to have; fs->grows or
 * fs->shrinks says so. Sets fs->nr_words.
 * Context: the constructor. Return: 0, -EINVAL, -EAGAIN: the slow member lags, or -EBUSY: a member
 * is being replaced.
 */
int fusion_resize_plan(struct fusion *fs, char **error);

/* Is @fast, as it was found, of the set that the table was made for? */
bool fusion_resize_expected(const struct fusion *fs, const struct fusion_sb *fast);

/*
 * May the set that was found, fs->sb_next and fs->replica.sb, become what the table line wants?
 * Return: 0; -EAGAIN: not yet; -EROFS.
 */
int fusion_resize_allowed(struct fusion *fs, bool read_only);

/*
 * Is all that the set gives up empty? The map is as it was found, journal included. Behind this,
 * no word is out of the bounds of fs->sb. Return: 0, or -EBUSY.
 */
int fusion_resize_check(struct fusion *fs);

/*
 * Zero what becomes the last MiB of a member that shrinks, as it held data, and nothing may be
 * recognised there. Sleeps. Return: 0 or a negative errno.
 */
int fusion_resize_clear_tails(struct fusion *fs);

#endif
