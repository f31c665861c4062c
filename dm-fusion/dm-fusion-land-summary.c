// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: summaries of segments of the landing log that are full.
 *
 * A summary spares an opening the headers of the segment, no more: it is believed only as far as
 * a commit has said that the log is durable. So nobody waits for it, an error does not matter, and
 * there is none if the one before is still being written. It is in an epoch meanwhile, so the
 * segment keeps its slot.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "dm-fusion.h"
#include "dm-fusion-land-batch.h"

/**
 * struct fusion_land_summary - the summary of the segment that is being filled, and of one before
 * @entry: entries of the former, and of the latter; both locks
 * @first_seq: number of the first batch of the former; the same
 * @busy: the latter is being written
 * @seg: the latter, as what follows
 * @head: what its summary says
 * @next: the next block of that
 * @io: the epoch that it is in
 * @page: a block of it
 */
struct fusion_land_summary {
	struct fusion_entry *entry[2];
	u64 first_seq;
	bool busy;
	struct fusion_segment seg;
	struct fusion_summary head;
	u32 next;
	struct fusion_io io;
	struct page *page;
};

int fusion_land_summary_init(struct fusion *fs)
{
	const u32 room = fusion_segment_room(&fs->sb);
	struct fusion_land_summary *s = kzalloc(sizeof(*s), GFP_KERNEL);

	fs->land.summary = s;
	if (!s)
		return -ENOMEM;
	s->entry[0] = kvcalloc(room, sizeof(*s->entry[0]), GFP_KERNEL);
	s->entry[1] = kvcalloc(room, sizeof(*s->entry[1]), GFP_KERNEL);
	s->page = alloc_page(GFP_KERNEL);
	return s->entry[0] && s->entry[1] && s->page ? 0 : -ENOMEM;
}

void fusion_land_summary_exit(struct fusion *fs)
{
	struct fusion_land_summary *s = fs->land.summary;

	if (!s)
		return;
	if (s->page)
		__free_page(s->page);
	kvfree(s->entry[1]);
	kvfree(s->entry[0]);
	kfree(s);
}

void fusion_land_summary_add(struct fusion *fs, const struct fusion_land_batch *b)
{
	struct fusion_land_summary *s = fs->land.summary;
	struct fusion_entry *entry = s->entry[0] + b->pos;

	if (!b->pos)
		s->first_seq = b->seq;
	*entry = (struct fusion_entry){
		.lext = FUSION_LANDING_HEAD,
		.block = b->count,
		.crc = b->csum,
	};
	memcpy(entry + 1, b->entry, b->count * sizeof(*entry));
}

void fusion_land_summary_begin(struct fusion *fs, const struct fusion_land_segment *seg)
{
	struct fusion_land_summary *s = fs->land.summary;

	/* Pairs with the release in fusion_land_summary_write(). */
	if (smp_load_acquire(&s->busy))
		return;
	swap(s->entry[0], s->entry[1]);
	s->seg = (struct fusion_segment){ .slot = seg->slot, .segno = seg->segno, .key = seg->key };
	s->head = (struct fusion_summary){
		.first_seq = s->first_seq,
		.flushed_seq = fs->land.flushed_seq,
		.end = seg->end,
	};
	s->next = 0;
	/* In the section in which the segment is not left yet, as fusion_pin_slot(). */
	rcu_read_lock_sched();
	fusion_enter(fs, &s->io);
	rcu_read_unlock_sched();
	WRITE_ONCE(s->busy, true);
}

bool fusion_land_summary_due(const struct fusion *fs)
{
	return READ_ONCE(fs->land.summary->busy);
}

void fusion_land_summary_write(struct fusion *fs)
{
	struct fusion_land_summary *s = fs->land.summary;
	const u64 start = fusion_segment_blocknr(&fs->sb, s->seg.slot,
						 fusion_segment_room(&fs->sb));
	int r;

	fusion_summary_pack(&fs->sb, &s->seg, s->next, &s->head, s->entry[1],
			    page_address(s->page));
	r = fusion_gate_ready(fs);
	if (!r)
		r = fusion_rw_page(fs, FUSION_FAST, REQ_OP_WRITE | REQ_META, start + s->next,
				   s->page);
	if (!r && ++s->next < fusion_summary_blocks(&fs->sb))
		return;
	fusion_leave(fs, &s->io);
	/* Pairs with the acquire in fusion_land_summary_begin(). */
	smp_store_release(&s->busy, false);
}
