// SPDX-License-Identifier: GPL-2.0-only
/* Journal blocks: what fits in, what comes out, and what must not. */
#include "ring.h"

static struct ring ring;

static void test_bitmap_sizes(void)
{
	const unsigned int bytes[] = { 4, 4, 8, 16, 32, 64, 128, 256, 512 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bytes); i++) {
		const u32 extent = FUSION_MIN_EXTENT_SECTORS << i;

		REQUIRE_EQ(fusion_bitmap_bytes(extent), bytes[i]);
		REQUIRE(bytes[i] * 8 >= extent / FUSION_BLOCK_SECTORS);
	}
	REQUIRE_EQ(FUSION_MIN_EXTENT_SECTORS << (i - 1), FUSION_MAX_EXTENT_SECTORS);
}

/* A block takes as many records as its payload has room for, and not one more. */
static void test_capacity(void)
{
	static const u8 bitmap[512];
	u8 block[FUSION_BLOCK_SIZE + 1];
	struct fusion_record rec = { .op = FUSION_OP_UNMAP };
	struct fusion_sb sb = { };
	u32 n;

	for (sb.extent_sectors = FUSION_MIN_EXTENT_SECTORS;
	     sb.extent_sectors <= FUSION_MAX_EXTENT_SECTORS; sb.extent_sectors *= 2) {
		const u32 open = 16 + fusion_bitmap_bytes(sb.extent_sectors);

		block[FUSION_BLOCK_SIZE] = 0x5a;
		fusion_journal_init(block);
		rec.op = FUSION_OP_UNMAP;
		rec.bitmap = NULL;
		for (n = 0; fusion_journal_add(&sb, block, &rec); n++)
			;
		REQUIRE_EQ(n, FUSION_JOURNAL_PAYLOAD / 16);

		fusion_journal_init(block);
		rec.op = FUSION_OP_OPEN;
		rec.bitmap = bitmap;
		for (n = 0; fusion_journal_add(&sb, block, &rec); n++)
			;
		REQUIRE_EQ(n, FUSION_JOURNAL_PAYLOAD / open);
		/* a smaller one may still fit */
		rec.op = FUSION_OP_MOVE;
		rec.bitmap = NULL;
		REQUIRE_EQ(fusion_journal_add(&sb, block, &rec),
			   FUSION_JOURNAL_PAYLOAD % open >= 16);
		REQUIRE_EQ(block[FUSION_BLOCK_SIZE], 0x5a);
	}
}

/* Blocks filled to the brim come back record by record, for every extent size. */
static void test_round_trip(void)
{
	struct ring *g = &ring;
	u32 extent, i;

	for (extent = FUSION_MIN_EXTENT_SECTORS; extent <= FUSION_MAX_EXTENT_SECTORS;
	     extent *= 2) {
		ring_init(g, extent, 5, extent);
		for (i = 0; i < 3; i++) {
			u8 *block = fus_ring_block(g, g->next_seq);
			struct kept_txn *t = &ring_txn[g->nr_txns++];

			*t = (struct kept_txn){ .seq = g->next_seq, .count = 1 };
			ring_fill(g, block, U32_MAX);
			REQUIRE(le32_to_cpu(((struct fusion_journal_block *)block)->used) +
				16 + fusion_bitmap_bytes(extent) > FUSION_JOURNAL_PAYLOAD - 16);
			g->csum = fusion_journal_seal(&g->sb, block, g->next_seq++, g->next_txn++,
						      0, 1, g->csum);
			t->nr_records = g->nr_records;
		}
		ring_expect(g, 3);
	}
}

static void test_places(void)
{
	struct ring *g = &ring;
	u64 seq;

	ring_init(g, 128, 1, 1);
	for (seq = 0; seq < 3 * RING_BLOCKS; seq++)
		REQUIRE_EQ(fusion_journal_blocknr(&g->sb, seq),
			   g->sb.journal_start[ring_dev] + seq % RING_BLOCKS);
	REQUIRE_EQ(fusion_journal_blocknr(&g->sb, (1ULL << 62) + 3),
		   g->sb.journal_start[ring_dev] + 3);
}

/* In the last transaction a flipped bit makes it torn, in one before it is damage. */
static void test_bit_flips(void)
{
	struct ring *g = &ring;
	unsigned int bit;

	ring_init(g, 128, 1000, 2);
	ring_commit(g, 1);
	ring_commit(g, 1);
	for (bit = 0; bit < BLOCK_BITS; bit++) {
		flip_bit(fus_ring_block(g, 1001), bit);
		ring_expect(g, 1);
		flip_bit(fus_ring_block(g, 1001), bit);
		flip_bit(fus_ring_block(g, 1000), bit);
		ring_expect_error(g, -EILSEQ);
		flip_bit(fus_ring_block(g, 1000), bit);
	}
	ring_expect(g, 2);
}

/* Seal one record as a transaction of its own, tampered with. */
static void put_record(struct ring *g, u32 lext, u32 new, u32 old, u32 op, u32 used,
		       const u8 *bitmap)
{
	u8 *block = fus_ring_block(g, g->sb.replay_seq);
	struct fusion_journal_block *b = (void *)block;
	struct fusion_journal_record *d = (void *)b->payload;

	fusion_journal_init(block);
	d->lext = cpu_to_le32(lext);
	d->new = cpu_to_le32(new);
	d->old = cpu_to_le32(old);
	d->op = cpu_to_le32(op);
	if (bitmap)
		memcpy(d + 1, bitmap, 4);
	b->used = cpu_to_le32(used);
	fusion_journal_seal(&g->sb, block, g->sb.replay_seq, g->sb.replay_txn, 0, 1,
			    g->sb.replay_csum);
}

/* Whole and with a valid checksum, but with numbers that must not be used. */
static void test_bounds(void)
{
	struct ring *g = &ring;
	struct fusion_sb *sb = &g->sb;
	const u8 bits[4] = { 0xff, 0x81 }, beyond[4] = { 0xff, 0xff, 1 };
	const u32 unmapped = FUSION_WORD_UNMAPPED;
	u32 stable, open, shadow, last, op, used;
	struct fusion_replay r;

	ring_init(g, 128, 7, 3);
	stable = fusion_word(FUSION_STABLE, FUSION_SLOW, sb->slow_first_slot);
	open = fusion_word(FUSION_OPEN, FUSION_FAST, 0);
	shadow = fusion_shadow_word(FUSION_SHADOW, sb->slow_first_slot);
	last = sb->nr_lexts - 1;

#define GOOD(...) do {							\
	put_record(g, __VA_ARGS__);					\
	REQUIRE_EQ(ring_replay(g, &r), 0);				\
	REQUIRE_EQ(g->nr_applied, 1);					\
} while (0)
#define BAD(...) do {							\
	put_record(g, __VA_ARGS__);					\
	ring_expect_error(g, -EILSEQ);					\
} while (0)

	GOOD(0, open, unmapped, FUSION_OP_OPEN, 20, bits);
	GOOD(last, stable, open, FUSION_OP_STABLE, 16, NULL);
	GOOD(last, stable, stable, FUSION_OP_MOVE, 16, NULL);
	GOOD(last, unmapped, open, FUSION_OP_UNMAP, 16, NULL);

	/* lext */
	BAD(last + 1, stable, open, FUSION_OP_STABLE, 16, NULL);
	BAD(U32_MAX, unmapped, open, FUSION_OP_UNMAP, 16, NULL);
	/* words out of bounds */
	BAD(0, stable - 1, open, FUSION_OP_MOVE, 16, NULL);
	BAD(0, fusion_word(FUSION_STABLE, FUSION_FAST, sb->nr_fast_slots), open,
	    FUSION_OP_MOVE, 16, NULL);
	BAD(0, fusion_word_set_state(stable, FUSION_WATCHED), open, FUSION_OP_MOVE, 16, NULL);
	BAD(0, fusion_word_set_state(stable, FUSION_LOCKED), open, FUSION_OP_MOVE, 16, NULL);
	BAD(0, U32_MAX, open, FUSION_OP_UNMAP, 16, NULL);
	BAD(0, stable, stable - 1, FUSION_OP_MOVE, 16, NULL);
	BAD(0, stable, U32_MAX, FUSION_OP_MOVE, 16, NULL);
	/* words that do not suit the operation */
	BAD(0, stable, unmapped, FUSION_OP_OPEN, 20, bits);
	BAD(0, unmapped, unmapped, FUSION_OP_OPEN, 20, bits);
	BAD(0, open, unmapped, FUSION_OP_STABLE, 16, NULL);
	BAD(0, unmapped, open, FUSION_OP_STABLE, 16, NULL);
	BAD(0, open, stable, FUSION_OP_MOVE, 16, NULL);
	BAD(0, unmapped, stable, FUSION_OP_MOVE, 16, NULL);
	BAD(0, stable, open, FUSION_OP_UNMAP, 16, NULL);
	BAD(0, open, open, FUSION_OP_UNMAP, 16, NULL);
	/* away: of the slow member only, as the fast one's journal knows where everything is */
	if (sb->role == FUSION_SLOW) {
		GOOD(last, FUSION_WORD_AWAY, stable, FUSION_OP_AWAY, 16, NULL);
		GOOD(last, FUSION_WORD_AWAY, fusion_word_set_state(stable, FUSION_OPEN),
		     FUSION_OP_AWAY, 16, NULL);
	} else {
		BAD(last, FUSION_WORD_AWAY, stable, FUSION_OP_AWAY, 16, NULL);
	}
	BAD(last + 1, FUSION_WORD_AWAY, stable, FUSION_OP_AWAY, 16, NULL);
	BAD(0, FUSION_WORD_AWAY, stable - 1, FUSION_OP_AWAY, 16, NULL);
	BAD(0, FUSION_WORD_AWAY, open, FUSION_OP_AWAY, 16, NULL);
	BAD(0, FUSION_WORD_AWAY, unmapped, FUSION_OP_AWAY, 16, NULL);
	BAD(0, stable, stable, FUSION_OP_AWAY, 16, NULL);
	BAD(0, unmapped, stable, FUSION_OP_AWAY, 16, NULL);
	BAD(0, FUSION_WORD_AWAY, stable, FUSION_OP_STABLE, 16, NULL);
	BAD(0, FUSION_WORD_AWAY, stable, FUSION_OP_MOVE, 16, NULL);
	BAD(0, stable, FUSION_WORD_AWAY, FUSION_OP_MOVE, 16, NULL);
	/* shadows and points: in the replica only, and only with the feature */
	BAD(0, shadow, unmapped, FUSION_OP_SHADOW, 16, NULL);
	BAD(0, 1, 2, FUSION_OP_POINT, 16, NULL);
	sb->incompat |= FUSION_INCOMPAT_SHADOW;
	if (sb->role == FUSION_SLOW) {
		GOOD(last, shadow, unmapped, FUSION_OP_SHADOW, 16, NULL);
		GOOD(0, fusion_shadow_word(FUSION_OUTDATED, sb->slow_first_slot), unmapped,
		     FUSION_OP_SHADOW, 16, NULL);
		GOOD(0, U32_MAX, U32_MAX, FUSION_OP_POINT, 16, NULL);
	} else {
		BAD(last, shadow, unmapped, FUSION_OP_SHADOW, 16, NULL);
		BAD(0, 1, 2, FUSION_OP_POINT, 16, NULL);
	}
	BAD(last + 1, shadow, unmapped, FUSION_OP_SHADOW, 16, NULL);
	BAD(0, shadow - 1, unmapped, FUSION_OP_SHADOW, 16, NULL);
	BAD(0, fusion_shadow_word(FUSION_OUTDATED, sb->slow_first_slot + sb->nr_slow_slots),
	    unmapped, FUSION_OP_SHADOW, 16, NULL);
	BAD(0, fusion_word(FUSION_WATCHED, FUSION_FAST, 0), unmapped, FUSION_OP_SHADOW, 16, NULL);
	BAD(0, stable, unmapped, FUSION_OP_SHADOW, 16, NULL);
	BAD(0, unmapped, unmapped, FUSION_OP_SHADOW, 16, NULL);
	BAD(0, shadow, unmapped, FUSION_OP_STABLE, 16, NULL);
	BAD(0, shadow, unmapped, FUSION_OP_MOVE, 16, NULL);
	BAD(1, 1, 2, FUSION_OP_POINT, 16, NULL);
	sb->incompat &= ~FUSION_INCOMPAT_SHADOW;
	/* what is lost, only with the feature */
	BAD(0, FUSION_WORD_LOST, stable, FUSION_OP_UNMAP, 16, NULL);
	BAD(0, unmapped, FUSION_WORD_LOST, FUSION_OP_UNMAP, 16, NULL);
	BAD(0, open, unmapped, FUSION_OP_PARTLY_LOST, 20, bits);
	sb->incompat |= FUSION_INCOMPAT_DAMAGED;
	GOOD(0, FUSION_WORD_LOST, stable, FUSION_OP_UNMAP, 16, NULL);
	GOOD(0, unmapped, FUSION_WORD_LOST, FUSION_OP_UNMAP, 16, NULL);
	GOOD(0, open, unmapped, FUSION_OP_PARTLY_LOST, 20, bits);
	BAD(0, stable, unmapped, FUSION_OP_PARTLY_LOST, 20, bits);
	BAD(0, open, unmapped, FUSION_OP_PARTLY_LOST, 20, beyond);
	BAD(0, open, unmapped, FUSION_OP_PARTLY_LOST, 16, bits);
	BAD(0, FUSION_WORD_LOST, stable, FUSION_OP_STABLE, 16, NULL);
	BAD(0, FUSION_WORD_LOST, stable, FUSION_OP_MOVE, 16, NULL);
	sb->incompat &= ~FUSION_INCOMPAT_DAMAGED;
	/* operations that are none */
	BAD(0, stable, open, 0, 16, NULL);
	for (op = FUSION_OP_LAST + 1; op; op *= 2)
		BAD(0, stable, open, op, 16, NULL);
	BAD(0, stable, open, U32_MAX, 16, NULL);
	REQUIRE_EQ(ring_replay(g, &r), -EILSEQ);
	REQUIRE(!strcmp(r.why, "a journal record has operation 4294967295, of a newer version"),
		"%s", r.why);
	/* bits of the bitmap beyond an extent of 16 blocks */
	BAD(0, open, unmapped, FUSION_OP_OPEN, 20, beyond);
	/* a record, or its bitmap, cut off */
	for (used = 1; used < 16; used++)
		BAD(0, unmapped, open, FUSION_OP_UNMAP, used, NULL);
	for (used = 17; used < 20; used++)
		BAD(0, open, unmapped, FUSION_OP_OPEN, used, bits);
	/* zeros after the record are no record: the extent 0 with operation 0 */
	BAD(0, unmapped, open, FUSION_OP_UNMAP, 32, NULL);
	BAD(0, unmapped, open, FUSION_OP_UNMAP, FUSION_JOURNAL_PAYLOAD, NULL);
	/* a second record, good except for its end */
	put_record(g, 0, unmapped, open, FUSION_OP_UNMAP, 32, NULL);
	for (used = 17; used <= 32; used++) {
		struct fusion_journal_block *b = (void *)fus_ring_block(g, sb->replay_seq);

		memcpy(b->payload + 16, b->payload, 16);
		b->used = cpu_to_le32(used);
		reseal(b);
		if (used < 32)
			ring_expect_error(g, -EILSEQ);
		else
			REQUIRE(!ring_replay(g, &r) && g->nr_applied == 2);
	}
	/* more than the payload: not a block of the journal at all */
	for (used = FUSION_JOURNAL_PAYLOAD + 1; used; used *= 2) {
		put_record(g, 0, unmapped, open, FUSION_OP_UNMAP, used, NULL);
		REQUIRE_EQ(ring_replay(g, &r), 0);
		REQUIRE_EQ(g->nr_applied, 0);
	}
}

static void test_slow(void)
{
	ring_slow(test_slow);
}

static const struct unit_test tests[] = {
	{ "journal: sizes of bitmaps", test_bitmap_sizes },
	{ "journal: room in a block", test_capacity },
	{ "journal: full blocks of every extent size come back", test_round_trip },
	{ "journal: places in the ring", test_places },
	{ "journal: every single bit flip is found", test_bit_flips },
	{ "journal: records out of bounds", test_bounds },
	{ "journal: all of it on the slow member", test_slow },
};

UNIT_TESTS(tests)
