// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the heartbeat of a set that is being opened or closed: see dm-fusion-beat.c.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/random.h>
#include <linux/timekeeping.h>

#include "dm-fusion.h"

#define POLL_MS		200U

/* -- looking at it --------------------------------------------------------------------------- */

/* Watch the block for @ms. Return: 0; -EUSERS: it has changed; or another error. */
static int fusion_beat_watch(struct fusion *fs, const struct fusion_sb *sb, u32 ms)
{
	struct fusion_heart *h = &fs->heart;
	const bool beats = h->own.state >= FUSION_BEAT_BEATING;
	struct fusion_beat seen;
	u64 end = fusion_boottime_ms() + ms;
	char host[128];
	int r;

	fusion_beat_name_host(beats ? h->own.host_name : sb->host_name,
			      beats ? h->own.host_id : sb->host_id, host, sizeof(host));
	DMINFO("%s: machine %s has not closed the set: watching its heartbeat for %u ms",
	       dm_table_device_name(fs->ti->table), host, ms);
	do {
		if (msleep_interruptible(POLL_MS))
			return -EINTR;
		r = fusion_beat_read(fs, &seen);
		if (r)
			return r;
		if (!fusion_beat_same(&seen, &h->own))
			return fusion_beat_in_use_by(fs, &seen);
	} while (fusion_boottime_ms() < end);
	return 0;
}

void fusion_beat_peek(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;

	h->unread = fusion_beat_read(fs, &h->own);
	/* A machine that cannot read the block does not beat, and a write may mend it. */
	if (h->unread)
		memset(&h->own, 0, sizeof(h->own));
}

int fusion_beat_blame(struct fusion *fs, int r)
{
	struct fusion_heart *h = &fs->heart;
	struct fusion_beat seen;

	if (h->unread || fusion_beat_read(fs, &seen))
		return r;
	if (!fusion_beat_is_own(h, &seen))
		return fusion_beat_in_use_by(fs, &seen);
	/* The other machine may have the set open, which may be why loading failed. */
	if (seen.state >= FUSION_BEAT_BEATING &&
	    memcmp(seen.host_id, h->host_id, sizeof(seen.host_id)) &&
	    fusion_beat_watch(fs, &fs->sb, fusion_beat_watch_ms(&seen)) == -EUSERS)
		return -EUSERS;
	return r;
}

/* -- taking the set -------------------------------------------------------------------------- */

/*
 * Make the owner stop. The set is loaded after this, so with everything the owner writes until it
 * sees the claim. The owner may overwrite the claim by a beat for which it read the block before.
 */
static int fusion_beat_force(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;
	const u32 ms = fusion_beat_watch_ms(&h->own);
	struct fusion_beat seen;
	unsigned int tries = 0;
	int r;

	do {
		r = fusion_beat_claim(fs, FUSION_BEAT_FORCED, fusion_boottime_ms(), ms);
		if (!r)
			r = fusion_beat_read(fs, &seen);
		if (!r && fusion_beat_is_own(h, &seen))
			return 0;
	} while ((!r || r == FUSION_OVERDUE) && ++tries < FUSION_BEAT_TRIES);
	if (!r)
		return fusion_beat_in_use_by(fs, &seen);
	return r == FUSION_OVERDUE ? -ETIMEDOUT : r;
}

int fusion_beat_look(struct fusion *fs, const struct fusion_sb *sb)
{
	struct fusion_heart *h = &fs->heart;

	fs->activation = get_random_u64();
	h->open_time = ktime_get_real_seconds();
	h->taking = fusion_beat_taking(sb, &h->own, h->host_id);
	if (h->insist)
		return fusion_beat_force(fs);
	if (h->taking != FUSION_TAKE_WATCH || h->unread)
		return 0;
	return fusion_beat_watch(fs, sb, fusion_beat_watch_ms(&h->own));
}

/*
 * One attempt of fusion_beat_take(), in which a claim stands for @ms. Return: as
 * fusion_beat_cycle().
 */
static int fusion_beat_try_take(struct fusion *fs, u32 ms)
{
	struct fusion_heart *h = &fs->heart;
	struct fusion_beat seen;
	u64 start = fusion_boottime_ms();
	int r;

	if ((h->taking == FUSION_TAKE_AT_ONCE || h->insist) && !h->unread)
		return fusion_beat_cycle(fs, FUSION_BEAT_BEATING, true);
	r = fusion_beat_read(fs, &seen);
	if (!h->unread) {
		if (!r && !fusion_beat_is_own(h, &seen)) {
			h->seen = seen;
			r = FUSION_FOREIGN;
		}
		if (r)
			return r;
	}
	h->claimed |= h->taking == FUSION_TAKE_WATCH;
	r = fusion_beat_claim(fs, FUSION_BEAT_CLAIM, start, ms);
	h->unread = false;
	return r ?: fusion_beat_cycle(fs, FUSION_BEAT_BEATING, true);
}

/* The superblock of a disk, as it is before the set is opened. */
static void fusion_beat_note_before(struct fusion_heart *h, unsigned int disk,
				    const struct fusion_sb *sb)
{
	h->before |= BIT(disk);
	h->before_gen[disk] = sb->generation;
	h->before_act[disk] = sb->activation;
}

int fusion_beat_take(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;
	unsigned int tries = 0;
	u32 ms = FUSION_CLAIM_MS;
	int r;

	h->before = 0;
	fusion_beat_note_before(h, fs->meta[FUSION_FAST], &fs->sb);
	fusion_beat_note_before(h, fs->meta[FUSION_SLOW], &fs->replica.sb);
	if (fs->old.joins)
		fusion_beat_note_before(h, fs->old.dev, &fs->old.sb);
	do {
		r = fusion_beat_try_take(fs, ms);
		/*
		 * A late write may have hidden the block of another machine: give that machine time
		 * to see this claim.
		 */
		if (r == FUSION_OVERDUE) {
			h->taking = FUSION_TAKE_WATCH;
			h->insist = false;
			ms = fusion_beat_watch_ms(&h->own);
		}
	} while (r == FUSION_OVERDUE && ++tries < FUSION_BEAT_TRIES);
	if (r == FUSION_FOREIGN)
		return fusion_beat_in_use_by(fs, &h->seen);
	if (r) {
		DMERR("%s: fast member %s: the heartbeat cannot be written in time: %d",
		      dm_table_device_name(fs->ti->table), fs->dev[h->disk]->name, r);
		return r == FUSION_OVERDUE ? -ETIMEDOUT : r;
	}
	fusion_beat_begin(fs);
	return 0;
}

int fusion_beat_move(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;
	int r;

	if (h->disk == FUSION_FAST)
		return 0;
	/* No beat of the old place is under way, and that of the new one is a first beat. */
	cancel_delayed_work_sync(&h->work);
	spin_lock_irq(&fs->lock);
	fusion_gate_shut(fs);
	spin_unlock_irq(&fs->lock);
	/*
	 * A machine that had the set on the old disk, and was stopped, must not take it for its own
	 * again: as far as that disk tells, it is. If the disk cannot be written, nor can it there.
	 */
	fusion_beat_write(fs, FUSION_BEAT_FORCED);
	h->disk = FUSION_FAST;
	memset(&h->own, 0, sizeof(h->own));
	h->unsure = false;
	r = fusion_beat_cycle(fs, FUSION_BEAT_BEATING, true);
	if (r == FUSION_OVERDUE)
		r = fusion_beat_contest(fs, r);
	if (r == FUSION_FOREIGN)
		return fusion_beat_in_use_by(fs, &h->seen);
	if (!r)
		fusion_beat_begin(fs);
	return r;
}

int fusion_beat_begun(struct fusion *fs)
{
	bool lost;

	spin_lock_irq(&fs->lock);
	lost = fs->heart.lost;
	fs->heart.begun = !lost;
	spin_unlock_irq(&fs->lock);
	return lost ? -EIO : 0;
}

/* -- suspend and resume ---------------------------------------------------------------------- */

void fusion_beat_close(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;

	if (!h->beating)
		return;
	fusion_beat_stop(fs);
	/* No error if it cannot be written, or is another machine's by now. */
	if (!h->lost)
		fusion_beat_cycle(fs, FUSION_BEAT_CLOSED, h->resting);
}

int fusion_beat_reopen(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;
	int r;

	if (fs->read_only || fusion_mode(fs) == FUSION_FAIL)
		return 0;
	r = fusion_beat_cycle(fs, FUSION_BEAT_BEATING, true);
	if (r == FUSION_OVERDUE)
		r = fusion_beat_contest(fs, r);
	if (r == FUSION_FOREIGN) {
		fusion_beat_in_use_by(fs, &h->seen);
		return -ESTALE;
	}
	/* In mode RO there is little to write, and that write tries again. */
	if (r && fusion_mode(fs) == FUSION_RW)
		return r;
	fusion_beat_begin(fs);
	return 0;
}
