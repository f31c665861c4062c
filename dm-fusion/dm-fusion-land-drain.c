// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: when the landing log is drained, in rounds (dm-fusion-land-round.c).
 *
 * While the slow member has nothing else to do, a round is long, and its copies go several at a
 * time; it ends early once a user comes. Beside foreground I/O, rounds are short and keep to duty,
 * and there are none as long as a quarter of the log at most is in use. From three quarters on,
 * writers wait for the drain (dm-fusion-land-pace.c). Then rounds follow one another, whatever duty
 * says, until three eighths of the log are free again; other moves of the mover come in between.
 * While no writer waits, these rounds take half of the time. A disk that sleeps is not woken before
 * five eighths of the log are in use, so that there is room while it spins up; then all of it is
 * copied. A drain need not pay, and takes no notice of the setting migration.
 *
 * On request, all is copied that there was when the request began, one round after another. It ends
 * when the segments have been freed, as far as nothing new has got into them; or when there are
 * none, if the log is turned off (dm-fusion-land-off.c).
 */
#include <linux/bitops.h>
#include <linux/jiffies.h>
#include <linux/string.h>

#include "dm-fusion.h"

/* Words of a bitmap that are cleared under one lock. */
#define CHUNK		4096U

/* What has failed may be tried again. */
static void fusion_drain_forgive(struct fusion_land *land)
{
	memset(land->uncopied, 0, (size_t)land->max * land->bitmap_bytes);
	land->retry_ms = 0;
}

/* Once there is no segment, no extent has entries, nor had one whose death is not durable. */
static void fusion_drain_forget(struct fusion *fs)
{
	const size_t words = BITS_TO_LONGS(fs->sb.nr_lexts);
	struct fusion_land *land = &fs->land;
	unsigned long flags;
	size_t at;
	bool none;

	if (READ_ONCE(land->nr)) {
		land->forgotten = false;
		return;
	}
	if (land->forgotten)
		return;
	for (at = 0; at < words; at += CHUNK) {
		spin_lock_irq(&fs->lock);
		none = !land->nr;
		if (none) {
			spin_lock_irqsave(&land->lock, flags);
			memset(land->has + at, 0, min_t(size_t, CHUNK, words - at) * sizeof(long));
			spin_unlock_irqrestore(&land->lock, flags);
		}
		spin_unlock_irq(&fs->lock);
		if (!none)
			return;
	}
	land->forgotten = true;
}

/* -- in the background ----------------------------------------------------------------------- */

/*
 * Is more of the log in use than so many eighths? Segments without entries become free with the
 * next commit, or are ahead of the log.
 */
static bool fusion_drain_above(const struct fusion_land *land, u32 eighths)
{
	return (u64)READ_ONCE(land->nr_filled) * 8 > (u64)land->max * eighths;
}

static bool fusion_drain_due(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	const u64 now = fusion_now_ms();

	if (land->retry_ms && now >= land->retry_ms)
		fusion_drain_forgive(land);
	if (!READ_ONCE(land->nr_live)) {
		land->woken = false;
		return false;
	}
	if (now < land->until_ms)
		return false;
	if (fs->mover.slow_asleep && !land->woken)
		land->woken = fusion_drain_above(land, 5) || land->pace.pressed;
	return !fs->mover.slow_asleep || land->woken;
}

/* Return: was anything copied? */
static bool fusion_drain_once(struct fusion *fs, enum fusion_drain_way way)
{
	struct fusion_land *land = &fs->land;
	struct fusion_drained counts;

	if (fusion_drain_round(fs, U64_MAX, NULL, way, &counts))
		return false;
	if (!counts.copied)
		land->until_ms = fusion_now_ms() + FUSION_DRAIN_PAUSE_MS;
	return counts.copied;
}

bool fusion_drain_landing(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	bool quiet, copied;
	u64 start;

	if (!land->max)
		return false;
	fusion_drain_forget(fs);
	if (!fusion_drain_due(fs))
		return false;
	quiet = fusion_drain_quiet(fs);
	if (!quiet && !fusion_drain_above(land, 2))
		return false;
	start = fusion_pace_begin(fs);
	copied = fusion_drain_once(fs, quiet ? FUSION_DRAIN_QUIET : FUSION_DRAIN_BESIDE);
	if (copied && !(quiet && fusion_drain_quiet(fs)))
		fusion_pace(fs, fusion_pace_used(fs, start));
	return copied;
}

bool fusion_drain_pressed(struct fusion *fs)
{
	struct fusion_land_pace *pace = &fs->land.pace;
	bool copied;
	u64 start;

	if (!fs->land.max || fusion_mode(fs) != FUSION_RW || !fusion_pace_pressed(fs))
		return false;
	start = fusion_now_ms();
	if (start < pace->rest_ms && !READ_ONCE(pace->waiting.head))
		return false;
	copied = fusion_drain_due(fs) && fusion_drain_once(fs, FUSION_DRAIN_PRESSED);
	pace->rest_ms = 2 * fusion_now_ms() - start;
	return copied;
}

/* -- on request ------------------------------------------------------------------------------ */

/* The number behind those of all segments; not 0. */
static u64 fusion_drain_last(struct fusion *fs)
{
	u64 end;

	spin_lock_irq(&fs->lock);
	end = max(fs->land.next_segno, 1ULL);
	spin_unlock_irq(&fs->lock);
	return end;
}

/* All of it is copied: have the segments freed. Return: as fusion_drain_some(). */
static int fusion_drain_over(struct fusion *fs, const struct fusion_force *force)
{
	int r = fusion_commit_wait(fs);

	flush_work(&fs->txns.reclaim_work);
	fusion_drain_forget(fs);
	/* that commit may have opened some, or a view keeps them */
	return r ?: force->off && READ_ONCE(fs->land.nr) ? -EAGAIN : 0;
}

/* Return: 0, -EAGAIN: there is more to do, or -EIO. */
static int fusion_drain_some(struct fusion *fs, struct fusion_force *force)
{
	struct fusion_land *land = &fs->land;
	struct fusion_drained counts;
	u64 oldest;
	int r;

	if (!land->max)
		return 0;
	if (force->off && !fusion_land_turn_off(fs)) {
		schedule_timeout_uninterruptible(1);
		return -EAGAIN;
	}
	if (!force->segno) {
		force->segno = fusion_drain_last(fs);
		fusion_drain_forgive(land);
	}
	oldest = force->segno;
	if (!fusion_drain_oldest(fs, &oldest))
		return fusion_drain_over(fs, force);
	r = fusion_drain_round(fs, force->segno, force,
			       fusion_pace_pressed(fs) ? FUSION_DRAIN_PRESSED :
			       fusion_drain_quiet(fs) ? FUSION_DRAIN_QUIET : FUSION_DRAIN_BESIDE,
			       &counts);
	if (!r && !counts.taken && !counts.in_the_way && counts.given_up) {
		DMERR("%s: drain: blocks of the landing log cannot be copied to the slow member",
		      dm_table_device_name(fs->ti->table));
		return -EIO;
	}
	/* writes are over the rest */
	if (!r && !counts.copied)
		schedule_timeout_uninterruptible(1);
	return r ?: -EAGAIN;
}

void fusion_run_drain(struct fusion *fs, struct fusion_force *force)
{
	int r = fusion_drain_some(fs, force);

	if (r != -EAGAIN)
		fusion_end_forced(fs, force, r);
}
