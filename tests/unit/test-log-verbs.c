// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verbs that would lose what is in a landing log refuse it, and write nothing; restore brings it
 * back. They refuse a journal that is too full as well.
 */
#include <json-c/json.h>

#include "dump.h"
#include "error.h"
#include "log-set.h"
#include "restore.h"
#include "verb.h"

static struct log_set l;

static char said[FUS_ERROR_TEXT * 2];
static bool warned;	/* of no room in the journal */

static void hear(const struct fus_error *e)
{
	snprintf(said, sizeof(said), "%s; %s", e->what, e->remedy);
	warned |= e->warning && strstr(e->what, "its journal has no room for what ");
}

static void refused(verb_fn *verb, struct args *a, const char *text)
{
	u8 *was[2];

	*said = 0;
	for (int dev = 0; dev < 2; dev++) {
		was[dev] = malloc(l.im.bytes[dev]);
		memcpy(was[dev], l.im.mem[dev], l.im.bytes[dev]);
	}
	REQUIRE(verb(a));
	REQUIRE(strstr(said, text), "'%s'", said);
	for (int dev = 0; dev < 2; dev++) {
		REQUIRE(!memcmp(was[dev], l.im.mem[dev], l.im.bytes[dev]));
		free(was[dev]);
	}
}

static struct landing_sum found(void)
{
	struct landing_sum sum;
	struct report r = { 0 };
	struct meta meta;

	log_set_look(&l, &meta);
	fus_meta_check(&meta, &r);
	REQUIRE(!r.count[LEVEL_ERROR], "%s", fus_report_worst(&r)->text);
	sum = r.landing;
	REQUIRE(sum.found);
	fus_report_free(&r);
	fus_meta_free(&meta);
	return sum;
}

/* A dump is written back over damaged metadata, with its log; or without, if that is not there. */
static void restored(struct args *a)
{
	const struct fusion_sb *sb = &l.im.side[FUSION_FAST].sb;
	const struct landing_sum was = found();
	struct landing_sum is;

	REQUIRE(was.entries);
	for (u32 i = 0; i < sb->map_blocks; i++)
		destroy(&l.im, FUSION_FAST, sb->map_start[FUSION_FAST][0] + i, ZEROED);
	for (u32 i = 0; i < sb->map_blocks; i++)
		destroy(&l.im, FUSION_FAST, sb->map_start[FUSION_FAST][1] + i, ZEROED);
	a->opt[OPT_FORCE] = NULL;
	REQUIRE(!cmd_restore(a), "%s", said);
	is = found();
	REQUIRE_EQ(is.entries, was.entries);
	REQUIRE_EQ(is.blocks, was.blocks);
	REQUIRE_EQ(is.at.seq, was.at.seq);
	memset(l.im.mem[FUSION_FAST] + FUSION_BLOCK_SIZE *
	       fusion_segment_blocknr(&l.g.sb, l.g.seg[0].slot, 0), 0x77, FUSION_BLOCK_SIZE);
	a->opt[OPT_FORCE] = NULL;
	refused(cmd_restore, a, "does not have the landing log of ");
	a->opt[OPT_FORCE] = "";
	REQUIRE(!cmd_restore(a));
	is = found();
	REQUIRE_EQ(is.entries, 0);
	REQUIRE_EQ(is.segments, 0);
}

/* A dump of the set, in a new file of this name. */
static void dump_to(char *path)
{
	const int fd = mkstemp(path);
	struct json_object *o = NULL;
	struct meta meta;

	REQUIRE(fd >= 0);
	close(fd);
	log_set_look(&l, &meta);
	REQUIRE(!dump_json(&meta, false, &o));
	fus_meta_free(&meta);
	REQUIRE(!json_object_to_file(path, o));
	json_object_put(o);
}

static void test_refused(void)
{
	char path[] = "/tmp/test-log.XXXXXX", *words[3];
	struct args a = { .n = 2, .word = words };

	log_set_make(&l, 40);
	log_set_fill(&l);
	log_set_finish(&l, true);
	words[0] = l.im.path[FUSION_FAST];
	words[1] = l.im.path[FUSION_SLOW];
	dump_to(path);

	fus_on_error(hear);
	a.opt[OPT_YES] = "";
	a.opt[OPT_FORCE] = "";
	REQUIRE(!cmd_repair(&a));
	refused(cmd_uuid, &a, "cannot be given another uuid while it has ");
	words[2] = words[1];
	words[1] = words[0];
	words[0] = path;
	a.n = 3;
	restored(&a);
	fus_on_error(NULL);
	log_set_free(&l);
	unlink(path);
}

/*
 * No extent has moved since a dump was made, but the log has got on. Restored metadata tells no
 * longer which dump it is from, so only the log says that the older one is.
 */
static void test_older_log(void)
{
	char older[] = "/tmp/test-log.XXXXXX", newer[] = "/tmp/test-log.XXXXXX", *words[3];
	struct args a = { .n = 3, .word = words };
	struct landing_sum was;

	log_set_make(&l, 41);
	log_set_fill(&l);
	log_set_finish(&l, true);
	dump_to(older);
	log_land(&l.g);
	log_set_record(&l);
	dump_to(newer);
	was = found();
	words[1] = l.im.path[FUSION_FAST];
	words[2] = l.im.path[FUSION_SLOW];

	fus_on_error(hear);
	a.opt[OPT_YES] = "";
	words[0] = older;
	refused(cmd_restore, &a, "its landing log ");
	words[0] = newer;
	for (int i = 0; i < 2; i++)
		REQUIRE(!cmd_restore(&a), "%s", said);
	words[0] = older;
	refused(cmd_restore, &a, "its landing log has changed since");
	REQUIRE_EQ(found().at.seq, was.at.seq);
	a.opt[OPT_FORCE] = "";
	REQUIRE(!cmd_restore(&a), "%s", said);
	/* and this one is the newer one now */
	words[0] = newer;
	a.opt[OPT_FORCE] = NULL;
	refused(cmd_restore, &a, "its landing log ");
	fus_on_error(NULL);
	log_set_free(&l);
	unlink(older);
	unlink(newer);
}

/* As full as the module never lets it be. */
static void fill_journal(struct image *im)
{
	struct image_side *fast = &im->side[FUSION_FAST], *slow = &im->side[FUSION_SLOW];

	while (fast->next_seq - fast->sb.replay_seq < fast->sb.journal_blocks[FUSION_FAST]) {
		if (slow->next_seq - slow->sb.replay_seq > slow->sb.journal_blocks[FUSION_SLOW] / 2)
			image_checkpoint(im, FUSION_SLOW, slow->sb.epoch, false);
		image_txn(im, 1);
	}
	REQUIRE_EQ(fast->next_seq - fast->sb.replay_seq, fast->sb.journal_blocks[FUSION_FAST]);
	REQUIRE(im->nr_open);
}

/* What repair and restore write would take the place of what counts until the end of that. */
static void test_no_room(void)
{
	char path[] = "/tmp/test-log.XXXXXX", *words[3];
	struct args a = { .n = 2, .word = words };
	struct report r = { 0 };
	struct meta meta;
	u64 at;

	log_set_make(&l, 42);
	fill_journal(&l.im);
	at = FUSION_SUPER_BLOCKNR(!(l.im.side[FUSION_FAST].sb.generation & 1));
	memset(l.im.mem[FUSION_FAST] + at * FUSION_BLOCK_SIZE + 100, 0x5a, 8);
	dump_to(path);

	fus_on_error(hear);
	a.opt[OPT_YES] = "";
	words[0] = l.im.path[FUSION_FAST];
	words[1] = l.im.path[FUSION_SLOW];
	refused(cmd_repair, &a, "its journal has no room for what is to be written beside what it "
		"has now");
	words[2] = words[1];
	words[1] = words[0];
	words[0] = path;
	a.n = 3;
	refused(cmd_restore, &a, "its journal has no room for what ");
	a.opt[OPT_FORCE] = "";
	warned = false;
	REQUIRE(!cmd_restore(&a), "%s", said);
	/* it may have been given for another reason */
	REQUIRE(warned);
	fus_on_error(NULL);
	log_set_look(&l, &meta);
	fus_meta_check(&meta, &r);
	REQUIRE(!r.count[LEVEL_ERROR], "%s", fus_report_worst(&r)->text);
	fus_report_free(&r);
	fus_meta_free(&meta);
	log_set_free(&l);
	unlink(path);
}

/* What dump_read() makes of a text, without white space; "" if it is refused. */
static const char *read_back(const char *text)
{
	char path[] = "/tmp/test-log.XXXXXX";
	struct json_object *o;
	static char got[256];
	const int fd = mkstemp(path);

	REQUIRE(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	*got = 0;
	if (!dump_read(path, &o))
		snprintf(got, sizeof(got), "%s", json_object_to_json_string_ext(o, 0));
	json_object_put(o);
	unlink(path);
	return got;
}

/* There may be millions of runs in the stale list, and restore needs none of them. */
static void test_runs_left_out(void)
{
	static const char *const same[] = {
		"{\"a\":[{\"b\":1}],\"runs\":[{\"c\":2}]}",
		"{\"stale_list\":null,\"x\":{\"runs\":[{\"c\":2}]}}",
		"{\"label\":\"\\\"stale_list\\\":{\",\"runs\":[{\"c\":2}]}",
		"{\"stale_list\":{\"runs\":[[1]]}}",
	};
	const char *got;

	for (unsigned int i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		got = read_back(same[i]);
		REQUIRE(!strcmp(got, same[i]), "%s", got);
	}
	got = read_back("{ \"stale_list\" : { \"time\": 5, \"runs\": [\n{ \"extent\": 1 },\n"
			"{ \"extent\": 2 } ] }, \"b\": [ 3 ] }");
	REQUIRE(!strcmp(got, "{\"stale_list\":{\"time\":5,\"runs\":[]},\"b\":[3]}"), "%s", got);
	REQUIRE(!*read_back("{ \"stale_list\": { \"runs\": [ { \"extent\": 1 }"));
	REQUIRE(!*read_back(""));
}

/* Behind more findings than a list has, the one that matters is counted, and named. */
static void test_many(void)
{
	struct report r = { 0 };

	for (u64 i = 0; i < 20000; i++)
		fus_report_add(&r, LEVEL_NOTE, FAST, i, "heat", "nothing is wrong");
	fus_report_add(&r, LEVEL_WARNING, SLOW, NO_BLOCK, FUS_STALE_LIST, "is damaged");
	REQUIRE_EQ(r.unrepaired, 0);
	REQUIRE(!strcmp(fus_report_worst(&r)->what, FUS_STALE_LIST));
	fus_report_add(&r, LEVEL_ERROR, FAST, 7, "map", "is wrong");
	fus_report_add(&r, LEVEL_WARNING, FAST, 8, "map", "is odd");
	REQUIRE_EQ(r.unrepaired, 2);
	REQUIRE_EQ(r.count[LEVEL_NOTE], 20000);
	REQUIRE_EQ(fus_report_worst(&r)->block, 7);
	REQUIRE(r.nr < 20000);
	fus_report_free(&r);
}

static const struct unit_test tests[] = {
	{ "log, verbs: what they refuse, and restore", test_refused },
	{ "log, verbs: restore of an older dump", test_older_log },
	{ "log, verbs: a journal without room for what is written", test_no_room },
	{ "log, verbs: what matters behind ten thousand findings", test_many },
	{ "log, verbs: restore leaves the runs of the stale list out", test_runs_left_out },
};

UNIT_TESTS(tests)
