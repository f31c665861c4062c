/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-fusion: views of the landing log, of one moment, for somebody who takes his time. */
#ifndef DM_FUSION_LAND_VIEW_H
#define DM_FUSION_LAND_VIEW_H

#include "dm-fusion-land.h"

/**
 * struct fusion_land_view - a view
 * @segment: by place: copies of the segments
 * @live: as that of the log
 * @untaken: a bit for each place that is yet to be copied: so it is when something changes there
 * @keep: keep the places of segments with entries, until fusion_land_unkeep(). Without that, a
 *	place may get another segment, and a position another key, at any time
 *
 * All under land->lock; @segment and @live are the reader's when nothing is untaken.
 */
struct fusion_land_view {
	struct fusion_land_segment *segment;
	u8 *live;
	unsigned long *untaken;
	bool keep;
};

/* Begin a view: of the log as it is now. land->lock held. */
void fusion_land_view_begin(struct fusion_land *land, struct fusion_land_view *view);

/* Copy the rest of it. Takes land->lock again and again, each time for a short while. */
void fusion_land_view_take(struct fusion_land *land);

/* Its reader does not need a place any more. Takes fs->lock. */
void fusion_land_unkeep(struct fusion *fs, u32 place);

/* -- dm-fusion-land-tell.c: for messages. Context: process, no lock ------------------------- */

/* How many blocks of an extent are in the log? */
u32 fusion_land_logged(struct fusion *fs, u32 lext);

/* A line for each run of its blocks that are there. Return: how many characters. */
unsigned int fusion_emit_logged(struct fusion *fs, u32 lext, char *result, unsigned int maxlen);

/*
 * Segments that have a slot, without those that lie ready, behind the end of the log, and have
 * nothing yet. fs->lock held.
 */
u32 fusion_land_in_use(const struct fusion_land *land);

/* Lines of the message stats, if the set has a log. Return: how many characters. */
unsigned int fusion_emit_land(struct fusion *fs, char *result, unsigned int maxlen);

#endif
