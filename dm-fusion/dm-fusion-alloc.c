// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: slots.
 *
 * A bit per slot says whether it is taken: by a map word, by a migration under
 * way, by a transaction whose release of it is not final yet (quarantine), by the
 * replica, which may still name it (held), by a discard, or by the metadata (slow
 * slots below slow_first_slot).
 */
#include <linux/bitmap.h>
#include <linux/mm.h>

#include "dm-fusion.h"

u32 fusion_slot_end(const struct fusion *fs, enum fusion_dev dev)
{
	return dev == FUSION_FAST ? fs->sb.nr_fast_slots :
	       fs->sb.slow_first_slot + fs->sb.nr_slow_slots;
}

int fusion_alloc_init(struct fusion *fs)
{
	unsigned int dev;

	for (dev = 0; dev < FUSION_NR_DEVS; dev++) {
		fs->used[dev] = kvcalloc(BITS_TO_LONGS(fusion_slot_end(fs, dev)), sizeof(long),
					 GFP_KERNEL);
		if (!fs->used[dev])
			return -ENOMEM;
	}
	bitmap_set(fs->used[FUSION_SLOW], 0, fs->sb.slow_first_slot);
	fs->nr_free[FUSION_FAST] = fs->sb.nr_fast_slots;
	fs->nr_free[FUSION_SLOW] = fs->sb.nr_slow_slots;
	return 0;
}

void fusion_alloc_exit(struct fusion *fs)
{
	kvfree(fs->used[FUSION_SLOW]);
	kvfree(fs->used[FUSION_FAST]);
}

int fusion_slot_claim(struct fusion *fs, u32 word)
{
	enum fusion_dev dev = fusion_word_dev(word);

	if (__test_and_set_bit(fusion_word_slot(word), fs->used[dev]))
		return -EILSEQ;
	fs->nr_free[dev]--;
	return 0;
}

u32 fusion_slot_get(struct fusion *fs, enum fusion_dev dev, u32 lext, u32 keep)
{
	u32 nr = fusion_slot_end(fs, dev);
	bool home = dev == FUSION_SLOW && fusion_slot_valid(&fs->sb, dev, lext);
	u32 slot;

	if (fs->nr_free[dev] <= keep)
		return FUSION_WORD_UNMAPPED;

	slot = find_next_zero_bit(fs->used[dev], nr, home ? lext : fs->cursor[dev]);
	if (slot >= nr)
		slot = find_first_zero_bit(fs->used[dev], nr);
	if (WARN_ON_ONCE(slot >= nr))
		return FUSION_WORD_UNMAPPED;

	__set_bit(slot, fs->used[dev]);
	fs->nr_free[dev]--;
	fusion_discard_forget(fs, dev, slot);
	if (!home)
		fs->cursor[dev] = slot + 1;
	return fusion_word(FUSION_STABLE, dev, slot);
}

void fusion_slot_put(struct fusion *fs, u32 word)
{
	enum fusion_dev dev = fusion_word_dev(word);

	if (WARN_ON_ONCE(!__test_and_clear_bit(fusion_word_slot(word), fs->used[dev])))
		return;
	fs->nr_free[dev]++;
	fusion_discard_add(fs, word);
}
