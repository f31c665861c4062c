// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the heartbeat, which keeps two machines from writing to the same set.
 *
 * Block 4 of the fast member says which activation has the set. The machine that has it open
 * beats: every FUSION_BEAT_MS it reads the block, finds there what it has written last, and
 * writes the next beat. What it finds intact gives it a lease: until two intervals after that
 * read began it may write. When the lease ends without a new one, writes wait (the gate,
 * fs->gate) until the block has been looked at.
 *
 * Rest. When nothing was written for REST_MS and nothing is to be written, the gate is closed and
 * the block says RESTING: no more beats, so an idle set costs nothing. What wants to write next,
 * a bio or the module itself, waits for one look at the block and at the fast member's
 * superblock, and one beat: it may be that another machine has taken the set meanwhile. Then this
 * device fails, and writes nothing any more.
 *
 * Taking. fusion_beat_taking() says how a set may be opened. If another machine may have it open,
 * the block is watched first, for a little more than a lease of that machine; if it changes, the
 * set is in use, and is not opened. Then it is claimed: the claim is written over the block, and
 * if it is still there CLAIM_MS later, and the superblock is the one that was loaded, the set is
 * taken. The last machine to have the set takes it at once, by a beat.
 *
 * Why that is safe. Let E = CLAIM_MS / 2. A block is written only if it was read less than E
 * before (what takes longer does not count, and counts as overdue). So
 *  - of two that claim, the one whose claim is written first has not been seen by the other one,
 *    which therefore writes within E: and is found when the first one verifies its claim;
 *  - a claim that follows a beat it has not seen follows it by less than E. The lease that the
 *    first beat after a pause gives ends CLAIM_MS after its read, before such a claim is
 *    verified; a full one is given by the second beat, E later at least, which would find the
 *    claim;
 *  - a beat that comes late, after its lease, is such a first one;
 *  - what was written too late may have hidden what somebody else has written: the next claim
 *    stands as long as a watch, and the set is as it was loaded only if its journal still ends
 *    where it did;
 *  - who finds anything else in the block than what it wrote closes the gate at once. If the
 *    superblock is still its own it may have met a claim in that gap: it claims the set anew, and
 *    waits as long as a watch, by which time the lease of whoever wrote that has ended. Of two
 *    that do so the last to write stays. One that is still being opened gives up: its
 *    superblocks are not all written yet, and those of the other one may be in between.
 *
 * What was sent before the gate closed, and is still on its way when somebody else has taken the
 * set, is what FUSION_BEAT_GRACE_MS is for: a member that holds writes for longer is not covered.
 * Nor is a virtual machine that is stopped without its clock: it writes for up to FUSION_BEAT_MS
 * after it goes on, until its next beat.
 *
 * An administrator who insists writes FORCED, at which the owner stops, and waits as long as a
 * watch.
 *
 * Time is CLOCK_BOOTTIME, so that a lease does not outlive a suspend to memory; while the system
 * goes there, all writes look at the clock themselves (@frozen).
 *
 * All I/O is that of @work, or of who opens or closes the set while @work does not run. No locks
 * are held over it. Fields are under fs->lock unless said otherwise.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/timekeeping.h>
#include <linux/utsname.h>

#include "dm-fusion.h"

#define REST_MS		10000U
#define CLAIM_MS	2000U
#define ENTER_MS	(CLAIM_MS / 2)
#define POLL_MS		200U
#define MAX_TRIES	10U

/* Results of a cycle that are no errors of a disk. */
#define FOREIGN		1	/* somebody else has written the block */
#define OVERDUE		2	/* it took so long that nobody knows */

static u64 now_ms(void)
{
	return ktime_to_ms(ktime_get_boottime());
}

/* -- the gate ------------------------------------------------------------------- */

void fusion_beat_gate(struct fusion *fs)
{
	const struct fusion_heart *h = &fs->heart;

	WRITE_ONCE(fs->gate, fs->mode != FUSION_RW || !h->pass || h->frozen);
}

/* May something be written now? fs->lock held. */
static bool may_write(const struct fusion *fs)
{
	const struct fusion_heart *h = &fs->heart;

	return h->pass && now_ms() < h->lease_ms;
}

static void shut(struct fusion *fs)
{
	fs->heart.pass = false;
	fusion_beat_gate(fs);
}

/* Writes may go on until @until. */
static void open_gate(struct fusion *fs, u64 until)
{
	struct fusion_heart *h = &fs->heart;
	u64 now = now_ms();

	spin_lock_irq(&fs->lock);
	h->lease_ms = until;
	h->pass = now < until && !h->lost;
	h->wanted = h->wanted && !h->pass;
	fusion_beat_gate(fs);
	if (h->pass) {
		fusion_unpark(fs);
		queue_work(fs->deferred_wq, &fs->deferred_work);
		mod_delayed_work(h->gate_wq, &h->gate_work, msecs_to_jiffies(until - now) + 1);
	}
	spin_unlock_irq(&fs->lock);
	wake_up_all(&h->wait);
}

/* The end of a lease. */
static void do_gate(struct work_struct *work)
{
	struct fusion *fs = container_of(work, struct fusion, heart.gate_work.work);
	struct fusion_heart *h = &fs->heart;
	u64 now = now_ms();

	spin_lock_irq(&fs->lock);
	if (h->pass && now >= h->lease_ms) {
		shut(fs);
		h->late++;
	} else if (h->pass) {
		mod_delayed_work(h->gate_wq, &h->gate_work,
				 msecs_to_jiffies(h->lease_ms - now) + 1);
	}
	spin_unlock_irq(&fs->lock);
}

/* Let the next beat be now. fs->lock held. */
static void want(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;

	h->wanted = true;
	if (h->beating)
		mod_delayed_work(h->wq, &h->work, 0);
}

bool fusion_beat_park(struct fusion *fs, struct bio *bio)
{
	bool parked = false;

	spin_lock_irq(&fs->lock);
	if (fs->mode == FUSION_RW && !may_write(fs)) {
		shut(fs);
		bio_list_add(&fs->parked, bio);
		want(fs);
		parked = true;
	}
	spin_unlock_irq(&fs->lock);
	return parked;
}

bool fusion_beat_blocks(struct fusion *fs)
{
	bool blocked;

	spin_lock_irq(&fs->lock);
	blocked = fs->mode == FUSION_RW && !may_write(fs);
	if (blocked && !list_empty(&fs->open_ready))
		want(fs);
	spin_unlock_irq(&fs->lock);
	return blocked;
}

/* Look whether the wait is over. Return: 0: not yet; 1: write; or a negative errno. */
static int look(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;
	int r = 0;

	spin_lock_irq(&fs->lock);
	if (may_write(fs)) {
		r = 1;
	} else if (h->lost || h->failed || !h->beating) {
		r = -EIO;
	} else {
		shut(fs);
		want(fs);
	}
	spin_unlock_irq(&fs->lock);
	return r;
}

int fusion_beat_wait(struct fusion *fs)
{
	int r;

	/* If the last beat failed: one more attempt, the member may be well again. */
	spin_lock_irq(&fs->lock);
	fs->heart.failed = false;
	spin_unlock_irq(&fs->lock);
	wait_event(fs->heart.wait, (r = look(fs)));
	return min(r, 0);
}

/* -- the block -------------------------------------------------------------------- */

static int io(struct fusion *fs, enum fusion_dev dev, blk_opf_t opf, u64 blocknr)
{
	return fusion_rw_page(fs, dev, opf | REQ_SYNC | REQ_META, blocknr, fs->heart.page);
}

/* What is in the block; zeros if it is not valid. Return: 0 or the error of the disk. */
static int read_beat(struct fusion *fs, struct fusion_beat *beat)
{
	const char *why;
	int r = io(fs, FUSION_FAST, REQ_OP_READ, FUSION_BEAT_BLOCKNR);

	if (!r)
		fusion_beat_unpack(&fs->sb, page_address(fs->heart.page), beat, &why);
	return r;
}

static int write_beat(struct fusion *fs, enum fusion_beat_state state)
{
	struct fusion_heart *h = &fs->heart;
	struct fusion_beat *own = &h->own;
	int r;

	/* After writes that failed one of them may be there, a part of one, or what was before. */
	if (!h->unsure)
		h->prev = *own;
	own->activation = fs->activation;
	own->counter++;
	own->open_time = h->open_time;
	own->beat_time = ktime_get_real_seconds();
	own->epoch = fs->sb.epoch;
	own->state = state;
	own->interval_ms = FUSION_BEAT_MS;
	memcpy(own->host_id, h->host_id, sizeof(own->host_id));
	memset(own->host_name, 0, sizeof(own->host_name));
	strscpy(own->host_name, init_utsname()->nodename, sizeof(own->host_name));
	fusion_beat_pack(&fs->sb, own, page_address(h->page));
	/* Only other machines read it: it need not survive a loss of power. */
	r = io(fs, FUSION_FAST, REQ_OP_WRITE, FUSION_BEAT_BLOCKNR);
	h->unsure = r;
	h->beats++;
	return r;
}

static bool same_beat(const struct fusion_beat *a, const struct fusion_beat *b)
{
	return a->activation == b->activation && a->counter == b->counter && a->state == b->state;
}

/* Is the block as it was left? */
static bool is_own(const struct fusion_heart *h, const struct fusion_beat *seen)
{
	if (same_beat(seen, &h->own))
		return true;
	return h->unsure && (seen->activation == h->own.activation || same_beat(seen, &h->prev) ||
			     !seen->interval_ms);
}

/* What the newest superblock of a member says; @bad: one of the two is not valid. */
struct newest {
	u64 generation;
	u64 activation;
	bool bad;
	struct fusion_beat host;	/* the machine that has opened it */
};

static void read_super(struct fusion *fs, enum fusion_dev dev, struct newest *newest)
{
	struct fusion_heart *h = &fs->heart;
	unsigned int copy;
	const char *why;
	int r;

	memset(newest, 0, sizeof(*newest));
	for (copy = 0; copy < 2; copy++) {
		u64 blocknr = FUSION_SUPER_BLOCKNR(copy);

		r = io(fs, dev, REQ_OP_READ, blocknr);
		if (!r)
			r = fusion_sb_unpack(page_address(h->page), blocknr, U64_MAX, &h->sb, &why);
		if (!r && memcmp(h->sb.set_uuid, fs->sb.set_uuid, sizeof(h->sb.set_uuid)))
			r = -EILSEQ;
		newest->bad |= r;
		if (r || h->sb.generation <= newest->generation)
			continue;
		newest->generation = h->sb.generation;
		newest->activation = h->sb.activation;
		memcpy(newest->host.host_id, h->sb.host_id, sizeof(h->sb.host_id));
		memcpy(newest->host.host_name, h->sb.host_name, sizeof(h->sb.host_name));
	}
}

/*
 * Is it this activation's set, by the fast member's superblock? While it is being opened: has
 * nobody else written either superblock since it was loaded? Return: 0, FOREIGN, or an error.
 */
static int check_super(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;
	struct newest sb;
	unsigned int dev;
	bool begun;

	/* Before the block is read: the superblock may be written meanwhile. */
	spin_lock_irq(&fs->lock);
	begun = h->begun;
	spin_unlock_irq(&fs->lock);
	for (dev = 0; dev < (begun ? 1 : FUSION_NR_DEVS); dev++) {
		read_super(fs, dev, &sb);
		if (!sb.generation)
			return -EIO;
		if (sb.activation == fs->activation ||
		    (!begun && sb.generation == h->before_gen[dev]))
			continue;
		h->seen = sb.host;
		/* The other copy may be this activation's, or being written. */
		return sb.bad ? -EIO : FOREIGN;
	}
	return 0;
}

/*
 * One cycle: the block is as this activation, or with @h->own of before, somebody else has left
 * it; overwrite it. @look: at the superblock, too. Return: 0, FOREIGN, OVERDUE, or an error of
 * the disk.
 */
static int cycle(struct fusion *fs, enum fusion_beat_state state, bool look)
{
	struct fusion_heart *h = &fs->heart;
	struct fusion_beat seen;
	u64 start = now_ms(), end, lease = h->pass ? h->lease_ms : 0;
	int r;

	r = read_beat(fs, &seen);
	if (!r && !is_own(h, &seen)) {
		h->seen = seen;
		r = FOREIGN;
	}
	if (!r && look)
		r = check_super(fs);
	if (!r)
		r = write_beat(fs, state);
	if (r)
		return r;
	end = now_ms();
	if (end >= lease && end - start >= ENTER_MS)
		return OVERDUE;
	if (state != FUSION_BEAT_BEATING)
		return 0;
	/*
	 * The first one after a pause does not count in full, nor one too soon after it: see
	 * above.
	 */
	if (start >= lease) {
		h->fresh = true;
		h->fresh_ms = end;
		lease = start + CLAIM_MS;
	} else if (!h->fresh || start >= h->fresh_ms + ENTER_MS) {
		h->fresh = false;
		lease = start + fusion_beat_lease_ms(FUSION_BEAT_MS);
	}
	open_gate(fs, lease);
	return 0;
}

/*
 * Write a claim over whatever was there when it was read, at @start, and wait for objections.
 * Return: 0, OVERDUE, or an error.
 */
static int claim(struct fusion *fs, enum fusion_beat_state state, u64 start, u32 ms)
{
	int r = write_beat(fs, state);

	if (!r && now_ms() - start >= ENTER_MS)
		r = OVERDUE;
	if (!r && msleep_interruptible(ms))
		r = -EINTR;
	return r;
}

/* -- the other machine ------------------------------------------------------------- */

/* What a block from a disk calls a machine, as text for the log. */
static void name_host(const char *name, const u8 id[16], char *buf, size_t size)
{
	size_t i, n = 0;

	for (; *name && n + 1 < min_t(size_t, size, FUSION_HOST_SIZE); name++)
		buf[n++] = *name > ' ' && *name < 0x7f ? *name : '?';
	n += scnprintf(buf + n, size - n, "%s(", n ? " " : "");
	for (i = 0; i < 16; i++)
		n += scnprintf(buf + n, size - n, "%02x", id[i]);
	scnprintf(buf + n, size - n, ")");
}

/* This device has lost the set: nothing of it writes any more. */
static void lose(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;
	char host[128];

	name_host(h->seen.host_name, h->seen.host_id, host, sizeof(host));
	spin_lock_irq(&fs->lock);
	h->lost = true;
	shut(fs);
	spin_unlock_irq(&fs->lock);
	snprintf(h->why, sizeof(h->why), "machine %s has taken the set", host);
	/* What it does to the set would be read as nonsense here. */
	fusion_set_mode(fs, FUSION_FAIL, h->why);
	wake_up_all(&h->wait);
}

/* Somebody has written the block, or this beat came so late that somebody may have. */
static int contest(struct fusion *fs, int r)
{
	struct fusion_heart *h = &fs->heart;
	unsigned int tries;

	spin_lock_irq(&fs->lock);
	shut(fs);
	spin_unlock_irq(&fs->lock);
	if (r == FOREIGN && h->seen.state == FUSION_BEAT_FORCED)
		return FOREIGN;
	/*
	 * While it is being opened the superblock does not say yet who has it, and another machine
	 * may have got as far on its way: start_epoch() cannot go on where both have been.
	 */
	if (!h->begun && r == FOREIGN)
		return FOREIGN;
	for (tries = 0; tries < MAX_TRIES; tries++) {
		r = check_super(fs);
		if (!r)
			r = write_beat(fs, FUSION_BEAT_CLAIM);
		if (r)
			return r;
		msleep(fusion_beat_watch_ms(&h->own));
		r = cycle(fs, FUSION_BEAT_BEATING, true);
		/*
		 * By somebody whom the superblock does not name, and who is going to find that
		 * out.
		 */
		if (r != OVERDUE &&
		    (r != FOREIGN || h->seen.state == FUSION_BEAT_FORCED || !h->begun))
			break;
	}
	return r == OVERDUE ? -ETIMEDOUT : r;
}

/* -- beating ------------------------------------------------------------------------- */

/* Bios that the members were sent, or are still at. */
struct traffic {
	u64 writes;
	u64 in_flight;
};

static struct traffic count_traffic(const struct fusion *fs)
{
	struct traffic sum = { };
	unsigned int dev;
	int cpu;

	for_each_possible_cpu(cpu) {
		const struct fusion_stats *stats = per_cpu_ptr(fs->stats, cpu);

		for (dev = 0; dev < FUSION_NR_DEVS; dev++) {
			sum.in_flight -= READ_ONCE(stats->done[dev]);
			sum.in_flight += READ_ONCE(stats->ios[dev][0]) +
					 READ_ONCE(stats->ios[dev][1]);
			sum.writes += READ_ONCE(stats->ios[dev][1]);
		}
	}
	return sum;
}

/*
 * Has something been written since the last look, or is something going to be? What the module
 * writes by itself is known by @wrote. fs->lock held.
 */
static bool in_use(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;
	struct traffic now = count_traffic(fs);
	bool used = now.writes != h->writes || now.in_flight || h->wrote || h->wanted;

	h->writes = now.writes;
	WRITE_ONCE(h->wrote, false);
	return used || fs->running->nr || !list_empty(&fs->open_dirty) || fs->committing ||
	       !bio_list_empty(&fs->waiters) || !bio_list_empty(&fs->deferred) ||
	       !bio_list_empty(&fs->parked) || !list_empty(&fs->open_ready) || fs->nr_fills ||
	       fs->in_flight || fs->discards[FUSION_FAST].in_flight ||
	       fs->discards[FUSION_SLOW].in_flight ||
	       !list_empty(&fs->forced) || fs->replica.busy ||
	       fs->checkpoint_wanted > fs->checkpoint_done || fs->keep_wanted > fs->keep_done ||
	       fs->nr_quarantined;
}

/* Is it time to rest? Then the gate is closed. */
static bool rests_now(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;
	u64 now = now_ms();
	bool rest;

	spin_lock_irq(&fs->lock);
	if (in_use(fs))
		h->used_ms = now;
	rest = now - h->used_ms >= REST_MS && h->begun;
	if (rest) {
		h->resting = true;
		shut(fs);
	}
	spin_unlock_irq(&fs->lock);
	return rest;
}

/* Without a heartbeat nothing is written when the lease is over. */
static void fail(struct fusion *fs, int r)
{
	struct fusion_heart *h = &fs->heart;
	bool first;

	DMERR_LIMIT("%s: fast device %s: the heartbeat failed, sector %llu: %d",
		    dm_table_device_name(fs->ti->table), fs->dev[FUSION_FAST]->name,
		    FUSION_BEAT_BLOCKNR * FUSION_BLOCK_SECTORS, r);
	first = fusion_mode(fs) == FUSION_RW;
	fusion_set_mode(fs, FUSION_RO, "the heartbeat failed");
	spin_lock_irq(&fs->lock);
	h->failed = true;
	h->wanted = false;
	/* Nor is it tried again where the set has not been opened yet. */
	h->lost |= !h->begun;
	/* The committer notes it, unless it is through: see fusion_checkpoint_ask(). */
	if (first && !fs->closed)
		fusion_commit_kick(fs);
	spin_unlock_irq(&fs->lock);
	wake_up_all(&h->wait);
}

static void do_beat(struct work_struct *work)
{
	struct fusion *fs = container_of(work, struct fusion, heart.work.work);
	struct fusion_heart *h = &fs->heart;
	bool asleep, rest, wake;
	int r;

	spin_lock_irq(&fs->lock);
	asleep = h->lost || h->failed || (h->resting && !h->wanted);
	wake = h->resting && h->wanted;
	h->resting = h->resting && !wake;
	if (wake)
		h->used_ms = now_ms();
	spin_unlock_irq(&fs->lock);
	if (asleep)
		return;

	rest = !wake && rests_now(fs);
	r = cycle(fs, rest ? FUSION_BEAT_RESTING : FUSION_BEAT_BEATING, wake);
	if (r) {
		spin_lock_irq(&fs->lock);
		h->resting = false;
		spin_unlock_irq(&fs->lock);
		/*
		 * A read that failed may be mended by a write; it is not trusted until it is read.
		 */
		r = contest(fs, r);
	}
	if (r == FOREIGN) {
		lose(fs);
		return;
	}
	if (r < 0) {
		fail(fs, r);
		return;
	}
	spin_lock_irq(&fs->lock);
	if (h->resting && h->wanted)
		mod_delayed_work(h->wq, &h->work, 0);
	else if (!h->resting)
		mod_delayed_work(h->wq, &h->work,
				 msecs_to_jiffies(h->fresh ? ENTER_MS : FUSION_BEAT_MS));
	spin_unlock_irq(&fs->lock);
}

/* From here on @work is the one to beat. */
static void begin(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;

	spin_lock_irq(&fs->lock);
	h->beating = true;
	h->resting = false;
	h->used_ms = now_ms();
	mod_delayed_work(h->wq, &h->work, msecs_to_jiffies(ENTER_MS));
	spin_unlock_irq(&fs->lock);
}

/* -- opening and closing --------------------------------------------------------------- */

static int in_use_by(struct fusion *fs, const struct fusion_beat *beat)
{
	char host[128];

	name_host(beat->host_name, beat->host_id, host, sizeof(host));
	DMERR("%s: machine %s has the set open: it goes on writing its heartbeat; close it there",
	      dm_table_device_name(fs->ti->table), host);
	return -EUSERS;
}

/* Watch until @ms after now whether the block changes. */
static int watch(struct fusion *fs, const struct fusion_sb *sb, u32 ms)
{
	struct fusion_heart *h = &fs->heart;
	const bool beats = h->own.state >= FUSION_BEAT_BEATING;
	struct fusion_beat seen;
	u64 end = now_ms() + ms;
	char host[128];
	int r;

	name_host(beats ? h->own.host_name : sb->host_name, beats ? h->own.host_id : sb->host_id,
		  host, sizeof(host));
	DMINFO("%s: machine %s has not closed the set: watching its heartbeat for %u ms",
	       dm_table_device_name(fs->ti->table), host, ms);
	do {
		if (msleep_interruptible(POLL_MS))
			return -EINTR;
		r = read_beat(fs, &seen);
		if (r)
			return r;
		if (!same_beat(&seen, &h->own))
			return in_use_by(fs, &seen);
	} while (now_ms() < end);
	return 0;
}

void fusion_beat_peek(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;

	h->unread = read_beat(fs, &h->own);
	/* Who cannot read it does not beat; and a write may mend it. */
	if (h->unread)
		memset(&h->own, 0, sizeof(h->own));
}

int fusion_beat_blame(struct fusion *fs, int r)
{
	struct fusion_heart *h = &fs->heart;
	struct fusion_beat seen;

	if (h->unread || read_beat(fs, &seen))
		return r;
	if (!is_own(h, &seen))
		return in_use_by(fs, &seen);
	/* It may have the set open, and be the reason why that looks odd. */
	if (seen.state >= FUSION_BEAT_BEATING &&
	    memcmp(seen.host_id, h->host_id, sizeof(seen.host_id)) &&
	    watch(fs, &fs->sb, fusion_beat_watch_ms(&seen)) == -EUSERS)
		return -EUSERS;
	return r;
}

/*
 * Have the owner stop. What it writes before it sees that is loaded after it. It may overwrite the
 * claim, by a beat of which it has read the block before.
 */
static int force(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;
	const u32 ms = fusion_beat_watch_ms(&h->own);
	struct fusion_beat seen;
	unsigned int tries = 0;
	int r;

	do {
		r = claim(fs, FUSION_BEAT_FORCED, now_ms(), ms);
		if (!r)
			r = read_beat(fs, &seen);
		if (!r && is_own(h, &seen))
			return 0;
	} while ((!r || r == OVERDUE) && ++tries < MAX_TRIES);
	if (!r)
		return in_use_by(fs, &seen);
	return r == OVERDUE ? -ETIMEDOUT : r;
}

int fusion_beat_look(struct fusion *fs, const struct fusion_sb *sb)
{
	struct fusion_heart *h = &fs->heart;

	fs->activation = get_random_u64();
	h->open_time = ktime_get_real_seconds();
	h->taking = fusion_beat_taking(sb, &h->own, h->host_id);
	if (h->insist)
		return force(fs);
	if (h->taking != FUSION_TAKE_WATCH || h->unread)
		return 0;
	return watch(fs, sb, fusion_beat_watch_ms(&h->own));
}

/* One attempt of fusion_beat_take(), in which a claim stands for @ms. Return: as cycle(). */
static int try_take(struct fusion *fs, u32 ms)
{
	struct fusion_heart *h = &fs->heart;
	struct fusion_beat seen;
	u64 start = now_ms();
	int r;

	if ((h->taking == FUSION_TAKE_AT_ONCE || h->insist) && !h->unread)
		return cycle(fs, FUSION_BEAT_BEATING, true);
	r = read_beat(fs, &seen);
	if (!h->unread) {
		if (!r && !is_own(h, &seen)) {
			h->seen = seen;
			r = FOREIGN;
		}
		if (r)
			return r;
	}
	r = claim(fs, FUSION_BEAT_CLAIM, start, ms);
	h->unread = false;
	return r ?: cycle(fs, FUSION_BEAT_BEATING, true);
}

int fusion_beat_take(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;
	unsigned int tries = 0;
	u32 ms = CLAIM_MS;
	int r;

	h->before_gen[FUSION_FAST] = fs->sb.generation;
	h->before_gen[FUSION_SLOW] = fs->replica.sb.generation;
	do {
		r = try_take(fs, ms);
		/*
		 * What came too late may have hidden that another machine has it: let that one see
		 * it.
		 */
		if (r == OVERDUE) {
			h->overdue = true;
			h->taking = FUSION_TAKE_WATCH;
			h->insist = false;
			ms = fusion_beat_watch_ms(&h->own);
		}
	} while (r == OVERDUE && ++tries < MAX_TRIES);
	if (r == FOREIGN)
		return in_use_by(fs, &h->seen);
	if (r) {
		DMERR("%s: fast device %s: the heartbeat cannot be written in time: %d",
		      dm_table_device_name(fs->ti->table), fs->dev[FUSION_FAST]->name, r);
		return r == OVERDUE ? -ETIMEDOUT : r;
	}
	begin(fs);
	return 0;
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

static void stop(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;

	spin_lock_irq(&fs->lock);
	h->beating = false;
	shut(fs);
	spin_unlock_irq(&fs->lock);
	wake_up_all(&h->wait);
	cancel_delayed_work_sync(&h->work);
	/* A beat that was under way has opened it again. */
	spin_lock_irq(&fs->lock);
	shut(fs);
	spin_unlock_irq(&fs->lock);
	cancel_delayed_work_sync(&h->gate_work);
}

void fusion_beat_close(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;

	if (!h->beating)
		return;
	stop(fs);
	/* If it cannot be written, or is another machine's by now, that is all the same. */
	if (!h->lost)
		cycle(fs, FUSION_BEAT_CLOSED, h->resting);
}

int fusion_beat_reopen(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;
	int r;

	if (fs->read_only || fusion_mode(fs) == FUSION_FAIL)
		return 0;
	r = cycle(fs, FUSION_BEAT_BEATING, true);
	if (r == OVERDUE)
		r = contest(fs, r);
	if (r == FOREIGN) {
		in_use_by(fs, &h->seen);
		return -ESTALE;
	}
	/* In mode ro there is little to write, and it is tried again when there is. */
	if (r && fusion_mode(fs) == FUSION_RW)
		return r;
	begin(fs);
	return 0;
}

void fusion_beat_freeze(struct fusion *fs, bool frozen)
{
	spin_lock_irq(&fs->lock);
	fs->heart.frozen = frozen;
	if (!frozen && fs->heart.pass && !may_write(fs))
		shut(fs);
	fusion_beat_gate(fs);
	spin_unlock_irq(&fs->lock);
}

/* For tables that do not say which machine this is: the kernel, while it has this module. */
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
	INIT_DELAYED_WORK(&h->work, do_beat);
	INIT_DELAYED_WORK(&h->gate_work, do_gate);
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
