// SPDX-License-Identifier: GPL-2.0-only
/*
 * The wait for a set that is released while it is open, and whose kernel moves its extents: it ends
 * when they are where they belong, and in any other case after a while, with a line that says why.
 */
#include "homeward-kernel.h"
#include "../../userspace/cmd/release-home.c"

static struct member member[2];

/* Bring @away extents to their place, and zero @blank others. */
static int bring(uint64_t away, uint64_t blank, void (*pass)(void))
{
	struct online o = {
		.set = { .name = "data", .m = { &member[FAST], &member[SLOW] } },
		.zero = true,
	};

	o.set.sb.extent_sectors = 2048;
	o.r.h.strays = away;
	o.r.h.blank = blank;
	strcpy(member[SLOW].path, "/dev/slow");
	memset(&kernel, 0, sizeof(kernel));
	strcpy(kernel.st.mode, "rw");
	strcpy(kernel.st.replica, "ok");
	strcpy(kernel.st.option[0].key, "duty");
	strcpy(kernel.st.option[0].value, "25");
	kernel.st.nr_options = 1;
	kernel.st.homing_away = away;
	kernel.st.homing_blank = blank;
	kernel.pass = pass;
	return online_bring_home(&o, false);
}

static void require_line(int rc, int code, const char *text)
{
	REQUIRE_EQ(rc, code);
	REQUIRE(strstr(fus_last_error()->what, text), "%s", fus_last_error()->what);
	REQUIRE(*fus_last_error()->remedy);
}

/* -- what happens ------------------------------------------------------------------------------ */

static void nothing(void)
{
}

static void one_by_one(void)
{
	if (kernel.st.homing_away)
		kernel.st.homing_away--;
	else if (kernel.st.homing_blank)
		kernel.st.homing_blank--;
}

/* Very slowly. */
static void now_and_then(void)
{
	if (!(kernel.slept_ms % 100000))
		one_by_one();
}

static void down_to_ten(void)
{
	if (kernel.st.homing_away > 10)
		one_by_one();
}

/* A load undoes what homing does. */
static void back_and_forth(void)
{
	kernel.st.homing_away += kernel.st.homing_away % 2 ? 1 : -1;
}

static void replica_fails(void)
{
	one_by_one();
	if (kernel.st.homing_away < 150)
		strcpy(kernel.st.replica, "failed");
}

static void slots_fail(void)
{
	one_by_one();
	if (kernel.st.homing_away >= 150)
		return;
	kernel.st.errors[SLOW]++;
	kernel.retired++;
}

/* Fast ones: the extents go elsewhere. */
static void fast_slots_fail(void)
{
	one_by_one();
	kernel.st.errors[FAST]++;
	kernel.retired++;
}

/* Reads: a copy is tried again. */
static void reads_fail(void)
{
	one_by_one();
	kernel.st.errors[SLOW]++;
}

static void mode_changes(void)
{
	strcpy(kernel.st.mode, "ro");
}

static void is_ended(void)
{
	kernel.st.homing = false;
}

static void interrupt(void)
{
	raise(SIGTERM);
}

/* -- tests ------------------------------------------------------------------------------------- */

static void test_all_home(void)
{
	REQUIRE(!bring(200, 20, one_by_one));
	REQUIRE(!strcmp(kernel.told, "homing on zero") && !kernel.st.homing_blank);
	/* until a few are left, for which nobody waits */
	REQUIRE(!bring(200, 0, now_and_then));
	REQUIRE_EQ(kernel.st.homing_away, 64);
	/* none that are worth it */
	REQUIRE(!bring(10, 10, nothing));
	REQUIRE(!*kernel.told);
}

/* A few that do not get there are moved while I/O waits. */
static void test_few_left(void)
{
	REQUIRE(!bring(200, 0, down_to_ten));
	REQUIRE_EQ(kernel.st.homing_away, 10);
}

static void test_no_progress(void)
{
	require_line(bring(200, 0, nothing), FC_FAILED, "200 extents have not come to their place, "
		     "and for 124 s none has");
	REQUIRE(kernel.slept_ms >= 124000 && kernel.slept_ms < 130000);
	require_line(bring(200, 0, back_and_forth), FC_FAILED, "have not come to their place");
}

static void test_failures(void)
{
	require_line(bring(200, 0, replica_fails), FC_REFUSED, "/dev/slow fails writes");
	require_line(bring(200, 0, slots_fail), FC_FAILED, "1 slots of its slow member /dev/slow "
		     "cannot be written");
	REQUIRE(kernel.slept_ms < 60000);
	REQUIRE(!bring(200, 0, fast_slots_fail));
	REQUIRE(!bring(200, 0, reads_fail));
	require_line(bring(200, 0, mode_changes), FC_FAILED, "is in mode ro");
	require_line(bring(200, 0, is_ended), FC_BUSY, "another program has ended that");
}

static void test_stopped(void)
{
	sigset_t before;

	hold_ending_signals(&before);
	require_line(bring(200, 0, interrupt), FC_FAILED, "was stopped");
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static void test_renamed(void)
{
	struct online o = { .set.name = "data" };

	memset(&kernel, 0, sizeof(kernel));
	online_leave(&o);
	REQUIRE(!strcmp(kernel.told, "homing off") && !strcmp(kernel.to, "other"));
}

static const struct unit_test tests[] = {
	{ "extents go home: all of them", test_all_home },
	{ "extents go home: a few are left", test_few_left },
	{ "extents go home: none does", test_no_progress },
	{ "extents go home: a member fails", test_failures },
	{ "extents go home: a signal ends it", test_stopped },
	{ "extents go home: the set is renamed", test_renamed },
};

UNIT_TESTS(tests)
