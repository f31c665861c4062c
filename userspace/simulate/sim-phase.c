// SPDX-License-Identifier: GPL-2.0-only
/* Counts of a simulation: of each point, of each phase, and against the best placement. */
#include <stdlib.h>
#include <string.h>

#include "sim-engine.h"
#include "error.h"
#include "fusionctl.h"

/* -- points ------------------------------------------------------------------------ */

void sim_point_add(struct sim_point *sum, const struct sim_point *p)
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

int sim_point_next(struct sim_engine *e)
{
	struct sim_result *r = e->result;

	if (r->nr_points)
		sim_point_add(&e->total, &r->point[r->nr_points - 1]);
	if (r->nr_points == r->room) {
		u32 room = r->room ? 2 * r->room : 1024;
		struct sim_point *more = realloc(r->point, room * sizeof(*more));

		if (!more)
			return fus_fail(FC_FAILED, "memory", "not enough; simulate less time");
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

/* Hits of the best fixed placement, of all accesses and of each load's. */
static int judge(struct sim_engine *e, struct sim_phase *p)
{
	float *all = density_of(e, &p->sum, -1), *one, least;
	double part;
	int rc = 0;

	if (!all)
		return fus_fail(FC_FAILED, "memory", "not enough; simulate a smaller set");
	p->oracle = sim_greatest(all, e->nr_used, e->result->usable, &least, &part);
	for (unsigned int i = 0; i < e->nr_sources && !rc; i++) {
		p->load_oracle[i] = p->oracle;
		if (e->nr_sources == 1 || !p->sum.load_ios[i])
			continue;
		one = density_of(e, &p->sum, i);
		if (!one) {
			rc = fus_fail(FC_FAILED, "memory", "not enough; simulate a smaller set");
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
		/* enough that chance does not decide */
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

int sim_phase_end(struct sim_engine *e)
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
		sim_point_add(&p->sum, &r->point[i]);
		if (r->point[i].at >= p->end - (p->end - p->start) / 10)
			sim_point_add(&p->tail, &r->point[i]);
	}
	if (!p->tail.ios)
		p->tail = p->sum;
	rc = judge(e, p);
	if (rc)
		return rc;
	find_converged(p, r->point + e->phase_point, r->nr_points - e->phase_point, e->now);
	r->nr_phases++;
	e->phase_start = e->now;
	rc = sim_point_next(e);
	e->phase_point = r->nr_points - 1;
	return rc;
}

void sim_count_resting(struct sim_engine *e)
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
