// SPDX-License-Identifier: GPL-2.0-only
/* A simulated set is planned, filled and created, and its map is checked. */
#include <stdlib.h>

#include "sim-engine.h"
#include "error.h"
#include "fusionctl.h"
#include "landing-size.h"
#include "size.h"

#define SOURCE_DEPTH	(SIM_MAX_DEPTH / SIM_MAX_LOADS)
#define NR_POINTS	4000U
/* Completions that wait in the heap: all I/Os, arrivals, pieces of an extent, drained, copies. */
#define MAX_EVENTS	(SIM_MAX_DEPTH + 256U + SIM_LAND_COPIES + SIM_MOST_COPIES)

/* -- the map ----------------------------------------------------------------------------- */

/* Find the lexts that a sequential fill and a rest leave on the fast member. */
static void plan_fill(struct sim_engine *e)
{
	const struct fusion_sb *sb = &e->sb;
	u32 n = e->nr_used, fast = e->result->usable;
	u32 slow = sb->nr_slow_slots - sb->spare_slow;

	if (e->cfg->trace)
		n = (u64)sb->nr_lexts * e->cfg->fill / 100;
	if (fast > n)
		fast = n;
	if (n - fast > slow)
		fast = n - slow;
	/* the first ones made room for the reserve */
	e->fill_fast[0] = n - fast < e->reserve ? n - fast : e->reserve;
	e->fill_fast[1] = e->fill_fast[0] + fast;
	for (u32 lext = 0; lext < sb->nr_lexts; lext++)
		e->map[lext] = FUSION_WORD_UNMAPPED;
	for (u32 lext = 0; lext < n; lext++) {
		enum fusion_dev dev = lext >= e->fill_fast[0] && lext < e->fill_fast[1] ?
				      FUSION_FAST : FUSION_SLOW;
		u32 slot = sim_take_slot(e, dev, lext);

		e->map[lext] = fusion_word(FUSION_STABLE, dev, slot);
	}
	e->nr_mapped = n;
}

const char *sim_engine_check(const struct sim_engine *e)
{
	u32 mapped[FUSION_NR_DEVS] = { 0 }, held = sim_mover_slots(e), taken;
	const struct fusion_sb *sb = &e->sb;
	struct sim_slots seen[FUSION_NR_DEVS] = { 0 };
	const char *why = NULL;

	if (!sim_slots_init(&seen[FUSION_FAST], e->slots[FUSION_FAST].nr, 0) ||
	    !sim_slots_init(&seen[FUSION_SLOW], e->slots[FUSION_SLOW].nr, 0))
		why = "no memory to check it";
	for (u32 lext = 0; lext < sb->nr_lexts && !why; lext++) {
		enum fusion_dev dev = fusion_word_dev(e->map[lext]);
		u32 slot = fusion_word_slot(e->map[lext]);

		if (!fusion_word_mapped(e->map[lext]))
			continue;
		mapped[dev]++;
		if (!fusion_slot_valid(sb, dev, slot))
			why = "an extent has a slot that does not exist";
		else if (!sim_slot_used(&e->slots[dev], slot))
			why = "an extent has a slot that is free";
		else if (sim_slot_get(&seen[dev], slot) != slot)
			why = "two extents have one slot";
	}
	held += e->nr_shadows + e->land.max;
	taken = sb->nr_fast_slots - e->slots[FUSION_FAST].nr_free +
		sb->nr_slow_slots - e->slots[FUSION_SLOW].nr_free;
	if (!why && taken != mapped[FUSION_FAST] + mapped[FUSION_SLOW] + held)
		why = "slots are lost";
	if (!why && sb->nr_fast_slots < mapped[FUSION_FAST])
		why = "more extents than slots";
	sim_slots_exit(&seen[FUSION_FAST]);
	sim_slots_exit(&seen[FUSION_SLOW]);
	return why ?: sim_land_check(e) ?: sim_copies_check(e);
}

/* -- life --------------------------------------------------------------------------------- */

static int plan_landing(struct sim_engine *e)
{
	const struct sim_config *cfg = e->cfg;
	struct fusion_misfit misfit;
	u32 slots = cfg->landing_bytes / cfg->extent_bytes;
	int rc = cfg->landing ? fus_landing_slots(cfg->landing, &e->sb, &slots) : 0;

	e->result->land.slots = slots;
	if (rc || !slots)
		return rc;
	if (fusion_sb_plan_landing(&e->sb, slots, &misfit))
		return fus_fail(FC_USAGE, cfg->landing ?: "simulate", "%s; %s", misfit.what,
				misfit.remedy);
	return 0;
}

static int plan(struct sim_engine *e)
{
	const struct sim_config *cfg = e->cfg;
	struct sim_result *r = e->result;
	struct fusion_misfit misfit;
	u64 nr;
	int rc;

	if (fusion_sb_plan(&e->sb, cfg->size[FUSION_FAST] >> 9, cfg->size[FUSION_SLOW] >> 9,
			   cfg->extent_bytes >> 9, &misfit))
		return fus_fail(FC_USAGE, "simulate", "%s%s%s; see --extent-size", misfit.what,
				misfit.remedy ? ": " : "", misfit.remedy ? misfit.remedy : "");
	rc = plan_landing(e);
	if (rc)
		return rc;
	e->reserve = cfg->reserve ? cfg->reserve : fusion_default_reserve(&e->sb);
	nr = cfg->trace ? e->sb.nr_lexts : (u64)e->sb.nr_lexts * cfg->fill / 100;
	e->nr_used = nr ? nr : 1;
	if (cfg->trace && cfg->trace->end_byte > (u64)e->sb.nr_lexts * cfg->extent_bytes) {
		char has[SIZE_TEXT], wants[SIZE_TEXT];

		return fus_fail(FC_FAILED, "--trace", "goes up to %s, the set has %s; make --slow "
				"larger", fus_size_text(wants, cfg->trace->end_byte),
				fus_size_text(has, (u64)e->sb.nr_lexts * cfg->extent_bytes));
	}
	r->nr_lexts = e->sb.nr_lexts;
	r->nr_used = e->nr_used;
	r->nr_fast = e->sb.nr_fast_slots;
	r->reserve = e->reserve;
	r->half_life = cfg->half_life ? cfg->half_life : fusion_default_half_life(&e->sb);
	r->spare = e->sb.spare_fast;
	r->usable = r->nr_fast - r->spare - e->sb.landing_slots;
	r->usable -= e->reserve < r->usable ? e->reserve : r->usable;
	r->interval = (cfg->trace && !cfg->trace->timed ? cfg->trace->nr * (SIM_S / 100) :
		       cfg->trace ? cfg->trace->record[cfg->trace->nr - 1].ns : cfg->duration) /
		      NR_POINTS / SIM_S * SIM_S;
	if (r->interval < SIM_S)
		r->interval = SIM_S;
	return 0;
}

static bool create_map(struct sim_engine *e)
{
	const struct fusion_sb *sb = &e->sb;

	e->map = calloc(sb->nr_lexts, sizeof(*e->map));
	if (!e->map || !sim_slots_init(&e->slots[FUSION_FAST], sb->nr_fast_slots, 0) ||
	    !sim_slots_init(&e->slots[FUSION_SLOW], sb->slow_first_slot + sb->nr_slow_slots,
			    sb->slow_first_slot))
		return false;
	if (!sim_land_init(e) || !sim_copies_init(e))
		return false;
	plan_fill(e);
	if (e->kind != SIM_FUSED)
		return true;
	e->slot_hits = calloc(sb->nr_fast_slots, sizeof(*e->slot_hits));
	e->slot_since_s = calloc(sb->nr_fast_slots, sizeof(*e->slot_since_s));
	e->left_s = calloc(sb->nr_lexts, sizeof(*e->left_s));
	e->mover.away = calloc(sb->nr_lexts / 64 + 1, sizeof(*e->mover.away));
	e->policy = fusion_policy_create(e->map, sb->nr_lexts, sb->nr_fast_slots);
	if (!sim_shadows_init(e) || !e->slot_hits || !e->slot_since_s || !e->left_s ||
	    !e->mover.away || !e->policy)
		return false;
	for (u32 i = 0; i < sb->nr_fast_slots; i++)
		e->slot_hits[i] = SIM_ALWAYS_THERE;
	fusion_policy_set_half_life(e->policy, e->result->half_life);
	return true;
}

static void create_sources(struct sim_engine *e)
{
	const struct sim_config *cfg = e->cfg;

	e->nr_sources = cfg->trace ? 1 : cfg->nr_loads;
	for (unsigned int i = 0; i < e->nr_sources; i++) {
		struct sim_source *src = &e->source[i];

		src->rng = random64(cfg->seed + 1000 + i);
		src->depth = SOURCE_DEPTH;
		if (cfg->trace) {
			src->depth = cfg->trace_depth ? cfg->trace_depth : SIM_MAX_DEPTH;
			continue;
		}
		if (cfg->load[i].rate <= 0)
			src->depth = cfg->load[i].depth;
		sim_load_init(&src->load, &cfg->load[i], e->nr_used, e->sb.nr_fast_slots,
			      cfg->extent_bytes, cfg->seed + i);
	}
}

/* Ranks that are blocks are 32 bits wide, and looked at one by one. */
static int check_blocks(const struct sim_engine *e)
{
	const struct sim_config *cfg = e->cfg;

	for (unsigned int i = 0; !cfg->trace && i < cfg->nr_loads; i++)
		if (cfg->load[i].blocks &&
		    (u64)e->nr_used * cfg->extent_bytes > SIM_MAX_BLOCKS * SIM_BLOCK)
			return fus_fail(FC_USAGE, cfg->load[i].name, "place=blocks takes at most "
					"1T; simulate a smaller set, or give place=hashed");
	return 0;
}

struct sim_engine *sim_engine_create(const struct sim_config *cfg, enum sim_kind kind,
				     enum fusion_dev alone, struct sim_result *result,
				     int *rc)
{
	struct sim_engine *e = calloc(1, sizeof(*e));
	u64 slow = cfg->size[FUSION_SLOW];

	if (!e) {
		*rc = fus_fail(FC_FAILED, "memory", "not enough; simulate a smaller set");
		return NULL;
	}
	e->cfg = cfg;
	e->kind = kind;
	e->alone = alone;
	e->result = result;
	e->hdd_at = SIM_NEVER;
	e->land.timer = SIM_NEVER;
	*rc = plan(e) ?: check_blocks(e);
	if (*rc) {
		sim_engine_destroy(e);
		return NULL;
	}
	e->heap = calloc(MAX_EVENTS, sizeof(*e->heap));
	if (!e->heap || (kind != SIM_ALONE && !create_map(e))) {
		*rc = fus_fail(FC_FAILED, "memory", "not enough for %u extents; simulate a smaller "
			       "set or larger extents", e->sb.nr_lexts);
		sim_engine_destroy(e);
		return NULL;
	}
	for (u32 i = 0; i < SIM_MAX_DEPTH; i++)
		e->free_io[e->nr_free_io++] = i;
	/* the member alone has to hold the data of both */
	if (kind == SIM_ALONE)
		slow = (u64)e->sb.nr_lexts * cfg->extent_bytes;
	sim_hdd_init(&e->hdd, &cfg->disk, slow);
	sim_ssd_init(&e->ssd, &cfg->disk);
	create_sources(e);
	return e;
}

void sim_engine_destroy(struct sim_engine *e)
{
	fusion_policy_destroy(e->policy);
	sim_shadows_exit(e);
	sim_copies_exit(e);
	sim_land_exit(e);
	free(e->mover.away);
	free(e->left_s);
	free(e->slot_since_s);
	free(e->slot_hits);
	sim_slots_exit(&e->slots[FUSION_FAST]);
	sim_slots_exit(&e->slots[FUSION_SLOW]);
	free(e->map);
	free(e->heap);
	free(e);
}
