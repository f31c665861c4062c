// SPDX-License-Identifier: GPL-2.0-only
/* What verb where prints: a table, or JSON. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "where.h"
#include "error.h"
#include "fusionctl.h"
#include "json.h"
#include "output.h"
#include "role.h"
#include "size.h"
#include "table.h"
#include "text.h"

/* -- order ------------------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct where_row *)a)->path, ((const struct where_row *)b)->path);
}

static int greater(const void *a, const void *b, double x, double y)
{
	return x > y ? -1 : x < y ? 1 : by_name(a, b);
}

#define SUM(p)	(&((const struct where_row *)(p))->sum)

static int by_size(const void *a, const void *b)
{
	return greater(a, b, SUM(a)->bytes, SUM(b)->bytes);
}

static int by_fast(const void *a, const void *b)
{
	return greater(a, b, SUM(a)->at[PLACE_FAST], SUM(b)->at[PLACE_FAST]);
}

static int by_slow(const void *a, const void *b)
{
	return greater(a, b, SUM(a)->at[PLACE_SLOW], SUM(b)->at[PLACE_SLOW]);
}

static int by_heat(const void *a, const void *b)
{
	return greater(a, b, tally_heat(SUM(a)), tally_heat(SUM(b)));
}

static const struct {
	const char *key, *means;
	int (*compare)(const void *a, const void *b);
} orders[] = {
	{ "name", "alphabetically", by_name },
	{ "size", "largest first", by_size },
	{ "fast", "most on the fast member first", by_fast },
	{ "slow", "most on the slow member first", by_slow },
	{ "heat", "hottest first", by_heat },
};

#define NR_ORDERS	(sizeof(orders) / sizeof(orders[0]))

const char *where_sort_key(size_t i, const char **means)
{
	if (i >= NR_ORDERS)
		return NULL;
	*means = orders[i].means;
	return orders[i].key;
}

int where_sort(struct where *w, const char *key)
{
	for (size_t i = 0; i < NR_ORDERS; i++) {
		if (strcmp(key, orders[i].key))
			continue;
		if (w->nr)
			qsort(w->row, w->nr, sizeof(*w->row), orders[i].compare);
		return 0;
	}
	return fus_fail(FC_USAGE, key, "nothing to sort by; give name, size, fast, slow or heat");
}

/* -- for people ------------------------------------------------------------------------------- */

static uint64_t on_set(const struct tally *t)
{
	return t->at[PLACE_FAST] + t->at[PLACE_SLOW];
}

/* What is on neither member. */
static uint64_t others(const struct tally *t)
{
	return t->at[PLACE_UNMAPPED] + t->at[PLACE_LOST] + t->elsewhere + t->inlined + t->pending +
	       t->unknown;
}

/* "37 %"; 0 and 100 mean nothing and all. */
static void share_text(char buf[16], const struct tally *t)
{
	double share = on_set(t) ? 100.0 * t->at[PLACE_FAST] / on_set(t) : 0;
	unsigned int whole = share + 0.5;

	if (!on_set(t)) {
		snprintf(buf, 16, "-");
		return;
	}
	if (!whole && t->at[PLACE_FAST])
		snprintf(buf, 16, "<1 %%");
	else if (whole == 100 && t->at[PLACE_SLOW])
		snprintf(buf, 16, ">99 %%");
	else
		snprintf(buf, 16, "%u %%", whole);
}

/* The member that it is pinned to, and how much of it if not all is. */
static void pin_text(char buf[64], const struct tally *t)
{
	const uint64_t all = on_set(t) + t->at[PLACE_UNMAPPED] + t->at[PLACE_LOST];
	char size[SIZE_TEXT];
	size_t n = 0;

	snprintf(buf, 64, "-");
	for (int i = 0; i < 2; i++) {
		if (!t->pinned[i])
			continue;
		n += snprintf(buf + n, 64 - n, "%s%s", n ? ", " : "", fus_role_name[i]);
		if (t->pinned[i] < all)
			n += snprintf(buf + n, 64 - n, " %s", fus_size_text(size, t->pinned[i]));
	}
}

/* Columns that are there only if there is something to say. */
struct extra {
	bool logged, pin;
};

static void print_row(struct libscols_table *tb, const struct where_row *r, struct extra extra)
{
	const struct tally *t = &r->sum;
	char size[SIZE_TEXT], fast[SIZE_TEXT], slow[SIZE_TEXT], holes[SIZE_TEXT], other[SIZE_TEXT];
	char share[16], heat[32], logged[SIZE_TEXT], pin[64], path[4 * 4096];
	const char *cells[10] = {
		path, size, fast, slow, share, holes, other, on_set(t) ? heat : "-",
	};
	int n = 8;

	fus_path_text(path, sizeof(path), r->path, r->directory);
	share_text(share, t);
	pin_text(pin, t);
	snprintf(heat, sizeof(heat), "%.1f", tally_heat(t));
	fus_size_text(size, t->bytes);
	fus_size_text(fast, t->at[PLACE_FAST]);
	fus_size_text(slow, t->at[PLACE_SLOW]);
	fus_size_text(holes, t->holes);
	fus_size_text(other, others(t));
	if (extra.logged)
		cells[n++] = fus_size_text(logged, t->logged);
	if (extra.pin)
		cells[n++] = pin;
	table_row(tb, cells);
}

void where_table(const struct where *w)
{
	const char *headings[11] = {
		"FILE", ">SIZE", ">FAST", ">SLOW", ">ON FAST", ">HOLES", ">OTHER", ">HEAT",
	};
	struct extra extra = { false, false };
	struct libscols_table *tb;
	int n = 8;

	for (size_t i = 0; i < w->nr; i++) {
		extra.logged |= w->row[i].sum.logged;
		extra.pin |= w->row[i].sum.pinned[FAST] || w->row[i].sum.pinned[SLOW];
	}
	if (extra.logged)
		headings[n++] = ">IN LOG";
	if (extra.pin)
		headings[n++] = "PIN";
	tb = table_new(headings);
	for (size_t i = 0; i < w->nr; i++)
		print_row(tb, &w->row[i], extra);
	table_print(tb);
}

/* -- for programs ----------------------------------------------------------------------------- */

static struct json_object *row_json(const struct where_row *r)
{
	struct json_object *o = json_object_new_object();
	const struct tally *t = &r->sum;

	fus_json_add_str(o, "path", r->path);
	fus_json_add_bool(o, "directory", r->directory);
	fus_json_add_str(o, "set", fus_below_set(r->volume->below));
	fus_json_add_str(o, "file_system", r->volume->fs.type);
	fus_json_add_u64(o, "files", t->files);
	fus_json_add_u64(o, "bytes", t->bytes);
	fus_json_add_u64(o, "fast_bytes", t->at[PLACE_FAST]);
	fus_json_add_u64(o, "slow_bytes", t->at[PLACE_SLOW]);
	fus_json_add_u64(o, "logged_bytes", t->logged);
	fus_json_add_u64(o, "unmapped_bytes", t->at[PLACE_UNMAPPED]);
	fus_json_add_u64(o, "lost_bytes", t->at[PLACE_LOST]);
	fus_json_add_u64(o, "pinned_fast_bytes", t->pinned[FAST]);
	fus_json_add_u64(o, "pinned_slow_bytes", t->pinned[SLOW]);
	fus_json_add_u64(o, "elsewhere_bytes", t->elsewhere);
	fus_json_add_u64(o, "hole_bytes", t->holes);
	fus_json_add_u64(o, "inline_bytes", t->inlined);
	fus_json_add_u64(o, "pending_bytes", t->pending);
	fus_json_add_u64(o, "unknown_bytes", t->unknown);
	fus_json_add_u64(o, "shared_bytes", t->shared);
	json_object_object_add(o, "heat", json_object_new_double(tally_heat(t)));
	return o;
}

void where_json(const struct where *w)
{
	struct json_object *o = fus_json_base(), *rows = json_object_new_array();

	for (size_t i = 0; i < w->nr; i++)
		json_object_array_add(rows, row_json(&w->row[i]));
	json_object_object_add(o, "files", rows);
	fus_json_add_u64(o, "unread", w->unread);
	print_json(o, false);
}
