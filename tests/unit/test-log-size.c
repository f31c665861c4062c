// SPDX-License-Identifier: GPL-2.0-only
/* The size of a landing log as users write it, its bounds, and what a set cannot do with one. */
#include <fcntl.h>

#include "error.h"
#include "landing-size.h"
#include "log-set.h"
#include "new-set.h"
#include "scan.h"

/* 100 GiB and 1 TiB in extents of @sectors. */
static struct fusion_sb plan(u32 sectors)
{
	struct fusion_misfit misfit;
	struct fusion_sb sb = {};

	REQUIRE(!fusion_sb_plan(&sb, 100ULL << 21, 1ULL << 31, sectors, &misfit));
	return sb;
}

static void gives(const struct fusion_sb *sb, const char *text, u32 slots)
{
	u32 nr = ~0U;

	REQUIRE_EQ(fus_landing_slots(text, sb, &nr), 0);
	REQUIRE(nr == slots, "%s: %u", text, nr);
}

static void refuses(const struct fusion_sb *sb, const char *text, const char *what,
		    const char *remedy)
{
	u32 nr = ~0U;

	REQUIRE_EQ(fus_landing_slots(text, sb, &nr), FC_USAGE);
	REQUIRE(!strcmp(fus_last_error()->subject, text));
	REQUIRE(!strcmp(fus_last_error()->what, what), "%s", fus_last_error()->what);
	REQUIRE(!strcmp(fus_last_error()->remedy, remedy), "%s", fus_last_error()->remedy);
}

static void test_sizes(void)
{
	const struct fusion_sb sb = plan(2048);

	gives(&sb, "0", 0);
	gives(&sb, "0%", 0);
	gives(&sb, "0G", 0);
	gives(&sb, "8G", 8192);
	gives(&sb, "8.5G", 8704);
	gives(&sb, "4194305", 5);
	gives(&sb, "4M", FUS_MIN_LANDING);
	gives(&sb, "1%", sb.nr_fast_slots / 100);
	gives(&sb, "12.5%", sb.nr_fast_slots / 8);
}

static void test_bounds(void)
{
	static const char no_size[] = "not a size";
	static const char write[] = "write a landing log as 8G or 12%, or 0 for none";
	static const char small[] = "is too small for a landing log";
	struct fusion_sb sb = plan(2048), tiny = { };
	struct fusion_misfit misfit;
	char text[32];

	refuses(&sb, "much", no_size, write);
	refuses(&sb, "101%", no_size, write);
	refuses(&sb, "-1G", no_size, write);
	refuses(&sb, "", no_size, write);
	refuses(&sb, "1", small, "choose at least 4M, or 0 for none");
	refuses(&sb, "3M", small, "choose at least 4M, or 0 for none");
	refuses(&sb, "0.001%", small, "choose at least 4M, or 0 for none");
	refuses(&sb, "60G", "is more than the journal of the set can keep track of",
		"choose a landing log of at most 35.5G, or larger extents");
	REQUIRE_EQ(fusion_landing_limit(&sb), 36352);
	gives(&sb, "36352M", 36352);
	refuses(&sb, "36353M", "is more than the journal of the set can keep track of",
		"choose a landing log of at most 35.5G, or larger extents");
	REQUIRE(!fusion_sb_plan(&tiny, 128 << 11, 1 << 21, 2048, &misfit));
	refuses(&tiny, "100M", "is more than half of the fast member",
		"choose a landing log of at most 62M");
	gives(&tiny, "62M", 62);
	gives(&tiny, "50%", tiny.nr_fast_slots / 2);
	/* the bound of the module holds, whatever the numbers are */
	for (u32 i = 0; i < 9; i++) {
		sb = plan(FUSION_MIN_EXTENT_SECTORS << i);
		snprintf(text, sizeof(text), "%lluK", (unsigned long long)
			 fusion_landing_limit(&sb) * sb.extent_sectors / 2);
		gives(&sb, text, fusion_landing_limit(&sb));
		REQUIRE(!fusion_sb_plan_landing(&sb, fusion_landing_limit(&sb), &misfit));
	}
}

static struct log_set l;

/* The members can be opened, and what the kernel refuses with a log is refused before. */
static void test_members(void)
{
	enum member_state state;
	char text[SUPER_TEXT];
	struct fusion_sb sb;
	const char *why;
	int fd;

	log_set_make(&l, 50);
	log_set_write(&l);
	image_close(&l.im);
	log_set_record(&l);
	for (int dev = 0; dev < 2; dev++) {
		fd = open(l.im.path[dev], O_RDONLY);
		REQUIRE(fd >= 0);
		REQUIRE(!fus_super_read(fd, l.im.bytes[dev] >> 9, &state, &sb, &why, text));
		REQUIRE_EQ(state, MEMBER_OK);
		REQUIRE_EQ(sb.landing_slots, dev == FUSION_FAST ? LOG_SLOTS : 0);
		close(fd);
	}
	log_set_free(&l);
}

/* A new set whose slow member has no room for the list of what is in the log. */
static void test_new(void)
{
	const struct device dev[2] = {
		{ .path = "/dev/fast", .sectors = 4ULL << 21 },
		{ .path = "/dev/slow", .sectors = 96ULL << 11 },
	};
	struct fusion_sb sb;
	const u32 extent = FUSION_MIN_EXTENT_SECTORS;

	REQUIRE_EQ(new_set_plan("home", dev, extent, "1G", &sb), FC_USAGE);
	REQUIRE(strstr(fus_last_error()->what, "slow member is too small for a landing log"),
		"%s", fus_last_error()->what);
	REQUIRE(strstr(fus_last_error()->remedy, "smaller landing log"));
	REQUIRE_EQ(new_set_plan("home", dev, extent, "128M", &sb), 0);
	REQUIRE_EQ(sb.landing_slots, 2048);
	REQUIRE_EQ(sb.stale_places, 2048);
}

static const struct unit_test tests[] = {
	{ "log, size: as users write it", test_sizes },
	{ "log, size: bounds", test_bounds },
	{ "log, size: of a new set", test_new },
	{ "log, size: members with a log", test_members },
};

UNIT_TESTS(tests)
