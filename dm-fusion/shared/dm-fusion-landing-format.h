/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: what a landing log is made of. The module writes one in a set with
 * FUSION_INCOMPAT_LANDING.
 *
 * Small writes to extents of the slow member land in a log on the fast member. They go to their
 * slots later, in the order of the slow member. The log is made of segments. Each has a fast slot
 * that no extent has:
 *
 *	block 0 on	batches, without gaps: a block with the entries, then the data, a block
 *			for each entry
 *	then		nothing, if the segment was left before it was full
 *	last blocks	the summary: the entries of all batches, written when the segment is left
 *
 * A slot may have had data of an extent before, or batches of an earlier segment. So each segment
 * has a number, higher than those before, and a random key, drawn when it is opened. A block
 * without both does not belong to it. A user who fills blocks of an extent with what looks like a
 * batch cannot know the key of a segment that is opened later.
 *
 * Segments are filled in the order of their numbers, batch by batch. Each batch has the checksum of
 * the header of the one before. A segment is full when there is no room for a header and one block;
 * until then, a batch takes only as many entries as fit. A segment is left earlier only behind a
 * commit that says so. An activation writes only to segments that it has opened itself.
 *
 * The journal says which segments there are, which of their blocks are live, and up to where all is
 * durable: FUSION_OP_SEGMENT, _SEGFREE, _LANDED.
 *
 * Shared with userspace: fixed-width types only.
 */
#ifndef DM_FUSION_LANDING_FORMAT_H
#define DM_FUSION_LANDING_FORMAT_H

#include "dm-fusion-format.h"

#define FUSION_MAGIC_BATCH	0x4c466d64	/* "dmFL" */
#define FUSION_MAGIC_SUMMARY	0x59466d64	/* "dmFY" */

/* Most blocks of data in a batch: with its header one bio of 256 KiB. */
#define FUSION_BATCH_BLOCKS	63U

/* Entries that one block of a summary has. */
#define FUSION_SUMMARY_ENTRIES	334U

/* Segments are numbered from 1 on, up to here. In slots of 64 KiB that is 16 EiB written. */
#define FUSION_MAX_SEGNO	0xffffffffffffULL	/* 2^48 - 1 */

/* In a summary, @lext of an entry that stands for the header of a batch. */
#define FUSION_LANDING_HEAD	0xffffffffU

/**
 * struct fusion_landing_entry - a block of data
 * @lext: its extent; in a summary also FUSION_LANDING_HEAD
 * @block: its block in the extent; number of entries of the batch if it stands for a header
 * @flags: none is defined, and others are refused
 * @crc: crc32c, seed ~0, of the data; h.csum of the header if it stands for one
 */
struct fusion_landing_entry {
	__le32 lext;
	__le16 block;
	__le16 flags;
	__le32 crc;
} __attribute__((packed));

/**
 * struct fusion_landing_block - header of a batch, or a block of a summary
 * @h: header, with magic FUSION_MAGIC_BATCH or FUSION_MAGIC_SUMMARY
 * @key: of the segment
 * @segno: number of the segment
 * @seq: number of the batch since creation, from 1 on; in a summary of the first of the segment
 * @flushed_seq: when this was written, all batches up to this one were durable; 0: none is known
 * @slot: of the segment
 * @epoch: of the superblock that was in force; the same in all of a segment
 * @prev_csum: h.csum of the header of batch @seq - 1; 0 in a summary
 * @count: entries in this block
 * @index: number of the block in the summary; 0 in a batch
 * @end: in a summary, blocks of the segment that the batches take; 0 in a batch
 * @pad: zero
 * @entry: entry i of a batch is its data block i. Entry i of the block @index of a summary is for
 *	block @index * FUSION_SUMMARY_ENTRIES + i of the segment
 * @rest: zeros
 */
struct fusion_landing_block {
	struct fusion_block_header h;
	__le64 key;
	__le64 segno;
	__le64 seq;
	__le64 flushed_seq;
	__le32 slot;
	__le32 epoch;
	__le32 prev_csum;
	__le16 count;
	__le16 index;
	__le16 end;
	__le16 pad;
	struct fusion_landing_entry entry[FUSION_SUMMARY_ENTRIES];
	__u8 rest[FUSION_BLOCK_SIZE - 84 - FUSION_SUMMARY_ENTRIES * 12];
} __attribute__((packed));

/*
 * Operations of journal records, behind those of enum fusion_op. The fast member's journal may have
 * them with FUSION_INCOMPAT_LANDING; otherwise the replay does not know them, and so refuses the
 * journal. They carry absolute states, as others do.
 */
enum fusion_landing_op {
	FUSION_OP_SEGMENT	= 9,	/* a segment, and which of its blocks are live */
	FUSION_OP_SEGFREE	= 10,	/* none of its blocks is: the slot is free */
	FUSION_OP_LANDED	= 11,	/* up to where the log is durable, and where it goes on */
};

/**
 * struct fusion_segment_record - SEGMENT, or without @key and what follows SEGFREE
 * @r: lext: the slot; new: bits 31:0 of the number of the segment; old: bits 47:32 of it, and in
 *	bits 31:16 the blocks that its batches take, once it is left; 0 before that, and in SEGFREE
 * @key: of the segment
 *
 * Then follows the bitmap, as behind OPEN: a bit for each block of the slot. Only bits of blocks
 * with data count, so a segment that is being filled has all of them set.
 */
struct fusion_segment_record {
	struct fusion_journal_record r;
	__le64 key;
} __attribute__((packed));

/**
 * struct fusion_landed_record - LANDED
 * @r: lext: h.csum of the header of a batch; new and old: low and high half of the batch's number.
 *	All batches up to that one are durable. Without a record, that is 0 and 0
 * @place: where the next batch begins, or is to begin: bits 47:0 number of the segment, bits 63:48
 *	block in it. Without a record, block 0 of segment 1
 */
struct fusion_landed_record {
	struct fusion_journal_record r;
	__le64 place;
} __attribute__((packed));

#endif
