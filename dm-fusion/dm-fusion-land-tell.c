// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: what messages say of the landing log: which blocks it has, and how it gets on.
 *
 * They look at a few blocks at a time, so writes hardly wait for them, and lines are of different
 * moments.
 */
#include <linux/bitops.h>
#include <linux/math64.h>

#include "dm-fusion.h"

/* A bit for each block of an extent that is in the log, from @block on. May sleep. */
static unsigned long fusion_logged_blocks(struct fusion_land *land, u32 lext, u32 block)
{
	const u32 end = min_t(u32, land->blocks, block + BITS_PER_LONG);
	unsigned long flags;
	unsigned long bits = 0;
	u32 i;

	spin_lock_irqsave(&land->lock, flags);
	for (i = block; i < end; i++)
		if (fusion_land_find(land, lext, i) != FUSION_LAND_NONE)
			bits |= 1UL << (i - block);
	spin_unlock_irqrestore(&land->lock, flags);
	/* an extent has up to 64 times as many blocks, and there can be millions of extents */
	cond_resched();
	return bits;
}

u32 fusion_land_logged(struct fusion *fs, u32 lext)
{
	struct fusion_land *land = &fs->land;
	unsigned long flags;
	u32 block, nr;

	if (!fusion_land_has(land, lext))
		return 0;
	/* those on their way there are counted as well */
	spin_lock_irqsave(&land->lock, flags);
	nr = fusion_land_counted(land, lext);
	spin_unlock_irqrestore(&land->lock, flags);
	if (nr != FUSION_LAND_NONE)
		return nr;
	nr = 0;
	for (block = 0; block < land->blocks; block += BITS_PER_LONG)
		nr += hweight_long(fusion_logged_blocks(land, lext, block));
	return nr;
}

unsigned int fusion_emit_logged(struct fusion *fs, u32 lext, char *result, unsigned int maxlen)
{
	struct fusion_land *land = &fs->land;
	u32 block, run = 0;
	unsigned long bits = 0;
	unsigned int sz = 0;

	if (!fusion_land_has(land, lext))
		return 0;
	for (block = 0; block <= land->blocks; block++) {
		if (!(block % BITS_PER_LONG))
			bits = block < land->blocks ? fusion_logged_blocks(land, lext, block) : 0;
		if (block < land->blocks && bits >> block % BITS_PER_LONG & 1) {
			run++;
			continue;
		}
		if (run)
			DMEMIT("%u %u %u\n", lext, block - run, run);
		run = 0;
	}
	return sz;
}

/* Seconds until what could not be copied is tried again, rounded up; 0: all could be. */
static u64 fusion_land_retry_s(const struct fusion_land *land)
{
	const u64 retry = READ_ONCE(land->retry_ms), now = fusion_now_ms();

	return retry ? div_u64(retry - min(retry, now), 1000) + 1 : 0;
}

u32 fusion_land_in_use(const struct fusion_land *land)
{
	const u64 ready = land->ended.segno + !!land->ended.pos;
	const u64 ahead = land->next_segno - min(land->next_segno, ready);

	return land->nr - min_t(u64, land->nr, ahead);
}

unsigned int fusion_emit_land(struct fusion *fs, char *result, unsigned int maxlen)
{
	const struct fusion_land *land = &fs->land;
	const struct fusion_copies *c = land->copies;
	unsigned int sz = 0;
	u32 segments;

	if (!land->max)
		return 0;
	spin_lock_irq(&fs->lock);
	segments = fusion_land_in_use(land);
	spin_unlock_irq(&fs->lock);
	DMEMIT("log_blocks %u\n", READ_ONCE(land->nr_live));
	DMEMIT("log_segments %u\n", segments);
	DMEMIT("log_landed %llu\n", READ_ONCE(land->nr_landed));
	DMEMIT("log_drained %llu\n", READ_ONCE(land->nr_drained));
	DMEMIT("log_waiting %u\n", READ_ONCE(land->pace.nr_waiting));
	DMEMIT("log_waited %llu\n", READ_ONCE(land->pace.nr_waited));
	DMEMIT("log_retry %llu\n", fusion_land_retry_s(land));
	DMEMIT("log_unlisted %llu\n", fusion_stale_unlisted_s(fs->stale));
	DMEMIT("log_list_failed %u\n", fusion_stale_failed(fs->stale));
	DMEMIT("copies %u\n", READ_ONCE(c->nr));
	DMEMIT("copies_read %llu\n", READ_ONCE(c->hits));
	DMEMIT("copies_made %llu\n", READ_ONCE(c->made));
	DMEMIT("copies_outdated %llu\n", READ_ONCE(c->killed));
	DMEMIT("copies_evicted %llu\n", READ_ONCE(c->evicted));
	DMEMIT("copies_taken_back %llu\n", READ_ONCE(c->retaken));
	DMEMIT("copies_failed %llu\n", READ_ONCE(c->failed));
	return sz;
}
