// SPDX-License-Identifier: GPL-2.0-only
/* The result of bench as JSON. */
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "bench.h"
#include "fusionctl.h"
#include "json.h"
#include "output.h"
#include "role.h"

static void add_double(struct json_object *o, const char *key, double v, bool known)
{
	json_object_object_add(o, key, known && isfinite(v) ? json_object_new_double(v) : NULL);
}

static struct json_object *line_json(const struct bench_line *line)
{
	struct json_object *o = json_object_new_object();

	fus_json_add_str(o, "direction", bench_direction_name[line->dir]);
	fus_json_add_str(o, "member", line->member < 0 ? NULL : fus_role_name[line->member]);
	fus_json_add_u64(o, "transfers", line->nr);
	add_double(o, "bytes_per_second", line->rate.is, line->known);
	add_double(o, "bytes_per_second_low", line->rate.low, line->known);
	add_double(o, "bytes_per_second_high", line->rate.high, line->known && line->rate.high);
	add_double(o, "latency_ms", 1e3 * line->latency.is, line->known);
	add_double(o, "latency_ms_low", 1e3 * line->latency.low, line->known);
	add_double(o, "latency_ms_high", 1e3 * line->latency.high, line->known);
	fus_json_add_u64(o, "outliers", line->outliers);
	add_double(o, "slowest_seconds", line->slowest, line->slowest > 0);
	add_double(o, "fast_share", line->fast_share, line->fast_share >= 0);
	return o;
}

static struct json_object *lines_json(const struct bench *b)
{
	struct json_object *list = json_object_new_array();

	for (int i = 0; i < BENCH_LINES; i++)
		if (b->line[i].nr)
			json_object_array_add(list, line_json(&b->line[i]));
	return list;
}

static struct json_object *transfers_json(const struct bench *b)
{
	struct json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < b->nr; i++) {
		const struct bench_transfer *t = &b->transfer[i];
		struct json_object *o = json_object_new_object();

		fus_json_add_str(o, "direction", bench_direction_name[t->dir]);
		if (b->device)
			fus_json_add_u64(o, "offset_bytes", t->at);
		else
			json_object_object_add(o, "offset_bytes", NULL);
		fus_json_add_u64(o, "bytes", t->bytes);
		add_double(o, "seconds", t->seconds, true);
		add_double(o, "fast_share", t->fast_share, t->fast_share >= 0);
		fus_json_add_bool(o, "outlier", t->outlier);
		json_object_array_add(list, o);
	}
	return list;
}

static void add_value(struct json_object *o, const char *key, const struct bench_run *r,
		      enum bench_value what, double unit, bool known)
{
	const struct theil_value v = bench_run_value(r, what);
	char name[64];

	add_double(o, key, v.is * unit, known);
	snprintf(name, sizeof(name), "%s_low", key);
	add_double(o, name, v.low * unit, known);
	snprintf(name, sizeof(name), "%s_high", key);
	add_double(o, name, v.high * unit, known);
}

static struct json_object *run_json(const struct bench_run *r)
{
	const bool reads = bench_run_has(r, BENCH_READ), writes = bench_run_has(r, BENCH_WRITE);
	const double share = bench_run_value(r, BENCH_FAST_SHARE).is;
	struct json_object *o = json_object_new_object();

	fus_json_add_str(o, "load", r->load.name);
	if (r->load.shape.block)
		fus_json_add_u64(o, "block_bytes", r->load.shape.block);
	else
		json_object_object_add(o, "block_bytes", NULL);
	fus_json_add_u64(o, "in_flight", r->load.shape.depth);
	fus_json_add_u64(o, "read_percent", r->load.shape.read_percent);
	add_double(o, "fullness", r->full, r->load.percent);
	fus_json_add_u64(o, "times", r->nr);
	add_value(o, "bytes_per_second", r, BENCH_RATE, 1, true);
	add_value(o, "ios_per_second", r, BENCH_IOS, 1, true);
	add_value(o, "read_ms", r, BENCH_READ_MEAN, 1e3, reads);
	add_value(o, "read_99_ms", r, BENCH_READ_P99, 1e3, reads);
	add_value(o, "write_ms", r, BENCH_WRITE_MEAN, 1e3, writes);
	add_value(o, "write_99_ms", r, BENCH_WRITE_P99, 1e3, writes);
	add_double(o, "fast_share", share, share >= 0);
	return o;
}

static struct json_object *runs_json(const struct bench *b)
{
	struct json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < b->nr_runs; i++)
		json_object_array_add(list, run_json(&b->run[i]));
	return list;
}

static struct json_object *intervals_json(const struct bench *b)
{
	struct json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < b->series.nr; i++) {
		const struct bench_phase v = bench_phase_of(&b->series, NULL, i, 1);
		struct json_object *o = json_object_new_object();

		add_double(o, "seconds", v.seconds, true);
		fus_json_add_u64(o, "bytes", v.bytes);
		add_double(o, "bytes_per_second", v.rate.is, true);
		add_double(o, "fast_share", v.fast_share, v.fast_share >= 0);
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *phases_json(const struct bench *b)
{
	struct json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < b->series.nr_phases; i++) {
		const struct bench_phase *p = &b->series.phase[i];
		struct json_object *o = json_object_new_object();

		fus_json_add_str(o, "phase", p->name);
		fus_json_add_u64(o, "intervals", p->nr);
		add_double(o, "seconds", p->seconds, true);
		fus_json_add_u64(o, "bytes", p->bytes);
		add_double(o, "bytes_per_second", p->rate.is, true);
		add_double(o, "bytes_per_second_low", p->rate.low, true);
		add_double(o, "bytes_per_second_high", p->rate.high, true);
		add_double(o, "fast_share", p->fast_share, p->fast_share >= 0);
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *watched_json(const struct bench *b)
{
	const struct bench_facts *f = &b->facts;
	struct json_object *o = json_object_new_object();

	fus_json_add_u64(o, "read_bytes", f->asked[BENCH_READ]);
	fus_json_add_u64(o, "written_bytes", f->asked[BENCH_WRITE]);
	fus_json_add_bool(o, "disks", f->has_disk);
	fus_json_add_u64(o, "disk_read_bytes", f->disk[BENCH_READ]);
	fus_json_add_u64(o, "disk_written_bytes", f->disk[BENCH_WRITE]);
	fus_json_add_u64(o, "other_read_bytes", f->other[BENCH_READ]);
	fus_json_add_u64(o, "other_written_bytes", f->other[BENCH_WRITE]);
	add_double(o, "idle_ios_per_second", f->idle_ios / f->idle_seconds, f->idle_seconds > 0);
	add_double(o, "idle_busy", f->idle_busy, true);
	fus_json_add_u64(o, "blocks_sampled", f->sampled);
	fus_json_add_u64(o, "blocks_zero", f->zeros);
	fus_json_add_u64(o, "extents_moved", f->moved);
	fus_json_add_u64(o, "between_bytes", f->between);
	add_double(o, "second_read_speedup", f->again, f->again > 0);
	add_double(o, "zeros_speedup", f->compressible, f->compressible > 0);
	add_double(o, "zeros_on_disk", f->zeros_written, f->compressible > 0 && f->has_disk);
	return o;
}

static struct json_object *doubts_json(const struct bench *b, bool *reliable)
{
	struct json_object *list = json_object_new_array();

	*reliable = true;
	for (int i = 0; i < NR_BENCH_DOUBTS; i++) {
		struct json_object *o;

		if (!*b->doubt[i])
			continue;
		o = json_object_new_object();
		fus_json_add_str(o, "kind", bench_doubt_name[i]);
		fus_json_add_str(o, "text", b->doubt[i]);
		json_object_array_add(list, o);
		*reliable = false;
	}
	return list;
}

void bench_json(const struct bench *b)
{
	struct json_object *o = fus_json_base(), *doubts;
	struct utsname host = { 0 };
	bool reliable;

	uname(&host);
	doubts = doubts_json(b, &reliable);
	fus_json_add_str(o, "profile", bench_profile_name[b->profile]);
	fus_json_add_str(o, "target", b->target);
	fus_json_add_bool(o, "device", b->device);
	fus_json_add_bool(o, "write", b->write);
	fus_json_add_bool(o, "quick", b->quick);
	fus_json_add_u64(o, "max_bytes", b->plan.most);
	fus_json_add_u64(o, "seed", b->seed);
	fus_json_add_str(o, "file_system", *b->type ? b->type : NULL);
	fus_json_add_str(o, "name", *b->set ? b->set : NULL);
	fus_json_add_str(o, "fio", b->fio);
	fus_json_add_str(o, "kernel", host.release);
	fus_json_add_u64(o, "time", b->began);
	fus_json_add_bool(o, "reliable", reliable);
	json_object_object_add(o, "doubts", doubts);
	json_object_object_add(o, "lines", lines_json(b));
	json_object_object_add(o, "runs", runs_json(b));
	json_object_object_add(o, "phases", phases_json(b));
	json_object_object_add(o, "intervals", intervals_json(b));
	json_object_object_add(o, "watched", watched_json(b));
	json_object_object_add(o, "transfers", transfers_json(b));
	print_json(o, false);
}
