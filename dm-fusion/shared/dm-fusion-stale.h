/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: the stale list on the slow member: packing, unpacking, and what counts. The layout is
 * in dm-fusion-stale-format.h.
 *
 * Pure code, as in dm-fusion-codec.h: no I/O, no allocation, no locks. Each number that comes from
 * a block is bounded here, each time that the block is read.
 *
 * INV23 What the slow member has of a block that is in no list that counts is as new as it was when
 *	 the run of the head began, or newer, as long as the extent lies there.
 */
#ifndef DM_FUSION_STALE_H
#define DM_FUSION_STALE_H

#include <linux/math.h>
#include <linux/minmax.h>

#include "dm-fusion-codec.h"
#include "dm-fusion-stale-format.h"

/* Fields as on disk. */
struct fusion_stale_head {
	u64 run;
	u64 seq;
	u64 time;
	u32 epoch;
	u32 nr_lists;
	u32 sum;
	u64 nr_blocks;
};

/* A list, without its entries; @sum: h.csum of its blocks, added up. */
struct fusion_stale_list {
	u64 run;
	u64 seq;
	u64 time;
	u64 segno;
	u64 key;
	u32 slot;
	u32 epoch;
	u32 total;
	u32 sum;
};

struct fusion_stale_entry {
	u32 lext;
	u16 block;
	u16 pos;
};

/* -- places -------------------------------------------------------------------------------- */

/* Blocks of a copy of a list. */
static inline u32 fusion_stale_list_blocks(const struct fusion_sb *sb)
{
	return DIV_ROUND_UP(sb->extent_sectors / FUSION_BLOCK_SECTORS, FUSION_STALE_ENTRIES);
}

/* Blocks of all of it, for so many lists. */
static inline u64 fusion_stale_size(const struct fusion_sb *sb, u32 places)
{
	return FUSION_STALE_COPIES * (1 + (u64)places * fusion_stale_list_blocks(sb));
}

/* Where block @index of a copy of a list lies on the slow member. */
static inline u64 fusion_stale_blocknr(const struct fusion_sb *sb, u32 copy, u32 place, u32 index)
{
	const u32 each = fusion_stale_list_blocks(sb);

	return sb->stale_start + FUSION_STALE_COPIES +
	       ((u64)copy * sb->stale_places + place) * each + index;
}

/* The same of a copy of the head. */
static inline u64 fusion_stale_head_blocknr(const struct fusion_sb *sb, u32 copy)
{
	return sb->stale_start + copy;
}

/* Blocks that are used of a list with so many entries. */
static inline u32 fusion_stale_used(u32 total)
{
	return total ? DIV_ROUND_UP(total, FUSION_STALE_ENTRIES) : 1;
}

/* -- blocks -------------------------------------------------------------------------------- */

/* Seal a head for its place, the copy @head->run % 2. */
void fusion_stale_head_pack(const struct fusion_sb *sb, const struct fusion_stale_head *head,
			    void *block);

/* Check copy @copy of the head, and unpack it. Return: 0, or -ENODATA; then @why is set. */
int fusion_stale_head_unpack(const struct fusion_sb *sb, u32 copy, const void *block,
			     struct fusion_stale_head *head, const char **why);

/**
 * fusion_stale_pack() - seal a block of a list
 * @sb: geometry, uuid
 * @copy: of the list
 * @place: number of the list
 * @index: number of the block, below fusion_stale_used()
 * @list: what it says
 * @entry: the entries that this block has
 * @block: FUSION_BLOCK_SIZE bytes to fill
 *
 * Return: its checksum.
 */
u32 fusion_stale_pack(const struct fusion_sb *sb, u32 copy, u32 place, u32 index,
		      const struct fusion_stale_list *list,
		      const struct fusion_stale_entry *entry, void *block);

/* Check such a block, and unpack it: @sum is its own. Return: 0, or -ENODATA; then @why is set. */
int fusion_stale_unpack(const struct fusion_sb *sb, u32 copy, u32 place, u32 index,
			const void *block, struct fusion_stale_list *list, const char **why);

/* Entries that block @index has of a list with @total. */
static inline u32 fusion_stale_count(u32 total, u32 index)
{
	return min(total - index * FUSION_STALE_ENTRIES, FUSION_STALE_ENTRIES);
}

/* Entry @i of a block that was checked. */
void fusion_stale_entry(const void *block, u32 i, struct fusion_stale_entry *entry);

/* -- reading it ---------------------------------------------------------------------------- */

/* A copy of a list that was found: as struct fusion_stale_list; @run is 0 if it is not there. */
struct fusion_stale_seen {
	u64 run;
	u64 segno;
	u64 key;
	u32 sum;
	u32 total;
};

/**
 * struct fusion_stale_scan - what fusion_stale_scan() needs and finds
 * @sb: superblock of either member; it has a stale list
 * @seen: scratch: FUSION_STALE_COPIES for each of its lists
 * @read: returns a pointer to a block of the slow member, valid until the next call, or NULL if it
 *	can't be read
 * @list: NULL, or called for each copy of a list that counts (@counts), or that a later run has
 *	written. Nonzero return ends the scan
 * @entry: NULL, or called for each entry of these, when @list was called for all
 * @unreadable: NULL, or called for each copy of a list that cannot be read, before @list; and
 *	behind that for one of which the entries cannot be read, or not as they were. Such a list is
 *	not in @nr_lists, @nr_blocks, and @sum; @entry may have been called for some of them
 * @ctx: argument of these
 * @found: out: there is a head
 * @head: out: the one that counts; zeros if there is none
 * @last_run: out: the highest number of a run that was found
 * @nr_lists: out: lists that count, and have entries
 * @nr_blocks: out: their entries
 * @sum: out: that of all lists that count
 * @bad_heads: out: a bit for each copy of the head that cannot be read
 * @why: out: what is wrong with the head
 */
struct fusion_stale_scan {
	const struct fusion_sb *sb;
	struct fusion_stale_seen *seen;
	const void *(*read)(void *ctx, u64 blocknr);
	int (*list)(void *ctx, u32 copy, u32 place, const struct fusion_stale_seen *list,
		    bool counts);
	int (*entry)(void *ctx, u32 place, const struct fusion_stale_entry *entry);
	void (*unreadable)(void *ctx, u32 copy, u32 place);
	void *ctx;
	bool found;
	struct fusion_stale_head head;
	u64 last_run;
	u32 nr_lists;
	u64 nr_blocks;
	u32 sum;
	u32 bad_heads;
	const char *why;
};

/*
 * Read all of it, from the first block on to the last; and once more, in that order, what has
 * entries. Blocks that are stale are the entries of all lists that @list and @entry are called for:
 * those that count, and those of a run that was cut short. Return: 0, or what one of these has
 * returned.
 */
int fusion_stale_scan(struct fusion_stale_scan *scan);

/* Is what was read what the head speaks of? */
static inline bool fusion_stale_whole(const struct fusion_stale_scan *scan)
{
	return scan->found && scan->nr_lists == scan->head.nr_lists &&
	       scan->nr_blocks == scan->head.nr_blocks && scan->sum == scan->head.sum;
}

/* Was the set closed with that list, so that it has all blocks? @slow: of the slow member. */
static inline bool fusion_stale_closed(const struct fusion_stale_scan *scan,
				       const struct fusion_sb *slow)
{
	return fusion_stale_whole(scan) && slow->flags & FUSION_SB_CLEAN &&
	       scan->head.epoch == slow->epoch;
}

#endif
