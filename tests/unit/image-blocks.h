/* SPDX-License-Identifier: GPL-2.0-only */
/* Images to damage, and what each of their blocks is. */
#ifndef IMAGE_BLOCKS_H
#define IMAGE_BLOCKS_H

#include <sanitizer/common_interface_defs.h>

#include "image.h"

#define FAST_SECTORS	(16ULL << 11)
#define SLOW_SECTORS	(96ULL << 11)

static inline bool within(u64 block, u64 start, u64 nr)
{
	return block >= start && block - start < nr;
}

static inline bool is_super(u64 block)
{
	return block == FUSION_SUPER_BLOCKNR(0) || block == FUSION_SUPER_BLOCKNR(1);
}

static inline bool is_ring(const struct image *im, int dev, u64 block)
{
	const struct fusion_sb *sb = &im->side[dev].sb;

	return within(block, sb->journal_start[dev], sb->journal_blocks[dev]);
}

static inline bool is_metadata(const struct image *im, int dev, u64 block)
{
	const struct fusion_sb *sb = &im->side[dev].sb;

	return is_super(block) || is_ring(im, dev, block) ||
	       within(block, sb->map_start[dev][0], sb->map_blocks) ||
	       within(block, sb->map_start[dev][1], sb->map_blocks) ||
	       (dev == FUSION_FAST && within(block, sb->heat_start, sb->heat_blocks));
}

/* Is it part of the state that counts? */
static inline bool is_live(const struct image *im, int dev, u64 block)
{
	const struct image_side *s = &im->side[dev];
	const struct fusion_sb *sb = &s->sb;

	if (is_super(block))
		return true;
	if (within(block, sb->map_start[dev][sb->active_set], sb->map_blocks))
		return true;
	if (dev == FUSION_FAST && within(block, sb->heat_start, sb->heat_blocks))
		return (sb->flags & FUSION_SB_CLEAN) && sb->epoch;
	for (u64 seq = sb->replay_seq; seq < s->next_seq; seq++)
		if (fusion_journal_blocknr(sb, seq) == block)
			return true;
	return false;
}

/* The last transaction: without it the set is as if power had failed before. */
static inline bool is_last_txn(const struct image *im, int dev, u64 block)
{
	const struct image_side *s = &im->side[dev];

	for (u64 seq = s->last_txn_seq; seq < s->next_seq; seq++)
		if (fusion_journal_blocknr(&s->sb, seq) == block)
			return true;
	return false;
}

enum damage { ZEROED, RANDOM, FLIPPED, STALE, NR_DAMAGES };

/* Returns false if that would change nothing. */
static inline bool destroy(struct image *im, int dev, u64 block, enum damage how)
{
	u8 *p = im->mem[dev] + block * FUSION_BLOCK_SIZE;
	u8 was[FUSION_BLOCK_SIZE];

	memcpy(was, p, sizeof(was));
	switch (how) {
	case ZEROED:
		memset(p, 0, FUSION_BLOCK_SIZE);
		break;
	case RANDOM:
		rnd_fill(&im->seed, p, FUSION_BLOCK_SIZE);
		break;
	case FLIPPED:
		flip_bit(p, rnd_below(&im->seed, BLOCK_BITS));
		break;
	default:
		if (im->written[dev][block] > 1)
			memcpy(p, im->old[dev] + block * FUSION_BLOCK_SIZE, FUSION_BLOCK_SIZE);
	}
	return memcmp(was, p, sizeof(was));
}

/* What is refused is refused in words, which are not for here; reports of sanitizers are. */
static inline void quiet(void)
{
	__sanitizer_set_report_fd((void *)(long)STDOUT_FILENO);
	REQUIRE(freopen("/dev/null", "w", stderr));
}

/* What the slow member says of its shadows then is exact: see fusion_sb_shadows_exact(). */
static inline void image_hand_over(struct image *im)
{
	struct fusion_sb *fast = &im->side[FUSION_FAST].sb, *slow = &im->side[FUSION_SLOW].sb;

	slow->shadows_at = slow->generation + 1;
	for (int copy = 0; copy < 2; copy++) {
		slow->generation++;
		image_super(im, FUSION_SLOW);
	}
	fast->peer_at.generation = slow->generation;
	for (int copy = 0; copy < 2; copy++) {
		fast->generation++;
		image_super(im, FUSION_FAST);
	}
}

#endif
