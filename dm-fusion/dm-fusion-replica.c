// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the copy of the map on the slow member.
 *
 * The replica is a journal (the log) and two map copies, as on the fast member. It describes
 * the map as it was at some moment up to replica_interval seconds ago. It is never read while
 * the fast member is present: an activation replaces it. So the replica may fail without harm
 * to the set, and nothing that serves a bio waits for it.
 *
 * An update takes these steps:
 *
 *  1. Switch to the other bitmap of held slots: the update can free the slots held so far. If the
 *     set has got another name, write the superblock, otherwise as it is.
 *  2. Record all extents marked dirty in the log, with their current words. The bit is cleared
 *     before the word is read, under fs->lock, and set after the word is changed, so no change
 *     is missed. The log is written with PREFLUSH: the data that the words point to, and the
 *     data of the bits in the bitmaps, is durable before it.
 *  3. If the log has no room, or the content of the replica is unknown, write the inactive map
 *     copy instead, record in the log the changes made meanwhile, and write the superblock that
 *     names the map copy and the position in the log.
 *  4. Free the slots of step 1. No word named them at that step, no word can come to name them
 *     while they are held, and the replica no longer contains older words (INV6).
 *
 * The mover records promotions while it copies, and so all moves that leave a slow slot, even for
 * another one. It keeps the mutex until they are committed, so that no update in between places
 * the extents on the slow member (INV7). This transaction needs no flush before it, because it
 * points to no data on the slow member. On a disk without FUA, a flush follows, which also covers
 * the copies. On a disk that serves foreground I/O far from the log, both a flush and a write take
 * long. So the transaction goes without the flush before it, copying continues while it is
 * written, and it covers many extents at once. Its records mark extents as away: those promoted
 * now, and those likely to be next, which then need no write of their own. Extents may stay away
 * only for as long as the replica may lag. After that, an update marks all of them dirty, and so
 * records where they are.
 *
 * A map copy has no bitmaps. OPEN extents are unmapped there, or lost, and stay dirty, so the log
 * records them after the position that the superblock names. In step 3 this happens before the
 * superblock is written, except with the first map copy of an activation, which does not know
 * where the log ends.
 *
 * Log arithmetic: an update leaves @keep blocks free, enough to record all OPEN extents and one
 * block of promotions. OPEN extents take at most a quarter of the log, by open_limit(). So there
 * is room for them in step 3, and after it.
 *
 * Of an extent that has a shadow, a map copy or a record has that instead of the fast slot
 * (dm-fusion-shadow.c). The superblock says whether there may be shadows; if the setting has been
 * changed, a map copy is due. The superblock also has the time of the last point, and a POINT in
 * the log that of a later one.
 *
 * The replica is never ahead of the durable map. An extent may have a place in memory that the
 * next activation does not find, and the replica must not name that place. So before the words
 * are made durable, all records made before the words were read are committed.
 *
 * After an error the replica is stale. The next attempt comes after a pause, or sooner if a first
 * write needs a slot, and writes a map copy. Held slots stay held. The transaction of a failed
 * attempt may be on the disk, and would be replayed after that map copy, so the chain starts over.
 * The superblock of a failed attempt may be on the disk as well, so it is written again first.
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "dm-fusion.h"
#include "dm-fusion-trace.h"

#define MAX_BACKOFF_MS	60000U
/* Words taken for a map copy under one lock: each may cost some cache misses. */
#define CHUNK		128U

int fusion_replica_init(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;
	u32 open = sizeof(struct fusion_journal_record) +
		   fusion_bitmap_bytes(fs->sb.extent_sectors);
	unsigned int i;

	for (i = 0; i < 2; i++) {
		rep->held[i] = kvcalloc(BITS_TO_LONGS(fusion_slot_end(fs, FUSION_SLOW)),
					sizeof(long), GFP_KERNEL);
		if (!rep->held[i])
			return -ENOMEM;
	}
	rep->dirty = kvcalloc(BITS_TO_LONGS(fs->sb.nr_lexts), sizeof(long), GFP_KERNEL);
	rep->away = kvcalloc(BITS_TO_LONGS(fs->sb.nr_lexts), sizeof(long), GFP_KERNEL);
	if (!rep->dirty || !rep->away)
		return -ENOMEM;
	mutex_init(&rep->mutex);
	init_completion(&rep->written);
	/* Blocks for the OPEN extents, one block begun before them, one of promotions. */
	rep->keep = DIV_ROUND_UP(fs->opens.max, FUSION_JOURNAL_PAYLOAD / open) + 2;
	rep->due_ms = U64_MAX;
	return fusion_chain_init(&rep->log, &rep->sb);
}

void fusion_replica_exit(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;

	fusion_chain_exit(&rep->log);
	kvfree(rep->away);
	kvfree(rep->dirty);
	kvfree(rep->held[1]);
	kvfree(rep->held[0]);
}

/* -- what is away ---------------------------------------------------------------------------- */

/* Milliseconds for which extents may stay marked as away. The mutex is held. */
static u64 fusion_replica_away_for(const struct fusion *fs)
{
	u64 end = fs->replica.away_ms + fusion_replica_interval_ms(fs), now = fusion_now_ms();

	return end > now ? end - now : 0;
}

/* Mark extents that are away as dirty, to record where they are. The mutex is held. */
static void fusion_replica_mark_away(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;
	u32 lext;

	for_each_set_bit(lext, rep->away, fs->sb.nr_lexts) {
		spin_lock_irq(&fs->lock);
		fusion_replica_mark(fs, lext);
		spin_unlock_irq(&fs->lock);
	}
}

/* -- the map sets ---------------------------------------------------------------------------- */

/* The words of block @index for a map copy; OPEN extents, which it cannot hold, stay dirty. */
static void fusion_replica_take_words(struct fusion *fs, u32 index, bool names, u32 *words)
{
	const u32 first = index * FUSION_MAP_PER_BLOCK, nr = fusion_map_entries(&fs->sb, index);
	u32 i = 0, end, word;

	while (i < nr) {
		spin_lock_irq(&fs->lock);
		for (end = min(i + CHUNK, nr); i < end; i++) {
			word = fusion_shadow_record(fs, READ_ONCE(fs->map[first + i]), names);
			if (fusion_word_mapped(word) && fusion_word_state(word) == FUSION_OPEN) {
				fusion_replica_mark(fs, first + i);
				word = fusion_open_find(fs, first + i)->lost ?
				       FUSION_WORD_LOST : FUSION_WORD_UNMAPPED;
			} else {
				fusion_replica_recorded(fs, first + i);
			}
			words[i] = word;
		}
		spin_unlock_irq(&fs->lock);
	}
}

/* The last page of the buffer is scratch. */
static int fusion_replica_write_map(struct fusion *fs, const struct fusion_sb *sb)
{
	struct fusion_chain *log = &fs->replica.log;
	u32 *words = page_address(log->buf[FUSION_BUF_BLOCKS - 1]);
	u32 index, i, nr;
	int r;

	for (index = 0; index < sb->map_blocks; index += nr) {
		nr = min(sb->map_blocks - index, FUSION_BUF_BLOCKS - 1);
		for (i = 0; i < nr; i++) {
			fusion_replica_take_words(fs, index + i, fusion_replica_sb_names(sb),
						  words);
			fusion_map_pack(sb, sb->active_set, index + i, sb->set_generation, words,
					page_address(log->buf[i]));
		}
		r = fusion_rw_blocks(fs, log, REQ_OP_WRITE | REQ_META,
				     sb->map_start[FUSION_SLOW][sb->active_set] + index, 0, nr);
		fusion_mark_written(fs, FUSION_SLOW);
		if (r)
			return r;
		cond_resched();
	}
	return 0;
}

int fusion_replica_write_super(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;
	int r;

	fusion_take_kept(fs, &rep->next);
	fusion_sb_take_landing(&rep->next, &fs->sb);
	rep->unsure = true;
	rep->marked |= rep->next.flags & FUSION_SB_CLEAN;
	r = fusion_super_write(fs, &rep->log, &rep->next);
	if (!r) {
		rep->unsure = false;
		rep->marked = rep->next.flags & FUSION_SB_CLEAN;
		rep->sb = rep->next;
	}
	return r;
}

static int fusion_replica_write_set(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;
	struct fusion_sb *sb = &rep->next;
	int r;

	rep->nr = 0;
	*sb = rep->sb;
	/* If the set has grown, its chain starts over here, so the log has no word of it yet. */
	fusion_sb_take_geometry(sb, &fs->sb);
	sb->active_set = !sb->active_set;
	sb->generation++;
	sb->set_generation = sb->generation;
	sb->flags &= ~FUSION_SB_CLEAN;
	sb->incompat &= ~(FUSION_INCOMPAT_SHADOW | FUSION_INCOMPAT_DAMAGED);
	sb->incompat |= fs->sb.incompat & FUSION_INCOMPAT_DAMAGED;
	sb->point = 0;
	if (rep->names) {
		sb->incompat |= FUSION_INCOMPAT_SHADOW;
		sb->point = rep->point_s;
	}
	if (rep->restart) {
		fusion_journal_restart(sb, rep->found_seq);
	} else {
		sb->replay_seq = rep->log.next_seq;
		sb->replay_txn = rep->log.next_txn;
		sb->replay_csum = rep->log.prev_csum;
	}

	r = fusion_replica_write_map(fs, sb);
	if (!r && !rep->restart) {
		r = fusion_replica_log_dirty(fs, 0);
		if (!r || r == FUSION_LOG_FULL)
			r = fusion_replica_write_log(fs);
	}
	if (!r)
		r = fusion_replica_wait_for_map(fs);
	if (!r)
		r = fusion_replica_write_super(fs);
	if (r)
		return r;

	if (rep->restart) {
		rep->restart = false;
		rep->log.next_seq = sb->replay_seq;
		rep->log.next_txn = sb->replay_txn;
		rep->log.prev_csum = sb->replay_csum;
	}
	rep->stale = false;
	rep->pointed = rep->names;
	rep->sets++;
	return 0;
}

int fusion_replica_anew(struct fusion *fs)
{
	fs->replica.restart = true;
	fs->replica.names = false;
	return fusion_replica_write_set(fs);
}

/* -- updates --------------------------------------------------------------------------------- */

/* Would writing the log take longer than writing a map copy? */
static bool fusion_replica_set_is_shorter(const struct fusion *fs)
{
	const u32 per_block = FUSION_JOURNAL_PAYLOAD / sizeof(struct fusion_journal_record);

	return READ_ONCE(fs->replica.nr_dirty) / per_block > fs->sb.map_blocks;
}

/* Has the set got another name? */
static bool fusion_replica_renamed(struct fusion *fs)
{
	bool renamed;

	spin_lock_irq(&fs->lock);
	renamed = strcmp(fs->replica.sb.label, fs->kept.label);
	spin_unlock_irq(&fs->lock);
	return renamed;
}

static int fusion_replica_write(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;
	bool renamed = !rep->unsure && fusion_replica_renamed(fs);
	int r = 0;

	rep->nr = 0;
	if (renamed) {
		rep->next = rep->sb;
		rep->next.generation++;
	}
	if (renamed || rep->unsure)
		r = fusion_replica_write_super(fs);
	if (r)
		return r;
	if (!rep->stale && rep->names == fusion_replica_sb_names(&rep->sb) &&
	    !fusion_replica_set_is_shorter(fs) && !fusion_replica_hands_over(fs)) {
		rep->one_txn = rep->pointing;
		r = fusion_replica_log_dirty(fs, rep->keep);
		rep->one_txn = false;
	} else {
		r = FUSION_LOG_FULL;
	}
	if (r == FUSION_LOG_FULL) {
		r = fusion_replica_write_set(fs);
		if (!r)
			r = fusion_replica_log_dirty(fs, rep->keep);
		/* Too much has changed meanwhile: leave the rest for the next update. */
		if (r == FUSION_LOG_FULL) {
			fusion_replica_soon(fs);
			rep->whole = false;
			r = 0;
		}
	}
	if (!r)
		r = fusion_replica_log_point(fs);
	if (!r)
		r = fusion_replica_write_log(fs);
	return r;
}

void fusion_replica_end_update(struct fusion *fs, int r, bool anew, u64 started)
{
	struct fusion_replica *rep = &fs->replica;
	bool changed;

	if (r) {
		/* from here on the replica is out of date, if it was not */
		spin_lock_irq(&fs->lock);
		rep->since_ms = fusion_replica_since(fs) ?: started;
		WRITE_ONCE(rep->stale, true);
		spin_unlock_irq(&fs->lock);
		rep->backoff_ms = clamp(2 * rep->backoff_ms, FUSION_REPLICA_SOON_MS,
					MAX_BACKOFF_MS);
	} else if (!anew) {
		rep->backoff_ms = 0;
	}
	fusion_held_end(fs, !r);

	spin_lock_irq(&fs->lock);
	changed = rep->failed != !!r;
	rep->failed = r;
	rep->tried_ms = fusion_now_ms();
	rep->retry_ms = rep->tried_ms + rep->backoff_ms;
	rep->errors += !!r;
	rep->busy = false;
	if (!r)
		rep->since_ms = started;
	if (r || rep->nr_dirty || rep->nr_held || rep->nr_away)
		fusion_replica_schedule(fs, r ? rep->backoff_ms : fusion_replica_interval_ms(fs));
	if (rep->nr_away && !r)
		fusion_replica_schedule(fs, fusion_replica_away_for(fs));
	/* A failed flush: the committer records it, unless it has finished (commit.closed). */
	if (r && fs->mode != FUSION_RW && !fs->commit.closed)
		fusion_commit_kick(fs);
	fusion_unpark(fs);
	spin_unlock_irq(&fs->lock);

	trace_fusion_replica(fs, rep->log.next_txn, rep->sb.set_generation, r);
	if (!changed)
		return;
	if (r)
		DMERR("%s: replica of the map: cannot be written (%d): no promotions",
		      dm_table_device_name(fs->ti->table), r);
	else
		DMINFO("%s: replica of the map: written again",
		       dm_table_device_name(fs->ti->table));
	dm_table_event(fs->ti->table);
}

int fusion_replica_do_update(struct fusion *fs, bool whole, bool now)
{
	struct fusion_replica *rep = &fs->replica;
	u64 started = fusion_now_ms();
	bool anew = rep->stale, named;
	int r;

	/* After a failure, the data that the words point to may not be durable. */
	if (fusion_mode(fs) != FUSION_RW)
		return -EROFS;
	spin_lock_irq(&fs->lock);
	rep->due_ms = U64_MAX;
	rep->wanted = false;
	if (rep->failed && started < rep->retry_ms && !now) {
		fusion_replica_schedule(fs, rep->retry_ms - started);
		spin_unlock_irq(&fs->lock);
		return -EIO;
	}
	rep->since_ms = fusion_replica_since(fs) ?: started;
	rep->busy = true;
	rep->cur = !rep->cur;
	spin_unlock_irq(&fs->lock);

	if (rep->nr_away && (whole || !fusion_replica_away_for(fs)))
		fusion_replica_mark_away(fs);
	named = rep->names;
	rep->names = READ_ONCE(fs->opt.shadow) && READ_ONCE(fs->opt.shadow_age);
	rep->pointed = false;
	rep->whole = true;
	if (rep->names && !named) {
		rep->point_s = ktime_get_real_seconds();
		/* From now on: what was written before will be known to be out of date. */
		if (READ_ONCE(fs->shadows.changed))
			WRITE_ONCE(fs->shadows.changed, max_t(unsigned long, 1, fusion_now_ms()));
		fusion_shadow_look(fs, false);
	}
	if (rep->point_end)
		fusion_replica_take_point(fs);
	r = fusion_replica_write(fs);
	if (!r && rep->whole)
		fusion_shadow_recorded(fs, rep->names, rep->pointed ? rep->point_s : 0);
	WRITE_ONCE(rep->took_ms, fusion_now_ms() - started);
	fusion_replica_end_update(fs, r, anew, started);
	return r;
}

int fusion_replica_super_next(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;

	rep->next = rep->sb;
	rep->next.generation++;
	return fusion_replica_write_super(fs);
}

/* Write the other superblock copy as well. If that fails, the next update tries again. */
static void fusion_replica_super_again(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;

	if (rep->again && !rep->stale)
		rep->again = fusion_replica_super_next(fs);
}

int fusion_replica_update(struct fusion *fs, bool whole)
{
	int r;

	mutex_lock(&fs->replica.mutex);
	/* A message may come late: nothing is written after fusion_replica_stop(). */
	r = READ_ONCE(fs->replica.active) ? fusion_replica_do_update(fs, whole, whole) : -EAGAIN;
	if (!r)
		fusion_replica_super_again(fs);
	mutex_unlock(&fs->replica.mutex);
	return r;
}

int fusion_replica_point(struct fusion *fs, u64 second, u64 ms,
			 void (*end)(struct fusion *fs, bool usable))
{
	struct fusion_replica *rep = &fs->replica;
	int r = -EAGAIN;

	mutex_lock(&rep->mutex);
	rep->point_end = end;
	rep->next_point_s = second;
	rep->next_point_ms = ms;
	if (READ_ONCE(rep->active))
		r = fusion_replica_do_update(fs, false, false);
	if (!r && !rep->pointing)
		r = -EAGAIN;
	rep->pointing = false;
	if (rep->point_end)
		end(fs, false);
	rep->point_end = NULL;
	mutex_unlock(&rep->mutex);
	return r;
}

/*
 * While the slow member rests, an update that is only due by time is put off, and checked again in
 * a second. Held slots stay held, and dirty or away extents stay so. The replica then lags more
 * than its interval, but INV6 and INV7 do not depend on its age. An update runs if a caller or a
 * bio waits for it, and after moves, since the slow member was used for these anyway and some of
 * the extents marked as away may have stayed. A failed update is retried, because there are no
 * promotions until one succeeds.
 */
static bool fusion_replica_put_off(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;
	bool rests;

	spin_lock_irq(&fs->lock);
	rests = READ_ONCE(fs->mover.slow_asleep) && !rep->wanted && !rep->failed &&
		!READ_ONCE(rep->nr_away) && fusion_mode(fs) == FUSION_RW;
	if (rests) {
		rep->due_ms = U64_MAX;
		fusion_replica_schedule(fs, FUSION_REPLICA_SOON_MS);
	}
	spin_unlock_irq(&fs->lock);
	return rests;
}

void fusion_do_replica(struct work_struct *work)
{
	struct fusion *fs = container_of(work, struct fusion, replica.work.work);

	if (!fusion_replica_put_off(fs))
		fusion_replica_update(fs, false);
}
