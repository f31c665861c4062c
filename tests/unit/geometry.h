/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is the geometry in a superblock possible? Written from the description of
 * the format alone, in 128-bit numbers: all areas as intervals of sectors that
 * must lie on the device, and not on each other.
 */
#ifndef GEOMETRY_H
#define GEOMETRY_H

#include <linux/kernel.h>

#include "dm-fusion-codec.h"

typedef unsigned __int128 u128;

struct area {
	const char *name;
	u128 start;
	u128 end;
};

static inline const char *areas_wrong(const struct area *a, unsigned int nr, u128 sectors)
{
	unsigned int i, k;

	for (i = 0; i < nr; i++) {
		if (a[i].start >= a[i].end || a[i].end > sectors)
			return a[i].name;
		for (k = 0; k < i; k++)
			if (a[i].start < a[k].end && a[k].start < a[i].end)
				return a[i].name;
	}
	return NULL;
}

static inline struct area area(const char *name, u128 start, u128 sectors)
{
	return (struct area){ name, start, start + sectors };
}

/* NULL, or the name of what is wrong. */
static inline const char *geometry_wrong(const struct fusion_sb *sb)
{
	const u128 fast = sb->role == FUSION_FAST ? sb->self_sectors : sb->peer_sectors;
	const u128 slow = sb->role == FUSION_FAST ? sb->peer_sectors : sb->self_sectors;
	const u128 es = sb->extent_sectors;
	const u128 map_sectors = (u128)sb->map_blocks * 8;
	const struct area on_fast[] = {
		area("superblocks", 0, 128),
		area("journal", (u128)sb->journal_start[FUSION_FAST] * 8,
		     (u128)sb->journal_blocks[FUSION_FAST] * 8),
		area("map 0", (u128)sb->map_start[FUSION_FAST][0] * 8, map_sectors),
		area("map 1", (u128)sb->map_start[FUSION_FAST][1] * 8, map_sectors),
		area("heat", (u128)sb->heat_start * 8, (u128)sb->heat_blocks * 8),
		area("fast data", sb->fast_data_start, sb->nr_fast_slots * es),
		area("fast tail", fast - 2048, 2048),
	};
	const struct area on_slow[] = {
		area("superblocks", 0, 128),
		area("log", (u128)sb->journal_start[FUSION_SLOW] * 8,
		     (u128)sb->journal_blocks[FUSION_SLOW] * 8),
		area("replica 0", (u128)sb->map_start[FUSION_SLOW][0] * 8, map_sectors),
		area("replica 1", (u128)sb->map_start[FUSION_SLOW][1] * 8, map_sectors),
		area("slow data", sb->slow_first_slot * es, sb->nr_slow_slots * es),
		area("slow tail", slow - 2048, 2048),
		/* last, as there may be none */
		area("stale list", (u128)sb->stale_start * 8,
		     16 + 16 * sb->stale_places * ((es / 8 + 499) / 500)),
	};
	const char *wrong;
	unsigned int dev;

	if (__builtin_popcount(sb->extent_sectors) != 1 || es < 128 || es > 32768)
		return "extent size";
	wrong = areas_wrong(on_fast, ARRAY_SIZE(on_fast), fast);
	if (!wrong)
		wrong = areas_wrong(on_slow, ARRAY_SIZE(on_slow) - !sb->stale_places, slow);
	if (wrong)
		return wrong;
	if (fast >> 54 || slow >> 54)
		return "device size";
	if (sb->fast_data_start < 2048 || sb->slow_first_slot * es < 2048)
		return "head";
	if (sb->fast_data_start % es)
		return "alignment";
	for (dev = 0; dev < FUSION_NR_DEVS; dev++)
		if (sb->journal_blocks[dev] < 64 || sb->journal_blocks[dev] > 16384)
			return "journal size";
	if ((u128)sb->map_blocks * 1012 < sb->nr_lexts)
		return "map size";
	if ((u128)sb->heat_blocks * 2024 < sb->nr_lexts)
		return "heat size";
	if (sb->spare_fast < 1 || sb->spare_slow < 1 || sb->nr_lexts < 1 ||
	    (u128)sb->nr_lexts + sb->spare_fast + sb->spare_slow + sb->landing_slots >
	    (u128)sb->nr_fast_slots + sb->nr_slow_slots ||
	    sb->spare_fast >= sb->nr_fast_slots || sb->spare_slow >= sb->nr_slow_slots)
		return "spares";
	if (sb->nr_lexts > 1U << 28)
		return "lexts";
	/* the slot with all bits set means unmapped */
	if (sb->nr_fast_slots > 0x1fffffff ||
	    (u128)sb->slow_first_slot + sb->nr_slow_slots > 0x1fffffff)
		return "slot numbers";
	return NULL;
}

#endif
