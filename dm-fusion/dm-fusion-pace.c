// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the pace of the mover. Beside foreground I/O, what it does takes the share of the time
 * that the setting duty allows: after each piece of work it pauses.
 */
#include <linux/math64.h>
#include <linux/minmax.h>

#include "dm-fusion.h"

u64 fusion_pace_begin(struct fusion *fs)
{
	fs->mover.waited_us = 0;
	fs->mover.queue = 0;
	fs->mover.queue_looks = 0;
	return fusion_now_us();
}

/*
 * If foreground I/O queues at the slow member, it is only the share that the batch's commands have
 * in the queue. So migration also advances under full load, and adds to the load only its share.
 */
u64 fusion_pace_used(const struct fusion *fs, u64 start)
{
	u32 looks = max(fs->mover.queue_looks, 1U);
	u64 us = fusion_now_us() - start;

	us -= min(us, fs->mover.waited_us);
	return div_u64(us * FUSION_COPY_QUEUE * looks, FUSION_COPY_QUEUE * looks + fs->mover.queue);
}

u64 fusion_pace_until(const struct fusion *fs, u64 us)
{
	u32 duty = READ_ONCE(fs->opt.duty);
	u64 pause = div_u64(us * (100 - duty), duty * 1000);

	return fusion_now_ms() + min_t(u64, pause, FUSION_MAX_PAUSE_MS);
}

void fusion_pace(struct fusion *fs, u64 us)
{
	fs->mover.next_batch_ms = fusion_pace_until(fs, us);
}
