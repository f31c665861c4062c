// SPDX-License-Identifier: GPL-2.0-only
/*
 * A set with blocks in its landing log is repaired, with the power cut at any write: the log keeps
 * all that it has, before and after.
 */
#include "cut.h"
#include "error.h"
#include "log-set.h"
#include "verb.h"

#define BATCHES		5U
#define BLOCKS		2U		/* of each */

static struct log_set l;
static u8 *before[2];

static void keep(bool back)
{
	for (int dev = 0; dev < 2; dev++)
		memcpy(back ? (u8 *)l.im.mem[dev] : before[dev],
		       back ? before[dev] : (u8 *)l.im.mem[dev], l.im.bytes[dev]);
}

/* @landed batches are durable by the journal, and the others are found behind these. */
static void begin(u64 seed, u32 landed, bool closed)
{
	log_set_make_listed(&l, seed);
	for (u32 i = 0; i < BATCHES; i++) {
		log_batch(&l.g, BLOCKS);
		if (i + 1 == landed)
			log_land(&l.g);
	}
	log_set_write(&l);
	if (closed)
		image_close(&l.im);
	log_set_record(&l);
	for (int dev = 0; dev < 2; dev++)
		before[dev] = malloc(l.im.bytes[dev]);
}

static void end(void)
{
	free(before[FAST]);
	free(before[SLOW]);
	log_set_free(&l);
}

/* What the log has, and nothing is wrong with the set but what a cut may leave. */
static struct landing_sum look(bool clean)
{
	struct landing_sum sum;
	struct report r = { 0 };
	struct meta meta;

	log_set_open(&l, false, &meta);
	fus_meta_check(&meta, &r);
	REQUIRE(!r.count[LEVEL_ERROR], "%s: %s", fus_report_worst(&r)->what,
		fus_report_worst(&r)->text);
	for (u32 i = 0; i < r.nr && clean; i++)
		REQUIRE(r.f[i].level < LEVEL_WARNING || !strcmp(r.f[i].what, "stale list"),
			"%s: %s", r.f[i].what, r.f[i].text);
	sum = r.landing;
	fus_report_free(&r);
	fus_meta_free(&meta);
	return sum;
}

static void require_same(const struct landing_sum *a, const struct landing_sum *b)
{
	REQUIRE(a->found && b->found);
	REQUIRE_EQ(a->blocks, b->blocks);
	REQUIRE_EQ(a->segments, b->segments);
	REQUIRE_EQ(a->at.seq, b->at.seq);
	REQUIRE_EQ(a->at.segno, b->at.segno);
	REQUIRE_EQ(a->at.pos, b->at.pos);
}

static void require_map(void)
{
	const struct fusion_sb *fast;
	struct meta_state st;
	struct meta meta;

	log_set_open(&l, false, &meta);
	fast = fus_meta_sb(&meta, FAST);
	REQUIRE(!fus_state_init(&st, fast->nr_lexts));
	REQUIRE(fus_state_load(&meta, fast, &st, NULL));
	REQUIRE(!memcmp(st.word, l.im.word, st.nr_lexts * sizeof(*st.word)));
	REQUIRE_EQ(st.nr_open, l.im.nr_open);
	fus_state_free(&st);
	fus_meta_free(&meta);
}

/* As the verb does. Return: whether it was written whole. */
static bool repair(unsigned int writes)
{
	struct rebuild rb;
	struct meta meta;
	int rc;

	log_set_open(&l, true, &meta);
	REQUIRE(!fus_rebuild_state(&meta, FAST, &rb));
	REQUIRE(rb.exact);
	cut_at(writes);
	rc = fus_meta_write(&meta, &rb.st, true, rb.set, meta.m[FAST].heat);
	cut_over();
	REQUIRE(!rc || cut.dead);
	fus_rebuild_free(&rb);
	fus_meta_free(&meta);
	return !rc;
}

static void cut_each(u64 seed, u32 landed, bool closed)
{
	struct landing_sum was, is;
	unsigned int writes = 0;

	begin(seed, landed, closed);
	was = look(false);
	REQUIRE_EQ(was.entries, BATCHES * BLOCKS);
	keep(false);
	for (; !repair(writes); writes++)
		keep(true);
	is = look(true);
	require_same(&was, &is);
	require_map();
	for (unsigned int n = 0; n < 2 * writes; n++) {
		keep(true);
		cut.seed = n;
		REQUIRE(!repair(n % writes));
		is = look(false);
		require_same(&was, &is);
		REQUIRE(repair(~0U));
		is = look(true);
		require_same(&was, &is);
		require_map();
	}
	printf("# %u cuts\n", 2 * writes);
	end();
}

static void test_cut(void)
{
	cut_each(70, BATCHES, true);
}

/* After a crash, some batches are behind what the journal says. */
static void test_cut_crashed(void)
{
	cut_each(71, 2, false);
}

static void test_cut_nowhere(void)
{
	cut_each(72, 0, false);
}

static int run(verb_fn *verb, const char *option)
{
	char *words[2] = { l.im.path[FAST], l.im.path[SLOW] };
	struct args a = { .n = 2, .word = words };

	a.opt[OPT_YES] = "";
	a.opt[OPT_JSON] = option;
	return verb(&a);
}

/* The superblock copy that does not count is damaged. */
static void test_verb(void)
{
	struct landing_sum was, is;

	begin(73, 3, true);
	was = look(false);
	REQUIRE(destroy(&l.im, FAST, FUSION_SUPER_BLOCKNR(!(l.im.side[FAST].sb.generation & 1)),
			RANDOM));
	REQUIRE_EQ(run(cmd_repair, ""), 1);
	is = look(true);
	require_same(&was, &is);
	REQUIRE_EQ(run(cmd_repair, ""), 0);
	end();
}

static char said[512];

static void hear(const struct fus_error *e)
{
	snprintf(said, sizeof(said), "%s", e->what);
}

/* The map copy that counts is damaged: what it is rebuilt from does not tell of the log. */
static void test_refused(void)
{
	const struct fusion_sb *sb;

	begin(74, 3, true);
	sb = &l.im.side[FAST].sb;
	memset(l.im.mem[FAST] + sb->map_start[FAST][sb->active_set] * FUSION_BLOCK_SIZE, 0x55,
	       FUSION_BLOCK_SIZE);
	keep(false);
	fus_on_error(hear);
	REQUIRE(run(cmd_repair, NULL) > 1);
	fus_on_error(NULL);
	REQUIRE(strstr(said, "which repair cannot rebuild"), "%s", said);
	for (int dev = 0; dev < 2; dev++)
		REQUIRE(!memcmp(l.im.mem[dev], before[dev], l.im.bytes[dev]));
	end();
}

static const struct unit_test tests[] = {
	{ "log, repair: power is cut at each write", test_cut },
	{ "log, repair: the same of a set that has crashed", test_cut_crashed },
	{ "log, repair: the same before the log is durable anywhere", test_cut_nowhere },
	{ "log, repair: the verb", test_verb },
	{ "log, repair: a map that is damaged", test_refused },
};

UNIT_TESTS(tests)
