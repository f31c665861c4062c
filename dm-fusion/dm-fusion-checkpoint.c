// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: checkpoints, and the committer, which runs them and commits.
 *
 * A checkpoint writes the live map into the inactive map copy while I/O continues. Changes made
 * meanwhile may be in the map copy or not, and the journal corrects that. Each change visible in
 * the map copy is in a transaction from the first commit of the checkpoint on. The second commit
 * makes the last of these durable before the superblock is written, which names the map copy and
 * the position to replay from.
 *
 * The checkpoint that closes a set writes no map copy if the map has not changed since one was
 * written, a short time ago, for a message, a reboot, or another close: so I/O waits for less.
 *
 * The map copy has no bitmaps of OPEN extents. The second commit records all of them again, so
 * replay finds each of them after the position from which it starts. The same goes for the segments
 * of the landing log.
 *
 * The replica on the slow member has checkpoints of its own: see dm-fusion-replica.c.
 */
#include <linux/mm.h>

#include "dm-fusion.h"
#include "dm-fusion-trace.h"

/* A set that is closed within that time after a checkpoint keeps the heat that this one saved. */
#define REPEAT_MS	10000U

/* fusion_checkpoint_heat() could not save it. */
#define HEAT_LOST	1

static int fusion_checkpoint_map(struct fusion *fs, unsigned int set, u64 generation)
{
	u32 index, i, nr;
	int r;

	for (index = 0; index < fs->sb.map_blocks; index += nr) {
		nr = min(fs->sb.map_blocks - index, FUSION_BUF_BLOCKS);
		for (i = 0; i < nr; i++)
			fusion_map_pack(&fs->sb, set, index + i, generation,
					fs->map + (size_t)(index + i) * FUSION_MAP_PER_BLOCK,
					page_address(fs->journal.buf[i]));
		r = fusion_rw_blocks(fs, &fs->journal, REQ_OP_WRITE | REQ_META,
				     fs->sb.map_start[FUSION_FAST][set] + index, 0, nr);
		if (!r)
			r = fusion_commit_urgent(fs);
		if (r)
			return r;
	}
	return 0;
}

/*
 * From block @from on. Best effort: without saved heat the policy learns again. The last page of
 * the buffer is scratch. Return: 0, HEAT_LOST, or the error of a commit that could not wait.
 */
static int fusion_checkpoint_heat(struct fusion *fs, u64 generation, u32 from)
{
	u16 *heat = page_address(fs->journal.buf[FUSION_BUF_BLOCKS - 1]);
	u32 index, i, j, nr;
	int r;

	for (index = from; index < fs->sb.heat_blocks; index += nr) {
		nr = min(fs->sb.heat_blocks - index, FUSION_BUF_BLOCKS - 1);
		for (i = 0; i < nr; i++) {
			u32 first = (index + i) * FUSION_HEAT_PER_BLOCK;

			for (j = 0; j < fusion_heat_entries(&fs->sb, index + i); j++)
				heat[j] = fusion_policy_heat(fs->policy, first + j);
			fusion_heat_pack(&fs->sb, index + i, generation, heat,
					 page_address(fs->journal.buf[i]));
		}
		if (fusion_rw_blocks(fs, &fs->journal, REQ_OP_WRITE | REQ_META,
				     fs->sb.heat_start + index, 0, nr)) {
			DMWARN("%s: heat could not be saved",
			       dm_table_device_name(fs->ti->table));
			return HEAT_LOST;
		}
		r = fusion_commit_urgent(fs);
		if (r)
			return r;
	}
	return 0;
}

/* Hold users' flushes: those that arrive meanwhile wait for the next commit. */
static void fusion_hold_flushes(struct fusion *fs, bool hold)
{
	spin_lock_irq(&fs->lock);
	fs->flush.hold = hold;
	spin_unlock_irq(&fs->lock);
}

/*
 * Would a checkpoint write the map copy that the last one has written? That was a short time ago,
 * it saved all heat, and no word has changed since before it began. What changes from now on is
 * recorded behind the position that the superblock names.
 */
static bool fusion_checkpoint_repeats(struct fusion *fs)
{
	bool same;

	spin_lock_irq(&fs->lock);
	same = fs->map_changes == fs->commit.whole_changes;
	spin_unlock_irq(&fs->lock);
	return same && fs->commit.whole && fusion_now_ms() - fs->commit.whole_ms < REPEAT_MS;
}

/* The superblock of the next checkpoint; @whole: it names a new map copy. */
static void fusion_checkpoint_super(struct fusion *fs, u32 epoch, bool clean, bool whole)
{
	struct fusion_sb *sb = &fs->sb_next;

	*sb = fs->sb;
	fusion_take_kept(fs, sb);
	sb->generation = fs->sb.generation + 1;
	sb->flags &= ~(FUSION_SB_CLEAN | FUSION_SB_NEEDS_CHECK);
	if (clean)
		sb->flags |= FUSION_SB_CLEAN;
	if (fs->needs_check)
		sb->flags |= FUSION_SB_NEEDS_CHECK;
	sb->replay_seq = fs->journal.next_seq;
	sb->replay_txn = fs->journal.next_txn;
	sb->replay_csum = fs->journal.prev_csum;
	if (!whole)
		return;
	sb->active_set = !fs->sb.active_set;
	sb->set_generation = sb->generation;
	sb->epoch = epoch;
	if (epoch != fs->sb.epoch)
		fusion_super_activate(fs, sb);
}

/* Write the map copy that fs->sb_next names. Return: 0, HEAT_LOST, or a negative errno. */
static int fusion_checkpoint_write(struct fusion *fs, u32 heat_from)
{
	struct fusion_sb *sb = &fs->sb_next;
	int r;

	spin_lock_irq(&fs->lock);
	fs->commit.whole_changes = fs->map_changes;
	spin_unlock_irq(&fs->lock);
	fs->commit.whole_ms = fusion_now_ms();
	fs->commit.whole = false;
	r = fusion_checkpoint_map(fs, sb->active_set, sb->generation);
	if (!r)
		r = fusion_checkpoint_heat(fs, sb->set_generation, heat_from);
	return r;
}

/* The second commit, with all bitmaps of OPEN extents, and all segments of the landing log. */
static int fusion_checkpoint_opens(struct fusion *fs)
{
	struct fusion_open *open;

	spin_lock_irq(&fs->lock);
	list_for_each_entry(open, &fs->opens.lru, lru)
		if (!open->closed)
			fusion_open_mark_dirty(fs, open);
	fusion_land_record_all(fs);
	spin_unlock_irq(&fs->lock);
	return fusion_commit(fs, fs->sb_next.epoch != fs->sb.epoch);
}

int fusion_checkpoint(struct fusion *fs, u32 epoch, bool clean, u32 heat_from)
{
	const bool new_epoch = epoch != fs->sb.epoch;
	bool whole, heat;
	int r;

	r = fusion_commit(fs, false);
	if (r)
		return r;

	whole = !clean || !fusion_checkpoint_repeats(fs);
	fusion_checkpoint_super(fs, epoch, clean, whole);
	if (whole)
		r = fusion_checkpoint_write(fs, heat_from);
	heat = !heat_from && !r;
	if (r >= 0)
		r = fusion_checkpoint_opens(fs);
	if (r)
		goto out;

	/* Its preflush covers the map copy, unless a flush in between has failed. */
	fusion_hold_flushes(fs, true);
	r = fusion_flushes_ended(fs);
	if (!r)
		r = fusion_super_write_next(fs);
	fusion_hold_flushes(fs, false);
	if (r)
		goto out;
	fs->commit.checkpoints++;
	/* a set that was closed has two map copies of this epoch: repair relies on that */
	fs->commit.whole |= whole && heat && !new_epoch;
out:
	trace_fusion_checkpoint(fs, fs->sb_next.generation, clean, r);
	return r;
}

int fusion_checkpoint_skip(struct fusion *fs, const struct fusion_txn_at *first)
{
	int r;

	fusion_checkpoint_super(fs, fs->sb.epoch, false, true);
	fs->sb_next.replay_seq = first->seq;
	fs->sb_next.replay_txn = first->txn;
	fs->sb_next.replay_csum = first->csum;
	r = fusion_checkpoint_write(fs, FUSION_NO_HEAT);
	if (r >= 0) {
		fs->heart.skipped = true;
		r = fusion_super_write_next(fs);
	}
	trace_fusion_checkpoint(fs, fs->sb_next.generation, false, r);
	return r;
}

/* -- asking for one -------------------------------------------------------------------------- */

u64 fusion_checkpoint_ask(struct fusion *fs, bool clean)
{
	u64 mine = 0;

	/*
	 * The checkpoint that closes the set is the last, and serves all earlier requests. The
	 * kick is in the same section, as postsuspend cancels the work after its own request.
	 */
	spin_lock_irq(&fs->lock);
	if (!fs->commit.closed) {
		fs->commit.closed = clean;
		mine = ++fs->commit.checkpoint_wanted;
		fusion_commit_kick(fs);
	}
	spin_unlock_irq(&fs->lock);
	return mine;
}

int fusion_checkpoint_wait(struct fusion *fs, bool clean)
{
	u64 mine = fusion_checkpoint_ask(fs, clean);

	if (!mine)
		return -EAGAIN;
	wait_event(fs->commit.wait, READ_ONCE(fs->commit.checkpoint_done) >= mine);
	return fusion_mode(fs) == FUSION_RW ? 0 : -EIO;
}

/* -- the committer --------------------------------------------------------------------------- */

/* Must a checkpoint come first, to make room in the ring? */
static bool fusion_journal_short(const struct fusion *fs)
{
	return fusion_chain_free(&fs->journal) < 4 * fs->commit.max_blocks;
}

void fusion_note_mode(struct fusion *fs)
{
	if (fusion_stopped(fs))
		fusion_super_flags(fs, FUSION_SB_NEEDS_CHECK, FUSION_SB_CLEAN);
}

void fusion_do_commit(struct work_struct *work)
{
	struct fusion *fs = container_of(work, struct fusion, commit.work.work);
	bool clean, asked;
	u64 wanted, keep;

	if (READ_ONCE(fs->flush.lost))
		fusion_set_mode(fs, FUSION_RO, "a flush failed");

	spin_lock_irq(&fs->lock);
	wanted = fs->commit.checkpoint_wanted;
	clean = fs->commit.closed;
	keep = fs->commit.keep_wanted;
	spin_unlock_irq(&fs->lock);

	/* The checkpoint that closes the set is the last. Flushes come behind it, no records. */
	asked = wanted > fs->commit.checkpoint_done;
	if (asked || (!clean && fusion_journal_short(fs))) {
		if (fusion_mode(fs) == FUSION_RW &&
		    fusion_checkpoint(fs, fs->sb.epoch, clean && asked,
				      asked ? 0 : FUSION_NO_HEAT))
			fusion_set_mode(fs, FUSION_RO, "a checkpoint failed");
		WRITE_ONCE(fs->commit.checkpoint_done, wanted);
		wake_up_all(&fs->commit.wait);
	}

	/* A checkpoint that closes the set has written these: then nothing is written here. */
	if (keep > fs->commit.keep_done) {
		if (fusion_mode(fs) == FUSION_RW && fusion_super_flags(fs, 0, 0))
			fusion_set_mode(fs, FUSION_RO, "writing settings or the name failed");
		WRITE_ONCE(fs->commit.keep_done, keep);
		wake_up_all(&fs->commit.wait);
	}

	/* A checkpoint may have filled the ring itself: then another checkpoint goes first. */
	if (!clean && fusion_mode(fs) == FUSION_RW && fusion_journal_short(fs))
		fusion_commit_kick(fs);
	else if (fusion_commit_needed(fs, false))
		fusion_commit(fs, false);

	/* Flushes come even after a seal. fusion_close() notes the mode then, alone. */
	if (!clean)
		fusion_note_mode(fs);
}
