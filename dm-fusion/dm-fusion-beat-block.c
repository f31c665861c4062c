// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the heartbeat block: reading and writing it, and one cycle of both.
 *
 * See the head of dm-fusion-beat.c for the rules of a cycle.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/utsname.h>

#include "dm-fusion.h"

static int fusion_beat_io(struct fusion *fs, unsigned int disk, blk_opf_t opf, u64 blocknr)
{
	return fusion_rw_page(fs, disk, opf | REQ_SYNC | REQ_META, blocknr, fs->heart.page);
}

int fusion_beat_read(struct fusion *fs, struct fusion_beat *beat)
{
	const char *why;
	int r = fusion_beat_io(fs, fs->heart.disk, REQ_OP_READ, FUSION_BEAT_BLOCKNR);

	if (!r)
		fusion_beat_unpack(&fs->sb, page_address(fs->heart.page), beat, &why);
	return r;
}

int fusion_beat_write(struct fusion *fs, enum fusion_beat_state state)
{
	struct fusion_heart *h = &fs->heart;
	struct fusion_beat *own = &h->own;
	int r;

	/* After failed writes the disk may have any of them, a part of one, or the block before. */
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
	r = fusion_beat_io(fs, h->disk, REQ_OP_WRITE, FUSION_BEAT_BLOCKNR);
	h->unsure = r;
	h->beats++;
	return r;
}

bool fusion_beat_same(const struct fusion_beat *a, const struct fusion_beat *b)
{
	return a->activation == b->activation && a->counter == b->counter && a->state == b->state;
}

bool fusion_beat_is_own(const struct fusion_heart *h, const struct fusion_beat *seen)
{
	if (fusion_beat_same(seen, &h->own))
		return true;
	return h->unsure && (seen->activation == h->own.activation ||
			     fusion_beat_same(seen, &h->prev) || !seen->interval_ms);
}

/* From the newest superblock of a member; @bad: one of the two copies is not valid. */
struct newest {
	u64 generation;
	u64 activation;
	bool bad;
	struct fusion_beat host;	/* the machine that has opened it */
};

static void fusion_beat_read_super(struct fusion *fs, unsigned int disk, struct newest *newest)
{
	struct fusion_heart *h = &fs->heart;
	unsigned int copy;
	const char *why;
	int r;

	memset(newest, 0, sizeof(*newest));
	for (copy = 0; copy < 2; copy++) {
		u64 blocknr = FUSION_SUPER_BLOCKNR(copy);

		r = fusion_beat_io(fs, disk, REQ_OP_READ, blocknr);
		if (!r)
			r = fusion_sb_unpack_landing(page_address(h->page), blocknr, U64_MAX,
						     &h->sb, &why);
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
 * Is it as it was when the set was loaded? A join writes that of the other member once again, and
 * fusion_checkpoint_skip() that of the fast one.
 */
static bool fusion_beat_is_before(const struct fusion *fs, unsigned int disk,
				  const struct newest *sb)
{
	const struct fusion_heart *h = &fs->heart;

	return sb->generation == h->before_gen[disk] ||
	       (((fs->old.joins && disk == !fs->old.dev) ||
		 (h->skipped && disk == fs->meta[FUSION_FAST])) &&
		sb->generation == h->before_gen[disk] + 1 &&
		sb->activation == h->before_act[disk]);
}

int fusion_beat_check_super(struct fusion *fs)
{
	struct fusion_heart *h = &fs->heart;
	struct newest sb;
	unsigned int disk;
	bool begun;

	/* Read this before the superblock, which may be written meanwhile. */
	spin_lock_irq(&fs->lock);
	begun = h->begun;
	spin_unlock_irq(&fs->lock);
	for (disk = 0; disk < FUSION_NR_DISKS; disk++) {
		if (!(begun ? disk == FUSION_FAST : h->before >> disk & 1))
			continue;
		fusion_beat_read_super(fs, disk, &sb);
		if (!sb.generation)
			return -EIO;
		if (sb.activation == fs->activation ||
		    (!begun && fusion_beat_is_before(fs, disk, &sb)))
			continue;
		h->seen = sb.host;
		/* A bad copy may be this activation's, or may be being written. */
		return sb.bad ? -EIO : FUSION_FOREIGN;
	}
	return 0;
}

int fusion_beat_cycle(struct fusion *fs, enum fusion_beat_state state, bool look)
{
	struct fusion_heart *h = &fs->heart;
	struct fusion_beat seen;
	u64 start = fusion_boottime_ms(), end, lease = h->pass ? h->lease_ms : 0;
	int r;

	r = fusion_beat_read(fs, &seen);
	if (!r && !fusion_beat_is_own(h, &seen)) {
		h->seen = seen;
		r = FUSION_FOREIGN;
	}
	if (!r && look)
		r = fusion_beat_check_super(fs);
	if (!r)
		r = fusion_beat_write(fs, state);
	if (r)
		return r;
	end = fusion_boottime_ms();
	if (end >= lease && end - start >= FUSION_ENTER_MS)
		return FUSION_OVERDUE;
	if (state != FUSION_BEAT_BEATING)
		return 0;
	/*
	 * The first beat after a pause gives no full lease, nor does one too soon after it: see
	 * the head of dm-fusion-beat.c.
	 */
	if (start >= lease) {
		h->fresh = true;
		h->fresh_ms = end;
		lease = start + FUSION_CLAIM_MS;
	} else if (!h->fresh || start >= h->fresh_ms + FUSION_ENTER_MS) {
		h->fresh = false;
		lease = start + fusion_beat_lease_ms(FUSION_BEAT_MS);
	}
	fusion_gate_open(fs, lease);
	return 0;
}

int fusion_beat_claim(struct fusion *fs, enum fusion_beat_state state, u64 start, u32 ms)
{
	int r = fusion_beat_write(fs, state);

	if (!r && fusion_boottime_ms() - start >= FUSION_ENTER_MS)
		r = FUSION_OVERDUE;
	if (!r && msleep_interruptible(ms))
		r = -EINTR;
	return r;
}
