// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb release, of an open set: how long I/O waits, at most. In that time, what belongs on the fast
 * member for the transit is copied there, and from there to the disk, and read back, as are a few
 * late extents. Slots behind the end of a set that is smaller than the disk get zeros.
 */
#include "release-online.h"
#include "error.h"
#include "fusionctl.h"
#include "size.h"

/* Less than the devices do, unless they are very slow. */
#define FAST_RATE	(200ULL << 20)
#define SLOW_RATE	(60ULL << 20)
/* To suspend, look, and resume. */
#define OTHER_MS	1000U
/* The kernel warns of a task that waits for two minutes. */
#define LONGEST_MS	60000U
/* How often a map is written or read: it is rewritten before the moves, and after each batch. */
#define MAP_PASSES	12U

static uint64_t moved_bytes(const struct releasing *r)
{
	return r->t.moved * (uint64_t)r->t.sb.extent_sectors << 9;
}

/* Of the disk: free slots that are no home, and what is behind the slots. */
static uint64_t zeroed_bytes(const struct releasing *r, bool zero)
{
	const struct fusion_sb *sb = &r->t.sb;
	const uint64_t es = (uint64_t)sb->extent_sectors << 9;
	const uint64_t slots = (uint64_t)sb->slow_first_slot + sb->nr_slow_slots;
	const uint64_t disk = sb->transit.disk_sectors << 9;
	uint64_t bytes = disk > slots * es ? 2 * (disk - slots * es) : 0;

	if (zero && slots > r->t.content)
		bytes += (slots - r->t.content) * es;
	return bytes;
}

uint64_t online_pause_ms(const struct releasing *r, bool zero)
{
	const struct fusion_sb *sb = &r->t.sb;
	const uint64_t moved = moved_bytes(r), map = (uint64_t)sb->map_blocks * FUSION_BLOCK_SIZE;
	const uint64_t few = online_few_bytes(sb);
	uint64_t fast, slow;

	/* to its place, and read for its checksum, and read twice more */
	fast = 5 * moved + 2 * few + MAP_PASSES * map +
	       3 * (uint64_t)sb->journal_blocks[FAST] * FUSION_BLOCK_SIZE;
	slow = 2 * moved + 2 * few + MAP_PASSES * map +
	       3 * (uint64_t)sb->journal_blocks[SLOW] * FUSION_BLOCK_SIZE + zeroed_bytes(r, zero);
	return OTHER_MS + fast * 1000 / FAST_RATE + slow * 1000 / SLOW_RATE;
}

int online_check_pause(const struct online *o, const struct releasing *r)
{
	const uint64_t ms = online_pause_ms(r, o->zero);
	char moved[SIZE_TEXT], zeroed[SIZE_TEXT];

	if (ms <= LONGEST_MS)
		return 0;
	return fus_fail(FC_REFUSED, o->set.name, "its I/O might wait for %llu s, as %s have to be "
			"copied and %s zeroed while it is suspended; close it, and release it then",
			(unsigned long long)ms / 1000, fus_size_text(moved, moved_bytes(r)),
			fus_size_text(zeroed, zeroed_bytes(r, o->zero)));
}
