// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: which slots of a member are taken.
 *
 * A bit of a level is set exactly if all bits of its word below are. Words have no bits behind the
 * end that are clear, so only the topmost level needs a bound in a search.
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "dm-fusion-used.h"

/* Allocate a level of @nr bits. Return: its number of words, or 0 without memory. */
static size_t fusion_level_init(unsigned long **level, size_t nr)
{
	size_t words = BITS_TO_LONGS(nr);

	*level = kvcalloc(words, sizeof(long), GFP_KERNEL);
	if (!*level)
		return 0;
	if (nr % BITS_PER_LONG)
		(*level)[words - 1] = ~0UL << nr % BITS_PER_LONG;
	return words;
}

int fusion_used_init(struct fusion_used *used, u32 nr)
{
	size_t words;

	used->nr = nr;
	words = fusion_level_init(&used->bits, nr);
	if (words)
		words = fusion_level_init(&used->full, words);
	if (words)
		words = fusion_level_init(&used->fuller, words);
	return words ? 0 : -ENOMEM;
}

void fusion_used_exit(struct fusion_used *used)
{
	kvfree(used->fuller);
	kvfree(used->full);
	kvfree(used->bits);
}

bool fusion_used_set(struct fusion_used *used, u32 slot)
{
	size_t i = slot / BITS_PER_LONG, j = i / BITS_PER_LONG;

	if (__test_and_set_bit(slot, used->bits))
		return true;
	if (used->bits[i] == ~0UL) {
		__set_bit(i, used->full);
		if (used->full[j] == ~0UL)
			__set_bit(j, used->fuller);
	}
	return false;
}

bool fusion_used_clear(struct fusion_used *used, u32 slot)
{
	if (!test_bit(slot, used->bits))
		return false;
	fusion_used_clear_bits(used, slot / BITS_PER_LONG, 1UL << slot % BITS_PER_LONG);
	return true;
}

void fusion_used_clear_bits(struct fusion_used *used, size_t i, unsigned long bits)
{
	if (!bits)
		return;
	used->bits[i] &= ~bits;
	__clear_bit(i, used->full);
	__clear_bit(i / BITS_PER_LONG, used->fuller);
}

void fusion_used_fill(struct fusion_used *used)
{
	size_t words = BITS_TO_LONGS(used->nr), full = BITS_TO_LONGS(words);

	memset(used->bits, 0xff, words * sizeof(long));
	memset(used->full, 0xff, full * sizeof(long));
	memset(used->fuller, 0xff, BITS_TO_LONGS(full) * sizeof(long));
}

/* The bits of a word, from @from on within it, that are clear. */
static unsigned long fusion_clear_from(unsigned long word, size_t from)
{
	return ~word & ~0UL << from % BITS_PER_LONG;
}

u32 fusion_used_next_free(const struct fusion_used *used, u32 from)
{
	size_t words = BITS_TO_LONGS(used->nr), full = BITS_TO_LONGS(words);
	size_t i = from / BITS_PER_LONG, j;
	unsigned long clear;

	if (from >= used->nr)
		return used->nr;
	clear = fusion_clear_from(used->bits[i], from);
	if (clear)
		return i * BITS_PER_LONG + __ffs(clear);

	if (++i >= words)
		return used->nr;
	j = i / BITS_PER_LONG;
	clear = fusion_clear_from(used->full[j], i);
	if (!clear) {
		j = find_next_zero_bit(used->fuller, full, j + 1);
		if (j >= full)
			return used->nr;
		clear = ~used->full[j];
	}
	i = j * BITS_PER_LONG + __ffs(clear);
	return i * BITS_PER_LONG + __ffs(~used->bits[i]);
}
