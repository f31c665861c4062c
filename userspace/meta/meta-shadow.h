/* SPDX-License-Identifier: GPL-2.0-only */
/* Shadows in the replica: meta-shadow.c. */
#ifndef META_SHADOW_H
#define META_SHADOW_H

#include "meta.h"

/* Return: whether an extent lies in this slot: the word is mapped, and does not name a shadow. */
static inline bool fus_word_is_place(u32 word)
{
	return fusion_word_mapped(word) && !fusion_names_shadow(word);
}

/*
 * When the map copy was written that a superblock of the member names, as far as either copy tells.
 * An opening that is interrupted leaves a newer one, which names the same map copy.
 */
u64 fus_set_time(const struct meta *meta, const struct fusion_sb *sb);
void fus_count_shadows(const struct meta_state *st, struct shadows *s);
/* "2026-11-28 14:03:05, 3 minutes ago", or "an unknown time" if it is 0. */
#define WHEN_TEXT	64
char *fus_when_text(char buf[WHEN_TEXT], u64 when);
/* Return: whether any of these words names a shadow. */
bool fus_any_shadow(const u32 *word, u32 nr);
/* The time in a FUSION_OP_POINT, in seconds since 1970. */
static inline u64 fus_record_point(const struct fusion_record *rec)
{
	return (u64)rec->old << 32 | rec->new;
}

/*
 * In a set that was closed cleanly: does the replica say of an extent what the map says? Where it
 * names a shadow, the extent lies, in whole, on the fast member.
 */
bool fus_replica_agrees(u32 map, u32 replica);

#endif
