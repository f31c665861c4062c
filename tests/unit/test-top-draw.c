// SPDX-License-Identifier: GPL-2.0-only
/*
 * fusionctl top: whole screens, against those in screens/. If one is to change, run this with
 * SCREENS=write, and look at the difference.
 */
#include "unit.h"

#include "fusionctl.h"
#include "top.h"

#define MIB		1048576ull
#define NR_CELLS	640U

static struct top_look look;
static struct top_view view;
static struct cell cells[NR_CELLS];
static const struct top_view first_view = { .live = true, .interval = 1, .clock = "12:34:56" };

/* -- a set at work ---------------------------------------------------------------- */

static void fill_heat(void)
{
	for (u32 i = 0; i < NR_CELLS; i++) {
		struct cell *c = &cells[i];

		*c = (struct cell) { .first = 32ull * i, .count = 32 };
		if (i < 60)
			c->fast = 32;
		else if (i < 400)
			c->slow = 30;
		else if (i < 500)
			c->fast = 16, c->slow = 16;
		if (i < 500)
			c->mean = i < 60 ? 400 - i : i % 50 == 7 ? 90 : i / 100;
		c->max = c->mean * 3;
	}
	look.heat = (struct heat_map) {
		.extents = 32 * NR_CELLS, .extent_bytes = MIB, .nr = NR_CELLS, .cell = cells,
	};
}

static void fill_history(void)
{
	struct top_sample s = { 0 };

	for (int i = 0; i <= 1000; i++) {
		s.at = i;
		s.hits[TOP_READ][FAST] += i % 20 * 5;
		s.hits[TOP_READ][SLOW] += 100 - i % 20 * 5;
		s.hits[TOP_WRITE][FAST] += i > 980 ? 10 : 0;
		top_remember(&look.history, &s);
	}
}

static void at_work(void)
{
	memset(&look, 0, sizeof(look));
	view = first_view;
	look.name = "data";
	look.health = "ok";
	strcpy(look.device[FAST], "/dev/nvme0n1p3");
	strcpy(look.device[SLOW], "/dev/sda");
	look.st = (struct fusion_status) {
		.mode = "rw", .extent_sectors = 2048, .used = { 4000, 12000 },
		.total = { 4096, 16384 }, .mapped = 16000, .extents = 20480, .open = 12,
		.reserve_free = 96, .reserve = 410, .shadows = 900, .shadows_current = 850,
		.in_flight = 4,
	};
	look.sample.disk[FAST].known = true;
	look.sample.disk[SLOW].known = true;
	look.rates = (struct top_rates) {
		.seconds = 1,
		.disk = {
			[FAST] = { .known = true, .ios = { 12034, 310 },
				   .bytes = { 118.3 * MIB, 30.1 * MIB }, .ms = { 0.11, 0.2 },
				   .busy = 0.43, .queue = 1.2, .in_flight = 2 },
			[SLOW] = { .known = true, .ios = { 81, 17 },
				   .bytes = { 12.5 * MIB, 8 * MIB }, .ms = { 9.14, 118.7 },
				   .busy = 0.97, .queue = 12.34, .in_flight = 15 },
		},
		.moves = { [TOP_PROMOTED] = 12, [TOP_DEMOTED] = 8, [TOP_DEMOTED_FREE] = 4,
			   [TOP_CANCELLED] = 0.5, [TOP_SHADOWED] = 3 },
		.swaps = 8,
	};
	look.has_policy = true;
	look.policy.rw = true;
	look.policy.migration = true;
	look.policy.pause_ms = 300;
	look.policy.limited = true;
	look.policy.budget = 3100;
	fill_heat();
	fill_history();
}

/* -- screens ---------------------------------------------------------------------- */

static char *screen_text(unsigned int rows, unsigned int cols, bool utf8)
{
	char *text = calloc(rows, 4 * cols + 2), *end = text;
	struct top_screen s;

	REQUIRE(text && top_screen_init(&s, rows, cols, utf8));
	top_draw(&s, &look, &view);
	REQUIRE_EQ(s.rows, rows);
	for (u32 row = 0; row < rows; row++) {
		top_row(&s, row, end, 4 * cols + 1);
		end += strlen(end);
		*end++ = '\n';
	}
	*end = 0;
	top_screen_free(&s);
	return text;
}

static void require_screen(const char *name, unsigned int rows, unsigned int cols, bool utf8)
{
	char *text = screen_text(rows, cols, utf8), *expected, *a, *b, path[64];
	char *rest[2];

	snprintf(path, sizeof(path), "screens/top-%s.txt", name);
	if (getenv("SCREENS")) {
		FILE *f = fopen(path, "w");

		REQUIRE(f, "%s", path);
		fputs(text, f);
		fclose(f);
	}
	expected = slurp(path);
	rest[0] = text;
	rest[1] = expected;
	for (u32 row = 0; row <= rows; row++) {
		a = strsep(&rest[0], "\n");
		b = strsep(&rest[1], "\n");
		REQUIRE(a && b && !strcmp(a, b), "%s, row %u:\n# %s\n# instead of\n# %s", path, row,
			a ? a : "nothing", b ? b : "nothing");
	}
	REQUIRE(!rest[0] && !rest[1], "%s has more rows", path);
	free(text);
	free(expected);
}

static void require_text(const char *what)
{
	char *text = screen_text(24, 80, true);

	REQUIRE(strstr(text, what), "%s is not in\n%s", what, text);
	free(text);
}

static void test_small(void)
{
	at_work();
	require_screen("80x24", 24, 80, true);
}

static void test_large(void)
{
	at_work();
	require_screen("132x43", 43, 132, true);
}

static void name_some(void)
{
	char path[128];

	REQUIRE_EQ(top_names_begin(&look.names, &look.heat), 0);
	look.naming = true;
	for (u32 i = 0; i < NR_CELLS; i++) {
		snprintf(path, sizeof(path), "/srv/%s/%u.raw", i % 5 ? "Photos" :
			 "a directory with a long name/and yet another one/in all too long", i);
		top_names_file(&look.names, path);
		if (i % 7)
			top_names_extent(&look.names, 32 * i, MIB);
	}
}

/* Without UTF-8, with names of files, paused, and sorted by place. */
static void test_plain(void)
{
	at_work();
	name_some();
	view.paused = true;
	view.sort = TOP_BY_PLACE;
	require_screen("plain", 30, 110, false);
	/* another size of the set: they may lie elsewhere now */
	look.heat.extents--;
	strcpy(look.no_names, "they are read, which may take minutes");
	require_text("files: they are read");
	top_names_free(&look.names);
}

static void with_log(void)
{
	at_work();
	look.st.logs = true;
	look.st.log_blocks = 51234;
	look.st.log_segments = 388;
	look.st.log_most = 512;
	look.sample.log = (struct log_stats) { .known = true };
	look.rates.landed = 25000;
	look.rates.drained = 8123;
}

/* With a landing log, to which writes wait. */
static void test_log(void)
{
	with_log();
	require_text("LOG     \xe2\x96\x88");
	require_text(" 76% of 512M, 200.1M in it; in 97.7M/s; out 31.7M/s\n\nHEAT");
	look.sample.log.waiting = 1;
	require_text("; out 31.7M/s; 1 waits\n");
	look.st.log_segments = 512;
	look.sample.log.waiting = 33;
	require_screen("log", 24, 80, true);
	look.st.log_stopped = true;
	require_text("; out 31.7M/s; STOPPED\n");
	look.st.log_stopped = false;
	look.st.log_off = true;
	require_text("; out 31.7M/s; off\n");
	look.st.log_off = false;
	/* of a kernel that does not count */
	look.sample.log = (struct log_stats) { 0 };
	require_text("200.1M in it; out 31.7M/s\n");
}

static void test_help(void)
{
	at_work();
	view.help = true;
	require_screen("help", 24, 80, true);
}

/* As the first look of a set that does nothing, and of which little is known. */
static void test_nothing(void)
{
	at_work();
	memset(&look.rates, 0, sizeof(look.rates));
	memset(&look.history, 0, sizeof(look.history));
	look.has_policy = false;
	look.heat.nr = 0;
	look.sample.disk[SLOW].known = false;
	look.health = "missing";
	look.suspended = true;
	strcpy(look.st.mode, "fail");
	view.live = false;
	view.clock = NULL;
	require_screen("nothing", 24, 80, true);
}

/* Any size does, without a word beyond it. */
static void test_sizes(void)
{
	at_work();
	for (u32 rows = 0; rows < 60; rows++) {
		for (u32 cols = 0; cols < 150; cols += 1 + cols / 9) {
			view.help = rows % 7 == 3;
			view.live = rows % 5;
			free(screen_text(rows, cols, cols % 2));
		}
	}
	/* more columns than cells, and fewer extents than either */
	view = first_view;
	look.heat.nr = 3;
	look.heat.extents = 3 * 32;
	free(screen_text(24, 80, true));
	free(screen_text(24, 400, true));
}

/* -- what keeps the mover --------------------------------------------------------- */

static void test_waits(void)
{
	at_work();
	REQUIRE_EQ(top_waits(&look), 1U << WAIT_DUTY);
	look.policy.budget = -3;
	REQUIRE_EQ(top_waits(&look), 1U << WAIT_DUTY | 1U << WAIT_BUDGET);
	require_text("waits: the write budget is used up, duty lets the mover pause");
	look.policy.limited = false;
	look.policy.pause_ms = 0;
	REQUIRE_EQ(top_waits(&look), 0);
	require_text("nothing to do: no extent of the slow member is hot enough");
	look.policy.candidates = 1;
	look.policy.hottest = 77;
	require_text("1 extent of the slow member may be hot enough, the hottest has 77");
	look.policy.view.shortfall = 9;
	require_text("demotes: the reserve lacks 9 extents");
	look.policy.migration = false;
	require_text("waits: migration is off");
	look.has_policy = false;
	REQUIRE_EQ(top_waits(&look), 0);
	strcpy(look.st.mode, "ro");
	REQUIRE_EQ(top_waits(&look), 1U << WAIT_MODE);
	require_text("waits: the set is read-only");
}

static void test_styles(void)
{
	struct top_screen s;
	char text[32];

	REQUIRE(top_screen_init(&s, 2, 5, true));
	REQUIRE_EQ(top_put(&s, 0, 3, TOP_BAD, "a\xc3\xa4\n"), 7);
	top_put(&s, 9, 0, TOP_BAD, "below");
	top_put_right(&s, 1, 4, TOP_FAST, "ab");
	top_put_right(&s, 0, 2, TOP_FAST, "xyz");
	REQUIRE(s.cell[3].c == 'a' && s.cell[3].style == TOP_BAD && s.cell[4].c == '?');
	REQUIRE(s.cell[7].c == 'a' && s.cell[8].c == 'b' && s.cell[8].style == TOP_FAST);
	REQUIRE(s.cell[0].c == 'x' && s.cell[2].c == 'z');
	REQUIRE(s.cell[9].c == ' ' && s.cell[9].style == TOP_PLAIN);
	REQUIRE(!strcmp(top_row(&s, 1, text, sizeof(text)), "  ab"));
	top_put_block(&s, 1, 0, TOP_SLOW, 8);
	REQUIRE(!strcmp(top_row(&s, 1, text, sizeof(text)), "\xe2\x96\x88 ab"));
	top_screen_free(&s);
}

static const struct unit_test tests[] = {
	{ "screen of 80x24", test_small },
	{ "screen of 132x43", test_large },
	{ "screen without UTF-8, with names of files", test_plain },
	{ "screen with a landing log", test_log },
	{ "screen of help", test_help },
	{ "screen of a set of which little is known", test_nothing },
	{ "screens of all sizes", test_sizes },
	{ "what the mover waits for", test_waits },
	{ "characters and their styles", test_styles },
};

UNIT_TESTS(tests)
