// SPDX-License-Identifier: GPL-2.0-only
/*
 * The answer to the message stats, "<key> <value>" lines, and what it says of the landing log.
 * Needs nothing else of fusionctl.
 */
#include <stdlib.h>
#include <string.h>

#include "log-stats.h"

/* What stands behind the key, or NULL. */
static const char *value_of(const char *stats, const char *key)
{
	const size_t n = strlen(key);
	const char *line = stats;

	while (line && (strncmp(line, key, n) || line[n] != ' ')) {
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return line ? line + n : NULL;
}

uint64_t fus_stat_of(const char *stats, const char *key)
{
	const char *value = value_of(stats, key);

	return value ? strtoull(value, NULL, 10) : 0;
}

void fus_log_stats(const char *stats, struct log_stats *s)
{
	*s = (struct log_stats) {
		.known = value_of(stats, "log_landed"),
		.landed = fus_stat_of(stats, "log_landed"),
		.waiting = fus_stat_of(stats, "log_waiting"),
		.waited = fus_stat_of(stats, "log_waited"),
		.retry_s = fus_stat_of(stats, "log_retry"),
		.unlisted_s = fus_stat_of(stats, "log_unlisted"),
		.unwritten = fus_stat_of(stats, "log_list_failed"),
	};
}
