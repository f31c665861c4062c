// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: packing, unpacking and checking of the journal's records of the landing log. See
 * dm-fusion-landing.h for the contract.
 */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <asm/byteorder.h>

#include "dm-fusion-landing.h"

static_assert(sizeof(struct fusion_segment_record) == 24);
static_assert(sizeof(struct fusion_landed_record) == 24);

#define PLACE_SHIFT	48	/* of the block, in struct fusion_landed_record */
#define END_SHIFT	16	/* of the end, in @old of struct fusion_segment_record */

static void fusion_segment_head_pack(const struct fusion_segment *seg, u32 op, u32 end,
				     struct fusion_journal_record *r)
{
	r->lext = cpu_to_le32(seg->slot);
	r->new = cpu_to_le32((u32)seg->segno);
	r->old = cpu_to_le32((u32)(seg->segno >> 32) | end << END_SHIFT);
	r->op = cpu_to_le32(op);
}

void fusion_segment_pack(const struct fusion_sb *sb, const struct fusion_segment *seg,
			 void *record)
{
	struct fusion_segment_record *d = record;

	fusion_segment_head_pack(seg, FUSION_OP_SEGMENT, seg->end, &d->r);
	d->key = cpu_to_le64(seg->key);
	memcpy(d + 1, seg->live, fusion_bitmap_bytes(sb->extent_sectors));
}

void fusion_segfree_pack(const struct fusion_segment *seg, struct fusion_journal_record *record)
{
	fusion_segment_head_pack(seg, FUSION_OP_SEGFREE, 0, record);
}

void fusion_landed_pack(const struct fusion_landed *landed, struct fusion_landed_record *record)
{
	record->r.lext = cpu_to_le32(landed->csum);
	record->r.new = cpu_to_le32((u32)landed->seq);
	record->r.old = cpu_to_le32((u32)(landed->seq >> 32));
	record->r.op = cpu_to_le32(FUSION_OP_LANDED);
	record->place = cpu_to_le64(landed->segno | (u64)landed->pos << PLACE_SHIFT);
}

static int fusion_segment_body_unpack(const struct fusion_sb *sb,
				      const struct fusion_segment_record *d, u32 bytes,
				      struct fusion_segment *seg, const char **why)
{
	const u32 used = fusion_segment_blocks(sb) / 8;

	*why = "a record of the landing log is cut off";
	if (bytes < fusion_record_bytes(sb, FUSION_OP_SEGMENT))
		return -EILSEQ;
	seg->key = le64_to_cpu(d->key);
	seg->live = (const u8 *)(d + 1);
	*why = "a segment of the landing log has blocks that do not exist";
	if (memchr_inv(seg->live + used, 0, fusion_bitmap_bytes(sb->extent_sectors) - used))
		return -EILSEQ;
	*why = "a segment of the landing log has no key";
	return seg->key ? 0 : -EILSEQ;
}

int fusion_segment_unpack(const struct fusion_sb *sb, const void *record, u32 bytes,
			  struct fusion_segment *seg, const char **why)
{
	const struct fusion_segment_record *d = record;
	int r = 0;
	u32 op;

	memset(seg, 0, sizeof(*seg));
	*why = "a record of the landing log is cut off";
	if (bytes < sizeof(d->r))
		return -EILSEQ;
	op = le32_to_cpu(d->r.op);
	seg->slot = le32_to_cpu(d->r.lext);
	seg->segno = le32_to_cpu(d->r.new) |
		     (u64)(le32_to_cpu(d->r.old) & ((1U << END_SHIFT) - 1)) << 32;
	seg->end = le32_to_cpu(d->r.old) >> END_SHIFT;
	*why = "a segment of the landing log is out of bounds";
	if (sb->role != FUSION_FAST || !seg->segno ||
	    !fusion_slot_valid(sb, FUSION_FAST, seg->slot) ||
	    seg->end > fusion_segment_room(sb) || seg->end == 1)
		return -EILSEQ;
	if (op == FUSION_OP_SEGMENT)
		r = fusion_segment_body_unpack(sb, d, bytes, seg, why);
	else if (op != FUSION_OP_SEGFREE || seg->end)
		r = -EILSEQ;
	if (!r)
		*why = NULL;
	return r;
}

int fusion_landed_unpack(const struct fusion_sb *sb, const void *record, u32 bytes,
			 struct fusion_landed *landed, const char **why)
{
	const struct fusion_landed_record *d = record;
	u64 place;

	*why = "a record of the landing log is cut off";
	if (bytes < sizeof(*d))
		return -EILSEQ;
	place = le64_to_cpu(d->place);
	landed->csum = le32_to_cpu(d->r.lext);
	landed->seq = le32_to_cpu(d->r.new) | (u64)le32_to_cpu(d->r.old) << 32;
	landed->segno = place & FUSION_MAX_SEGNO;
	landed->pos = place >> PLACE_SHIFT;
	*why = "the record of where the landing log goes on is out of bounds";
	if (sb->role != FUSION_FAST || le32_to_cpu(d->r.op) != FUSION_OP_LANDED ||
	    landed->seq > FUSION_MAX_COUNTER || !landed->segno || landed->pos == 1 ||
	    landed->pos > fusion_segment_room(sb) || (landed->pos && !landed->seq))
		return -EILSEQ;
	*why = NULL;
	return 0;
}

void fusion_landing_record_pack(const struct fusion_sb *sb, const struct fusion_record *rec,
				void *record)
{
	if (rec->op == FUSION_OP_SEGMENT)
		fusion_segment_pack(sb, &rec->segment, record);
	else if (rec->op == FUSION_OP_SEGFREE)
		fusion_segfree_pack(&rec->segment, record);
	else
		fusion_landed_pack(&rec->landed, record);
}

int fusion_landing_record_unpack(const struct fusion_sb *sb, const void *record, u32 bytes,
				 struct fusion_record *rec, const char **why)
{
	return fusion_op_has_segment(rec->op) ?
	       fusion_segment_unpack(sb, record, bytes, &rec->segment, why) :
	       fusion_landed_unpack(sb, record, bytes, &rec->landed, why);
}
