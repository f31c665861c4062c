// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: copies of what was read are written, and the places that they lie in are lent and
 * given back. All of it is one work, so nothing of it happens at once. It waits for the fast member
 * and the gate.
 */
#include <linux/mm.h>
#include <linux/sched.h>

#include "dm-fusion.h"
#include "dm-fusion-land-batch.h"

/* Positions that are looked at under the lock. */
#define STEPS		256U
/* Without copies after a write that has failed, and if there is no budget. */
#define PAUSE_MS	10000U

/* -- waiting for readers --------------------------------------------------------------------- */

/* Reads of copies that were out of the index before this have ended. */
static void fusion_copies_drain(struct fusion *fs)
{
	struct fusion_copies *c = fs->land.copies;
	u8 old;

	spin_lock_irq(&fs->land.lock);
	old = c->age;
	c->age = !old;
	spin_unlock_irq(&fs->land.lock);
	wait_event(c->wait, !READ_ONCE(c->users[old]));
	/* pairs with the lock of who has ended last */
	spin_lock_irq(&fs->land.lock);
	spin_unlock_irq(&fs->land.lock);
}

/* -- places ---------------------------------------------------------------------------------- */

/* Is there a place without a segment, and a slot for it? Both locks held. */
static bool fusion_copies_lend_slot(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	u32 i, word;

	if (land->nr + land->nr_kept + land->nr_lent >= land->max || fs->commit.closed ||
	    fs->slots.fence.rising || fusion_now_ms() < land->copies->hungry_ms)
		return false;
	i = fusion_copies_bare_place(land);
	if (i == FUSION_LAND_NONE)
		return false;
	/* for all others as much is left as before */
	word = fusion_slot_get(fs, FUSION_FAST, 0, fusion_spares(fs, FUSION_FAST) - 1);
	if (!fusion_word_mapped(word))
		return false;
	land->segment[i].slot = fusion_word_slot(word);
	/* a run of the stale list must not take copies for what the segment had that was here */
	land->segment[i].segno = 0;
	land->nr_lent++;
	fusion_copies_lend(land, i);
	return true;
}

/* Is there a segment that is open, and that the log is far from? land.lock held. */
static bool fusion_copies_lend_segment(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	u32 i, last = land->max;

	for (i = 0; i < land->max; i++)
		if (land->segment[i].state == FUSION_LAND_LISTED &&
		    land->segment[i].segno > land->at.segno + FUSION_COPY_AHEAD &&
		    land->copies->shelf[i] == FUSION_SHELF_NONE &&
		    (last == land->max || land->segment[i].segno > land->segment[last].segno))
			last = i;
	if (last == land->max)
		return false;
	fusion_copies_lend(land, last);
	return true;
}

/* Have another place if there is little room. */
static void fusion_copies_borrow(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	struct fusion_copies *c = land->copies;
	unsigned long flags;

	spin_lock_irq(&fs->lock);
	spin_lock_irqsave(&land->lock, flags);
	if (c->on && c->nr + FUSION_COPY_BATCH > c->nr_shelves * land->blocks)
		c->more = fusion_copies_lend_slot(fs) || fusion_copies_lend_segment(fs);
	spin_unlock_irqrestore(&land->lock, flags);
	spin_unlock_irq(&fs->lock);
}

/* Nobody reads what is in the place any more. */
static void fusion_copies_return(struct fusion *fs, u32 i)
{
	struct fusion_land *land = &fs->land;
	unsigned long flags;

	spin_lock_irq(&fs->lock);
	spin_lock_irqsave(&land->lock, flags);
	fusion_copies_give_back(land, i);
	if (land->segment[i].state == FUSION_LAND_UNUSED) {
		land->nr_lent--;
		fusion_slot_put(fs, fusion_word(FUSION_STABLE, FUSION_FAST,
						land->segment[i].slot));
		fusion_unpark(fs);
	} else if (fusion_land_place_of(land, land->at.segno) == i && !land->broken) {
		/* the log has got to it, and has not found it open */
		WRITE_ONCE(land->appends, true);
	}
	spin_unlock_irqrestore(&land->lock, flags);
	fusion_pace_look(fs);
	spin_unlock_irq(&fs->lock);
}

/* Return: was there a place that has to be given back? */
static bool fusion_copies_give_up(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	struct fusion_copies *c = land->copies;
	u32 i, block;

	for (i = 0; i < land->max; i++)
		if (READ_ONCE(c->shelf[i]) == FUSION_SHELF_LEFT)
			break;
	if (i == land->max)
		return false;
	for (block = 0; block < land->blocks; block += STEPS) {
		spin_lock_irq(&land->lock);
		fusion_copies_clear(land, i, block, STEPS);
		spin_unlock_irq(&land->lock);
		cond_resched();
	}
	fusion_copies_drain(fs);
	fusion_copies_return(fs, i);
	return true;
}

/* -- writing --------------------------------------------------------------------------------- */

/* Take what is to be written, as much as there are positions for. Return: blocks. */
static u32 fusion_copies_collect(struct fusion *fs, struct fusion_fill **taken)
{
	struct fusion_copies *c = fs->land.copies;
	struct fusion_fill *f, **end = taken;
	u32 nr = 0, k;

	*taken = NULL;
	spin_lock_irq(&fs->land.lock);
	while ((f = c->ready) && nr + f->nr <= FUSION_COPY_BATCH) {
		c->ready = f->next;
		f->next = NULL;
		*end = f;
		end = &f->next;
		for (k = 0; k < f->nr; k++) {
			if (f->dead & 1 << k)
				continue;
			c->of[nr] = f;
			c->part[nr++] = k;
		}
	}
	spin_unlock_irq(&fs->land.lock);
	return nr;
}

/* Where can they be written to? Return: for how many of them there are positions. */
static u32 fusion_copies_find_room(struct fusion *fs, u32 nr)
{
	struct fusion_land *land = &fs->land;
	struct fusion_copies *c = land->copies;
	const u32 shelves = READ_ONCE(c->nr_shelves);
	u32 left = shelves * land->blocks, found = 0, steps;

	/* The hand passes by each position once: not so any more if one of the places was left. */
	while (left && found < nr) {
		steps = min(left, STEPS);
		left -= steps;
		spin_lock_irq(&land->lock);
		if (c->nr_shelves == shelves)
			found += fusion_copies_turn(land, c->pos + found, nr - found, &steps);
		spin_unlock_irq(&land->lock);
		cond_resched();
	}
	return found;
}

/* May they be written, and at this time? */
static bool fusion_copies_may_write(struct fusion *fs, u32 nr)
{
	struct fusion_copies *c = fs->land.copies;
	const u64 bytes = (u64)nr * FUSION_BLOCK_SIZE;

	if (fusion_mode(fs) != FUSION_RW || !READ_ONCE(c->on))
		return false;
	if (fusion_budget_copies(fs, READ_ONCE(c->unpaid) + bytes))
		return !fusion_gate_sure(fs);
	spin_lock_irq(&fs->land.lock);
	c->until_ms = fusion_now_ms() + PAUSE_MS;
	spin_unlock_irq(&fs->land.lock);
	return false;
}

/* Blocks from the @first-th on that lie side by side. */
static u32 fusion_copies_side_by_side(const struct fusion *fs, u32 first, u32 nr)
{
	const struct fusion_copies *c = fs->land.copies;
	u32 end;

	for (end = first + 1; end < nr; end++)
		if (c->pos[end] != c->pos[end - 1] + 1 || !(c->pos[end] % fs->land.blocks))
			break;
	return end;
}

static int fusion_copies_write_run(struct fusion *fs, u32 first, u32 end)
{
	struct fusion_copies *c = fs->land.copies;
	u32 i;
	int r;

	bio_init(&c->bio, fs->dev[FUSION_FAST]->bdev, c->vec, ARRAY_SIZE(c->vec), REQ_OP_WRITE);
	c->bio.bi_iter.bi_sector = fusion_land_sector(fs, c->pos[first]);
	for (i = first; i < end; i++)
		__bio_add_page(&c->bio, c->of[i]->page[c->part[i]], FUSION_BLOCK_SIZE, 0);
	r = submit_bio_wait(&c->bio);
	bio_uninit(&c->bio);
	return r;
}

/* They are there: the index gets those that nothing has happened to meanwhile. */
static void fusion_copies_enter_run(struct fusion *fs, u32 first, u32 end, bool failed)
{
	struct fusion_land *land = &fs->land;
	struct fusion_copies *c = land->copies;
	u32 i;

	if (failed)
		fusion_member_failed(fs, FUSION_FAST);
	spin_lock_irq(&land->lock);
	c->unpaid += (u64)(end - first) * FUSION_BLOCK_SIZE;
	for (i = first; i < end; i++) {
		const struct fusion_fill *f = c->of[i];

		if (failed || !c->on || f->dead & 1 << c->part[i] ||
		    c->shelf[c->pos[i] / land->blocks] != FUSION_SHELF_LENT)
			continue;
		fusion_copies_enter(land, c->pos[i], f->lext, f->block + c->part[i]);
	}
	if (failed) {
		c->failed += end - first;
		c->until_ms = fusion_now_ms() + PAUSE_MS;
	}
	spin_unlock_irq(&land->lock);
}

static void fusion_copies_release(struct fusion *fs, struct fusion_fill *f)
{
	struct fusion_copies *c = fs->land.copies;
	struct fusion_fill *next;

	spin_lock_irq(&fs->land.lock);
	for (; f; f = next) {
		next = f->next;
		f->state = FUSION_FILL_FREE;
		f->next = c->free;
		c->free = f;
		c->nr_fills--;
	}
	spin_unlock_irq(&fs->land.lock);
}

/* Return: was there anything? */
static bool fusion_copies_write_some(struct fusion *fs)
{
	struct fusion_fill *taken;
	u32 nr = fusion_copies_collect(fs, &taken), first, end;
	int r;

	if (!taken)
		return false;
	if (nr)
		fusion_copies_borrow(fs);
	nr = nr && fusion_copies_may_write(fs, nr) ? fusion_copies_find_room(fs, nr) : 0;
	if (nr)
		fusion_copies_drain(fs);
	for (first = 0; first < nr; first = end) {
		end = fusion_copies_side_by_side(fs, first, nr);
		r = fusion_gate_sure(fs);
		if (r)
			break;
		r = fusion_copies_write_run(fs, first, end);
		fusion_copies_enter_run(fs, first, end, r);
	}
	fusion_copies_release(fs, taken);
	return true;
}

static void fusion_do_copies(struct work_struct *work)
{
	struct fusion *fs = container_of(work, struct fusion_copies, work)->fs;

	while (fusion_copies_give_up(fs) || fusion_copies_write_some(fs))
		cond_resched();
}

/* -- all of it ------------------------------------------------------------------------------- */

void fusion_copies_start(struct fusion *fs)
{
	struct fusion_copies *c = fs->land.copies;

	if (!c || fs->read_only || fusion_mode(fs) != FUSION_RW)
		return;
	spin_lock_irq(&fs->land.lock);
	c->on = true;
	c->more = true;
	spin_unlock_irq(&fs->land.lock);
}

void fusion_copies_stop(struct fusion *fs)
{
	struct fusion_copies *c = fs->land.copies;
	unsigned long flags;

	if (!c)
		return;
	spin_lock_irq(&fs->lock);
	spin_lock_irqsave(&fs->land.lock, flags);
	c->on = false;
	fusion_copies_leave_all(fs, true);
	spin_unlock_irqrestore(&fs->land.lock, flags);
	spin_unlock_irq(&fs->lock);
	flush_work(&c->work);
}

int fusion_copies_init(struct fusion *fs)
{
	struct fusion_copies *c;
	u32 i, k;

	if (!fs->land.max)
		return 0;
	if (fusion_copies_index_init(&fs->land))
		return -ENOMEM;
	c = fs->land.copies;
	c->fs = fs;
	init_waitqueue_head(&c->wait);
	INIT_WORK(&c->work, fusion_do_copies);
	for (i = 0; i < FUSION_FILLS; i++) {
		c->fill[i].fs = fs;
		for (k = 0; k < FUSION_FILL_BLOCKS; k++) {
			c->fill[i].page[k] = alloc_page(GFP_KERNEL);
			if (!c->fill[i].page[k])
				return -ENOMEM;
		}
	}
	c->wq = alloc_ordered_workqueue("fusion-copies", WQ_MEM_RECLAIM);
	return c->wq ? 0 : -ENOMEM;
}

void fusion_copies_exit(struct fusion *fs)
{
	struct fusion_copies *c = fs->land.copies;
	u32 i, k;

	if (!c)
		return;
	if (c->wq)
		destroy_workqueue(c->wq);
	for (i = 0; c->fill && i < FUSION_FILLS; i++)
		for (k = 0; k < FUSION_FILL_BLOCKS; k++)
			if (c->fill[i].page[k])
				__free_page(c->fill[i].page[k]);
	fusion_copies_index_exit(&fs->land);
}
