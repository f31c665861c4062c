// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: extents of which something is in the landing log: how many blocks of each are live, or
 * on their way there. So an extent that has none any more is known at once, and its bit in
 * @land->has is cleared by the commit that makes the last death durable.
 *
 * There is a place for each tenth position of the log, as far as there are extents: with that, all
 * of the index takes no more than 0.45 % of the log. An extent that finds no place has its bit
 * alone. Who asks for it then looks for each of its blocks, and clears the bit.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "dm-fusion-land.h"

#define POSITIONS_PER_PLACE	10U

int fusion_land_extents_init(struct fusion_land *land, u32 nr_lexts)
{
	const u32 nr = clamp(nr_lexts, 1U, land->max * land->blocks / POSITIONS_PER_PLACE);
	u32 i;

	land->extents = nr;
	land->extent_bits = max(ilog2(nr), 2) - 1;
	land->extent = kvmalloc_array(nr, sizeof(*land->extent), GFP_KERNEL);
	land->extent_bucket = kvmalloc_array(1U << land->extent_bits, sizeof(u32), GFP_KERNEL);
	land->gone = kvcalloc(BITS_TO_LONGS(nr), sizeof(long), GFP_KERNEL);
	land->going = kvcalloc(BITS_TO_LONGS(nr), sizeof(long), GFP_KERNEL);
	if (!land->extent || !land->extent_bucket || !land->gone || !land->going)
		return -ENOMEM;
	memset(land->extent_bucket, 0xff, sizeof(u32) << land->extent_bits);
	for (i = 0; i < nr; i++)
		land->extent[i].next = i + 1 < nr ? i + 1 : FUSION_LAND_NONE;
	land->extent_free = 0;
	return 0;
}

void fusion_land_extents_exit(struct fusion_land *land)
{
	kvfree(land->going);
	kvfree(land->gone);
	kvfree(land->extent_bucket);
	kvfree(land->extent);
}

static u32 *fusion_land_extent_bucket(const struct fusion_land *land, u32 lext)
{
	return &land->extent_bucket[hash_32(lext, land->extent_bits)];
}

/* The place of an extent, or FUSION_LAND_NONE. */
static u32 fusion_land_extent(const struct fusion_land *land, u32 lext)
{
	u32 i = *fusion_land_extent_bucket(land, lext);

	while (i != FUSION_LAND_NONE && land->extent[i].lext != lext)
		i = land->extent[i].next;
	return i;
}

/* Give it one. Return: the place, or FUSION_LAND_NONE. */
static u32 fusion_land_extent_new(struct fusion_land *land, u32 lext)
{
	u32 *bucket = fusion_land_extent_bucket(land, lext), i = land->extent_free;

	if (i == FUSION_LAND_NONE)
		return i;
	land->extent_free = land->extent[i].next;
	land->extent[i] = (struct fusion_land_extent){ .lext = lext, .next = *bucket };
	*bucket = i;
	return i;
}

static void fusion_land_extent_free(struct fusion_land *land, u32 i)
{
	u32 *link = fusion_land_extent_bucket(land, land->extent[i].lext);

	while (*link != i)
		link = &land->extent[*link].next;
	*link = land->extent[i].next;
	land->extent[i].next = land->extent_free;
	land->extent_free = i;
}

void fusion_land_count(struct fusion_land *land, u32 lext)
{
	u32 i = fusion_land_extent(land, lext);

	/* one that has the bit, and no place, may have entries that nobody has counted */
	if (i == FUSION_LAND_NONE && !test_bit(lext, land->has))
		i = fusion_land_extent_new(land, lext);
	/* other CPUs read the bits all the time, so a line of them is not written without need */
	if (!test_bit(lext, land->has))
		__set_bit(lext, land->has);
	if (i == FUSION_LAND_NONE || land->extent[i].nr++)
		return;
	__clear_bit(i, land->gone);
	__clear_bit(i, land->going);
}

void fusion_land_uncount(struct fusion_land *land, u32 lext)
{
	const u32 i = fusion_land_extent(land, lext);

	if (i != FUSION_LAND_NONE && !--land->extent[i].nr)
		__set_bit(i, land->gone);
}

void fusion_land_extents_take(struct fusion_land *land)
{
	u32 i;

	for (i = 0; i < BITS_TO_LONGS(land->extents); i++) {
		land->going[i] |= land->gone[i];
		land->gone[i] = 0;
	}
}

void fusion_land_extents_gone(struct fusion_land *land)
{
	u32 i;

	for_each_set_bit(i, land->going, land->extents) {
		__clear_bit(i, land->going);
		__clear_bit(i, land->gone);
		__clear_bit(land->extent[i].lext, land->has);
		fusion_land_extent_free(land, i);
	}
}

u32 fusion_land_counted(const struct fusion_land *land, u32 lext)
{
	const u32 i = fusion_land_extent(land, lext);

	return i != FUSION_LAND_NONE ? land->extent[i].nr : FUSION_LAND_NONE;
}
