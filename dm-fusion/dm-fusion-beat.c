// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the heartbeat, which keeps two machines from writing to the same set.
 *
 * Block 4 of the fast member says which activation owns the set. The machine that has the set
 * open beats: every FUSION_BEAT_MS it reads the block, finds there what it wrote last, and writes
 * the next beat. An intact block gives it a lease: it may write until two intervals after that
 * read began. When the lease ends without a new one, writes wait (the gate, fs->gate) until the
 * block has been read.
 *
 * Rest. When nothing was written for REST_MS and no write is pending, the gate is shut and the
 * block says RESTING. There are no more beats, so an idle set costs nothing. The next write, by a
 * bio or by the module itself, waits until the block and the fast member's superblock have been
 * read and one beat is written: another machine may have taken the set meanwhile. In that case
 * this fused device fails, and writes nothing any more.
 *
 * Taking. fusion_beat_taking() says how a set may be opened. If another machine may have it open,
 * the block is watched first, for a little longer than that machine's lease. If the block changes,
 * the set is in use and is not opened. Otherwise this machine writes its claim over the block. The
 * set is taken if the claim is still there CLAIM_MS later and the superblock is the one that was
 * loaded. The last machine that had the set takes it at once, by a beat.
 *
 * Why this is safe. Let E = CLAIM_MS / 2. A block is written only if it was read less than E
 * before. (A write that takes longer does not count as done; it is overdue.) So
 *  - if two machines claim the set, the second has not seen the claim that was written first. It
 *    therefore writes within E, and the first machine finds that when it verifies its own claim;
 *  - a claim that follows a beat it has not seen follows it by less than E. The first beat after
 *    a pause gives a lease that ends CLAIM_MS after its read, before such a claim is verified.
 *    The second beat gives a full lease, but comes at least E later and would find the claim;
 *  - a beat that comes late, after its lease, counts as a first beat;
 *  - a write that came too late may have hidden the block of another machine. So the next claim
 *    stands as long as a watch;
 *  - a claim may have hidden a beat, and the machine that wrote it may have stopped for good since,
 *    before it has met the claim. What it wrote in between came behind the load. So after a
 *    claim of a set that was not closed, it is as it was loaded only if its journal, and its
 *    landing log, still end where they did;
 *  - a machine that finds any block but the one it wrote shuts the gate at once. If the
 *    superblock is still its own, it may have met a claim in that gap. It then claims the set
 *    again and waits as long as a watch, by which time the lease of the other writer has ended.
 *    If two machines do so, the last to write keeps the set. A set that is still being opened
 *    gives up: its superblocks are not all written yet, and some may be the other machine's.
 *
 * Some writes sent before the gate was shut may still be in flight when another machine has taken
 * the set. FUSION_BEAT_GRACE_MS covers them, but not on a member that holds writes for longer. A
 * virtual machine that is stopped without its clock is not covered either: once it continues, it
 * writes for up to FUSION_BEAT_MS, until its next beat.
 *
 * An administrator can force the set open, which writes FORCED. The owner then stops, and the
 * forcing machine waits as long as a watch.
 *
 * Time is CLOCK_BOOTTIME, so that a lease does not outlive a suspend to memory. While the system
 * is suspending, every write checks the clock itself (@frozen).
 *
 * All I/O is done by @work, or by the code that opens or closes the set while @work does not run.
 * No locks are held across it. Fields are under fs->lock unless said otherwise.
 */
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/random.h>

#include "dm-fusion.h"

#define REST_MS		10000U

/* -- the other machine ----------------------------------------------------------------------- */

void fusion_beat_name_host(const char *name, const u8 id[16], char *buf, size_t size)
{
	size_t i, n = 0;

	for (; *name && n + 1 < min_t(size_t, size, FUSION_HOST_SIZE); name++)
		buf[n++] = *name > ' ' && *name < 0x7f ? *name : '?';
	n += scnprintf(buf + n, size - n, "%s(", n ? " " : "");
	for (i = 0; i < 16; i++)
		n += scnprintf(buf + n, size - n, "%02x", id[i]);
	scnprintf(buf + n, size - n, ")");
}

int fusion_beat_in_use_by(struct fusion *fs, const struct fusion_beat *beat)
{
	char host[128];

	fusion_beat_name_host(beat->host_name, beat->host_id, host, sizeof(host));
	DMERR("%s: machine %s has the set open: it keeps writing its heartbeat; close it there",
	      dm_table_device_name(fs->ti->table), host);
	return -EUSERS;
}

/* This fused device has lost the set: it writes nothing any more. */
static void fusion_beat_lose(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;
	char host[128];

	fusion_beat_name_host(h->seen.host_name, h->seen.host_id, host, sizeof(host));
	spin_lock_irq(&fs->lock);
	h->lost = true;
	fusion_gate_shut(fs);
	spin_unlock_irq(&fs->lock);
	snprintf(h->why, sizeof(h->why), "machine %s has taken the set", host);
	/* Its changes to the set would be read as nonsense here. */
	fusion_set_mode(fs, FUSION_FAIL, h->why);
	wake_up_all(&h->wait);
}

int fusion_beat_contest(struct fusion *fs, int r)
{
	struct fusion_heart *h = &fs->heart;
	unsigned int tries;

	spin_lock_irq(&fs->lock);
	fusion_gate_shut(fs);
	spin_unlock_irq(&fs->lock);
	if (r == FUSION_FOREIGN && h->seen.state == FUSION_BEAT_FORCED)
		return FUSION_FOREIGN;
	/*
	 * While the set is being opened, the superblock does not name its owner yet, and another
	 * machine may have got as far: start_epoch() cannot continue after both of them.
	 */
	if (!h->begun && r == FUSION_FOREIGN)
		return FUSION_FOREIGN;
	for (tries = 0; tries < FUSION_BEAT_TRIES; tries++) {
		r = fusion_beat_check_super(fs);
		if (!r)
			r = fusion_beat_write(fs, FUSION_BEAT_CLAIM);
		if (r)
			return r;
		msleep(fusion_beat_watch_ms(&h->own));
		r = fusion_beat_cycle(fs, FUSION_BEAT_BEATING, true);
		/*
		 * Otherwise try again: the block is from a machine that the superblock does not
		 * name, and that will find that out.
		 */
		if (r != FUSION_OVERDUE &&
		    (r != FUSION_FOREIGN || h->seen.state == FUSION_BEAT_FORCED || !h->begun))
			break;
	}
	return r == FUSION_OVERDUE ? -ETIMEDOUT : r;
}

/* -- beating --------------------------------------------------------------------------------- */

/*
 * Has anything been written since the last look, or is any work pending? @wrote covers writes of
 * the module itself. fs->lock held.
 */
static bool fusion_beat_in_use(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;
	struct fusion_look now;
	u64 in_flight;
	bool used;

	fusion_look(fs, &now);
	in_flight = now.ios[FUSION_FAST] + now.ios[FUSION_SLOW] - now.done[FUSION_FAST] -
		    now.done[FUSION_SLOW];
	used = now.writes != h->writes || in_flight || h->wrote || h->wanted;
	h->writes = now.writes;
	WRITE_ONCE(h->wrote, false);
	return used || fusion_land_pending(fs) || fs->txns.running->nr ||
	       !list_empty(&fs->opens.dirty) ||
	       fs->commit.running || !bio_list_empty(&fs->commit.waiters) ||
	       !bio_list_empty(&fs->worker.deferred) || !bio_list_empty(&fs->worker.parked) ||
	       !bio_list_empty(&fs->worker.landing) || fusion_land_busy(fs) ||
	       !list_empty(&fs->opens.ready) || fs->opens.nr_fills || fs->mover.in_flight ||
	       fs->slots.discards[FUSION_FAST].in_flight ||
	       fs->slots.discards[FUSION_SLOW].in_flight ||
	       !list_empty(&fs->mover.forced) || fs->replica.busy ||
	       fs->commit.checkpoint_wanted > fs->commit.checkpoint_done ||
	       fs->commit.keep_wanted > fs->commit.keep_done || fs->slots.nr_quarantined;
}

/* Is it time to rest? If so, shut the gate. */
static bool fusion_beat_rests(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;
	u64 now = fusion_boottime_ms();
	bool rest;

	spin_lock_irq(&fs->lock);
	if (fusion_beat_in_use(fs))
		h->used_ms = now;
	rest = now - h->used_ms >= REST_MS && h->begun;
	if (rest) {
		h->resting = true;
		fusion_gate_shut(fs);
	}
	spin_unlock_irq(&fs->lock);
	return rest;
}

/* The heartbeat failed: nothing is written after the end of the lease. */
static void fusion_beat_fail(struct fusion *fs, int r)
{
	struct fusion_heart *h = &fs->heart;
	bool first;

	DMERR_LIMIT("%s: fast member %s: the heartbeat failed, sector %llu: %d",
		    dm_table_device_name(fs->ti->table), fs->dev[h->disk]->name,
		    FUSION_BEAT_BLOCKNR * FUSION_BLOCK_SECTORS, r);
	first = fusion_mode(fs) == FUSION_RW;
	fusion_set_mode(fs, FUSION_RO, "the heartbeat failed");
	spin_lock_irq(&fs->lock);
	h->failed = true;
	h->wanted = false;
	/* It is not tried again if the set has not been opened yet. */
	h->lost |= !h->begun;
	/*
	 * The committer records it, unless it has finished: see fusion_checkpoint_ask(). While a
	 * set is being opened, its superblock and buffers are not the committer's yet.
	 */
	if (first && h->begun && !fs->commit.closed)
		fusion_commit_kick(fs);
	spin_unlock_irq(&fs->lock);
	wake_up_all(&h->wait);
}

static void fusion_do_beat(struct work_struct *work)
{
	struct fusion *fs = container_of(work, struct fusion, heart.work.work);
	struct fusion_heart *h = &fs->heart;
	bool asleep, rest, wake;
	int r;

	spin_lock_irq(&fs->lock);
	asleep = h->lost || h->failed || (h->resting && !h->wanted);
	wake = h->resting && h->wanted;
	h->resting = h->resting && !wake;
	if (wake) {
		h->used_ms = fusion_boottime_ms();
		fusion_land_woken(fs);
	}
	spin_unlock_irq(&fs->lock);
	if (asleep)
		return;

	rest = !wake && fusion_beat_rests(fs);
	r = fusion_beat_cycle(fs, rest ? FUSION_BEAT_RESTING : FUSION_BEAT_BEATING, wake);
	if (r) {
		spin_lock_irq(&fs->lock);
		h->resting = false;
		spin_unlock_irq(&fs->lock);
		/*
		 * A write may mend a block that cannot be read. It is not trusted until it has been
		 * read again.
		 */
		r = fusion_beat_contest(fs, r);
	}
	if (r == FUSION_FOREIGN) {
		fusion_beat_lose(fs);
		return;
	}
	if (r < 0) {
		fusion_beat_fail(fs, r);
		return;
	}
	spin_lock_irq(&fs->lock);
	if (h->resting && h->wanted)
		mod_delayed_work(h->wq, &h->work, 0);
	else if (!h->resting)
		mod_delayed_work(h->wq, &h->work,
				 msecs_to_jiffies(h->fresh ? FUSION_ENTER_MS : FUSION_BEAT_MS));
	spin_unlock_irq(&fs->lock);
}

void fusion_beat_begin(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;

	spin_lock_irq(&fs->lock);
	h->beating = true;
	h->resting = false;
	h->used_ms = fusion_boottime_ms();
	mod_delayed_work(h->wq, &h->work, msecs_to_jiffies(FUSION_ENTER_MS));
	spin_unlock_irq(&fs->lock);
}

void fusion_beat_stop(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;

	spin_lock_irq(&fs->lock);
	h->beating = false;
	fusion_gate_shut(fs);
	spin_unlock_irq(&fs->lock);
	wake_up_all(&h->wait);
	cancel_delayed_work_sync(&h->work);
	/* A beat that was under way may have opened the gate again. */
	spin_lock_irq(&fs->lock);
	fusion_gate_shut(fs);
	spin_unlock_irq(&fs->lock);
	cancel_delayed_work_sync(&h->gate_work);
}

void fusion_beat_freeze(struct fusion *fs, bool frozen)
{
	spin_lock_irq(&fs->lock);
	fs->heart.frozen = frozen;
	if (!frozen && fs->heart.pass && !fusion_gate_may_write(fs))
		fusion_gate_shut(fs);
	fusion_gate_update(fs);
	spin_unlock_irq(&fs->lock);
}

/* -- beginning and end ----------------------------------------------------------------------- */

/* The host id for tables that give none; made up once per load of the module. */
static u64 made_up[2];

void fusion_beat_module_init(void)
{
	made_up[0] = get_random_u64();
	made_up[1] = get_random_u64();
}

void fusion_beat_default_host(struct fusion *fs)
{
	static_assert(sizeof(made_up) == sizeof(fs->heart.host_id));

	if (!fs->heart.host_given)
		memcpy(fs->heart.host_id, made_up, sizeof(made_up));
}

int fusion_beat_init(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;

	init_waitqueue_head(&h->wait);
	INIT_DELAYED_WORK(&h->work, fusion_do_beat);
	INIT_DELAYED_WORK(&h->gate_work, fusion_do_gate);
	h->page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	h->wq = alloc_ordered_workqueue("fusion-beat", WQ_MEM_RECLAIM | WQ_HIGHPRI);
	h->gate_wq = alloc_ordered_workqueue("fusion-gate", WQ_MEM_RECLAIM | WQ_HIGHPRI);
	return h->page && h->wq && h->gate_wq ? 0 : -ENOMEM;
}

void fusion_beat_exit(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;

	if (h->wq)
		destroy_workqueue(h->wq);
	if (h->gate_wq)
		destroy_workqueue(h->gate_wq);
	if (h->page)
		__free_page(h->page);
}
