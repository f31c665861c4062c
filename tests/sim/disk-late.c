// SPDX-License-Identifier: GPL-2.0-only
/* Accesses that a disk takes long for. */
#include "dm-fusion.h"

#include "disk.h"

/* Until when the disk does not get to it: one in four accesses to the block of the heartbeat. */
static u64 hold(const struct sim_disk *d, const struct bio *bio)
{
	if (!world->late_ms || d->role != FUSION_FAST ||
	    bio->bi_iter.bi_sector != FUSION_BEAT_BLOCKNR * FUSION_BLOCK_SECTORS ||
	    rnd_below(&world->rng, 4))
		return 0;
	return world->now_ns + 1000000ULL * rnd_below(&world->rng, world->late_ms);
}

/* The same for the read that is to take long. */
static u64 stall(const struct sim_disk *d, const struct bio *bio)
{
	u32 *stall, where;
	u64 ms;

	if (bio_op(bio) != REQ_OP_READ)
		return 0;
	if (!disk_locate(d, bio->bi_iter.bi_sector, bio_sectors(bio), &where))
		stall = d->role == FUSION_FAST ? &world->stall_ms : &world->stall_slow_data_ms;
	else if (d->role == FUSION_SLOW)
		stall = &world->stall_slow_ms;
	else
		return 0;
	ms = *stall;
	if (!ms)
		return 0;
	*stall = 0;
	return world->now_ns + 1000000ULL * ms;
}

/* The same for some of all accesses to data: others overtake them. */
static u64 lag(const struct sim_disk *d, const struct bio *bio)
{
	u32 where;

	if (!world->lag_ms || !bio_sectors(bio) ||
	    disk_locate(d, bio->bi_iter.bi_sector, bio_sectors(bio), &where) ||
	    rnd_below(&world->rng, 8))
		return 0;
	return world->now_ns + 1000000ULL * rnd_below(&world->rng, world->lag_ms);
}

u64 disk_held_until(const struct sim_disk *d, const struct bio *bio)
{
	return max(max(hold(d, bio), stall(d, bio)), lag(d, bio));
}
