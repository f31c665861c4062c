// SPDX-License-Identifier: GPL-2.0-only
/* Replay: blocks with a valid checksum that no committer writes. */
#include "ring-life.h"

static struct ring ring, saved;

/* Whole, valid, of this epoch, but not the successor of what comes before. */
static void test_broken_chain(void)
{
	struct ring *g = &ring;
	u32 txn, i, count;

	for (count = 1; count < 4; count++) {
		for (i = 0; i < count; i++) {
			struct fusion_journal_block *b;

			ring_init(g, 128, 60, count);
			live_and_leave(g, 20, 2, 4);
			txn = g->nr_txns;
			ring_commit(g, count);
			b = (void *)fus_ring_block(g, ring_txn[txn].seq + i);
			b->prev_csum ^= cpu_to_le32(1);
			reseal(b);
			/* within a transaction it means two attempts */
			if (count > 1)
				ring_expect(g, txn);
			else
				ring_expect_error(g, -EILSEQ);
		}
		ring_init(g, 128, 60, count);
		live_and_leave(g, 20, 2, 4);
		g->csum ^= 1;
		ring_commit(g, count);
		ring_expect_error(g, -EILSEQ);
	}

	/* the superblock's own idea of what comes before counts as well */
	ring_init(g, 128, 60, 4);
	ring_commit(g, 1);
	g->sb.replay_csum ^= 1;
	ring_expect_error(g, -EILSEQ);
}

/* A block well sealed, but made of numbers no committer writes. */
static void put_block(struct ring *g, u64 seq, u64 txn, u32 index, u32 count)
{
	u8 *block = fus_ring_block(g, seq);

	fusion_journal_init(block);
	fusion_journal_seal(&g->sb, block, seq, txn, index, count, 0);
}

static void test_impossible_blocks(void)
{
	struct ring *g = &ring;
	u64 seq;
	u32 room;

	ring_init(g, 128, 60, 4);
	live_and_leave(g, 20, 2, 10);
	saved = *g;
	seq = g->next_seq;
	room = ring_room(g);

	/* a torn tail that reaches just to what may be overwritten, and one beyond it */
	put_block(g, seq + 1, g->next_txn, 1, room);
	ring_expect(g, g->nr_txns);
	put_block(g, seq + 1, g->next_txn, 1, room + 1);
	ring_expect_error(g, -EILSEQ);
	/* one that does not begin where the chain ends */
	put_block(g, seq + 1, g->next_txn, 0, 2);
	ring_expect_error(g, -EILSEQ);
	put_block(g, seq + 1, g->next_txn, 2, 3);
	ring_expect_error(g, -EILSEQ);
	/* an earlier attempt at what is there now */
	put_block(g, seq + 1, g->next_txn - 1, 2, 3);
	ring_expect(g, g->nr_txns);

	/* a block that contradicts itself is none, whatever else it says */
	put_block(g, seq + 1, g->next_txn + 5, 2, 2);
	ring_expect(g, g->nr_txns);
	put_block(g, seq + 1, g->next_txn + 5, 0, 0);
	ring_expect(g, g->nr_txns);
	put_block(g, seq + 1, g->next_txn + 5, 0, RING_BLOCKS + 1);
	ring_expect(g, g->nr_txns);
}

/* A device that at every read has one transaction more. */
static const void *endless_read(void *ctx, u32 pos)
{
	static u8 block[FUSION_BLOCK_SIZE];
	struct ring *g = ctx;

	fusion_journal_init(block);
	REQUIRE_EQ(g->next_seq % RING_BLOCKS, pos);
	/* once round, and the first of the second pass */
	REQUIRE(++g->reads <= RING_BLOCKS + 1);
	g->csum = fusion_journal_seal(&g->sb, block, g->next_seq++, g->next_txn++, 0, 1, g->csum);
	return block;
}

static void test_endless(void)
{
	struct ring *g = &ring;
	struct fusion_replay r = { .sb = &g->sb, .read = endless_read, .apply = ring_apply,
				   .ctx = g };

	ring_init(g, 128, RING_BLOCKS, 4);
	REQUIRE_EQ(fusion_replay(&r), -EIO);
	REQUIRE_EQ(g->nr_applied, 0);
}

/* A record out of bounds is damage in a whole transaction, and nothing in a torn one. */
static void test_bad_record_in_torn(void)
{
	struct ring *g = &ring;
	struct fusion_journal_block *b;
	struct fusion_journal_record *d;
	const u32 bytes = sizeof(*d);

	ring_init(g, 128, 60, 4);
	live_and_leave(g, 20, 2, 4);
	saved = *g;
	ring_commit(g, 2);
	b = (void *)fus_ring_block(g, saved.next_seq);
	d = (void *)b->payload;
	memset(d, 0xff, bytes);
	b->used = cpu_to_le32(bytes);
	reseal(b);
	b = (void *)fus_ring_block(g, saved.next_seq + 1);
	b->prev_csum = ((struct fusion_block_header *)fus_ring_block(g, saved.next_seq))->csum;
	reseal(b);
	ring_expect_error(g, -EILSEQ);
	cut(g, &saved, 1, NOT_WRITTEN);
	ring_expect(g, g->nr_txns - 1);
}

/* Whatever is in a ring, a chain that is begun anew behind it makes a superblock that lasts. */
static void expect_lasting(struct ring *g)
{
	struct fusion_ring scan = {
		.sb = &g->sb,
		.read = ring_read,
		.ctx = g,
		.wanted = FUSION_MAX_COUNTER,
	};
	struct fusion_sb sb = g->sb;

	g->unreadable = (FUSION_MAX_COUNTER - 1) % RING_BLOCKS;
	fusion_ring_scan(&scan);
	g->unreadable = U32_MAX;
	fusion_journal_restart(&sb, scan.next_seq);
	REQUIRE(fusion_sb_lasts(&sb), "%llu %llu", sb.replay_seq, sb.replay_txn);
	REQUIRE(scan.peer_at.generation <= FUSION_MAX_COUNTER &&
		scan.peer_at.seq <= FUSION_MAX_COUNTER);
}

/*
 * Headers with edge values and a checksum that is right. Whatever they say, the replay ends,
 * hands out nothing out of bounds (ring_apply() looks), and either refuses or applies a
 * prefix of the history.
 */
static void test_forged(void)
{
	static const struct {
		unsigned int offset, size;
	} fields[] = {
#define FIELD(f)	{ offsetof(struct fusion_journal_block, f), \
			  sizeof_field(struct fusion_journal_block, f) }
		FIELD(seq), FIELD(txn), FIELD(epoch), FIELD(index), FIELD(count),
		FIELD(prev_csum), FIELD(used), FIELD(peer_generation), FIELD(peer_seq),
	};
	static const u64 edges[] = {
		0, 1, 2, 15, 16, 17, RING_BLOCKS - 1, RING_BLOCKS, RING_BLOCKS + 1, 4031, 4032,
		4033, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, U32_MAX, 1ULL << 32,
		1ULL << 61, 1ULL << 62, 1ULL << 63, U64_MAX - RING_BLOCKS, U64_MAX - 1, U64_MAX,
	};
	struct ring *g = &ring;
	u32 round, i, ok = 0, refused = 0;

	ring_init(&saved, 128, 60, 4);
	live_and_leave(&saved, 20, 6, 10);
	for (round = 0; round < 6000; round++) {
		const u64 seq = saved.sb.replay_seq + rnd_below(&saved.seed, RING_BLOCKS);
		struct fusion_replay r;
		u8 *block;
		int err;

		memcpy(&ring.block, &saved.block, sizeof(ring.block));
		if (!round)
			*g = saved;
		block = fus_ring_block(g, seq);
		if (rnd_below(&saved.seed, 2))
			memcpy(block, fus_ring_block(g, saved.sb.replay_seq), FUSION_BLOCK_SIZE);
		for (i = 1 + rnd_below(&saved.seed, 3); i; i--) {
			const u32 f = rnd_below(&saved.seed, ARRAY_SIZE(fields));
			u8 *p = block + fields[f].offset;
			const u64 old = get_le(p, fields[f].size);
			const u64 edge = edges[rnd_below(&saved.seed, ARRAY_SIZE(edges))];

			put_le(p, fields[f].size, rnd_below(&saved.seed, 2) ? edge : old + edge);
		}
		put_le(block + 8, 8, saved.sb.journal_start[ring_dev] + seq % RING_BLOCKS);
		if (rnd_below(&saved.seed, 2))
			put_le(block + offsetof(struct fusion_journal_block, seq), 8, seq);
		reseal(block);

		expect_lasting(g);
		err = ring_replay(g, &r);
		if (err) {
			REQUIRE_EQ(err, -EILSEQ);
			REQUIRE_EQ(g->nr_applied, 0);
			REQUIRE(r.why);
			refused++;
			continue;
		}
		ok++;
		REQUIRE(r.next_seq >= g->sb.replay_seq &&
			r.next_seq - g->sb.replay_seq <= RING_BLOCKS);
		REQUIRE(r.next_txn >= g->sb.replay_txn &&
			r.next_txn - g->sb.replay_txn <= r.next_seq - g->sb.replay_seq);
		REQUIRE(r.peer_at.generation <= FUSION_MAX_COUNTER &&
			r.peer_at.seq <= FUSION_MAX_COUNTER);
	}
	REQUIRE(ok > 500 && refused > 500, "%u %u", ok, refused);
}

static const struct unit_test tests[] = {
	{ "replay: broken chain is damage", test_broken_chain },
	{ "replay: impossible blocks", test_impossible_blocks },
	{ "replay: a chain without end", test_endless },
	{ "replay: bad record, whole or torn", test_bad_record_in_torn },
	{ "replay: forged headers", test_forged },
};

UNIT_TESTS(tests)
