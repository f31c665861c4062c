// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: packing, unpacking and checking of the landing log: batches and summaries. See
 * dm-fusion-landing.h for the contract. Records of segments are in dm-fusion-landing-record.c.
 */
#include <linux/build_bug.h>
#include <linux/crc32c.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <asm/byteorder.h>

#include "dm-fusion-landing.h"

static_assert(sizeof(struct fusion_landing_entry) == 12);
static_assert(sizeof(struct fusion_landing_block) == FUSION_BLOCK_SIZE);
static_assert(FUSION_BATCH_BLOCKS <= FUSION_SUMMARY_ENTRIES);
/* no extent has the number that stands for a header */
static_assert(FUSION_MAX_LEXTS < FUSION_LANDING_HEAD);

u32 fusion_landing_crc(const void *data)
{
	return crc32c(~0U, data, FUSION_BLOCK_SIZE);
}

/* -- entries ------------------------------------------------------------------------------- */

static void fusion_entry_pack(const struct fusion_entry *entry, struct fusion_landing_entry *d)
{
	d->lext = cpu_to_le32(entry->lext);
	d->block = cpu_to_le16(entry->block);
	d->flags = 0;
	d->crc = cpu_to_le32(entry->crc);
}

void fusion_landing_entry(const void *block, u32 i, struct fusion_entry *entry)
{
	const struct fusion_landing_block *b = block;
	const struct fusion_landing_entry *d = &b->entry[i];

	entry->lext = le32_to_cpu(d->lext);
	entry->block = le16_to_cpu(d->block);
	entry->crc = le32_to_cpu(d->crc);
}

/* What is wrong with the first @count entries of a block; @heads: those of headers may be there. */
static const char *fusion_check_entries(const struct fusion_sb *sb,
					const struct fusion_landing_block *d, u32 count, bool heads)
{
	struct fusion_entry entry;
	u32 i;

	for (i = 0; i < count; i++) {
		if (d->entry[i].flags)
			return "an entry of the landing log has flags of a newer version";
		fusion_landing_entry(d, i, &entry);
		if (heads && entry.lext == FUSION_LANDING_HEAD) {
			if (!entry.block || entry.block > FUSION_BATCH_BLOCKS)
				return "a batch of the landing log has an impossible length";
			continue;
		}
		if (entry.lext >= sb->nr_lexts || entry.block >= fusion_segment_blocks(sb))
			return "an entry of the landing log is out of bounds";
	}
	return NULL;
}

/* -- what both kinds of blocks have -------------------------------------------------------- */

static u32 fusion_landing_seal(const struct fusion_sb *sb, const struct fusion_segment *seg,
			       u32 magic, u32 pos, struct fusion_landing_block *d)
{
	d->key = cpu_to_le64(seg->key);
	d->segno = cpu_to_le64(seg->segno);
	d->slot = cpu_to_le32(seg->slot);
	d->epoch = cpu_to_le32(sb->epoch);
	return fusion_block_seal(sb, magic, fusion_segment_blocknr(sb, seg->slot, pos), d);
}

/* Is it a block of that kind, of this place, and of this use of the slot? */
static bool fusion_landing_belongs(const struct fusion_sb *sb, const struct fusion_segment *seg,
				   u32 magic, u32 pos, const struct fusion_landing_block *d)
{
	return !fusion_block_check(sb, magic, fusion_segment_blocknr(sb, seg->slot, pos), d) &&
	       le64_to_cpu(d->key) == seg->key && le64_to_cpu(d->segno) == seg->segno &&
	       le32_to_cpu(d->slot) == seg->slot;
}

/* Numbers up to FUSION_MAX_COUNTER can be added to. */
static const char *fusion_check_numbers(const struct fusion_sb *sb, u64 seq, u64 flushed_seq,
					u32 epoch)
{
	if (!seq || seq > FUSION_MAX_COUNTER || flushed_seq > FUSION_MAX_COUNTER)
		return "the number of a batch of the landing log is out of bounds";
	if (epoch > sb->epoch)
		return "a block of the landing log is of a later opening than the superblock";
	return NULL;
}

/* -- batches ------------------------------------------------------------------------------- */

void fusion_batch_init(void *block)
{
	memset(block, 0, FUSION_BLOCK_SIZE);
}

bool fusion_batch_add(void *block, const struct fusion_entry *entry)
{
	struct fusion_landing_block *d = block;
	const u32 count = le16_to_cpu(d->count);

	if (count == FUSION_BATCH_BLOCKS)
		return false;
	fusion_entry_pack(entry, &d->entry[count]);
	d->count = cpu_to_le16(count + 1);
	return true;
}

u32 fusion_batch_seal(const struct fusion_sb *sb, const struct fusion_segment *seg, u32 pos,
		      const struct fusion_batch *batch, void *block)
{
	struct fusion_landing_block *d = block;

	d->seq = cpu_to_le64(batch->seq);
	d->flushed_seq = cpu_to_le64(batch->flushed_seq);
	d->prev_csum = cpu_to_le32(batch->prev_csum);
	return fusion_landing_seal(sb, seg, FUSION_MAGIC_BATCH, pos, d);
}

int fusion_batch_unpack(const struct fusion_sb *sb, const struct fusion_segment *seg, u32 pos,
			const void *block, struct fusion_batch *batch, const char **why)
{
	const struct fusion_landing_block *d = block;

	if (!fusion_landing_belongs(sb, seg, FUSION_MAGIC_BATCH, pos, d)) {
		*why = "no batch of the landing log";
		return -ENODATA;
	}
	batch->seq = le64_to_cpu(d->seq);
	batch->flushed_seq = le64_to_cpu(d->flushed_seq);
	batch->epoch = le32_to_cpu(d->epoch);
	batch->prev_csum = le32_to_cpu(d->prev_csum);
	batch->csum = le32_to_cpu(d->h.csum);
	batch->count = le16_to_cpu(d->count);
	*why = fusion_check_numbers(sb, batch->seq, batch->flushed_seq, batch->epoch);
	if (!*why && batch->flushed_seq >= batch->seq)
		*why = "a batch of the landing log says that it was durable before it was written";
	if (!*why && (!batch->count || batch->count > FUSION_BATCH_BLOCKS ||
		      pos + 1 + batch->count > fusion_segment_room(sb)))
		*why = "a batch of the landing log has an impossible length";
	if (!*why)
		*why = fusion_check_entries(sb, d, batch->count, false);
	return *why ? -EILSEQ : 0;
}

/* -- summaries ----------------------------------------------------------------------------- */

/* Entries that block @index of a summary has if the batches take @end blocks. */
static u32 fusion_summary_count(u32 end, u32 index)
{
	const u32 first = index * FUSION_SUMMARY_ENTRIES;

	return first < end ? min(end - first, FUSION_SUMMARY_ENTRIES) : 0;
}

void fusion_summary_pack(const struct fusion_sb *sb, const struct fusion_segment *seg, u32 index,
			 const struct fusion_summary *summary, const struct fusion_entry *entries,
			 void *block)
{
	const u32 count = fusion_summary_count(summary->end, index);
	struct fusion_landing_block *d = block;
	u32 i;

	memset(block, 0, FUSION_BLOCK_SIZE);
	d->seq = cpu_to_le64(summary->first_seq);
	d->flushed_seq = cpu_to_le64(summary->flushed_seq);
	d->count = cpu_to_le16(count);
	d->index = cpu_to_le16(index);
	d->end = cpu_to_le16(summary->end);
	for (i = 0; i < count; i++)
		fusion_entry_pack(&entries[index * FUSION_SUMMARY_ENTRIES + i], &d->entry[i]);
	fusion_landing_seal(sb, seg, FUSION_MAGIC_SUMMARY, fusion_segment_room(sb) + index, d);
}

int fusion_summary_unpack(const struct fusion_sb *sb, const struct fusion_segment *seg, u32 index,
			  const void *block, struct fusion_summary *summary, const char **why)
{
	const struct fusion_landing_block *d = block;

	if (!fusion_landing_belongs(sb, seg, FUSION_MAGIC_SUMMARY,
				    fusion_segment_room(sb) + index, d)) {
		*why = "no summary of the landing log";
		return -ENODATA;
	}
	summary->first_seq = le64_to_cpu(d->seq);
	summary->flushed_seq = le64_to_cpu(d->flushed_seq);
	summary->epoch = le32_to_cpu(d->epoch);
	summary->end = le16_to_cpu(d->end);
	summary->count = le16_to_cpu(d->count);
	*why = fusion_check_numbers(sb, summary->first_seq, summary->flushed_seq, summary->epoch);
	/* one batch is a header and a block of data at least */
	if (!*why && (summary->end < 2 || summary->end > fusion_segment_room(sb) ||
		      le16_to_cpu(d->index) != index ||
		      summary->count != fusion_summary_count(summary->end, index)))
		*why = "a summary of the landing log has an impossible length";
	if (!*why)
		*why = fusion_check_entries(sb, d, summary->count, true);
	return *why ? -EILSEQ : 0;
}
