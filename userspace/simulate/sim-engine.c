// SPDX-License-Identifier: GPL-2.0-only
/* The set in simulated time: foreground I/O, and events. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim-engine.h"
#include "error.h"
#include "fusionctl.h"
#include "progress.h"

/* -- events ----------------------------------------------------------------------- */

void sim_event_at(struct sim_engine *e, u64 at, u32 id)
{
	u32 i = e->nr_events++, up;

	for (; i; i = up) {
		up = (i - 1) / 2;
		if (e->heap[up].at <= at)
			break;
		e->heap[i] = e->heap[up];
	}
	e->heap[i] = (struct sim_event) { at, id };
}

static u32 next_event(struct sim_engine *e)
{
	u32 id = e->heap[0].id, i = 0, down;
	struct sim_event last = e->heap[--e->nr_events];

	for (; (down = 2 * i + 1) < e->nr_events; i = down) {
		if (down + 1 < e->nr_events && e->heap[down + 1].at < e->heap[down].at)
			down++;
		if (last.at <= e->heap[down].at)
			break;
		e->heap[i] = e->heap[down];
	}
	e->heap[i] = last;
	return id;
}

void sim_submit(struct sim_engine *e, enum fusion_dev dev, u64 byte, u32 bytes, bool write,
		u32 id)
{
	struct sim_cmd cmd = {
		.byte = byte, .bytes = bytes, .write = write, .id = id, .sorted = id >= SIM_ID_LOG,
	};
	u64 at;

	if (dev == FUSION_FAST) {
		at = sim_ssd_submit(&e->ssd, byte, bytes, write, e->now);
		sim_event_at(e, at, id);
	} else {
		at = sim_hdd_submit(&e->hdd, &cmd, e->now);
		if (at)
			e->hdd_at = at;
	}
}

u64 sim_word_byte(const struct sim_engine *e, u32 word)
{
	return fusion_slot_sector(&e->sb, fusion_word_dev(word), fusion_word_slot(word)) << 9;
}

u32 sim_take_slot(struct sim_engine *e, enum fusion_dev dev, u32 lext)
{
	bool home = dev == FUSION_SLOW && fusion_slot_valid(&e->sb, dev, lext);

	return sim_slot_get(&e->slots[dev], home ? lext : SIM_NO_SLOT);
}

/* -- time ------------------------------------------------------------------------- */

bool sim_is_idle(const struct sim_engine *e)
{
	return !e->nr_flying[0] && !e->nr_flying[1] && !e->nr_parked && !e->land.nr_waiting &&
	       e->now - e->last_busy >= e->cfg->idle_ms * SIM_MS;
}

static void begin_progress(const struct sim_engine *e)
{
	static const struct progress_unit minutes = { "min", 60e9 }, ios = { "I/Os", 1 };

	if (e->cfg->progress && e->kind == SIM_FUSED)
		fus_progress_begin("simulate", e->cfg->trace ? &ios : &minutes, e->cfg->trace ?
				   e->cfg->trace->nr : e->cfg->duration);
}

static void show_progress(const struct sim_engine *e)
{
	char also[32];

	snprintf(also, sizeof(also), "hit ratio %.3f", sim_hit_ratio(&e->total));
	fus_progress_at(e->cfg->trace ? e->trace_next : e->now, also);
}

/* -- I/O ---------------------------------------------------------------------------- */

static u32 first_write(struct sim_engine *e, u32 lext)
{
	enum fusion_dev dev = e->slots[FUSION_FAST].nr_free > e->sb.spare_fast ? FUSION_FAST :
			      FUSION_SLOW;
	u32 slot;

	if (dev == FUSION_SLOW)
		sim_shadows_yield(e, e->sb.spare_slow);
	slot = sim_take_slot(e, dev, lext);
	/* as many lexts as slots without the spares: there is one */
	e->map[lext] = fusion_word(FUSION_STABLE, dev, slot);
	e->nr_mapped++;
	if (dev == FUSION_FAST && e->slot_hits)
		e->slot_hits[slot] = SIM_ALWAYS_THERE;
	return e->map[lext];
}

void sim_route(struct sim_engine *e, u32 id)
{
	struct sim_io *io = &e->io[id];
	u32 word;

	if (e->kind == SIM_ALONE) {
		sim_submit(e, e->alone, (u64)io->lext * e->cfg->extent_bytes + io->offset,
			   io->bytes, io->write, id);
		return;
	}
	word = e->map[io->lext];
	if (!fusion_word_mapped(word)) {
		if (!io->write) {
			/* zeros, from nowhere */
			sim_event_at(e, e->now + 1000, id);
			return;
		}
		word = first_write(e, io->lext);
	} else if (io->write && fusion_word_state(word) == FUSION_LOCKED) {
		e->parked[e->nr_parked++] = id;
		return;
	} else if (io->write && fusion_word_state(word) == FUSION_WATCHED) {
		word = fusion_word_set_state(word, FUSION_STABLE);
		e->map[io->lext] = word;
		sim_shadow_drop(e, word);
	}
	if (fusion_word_dev(word) == FUSION_SLOW) {
		if (sim_land_route(e, id))
			return;
		e->land.slow_used = e->now;
	}
	io->epoch = e->epoch;
	io->dev = fusion_word_dev(word);
	e->nr_flying[e->epoch]++;
	e->nr_at[io->dev]++;
	sim_submit(e, io->dev, sim_word_byte(e, word) + io->offset, io->bytes, io->write, id);
}

void sim_unpark(struct sim_engine *e)
{
	u32 nr = e->nr_parked, id[SIM_MAX_DEPTH];

	if (!nr)
		return;
	memcpy(id, e->parked, nr * sizeof(id[0]));
	e->nr_parked = 0;
	for (u32 i = 0; i < nr; i++)
		sim_route(e, id[i]);
}

static void count(struct sim_engine *e, struct sim_io *io)
{
	struct sim_point *p = e->point;
	unsigned int weight;
	u32 word;
	bool hit = false;

	p->ios++;
	p->bytes += io->bytes;
	p->load_ios[io->load]++;
	e->last_busy = e->now;
	if (e->kind == SIM_ALONE)
		return;
	word = e->map[io->lext];
	if (fusion_word_mapped(word) && fusion_word_dev(word) == FUSION_FAST) {
		hit = true;
		if (e->slot_hits)
			e->slot_hits[fusion_word_slot(word)]++;
	}
	p->hits += hit;
	p->load_hits[io->load] += hit;
	p->unmoved_hits += io->lext >= e->fill_fast[0] && io->lext < e->fill_fast[1];
	if (!e->policy && !e->land.max)
		return;
	weight = fusion_weigh(&e->streams, ((u64)io->lext * e->cfg->extent_bytes + io->offset) >> 9,
			      io->bytes >> 9, FUSION_NORMAL);
	io->stream = !weight;
	if (!e->policy)
		return;
	if (weight)
		fusion_policy_touch(e->policy, io->lext, weight);
	else
		e->unweighed++;
}

static void start_io(struct sim_engine *e, struct sim_source *src, u64 since,
		     const struct sim_access *a)
{
	u32 id = e->free_io[--e->nr_free_io];

	e->io[id] = (struct sim_io) {
		.since = since, .lext = a->lext, .offset = a->offset, .bytes = a->bytes,
		.load = src - e->source, .write = a->write, .epoch = SIM_NO_EPOCH,
	};
	src->nr++;
	count(e, &e->io[id]);
	sim_route(e, id);
}

static void draw_io(struct sim_engine *e, struct sim_source *src, u64 since)
{
	struct sim_access a;

	sim_load_next(&src->load, &a);
	start_io(e, src, since, &a);
	if (!a.last)
		return;
	src->ended = true;
	src->active = false;
	e->boundary = e->now;	/* this load is over, so a new phase begins for the others */
}

static u64 trace_time(const struct sim_engine *e)
{
	const struct sim_trace *t = e->cfg->trace;

	return e->trace_next < t->nr ? e->trace_base + t->record[e->trace_next].ns : SIM_NEVER;
}

/* As many as may be under way, or as have arrived. */
static void feed_trace(struct sim_engine *e)
{
	const struct sim_trace *t = e->cfg->trace;
	struct sim_source *src = &e->source[0];
	bool timed = !e->cfg->trace_depth;

	while (e->trace_next < t->nr && src->nr < src->depth &&
	       (!timed || trace_time(e) <= e->now)) {
		const struct sim_record *r = &t->record[e->trace_next];
		struct sim_access a = {
			.lext = r->byte / e->cfg->extent_bytes,
			.offset = r->byte % e->cfg->extent_bytes,
			.bytes = r->bytes, .write = r->write,
		};
		u64 since = timed ? trace_time(e) : e->now;

		e->trace_next++;
		start_io(e, src, since, &a);
	}
	src->late = timed && src->nr == src->depth;
	if (timed && !src->late && e->trace_next < t->nr)
		sim_event_at(e, trace_time(e), SIM_ID_ARRIVAL);
}

static void arrive(struct sim_engine *e, struct sim_source *src)
{
	u64 since = src->next;

	if (e->cfg->trace) {
		feed_trace(e);
		return;
	}
	if (!src->active)
		return;
	if (src->nr == src->depth) {
		src->late = true;
		return;
	}
	src->next += -log(1 - sim_unit(&src->rng)) / src->load.spec->rate * SIM_S + 1;
	sim_event_at(e, src->next > e->now ? src->next : e->now,
		     SIM_ID_ARRIVAL + (src - e->source));
	draw_io(e, src, since);
}

static void complete(struct sim_engine *e, u32 id)
{
	struct sim_io *io = &e->io[id];
	struct sim_source *src = &e->source[io->load];
	u8 epoch = io->epoch;

	e->point->latency += e->now - io->since;
	e->last_busy = e->now;
	e->free_io[e->nr_free_io++] = id;
	src->nr--;
	if (epoch != SIM_NO_EPOCH) {
		e->nr_at[io->dev]--;
		e->nr_done[io->dev]++;
		if (io->fills)
			sim_copies_fill(e, io);
		if (io->dev == FUSION_SLOW)
			e->land.slow_used = e->now;
	}
	if (epoch != SIM_NO_EPOCH && !--e->nr_flying[epoch] && epoch != e->epoch && e->policy)
		sim_mover_drained(e);

	if (e->cfg->trace) {
		if (src->late || e->cfg->trace_depth)
			feed_trace(e);
	} else if (src->load.spec->rate > 0) {
		if (src->late) {
			src->late = false;
			arrive(e, src);
		}
	} else if (src->active && src->nr < src->depth) {
		draw_io(e, src, e->now);
	}
}

/* -- the loads come and go -------------------------------------------------------------- */

static void start_sources(struct sim_engine *e)
{
	e->boundary = SIM_NEVER;
	for (unsigned int i = 0; i < e->nr_sources && !e->cfg->trace; i++) {
		struct sim_source *src = &e->source[i];
		const struct sim_spec *spec = src->load.spec;
		bool was = src->active;
		u64 change = e->now < spec->from ? spec->from : spec->to;

		src->active = e->now >= spec->from && e->now < spec->to && !src->ended;
		src->load.shifted = spec->shift > 0 && e->now >= spec->shift_at;
		if (spec->shift > 0 && e->now < spec->shift_at && spec->shift_at < change)
			change = spec->shift_at;
		if (change > e->now && change < e->boundary)
			e->boundary = change;
		if (!src->active || was)
			continue;
		if (spec->rate > 0) {
			src->next = e->now;
			sim_event_at(e, e->now, SIM_ID_ARRIVAL + i);
			continue;
		}
		while (src->nr < src->depth && src->active)
			draw_io(e, src, e->now);
	}
	if (e->cfg->trace && !e->trace_next) {
		e->trace_base = e->now;
		feed_trace(e);
	}
}

static void moved_or_drained(struct sim_engine *e, u32 id)
{
	if (id >= SIM_ID_LOG)
		sim_land_done(e, id);
	else
		sim_mover_done(e, id);
}

static int step(struct sim_engine *e)
{
	u32 id;

	if (e->now >= e->boundary) {
		int rc = e->kind == SIM_FUSED ? sim_phase_end(e) : 0;

		if (!rc)
			start_sources(e);
		return rc;
	}
	if (e->nr_events && e->heap[0].at <= e->now) {
		id = next_event(e);
		if (id < SIM_MAX_DEPTH)
			complete(e, id);
		else if (id < SIM_ID_MOVER)
			arrive(e, &e->source[id % SIM_MAX_LOADS]);
		else
			moved_or_drained(e, id);
	} else if (e->hdd_at <= e->now) {
		e->hdd_at = sim_hdd_done(&e->hdd, e->now, &id);
		if (id < SIM_MAX_DEPTH)
			complete(e, id);
		else
			moved_or_drained(e, id);
	} else if (e->land.timer <= e->now) {
		sim_land_timer(e);
	} else if (e->policy) {
		sim_mover_timer(e);
	}
	return 0;
}

static u64 next_time(const struct sim_engine *e)
{
	u64 t = e->boundary;

	if (e->nr_events && e->heap[0].at < t)
		t = e->heap[0].at;
	if (e->hdd_at < t)
		t = e->hdd_at;
	if (e->land.timer < t)
		t = e->land.timer;
	if (e->policy && e->mover.step == SIM_WAITS && e->mover.at < t)
		t = e->mover.at;
	return t;
}

static bool over(const struct sim_engine *e, u64 max_ios)
{
	if (e->cfg->trace && e->trace_next == e->cfg->trace->nr && !e->source[0].nr)
		return true;
	return max_ios != UINT64_MAX && e->total.ios + e->point->ios >= max_ios;
}

int sim_engine_run(struct sim_engine *e, u64 from, u64 until, u64 max_ios)
{
	u64 t;
	int rc;

	e->now = from;
	e->last_busy = from;
	e->phase_start = from;
	rc = sim_point_next(e);
	if (rc)
		return rc;
	start_sources(e);
	begin_progress(e);
	while (!over(e, max_ios)) {
		t = next_time(e);
		if (t >= until) {
			e->now = until;
			break;
		}
		/* a point at the end of the time does not begin */
		while (e->point_end <= t) {
			e->now = e->point_end;
			rc = sim_point_next(e);
			if (rc)
				return rc;
			show_progress(e);
		}
		if (t > e->now)
			e->now = t;
		rc = step(e);
		if (rc)
			return rc;
	}
	sim_point_add(&e->total, e->point);
	e->result->total = e->total;
	e->result->end = e->now;
	/* a command may be under way at the end */
	e->result->hdd_busy = e->now > from ? fmin((double)e->hdd.busy_ns / (e->now - from), 1) : 0;
	fus_progress_end();
	if (e->kind != SIM_FUSED)
		return 0;
	sim_count_resting(e);
	rc = sim_phase_end(e);
	if (!rc && e->cfg->check && !e->broken)
		e->broken = sim_engine_check(e);
	if (!rc && e->broken)
		rc = fus_fail(FC_FAILED, "simulate", "the map broke: %s; report this", e->broken);
	return rc;
}
