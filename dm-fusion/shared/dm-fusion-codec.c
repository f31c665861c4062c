// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: packing, unpacking and checking of metadata blocks.
 *
 * See dm-fusion-codec.h for the contract and dm-fusion-format.h for the layout.
 * Replay of the journal is in dm-fusion-replay.c.
 */
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/crc32c.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <asm/byteorder.h>

#include "dm-fusion-codec.h"

static_assert(sizeof(struct fusion_block_header) == 32);
static_assert(sizeof(struct fusion_super) <= FUSION_BLOCK_SIZE);
static_assert(sizeof(struct fusion_map_block) == FUSION_BLOCK_SIZE);
static_assert(sizeof(struct fusion_journal_block) == FUSION_BLOCK_SIZE);
static_assert(sizeof(struct fusion_journal_record) == 16);
static_assert(sizeof(struct fusion_beat_block) == FUSION_BLOCK_SIZE);
static_assert(sizeof(FUSION_SIGNATURE) - 1 == sizeof_field(struct fusion_super, signature));

/* Sizes and positions up to here can be added and turned into bytes without overflow. */
#define MAX_DEV_SECTORS		BIT_ULL(52)

/* A member of fewer data slots than this is of no use. */
#define MIN_DATA_SLOTS		8U

/* Fast members below this size get the smallest journal. */
#define SMALL_FAST_SECTORS	(64ULL << 11)

/* Room for a map of this many times the size is left, where that is a small part of a member. */
#define MAP_ROOM		4U
#define MAX_ROOM_SHARE		16U

/* A replica's log is no longer than this unless there is room. */
#define MAX_PLANNED_LOG_BLOCKS	4096U

/* -- the header of every block ------------------------------------------- */

static u32 fusion_block_csum(const void *block)
{
	const unsigned int skip = sizeof_field(struct fusion_block_header, csum);

	return crc32c(~0U, block + skip, FUSION_BLOCK_SIZE - skip);
}

static u32 fusion_block_seal(const struct fusion_sb *sb, u32 magic, u64 blocknr, void *block)
{
	struct fusion_block_header *h = block;
	u32 csum;

	h->magic = cpu_to_le32(magic);
	h->blocknr = cpu_to_le64(blocknr);
	memcpy(h->set_uuid, sb->set_uuid, sizeof(h->set_uuid));
	csum = fusion_block_csum(block);
	h->csum = cpu_to_le32(csum);
	return csum;
}

const char *fusion_block_check(const struct fusion_sb *sb, u32 magic, u64 blocknr,
			       const void *block)
{
	const struct fusion_block_header *h = block;

	if (le32_to_cpu(h->magic) != magic)
		return "block of another kind";
	if (le32_to_cpu(h->csum) != fusion_block_csum(block))
		return "checksum mismatch";
	if (le64_to_cpu(h->blocknr) != blocknr)
		return "block belongs to another place";
	if (memcmp(h->set_uuid, sb->set_uuid, sizeof(h->set_uuid)))
		return "block of another set";
	return NULL;
}

/* -- superblocks ---------------------------------------------------------- */

static bool fusion_extent_size_valid(u32 extent_sectors)
{
	return is_power_of_2(extent_sectors) &&
	       extent_sectors >= FUSION_MIN_EXTENT_SECTORS &&
	       extent_sectors <= FUSION_MAX_EXTENT_SECTORS;
}

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

/* A member's map sets come behind its journal. Return: the block behind them and their room. */
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
 * Leave as much room for a greater map as there may be, up to MAP_ROOM times what is needed now.
 * Return: how many times.
 */
static unsigned int fusion_plan_regions(struct fusion_sb *sb, enum fusion_dev dev, u64 sectors)
{
	unsigned int times = MAP_ROOM;

	while (times > 1 && fusion_place_regions(sb, dev, times) >
			    sectors / FUSION_BLOCK_SECTORS / MAX_ROOM_SHARE)
		times /= 2;
	return times;
}

static u32 fusion_plan_spares(u32 slots)
{
	return clamp_t(u32, slots / 64, 2, 64);
}

static int fusion_unfit(struct fusion_misfit *misfit, int dev, const char *what,
			const char *remedy)
{
	*misfit = (struct fusion_misfit){ dev, what, remedy };
	return dev < 0 ? -EINVAL : -ENOSPC;
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
				    "choose a bigger extent size");

	/*
	 * The size of the map follows from the number of data slots, which depends on
	 * the size of the map. Leave room for a map of everything; what is not needed
	 * of it, less than one part in 1000, stays unused.
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
	if (data + ((u64)MIN_DATA_SLOTS << shift) + FUSION_GUARD_SECTORS > fast_sectors)
		return fusion_unfit(misfit, FUSION_FAST, "fast member is too small for the map",
				    "choose a bigger extent size");
	sb->fast_data_start = data;
	sb->nr_fast_slots = (fast_sectors - FUSION_GUARD_SECTORS - data) >> shift;

	sb->journal_start[FUSION_SLOW] = FUSION_FIRST_FREE_BLOCK;
	sb->journal_blocks[FUSION_SLOW] = fusion_plan_log_blocks(sb->map_blocks);
	times = fusion_plan_regions(sb, FUSION_SLOW, slow_sectors);
	head = fusion_place_regions(sb, FUSION_SLOW, times) * FUSION_BLOCK_SECTORS;
	data = round_up(max_t(u64, head, FUSION_GUARD_SECTORS), (u64)extent_sectors) >> shift;
	end = (slow_sectors - FUSION_GUARD_SECTORS) >> shift;
	if (data + MIN_DATA_SLOTS > end)
		return fusion_unfit(misfit, FUSION_SLOW, "slow member is too small for the map",
				    "choose a bigger extent size");
	sb->slow_first_slot = data;
	sb->nr_slow_slots = end - data;

	sb->spare_fast = fusion_plan_spares(sb->nr_fast_slots);
	sb->spare_slow = fusion_plan_spares(sb->nr_slow_slots);
	sb->nr_lexts = sb->nr_fast_slots - sb->spare_fast + sb->nr_slow_slots - sb->spare_slow;
	sb->map_blocks = DIV_ROUND_UP(sb->nr_lexts, FUSION_MAP_PER_BLOCK);
	sb->heat_blocks = DIV_ROUND_UP(sb->nr_lexts, FUSION_HEAT_PER_BLOCK);

	/* What is left up to the first data slot makes the replica's log longer. */
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
}

void fusion_sb_pack(const struct fusion_sb *sb, u64 blocknr, void *block)
{
	struct fusion_super *d = block;
	unsigned int i;

	memset(block, 0, FUSION_BLOCK_SIZE);
	memcpy(d->signature, FUSION_SIGNATURE, sizeof(d->signature));
	d->version = cpu_to_le32(FUSION_VERSION);
	d->role = cpu_to_le32(sb->role);
	d->incompat = cpu_to_le64(sb->incompat);
	d->ro_compat = cpu_to_le64(sb->ro_compat);
	d->compat = cpu_to_le64(sb->compat);
	d->generation = cpu_to_le64(sb->generation);
	d->flags = cpu_to_le32(sb->flags);
	d->epoch = cpu_to_le32(sb->epoch);
	memcpy(d->dev_uuid, sb->dev_uuid, sizeof(d->dev_uuid));
	memcpy(d->peer_uuid, sb->peer_uuid, sizeof(d->peer_uuid));
	memcpy(d->label, sb->label, strnlen(sb->label, sizeof(d->label)));
	d->self = sb->self;
	d->peer = sb->peer;
	d->self_sectors = cpu_to_le64(sb->self_sectors);
	d->peer_sectors = cpu_to_le64(sb->peer_sectors);
	d->create_time = cpu_to_le64(sb->create_time);

	d->extent_sectors = cpu_to_le32(sb->extent_sectors);
	d->nr_lexts = cpu_to_le32(sb->nr_lexts);
	d->journal_start = cpu_to_le64(sb->journal_start[FUSION_FAST]);
	d->journal_blocks = cpu_to_le32(sb->journal_blocks[FUSION_FAST]);
	d->map_blocks = cpu_to_le32(sb->map_blocks);
	for (i = 0; i < FUSION_NR_SETS; i++)
		d->map_start[i] = cpu_to_le64(sb->map_start[FUSION_FAST][i]);
	d->heat_start = cpu_to_le64(sb->heat_start);
	d->heat_blocks = cpu_to_le32(sb->heat_blocks);
	d->nr_fast_slots = cpu_to_le32(sb->nr_fast_slots);
	d->fast_data_start = cpu_to_le64(sb->fast_data_start);
	d->slow_first_slot = cpu_to_le32(sb->slow_first_slot);
	d->nr_slow_slots = cpu_to_le32(sb->nr_slow_slots);
	d->log_start = cpu_to_le64(sb->journal_start[FUSION_SLOW]);
	d->log_blocks = cpu_to_le32(sb->journal_blocks[FUSION_SLOW]);
	d->spare_fast = cpu_to_le32(sb->spare_fast);
	d->spare_slow = cpu_to_le32(sb->spare_slow);
	d->layout_seq = cpu_to_le32(sb->layout_seq);

	d->active_set = cpu_to_le32(sb->active_set);
	d->replay_csum = cpu_to_le32(sb->replay_csum);
	d->set_generation = cpu_to_le64(sb->set_generation);
	d->replay_seq = cpu_to_le64(sb->replay_seq);
	d->replay_txn = cpu_to_le64(sb->replay_txn);
	for (i = 0; i < FUSION_NR_SETS; i++)
		d->slow_map_start[i] = cpu_to_le64(sb->map_start[FUSION_SLOW][i]);

	d->activation = cpu_to_le64(sb->activation);
	d->prev_activation = cpu_to_le64(sb->prev_activation);
	d->peer_generation = cpu_to_le64(sb->peer_at.generation);
	d->peer_seq = cpu_to_le64(sb->peer_at.seq);
	d->write_time = cpu_to_le64(sb->write_time);
	d->open_time = cpu_to_le64(sb->open_time);
	memcpy(d->host_id, sb->host_id, sizeof(d->host_id));
	memcpy(d->host_name, sb->host_name, strnlen(sb->host_name, sizeof(d->host_name)));
	d->settings_mask = cpu_to_le32(sb->settings_mask);
	for (i = 0; i < FUSION_NR_SETTINGS; i++)
		d->setting[i] = cpu_to_le32(sb->setting[i]);
	fusion_block_seal(sb, FUSION_MAGIC_SUPER, blocknr, block);
}

static void fusion_sb_from_disk(const struct fusion_super *d, struct fusion_sb *sb)
{
	unsigned int i;

	memset(sb, 0, sizeof(*sb));
	memcpy(sb->set_uuid, d->h.set_uuid, sizeof(sb->set_uuid));
	memcpy(sb->dev_uuid, d->dev_uuid, sizeof(sb->dev_uuid));
	memcpy(sb->peer_uuid, d->peer_uuid, sizeof(sb->peer_uuid));
	memcpy(sb->label, d->label, sizeof(d->label));
	sb->self = d->self;
	sb->peer = d->peer;
	sb->version = le32_to_cpu(d->version);
	sb->role = le32_to_cpu(d->role);
	sb->incompat = le64_to_cpu(d->incompat);
	sb->ro_compat = le64_to_cpu(d->ro_compat);
	sb->compat = le64_to_cpu(d->compat);
	sb->generation = le64_to_cpu(d->generation);
	sb->flags = le32_to_cpu(d->flags);
	sb->epoch = le32_to_cpu(d->epoch);
	sb->self_sectors = le64_to_cpu(d->self_sectors);
	sb->peer_sectors = le64_to_cpu(d->peer_sectors);
	sb->create_time = le64_to_cpu(d->create_time);

	sb->extent_sectors = le32_to_cpu(d->extent_sectors);
	sb->nr_lexts = le32_to_cpu(d->nr_lexts);
	sb->journal_start[FUSION_FAST] = le64_to_cpu(d->journal_start);
	sb->journal_blocks[FUSION_FAST] = le32_to_cpu(d->journal_blocks);
	sb->map_blocks = le32_to_cpu(d->map_blocks);
	for (i = 0; i < FUSION_NR_SETS; i++)
		sb->map_start[FUSION_FAST][i] = le64_to_cpu(d->map_start[i]);
	sb->heat_start = le64_to_cpu(d->heat_start);
	sb->heat_blocks = le32_to_cpu(d->heat_blocks);
	sb->nr_fast_slots = le32_to_cpu(d->nr_fast_slots);
	sb->fast_data_start = le64_to_cpu(d->fast_data_start);
	sb->slow_first_slot = le32_to_cpu(d->slow_first_slot);
	sb->nr_slow_slots = le32_to_cpu(d->nr_slow_slots);
	sb->journal_start[FUSION_SLOW] = le64_to_cpu(d->log_start);
	sb->journal_blocks[FUSION_SLOW] = le32_to_cpu(d->log_blocks);
	for (i = 0; i < FUSION_NR_SETS; i++)
		sb->map_start[FUSION_SLOW][i] = le64_to_cpu(d->slow_map_start[i]);
	sb->spare_fast = le32_to_cpu(d->spare_fast);
	sb->spare_slow = le32_to_cpu(d->spare_slow);

	sb->active_set = le32_to_cpu(d->active_set);
	sb->replay_csum = le32_to_cpu(d->replay_csum);
	sb->set_generation = le64_to_cpu(d->set_generation);
	sb->replay_seq = le64_to_cpu(d->replay_seq);
	sb->replay_txn = le64_to_cpu(d->replay_txn);

	sb->layout_seq = le32_to_cpu(d->layout_seq);
	sb->activation = le64_to_cpu(d->activation);
	sb->prev_activation = le64_to_cpu(d->prev_activation);
	sb->peer_at.generation = le64_to_cpu(d->peer_generation);
	sb->peer_at.seq = le64_to_cpu(d->peer_seq);
	sb->write_time = le64_to_cpu(d->write_time);
	sb->open_time = le64_to_cpu(d->open_time);
	memcpy(sb->host_id, d->host_id, sizeof(sb->host_id));
	memcpy(sb->host_name, d->host_name, sizeof(d->host_name));
	sb->settings_mask = le32_to_cpu(d->settings_mask);
	for (i = 0; i < FUSION_NR_SETTINGS; i++)
		sb->setting[i] = le32_to_cpu(d->setting[i]);
}

/* Does a region come after those before it? Moves @end, a block number, behind it. */
static bool fusion_region_in_order(u64 *end, u64 start, u32 blocks)
{
	if (start < *end || start > MAX_DEV_SECTORS)
		return false;
	*end = start + blocks;
	return true;
}

/* The same for the journal and the map sets of a member. */
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
	if (head_sectors < FUSION_GUARD_SECTORS || head_sectors < end * FUSION_BLOCK_SECTORS)
		return "start of the data on the slow member is wrong";
	if (!sb->nr_slow_slots || end_slot > FUSION_WORD_UNMAPPED ||
	    end_slot * sb->extent_sectors + FUSION_GUARD_SECTORS > sectors)
		return "slots do not fit on the slow member";
	return NULL;
}

static bool fusion_journal_size_valid(u32 blocks)
{
	return blocks >= FUSION_MIN_JOURNAL_BLOCKS && blocks <= FUSION_MAX_JOURNAL_BLOCKS;
}

static const char *fusion_check_geometry(const struct fusion_sb *sb)
{
	const bool fast = sb->role == FUSION_FAST;
	const char *why;

	if (!fusion_extent_size_valid(sb->extent_sectors))
		return "extent size is wrong";
	if (sb->self_sectors > MAX_DEV_SECTORS || sb->peer_sectors > MAX_DEV_SECTORS)
		return "size of a member is wrong";
	if (!fusion_journal_size_valid(sb->journal_blocks[FUSION_FAST]))
		return "size of the journal is wrong";
	if (!fusion_journal_size_valid(sb->journal_blocks[FUSION_SLOW]))
		return "size of the log of the map replica is wrong";
	why = fusion_check_fast_layout(sb, fast ? sb->self_sectors : sb->peer_sectors);
	if (why)
		return why;
	why = fusion_check_slow_layout(sb, fast ? sb->peer_sectors : sb->self_sectors);
	if (why)
		return why;

	if (!sb->spare_fast || sb->spare_fast >= sb->nr_fast_slots ||
	    !sb->spare_slow || sb->spare_slow >= sb->nr_slow_slots)
		return "number of spare slots is wrong";
	if (!sb->nr_lexts || sb->nr_lexts > FUSION_MAX_LEXTS ||
	    sb->nr_lexts > (u64)sb->nr_fast_slots - sb->spare_fast +
			   sb->nr_slow_slots - sb->spare_slow)
		return "number of extents is wrong";
	if ((u64)sb->map_blocks * FUSION_MAP_PER_BLOCK < sb->nr_lexts ||
	    (u64)sb->heat_blocks * FUSION_HEAT_PER_BLOCK < sb->nr_lexts)
		return "map is too small for the number of extents";
	return NULL;
}

/* Is what comes behind the end of the text zero? */
static bool fusion_text_padded(const char *text, size_t size)
{
	size_t len = strnlen(text, size);

	return !memchr_inv(text + len, 0, size - len);
}

static const char *fusion_check_state(const struct fusion_sb *sb)
{
	if (!fusion_text_padded(sb->label, FUSION_LABEL_SIZE))
		return "label is not padded with zeros";
	if (!fusion_text_padded(sb->host_name, FUSION_HOST_SIZE))
		return "name of the host is not padded with zeros";
	if (!sb->generation || sb->generation > FUSION_MAX_COUNTER || sb->epoch == U32_MAX)
		return "generation or epoch is out of bounds";
	if (sb->active_set >= FUSION_NR_SETS ||
	    !sb->set_generation || sb->set_generation > FUSION_MAX_COUNTER)
		return "active map set is wrong";
	if (!sb->replay_seq || sb->replay_seq > FUSION_MAX_COUNTER ||
	    !sb->replay_txn || sb->replay_txn > FUSION_MAX_COUNTER)
		return "start of the replay is out of bounds";
	if (sb->peer_at.generation > FUSION_MAX_COUNTER || sb->peer_at.seq > FUSION_MAX_COUNTER)
		return "what it says of the other member is out of bounds";
	return NULL;
}

/* "incompat 0x30 (landing log)": the bits, and the names of those that have one. */
static void fusion_features_text(const char *word, u64 bits, const char *const *name,
				 unsigned int names, char *text)
{
	size_t used = snprintf(text, FUSION_UNKNOWN_TEXT,
			       "has features of a newer version: %s 0x%llx", word,
			       (unsigned long long)bits);
	const char *before = " (";
	unsigned int i;

	for (i = 0; i < names; i++) {
		if (!(bits & BIT_ULL(i)))
			continue;
		used += snprintf(text + used, FUSION_UNKNOWN_TEXT - used, "%s%s", before, name[i]);
		before = ", ";
	}
	if (*before == ',')
		snprintf(text + used, FUSION_UNKNOWN_TEXT - used, ")");
}

const char *fusion_sb_unknown(const struct fusion_sb *sb, char *text)
{
	static const char *const planned[] = {
		"member being replaced", "disk in transit", "lost blocks", "shadow copies",
		"landing log",
	};

	*text = 0;
	if (sb->version > FUSION_VERSION)
		snprintf(text, FUSION_UNKNOWN_TEXT,
			 "has format version %u, the newest that is supported is %d", sb->version,
			 FUSION_VERSION);
	else if (sb->version < FUSION_VERSION)
		snprintf(text, FUSION_UNKNOWN_TEXT,
			 "has format version %u, from before the first release", sb->version);
	else if (sb->incompat & ~FUSION_INCOMPAT_KNOWN)
		fusion_features_text("incompat", sb->incompat & ~FUSION_INCOMPAT_KNOWN, planned,
				     ARRAY_SIZE(planned), text);
	else if (sb->flags & ~FUSION_SB_FLAGS_KNOWN)
		fusion_features_text("flags", sb->flags & ~FUSION_SB_FLAGS_KNOWN, NULL, 0, text);
	else if (sb->ro_compat & ~FUSION_RO_COMPAT_KNOWN)
		fusion_features_text("ro_compat", sb->ro_compat & ~FUSION_RO_COMPAT_KNOWN, NULL, 0,
				     text);
	return text;
}

int fusion_sb_unpack(const void *block, u64 blocknr, u64 dev_sectors,
		     struct fusion_sb *sb, const char **why)
{
	const struct fusion_super *d = block;

	if (le32_to_cpu(d->h.magic) != FUSION_MAGIC_SUPER) {
		*why = "no superblock";
		return -ENODATA;
	}
	fusion_sb_from_disk(d, sb);
	*why = fusion_block_check(sb, FUSION_MAGIC_SUPER, blocknr, block);
	if (*why)
		return -EILSEQ;

	/* Only what comes before is sure to mean the same in every version. */
	if (le32_to_cpu(d->version) != FUSION_VERSION) {
		*why = "has the format of another version";
		return -EPROTONOSUPPORT;
	}
	if (memcmp(d->signature, FUSION_SIGNATURE, sizeof(d->signature))) {
		*why = "signature is wrong";
		return -EILSEQ;
	}
	if (sb->incompat & ~FUSION_INCOMPAT_KNOWN || sb->flags & ~FUSION_SB_FLAGS_KNOWN) {
		*why = "has features of a newer version";
		return -EPROTONOSUPPORT;
	}
	if (sb->role >= FUSION_NR_DEVS) {
		*why = "role is neither fast nor slow";
		return -EILSEQ;
	}
	if (blocknr != FUSION_SUPER_BLOCKNR(sb->generation & 1)) {
		*why = "generation belongs to the other copy";
		return -EILSEQ;
	}
	*why = fusion_check_geometry(sb);
	if (!*why)
		*why = fusion_check_state(sb);
	if (*why)
		return -EILSEQ;
	if (dev_sectors < sb->self_sectors) {
		*why = "device is smaller than when it was formatted";
		return -ENOSPC;
	}
	return 0;
}

static bool fusion_same_layout(const struct fusion_sb *a, const struct fusion_sb *b)
{
	const size_t start = offsetof(struct fusion_sb, extent_sectors);
	const size_t end = offsetofend(struct fusion_sb, spare_slow);

	/* No holes in between: 11 u32, 8 u64. */
	static_assert(offsetofend(struct fusion_sb, spare_slow) -
		      offsetof(struct fusion_sb, extent_sectors) == 11 * 4 + 8 * 8);

	return !memcmp((const void *)a + start, (const void *)b + start, end - start);
}

static bool fusion_same_geometry(const struct fusion_sb *fast, const struct fusion_sb *slow)
{
	return fusion_same_layout(fast, slow) && fast->self_sectors == slow->peer_sectors &&
	       fast->peer_sectors == slow->self_sectors;
}

bool fusion_sb_lasts(const struct fusion_sb *sb)
{
	const u64 half = FUSION_MAX_COUNTER / 2;

	return sb->generation < half && sb->set_generation < half &&
	       sb->replay_seq < half && sb->replay_txn < half && sb->epoch < U32_MAX / 2;
}

bool fusion_sb_same_member(const struct fusion_sb *a, const struct fusion_sb *b)
{
	return !memcmp(a->set_uuid, b->set_uuid, sizeof(a->set_uuid)) &&
	       !memcmp(a->dev_uuid, b->dev_uuid, sizeof(a->dev_uuid)) && fusion_same_layout(a, b);
}

int fusion_sb_match(const struct fusion_sb *fast, const struct fusion_sb *slow,
		    const char **why)
{
	if (memcmp(fast->set_uuid, slow->set_uuid, sizeof(fast->set_uuid))) {
		*why = "the two devices are members of different sets";
		return -EXDEV;
	}
	if (fast->role == slow->role) {
		*why = "both devices are the same member of the set";
		return -EXDEV;
	}
	if (fast->role != FUSION_FAST) {
		*why = "fast and slow member are swapped";
		return -EXDEV;
	}
	if (memcmp(fast->peer_uuid, slow->dev_uuid, sizeof(fast->peer_uuid)) ||
	    memcmp(slow->peer_uuid, fast->dev_uuid, sizeof(slow->peer_uuid))) {
		*why = "the two members do not name each other";
		return -EXDEV;
	}
	if (fast->layout_seq != slow->layout_seq) {
		*why = "a change of the geometry was interrupted: use the version that began it";
		return -EXDEV;
	}
	if (!fusion_same_geometry(fast, slow)) {
		*why = "the two members disagree on the geometry of the set";
		return -EXDEV;
	}
	/* Written first, it may be one ahead after a power cut; not when it was closed since. */
	if (slow->epoch != fast->epoch &&
	    (slow->epoch != fast->epoch + 1 || slow->flags & FUSION_SB_CLEAN)) {
		*why = slow->epoch > fast->epoch ?
		       "the fast member is from before the last opening" :
		       "the slow member is from before the last opening";
		return -ESTALE;
	}
	if (fast->activation !=
	    (slow->epoch == fast->epoch ? slow->activation : slow->prev_activation)) {
		*why = "the members were opened apart from each other";
		return -ESTALE;
	}
	return 0;
}

bool fusion_sb_reached(const struct fusion_sb *sb, bool single, u64 next_seq,
		       const struct fusion_progress *claim)
{
	if (claim->generation > sb->generation + single)
		return false;
	if (sb->role == FUSION_SLOW && sb->flags & FUSION_SB_CLEAN)
		return true;
	return claim->seq <= next_seq;
}

/* -- the heartbeat --------------------------------------------------------- */

void fusion_beat_pack(const struct fusion_sb *sb, const struct fusion_beat *beat, void *block)
{
	struct fusion_beat_block *d = block;

	memset(block, 0, FUSION_BLOCK_SIZE);
	d->activation = cpu_to_le64(beat->activation);
	d->counter = cpu_to_le64(beat->counter);
	d->open_time = cpu_to_le64(beat->open_time);
	d->beat_time = cpu_to_le64(beat->beat_time);
	d->epoch = cpu_to_le32(beat->epoch);
	d->state = cpu_to_le32(beat->state);
	d->interval_ms = cpu_to_le32(beat->interval_ms);
	memcpy(d->host_id, beat->host_id, sizeof(d->host_id));
	memcpy(d->host_name, beat->host_name, strnlen(beat->host_name, sizeof(d->host_name)));
	fusion_block_seal(sb, FUSION_MAGIC_BEAT, FUSION_BEAT_BLOCKNR, block);
}

static const char *fusion_check_beat(const struct fusion_beat *beat)
{
	if (beat->state > FUSION_BEAT_FORCED)
		return "state is not known";
	if (beat->interval_ms < FUSION_MIN_BEAT_MS || beat->interval_ms > FUSION_MAX_BEAT_MS)
		return "interval is out of bounds";
	if (beat->counter > FUSION_MAX_COUNTER)
		return "counter is out of bounds";
	if (!fusion_text_padded(beat->host_name, FUSION_HOST_SIZE))
		return "name of the host is not padded with zeros";
	return NULL;
}

int fusion_beat_unpack(const struct fusion_sb *sb, const void *block, struct fusion_beat *beat,
		       const char **why)
{
	const struct fusion_beat_block *d = block;

	memset(beat, 0, sizeof(*beat));
	if (le32_to_cpu(d->h.magic) != FUSION_MAGIC_BEAT) {
		*why = "no heartbeat";
		return -ENODATA;
	}
	*why = fusion_block_check(sb, FUSION_MAGIC_BEAT, FUSION_BEAT_BLOCKNR, block);
	if (*why)
		return -EILSEQ;
	beat->activation = le64_to_cpu(d->activation);
	beat->counter = le64_to_cpu(d->counter);
	beat->open_time = le64_to_cpu(d->open_time);
	beat->beat_time = le64_to_cpu(d->beat_time);
	beat->epoch = le32_to_cpu(d->epoch);
	beat->state = le32_to_cpu(d->state);
	beat->interval_ms = le32_to_cpu(d->interval_ms);
	memcpy(beat->host_id, d->host_id, sizeof(beat->host_id));
	memcpy(beat->host_name, d->host_name, sizeof(d->host_name));
	*why = fusion_check_beat(beat);
	if (!*why)
		return 0;
	memset(beat, 0, sizeof(*beat));
	return -EILSEQ;
}

enum fusion_taking fusion_beat_taking(const struct fusion_sb *sb, const struct fusion_beat *beat,
				      const u8 host_id[16])
{
	const bool known = memchr_inv(host_id, 0, sizeof(sb->host_id));
	const bool active = beat->state >= FUSION_BEAT_BEATING;

	/* A claim that came to nothing is watched, too: it may be under way. */
	if (active && (!known || memcmp(beat->host_id, host_id, sizeof(beat->host_id))))
		return FUSION_TAKE_WATCH;
	if (known && !memcmp(sb->host_id, host_id, sizeof(sb->host_id)))
		return FUSION_TAKE_AT_ONCE;
	return sb->flags & FUSION_SB_CLEAN ? FUSION_TAKE_CLAIM : FUSION_TAKE_WATCH;
}

/* -- map and heat blocks ---------------------------------------------------- */

static u32 fusion_entries_of(const struct fusion_sb *sb, u32 index, u32 per_block)
{
	u64 first = (u64)index * per_block;

	return first < sb->nr_lexts ? min_t(u64, sb->nr_lexts - first, per_block) : 0;
}

u32 fusion_map_entries(const struct fusion_sb *sb, u32 index)
{
	return fusion_entries_of(sb, index, FUSION_MAP_PER_BLOCK);
}

u32 fusion_heat_entries(const struct fusion_sb *sb, u32 index)
{
	return fusion_entries_of(sb, index, FUSION_HEAT_PER_BLOCK);
}

static const char *fusion_check_place(const struct fusion_map_block *b, u32 index, u32 count)
{
	if (le32_to_cpu(b->index) != index || le32_to_cpu(b->count) != count)
		return "index or number of entries is wrong";
	return NULL;
}

void fusion_map_pack(const struct fusion_sb *sb, unsigned int set, u32 index,
		     u64 generation, const u32 *words, void *block)
{
	const u32 count = fusion_map_entries(sb, index);
	struct fusion_map_block *b = block;
	u32 i;

	memset(block, 0, FUSION_BLOCK_SIZE);
	b->generation = cpu_to_le64(generation);
	b->index = cpu_to_le32(index);
	b->count = cpu_to_le32(count);
	for (i = 0; i < count; i++)
		b->word[i] = cpu_to_le32(fusion_word_on_disk(READ_ONCE(words[i])));
	fusion_block_seal(sb, FUSION_MAGIC_MAP, sb->map_start[sb->role][set] + index, block);
}

int fusion_map_unpack(const struct fusion_sb *sb, unsigned int set, u32 index,
		      u64 generation, const void *block, u32 *words, const char **why)
{
	const u32 count = fusion_map_entries(sb, index);
	const struct fusion_map_block *b = block;
	u32 i;

	*why = fusion_block_check(sb, FUSION_MAGIC_MAP, sb->map_start[sb->role][set] + index,
				  block);
	if (!*why && le64_to_cpu(b->generation) != generation)
		*why = "block of another generation";
	if (!*why)
		*why = fusion_check_place(b, index, count);
	if (*why)
		return -EILSEQ;
	for (i = 0; i < count; i++) {
		words[i] = le32_to_cpu(b->word[i]);
		if (!fusion_word_valid(sb, words[i])) {
			*why = "map word is out of bounds";
			return -EILSEQ;
		}
	}
	if (memchr_inv(&b->word[count], 0, sizeof(b->word) - count * sizeof(b->word[0]))) {
		*why = "padding is not zero";
		return -EILSEQ;
	}
	return 0;
}

void fusion_heat_pack(const struct fusion_sb *sb, u32 index, u64 generation,
		      const u16 *heat, void *block)
{
	const u32 count = fusion_heat_entries(sb, index);
	struct fusion_map_block *b = block;
	u32 i;

	memset(block, 0, FUSION_BLOCK_SIZE);
	b->generation = cpu_to_le64(generation);
	b->index = cpu_to_le32(index);
	b->count = cpu_to_le32(count);
	for (i = 0; i < count; i++)
		b->heat[i] = cpu_to_le16(heat[i]);
	fusion_block_seal(sb, FUSION_MAGIC_HEAT, sb->heat_start + index, block);
}

int fusion_heat_unpack(const struct fusion_sb *sb, u32 index, const void *block, u16 *heat,
		       const char **why)
{
	const u32 count = fusion_heat_entries(sb, index);
	const struct fusion_map_block *b = block;
	u32 i;

	*why = fusion_block_check(sb, FUSION_MAGIC_HEAT, sb->heat_start + index, block);
	if (!*why)
		*why = fusion_check_place(b, index, count);
	if (*why)
		return -EILSEQ;
	for (i = 0; i < count; i++)
		heat[i] = le16_to_cpu(b->heat[i]);
	return 0;
}

/* -- journal ---------------------------------------------------------------- */

void fusion_journal_init(void *block)
{
	memset(block, 0, FUSION_BLOCK_SIZE);
}

bool fusion_journal_add(const struct fusion_sb *sb, void *block,
			const struct fusion_record *rec)
{
	const u32 bitmap = rec->op == FUSION_OP_OPEN ? fusion_bitmap_bytes(sb->extent_sectors) : 0;
	struct fusion_journal_block *b = block;
	const u32 used = le32_to_cpu(b->used);
	struct fusion_journal_record *d = (void *)(b->payload + used);

	if (used + sizeof(*d) + bitmap > FUSION_JOURNAL_PAYLOAD)
		return false;
	d->lext = cpu_to_le32(rec->lext);
	d->new = cpu_to_le32(rec->new);
	d->old = cpu_to_le32(fusion_word_on_disk(rec->old));
	d->op = cpu_to_le32(rec->op);
	if (bitmap)
		memcpy(d + 1, rec->bitmap, bitmap);
	b->used = cpu_to_le32(used + sizeof(*d) + bitmap);
	return true;
}

u32 fusion_journal_seal(const struct fusion_sb *sb, void *block, u64 seq, u64 txn,
			unsigned int index, unsigned int count, u32 prev_csum)
{
	struct fusion_journal_block *b = block;

	b->seq = cpu_to_le64(seq);
	b->txn = cpu_to_le64(txn);
	b->epoch = cpu_to_le32(sb->epoch);
	b->index = cpu_to_le16(index);
	b->count = cpu_to_le16(count);
	b->prev_csum = cpu_to_le32(prev_csum);
	b->peer_generation = cpu_to_le64(sb->peer_at.generation);
	b->peer_seq = cpu_to_le64(sb->peer_at.seq);
	return fusion_block_seal(sb, FUSION_MAGIC_JOURNAL, fusion_journal_blocknr(sb, seq), block);
}

u64 fusion_journal_blocknr(const struct fusion_sb *sb, u64 seq)
{
	u32 pos;

	div_u64_rem(seq, sb->journal_blocks[sb->role], &pos);
	return sb->journal_start[sb->role] + pos;
}

void fusion_journal_restart(struct fusion_sb *sb, u64 beyond)
{
	const u64 seq = max(sb->replay_seq + sb->journal_blocks[sb->role], beyond);

	sb->replay_txn += seq - sb->replay_seq;
	sb->replay_seq = seq;
	sb->replay_csum = 0;
}

u32 fusion_open_limit(const struct fusion_sb *sb)
{
	u32 record = sizeof(struct fusion_journal_record) +
		     fusion_bitmap_bytes(sb->extent_sectors);
	u32 blocks = min(sb->journal_blocks[FUSION_FAST] / 16, sb->journal_blocks[FUSION_SLOW] / 4);
	u32 max = min(FUSION_MAX_OPEN, blocks * (u32)(FUSION_JOURNAL_PAYLOAD / record));

	return min(max, sb->nr_lexts);
}
