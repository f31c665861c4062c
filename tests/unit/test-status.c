// SPDX-License-Identifier: GPL-2.0-only
/*
 * The status line has one order. The module prints it, status-parse.c reads it, target.rst
 * describes it, and the selftests take fields out of it by the list in their lib/status.sh. Here
 * both lists are held against the parser; the selftests hold theirs against the module.
 */
#include <stddef.h>

#include "unit.h"

#include "fusionctl.h"
#include "status-parse.h"

#define MAX_FIELDS	64
#define SEPARATORS	"/\t\n "

struct field {
	char name[32];
	char end;		/* what follows it: '/' or ' ' */
};

#define NUMBER(name, member)	{ name, offsetof(struct fusion_status, member) }

/* In no order. */
static const struct {
	const char *name;
	size_t offset;
} numbers[] = {
	NUMBER("cancelled", cancelled),
	NUMBER("checkpoints", checkpoints),
	NUMBER("commits", commits),
	NUMBER("demotions", demotions),
	NUMBER("demotions_free", demotions_free),
	NUMBER("errors_fast", errors[FAST]),
	NUMBER("errors_slow", errors[SLOW]),
	NUMBER("extent_sectors", extent_sectors),
	NUMBER("extents", extents),
	NUMBER("fence_slots", fence_slots),
	NUMBER("fence_used", fence_used),
	NUMBER("in_flight", in_flight),
	NUMBER("journal_size", journal_size),
	NUMBER("journal_used", journal_used),
	NUMBER("mapped", mapped),
	NUMBER("on_fast", on_fast),
	NUMBER("metadata_fast", metadata_fast),
	NUMBER("metadata_protected", metadata),
	NUMBER("open", open),
	NUMBER("point_age", point_age),
	NUMBER("promotions", promotions),
	NUMBER("protected", protected),
	NUMBER("quarantined", quarantined),
	NUMBER("reads_fast", reads[FAST]),
	NUMBER("reads_slow", reads[SLOW]),
	NUMBER("replica_age", replica_age),
	NUMBER("replica_dirty", replica_dirty),
	NUMBER("reserve", reserve),
	NUMBER("reserve_free", reserve_free),
	NUMBER("shadows", shadows),
	NUMBER("shadows_current", shadows_current),
	NUMBER("slow_flushes", slow_flushes),
	NUMBER("total_fast", total[FAST]),
	NUMBER("total_slow", total[SLOW]),
	NUMBER("used_fast", used[FAST]),
	NUMBER("used_slow", used[SLOW]),
	NUMBER("writes_fast", writes[FAST]),
	NUMBER("writes_slow", writes[SLOW]),
};

/* The part of a file between @from and @to. */
static char *between(const char *path, const char *from, const char *to)
{
	char *text = slurp(path), *begin, *end;

	begin = strstr(text, from);
	REQUIRE(begin, "%s has no \"%s\"", path, from);
	begin += strlen(from);
	end = strstr(begin, to);
	REQUIRE(end, "%s has no \"%s\" after that", path, to);
	*end = 0;
	memmove(text, begin, strlen(begin) + 1);
	return text;
}

static unsigned int split(char *text, struct field *f)
{
	unsigned int n = 0;
	char *at = text;

	for (; *(at += strspn(at, SEPARATORS)); n++) {
		size_t length = strcspn(at, SEPARATORS);

		REQUIRE(n < MAX_FIELDS && length < sizeof(f->name));
		snprintf(f[n].name, sizeof(f->name), "%.*s", (int)length, at);
		/* status.sh has a shorter word for one */
		if (!strcmp(f[n].name, "extent"))
			strcpy(f[n].name, "extent_sectors");
		at += length;
		f[n].end = *at == '/' ? '/' : ' ';
	}
	return n;
}

static bool is_word(const char *name)
{
	return !strcmp(name, "version") || !strcmp(name, "mode") || !strcmp(name, "replica");
}

/* A line with the fields in that order, each number another one, is read as these. */
static void check(const struct field *f, unsigned int nr, const char *whose)
{
	unsigned int i, k, found = 0;
	struct fusion_status st;
	char line[1024];
	const char *why;
	size_t n = 0;

	for (i = 0; i < nr; i++) {
		if (!strcmp(f[i].name, "version"))
			n += snprintf(line + n, sizeof(line) - n, "%u ", STATUS_VERSION);
		else if (is_word(f[i].name))
			n += snprintf(line + n, sizeof(line) - n, "%s ",
				      *f[i].name == 'm' ? "rw" : "ok");
		else
			n += snprintf(line + n, sizeof(line) - n, "%u%c", 100 + i, f[i].end);
	}
	snprintf(line + n, sizeof(line) - n, "0 -");
	why = fus_parse_status(line, &st);
	REQUIRE(!why, "%s: %s: %s", whose, why, line);
	for (i = 0; i < nr; i++) {
		for (k = 0; k < ARRAY_SIZE(numbers); k++) {
			if (strcmp(numbers[k].name, f[i].name))
				continue;
			found++;
			REQUIRE_EQ(*(u64 *)((char *)&st + numbers[k].offset), 100 + i);
		}
	}
	REQUIRE_EQ(found, ARRAY_SIZE(numbers));
	REQUIRE_EQ(nr, ARRAY_SIZE(numbers) + 3);
}

static void test_selftests(void)
{
	char *text = between("../selftests/lib/status.sh", "\nFIELDS=(", ")\n");
	struct field f[MAX_FIELDS];

	check(f, split(text, f), "status.sh");
	free(text);
}

static void test_reference(void)
{
	char *text = between("../../Documentation/reference/target.rst",
			     "\nStatus line\n===========\n\n::\n\n", "<#opts>");
	struct field f[MAX_FIELDS];
	bool in = false;

	/* "<used fast>" is called used_fast */
	for (char *c = text; *c; c++) {
		if (*c == '<' || *c == '>') {
			in = *c == '<';
			memmove(c, c + 1, strlen(c));
			c--;
		} else if (in && *c == ' ') {
			*c = '_';
		}
	}
	check(f, split(text, f), "target.rst");
	free(text);
}

/* What comes behind the settings, each if there is any. */
static void test_end(void)
{
	static const char begin[] = "6 rw 128 1/2 3/4 5/6 7/8 0 0 0 0 0 0 0 0 0 0 0 0 0 0/0 ok "
				    "0 0 0 0 0/0 0/0 0 0/0 - 0/0 0 -";
	static const struct {
		const char *text;
		uint64_t lost, partly, left;
		bool good;
	} end[] = {
		{ "", 0, 0, 0, true },
		{ " lost 12 3", 12, 3, 0, true },
		{ " homing 1 2 lost 3 3", 3, 3, 0, true },
		{ " lost 12 0 old fast 8:1 4 5 0", 12, 0, 4, true },
		{ " old fast 8:1 4 5 0", 0, 0, 4, true },
		{ " lost 12 3 log 0 0/1 7 ok", 12, 3, 0, true },
		{ " log 40", 0, 0, 0, false },
		{ " log 40 2/3", 0, 0, 0, false },
		{ " log 40 2/3 4", 0, 0, 0, false },
		{ " log 40 3/2 4 ok", 0, 0, 0, false },
		{ " log 40 2/3 4 full", 0, 0, 0, false },
		{ " log 40 2/3 4 ok lost 1 1", 0, 0, 0, false },
		{ " lost 12", 0, 0, 0, false },
		{ " lost 12 13", 0, 0, 0, false },
		{ " lost 12 3 4", 0, 0, 0, false },
		{ " old fast 8:1 4 5 0 lost 1 1", 0, 0, 0, false },
	};
	struct fusion_status st;
	char line[256];

	for (unsigned int i = 0; i < ARRAY_SIZE(end); i++) {
		snprintf(line, sizeof(line), "%s%s", begin, end[i].text);
		REQUIRE(!fus_parse_status(line, &st) == end[i].good, "%s", line);
		if (!end[i].good)
			continue;
		REQUIRE_EQ(st.lost, end[i].lost);
		REQUIRE_EQ(st.partly_lost, end[i].partly);
		REQUIRE_EQ(st.old.left, end[i].left);
		REQUIRE_EQ(st.logs, !!strstr(end[i].text, " log "));
	}
	snprintf(line, sizeof(line), "%s log 40 2/3 5 ok", begin);
	REQUIRE(!fus_parse_status(line, &st));
	REQUIRE_EQ(st.log_blocks, 40);
	REQUIRE_EQ(st.log_segments, 2);
	REQUIRE_EQ(st.log_most, 3);
	REQUIRE_EQ(st.log_drained, 5);
	REQUIRE(!st.log_stopped);
	snprintf(line, sizeof(line), "%s log 40 3/3 5 off", begin);
	REQUIRE(!fus_parse_status(line, &st) && st.log_off && !st.log_stopped);
	REQUIRE_EQ(st.copies, 0);
	snprintf(line, sizeof(line), "%s log 40 2/3 5 ok copies 7 8 9 old fast 8:1 4 5 0", begin);
	REQUIRE(!fus_parse_status(line, &st));
	REQUIRE(st.copies == 7 && st.copies_read == 8 && st.copies_made == 9 && st.old.left == 4);
	snprintf(line, sizeof(line), "%s log 40 2/3 5 ok copies 7 8", begin);
	REQUIRE(fus_parse_status(line, &st));
	snprintf(line, sizeof(line), "%s log 40 3/3 5 stopped", begin);
	REQUIRE(!fus_parse_status(line, &st) && st.log_stopped);
}

/* 100 % is all of it, and nothing less. */
static void test_percent(void)
{
	static const struct {
		uint64_t protected, on_fast;
		unsigned int percent;
	} of[] = {
		{ 0, 0, 100 }, { 0, 1, 0 }, { 1, 1, 100 }, { 1, 2, 50 }, { 2, 3, 66 },
		{ 999999, 1000000, 99 }, { 1, 1000000, 0 }, { 3, 2, 100 },
		{ UINT64_MAX - 1, UINT64_MAX, 99 }, { UINT64_MAX / 2, UINT64_MAX, 49 },
	};
	struct fusion_status st = { 0 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(of); i++) {
		st.protected = of[i].protected;
		st.on_fast = of[i].on_fast;
		REQUIRE_EQ(fus_status_protected(&st), of[i].percent);
	}
}

static const struct unit_test tests[] = {
	{ "status line: as the selftests read it", test_selftests },
	{ "status line: as the reference has it", test_reference },
	{ "status line: its end", test_end },
	{ "how much is protected, in percent", test_percent },
};

UNIT_TESTS(tests)
