// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: slots.
 *
 * A bit per slot says whether it is taken: by a map word, by a migration under
 * way, by a transaction whose release of it is not final yet (quarantine), by the
 * replica, which may still name it (held), by a discard, or by the metadata (slow
 * slots below slow_first_slot). A free slot inside the fence is not taken, but not given to
 * anyone either: dm-fusion-fence.c.
 */
#include <linux/bitmap.h>
#include <linux/mm.h>

#include "dm-fusion.h"

int fusion_alloc_init(struct fusion *fs)
{
	unsigned int dev;
	u32 slot;
	int r;

	for (dev = 0; dev < FUSION_NR_DEVS; dev++) {
		r = fusion_used_init(&fs->slots.used[dev], fusion_slot_end(fs, dev));
		if (r)
			return r;
		fs->slots.retired[dev] = kvcalloc(BITS_TO_LONGS(fusion_slot_end(fs, dev)),
						  sizeof(long), GFP_KERNEL);
		if (!fs->slots.retired[dev])
			return -ENOMEM;
	}
	for (slot = 0; slot < fs->sb.slow_first_slot; slot++)
		fusion_used_set(&fs->slots.used[FUSION_SLOW], slot);
	fs->slots.nr_free[FUSION_FAST] = fs->sb.nr_fast_slots;
	fs->slots.nr_free[FUSION_SLOW] = fs->sb.nr_slow_slots;
	return 0;
}

void fusion_alloc_exit(struct fusion *fs)
{
	unsigned int dev;

	for (dev = 0; dev < FUSION_NR_DEVS; dev++) {
		kvfree(fs->slots.retired[dev]);
		fusion_used_exit(&fs->slots.used[dev]);
	}
}

/* Slots of the old member are given to nobody: they are only counted. */
int fusion_slot_claim(struct fusion *fs, u32 word)
{
	enum fusion_dev dev = fusion_word_dev(word);

	if (fusion_word_disk(fs, word) == FUSION_OLD) {
		if (__test_and_set_bit(fusion_old_index(fs, word), fs->old.used))
			return -EILSEQ;
		fs->old.nr++;
		return 0;
	}
	if (fusion_used_set(&fs->slots.used[dev], fusion_word_slot(word)))
		return -EILSEQ;
	fs->slots.nr_free[dev]--;
	return 0;
}

/* The first free slot from @from on that is not inside the fence, or the number of slots. */
static u32 fusion_slot_find(const struct fusion *fs, enum fusion_dev dev, u32 from)
{
	const struct fusion_used *used = &fs->slots.used[dev];
	u32 slot = fusion_used_next_free(used, from);

	return slot < used->nr && fusion_fenced(&fs->slots.fence, dev, slot) ?
		fusion_used_next_free(used, fs->slots.fence.end) : slot;
}

/* A slot that is free is given to an extent. */
static u32 fusion_slot_give(struct fusion *fs, enum fusion_dev dev, u32 slot)
{
	fusion_used_set(&fs->slots.used[dev], slot);
	fs->slots.nr_free[dev]--;
	fusion_discard_forget(fs, dev, slot);
	return fusion_word(FUSION_STABLE, dev, slot);
}

u32 fusion_slot_take(struct fusion *fs, enum fusion_dev dev, u32 slot)
{
	if (test_bit(slot, fs->slots.used[dev].bits) || fusion_fenced(&fs->slots.fence, dev, slot))
		return FUSION_WORD_UNMAPPED;
	return fusion_slot_give(fs, dev, slot);
}

u32 fusion_slot_get(struct fusion *fs, enum fusion_dev dev, u32 lext, u32 keep)
{
	u32 nr = fusion_slot_end(fs, dev);
	bool home = dev == FUSION_SLOW && fusion_slot_valid(&fs->sb, dev, lext);
	u32 slot;

	if (fs->slots.nr_free[dev] <= keep)
		return FUSION_WORD_UNMAPPED;

	slot = fusion_slot_find(fs, dev, home ? lext : fs->slots.cursor[dev]);
	if (slot >= nr)
		slot = fusion_slot_find(fs, dev, 0);
	if (WARN_ON_ONCE(slot >= nr))
		return FUSION_WORD_UNMAPPED;

	if (!home)
		fs->slots.cursor[dev] = slot + 1;
	return fusion_slot_give(fs, dev, slot);
}

static void fusion_old_slot_put(struct fusion *fs, u32 i)
{
	struct fusion_old_disk *old = &fs->old;

	if (WARN_ON_ONCE(!__test_and_clear_bit(i, old->used)))
		return;
	old->nr--;
	old->nr_unread -= __test_and_clear_bit(i, old->unread);
	old->nr_tried -= __test_and_clear_bit(i, old->tried);
}

void fusion_slot_put(struct fusion *fs, u32 word)
{
	enum fusion_dev dev = fusion_word_dev(word);

	if (fusion_word_disk(fs, word) == FUSION_OLD) {
		fusion_old_slot_put(fs, fusion_old_index(fs, word));
		return;
	}
	if (WARN_ON_ONCE(!fusion_used_clear(&fs->slots.used[dev], fusion_word_slot(word))))
		return;
	fs->slots.nr_free[dev]++;
	if (fusion_fenced(&fs->slots.fence, dev, fusion_word_slot(word)))
		fusion_fence_keep(&fs->slots, dev, 1);
	fusion_discard_add(fs, word);
}

void fusion_slot_retire(struct fusion *fs, u32 word)
{
	enum fusion_dev dev = fusion_word_dev(word);

	__set_bit(fusion_word_slot(word), fs->slots.retired[dev]);
	fs->slots.fence.nr_retired += fusion_fenced(&fs->slots.fence, dev, fusion_word_slot(word));
	fs->mover.nr_retired++;
}
