// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb replace: NEW joins. With each table that the kernel takes back, the landing log is on again,
 * and a table with an old member is refused while the log has anything.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "unit.h"
#include "dm.h"
#include "drain-log.h"
#include "error.h"
#include "fusionctl.h"
#include "pausing.h"
#include "record.h"
#include "replace.h"
#include "tell.h"

static struct {
	bool log_off;
	unsigned int busy;	/* so many more attempts find too many partial extents */
	unsigned int tables, settled, turned_on;
	int stays_on;		/* the log cannot be emptied: exit code */
	int refuses;		/* -errno: no table is taken, and the set stays as it is */
	char next[256];		/* the table that was tried last */
} kernel;

int __wrap_replace_look(struct replacing *r)
{
	(void)r;
	return 0;
}

int __wrap_fus_run_lock(const char *path, int *lock)
{
	(void)path;
	*lock = -1;
	return 0;
}

void __wrap_fus_run_unlock(int *lock)
{
	(void)lock;
}

int __wrap_fus_dm_get_set(const char *name, enum mapping_info what, struct mapping *m)
{
	REQUIRE(!strcmp(name, "data") && what == MAPPING_TABLE);
	memset(m, 0, sizeof(*m));
	m->params = (char *)"8:1 8:2 2 duty 25";
	return 0;
}

void __wrap_fus_dm_put(struct mapping *m)
{
	(void)m;
}

int __wrap_fus_dm_exchange(const char *name, struct dm_exchange *x)
{
	REQUIRE(!strcmp(name, "data") && x->back);
	kernel.tables++;
	snprintf(kernel.next, sizeof(kernel.next), "%s", x->next->params);
	if (kernel.refuses)
		return kernel.refuses;
	if (kernel.log_off && !kernel.busy)
		return 0;
	kernel.busy -= !!kernel.busy;
	/* the table that was there before */
	kernel.log_off = false;
	return -EAGAIN;
}

int __wrap_pausing_begin(struct pausing *p, size_t bytes)
{
	(void)p;
	(void)bytes;
	return 0;
}

void __wrap_pausing_reason(struct pausing *p, char *reason)
{
	(void)p;
	*reason = 0;
}

void __wrap_pausing_end(struct pausing *p, bool stays)
{
	(void)p;
	REQUIRE(!stays);
}

int __wrap_turn_log_off(const char *name, const char *verb, bool *turned)
{
	REQUIRE(!strcmp(name, "data") && !strcmp(verb, "replace"));
	*turned |= !kernel.stays_on && !kernel.log_off;
	kernel.log_off = !kernel.stays_on;
	return kernel.stays_on;
}

void __wrap_turn_log_on(const char *name)
{
	REQUIRE(!strcmp(name, "data"));
	kernel.turned_on++;
	kernel.log_off = false;
}

int __wrap_fus_send_message(const char *name, const char *msg, char **answer, char *reason,
			    size_t size)
{
	(void)reason;
	(void)size;
	REQUIRE(!strcmp(name, "data") && !strcmp(msg, "settle"));
	kernel.settled++;
	*answer = NULL;
	return 0;
}

int __wrap_nanosleep(const struct timespec *t, struct timespec *rest)
{
	(void)t;
	(void)rest;
	return 0;
}

static int join_it(void)
{
	struct replacing r = {
		.name = "data", .role = SLOW,
		.set = { .member = { makedev(8, 1), makedev(8, 2) } },
		.disk = {
			[OLD] = { .path = "/dev/old", .devno = makedev(8, 2) },
			[NEW] = { .path = "/dev/new", .devno = makedev(8, 3) },
		},
	};

	r.set.st.open = 70;
	r.set.st.logs = true;
	return replace_join(&r);
}

static int join(unsigned int busy, int stays_on)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.busy = busy;
	kernel.stays_on = stays_on;
	return join_it();
}

static void test_joins(void)
{
	for (unsigned int busy = 0; busy < 5; busy++) {
		REQUIRE_EQ(join(busy, 0), 0);
		REQUIRE_EQ(kernel.tables, busy + 1);
		REQUIRE_EQ(kernel.settled, busy + 1);
		REQUIRE_EQ(kernel.turned_on, 0);
		REQUIRE(!strcmp(kernel.next, "8:1 8:3 4 duty 25 old_slow 8:2"), "%s", kernel.next);
	}
}

static void test_keeps_busy(void)
{
	REQUIRE_EQ(join(1000, 0), FC_FAILED);
	REQUIRE(strstr(fus_last_error()->what, "/dev/new cannot join"), "%s",
		fus_last_error()->what);
	REQUIRE_EQ(kernel.tables, 20);
	REQUIRE(!kernel.log_off);
}

/* The set is not paused for nothing. */
static void test_log_stays(void)
{
	REQUIRE_EQ(join(0, FC_BUSY), FC_FAILED);
	REQUIRE_EQ(kernel.tables, 0);
}

/* Whoever had it off, has it off afterwards. */
static void test_log_as_before(void)
{
	for (int off = 0; off < 2; off++) {
		memset(&kernel, 0, sizeof(kernel));
		kernel.refuses = -EIO;
		kernel.log_off = off;
		REQUIRE_EQ(join_it(), FC_FAILED);
		REQUIRE_EQ(kernel.turned_on, !off);
	}
}

static const struct unit_test tests[] = {
	{ "replace: the log is off at each attempt", test_joins },
	{ "replace: a set that stays busy", test_keeps_busy },
	{ "replace: a log that cannot be emptied", test_log_stays },
	{ "replace: the log is as before after a failure", test_log_as_before },
};

UNIT_TESTS(tests)
