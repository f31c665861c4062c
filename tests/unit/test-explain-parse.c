// SPDX-License-Identifier: GPL-2.0-only
/* fusionctl explain: the kernel's messages extents and policy, right and wrong. */
#include "unit.h"

#include "explain.h"
#include "fusionctl.h"

static const char *parse(const char *line, struct explain_extent *e)
{
	char text[200];

	snprintf(text, sizeof(text), "%s", line);
	return explain_parse_extent(text, e);
}

static void test_extent_lines(void)
{
	static const char *const bad[] = {
		"", "1", "1 slow 7 stable 3 4 - 0 - none", "x slow 7 stable 3 4 - 0 - none known",
		"1 other 7 stable 3 4 - 0 - none known", "1 slow - stable 3 4 - 0 - none known",
		"1 slow 7 liquid 3 4 - 0 - none known", "1 slow 7 stable 65536 4 - 0 - none known",
		"1 slow 7 stable -3 4 - 0 - none known", "1 slow 7 stable 3 x - 0 - none known",
		"1 slow 7 stable 3 4 why 0 - none known", "1 slow 7 stable 3 4 - - - none known",
		"1 slow 7 stable 3 4 - 0 x none known", "1 slow 7 stable 3 4 - 0 - some known",
		"1 slow 7 stable 3 4 - 0 - none unknown", "1 - 7 stable 3 4 - 0 - none known",
		"4294967296 slow 7 stable 3 4 - 0 - none known",
		"1 slow 7 stable 3 4 - 0 - none known both",
	};
	struct explain_extent e;

	REQUIRE(!parse("18211 slow 18211 stable 31 2202 failed 55 - none away", &e));
	REQUIRE(e.lext == 18211 && e.member == SLOW && e.slot == 18211 && e.heat == 31);
	REQUIRE(e.aged && e.age == 2202 && e.hold == HOLD_FAILED && e.hold_s == 55);
	REQUIRE(!e.partial && !strcmp(e.shadow, "none") && !strcmp(e.replica, "away"));
	REQUIRE(!parse("0 - - unmapped 0 - - 0 - none known", &e));
	REQUIRE(e.member == -1 && !e.aged && e.hold == NO_HOLD);
	/* of a newer module */
	REQUIRE(!parse("2 fast 0 open 4 0 leaves 0 12 none dirty - 0 more", &e) && !e.pin);
	REQUIRE(e.member == FAST && !e.slot && e.partial && e.valid == 12);
	REQUIRE_EQ(e.hold, HOLD_LEAVES);
	/* of an older one, and pinned */
	REQUIRE(!parse("2 fast 0 stable 4 0 - 0 - none dirty", &e) && !e.pin);
	REQUIRE(!parse("2 fast 0 stable 4 0 - 0 - none dirty fast", &e) && e.pin == FAST + 1);
	REQUIRE(!parse("2 fast 0 stable 4 0 - 0 - none dirty slow", &e) && e.pin == SLOW + 1);
	REQUIRE(!e.logs && !e.logged);
	/* of a set with a landing log */
	REQUIRE(!parse("2 slow 0 stable 4 0 - 0 - none dirty - 17", &e) && e.logs);
	REQUIRE_EQ(e.logged, 17);
	REQUIRE(!parse("2 slow 0 stable 4 0 - 0 - none dirty fast 0", &e) && e.logs && !e.logged);
	REQUIRE(parse("2 slow 0 stable 4 0 - 0 - none dirty - x", &e));
	REQUIRE(parse("2 slow 0 stable 4 0 - 0 - none dirty - ", &e));
	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++)
		REQUIRE(parse(bad[i], &e), "%s", bad[i]);
}

static const char policy_lines[] =
	"free_fast 9\nfree_slow 100\nreserve 5\nbatch 16\nidle 1\npause_ms 0\nbudget -3\n"
	"migration 1\nstandby 0\nhoming 0\nevacuate 0\nrequests 0\nstopped 0\nbar 44\nkth 12\n"
	"cold 3\npay 40\npay_shadowed 40\nshadowed 2\nshortfall 0\nleaving 0\nwrong 3000\n"
	"half_life_ms 3600000\naccess_fast_ns 80000\naccess_slow_ns -\nmove_ns -\ncandidates 1\n"
	"hottest 77\nhottest_swap 70\nvictims 3\ncoldest 2\nvictims_shadowed 0\n"
	"coldest_shadowed -\nnew 3\n";

/* The same with one word in the place of another, or without it. */
static const char *parse_with(const char *what, const char *instead, struct explain_policy *p)
{
	const char *at = strstr(policy_lines, what);
	char text[2048];

	REQUIRE(at, "%s", what);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - policy_lines), policy_lines, instead,
		 at + strlen(what));
	return explain_parse_policy(text, p);
}

static void test_policy_lines(void)
{
	struct explain_policy p;

	REQUIRE(!parse_with("new 3", "newer 4", &p));
	REQUIRE(p.env.free_fast == 9 && p.env.free_slow == 100 && p.env.reserve == 5);
	REQUIRE(p.env.idle && p.batch == 16 && p.limited && p.budget == -3);
	REQUIRE(p.migration && !p.standby && p.view.kth == 12 && p.view.cold == 3);
	REQUIRE(p.view.pay == 40 && p.view.nr_shadowed == 2 && p.view.access_ns[FAST] == 80000);
	REQUIRE(!p.view.access_ns[SLOW] && p.hottest == 77 && p.hottest_swap == 70);
	REQUIRE(p.victims[0] == 3 && p.coldest[0] == 2 && !p.victims[1]);
	REQUIRE(!parse_with("budget -3", "budget -", &p) && !p.limited);
	REQUIRE(parse_with("budget -3", "budget x", &p));
	REQUIRE(parse_with("budget -3\n", "", &p));
	REQUIRE(parse_with("cold 3\n", "", &p));
	REQUIRE(parse_with("cold 3", "cold -", &p));
	REQUIRE(parse_with("cold 3", "cold", &p));
	REQUIRE(parse_with("kth 12", "kth 65536", &p));
	REQUIRE(parse_with("idle 1", "idle 2", &p));
	REQUIRE(parse_with("hottest_swap 70", "hottest_swap 78", &p));
	REQUIRE(parse_with("coldest 2", "coldest -", &p));
	REQUIRE(parse_with("half_life_ms 3600000", "half_life_ms 0", &p));
}

static const struct unit_test tests[] = {
	{ "explain: the message extents", test_extent_lines },
	{ "explain: the message policy", test_policy_lines },
};

UNIT_TESTS(tests)
