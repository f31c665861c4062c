// SPDX-License-Identifier: GPL-2.0-only
/* A simulation, and short ones of the same loads that it is compared with. */
#include <stdlib.h>
#include <string.h>

#include "dm-fusion-settings.h"
#include "sim-engine.h"

/* The other simulations have nothing to learn: a part of each phase shows their speed. */
#define SAMPLE		(120 * SIM_S)
#define SAMPLE_IOS	300000U
#define TRACE_IOS	2000000U

void sim_config_init(struct sim_config *cfg)
{
	memset(cfg, 0, sizeof(*cfg));
	cfg->extent_bytes = FUSION_DEFAULT_EXTENT_SECTORS << 9;
	cfg->fill = 90;
	cfg->duration = 6 * 3600 * SIM_S;
	cfg->seed = 1;
	cfg->migration = fusion_settings[FUSION_SET_MIGRATION].def;
	cfg->shadow = fusion_settings[FUSION_SET_SHADOW].def;
	cfg->duty = fusion_settings[FUSION_SET_DUTY].def;
	cfg->idle_ms = fusion_settings[FUSION_SET_IDLE].def;
	cfg->compare = true;
	sim_disk_defaults(&cfg->disk);
}

double sim_hit_ratio(const struct sim_point *p)
{
	return p->ios ? (double)p->hits / p->ios : 0;
}

void sim_result_free(struct sim_result *result)
{
	free(result->point);
	result->point = NULL;
}

static struct sim_rate rate_of(const struct sim_point *sum, u64 ns)
{
	struct sim_rate rate = { 0 };

	if (ns) {
		rate.iops = sum->ios * 1e9 / ns;
		rate.bytes = sum->bytes * 1e9 / ns;
	}
	if (sum->ios)
		rate.latency = sum->latency / 1e9 / sum->ios;
	return rate;
}

/* One phase's loads, elsewhere. */
static int sample(const struct sim_config *cfg, enum sim_kind kind, enum fusion_dev alone,
		  const struct sim_phase *p, struct sim_rate *rate)
{
	struct sim_result r = { 0 };
	int rc;
	struct sim_engine *e = sim_engine_create(cfg, kind, alone, &r, &rc);
	u64 until = p->end - p->start < SAMPLE ? p->end : p->start + SAMPLE;

	if (!e)
		return rc;
	for (unsigned int i = 0; i < cfg->nr_loads; i++)
		e->source[i].ended = !p->sum.load_ios[i];
	rc = cfg->trace ? sim_engine_run(e, 0, SIM_NEVER, TRACE_IOS) :
	     sim_engine_run(e, p->start, until, SAMPLE_IOS);
	*rate = rate_of(&r.total, r.end - (cfg->trace ? 0 : p->start));
	sim_engine_destroy(e);
	sim_result_free(&r);
	return rc;
}

/* The mean of all phases, as long as they were. */
static int compare(const struct sim_config *cfg, enum sim_kind kind, enum fusion_dev alone,
		   const struct sim_result *result, struct sim_rate *mean)
{
	double time = 0, ios = 0;
	int rc;

	memset(mean, 0, sizeof(*mean));
	for (unsigned int i = 0; i < result->nr_phases; i++) {
		const struct sim_phase *p = &result->phase[i];
		double length = p->end - p->start;
		struct sim_rate rate;

		rc = sample(cfg, kind, alone, p, &rate);
		if (rc)
			return rc;
		time += length;
		ios += rate.iops * length;
		mean->iops += rate.iops * length;
		mean->bytes += rate.bytes * length;
		mean->latency += rate.latency * rate.iops * length;
	}
	if (time > 0) {
		mean->iops /= time;
		mean->bytes /= time;
	}
	if (ios > 0)
		mean->latency /= ios;
	return 0;
}

int sim_run(const struct sim_config *cfg, struct sim_result *result)
{
	struct sim_engine *e;
	int rc;

	memset(result, 0, sizeof(*result));
	e = sim_engine_create(cfg, SIM_FUSED, FUSION_FAST, result, &rc);
	if (!e)
		return rc;
	rc = sim_engine_run(e, 0, cfg->duration, UINT64_MAX);
	sim_engine_destroy(e);
	result->fused = rate_of(&result->total, result->end);
	if (rc || !cfg->compare)
		return rc;
	rc = compare(cfg, SIM_UNMOVED, FUSION_FAST, result, &result->unmoved);
	if (!rc)
		rc = compare(cfg, SIM_ALONE, FUSION_SLOW, result, &result->alone[FUSION_SLOW]);
	if (!rc)
		rc = compare(cfg, SIM_ALONE, FUSION_FAST, result, &result->alone[FUSION_FAST]);
	return rc;
}
