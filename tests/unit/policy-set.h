/* SPDX-License-Identifier: GPL-2.0-only */
/* The set whose policy test-policy looks at. */
#ifndef POLICY_SET_H
#define POLICY_SET_H

#include "policy-sim.h"

#define TOUCH		FUSION_HEAT_TOUCH
#define HOUR		3600000ULL
#define DAY		(24 * HOUR)

/* What the acceptance tests have: an SSD of 512 MiB, an HDD of 4 GiB, that does 120 IOPS. */
#define FAST		490U
#define SLOW		4080U
#define RESERVE		10U
#define DISK_IOPS	120U

static struct sim sim;
static struct fusion_policy *p;

static inline void start(u32 nr_fast, u32 nr_slow, u32 reserve)
{
	sim_init(&sim, nr_fast, nr_slow, reserve);
	p = sim.policy;
}

static inline void end(void)
{
	sim_exit(&sim);
}

/* As after a copy of more than the fast member holds, and a pause. */
static inline void start_filled(u32 slow_free)
{
	start(FAST, SLOW, RESERVE);
	sim_fill(&sim, 0, sim.nr - slow_free);
	sim_rest(&sim, 10000);
}

static inline u32 heat(u32 lext)
{
	return fusion_policy_heat(p, lext);
}

#endif
