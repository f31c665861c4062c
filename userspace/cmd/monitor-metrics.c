// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb monitor: numbers for Prometheus, in the text format that its node exporter collects from
 * files. In base units: bytes, seconds, ratios; counters end in _total.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device.h"
#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "health.h"
#include "monitor.h"
#include "open-set.h"
#include "output.h"
#include "role.h"

void metric_label(FILE *f, const char *text)
{
	putc('"', f);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\' || *text == '\n')
			putc('\\', f);
		putc(*text == '\n' ? 'n' : *text, f);
	}
	putc('"', f);
}

void metric_head(FILE *f, const char *name, const char *type, const char *help)
{
	fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void metric_set(FILE *f, const char *name, const struct set *set)
{
	fprintf(f, "%s{set=", name);
	metric_label(f, set->m.name);
}

/* -- a number for each set ------------------------------------------------------ */

static uint64_t bytes(const struct set *set, uint64_t extents)
{
	return extents * (set->st.extent_sectors << 9);
}

static uint64_t promoted(const struct set *s) { return bytes(s, s->st.promotions); }
static uint64_t demoted(const struct set *s) { return bytes(s, s->st.demotions); }
static uint64_t demoted_free(const struct set *s) { return bytes(s, s->st.demotions_free); }
static uint64_t shadows(const struct set *s) { return bytes(s, s->st.shadows); }
static uint64_t current(const struct set *s) { return bytes(s, s->st.shadows_current); }
static uint64_t protected(const struct set *s) { return bytes(s, s->st.protected); }
static uint64_t lost(const struct set *s) { return bytes(s, s->st.lost); }
static uint64_t on_fast(const struct set *s) { return bytes(s, s->st.on_fast); }
static uint64_t metadata(const struct set *s) { return bytes(s, s->st.metadata); }
static uint64_t metadata_fast(const struct set *s) { return bytes(s, s->st.metadata_fast); }
static uint64_t cancelled(const struct set *s) { return s->st.cancelled; }
static uint64_t mapped(const struct set *s) { return bytes(s, s->st.mapped); }
static uint64_t size(const struct set *s) { return bytes(s, s->st.extents); }
static uint64_t reserve(const struct set *s) { return bytes(s, s->st.reserve); }
static uint64_t reserve_free(const struct set *s) { return bytes(s, s->st.reserve_free); }
static uint64_t commits(const struct set *s) { return s->st.commits; }
static uint64_t checkpoints(const struct set *s) { return s->st.checkpoints; }
static uint64_t slow_flushes(const struct set *s) { return s->st.slow_flushes; }
static uint64_t replica_ok(const struct set *s) { return !strcmp(s->st.replica, "ok"); }
static uint64_t behind(const struct set *s) { return bytes(s, s->st.replica_dirty); }
static uint64_t age(const struct set *s) { return s->st.replica_age; }
static uint64_t suspended(const struct set *s) { return s->m.suspended; }
static uint64_t needs_check(const struct set *s) { return s->st.needs_check; }

static uint64_t health(const struct set *s) { return fus_set_health(s, NULL, NULL); }

static const struct metric {
	const char *name, *type, *help;
	uint64_t (*value)(const struct set *set);
} metrics[] = {
	{ "fusion_health", "gauge", "Health: 0 ok, 1 note, 2 warning, 3 error.", health },
	{ "fusion_suspended", "gauge", "1 while suspended: all I/O waits.", suspended },
	{ "fusion_needs_check", "gauge", "1 after an error that may have left the metadata wrong.",
	  needs_check },
	{ "fusion_set_size_bytes", "gauge", "Size of the set.", size },
	{ "fusion_set_used_bytes", "gauge", "Size of the mapped extents.", mapped },
	{ "fusion_lost_bytes", "gauge", "Extents with lost content, of which reads fail.", lost },
	{ "fusion_reserve_bytes", "gauge", "Room to keep free on the fast member for writes.",
	  reserve },
	{ "fusion_reserve_free_bytes", "gauge", "Room of the reserve that is free.", reserve_free },
	{ "fusion_promoted_bytes_total", "counter", "Data promoted to the fast member.", promoted },
	{ "fusion_demoted_bytes_total", "counter", "Data demoted to the slow member.", demoted },
	{ "fusion_demoted_free_bytes_total", "counter",
	  "Of the data demoted, what was not copied.", demoted_free },
	{ "fusion_shadow_bytes", "gauge",
	  "Copies on the slow member of data on the fast one; their room counts as free.",
	  shadows },
	{ "fusion_shadow_current_bytes", "gauge",
	  "Of these, what was not written to since.", current },
	{ "fusion_protected_bytes", "gauge",
	  "Data on the fast member that the slow one has as well, and has recorded.", protected },
	{ "fusion_fast_data_bytes", "gauge", "Data on the fast member, by extents.", on_fast },
	{ "fusion_protected_metadata_bytes", "gauge",
	  "Of the protected data, extents that have metadata of a file system.", metadata },
	{ "fusion_fast_metadata_bytes", "gauge",
	  "The same on the fast member, be it protected or not.", metadata_fast },
	{ "fusion_cancelled_moves_total", "counter", "Moves cancelled by a write to the extent.",
	  cancelled },
	{ "fusion_commits_total", "counter", "Transactions written to the journal.", commits },
	{ "fusion_checkpoints_total", "counter", "Checkpoints written.", checkpoints },
	{ "fusion_slow_flushes_total", "counter", "Flushes of the slow member.", slow_flushes },
	{ "fusion_replica_ok", "gauge", "1 if the replica of the map can be written.",
	  replica_ok },
	{ "fusion_replica_behind_bytes", "gauge", "Data whose place the replica does not know yet.",
	  behind },
	{ "fusion_replica_age_seconds", "gauge", "Time for which it has been behind.", age },
};

static void put_numbers(FILE *f, const struct look *look)
{
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
		metric_head(f, metrics[i].name, metrics[i].type, metrics[i].help);
		for (unsigned int j = 0; j < look->nr; j++) {
			metric_set(f, metrics[i].name, &look->set[j]);
			fprintf(f, "} %" PRIu64 "\n", metrics[i].value(&look->set[j]));
		}
	}
}

/* Of sets that have one. */
static void put_protected_age(FILE *f, const struct look *look)
{
	static const char name[] = "fusion_protected_age_seconds";

	metric_head(f, name, "gauge",
		    "Nothing is missing in the protected data that was written before.");
	for (unsigned int i = 0; i < look->nr; i++) {
		if (!look->set[i].st.pointed)
			continue;
		metric_set(f, name, &look->set[i]);
		fprintf(f, "} %" PRIu64 "\n", look->set[i].st.point_age);
	}
}

/* -- a number for each member --------------------------------------------------- */

static uint64_t total(const struct set *s, int dev) { return bytes(s, s->st.total[dev]); }
static uint64_t used(const struct set *s, int dev) { return bytes(s, s->st.used[dev]); }
static uint64_t reads(const struct set *s, int dev) { return s->st.reads[dev]; }
static uint64_t writes(const struct set *s, int dev) { return s->st.writes[dev]; }
static uint64_t errors(const struct set *s, int dev) { return s->st.errors[dev]; }

static const struct member_metric {
	const char *name, *type, *help;
	uint64_t (*value)(const struct set *set, int dev);
} member_metrics[] = {
	{ "fusion_size_bytes", "gauge", "Size of the slots of a member.", total },
	{ "fusion_used_bytes", "gauge", "Size of the slots in use.", used },
	{ "fusion_reads_total", "counter", "Reads from the member.", reads },
	{ "fusion_writes_total", "counter", "Writes to the member.", writes },
	{ "fusion_errors_total", "counter", "Failed I/Os of foreground I/O and moves.", errors },
};

static void put_member_numbers(FILE *f, const struct look *look)
{
	for (size_t i = 0; i < sizeof(member_metrics) / sizeof(member_metrics[0]); i++) {
		const struct member_metric *m = &member_metrics[i];

		metric_head(f, m->name, m->type, m->help);
		for (unsigned int j = 0; j < 2 * look->nr; j++) {
			metric_set(f, m->name, &look->set[j / 2]);
			fprintf(f, ",member=\"%s\"} %" PRIu64 "\n", fus_role_name[j % 2],
				m->value(&look->set[j / 2], j % 2));
		}
	}
}

/* -- states --------------------------------------------------------------------- */

struct word_metric {
	const char *name, *label, *help;
	const char *const *words;
	size_t nr;
	const char *(*is)(const struct set *set);
};

/* A metric for each word, of which one applies to each set: 1 for that word, 0 for the others. */
static void put_words(FILE *f, const struct look *look, const struct word_metric *w)
{
	metric_head(f, w->name, "gauge", w->help);
	for (unsigned int i = 0; i < look->nr; i++) {
		for (size_t j = 0; j < w->nr; j++) {
			metric_set(f, w->name, &look->set[i]);
			fprintf(f, ",%s=\"%s\"} %d\n", w->label, w->words[j],
				!strcmp(w->is(&look->set[i]), w->words[j]));
		}
	}
}

static const char *mode_of(const struct set *s) { return s->st.mode; }
static const char *condition_of(const struct set *s)
{
	return fus_condition_name[fus_set_condition(s)];
}

static void put_modes(FILE *f, const struct look *look)
{
	static const char *const modes[] = { "rw", "ro", "fail" };
	const struct word_metric metric[] = {
		{ "fusion_mode", "mode", "1 for the present mode.", modes, 3, mode_of },
		{ "fusion_health_state", "state", "1 for the present health.",
		  fus_condition_name, NR_CONDITIONS, condition_of },
	};

	for (size_t i = 0; i < sizeof(metric) / sizeof(metric[0]); i++)
		put_words(f, look, &metric[i]);
}

static void put_info(FILE *f, const struct look *look)
{
	char node[160];

	metric_head(f, "fusion_set_info", "gauge", "Identity and devices of the set.");
	for (unsigned int i = 0; i < look->nr; i++) {
		const struct set *set = &look->set[i];

		metric_set(f, "fusion_set_info", set);
		fprintf(f, ",uuid=\"%s\"", fus_dm_set_uuid(&set->m));
		for (int dev = 0; dev < 2; dev++) {
			fus_device_node(set->member[dev], node, sizeof(node));
			fprintf(f, ",%s=", fus_role_name[dev]);
			metric_label(f, node);
		}
		fputs("} 1\n", f);
	}
}

static void put_all(FILE *f, const struct look *look, struct json_object *state, int64_t now)
{
	put_info(f, look);
	put_modes(f, look);
	put_numbers(f, look);
	put_protected_age(f, look);
	put_member_numbers(f, look);
	put_landing_metrics(f, look);
	put_drive_metrics(f, look, state, now);
}

int write_metrics(const char *path, const struct look *look, struct json_object *state,
		  int64_t now)
{
	struct stat st;
	struct output out;
	char *new;
	int fd, rc;

	if (!strcmp(path, "-")) {
		put_all(stdout, look, state, now);
		fflush(stdout);
		return 0;
	}
	if (!lstat(path, &st) && !S_ISREG(st.st_mode))
		return fus_fail(FC_FAILED, path, "not a regular file, and would be replaced by "
				"one; choose another file, or - for standard output");
	/* not *.prom, which the exporter would read half written */
	if (asprintf(&new, "%s.XXXXXX", path) < 0)
		return fus_fail(FC_FAILED, path, "not enough memory; close programs and try again");
	fd = mkstemp(new);
	rc = fd < 0 ? fus_fail(FC_FAILED, path, "%s; choose another file", strerror(errno)) :
	     output_take(fd, path, &out);
	if (!rc) {
		put_all(out.f, look, state, now);
		fchmod(fd, 0644);
		rc = output_close(&out);
	}
	if (!rc && rename(new, path))
		rc = fus_fail(FC_FAILED, path, "%s; choose another file", strerror(errno));
	if (rc && fd >= 0)
		unlink(new);
	free(new);
	return rc;
}
