// SPDX-License-Identifier: GPL-2.0-only
/* The landing log: its blocks and records, and each bound of their numbers. */
#include "landing-log.h"

static struct fusion_sb sb;
static struct fusion_segment seg;
static u8 live[512];
static u8 block[FUSION_BLOCK_SIZE];

/* A segment of a set with extents of that size. */
static void begin(u32 extent_sectors)
{
	example_sb(&sb, 128ULL * extent_sectors, 512ULL * extent_sectors, extent_sectors);
	memset(live, 0, sizeof(live));
	memset(live, 0xa5, fusion_segment_blocks(&sb) / 8);
	seg = (struct fusion_segment){ .slot = 9, .segno = 0x123456789abcULL, .key = 42,
				       .live = live };
}

/* -- blocks -------------------------------------------------------------------------------- */

static const struct fusion_batch head = { .seq = 1ULL << 40, .flushed_seq = (1ULL << 40) - 3,
					  .prev_csum = 0xabcdef01 };

static struct fusion_entry some_entry(u32 i)
{
	return (struct fusion_entry){ .lext = sb.nr_lexts - 1 - i,
				      .block = fusion_segment_blocks(&sb) - 1 - i % 8,
				      .crc = 0x1000 + i };
}

static u32 make_batch(u32 pos, u32 count)
{
	struct fusion_entry e;
	u32 i;

	fusion_batch_init(block);
	for (i = 0; i < count; i++) {
		e = some_entry(i);
		REQUIRE(fusion_batch_add(block, &e));
	}
	return fusion_batch_seal(&sb, &seg, pos, &head, block);
}

static void test_places(void)
{
	u32 sectors, blocks, summary;

	for (sectors = 128; sectors <= 32768; sectors *= 2) {
		begin(sectors);
		blocks = fusion_segment_blocks(&sb);
		summary = fusion_summary_blocks(&sb);
		/* enough, and no more than that */
		REQUIRE(summary * FUSION_SUMMARY_ENTRIES >= fusion_segment_room(&sb));
		REQUIRE((summary - 1) * FUSION_SUMMARY_ENTRIES < blocks - (summary - 1));
		REQUIRE_EQ(fusion_segment_room(&sb) + summary, blocks);
		REQUIRE_EQ(fusion_segment_blocknr(&sb, 9, 5) * 8,
			   sb.fast_data_start + 9ULL * sectors + 40);
	}
	REQUIRE_EQ(summary, 13);
}

static void test_batch(void)
{
	struct fusion_entry e, want;
	struct fusion_batch b;
	const char *why;
	u32 count, i, csum;

	begin(2048);
	for (count = 1; count <= FUSION_BATCH_BLOCKS; count++) {
		csum = make_batch(count * 3, count);
		REQUIRE_EQ(fusion_batch_unpack(&sb, &seg, count * 3, block, &b, &why), 0);
		REQUIRE(!why);
		REQUIRE_EQ(b.seq, head.seq);
		REQUIRE_EQ(b.flushed_seq, head.flushed_seq);
		REQUIRE_EQ(b.prev_csum, head.prev_csum);
		REQUIRE_EQ(b.epoch, sb.epoch);
		REQUIRE_EQ(b.count, count);
		REQUIRE_EQ(b.csum, csum);
		for (i = 0; i < count; i++) {
			fusion_landing_entry(block, i, &e);
			want = some_entry(i);
			REQUIRE(e.lext == want.lext && e.block == want.block && e.crc == want.crc);
		}
	}
	REQUIRE(!fusion_batch_add(block, &want));
	for (i = 0; i < BLOCK_BITS; i += 1 + i / 700) {
		flip_bit(block, i);
		REQUIRE_EQ(fusion_batch_unpack(&sb, &seg, 189, block, &b, &why), -ENODATA);
		flip_bit(block, i);
	}
	REQUIRE_EQ(fusion_batch_unpack(&sb, &seg, 189, block, &b, &why), 0);
}

/* Of another place, another use of the slot, another kind, another set. */
static void test_not_ours(void)
{
	struct fusion_segment other;
	struct fusion_summary s;
	struct fusion_batch b;
	const char *why;

	begin(2048);
	make_batch(4, 3);
	REQUIRE_EQ(fusion_batch_unpack(&sb, &seg, 5, block, &b, &why), -ENODATA);
	other = seg;
	other.slot++;
	REQUIRE_EQ(fusion_batch_unpack(&sb, &other, 4, block, &b, &why), -ENODATA);
	other = seg;
	other.segno--;
	REQUIRE_EQ(fusion_batch_unpack(&sb, &other, 4, block, &b, &why), -ENODATA);
	other = seg;
	other.key++;
	REQUIRE_EQ(fusion_batch_unpack(&sb, &other, 4, block, &b, &why), -ENODATA);
	put_le(block + 64, 4, 10);
	reseal(block);
	REQUIRE_EQ(fusion_batch_unpack(&sb, &seg, 4, block, &b, &why), -ENODATA);
	make_batch(fusion_segment_room(&sb), 3);
	REQUIRE_EQ(fusion_summary_unpack(&sb, &seg, 0, block, &s, &why), -ENODATA);
	make_batch(4, 3);
	sb.set_uuid[3]++;
	REQUIRE_EQ(fusion_batch_unpack(&sb, &seg, 4, block, &b, &why), -ENODATA);
}

/* A number of a sealed block or a record: where it is, what is put there, and what that means. */
struct bound {
	u32 at;
	u32 size;
	u64 value;
	const char *why;		/* NULL: it is allowed */
};

static void test_batch_bounds(void)
{
	const u64 max = 1ULL << 62;
	static const u32 entry = 84 + 2 * 12;
	struct fusion_batch b;
	const char *why;
	u32 i;

	begin(2048);
	{
		const struct bound bounds[] = {
			{ 48, 8, 0, "number" },
			{ 48, 8, max, NULL },
			{ 48, 8, max + 1, "number" },
			{ 48, 8, U64_MAX, "number" },
			{ 48, 8, head.flushed_seq, "durable before" },
			{ 48, 8, head.flushed_seq + 1, NULL },
			{ 56, 8, head.seq, "durable before" },
			{ 56, 8, head.seq - 1, NULL },
			{ 56, 8, max + 1, "number" },
			{ 56, 8, 0, NULL },
			{ 68, 4, sb.epoch, NULL },
			{ 68, 4, sb.epoch + 1, "later opening" },
			{ 68, 4, 0, NULL },
			{ 76, 2, 0, "length" },
			{ 76, 2, 64, "length" },
			{ 76, 2, 0xffff, "length" },
			{ entry, 4, sb.nr_lexts - 1, NULL },
			{ entry, 4, sb.nr_lexts, "out of bounds" },
			{ entry, 4, FUSION_LANDING_HEAD, "out of bounds" },
			{ entry + 4, 2, 255, NULL },
			{ entry + 4, 2, 256, "out of bounds" },
			{ entry + 6, 2, 1, "flags" },
		};

		for (i = 0; i < ARRAY_SIZE(bounds); i++) {
			make_batch(7, 3);
			put_le(block + bounds[i].at, bounds[i].size, bounds[i].value);
			reseal(block);
			REQUIRE_EQ(fusion_batch_unpack(&sb, &seg, 7, block, &b, &why),
				   bounds[i].why ? -EILSEQ : 0);
			REQUIRE(!bounds[i].why || strstr(why, bounds[i].why), "%u: %s", i, why);
		}
	}
	/* the last place for three blocks */
	make_batch(fusion_segment_room(&sb) - 4, 3);
	REQUIRE_EQ(fusion_batch_unpack(&sb, &seg, fusion_segment_room(&sb) - 4, block, &b, &why),
		   0);
	make_batch(fusion_segment_room(&sb) - 3, 3);
	REQUIRE_EQ(fusion_batch_unpack(&sb, &seg, fusion_segment_room(&sb) - 3, block, &b, &why),
		   -EILSEQ);
}

static void test_summary_bounds(void)
{
	static struct fusion_entry entries[4096];
	const struct fusion_summary full = { .first_seq = 50, .flushed_seq = 60, .end = 340 };
	const struct bound bounds[] = {
		{ 48, 8, 0, "number" },
		{ 48, 8, (1ULL << 62) + 1, "number" },
		{ 56, 8, (1ULL << 62) + 1, "number" },
		{ 68, 4, 78, "later opening" },
		{ 76, 2, 5, "length" },
		{ 78, 2, 0, "length" },
		{ 80, 2, 341, "length" },
		{ 80, 2, 1, "length" },
		{ 80, 2, 0xffff, "length" },
		{ 84 + 12, 4, U32_MAX, NULL },
		{ 84 + 12, 4, 1U << 28, "out of bounds" },
		{ 84 + 4, 2, 64, "length" },
		{ 84 + 4, 2, 0, "length" },
		{ 84 + 4, 2, 63, NULL },
		{ 84 + 16, 2, 4096, "out of bounds" },
		{ 84 + 18, 2, 1, "flags" },
	};
	struct fusion_summary s;
	struct fusion_entry e;
	const char *why;
	u32 i;

	begin(32768);
	for (i = 0; i < full.end; i++)
		entries[i] = i % 10 ? some_entry(i % 100) :
			     (struct fusion_entry){ FUSION_LANDING_HEAD, 9, i };
	for (i = 0; i < 13; i++) {
		fusion_summary_pack(&sb, &seg, i, &full, entries, block);
		REQUIRE_EQ(fusion_summary_unpack(&sb, &seg, i, block, &s, &why), 0);
		REQUIRE_EQ(s.first_seq, 50);
		REQUIRE_EQ(s.flushed_seq, 60);
		REQUIRE_EQ(s.epoch, sb.epoch);
		REQUIRE_EQ(s.end, 340);
		REQUIRE_EQ(s.count, i == 0 ? 334 : i == 1 ? 6 : 0);
		REQUIRE_EQ(fusion_summary_unpack(&sb, &seg, (i + 1) % 13, block, &s, &why),
			   -ENODATA);
	}
	fusion_summary_pack(&sb, &seg, 1, &full, entries, block);
	fusion_landing_entry(block, 1, &e);
	REQUIRE_EQ(e.lext, entries[335].lext);
	/* entry 0 of block 1 is not one of a header: make it one */
	entries[334] = (struct fusion_entry){ FUSION_LANDING_HEAD, 9, 1 };
	entries[335] = some_entry(1);
	for (i = 0; i < ARRAY_SIZE(bounds); i++) {
		fusion_summary_pack(&sb, &seg, 1, &full, entries, block);
		put_le(block + bounds[i].at, bounds[i].size, bounds[i].value);
		if (bounds[i].at == 84 + 12 && !bounds[i].why)
			put_le(block + 84 + 16, 2, 1);
		reseal(block);
		REQUIRE(fusion_summary_unpack(&sb, &seg, 1, block, &s, &why) ==
			(bounds[i].why ? -EILSEQ : 0), "%u: %s", i, why);
		REQUIRE(!bounds[i].why || strstr(why, bounds[i].why), "%u: %s", i, why);
	}
}

/* -- records ------------------------------------------------------------------------------- */

static void test_segment_record(void)
{
	u8 record[24 + 512], *copy;
	struct fusion_segment back;
	const char *why;
	u32 sectors, bytes, i;

	for (sectors = 128; sectors <= 32768; sectors *= 2) {
		begin(sectors);
		seg.end = fusion_segment_room(&sb);
		bytes = fusion_record_bytes(&sb, FUSION_OP_SEGMENT);
		/* so that a read beyond the end is noticed */
		copy = malloc(bytes);
		REQUIRE(copy);
		fusion_segment_pack(&sb, &seg, copy);
		REQUIRE_EQ(fusion_segment_unpack(&sb, copy, bytes, &back, &why), 0);
		REQUIRE_EQ(back.slot, seg.slot);
		REQUIRE_EQ(back.segno, seg.segno);
		REQUIRE_EQ(back.key, seg.key);
		REQUIRE_EQ(back.end, seg.end);
		REQUIRE(!memcmp(back.live, live, fusion_bitmap_bytes(sectors)));
		for (i = 0; i < bytes; i++)
			REQUIRE_EQ(fusion_segment_unpack(&sb, copy, i, &back, &why), -EILSEQ);
		fusion_segfree_pack(&seg, (void *)copy);
		REQUIRE_EQ(fusion_segment_unpack(&sb, copy, 16, &back, &why), 0);
		REQUIRE_EQ(back.slot, seg.slot);
		REQUIRE_EQ(back.segno, seg.segno);
		REQUIRE(!back.live && !back.key && !back.end);
		free(copy);
	}
	begin(2048);
	REQUIRE_EQ(fusion_record_bytes(&sb, FUSION_OP_SEGMENT), 56);
	{
		const struct bound bounds[] = {
			{ 0, 4, sb.nr_fast_slots - 1, NULL },
			{ 0, 4, sb.nr_fast_slots, "out of bounds" },
			{ 0, 4, U32_MAX, "out of bounds" },
			{ 4, 8, 0, "out of bounds" },		/* number 0 */
			{ 8, 4, 255U << 16, NULL },		/* end */
			{ 8, 4, 256U << 16, "out of bounds" },
			{ 8, 4, 1U << 16, "out of bounds" },
			{ 12, 4, 8, "out of bounds" },
			{ 12, 4, FUSION_OP_LANDED, "out of bounds" },
			{ 16, 8, 0, "no key" },
		};

		for (i = 0; i < ARRAY_SIZE(bounds); i++) {
			fusion_segment_pack(&sb, &seg, record);
			put_le(record + bounds[i].at, bounds[i].size, bounds[i].value);
			REQUIRE(fusion_segment_unpack(&sb, record, 56, &back, &why) ==
				(bounds[i].why ? -EILSEQ : 0), "%u", i);
			REQUIRE(!bounds[i].why || strstr(why, bounds[i].why), "%u: %s", i, why);
		}
	}
	/* SEGFREE has no end; the slow member has no such records; 16 blocks have 16 bits */
	fusion_segfree_pack(&seg, (void *)record);
	put_le(record + 10, 2, 2);
	REQUIRE_EQ(fusion_segment_unpack(&sb, record, 16, &back, &why), -EILSEQ);
	fusion_segment_pack(&sb, &seg, record);
	sb.role = FUSION_SLOW;
	REQUIRE_EQ(fusion_segment_unpack(&sb, record, 56, &back, &why), -EILSEQ);
	begin(128);
	live[2] = 1;
	fusion_segment_pack(&sb, &seg, record);
	REQUIRE_EQ(fusion_segment_unpack(&sb, record, 28, &back, &why), -EILSEQ);
	REQUIRE(strstr(why, "do not exist"));
}

static void test_landed_record(void)
{
	const struct fusion_landed at = { .seq = 0x123456789abcdefULL, .csum = 0xfedcba98,
					  .segno = FUSION_MAX_SEGNO, .pos = 255 };
	struct fusion_landed_record record;
	struct fusion_landed back;
	const char *why;
	u32 i;

	begin(2048);
	fusion_landed_pack(&at, &record);
	REQUIRE_EQ(fusion_landed_unpack(&sb, &record, sizeof(record), &back, &why), 0);
	REQUIRE(back.seq == at.seq && back.csum == at.csum && back.segno == at.segno &&
		back.pos == at.pos);
	for (i = 0; i < sizeof(record); i++)
		REQUIRE_EQ(fusion_landed_unpack(&sb, &record, i, &back, &why), -EILSEQ);
	{
		const struct bound bounds[] = {
			{ 4, 8, 1ULL << 62, NULL },
			{ 4, 8, (1ULL << 62) + 1, "out of bounds" },
			/* nothing landed, and yet behind it */
			{ 4, 8, 0, "out of bounds" },
			{ 12, 4, FUSION_OP_SEGMENT, "out of bounds" },
			{ 16, 8, 0, "out of bounds" },
			{ 16, 8, 1, NULL },
			{ 16, 8, 1 | 1ULL << 48, "out of bounds" },
			{ 16, 8, 1 | 2ULL << 48, NULL },
			{ 16, 8, 1 | 256ULL << 48, "out of bounds" },
		};

		for (i = 0; i < ARRAY_SIZE(bounds); i++) {
			fusion_landed_pack(&at, &record);
			put_le((u8 *)&record + bounds[i].at, bounds[i].size, bounds[i].value);
			REQUIRE(fusion_landed_unpack(&sb, &record, 24, &back, &why) ==
				(bounds[i].why ? -EILSEQ : 0), "%u", i);
			REQUIRE(!bounds[i].why || strstr(why, bounds[i].why), "%u: %s", i, why);
		}
	}
	/* as long as nothing has landed */
	fusion_landed_pack(&FUSION_LANDED_NOWHERE, &record);
	REQUIRE_EQ(fusion_landed_unpack(&sb, &record, 24, &back, &why), 0);
	sb.role = FUSION_SLOW;
	REQUIRE_EQ(fusion_landed_unpack(&sb, &record, 24, &back, &why), -EILSEQ);
}

static const struct unit_test tests[] = {
	{ "landing: where things are in a segment", test_places },
	{ "landing: a batch, and each bit of it", test_batch },
	{ "landing: blocks that do not belong to the segment", test_not_ours },
	{ "landing: bounds of a batch", test_batch_bounds },
	{ "landing: a summary, and its bounds", test_summary_bounds },
	{ "landing: SEGMENT and SEGFREE", test_segment_record },
	{ "landing: LANDED", test_landed_record },
};

UNIT_TESTS(tests)
