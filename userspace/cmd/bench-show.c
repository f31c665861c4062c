// SPDX-License-Identifier: GPL-2.0-only
/* The result of bench for people: a table, and bars. */
#include <inttypes.h>
#include <libsmartcols/libsmartcols.h>
#include <stdio.h>

#include "bench.h"
#include "fusionctl.h"
#include "role.h"
#include "size.h"
#include "table.h"
#include "terminal.h"
#include "text.h"

#define LABEL		12	/* columns before a bar, */
#define FIGURE		16	/* and behind it */
#define MOST_BAR	60

static const char *digits(double v)
{
	return v >= 99.95 ? "%.0f" : v >= 9.995 ? "%.1f" : "%.2f";
}

char *bench_rate_text(char buf[BENCH_TEXT], double rate)
{
	int n = snprintf(buf, BENCH_TEXT, digits(rate / 1e6), rate / 1e6);

	snprintf(buf + n, BENCH_TEXT - n, " MB/s");
	return buf;
}

char *bench_time_text(char buf[BENCH_TEXT], double seconds)
{
	bool ms = seconds < 1;
	double v = ms ? seconds * 1e3 : seconds;
	int n = snprintf(buf, BENCH_TEXT, digits(v), v);

	snprintf(buf + n, BENCH_TEXT - n, ms ? " ms" : " s");
	return buf;
}

static char *label(char buf[BENCH_TEXT], const struct bench_line *line)
{
	snprintf(buf, BENCH_TEXT, "%s%s%s", bench_direction_name[line->dir],
		 line->member < 0 ? "" : ", ", line->member < 0 ? "" : fus_role_name[line->member]);
	return buf;
}

static void bounds(char buf[2 * BENCH_TEXT], const struct theil_value *v, double unit, bool open)
{
	int n = snprintf(buf, BENCH_TEXT, digits(v->low / unit), v->low / unit);

	n += snprintf(buf + n, BENCH_TEXT, " to ");
	if (open)
		snprintf(buf + n, BENCH_TEXT, "?");
	else
		snprintf(buf + n, BENCH_TEXT, digits(v->high / unit), v->high / unit);
}

static void add_row(struct libscols_table *tb, const struct bench_line *line)
{
	char name[BENCH_TEXT], rate[BENCH_TEXT] = "?", latency[BENCH_TEXT] = "?";
	char in[2][2 * BENCH_TEXT] = { "", "" }, nr[16], outliers[16], slowest[BENCH_TEXT] = "";
	char fast[16] = "";
	const char *cells[] = {
		label(name, line), rate, in[0], latency, in[1], nr, outliers, slowest, fast
	};

	if (line->known) {
		bench_rate_text(rate, line->rate.is);
		bounds(in[0], &line->rate, 1e6, !line->rate.high);
		bench_time_text(latency, line->latency.is);
		bounds(in[1], &line->latency, line->latency.is < 1 ? 0.001 : 1, false);
	}
	if (line->slowest > 0)
		bench_time_text(slowest, line->slowest);
	if (line->fast_share >= 0)
		snprintf(fast, sizeof(fast), "%.0f %%", 100 * line->fast_share);
	snprintf(nr, sizeof(nr), "%u", line->nr);
	snprintf(outliers, sizeof(outliers), "%u", line->outliers);
	table_row(tb, cells);
}

static void print_table(const struct bench *b)
{
	struct libscols_table *tb = table_new((const char *const []) {
		"", ">RATE", ">95 %", ">LATENCY", ">95 %", ">TRANSFERS", ">OUTLIERS", ">SLOWEST",
		*b->set ? ">ON FAST" : ">", NULL });

	for (int i = 0; i < BENCH_LINES; i++)
		if (bench_shows(b, &b->line[i]))
			add_row(tb, &b->line[i]);
	table_print(tb);
}

/* U+2588 is full, U+258F one eighth. */
static void print_bar(double share, unsigned int width, bool utf8)
{
	unsigned int eighths = share * width * 8 + 0.5, n = utf8 ? eighths / 8 : (eighths + 4) / 8;

	for (unsigned int i = 0; i < n; i++)
		fputs(utf8 ? "\xe2\x96\x88" : "#", stdout);
	if (utf8 && eighths % 8)
		printf("\xe2\x96%c", 0x90 - eighths % 8);
}

void bench_print_bar(const char *name, double rate, double most)
{
	unsigned int room = terminal_width();
	char text[BENCH_TEXT];

	room = room > LABEL + FIGURE + 8 ? room - LABEL - FIGURE : 8;
	room = room < MOST_BAR ? room : MOST_BAR;
	printf("%-*s", LABEL, name);
	print_bar(most > 0 ? rate / most : 0, room, fus_utf8_output());
	printf(" %s\n", bench_rate_text(text, rate));
}

static void print_bars(const struct bench *b)
{
	char name[BENCH_TEXT];
	double most = 0;

	for (int i = 0; i < BENCH_LINES; i++)
		if (bench_shows(b, &b->line[i]) && b->line[i].rate.is > most)
			most = b->line[i].rate.is;
	for (int i = 0; i < BENCH_LINES; i++) {
		const struct bench_line *line = &b->line[i];

		if (bench_shows(b, line) && line->known)
			bench_print_bar(label(name, line), line->rate.is, most);
	}
}

static void print_served_by_both(const struct bench *b)
{
	for (int dir = 0; dir < 2; dir++) {
		unsigned int nr = bench_served_by_both(b, dir);

		if (nr)
			printf("%u %s%s served by both members, and in neither line\n", nr,
			       bench_direction_name[dir], nr == 1 ? " is" : "s are");
	}
}

void bench_show_doubts(const struct bench *b)
{
	for (int i = 0; i < NR_BENCH_DOUBTS; i++)
		if (*b->doubt[i])
			printf("not reliable: %s\n", b->doubt[i]);
}

void bench_show(const struct bench *b)
{
	const struct bench_facts *f = &b->facts;

	print_table(b);
	putchar('\n');
	print_bars(b);
	putchar('\n');
	print_served_by_both(b);
	if (f->again > 1.5)
		printf("a second read is %.1f times as fast, from a cache of the disk; the figures "
		       "are of first reads\n", f->again);
	bench_show_doubts(b);
}
