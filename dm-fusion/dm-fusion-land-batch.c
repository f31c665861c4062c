// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: batches of the landing log: data are copied, headers are sealed, batches are sent. How
 * they end, dm-fusion-land-end.c says.
 *
 * Some batches are sent to the fast member at once, while the next one collects blocks. It is sent
 * by who has copied the last data, or by the work when another one has ended. Before that, the gate
 * is looked at again: a batch is written later than the bios in it were mapped. If the lease is
 * over the work waits for the heartbeat. A seal shuts the gate, but not the lease, and waits for
 * the bios.
 *
 * A batch has blocks of many tasks, and those behind it wait for it, as drains do. So a task that
 * has a place in it is not preempted before its data are there: at most 64 KiB are copied. One that
 * must leave the CPU then, or must not wait for the member, has the work send the batch. So does
 * one that is plugged, but for its own blocks: its requests wait until it has sent all it has, and
 * it may be preempted before that.
 */
#include <linux/blk-cgroup.h>
#include <linux/blkdev.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "dm-fusion.h"
#include "dm-fusion-land-batch.h"

/* -- on the way ------------------------------------------------------------------------------ */

/* Seal the batch, and send it. Only who is sending. */
static void fusion_land_submit(struct fusion *fs, struct fusion_land_batch *b)
{
	struct fusion_land *land = &fs->land;
	const struct fusion_land_segment *at = &land->segment[b->place];
	const struct fusion_segment seg = { .slot = at->slot, .segno = at->segno, .key = at->key };
	const struct fusion_batch head = {
		.seq = b->seq,
		.flushed_seq = b->flushed_seq,
		.prev_csum = land->csum,
	};
	void *header = page_address(b->page[0]);
	u32 i;

	fusion_batch_init(header);
	for (i = 0; i < b->count; i++)
		fusion_batch_add(header, &b->entry[i]);
	b->csum = fusion_batch_seal(&fs->sb, &seg, b->pos, &head, header);
	land->csum = b->csum;
	bio_init(&b->bio, fs->dev[FUSION_FAST]->bdev, b->vec, ARRAY_SIZE(b->vec),
		 REQ_OP_WRITE | REQ_SYNC);
	/* it has blocks of others: no limit of the group that this task is in must hold them up */
	bio_associate_blkg_from_css(&b->bio, blkcg_root_css);
	b->bio.bi_iter.bi_sector = fs->base[FUSION_FAST] + ((sector_t)seg.slot << fs->shift) +
				   b->pos * FUSION_BLOCK_SECTORS;
	for (i = 0; i <= b->count; i++)
		__bio_add_page(&b->bio, b->page[i], FUSION_BLOCK_SIZE, 0);
	b->bio.bi_end_io = fusion_land_batch_done;
	b->bio.bi_private = b;
	submit_bio_noacct(&b->bio);
}

/* Who may send: the work may wait for the gate, and for the member. */
enum sender {
	ANY_TASK,
	HURRIED_TASK,	/* it may not, or not now */
	LAND_WORK,
};

/* What a task is to do about batches. */
struct land_turn {
	struct fusion_land_batch *b;	/* send it, or NULL; nobody else does meanwhile */
	bool work;			/* have the work go on */
	bool finish;			/* see what has become of those that are not sent */
};

/* Would the batch stay in the plug of this task, with blocks of others? */
static bool fusion_land_plugged(const struct fusion_land_batch *b)
{
	return current->plug && b->bios.head != b->bios.tail;
}

/* land->lock held. */
static struct land_turn fusion_land_turn(struct fusion *fs, enum sender who)
{
	struct fusion_land *land = &fs->land;
	struct land_turn turn = { .finish = land->broken };

	if (land->sending)
		return (struct land_turn){ };
	turn.b = fusion_land_to_send(land);
	if (!turn.b)
		return turn;
	turn.work = who == HURRIED_TASK || !fusion_gate_may_write(fs) ||
		    (who == ANY_TASK && (READ_ONCE(fs->gate) || fusion_land_plugged(turn.b)));
	if (turn.work) {
		turn.b = NULL;
		return turn;
	}
	land->sending = true;
	turn.b->state = FUSION_BATCH_SENT;
	turn.b->flushed_seq = land->flushed_seq;
	land->nr_sent++;
	return turn;
}

/* Send batches as far as that is possible, beginning with that of @turn. */
static void fusion_land_take_turns(struct fusion *fs, struct land_turn turn, enum sender who)
{
	struct fusion_land *land = &fs->land;
	unsigned long flags;

	while (turn.b) {
		fusion_land_submit(fs, turn.b);
		spin_lock_irqsave(&land->lock, flags);
		land->sending = false;
		turn = fusion_land_turn(fs, who);
		spin_unlock_irqrestore(&land->lock, flags);
	}
	if (turn.work)
		fusion_land_work(fs);
	if (turn.finish)
		fusion_land_finish(fs);
}

static void fusion_land_send(struct fusion *fs, enum sender who)
{
	struct fusion_land *land = &fs->land;
	unsigned long flags;
	struct land_turn turn;

	spin_lock_irqsave(&land->lock, flags);
	turn = fusion_land_turn(fs, who);
	spin_unlock_irqrestore(&land->lock, flags);
	fusion_land_take_turns(fs, turn, who);
}

void fusion_land_push(struct fusion *fs)
{
	if (fs->land.max)
		fusion_land_send(fs, ANY_TASK);
}

/* Without a heartbeat nothing is sent any more. */
static void fusion_land_stop(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	unsigned long flags;

	spin_lock_irqsave(&land->lock, flags);
	land->broken |= land->nr_batches;
	spin_unlock_irqrestore(&land->lock, flags);
	fusion_land_finish(fs);
}

/* -- data ------------------------------------------------------------------------------------ */

/*
 * They may change meanwhile, as those of a page that is mapped. So all that counts is the copy.
 * @at: of the first byte, in the pages.
 */
static void fusion_land_copy_data(struct bio *bio, struct page **page, u32 at)
{
	struct bvec_iter iter;
	struct bio_vec vec;
	u32 len, done;
	void *from;

	bio_for_each_segment(vec, bio, iter) {
		from = bvec_kmap_local(&vec);
		for (done = 0; done < vec.bv_len; done += len, at += len) {
			len = min_t(u32, vec.bv_len - done,
				    FUSION_BLOCK_SIZE - at % FUSION_BLOCK_SIZE);
			memcpy(page_address(page[at / FUSION_BLOCK_SIZE]) + at % FUSION_BLOCK_SIZE,
			       from + done, len);
		}
		kunmap_local(from);
	}
}

/* The places of the blocks of a bio: in one batch, or in several that follow one another. */
struct places {
	struct fusion_land_batch *last;
	u32 nr;
	u32 batches;
	struct page *page[FUSION_LAND_MOST];
	u32 *crc[FUSION_LAND_MOST];
};

/* A batch that is full has no blocks of others behind those of the bio. */
static void fusion_land_places(struct fusion *fs, u32 place, u32 nr, struct places *at)
{
	struct fusion_land *land = &fs->land;
	u32 b = place >> 8, i = place & 0xff;

	at->nr = 0;
	at->batches = 1;
	at->last = &land->batch[b];
	for (; at->nr < nr; i++) {
		if (i == READ_ONCE(at->last->count)) {
			b = (b + 1) % FUSION_LAND_BATCHES;
			at->last = &land->batch[b];
			at->batches++;
			i = 0;
		}
		at->page[at->nr] = at->last->page[1 + i];
		at->crc[at->nr++] = &at->last->entry[i].crc;
	}
}

/* The data of a bio are there. @more: others follow, and fusion_land_push(). */
static void fusion_land_filled(struct fusion *fs, struct bio *bio, struct places *at, u32 place,
			       bool more)
{
	struct fusion_land *land = &fs->land;
	enum sender who;
	unsigned long flags;
	struct land_turn turn = { };
	u32 i;

	for (i = 0; i < at->nr; i++)
		*at->crc[i] = fusion_landing_crc(page_address(at->page[i]));
	/* a task that is due to leave the CPU may be held off it for long, and others wait */
	who = bio->bi_opf & REQ_NOWAIT || need_resched() ? HURRIED_TASK : ANY_TASK;
	spin_lock_irqsave(&land->lock, flags);
	for (i = 0; i < at->batches; i++)
		land->batch[((place >> 8) + i) % FUSION_LAND_BATCHES].copying--;
	/* it ends with the last of them, as those before have ended then */
	bio_list_add(&at->last->bios, bio);
	/* what is full goes at once, so that there are batches for those that follow */
	if (!more || land->nr_batches > 1)
		turn = fusion_land_turn(fs, who);
	spin_unlock_irqrestore(&land->lock, flags);
	fusion_land_let_go();
	fusion_land_take_turns(fs, turn, who);
}

void fusion_land_fill(struct fusion *fs, struct bio *bio, u32 place, bool more)
{
	struct places at;

	fusion_land_places(fs, place, bio_sectors(bio) / FUSION_BLOCK_SECTORS, &at);
	fusion_land_copy_data(bio, at.page, 0);
	fusion_land_filled(fs, bio, &at, place, more);
}

void fusion_land_fill_part(struct fusion *fs, struct bio *bio, u32 place, struct page *page)
{
	struct places at;

	fusion_land_places(fs, place, 1, &at);
	memcpy(page_address(at.page[0]), page_address(page), FUSION_BLOCK_SIZE);
	fusion_land_copy_data(bio, at.page,
			      bio->bi_iter.bi_sector % FUSION_BLOCK_SECTORS << SECTOR_SHIFT);
	fusion_land_filled(fs, bio, &at, place, false);
}

/* -- all of it ------------------------------------------------------------------------------- */

/* The work, and its device. */
struct fusion_land_work {
	struct work_struct work;
	struct fusion *fs;
};

static void fusion_do_land(struct work_struct *work)
{
	struct fusion *fs = container_of(work, struct fusion_land_work, work)->fs;

	if (fusion_gate_sure(fs))
		fusion_land_stop(fs);
	else
		fusion_land_send(fs, LAND_WORK);
	/* who waits for a batch does not wait for all of a summary */
	while (fusion_land_summary_due(fs)) {
		fusion_land_summary_write(fs);
		fusion_land_send(fs, LAND_WORK);
	}
}

int fusion_land_append_init(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	const u32 pages = min(FUSION_BATCH_BLOCKS + 1, land->blocks);
	struct fusion_land_work *work;
	u32 i, k;

	if (!land->max)
		return 0;
	if (fusion_land_summary_init(fs) || fusion_pace_init(fs))
		return -ENOMEM;
	work = kzalloc(sizeof(*work), GFP_KERNEL);
	if (!work)
		return -ENOMEM;
	work->fs = fs;
	land->work = &work->work;
	INIT_WORK(land->work, fusion_do_land);
	land->batch = kvcalloc(FUSION_LAND_BATCHES, sizeof(*land->batch), GFP_KERNEL);
	if (!land->batch)
		return -ENOMEM;
	fusion_land_flush_init(fs);
	init_waitqueue_head(&land->wait);
	for (i = 0; i < FUSION_LAND_BATCHES; i++) {
		land->batch[i].fs = fs;
		bio_list_init(&land->batch[i].bios);
		for (k = 0; k < pages; k++) {
			land->batch[i].page[k] = alloc_page(GFP_KERNEL);
			if (!land->batch[i].page[k])
				return -ENOMEM;
		}
	}
	land->pieces = kvmalloc_array(land->blocks, sizeof(*land->pieces), GFP_KERNEL);
	land->wq = alloc_ordered_workqueue("fusion-land", WQ_MEM_RECLAIM);
	land->fua_wq = alloc_ordered_workqueue("fusion-land-fua", WQ_MEM_RECLAIM);
	return land->pieces && land->wq && land->fua_wq ? 0 : -ENOMEM;
}

void fusion_land_append_exit(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	u32 i, k;

	fusion_pace_exit(fs);
	fusion_land_summary_exit(fs);
	if (!land->work)
		return;
	kvfree(land->pieces);
	if (land->wq)
		destroy_workqueue(land->wq);
	if (land->fua_wq)
		destroy_workqueue(land->fua_wq);
	kfree(container_of(land->work, struct fusion_land_work, work));
	if (!land->batch)
		return;
	for (i = 0; i < FUSION_LAND_BATCHES; i++)
		for (k = 0; k <= FUSION_BATCH_BLOCKS; k++)
			if (land->batch[i].page[k])
				__free_page(land->batch[i].page[k]);
	kvfree(land->batch);
}
