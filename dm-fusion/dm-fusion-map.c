// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the states of extents: all changes of map words. The table is at the head of
 * dm-fusion.h, where fusion_map_cancel() is inlined. The caller records a change in a transaction.
 *
 * fs->lock is held, but a write cancels a copy without it. So a WATCHED word may become STABLE at
 * any time, and cmpxchg() changes it where that matters.
 */
#include "dm-fusion.h"
#include "dm-fusion-trace.h"

static u32 fusion_word_of_fast(u32 word)
{
	return fusion_word_mapped(word) && fusion_word_dev(word) == FUSION_FAST;
}

bool fusion_word_on_fast(const struct fusion *fs, u32 word)
{
	return fusion_word_mapped(word) && fusion_word_disk(fs, word) == FUSION_FAST;
}

/* The word of an extent changes: for homing, and for the next checkpoint. */
static void fusion_map_note(struct fusion *fs, u32 lext, u32 old, u32 new)
{
	fs->map_changes++;
	fs->nr_fast += fusion_word_of_fast(new) - fusion_word_of_fast(old);
	fusion_homing_note(&fs->mover.homing, &fs->sb, lext, old, new);
}

void fusion_map_first(struct fusion *fs, u32 lext, u32 word)
{
	u32 old = READ_ONCE(fs->map[lext]);

	WRITE_ONCE(fs->map[lext], word);
	fs->nr_mapped++;
	fs->nr_lost -= fusion_word_lost(old);
	fusion_map_note(fs, lext, old, word);
	fusion_replica_mark(fs, lext);
}

void fusion_map_stable(struct fusion *fs, u32 lext, u32 word)
{
	fusion_map_note(fs, lext, READ_ONCE(fs->map[lext]), word);
	WRITE_ONCE(fs->map[lext], word);
	/* INV24: it may come back there with other content */
	if (fusion_word_dev(word) == FUSION_FAST)
		fusion_copies_forget(&fs->land, lext);
	fusion_replica_mark(fs, lext);
}

bool fusion_map_clear(struct fusion *fs, u32 lext, u32 word)
{
	if (cmpxchg(&fs->map[lext], word, FUSION_WORD_UNMAPPED) != word)
		return false;
	fusion_copies_forget(&fs->land, lext);
	fs->nr_mapped -= fusion_word_mapped(word);
	fs->nr_lost -= fusion_word_lost(word);
	fusion_map_note(fs, lext, word, FUSION_WORD_UNMAPPED);
	fusion_replica_mark(fs, lext);
	fusion_policy_forget(fs->policy, lext);
	trace_fusion_unmap(fs, lext, word);
	return true;
}

void fusion_map_copy(struct fusion *fs, u32 lext, u32 old, enum fusion_state state)
{
	/* Only writes race with this, and they do not change a STABLE word. */
	WRITE_ONCE(fs->map[lext], fusion_word_set_state(old, state));
}

bool fusion_map_lock(struct fusion *fs, u32 lext, u32 old)
{
	u32 watched = fusion_word_set_state(old, FUSION_WATCHED);
	u32 locked = fusion_word_set_state(old, FUSION_LOCKED);

	/* Pairs with the cmpxchg() of writes and discards. */
	return READ_ONCE(fs->map[lext]) == locked ||
	       cmpxchg(&fs->map[lext], watched, locked) == watched;
}

void fusion_map_unwatch(struct fusion *fs, u32 lext, u32 word)
{
	cmpxchg(&fs->map[lext], fusion_word_set_state(word, FUSION_WATCHED), word);
}

void fusion_map_uncopy(struct fusion *fs, u32 lext, u32 old)
{
	if (READ_ONCE(fs->map[lext]) == fusion_word_set_state(old, FUSION_LOCKED))
		WRITE_ONCE(fs->map[lext], old);
	else
		fusion_map_unwatch(fs, lext, old);
}

void fusion_map_shadowed(struct fusion *fs, u32 lext, u32 word)
{
	fusion_map_stable(fs, lext, fusion_word_set_state(word, FUSION_WATCHED));
}

void fusion_map_load(struct fusion *fs, u32 lext, u32 word)
{
	fs->map[lext] = word;
}
