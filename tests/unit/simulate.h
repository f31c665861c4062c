/* SPDX-License-Identifier: GPL-2.0-only */
/* A simulation for the tests of fusionctl simulate, and its result. */
#ifndef SIMULATE_H
#define SIMULATE_H

#include "fusionctl.h"
#include "sim-engine.h"
#include "unit.h"

#define MIB	(1024ULL * 1024)
#define GIB	(1024 * MIB)
#define TINY	0.000000001

static struct sim_config cfg;
static struct sim_result result;

static inline void setup(u64 fast, u64 slow, u64 duration_s)
{
	sim_config_init(&cfg);
	cfg.size[FUSION_FAST] = fast;
	cfg.size[FUSION_SLOW] = slow;
	cfg.duration = duration_s * SIM_S;
	cfg.compare = false;
	cfg.check = true;
}

static inline void load(const char *text)
{
	REQUIRE(!sim_parse_load(text, &cfg.load[cfg.nr_loads++]), "%s", text);
}

static inline void run(void)
{
	sim_result_free(&result);
	REQUIRE(!sim_run(&cfg, &result));
	REQUIRE(result.nr_phases);
}

/* The last one in which something happened. */
static inline const struct sim_phase *last_phase(void)
{
	unsigned int i = result.nr_phases;

	while (i && !result.phase[i - 1].sum.ios)
		i--;
	REQUIRE(i, "no I/O");
	return &result.phase[i - 1];
}

static inline double end_of(const struct sim_phase *p)
{
	return sim_hit_ratio(&p->tail);
}

static inline double unmoved(const struct sim_point *p)
{
	return (double)p->unmoved_hits / p->ios;
}

#endif
