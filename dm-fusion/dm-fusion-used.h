/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: which slots of a member are taken.
 *
 * A bit for each slot, and above it two levels that say which words have no free one. So the next
 * free slot is found in three steps. At 2^28 slots only the topmost level is scanned, 8 KiB of it,
 * where a scan of all the bits would read 32 MiB, with interrupts off.
 */
#ifndef DM_FUSION_USED_H
#define DM_FUSION_USED_H

#include <linux/types.h>

/**
 * struct fusion_used - the slots of a member that are taken
 * @bits: a bit per slot, set if it is taken, and those behind the last one in its word
 * @full: a bit per word of @bits, set if all of its bits are, and those behind the last one
 * @fuller: a bit per word of @full, likewise
 * @nr: number of slots
 */
struct fusion_used {
	unsigned long *bits;
	unsigned long *full;
	unsigned long *fuller;
	u32 nr;
};

/* All @nr slots are free. Sleeps. Return: -ENOMEM; fusion_used_exit() must follow in any case. */
int fusion_used_init(struct fusion_used *used, u32 nr);
void fusion_used_exit(struct fusion_used *used);

/* All below: fs->lock held, or the set is being loaded. */

/* Take a slot, or free it. Return: was it taken? */
bool fusion_used_set(struct fusion_used *used, u32 slot);
bool fusion_used_clear(struct fusion_used *used, u32 slot);

/* Free those slots of word @i that are set in @bits. */
void fusion_used_clear_bits(struct fusion_used *used, size_t i, unsigned long bits);

/* Take all slots. */
void fusion_used_fill(struct fusion_used *used);

/* Return: the first free slot from @from on, or the number of slots. */
u32 fusion_used_next_free(const struct fusion_used *used, u32 from);

#endif
