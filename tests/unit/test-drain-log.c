// SPDX-License-Identifier: GPL-2.0-only
/* The landing log of an open set is turned off for another table, and on again if that failed. */
#include <string.h>

#include "unit.h"
#include "drain-log.h"
#include "error.h"
#include "fusionctl.h"
#include "open-set.h"
#include "tell.h"

static struct {
	struct fusion_status st;
	int answer;		/* to the message: exit code */
} kernel;

int __wrap_fus_set_get(const char *name, struct set *set)
{
	REQUIRE(!strcmp(name, "data"));
	memset(set, 0, sizeof(*set));
	set->st = kernel.st;
	return 0;
}

int __wrap_fus_set_get_if_open(const char *name, struct set *set, bool *found)
{
	*found = true;
	return __wrap_fus_set_get(name, set);
}

void __wrap_fus_set_put(struct set *set)
{
	(void)set;
}

/* In the child. */
int __wrap_fus_send_message(const char *name, const char *msg, char **answer, char *reason,
			    size_t size)
{
	(void)answer;
	if (strcmp(name, "data") || strcmp(msg, "landing off"))
		return FC_USAGE;
	snprintf(reason, size, "it was sent");
	return kernel.answer;
}

/* An answer of FC_BUSY tells that there was a message. */
static int turn_off(bool logs, bool off, uint64_t blocks, int answer, bool *turned)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.st.logs = logs;
	kernel.st.log_off = off;
	kernel.st.log_blocks = blocks;
	kernel.answer = answer;
	*turned = false;
	return turn_log_off("data", "release", turned);
}

static void test_on(void)
{
	bool turned;

	REQUIRE_EQ(turn_off(true, false, 7, 0, &turned), 0);
	REQUIRE(turned);
	REQUIRE_EQ(turn_off(true, false, 0, 0, &turned), 0);
	REQUIRE(turned);
	REQUIRE_EQ(turn_off(true, false, 7, FC_BUSY, &turned), FC_BUSY);
	REQUIRE(!turned);
}

/* It stays off, whatever becomes of the other table. */
static void test_off(void)
{
	bool turned;

	REQUIRE_EQ(turn_off(true, true, 0, FC_BUSY, &turned), 0);
	REQUIRE(!turned);
	REQUIRE_EQ(turn_off(false, false, 0, FC_BUSY, &turned), 0);
	REQUIRE(!turned);
}

/* Another program turned it off, and waits until it is empty. */
static void test_drains(void)
{
	bool turned;

	REQUIRE_EQ(turn_off(true, true, 7, FC_BUSY, &turned), FC_BUSY);
	REQUIRE(!turned);
	REQUIRE_EQ(turn_off(true, true, 7, 0, &turned), 0);
	REQUIRE(!turned);
}

static const struct unit_test tests[] = {
	{ "landing log: turned off for another table", test_on },
	{ "landing log: it was off before", test_off },
	{ "landing log: it is off, and drains", test_drains },
};

UNIT_TESTS(tests)
