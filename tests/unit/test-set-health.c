// SPDX-License-Identifier: GPL-2.0-only
/* What is found about an open set whose landing log is off, as after a shrink that was killed. */
#include <string.h>

#include "unit.h"
#include "health.h"
#include "open-set.h"

static unsigned int nr;

static void take(void *ctx, enum health health, const char *text, const char *remedy)
{
	(void)ctx;
	if (!strstr(text, "landing log is off"))
		return;
	nr++;
	REQUIRE_EQ(health, HEALTH_NOTE);
	REQUIRE(strstr(remedy, "dmsetup message data 0 landing on"), "%s", remedy);
}

static unsigned int look(const struct set *set)
{
	nr = 0;
	fus_set_health(set, take, NULL);
	return nr;
}

static void test_log_off(void)
{
	struct set set = { .m.name = "data" };

	strcpy(set.st.mode, "rw");
	strcpy(set.st.replica, "ok");
	set.st.logs = true;
	REQUIRE_EQ(look(&set), 0);
	set.st.log_off = true;
	REQUIRE_EQ(look(&set), 1);
	/* a member is being replaced; that alone is told */
	set.old = 1;
	REQUIRE_EQ(look(&set), 0);
}

static const struct unit_test tests[] = {
	{ "health: a landing log that is off", test_log_off },
};

UNIT_TESTS(tests)
