// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: discards of free slots.
 *
 * A bit for each slot says that its content is no longer needed and the member does not know
 * yet. The bit is set when the release of the slot is durable and drained, while the slot may
 * still be held for the replica. It is cleared when the slot is given to an extent. Each member
 * has a worker, which looks for slots that have the bit and are free, takes adjacent ones,
 * discards them with one bio, and frees them again. So releasing a slot never waits for a
 * discard, no discard is dropped while the set is open, and a slot that is being discarded
 * belongs to no extent (INV2).
 *
 * A slot inside the fence is not discarded, but remembered until the fence is gone. Its place may
 * be about to serve another purpose, which a discard that comes late would harm.
 *
 * The worker takes at most half of the free slots, and leaves the spares to the mover unless the
 * fused device is idle. First writes and the mover may need a slot that is being discarded. They
 * wait for that one bio: first writes are parked, and the mover stops the worker from taking more
 * until it has its slots. Under foreground I/O, discards take a quarter of the time, or more if one
 * of them takes longer than a third of MAX_PAUSE_MS.
 *
 * When the set is closed, remaining discards get FINISH_MS and are then forgotten, as after a
 * crash. To make up for that, discarding unmapped extents also discards the same number of free
 * slots, in turn. There are about as many free slots as unmapped extents, so fstrim of a whole
 * file system, or blkdiscard, discards all free slots.
 */
#include <linux/bitops.h>
#include <linux/mm.h>

#include "dm-fusion.h"

/* Time to collect what is adjacent. */
#define COLLECT_MS	1000U
/* Time until the next attempt, if few slots are free. */
#define RETRY_MS	1000U
/* Pauses under foreground I/O: as a multiple of the time of a discard, and the longest. */
#define PAUSE_FACTOR	3U
#define MAX_PAUSE_MS	1000U
/* Time for remaining discards when the set is closed, for both members together. */
#define FINISH_MS	2000U
/* Largest discard bio, unless a slot is larger. */
#define MAX_SECTORS	(256U << (20 - SECTOR_SHIFT))
/* Most slots of one, as they are taken, and given back, under one lock. */
#define MAX_SLOTS	1024U
/* Words of a bitmap examined in one critical section, or without cond_resched(). */
#define CHUNK		512U

enum taken {
	TAKEN_NONE,	/* no free slot awaits a discard */
	TAKEN_LATER,	/* such slots are needed for something else now */
	TAKEN_SOME,
};

static void fusion_discard_queue(struct fusion_discards *d, unsigned int ms)
{
	if (d->active && d->nr)
		queue_delayed_work(d->wq, &d->work, msecs_to_jiffies(ms));
}

static bool fusion_discard_wanted(const struct fusion *fs, enum fusion_dev dev)
{
	return fs->slots.discards[dev].todo && READ_ONCE(fs->opt.discard_passdown) &&
	       bdev_max_discard_sectors(fs->dev[dev]->bdev);
}

void fusion_discard_add(struct fusion *fs, u32 word)
{
	enum fusion_dev dev = fusion_word_dev(word);
	struct fusion_discards *d = &fs->slots.discards[dev];

	if (!fusion_discard_wanted(fs, dev) || __test_and_set_bit(fusion_word_slot(word), d->todo))
		return;
	d->nr++;
	fusion_discard_queue(d, COLLECT_MS);
}

void fusion_discard_forget(struct fusion *fs, enum fusion_dev dev, u32 slot)
{
	struct fusion_discards *d = &fs->slots.discards[dev];

	if (d->todo && __test_and_clear_bit(slot, d->todo))
		d->nr--;
}

void fusion_discard_kick(struct fusion *fs)
{
	unsigned int dev;

	for (dev = 0; dev < FUSION_NR_DEVS; dev++)
		fusion_discard_queue(&fs->slots.discards[dev], COLLECT_MS);
}

/* -- what is free already ------------------------------------------------------------------ */

/* The slots that are free or held among those of word @i, except inside the fence. */
static unsigned long fusion_free_bits(const struct fusion *fs, enum fusion_dev dev, size_t i)
{
	unsigned long *const *held = fs->replica.held;
	unsigned long used = READ_ONCE(fs->slots.used[dev].bits[i]), mask = ~0UL;
	u32 end = fusion_slot_end(fs, dev);

	if (dev == FUSION_SLOW)
		used &= ~(held[0][i] | held[1][i]);
	if (end - i * BITS_PER_LONG < BITS_PER_LONG)
		mask = (1UL << (end % BITS_PER_LONG)) - 1;
	return ~used & mask &
	       ~fusion_fence_bits(&fs->slots.fence, dev, i);
}

/* Add free slots up to the end of the member, or about @nr of them. Return: number found. */
static u32 fusion_discard_add_free(struct fusion *fs, enum fusion_dev dev, u32 nr)
{
	struct fusion_discards *d = &fs->slots.discards[dev];
	size_t words = BITS_TO_LONGS(fusion_slot_end(fs, dev)), end;
	u32 found = 0;

	while (d->turn < words && found < nr) {
		end = min_t(size_t, words, d->turn + CHUNK);
		spin_lock_irq(&fs->lock);
		for (; d->turn < end && found < nr; d->turn++) {
			unsigned long bits = fusion_free_bits(fs, dev, d->turn);

			found += hweight_long(bits);
			bits &= ~d->todo[d->turn];
			d->todo[d->turn] |= bits;
			d->nr += hweight_long(bits);
		}
		fusion_discard_queue(d, COLLECT_MS);
		spin_unlock_irq(&fs->lock);
		cond_resched();
	}
	return found;
}

void fusion_discard_free(struct fusion *fs, u32 nr)
{
	unsigned int dev, round;
	u32 found;

	for (round = 0; round < 2; round++) {
		for (dev = 0; dev < FUSION_NR_DEVS && nr; dev++) {
			if (!fusion_discard_wanted(fs, dev))
				continue;
			found = fusion_discard_add_free(fs, dev, nr);
			nr -= min(found, nr);
		}
		if (!nr)
			return;
		/* all free slots have been added: start over */
		for (dev = 0; dev < FUSION_NR_DEVS; dev++)
			fs->slots.discards[dev].turn = 0;
	}
}

/* -- the worker ---------------------------------------------------------------------------- */

static bool fusion_discard_idle(const struct fusion *fs)
{
	return fusion_now_ms() - READ_ONCE(fs->mover.last_busy_ms) >= READ_ONCE(fs->opt.idle);
}

static bool fusion_discard_ready(const struct fusion *fs, const struct fusion_discards *d, u32 slot)
{
	return !fusion_fenced(&fs->slots.fence, d->dev, slot) &&
	       test_bit(slot, d->todo) && !test_bit(slot, fs->slots.used[d->dev].bits);
}

/* The first free slot from @from on that awaits a discard; a hint, as no lock is held. */
static u32 fusion_discard_next(const struct fusion *fs, const struct fusion_discards *d, u32 from)
{
	u32 end = fusion_slot_end(fs, d->dev);
	size_t words = BITS_TO_LONGS(end), i = from / BITS_PER_LONG;
	unsigned long mask = ~0UL << (from % BITS_PER_LONG);

	for (; i < words; i++, mask = ~0UL) {
		unsigned long bits = READ_ONCE(d->todo[i]) & mask &
				     fusion_free_bits(fs, d->dev, i);

		if (bits)
			return i * BITS_PER_LONG + __ffs(bits);
		if (!(i % CHUNK))
			cond_resched();
	}
	return end;
}

/* Number of free slots that may be taken for a discard. fs->lock held. */
static u32 fusion_discard_may_take(const struct fusion *fs, enum fusion_dev dev)
{
	u32 spare = fusion_spares(fs, dev);
	u32 free = fs->slots.nr_free[dev];

	if (fs->slots.hold_discards)
		return 0;
	if (free > spare)
		return min((free - spare + 1) / 2,
			   clamp(MAX_SECTORS >> fs->shift, 1U, MAX_SLOTS));
	return free && fusion_discard_idle(fs);
}

/* Take adjacent slots; sets *@first and *@nr. Only the worker, or fusion_discard_stop(). */
static enum taken fusion_discard_take(struct fusion *fs, struct fusion_discards *d, u32 *first,
				      u32 *nr)
{
	u32 end = fusion_slot_end(fs, d->dev), slot, max;
	enum taken taken = TAKEN_LATER;

	slot = fusion_discard_next(fs, d, d->at);
	if (slot == end && d->at)
		slot = fusion_discard_next(fs, d, 0);
	if (slot == end)
		return TAKEN_NONE;

	*first = slot;
	spin_lock_irq(&fs->lock);
	max = fusion_discard_may_take(fs, d->dev);
	for (; slot < end && slot - *first < max && fusion_discard_ready(fs, d, slot); slot++) {
		__clear_bit(slot, d->todo);
		fusion_used_set(&fs->slots.used[d->dev], slot);
	}
	*nr = slot - *first;
	d->nr -= *nr;
	d->first = *first;
	d->in_flight += *nr;
	fs->slots.nr_free[d->dev] -= *nr;
	if (*nr)
		taken = TAKEN_SOME;
	spin_unlock_irq(&fs->lock);
	d->at = slot < end ? slot : 0;
	return taken;
}

/* A discard is advice: the slots are free even if it failed. */
static void fusion_discard_give_back(struct fusion *fs, struct fusion_discards *d, u32 first,
				     u32 nr)
{
	u32 slot;

	spin_lock_irq(&fs->lock);
	for (slot = first; slot < first + nr; slot++)
		fusion_used_clear(&fs->slots.used[d->dev], slot);
	d->in_flight -= nr;
	fs->slots.nr_free[d->dev] += nr;
	fusion_fence_keep(&fs->slots, d->dev,
			  fusion_fence_overlap(&fs->slots.fence, d->dev, first, nr));
	fusion_unpark(fs);
	spin_unlock_irq(&fs->lock);
	wake_up_all(&fs->slots.discard_wait);
}

static enum taken fusion_discard_some(struct fusion *fs, struct fusion_discards *d)
{
	struct bio bio;
	u32 first, nr;
	enum taken taken;

	if (fusion_mode(fs) != FUSION_RW || !fusion_discard_wanted(fs, d->dev))
		return TAKEN_NONE;
	taken = fusion_discard_take(fs, d, &first, &nr);
	if (taken != TAKEN_SOME)
		return taken;
	if (fusion_gate_ready(fs)) {
		fusion_discard_give_back(fs, d, first, nr);
		return TAKEN_NONE;
	}

	bio_init(&bio, fs->dev[d->dev]->bdev, NULL, 0, REQ_OP_DISCARD);
	bio.bi_iter.bi_sector = fs->base[d->dev] + ((sector_t)first << fs->shift);
	bio.bi_iter.bi_size = nr << (fs->shift + SECTOR_SHIFT);
	submit_bio_wait(&bio);
	bio_uninit(&bio);

	fusion_discard_give_back(fs, d, first, nr);
	return TAKEN_SOME;
}

static void fusion_do_discard(struct work_struct *work)
{
	struct fusion_discards *d = container_of(work, struct fusion_discards, work.work);
	struct fusion *fs = d->fs;
	u64 start = fusion_now_ms();
	enum taken taken = TAKEN_LATER;
	unsigned int pause = RETRY_MS;

	if (d->dev == FUSION_FAST || !READ_ONCE(fs->mover.slow_asleep))
		taken = fusion_discard_some(fs, d);
	/* Adding a slot, freeing a held one, or changing the option queues this again. */
	if (taken == TAKEN_NONE)
		return;
	if (taken == TAKEN_SOME)
		pause = fusion_discard_idle(fs) ? 0 :
			min_t(u64, (fusion_now_ms() - start) * PAUSE_FACTOR, MAX_PAUSE_MS);
	spin_lock_irq(&fs->lock);
	fusion_discard_queue(d, pause);
	spin_unlock_irq(&fs->lock);
}

/* -- for the mover ------------------------------------------------------------------------- */

void fusion_discard_hold(struct fusion *fs, u32 nr)
{
	bool wait = false;
	unsigned int dev;

	spin_lock_irq(&fs->lock);
	fs->slots.hold_discards = true;
	for (dev = 0; dev < FUSION_NR_DEVS; dev++) {
		u32 spare = fusion_spares(fs, dev);

		wait |= fs->slots.discards[dev].in_flight &&
			fusion_slots_at_hand(fs, dev) < nr + spare;
	}
	spin_unlock_irq(&fs->lock);
	for (dev = 0; wait && dev < FUSION_NR_DEVS; dev++)
		wait_event(fs->slots.discard_wait, !READ_ONCE(fs->slots.discards[dev].in_flight));
}

void fusion_discard_go_on(struct fusion *fs)
{
	spin_lock_irq(&fs->lock);
	fs->slots.hold_discards = false;
	spin_unlock_irq(&fs->lock);
}

/* -- beginning and end --------------------------------------------------------------------- */

void fusion_discard_start(struct fusion *fs)
{
	unsigned int dev;

	spin_lock_irq(&fs->lock);
	for (dev = 0; dev < FUSION_NR_DEVS; dev++)
		fs->slots.discards[dev].active = true;
	fusion_discard_kick(fs);
	spin_unlock_irq(&fs->lock);
}

void fusion_discard_stop(struct fusion *fs)
{
	u64 until = fusion_now_ms() + FINISH_MS;
	unsigned int dev;

	for (dev = 0; dev < FUSION_NR_DEVS; dev++) {
		struct fusion_discards *d = &fs->slots.discards[dev];

		spin_lock_irq(&fs->lock);
		d->active = false;
		spin_unlock_irq(&fs->lock);
		cancel_delayed_work_sync(&d->work);
		while (fusion_now_ms() < until && fusion_discard_some(fs, d) == TAKEN_SOME)
			;
	}
}

int fusion_discard_init(struct fusion *fs)
{
	unsigned int dev;

	init_waitqueue_head(&fs->slots.discard_wait);
	for (dev = 0; dev < FUSION_NR_DEVS; dev++) {
		struct fusion_discards *d = &fs->slots.discards[dev];

		d->fs = fs;
		d->dev = dev;
		INIT_DELAYED_WORK(&d->work, fusion_do_discard);
		/* an SSD may learn of discards later: a rule of udev sets its provisioning_mode */
		if (dev == FUSION_FAST || bdev_max_discard_sectors(fs->dev[dev]->bdev)) {
			d->todo = kvcalloc(BITS_TO_LONGS(fusion_slot_end(fs, dev)), sizeof(long),
					   GFP_KERNEL);
			if (!d->todo)
				return -ENOMEM;
		}
		d->wq = alloc_ordered_workqueue("fusion-discard", WQ_MEM_RECLAIM);
		if (!d->wq)
			return -ENOMEM;
	}
	return 0;
}

void fusion_discard_exit(struct fusion *fs)
{
	unsigned int dev;

	for (dev = 0; dev < FUSION_NR_DEVS; dev++) {
		struct fusion_discards *d = &fs->slots.discards[dev];

		if (d->wq)
			destroy_workqueue(d->wq);
		kvfree(d->todo);
	}
}
