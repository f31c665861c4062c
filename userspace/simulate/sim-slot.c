// SPDX-License-Identifier: GPL-2.0-only
/* The slots of a member, given out in the order of dm-fusion-alloc.c, but found faster. */
#include <stdlib.h>

#include "sim.h"

static u32 words(u32 bits)
{
	return bits / 64 + !!(bits % 64);
}

static void mark(struct sim_slots *s, u32 slot)
{
	u32 w = slot / 64;

	s->used[w] |= 1ULL << slot % 64;
	if (s->used[w] == UINT64_MAX)
		s->full[w / 64] |= 1ULL << w % 64;
}

bool sim_slots_init(struct sim_slots *s, u32 nr, u32 nr_reserved)
{
	u32 nr_words = words(nr);

	s->used = calloc(nr_words, sizeof(u64));
	s->full = calloc(words(nr_words), sizeof(u64));
	if (!s->used || !s->full)
		return false;
	s->nr = nr;
	s->nr_free = nr - nr_reserved;
	s->cursor = 0;
	/* slots beyond the end count as taken */
	for (u32 i = 0; i < nr_reserved; i++)
		mark(s, i);
	for (u32 i = nr; i < nr_words * 64; i++)
		mark(s, i);
	for (u32 i = nr_words; i < words(nr_words) * 64; i++)
		s->full[i / 64] |= 1ULL << i % 64;
	return true;
}

void sim_slots_exit(struct sim_slots *s)
{
	free(s->used);
	free(s->full);
}

/* The first word from @w on that is not full; the number of words if there is none. */
static u32 next_word(const struct sim_slots *s, u32 w)
{
	u32 nr_words = words(s->nr), top = w / 64;
	u64 open;

	if (w >= nr_words)
		return nr_words;
	open = ~s->full[top] & UINT64_MAX << w % 64;
	while (!open) {
		if (++top == words(nr_words))
			return nr_words;
		open = ~s->full[top];
	}
	return top * 64 + __builtin_ctzll(open);
}

static u32 next_free(const struct sim_slots *s, u32 slot)
{
	u32 w = slot / 64;
	u64 open;

	if (slot >= s->nr)
		return SIM_NO_SLOT;
	open = ~s->used[w] & UINT64_MAX << slot % 64;
	if (!open) {
		w = next_word(s, w + 1);
		if (w == words(s->nr))
			return SIM_NO_SLOT;
		open = ~s->used[w];
	}
	return w * 64 + __builtin_ctzll(open);
}

u32 sim_slot_get(struct sim_slots *s, u32 near)
{
	u32 slot;

	if (!s->nr_free)
		return SIM_NO_SLOT;
	slot = next_free(s, near == SIM_NO_SLOT ? s->cursor : near);
	if (slot == SIM_NO_SLOT)
		slot = next_free(s, 0);
	mark(s, slot);
	s->nr_free--;
	if (near == SIM_NO_SLOT)
		s->cursor = slot + 1;
	return slot;
}

void sim_slot_put(struct sim_slots *s, u32 slot)
{
	s->used[slot / 64] &= ~(1ULL << slot % 64);
	s->full[slot / 4096] &= ~(1ULL << slot / 64 % 64);
	s->nr_free++;
}

bool sim_slot_used(const struct sim_slots *s, u32 slot)
{
	return s->used[slot / 64] >> slot % 64 & 1;
}
