// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: foreground I/O, as the mover and the policy see it.
 */
#include <linux/math64.h>

#include "dm-fusion.h"

void fusion_mover_tick(struct fusion *fs)
{
	if (xchg(&fs->half_life_changed, 0))
		fusion_policy_set_half_life(fs->policy, fusion_half_life(fs));
	fusion_policy_tick(fs->policy, fusion_now_ms() - fs->mover.opened_ms);
}

/* I/Os in flight at a member; approximate, as the CPUs are read one after another. */
static u64 fusion_usage_in_flight(const struct fusion_look *sum, enum fusion_dev dev)
{
	return sum->ios[dev] > sum->done[dev] ? sum->ios[dev] - sum->done[dev] : 0;
}

/*
 * Report the cost of random accesses to the policy, for a time in which there was nothing else. A
 * member counts as busy for all of that time if it is busy at the end: right on average.
 */
static void fusion_tell_accesses(struct fusion *fs, const struct fusion_look *now)
{
	const struct fusion_look *before = &fs->mover.look;
	u64 us = now->us - before->us;
	unsigned int dev;

	if (!fs->mover.look_usable || us > FUSION_MAX_LOOK_US ||
	    now->unweighed != before->unweighed)
		return;
	for (dev = 0; dev < FUSION_NR_DEVS; dev++)
		fusion_policy_accesses(fs->policy, dev, fusion_usage_in_flight(now, dev) ? us : 0,
				       now->done[dev] - before->done[dev]);
}

u64 fusion_idle_ms(struct fusion *fs)
{
	struct fusion_look now;
	unsigned int dev;
	bool busy;

	/* writes to LOCKED extents wait without reaching a member */
	spin_lock_irq(&fs->lock);
	busy = !bio_list_empty(&fs->worker.parked) || !bio_list_empty(&fs->worker.landing);
	spin_unlock_irq(&fs->lock);

	fusion_look(fs, &now);
	for (dev = 0; dev < FUSION_NR_DEVS; dev++)
		busy |= now.ios[dev] != fs->mover.look.ios[dev] ||
			fusion_usage_in_flight(&now, dev);
	if (busy) {
		fs->mover.last_busy_ms = div_u64(now.us, 1000);
		fusion_policy_used(fs->policy, min_t(u64, now.us - fs->mover.look.us,
						     FUSION_MAX_LOOK_US));
	}
	fusion_tell_accesses(fs, &now);
	fs->mover.queue += min_t(u64, fusion_usage_in_flight(&now, FUSION_SLOW), FUSION_MAX_QUEUE);
	fs->mover.queue_looks++;
	fs->mover.look = now;
	return div_u64(now.us, 1000) - fs->mover.last_busy_ms;
}

bool fusion_is_idle(struct fusion *fs)
{
	return fusion_idle_ms(fs) >= READ_ONCE(fs->opt.idle);
}

void fusion_look_at_slow(struct fusion *fs)
{
	u64 ios = fusion_count_ios(fs, FUSION_SLOW, false) +
		  fusion_count_ios(fs, FUSION_SLOW, true);
	u64 now = fusion_now_ms(), standby = (u64)READ_ONCE(fs->opt.standby) * MSEC_PER_SEC;

	if (ios != fs->mover.slow_ios) {
		fs->mover.slow_ios = ios;
		WRITE_ONCE(fs->mover.slow_used_ms, now);
	}
	WRITE_ONCE(fs->mover.slow_asleep, standby && now - fs->mover.slow_used_ms >= standby);
}
