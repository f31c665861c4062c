// SPDX-License-Identifier: GPL-2.0-only
/* What is found about the landing log of an open set. */
#include "unit.h"

#include "landing-health.h"
#include "status-parse.h"

static struct fusion_status st;
static struct log_stats counts;
static char text[512], remedy[512];
static unsigned int nr;

static void take(void *ctx, enum health health, const char *what, const char *todo)
{
	(void)ctx;
	(void)health;
	snprintf(text, sizeof(text), "%s", what);
	snprintf(remedy, sizeof(remedy), "%s", todo ?: "");
	nr++;
}

/* The worst of them; the last one is in text. */
static enum health look(void)
{
	nr = 0;
	*text = 0;
	return fus_landing_health("data", &st, &counts, take, NULL);
}

static void at_work(void)
{
	st = (struct fusion_status) {
		.logs = true, .log_blocks = 300, .log_segments = 10, .log_most = 40,
	};
	counts = (struct log_stats) { .known = true, .landed = 400 };
}

static void test_well(void)
{
	at_work();
	REQUIRE_EQ(look(), HEALTH_OK);
	REQUIRE_EQ(nr, 0);
	/* as after an update of the slow member that takes a moment */
	counts.unlisted_s = 60;
	REQUIRE_EQ(look(), HEALTH_OK);
	/* no log, or a module that does not count */
	counts.retry_s = 9;
	counts.known = false;
	REQUIRE_EQ(look(), HEALTH_OK);
	counts.known = true;
	st.logs = false;
	REQUIRE_EQ(look(), HEALTH_OK);
	REQUIRE_EQ(nr, 0);
}

static void test_waiting(void)
{
	at_work();
	counts.waiting = 1;
	REQUIRE_EQ(look(), HEALTH_NOTE);
	REQUIRE(!strcmp(text, "1 small write waits for room in its landing log, as the slow member "
			"does not take them as fast"), "%s", text);
	counts.waiting = 32;
	st.log_segments = 40;
	REQUIRE_EQ(look(), HEALTH_WARNING);
	REQUIRE(!strcmp(text, "32 small writes wait for room in its landing log, which is full, as "
			"the slow member does not take them as fast"), "%s", text);
	REQUIRE(strstr(remedy, "fusionctl landing data SIZE"), "%s", remedy);
	counts.waiting = 0;
	REQUIRE_EQ(look(), HEALTH_NOTE);
	REQUIRE(strstr(text, "is full, so small writes may go past it"), "%s", text);
	/* segments that are open ahead */
	st.log_blocks = 0;
	REQUIRE_EQ(look(), HEALTH_OK);
	REQUIRE_EQ(nr, 0);
}

static void test_stuck(void)
{
	at_work();
	counts.retry_s = 5;
	REQUIRE_EQ(look(), HEALTH_WARNING);
	REQUIRE(!strcmp(text, "blocks of its landing log cannot be copied to the slow member; the "
			"next attempt is in 5 s"), "%s", text);
	counts.unlisted_s = 600;
	REQUIRE_EQ(look(), HEALTH_WARNING);
	REQUIRE_EQ(nr, 2);
	counts.retry_s = 0;
	REQUIRE_EQ(look(), HEALTH_NOTE);
	REQUIRE(strstr(text, "so for 10 min its list of blocks"), "%s", text);
	REQUIRE(strstr(remedy, "fusionctl drain data"), "%s", remedy);
}

static void test_unwritten(void)
{
	at_work();
	counts.unlisted_s = 30;
	counts.unwritten = true;
	REQUIRE_EQ(look(), HEALTH_WARNING);
	REQUIRE_EQ(nr, 1);
	REQUIRE(!strcmp(text, "for 30 s the slow member's list of blocks that are newer in the "
			"landing log cannot be written: if the fast member is lost, it is not "
			"known which of them are out of date"), "%s", text);
	REQUIRE(strstr(remedy, "smartctl --all of the slow disk"), "%s", remedy);
	/* whatever else it does */
	counts.unlisted_s = 600;
	REQUIRE_EQ(look(), HEALTH_WARNING);
	REQUIRE_EQ(nr, 1);
}

static const struct unit_test tests[] = {
	{ "a landing log that is well", test_well },
	{ "writes that wait for a landing log", test_waiting },
	{ "a landing log that is not drained", test_stuck },
	{ "a stale list that cannot be written", test_unwritten },
};

UNIT_TESTS(tests)
