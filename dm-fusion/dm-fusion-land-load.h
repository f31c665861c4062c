/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-fusion: the landing log of a set that is being loaded. */
#ifndef DM_FUSION_LAND_LOAD_H
#define DM_FUSION_LAND_LOAD_H

#include <linux/types.h>

struct fusion;
struct fusion_record;
struct fusion_segment;

/*
 * Before the journal is read. Return: 0 or -ENOMEM; fusion_land_loaded() must follow in any case.
 */
int fusion_land_load_begin(struct fusion *fs);

/* A record of the journal about the log. Return: 0 or -EILSEQ. */
int fusion_land_load_record(struct fusion *fs, const struct fusion_record *rec);

/**
 * fusion_land_load() - take the slots of the log, and find what is in it
 * @fs: device; its map is known, and the slots of extents are taken
 *
 * Sleeps. Return: 0 or a negative errno, logged; -EAGAIN: it has to be empty, and is not.
 */
int fusion_land_load(struct fusion *fs);

/*
 * Does the log still end where it did? Before the first commit; sleeps. Return: 0; -EUSERS: it goes
 * on, or has become something else; -EIO, logged: it cannot be read as it was.
 */
int fusion_land_check_end(struct fusion *fs);

/* The place of a segment that the journal lists, or FUSION_LAND_NONE. */
u32 fusion_land_listed(const struct fusion *fs, const struct fusion_segment *seg);

/* Blocks of the journal that an opening needs for these at most, if it opens none. */
u32 fusion_land_listed_blocks(const struct fusion *fs);

/* The set is open, or with @opened = false has been given up, or is read-only. */
void fusion_land_loaded(struct fusion *fs, bool opened);

#endif
