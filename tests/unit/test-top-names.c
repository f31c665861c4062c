// SPDX-License-Identifier: GPL-2.0-only
/* fusionctl top: the file that has most of a range, and how the names pass a pipe. */
#include <errno.h>

#include "unit.h"

#include "top.h"

static struct cell cells[] = {
	{ .first = 0, .count = 4 }, { .first = 4, .count = 4 }, { .first = 8, .count = 2 },
};

static struct heat_map map = { .extents = 10, .nr = ARRAY_SIZE(cells), .cell = cells };
static struct top_names names;

static void add(u64 extent, u64 bytes)
{
	REQUIRE_EQ(top_names_extent(&names, extent, bytes), 0);
}

static void some_names(void)
{
	REQUIRE_EQ(top_names_begin(&names, &map), 0);
	top_names_file(&names, "a");
	add(0, 10);
	add(3, 10);
	top_names_file(&names, "b c\n");
	/* in pieces, by turns with another range */
	add(1, 15);
	add(4, 1);
	add(2, 6);
	top_names_file(&names, "d");
	add(0, 20);
	add(10, 1000);
	names.unread = 3;
}

static void require_some(void)
{
	const struct top_named *n = top_names_find(&names, &map, &cells[0]);

	REQUIRE(n && !strcmp(n->path, "b c\n"));
	REQUIRE_EQ(n->files, 3);
	n = top_names_find(&names, &map, &cells[1]);
	REQUIRE(n && !strcmp(n->path, "b c\n"));
	REQUIRE_EQ(n->files, 1);
	REQUIRE(!top_names_find(&names, &map, &cells[2]), "no file has any of it");
}

static void test_most(void)
{
	some_names();
	require_some();
	top_names_free(&names);
	REQUIRE(!top_names_find(&names, &map, &cells[0]));
}

/* The first one that has most stays; a later one has to have more. */
static void test_equal(void)
{
	REQUIRE_EQ(top_names_begin(&names, &map), 0);
	top_names_file(&names, "a");
	add(9, 7);
	top_names_file(&names, "b");
	add(9, 7);
	REQUIRE(!strcmp(top_names_find(&names, &map, &cells[2])->path, "a"));
	top_names_free(&names);
}

static void test_resized(void)
{
	struct cell grown[] = { { .first = 0, .count = 4 }, { .first = 4, .count = 4 },
				{ .first = 8, .count = 4 } };
	const struct heat_map larger = { .extents = 12, .nr = 3, .cell = grown };

	some_names();
	REQUIRE(!top_names_find(&names, &larger, &grown[0]));
	top_names_free(&names);
}

static void test_pipe(void)
{
	char *text, *damaged;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	some_names();
	REQUIRE_EQ(top_names_write(&names, f), 0);
	fclose(f);
	top_names_free(&names);
	REQUIRE_EQ(top_names_parse(text, size, &names), 0);
	require_some();
	REQUIRE_EQ(names.unread, 3);
	top_names_free(&names);
	/* cut off anywhere, or with more behind it */
	for (size_t i = 0; i < size; i++)
		REQUIRE_EQ(top_names_parse(text, i, &names), -EINVAL);
	damaged = calloc(1, size + 1);
	memcpy(damaged, text, size);
	REQUIRE_EQ(top_names_parse(damaged, size + 1, &names), -EINVAL);
	memcpy(damaged, "10 9999999 0", 13);
	REQUIRE_EQ(top_names_parse(damaged, size, &names), -EINVAL);
	free(damaged);
	free(text);
}

/* Before the first look at the heat. */
static void test_no_map(void)
{
	const struct heat_map none = { 0 };

	REQUIRE_EQ(top_names_begin(&names, &none), 0);
	top_names_file(&names, "a");
	add(0, 1);
	REQUIRE(!top_names_find(&names, &map, &cells[0]));
	top_names_free(&names);
}

static const struct unit_test tests[] = {
	{ "the file that has most of a range", test_most },
	{ "files that have as much as others", test_equal },
	{ "a set of another size", test_resized },
	{ "names on their way through a pipe", test_pipe },
	{ "no ranges", test_no_map },
};

UNIT_TESTS(tests)
