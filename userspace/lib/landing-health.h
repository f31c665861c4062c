/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether the landing log of an open set gets on: landing-health.c. */
#ifndef LANDING_HEALTH_H
#define LANDING_HEALTH_H

#include "health.h"
#include "log-stats.h"

struct fusion_status;

/* Of a set, open or closed, that has a landing log and no stale list; and what to do. */
#define FUS_NO_LIST		"its slow member has no list of the blocks that are newer in the " \
				"log: if the fast member is lost, nothing tells which ones are " \
				"outdated"
#define FUS_NO_LIST_REMEDY	"a set that is created with a landing log has that list, and a " \
				"smaller log may find room for it"

/*
 * Call @each for each finding about the landing log of set @name that is no fault of the set
 * itself, which fus_set_health() has. Return: the worst.
 */
enum health fus_landing_health(const char *name, const struct fusion_status *st,
			       const struct log_stats *log, health_fn each, void *ctx);

#endif
