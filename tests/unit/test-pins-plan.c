// SPDX-License-Identifier: GPL-2.0-only
/* The extents that are pinned: conflicts, the limit, the messages to the kernel, and handles. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "unit.h"

#include "error.h"
#include "file-handle.h"
#include "fusionctl.h"
#include "pin.h"

#define EXTENTS	5000

static uint8_t want[EXTENTS], told[EXTENTS];
static unsigned int messages, most;

static struct pin_plan plan(uint64_t limit)
{
	memset(want, 0, sizeof(want));
	return (struct pin_plan) { .want = want, .extents = EXTENTS, .limit = limit };
}

static void test_conflict(void)
{
	struct pin_plan p = plan(2);

	REQUIRE_EQ(pin_extent(&p, FAST, 7), PIN_GRANTED);
	REQUIRE_EQ(pin_extent(&p, FAST, 7), PIN_GRANTED);
	REQUIRE_EQ(p.nr[FAST], 1);
	REQUIRE_EQ(pin_extent(&p, FAST, EXTENTS - 1), PIN_GRANTED);
	REQUIRE_EQ(pin_extent(&p, FAST, 8), PIN_REFUSED);
	REQUIRE_EQ(pin_extent(&p, SLOW, 7), PIN_OVERRULED);
	REQUIRE_EQ(pin_extent(&p, SLOW, 8), PIN_GRANTED);
	REQUIRE(p.nr[FAST] == 2 && p.nr[SLOW] == 1);
	REQUIRE(want[7] == FAST + 1 && want[8] == SLOW + 1 && !want[9]);
	p = plan(0);
	REQUIRE_EQ(pin_extent(&p, FAST, 0), PIN_REFUSED);
}

/* As the kernel reads it. */
static int take(void *ctx, const char *msg)
{
	char text[64 * PIN_RANGES], *rest = text, *word;
	const int member = *(int *)ctx;
	unsigned int nr = 0;
	uint64_t first, last;

	REQUIRE(strlen(msg) < sizeof(text));
	strcpy(text, msg);
	REQUIRE(!strcmp(strsep(&rest, " "), "pin"));
	REQUIRE(!strcmp(strsep(&rest, " "), member == FAST ? "fast" : "slow"));
	for (; (word = strsep(&rest, " ")); nr++) {
		int n = sscanf(word, "%lu-%lu", &first, &last);

		REQUIRE(n > 0);
		if (n == 1)
			last = first;
		REQUIRE(first <= last && last < EXTENTS);
		for (; first <= last; first++) {
			REQUIRE(!told[first]);
			told[first] = member + 1;
		}
	}
	REQUIRE(nr > 0 && nr <= PIN_RANGES);
	most = max(most, nr);
	messages++;
	return 0;
}

static void tell(struct pin_plan *p)
{
	memset(told, 0, sizeof(told));
	messages = 0;
	most = 0;
	for (int member = 0; member < 2; member++)
		REQUIRE(!pin_messages(p, member, take, &member));
	REQUIRE(!memcmp(want, told, sizeof(want)));
}

static void test_messages(void)
{
	struct pin_plan p = plan(EXTENTS);
	u64 seed = 3;

	tell(&p);
	REQUIRE_EQ(messages, 0);
	for (u64 i = 0; i < EXTENTS; i++)
		pin_extent(&p, FAST, i);
	tell(&p);
	REQUIRE_EQ(messages, 1);
	REQUIRE_EQ(most, 1);
	/* exactly as many ranges as one message has, and one more */
	p = plan(EXTENTS);
	for (u64 i = 0; i < PIN_RANGES; i++)
		pin_extent(&p, SLOW, 2 * i);
	tell(&p);
	REQUIRE(messages == 1 && most == PIN_RANGES);
	pin_extent(&p, SLOW, EXTENTS - 1);
	tell(&p);
	REQUIRE(messages == 2 && most == PIN_RANGES);
	for (int round = 0; round < 100; round++) {
		p = plan(rnd_below(&seed, EXTENTS));
		for (int member = 0; member < 2; member++)
			for (u64 n = rnd_below(&seed, EXTENTS); n; n--)
				pin_extent(&p, member, rnd_below(&seed, EXTENTS));
		tell(&p);
	}
}

static int refuse(void *ctx, const char *msg)
{
	(void)msg;
	++*(int *)ctx;
	return FC_FAILED;
}

static void test_refused(void)
{
	struct pin_plan p = plan(EXTENTS);
	int sent = 0;

	for (u64 i = 0; i < EXTENTS; i += 2)
		pin_extent(&p, FAST, i);
	REQUIRE_EQ(pin_messages(&p, FAST, refuse, &sent), FC_FAILED);
	REQUIRE_EQ(sent, 1);
}

static void test_states(void)
{
	struct pin_found f = { 0 };

	REQUIRE_EQ(pin_state_of(&f, FAST), PIN_COMPLETELY);
	f.on[SLOW] = 1;
	REQUIRE_EQ(pin_state_of(&f, FAST), PIN_NOT_YET);
	REQUIRE_EQ(pin_state_of(&f, SLOW), PIN_COMPLETELY);
	f.on[FAST] = 1;
	REQUIRE_EQ(pin_state_of(&f, FAST), PIN_PARTLY);
	REQUIRE_EQ(pin_state_of(&f, SLOW), PIN_PARTLY);
	f.refused = 1;
	REQUIRE_EQ(pin_state_of(&f, FAST), PIN_NO_ROOM);
}

static void test_answer(void)
{
	struct pins_in_force f;

	REQUIRE(pin_parse_answer("limit 900 fast 12 slow 3 begun 0", &f));
	REQUIRE(f.limit == 900 && f.nr[FAST] == 12 && f.nr[SLOW] == 3);
	REQUIRE(!pin_parse_answer("", &f));
	REQUIRE(!pin_parse_answer("limit x fast 12 slow 3", &f));
	REQUIRE(!pin_parse_answer("limit 1 fast 12", &f));
}

static void test_handles(void)
{
	static const char *const bad[] = {
		"", "1", ":", "1:", "1:0", "1:0g", "-1:00", "x:00", "99999999999:00", "1:0G",
	};
	char longer[FILE_HANDLE] = "1:";
	int dir = open("/tmp", O_RDONLY | O_DIRECTORY);

	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++)
		REQUIRE_EQ(fus_open_handle(dir, bad[i]), -EINVAL);
	memset(longer + 2, '0', 2 * 129);
	REQUIRE_EQ(fus_open_handle(dir, longer), -EINVAL);
	REQUIRE_EQ(fus_file_handle("/nonexistent", longer), -ENOENT);
	close(dir);
}

static const struct unit_test tests[] = {
	{ "pins: fast wins, within the limit", test_conflict },
	{ "pins: messages have what is wanted", test_messages },
	{ "pins: a refused message is the last", test_refused },
	{ "pins: how much is there", test_states },
	{ "pins: the kernel's answer", test_answer },
	{ "pins: handles that are none", test_handles },
};

UNIT_TESTS(tests)
