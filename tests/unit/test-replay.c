// SPDX-License-Identifier: GPL-2.0-only
/* Replay against a model: what a power cut may leave is replayed, all else is refused. */
#include "ring-life.h"

static struct ring ring, saved;

static void test_history(void)
{
	struct ring *g = &ring;
	u32 round, i;

	for (round = 0; round < 27; round++) {
		ring_init(g, 128U << round % 9, rnd_below(&g->seed, 1000) + 1, round);
		ring_expect(g, 0);
		for (i = 0; i < 60; i++) {
			live(g, 1);
			ring_expect(g, g->nr_txns);
		}
		ring_checkpoint(g);
		ring_expect(g, g->nr_txns);
	}
}

/* One transaction as big as the ring; many that fill it to the last block. */
static void test_full_ring(void)
{
	struct ring *g = &ring;
	u32 i;

	ring_init(g, 128, 33, 1);
	ring_commit(g, RING_BLOCKS);
	ring_expect(g, 1);
	ring_checkpoint(g);
	for (i = 0; i < RING_BLOCKS; i++)
		ring_commit(g, 1);
	ring_expect(g, 1 + RING_BLOCKS);
	REQUIRE_EQ(ring_room(g), 0);
}

/* Numbers as high as a superblock may have them. */
static void test_high_numbers(void)
{
	struct ring *g = &ring;

	ring_init(g, 128, 1ULL << 62, 1);
	g->sb.epoch = U32_MAX - 1;
	g->sb.replay_txn = 1ULL << 62;
	g->next_txn = g->sb.replay_txn;
	live(g, 300);
	ring_expect(g, g->nr_txns);
}

static void test_never_written(void)
{
	struct ring *g = &ring;

	ring_init(g, 128, 12345, 1);
	ring_expect(g, 0);
	memset(g->block, 0, sizeof(g->block));
	ring_expect(g, 0);
	/* a set formatted anew over another one, whose blocks are all valid */
	live(g, 200);
	g->sb.set_uuid[0] ^= 1;
	ring_checkpoint(g);
	ring_expect(g, g->nr_txns);
	g->sb.replay_seq = 1;
	g->sb.replay_txn = 1;
	g->sb.replay_csum = 0;
	{
		struct fusion_replay r;

		REQUIRE_EQ(ring_replay(g, &r), 0);
		REQUIRE_EQ(r.nr_records, 0);
		REQUIRE_EQ(r.next_seq, 1);
		REQUIRE_EQ(r.next_txn, 1);
		REQUIRE_EQ(r.csum, 0);
	}
}

/* Torn at each of its blocks, in any combination, also where it wraps round the end. */
static void test_torn(void)
{
	struct ring *g = &ring;
	u32 round, i, mask, count;

	for (round = 0; round < 30; round++) {
		ring_init(g, 128, rnd_below(&g->seed, 1000) + 1, round);
		live_and_leave(g, 40, rnd_below(&g->seed, 4), 8);
		/* every second time across the end of the ring */
		while (round % 2 && (g->next_seq + 2) % RING_BLOCKS) {
			if (ring_room(g) < 8)
				ring_checkpoint(g);
			ring_commit(g, 1);
		}
		if (ring_room(g) < 5)
			ring_checkpoint(g);
		count = 1 + round % 5;
		saved = *g;
		for (mask = 1; mask < 1U << count; mask++) {
			*g = saved;
			g->seed += mask;
			ring_commit(g, count);
			for (i = 0; i < count; i++)
				if (mask >> i & 1)
					cut(g, &saved, i, rnd_below(&g->seed, 2) ? TORN :
					    NOT_WRITTEN);
			ring_expect(g, g->nr_txns - 1);
		}
	}
}

/* A bio of two halves, of which only the second got there. */
static void test_second_half(void)
{
	struct ring *g = &ring;
	u32 i;

	ring_init(g, 128, RING_BLOCKS - 8, 4);
	live_and_leave(g, 0, 1, RING_BLOCKS - 4);
	while ((g->next_seq + 3) % RING_BLOCKS)
		ring_commit(g, 1);
	saved = *g;
	ring_commit(g, 7);
	for (i = 0; i < 3; i++)
		cut(g, &saved, i, NOT_WRITTEN);
	ring_expect(g, g->nr_txns - 1);
}

/*
 * Power cut after power cut, in commits and in the recoveries themselves. What was torn stays
 * in the ring, also as blocks of several attempts at one transaction, and must neither be
 * taken for a part of what was written later, nor for damage.
 */
static void test_power_cuts(void)
{
	struct ring *g = &ring;
	u32 round, i, cuts;

	for (round = 0; round < 40; round++) {
		ring_init(g, 128, rnd_below(&g->seed, 1000) + 1, round);
		g->sb.epoch = round % 2;
		for (cuts = 0; cuts < 60; cuts++) {
			if (ring_room(g) < RING_BLOCKS / 2)
				ring_checkpoint(g);
			for (i = rnd_below(&g->seed, 4); i; i--)
				ring_commit(g, 1 + rnd_below(&g->seed, 4));
			torn_commit(g, 1 + rnd_below(&g->seed, 6));
			ring_expect(g, g->nr_txns);
			while (!activate(g, rnd_below(&g->seed, 3), ring_room(g) > 20 &&
					 rnd_below(&g->seed, 2)))
				ring_expect(g, g->nr_txns);
			ring_expect(g, g->nr_txns);
		}
	}
}

/* Two attempts at a transaction, each with the blocks the other one lacks, are not one. */
static void test_mixed_attempts(void)
{
	struct ring *g = &ring;
	u32 epochs, mask, i;

	for (epochs = 0; epochs < 2; epochs++) {
		for (mask = 1; mask < 15; mask++) {
			ring_init(g, 128, 101, mask);
			live_and_leave(g, 20, 2, 8);
			saved = *g;
			ring_commit(g, 4);
			memcpy(saved.block, g->block, sizeof(g->block));
			saved.seed = g->seed;
			*g = saved;
			if (epochs) {
				ring_checkpoint(g);
				g->sb.epoch++;
			}
			ring_commit(g, 4);
			for (i = 0; i < 4; i++)
				if (mask >> i & 1)
					cut(g, &saved, i, NOT_WRITTEN);
			ring_expect(g, g->nr_txns - 1);
		}
	}
}

/* The caller's refusal ends the replay at once, and is passed on. */
static void test_refusal(void)
{
	struct ring *g = &ring;
	struct fusion_replay r;
	u32 total;

	ring_init(g, 128, 555, 2);
	live_and_leave(g, 30, 5, 10);
	ring_expect(g, g->nr_txns);
	total = g->nr_applied;
	REQUIRE(total > 5);
	for (g->refuse = 0; g->refuse < total; g->refuse++) {
		REQUIRE_EQ(ring_replay(g, &r), -ENOMEM);
		REQUIRE_EQ(g->nr_applied, g->refuse);
		REQUIRE_EQ(r.nr_records, g->refuse);
		REQUIRE(r.why);
	}
}

/* Nobody has read the ring: what it holds must be neither believed nor missed. */
static void test_restart(void)
{
	struct ring *g = &ring;
	u32 round, i;

	for (round = 0; round < 200; round++) {
		ring_init(g, 128, rnd_below(&g->seed, 1000) + 1, round);
		live(g, round % 20);
		if (ring_room(g))
			torn_commit(g, 1 + rnd_below(&g->seed, min(ring_room(g), 6U)));
		g->sb.epoch++;
		fusion_journal_restart(&g->sb, 0);
		g->next_seq = g->sb.replay_seq;
		g->next_txn = g->sb.replay_txn;
		g->csum = g->sb.replay_csum;
		g->first_txn = g->nr_txns;
		ring_expect(g, g->nr_txns);
		for (i = 0; i < 20; i++) {
			ring_commit(g, 1 + rnd_below(&g->seed, 3));
			ring_expect(g, g->nr_txns);
		}
		torn_commit(g, 3);
		ring_expect(g, g->nr_txns);
	}
}

static void test_slow(void)
{
	ring_slow(test_slow);
}

static const struct unit_test tests[] = {
	{ "replay: any history, lap after lap", test_history },
	{ "replay: a ring full to the last block", test_full_ring },
	{ "replay: numbers as high as can be", test_high_numbers },
	{ "replay: from a block never written", test_never_written },
	{ "replay: last transaction torn in every combination", test_torn },
	{ "replay: only the second of two bios written", test_second_half },
	{ "replay: power cut after power cut", test_power_cuts },
	{ "replay: several attempts at a transaction", test_mixed_attempts },
	{ "replay: refusal by the caller", test_refusal },
	{ "replay: a chain begun anew", test_restart },
	{ "replay: all of it on the slow member", test_slow },
};

UNIT_TESTS(tests)
