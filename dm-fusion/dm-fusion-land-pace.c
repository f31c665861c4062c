// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the pace of writes into the landing log.
 *
 * A sorted drain copies several times as many blocks a second as the slow member writes at random.
 * So when the log is nearly full, writes wait for the drain and do not go past the log.
 *
 * As long as more than a quarter of the log is free, nobody waits. From then on there is a limit: a
 * position that writes may get to. The drain frees segments when it has been all over the
 * slow member (dm-fusion-land-sweep.c), and then many of them: when it has copied about as many
 * blocks as there are entries now. So each block that it has copied moves the limit on by one part
 * in so many of what is left. There are fewer each time, so writers are about as fast at the end as
 * at the beginning, and never stand still. If the drain gives nothing for a while, as in a flush of
 * the slow member, they get a small part of what is left.
 *
 * A write that has got to the limit waits in a list, in no epoch and with no lock. So drains,
 * commits and everything that the mover does get along without it. Those that wait go first: they
 * are charged for their blocks when they are sent to the worker again.
 *
 * Nobody waits if the drain cannot go on: when the mover stops (for a suspend or a seal), in a mode
 * other than RW, when the log is broken, or off; or if nothing has been copied or become free for
 * some time, although there is no room. Then writes go past the log until the drain gets on again.
 */
#include <linux/math64.h>

#include "dm-fusion.h"
#include "dm-fusion-landing.h"

/* Writers get something from what is left if none has gone on for that time, ... */
#define TICK_MS		50U
#define DRY_MS		100U
/* ... and go past the log if nothing has become of the drain for that time. */
#define STALLED_MS	2000U
/* Blocks that go on at once, if so many wait: each batch takes a position for its header. */
#define GROUP		16

/* A number for the next position of the log, which rises by one with each. land.lock held. */
static s64 fusion_pace_at(const struct fusion *fs)
{
	const struct fusion_landed *at = &fs->land.at;

	return at->segno * fusion_segment_room(&fs->sb) + at->pos;
}

/* Positions that are free, and all. Both locks held. */
static u64 fusion_pace_free(const struct fusion *fs, u64 *total)
{
	const u32 room = fusion_segment_room(&fs->sb);
	const u32 keep = fs->sb.spare_fast;
	const struct fusion_land *land = &fs->land;
	const u32 slots = fs->slots.nr_free[FUSION_FAST] + land->nr_lent;
	const u32 more = min(land->max - land->nr - land->nr_kept, slots - min(slots, keep));
	u64 ahead = 0;

	if (land->at.segno < land->next_segno)
		ahead = (land->next_segno - land->at.segno) * room - land->at.pos;
	*total = (u64)(land->nr + more) * room;
	return (u64)more * room + ahead;
}

/* What is left before writes are slowed down. */
static u64 fusion_pace_beyond(u64 free, u64 total)
{
	const u64 last = total / 4;

	return free - min(free, last);
}

/*
 * Those that wait go on as far as the limit allows, if that is for several, or all; @dry: if it is
 * for any. Both locks held.
 */
static void fusion_pace_admit(struct fusion *fs, bool dry)
{
	struct fusion_land_pace *pace = &fs->land.pace;
	const s64 least = dry ? 1 : min_t(u32, pace->nr_waiting, GROUP);
	bool any = false;
	struct bio *bio;

	if (pace->on && pace->limit - fusion_pace_at(fs) < least)
		return;
	while ((bio = bio_list_peek(&pace->waiting)) &&
	       (!pace->on || (fs->land.appends && fusion_pace_at(fs) < pace->limit))) {
		bio_list_pop(&pace->waiting);
		pace->nr_waiting--;
		if (pace->on) {
			fusion_io(bio)->paced = true;
			pace->limit -= bio_sectors(bio) / FUSION_BLOCK_SECTORS;
		}
		bio_list_add(&fs->worker.deferred, bio);
		any = true;
	}
	if (!any)
		return;
	pace->admitted_ms = fusion_now_ms();
	queue_work(fs->worker.wq, &fs->worker.work);
}

/* How much is free now? Both locks held. Return: that. */
static u64 fusion_pace_update(struct fusion *fs, u64 *total)
{
	struct fusion_land_pace *pace = &fs->land.pace;
	const u64 free = fusion_pace_free(fs, total), beyond = fusion_pace_beyond(free, *total);
	const s64 at = fusion_pace_at(fs);

	if (free > pace->free)
		pace->gained_ms = fusion_now_ms();
	pace->free = free;
	if (beyond)
		pace->limit = at + beyond;
	else
		pace->limit = min_t(s64, pace->limit, at + free);
	/* it was off if nothing became free; so it is until a segment is open */
	if (beyond && pace->allowed && fs->land.appends)
		pace->on = true;
	return free;
}

/* The limit moves on by @more positions, if there are so many. Both locks held. */
static void fusion_pace_grant(struct fusion *fs, u64 more, u64 free)
{
	struct fusion_land_pace *pace = &fs->land.pace;

	pace->limit = min_t(s64, pace->limit + more, fusion_pace_at(fs) + free);
}

/*
 * Nobody has gone on for a while. The limit may lie behind the log: for a write that was charged,
 * and then went elsewhere. Both locks held.
 */
static void fusion_pace_trickle(struct fusion *fs, u64 free)
{
	struct fusion_land_pace *pace = &fs->land.pace;

	pace->limit = max(pace->limit, fusion_pace_at(fs));
	fusion_pace_grant(fs, max(free / 64, 1ULL), free);
}

/* -- the lock is that of the log alone ------------------------------------------------------- */

bool fusion_pace_may(const struct fusion *fs, const struct fusion_io *io)
{
	const struct fusion_land_pace *pace = &fs->land.pace;

	return !pace->on || io->paced ||
	       (!fusion_pace_any(pace) && fusion_pace_at(fs) < pace->limit);
}

void fusion_pace_took(struct fusion *fs, struct fusion_io *io, u32 nr)
{
	/* it was charged for them before */
	if (io->paced)
		fs->land.pace.limit += nr;
	io->paced = false;
}

bool fusion_pace_waits(const struct fusion *fs, const struct fusion_io *io)
{
	const struct fusion_land *land = &fs->land;

	return land->pace.on && land->opens && !land->broken &&
	       (!land->appends || !fusion_pace_may(fs, io));
}

/* -- waiting --------------------------------------------------------------------------------- */

bool fusion_pace_wait(struct fusion *fs, struct bio *bio)
{
	struct fusion_land_pace *pace = &fs->land.pace;
	struct fusion_io *io = fusion_io(bio);
	unsigned long flags;
	bool waits, full;

	spin_lock_irq(&fs->lock);
	spin_lock_irqsave(&fs->land.lock, flags);
	full = !fs->land.appends;
	waits = fusion_pace_waits(fs, io);
	if (waits && !fusion_pace_any(pace)) {
		pace->gained_ms = fusion_now_ms();
		queue_delayed_work(pace->wq, &pace->work, msecs_to_jiffies(TICK_MS));
		/* it stops under fs->lock */
		if (!fs->mover.stopping)
			mod_delayed_work(fs->mover.wq, &fs->mover.work, 0);
	}
	if (waits && io->paced) {
		pace->limit += bio_sectors(bio) / FUSION_BLOCK_SECTORS;
		io->paced = false;
		bio_list_add_head(&pace->waiting, bio);
	} else if (waits) {
		bio_list_add(&pace->waiting, bio);
		pace->nr_waited++;
	}
	pace->nr_waiting += waits;
	spin_unlock_irqrestore(&fs->land.lock, flags);
	spin_unlock_irq(&fs->lock);
	/* it opens segments */
	if (waits && full)
		fusion_commit_kick(fs);
	return waits;
}

static void fusion_do_pace(struct work_struct *work)
{
	struct fusion *fs = container_of(work, struct fusion, land.pace.work.work);
	struct fusion_land_pace *pace = &fs->land.pace;
	unsigned long flags;
	u64 now, free, total;
	bool dry;

	spin_lock_irq(&fs->lock);
	spin_lock_irqsave(&fs->land.lock, flags);
	now = fusion_now_ms();
	free = fusion_pace_update(fs, &total);
	dry = now - pace->admitted_ms >= DRY_MS;
	if (now - pace->gained_ms >= STALLED_MS && (!free || !fs->land.appends))
		pace->on = false;
	else if (dry)
		fusion_pace_trickle(fs, free);
	fusion_pace_admit(fs, dry);
	if (fusion_pace_any(pace))
		queue_delayed_work(pace->wq, &pace->work, msecs_to_jiffies(TICK_MS));
	spin_unlock_irqrestore(&fs->land.lock, flags);
	spin_unlock_irq(&fs->lock);
}

/* -- what lets them go on -------------------------------------------------------------------- */

void fusion_pace_look(struct fusion *fs)
{
	unsigned long flags;
	u64 total;

	spin_lock_irqsave(&fs->land.lock, flags);
	fusion_pace_update(fs, &total);
	fusion_pace_admit(fs, false);
	spin_unlock_irqrestore(&fs->land.lock, flags);
}

void fusion_pace_credit(struct fusion *fs, u32 nr)
{
	struct fusion_land *land = &fs->land;
	struct fusion_land_pace *pace = &land->pace;
	unsigned long flags;
	u64 free, total;
	s64 left;

	spin_lock_irq(&fs->lock);
	spin_lock_irqsave(&land->lock, flags);
	pace->on = pace->allowed;
	pace->gained_ms = fusion_now_ms();
	free = fusion_pace_update(fs, &total);
	left = max_t(s64, fusion_pace_at(fs) + free - pace->limit, 0);
	pace->part += div_u64((nr * (u64)left) << 8, land->nr_live + nr);
	fusion_pace_grant(fs, pace->part >> 8, free);
	pace->part &= 0xff;
	fusion_pace_admit(fs, false);
	spin_unlock_irqrestore(&land->lock, flags);
	spin_unlock_irq(&fs->lock);
}

bool fusion_pace_pressed(struct fusion *fs)
{
	struct fusion_land_pace *pace = &fs->land.pace;
	unsigned long flags;
	u64 free, total;

	spin_lock_irq(&fs->lock);
	spin_lock_irqsave(&fs->land.lock, flags);
	free = fusion_pace_update(fs, &total);
	/* until three eighths of it are free, so that it does not come and go */
	pace->pressed = fusion_pace_any(pace) || !fusion_pace_beyond(free, total) ||
			(pace->pressed && free < total * 3 / 8);
	fusion_pace_admit(fs, false);
	spin_unlock_irqrestore(&fs->land.lock, flags);
	spin_unlock_irq(&fs->lock);
	return pace->pressed;
}

/* -- from the beginning to the end ----------------------------------------------------------- */

void fusion_pace_start(struct fusion *fs)
{
	struct fusion_land_pace *pace = &fs->land.pace;
	unsigned long flags;
	u64 total;

	if (!fs->land.max)
		return;
	spin_lock_irq(&fs->lock);
	spin_lock_irqsave(&fs->land.lock, flags);
	pace->allowed = !fs->land.broken && !fs->land.off && !fs->mover.stopping &&
			fusion_mode(fs) == FUSION_RW;
	pace->gained_ms = fusion_now_ms();
	fusion_pace_update(fs, &total);
	pace->on = pace->allowed && total;
	spin_unlock_irqrestore(&fs->land.lock, flags);
	spin_unlock_irq(&fs->lock);
}

void fusion_pace_end(struct fusion *fs)
{
	struct fusion_land_pace *pace = &fs->land.pace;

	pace->allowed = false;
	pace->on = false;
	fusion_pace_admit(fs, false);
}

void fusion_pace_stop(struct fusion *fs)
{
	unsigned long flags;

	if (!fs->land.max)
		return;
	spin_lock_irqsave(&fs->land.lock, flags);
	fusion_pace_end(fs);
	spin_unlock_irqrestore(&fs->land.lock, flags);
}

int fusion_pace_init(struct fusion *fs)
{
	struct fusion_land_pace *pace = &fs->land.pace;

	bio_list_init(&pace->waiting);
	INIT_DELAYED_WORK(&pace->work, fusion_do_pace);
	pace->wq = alloc_ordered_workqueue("fusion-pace", WQ_MEM_RECLAIM);
	return pace->wq ? 0 : -ENOMEM;
}

void fusion_pace_exit(struct fusion *fs)
{
	struct fusion_land_pace *pace = &fs->land.pace;

	if (!pace->wq)
		return;
	cancel_delayed_work_sync(&pace->work);
	destroy_workqueue(pace->wq);
}
