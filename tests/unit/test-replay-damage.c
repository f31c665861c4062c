// SPDX-License-Identifier: GPL-2.0-only
/* Replay: blocks that are lost, rotten, unreadable, or older than they should be. */
#include "ring-life.h"

static struct ring ring, saved;

/* A block of @seq that is not as it was: gone, from another time, or rotten. */
static void damage(struct ring *g, u64 seq, u32 how)
{
	u8 *block = fus_ring_block(g, seq);

	switch (how % 4) {
	case 0:
		memset(block, 0, FUSION_BLOCK_SIZE);
		break;
	case 1:
		/* a write that never got there: still the lap before */
		fusion_journal_init(block);
		fusion_journal_seal(&g->sb, block, seq - RING_BLOCKS, 1, 0, 1, 0);
		break;
	case 2:
		flip_bit(block, rnd_below(&g->seed, BLOCK_BITS));
		break;
	case 3:
		/* written elsewhere */
		memcpy(block, fus_ring_block(g, seq + 1), FUSION_BLOCK_SIZE);
	}
}

/* Each block that is lost before the last transaction is missed, whatever comes after. */
static void test_lost_in_the_middle(void)
{
	struct ring *g = &ring;
	u32 round, how;
	u64 seq, last;

	for (round = 0; round < 20; round++) {
		ring_init(g, 128, RING_BLOCKS + 1 + rnd_below(&g->seed, 1000), round);
		live_and_leave(g, 20, 2 + round % 5, 0);
		saved = *g;
		last = ring_txn[g->nr_txns - 1].seq;
		for (seq = g->sb.replay_seq; seq < last; seq++) {
			for (how = 0; how < 4; how++) {
				*g = saved;
				damage(g, seq, how);
				ring_expect_error(g, -EILSEQ);
			}
		}
		/* in the last one it cannot be told from a torn tail */
		for (; seq < g->next_seq; seq++) {
			for (how = 0; how < 4; how++) {
				*g = saved;
				damage(g, seq, how);
				ring_expect(g, g->nr_txns - 1);
			}
		}
	}
}

/* The last transaction is torn and one before it is lost: one block is proof enough. */
static void test_lost_before_torn(void)
{
	struct ring *g = &ring;
	u32 mask, i;

	for (mask = 1; mask < 15; mask++) {
		ring_init(g, 128, 101, mask);
		live_and_leave(g, 20, 3, 4);
		damage(g, ring_txn[g->nr_txns - 1].seq, 0);
		saved = *g;
		ring_commit(g, 4);
		for (i = 0; i < 4; i++)
			if (mask >> i & 1)
				cut(g, &saved, i, NOT_WRITTEN);
		ring_expect_error(g, -EILSEQ);
	}
}

/* What an activation recorded before its superblock is missed, too. */
static void test_lost_at_activation(void)
{
	struct ring *g = &ring;
	u64 seq, last;

	ring_init(g, 128, 101, 1);
	live_and_leave(g, 20, 2, 20);
	REQUIRE(activate(g, 4, false));
	saved = *g;
	last = ring_txn[g->nr_txns - 1].seq;
	for (seq = g->sb.replay_seq; seq < last; seq++) {
		*g = saved;
		damage(g, seq, 0);
		ring_expect_error(g, -EILSEQ);
	}
}

/* An old superblock, because the newest is unreadable, meets what came after it. */
static void test_old_superblock(void)
{
	struct ring *g = &ring;
	u32 laps;

	/* of the epoch before: commits since are acknowledged, and beyond its sight */
	ring_init(g, 128, 101, 1);
	live_and_leave(g, 20, 3, 8);
	saved = *g;
	ring_checkpoint(g);
	g->sb.epoch++;
	ring_commit(g, 1);
	g->sb = saved.sb;
	ring_expect_error(g, -EILSEQ);

	/* of the checkpoint before: its part of the ring may be overwritten */
	for (laps = 0; laps < 3; laps++) {
		ring_init(g, 128, 101, laps);
		live_and_leave(g, 20, 3, 8);
		saved = *g;
		ring_checkpoint(g);
		while (g->next_seq <= saved.sb.replay_seq + (laps + 1) * RING_BLOCKS) {
			ring_checkpoint(g);
			ring_commit(g, 1);
		}
		g->sb = saved.sb;
		ring_expect_error(g, -EILSEQ);
	}
}

/* Which of the transactions to be replayed has a block there? nr_txns: none. */
static u32 txn_at(const struct ring *g, u32 pos)
{
	u32 i, k;

	for (i = g->first_txn; i < g->nr_txns; i++)
		for (k = 0; k < ring_txn[i].count; k++)
			if ((ring_txn[i].seq + k) % RING_BLOCKS == pos)
				return i;
	return g->nr_txns;
}

/*
 * In the last transaction it is as if that was torn; in one before, the later ones prove that
 * something is missing; elsewhere nobody needs the block.
 */
static void test_unreadable(void)
{
	struct ring *g = &ring;
	u32 pos, last, missing = 0;

	ring_init(g, 128, 555, 1);
	live_and_leave(g, 30, 5, 10);
	last = g->nr_txns - 1;
	for (pos = 0; pos < RING_BLOCKS; pos++) {
		g->unreadable = pos;
		if (txn_at(g, pos) < last) {
			ring_expect_error(g, -EIO);
			missing++;
		} else {
			ring_expect(g, txn_at(g, pos));
		}
	}
	REQUIRE(missing > 5);
	g->unreadable = U32_MAX;
	ring_expect(g, g->nr_txns);
}

/*
 * What ends the chain can't be read, nor can a block so far on that no power cut tore both: there
 * may be more of the chain. Unless it is known to have ended, as the set was closed.
 */
static void test_unreadable_both(void)
{
	struct ring *g = &ring;
	u32 i;

	ring_init(g, 128, 555, 1);
	live_and_leave(g, 30, 2, 40);
	for (i = 1; i < ring_room(g); i++) {
		g->unreadable = g->next_seq % RING_BLOCKS;
		g->unreadable_too = (g->next_seq + i) % RING_BLOCKS;
		g->sb.flags &= ~FUSION_SB_CLEAN;
		if (i < RING_BLOCKS / 4)
			ring_expect(g, g->nr_txns);
		else
			ring_expect_error(g, -EIO);
		g->sb.flags |= FUSION_SB_CLEAN;
		ring_expect(g, g->nr_txns);
		/* the end of the chain is there, so it is nobody's business */
		g->unreadable = U32_MAX;
		g->sb.flags &= ~FUSION_SB_CLEAN;
		ring_expect(g, g->nr_txns);
	}
	REQUIRE(i > RING_BLOCKS / 4 + 2);
}

/* A device that forgets between the first pass and the second. */
static void test_vanishing(void)
{
	struct ring *g = &ring;
	struct fusion_replay r;
	u32 reads, first;

	ring_init(g, 128, 555, 3);
	live_and_leave(g, 30, 5, 10);
	ring_expect(g, g->nr_txns);
	reads = g->reads;
	first = reads - (g->next_seq - g->sb.replay_seq);
	for (g->vanish = first; g->vanish < reads; g->vanish++) {
		REQUIRE_EQ(ring_replay(g, &r), -EIO);
		REQUIRE(r.why);
		REQUIRE_EQ(g->nr_wrong, 0);
	}
}

static const struct unit_test tests[] = {
	{ "replay: a block lost in the middle is damage", test_lost_in_the_middle },
	{ "replay: a block lost before a torn tail is damage", test_lost_before_torn },
	{ "replay: a block of the activation lost is damage", test_lost_at_activation },
	{ "replay: a superblock that is not the newest is damage", test_old_superblock },
	{ "replay: unreadable block", test_unreadable },
	{ "replay: unreadable blocks where the chain ends and beyond", test_unreadable_both },
	{ "replay: second pass reads other than the first", test_vanishing },
};

UNIT_TESTS(tests)
