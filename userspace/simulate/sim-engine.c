// SPDX-License-Identifier: GPL-2.0-only
/* The set in simulated time: map words, foreground I/O, events. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim-engine.h"
#include "error.h"
#include "fusionctl.h"
#include "progress.h"
#include "size.h"

#define SOURCE_DEPTH	(SIM_MAX_DEPTH / SIM_MAX_LOADS)
#define NR_POINTS	4000U
/* Completions that wait in the heap: all I/Os, arrivals, pieces of an extent. */
#define MAX_EVENTS	(SIM_MAX_DEPTH + 256U)
/* An extent that was on the fast member from the beginning is never called wasted. */
#define ALWAYS_THERE	0x80000000U

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
	struct sim_cmd cmd = { .byte = byte, .bytes = bytes, .write = write, .id = id };
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
	return !e->nr_flying[0] && !e->nr_flying[1] && !e->nr_parked &&
	       e->now - e->last_busy >= e->cfg->idle_ms * SIM_MS;
}

static void add_point(struct sim_point *sum, const struct sim_point *p)
{
	sum->ios += p->ios;
	sum->hits += p->hits;
	sum->bytes += p->bytes;
	sum->unmoved_hits += p->unmoved_hits;
	sum->latency += p->latency;
	sum->promotions += p->promotions;
	sum->demotions += p->demotions;
	sum->copied_fast += p->copied_fast;
	for (unsigned int i = 0; i < SIM_MAX_LOADS; i++) {
		sum->load_ios[i] += p->load_ios[i];
		sum->load_hits[i] += p->load_hits[i];
	}
}

/* Begin a point; the one before is complete. */
static int next_point(struct sim_engine *e)
{
	struct sim_result *r = e->result;

	if (r->nr_points)
		add_point(&e->total, &r->point[r->nr_points - 1]);
	if (r->nr_points == r->room) {
		u32 room = r->room ? 2 * r->room : 1024;
		struct sim_point *more = realloc(r->point, room * sizeof(*more));

		if (!more)
			return fus_fail(FC_FAILED, "memory", "there is not enough; simulate less "
					"time");
		r->point = more;
		r->room = room;
	}
	e->point = &r->point[r->nr_points++];
	memset(e->point, 0, sizeof(*e->point));
	e->point->at = e->now;
	e->point_end = (e->now / r->interval + 1) * r->interval;
	if (e->cfg->check && e->policy && !e->broken)
		e->broken = sim_engine_check(e);
	return 0;
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

/* -- phases ------------------------------------------------------------------------ */

static float *density_of(struct sim_engine *e, const struct sim_point *sum, int only)
{
	float *density = calloc(e->nr_used, sizeof(*density));

	for (unsigned int i = 0; density && i < e->nr_sources; i++) {
		if (e->cfg->trace) {
			const struct sim_trace *t = e->cfg->trace;

			for (u64 k = 0; k < t->nr; k++)
				density[t->record[k].byte / e->cfg->extent_bytes] += 1.0 / t->nr;
		} else if (sum->load_ios[i] && (only < 0 || only == (int)i)) {
			sim_load_density(&e->source[i].load,
					 only < 0 ? (double)sum->load_ios[i] / sum->ios : 1,
					 density);
		}
	}
	return density;
}

/* What the best fixed placement hits of all accesses, and of each load's. */
static int judge(struct sim_engine *e, struct sim_phase *p)
{
	float *all = density_of(e, &p->sum, -1), *one, least;
	double part;
	int rc = 0;

	if (!all)
		return fus_fail(FC_FAILED, "memory", "there is not enough; simulate a smaller set");
	p->oracle = sim_greatest(all, e->nr_used, e->result->usable, &least, &part);
	for (unsigned int i = 0; i < e->nr_sources && !rc; i++) {
		p->load_oracle[i] = p->oracle;
		if (e->nr_sources == 1 || !p->sum.load_ios[i])
			continue;
		one = density_of(e, &p->sum, i);
		if (!one) {
			rc = fus_fail(FC_FAILED, "memory", "there is not enough; simulate a "
				      "smaller set");
			break;
		}
		p->load_oracle[i] = 0;
		for (u32 k = 0; k < e->nr_used; k++)
			p->load_oracle[i] += all[k] > least ? one[k] : all[k] < least ? 0 :
					     part * one[k];
		free(one);
	}
	free(all);
	return rc;
}

static void find_converged(struct sim_phase *p, const struct sim_point *point, u32 nr, u64 end)
{
	u64 ios = 0, hits = 0;

	p->converged = SIM_NEVER;
	p->copied_then = 0;
	for (u32 i = 0; i < nr; i++) {
		p->copied_then += point[i].copied_fast;
		ios += point[i].ios;
		hits += point[i].hits;
		/* so many that chance does not decide */
		if (ios < 4000)
			continue;
		if (hits * 100.0 >= p->oracle * SIM_CONVERGED * ios) {
			p->converged = (i + 1 < nr ? point[i + 1].at : end) - p->start;
			return;
		}
		ios = 0;
		hits = 0;
	}
}

static int end_phase(struct sim_engine *e)
{
	struct sim_result *r = e->result;
	struct sim_phase *p = &r->phase[r->nr_phases];
	int rc;

	/* the rest of the time belongs to the last one */
	if (e->now == e->phase_start || r->nr_phases == SIM_MAX_PHASES - 1)
		return 0;
	memset(p, 0, sizeof(*p));
	p->start = e->phase_start;
	p->end = e->now;
	for (u32 i = e->phase_point; i < r->nr_points; i++) {
		add_point(&p->sum, &r->point[i]);
		if (r->point[i].at >= p->end - (p->end - p->start) / 10)
			add_point(&p->tail, &r->point[i]);
	}
	if (!p->tail.ios)
		p->tail = p->sum;
	rc = judge(e, p);
	if (rc)
		return rc;
	find_converged(p, r->point + e->phase_point, r->nr_points - e->phase_point, e->now);
	r->nr_phases++;
	e->phase_start = e->now;
	rc = next_point(e);
	e->phase_point = r->nr_points - 1;
	return rc;
}

/* -- I/O ---------------------------------------------------------------------------- */

static u32 first_write(struct sim_engine *e, u32 lext)
{
	enum fusion_dev dev = e->slots[FUSION_FAST].nr_free > e->sb.spare_fast ? FUSION_FAST :
			      FUSION_SLOW;
	u32 slot = sim_take_slot(e, dev, lext);

	/* as many lexts as slots without the spares: there is one */
	e->map[lext] = fusion_word(FUSION_STABLE, dev, slot);
	e->nr_mapped++;
	if (dev == FUSION_FAST && e->slot_hits)
		e->slot_hits[slot] = ALWAYS_THERE;
	return e->map[lext];
}

/* To where it belongs now. */
static void route(struct sim_engine *e, u32 id)
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
	} else if (io->write && fusion_word_state(word) == FUSION_COPYING) {
		word = fusion_word_set_state(word, FUSION_STABLE);
		e->map[io->lext] = word;
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
		route(e, id[i]);
}

static void count(struct sim_engine *e, const struct sim_io *io)
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
	if (!e->policy)
		return;
	weight = fusion_weigh(&e->streams, ((u64)io->lext * e->cfg->extent_bytes + io->offset) >> 9,
			      io->bytes >> 9, FUSION_NORMAL);
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
	route(e, id);
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
	e->boundary = e->now;	/* it is over: the other loads are a phase of their own */
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

static int step(struct sim_engine *e)
{
	u32 id;

	if (e->now >= e->boundary) {
		int rc = e->kind == SIM_FUSED ? end_phase(e) : 0;

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
			sim_mover_done(e, id);
	} else if (e->hdd_at <= e->now) {
		e->hdd_at = sim_hdd_done(&e->hdd, e->now, &id);
		if (id < SIM_MAX_DEPTH)
			complete(e, id);
		else
			sim_mover_done(e, id);
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

/* Those that may be called wasted when they leave, and have had time to show what they are for. */
static void count_resting(struct sim_engine *e)
{
	u32 now_s = e->now / SIM_S;

	for (u32 lext = 0; lext < e->sb.nr_lexts; lext++) {
		u32 slot = fusion_word_slot(e->map[lext]);

		if (fusion_word_mapped(e->map[lext]) &&
		    fusion_word_dev(e->map[lext]) == FUSION_FAST &&
		    e->slot_hits[slot] < SIM_REPAID)
			e->result->resting += now_s - e->slot_since_s[slot] >= e->result->half_life;
	}
}

int sim_engine_run(struct sim_engine *e, u64 from, u64 until, u64 max_ios)
{
	u64 t;
	int rc;

	e->now = from;
	e->last_busy = from;
	e->phase_start = from;
	rc = next_point(e);
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
		/* a point that is at the end of the time does not begin */
		while (e->point_end <= t) {
			e->now = e->point_end;
			rc = next_point(e);
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
	add_point(&e->total, e->point);
	e->result->total = e->total;
	e->result->end = e->now;
	e->result->hdd_busy = e->now > from ? (double)e->hdd.busy_ns / (e->now - from) : 0;
	fus_progress_end();
	if (e->kind != SIM_FUSED)
		return 0;
	count_resting(e);
	rc = end_phase(e);
	if (!rc && e->cfg->check && !e->broken)
		e->broken = sim_engine_check(e);
	if (!rc && e->broken)
		rc = fus_fail(FC_FAILED, "simulate", "the map broke: %s; report this", e->broken);
	return rc;
}

/* -- the map ----------------------------------------------------------------------------- */

/* Which lexts a sequential fill and a rest leave on the fast member. */
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
			why = "an extent has a slot that there is not";
		else if (!sim_slot_used(&e->slots[dev], slot))
			why = "an extent has a slot that is free";
		else if (sim_slot_get(&seen[dev], slot) != slot)
			why = "two extents have one slot";
	}
	taken = sb->nr_fast_slots - e->slots[FUSION_FAST].nr_free +
		sb->nr_slow_slots - e->slots[FUSION_SLOW].nr_free;
	if (!why && taken != mapped[FUSION_FAST] + mapped[FUSION_SLOW] + held)
		why = "slots are lost";
	if (!why && sb->nr_fast_slots < mapped[FUSION_FAST])
		why = "more extents than slots";
	sim_slots_exit(&seen[FUSION_FAST]);
	sim_slots_exit(&seen[FUSION_SLOW]);
	return why;
}

/* -- life --------------------------------------------------------------------------------- */

static int plan(struct sim_engine *e)
{
	const struct sim_config *cfg = e->cfg;
	struct sim_result *r = e->result;
	struct fusion_misfit misfit;
	u64 nr;

	if (fusion_sb_plan(&e->sb, cfg->size[FUSION_FAST] >> 9, cfg->size[FUSION_SLOW] >> 9,
			   cfg->extent_bytes >> 9, &misfit))
		return fus_fail(FC_USAGE, "simulate", "%s%s%s; see --extent-size", misfit.what,
				misfit.remedy ? ": " : "", misfit.remedy ? misfit.remedy : "");
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
	r->usable = r->nr_fast - r->spare;
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
	plan_fill(e);
	if (e->kind != SIM_FUSED)
		return true;
	e->slot_hits = calloc(sb->nr_fast_slots, sizeof(*e->slot_hits));
	e->slot_since_s = calloc(sb->nr_fast_slots, sizeof(*e->slot_since_s));
	e->left_s = calloc(sb->nr_lexts, sizeof(*e->left_s));
	e->mover.away = calloc(sb->nr_lexts / 64 + 1, sizeof(*e->mover.away));
	e->policy = fusion_policy_create(e->map, sb->nr_lexts, sb->nr_fast_slots);
	if (!e->slot_hits || !e->slot_since_s || !e->left_s || !e->mover.away || !e->policy)
		return false;
	for (u32 i = 0; i < sb->nr_fast_slots; i++)
		e->slot_hits[i] = ALWAYS_THERE;
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

struct sim_engine *sim_engine_create(const struct sim_config *cfg, enum sim_kind kind,
				     enum fusion_dev alone, struct sim_result *result,
				     int *rc)
{
	struct sim_engine *e = calloc(1, sizeof(*e));
	u64 slow = cfg->size[FUSION_SLOW];

	if (!e) {
		*rc = fus_fail(FC_FAILED, "memory", "there is not enough; simulate a smaller set");
		return NULL;
	}
	e->cfg = cfg;
	e->kind = kind;
	e->alone = alone;
	e->result = result;
	e->hdd_at = SIM_NEVER;
	*rc = plan(e);
	if (*rc) {
		sim_engine_destroy(e);
		return NULL;
	}
	e->heap = calloc(MAX_EVENTS, sizeof(*e->heap));
	if (!e->heap || (kind != SIM_ALONE && !create_map(e))) {
		*rc = fus_fail(FC_FAILED, "memory", "there is not enough for %u extents; simulate "
			       "a smaller set or larger extents", e->sb.nr_lexts);
		sim_engine_destroy(e);
		return NULL;
	}
	for (u32 i = 0; i < SIM_MAX_DEPTH; i++)
		e->free_io[e->nr_free_io++] = i;
	/* alone it has to hold what both did */
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
