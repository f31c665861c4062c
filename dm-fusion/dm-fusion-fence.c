// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the fence, a range of slots of one member that is to become empty and to stay so:
 * before a member shrinks, is replaced or leaves the set.
 *
 * A slot inside is allocated to nobody (INV9). The bitmaps do not know of the fence: a slot that is
 * released inside becomes free as any other, but is counted apart, so that neither a first write
 * nor the mover counts on it. Nothing about slots changes when the fence is taken down, except
 * that all those that are free count as free again. It is in memory only.
 *
 * The mover moves what lies inside elsewhere: dm-fusion-evacuate.c. It also puts the fence up and
 * takes it down, between batches. So no swap is under way that has taken a spare and expects a
 * slot inside in exchange.
 */
#include <linux/bitops.h>
#include <linux/sched.h>

#include "dm-fusion.h"

/* Words of a bitmap that are counted under one lock. */
#define CHUNK_SLOTS	(512U * BITS_PER_LONG)

/* Move the end of the fence to @end, and count what comes to lie inside. fs->lock held. */
static void fusion_fence_extend(struct fusion *fs, u32 end)
{
	struct fusion_fence *fence = &fs->slots.fence;
	struct fusion_fence piece = { .dev = fence->dev, .first = fence->end, .end = end };
	const struct fusion_replica *rep = &fs->replica;
	size_t i;

	for (i = piece.first / BITS_PER_LONG; i * BITS_PER_LONG < end; i++) {
		unsigned long bits = fusion_fence_bits(&piece, piece.dev, i);

		fusion_fence_keep(&fs->slots, piece.dev,
				  hweight_long(~fs->slots.used[piece.dev].bits[i] & bits));
		fence->nr_retired += hweight_long(fs->slots.retired[piece.dev][i] & bits);
		if (piece.dev == FUSION_SLOW)
			fence->nr_held += hweight_long((rep->held[0][i] | rep->held[1][i]) & bits);
	}
	WRITE_ONCE(fence->end, end);
}

void fusion_fence_raise(struct fusion *fs, enum fusion_dev dev, u32 first, u32 last)
{
	struct fusion_fence *fence = &fs->slots.fence;
	u32 end;

	spin_lock_irq(&fs->lock);
	WRITE_ONCE(fence->dev, dev);
	WRITE_ONCE(fence->first, first);
	WRITE_ONCE(fence->end, first);
	fence->rising = true;
	fence->told = false;
	fence->next = 0;
	fence->until_ms = 0;
	spin_unlock_irq(&fs->lock);
	while (fence->end <= last) {
		end = min(last + 1, fence->end + CHUNK_SLOTS);
		spin_lock_irq(&fs->lock);
		fusion_fence_extend(fs, end);
		spin_unlock_irq(&fs->lock);
		cond_resched();
	}
}

void fusion_fence_settle(struct fusion *fs)
{
	fs->slots.fence.rising = false;
	fusion_unpark(fs);
	/* commits opened no segment of the log meanwhile */
	if (fs->land.max)
		fusion_commit_soon(fs);
}

void fusion_fence_drop(struct fusion *fs)
{
	struct fusion_fence *fence = &fs->slots.fence;

	fs->slots.nr_free[fence->dev] += fence->nr_empty;
	fence->nr_empty = 0;
	fence->nr_retired = 0;
	fence->nr_held = 0;
	WRITE_ONCE(fence->end, 0);
	WRITE_ONCE(fence->first, 0);
	fusion_fence_settle(fs);
	/* These slots were passed over. */
	fusion_discard_kick(fs);
}

u32 fusion_fence_extents(const struct fusion *fs)
{
	const struct fusion_fence *fence = &fs->slots.fence;
	const struct fusion_discards *d = &fs->slots.discards[fence->dev];

	return fusion_fence_used(fence) - fence->nr_held -
	       fusion_fence_overlap(fence, d->dev, d->first, d->in_flight);
}
