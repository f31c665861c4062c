// SPDX-License-Identifier: GPL-2.0-only
/* How long the I/O of a set in use may wait while it is released, and what is refused for that. */
#include <string.h>

#include "unit.h"

#include "error.h"
#include "release-online.h"

static void test_pause(void)
{
	struct online o = { .set.name = "data", .zero = true };
	struct fusion_sb *sb = &o.r.t.sb;

	/* 250 GB and 4 TB: the first 100 MiB, and 64 spares */
	sb->extent_sectors = 2048;
	sb->map_blocks = 4009;
	sb->journal_blocks[FAST] = 4096;
	sb->journal_blocks[SLOW] = 4096;
	sb->nr_fast_slots = 238000;
	sb->slow_first_slot = 100;
	sb->nr_slow_slots = 3900000;
	sb->transit.disk_sectors = 3900100ULL << 11;
	o.r.t.moved = 164;
	o.r.t.content = 3900100;
	REQUIRE(!online_check_pause(&o, &o.r));
	REQUIRE(online_pause_ms(&o.r, true) > 5000 && online_pause_ms(&o.r, true) < 25000);
	/* extents that have to make room one after the other */
	sb->nr_fast_slots = 228;
	REQUIRE_EQ(online_check_pause(&o, &o.r), FC_REFUSED);
	sb->nr_fast_slots = 238000;
	/* the set is smaller than the disk, of which the rest would be zeroed; or not */
	o.r.t.content -= 10000;
	REQUIRE_EQ(online_check_pause(&o, &o.r), FC_REFUSED);
	REQUIRE(strstr(fus_last_error()->what, "and 9.8G zeroed while it is suspended"));
	o.zero = false;
	REQUIRE(!online_check_pause(&o, &o.r));
	/* large extents */
	sb->extent_sectors = 65536;
	sb->transit.disk_sectors = 3900100ULL << 16;
	REQUIRE_EQ(online_check_pause(&o, &o.r), FC_REFUSED);
	REQUIRE(strstr(fus_last_error()->what, "as 5.1G have to be copied"));
}

static const struct unit_test tests[] = {
	{ "online release: the pause is bounded", test_pause },
};

UNIT_TESTS(tests)
