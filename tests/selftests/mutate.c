// SPDX-License-Identifier: GPL-2.0-only
/* mutate: what is mutated, sealed or by rot. See mutate.h. */
#include <string.h>

#include "mutate-inside.h"

static void mutate_sealed(struct image *im, struct mutation *m)
{
	const int dev = mutate_one_in(m, 4) ? FUSION_SLOW : FUSION_FAST;

	switch (mutate_below(&m->state, 12)) {
	case 0:
	case 1:
	case 2:
		mutate_super(im, m);
		break;
	case 3:
		mutate_geometry(im, m);
		break;
	case 4:
	case 5:
	case 6:
		mutate_map(im, m, dev);
		break;
	case 7:
		mutate_heat(im, m);
		break;
	default:
		mutate_journal(im, m, dev);
	}
}

/* -- rot ---------------------------------------------------------------------------- */

/* Any metadata block, most of the time one that matters. */
static u64 any_block(struct image *im, struct mutation *m, int dev)
{
	const struct fusion_sb *sb = &im->sb[dev];
	const u64 live = im->next_seq[dev] - sb->replay_seq;
	const unsigned int set = mutate_one_in(m, 4) ? !sb->active_set : sb->active_set;

	switch (mutate_below(&m->state, 8)) {
	case 0:
	case 1:
		return FUSION_SUPER_BLOCKNR(mutate_below(&m->state, 2));
	case 2:
		return dev == FUSION_FAST ?
		       sb->heat_start + mutate_below(&m->state, sb->heat_blocks) :
		       sb->map_start[dev][set] + mutate_below(&m->state, sb->map_blocks);
	case 3:
	case 4:
		return sb->map_start[dev][set] + mutate_below(&m->state, sb->map_blocks);
	case 5:
		return sb->journal_start[dev] + mutate_below(&m->state, sb->journal_blocks[dev]);
	default:
		return fusion_journal_blocknr(sb, sb->replay_seq +
					      (live ? mutate_below(&m->state, live) : 0));
	}
}

static void rot_block(struct image *im, struct mutation *m, int dev)
{
	const u64 blocknr = any_block(im, m, dev);
	u8 *b = image_block(im, dev, blocknr);
	const u32 sector = mutate_below(&m->state, FUSION_BLOCK_SECTORS) * 512;
	u32 n = 1 + mutate_below(&m->state, 32);

	for (u64 seq = im->last_txn[dev]; seq < im->next_seq[dev]; seq++)
		if (fusion_journal_blocknr(&im->sb[dev], seq) == blocknr)
			m->torn_tail = true;

	mutate_note(m, " rot %s block %llu", member_name(dev), (unsigned long long)blocknr);
	switch (mutate_below(&m->state, 6)) {
	case 0:
		memset(b, 0, FUSION_BLOCK_SIZE);
		mutate_note(m, " zeroed");
		break;
	case 1:
		memset(b + sector, 0, 512);
		mutate_note(m, " sector %u zeroed", sector / 512);
		break;
	case 2:
		for (u32 i = 0; i < 512; i++)
			b[sector + i] = mutate_draw(m);
		mutate_note(m, " sector %u random", sector / 512);
		break;
	case 3:
		memcpy(b, image_block(im, dev, any_block(im, m, dev)), FUSION_BLOCK_SIZE);
		mutate_note(m, " another one");
		break;
	default:
		while (n--) {
			const u32 bit = mutate_below(&m->state, FUSION_BLOCK_SIZE * 8);

			b[bit / 8] ^= 1U << bit % 8;
		}
		mutate_note(m, " bits flipped");
	}
}

static void mutate_rot(struct image *im, struct mutation *m)
{
	u32 n = mutate_one_in(m, 3) ? 2 + mutate_below(&m->state, 3) : 1;

	m->blocks = n;
	while (n--)
		rot_block(im, m, mutate_one_in(m, 3) ? FUSION_SLOW : FUSION_FAST);
}

void mutate(struct image *im, struct mutation *m)
{
	u32 n = mutate_one_in(m, 3) ? 2 : 1;

	m->what[0] = 0;
	m->torn_tail = false;
	m->rot = mutate_one_in(m, 3);
	if (m->rot)
		mutate_rot(im, m);
	else
		while (n--)
			mutate_sealed(im, m);
}
