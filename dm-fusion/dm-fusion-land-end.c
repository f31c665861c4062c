// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: batches of the landing log end one after another (INV19), or are given up.
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
#include "dm-fusion.h"
#include "dm-fusion-land-batch.h"

#define FAILED "%s: landing log: a write failed: %d; it is unused until the set is opened again"

struct fusion_land_batch *fusion_land_to_send(struct fusion_land *land)
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

void fusion_land_work(struct fusion *fs)
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
	land->nr_landed += b->count;
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
	if (fusion_land_runs_short(fs))
		fusion_commit_kick(fs);
	else
		fusion_commit_soon(fs);
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

void fusion_land_leave(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	u64 segno;
	u32 i;

	for (segno = land->ended.segno; segno < land->next_segno; segno++) {
		i = fusion_land_open_place(land, segno);
		if (i != FUSION_LAND_NONE)
			fusion_land_mark(land, &land->segment[i]);
	}
	land->ended.segno = land->next_segno;
	land->ended.pos = 0;
	land->at = land->ended;
	land->at_place = FUSION_LAND_NONE;
	WRITE_ONCE(land->appends, false);
	land->opens = false;
	fusion_pace_end(fs);
	fusion_commit_kick(fs);
}

/* What is on its way is void. Both locks held. */
static void fusion_land_give_up(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	const struct fusion_land_batch *b = fusion_land_nth(land, 0);
	u32 i;

	for (i = 0; i < land->nr_batches; i++)
		if (fusion_land_nth(land, i)->status)
			land->segment[fusion_land_nth(land, i)->place].failed = true;
	land->failed = fusion_segment_blocknr(&fs->sb, land->segment[b->place].slot, b->pos);
	fusion_land_ground(land);
	land->deaths = true;
	fusion_land_leave(fs);
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
	wake_up(&land->wait);
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
void fusion_land_batch_done(struct bio *bio)
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
