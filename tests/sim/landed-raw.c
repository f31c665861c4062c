// SPDX-License-Identifier: GPL-2.0-only
/*
 * Metadata in slots: the headers of a landing log. A disk keeps a stamp for each sector there. So
 * blocks of metadata are kept here, and their stamps say which one it is. All other stamps stand
 * for 512 bytes that follow from them, and have a checksum.
 */
#include <stdlib.h>

#include "landed.h"

#define RAW_MARK	0xfadedacULL	/* in the topmost bits of a stamp: no other one has them */
#define RAW_SHIFT	36

static u8 **raw;
static u32 nr_raw, max_raw;

void landed_raw_add(const void *block, u64 stamps[FUSION_BLOCK_SECTORS])
{
	u32 i;

	if (nr_raw == max_raw) {
		max_raw = max(2 * max_raw, 256U);
		raw = realloc(raw, max_raw * sizeof(*raw));
	}
	raw[nr_raw] = malloc(FUSION_BLOCK_SIZE);
	memcpy(raw[nr_raw], block, FUSION_BLOCK_SIZE);
	for (i = 0; i < FUSION_BLOCK_SECTORS; i++)
		stamps[i] = RAW_MARK << RAW_SHIFT | (nr_raw * FUSION_BLOCK_SECTORS + i);
	nr_raw++;
}

void landed_raw_forget(void)
{
	while (nr_raw)
		free(raw[--nr_raw]);
}

void landed_raw_bytes(u64 stamp, void *bytes)
{
	const u32 nr = stamp & ((1ULL << RAW_SHIFT) - 1);
	u64 *p = bytes;
	u32 i;

	if (stamp >> RAW_SHIFT == RAW_MARK && nr < nr_raw * FUSION_BLOCK_SECTORS) {
		memcpy(bytes, raw[nr / FUSION_BLOCK_SECTORS] + nr % FUSION_BLOCK_SECTORS * 512,
		       512);
		return;
	}
	for (i = 0; i < 512 / sizeof(*p); i++)
		p[i] = stamp;
}

u64 landed_raw_stamp(const void *sector)
{
	u8 bytes[512];
	u64 stamp;

	memcpy(&stamp, sector, sizeof(stamp));
	landed_raw_bytes(stamp, bytes);
	if (memcmp(bytes, sector, sizeof(bytes)))
		sim_fail("a sector that is no user's data is given to one");
	return stamp;
}

void landed_raw_stamps(const void *block, u64 stamps[FUSION_BLOCK_SECTORS])
{
	const u8 *sector = block;
	u8 bytes[512];
	u32 i;

	for (i = 0; i < FUSION_BLOCK_SECTORS; i++, sector += sizeof(bytes)) {
		memcpy(&stamps[i], sector, sizeof(*stamps));
		landed_raw_bytes(stamps[i], bytes);
		if (memcmp(bytes, sector, sizeof(bytes)) || stamps[i] >> RAW_SHIFT == RAW_MARK) {
			landed_raw_add(block, stamps);
			return;
		}
	}
}
