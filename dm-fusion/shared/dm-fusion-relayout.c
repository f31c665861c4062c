// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the layout of a set that grows or shrinks.
 *
 * Pure code, like dm-fusion-codec.c. No region moves: only the ends of members and set do.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "dm-fusion-landing.h"

/* -- a set that grows ------------------------------------------------------------------------ */

/* Blocks that each map copy of a member can have. The layout is valid. */
static u64 fusion_map_room(const struct fusion_sb *sb, enum fusion_dev dev)
{
	const u64 *start = sb->map_start[dev];
	u64 end = dev == FUSION_FAST ? sb->heat_start :
		  (u64)sb->slow_first_slot * sb->extent_sectors / FUSION_BLOCK_SECTORS;

	if (dev == FUSION_SLOW && sb->stale_places)
		end = sb->stale_start;
	return min(start[1] - start[0], end - start[1]);
}

/* The most extents that the places of the map, its replica and the heat have room for. */
static u64 fusion_lexts_room(const struct fusion_sb *sb)
{
	u64 map = min(fusion_map_room(sb, FUSION_FAST), fusion_map_room(sb, FUSION_SLOW));
	u64 heat = sb->fast_data_start / FUSION_BLOCK_SECTORS - sb->heat_start;

	return min_t(u64, min(map * FUSION_MAP_PER_BLOCK, heat * FUSION_HEAT_PER_BLOCK),
		     FUSION_MAX_LEXTS);
}

/* Slots that a member of @sectors has room for, the first of them at sector @start. */
static u64 fusion_slots_in(const struct fusion_sb *sb, u64 sectors, u64 start)
{
	return sectors < start + FUSION_GUARD_SECTORS ? 0 :
	       (sectors - FUSION_GUARD_SECTORS - start) >> ilog2(sb->extent_sectors);
}

/* The same of one that may have grown; at most @most. */
static u32 fusion_grown_slots(const struct fusion_sb *sb, u64 sectors, u64 start, u32 now,
			      u32 most)
{
	return max_t(u64, min_t(u64, fusion_slots_in(sb, sectors, start), most), now);
}

int fusion_sb_grow(struct fusion_sb *sb, u64 fast_sectors, u64 slow_sectors, u32 nr_lexts,
		   struct fusion_misfit *misfit)
{
	const u64 room = fusion_lexts_room(sb);
	u32 fast, slow, spare_fast, spare_slow;
	u64 slots;

	if (nr_lexts && nr_lexts <= sb->nr_lexts)
		return fusion_unfit(misfit, -1, "the set is that large already", NULL);
	if (fast_sectors > FUSION_MAX_DEV_SECTORS || slow_sectors > FUSION_MAX_DEV_SECTORS ||
	    sb->layout_seq == U32_MAX || sb->slow_first_slot > FUSION_MAX_LEXTS)
		return fusion_unfit(misfit, -1, "a member is too large", NULL);
	fast = fusion_grown_slots(sb, fast_sectors, sb->fast_data_start, sb->nr_fast_slots,
				  FUSION_MAX_LEXTS);
	slow = fusion_grown_slots(sb, slow_sectors, (u64)sb->slow_first_slot * sb->extent_sectors,
				  sb->nr_slow_slots, FUSION_MAX_LEXTS - sb->slow_first_slot);
	spare_fast = max(sb->spare_fast, fusion_plan_spares(fast));
	spare_slow = max(sb->spare_slow, fusion_plan_spares(slow));
	slots = (u64)fast - spare_fast + slow - spare_slow - sb->landing_slots;
	if (spare_fast >= fast || spare_slow >= slow || max(nr_lexts, sb->nr_lexts + 1) > slots)
		return fusion_unfit(misfit, -1, "the members have no room for more extents",
				    "enlarge one of them first");
	if (max(nr_lexts, sb->nr_lexts + 1) > room)
		return fusion_unfit(misfit, -1, "the map has no room for more extents",
				    "copy the data to a new set");

	sb->nr_fast_slots = fast;
	sb->nr_slow_slots = slow;
	sb->spare_fast = spare_fast;
	sb->spare_slow = spare_slow;
	sb->nr_lexts = nr_lexts ?: min(slots, room);
	sb->map_blocks = max_t(u32, sb->map_blocks,
			       DIV_ROUND_UP(sb->nr_lexts, FUSION_MAP_PER_BLOCK));
	sb->heat_blocks = max_t(u32, sb->heat_blocks,
				DIV_ROUND_UP(sb->nr_lexts, FUSION_HEAT_PER_BLOCK));
	*(sb->role == FUSION_FAST ? &sb->self_sectors : &sb->peer_sectors) = fast_sectors;
	*(sb->role == FUSION_FAST ? &sb->peer_sectors : &sb->self_sectors) = slow_sectors;
	sb->layout_seq++;
	return 0;
}

/* -- a set that shrinks ---------------------------------------------------------------------- */

/*
 * Slots of a member that is to have @sectors, the first of them at sector @start. One that does not
 * shrink keeps its slots: there may be fewer than it has room for.
 */
static u32 fusion_shrunk_slots(const struct fusion_sb *sb, u64 sectors, u64 was, u64 start,
			       u32 now)
{
	return sectors == was ? now : min_t(u64, fusion_slots_in(sb, sectors, start), now);
}

/* Has a fast member with so many slots room for the landing log? */
static bool fusion_landing_fits(const struct fusion_sb *sb, u32 fast)
{
	/* the journal, which is the other bound, stays as it is */
	return sb->landing_slots <= min(fusion_landing_limit(sb), fast / 2);
}

int fusion_sb_shrink(struct fusion_sb *sb, u64 fast_sectors, u64 slow_sectors, u32 nr_lexts,
		     struct fusion_misfit *misfit)
{
	u64 *fast_now = sb->role == FUSION_FAST ? &sb->self_sectors : &sb->peer_sectors;
	u64 *slow_now = sb->role == FUSION_FAST ? &sb->peer_sectors : &sb->self_sectors;
	const bool same = fast_sectors == *fast_now && slow_sectors == *slow_now;
	u32 fast, slow, spare_fast, spare_slow;
	u64 most;

	if (fast_sectors > *fast_now || slow_sectors > *slow_now || nr_lexts > sb->nr_lexts ||
	    (same && (!nr_lexts || nr_lexts == sb->nr_lexts)))
		return fusion_unfit(misfit, -1, "the set is that small already", NULL);
	if (sb->layout_seq == U32_MAX)
		return fusion_unfit(misfit, -1, "it was resized too often",
				    "copy the data to a new set");
	fast = fusion_shrunk_slots(sb, fast_sectors, *fast_now, sb->fast_data_start,
				   sb->nr_fast_slots);
	slow = fusion_shrunk_slots(sb, slow_sectors, *slow_now,
				   (u64)sb->slow_first_slot * sb->extent_sectors,
				   sb->nr_slow_slots);
	if (fast < FUSION_MIN_DATA_SLOTS && fast < sb->nr_fast_slots)
		return fusion_unfit(misfit, FUSION_FAST, "the fast member would be too small",
				    "leave more of it");
	if (slow < FUSION_MIN_DATA_SLOTS && slow < sb->nr_slow_slots)
		return fusion_unfit(misfit, FUSION_SLOW, "the slow member would be too small",
				    "leave more of it");
	spare_fast = min(sb->spare_fast, fusion_plan_spares(fast));
	spare_slow = min(sb->spare_slow, fusion_plan_spares(slow));
	if (!fusion_landing_fits(sb, fast))
		return fusion_unfit(misfit, FUSION_FAST,
				    "the fast member would be too small for the landing log",
				    "leave more of it");
	most = (u64)fast - spare_fast + slow - spare_slow - sb->landing_slots;
	if (nr_lexts > most)
		return fusion_unfit(misfit, -1, "the members would have no room for the extents",
				    "leave more of them, or make the set smaller");

	sb->nr_fast_slots = fast;
	sb->nr_slow_slots = slow;
	sb->spare_fast = spare_fast;
	sb->spare_slow = spare_slow;
	sb->nr_lexts = nr_lexts ?: min_t(u64, sb->nr_lexts, most);
	*fast_now = fast_sectors;
	*slow_now = slow_sectors;
	sb->layout_seq++;
	return 0;
}

/* -- a set that was resized ------------------------------------------------------------------ */

/* A version that does not know of the stale list leaves zeros in the superblocks that it writes. */
static bool fusion_sb_same_list(const struct fusion_sb *a, const struct fusion_sb *b)
{
	return !a->stale_places || !b->stale_places ||
	       (a->stale_places == b->stale_places && a->stale_start == b->stale_start);
}

bool fusion_sb_same_places(const struct fusion_sb *a, const struct fusion_sb *b)
{
	return a->extent_sectors == b->extent_sectors &&
	       !memcmp(a->journal_start, b->journal_start, sizeof(a->journal_start)) &&
	       !memcmp(a->journal_blocks, b->journal_blocks, sizeof(a->journal_blocks)) &&
	       !memcmp(a->map_start, b->map_start, sizeof(a->map_start)) &&
	       a->heat_start == b->heat_start && a->fast_data_start == b->fast_data_start &&
	       a->slow_first_slot == b->slow_first_slot &&
	       fusion_sb_same_list(a, b);
}

bool fusion_sb_within(const struct fusion_sb *sb, const struct fusion_sb *other)
{
	return fusion_sb_same_places(sb, other) && sb->nr_lexts <= other->nr_lexts &&
	       sb->map_blocks <= other->map_blocks && sb->heat_blocks <= other->heat_blocks &&
	       sb->nr_fast_slots <= other->nr_fast_slots &&
	       sb->nr_slow_slots <= other->nr_slow_slots &&
	       sb->spare_fast <= other->spare_fast && sb->spare_slow <= other->spare_slow &&
	       sb->self_sectors <= fusion_sb_dev_sectors(other, sb->role) &&
	       sb->peer_sectors <= fusion_sb_dev_sectors(other, !sb->role);
}

bool fusion_sb_grown_from(const struct fusion_sb *sb, const struct fusion_sb *old)
{
	return sb->layout_seq == old->layout_seq + 1 && fusion_sb_within(old, sb) &&
	       sb->nr_lexts > old->nr_lexts;
}

bool fusion_sb_shrunk_from(const struct fusion_sb *sb, const struct fusion_sb *old)
{
	return sb->layout_seq == old->layout_seq + 1 && fusion_sb_within(sb, old) &&
	       !fusion_sb_within(old, sb);
}

bool fusion_sb_resized_from(const struct fusion_sb *sb, const struct fusion_sb *old)
{
	return fusion_same_old(sb, old) &&
	       (fusion_sb_grown_from(sb, old) || fusion_sb_shrunk_from(sb, old));
}
