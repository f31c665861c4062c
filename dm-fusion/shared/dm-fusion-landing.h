/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: packing, unpacking and checking of the landing log (dm-fusion-landing.c), of what the
 * journal says of it (dm-fusion-landing-record.c), and its replay (dm-fusion-landing-replay.c). The
 * layout is in dm-fusion-landing-format.h.
 *
 * Pure code, as in dm-fusion-codec.h: no I/O, no allocation, no locks. Each number that comes from
 * a block or a record is bounded here, once.
 *
 * Invariants, beside those of dm-fusion.h
 *
 * INV18 An entry counts only while the map has its extent STABLE on the slow member, and its
 *	 block is live. No extent comes to be that before the entries that it had earlier are
 *	 durably dead.
 * INV19 A write is acknowledged only when its batch and all batches before it have been written.
 *	 The data of a batch do not change between the checksum and the end of the write. So a power
 *	 cut leaves all batches that were flushed, and of the others the first few, or some part.
 * INV20 A live bit is durably cleared only if what takes the place of the block is durable as well,
 *	 and will be found: a newer entry, of a batch that the same commit calls durable; the slot
 *	 on the slow member, flushed before that commit; or a MOVE or UNMAP in the journal before.
 *	 Except for the first of these, no older entry of the block is live any more by then, in
 *	 records ahead of it: it would come back.
 * INV21 The slot of a segment gets no other use before its SEGFREE is durable, and no reader is
 *	 left that found an entry of it (the drain).
 * INV22 A copy of a block that was read, kept in a slot of the area, is in memory only, and is
 *	 entered only if no write to the block began since the read was sent. So nothing on disk
 *	 tells of it, and after a crash its slot is free.
 *
 * What the writer sees to, so that a replay can tell a torn end from a loss
 *
 *  - A commit records how far the log is durable (LANDED) only if all batches up to there had been
 *    written when the commit sent its PREFLUSH. The same holds for flushed_seq in a header, and for
 *    flushes of the fast member.
 *  - A SEGMENT is durable before anything is written to the segment.
 *  - A segment is left when it is full, or behind a LANDED that goes on in a later one. Ahead of
 *    any LANDED that goes on behind a segment, the same commit, or one before, records where that
 *    one ends: without batches that are void.
 *  - A SEGFREE of a segment with batches follows a LANDED that goes on behind it. One of a segment
 *    without any, or with void ones alone, comes ahead of that, and of the end of the last one.
 *    So a commit that is cut between its records leaves a log that ends where it did before.
 *  - A batch whose write has failed may be on the disk or not. So it is void, as are those behind
 *    it, and the log goes on with the same entries in a segment that has no batch, behind a commit
 *    that says so. Likewise, an activation records the end that it has found, gives up the
 *    segments behind it, and begins with one of its own.
 *
 * What a replay believes
 *
 *  1. Blocks of batches up to LANDED, without a look at the data: by a summary that is whole, or by
 *     the headers. A header that is missing there is a loss. What a summary has beyond LANDED is
 *     not believed: it can be on the disk before the data that it lists.
 *  2. Then batch by batch, if the header is whole, has the next number and the checksum of the
 *     header before, and all data have their checksums. The first batch that is not there, or not
 *     wholly, ends the log. It is the torn end, as long as nothing proves more:
 *  3. Beyond the end no block of a segment that is listed may say that a batch behind the end was
 *     durable, and no record that the segment was filled farther. Otherwise that has been lost, and
 *     the set must not be opened: older content of these blocks would come back unnoticed.
 *  4. A block that is sealed for its place and segment, but has numbers out of bounds, out of
 *     order, or of a later epoch than the superblock, was not left by a power cut either.
 *  5. A block that cannot be read counts as torn, as in the journal. If the log ends at one, and
 *     another one is farther on than two batches, more is wrong than a power cut, unless the set
 *     was closed.
 */
#ifndef DM_FUSION_LANDING_H
#define DM_FUSION_LANDING_H

#include "dm-fusion-codec.h"
#include "dm-fusion-landing-format.h"

/* An entry; of a summary perhaps one of FUSION_LANDING_HEAD. Fields as on disk. */
struct fusion_entry {
	u32 lext;
	u16 block;
	u32 crc;
};

/* Header of a batch; fields as on disk, and its own checksum. */
struct fusion_batch {
	u64 seq;
	u64 flushed_seq;
	u32 epoch;
	u32 prev_csum;
	u32 csum;
	u32 count;
};

/* Head of a summary block; @count is that of this block. */
struct fusion_summary {
	u64 first_seq;
	u64 flushed_seq;
	u32 epoch;
	u32 end;
	u32 count;
};

/* As long as no LANDED was recorded. */
#define FUSION_LANDED_NOWHERE	((struct fusion_landed){ .segno = 1 })

/* Without a LANDED, a replay takes it that the log has got nowhere. */
static inline bool fusion_landed_nowhere(const struct fusion_landed *landed)
{
	return !landed->seq && landed->segno == 1 && !landed->pos;
}

/* -- places -------------------------------------------------------------------------------- */

/* Does the superblock say how many slots are kept for a landing log? */
static inline bool fusion_sb_keeps_landing(const struct fusion_sb *sb)
{
	return sb->role == FUSION_FAST && sb->incompat & FUSION_INCOMPAT_LANDING;
}

/* Blocks of a segment, and of an extent. */
static inline u32 fusion_segment_blocks(const struct fusion_sb *sb)
{
	return sb->extent_sectors / FUSION_BLOCK_SECTORS;
}

/* Of these, the last ones have the summary. */
static inline u32 fusion_summary_blocks(const struct fusion_sb *sb)
{
	const u32 each = FUSION_SUMMARY_ENTRIES + 1;

	return (fusion_segment_blocks(sb) + each - 1) / each;
}

/* And the others have batches. */
static inline u32 fusion_segment_room(const struct fusion_sb *sb)
{
	return fusion_segment_blocks(sb) - fusion_summary_blocks(sb);
}

/* Where block @pos of a segment lies, in blocks from the start of the fast member. */
static inline u64 fusion_segment_blocknr(const struct fusion_sb *sb, u32 slot, u32 pos)
{
	return fusion_slot_sector(sb, FUSION_FAST, slot) / FUSION_BLOCK_SECTORS + pos;
}

/* Is this block of the segment live, as far as it has data? */
static inline bool fusion_segment_live(const struct fusion_segment *seg, u32 pos)
{
	return seg->live[pos / 8] >> pos % 8 & 1;
}

/* -- batches and summaries ----------------------------------------------------------------- */

/* Checksum of a block of data. */
u32 fusion_landing_crc(const void *data);

/* Start the header of a batch. */
void fusion_batch_init(void *block);

/* Append an entry. Return: false if there are FUSION_BATCH_BLOCKS. */
bool fusion_batch_add(void *block, const struct fusion_entry *entry);

/**
 * fusion_batch_seal() - fill in the header of a batch
 * @sb: geometry, uuid, epoch
 * @seg: the segment
 * @pos: where the header lies in it; it and its entries fit
 * @batch: number, flushed_seq, checksum of the header before; the rest is not used
 * @block: the header, which has its entries
 *
 * Return: its checksum, which the next batch carries.
 */
u32 fusion_batch_seal(const struct fusion_sb *sb, const struct fusion_segment *seg, u32 pos,
		      const struct fusion_batch *batch, void *block);

/**
 * fusion_batch_unpack() - check a header and unpack it
 * @sb: geometry, uuid, epoch
 * @seg: the segment
 * @pos: where the block lies in it
 * @block: FUSION_BLOCK_SIZE bytes
 * @batch: result
 * @why: set on error
 *
 * Return: 0; -ENODATA: no header of this segment, whatever else it is; -EILSEQ: it is sealed for
 * this place, but has numbers that are out of bounds.
 */
int fusion_batch_unpack(const struct fusion_sb *sb, const struct fusion_segment *seg, u32 pos,
			const void *block, struct fusion_batch *batch, const char **why);

/* Entry @i, below @count, of a header or summary block that was checked. */
void fusion_landing_entry(const void *block, u32 i, struct fusion_entry *entry);

/**
 * fusion_summary_pack() - seal a block of a summary
 * @sb: geometry, uuid, epoch
 * @seg: the segment
 * @index: number of the block, below fusion_summary_blocks()
 * @summary: what it says; @count and @epoch are not used
 * @entries: one for each block of the segment from 0 to @summary->end - 1
 * @block: FUSION_BLOCK_SIZE bytes to fill
 */
void fusion_summary_pack(const struct fusion_sb *sb, const struct fusion_segment *seg, u32 index,
			 const struct fusion_summary *summary, const struct fusion_entry *entries,
			 void *block);

/* Check such a block and unpack it. Return: as fusion_batch_unpack(). */
int fusion_summary_unpack(const struct fusion_sb *sb, const struct fusion_segment *seg, u32 index,
			  const void *block, struct fusion_summary *summary, const char **why);

/* -- records ------------------------------------------------------------------------------- */

/*
 * Most slots that a set can keep for its landing log: at most half of the fast ones, and no more
 * than the journal can record twice within a sixteenth of its size, in one commit.
 */
u32 fusion_landing_limit(const struct fusion_sb *sb);

/* Pack records, for fusion_journal_add(). @record: fusion_record_bytes(). */
void fusion_segment_pack(const struct fusion_sb *sb, const struct fusion_segment *seg,
			 void *record);
void fusion_segfree_pack(const struct fusion_segment *seg, struct fusion_journal_record *record);
void fusion_landed_pack(const struct fusion_landed *landed, struct fusion_landed_record *record);

/**
 * fusion_segment_unpack() - check a SEGMENT or SEGFREE
 * @sb: superblock of the fast member
 * @record: the record; its operation is one of these
 * @bytes: what is left of the payload
 * @seg: result; @live points into the record, or is NULL with SEGFREE, which has no @key
 * @why: set on error
 *
 * Whether the slot has another use, only the map tells. Return: 0, or -EILSEQ.
 */
int fusion_segment_unpack(const struct fusion_sb *sb, const void *record, u32 bytes,
			  struct fusion_segment *seg, const char **why);

/* The same for LANDED. */
int fusion_landed_unpack(const struct fusion_sb *sb, const void *record, u32 bytes,
			 struct fusion_landed *landed, const char **why);

/* Either kind, as its operation says. @rec: @op is set, and fusion_op_is_landing(). */
void fusion_landing_record_pack(const struct fusion_sb *sb, const struct fusion_record *rec,
				void *record);
int fusion_landing_record_unpack(const struct fusion_sb *sb, const void *record, u32 bytes,
				 struct fusion_record *rec, const char **why);

/* -- replay -------------------------------------------------------------------------------- */

/* Blocks behind the end of the log that a power cut can make unreadable: those of two batches. */
#define FUSION_LANDING_TORN	(2 * (FUSION_BATCH_BLOCKS + 1))

/**
 * struct fusion_landing - what fusion_landing_replay() needs and finds
 * @sb: superblock of the fast member
 * @seg: the segments that the journal lists, in ascending order of their numbers
 * @nr: how many
 * @from: what the last LANDED says, or FUSION_LANDED_NOWHERE
 * @read: returns a pointer to block @pos of a segment, valid until the next call, or NULL if it
 *	can't be read
 * @apply: called for each entry whose block is live, older ones first; its numbers are bounded.
 *	INV18 is for the caller, who knows the map. Nonzero return ends the replay
 * @ends: NULL, or called for each segment behind @from that has a batch: how many blocks its
 *	batches take
 * @ctx: argument of these
 * @at: out: the last batch that counts, and where the log has ended
 * @nr_entries: out: entries applied
 * @nr_walked: out: batches behind @from
 * @bad: out, on error: the segment that is not right, or NULL
 * @bad_pos: out, on error: the block in it
 * @why: out: reason for an error
 * @epoch: private: of the last batch
 * @last_seq: private: number of the last batch before @from
 * @unreadable: private: the log ends at a block that cannot be read
 * @entry: private: those of a batch whose data are being read
 */
struct fusion_landing {
	const struct fusion_sb *sb;
	const struct fusion_segment *seg;
	u32 nr;
	struct fusion_landed from;
	const void *(*read)(void *ctx, const struct fusion_segment *seg, u32 pos);
	int (*apply)(void *ctx, const struct fusion_segment *seg, u32 pos,
		     const struct fusion_entry *entry);
	void (*ends)(void *ctx, const struct fusion_segment *seg, u32 end);
	void *ctx;
	struct fusion_landed at;
	u64 nr_entries;
	u64 nr_walked;
	const struct fusion_segment *bad;
	u32 bad_pos;
	const char *why;
	u32 epoch;
	u64 last_seq;
	bool unreadable;
	struct fusion_entry entry[FUSION_BATCH_BLOCKS];
};

/**
 * fusion_landing_replay() - find out what is in the landing log
 * @l: see there
 *
 * On error some entries may have been applied: what was made of them is void, as is the set.
 *
 * Return: 0; -EILSEQ: damaged, or something is missing; -EIO: a block that cannot be read is, or
 * may be, part of it; or what @apply returned.
 */
int fusion_landing_replay(struct fusion_landing *l);

#endif
