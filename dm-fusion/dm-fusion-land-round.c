// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: a round of the drain of the landing log: blocks are copied to their places on the slow
 * member, and then their entries die. When there are rounds, dm-fusion-land-drain.c decides.
 *
 * The mover does that, in these steps:
 *
 *  1. Mark live entries (FUSION_LAND_MARKED) that dm-fusion-land-sweep.c chooses. No write may be
 *     over them. From here on, a write past the log to such a block waits until the end of the
 *     round. One into the log takes the place of the entry, and the same goes for the block
 *     then (FUSION_LAND_HIDES): a write past the log must not be overtaken by the copy.
 *  2. Drain: writes that were sent before have ended.
 *  3. Copy (dm-fusion-pieces.c), in the order of the slow member. Blocks that lie side by side
 *     on both members are one copy. Each copy is in an epoch: it has looked at the marks first, so
 *     neither the segment nor the slot is given to anybody else meanwhile (INV2, INV21).
 *  4. Flush the slow member, beside the flushes of users. The copies never make it count as
 *     written, so no user waits for them: until step 5 the log still has the blocks.
 *  5. What still has its mark dies. A commit that begins at once records that (INV20).
 *
 * The mark goes with the entry, so an entry that has died meanwhile, or that a newer one has taken
 * the place of, is left alone, whatever its position is used for now. Extents that have entries are
 * on the slow member, and only the mover moves them. So an entry with a mark has the extent, and
 * the slot, that it had in step 1.
 *
 * A copy of several blocks that fails is tried again block by block. A block that cannot be copied
 * keeps its entry, and is tried again after a pause, which doubles each time.
 */
#include <linux/mm.h>
#include <linux/sort.h>

#include "dm-fusion.h"

/* Most blocks in a round, and copies under way. */
#define MOST_BLOCKS	1024U
#define MOST_COPIES	8U
/* Entries that die under one lock. */
#define CHUNK		64U
#define MAX_PAUSE_MS	(3600U * 1000)

/* The same for each way to drain. */
static const u32 round_blocks[] = {
	[FUSION_DRAIN_BESIDE] = 32,
	[FUSION_DRAIN_QUIET] = MOST_BLOCKS,
	[FUSION_DRAIN_PRESSED] = 256,
};

static const u32 round_copies[] = {
	[FUSION_DRAIN_BESIDE] = 2,
	[FUSION_DRAIN_QUIET] = MOST_COPIES,
	[FUSION_DRAIN_PRESSED] = MOST_COPIES,
};

/* What has become of a block in a round. */
enum fate {
	TAKEN,
	COPIED,
	DOUBTED,	/* a copy of several blocks has failed: try each alone */
	FAILED,
};

/* A block in a round. */
struct block {
	sector_t to;
	u32 pos;
	u32 lext;
	u16 block;
	u8 fate;
};

/* The mover's only one, so that none lacks memory. */
struct fusion_land_round {
	struct fusion_drained *counts;
	u32 nr;
	struct block block[MOST_BLOCKS];
};

/* -- step 1 ---------------------------------------------------------------------------------- */

/* Take the block at @pos, if that is possible. fs->lock and land->lock held. */
static void fusion_drain_mark(struct fusion *fs, struct fusion_land_round *round, u32 pos)
{
	struct fusion_land_entry *entry = &fs->land.entry[pos];
	u64 to;

	if (!fusion_drain_to(fs, pos, &to, round->counts))
		return;
	entry->flags = FUSION_LAND_MARKED;
	round->block[round->nr++] = (struct block){
		.to = to,
		.pos = pos,
		.lext = entry->lext,
		.block = entry->block,
	};
}

/* Take what can be taken of the @nr blocks at @next. */
static void fusion_drain_take_swept(struct fusion *fs, struct fusion_land_round *round,
				    const struct fusion_swept *next, u32 nr, u64 end)
{
	struct fusion_land *land = &fs->land;
	unsigned long flags;
	u32 i, last, pos;

	for (i = 0; i < nr; i = last) {
		last = min(i + CHUNK, nr);
		spin_lock_irq(&fs->lock);
		spin_lock_irqsave(&land->lock, flags);
		for (; i < last; i++) {
			pos = fusion_swept_pos(land, &next[i], end);
			if (pos != FUSION_LAND_NONE)
				fusion_drain_mark(fs, round, pos);
		}
		spin_unlock_irqrestore(&land->lock, flags);
		spin_unlock_irq(&fs->lock);
		cond_resched();
	}
}

/* Take up to @max blocks of segments with numbers below @end. */
static void fusion_drain_take(struct fusion *fs, struct fusion_land_round *round, u32 max, u64 end)
{
	const struct fusion_swept *next;
	bool looked = false;
	u32 nr;

	while (round->nr < max) {
		nr = fusion_swept(&fs->land, max - round->nr, &next);
		if (nr) {
			fusion_drain_take_swept(fs, round, next, nr, end);
			continue;
		}
		if (round->nr || looked)
			break;
		fusion_sweep(fs, end, round->counts);
		looked = true;
	}
}

static int fusion_drain_compare(const void *a, const void *b)
{
	const struct block *ba = a, *bb = b;

	return ba->to < bb->to ? -1 : ba->to > bb->to;
}

/* -- step 3 ---------------------------------------------------------------------------------- */

/* Does the block at @i lie behind the one before it, on both members? */
static bool fusion_drain_continues(const struct fusion *fs, const struct fusion_land_round *round,
				   u32 i)
{
	const struct block *block = &round->block[i];

	return block->to == block[-1].to + FUSION_BLOCK_SECTORS &&
	       block->pos == block[-1].pos + 1 && block->pos % fs->land.blocks;
}

/* Is it still what was taken? land->lock held. */
static bool fusion_drain_has_mark(const struct fusion *fs, u32 pos)
{
	return fs->land.entry[pos].flags == FUSION_LAND_MARKED;
}

/* Copy up to @longest blocks from @first on. Return: how many have been seen to. */
static u32 fusion_drain_begin(struct fusion *fs, struct fusion_land_round *round,
			      struct fusion_piece *copy, u32 first, u32 longest)
{
	const struct block *block = &round->block[first];
	struct fusion_land *land = &fs->land;
	unsigned long flags;
	u32 nr = 0;

	spin_lock_irq(&fs->lock);
	spin_lock_irqsave(&land->lock, flags);
	while (nr < longest && first + nr < round->nr &&
	       (!nr || fusion_drain_continues(fs, round, first + nr)) &&
	       fusion_drain_has_mark(fs, block[nr].pos))
		nr++;
	if (nr) {
		/* In the section that has looked at the marks, as fusion_pin_slot(). */
		rcu_read_lock_sched();
		fusion_enter(fs, &copy->io);
		rcu_read_unlock_sched();
	}
	spin_unlock_irqrestore(&land->lock, flags);
	spin_unlock_irq(&fs->lock);
	if (!nr)
		return 1;

	copy->first = first;
	copy->nr = nr;
	copy->dev = FUSION_SLOW;
	copy->to = block->to;
	fusion_pieces_begin(fs->mover.pieces, copy, FUSION_FAST,
			    fusion_land_sector(fs, block->pos));
	return nr;
}

/* What becomes of the blocks of a copy that has ended. */
static enum fate fusion_drain_fate(struct fusion *fs, const struct fusion_piece *copy)
{
	if (copy->fate == FUSION_PIECE_WRITTEN)
		return COPIED;
	fusion_member_failed(fs, copy->fate == FUSION_PIECE_UNREAD ? FUSION_FAST : FUSION_SLOW);
	return copy->nr > 1 ? DOUBTED : FAILED;
}

/* Wait for the oldest copy. Return: was there one? */
static bool fusion_drain_finish(struct fusion *fs, struct fusion_land_round *round)
{
	struct fusion_piece *copy = fusion_pieces_ended(fs->mover.pieces);
	enum fate fate;
	u32 i;

	if (!copy)
		return false;
	fusion_leave(fs, &copy->io);
	/* nothing is known of what was not tried */
	if (copy->fate != FUSION_PIECE_SHUT) {
		fate = fusion_drain_fate(fs, copy);
		for (i = copy->first; i < copy->first + copy->nr; i++)
			round->block[i].fate = fate;
		if (fate == COPIED)
			fusion_pace_credit(fs, copy->nr);
	}
	fusion_mover_tick(fs);
	return true;
}

bool fusion_drain_quiet(struct fusion *fs)
{
	if (fusion_is_idle(fs))
		return true;
	fusion_look_at_slow(fs);
	return !READ_ONCE(fs->worker.landing.head) &&
	       fusion_now_ms() - fs->mover.slow_used_ms >= READ_ONCE(fs->opt.idle);
}

static bool fusion_drain_may_go_on(struct fusion *fs, const struct fusion_force *force,
				   enum fusion_drain_way way)
{
	if (READ_ONCE(fs->mover.stopping) || (force && READ_ONCE(force->abandoned)))
		return false;
	return !(way == FUSION_DRAIN_QUIET && !fusion_drain_quiet(fs)) && !fusion_gate_ready(fs);
}

/* Copy the blocks with this fate, up to @longest at once. */
static void fusion_drain_copy(struct fusion *fs, struct fusion_land_round *round, enum fate fate,
			      u32 longest, const struct fusion_force *force,
			      enum fusion_drain_way way)
{
	struct fusion_piece *copy;
	struct blk_plug plug;
	u32 i = 0;

	blk_start_plug(&plug);
	while (i < round->nr) {
		if (round->block[i].fate != fate) {
			i++;
			continue;
		}
		copy = fusion_pieces_next(fs->mover.pieces);
		if (!copy) {
			fusion_drain_finish(fs, round);
			continue;
		}
		if (!fusion_drain_may_go_on(fs, force, way))
			break;
		i += fusion_drain_begin(fs, round, copy, i, longest);
	}
	while (fusion_drain_finish(fs, round))
		;
	blk_finish_plug(&plug);
}

/* -- step 5 ---------------------------------------------------------------------------------- */

/* No copy of the block is under way any more. land->lock held. */
static void fusion_drain_unhide(struct fusion_land *land, const struct block *block)
{
	const u32 pos = fusion_land_find(land, block->lext, block->block);

	if (pos != FUSION_LAND_NONE)
		land->entry[pos].flags &= ~FUSION_LAND_HIDES;
}

/* The end of a block. fs->lock and land->lock held. */
static void fusion_drain_end_block(struct fusion *fs, struct fusion_land_round *round,
				   const struct block *block, bool durable)
{
	struct fusion_land *land = &fs->land;

	if (!fusion_drain_has_mark(fs, block->pos)) {
		fusion_drain_unhide(land, block);
		return;
	}
	land->entry[block->pos].flags = 0;
	if (block->fate == COPIED && durable) {
		fusion_land_kill(land, block->pos);
		round->counts->copied++;
	} else if (block->fate == DOUBTED || block->fate == FAILED) {
		land->uncopied[fusion_land_byte(land, block->pos)] |= 1 << block->pos % 8;
		round->counts->failed++;
	}
}

static void fusion_drain_end(struct fusion *fs, struct fusion_land_round *round, bool durable)
{
	struct fusion_land *land = &fs->land;
	unsigned long flags;
	u32 i, end;

	for (i = 0; i < round->nr; i = end) {
		end = min(i + CHUNK, round->nr);
		spin_lock_irq(&fs->lock);
		spin_lock_irqsave(&land->lock, flags);
		for (; i < end; i++)
			fusion_drain_end_block(fs, round, &round->block[i], durable);
		spin_unlock_irqrestore(&land->lock, flags);
		spin_unlock_irq(&fs->lock);
		cond_resched();
	}
	/* all at once, so that each finds its blocks done */
	spin_lock_irq(&fs->lock);
	fusion_land_wake(fs);
	spin_unlock_irq(&fs->lock);
	/* so that the segments are soon free, and no flush waits for the record */
	if (round->counts->copied)
		fusion_commit_kick(fs);
}

/* -- a round --------------------------------------------------------------------------------- */

/* Steps 2 to 5. */
static void fusion_drain_steps(struct fusion *fs, struct fusion_land_round *round,
			       const struct fusion_force *force, enum fusion_drain_way way)
{
	bool copied = false;
	u32 i;

	if (!round->nr)
		return;
	fs->mover.look_usable = false;
	fusion_drain(fs);
	sort(round->block, round->nr, sizeof(*round->block), fusion_drain_compare, NULL);
	fusion_drain_copy(fs, round, TAKEN, fusion_pieces_longest(fs->mover.pieces), force, way);
	fusion_drain_copy(fs, round, DOUBTED, 1, force, way);
	for (i = 0; i < round->nr; i++)
		copied |= round->block[i].fate == COPIED;
	fusion_drain_end(fs, round, copied && !fusion_flush_slow_now(fs));
}

/* Blocks have failed in a round, or none has. */
static void fusion_drain_judge(struct fusion_land *land, const struct fusion_drained *counts)
{
	land->nr_drained += counts->copied;
	if (!counts->failed) {
		if (!land->retry_ms)
			land->pause_ms = 0;
		return;
	}
	if (!land->retry_ms)
		land->pause_ms = clamp(2 * land->pause_ms, FUSION_DRAIN_PAUSE_MS, MAX_PAUSE_MS);
	land->retry_ms = fusion_now_ms() + land->pause_ms;
}

int fusion_drain_init(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;

	if (!land->max)
		return 0;
	land->round = kvzalloc(sizeof(*land->round), GFP_KERNEL);
	if (!land->round)
		return -ENOMEM;
	return fusion_sweep_init(land);
}

void fusion_drain_exit(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;

	fusion_sweep_exit(land);
	kvfree(land->round);
}

int fusion_drain_round(struct fusion *fs, u64 end, const struct fusion_force *force,
		       enum fusion_drain_way way, struct fusion_drained *counts)
{
	/* what it has will do */
	const gfp_t gfp = GFP_NOIO | __GFP_NOWARN | (force ? 0 : __GFP_NORETRY);
	struct fusion_land_round *round = fs->land.round;

	*counts = (struct fusion_drained){ };
	/* before any write has to wait for the round, as is all that it needs */
	if (fusion_gate_ready(fs))
		return -EIO;
	round->counts = counts;
	round->nr = 0;
	/* a copy has blocks of one segment, behind a header */
	fusion_pieces_get(fs->mover.pieces, round_copies[way],
			  min(round_blocks[way], fs->land.blocks - 1), gfp);
	fusion_drain_take(fs, round, round_blocks[way], end);
	counts->taken = round->nr;
	fusion_drain_steps(fs, round, force, way);
	fusion_drain_judge(&fs->land, counts);
	fusion_pieces_put(fs->mover.pieces);
	return 0;
}
