// SPDX-License-Identifier: GPL-2.0-only
/* Verb explain: extents counted by their verdict. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "error.h"
#include "fusionctl.h"
#include "json.h"
#include "role.h"
#include "size.h"
#include "table.h"
#include "text.h"

/* Extents with the same verdict. */
struct explain_group {
	enum explain_verdict verdict;
	int member;
	unsigned int waits;
	uint64_t extents, heat, file_bytes;
};

static struct explain_group *group_of(struct explain_summary *s, const struct explain_extent *e,
				      const struct explain_answer *a)
{
	struct explain_group *g;

	for (unsigned int i = 0; i < s->nr; i++) {
		g = &s->group[i];
		if (g->verdict == a->verdict && g->member == e->member && g->waits == a->waits)
			return g;
	}
	g = realloc(s->group, (s->nr + 1) * sizeof(*g));
	if (!g)
		return NULL;
	s->group = g;
	g = &g[s->nr++];
	*g = (struct explain_group) {
		.verdict = a->verdict, .member = e->member, .waits = a->waits
	};
	return g;
}

int explain_count(struct explain_summary *s, const struct explain_extent *e,
		  const struct explain_answer *a, uint64_t file_bytes)
{
	struct explain_group *g = group_of(s, e, a);

	if (!g)
		return fus_fail(FC_FAILED, "memory", "not enough to count extents; close programs "
				"and try again");
	g->extents++;
	g->heat += e->heat;
	g->file_bytes += file_bytes;
	return 0;
}

void explain_summary_free(struct explain_summary *s)
{
	free(s->group);
}

/* The largest group comes first. */
static int compare(const void *p, const void *q)
{
	const struct explain_group *a = p, *b = q;

	if (a->extents != b->extents)
		return a->extents > b->extents ? -1 : 1;
	if (a->verdict != b->verdict)
		return a->verdict < b->verdict ? -1 : 1;
	return a->member != b->member ? a->member - b->member : (int)a->waits - (int)b->waits;
}

static void sort(struct explain_summary *s)
{
	if (s->nr)
		qsort(s->group, s->nr, sizeof(*s->group), compare);
}

/* "migration, idle" */
static void waits_text(char *buf, size_t size, unsigned int waits)
{
	size_t n = 0;

	*buf = '\0';
	for (int i = 0; i < NR_WAITS && n < size; i++)
		if (waits >> i & 1)
			n += snprintf(buf + n, size - n, "%s%s", n ? ", " : "",
				      explain_wait_name[i]);
}

void explain_print_summary(const struct explain_file *f, struct explain_summary *s)
{
	static const char *const headings[] = {
		"VERDICT", "MEMBER", ">EXTENTS", ">OF THE FILE", ">HEAT", "WAITS FOR", NULL
	};
	struct libscols_table *tb;
	char path[4 * 4096], extents[24], size[SIZE_TEXT], heat[32], waits[128];

	fus_safe_text(path, sizeof(path), f->path, SIZE_MAX, fus_utf8_output());
	printf("file %s: %s on the set, in %" PRIu64 " extent%s\n", path,
	       fus_size_text(size, f->bytes), f->nr, f->nr == 1 ? "" : "s");
	if (!s->nr)
		return;
	sort(s);
	tb = table_new(headings);
	for (unsigned int i = 0; i < s->nr; i++) {
		const struct explain_group *g = &s->group[i];

		snprintf(extents, sizeof(extents), "%" PRIu64, g->extents);
		snprintf(heat, sizeof(heat), "%.1f", (double)g->heat / g->extents);
		waits_text(waits, sizeof(waits), g->waits);
		table_row(tb, (const char *[]) {
			explain_verdict_name[g->verdict],
			g->member < 0 ? "-" : fus_role_name[g->member], extents,
			fus_size_text(size, g->file_bytes), heat, waits,
		});
	}
	table_print(tb);
}

struct json_object *explain_file_json(const struct explain_file *f)
{
	struct json_object *o;

	if (!f)
		return NULL;
	o = json_object_new_object();
	fus_json_add_str(o, "path", f->path);
	fus_json_add_u64(o, "set_bytes", f->bytes);
	fus_json_add_u64(o, "extents", f->nr);
	return o;
}

struct json_object *explain_summary_json(const struct explain_set *set, struct explain_summary *s)
{
	struct json_object *array = json_object_new_array();

	sort(s);
	for (unsigned int i = 0; i < s->nr; i++) {
		const struct explain_group *g = &s->group[i];
		struct json_object *o = json_object_new_object();

		fus_json_add_str(o, "verdict", explain_verdict_name[g->verdict]);
		fus_json_add_str(o, "member", g->member < 0 ? NULL : fus_role_name[g->member]);
		json_object_object_add(o, "waits_for", explain_waits_json(g->waits));
		fus_json_add_u64(o, "extents", g->extents);
		if (set->file)
			fus_json_add_u64(o, "file_bytes", g->file_bytes);
		else
			json_object_object_add(o, "file_bytes", NULL);
		json_object_object_add(o, "heat", json_object_new_double((double)g->heat /
									 g->extents));
		json_object_array_add(array, o);
	}
	return array;
}
