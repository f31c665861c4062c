/* SPDX-License-Identifier: GPL-2.0-only */
/* What the extents with metadata had at the instant of a point. */
#ifndef POINTS_H
#define POINTS_H

#include <linux/types.h>

/*
 * If this set, of the parent world, made a point in this second, when the shadow of the extent
 * was in this slow slot: is this what the extent had then, or what it had at another point of
 * that second?
 */
bool point_had(const void *private, u64 second, u32 lext, u32 slot, const u64 *found);

/*
 * Is there an extent whose shadow of the point of this second is not called current by the replica
 * with these words, though it is in its slot still? Return: it; -1: none.
 */
int point_unnamed(const void *private, u64 second, const u32 *word);

#endif
