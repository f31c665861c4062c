// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb release, of an open set: how long I/O waits, at most. In that time, what belongs on the fast
 * member for the transit is copied there, and from there to the disk, and read back, as are a few
 * late extents. Slots behind the end of a set that is smaller than the disk get zeros.
 */
#include <time.h>

#include "release-online.h"
#include "error.h"
#include "fusionctl.h"
#include "size.h"
#include "dm-fusion-stale.h"

/* Less than the devices do, unless they are very slow. */
#define FAST_RATE	(200ULL << 20)
#define SLOW_RATE	(60ULL << 20)
/* To suspend, look, and resume. */
#define OTHER_MS	1000U
/* A commit writes a map, and reads all of the metadata again. */
#define MAP_PASSES	3U
/* Its flushes, on the slow member: of the moves, the map, the journal, and each superblock. */
#define FLUSHES		7U
#define FLUSH_MS	25U

uint64_t online_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ULL + t.tv_nsec / 1000000;
}

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

/* That move while it is suspended, at most: all that has to lie on the fast member, and a few. */
static uint64_t extents_to_move(const struct releasing *r)
{
	return r->t.moved + online_few_bytes(&r->t.sb) / (r->t.sb.extent_sectors << 9);
}

/*
 * One before the moves, and one for each batch: three batches if each extent that is in the way
 * can make room at once (homing-batch.c). Else they may go one after the other. The slots that are
 * free for that are those of the fast member which neither have an extent nor get one.
 */
static uint64_t commits(const struct releasing *r)
{
	const uint64_t nr = extents_to_move(r);

	return 1 + (r->t.sb.nr_fast_slots >= r->t.moved + 2 * nr ? 3 : nr + 1);
}

uint32_t online_batch(const struct releasing *r)
{
	const uint64_t nr = 2 * extents_to_move(r) + 2;

	return nr < UINT32_MAX ? nr : UINT32_MAX;
}

static uint64_t time_for(uint64_t fast, uint64_t slow)
{
	return fast * 1000 / FAST_RATE + slow * 1000 / SLOW_RATE;
}

/* Copies are read for their checksum, and twice more. */
uint64_t online_transit_ms(const struct releasing *r)
{
	return FLUSHES * FLUSH_MS + time_for(3 * moved_bytes(r), 2 * moved_bytes(r));
}

uint64_t online_pause_ms(const struct releasing *r, bool zero)
{
	const struct fusion_sb *sb = &r->t.sb;
	const uint64_t moved = moved_bytes(r), few = online_few_bytes(sb), nr = commits(r);
	const uint64_t map = (uint64_t)sb->map_blocks * FUSION_BLOCK_SIZE;
	const uint64_t heat = (uint64_t)sb->heat_blocks * FUSION_BLOCK_SIZE;
	const uint64_t maps = (2 + nr * MAP_PASSES) * map;
	uint64_t ring[2], fast, slow, list;

	for (int dev = 0; dev < 2; dev++)
		ring[dev] = (1 + nr) * sb->journal_blocks[dev] * FUSION_BLOCK_SIZE;
	/* aside, and to its place */
	fast = 4 * moved + 2 * few + maps + ring[FAST] + (1 + 2 * nr) * heat;
	/* the stale list, with which the landing log is compared */
	list = fusion_stale_size(sb, sb->stale_places) * FUSION_BLOCK_SIZE;
	slow = 2 * few + maps + ring[SLOW] + list + zeroed_bytes(r, zero);
	return OTHER_MS + nr * FLUSHES * FLUSH_MS + time_for(fast, slow) + online_transit_ms(r);
}

int online_check_pause(const struct online *o, const struct releasing *r)
{
	const uint64_t ms = online_pause_ms(r, o->zero);
	char moved[SIZE_TEXT], zeroed[SIZE_TEXT];

	if (ms <= ONLINE_LONGEST_MS)
		return 0;
	return fus_fail(FC_REFUSED, o->set.name, "its I/O might wait for %llu s, as %s have to be "
			"copied and %s zeroed while it is suspended; close it, and release it then",
			(unsigned long long)ms / 1000, fus_size_text(moved, moved_bytes(r)),
			fus_size_text(zeroed, zeroed_bytes(r, o->zero)));
}
