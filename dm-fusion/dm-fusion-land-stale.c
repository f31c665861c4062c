// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the stale list, written to the slow member in runs. dm-fusion-land-stale.h says when.
 *
 * The steps of a run:
 *
 *  1. Note how far the log has got, and all entries, as they are at that moment: what changes
 *     while they are copied is copied before that.
 *  2. Write the lists that differ from what counts, each to its other copy.
 *  3. Flush. That covers the lists, and what has taken the place of entries that had died by step
 *     1: who kills one has written the slow member before.
 *  4. Write the head, and flush. From then on the new copies count.
 *
 * A position keeps its key until its place has another segment. So the entries of step 1 can be
 * read in step 2, block by block, as long as the segment has the same number. If it has not, the
 * run begins again, and the places are kept until their lists are written: so each run ends. A log
 * that is nearly full has to wait for that, and at first it goes without.
 *
 * If a head cannot be written, or flushed, it may be on the disk or not. Then nothing else is
 * written before it is: a list that it makes count would be overwritten. The same goes for the head
 * that is found when a set is opened: it may be in the cache of the disk only.
 *
 * The flushes are not those of users: nothing waits for them, and they leave the slow member as
 * written as it was.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "dm-fusion.h"

#define MIN_PAUSE_MS	1000U
#define MAX_PAUSE_MS	60000U
/* Percentage of the time that runs may take, as far as the longest pause is long enough. */
#define DUTY		1U
/* Before a reboot, the list that was found may be read for so long: see dm-fusion-reboot.c. */
#define HURRY_MS	2000U

/* -- the head -------------------------------------------------------------------------------- */

static void fusion_stale_counts(struct fusion_stale *s)
{
	struct fusion_stale_place *place;
	u32 i;

	for (i = 0; i < s->fs->sb.stale_places; i++) {
		place = &s->place[i];
		if (!place->written)
			continue;
		place->segno = s->taken[i].segno;
		place->key = s->taken[i].key;
		place->sum = s->taken[i].sum;
		place->copy = !place->copy;
		place->again = false;
		place->written = false;
		memcpy(fusion_stale_bits(s, s->listed, i), fusion_stale_bits(s, s->view.live, i),
		       s->fs->land.bitmap_bytes);
	}
	s->head = s->next;
	s->headless = false;
}

static int fusion_stale_write_head(struct fusion_stale *s)
{
	const u64 where = fusion_stale_head_blocknr(&s->fs->sb, s->next.run % FUSION_STALE_COPIES);
	int r;

	s->headless = true;
	fusion_stale_head_pack(&s->fs->sb, &s->next, page_address(s->io.buf[0]));
	r = fusion_stale_rw(s, REQ_OP_WRITE, where, 1);
	if (!r)
		r = fusion_flush_slow_now(s->fs);
	if (!r)
		fusion_stale_counts(s);
	return r;
}

/*
 * A head that cannot be read may be read the next time, and count: the copies of lists that it
 * speaks of are not known, and the run would write over them. So it is written over before. The
 * other one may have lost lists to that one's run: then it goes first, and until the run ends there
 * is none.
 */
static int fusion_stale_void_heads(struct fusion_stale *s)
{
	u32 i, copy;
	int r = 0;

	memset(page_address(s->io.buf[0]), 0, FUSION_BLOCK_SIZE);
	for (i = 0; !r && i < FUSION_STALE_COPIES; i++) {
		copy = (s->next.run + i) % FUSION_STALE_COPIES;
		if (!(s->bad_heads & BIT(copy)))
			continue;
		r = fusion_stale_rw(s, REQ_OP_WRITE, fusion_stale_head_blocknr(&s->fs->sb, copy),
				    1);
		if (!r)
			r = fusion_flush_slow_now(s->fs);
	}
	if (!r)
		s->bad_heads = 0;
	return r;
}

/* -- step 1 ---------------------------------------------------------------------------------- */

static void fusion_stale_take_list(struct fusion_stale *s, u32 i)
{
	const struct fusion_land_segment *seg = &s->view.segment[i];
	struct fusion_stale_list *list = &s->taken[i];

	*list = (struct fusion_stale_list){
		.run = s->next.run,
		.seq = s->next.seq,
		.time = s->next.time,
	};
	if (!seg->nr_live)
		return;
	list->segno = seg->segno;
	list->key = seg->key;
	list->slot = seg->slot;
	list->epoch = s->next.epoch;
	list->total = seg->nr_live;
}

/* Does a list differ from the one that counts? */
static bool fusion_stale_differs(const struct fusion_stale *s, u32 i)
{
	const struct fusion_stale_place *place = &s->place[i];

	return place->again || place->segno != s->taken[i].segno ||
	       place->key != s->taken[i].key ||
	       memcmp(fusion_stale_bits(s, s->listed, i), fusion_stale_bits(s, s->view.live, i),
		      s->fs->land.bitmap_bytes);
}

/* The entries of a list are not read any more. */
static void fusion_stale_release(struct fusion_stale *s, u32 i)
{
	if (s->view.keep && s->taken[i].total)
		fusion_land_unkeep(s->fs, i);
}

/* Return: is there anything to be written? */
static bool fusion_stale_take(struct fusion_stale *s)
{
	struct fusion *fs = s->fs;
	struct fusion_land *land = &fs->land;
	bool differs = false;
	unsigned long flags;
	u32 i;

	s->next = (struct fusion_stale_head){ .epoch = fs->sb.epoch };
	spin_lock_irq(&fs->lock);
	spin_lock_irqsave(&land->lock, flags);
	s->since_ms = 0;
	s->next.seq = land->ended.seq;
	s->next.time = ktime_get_real_seconds();
	fusion_land_view_begin(land, &s->view);
	spin_unlock_irqrestore(&land->lock, flags);
	spin_unlock_irq(&fs->lock);
	fusion_land_view_take(land);

	s->next.run = s->last_run + 1;
	for (i = 0; i < fs->sb.stale_places; i++) {
		fusion_stale_take_list(s, i);
		s->next.nr_lists += !!s->taken[i].total;
		s->next.nr_blocks += s->taken[i].total;
		if (fusion_stale_differs(s, i))
			differs = true;
		else
			fusion_stale_release(s, i);
	}
	return differs || s->next.seq != s->head.seq || s->next.epoch != s->head.epoch;
}

/* -- step 2 ---------------------------------------------------------------------------------- */

/* Blocks in the buffer that are to be written, one behind the other. */
struct pile {
	u64 start;
	u32 nr;
};

static int fusion_stale_write_pile(struct fusion_stale *s, struct pile *pile)
{
	int r = 0;

	if (pile->nr)
		r = fusion_stale_rw(s, REQ_OP_WRITE, pile->start, pile->nr);
	pile->nr = 0;
	return r;
}

/*
 * The next @nr entries of a list, from position *@pos on. Return: 0, or -EAGAIN: the segment has
 * another use.
 */
static int fusion_stale_entries(struct fusion_stale *s, u32 i, u32 *pos, u32 nr)
{
	const u8 *live = fusion_stale_bits(s, s->view.live, i);
	struct fusion_land *land = &s->fs->land;
	const struct fusion_land_entry *entry;
	unsigned long flags;
	int r = 0;
	u32 n;

	spin_lock_irqsave(&land->lock, flags);
	if (land->segment[i].segno != s->taken[i].segno)
		r = -EAGAIN;
	for (n = 0; !r && n < nr; ++*pos) {
		if (!(live[*pos / 8] >> *pos % 8 & 1))
			continue;
		entry = &land->entry[i * land->blocks + *pos];
		s->entry[n++] = (struct fusion_stale_entry){
			.lext = entry->lext,
			.block = entry->block,
			.pos = *pos,
		};
	}
	spin_unlock_irqrestore(&land->lock, flags);
	return r;
}

static int fusion_stale_write_list(struct fusion_stale *s, u32 i, struct pile *pile)
{
	const u32 copy = !s->place[i].copy, total = s->taken[i].total;
	u32 index, pos = 0;
	int r = 0;

	s->place[i].again = true;
	s->place[i].written = true;
	for (index = 0; !r && index < fusion_stale_used(total); index++) {
		const u64 where = fusion_stale_blocknr(&s->fs->sb, copy, i, index);

		if (pile->nr == FUSION_BUF_BLOCKS || pile->start + pile->nr != where)
			r = fusion_stale_write_pile(s, pile);
		if (!r && total)
			r = fusion_stale_entries(s, i, &pos, fusion_stale_count(total, index));
		if (r)
			break;
		if (!pile->nr)
			pile->start = where;
		s->taken[i].sum += fusion_stale_pack(&s->fs->sb, copy, i, index, &s->taken[i],
						     s->entry,
						     page_address(s->io.buf[pile->nr++]));
	}
	return r;
}

static int fusion_stale_write_lists(struct fusion_stale *s)
{
	struct pile pile = { };
	int r = 0;
	u32 i;

	s->last_run = s->next.run;
	for (i = 0; i < s->fs->sb.stale_places; i++)
		s->place[i].written = false;
	for (i = 0; i < s->fs->sb.stale_places; i++) {
		if (fusion_stale_differs(s, i)) {
			r = r ?: fusion_stale_write_list(s, i, &pile);
			fusion_stale_release(s, i);
		}
		s->next.sum += s->place[i].written ? s->taken[i].sum : s->place[i].sum;
		cond_resched();
	}
	return r ?: fusion_stale_write_pile(s, &pile);
}

/* -- a run ----------------------------------------------------------------------------------- */

/* Return: 0, the error of the member, -EINTR, or -EAGAIN: see above. */
static int fusion_stale_steps(struct fusion_stale *s)
{
	int r = s->loaded ? 0 : fusion_stale_load(s);

	if (!r && s->bad_heads)
		r = fusion_stale_void_heads(s);
	if (!r && s->headless)
		r = fusion_stale_write_head(s);
	if (r || !fusion_stale_take(s))
		return r;
	r = fusion_stale_write_lists(s);
	if (!r)
		r = fusion_flush_slow_now(s->fs);
	return r ?: fusion_stale_write_head(s);
}

static int fusion_stale_run(struct fusion_stale *s)
{
	const u64 started = fusion_now_ms();
	struct fusion *fs = s->fs;
	bool changed;
	u64 since;
	int r;

	spin_lock_irq(&fs->lock);
	since = s->since_ms ?: started;
	spin_unlock_irq(&fs->lock);
	r = fusion_gate_ready(fs);
	if (!r)
		r = fusion_stale_steps(s);
	if (r == -EAGAIN) {
		s->view.keep = true;
		r = fusion_stale_steps(s);
		s->view.keep = false;
	}
	if (r == -EINTR)
		return r;

	spin_lock_irq(&fs->lock);
	s->runs++;
	changed = s->failed != !!r;
	s->failed = r;
	s->errors += !!r;
	s->pause_ms = clamp_t(u64, r ? 2 * s->pause_ms :
			      (fusion_now_ms() - started) * (100 / DUTY),
			      MIN_PAUSE_MS, MAX_PAUSE_MS);
	if (r)
		s->since_ms = since;
	if (r || s->since_ms)
		fusion_stale_soon(s);
	spin_unlock_irq(&fs->lock);
	if (changed && r)
		DMERR("%s: stale list on the slow member: cannot be written (%d)",
		      dm_table_device_name(fs->ti->table), r);
	else if (changed)
		DMINFO("%s: stale list on the slow member: written again",
		       dm_table_device_name(fs->ti->table));
	return r;
}

static void fusion_do_stale(struct work_struct *work)
{
	struct fusion_stale *s = container_of(work, struct fusion_stale, work.work);
	struct fusion *fs = s->fs;

	if (fusion_mode(fs) != FUSION_RW)
		return;
	if (!READ_ONCE(fs->mover.slow_asleep)) {
		fusion_stale_run(s);
		return;
	}
	spin_lock_irq(&fs->lock);
	fusion_stale_soon(s);
	spin_unlock_irq(&fs->lock);
}

/* -- from the opening to the close ----------------------------------------------------------- */

int fusion_stale_init(struct fusion *fs)
{
	/* there may be more than the log has segments */
	const u32 places = fs->sb.stale_places;
	const struct fusion_land *land = &fs->land;
	struct fusion_stale *s;

	if (!land->max || !places)
		return 0;
	s = kvzalloc(sizeof(*s), GFP_KERNEL);
	fs->stale = s;
	if (!s)
		return -ENOMEM;
	s->fs = fs;
	s->pause_ms = MIN_PAUSE_MS;
	s->place = kvcalloc(places, sizeof(*s->place), GFP_KERNEL);
	s->listed = kvcalloc(places, land->bitmap_bytes, GFP_KERNEL);
	s->taken = kvcalloc(places, sizeof(*s->taken), GFP_KERNEL);
	s->view.segment = kvcalloc(places, sizeof(*s->view.segment), GFP_KERNEL);
	s->view.live = kvcalloc(places, land->bitmap_bytes, GFP_KERNEL);
	s->view.untaken = kvcalloc(BITS_TO_LONGS(land->max), sizeof(long), GFP_KERNEL);
	s->entry = kvcalloc(FUSION_STALE_ENTRIES, sizeof(*s->entry), GFP_KERNEL);
	s->seen = kvcalloc(places, FUSION_STALE_COPIES * sizeof(*s->seen), GFP_KERNEL);
	s->wq = alloc_ordered_workqueue("fusion-stale", WQ_MEM_RECLAIM);
	if (!s->place || !s->listed || !s->taken || !s->view.segment || !s->view.live ||
	    !s->view.untaken || !s->entry || !s->seen || !s->wq)
		return -ENOMEM;
	INIT_DELAYED_WORK(&s->work, fusion_do_stale);
	return fusion_chain_init(&s->io, &fs->replica.sb);
}

void fusion_stale_exit(struct fusion *fs)
{
	struct fusion_stale *s = fs->stale;

	if (!s)
		return;
	if (s->wq)
		destroy_workqueue(s->wq);
	fusion_chain_exit(&s->io);
	kvfree(s->seen);
	kvfree(s->entry);
	kvfree(s->view.untaken);
	kvfree(s->view.live);
	kvfree(s->view.segment);
	kvfree(s->taken);
	kvfree(s->listed);
	kvfree(s->place);
	kvfree(s);
}

void fusion_stale_start(struct fusion *fs)
{
	struct fusion_stale *s = fs->stale;

	if (!s || fs->read_only)
		return;
	spin_lock_irq(&fs->lock);
	s->exact = false;
	WRITE_ONCE(s->until_ms, 0);
	s->active = true;
	fusion_stale_soon(s);
	spin_unlock_irq(&fs->lock);
}

void fusion_stale_stop(struct fusion *fs)
{
	struct fusion_stale *s = fs->stale;
	int r;

	if (!s || fs->read_only)
		return;
	spin_lock_irq(&fs->lock);
	s->active = false;
	if (fs->seal.on)
		WRITE_ONCE(s->until_ms, fusion_now_ms() + HURRY_MS);
	spin_unlock_irq(&fs->lock);
	cancel_delayed_work_sync(&s->work);
	r = fusion_mode(fs) == FUSION_RW ? fusion_stale_run(s) : -EROFS;
	if (r == -EINTR)
		DMWARN("%s: stale list on the slow member: too long to be read before the reboot",
		       dm_table_device_name(fs->ti->table));
	s->exact = !r;
}
