// SPDX-License-Identifier: GPL-2.0-only
/* The map copies that a state can be rebuilt from: see meta-base.h. */
#include "meta-base.h"

static u32 nr_good(const struct meta *meta, const struct rebuild *rb, int set, u64 generation)
{
	const struct meta_block *b = meta->m[rb->dev].set[set].block;
	u32 n = 0;

	for (u32 i = 0; i < meta->geo[rb->dev].map_blocks; i++)
		n += !b[i].why && b[i].generation == generation;
	return n;
}

/*
 * Without a superblock: the newest map copy that is intact, otherwise the one with the most good
 * blocks.
 */
static struct base guess_base(const struct meta *meta, const struct rebuild *rb)
{
	const u32 blocks = meta->geo[rb->dev].map_blocks;
	struct base best = { .set = -1 };
	u32 most = 0;

	for (int set = 0; set < FUSION_NR_SETS; set++) {
		const struct meta_block *b = meta->m[rb->dev].set[set].block;
		u64 generation = 0;
		u32 n;

		for (u32 i = 0; i < blocks; i++)
			if (!b[i].why)
				generation = max(generation, b[i].generation);
		n = nr_good(meta, rb, set, generation);
		if (n > most || (n == most && n && generation > best.generation)) {
			best.set = set;
			best.generation = generation;
			most = n;
		}
	}
	return best;
}

/* The least and the greatest generation of its valid blocks; 0 if there are none. */
static void generations(const struct meta *meta, int dev, int set, u64 *least, u64 *most)
{
	const struct meta_block *b = meta->m[dev].set[set].block;

	*least = 0;
	*most = 0;
	for (u32 i = 0; i < meta->geo[dev].map_blocks; i++) {
		if (b[i].why)
			continue;
		*least = *most ? min(*least, b[i].generation) : b[i].generation;
		*most = max(*most, b[i].generation);
	}
}

bool fus_newer_block(const struct meta *meta, int dev, u64 generation)
{
	for (int set = 0; set < FUSION_NR_SETS; set++)
		for (u32 i = 0; i < meta->geo[dev].map_blocks; i++) {
			const struct meta_block *b = &meta->m[dev].set[set].block[i];

			if (!b->why && b->generation > generation &&
			    b->generation - generation <= HEADLESS_JUMP)
				return true;
		}
	return false;
}

bool fus_newer_copy(const struct meta *meta, int dev, u64 generation)
{
	u64 least, most;

	for (int set = 0; set < FUSION_NR_SETS; set++) {
		generations(meta, dev, set, &least, &most);
		if (most > generation && least == most)
			return true;
	}
	return false;
}

struct base fus_newest_base(const struct meta *meta, const struct rebuild *rb)
{
	const struct fusion_sb *sb = fus_meta_sb(meta, rb->dev);

	if (!sb)
		return guess_base(meta, rb);
	return (struct base){ sb->active_set, sb->set_generation, sb->replay_seq };
}

struct base fus_older_base(const struct meta *meta, const struct rebuild *rb, const struct base *a)
{
	const struct meta_member *m = &meta->m[rb->dev];
	const struct meta_copy *c = m->best < 0 ? NULL : &m->copy[!m->best];
	struct base b = { .set = a->set < 0 ? -1 : !a->set };

	if (c && !c->err && (int)c->sb.active_set == b.set) {
		b.generation = c->sb.set_generation;
		b.replay_seq = c->sb.replay_seq;
	}
	return b;
}

struct fusion_progress fus_claimed(const struct meta *meta, int dev)
{
	const struct fusion_sb *sb = fus_meta_sb(meta, dev);
	struct fusion_progress p = meta->m[dev].ring.peer_at;

	if (sb && sb->peer_at.generation < FUSION_MAX_COUNTER / 4)
		fusion_progress_raise(&p, sb->peer_at.generation, 0);
	if (sb && sb->peer_at.seq < FUSION_MAX_COUNTER / 4)
		fusion_progress_raise(&p, 0, sb->peer_at.seq);
	return p;
}
