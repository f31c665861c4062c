// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: what the replica does not know yet, and the slots that are held because of that.
 *
 * Each change of the map marks its extent here; dm-fusion-replica.c writes it.
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>

#include "dm-fusion.h"

/* Percentage of the time that updates may take which nothing waits for. */
#define DUTY		1U
/* Words of a bitmap that are examined under one lock. */
#define HELD_CHUNK	512U

/* -- what it has to learn -------------------------------------------------------------------- */

void fusion_replica_schedule(struct fusion *fs, u64 ms)
{
	struct fusion_replica *rep = &fs->replica;
	u64 due = fusion_now_ms() + ms;

	if (!rep->active || due >= rep->due_ms)
		return;
	rep->due_ms = due;
	mod_delayed_work(rep->wq, &rep->work, msecs_to_jiffies(ms));
}

u64 fusion_replica_interval_ms(const struct fusion *fs)
{
	return (u64)READ_ONCE(fs->opt.replica_interval) * MSEC_PER_SEC;
}

u64 fusion_replica_since(const struct fusion *fs)
{
	const struct fusion_replica *rep = &fs->replica;
	unsigned long changed = fs->shadows.point.since ?: READ_ONCE(fs->shadows.changed);
	u64 now = fusion_now_ms(), since = 0;

	if (rep->nr_dirty || rep->busy || READ_ONCE(rep->stale))
		since = rep->since_ms;
	/* it may be half as long as a u64 */
	if (changed)
		since = min(since ?: now, now - ((unsigned long)now - changed));
	return since;
}

void fusion_replica_mark(struct fusion *fs, u32 lext)
{
	struct fusion_replica *rep = &fs->replica;

	if (__test_and_set_bit(lext, rep->dirty))
		return;
	/* what an update has taken that is under way, or has failed, is older */
	if (!rep->nr_dirty++ && !rep->busy && !READ_ONCE(rep->stale))
		rep->since_ms = fusion_now_ms();
	fusion_replica_schedule(fs, fusion_replica_interval_ms(fs));
}

void fusion_replica_recorded(struct fusion *fs, u32 lext)
{
	struct fusion_replica *rep = &fs->replica;

	/* so it is for all words of a map copy that is written when a set is opened */
	if (!rep->nr_dirty && !rep->nr_away)
		return;
	if (__test_and_clear_bit(lext, rep->dirty))
		rep->nr_dirty--;
	if (__test_and_clear_bit(lext, rep->away))
		rep->nr_away--;
}

void fusion_replica_kick(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;

	rep->retry_ms = min(rep->retry_ms, rep->tried_ms + FUSION_REPLICA_SOON_MS);
	rep->wanted = true;
	fusion_replica_schedule(fs, 0);
}

void fusion_replica_soon(struct fusion *fs)
{
	u64 pause = (u64)READ_ONCE(fs->replica.took_ms) * (100 / DUTY);
	unsigned long flags;

	spin_lock_irqsave(&fs->lock, flags);
	fs->replica.wanted = true;
	fusion_replica_schedule(fs, clamp_t(u64, pause, FUSION_REPLICA_SOON_MS,
					    fusion_replica_interval_ms(fs)));
	spin_unlock_irqrestore(&fs->lock, flags);
}

/* -- held slots ------------------------------------------------------------------------------ */

void fusion_replica_release(struct fusion *fs, u32 word, bool known)
{
	struct fusion_replica *rep = &fs->replica;

	/*
	 * What the durable replica may name is dirty since its extent changed, or was so when the
	 * update began that is under way. That holds for one that is stale since the opening, too.
	 */
	if (fusion_word_dev(word) == FUSION_FAST || known ||
	    fusion_word_disk(fs, word) == FUSION_OLD ||
	    (!rep->nr_dirty && !rep->busy && !rep->failed)) {
		fusion_slot_put(fs, word);
		return;
	}
	if (!WARN_ON_ONCE(__test_and_set_bit(fusion_word_slot(word), rep->held[rep->cur])))
		rep->nr_held++;
	fs->slots.fence.nr_held += fusion_fenced(&fs->slots.fence, FUSION_SLOW,
						 fusion_word_slot(word));
	fusion_discard_add(fs, word);
	fusion_replica_schedule(fs, fusion_replica_interval_ms(fs));
}

void fusion_held_end(struct fusion *fs, bool free)
{
	struct fusion_replica *rep = &fs->replica;
	struct fusion_fence *fence = &fs->slots.fence;
	size_t words = BITS_TO_LONGS(fusion_slot_end(fs, FUSION_SLOW)), i, end;
	unsigned long *old = rep->held[!rep->cur], *cur = rep->held[rep->cur];

	for (i = 0; i < words; ) {
		end = min_t(size_t, words, i + HELD_CHUNK);
		spin_lock_irq(&fs->lock);
		for (; i < end; i++) {
			u32 nr = hweight_long(old[i]), fenced;

			if (!nr)
				continue;
			if (free) {
				fusion_used_clear_bits(&fs->slots.used[FUSION_SLOW], i, old[i]);
				fs->slots.nr_free[FUSION_SLOW] += nr;
				rep->nr_held -= nr;
				fenced = hweight_long(old[i] &
						      fusion_fence_bits(fence, FUSION_SLOW, i));
				fence->nr_held -= fenced;
				fusion_fence_keep(&fs->slots, FUSION_SLOW, fenced);
			} else {
				cur[i] |= old[i];
			}
			old[i] = 0;
		}
		if (free && end == words)
			fusion_discard_kick(fs);
		spin_unlock_irq(&fs->lock);
		cond_resched();
	}
}

void fusion_held_begin(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;
	u32 end = fusion_slot_end(fs, FUSION_SLOW);

	/* Exact to the bit: fusion_held_end() counts them. */
	bitmap_set(rep->held[rep->cur], 0, end);
	bitmap_andnot(rep->held[rep->cur], rep->held[rep->cur], fs->slots.used[FUSION_SLOW].bits,
		      end);
	fusion_used_fill(&fs->slots.used[FUSION_SLOW]);
	rep->nr_held = fs->slots.nr_free[FUSION_SLOW];
	fs->slots.nr_free[FUSION_SLOW] = 0;
}
