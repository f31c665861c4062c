// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the mode, and the gate that holds writes without a lease of the heartbeat.
 *
 * map() checks fs->gate. The gate is shut if the mode is not RW, if writes have to wait for the
 * heartbeat (dm-fusion-beat.c), which opens it, or if the set is sealed (dm-fusion-close.c).
 */
#include "dm-fusion.h"

static const char * const mode_names[] = {
	[FUSION_RW] = "rw",
	[FUSION_RO] = "ro",
	[FUSION_FAIL] = "fail",
};

const char *fusion_mode_name(enum fusion_mode mode)
{
	return mode_names[mode];
}

void fusion_set_mode(struct fusion *fs, enum fusion_mode mode, const char *why)
{
	unsigned long flags;
	bool worse;

	spin_lock_irqsave(&fs->lock, flags);
	worse = mode > fs->mode;
	if (worse) {
		WRITE_ONCE(fs->mode, mode);
		fs->needs_check = true;
		fusion_gate_update(fs);
		fusion_unpark(fs);
		fusion_pace_stop(fs);
		/* Exclusive operations of OPEN extents may have waited for the heartbeat. */
		queue_work(fs->worker.wq, &fs->worker.work);
	}
	spin_unlock_irqrestore(&fs->lock, flags);
	if (!worse)
		return;
	DMERR("%s: %s: switched to mode %s", dm_table_device_name(fs->ti->table), why,
	      fusion_mode_name(mode));
	dm_table_event(fs->ti->table);
}

/* -- the lease ------------------------------------------------------------------------------- */

void fusion_gate_update(struct fusion *fs)
{
	const struct fusion_heart *h = &fs->heart;

	WRITE_ONCE(fs->gate, fs->mode != FUSION_RW || !h->pass || h->frozen || fs->seal.on);
}

bool fusion_gate_may_write(const struct fusion *fs)
{
	const struct fusion_heart *h = &fs->heart;

	return h->pass && fusion_boottime_ms() < h->lease_ms;
}

void fusion_gate_shut(struct fusion *fs)
{
	fs->heart.pass = false;
	fusion_gate_update(fs);
}

void fusion_gate_open(struct fusion *fs, u64 until)
{
	struct fusion_heart *h = &fs->heart;
	u64 now = fusion_boottime_ms();

	spin_lock_irq(&fs->lock);
	h->lease_ms = until;
	h->pass = now < until && !h->lost;
	h->wanted = h->wanted && !h->pass;
	fusion_gate_update(fs);
	if (h->pass) {
		fusion_unpark(fs);
		queue_work(fs->worker.wq, &fs->worker.work);
		mod_delayed_work(h->gate_wq, &h->gate_work, msecs_to_jiffies(until - now) + 1);
	}
	spin_unlock_irq(&fs->lock);
	wake_up_all(&h->wait);
}

void fusion_do_gate(struct work_struct *work)
{
	struct fusion *fs = container_of(work, struct fusion, heart.gate_work.work);
	struct fusion_heart *h = &fs->heart;
	u64 now = fusion_boottime_ms();

	spin_lock_irq(&fs->lock);
	if (h->pass && now >= h->lease_ms) {
		fusion_gate_shut(fs);
		h->late++;
	} else if (h->pass) {
		mod_delayed_work(h->gate_wq, &h->gate_work,
				 msecs_to_jiffies(h->lease_ms - now) + 1);
	}
	spin_unlock_irq(&fs->lock);
}

/* Make the next beat now. fs->lock held. */
static void fusion_gate_want(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;

	h->wanted = true;
	if (h->beating)
		mod_delayed_work(h->wq, &h->work, 0);
}

/* -- waiting for it -------------------------------------------------------------------------- */

bool fusion_gate_park(struct fusion *fs, struct bio *bio)
{
	bool parked = false;

	spin_lock_irq(&fs->lock);
	if (fs->mode == FUSION_RW && fs->seal.on) {
		bio_list_add(&fs->worker.parked, bio);
		parked = true;
	} else if (fs->mode == FUSION_RW && !fusion_gate_may_write(fs)) {
		fusion_gate_shut(fs);
		bio_list_add(&fs->worker.parked, bio);
		fusion_gate_want(fs);
		parked = true;
	}
	spin_unlock_irq(&fs->lock);
	return parked;
}

bool fusion_gate_blocks(struct fusion *fs)
{
	bool blocked;

	spin_lock_irq(&fs->lock);
	blocked = fs->mode == FUSION_RW && !fusion_gate_may_write(fs);
	if (blocked && !list_empty(&fs->opens.ready))
		fusion_gate_want(fs);
	spin_unlock_irq(&fs->lock);
	return blocked;
}

/* Is the wait over? Return: 0: not yet; 1: writes may go; or a negative errno. */
static int fusion_gate_look(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;
	int r = 0;

	spin_lock_irq(&fs->lock);
	if (fusion_gate_may_write(fs)) {
		r = 1;
	} else if (h->lost || h->failed || !h->beating) {
		r = -EIO;
	} else {
		fusion_gate_shut(fs);
		fusion_gate_want(fs);
	}
	spin_unlock_irq(&fs->lock);
	return r;
}

int fusion_gate_wait(struct fusion *fs)
{
	int r;

	/* If the last beat failed, try once more: the member may work again. */
	spin_lock_irq(&fs->lock);
	fs->heart.failed = false;
	spin_unlock_irq(&fs->lock);
	wait_event(fs->heart.wait, (r = fusion_gate_look(fs)));
	return min(r, 0);
}

int fusion_gate_sure(struct fusion *fs)
{
	const int r = fusion_gate_ready(fs);

	return r || fusion_gate_may_write(fs) ? r : fusion_gate_wait(fs);
}
