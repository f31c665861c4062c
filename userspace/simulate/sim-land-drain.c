// SPDX-License-Identifier: GPL-2.0-only
/*
 * The landing log in simulated time: the drain, as in dm-fusion-land-drain.c, -round.c and
 * -sweep.c. It runs beside the moves of the policy, and not in turn with them. The simulated disk
 * has no cache, so a round needs no flush, and its commit costs nothing.
 */
#include <stdlib.h>

#include "sim-engine.h"

#define BESIDE_BLOCKS	32U
#define BESIDE_COPIES	2U
#define PRESSED_BLOCKS	256U
#define QUIET_BLOCKS	1024U

#define OP_READ		(SIM_ID_LOG + 0x100)	/* + copy */
#define OP_WRITE	(SIM_ID_LOG + 0x200)

static u64 slow_byte(const struct sim_engine *e, u64 block)
{
	return sim_word_byte(e, e->map[block / e->land.blocks]) +
	       (u64)(block % e->land.blocks) * SIM_BLOCK;
}

/* -- the sweep ------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
	const struct sim_swept *x = a, *y = b;

	return x->to < y->to ? -1 : x->to > y->to;
}

/* All that is there now, once over the slow member; what comes later is for the next time. */
static void begin_sweep(struct sim_engine *e)
{
	struct sim_land *land = &e->land;

	land->nr_sweep = 0;
	land->sweep_at = 0;
	for (u32 pos = 0; pos < land->max * land->blocks; pos++) {
		if (!(pos % land->blocks) && !land->segment[pos / land->blocks].nr_live)
			pos += land->blocks - 1;
		else if (land->block[pos] != SIM_NO_BLOCK)
			land->sweep[land->nr_sweep++] = (struct sim_swept) {
				slow_byte(e, land->block[pos]), land->block[pos], pos
			};
	}
	if (land->nr_sweep)
		qsort(land->sweep, land->nr_sweep, sizeof(land->sweep[0]), by_place);
}

/* Has it been superseded, or has its extent moved? */
static bool is_current(const struct sim_engine *e, const struct sim_swept *s)
{
	return e->land.block[s->pos] == s->block && slow_byte(e, s->block) == s->to;
}

/* The next ones that lie side by side, at most as many as are left of the round. */
static u32 take_run(struct sim_engine *e, struct sim_copy *c)
{
	struct sim_land *land = &e->land;
	const u32 most = min(land->left, 16U);

	c->nr = 0;
	while (land->sweep_at < land->nr_sweep && c->nr < most) {
		const struct sim_swept *s = &land->sweep[land->sweep_at];

		if (is_current(e, s)) {
			if (c->nr && s->to != c->of[c->nr - 1].to + SIM_BLOCK)
				break;
			c->of[c->nr++] = *s;
		}
		land->sweep_at++;
	}
	land->left -= c->nr;
	return c->nr;
}

/* -- rounds ----------------------------------------------------------------------------------- */

static bool is_quiet(const struct sim_engine *e)
{
	return !e->nr_at[FUSION_SLOW] && !e->nr_parked &&
	       e->now - e->land.slow_used >= e->cfg->idle_ms * SIM_MS;
}

static void end_round(struct sim_engine *e)
{
	struct sim_land *land = &e->land;
	const u64 used = e->now - land->round_start;

	land->next_round = e->now;
	if (!land->pressed && !(land->quiet && is_quiet(e)))
		land->next_round += used * (100 - e->cfg->duty) / e->cfg->duty;
	sim_land_credit(e, land->copied);
	land->timer = land->next_round;
}

/* As many copies at once as there may be. */
static void fill_round(struct sim_engine *e)
{
	struct sim_land *land = &e->land;

	if (land->quiet && !land->pressed && !is_quiet(e))
		land->left = 0;
	for (u32 i = 0; i < land->most && land->left; i++) {
		struct sim_copy *c = &land->copy[i];

		if (c->nr || !take_run(e, c))
			continue;
		land->nr_copies++;
		sim_submit(e, FUSION_FAST, sim_land_byte(e, c->of[0].pos), c->nr * SIM_BLOCK, false,
			   OP_READ + i);
	}
	if (!land->nr_copies)
		end_round(e);
}

static void begin_round(struct sim_engine *e)
{
	struct sim_land *land = &e->land;

	if (land->sweep_at == land->nr_sweep)
		begin_sweep(e);
	land->left = land->pressed ? PRESSED_BLOCKS : land->quiet ? QUIET_BLOCKS : BESIDE_BLOCKS;
	land->most = land->pressed || land->quiet ? SIM_LAND_COPIES : BESIDE_COPIES;
	land->copied = 0;
	land->round_start = e->now;
	fill_round(e);
}

void sim_land_done(struct sim_engine *e, u32 id)
{
	struct sim_land *land = &e->land;
	struct sim_copy *c;

	if (id == SIM_ID_COPY)
		e->copies.nr_writes--;
	if (id == SIM_ID_NOBODY || id == SIM_ID_COPY)
		return;
	c = &land->copy[id & 0xff];
	if (id < OP_WRITE) {
		sim_submit(e, FUSION_SLOW, c->of[0].to, c->nr * SIM_BLOCK, true,
			   OP_WRITE + (id & 0xff));
		return;
	}
	for (u32 i = 0; i < c->nr; i++) {
		if (!is_current(e, &c->of[i]))
			continue;
		sim_land_kill(e, c->of[i].pos);
		land->copied++;
		e->result->land.drained++;
	}
	c->nr = 0;
	land->nr_copies--;
	fill_round(e);
}

/* -- when ------------------------------------------------------------------------------------- */

/* Is more of the log in use than so many eighths? */
static bool is_above(const struct sim_land *land, u32 eighths)
{
	return (u64)land->nr_filled * 8 > (u64)land->max * eighths;
}

static bool is_pressed(const struct sim_land *land)
{
	u64 total, free = sim_land_free(land, &total);

	/* until three eighths are free, so that it does not come and go */
	return land->nr_waiting || free <= total / 4 || (land->pressed && free < total * 3 / 8);
}

void sim_land_timer(struct sim_engine *e)
{
	struct sim_land *land = &e->land;

	sim_land_trickle(e);
	land->timer = e->now + (land->nr_waiting ? 50 : FUSION_TICK_MS) * SIM_MS;
	if (land->nr_copies)
		return;
	land->pressed = is_pressed(land);
	land->quiet = is_quiet(e);
	if (land->nr_live && (land->pressed || land->quiet ||
			      (is_above(land, 2) && e->now >= land->next_round)))
		begin_round(e);
}

void sim_land_evict(struct sim_engine *e, u32 lext)
{
	struct sim_land *land = &e->land;
	const u64 end = ((u64)lext + 1) * land->blocks;
	u32 run = 0;

	if (!land->nr_live)
		return;
	for (u64 block = (u64)lext * land->blocks; block <= end; block++) {
		u32 pos = block < end ? sim_land_find(land, block) : SIM_NO_POS;

		if (pos != SIM_NO_POS) {
			sim_land_kill(e, pos);
			e->result->land.drained++;
			run++;
		} else if (run) {
			/* as far as there is room in its queue */
			if (e->hdd.nr_waiting < SIM_HDD_QUEUE / 2)
				sim_submit(e, FUSION_SLOW, slow_byte(e, block - run),
					   run * SIM_BLOCK, true, SIM_ID_NOBODY);
			run = 0;
		}
	}
}
