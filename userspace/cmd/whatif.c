// SPDX-License-Identifier: GPL-2.0-only
/* Verb whatif: predict the effect of a fast member of another size. */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "whatif.h"
#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "json.h"
#include "open-set.h"
#include "output.h"
#include "size.h"
#include "table.h"
#include "terminal.h"
#include "text.h"
#include "verb.h"

#define ROWS	10
#define EIGHTHS	8	/* of a row */
#define MARGIN	6	/* of a row's label */
#define COLUMNS	100	/* at most */

const struct whatif_size whatif_sizes[NR_SIZES] = {
	{ 2, "half of it", "half" },
	{ 4, "at best", "best" },
	{ 8, "double", "double" },
	{ 16, "4 times", "quadruple" },
};

double whatif_share(const struct whatif *w, const struct whatif_size *size)
{
	return curve_share(&w->curve, w->usable * size->quarters / 4);
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int get_curve(const char *name, struct whatif *w)
{
	struct curve *c = &w->curve;
	uint64_t extents, reserve;
	const char *why;
	struct set set;
	char *answer;
	int rc, err;

	rc = fus_set_get(name, &set);
	if (rc)
		return rc;
	w->name = name;
	w->extent_bytes = set.st.extent_sectors << 9;
	w->slots = set.st.total[FAST];
	extents = set.st.extents;
	/* the slots of a landing log have no extents */
	reserve = min(set.st.reserve + set.st.log_most, w->slots);
	fus_set_put(&set);
	err = fus_dm_message(name, "histogram", &answer);
	if (err)
		return fus_fail(FC_FAILED, name, "the kernel does not give the histogram: %s; use "
				"matching versions of fusionctl and dm-fusion, see dmesg",
				strerror(-err));
	why = answer ? curve_parse(answer, extents, c) : "it is empty";
	free(answer);
	if (why)
		return fus_fail(FC_FAILED, name, "cannot read the kernel's histogram: %s; use "
				"matching versions of fusionctl and dm-fusion", why);
	if (!curve_warm(c))
		return fus_fail(FC_FAILED, name, "nothing is known of its use, or all of it is "
				"long ago; use it for some time and ask again");
	w->usable = max(w->slots - reserve, c->extents[FAST]);
	w->end = min(curve_mapped(c), max(curve_warm(c), 4 * w->slots));
	return 0;
}

/* -- for people ----------------------------------------------------------------- */

/* The part that fits the present fast member has the colour of that member. */
static void set_color(bool fast, enum color depth)
{
	if (depth == COLOR_256)
		printf("\033[38;5;%dm", fast ? 214 : 75);
	else if (depth == COLOR_TRUE)
		printf("\033[38;2;%sm", fast ? "255;152;32" : "90;156;240");
}

static void draw_row(const struct whatif *w, unsigned int row, unsigned int columns,
		     enum color depth)
{
	unsigned int below = (ROWS - 1 - row) * EIGHTHS, fill;
	bool utf8 = fus_utf8_output(), fits, fast = false;

	for (unsigned int i = 0; i < columns; i++) {
		uint64_t n = w->end * (i + 1) / columns;

		fits = n <= w->usable;
		if (!i || fast != fits)
			set_color(fits, depth);
		fast = fits;
		fill = curve_share(&w->curve, n) * ROWS * EIGHTHS + 0.5;
		fill = fill > below ? min(fill - below, EIGHTHS) : 0;
		if (!fill)
			putchar(' ');
		else if (utf8)
			printf("\xe2\x96%c", 0x80 + fill);
		else
			putchar(fill > EIGHTHS / 2 ? '#' : fast ? '.' : ' ');
	}
	if (depth != COLOR_NONE)
		fputs("\033[0m", stdout);
	putchar('\n');
}

static void draw(const struct whatif *w, unsigned int columns, enum color depth)
{
	unsigned int at = min(w->usable * columns / w->end, columns);
	char size[SIZE_TEXT];

	for (unsigned int row = 0; row < ROWS; row++) {
		if (row % (ROWS / 2))
			printf("%*s ", MARGIN - 1, "");
		else
			printf("%*u%% ", MARGIN - 2, 100 - 100 * row / ROWS);
		draw_row(w, row, columns, depth);
	}
	/* where the present fast member is full, and the end */
	printf("%*s%*s^\n", MARGIN, "", at ? at - 1 : 0, "");
	printf("%*s0%*s\n", MARGIN, "", columns - 1, fus_size_text(size, w->end * w->extent_bytes));
}

static void add_row(struct libscols_table *tb, const char *what, uint64_t slots,
		    const struct whatif *w, double share)
{
	char size[SIZE_TEXT], hits[16];
	const char *cells[] = { what, size, hits };

	fus_size_text(size, slots * w->extent_bytes);
	snprintf(hits, sizeof(hits), "%.1f", 100 * share);
	table_row(tb, cells);
}

static void print_text(const struct whatif *w, enum color depth)
{
	static const char *const headings[] = { "FAST MEMBER", ">SIZE", ">HITS%", NULL };
	unsigned int room = terminal_width();
	char a[SIZE_TEXT], b[SIZE_TEXT];
	struct libscols_table *tb;

	printf("%s: share of accesses that the fast member would serve, by its size\n", w->name);
	draw(w, room > MARGIN + 16 ? min(room - MARGIN, COLUMNS) : 16, depth);
	putchar('\n');
	tb = table_new(headings);
	add_row(tb, "as it is", w->slots, w, curve_now(&w->curve));
	for (unsigned int i = 0; i < NR_SIZES; i++)
		add_row(tb, whatif_sizes[i].text, w->slots * whatif_sizes[i].quarters / 4, w,
			whatif_share(w, &whatif_sizes[i]));
	table_print(tb);
	printf("\n%s hold 90%% of the accesses, %s 99%%", fus_size_text(a, w->extent_bytes *
	       curve_needed(&w->curve, 0.90)), fus_size_text(b, w->extent_bytes *
	       curve_needed(&w->curve, 0.99)));
	printf("; %s of %s in use have had any\n", fus_size_text(a, w->extent_bytes *
	       curve_warm(&w->curve)), fus_size_text(b, w->extent_bytes * curve_mapped(&w->curve)));
}

/* -- for programs ------------------------------------------------------------------ */

static struct json_object *point_json(const struct whatif *w, uint64_t extents, double share)
{
	struct json_object *o = json_object_new_object();

	fus_json_add_u64(o, "extents", extents);
	fus_json_add_u64(o, "bytes", extents * w->extent_bytes);
	json_object_object_add(o, "hit_ratio", json_object_new_double(share));
	return o;
}

/* A fast member with this number of slots; the reserve is not filled. */
static struct json_object *size_json(const struct whatif *w, uint64_t slots, uint64_t filled,
				     double share)
{
	struct json_object *o = point_json(w, filled, share);

	fus_json_add_u64(o, "fast_bytes", slots * w->extent_bytes);
	return o;
}

static void print_whatif_json(const struct whatif *w)
{
	struct json_object *o = fus_json_base(), *points = json_object_new_array();
	const struct curve *c = &w->curve;
	uint64_t n = 0;

	fus_json_add_str(o, "name", w->name);
	fus_json_add_u64(o, "extent_bytes", w->extent_bytes);
	fus_json_add_u64(o, "fast_slots", w->slots);
	fus_json_add_u64(o, "usable_slots", w->usable);
	fus_json_add_u64(o, "mapped", curve_mapped(c));
	fus_json_add_u64(o, "warm", curve_warm(c));
	json_object_object_add(o, "now", size_json(w, w->slots, c->extents[FAST], curve_now(c)));
	for (unsigned int i = 0; i < NR_SIZES; i++)
		json_object_object_add(o, whatif_sizes[i].key,
				       size_json(w, w->slots * whatif_sizes[i].quarters / 4,
						 w->usable * whatif_sizes[i].quarters / 4,
						 whatif_share(w, &whatif_sizes[i])));
	/* between these the curve is straight */
	json_object_array_add(points, point_json(w, 0, 0));
	for (unsigned int i = 0; i < c->nr; i++) {
		n += c->bucket[i].nr[FAST] + c->bucket[i].nr[SLOW];
		json_object_array_add(points, point_json(w, n, curve_share(c, n)));
	}
	json_object_object_add(o, "curve", points);
	print_json(o, false);
}

int cmd_whatif(const struct args *a)
{
	const char *svg = a->opt[OPT_SVG];
	static struct whatif w;
	struct output out;
	enum color depth;
	int rc;

	if (svg && a->opt[OPT_JSON] && !strcmp(svg, "-"))
		return fus_fail(FC_USAGE, "--svg", "cannot share standard output with --json; give "
				"a file");
	rc = color_mode(a->opt[OPT_COLOR], &depth);
	if (!rc && svg)
		rc = output_open(svg, &out);
	if (rc)
		return rc;
	rc = get_curve(a->word[0], &w);
	if (rc) {
		if (svg)
			output_cancel(&out);
		return rc;
	}
	if (a->opt[OPT_JSON])
		print_whatif_json(&w);
	else if (!svg)
		print_text(&w, depth);
	if (!svg)
		return 0;
	whatif_svg(&w, out.f);
	return output_close(&out);
}
