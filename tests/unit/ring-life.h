/* SPDX-License-Identifier: GPL-2.0-only */
/* What happens to a ring: commits, checkpoints, activations, and power cuts. */
#ifndef RING_LIFE_H
#define RING_LIFE_H

#include "ring.h"

#define SECTOR	512

/* Some random life: commits of any size, laps of the ring, checkpoints when it is full. */
static inline void live(struct ring *g, u32 commits)
{
	while (commits--) {
		u32 count = rnd_below(&g->seed, 3) ? 1 : rnd_log(&g->seed, 1, RING_BLOCKS);

		if (count > ring_room(g) || !rnd_below(&g->seed, 20))
			ring_checkpoint(g);
		ring_commit(g, count);
	}
}

/* As live(), and leaves at least @nr transactions to replay and room for @room blocks. */
static inline void live_and_leave(struct ring *g, u32 commits, u32 nr, u32 room)
{
	live(g, commits);
	ring_checkpoint(g);
	while (nr--)
		ring_commit(g, 1 + rnd_below(&g->seed, (ring_room(g) - room - nr) / (nr + 1)));
}

/* What a block of the transaction under way looks like after a power cut. */
enum fate { NOT_WRITTEN, TORN };

/*
 * Undo (in part) the write of block @i of the last transaction. @before is the ring before it.
 * A torn block keeps a random choice of its sectors, but not all that matter.
 */
static inline void cut(struct ring *g, const struct ring *before, u32 i, enum fate fate)
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
static inline void torn_commit(struct ring *g, u32 count)
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
static inline bool activate(struct ring *g, u32 commits, bool fails)
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

#endif
