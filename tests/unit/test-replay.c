// SPDX-License-Identifier: GPL-2.0-only
/* Replay against a model: what a power cut may leave is replayed, all else is refused. */
#include "ring.h"

#define SECTOR	512

static struct ring ring, saved;

/* Some random life: commits of any size, laps of the ring, checkpoints when it is full. */
static void live(struct ring *g, u32 commits)
{
	while (commits--) {
		u32 count = rnd_below(&g->seed, 3) ? 1 : rnd_log(&g->seed, 1, RING_BLOCKS);

		if (count > ring_room(g) || !rnd_below(&g->seed, 20))
			ring_checkpoint(g);
		ring_commit(g, count);
	}
}

/* As live(), and leaves at least @nr transactions to replay and room for @room blocks. */
static void live_and_leave(struct ring *g, u32 commits, u32 nr, u32 room)
{
	live(g, commits);
	ring_checkpoint(g);
	while (nr--)
		ring_commit(g, 1 + rnd_below(&g->seed, (ring_room(g) - room - nr) / (nr + 1)));
}

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

/* What a block of the transaction under way looks like after a power cut. */
enum fate { NOT_WRITTEN, TORN };

/*
 * Undo (in part) the write of block @i of the last transaction. @before is the ring before it.
 * A torn block keeps a random choice of its sectors, but not all that matter.
 */
static void cut(struct ring *g, const struct ring *before, u32 i, enum fate fate)
{
	const u64 seq = before->next_seq + i;
	const u8 *old = before->block[seq % RING_BLOCKS];
	u8 *block = fus_ring_block(g, seq), written[FUSION_BLOCK_SIZE];
	u32 s;

	memcpy(written, block, FUSION_BLOCK_SIZE);
	for (s = 0; fate == TORN && s < FUSION_BLOCK_SIZE; s += SECTOR)
		if (rnd_below(&g->seed, 2))
			memcpy(block + s, old + s, SECTOR);
	if (!memcmp(written, block, FUSION_BLOCK_SIZE))
		memcpy(block, old, FUSION_BLOCK_SIZE);
}

/* A transaction that a power cut leaves torn: the ring has parts of it, nobody else. */
static void torn_commit(struct ring *g, u32 count)
{
	static struct ring before;
	const u32 lost = 1 + rnd_below(&g->seed, (1U << count) - 1);
	u32 i;

	before = *g;
	ring_commit(g, count);
	for (i = 0; i < count; i++)
		if (lost >> i & 1)
			cut(g, &before, i, rnd_below(&g->seed, 2) ? TORN : NOT_WRITTEN);
	memcpy(before.block, g->block, sizeof(before.block));
	before.seed = g->seed;
	*g = before;
}

/*
 * What an activation does: transactions of the epoch it found, then a superblock of the next
 * one, which points to them. Return: false if power fails before the superblock is written.
 */
static bool activate(struct ring *g, u32 commits, bool fails)
{
	struct ring then = *g;

	ring_checkpoint(&then);
	while (commits--)
		ring_commit(g, 1 + rnd_below(&g->seed, 3));
	if (fails) {
		torn_commit(g, 1 + rnd_below(&g->seed, 3));
		return false;
	}
	then.sb.epoch++;
	g->sb = then.sb;
	g->first_txn = then.first_txn;
	return true;
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

static void test_slow(void);

static const struct unit_test tests[] = {
	{ "replay: any history, lap after lap", test_history },
	{ "replay: a ring full to the last block", test_full_ring },
	{ "replay: numbers as high as can be", test_high_numbers },
	{ "replay: from a block never written", test_never_written },
	{ "replay: last transaction torn in every combination", test_torn },
	{ "replay: only the second of two bios written", test_second_half },
	{ "replay: a block lost in the middle is damage", test_lost_in_the_middle },
	{ "replay: a block lost before a torn tail is damage", test_lost_before_torn },
	{ "replay: power cut after power cut", test_power_cuts },
	{ "replay: several attempts at a transaction", test_mixed_attempts },
	{ "replay: a block of the activation lost is damage", test_lost_at_activation },
	{ "replay: a superblock that is not the newest is damage", test_old_superblock },
	{ "replay: unreadable block", test_unreadable },
	{ "replay: unreadable blocks where the chain ends and beyond", test_unreadable_both },
	{ "replay: refusal by the caller", test_refusal },
	{ "replay: second pass reads other than the first", test_vanishing },
	{ "replay: broken chain is damage", test_broken_chain },
	{ "replay: impossible blocks", test_impossible_blocks },
	{ "replay: a chain without end", test_endless },
	{ "replay: bad record, whole or torn", test_bad_record_in_torn },
	{ "replay: forged headers", test_forged },
	{ "replay: a chain begun anew", test_restart },
	{ "replay: all of it on the slow member", test_slow },
};

static void test_slow(void)
{
	ring_slow(tests, test_slow);
}

UNIT_TESTS(tests)
