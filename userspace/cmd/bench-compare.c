// SPDX-License-Identifier: GPL-2.0-only
/* Two results of bench: what differs, and whether that is more than their intervals allow. */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <libsmartcols/libsmartcols.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "error.h"
#include "fusionctl.h"
#include "json-field.h"
#include "new-file.h"
#include "role.h"
#include "size.h"
#include "table.h"

#define MOST_FILE	(16U << 20)

struct result {
	struct json_source source;
	struct json_object *o, *lines, *runs, *phases;
	bool reliable;
};

static bool is_profile(const char *name)
{
	for (int i = 0; name && i < NR_BENCH_PROFILES; i++)
		if (!strcmp(name, bench_profile_name[i]))
			return true;
	return false;
}

static int read_result(const char *path, struct result *r)
{
	char *text = fus_file_text(AT_FDCWD, path, MOST_FILE, NULL);
	struct json_object *reliable;
	const char *profile;
	int rc;

	*r = (struct result) { .source = { path, "use a file that fusionctl bench --json wrote" } };
	if (!text)
		return fus_fail(FC_FAILED, path, "cannot be read: %s; name a file that fusionctl "
				"bench --json wrote", strerror(errno));
	r->o = json_tokener_parse(text);
	free(text);
	profile = json_object_is_type(r->o, json_type_object) ? fus_field_text(r->o, "profile") :
		  NULL;
	if (!is_profile(profile))
		return fus_fail(FC_FAILED, path, "is no result of bench; name a file that "
				"fusionctl bench --json wrote");
	rc = fus_field_child(&r->source, r->o, "lines", json_type_array, &r->lines);
	if (!rc)
		rc = fus_field_child(&r->source, r->o, "runs", json_type_array, &r->runs);
	if (!rc)
		rc = fus_field_child(&r->source, r->o, "reliable", json_type_boolean, &reliable);
	/* of sustained, which is newer than the others */
	if (!rc && json_object_object_get_ex(r->o, "phases", &r->phases))
		rc = fus_field_child(&r->source, r->o, "phases", json_type_array, &r->phases);
	if (!rc)
		r->reliable = json_object_get_boolean(reliable);
	return rc;
}

/* A value that is no number counts as unknown. */
static double number(struct json_object *o, const char *key)
{
	struct json_object *field;

	if (!json_object_object_get_ex(o, key, &field) ||
	    (!json_object_is_type(field, json_type_double) &&
	     !json_object_is_type(field, json_type_int)))
		return NAN;
	return json_object_get_double(field);
}

/* The value may lie outside of its bounds, as the rate of a phase does if few intervals make it. */
static bool get_spread(struct json_object *o, const char *key, struct theil_value *v)
{
	char bound[48];

	v->is = number(o, key);
	snprintf(bound, sizeof(bound), "%s_low", key);
	v->low = number(o, bound);
	snprintf(bound, sizeof(bound), "%s_high", key);
	v->high = number(o, bound);
	/* a rate without an upper bound */
	if (isnan(v->high))
		v->high = INFINITY;
	return v->is > 0 && v->low <= v->high;
}

static bool get_value(struct json_object *o, const char *key, struct theil_value *v)
{
	return get_spread(o, key, v) && v->low <= v->is && v->is <= v->high;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* The one of a list in which @key is this, and the member, if any, that one. */
static struct json_object *find(struct json_object *list, const char *key, const char *value,
				const char *member)
{
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *o = json_object_array_get_idx(list, i);

		if (json_object_is_type(o, json_type_object) &&
		    same_text(fus_field_text(o, key), value) &&
		    same_text(fus_field_text(o, "member"), member))
			return o;
	}
	return NULL;
}

/* What B is, by values with their intervals; @more is what a larger one is. */
static void judge(const struct theil_value *a, const struct theil_value *b, bool once,
		  const char *more, const char *less, char verdict[64])
{
	double ratio = b->is / a->is;

	/* then there is no interval */
	if (once && ratio != 1)
		snprintf(verdict, 64, "%s, if that is not chance", ratio > 1 ? more : less);
	else if (b->low <= a->high && a->low <= b->high)
		snprintf(verdict, 64, "no difference shown");
	else if (ratio > 1)
		snprintf(verdict, 64, "%s by %.1f %%", more, 100 * (ratio - 1));
	else
		snprintf(verdict, 64, "%s by %.1f %%", less, 100 * (1 - ratio));
}

static char *ms_text(char buf[BENCH_TEXT], double ms)
{
	return bench_time_text(buf, ms / 1e3);
}

static char *bytes_text(char buf[BENCH_TEXT], double bytes)
{
	return fus_size_text(buf, bytes);
}

/* What is compared, and what more of it is. */
struct figure {
	const char *what, *more, *less;
	char *(*text)(char buf[BENCH_TEXT], double v);
};

static const struct figure rate = { "rate", "faster", "slower", bench_rate_text };
static const struct figure latency = { "latency", "longer", "shorter", ms_text };
static const struct figure until = { "written", "later", "earlier", bytes_text };

static void add_row(struct libscols_table *tb, const char *name, const struct figure *f,
		    const struct theil_value v[2], bool once)
{
	char text[2][BENCH_TEXT], ratio[16], verdict[64];

	for (int i = 0; i < 2; i++)
		f->text(text[i], v[i].is);
	snprintf(ratio, sizeof(ratio), "%.3f", v[1].is / v[0].is);
	judge(&v[0], &v[1], once, f->more, f->less, verdict);
	table_row(tb, (const char *const []) { name, f->what, text[0], text[1], ratio, verdict });
}

static unsigned int add_rows(struct libscols_table *tb, const struct result r[2], int dir,
			     const char *member)
{
	struct json_object *line[2];
	struct theil_value v[2];
	unsigned int rows = 0;
	char name[32];

	for (int i = 0; i < 2; i++) {
		line[i] = find(r[i].lines, "direction", bench_direction_name[dir], member);
		if (!line[i])
			return 0;
	}
	snprintf(name, sizeof(name), "%s%s%s", bench_direction_name[dir], member ? ", " : "",
		 member ? member : "");
	if (get_value(line[0], "bytes_per_second", &v[0]) &&
	    get_value(line[1], "bytes_per_second", &v[1])) {
		add_row(tb, name, &rate, v, false);
		rows++;
	}
	if (get_value(line[0], "latency_ms", &v[0]) && get_value(line[1], "latency_ms", &v[1])) {
		add_row(tb, name, &latency, v, false);
		rows++;
	}
	return rows;
}

/* Rows for what both lists have, by the name that @key is; @get: their rates. */
static unsigned int add_named(struct libscols_table *tb, struct json_object *const list[2],
			      const char *key, typeof(get_value) *get)
{
	unsigned int rows = 0;

	for (size_t i = 0; list[0] && list[1] && i < json_object_array_length(list[0]); i++) {
		struct json_object *a = json_object_array_get_idx(list[0], i), *b;
		const char *name = json_object_is_type(a, json_type_object) ?
				   fus_field_text(a, key) : NULL;
		struct theil_value v[2];
		bool once;

		b = name ? find(list[1], key, name, NULL) : NULL;
		if (!b || !get(a, "bytes_per_second", &v[0]) ||
		    !get(b, "bytes_per_second", &v[1]))
			continue;
		once = number(a, "times") == 1 || number(b, "times") == 1;
		add_row(tb, name, &rate, v, once);
		rows++;
	}
	return rows;
}

/* So much was written before the rate fell for good, to the interval. Return: whether it did. */
static bool find_fall(const struct result *r, struct theil_value *v)
{
	struct json_object *before = r->phases ? find(r->phases, "phase", "before", NULL) : NULL;
	double one;

	if (!before)
		return false;
	v->is = number(before, "bytes");
	one = v->is / number(before, "intervals");
	v->low = v->is - one;
	v->high = v->is + one;
	return v->is > 0 && isfinite(one);
}

static unsigned int add_fall(struct libscols_table *tb, const struct result r[2])
{
	struct theil_value v[2];

	if (!find_fall(&r[0], &v[0]) || !find_fall(&r[1], &v[1]))
		return 0;
	add_row(tb, "before", &until, v, false);
	return 1;
}

/* The rates of all may be alike then. */
static void print_only_fall(const struct result r[2])
{
	struct theil_value v[2];
	const bool falls[] = { find_fall(&r[0], &v[0]), find_fall(&r[1], &v[1]) };
	char size[SIZE_TEXT];

	if (r[0].phases && r[1].phases && falls[0] != falls[1])
		printf("only %s falls for good, after %s\n", falls[0] ? "A" : "B",
		       fus_size_text(size, v[falls[1]].is));
}

static int compare(const struct result r[2])
{
	struct libscols_table *tb = table_new((const char *const []) {
		"", "", ">A", ">B", ">B / A", "B IS", NULL });
	const char *const members[] = { NULL, fus_role_name[FAST], fus_role_name[SLOW] };
	unsigned int rows = 0;
	int rc = 0;

	/* one of these is empty */
	for (int i = 0; i < 6; i++)
		rows += add_rows(tb, r, i / 3, members[i % 3]);
	rows += add_named(tb, (struct json_object *const []) { r[0].runs, r[1].runs }, "load",
			  get_value);
	rows += add_named(tb, (struct json_object *const []) { r[0].phases, r[1].phases },
			  "phase", get_spread);
	rows += add_fall(tb, r);
	if (!rows) {
		scols_unref_table(tb);
		return fus_fail(FC_FAILED, r[1].source.path, "has no figure in common with %s; "
				"measure both in the same way", r[0].source.path);
	}
	table_print(tb);
	print_only_fall(r);
	for (int i = 0; i < 2; i++) {
		if (r[i].reliable)
			continue;
		printf("not reliable: the figures of %s, by its doubts\n", r[i].source.path);
		rc = FC_DOUBTFUL;
	}
	return rc;
}

int bench_compare(const char *a, const char *b)
{
	struct result r[2] = { 0 };
	int rc;

	rc = read_result(a, &r[0]);
	if (!rc)
		rc = read_result(b, &r[1]);
	if (!rc)
		rc = compare(r);
	json_object_put(r[0].o);
	json_object_put(r[1].o);
	return rc;
}
