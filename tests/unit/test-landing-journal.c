// SPDX-License-Identifier: GPL-2.0-only
/* Records of the landing log in a journal: what the replay hands out, and what it refuses. */
#include "landing-log.h"

#define MAX_RECORDS	256U

static struct fusion_sb sb;
static u8 live[512];
static u8 block[FUSION_BLOCK_SIZE];
static struct fusion_record found[MAX_RECORDS];
static u8 found_live[MAX_RECORDS][512];
static u32 nr_found;

static void begin(u32 extent_sectors)
{
	u64 seed = extent_sectors;

	example_sb(&sb, 128ULL * extent_sectors, 512ULL * extent_sectors, extent_sectors);
	sb.incompat = FUSION_INCOMPAT_LANDING;
	memset(live, 0, sizeof(live));
	rnd_fill(&seed, live, fusion_segment_blocks(&sb) / 8);
	fusion_journal_init(block);
}

static const void *read_one(void *ctx, u32 pos)
{
	static const u8 empty[FUSION_BLOCK_SIZE];

	(void)ctx;
	return pos == sb.replay_seq % sb.journal_blocks[sb.role] ? block : empty;
}

static int keep(void *ctx, const struct fusion_record *rec)
{
	(void)ctx;
	REQUIRE(nr_found < MAX_RECORDS);
	REQUIRE(!fusion_op_is_landing(rec->op) || (!rec->lext && !rec->new && !rec->old));
	found[nr_found] = *rec;
	if (rec->op == FUSION_OP_SEGMENT)
		memcpy(found_live[nr_found], rec->segment.live,
		       fusion_bitmap_bytes(sb.extent_sectors));
	nr_found++;
	return 0;
}

static int replay(const char **why)
{
	static struct fusion_replay r;
	int err;

	r = (struct fusion_replay){ .sb = &sb, .read = read_one, .apply = keep };
	fusion_journal_seal(&sb, block, sb.replay_seq, sb.replay_txn, 0, 1, sb.replay_csum);
	nr_found = 0;
	err = fusion_replay(&r);
	REQUIRE(err ? r.why && !nr_found : r.nr_records == nr_found);
	*why = r.why;
	return err;
}

static struct fusion_record segment_record(u32 op)
{
	return (struct fusion_record){ .op = op, .segment = {
		.slot = 7, .segno = 0x123456789abcULL, .key = 42, .end = 4, .live = live } };
}

static const struct fusion_record landed = { .op = FUSION_OP_LANDED, .landed = {
	.seq = 0x123456789abcdefULL, .csum = 0xfedcba98, .segno = FUSION_MAX_SEGNO, .pos = 2 } };

static const struct fusion_record unmap = {
	.op = FUSION_OP_UNMAP, .lext = 1,
	.new = FUSION_WORD_UNMAPPED, .old = FUSION_WORD_UNMAPPED };

static void require_segment(u32 i, u32 op, u32 end)
{
	const struct fusion_segment *s = &found[i].segment;

	REQUIRE_EQ(found[i].op, op);
	REQUIRE_EQ(s->slot, 7);
	REQUIRE_EQ(s->segno, 0x123456789abcULL);
	REQUIRE_EQ(s->end, end);
	REQUIRE_EQ(s->key, op == FUSION_OP_SEGMENT ? 42 : 0);
	REQUIRE(!s->live == (op == FUSION_OP_SEGFREE));
	if (s->live)
		REQUIRE(!memcmp(found_live[i], live, fusion_bitmap_bytes(sb.extent_sectors)));
}

/* Between others, in each size of an extent; as many as their length allows. */
static void test_round_trip(void)
{
	const struct fusion_record segment = segment_record(FUSION_OP_SEGMENT);
	const struct fusion_record segfree = segment_record(FUSION_OP_SEGFREE);
	struct fusion_journal_block *b = (void *)block;
	u32 sectors, i, n;
	const char *why;

	for (sectors = 128; sectors <= 32768; sectors *= 2) {
		begin(sectors);
		REQUIRE(fusion_journal_add(&sb, block, &segment));
		REQUIRE(fusion_journal_add(&sb, block, &unmap));
		REQUIRE(fusion_journal_add(&sb, block, &segfree));
		REQUIRE(fusion_journal_add(&sb, block, &landed));
		REQUIRE(fusion_journal_add(&sb, block, &unmap));
		REQUIRE_EQ(le32_to_cpu(b->used),
			   24 + fusion_bitmap_bytes(sectors) + 16 + 16 + 24 + 16);
		REQUIRE(!replay(&why), "%s", why);
		REQUIRE_EQ(nr_found, 5);
		require_segment(0, FUSION_OP_SEGMENT, 4);
		require_segment(2, FUSION_OP_SEGFREE, 0);
		REQUIRE(!memcmp(&found[3].landed, &landed.landed, sizeof(landed.landed)));
		REQUIRE(found[1].op == FUSION_OP_UNMAP && found[4].op == FUSION_OP_UNMAP);

		begin(sectors);
		for (n = 0; fusion_journal_add(&sb, block, &segment); n++)
			;
		REQUIRE_EQ(n, FUSION_JOURNAL_PAYLOAD / fusion_record_bytes(&sb, FUSION_OP_SEGMENT));
		REQUIRE(!replay(&why), "%s", why);
		REQUIRE_EQ(nr_found, n);
		for (i = 0; i < n; i++)
			require_segment(i, FUSION_OP_SEGMENT, 4);
	}
}

/* A record that is cut off, or has numbers out of bounds, refuses the whole journal. */
static void test_bounds(void)
{
	const u32 ops[] = { FUSION_OP_SEGMENT, FUSION_OP_SEGFREE, FUSION_OP_LANDED };
	struct fusion_journal_block *b = (void *)block;
	struct fusion_record rec;
	const char *why;
	u32 i, used, bytes;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		rec = ops[i] == FUSION_OP_LANDED ? landed : segment_record(ops[i]);
		begin(2048);
		REQUIRE(fusion_journal_add(&sb, block, &unmap));
		REQUIRE(fusion_journal_add(&sb, block, &rec));
		bytes = le32_to_cpu(b->used) - 16;
		REQUIRE_EQ(bytes, fusion_record_bytes(&sb, ops[i]));
		for (used = 1; used < bytes; used++) {
			b->used = cpu_to_le32(16 + used);
			REQUIRE_EQ(replay(&why), -EILSEQ);
		}
		b->used = cpu_to_le32(16 + bytes);
		REQUIRE(!replay(&why), "%s", why);

		/* the slow member has no such records */
		sb.role = FUSION_SLOW;
		REQUIRE_EQ(replay(&why), -EILSEQ);
	}
	rec = segment_record(FUSION_OP_SEGMENT);
	begin(2048);
	rec.segment.slot = sb.nr_fast_slots;
	REQUIRE(fusion_journal_add(&sb, block, &rec));
	REQUIRE_EQ(replay(&why), -EILSEQ);
	REQUIRE(strstr(why, "a segment of the landing log is out of bounds"), "%s", why);
	/* only these three come with the feature */
	begin(2048);
	REQUIRE(fusion_journal_add(&sb, block, &landed));
	for (i = FUSION_OP_LANDED + 1; i; i *= 2) {
		put_le(b->payload + 12, 4, i);
		REQUIRE_EQ(replay(&why), -EILSEQ);
		REQUIRE(strstr(why, "of a newer version"), "%s", why);
	}
}

/* Without the feature, they are unknown, whatever they say. */
static void test_unknown(void)
{
	const u32 ops[] = { FUSION_OP_SEGMENT, FUSION_OP_SEGFREE, FUSION_OP_LANDED };
	const char *why;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		struct fusion_record rec = ops[i] == FUSION_OP_LANDED ? landed :
					   segment_record(ops[i]);

		begin(2048);
		REQUIRE(fusion_journal_add(&sb, block, &rec));
		sb.incompat = ~FUSION_INCOMPAT_LANDING;
		REQUIRE_EQ(replay(&why), -EILSEQ);
		REQUIRE(strstr(why, "of a newer version"), "%s", why);
	}
}

static const struct unit_test tests[] = {
	{ "landing, journal: records come back", test_round_trip },
	{ "landing, journal: records out of bounds", test_bounds },
	{ "landing, journal: unknown without the feature", test_unknown },
};

UNIT_TESTS(tests)
