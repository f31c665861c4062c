// SPDX-License-Identifier: GPL-2.0-only
/* Lines of tables that blocks are followed through, and the set of what has been counted. */
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "below.h"
#include "seen.h"
#include "unit.h"

static void test_parse(void)
{
	struct below_line line = { .length = 1000 };

	REQUIRE(fus_below_parse("linear", "8:1 2048", &line));
	REQUIRE_EQ(line.nr_legs, 1);
	REQUIRE_EQ(line.leg[0].devno, makedev(8, 1));
	REQUIRE_EQ(line.leg[0].sector, 2048);
	REQUIRE_EQ(line.chunk, 1000);
	REQUIRE(fus_below_parse("crypt", "aes-xts-plain64 :64:logon:x 0 253:7 32768 1 discard",
				&line));
	REQUIRE_EQ(line.nr_legs, 1);
	REQUIRE_EQ(line.leg[0].devno, makedev(253, 7));
	REQUIRE_EQ(line.leg[0].sector, 32768);
	REQUIRE(fus_below_parse("striped", "2 128 8:1 0 8:17 384", &line));
	REQUIRE(line.nr_legs == 2 && line.chunk == 128 && line.leg[1].sector == 384);
	REQUIRE(fus_below_parse("zero", "", &line) && !line.nr_legs);
	REQUIRE(fus_below_parse("error", "", &line) && !line.nr_legs);
}

static void test_malformed(void)
{
	static const char *const bad[][2] = {
		{ "linear", "" }, { "linear", "8:1" }, { "linear", "sda 0" }, { "linear", "8:1 x" },
		{ "crypt", "aes key" }, { "crypt", "aes key 0 8:1" }, { "striped", "0 128" },
		{ "striped", "2 128 8:1 0" }, { "striped", "2 0 8:1 0 8:2 0" },
		{ "striped", "17 8 8:1 0" }, { "thin", "253:1 0" }, { "raid", "raid1" },
		{ "snapshot", "8:1 8:2 P 8" }, { "", "" },
	};
	struct below_line line = { .length = 1000 };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		REQUIRE(!fus_below_parse(bad[i][0], bad[i][1], &line));
}

/* Sector by sector, as the kernel maps a stripe. */
static void test_stripes(void)
{
	struct below_line line = { .length = 3 * 40 + 17 };
	uint64_t sector, run, next[3] = { 100, 200, 300 };
	unsigned int leg;

	REQUIRE(fus_below_parse("striped", "3 8 8:0 100 8:1 200 8:2 300", &line));
	for (uint64_t at = 0; at < line.length; at++) {
		leg = fus_below_leg(&line, at, &sector, &run);
		REQUIRE(leg == at / 8 % 3);
		REQUIRE(sector == next[leg]++);
		REQUIRE(run == (line.length - at < 8 - at % 8 ? line.length - at : 8 - at % 8));
	}
}

#define SPAN	200000

/* Against an array: each number is new once, and runs are as long as they can be. */
static void test_seen(void)
{
	char *model = calloc(SPAN, 1);
	struct seen s = { 0 };
	uint64_t base[2] = { 5, 1ull << 50 }, nr, n;
	u64 state = 22;
	int is_new;

	REQUIRE(model);
	for (int i = 0; i < 3000; i++) {
		uint64_t first = rnd_below(&state, SPAN / 2 - 500);
		uint64_t count = rnd_below(&state, 500) + 1;
		const int far = rnd_below(&state, 2);
		char *m = model + far * (SPAN / 2);

		for (; count; first += nr, count -= nr) {
			for (n = 1; n < count && m[first + n] == m[first]; n++)
				;
			is_new = fus_seen_add(&s, base[far] + first, count, &nr);
			REQUIRE(is_new == !m[first] && nr == n);
			memset(m + first, 1, nr);
		}
	}
	fus_seen_free(&s);
	free(model);
}

static const struct unit_test tests[] = {
	{ "below: lines of tables", test_parse },
	{ "below: lines that are none", test_malformed },
	{ "below: stripes", test_stripes },
	{ "seen: as by an array", test_seen },
};

UNIT_TESTS(tests)
