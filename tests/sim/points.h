/* SPDX-License-Identifier: GPL-2.0-only */
/* What the extents with metadata had at the instant of a point. */
#ifndef POINTS_H
#define POINTS_H

#include <linux/types.h>

struct fusion;

/* What the tracepoint calls. */
void sim_trace_fusion_shadow(struct fusion *fs, u32 lext, u32 former, u32 slot, bool point);

/* Number of points that the set has made since it was opened. */
u64 points_made(const void *private);

/*
 * Metadata was written to @nr sectors from @sector on; when that began, the set had made so many
 * points. Until it makes another one, no round may replace the shadows of these extents.
 */
void points_written(const void *private, u64 sector, u32 nr, u64 made);

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
