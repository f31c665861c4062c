// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the copy of the map on the slow member.
 *
 * It is a journal (the log) and two map sets, as on the fast member, and what it says is
 * the map of some moment that may be replica_interval seconds ago. It is never read while
 * the fast member is there: an activation replaces it. So it may fail without harm to the
 * set, and nobody who serves a bio waits for it.
 *
 * An update goes through these steps:
 *
 *  1. turn to the other bitmap of held slots: what is held until now is what it can free;
 *  2. record all extents that are marked dirty, with their words of now, in the log. The
 *     bit is cleared before the word is read, under fs->lock, and set after the word is
 *     changed, so none is missed. The log is written with PREFLUSH: the data the words
 *     point to, and that of the bits in the bitmaps, is durable before;
 *  3. if the log has no room, or it is not known what the replica says, write the
 *     inactive map set instead, record in the log what has changed meanwhile, and write the
 *     superblock that names the set and the place in the log;
 *  4. free the slots of step 1. No word named them at that step, none can get to name them
 *     while they are held, and the replica does not know older words any more (INV6).
 *
 * The mover records promotions while it copies, and keeps the mutex until they are committed,
 * so that no update says meanwhile that they lie on the slow member (INV7). Such a transaction
 * needs no flush before it, since it points to no data of the slow member; a disk without FUA
 * is flushed after it, which serves the copies as well. On a disk that others keep
 * busy far from the log both a flush and a write take long: so nobody waits for the one,
 * the copies go on beside the other, and it tells of many extents at once. A record of it says
 * that an extent is away: of those that are promoted now, and of those likely to be next, which
 * then need no write of their own. An update that finds some that have been away for as
 * long as the replica may be behind makes all of them dirty, and so has it say where they are.
 *
 * A map set has no bitmaps. OPEN extents are unmapped there, and stay dirty, so that they
 * are recorded in the log behind the place the superblock names: in step 3 before it is
 * written, but for the first set of an activation, which does not know where the log ends.
 *
 * Log arithmetic: an update leaves @keep blocks free, enough to record all OPEN extents, and
 * one block of promotions. At most a quarter of the log is for OPEN extents, by
 * open_limit(). So step 3 finds room for them, and after it, too.
 *
 * What it says is never ahead of the durable map: a place that an extent has in memory only, and
 * that the next to open the set does not find, must not be found here. So before the words are
 * made durable all that was recorded before they were read is committed.
 *
 * After an error all is stale: the next attempt, after a pause, or sooner if a first write needs
 * a slot, writes a map set. What was held stays so. The transaction of an attempt may be on the
 * disk, and would be replayed behind that set: so the chain begins anew. Its superblock may be
 * there as well: it is written again first.
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/ktime.h>
#include <linux/mm.h>

#include "dm-fusion.h"
#include "dm-fusion-trace.h"

#define SOON_MS		1000U
/* Percentage of time that updates may take that nobody waits for. */
#define DUTY		1U
/* No error, as the disk may have one of these as well: the log has no room. */
#define LOG_FULL	1
#define MAX_BACKOFF_MS	60000U
/* Words of a bitmap looked at under one lock. */
#define HELD_CHUNK	512U

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
	/* The blocks of the OPEN extents, one that may be begun, one of promotions. */
	rep->keep = DIV_ROUND_UP(fs->max_open, FUSION_JOURNAL_PAYLOAD / open) + 2;
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

/* -- what it has to learn ------------------------------------------------------- */

/* Let the work run in @ms, or earlier if it is queued for that. fs->lock held. */
static void schedule_update(struct fusion *fs, u64 ms)
{
	struct fusion_replica *rep = &fs->replica;
	u64 due = fusion_now_ms() + ms;

	if (!rep->active || due >= rep->due_ms)
		return;
	rep->due_ms = due;
	mod_delayed_work(rep->wq, &rep->work, msecs_to_jiffies(ms));
}

static u64 interval_ms(const struct fusion *fs)
{
	return (u64)READ_ONCE(fs->opt.replica_interval) * MSEC_PER_SEC;
}

void fusion_replica_mark(struct fusion *fs, u32 lext)
{
	struct fusion_replica *rep = &fs->replica;

	if (__test_and_set_bit(lext, rep->dirty))
		return;
	if (!rep->nr_dirty++)
		rep->since_ms = fusion_now_ms();
	schedule_update(fs, interval_ms(fs));
}

/* The word of now is being recorded. The mutex and fs->lock are held. */
static void recorded(struct fusion *fs, u32 lext)
{
	struct fusion_replica *rep = &fs->replica;

	if (__test_and_clear_bit(lext, rep->dirty))
		rep->nr_dirty--;
	if (__test_and_clear_bit(lext, rep->away))
		rep->nr_away--;
}

/* Milliseconds for which what is away may still be called so. The mutex is held. */
static u64 away_for(const struct fusion *fs)
{
	u64 end = fs->replica.away_ms + interval_ms(fs), now = fusion_now_ms();

	return end > now ? end - now : 0;
}

/* Have what is away recorded as it is. The mutex is held. */
static void mark_away(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;
	u32 lext;

	for_each_set_bit(lext, rep->away, fs->sb.nr_lexts) {
		spin_lock_irq(&fs->lock);
		fusion_replica_mark(fs, lext);
		spin_unlock_irq(&fs->lock);
	}
}

void fusion_replica_kick(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;

	rep->retry_ms = min(rep->retry_ms, rep->tried_ms + SOON_MS);
	rep->wanted = true;
	schedule_update(fs, 0);
}

void fusion_replica_soon(struct fusion *fs)
{
	u64 pause = (u64)READ_ONCE(fs->replica.took_ms) * (100 / DUTY);
	unsigned long flags;

	spin_lock_irqsave(&fs->lock, flags);
	fs->replica.wanted = true;
	schedule_update(fs, clamp_t(u64, pause, SOON_MS, interval_ms(fs)));
	spin_unlock_irqrestore(&fs->lock, flags);
}

/* -- held slots --------------------------------------------------------------------- */

void fusion_replica_release(struct fusion *fs, u32 word, bool known)
{
	struct fusion_replica *rep = &fs->replica;

	if (fusion_word_dev(word) == FUSION_FAST || known ||
	    (!rep->nr_dirty && !rep->busy && !rep->failed)) {
		fusion_slot_put(fs, word);
		return;
	}
	if (!WARN_ON_ONCE(__test_and_set_bit(fusion_word_slot(word), rep->held[rep->cur])))
		rep->nr_held++;
	fusion_discard_add(fs, word);
	schedule_update(fs, interval_ms(fs));
}

/* Free what was held before the update, or go on holding it. */
static void end_held(struct fusion *fs, bool free)
{
	struct fusion_replica *rep = &fs->replica;
	size_t words = BITS_TO_LONGS(fusion_slot_end(fs, FUSION_SLOW)), i, end;
	unsigned long *old = rep->held[!rep->cur], *cur = rep->held[rep->cur];

	for (i = 0; i < words; ) {
		end = min_t(size_t, words, i + HELD_CHUNK);
		spin_lock_irq(&fs->lock);
		for (; i < end; i++) {
			u32 nr = hweight_long(old[i]);

			if (!nr)
				continue;
			if (free) {
				fs->used[FUSION_SLOW][i] &= ~old[i];
				fs->nr_free[FUSION_SLOW] += nr;
				rep->nr_held -= nr;
			} else {
				cur[i] |= old[i];
			}
			old[i] = 0;
		}
		if (free && end == words)
			fusion_discard_kick(fs);
		spin_unlock_irq(&fs->lock);
		cond_resched();
	}
}

/* Nobody knows what the replica names: hold all slots that are free. Nothing else runs yet. */
static void hold_free_slots(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;
	u32 end = fusion_slot_end(fs, FUSION_SLOW);

	/* Exact to the bit: end_held() counts them. */
	bitmap_set(rep->held[rep->cur], 0, end);
	bitmap_andnot(rep->held[rep->cur], rep->held[rep->cur], fs->used[FUSION_SLOW], end);
	bitmap_set(fs->used[FUSION_SLOW], 0, end);
	rep->nr_held = fs->nr_free[FUSION_SLOW];
	fs->nr_free[FUSION_SLOW] = 0;
}

/* -- the log ------------------------------------------------------------------------ */

/*
 * The words read until now are in memory: let them be those of the durable map, too. After a
 * commit that failed they never will be; then the mode has changed before fs->committing.
 */
static int wait_for_map(struct fusion *fs)
{
	bool pending;

	spin_lock_irq(&fs->lock);
	pending = fs->committing || fs->running->nr || !list_empty(&fs->open_dirty);
	spin_unlock_irq(&fs->lock);
	if (pending)
		return fusion_commit_wait(fs);
	return fusion_mode(fs) == FUSION_RW ? 0 : -EROFS;
}

static int write_log(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;
	int r;

	if (!rep->nr)
		return 0;
	r = wait_for_map(fs);
	if (!r) {
		r = fusion_chain_write(fs, &rep->log, rep->nr);
		/* It may be there all the same, and must not be replayed behind the next set. */
		rep->restart |= r;
	}
	rep->nr = 0;
	if (!r)
		rep->writes++;
	return r;
}

/* Begin a block. Return: 0, an error, or LOG_FULL if no more than @keep would be left. */
static int next_block(struct fusion *fs, u32 keep)
{
	struct fusion_replica *rep = &fs->replica;
	int r;

	if (rep->nr + keep >= fusion_chain_free(&rep->log))
		return LOG_FULL;
	if (rep->nr == FUSION_BUF_BLOCKS) {
		r = write_log(fs);
		if (r)
			return r;
	}
	fusion_journal_init(page_address(rep->log.buf[rep->nr++]));
	return 0;
}

static bool try_add(struct fusion_replica *rep, const struct fusion_record *rec)
{
	return rep->nr &&
	       fusion_journal_add(&rep->sb, page_address(rep->log.buf[rep->nr - 1]), rec);
}

/* Take a dirty extent into the log. Return: false if the block has no room. */
static bool try_add_dirty(struct fusion *fs, u32 lext)
{
	struct fusion_record rec = { .lext = lext, .old = FUSION_WORD_UNMAPPED };
	struct fusion_open *open;
	bool added = true;

	spin_lock_irq(&fs->lock);
	if (test_bit(lext, fs->replica.dirty)) {
		rec.new = fusion_word_on_disk(READ_ONCE(fs->map[lext]));
		rec.op = FUSION_OP_STABLE;
		if (!fusion_word_mapped(rec.new)) {
			rec.op = FUSION_OP_UNMAP;
		} else if (fusion_word_state(rec.new) == FUSION_OPEN) {
			open = fusion_open_find(fs, lext);
			rec.op = FUSION_OP_OPEN;
			rec.bitmap = open->bitmap;
		}
		added = try_add(&fs->replica, &rec);
		if (added)
			recorded(fs, lext);
	}
	spin_unlock_irq(&fs->lock);
	return added;
}

/*
 * Record what is dirty, as far as @keep blocks stay free. The last transaction is left
 * in the buffer. Return: 0, an error, or LOG_FULL: there is more.
 */
static int log_dirty(struct fusion *fs, u32 keep)
{
	struct fusion_replica *rep = &fs->replica;
	u32 lext = 0;
	int r;

	for (;;) {
		lext = find_next_bit(rep->dirty, fs->sb.nr_lexts, lext);
		if (lext >= fs->sb.nr_lexts)
			return 0;
		if (try_add_dirty(fs, lext)) {
			lext++;
			continue;
		}
		r = next_block(fs, keep);
		if (r)
			return r;
		cond_resched();
	}
}

/* -- the map sets ------------------------------------------------------------------- */

/* The words of block @index as the set has them; what it can't say stays dirty. */
static void take_words(struct fusion *fs, u32 index, u32 *words)
{
	u32 first = index * FUSION_MAP_PER_BLOCK, i;

	spin_lock_irq(&fs->lock);
	for (i = 0; i < fusion_map_entries(&fs->sb, index); i++) {
		u32 word = READ_ONCE(fs->map[first + i]);

		if (fusion_word_mapped(word) && fusion_word_state(word) == FUSION_OPEN) {
			fusion_replica_mark(fs, first + i);
			word = FUSION_WORD_UNMAPPED;
		} else {
			recorded(fs, first + i);
		}
		words[i] = word;
	}
	spin_unlock_irq(&fs->lock);
}

/* The last page of the buffer is scratch. */
static int write_map(struct fusion *fs, const struct fusion_sb *sb)
{
	struct fusion_chain *log = &fs->replica.log;
	u32 *words = page_address(log->buf[FUSION_BUF_BLOCKS - 1]);
	u32 index, i, nr;
	int r;

	for (index = 0; index < sb->map_blocks; index += nr) {
		nr = min(sb->map_blocks - index, FUSION_BUF_BLOCKS - 1);
		for (i = 0; i < nr; i++) {
			take_words(fs, index + i, words);
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

/* Write rep->next, after a flush that covers the map set. */
static int write_super(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;
	int r;

	fusion_take_settings(fs, &rep->next);
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

static int write_set(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;
	struct fusion_sb *sb = &rep->next;
	int r;

	rep->nr = 0;
	*sb = rep->sb;
	sb->active_set = !sb->active_set;
	sb->generation++;
	sb->set_generation = sb->generation;
	sb->flags &= ~FUSION_SB_CLEAN;
	if (rep->restart) {
		fusion_journal_restart(sb, rep->found_seq);
	} else {
		sb->replay_seq = rep->log.next_seq;
		sb->replay_txn = rep->log.next_txn;
		sb->replay_csum = rep->log.prev_csum;
	}

	r = write_map(fs, sb);
	if (!r && !rep->restart) {
		r = log_dirty(fs, 0);
		if (!r || r == LOG_FULL)
			r = write_log(fs);
	}
	if (!r)
		r = wait_for_map(fs);
	if (!r)
		r = write_super(fs);
	if (r)
		return r;

	if (rep->restart) {
		rep->restart = false;
		rep->log.next_seq = sb->replay_seq;
		rep->log.next_txn = sb->replay_txn;
		rep->log.prev_csum = sb->replay_csum;
	}
	rep->stale = false;
	rep->sets++;
	return 0;
}

/* -- updates -------------------------------------------------------------------------- */

/* Would the log take longer to write than a map set, or not have room at all? */
static bool set_is_shorter(const struct fusion *fs)
{
	const u32 per_block = FUSION_JOURNAL_PAYLOAD / sizeof(struct fusion_journal_record);

	return READ_ONCE(fs->replica.nr_dirty) / per_block > fs->sb.map_blocks;
}

static int write_replica(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;
	int r = 0;

	rep->nr = 0;
	if (rep->unsure)
		r = write_super(fs);
	if (r)
		return r;
	if (!rep->stale && !set_is_shorter(fs))
		r = log_dirty(fs, rep->keep);
	else
		r = LOG_FULL;
	if (r == LOG_FULL) {
		r = write_set(fs);
		if (!r)
			r = log_dirty(fs, rep->keep);
		/* So much has changed meanwhile: the rest is for the next time. */
		if (r == LOG_FULL) {
			fusion_replica_soon(fs);
			r = 0;
		}
	}
	if (!r)
		r = write_log(fs);
	return r;
}

/*
 * What becomes of an update that has been tried. One that began anew after a failure does not
 * end the growing of the pause: it may have written a set where only the log cannot be written,
 * and the next record would fail again.
 */
static void end_update(struct fusion *fs, int r, bool anew, u64 started)
{
	struct fusion_replica *rep = &fs->replica;
	bool changed;

	if (r) {
		rep->stale = true;
		rep->backoff_ms = clamp(2 * rep->backoff_ms, SOON_MS, MAX_BACKOFF_MS);
	} else if (!anew) {
		rep->backoff_ms = 0;
	}
	end_held(fs, !r);

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
		schedule_update(fs, r ? rep->backoff_ms : interval_ms(fs));
	if (rep->nr_away && !r)
		schedule_update(fs, away_for(fs));
	/* A flush: the committer notes it, unless it is through: see fusion_checkpoint_ask(). */
	if (r && fs->mode != FUSION_RW && !fs->closed)
		fusion_commit_kick(fs);
	fusion_unpark(fs);
	spin_unlock_irq(&fs->lock);

	trace_fusion_replica(fs, rep->log.next_txn, rep->sb.set_generation, r);
	if (!changed)
		return;
	if (r)
		DMERR("%s: replica of the map: can't be written (%d): no promotions",
		      dm_table_device_name(fs->ti->table), r);
	else
		DMINFO("%s: replica of the map: written again",
		       dm_table_device_name(fs->ti->table));
	dm_table_event(fs->ti->table);
}

/* @whole: call nothing away that is not; @now: even after a failure. The mutex is held. */
static int update(struct fusion *fs, bool whole, bool now)
{
	struct fusion_replica *rep = &fs->replica;
	u64 started = fusion_now_ms();
	bool anew = rep->stale;
	int r;

	/* After a failure nobody knows whether what the words point to is durable. */
	if (fusion_mode(fs) != FUSION_RW)
		return -EROFS;
	spin_lock_irq(&fs->lock);
	rep->due_ms = U64_MAX;
	rep->wanted = false;
	if (rep->failed && started < rep->retry_ms && !now) {
		schedule_update(fs, rep->retry_ms - started);
		spin_unlock_irq(&fs->lock);
		return -EIO;
	}
	rep->busy = true;
	rep->cur = !rep->cur;
	spin_unlock_irq(&fs->lock);

	if (rep->nr_away && (whole || !away_for(fs)))
		mark_away(fs);
	r = write_replica(fs);
	WRITE_ONCE(rep->took_ms, fusion_now_ms() - started);
	end_update(fs, r, anew, started);
	return r;
}

int fusion_replica_update(struct fusion *fs, bool whole)
{
	int r;

	mutex_lock(&fs->replica.mutex);
	/* A message may come late: nothing is written after fusion_replica_stop(). */
	r = READ_ONCE(fs->replica.active) ? update(fs, whole, whole) : -EAGAIN;
	mutex_unlock(&fs->replica.mutex);
	return r;
}

/*
 * While the slow member rests, nothing is written for the passing of time alone: another look
 * in a second. What is held stays so, and what is dirty or away; so the replica is older than
 * it may be, but nothing that INV6 and INV7 say of it depends on its age. What somebody waits
 * for is written, and what follows moves, which were not left undone either: some of the extents
 * it calls away may have stayed. An update that has failed is tried again: until it succeeds
 * there are no promotions.
 */
static bool put_off(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;
	bool rests;

	spin_lock_irq(&fs->lock);
	rests = READ_ONCE(fs->slow_asleep) && !rep->wanted && !rep->failed &&
		!READ_ONCE(rep->nr_away) && fusion_mode(fs) == FUSION_RW;
	if (rests) {
		rep->due_ms = U64_MAX;
		schedule_update(fs, SOON_MS);
	}
	spin_unlock_irq(&fs->lock);
	return rests;
}

void fusion_do_replica(struct work_struct *work)
{
	struct fusion *fs = container_of(work, struct fusion, replica.work.work);

	if (!put_off(fs))
		fusion_replica_update(fs, false);
}

/* -- promotions ------------------------------------------------------------------------- */

static void promotions_written(struct bio *bio)
{
	complete(bio->bi_private);
}

/* Say that an extent is away. Return: false if the block is full. */
static bool add_leaving(struct fusion *fs, u32 lext)
{
	struct fusion_replica *rep = &fs->replica;
	struct fusion_record rec = {
		.lext = lext,
		.new = FUSION_WORD_AWAY,
		.old = fusion_word_on_disk(READ_ONCE(fs->map[lext])),
		.op = FUSION_OP_AWAY,
	};

	if (test_bit(lext, rep->away) || !fusion_word_mapped(rec.old) ||
	    fusion_word_dev(rec.old) != FUSION_SLOW)
		return true;
	if (rep->nr_leaving == FUSION_MAX_LEAVING ||
	    !fusion_journal_add(&rep->sb, page_address(rep->log.buf[0]), &rec))
		return false;
	rep->leaving[rep->nr_leaving++] = lext;
	return true;
}

/* Send a block of them on its way, if there is need; after an update the log has room for it. */
static int submit_leaving(struct fusion *fs, const u32 *lexts, unsigned int nr, unsigned int max)
{
	struct fusion_replica *rep = &fs->replica;
	struct fusion_chain *log = &rep->log;
	void *block = page_address(log->buf[0]);
	unsigned int i;
	bool room = true;

	fusion_journal_init(block);
	rep->nr_leaving = 0;
	rep->bio = NULL;
	spin_lock_irq(&fs->lock);
	for (i = 0; i < nr && room; i++)
		room = add_leaving(fs, lexts[i]);
	if (room && rep->nr_leaving)
		for (; i < max && add_leaving(fs, lexts[i]); i++)
			;
	spin_unlock_irq(&fs->lock);
	if (!room || (rep->nr_leaving && !fusion_chain_free(log)))
		return -ENOSPC;
	if (!rep->nr_leaving)
		return 0;
	fusion_note_peer(fs, log, &rep->sb);
	log->prev_csum = fusion_journal_seal(&rep->sb, block, log->next_seq, log->next_txn, 0, 1,
					     log->prev_csum);

	reinit_completion(&rep->written);
	rep->bio = bio_alloc_bioset(fs->dev[FUSION_SLOW]->bdev, 1,
				    REQ_OP_WRITE | REQ_SYNC | REQ_META |
				    fusion_meta_fua(fs, FUSION_SLOW), GFP_NOIO, &fs->meta_bs);
	rep->bio->bi_iter.bi_sector = fusion_journal_blocknr(&rep->sb, log->next_seq) *
				      FUSION_BLOCK_SECTORS;
	rep->bio->bi_end_io = promotions_written;
	rep->bio->bi_private = &rep->written;
	__bio_add_page(rep->bio, log->buf[0], FUSION_BLOCK_SIZE, 0);
	submit_bio(rep->bio);
	return 0;
}

int fusion_replica_promote(struct fusion *fs, const u32 *lexts, unsigned int nr, unsigned int max)
{
	struct fusion_replica *rep = &fs->replica;
	bool full;
	int r;

	mutex_lock(&rep->mutex);
	r = fusion_beat_ready(fs);
	full = fusion_chain_free(&rep->log) <= rep->keep;
	/* What is away makes for something to write, so that there is room then. */
	if (!r && (rep->stale || rep->unsure || full))
		r = update(fs, full, false);
	if (!r)
		r = submit_leaving(fs, lexts, nr, max);
	if (r)
		mutex_unlock(&rep->mutex);
	return r;
}

/* They are on the disk. */
static void end_leaving(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;
	unsigned int i;

	if (!rep->nr_away)
		rep->away_ms = fusion_now_ms();
	for (i = 0; i < rep->nr_leaving; i++)
		if (!__test_and_set_bit(rep->leaving[i], rep->away))
			rep->nr_away++;
	spin_lock_irq(&fs->lock);
	rep->writes++;
	schedule_update(fs, interval_ms(fs));
	spin_unlock_irq(&fs->lock);
}

int fusion_replica_promote_wait(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;
	int r;

	if (!rep->bio)
		return 0;
	wait_for_completion_io(&rep->written);
	r = blk_status_to_errno(rep->bio->bi_status);
	if (!r)
		r = fusion_flush_after(fs, FUSION_SLOW, rep->bio->bi_opf & REQ_FUA);
	bio_put(rep->bio);
	if (r) {
		fusion_rw_failed(fs, &rep->log, true,
				 fusion_journal_blocknr(&rep->sb, rep->log.next_seq), 1, r);
		/* Whatever is there, a new set and a new chain behind it make it right. */
		rep->restart = true;
		end_update(fs, r, false, fusion_now_ms());
		mutex_unlock(&rep->mutex);
		return r;
	}
	rep->log.next_seq++;
	rep->log.next_txn++;
	fusion_note_durable(&rep->log, 0, rep->log.next_seq);
	rep->backoff_ms = 0;
	end_leaving(fs);
	return 0;
}

void fusion_replica_promoted(struct fusion *fs)
{
	mutex_unlock(&fs->replica.mutex);
}

/* -- beginning and end --------------------------------------------------------------------- */

int fusion_replica_epoch(struct fusion *fs, u32 epoch)
{
	struct fusion_replica *rep = &fs->replica;

	rep->next = rep->sb;
	rep->next.epoch = epoch;
	fusion_super_activate(fs, &rep->next);
	rep->next.flags &= ~FUSION_SB_CLEAN;
	rep->next.generation++;
	return write_super(fs);
}

void fusion_replica_start(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;

	rep->restart = true;
	rep->stale = true;
	hold_free_slots(fs);
	spin_lock_irq(&fs->lock);
	WRITE_ONCE(rep->active, true);
	spin_unlock_irq(&fs->lock);
	fusion_replica_update(fs, true);
}

void fusion_replica_pause(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;

	spin_lock_irq(&fs->lock);
	WRITE_ONCE(rep->active, false);
	spin_unlock_irq(&fs->lock);
	cancel_delayed_work_sync(&rep->work);
	/* And that of a message. */
	mutex_lock(&rep->mutex);
	mutex_unlock(&rep->mutex);
}

void fusion_replica_stop(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;
	unsigned int copy;

	if (fs->read_only)
		return;
	mutex_lock(&rep->mutex);
	if (!update(fs, true, true) && !rep->nr_dirty) {
		rep->next = rep->sb;
		rep->next.flags |= FUSION_SB_CLEAN;
		/* Of a closed set either copy is enough: make them the same. */
		for (copy = 0; copy < 2; copy++) {
			rep->next.generation++;
			if (write_super(fs))
				break;
		}
	}
	mutex_unlock(&rep->mutex);
}

int fusion_replica_resume(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;
	int r = 0;

	if (fs->read_only)
		return 0;
	mutex_lock(&rep->mutex);
	if (rep->marked) {
		rep->next = rep->sb;
		rep->next.flags &= ~FUSION_SB_CLEAN;
		rep->next.generation++;
		r = write_super(fs);
	}
	mutex_unlock(&rep->mutex);
	if (r)
		return r;

	spin_lock_irq(&fs->lock);
	rep->due_ms = U64_MAX;
	WRITE_ONCE(rep->active, true);
	if (rep->nr_dirty || rep->nr_held || rep->stale)
		schedule_update(fs, SOON_MS);
	spin_unlock_irq(&fs->lock);
	return 0;
}
