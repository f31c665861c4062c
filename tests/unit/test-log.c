// SPDX-License-Identifier: GPL-2.0-only
/*
 * What check and dump say of a set with a landing log.
 */
#include "dump.h"
#include "error.h"
#include "log-set.h"
#include "printed.h"

static struct log_set l;

static void begin(u64 seed)
{
	log_set_make(&l, seed);
	log_set_fill(&l);
}

static void check(struct report *r)
{
	struct meta meta;

	memset(r, 0, sizeof(*r));
	log_set_look(&l, &meta);
	fus_meta_check(&meta, r);
	fus_meta_free(&meta);
}

/* Different blocks in all batches, all of which are live. */
static u64 blocks(void)
{
	u64 nr = 0;

	for (u32 i = 0; i < l.g.nr_entries; i++) {
		const struct fusion_entry *a = &l.g.entry[i].entry;
		bool found = false;

		for (u32 k = 0; k < i && !found; k++)
			found = l.g.entry[k].entry.lext == a->lext &&
				l.g.entry[k].entry.block == a->block;
		nr += !found;
	}
	return nr;
}

/* -- a log without a fault ----------------------------------------------------------------- */

static void expect_good(const struct report *r)
{
	const struct finding *worst = fus_report_worst(r);
	const struct kept_batch *last = &l.g.batch[l.g.nr_batches - 1];
	const struct landing_sum *sum = &r->landing;

	REQUIRE(!r->count[LEVEL_ERROR] && !r->count[LEVEL_WARNING], "%s: %s", worst->what,
		worst->text);
	REQUIRE(sum->found);
	REQUIRE_EQ(sum->segments, LOG_SEGMENTS);
	REQUIRE_EQ(sum->entries + sum->void_entries, l.g.nr_entries);
	REQUIRE_EQ(sum->at.seq, last->seq);
	REQUIRE_EQ(sum->at.csum, last->csum);
	log_advance(&l.g);
	REQUIRE_EQ(sum->at.segno, l.g.seg[l.g.cur].segno);
	REQUIRE_EQ(sum->at.pos, l.g.pos);
}

static void test_good(void)
{
	struct report r;

	for (u64 seed = 1; seed <= 20; seed++) {
		begin(seed);
		if (seed % 3)
			log_summary(&l.g, 0);
		log_set_finish(&l, seed % 2);
		check(&r);
		expect_good(&r);
		REQUIRE_EQ(r.landing.void_entries, 0);
		REQUIRE_EQ(r.landing.blocks, blocks());
		fus_report_free(&r);
		log_set_free(&l);
	}
}

/* Nothing was ever recorded, or there are no segments any more. */
static void test_empty(void)
{
	struct report r;

	log_set_make(&l, 7);
	for (int i = 0; i < 2; i++) {
		check(&r);
		REQUIRE(!r.count[LEVEL_ERROR] && r.landing.found);
		REQUIRE_EQ(r.landing.segments, 0);
		REQUIRE_EQ(r.landing.blocks, 0);
		REQUIRE_EQ(r.landing.at.seq, i ? 1000 : 0);
		fus_report_free(&r);
		for (u32 k = 0; k < LOG_SEGMENTS; k++) {
			const struct fusion_record rec[] = {
				{ .op = FUSION_OP_SEGMENT, .segment = l.g.seg[k] },
				{ .op = FUSION_OP_LANDED, .landed = l.g.from },
				{ .op = FUSION_OP_SEGFREE, .segment = l.g.seg[k] },
			};

			image_records(&l.im, FUSION_FAST, rec, ARRAY_SIZE(rec));
		}
	}
	log_set_free(&l);
}

static void record(u32 op, const struct fusion_segment *seg)
{
	const struct fusion_record rec = { .op = op, .segment = *seg };

	image_records(&l.im, FUSION_FAST, &rec, 1);
}

/* A segment counts as it was recorded last; a SEGFREE of an earlier one in its slot is void. */
static void test_last_record(void)
{
	struct fusion_segment stale, earlier;
	struct report r;
	u8 none[4] = { 0 };

	begin(8);
	stale = l.g.seg[1];
	stale.live = none;
	stale.end = 0;
	earlier = l.g.seg[2];
	earlier.segno--;
	record(FUSION_OP_SEGMENT, &stale);
	log_set_finish(&l, false);
	record(FUSION_OP_SEGFREE, &earlier);
	check(&r);
	expect_good(&r);
	REQUIRE_EQ(r.landing.void_entries, 0);
	fus_report_free(&r);
	log_set_free(&l);
}

/* Power has failed while the last batch was written. */
static void test_torn(void)
{
	struct kept_batch *last;
	struct report r;

	begin(9);
	last = &l.g.batch[l.g.nr_batches - 1];
	memset(log_block(&l.g, last->seg, last->pos + last->count), 0x77, FUSION_BLOCK_SIZE);
	l.g.nr_batches--;
	l.g.nr_entries = last[-1].nr_entries;
	l.g.cur = last->seg;
	l.g.pos = last->pos;
	log_set_finish(&l, false);
	check(&r);
	expect_good(&r);
	fus_report_free(&r);
	log_set_free(&l);
}

/* INV18: of an extent that has been promoted or discarded, no block counts. */
static void test_void(void)
{
	u32 on_fast[LOG_LEXTS];
	struct report r;

	log_set_make(&l, 10);
	l.g.lexts = on_fast;
	l.g.nr_lexts = log_extents(&l.im, FUSION_FAST, FUSION_STABLE, on_fast);
	for (u32 i = 0; i < l.im.side[0].sb.nr_lexts && l.g.nr_lexts < LOG_LEXTS; i++)
		if (!fusion_word_mapped(l.im.word[i]))
			on_fast[l.g.nr_lexts++] = i;
	log_set_fill(&l);
	log_set_finish(&l, false);
	check(&r);
	expect_good(&r);
	REQUIRE_EQ(r.landing.entries, 0);
	REQUIRE_EQ(r.landing.blocks, 0);
	fus_report_free(&r);
	log_set_free(&l);
}

/* -- damage -------------------------------------------------------------------------------- */

static void lose_header(void)
{
	memset(log_block(&l.g, 0, l.g.batch[1].pos), 0, FUSION_BLOCK_SIZE);
}

/* The first batch behind LANDED was flushed, as a later one says. */
static void lose_flushed(void)
{
	const u32 first = 5;

	log_flush(&l.g);
	log_batch(&l.g, 1);
	memset(log_block(&l.g, l.g.batch[first].seg, l.g.batch[first].pos), 0, FUSION_BLOCK_SIZE);
}

static void use_slot_of_extent(void)
{
	u32 lext[LOG_LEXTS];

	REQUIRE(log_extents(&l.im, FUSION_FAST, FUSION_STABLE, lext));
	l.g.seg[LOG_SEGMENTS - 1].slot = fusion_word_slot(l.im.word[lext[0]]);
}

static void keep_few_slots(void)
{
	l.im.side[FUSION_FAST].sb.landing_slots = LOG_SEGMENTS - 1;
	l.im.side[FUSION_FAST].sb.generation++;
	image_super(&l.im, FUSION_FAST);
	l.im.side[FUSION_FAST].sb.generation++;
	image_super(&l.im, FUSION_FAST);
}

static void log_to_partial(void)
{
	u32 lext[LOG_LEXTS];

	l.g.nr_lexts = log_extents(&l.im, FUSION_SLOW, FUSION_OPEN, lext);
	REQUIRE(l.g.nr_lexts);
	l.g.lexts = lext;
	log_batch(&l.g, 1);
}

static void same_number(void)
{
	l.g.seg[LOG_SEGMENTS - 1].segno--;
}

static void no_end(void)
{
	REQUIRE(l.g.from.segno != l.g.seg[0].segno);
	l.g.seg[0].end = 0;
}

static void not_there(void)
{
	l.g.from.csum++;
}

static void later_epoch(void)
{
	l.g.sb.epoch++;
	log_batch(&l.g, 1);
}

static void test_damage(void)
{
	static const struct {
		void (*damage)(void);
		const char *what, *text;
	} cases[] = {
		{ lose_header, "landing log", "a batch that was durable is missing (segment 77, " },
		{ lose_flushed, "landing log", "a batch that was durable is missing (segment " },
		{ use_slot_of_extent, "slot", "segment 82 of the landing log lies on a slot of" },
		{ keep_few_slots, "landing log", "has 6 segments, more than the 5 slots" },
		{ log_to_partial, "landing log", "which is partial" },
		{ same_number, "landing log", "two segments of the landing log have the same" },
		{ no_end, "landing log", "a segment was left, but not where it ends" },
		{ not_there, "landing log", "the chain of batches is broken" },
		{ later_epoch, "landing log", "of a later opening" },
	};
	const struct finding *worst;
	struct report r;

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		begin(20);
		log_batch(&l.g, 14);
		log_land(&l.g);
		log_batch(&l.g, 1);
		cases[i].damage();
		log_set_finish(&l, false);
		check(&r);
		worst = fus_report_worst(&r);
		REQUIRE(r.count[LEVEL_ERROR] == 1 && !r.count[LEVEL_WARNING], "%u: %u", i,
			r.count[LEVEL_ERROR]);
		REQUIRE(!strcmp(worst->what, cases[i].what), "%u: %s", i, worst->what);
		REQUIRE(strstr(worst->text, cases[i].text), "%u: %s", i, worst->text);
		REQUIRE_EQ(worst->dev, FUSION_FAST);
		fus_report_free(&r);
		log_set_free(&l);
	}
}

/* -- what is printed ----------------------------------------------------------------------- */

static u64 number(struct json_object *o, const char *key)
{
	return json_object_get_int64(field(o, key));
}

static void test_check_prints(void)
{
	char *word[2], *text, wanted[256];
	const struct kept_batch *last;
	struct json_object *o;

	begin(30);
	log_set_finish(&l, true);
	log_advance(&l.g);
	last = &l.g.batch[l.g.nr_batches - 1];
	word[0] = l.im.path[FUSION_FAST];
	word[1] = l.im.path[FUSION_SLOW];
	text = printed(cmd_check, word, 2, false);
	snprintf(wanted, sizeof(wanted), "has a landing log: %llu blocks in 6 segments are newer "
		 "than those of the slow member; it ends with batch %llu, in segment %llu, block "
		 "%u\n", (unsigned long long)blocks(), (unsigned long long)last->seq,
		 (unsigned long long)l.g.seg[l.g.cur].segno, l.g.pos);
	REQUIRE(strstr(text, wanted), "%s, not %s", text, wanted);
	REQUIRE(strstr(text, "has no list of these blocks on the slow member: "), "%s", text);
	free(text);
	text = printed(cmd_check, word, 2, true);
	o = json_tokener_parse(text);
	REQUIRE_EQ(number(field(o, "landing"), "blocks"), blocks());
	REQUIRE_EQ(number(field(o, "landing"), "entries"), l.g.nr_entries);
	REQUIRE_EQ(number(field(o, "landing"), "batch"), last->seq);
	json_object_put(o);
	free(text);
	log_set_free(&l);
}

static void expect_segments(struct json_object *landing)
{
	struct json_object *list = field(landing, "segments"), *one;
	u32 slot = 0;

	REQUIRE_EQ(number(landing, "slots"), LOG_SLOTS);
	REQUIRE_EQ(number(field(landing, "landed"), "batch"), l.g.from.seq);
	REQUIRE_EQ(number(field(landing, "landed"), "segment"), l.g.from.segno);
	REQUIRE_EQ(number(field(landing, "landed"), "block"), l.g.from.pos);
	REQUIRE_EQ(json_object_array_length(list), LOG_SEGMENTS);
	for (u32 i = 0; i < LOG_SEGMENTS; i++) {
		one = json_object_array_get_idx(list, i);
		REQUIRE(!i || number(one, "slot") > slot);
		slot = number(one, "slot");
		for (u32 k = 0; k < LOG_SEGMENTS; k++) {
			if (l.g.seg[k].slot != slot)
				continue;
			REQUIRE_EQ(number(one, "segment"), l.g.seg[k].segno);
			REQUIRE_EQ(number(one, "end"), l.g.seg[k].end);
		}
		REQUIRE(!strcmp(json_object_get_string(field(one, "live")), "ffff0000"));
		REQUIRE_EQ(strlen(json_object_get_string(field(one, "key"))), 16);
	}
}

/* The last transaction of the journal has the records. */
static void expect_records(struct json_object *journal)
{
	struct json_object *txn, *list, *rec;
	u32 i;

	txn = json_object_array_get_idx(journal, json_object_array_length(journal) - 1);
	list = field(txn, "records");
	REQUIRE_EQ(json_object_array_length(list), LOG_SEGMENTS + 1);
	for (i = 0; i < LOG_SEGMENTS; i++) {
		rec = json_object_array_get_idx(list, i);
		REQUIRE(!strcmp(json_object_get_string(field(rec, "op")), "segment"));
		REQUIRE_EQ(number(rec, "segment"), l.g.seg[i].segno);
		REQUIRE_EQ(number(rec, "slot"), l.g.seg[i].slot);
		REQUIRE(!field(rec, "old") && !field(rec, "new"));
	}
	rec = json_object_array_get_idx(list, i);
	REQUIRE(!strcmp(json_object_get_string(field(rec, "op")), "landed"));
	REQUIRE_EQ(number(rec, "batch"), l.g.from.seq);
}

static void test_dump_shows(void)
{
	struct json_object *o = NULL;
	struct meta meta;

	begin(31);
	log_set_finish(&l, true);
	log_set_look(&l, &meta);
	REQUIRE(!dump_json(&meta, false, &o));
	REQUIRE_EQ(number(field(o, "features"), "incompat"), FUSION_INCOMPAT_LANDING);
	expect_segments(field(o, "landing"));
	expect_records(field(field(o, "journals"), "fast"));
	json_object_put(o);
	fus_meta_free(&meta);
	log_set_free(&l);
}

static const struct unit_test tests[] = {
	{ "log: sets with a log, closed or not", test_good },
	{ "log: one without a segment", test_empty },
	{ "log: the last record of a segment counts", test_last_record },
	{ "log: a batch that is torn", test_torn },
	{ "log: blocks of extents that are not on the slow member", test_void },
	{ "log: each kind of damage", test_damage },
	{ "log: what check prints", test_check_prints },
	{ "log: what dump shows", test_dump_shows },
};

UNIT_TESTS(tests)
