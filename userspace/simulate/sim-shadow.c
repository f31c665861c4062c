// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slow slots kept for promoted extents, as in dm-fusion-shadow.c. Those out of date go at once
 * here, and those that are too many with the next tick. None is copied in idle time, and none is
 * held for the replica.
 */
#include <stdlib.h>

#include "sim-engine.h"

/* See dm-fusion-shadow-room.c. */
#define CUSHION		1024U
#define CUSHION_SHARE	32U
/* Shadows among which the hottest is looked for. */
#define LOOK		64U

bool sim_shadows_init(struct sim_engine *e)
{
	e->shadow = calloc(e->sb.nr_fast_slots, sizeof(*e->shadow));
	e->shadow_of = calloc(e->sb.nr_fast_slots, sizeof(*e->shadow_of));
	return e->shadow && e->shadow_of;
}

void sim_shadows_exit(struct sim_engine *e)
{
	free(e->shadow);
	free(e->shadow_of);
}

static u32 missing(const struct sim_engine *e)
{
	u32 share = e->sb.nr_slow_slots / CUSHION_SHARE + 1, free = e->slots[FUSION_SLOW].nr_free;
	u32 cushion = e->sb.spare_slow +
		      min(min(share, CUSHION), e->sb.nr_lexts - e->nr_mapped);

	return cushion - min(cushion, free);
}

bool sim_shadow_wanted(const struct sim_engine *e, u32 old, u32 new)
{
	return e->cfg->shadow && fusion_word_dev(old) == FUSION_SLOW &&
	       fusion_word_dev(new) == FUSION_FAST && !missing(e);
}

bool sim_shadow_keep(struct sim_engine *e, u32 lext, u32 old, u32 new)
{
	u32 watched = fusion_word_set_state(new, FUSION_WATCHED);

	if (fusion_word_dev(new) != FUSION_FAST || e->map[lext] != watched)
		return false;
	if (!sim_shadow_wanted(e, old, new)) {
		e->map[lext] = new;
		return false;
	}
	e->shadow[fusion_word_slot(new)] = fusion_word_slot(old);
	e->shadow_of[fusion_word_slot(new)] = lext;
	e->nr_shadows++;
	return true;
}

bool sim_has_shadow(const struct sim_engine *e, u32 word)
{
	return e->shadow && fusion_word_mapped(word) && fusion_word_dev(word) == FUSION_FAST &&
	       e->shadow[fusion_word_slot(word)];
}

u32 sim_shadow_take(struct sim_engine *e, u32 word)
{
	u32 slot = e->shadow[fusion_word_slot(word)];

	e->shadow[fusion_word_slot(word)] = 0;
	e->nr_shadows--;
	return fusion_word(FUSION_STABLE, FUSION_SLOW, slot);
}

void sim_shadow_drop(struct sim_engine *e, u32 word)
{
	u32 fast = fusion_word_slot(word), *lexts = e->shadow_of;

	if (!sim_has_shadow(e, word))
		return;
	if (e->map[lexts[fast]] == fusion_word(FUSION_WATCHED, FUSION_FAST, fast))
		e->map[lexts[fast]] = fusion_word(FUSION_STABLE, FUSION_FAST, fast);
	sim_slot_put(&e->slots[FUSION_SLOW], fusion_word_slot(sim_shadow_take(e, word)));
}

/* Give up the hottest of the next few. */
static void give_up(struct sim_engine *e)
{
	u32 best = 0, heat, most = 0;

	for (u32 i = 0, found = 0; found < LOOK && i < e->sb.nr_fast_slots; i++) {
		u32 fast = e->shadow_next++ % e->sb.nr_fast_slots;

		if (!e->shadow[fast])
			continue;
		heat = e->policy ? fusion_policy_heat(e->policy, e->shadow_of[fast]) : 0;
		if (!found++ || heat > most) {
			best = fast;
			most = heat;
		}
	}
	sim_shadow_drop(e, fusion_word(FUSION_STABLE, FUSION_FAST, best));
}

void sim_shadows_yield(struct sim_engine *e, u32 keep)
{
	while (e->nr_shadows && e->slots[FUSION_SLOW].nr_free <= keep)
		give_up(e);
}

void sim_shadows_tend(struct sim_engine *e)
{
	while (e->nr_shadows && missing(e))
		give_up(e);
}
