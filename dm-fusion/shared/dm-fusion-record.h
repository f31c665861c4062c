/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-fusion: records of the journal and of the replica's log, in host order. */
#ifndef DM_FUSION_RECORD_H
#define DM_FUSION_RECORD_H

#include <linux/types.h>

#include "dm-fusion-format.h"
#include "dm-fusion-landing-format.h"

/**
 * struct fusion_segment - a segment, in host order
 * @slot: its fast slot
 * @segno: its number
 * @key: its key
 * @end: blocks that its batches take, if it was left; otherwise 0
 * @live: bitmap, as behind an OPEN record; NULL in a SEGFREE, which has no @key and no @end either
 */
struct fusion_segment {
	u32 slot;
	u64 segno;
	u64 key;
	u32 end;
	const u8 *live;
};

/**
 * struct fusion_landed - how far the log has got
 * @seq: number of a batch
 * @csum: of its header
 * @segno: segment in which the next one begins, or is to begin
 * @pos: block there
 */
struct fusion_landed {
	u64 seq;
	u32 csum;
	u64 segno;
	u32 pos;
};

/* Is this a record of a partial extent, with a bitmap? */
static inline bool fusion_op_has_bitmap(u32 op)
{
	return op == FUSION_OP_OPEN || op == FUSION_OP_PARTLY_LOST;
}

/* Is it one of the landing log, about no extent? */
static inline bool fusion_op_is_landing(u32 op)
{
	return op >= FUSION_OP_SEGMENT && op <= FUSION_OP_LANDED;
}

/* Has it a segment: is it SEGMENT or SEGFREE? */
static inline bool fusion_op_has_segment(u32 op)
{
	return op == FUSION_OP_SEGMENT || op == FUSION_OP_SEGFREE;
}

/**
 * struct fusion_record - a record
 * @lext: as in struct fusion_journal_record; zero if fusion_op_is_landing()
 * @new: the same
 * @old: the same
 * @op: operation
 * @bitmap: NULL, or the bitmap if fusion_op_has_bitmap(); not used if fusion_op_is_landing()
 * @segment: if fusion_op_has_segment()
 * @landed: of FUSION_OP_LANDED
 */
struct fusion_record {
	u32 lext;
	u32 new;
	u32 old;
	u32 op;
	union {
		const void *bitmap;
		struct fusion_segment segment;
		struct fusion_landed landed;
	};
};

#endif
