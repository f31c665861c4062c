// SPDX-License-Identifier: GPL-2.0-only
/* Verb simulate: predict how the module's policy would treat a load. */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "new-set.h"
#include "output.h"
#include "scan.h"
#include "setting.h"
#include "sim.h"
#include "size.h"
#include "verb.h"

/* @bytes is that of a set that was named, or 0. */
static int get_size(const struct args *a, enum option_id id, const char *name, u64 *bytes)
{
	uint64_t size;

	if (!a->opt[id] && *bytes)
		return 0;
	if (!a->opt[id])
		return fus_fail(FC_USAGE, "simulate", "--%s is missing; give the size of that "
				"member, as in --%s 1T, or name a set", name, name);
	if (!fus_parse_size(a->opt[id], &size) || size < 1 << 20 || size > 1ULL << 52)
		return fus_fail(FC_USAGE, a->opt[id], "not a size for --%s; give 1M to 4P", name);
	*bytes = size;
	return 0;
}

static int get_number(const struct args *a, enum option_id id, const char *name, uint64_t min,
		      uint64_t max, uint64_t *v)
{
	if (!a->opt[id])
		return 0;
	if (!fus_parse_number(a->opt[id], max, v) || *v < min)
		return fus_fail(FC_USAGE, a->opt[id], "not a number for --%s; give %" PRIu64 " to %"
				PRIu64, name, min, max);
	return 0;
}

/* Settings that change something, and where their numbers go. */
static const struct {
	const char *key;
	size_t offset;
} settings[] = {
	{ "migration", 0 },
	{ "reserve", offsetof(struct sim_config, reserve) },
	{ "half_life", offsetof(struct sim_config, half_life) },
	{ "duty", offsetof(struct sim_config, duty) },
	{ "idle", offsetof(struct sim_config, idle_ms) },
	{ "shadow", offsetof(struct sim_config, shadow) },
};

#define NR_SETTINGS	(sizeof(settings) / sizeof(settings[0]))

bool simulates_setting(const char *key)
{
	for (size_t i = 0; i < NR_SETTINGS; i++)
		if (!strcmp(settings[i].key, key))
			return true;
	return false;
}

static void set_number(struct sim_config *cfg, enum fusion_setting which, u32 value)
{
	if (which == FUSION_SET_MIGRATION)
		cfg->migration = value;
	for (size_t i = 0; i < NR_SETTINGS; i++)
		if (settings[i].offset && !strcmp(settings[i].key, fusion_settings[which].key))
			*(u32 *)((char *)cfg + settings[i].offset) = value;
}

/* A member of the set that has this name or is open under it; or the device itself. */
static int find_set(const char *word, struct member **list, struct member **m)
{
	struct mapping open = { 0 };
	int rc;

	if (strchr(word, '/')) {
		rc = fus_load_member(word, list);
		*m = *list;
		return rc;
	}
	rc = fus_valid_name(word) ? fus_dm_get(word, NULL, MAPPING_INFO, &open) : 0;
	if (!rc)
		rc = fus_scan_members(list);
	if (!rc)
		rc = fus_find_named(*list, fus_dm_is_set(&open) ? open.uuid + strlen(DM_PREFIX) :
				    word, m);
	return rc ?: fus_check_member(*m);
}

/*
 * The set that the word without "=" names, if there is one: its sizes, and the settings that it
 * keeps.
 */
static int use_set(const struct args *a, struct sim_config *cfg, u32 *extent_sectors)
{
	struct member *list = NULL, *m = NULL;
	const char *name = NULL;
	int rc;

	for (int i = 0; i < a->n; i++) {
		if (strchr(a->word[i], '='))
			continue;
		if (name)
			return fus_fail(FC_USAGE, a->word[i], "is one set too many; simulate %s "
					"alone", name);
		name = a->word[i];
	}
	if (!name)
		return 0;
	rc = find_set(name, &list, &m);
	if (!rc) {
		const struct fusion_sb *sb = m->sb;
		u32 value;

		cfg->size[sb->role] = sb->self_sectors << 9;
		cfg->size[!sb->role] = sb->peer_sectors << 9;
		*extent_sectors = sb->extent_sectors;
		cfg->landing_bytes = (u64)sb->landing_slots * sb->extent_sectors << 9;
		for (int i = 0; i < FUSION_SETTINGS; i++)
			if (fusion_sb_setting(sb, i, &value))
				set_number(cfg, i, value);
	}
	fus_free_members(list);
	return rc;
}

/* As fusionctl set takes it. */
static int set(struct sim_config *cfg, const char *word)
{
	const struct scale scale = {
		.nr_fast_slots = cfg->size[FAST] / cfg->extent_bytes,
		.extent_sectors = cfg->extent_bytes >> 9,
	};
	struct setting to;
	int rc;

	rc = fus_parse_setting(word, &scale, &to);
	if (rc)
		return rc;
	if (!simulates_setting(fusion_settings[to.which].key))
		return fus_fail(FC_USAGE, word, "has no effect here; choose migration, reserve, "
				"half_life, duty, idle or shadow");
	set_number(cfg, to.which, to.value);
	return 0;
}

static int get_many(const struct args *a, struct sim_config *cfg)
{
	int rc = 0;

	for (unsigned int i = 0; i < a->nr_many && !rc; i++) {
		const char *word = a->many[i].value;

		switch (a->many[i].id) {
		case OPT_SET:
			rc = set(cfg, word);
			break;
		case OPT_DISK:
			rc = sim_disk_set(&cfg->disk, word);
			break;
		default:
			if (cfg->nr_loads == SIM_MAX_LOADS)
				return fus_fail(FC_USAGE, word, "is one load too many; give at "
						"most %d", SIM_MAX_LOADS);
			rc = sim_parse_load(word, &cfg->load[cfg->nr_loads++]);
			break;
		}
	}
	/* a word without an option is another --set, or the set */
	for (int i = 0; i < a->n && !rc; i++)
		if (strchr(a->word[i], '='))
			rc = set(cfg, a->word[i]);
	return rc;
}

static int get_config(const struct args *a, struct sim_config *cfg)
{
	u32 extent_sectors = 0;
	uint64_t n;
	int rc;

	rc = use_set(a, cfg, &extent_sectors);
	if (!rc)
		rc = get_size(a, OPT_FAST_SIZE, "fast", &cfg->size[FAST]);
	if (!rc)
		rc = get_size(a, OPT_SLOW_SIZE, "slow", &cfg->size[SLOW]);
	if (!rc && (a->opt[OPT_EXTENT_SIZE] || !extent_sectors))
		rc = parse_extent_size(a->opt[OPT_EXTENT_SIZE], &extent_sectors);
	if (rc)
		return rc;
	if (!extent_sectors)
		extent_sectors = new_set_extent((cfg->size[FAST] + cfg->size[SLOW]) >> 9);
	cfg->extent_bytes = extent_sectors << 9;
	cfg->landing = a->opt[OPT_LANDING];
	rc = get_many(a, cfg);
	if (rc)
		return rc;
	n = cfg->fill;
	rc = get_number(a, OPT_FILL, "fill", 1, 100, &n);
	cfg->fill = n;
	n = cfg->seed;
	if (!rc)
		rc = get_number(a, OPT_SEED, "seed", 0, UINT32_MAX, &n);
	cfg->seed = n;
	n = 0;
	if (!rc)
		rc = get_number(a, OPT_QD, "qd", 1, SIM_MAX_DEPTH, &n);
	cfg->trace_depth = n;
	if (rc)
		return rc;
	if (a->opt[OPT_DURATION] && (!sim_parse_time(a->opt[OPT_DURATION], &cfg->duration) ||
				     cfg->duration < SIM_S))
		return fus_fail(FC_USAGE, a->opt[OPT_DURATION], "not a time for --duration; give "
				"1s to 366d");
	if (a->opt[OPT_TRACE] && cfg->nr_loads)
		return fus_fail(FC_USAGE, "simulate", "both --trace and --load; give one of them");
	if (!a->opt[OPT_TRACE] && !cfg->nr_loads)
		return fus_fail(FC_USAGE, "simulate", "no load; give --load zipf:1.0, another one, "
				"or --trace FILE");
	if (a->opt[OPT_JSON] && a->opt[OPT_SVG] && !strcmp(a->opt[OPT_SVG], "-"))
		return fus_fail(FC_USAGE, "--svg", "cannot share standard output with --json; give "
				"a file");
	if (!a->opt[OPT_TRACE] && a->opt[OPT_QD])
		return fus_fail(FC_USAGE, "--qd", "is for a trace; write it behind the load, as in "
				"--load uniform,qd=%s", a->opt[OPT_QD]);
	for (unsigned int i = 0; i < cfg->nr_loads; i++)
		if (cfg->load[i].bytes > cfg->extent_bytes)
			return fus_fail(FC_USAGE, cfg->load[i].name, "its I/Os are larger than an "
					"extent; give a smaller size=");
	return 0;
}

static int use_trace(const struct args *a, struct sim_config *cfg, struct sim_trace *trace)
{
	int rc = sim_trace_load(a->opt[OPT_TRACE], cfg->extent_bytes, trace);

	if (rc)
		return rc;
	cfg->trace = trace;
	if (!trace->timed && !cfg->trace_depth)
		cfg->trace_depth = 16;
	if (!a->opt[OPT_DURATION])
		cfg->duration = SIM_NEVER;
	return 0;
}

int cmd_simulate(const struct args *a)
{
	const char *svg = a->opt[OPT_SVG];
	struct sim_trace trace = { 0 };
	struct sim_result result;
	struct output out;
	struct sim_config cfg;
	int rc;

	sim_config_init(&cfg);
	rc = get_config(a, &cfg);
	if (!rc && a->opt[OPT_TRACE])
		rc = use_trace(a, &cfg, &trace);
	if (!rc && svg)
		rc = output_open(svg, &out);
	if (rc)
		goto out;
	cfg.progress = true;
	rc = sim_run(&cfg, &result);
	if (rc && svg) {
		output_cancel(&out);
	} else if (svg) {
		sim_report_svg(&cfg, &result, out.f);
		rc = output_close(&out);
	}
	if (!rc && a->opt[OPT_JSON])
		sim_report_json(&cfg, &result);
	else if (!rc && (!svg || strcmp(svg, "-")))
		sim_report_text(&cfg, &result);
	sim_result_free(&result);
out:
	sim_trace_free(&trace);
	return rc;
}
