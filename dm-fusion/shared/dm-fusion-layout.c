// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: where things lie on the members: planning the layout of a new set, and checking
 * the layout in a superblock.
 *
 * Pure code, like dm-fusion-codec.c. dm-fusion-format.h describes the layout.
 */
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/stddef.h>
#include <linux/string.h>

#include "dm-fusion-landing.h"
#include "dm-fusion-stale.h"

/* Fast members below this size get the smallest journal. */
#define SMALL_FAST_SECTORS	(64ULL << 11)

/* Leave room for a map this many times as large, if that is a small part of the member. */
#define MAP_ROOM		4U
#define MAX_ROOM_SHARE		16U

/* The replica log is longer than this only if there is room. */
#define MAX_PLANNED_LOG_BLOCKS	4096U

/* The fields of the layout in struct fusion_sb. No holes in between: 11 u32, 8 u64. */
#define LAYOUT_START		offsetof(struct fusion_sb, extent_sectors)
#define LAYOUT_BYTES		(offsetofend(struct fusion_sb, spare_slow) - LAYOUT_START)
static_assert(LAYOUT_BYTES == 11 * 4 + 8 * 8);

static bool fusion_extent_size_valid(u32 extent_sectors)
{
	return is_power_of_2(extent_sectors) &&
	       extent_sectors >= FUSION_MIN_EXTENT_SECTORS &&
	       extent_sectors <= FUSION_MAX_EXTENT_SECTORS;
}

/* -- a new set ------------------------------------------------------------------------------- */

static u32 fusion_plan_journal_blocks(u64 fast_sectors)
{
	const u64 min = FUSION_GUARD_SECTORS / FUSION_BLOCK_SECTORS;

	if (fast_sectors < SMALL_FAST_SECTORS)
		return FUSION_MIN_JOURNAL_BLOCKS;
	return clamp_t(u64, fast_sectors / FUSION_BLOCK_SECTORS / 64, min,
		       FUSION_MAX_JOURNAL_BLOCKS);
}

static u32 fusion_plan_log_blocks(u32 map_blocks)
{
	return clamp_t(u32, map_blocks / 4, FUSION_MIN_JOURNAL_BLOCKS, MAX_PLANNED_LOG_BLOCKS);
}

/* A member's map copies come behind its journal. Return: the block behind them and their room. */
static u64 fusion_place_map_sets(struct fusion_sb *sb, enum fusion_dev dev, u64 room)
{
	u64 start = sb->journal_start[dev] + sb->journal_blocks[dev];
	unsigned int i;

	for (i = 0; i < FUSION_NR_SETS; i++, start += room)
		sb->map_start[dev][i] = start;
	return start;
}

/* The same for all regions of a member. */
static u64 fusion_place_regions(struct fusion_sb *sb, enum fusion_dev dev, unsigned int times)
{
	u64 end = fusion_place_map_sets(sb, dev, (u64)times * sb->map_blocks);

	if (dev == FUSION_FAST) {
		sb->heat_start = end;
		end += (u64)times * sb->heat_blocks;
	}
	return end;
}

/*
 * Leave as much room for a larger map as possible, up to MAP_ROOM times the present size.
 * Return: the factor.
 */
static unsigned int fusion_plan_regions(struct fusion_sb *sb, enum fusion_dev dev, u64 sectors)
{
	unsigned int times = MAP_ROOM;

	while (times > 1 && fusion_place_regions(sb, dev, times) >
			    sectors / FUSION_BLOCK_SECTORS / MAX_ROOM_SHARE)
		times /= 2;
	return times;
}

u32 fusion_plan_spares(u32 slots)
{
	return clamp_t(u32, slots / 64, 2, 64);
}

int fusion_unfit(struct fusion_misfit *misfit, int dev, const char *what, const char *remedy)
{
	*misfit = (struct fusion_misfit){ dev, what, remedy };
	return dev < 0 ? -EINVAL : -ENOSPC;
}

/* Data slots of both members that are no spares. */
static u64 fusion_capacity(const struct fusion_sb *sb)
{
	return (u64)sb->nr_fast_slots - sb->spare_fast + sb->nr_slow_slots - sb->spare_slow;
}

/* Blocks of map and heat, for as many extents as there are. */
static void fusion_size_map(struct fusion_sb *sb)
{
	sb->map_blocks = DIV_ROUND_UP(sb->nr_lexts, FUSION_MAP_PER_BLOCK);
	sb->heat_blocks = DIV_ROUND_UP(sb->nr_lexts, FUSION_HEAT_PER_BLOCK);
}

int fusion_sb_plan(struct fusion_sb *sb, u64 fast_sectors, u64 slow_sectors,
		   u32 extent_sectors, struct fusion_misfit *misfit)
{
	u64 fast_extents, slow_extents, data, head, end;
	unsigned int shift, times;
	u32 bound, bound_blocks;

	if (!fusion_extent_size_valid(extent_sectors))
		return fusion_unfit(misfit, -1,
				    "extent size is not a power of two from 64 KiB to 16 MiB",
				    NULL);
	shift = ilog2(extent_sectors);
	fast_extents = fast_sectors >> shift;
	slow_extents = slow_sectors >> shift;
	if (fast_extents < FUSION_MIN_DEV_EXTENTS)
		return fusion_unfit(misfit, FUSION_FAST, "fast member is smaller than 64 extents",
				    "choose a smaller extent size");
	if (slow_extents < FUSION_MIN_DEV_EXTENTS)
		return fusion_unfit(misfit, FUSION_SLOW, "slow member is smaller than 64 extents",
				    "choose a smaller extent size");
	if (fast_extents + slow_extents > FUSION_MAX_LEXTS)
		return fusion_unfit(misfit, -1, "more than 2^28 extents",
				    "choose a larger extent size");

	/*
	 * The size of the map follows from the number of data slots, which depends on
	 * the size of the map. Leave room for a map of everything. The part that is not
	 * needed, less than one in 1000, stays unused.
	 */
	bound = fast_extents + slow_extents;
	bound_blocks = DIV_ROUND_UP(bound, FUSION_MAP_PER_BLOCK);
	sb->map_blocks = bound_blocks;
	sb->heat_blocks = DIV_ROUND_UP(bound, FUSION_HEAT_PER_BLOCK);

	sb->journal_start[FUSION_FAST] = FUSION_FIRST_FREE_BLOCK;
	sb->journal_blocks[FUSION_FAST] = fusion_plan_journal_blocks(fast_sectors);
	times = fusion_plan_regions(sb, FUSION_FAST, fast_sectors);
	head = fusion_place_regions(sb, FUSION_FAST, times) * FUSION_BLOCK_SECTORS;
	data = round_up(max_t(u64, head, FUSION_GUARD_SECTORS), (u64)extent_sectors);
	if (data + ((u64)FUSION_MIN_DATA_SLOTS << shift) + FUSION_GUARD_SECTORS > fast_sectors)
		return fusion_unfit(misfit, FUSION_FAST, "fast member is too small for the map",
				    "choose a larger extent size");
	sb->fast_data_start = data;
	sb->nr_fast_slots = (fast_sectors - FUSION_GUARD_SECTORS - data) >> shift;

	sb->journal_start[FUSION_SLOW] = FUSION_FIRST_FREE_BLOCK;
	sb->journal_blocks[FUSION_SLOW] = fusion_plan_log_blocks(sb->map_blocks);
	times = fusion_plan_regions(sb, FUSION_SLOW, slow_sectors);
	head = fusion_place_regions(sb, FUSION_SLOW, times) * FUSION_BLOCK_SECTORS;
	data = round_up(max_t(u64, head, FUSION_GUARD_SECTORS), (u64)extent_sectors) >> shift;
	end = (slow_sectors - FUSION_GUARD_SECTORS) >> shift;
	if (data + FUSION_MIN_DATA_SLOTS > end)
		return fusion_unfit(misfit, FUSION_SLOW, "slow member is too small for the map",
				    "choose a larger extent size");
	sb->slow_first_slot = data;
	sb->nr_slow_slots = end - data;

	sb->spare_fast = fusion_plan_spares(sb->nr_fast_slots);
	sb->spare_slow = fusion_plan_spares(sb->nr_slow_slots);
	sb->nr_lexts = fusion_capacity(sb);
	sb->landing_slots = 0;
	sb->stale_places = 0;
	sb->stale_start = 0;
	fusion_size_map(sb);

	/* The room left before the first data slot makes the replica log longer. */
	end = fusion_place_map_sets(sb, FUSION_SLOW, (u64)times * bound_blocks);
	data = ((u64)sb->slow_first_slot << shift) / FUSION_BLOCK_SECTORS;
	sb->journal_blocks[FUSION_SLOW] = min_t(u64, sb->journal_blocks[FUSION_SLOW] + data - end,
						FUSION_MAX_JOURNAL_BLOCKS);
	fusion_place_map_sets(sb, FUSION_SLOW, (u64)times * bound_blocks);

	sb->extent_sectors = extent_sectors;
	sb->self_sectors = fast_sectors;
	sb->peer_sectors = slow_sectors;
	sb->version = FUSION_VERSION;
	sb->role = FUSION_FAST;
	sb->incompat = 0;
	sb->ro_compat = 0;
	sb->compat = 0;
	sb->generation = 1;
	sb->flags = FUSION_SB_CLEAN;
	sb->epoch = 0;
	sb->active_set = 0;
	sb->set_generation = 1;
	sb->replay_seq = 1;
	sb->replay_txn = 1;
	sb->replay_csum = 0;
	sb->layout_seq = 0;
	sb->peer_at = (struct fusion_progress){ };
	return 0;
}

/* The stale list of a log with so many slots takes the first slots of the slow member. */
static u32 fusion_stale_slots(const struct fusion_sb *sb, u32 slots)
{
	const u32 each = sb->extent_sectors / FUSION_BLOCK_SECTORS;

	return round_up(fusion_stale_size(sb, slots), (u64)each) >> ilog2(each);
}

int fusion_sb_plan_landing(struct fusion_sb *sb, u32 slots, struct fusion_misfit *misfit)
{
	u32 list;

	if (!slots)
		return 0;
	if (slots > fusion_landing_limit(sb))
		return fusion_unfit(misfit, FUSION_FAST,
				    "fast member is too small for a landing log of that size",
				    "choose a smaller landing log");
	list = fusion_stale_slots(sb, slots);
	if (sb->nr_slow_slots < list + max(sb->spare_slow + 1, FUSION_MIN_DATA_SLOTS))
		return fusion_unfit(misfit, FUSION_SLOW,
				    "slow member is too small for a landing log of that size",
				    "choose a smaller landing log");
	sb->incompat |= FUSION_INCOMPAT_LANDING;
	sb->landing_slots = slots;
	sb->stale_places = slots;
	sb->stale_start = (u64)sb->slow_first_slot * (sb->extent_sectors / FUSION_BLOCK_SECTORS);
	sb->slow_first_slot += list;
	sb->nr_slow_slots -= list;
	sb->nr_lexts -= slots + list;
	fusion_size_map(sb);
	return 0;
}

void fusion_sb_for_slow(const struct fusion_sb *fast, struct fusion_sb *slow)
{
	*slow = *fast;
	slow->role = FUSION_SLOW;
	memcpy(slow->dev_uuid, fast->peer_uuid, sizeof(slow->dev_uuid));
	memcpy(slow->peer_uuid, fast->dev_uuid, sizeof(slow->peer_uuid));
	slow->self = fast->peer;
	slow->peer = fast->self;
	slow->self_sectors = fast->peer_sectors;
	slow->peer_sectors = fast->self_sectors;
	slow->landing_slots = 0;
}

/* -- is a layout valid? ---------------------------------------------------------------------- */

/* Return: whether a region begins at or behind @end. Moves @end, a block number, behind it. */
static bool fusion_region_in_order(u64 *end, u64 start, u32 blocks)
{
	if (start < *end || start > FUSION_MAX_DEV_SECTORS)
		return false;
	*end = start + blocks;
	return true;
}

/* The same for the journal and the map copies of a member. */
static bool fusion_area_in_order(const struct fusion_sb *sb, enum fusion_dev dev, u64 *end)
{
	unsigned int i;

	if (!fusion_region_in_order(end, sb->journal_start[dev], sb->journal_blocks[dev]))
		return false;
	for (i = 0; i < FUSION_NR_SETS; i++)
		if (!fusion_region_in_order(end, sb->map_start[dev][i], sb->map_blocks))
			return false;
	return true;
}

/* Both device sizes are bounded when this runs. */
static const char *fusion_check_fast_layout(const struct fusion_sb *sb, u64 sectors)
{
	u64 data_sectors = (u64)sb->nr_fast_slots * sb->extent_sectors;
	u64 end = FUSION_FIRST_FREE_BLOCK;

	if (!fusion_area_in_order(sb, FUSION_FAST, &end) ||
	    !fusion_region_in_order(&end, sb->heat_start, sb->heat_blocks))
		return "metadata regions overlap";
	if (sb->fast_data_start < FUSION_GUARD_SECTORS ||
	    sb->fast_data_start > sectors ||
	    sb->fast_data_start & (sb->extent_sectors - 1) ||
	    sb->fast_data_start < end * FUSION_BLOCK_SECTORS)
		return "start of the data on the fast member is wrong";
	if (!sb->nr_fast_slots || sb->nr_fast_slots > FUSION_WORD_UNMAPPED ||
	    sb->fast_data_start + data_sectors + FUSION_GUARD_SECTORS > sectors)
		return "slots do not fit on the fast member";
	return NULL;
}

static const char *fusion_check_slow_layout(const struct fusion_sb *sb, u64 sectors)
{
	u64 head_sectors = (u64)sb->slow_first_slot * sb->extent_sectors;
	u64 end_slot = (u64)sb->slow_first_slot + sb->nr_slow_slots;
	u64 end = FUSION_FIRST_FREE_BLOCK;

	if (!fusion_area_in_order(sb, FUSION_SLOW, &end))
		return "region of the map replica is wrong";
	if (sb->stale_places &&
	    (sb->stale_start < end || sb->stale_start > FUSION_MAX_DEV_SECTORS))
		return "place of the stale list is wrong";
	if (sb->stale_places)
		end = sb->stale_start + fusion_stale_size(sb, sb->stale_places);
	if (head_sectors < FUSION_GUARD_SECTORS || head_sectors < end * FUSION_BLOCK_SECTORS)
		return "start of the data on the slow member is wrong";
	if (!sb->nr_slow_slots || end_slot > FUSION_WORD_UNMAPPED ||
	    end_slot * sb->extent_sectors + FUSION_GUARD_SECTORS > sectors)
		return "slots do not fit on the slow member";
	return NULL;
}

/* Segments that the journal can keep track of. */
static u32 fusion_landing_recorded(const struct fusion_sb *sb)
{
	const u32 each = FUSION_JOURNAL_PAYLOAD / fusion_record_bytes(sb, FUSION_OP_SEGMENT);

	return sb->journal_blocks[FUSION_FAST] / 16 * each / 2;
}

/* Is the number of slots that are kept for the landing log possible? */
static bool fusion_landing_valid(const struct fusion_sb *sb)
{
	/* the list stays if the log is turned off, or the fast member becomes smaller after that */
	if (!sb->stale_places != !sb->stale_start ||
	    sb->stale_places > fusion_landing_recorded(sb))
		return false;
	if (!fusion_sb_keeps_landing(sb))
		return !sb->landing_slots;
	if (sb->stale_places && sb->landing_slots > sb->stale_places)
		return false;
	return sb->landing_slots && sb->landing_slots <= fusion_landing_limit(sb);
}

static bool fusion_journal_size_valid(u32 blocks)
{
	return blocks >= FUSION_MIN_JOURNAL_BLOCKS && blocks <= FUSION_MAX_JOURNAL_BLOCKS;
}

const char *fusion_check_geometry(const struct fusion_sb *sb)
{
	const char *why;

	if (!fusion_extent_size_valid(sb->extent_sectors))
		return "extent size is wrong";
	if (sb->self_sectors > FUSION_MAX_DEV_SECTORS || sb->peer_sectors > FUSION_MAX_DEV_SECTORS)
		return "size of a member is wrong";
	if (!fusion_journal_size_valid(sb->journal_blocks[FUSION_FAST]))
		return "size of the journal is wrong";
	if (!fusion_journal_size_valid(sb->journal_blocks[FUSION_SLOW]))
		return "size of the log of the map replica is wrong";
	why = fusion_check_fast_layout(sb, fusion_sb_dev_sectors(sb, FUSION_FAST));
	if (why)
		return why;
	why = fusion_check_slow_layout(sb, fusion_sb_dev_sectors(sb, FUSION_SLOW));
	if (why)
		return why;

	if (!sb->spare_fast || sb->spare_fast >= sb->nr_fast_slots ||
	    !sb->spare_slow || sb->spare_slow >= sb->nr_slow_slots)
		return "number of spare slots is wrong";
	if (!fusion_landing_valid(sb))
		return "number of slots for the landing log is wrong";
	if (!sb->nr_lexts || sb->nr_lexts > FUSION_MAX_LEXTS ||
	    sb->nr_lexts + (u64)sb->landing_slots > fusion_capacity(sb))
		return "number of extents is wrong";
	if ((u64)sb->map_blocks * FUSION_MAP_PER_BLOCK < sb->nr_lexts ||
	    (u64)sb->heat_blocks * FUSION_HEAT_PER_BLOCK < sb->nr_lexts)
		return "map is too small for the number of extents";
	return NULL;
}

void fusion_sb_take_geometry(struct fusion_sb *sb, const struct fusion_sb *from)
{
	memcpy((void *)sb + LAYOUT_START, (const void *)from + LAYOUT_START, LAYOUT_BYTES);
	sb->layout_seq = from->layout_seq;
	sb->old = from->old;
	sb->incompat = (sb->incompat & ~FUSION_INCOMPAT_OLD_MEMBER) |
		       (from->incompat & FUSION_INCOMPAT_OLD_MEMBER);
	sb->self_sectors = fusion_sb_dev_sectors(from, sb->role);
	sb->peer_sectors = fusion_sb_dev_sectors(from, !sb->role);
}

void fusion_sb_take_landing(struct fusion_sb *slow, const struct fusion_sb *fast)
{
	slow->incompat = (slow->incompat & ~FUSION_INCOMPAT_LANDING) |
			 (fast->incompat & FUSION_INCOMPAT_LANDING);
	slow->stale_places = fast->stale_places;
	slow->stale_start = fast->stale_start;
}

bool fusion_same_layout(const struct fusion_sb *a, const struct fusion_sb *b)
{
	return !memcmp((const void *)a + LAYOUT_START, (const void *)b + LAYOUT_START,
		       LAYOUT_BYTES);
}

bool fusion_same_old(const struct fusion_sb *a, const struct fusion_sb *b)
{
	const struct fusion_old *x = &a->old, *y = &b->old;

	if (!fusion_sb_has_old(a) || !fusion_sb_has_old(b))
		return fusion_sb_has_old(a) == fusion_sb_has_old(b);
	return !memcmp(x->uuid, y->uuid, sizeof(x->uuid)) && x->dev == y->dev &&
	       x->first_slot == y->first_slot && x->nr_slots == y->nr_slots &&
	       x->data_start == y->data_start && x->sectors == y->sectors;
}

bool fusion_same_geometry(const struct fusion_sb *fast, const struct fusion_sb *slow)
{
	return fusion_same_layout(fast, slow) && fast->self_sectors == slow->peer_sectors &&
	       fast->peer_sectors == slow->self_sectors && fusion_same_old(fast, slow);
}

u32 fusion_open_limit(const struct fusion_sb *sb)
{
	u32 record = sizeof(struct fusion_journal_record) +
		     fusion_bitmap_bytes(sb->extent_sectors);
	u32 blocks = min(sb->journal_blocks[FUSION_FAST] / 16, sb->journal_blocks[FUSION_SLOW] / 4);
	u32 max = min(FUSION_MAX_OPEN, blocks * (u32)(FUSION_JOURNAL_PAYLOAD / record));

	return min(max, sb->nr_lexts);
}

u32 fusion_landing_limit(const struct fusion_sb *sb)
{
	return min(sb->nr_fast_slots / 2, fusion_landing_recorded(sb));
}
