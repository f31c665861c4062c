// SPDX-License-Identifier: GPL-2.0-only
/* The crash simulator's judge: what the replica may learn late. */
#include <stdarg.h>

#include "../sim/model.h"
#include "../sim/shim/misc.h"
#include "unit.h"

#define EXTENT		128U
#define SECTORS		(4 * EXTENT)

/* Shadows have tests of their own: here no time passes. */
u64 sim_now_ns(void)
{
	return 0;
}

/* model_explain() would use it. */
void sim_log(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
}

static u32 change(struct model *m, enum change kind, u32 sector, u32 nr)
{
	u32 number = model_issue(m, kind, sector, nr);

	model_complete(m, number, true, false);
	model_flushed(m, model_time(m));
	return number;
}

/* A model where extent 1 was written, and the replica knows. */
static struct model *written(u32 *number)
{
	struct model *m = model_new(SECTORS, EXTENT);

	*number = change(m, CHANGE_WRITE, EXTENT, EXTENT);
	model_replica_knows(m, 1);
	REQUIRE(!model_replica_may_lag(m, 1));
	return m;
}

static void test_discard(void)
{
	u32 number;
	struct model *m = written(&number);

	change(m, CHANGE_DISCARD, EXTENT, EXTENT);
	REQUIRE(model_replica_may_lag(m, 1));
	REQUIRE(!model_replica_may_lag(m, 2));
	model_replica_knows(m, 1);
	REQUIRE(!model_replica_may_lag(m, 1));
	REQUIRE(model_check_cut(m, EXTENT, model_stamp(number, EXTENT)));
	model_free(m);
}

/*
 * After the discard of a part the old data may be found, until a recovery that finds zeros
 * settles it; but not for a replica that has not been written since.
 */
static void test_discard_of_a_part(bool ends, bool known)
{
	static const u64 zeros[SECTORS];
	u32 number, discard;
	struct model *m = written(&number);

	discard = model_issue(m, CHANGE_DISCARD, EXTENT + 8, 8);
	if (ends)
		model_complete(m, discard, true, false);
	REQUIRE(!model_check_cut(m, EXTENT + 8, model_stamp(number, EXTENT + 8)));
	if (known) {
		model_flushed(m, model_time(m));
		model_replica_knows(m, 1);
	}
	model_rebase(m, zeros);
	REQUIRE(model_check_cut(m, EXTENT + 8, model_stamp(number, EXTENT + 8)));
	REQUIRE_EQ(model_replica_may_lag(m, 1), !known);
	REQUIRE(!model_replica_may_lag(m, 0));
	REQUIRE(!model_replica_may_lag(m, 2));
	model_replica_knows(m, 1);
	REQUIRE(!model_replica_may_lag(m, 1));
	model_free(m);
}

static void test_discarded_part(void)
{
	test_discard_of_a_part(true, false);
}

static void test_discarded_part_known(void)
{
	test_discard_of_a_part(true, true);
}

static void test_discarded_part_under_way(void)
{
	test_discard_of_a_part(false, false);
}

static const struct unit_test tests[] = {
	{ "a discarded extent", test_discard },
	{ "a discarded part of one, and a cut", test_discarded_part },
	{ "a discarded part of one that the replica knows of, and a cut",
	  test_discarded_part_known },
	{ "a part that is being discarded, and a cut", test_discarded_part_under_way },
};

UNIT_TESTS(tests)
