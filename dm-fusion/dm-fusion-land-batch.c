// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: batches of the landing log: data are copied, headers are sealed, batches are sent, and
 * end one after another (INV19).
 *
 * Some batches are sent to the fast member at once, while the next one collects blocks. It is sent
 * by who has copied the last data, or by the work when another one has ended. Before that, the gate
 * is looked at again: a batch is written later than the bios in it were mapped. If the lease is
 * over the work waits for the heartbeat. A seal shuts the gate, but not the lease, and waits for
 * the bios.
 *
 * A batch has blocks of many tasks, and those behind it wait for it, as drains do. So a task that
 * has a place in it is not preempted before its data are there: at most 64 KiB are copied. One that
 * must leave the CPU then, or must not wait for the member, has the work send the batch.
 *
 * The bios of a batch stay in their epochs until it has ended, and all before it. What they wrote
 * is then found by reads, and durable with the next flush of the fast member; those with FUA wait
 * for that: dm-fusion-land-flush.c.
 *
 * If a batch cannot be written, it may be on the disk or not. So it and those behind it are given
 * up when all that were sent have ended. Their bios were not acknowledged: they go past the log, as
 * all do from then on until the set is opened again. Flushes wait for a commit that says where the
 * log has ended, because until then an opening may find what is given up.
 */
#include <linux/blk-cgroup.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "dm-fusion.h"
#include "dm-fusion-land-batch.h"

#define FAILED "%s: landing log: a write failed: %d; it is unused until the set is opened again"

static struct fusion_land_batch *fusion_land_nth(const struct fusion_land *land, u32 i)
{
	return &land->batch[(land->first_batch + i) % FUSION_LAND_BATCHES];
}

/* The next batch that can be sent, which takes no blocks any more, or NULL. land->lock held. */
static struct fusion_land_batch *fusion_land_to_send(struct fusion_land *land)
{
	struct fusion_land_batch *b;
	u32 i;

	if (land->broken || land->nr_sent == FUSION_LAND_SENT)
		return NULL;
	for (i = 0; i < land->nr_batches; i++) {
		b = fusion_land_nth(land, i);
		if (b->state == FUSION_BATCH_FILLING)
			return b->count && !b->copying ? b : NULL;
	}
	return NULL;
}

/* -- the end --------------------------------------------------------------------------------- */

static void fusion_land_work(struct fusion *fs)
{
	queue_work(fs->land.wq, fs->land.work);
}

/* The first batch is written, as all before it. Both locks held. */
static void fusion_land_ended(struct fusion *fs, const struct fusion_land_batch *b)
{
	struct fusion_land *land = &fs->land;
	struct fusion_land_segment *seg = &land->segment[b->place];
	u32 i;

	for (i = 0; i < b->count; i++)
		fusion_land_arrive(land);
	fusion_stale_soon(fs->stale);
	fusion_land_summary_add(fs, b);
	seg->end = b->pos + 1 + b->count;
	land->ended.seq = b->seq;
	land->ended.csum = b->csum;
	land->ended.pos = seg->end;
	if (seg->end + 2 <= fusion_segment_room(&fs->sb))
		return;
	land->ended.segno++;
	land->ended.pos = 0;
	fusion_land_summary_begin(fs, seg);
	fusion_land_mark(land, seg);
	/* it records where that ends, and opens others */
	if (land->next_segno > land->ended.segno)
		fusion_commit_soon(fs);
	else
		fusion_commit_kick(fs);
}

/* Is nothing on its way any more but what waits here? land->lock held. */
static bool fusion_land_still(const struct fusion_land *land)
{
	u32 i;

	for (i = 0; i < land->nr_batches; i++)
		if (fusion_land_nth(land, i)->state == FUSION_BATCH_SENT ||
		    fusion_land_nth(land, i)->copying)
			return false;
	return !land->sending;
}

/* The log ends here, and goes on behind all segments that there are. Both locks held. */
static void fusion_land_give_up(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	const struct fusion_land_batch *b = fusion_land_nth(land, 0);
	u64 segno;
	u32 i;

	for (segno = land->ended.segno; segno < land->next_segno; segno++) {
		i = fusion_land_place_of(land, segno);
		if (i != FUSION_LAND_NONE)
			fusion_land_mark(land, &land->segment[i]);
	}
	land->segment[b->place].failed = b->status != BLK_STS_OK;
	land->failed = fusion_segment_blocknr(&fs->sb, land->segment[b->place].slot, b->pos);
	fusion_land_ground(land);
	land->ended.segno = land->next_segno;
	land->ended.pos = 0;
	land->at = land->ended;
	land->at_place = FUSION_LAND_NONE;
	WRITE_ONCE(land->appends, false);
	land->opens = false;
	land->deaths = true;
	fusion_pace_stop(fs, true);
	fusion_commit_kick(fs);
}

/* Take the first batch out of the ring, and its bios to a list. land->lock held. */
static void fusion_land_pop(struct fusion_land *land, struct bio_list *bios)
{
	struct fusion_land_batch *b = fusion_land_nth(land, 0);

	bio_list_merge(bios, &b->bios);
	bio_list_init(&b->bios);
	land->first_batch = (land->first_batch + 1) % FUSION_LAND_BATCHES;
	land->nr_batches--;
}

/* Send them to the worker, as if they had just been deferred. fs->lock held. */
static void fusion_land_pass(struct fusion *fs, struct bio_list *bios)
{
	struct bio *bio;

	while ((bio = bio_list_pop(bios))) {
		fusion_unpin(fs, fusion_io(bio));
		fusion_io(bio)->landed = false;
		/* it was taken: too late to say that it would block */
		bio->bi_opf &= ~REQ_NOWAIT;
		bio_list_add(&fs->worker.deferred, bio);
		queue_work(fs->worker.wq, &fs->worker.work);
	}
}

/*
 * As many of the first batches as have ended or failed; @done gets the bios that have ended. The
 * table may be gone once these have: so all that is to be queued is, before that. fs->lock held.
 */
static void fusion_land_reap(struct fusion *fs, struct bio_list *done)
{
	struct fusion_land *land = &fs->land;
	struct bio_list past;
	unsigned long flags;
	bool more;

	bio_list_init(&past);
	spin_lock_irqsave(&land->lock, flags);
	while (!land->broken && land->nr_batches &&
	       fusion_land_nth(land, 0)->state == FUSION_BATCH_ENDED) {
		if (fusion_land_nth(land, 0)->status) {
			land->broken = true;
			break;
		}
		fusion_land_ended(fs, fusion_land_nth(land, 0));
		fusion_land_pop(land, done);
	}
	if (land->broken && land->nr_batches && fusion_land_still(land)) {
		fusion_land_give_up(fs);
		while (land->nr_batches)
			fusion_land_pop(land, &past);
	}
	more = fusion_land_to_send(land) || fusion_land_summary_due(fs);
	spin_unlock_irqrestore(&land->lock, flags);
	fusion_land_pass(fs, &past);
	if (more)
		fusion_land_work(fs);
	fusion_land_wake(fs);
}

static void fusion_land_end_bios(struct bio_list *done)
{
	struct bio *bio;

	while ((bio = bio_list_pop(done)))
		bio_endio(bio);
}

void fusion_land_finish(struct fusion *fs)
{
	struct bio_list done;
	unsigned long flags;

	bio_list_init(&done);
	spin_lock_irqsave(&fs->lock, flags);
	fusion_land_reap(fs, &done);
	spin_unlock_irqrestore(&fs->lock, flags);
	fusion_land_end_bios(&done);
}

/*
 * In one section: once it counts as ended, another CPU that ends the one before may end its bios,
 * and it may be used for other blocks.
 */
static void fusion_land_batch_done(struct bio *bio)
{
	struct fusion_land_batch *b = bio->bi_private;
	struct fusion *fs = b->fs;
	struct fusion_land *land = &fs->land;
	unsigned long flags, inner;
	struct bio_list done;

	if (bio->bi_status) {
		fusion_member_failed(fs, FUSION_FAST);
		/* not of those that are given up with it */
		if (!READ_ONCE(land->broken))
			DMERR_LIMIT(FAILED, dm_table_device_name(fs->ti->table),
				    blk_status_to_errno(bio->bi_status));
	}
	b->status = bio->bi_status;
	bio_uninit(bio);
	bio_list_init(&done);
	spin_lock_irqsave(&fs->lock, flags);
	spin_lock_irqsave(&land->lock, inner);
	b->state = FUSION_BATCH_ENDED;
	land->nr_sent--;
	spin_unlock_irqrestore(&land->lock, inner);
	fusion_land_reap(fs, &done);
	spin_unlock_irqrestore(&fs->lock, flags);
	fusion_land_end_bios(&done);
}

/*
 * If no commit can say so any more, its header becomes zeros: what is readable now may vanish when
 * power fails, and the next opening would call it durable.
 */
void fusion_land_settle(struct fusion *fs)
{
	struct page *page = fs->journal.buf[0];
	int r;

	if (!fs->land.failed || fusion_gate_ready(fs))
		return;
	memset(page_address(page), 0, FUSION_BLOCK_SIZE);
	r = fusion_rw_page(fs, FUSION_FAST, REQ_OP_WRITE | REQ_SYNC | REQ_META | REQ_FUA,
			   fs->land.failed, page);
	if (r)
		DMERR("%s: landing log: a batch that has failed cannot be overwritten: %d",
		      dm_table_device_name(fs->ti->table), r);
	else
		fs->land.failed = 0;
}

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
	turn.work = who == HURRIED_TASK || (who == ANY_TASK && READ_ONCE(fs->gate)) ||
		    !fusion_gate_may_write(fs);
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

/*
 * The data of blocks of a bio are there, from the entry @first of a batch on. @more: others follow,
 * and fusion_land_push().
 */
static void fusion_land_filled(struct fusion *fs, struct bio *bio, struct fusion_land_batch *b,
			       u32 first, u32 nr, bool more)
{
	struct fusion_land *land = &fs->land;
	enum sender who;
	unsigned long flags;
	struct land_turn turn = { };
	u32 i;

	for (i = first; i < first + nr; i++)
		b->entry[i].crc = fusion_landing_crc(page_address(b->page[1 + i]));
	/* a task that is due to leave the CPU may be held off it for long, and others wait */
	who = bio->bi_opf & REQ_NOWAIT || need_resched() ? HURRIED_TASK : ANY_TASK;
	spin_lock_irqsave(&land->lock, flags);
	bio_list_add(&b->bios, bio);
	b->copying--;
	if (!more)
		turn = fusion_land_turn(fs, who);
	spin_unlock_irqrestore(&land->lock, flags);
	fusion_land_let_go();
	fusion_land_take_turns(fs, turn, who);
}

void fusion_land_fill(struct fusion *fs, struct bio *bio, u32 place, bool more)
{
	struct fusion_land_batch *b = &fs->land.batch[place >> 8];
	const u32 first = place & 0xff;

	fusion_land_copy_data(bio, b->page + 1 + first, 0);
	fusion_land_filled(fs, bio, b, first, bio_sectors(bio) / FUSION_BLOCK_SECTORS, more);
}

void fusion_land_fill_part(struct fusion *fs, struct bio *bio, u32 place, struct page *page)
{
	struct fusion_land_batch *b = &fs->land.batch[place >> 8];
	const u32 first = place & 0xff;

	memcpy(page_address(b->page[1 + first]), page_address(page), FUSION_BLOCK_SIZE);
	fusion_land_copy_data(bio, b->page + 1 + first,
			      bio->bi_iter.bi_sector % FUSION_BLOCK_SECTORS << SECTOR_SHIFT);
	fusion_land_filled(fs, bio, b, first, 1, false);
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
	return land->pieces && land->wq ? 0 : -ENOMEM;
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
	kfree(container_of(land->work, struct fusion_land_work, work));
	if (!land->batch)
		return;
	for (i = 0; i < FUSION_LAND_BATCHES; i++)
		for (k = 0; k <= FUSION_BATCH_BLOCKS; k++)
			if (land->batch[i].page[k])
				__free_page(land->batch[i].page[k]);
	kvfree(land->batch);
}
