// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: base functions: parked bios, kicks, counters.
 *
 * A bio that cannot continue is parked in the same critical section as the check that found so. It
 * is checked again when a commit, a drain or an update of the replica has ended.
 */
#include "dm-fusion.h"

/* -- bios that wait -------------------------------------------------------------------------- */

void fusion_unpark(struct fusion *fs)
{
	if (bio_list_empty(&fs->worker.parked))
		return;
	bio_list_merge(&fs->worker.deferred, &fs->worker.parked);
	bio_list_init(&fs->worker.parked);
	queue_work(fs->worker.wq, &fs->worker.work);
}

void fusion_park(struct fusion *fs, struct bio *bio, bool kick)
{
	if (fusion_mode(fs) != FUSION_RW) {
		/* fusion_set_mode() has already unparked; nothing else will. */
		bio_list_add(&fs->worker.deferred, bio);
		queue_work(fs->worker.wq, &fs->worker.work);
		return;
	}
	bio_list_add(&fs->worker.parked, bio);
	if (kick)
		fusion_commit_kick(fs);
}

/* -- commits --------------------------------------------------------------------------------- */

void fusion_commit_kick(struct fusion *fs)
{
	mod_delayed_work(fs->commit.wq, &fs->commit.work, 0);
}

void fusion_commit_soon(struct fusion *fs)
{
	queue_delayed_work(fs->commit.wq, &fs->commit.work,
			   msecs_to_jiffies(READ_ONCE(fs->opt.commit_interval)));
}

void fusion_complete_lost(struct bio *bio)
{
	bio->bi_status = BLK_STS_MEDIUM;
	bio_endio(bio);
}

/* -- counters -------------------------------------------------------------------------------- */

u64 fusion_count_ios(const struct fusion *fs, enum fusion_dev dev, bool write)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(fs->stats, cpu)->ios[dev][write]);
	return sum;
}

void fusion_look(const struct fusion *fs, struct fusion_look *sum)
{
	unsigned int dev;
	int cpu;

	memset(sum, 0, sizeof(*sum));
	sum->us = fusion_now_us();
	for_each_possible_cpu(cpu) {
		const struct fusion_stats *stats = per_cpu_ptr(fs->stats, cpu);

		for (dev = 0; dev < FUSION_NR_DEVS; dev++) {
			u64 writes;

			sum->done[dev] += READ_ONCE(stats->done[dev]);
			writes = READ_ONCE(stats->ios[dev][1]);
			sum->ios[dev] += READ_ONCE(stats->ios[dev][0]) + writes;
			sum->writes += writes;
		}
		sum->unweighed += READ_ONCE(stats->unweighed);
	}
}

void fusion_member_failed(struct fusion *fs, unsigned int disk)
{
	this_cpu_inc(fs->stats->errors[disk]);
}

/* -- settings, or what stands for them ------------------------------------------------------- */

u32 fusion_reserve(const struct fusion *fs)
{
	const struct fusion_fence *fence = &fs->slots.fence;
	u32 reserve = READ_ONCE(fs->opt.reserve) ?: fusion_default_reserve(&fs->sb);
	u32 fenced = READ_ONCE(fence->dev) == FUSION_FAST ? fusion_fence_size(fence) : 0;
	u32 taken = fenced + fs->sb.landing_slots;

	/* A setting is at most half of the member: so much of what a fence and the log leave. */
	return min(reserve, (fs->sb.nr_fast_slots - min(fs->sb.nr_fast_slots, taken)) / 2);
}

u32 fusion_half_life(const struct fusion *fs)
{
	return READ_ONCE(fs->opt.half_life) ?: fusion_default_half_life(&fs->sb);
}
