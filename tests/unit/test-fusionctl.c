// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pure parts of fusionctl: the status line, which member is the slow one, sizes as
 * people write them, text from disks, and how far something is.
 */
#include "unit.h"

#include "fusionctl.h"
#include "role.h"
#include "show-progress.h"
#include "size.h"
#include "status-parse.h"

/* what it takes for harmful is asked for here */
#include "../../userspace/lib/text.c"

/* -- the status line ------------------------------------------------------------- */

static const char good_line[] =
	"6 rw 2048 10/100 20/400 28/496 3/256 1 2 3 4 5 6 7 8 9 10 11 12 13 14/15 "
	"ok 16 17 18 19 20/21 22/23 24 "
	"25/26 27 28/29 6 migration on reserve 0 half_life 3600 -";

static void status_good(void)
{
	struct fusion_status st;

	REQUIRE(!fus_parse_status(good_line, &st), "%s", fus_parse_status(good_line, &st));
	REQUIRE(!strcmp(st.mode, "rw"), "%s", st.mode);
	REQUIRE_EQ(st.extent_sectors, 2048);
	REQUIRE_EQ(st.used[FAST], 10);
	REQUIRE_EQ(st.total[FAST], 100);
	REQUIRE_EQ(st.used[SLOW], 20);
	REQUIRE_EQ(st.total[SLOW], 400);
	REQUIRE_EQ(st.mapped, 28);
	REQUIRE_EQ(st.extents, 496);
	REQUIRE_EQ(st.journal_used, 3);
	REQUIRE_EQ(st.journal_size, 256);
	REQUIRE_EQ(st.reads[FAST], 1);
	REQUIRE_EQ(st.reads[SLOW], 2);
	REQUIRE_EQ(st.writes[FAST], 3);
	REQUIRE_EQ(st.writes[SLOW], 4);
	REQUIRE_EQ(st.promotions, 5);
	REQUIRE_EQ(st.demotions, 6);
	REQUIRE_EQ(st.cancelled, 7);
	REQUIRE_EQ(st.in_flight, 8);
	REQUIRE_EQ(st.open, 9);
	REQUIRE_EQ(st.quarantined, 10);
	REQUIRE_EQ(st.commits, 11);
	REQUIRE_EQ(st.checkpoints, 12);
	REQUIRE_EQ(st.slow_flushes, 13);
	REQUIRE_EQ(st.reserve_free, 14);
	REQUIRE_EQ(st.reserve, 15);
	REQUIRE(!strcmp(st.replica, "ok"), "%s", st.replica);
	REQUIRE_EQ(st.replica_dirty, 16);
	REQUIRE_EQ(st.replica_age, 17);
	REQUIRE_EQ(st.errors[FAST], 18);
	REQUIRE_EQ(st.errors[SLOW], 19);
	REQUIRE_EQ(st.fence_used, 20);
	REQUIRE_EQ(st.fence_slots, 21);
	REQUIRE_EQ(st.shadows_current, 22);
	REQUIRE_EQ(st.shadows, 23);
	REQUIRE_EQ(st.demotions_free, 24);
	REQUIRE_EQ(st.protected, 25);
	REQUIRE_EQ(st.on_fast, 26);
	REQUIRE(st.pointed);
	REQUIRE_EQ(st.point_age, 27);
	REQUIRE_EQ(st.metadata, 28);
	REQUIRE_EQ(st.metadata_fast, 29);
	REQUIRE_EQ(st.nr_options, 3);
	REQUIRE(!strcmp(st.option[2].key, "half_life"), "%s", st.option[2].key);
	REQUIRE(!strcmp(st.option[2].value, "3600"), "%s", st.option[2].value);
	REQUIRE(!st.needs_check);
}

static void status_other_good(void)
{
	static const char *const lines[] = {
		"6 ro 128 0/0 0/0 0/0 0/0 0 0 0 0 0 0 0 0 0 0 0 0 0 0/0 - 0 0 0 0 0/0 0/0 0 "
		"0/0 - 0/0 0 needs_check",
		"6 fail 128 0/0 0/0 0/0 0/0 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 0/0 "
		"failed 0 0 0 0 0/0 0/0 0 0/0 0 0/0 0 -",
		" 6  rw 128 0/0 0/0 0/0 0/0 0 0 0 0 0 0 0 0 0 0 0 0 0 0/0 ok 1 2 0 0 0/0 "
		"0/0 0 0/0  - 0/0 0 - ",
		"6 rw 128 0/0 0/0 0/0 0/0 0 0 0 0 0 0 0 0 0 0 0 0 0 0/0 ok 1 2 0 0 0/0 0/0 0 0/1 3 "
		"0/1 0 - homing 3 0",
	};
	struct fusion_status st;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lines); i++)
		REQUIRE(!fus_parse_status(lines[i], &st), "line %u: %s", i,
			fus_parse_status(lines[i], &st));
	REQUIRE(!fus_parse_status(lines[0], &st) && st.needs_check);
	REQUIRE(!fus_parse_status(lines[1], &st) && st.reads[FAST] == UINT64_MAX);
}

/* Cut anywhere it is not a status line, nor with a character more in any place. */
static void status_cut_and_changed(void)
{
	static const char *const ends[] = {
		" homing", " homing 1", " homing 1 x", " homing 1 2 3"
	};
	static const char odd[] = "x-/%\t.";
	const size_t len = strlen(good_line);
	char line[sizeof(good_line) + 16];
	struct fusion_status st;
	size_t i, k;

	for (i = 0; i < len; i++) {
		memcpy(line, good_line, i);
		line[i] = 0;
		REQUIRE(fus_parse_status(line, &st), "cut at %zu: %s", i, line);
	}
	/* the keys and values of the options may have any character */
	for (i = 0; i < len - strlen("migration on reserve 0 half_life 3600 -"); i++) {
		for (k = 0; k < strlen(odd); k++) {
			memcpy(line, good_line, i);
			line[i] = odd[k];
			memcpy(line + i + 1, good_line + i, len - i + 1);
			REQUIRE(fus_parse_status(line, &st), "%s", line);
		}
	}
	memcpy(line, good_line, len);
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		strcpy(line + len, ends[i]);
		REQUIRE(fus_parse_status(line, &st), "%s", line);
	}
	memcpy(line + len, " 0", 3);
	memcpy(line, good_line, len);
	REQUIRE(fus_parse_status(line, &st), "%s", line);
}

/* While a member is being replaced there is more at the end. */
static void status_of_three(void)
{
	static const char *const bad[] = {
		"old", "old fast", "old fast 8:17", "old fast 8:17 1 2", "old fast 8:17 1 2 3 4",
		"old both 8:17 1 2 3", "new fast 8:17 1 2 3", "old fast 8:17 -1 2 3",
		"old fast 8:17 1/2 3 4", "oldest fast 8:17 1 2 3",
	};
	char line[sizeof(good_line) + 64];
	struct fusion_status st;
	size_t i;

	REQUIRE(!fus_parse_status(good_line, &st));
	REQUIRE_EQ(st.old.role, -1);
	snprintf(line, sizeof(line), "%s old slow 8:17 40 118 3", good_line);
	REQUIRE(!fus_parse_status(line, &st), "%s", fus_parse_status(line, &st));
	REQUIRE_EQ(st.old.role, SLOW);
	REQUIRE_EQ(st.old.left, 40);
	REQUIRE_EQ(st.old.total, 118);
	REQUIRE_EQ(st.old.unreadable, 3);
	REQUIRE(!st.homing);
	snprintf(line, sizeof(line), "%s homing 7 0 old fast - 40 118 0", good_line);
	REQUIRE(!fus_parse_status(line, &st), "%s", fus_parse_status(line, &st));
	REQUIRE(st.homing);
	REQUIRE_EQ(st.old.role, FAST);
	snprintf(line, sizeof(line), "%s homing 7 0", good_line);
	REQUIRE(!fus_parse_status(line, &st), "%s", fus_parse_status(line, &st));
	REQUIRE(st.homing);
	REQUIRE_EQ(st.old.role, -1);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(line, sizeof(line), "%s %s", good_line, bad[i]);
		REQUIRE(fus_parse_status(line, &st), "%s", line);
	}
}

static void status_bad(void)
{
	static const char counts[] = "0/0 0/0 0/0 0/0 0 0 0 0 0 0 0 0 0 0 0 0 0 0/0 ok 0 0 0 0 0/0 "
				     "0/0 0 0/0 - 0/0";
	static const struct {
		const char *head, *tail;
	} bad[] = {
		{ "5 rw 128", "0 -" }, { "7 rw 128", "0 -" }, { "6 wr 128", "0 -" },
		{ "6 rw 0", "0 -" }, { "01x rw 128", "0 -" }, { "6 rw 128", "1 key -" },
		{ "6 rw 128", "2 key -" }, { "6 rw 128", "4 key value -" }, { "6 rw 128", "0 ?" },
		{ "6 rw 128", "0 - -" },
		{ "6 rw 128", "66 -" }, { "6 rw 128", "18446744073709551616 -" },
		{ "6 rw 18446744073709551616", "0 -" }, { "6 rw 128", "-2 -" },
		{ "6 rw 128", "2 a_key_of_more_than_23_characters v -" },
		{ "6 failure1 128", "0 -" }, { "6 rw 128 1", "0 -" },
		/* the last of these counts is a pair */
		{ "6 rw 128", "- 0 -" }, { "6 rw 128", "1 0 -" },
	};
	struct fusion_status st;
	unsigned int i;
	char line[256];

	sprintf(line, "6 rw 128 %s 0 -", counts);
	REQUIRE(!fus_parse_status(line, &st), "%s", line);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		sprintf(line, "%s %s %s", bad[i].head, counts, bad[i].tail);
		REQUIRE(fus_parse_status(line, &st), "%s", line);
	}
}

/* Any input is parsed or refused; the sanitizers watch. */
static void status_noise(void)
{
	static const char set[] = "0123456789/ -rwofailneds_ck\x80\xff";
	struct fusion_status st;
	unsigned int round, i;
	u64 state = 1;
	char *line;

	for (round = 0; round < 200000; round++) {
		line = strdup(good_line);
		for (i = 0; i < 1 + round % 4; i++)
			line[rnd_below(&state, strlen(line))] = set[rnd_below(&state, strlen(set))];
		fus_parse_status(line, &st);
		REQUIRE(st.nr_options <= STATUS_MAX_OPTIONS, "%s", line);
		free(line);
	}
}

/* -- roles --------------------------------------------------------------------------- */

static void roles(void)
{
	static const struct {
		struct role_fact f[2];
		int slow;
	} cases[] = {
		/* the flag decides, sizes need not be far apart */
		{ { { 100, 0 }, { 100, 1 } }, 1 },
		{ { { 100, 0 }, { 800, 1 } }, 1 },
		/* unless they contradict */
		{ { { 101, 0 }, { 100, 1 } }, -1 },
		{ { { 800, 0 }, { 100, 1 } }, -1 },
		/* the same flag, or none: only a clear difference */
		{ { { 100, 1 }, { 100, 1 } }, -1 },
		{ { { 100, 0 }, { 200, 0 } }, -1 },
		{ { { 100, 0 }, { 201, 0 } }, -1 },
		{ { { 100, 0 }, { 202, 0 } }, 1 },
		{ { { 100, 1 }, { 800, 1 } }, 1 },
		{ { { 100, -1 }, { 800, 1 } }, 1 },
		{ { { 100, -1 }, { 110, 1 } }, -1 },
		{ { { 100, -1 }, { 110, -1 } }, -1 },
	};
	unsigned int i;
	char why[160];

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct role_fact swapped[2] = { cases[i].f[1], cases[i].f[0] };
		int slow = cases[i].slow;

		REQUIRE(fus_choose_slow(cases[i].f, why, sizeof(why)) == slow, "case %u: %s", i,
			why);
		REQUIRE(*why);
		REQUIRE(fus_choose_slow(swapped, why, sizeof(why)) == (slow < 0 ? -1 : !slow),
			"case %u swapped: %s", i, why);
	}
}

/* -- sizes, numbers, names ------------------------------------------------------------- */

static void sizes_read(void)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "0", 0 }, { "1", 1 }, { "4096", 4096 }, { "64K", 65536 }, { "64k", 65536 },
		{ "1M", 1 << 20 }, { "1MB", 1 << 20 }, { "1MiB", 1 << 20 }, { "1.5G", 3ULL << 29 },
		{ "7E", 7ULL << 60 }, { "512B", 512 }, { "2T", 1ULL << 41 },
	};
	static const char *const bad[] = {
		"", "K", "-1", "+1", "1Q", "1e3", "1e3K", "0x10", "1KK", "1MiBs", "8E", "1.0001K",
		" 1", "1 ", "1 K", "nan", "inf", "1iB", "1.5", "99999999999999999999999",
	};
	uint64_t v;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(good); i++)
		REQUIRE(fus_parse_size(good[i].text, &v) && v == good[i].bytes, "%s", good[i].text);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		REQUIRE(!fus_parse_size(bad[i], &v), "%s", bad[i]);
}

static void sizes_written(void)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {
		{ 0, "0B" }, { 1023, "1023B" }, { 1024, "1K" }, { 1536, "1.5K" },
		{ 1 << 20, "1M" }, { (1 << 20) - 1, "1M" }, { (1ULL << 30) - 1, "1G" },
		{ 1023 * 1024, "1023K" }, { 1125ULL << 20, "1.1G" }, { 4000787030016, "3.6T" },
		{ UINT64_MAX, "16E" },
	};
	char buf[SIZE_TEXT];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		REQUIRE(!strcmp(fus_size_text(buf, cases[i].bytes), cases[i].text), "%s, not %s",
			buf, cases[i].text);
}

static void ranges(void)
{
	static const char *const bad[] = {
		"", "-", "1-", "-1", "2-1", "1-2-3", "268435456", "0-268435456", "1 -2", "0x1",
		"123456789012345678901234567890-1",
	};
	uint64_t first, last;
	unsigned int i;

	REQUIRE(fus_parse_range("7", &first, &last) && first == 7 && last == 7);
	REQUIRE(fus_parse_range("0-268435455", &first, &last) && !first && last == 0xfffffff);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		REQUIRE(!fus_parse_range(bad[i], &first, &last), "%s", bad[i]);
	REQUIRE(fus_parse_range_to("0-68719476736", 1ull << 36, &first, &last) && !first &&
		last == 1ull << 36);
	REQUIRE(!fus_parse_range_to("0-68719476737", 1ull << 36, &first, &last));
}

static void names(void)
{
	static const char *const bad[] = {
		"", ".", "..", "a/b", "-a", "a b", "control", "a\n", "\xc3\xa9", "a*", "a\\x20b",
	};
	char name[66];
	unsigned int i;

	REQUIRE(fus_valid_name("data") && fus_valid_name("9") && fus_valid_name("a#+-.:=@_Z"));
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		REQUIRE(!fus_valid_name(bad[i]), "%s", bad[i]);
	memset(name, 'a', 65);
	name[65] = 0;
	REQUIRE(!fus_valid_name(name));
	REQUIRE(fus_valid_name(name + 1));
}

/* -- text from disks ---------------------------------------------------------------------- */

static void text_escaped(void)
{
	static const struct {
		const char *from, *utf8, *ascii;
	} cases[] = {
		{ "data", "data", "data" },
		{ "", "", "" },
		{ "a b~!", "a b~!", "a b~!" },
		{ "\033[2J\n", "\\x1b[2J\\x0a", "\\x1b[2J\\x0a" },
		{ "\177\t\r", "\\x7f\\x09\\x0d", "\\x7f\\x09\\x0d" },
		/* e acute, the euro sign, and a musical clef */
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9e", "\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9e",
		  "\\xc3\\xa9\\xe2\\x82\\xac\\xf0\\x9d\\x84\\x9e" },
		/* C1 CSI as a byte and as a character, a byte order mark, right to left */
		{ "\x9b", "\\x9b", "\\x9b" },
		{ "\xc2\x9b", "\\xc2\\x9b", "\\xc2\\x9b" },
		{ "\xef\xbb\xbf", "\\xef\\xbb\\xbf", "\\xef\\xbb\\xbf" },
		{ "\xe2\x80\xae", "\\xe2\\x80\\xae", "\\xe2\\x80\\xae" },
		/* too long a form, a surrogate, beyond the last one, cut short, no beginning */
		{ "\xc0\xaf", "\\xc0\\xaf", "\\xc0\\xaf" },
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80", "\\xed\\xa0\\x80" },
		{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", "\\xf4\\x90\\x80\\x80" },
		{ "a\xe2\x82", "a\\xe2\\x82", "a\\xe2\\x82" },
		{ "\x82z\xff", "\\x82z\\xff", "\\x82z\\xff" },
	};
	char buf[64];

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		fus_safe_text(buf, sizeof(buf), cases[i].from, SIZE_MAX, true);
		REQUIRE(!strcmp(buf, cases[i].utf8), "case %u: %s", i, buf);
		fus_safe_text(buf, sizeof(buf), cases[i].from, SIZE_MAX, false);
		REQUIRE(!strcmp(buf, cases[i].ascii), "case %u: %s", i, buf);
	}
}

/* For any text, in a buffer of any size: the result ends, fits, and is harmless. */
static void text_noise(void)
{
	char from[48], buf[4 * sizeof(from) + 1];
	u64 state = 7;

	for (int round = 0; round < 100000; round++) {
		const size_t len = rnd_below(&state, sizeof(from) + 1);
		const size_t size = 1 + rnd_below(&state, sizeof(buf));
		const bool utf8 = rnd_below(&state, 2);
		char *exact = malloc(size);
		uint32_t code;
		size_t n;

		rnd_fill(&state, from, sizeof(from));
		fus_safe_text(exact, size, from, len, utf8);
		REQUIRE(strlen(exact) < size);
		for (const char *p = exact; *p; p += n) {
			n = utf8_decode((const unsigned char *)p, strlen(p), &code);
			REQUIRE(n && !harmful(code) && (utf8 || code < 0x80), "%s", exact);
		}
		free(exact);
	}
}

/* -- progress ------------------------------------------------------------------------------- */

static const char *text_at(const struct progress *p, double now)
{
	static char buf[256];

	progress_text(p, "", now, buf, sizeof(buf));
	return buf;
}

static void progress_told(void)
{
	static const struct {
		uint64_t done, total;	/* MiB */
		double seconds;
		const char *text;
	} cases[] = {
		{ 0, 100, 0, "x: 0 %, 0.0 MiB/s" },
		{ 0, 100, 5, "x: 0 %, 0.0 MiB/s" },
		{ 1, 100, 2, "x: 1 %, 0.5 MiB/s, 3:18 left" },
		{ 50, 100, 8, "x: 50 %, 6.2 MiB/s, 0:08 left" },
		/* what is nearly over is not over */
		{ 9999, 10000, 5, "x: 99 %, 1999.8 MiB/s, 0:00 left" },
		{ 100, 100, 5, "x: 100 %, 20.0 MiB/s" },
		/* more than was thought */
		{ 200, 100, 5, "x: 100 %, 40.0 MiB/s" },
		{ 8, 3600 * 8 + 8, 8, "x: 0 %, 1.0 MiB/s, 8:00:00 left" },
		{ 8, 3661 + 8, 8, "x: 0 %, 1.0 MiB/s, 1:01:01 left" },
		{ 8, 3599 + 8, 8, "x: 0 %, 1.0 MiB/s, 59:59 left" },
		{ 8, 1ULL << 40, 8, "x: 0 %, 1.0 MiB/s, 11574 days left" },
		{ 8, 400000, 8, "x: 0 %, 1.0 MiB/s, 4 days left" },
		/* the total is unknown */
		{ 50, 0, 5, "x: 50 MiB, 10.0 MiB/s" },
	};
	struct progress p;
	const char *text;
	char buf[256];

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		progress_init(&p, "x", &fus_progress_mib, cases[i].total << 20, 1000);
		progress_reach(&p, cases[i].done << 20, 1000 + cases[i].seconds);
		text = text_at(&p, 1000 + cases[i].seconds);
		REQUIRE(!strcmp(text, cases[i].text), "%u: %s, not %s", i, text, cases[i].text);
	}
	progress_init(&p, "x", &fus_progress_inodes, 100, 0);
	progress_reach(&p, 10, 1);
	progress_text(&p, "7 hits", 1, buf, sizeof(buf));
	REQUIRE(!strcmp(buf, "x: 10 %, 10.0 inodes/s, 0:09 left, 7 hits"), "%s", buf);
	REQUIRE(!strcmp(text_at(&p, 1), "x: 10 %, 10.0 inodes/s, 0:09 left"), "%s", text_at(&p, 1));
}

/* The rate is that of the last seconds: what was long ago does not count. */
static void progress_rates(void)
{
	struct progress p;
	uint64_t mib = 0;
	double t;

	progress_init(&p, "x", &fus_progress_mib, 100000ULL << 20, 0);
	for (t = 0; t < 100; t++)
		progress_reach(&p, (mib += 100) << 20, t + 1);
	REQUIRE(strstr(text_at(&p, t), ", 100.0 MiB/s, 15:00 left"), "%s", text_at(&p, t));
	for (; t < 110; t++)
		progress_reach(&p, (mib += 10) << 20, t + 1);
	REQUIRE(!strstr(text_at(&p, t), ", 100.0 MiB/s"), "%s", text_at(&p, t));
	for (; t < 130; t++)
		progress_reach(&p, (mib += 10) << 20, t + 1);
	REQUIRE(strstr(text_at(&p, t), ", 10.0 MiB/s, 2:29:30 left"), "%s", text_at(&p, t));
	/* at all times it is one of what happened */
	progress_init(&p, "x", &fus_progress_mib, 100000ULL << 20, 0);
	for (t = 0, mib = 0; t < 100; t += 0.25) {
		progress_reach(&p, (mib += 25) << 20, t + 0.25);
		REQUIRE(strstr(text_at(&p, t + 0.25), ", 100.0 MiB/s"), "%s",
			text_at(&p, t + 0.25));
	}
	/* it stalls */
	for (; t < 150; t++)
		progress_reach(&p, mib << 20, t + 1);
	REQUIRE(!strcmp(text_at(&p, t), "x: 10 %, 0.0 MiB/s"), "%s", text_at(&p, t));
}

static const struct unit_test tests[] = {
	{ "text from disks", text_escaped },
	{ "text from disks, any bytes", text_noise },
	{ "a status line", status_good },
	{ "other status lines", status_other_good },
	{ "status lines cut and changed", status_cut_and_changed },
	{ "status of three disks", status_of_three },
	{ "status lines that are wrong", status_bad },
	{ "status lines with noise", status_noise },
	{ "which is the slow one", roles },
	{ "sizes read", sizes_read },
	{ "sizes written", sizes_written },
	{ "ranges", ranges },
	{ "names", names },
	{ "progress", progress_told },
	{ "progress: the rate", progress_rates },
};

UNIT_TESTS(tests)
