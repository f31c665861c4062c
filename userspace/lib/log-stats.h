/* SPDX-License-Identifier: GPL-2.0-only */
/* The answer to the message stats, and what it says of the landing log: log-stats.c. */
#ifndef LOG_STATS_H
#define LOG_STATS_H

#include <stdbool.h>
#include <stdint.h>

/* The value of a key in it; 0 if the kernel's module has none. */
uint64_t fus_stat_of(const char *stats, const char *key);

/* Of the landing log of an open set, beside what its status has. */
struct log_stats {
	bool known;
	uint64_t landed;	/* blocks that have got into it since the set was loaded */
	uint64_t waiting;	/* writes that wait for room, */
	uint64_t waited;	/* and that have begun to since then */
	uint64_t retry_s;	/* until what could not be drained is tried again, or 0 */
	uint64_t unlisted_s;	/* since when blocks may be missing in the stale list, or 0 */
	bool unwritten;		/* as it could not be written */
};

/* Not known if the set has no log, or the module does not count. */
void fus_log_stats(const char *stats, struct log_stats *s);

#endif
