/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: what the stale list is made of.
 *
 * The newest version of a block of an extent on the slow member may be in the landing log only, and
 * so on the fast member. The slow member has a list of these blocks, for the day on which the fast
 * one is lost:
 *
 *	block 0, 1	two copies of the head
 *	then		the first copy of each list: one for each slot of the landing log
 *	then		the second copy of each
 *
 * The lists change in runs. A run writes those that have changed, each to the copy that does not
 * count, makes them durable, and then the head. What counts is the head with the highest number of
 * a run, and of each list the copy with the highest number up to that. So a run that is cut short
 * changes nothing. A list that was never written is empty.
 *
 * A run writes all blocks of which the slow member does not durably have the newest version that
 * was written before it began. What has got into the log since is in no list, or in one of a run
 * that was cut short.
 *
 * Shared with userspace: fixed-width types only.
 */
#ifndef DM_FUSION_STALE_FORMAT_H
#define DM_FUSION_STALE_FORMAT_H

#include "dm-fusion-format.h"

/* In a superblock: number of lists, and first block on the slow member; zeros: it has none. */
#define FUSION_STALE_PLACES_OFFSET	1092
#define FUSION_STALE_START_OFFSET	1096

#define FUSION_MAGIC_STALE_HEAD	0x54466d64	/* "dmFT" */
#define FUSION_MAGIC_STALE	0x4f466d64	/* "dmFO" */

/* Copies of the head, and of each list. */
#define FUSION_STALE_COPIES	2U

/* Entries that one block of a list has. */
#define FUSION_STALE_ENTRIES	500U

/**
 * struct fusion_stale_head_block - the head
 * @h: header, with magic FUSION_MAGIC_STALE_HEAD
 * @run: number of the run, from 1 on; the copy is that number modulo 2
 * @seq: number of the last batch of the landing log that had ended when the run began, or 0
 * @time: when that was, in seconds since 1970
 * @epoch: of the superblock that was in force
 * @flags: none is defined, and others are refused
 * @nr_lists: lists that have entries
 * @sum: h.csum of all blocks of lists that count, added up
 * @nr_blocks: entries in all lists
 * @rest: zeros
 */
struct fusion_stale_head_block {
	struct fusion_block_header h;
	__le64 run;
	__le64 seq;
	__le64 time;
	__le32 epoch;
	__le32 flags;
	__le32 nr_lists;
	__le32 sum;
	__le64 nr_blocks;
	__u8 rest[FUSION_BLOCK_SIZE - 80];
} __attribute__((packed));

/**
 * struct fusion_stale_entry_block - a block that is stale
 * @lext: its extent
 * @block: its block in the extent
 * @pos: block of the segment with the newest version
 */
struct fusion_stale_entry_block {
	__le32 lext;
	__le16 block;
	__le16 pos;
} __attribute__((packed));

/**
 * struct fusion_stale_block - a block of a list
 * @h: header, with magic FUSION_MAGIC_STALE
 * @run: number of the run that has written it
 * @seq: as in the head of that run
 * @time: the same
 * @segno: number of the segment of the landing log; 0: the list is empty
 * @key: of the segment; 0 in an empty list, as what follows
 * @slot: of the segment
 * @epoch: of the superblock that was in force
 * @place: number of the list
 * @index: number of the block in the list
 * @count: entries in this block
 * @total: entries in the list; all blocks except the last one are full
 * @pad: zero
 * @entry: in ascending order of @pos
 * @rest: zeros
 */
struct fusion_stale_block {
	struct fusion_block_header h;
	__le64 run;
	__le64 seq;
	__le64 time;
	__le64 segno;
	__le64 key;
	__le32 slot;
	__le32 epoch;
	__le32 place;
	__le16 index;
	__le16 count;
	__le16 total;
	__le16 pad;
	struct fusion_stale_entry_block entry[FUSION_STALE_ENTRIES];
	__u8 rest[FUSION_BLOCK_SIZE - 92 - FUSION_STALE_ENTRIES * 8];
} __attribute__((packed));

#endif
