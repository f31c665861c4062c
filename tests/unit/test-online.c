// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets that are released while they are open, from the suspend to the resume: writes to a member
 * fail, once or from some point on. Whatever happens, the device gets a table that fits what is on
 * the members, or none. Or power fails: then it can be gone on with as with a closed set.
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
				   .target = "fusion", .params = strdup("7:1 7:2") },
			.m = { &member[FAST], &member[SLOW] },
		},
		.keep = e->sectors[SLOW] << 9,
	};
	const int fd[2] = { world.fd[FAST], world.fd[SLOW] };
	const bool reads_fail = dm.reads_fail;
	int rc;

	dm.reads_fail = false;
	look_at_open(&o);
	dm.reads_fail = reads_fail;
	o.r.meta.geo[SLOW].self_sectors = e->sectors[SLOW];
	o.r.meta.m[SLOW].o.path = "slow";
	for (int dev = 0; dev < 2; dev++) {
		strcpy(member[dev].path, dev ? "slow" : "fast");
		member[dev].devno = dev ? SLOW_DEVNO : FAST_DEVNO;
		member[dev].sectors = e->sectors[dev];
		/* the verb closes its own */
		world.fd[dev] = dup(fd[dev]);
	}
	world.writes = 0;
	rc = do_rest(&o, outcome);
	fus_dm_put(&o.set.table);
	world.fd[FAST] = fd[FAST];
	world.fd[SLOW] = fd[SLOW];
	return rc;
}

static u32 few;

static int until_few(void *ctx)
{
	const struct homing *h = ctx;

	return h->left && h->left <= few ? FC_BUSY : 0;
}

/* @left: extents that are not home, or fewer. */
static void start_with(const struct example *of, u64 seed, u32 left)
{
	struct meta meta;
	struct homing h = {
		.meta = &meta, .batch = min(of->batch, 8U), .may_write = until_few, .ctx = &h,
	};
	struct transit t = { 0 };
	struct fus_content c;

	few = left;
	e = of;
	world.fails.nr = 0;
	begin(e, seed);
	/* as the kernel leaves it */
	open_meta(e, &meta);
	h.t = &t;
	REQUIRE(!fus_homing_load(&h));
	look_at_set(e, &h, &c);
	REQUIRE(fus_release_plan(&t, fus_meta_sb(&meta, FAST), &c) && !fus_homing_plan(&h));
	REQUIRE_EQ(fus_homing_run(&h, true), left ? FC_BUSY : 0);
	fus_homing_free(&h);
	forget(&meta);
	keep();
	begin_dm();
}

static void start(const struct example *of, u64 seed)
{
	start_with(of, seed, 0);
}

static void go_back_to_start(void)
{
	reset();
	world.fails.nr = 0;
	begin_dm();
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

/* Return: whether @dev has vanished, after so many of its writes. */
static bool vanishes(int dev, unsigned int after, unsigned int seen[4])
{
	enum outcome outcome;
	int rc;

	go_back_to_start();
	world.fails.dev = dev;
	world.fails.from = after;
	world.fails.nr = ~0U;
	dm.reads_fail = true;
	rc = run(&outcome);
	if (world.fails.from)
		return false;
	/* it is back */
	world.fails.nr = 0;
	judge(rc, outcome, false);
	seen[outcome]++;
	return true;
}

/* Either member is gone, from any write on. The device leads to the disk once that is whole. */
static void test_vanished(void)
{
	unsigned int seen[4] = { 0 }, n;

	start(&examples[1], 51);
	for (n = 0; vanishes(FAST, n, seen); n++)
		;
	REQUIRE(seen[STILL_A_SET] && seen[RELEASED] && seen[IN_BETWEEN]);
	for (n = 0; vanishes(SLOW, n, seen); n += 3)
		;
	end();
}

/* New writes have come between: nothing is written. */
static void test_too_much(void)
{
	enum outcome outcome;

	e = &examples[0];
	world.fails.nr = 0;
	begin(e, 70);
	begin_dm();
	REQUIRE(!run(&outcome));
	REQUIRE_EQ(outcome, TOO_MUCH);
	REQUIRE_EQ(world.writes, 0);
	judge(0, outcome, true);
	end();
}

/* Whenever it is: from then on nothing is written. */
static void test_resumed(void)
{
	unsigned int looks = 0, wrote = 0;
	enum outcome outcome;

	start_with(&examples[0], 80, 40);
	/* the first ones, and some of those before each write */
	for (;; looks += 1 + looks / 8) {
		go_back_to_start();
		dm.looks_left = looks;
		if (!run(&outcome))
			break;
		REQUIRE_EQ(fus_last_error()->code, FC_BUSY);
		REQUIRE_EQ(outcome, STILL_A_SET);
		REQUIRE_EQ(world.writes, dm.writes);
		REQUIRE(looks || !world.writes);
		wrote += !!world.writes;
		require_set(e, false);
	}
	REQUIRE_EQ(outcome, RELEASED);
	REQUIRE(looks > 4 && wrote);
	end();
}

/* The members are slower than is assumed: it goes on as a set, unless it is in transit already. */
static void test_slow(void)
{
	unsigned int ended = 0, wrote = 0;
	enum outcome outcome;

	start_with(&examples[0], 88, 40);
	for (u64 step = ONLINE_LONGEST_MS + 1;; step = step * 4 / 5) {
		go_back_to_start();
		dm.step_ms = step;
		if (!run(&outcome))
			break;
		REQUIRE(strstr(fus_last_error()->what, "would wait for more than 60 s"));
		REQUIRE(outcome == STILL_A_SET && !dm.suspended && !strcmp(dm.live, "fusion"));
		REQUIRE(ended || !world.writes);
		wrote += !!world.writes;
		ended++;
		require_set(e, false);
	}
	REQUIRE_EQ(outcome, RELEASED);
	REQUIRE(ended > 4 && wrote);
	end();
}

/* A mapping on it that became larger, before the set is suspended, or at that moment. */
static void test_reach(void)
{
	enum outcome outcome;

	for (unsigned int i = 0; i < 2; i++) {
		start(&examples[0], 85);
		dm.reach[i] = e->sectors[SLOW] + 8;
		REQUIRE_EQ(run(&outcome), FC_REFUSED);
		REQUIRE_EQ(outcome, STILL_A_SET);
		REQUIRE(!world.writes && !dm.suspended && !strcmp(dm.live, "fusion"));
		REQUIRE(strstr(fus_last_error()->what, "/dev/mapper/top on it reaches to"));
		go_back_to_start();
		dm.reach[i] = e->sectors[SLOW];
		REQUIRE(!run(&outcome));
		REQUIRE_EQ(outcome, RELEASED);
		end();
	}
}

/* Another program has released it, or given it other members: it is not even suspended. */
static void test_other_table(void)
{
	enum outcome outcome;

	start(&examples[0], 87);
	strcpy(dm.live, "linear");
	dm.params = "7:2 0";
	REQUIRE_EQ(run(&outcome), FC_BUSY);
	REQUIRE(outcome == STILL_A_SET && !dm.held && !dm.suspended && !world.writes);
	go_back_to_start();
	dm.params = "7:1 7:22";
	REQUIRE_EQ(run(&outcome), FC_BUSY);
	REQUIRE(outcome == STILL_A_SET && !dm.held && !dm.suspended && !world.writes);
	end();
}

/* Just before the set is in transit, another machine opens it. */
static void test_other_machine(void)
{
	enum outcome outcome;
	unsigned int looks;

	start_with(&examples[0], 91, 40);
	REQUIRE(!run(&outcome));
	looks = dm.looks;
	go_back_to_start();
	dm.intruder = looks;
	REQUIRE_EQ(run(&outcome), FC_BUSY);
	REQUIRE(strstr(fus_last_error()->what, "by another machine"));
	REQUIRE(outcome == STILL_A_SET && !dm.suspended && world.writes == dm.writes);
	end();
}

/* A program that was waiting for the fast member takes it: nothing is written there. */
static void test_taken(void)
{
	enum outcome outcome;

	start(&examples[0], 89);
	dm.taken = true;
	REQUIRE_EQ(run(&outcome), FC_BUSY);
	REQUIRE_EQ(outcome, RELEASED);
	REQUIRE_EQ(world.writes, dm.writes);
	REQUIRE(!dm.suspended && !strcmp(dm.live, "linear"));
	require_plain(e);
	end();
}

/* -- power ------------------------------------------------------------------------------------- */

static void cut_at(unsigned int write)
{
	enum outcome outcome;
	unsigned int more = 0;

	go_back_to_start();
	power_on(write);
	dm.suspended = false;
	run(&outcome);
	REQUIRE(world.dead);
	while (!go_on(e, rnd_below(&world.seed, 2), more < 2 ? rnd_below(&world.seed, 60) : ~0U))
		more++;
	if (find(e) == FOUND_SET)
		REQUIRE(go_on(e, false, ~0U));
}

/* In each write from the suspend to the end, or in some of them. */
static void test_cut(void)
{
	enum outcome outcome;
	unsigned int all;

	for (unsigned int i = 0; i < ARRAY_SIZE(examples); i++) {
		if (!fits(&examples[i]))
			continue;
		/* in others, unmapped extents would not have their zeros yet */
		start_with(&examples[i], i + 60, examples[i].percent == 100 ? 40 : 0);
		REQUIRE(!run(&outcome));
		REQUIRE_EQ(outcome, RELEASED);
		all = world.writes;
		for (unsigned int n = i % 5; n < all; n += i == 3 ? 1 : 5)
			cut_at(n);
		end();
	}
}

/* -- tables ---------------------------------------------------------------------------------- */

static void test_refused_table(void)
{
	enum outcome outcome;

	start(&examples[0], 90);
	dm.refuse_linear = 5;
	REQUIRE(!run(&outcome));
	judge(0, outcome, true);
	REQUIRE(dm.slept_ms >= 1000);
	go_back_to_start();
	dm.refuse_linear = ~0U;
	REQUIRE(run(&outcome));
	REQUIRE(dm.slept_ms < 10000);
	REQUIRE_EQ(outcome, IN_BETWEEN);
	REQUIRE(dm.suspended);
	require_plain(e);
	end();
}

static const struct unit_test tests[] = {
	{ "online release: the device leads to the disk", test_whole },
	{ "online release: a write fails once", test_once },
	{ "online release: a member fails", test_for_good },
	{ "online release: a member vanishes", test_vanished },
	{ "online release: more has to move", test_too_much },
	{ "online release: another program resumes the set", test_resumed },
	{ "online release: the members are slow", test_slow },
	{ "online release: a mapping on it has grown", test_reach },
	{ "online release: another program has changed the set", test_other_table },
	{ "online release: another machine opens the set", test_other_machine },
	{ "online release: another program takes the fast member", test_taken },
	{ "online release: power fails, and again", test_cut },
	{ "online release: the kernel refuses a table", test_refused_table },
};

UNIT_TESTS(tests)
