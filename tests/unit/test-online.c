// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets that are released while they are open, from the suspend to the resume: writes to a member
 * fail, once or from some point on. Whatever happens, the device gets a table that fits what is on
 * the members, or none. Power cuts are those of test-release.c.
 */
#include "online-dm.h"
#include "../../userspace/cmd/release-online.c"

/* -- a release --------------------------------------------------------------------------------- */

static struct member member[2];

/* What release-open.c would have found. */
static void look_at_open(struct online *o)
{
	struct meta meta;
	struct homing h = { .meta = &meta };
	int fd;

	open_meta(e, &meta);
	REQUIRE(!fus_homing_load(&h));
	fd = fus_window_open(&meta, &h.st);
	REQUIRE(fd >= 0 && !fus_probe_magics("window", fd, &o->r.content));
	o->r.size = fus_content_size(fd, &o->r.content, &o->r.content_bytes);
	close(fd);
	fus_homing_free(&h);
	forget(&meta);
}

static int run(enum outcome *outcome)
{
	struct online o = {
		.set = {
			.name = "data", .sb = made.sb,
			.table = { .devno = SET_DEVNO, .sectors = fusion_sb_sectors(&made.sb),
				   .target = "fusion", .params = (char *)"7:1 7:2" },
			.m = { &member[FAST], &member[SLOW] },
		},
		.keep = e->sectors[SLOW] << 9,
	};
	const int fd[2] = { world.fd[FAST], world.fd[SLOW] };
	int rc;

	look_at_open(&o);
	for (int dev = 0; dev < 2; dev++) {
		strcpy(member[dev].path, dev ? "slow" : "fast");
		member[dev].devno = dev ? SLOW_DEVNO : FAST_DEVNO;
		member[dev].sectors = e->sectors[dev];
		/* the verb closes its own */
		world.fd[dev] = dup(fd[dev]);
	}
	strcpy(dm.live, "fusion");
	dm.suspended = false;
	world.writes = 0;
	rc = do_rest(&o, outcome);
	world.fd[FAST] = fd[FAST];
	world.fd[SLOW] = fd[SLOW];
	return rc;
}

static void start(const struct example *of, u64 seed)
{
	struct meta meta;
	struct homing h = { .meta = &meta, .batch = of->batch };
	struct transit t = { 0 };
	struct fus_content c;

	e = of;
	world.fails.nr = 0;
	begin(e, seed);
	/* as the kernel leaves it */
	open_meta(e, &meta);
	h.t = &t;
	REQUIRE(!fus_homing_load(&h));
	look_at_set(e, &h, &c);
	REQUIRE(fus_release_plan(&t, fus_meta_sb(&meta, FAST), &c) && !fus_homing_plan(&h));
	REQUIRE(!fus_homing_run(&h, true));
	fus_homing_free(&h);
	forget(&meta);
	keep();
	dm.looks_left = ~0U;
	dm.refuse_linear = 0;
}

static void go_back_to_start(void)
{
	reset();
	world.fails.nr = 0;
	dm.looks_left = ~0U;
}

/* -- judging it -------------------------------------------------------------------------------- */

/* In transit: when the disk works again, it can be finished, or undone. */
static void require_either_way(bool back)
{
	struct transit t;
	enum transit_at at;

	reread(e, &t, &at);
	REQUIRE_EQ(at, TRANSIT_GONE);
	REQUIRE(!(back ? fus_release_undo(&t) : fus_release_finish(&t)), "%s",
		fus_last_error()->what);
	put_transit(&t);
	if (back)
		require_set(e, true);
	else
		require_plain(e);
}

static void judge(int rc, enum outcome outcome, bool once)
{
	switch (outcome) {
	case RELEASED:
		REQUIRE(!dm.suspended && !strcmp(dm.live, "linear"));
		require_plain(e);
		REQUIRE(rc || find(e) == FOUND_NOTHING);
		break;
	case STILL_A_SET:
	case TOO_MUCH:
		REQUIRE(rc || outcome == TOO_MUCH);
		REQUIRE(!dm.suspended && !strcmp(dm.live, "fusion"));
		require_set(e, false);
		break;
	case IN_BETWEEN:
		/* one error leaves a way */
		REQUIRE(rc && !once && dm.suspended);
		world.fails.nr = 0;
		require_either_way(rnd_below(&world.seed, 2));
		break;
	}
}

static unsigned int failures(int dev, unsigned int from, unsigned int nr, unsigned int seen[4])
{
	enum outcome outcome;
	int rc;

	go_back_to_start();
	world.fails.dev = dev;
	world.fails.from = from;
	world.fails.nr = nr;
	rc = run(&outcome);
	if (world.fails.from)
		return 0;		/* there are not so many */
	judge(rc, outcome, nr == 1);
	seen[outcome]++;
	return 1;
}

/* One says that it is larger than the disk. */
static bool fits(const struct example *of)
{
	return strcmp(of->type, "xfs");
}

/* -- tests ------------------------------------------------------------------------------------- */

static void test_whole(void)
{
	enum outcome outcome;

	for (unsigned int i = 0; i < ARRAY_SIZE(examples); i++) {
		if (!fits(&examples[i]))
			continue;
		start(&examples[i], i + 1);
		REQUIRE(!run(&outcome), "%s %s", fus_last_error()->subject, fus_last_error()->what);
		REQUIRE_EQ(outcome, RELEASED);
		judge(0, outcome, true);
		require_nothing(FAST, true);
		end();
	}
}

/* Each write of either member fails once. */
static void test_once(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(examples); i += 2) {
		unsigned int seen[4] = { 0 };

		if (!fits(&examples[i]))
			continue;
		start(&examples[i], i + 20);
		for (int dev = 0; dev < 2; dev++)
			for (unsigned int n = 0; failures(dev, n, 1, seen); n++)
				;
		REQUIRE(seen[STILL_A_SET] && seen[RELEASED] && !seen[IN_BETWEEN]);
		end();
	}
}

/* All writes of either member fail, from any one on. */
static void test_for_good(void)
{
	for (unsigned int i = 1; i < ARRAY_SIZE(examples); i += 2) {
		unsigned int seen[4] = { 0 };

		start(&examples[i], i + 40);
		for (int dev = 0; dev < 2; dev++)
			for (unsigned int n = 0; failures(dev, n, ~0U, seen); n++)
				;
		REQUIRE(seen[STILL_A_SET] && seen[RELEASED] && seen[IN_BETWEEN]);
		end();
	}
}

/* New writes have come between: nothing is written. */
static void test_too_much(void)
{
	enum outcome outcome;

	e = &examples[0];
	world.fails.nr = 0;
	begin(e, 70);
	dm.looks_left = ~0U;
	REQUIRE(!run(&outcome));
	REQUIRE_EQ(outcome, TOO_MUCH);
	REQUIRE_EQ(world.writes, 0);
	judge(0, outcome, true);
	end();
}

static void test_resumed(void)
{
	enum outcome outcome;

	start(&examples[0], 80);
	for (unsigned int looks = 0; looks < 2; looks++) {
		go_back_to_start();
		dm.looks_left = looks;
		REQUIRE_EQ(run(&outcome), FC_BUSY);
		REQUIRE_EQ(outcome, STILL_A_SET);
		REQUIRE(looks || !world.writes);
		require_set(e, true);
	}
	end();
}

static void test_refused_table(void)
{
	enum outcome outcome;

	start(&examples[0], 90);
	dm.refuse_linear = 1;
	REQUIRE(!run(&outcome));
	judge(0, outcome, true);
	go_back_to_start();
	dm.refuse_linear = 2;
	REQUIRE(run(&outcome));
	REQUIRE_EQ(outcome, IN_BETWEEN);
	REQUIRE(dm.suspended);
	require_plain(e);
	end();
}

static const struct unit_test tests[] = {
	{ "online release: the device leads to the disk", test_whole },
	{ "online release: a write fails once", test_once },
	{ "online release: a member fails", test_for_good },
	{ "online release: more has to move", test_too_much },
	{ "online release: someone resumes the set", test_resumed },
	{ "online release: the kernel refuses a table", test_refused_table },
};

UNIT_TESTS(tests)
