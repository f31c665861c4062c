// SPDX-License-Identifier: GPL-2.0-only
/* Verb monitor: numbers for Prometheus about landing logs, of sets that have one. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "landing-size.h"
#include "log-stats.h"
#include "monitor.h"
#include "open-set.h"

struct view {
	const struct fusion_status *st;
	struct log_stats log;
};

static uint64_t slots(const struct view *v, uint64_t nr)
{
	return nr * (v->st->extent_sectors << 9);
}

static uint64_t room(const struct view *v) { return slots(v, v->st->log_most); }
static uint64_t used(const struct view *v) { return slots(v, v->st->log_segments); }
static uint64_t logged(const struct view *v) { return v->st->log_blocks * FUS_LANDING_BLOCK; }
static uint64_t drained(const struct view *v) { return v->st->log_drained * FUS_LANDING_BLOCK; }
static uint64_t stopped(const struct view *v) { return v->st->log_stopped; }
static uint64_t landed(const struct view *v) { return v->log.landed * FUS_LANDING_BLOCK; }
static uint64_t waiting(const struct view *v) { return v->log.waiting; }
static uint64_t waited(const struct view *v) { return v->log.waited; }
static uint64_t unlisted(const struct view *v) { return v->log.unlisted_s; }

static const struct metric {
	const char *name, *type, *help;
	bool asked;		/* the status line does not have it */
	uint64_t (*value)(const struct view *v);
} metrics[] = {
	{ "fusion_landing_log_bytes", "gauge", "Room for the landing log on the fast member.",
	  false, room },
	{ "fusion_landing_log_used_bytes", "gauge", "Of this room, what is in use.", false, used },
	{ "fusion_landing_log_logged_bytes", "gauge",
	  "Blocks in the landing log that the slow member does not have yet.", false, logged },
	{ "fusion_landing_log_stopped", "gauge",
	  "1 after an error: no write gets into the landing log.", false, stopped },
	{ "fusion_landing_log_landed_bytes_total", "counter",
	  "Data that got into the landing log.", true, landed },
	{ "fusion_landing_log_drained_bytes_total", "counter",
	  "Data that was copied from the landing log to the slow member.", false, drained },
	{ "fusion_landing_log_waiting_writes", "gauge",
	  "Writes that wait for room in the landing log.", true, waiting },
	{ "fusion_landing_log_waited_writes_total", "counter",
	  "Writes that have begun to wait for room in the landing log.", true, waited },
	{ "fusion_landing_log_unlisted_seconds", "gauge",
	  "Time for which the slow member's list of blocks in the landing log has been behind.",
	  true, unlisted },
};

void put_landing_metrics(FILE *f, const struct look *look)
{
	struct view *view = calloc(look->nr + 1, sizeof(*view));

	/* the other metrics are worth having */
	if (!view)
		return;
	for (unsigned int i = 0; i < look->nr; i++) {
		view[i].st = &look->set[i].st;
		fus_landing_stats(&look->set[i], &view[i].log);
	}
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
		const struct metric *m = &metrics[i];

		metric_head(f, m->name, m->type, m->help);
		for (unsigned int j = 0; j < look->nr; j++) {
			if (!view[j].st->logs || (m->asked && !view[j].log.known))
				continue;
			metric_set(f, m->name, &look->set[j]);
			fprintf(f, "} %" PRIu64 "\n", m->value(&view[j]));
		}
	}
	free(view);
}
