// SPDX-License-Identifier: GPL-2.0-only
/* The result of a simulation, for people and for programs. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "output.h"
#include "sim-land.h"
#include "size.h"
#include "table.h"

#define CELL	32

static double ratio(u64 part, u64 whole)
{
	return whole ? (double)part / whole : 0;
}

static void time_text(char buf[CELL], u64 ns)
{
	double s = ns / 1e9;

	if (ns == SIM_NEVER)
		snprintf(buf, CELL, "never");
	else if (s < 600)
		snprintf(buf, CELL, "%.3gs", s);
	else if (s < 7200)
		snprintf(buf, CELL, "%.3gm", s / 60);
	else
		snprintf(buf, CELL, "%.3gh", s / 3600);
}

/* When a phase reached 90 % of the oracle, or for how long it did not. */
static void converged_text(char buf[CELL], const struct sim_phase *p)
{
	char length[CELL];

	if (p->converged != SIM_NEVER) {
		time_text(buf, p->converged);
		return;
	}
	time_text(length, p->end - p->start);
	snprintf(buf, CELL, "not in %s", length);
}

static const char *load_name(const struct sim_config *cfg, unsigned int i)
{
	return cfg->trace ? cfg->trace->format : cfg->load[i].name;
}

/* -- for people ------------------------------------------------------------------- */

static void print_phases(const struct sim_config *cfg, const struct sim_result *r)
{
	static const char *const headings[] = {
		"FROM", "TO", "LOAD", ">IOPS", ">HITS", ">AT END", ">ORACLE", ">OF IT",
		">UNMOVED", ">90% AFTER", ">PROMOTED", NULL
	};
	struct libscols_table *tb = table_new(headings);
	unsigned int nr = cfg->trace ? 1 : cfg->nr_loads;

	for (unsigned int k = 0; k < r->nr_phases; k++) {
		const struct sim_phase *p = &r->phase[k];
		double end = sim_hit_ratio(&p->tail);
		char c[11][CELL];
		const char *cells[11];

		for (int i = 0; i < 11; i++)
			cells[i] = c[i];
		time_text(c[0], p->start);
		time_text(c[1], p->end);
		snprintf(c[2], CELL, "%s", nr == 1 ? load_name(cfg, 0) : "all");
		snprintf(c[3], CELL, "%.0f", p->sum.ios * 1e9 / (p->end - p->start));
		snprintf(c[4], CELL, "%.4f", sim_hit_ratio(&p->sum));
		snprintf(c[5], CELL, "%.4f", end);
		snprintf(c[6], CELL, "%.4f", p->oracle);
		snprintf(c[7], CELL, "%.3f", p->oracle > 0 ? end / p->oracle : 0);
		snprintf(c[8], CELL, "%.4f", ratio(p->sum.unmoved_hits, p->sum.ios));
		converged_text(c[9], p);
		snprintf(c[10], CELL, "%u", p->sum.promotions);
		table_row(tb, cells);
		for (unsigned int i = 0; i < nr && nr > 1; i++) {
			if (!p->sum.load_ios[i])
				continue;
			end = ratio(p->tail.load_hits[i], p->tail.load_ios[i]);
			*c[0] = *c[1] = *c[8] = *c[9] = *c[10] = 0;
			snprintf(c[2], CELL, "%s", load_name(cfg, i));
			snprintf(c[3], CELL, "%.0f", p->sum.load_ios[i] * 1e9 /
				 (p->end - p->start));
			snprintf(c[4], CELL, "%.4f", ratio(p->sum.load_hits[i],
							   p->sum.load_ios[i]));
			snprintf(c[5], CELL, "%.4f", end);
			snprintf(c[6], CELL, "%.4f", p->load_oracle[i]);
			snprintf(c[7], CELL, "%.3f", p->load_oracle[i] > 0 ?
				 end / p->load_oracle[i] : 0);
			table_row(tb, cells);
		}
	}
	table_print(tb);
}

static void print_rates(const struct sim_result *r)
{
	static const char *const headings[] = {
		"DEVICE", ">IOPS", ">MB/S", ">LATENCY", ">TIMES", NULL
	};
	const struct {
		const char *name;
		const struct sim_rate *rate;
	} rows[] = {
		{ "fused", &r->fused }, { "migration off", &r->unmoved },
		{ "slow member alone", &r->alone[FUSION_SLOW] },
		{ "fast member alone", &r->alone[FUSION_FAST] },
	};
	struct libscols_table *tb = table_new(headings);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct sim_rate *rate = rows[i].rate;
		char iops[CELL], bytes[CELL], latency[CELL], times[CELL];
		const char *cells[] = { rows[i].name, iops, bytes, latency, times };
		double slow = r->alone[FUSION_SLOW].iops;

		snprintf(iops, CELL, "%.0f", rate->iops);
		snprintf(bytes, CELL, "%.2f", rate->bytes / 1e6);
		snprintf(latency, CELL, rate->latency < 0.001 ? "%.0f us" : "%.1f ms",
			 rate->latency * (rate->latency < 0.001 ? 1e6 : 1e3));
		snprintf(times, CELL, "%.2f", slow > 0 ? rate->iops / slow : 0);
		table_row(tb, cells);
	}
	table_print(tb);
}

/*
 * Copies to the fast member until the loads of the beginning have converged, and a share of it
 * an hour after.
 */
static u64 copied_first(const struct sim_result *r)
{
	return r->nr_phases ? r->phase[0].copied_then : 0;
}

static double copied_later(const struct sim_result *r)
{
	u64 first = copied_first(r), converged;

	if (!r->nr_phases || r->phase[0].converged == SIM_NEVER)
		return 0;
	converged = r->phase[0].start + r->phase[0].converged;
	if (r->end <= converged)
		return 0;
	return (r->copied_fast - first) / ((r->end - converged) / 3600e9) / r->nr_fast;
}

/* As --disk takes them, a line for each member. */
static void print_models(const struct sim_config *cfg)
{
	const char *key, *before = "";
	u32 v;

	for (unsigned int i = 0; (key = sim_disk_get(&cfg->disk, i, &v)); i++) {
		if (strncmp(before, key, 4))
			printf("%s%-8s", *before ? "\n" : "", *before ? "" : "models");
		printf(" %s=%u", key, v);
		before = key;
	}
	puts("");
}

static void print_landing(const struct sim_config *cfg, const struct sim_result *r)
{
	char size[SIZE_TEXT], drained[SIZE_TEXT];

	if (!r->land.slots)
		return;
	printf("log      %s: %.1f%% of all I/Os were writes that got into it, %.1f%% reads of what "
	       "was there; %s drained\n",
	       fus_size_text(size, (u64)r->land.slots * cfg->extent_bytes),
	       100 * ratio(r->land.landed, r->total.ios), 100 * ratio(r->land.reads, r->total.ios),
	       fus_size_text(drained, r->land.drained * SIM_BLOCK));
	printf("copies   %.1f%% of all I/Os were reads of copies in its free room; %s written for "
	       "these\n", 100 * ratio(r->land.copy_reads, r->total.ios),
	       fus_size_text(drained, r->land.copied * SIM_BLOCK));
	if (r->land.waited)
		printf("         %.1f%% of these writes waited for room, %.1f ms on average\n",
		       100 * ratio(r->land.waited, r->land.landed),
		       r->land.wait_ns / 1e6 / r->land.waited);
}

void sim_report_text(const struct sim_config *cfg, const struct sim_result *r)
{
	char a[SIZE_TEXT], b[SIZE_TEXT], c[SIZE_TEXT], d[SIZE_TEXT], reserve[SIZE_TEXT];
	char half_life[CELL];
	u64 extent = cfg->extent_bytes;

	printf("%s fast, %s slow, %u extents of %s; %s of the fast member for data, %s reserve\n",
	       fus_size_text(a, cfg->size[FUSION_FAST]), fus_size_text(b, cfg->size[FUSION_SLOW]),
	       r->nr_lexts, fus_size_text(c, extent), fus_size_text(d, r->usable * extent),
	       fus_size_text(reserve, r->reserve * extent));
	if (cfg->trace)
		printf("%" PRIu64 " requests of %s%s\n", (uint64_t)cfg->trace->nr,
		       cfg->trace->format, cfg->trace_depth ? ", not at its times" : "");
	print_phases(cfg, r);
	if (cfg->compare) {
		puts("");
		print_rates(r);
		puts("");
	}
	printf("moves    %" PRIu64 " promoted, %" PRIu64 " demoted, %" PRIu64 " of them without a "
	       "copy, %" PRIu64 " cancelled\n", (uint64_t)r->promotions, (uint64_t)r->demotions,
	       (uint64_t)r->demotions_free, (uint64_t)r->cancelled);
	time_text(half_life, r->half_life * SIM_S);
	printf("wasted   %.2f%% of promotions (%" PRIu64 " left with fewer than %u hits)\n",
	       100 * ratio(r->wasted, r->promotions), (uint64_t)r->wasted, SIM_REPAID);
	printf("resting  %.2f%% of promotions (%" PRIu64 " have been there for a half-life, %s, "
	       "with as few)\n", 100 * ratio(r->resting, r->promotions), (uint64_t)r->resting,
	       half_life);
	printf("again    %.2f%% of promotions were of what had been demoted within the hour\n",
	       100 * ratio(r->again, r->promotions));
	printf("wear     %s written to the fast member by moves: %.1f%% of it to converge, then "
	       "%.2f%% an hour\n", fus_size_text(a, r->copied_fast * extent),
	       100 * ratio(copied_first(r), r->nr_fast), 100 * copied_later(r));
	printf("slow     busy %.1f%% of the time\n", 100 * r->hdd_busy);
	print_landing(cfg, r);
	print_models(cfg);
}

/* -- for programs -------------------------------------------------------------------- */

static void add_double(struct json_object *o, const char *key, double v)
{
	json_object_object_add(o, key, json_object_new_double(v));
}

static void add_time(struct json_object *o, const char *key, u64 ns)
{
	json_object_object_add(o, key, ns == SIM_NEVER ? NULL : json_object_new_double(ns / 1e9));
}

static struct json_object *rate_json(const struct sim_rate *rate)
{
	struct json_object *o = json_object_new_object();

	add_double(o, "iops", rate->iops);
	add_double(o, "bytes_per_second", rate->bytes);
	add_double(o, "latency_seconds", rate->latency);
	return o;
}

static struct json_object *loads_json(const struct sim_config *cfg, const struct sim_phase *p)
{
	struct json_object *list = json_object_new_array(), *o;

	for (unsigned int i = 0; i < (cfg->trace ? 1 : cfg->nr_loads); i++) {
		o = json_object_new_object();
		fus_json_add_str(o, "load", load_name(cfg, i));
		fus_json_add_u64(o, "ios", p->sum.load_ios[i]);
		fus_json_add_u64(o, "hits", p->sum.load_hits[i]);
		add_double(o, "end_hit_ratio", ratio(p->tail.load_hits[i], p->tail.load_ios[i]));
		add_double(o, "oracle", p->load_oracle[i]);
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *phase_json(const struct sim_config *cfg, const struct sim_phase *p)
{
	struct json_object *o = json_object_new_object();

	add_time(o, "start", p->start);
	add_time(o, "end", p->end);
	fus_json_add_u64(o, "ios", p->sum.ios);
	add_double(o, "hit_ratio", sim_hit_ratio(&p->sum));
	add_double(o, "end_hit_ratio", sim_hit_ratio(&p->tail));
	add_double(o, "oracle", p->oracle);
	add_double(o, "unmoved_hit_ratio", ratio(p->sum.unmoved_hits, p->sum.ios));
	add_time(o, "converged_after", p->converged);
	fus_json_add_u64(o, "promotions", p->sum.promotions);
	fus_json_add_u64(o, "demotions", p->sum.demotions);
	json_object_object_add(o, "loads", loads_json(cfg, p));
	return o;
}

static struct json_object *models_json(const struct sim_config *cfg)
{
	struct json_object *o = json_object_new_object();
	const char *key;
	u32 v;

	for (unsigned int i = 0; (key = sim_disk_get(&cfg->disk, i, &v)); i++)
		fus_json_add_u64(o, key, v);
	return o;
}

static struct json_object *points_json(const struct sim_result *r)
{
	struct json_object *list = json_object_new_array(), *o;

	for (u32 i = 0; i < r->nr_points; i++) {
		const struct sim_point *p = &r->point[i];

		o = json_object_new_object();
		add_time(o, "at", p->at);
		fus_json_add_u64(o, "ios", p->ios);
		fus_json_add_u64(o, "hits", p->hits);
		fus_json_add_u64(o, "promotions", p->promotions);
		fus_json_add_u64(o, "demotions", p->demotions);
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *landing_json(const struct sim_config *cfg, const struct sim_result *r)
{
	struct json_object *o;

	if (!r->land.slots)
		return NULL;
	o = json_object_new_object();
	fus_json_add_u64(o, "bytes", (u64)r->land.slots * cfg->extent_bytes);
	fus_json_add_u64(o, "writes", r->land.landed);
	fus_json_add_u64(o, "reads", r->land.reads);
	fus_json_add_u64(o, "writes_delayed", r->land.waited);
	add_double(o, "delay_seconds", r->land.wait_ns / 1e9);
	fus_json_add_u64(o, "drained_bytes", r->land.drained * SIM_BLOCK);
	fus_json_add_u64(o, "copies_read", r->land.copy_reads);
	fus_json_add_u64(o, "copied_bytes", r->land.copied * SIM_BLOCK);
	return o;
}

void sim_report_json(const struct sim_config *cfg, const struct sim_result *r)
{
	struct json_object *o = fus_json_base(), *phases = json_object_new_array();
	struct json_object *rates = json_object_new_object();
	u64 extent = cfg->extent_bytes;

	fus_json_add_u64(o, "fast_bytes", cfg->size[FUSION_FAST]);
	fus_json_add_u64(o, "slow_bytes", cfg->size[FUSION_SLOW]);
	fus_json_add_u64(o, "extent_bytes", extent);
	fus_json_add_u64(o, "extents", r->nr_lexts);
	fus_json_add_u64(o, "fast_slots", r->nr_fast);
	fus_json_add_u64(o, "usable_slots", r->usable);
	fus_json_add_u64(o, "seed", cfg->seed);
	add_time(o, "seconds", r->end);
	fus_json_add_u64(o, "ios", r->total.ios);
	add_double(o, "hit_ratio", sim_hit_ratio(&r->total));
	add_double(o, "unmoved_hit_ratio", ratio(r->total.unmoved_hits, r->total.ios));
	fus_json_add_u64(o, "promotions", r->promotions);
	fus_json_add_u64(o, "demotions", r->demotions);
	fus_json_add_u64(o, "demotions_free", r->demotions_free);
	fus_json_add_u64(o, "cancelled", r->cancelled);
	fus_json_add_u64(o, "skipped", r->skipped);
	fus_json_add_u64(o, "wasted", r->wasted);
	fus_json_add_u64(o, "wasted_below_hits", SIM_REPAID);
	fus_json_add_u64(o, "resting", r->resting);
	fus_json_add_u64(o, "resting_seconds", r->half_life);
	fus_json_add_u64(o, "promoted_again_within_hour", r->again);
	fus_json_add_u64(o, "migration_bytes_to_fast", r->copied_fast * extent);
	fus_json_add_u64(o, "migration_bytes_to_converge", copied_first(r) * extent);
	add_double(o, "migration_share_of_fast_per_hour_later", copied_later(r));
	add_double(o, "slow_busy", r->hdd_busy);
	json_object_object_add(o, "landing_log", landing_json(cfg, r));
	json_object_object_add(o, "models", models_json(cfg));
	for (unsigned int i = 0; i < r->nr_phases; i++)
		json_object_array_add(phases, phase_json(cfg, &r->phase[i]));
	json_object_object_add(o, "phases", phases);
	json_object_object_add(rates, "fused", rate_json(&r->fused));
	if (cfg->compare) {
		json_object_object_add(rates, "migration_off", rate_json(&r->unmoved));
		json_object_object_add(rates, "slow_alone", rate_json(&r->alone[FUSION_SLOW]));
		json_object_object_add(rates, "fast_alone", rate_json(&r->alone[FUSION_FAST]));
	}
	json_object_object_add(o, "rates", rates);
	json_object_object_add(o, "points", points_json(r));
	print_json(o, false);
}
