/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: metadata and its order: blocks, flushes, chains, transactions, superblocks, commits
 * and checkpoints, from the bottom to the top.
 */
#ifndef DM_FUSION_METADATA_H
#define DM_FUSION_METADATA_H

#include <linux/bio.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "dm-fusion-codec.h"

struct fusion;

/* Records per transaction at most; a bound for memory and for the ring. */
#define FUSION_TXN_RECORDS	2000U
#define FUSION_NR_TXNS		4U
/* Blocks written with one journal, map or heat bio. */
#define FUSION_BUF_BLOCKS	FUSION_TXN_BLOCKS

/**
 * struct fusion_chain - the journal of a member, or the replica's log
 * @sb: superblock of the member: places, epoch, start of the chain
 * @next_seq: number of the next block
 * @next_txn: number of the next transaction
 * @prev_csum: checksum of block next_seq - 1
 * @durable: how far the superblocks and transactions that this activation has written are known
 *	to be durable. Those found when the set was loaded do not count, as they may be only in
 *	the member's cache. The owner of the other chain reads this, to record it there (INV8).
 * @unsure: number of blocks from @next_seq on whose write has failed: they may be readable, though
 *	not durable
 * @super_unsure: generation of a superblock whose write has failed, or 0
 * @buf: pages for the blocks of the next transaction
 *
 * Belongs to the committer (fs->journal), or to the holder of replica.mutex (the log).
 */
struct fusion_chain {
	struct fusion_sb *sb;
	u64 next_seq;
	u64 next_txn;
	u32 prev_csum;
	struct fusion_progress durable;
	u32 unsure;
	u64 super_unsure;
	struct page *buf[FUSION_BUF_BLOCKS];
};

/**
 * struct fusion_txn - a transaction
 * @list: on fs->txns.free or fs->txns.quarantined
 * @nr: records used; protected by fs->lock while running
 * @rec: the records, MOVE and UNMAP; @rec[].old are the slots to release
 */
struct fusion_txn {
	struct list_head list;
	u32 nr;
	struct {
		u32 lext;
		u32 new;
		u32 old;
		u32 op;
	} rec[FUSION_TXN_RECORDS];
};

/**
 * struct fusion_txns - transactions, and the slots that they release
 * @running: the transaction that takes new records
 * @free: transactions that are not in use
 * @quarantined: committed transactions, whose slots await a drain
 * @max_records: upper bound of records in @running
 * @wait: woken when a transaction is added to @free
 * @reclaim_work: drains, and frees the slots
 * @reclaim_wq: queue of @reclaim_work
 *
 * Lists under fs->lock.
 */
struct fusion_txns {
	struct fusion_txn *running;
	struct list_head free;
	struct list_head quarantined;
	u32 max_records;
	wait_queue_head_t wait;
	struct work_struct reclaim_work;
	struct workqueue_struct *reclaim_wq;
};

/**
 * struct fusion_flush - flushes of the members
 * @mutex: one flush of the slow member, or the old one, at a time
 * @beside_mutex: one of fusion_flush_slow_now() at a time
 * @flushing: such a flush is under way; under fs->lock
 * @beside: one of fusion_flush_slow_now() is; under fs->lock, set with @mutex held as well
 * @lost: a flush of any of them has failed
 * @nr: users' flushes in flight to the fast member; under fs->lock
 * @hold: send no more of these, as during a commit; under fs->lock
 * @wait: woken when @nr falls, and when @beside ends
 * @slow_flushes: number of flushes of the slow member so far
 */
struct fusion_flush {
	struct mutex mutex;	/* see "Locks" in dm-fusion.h, as for the next one */
	struct mutex beside_mutex;
	bool flushing;
	bool beside;
	u32 lost;
	u32 nr;
	bool hold;
	wait_queue_head_t wait;
	u64 slow_flushes;
};

/**
 * struct fusion_committer - commits and checkpoints
 * @waiters: flushes, and completed FUA writes, that the next commit completes
 * @running: a commit is under way
 * @closed: the last checkpoint requested closes the set
 * @started: number of commits started
 * @done: number of commits ended; read without the lock
 * @forced: the highest value of @started that a caller waits for
 * @checkpoint_wanted: number of checkpoints requested
 * @checkpoint_done: number of these served; read without the lock
 * @keep_wanted: number of requests to write fs->kept
 * @keep_done: number of these served; read without the lock
 * @commits: number so far
 * @checkpoints: number so far
 * @whole: the last one that wrote a map copy was not that of an opening, and saved all heat; this
 *	and the next two are the committer's
 * @whole_changes: @map_changes of the device when that began
 * @whole_ms: ktime of then
 * @max_blocks: blocks of the journal that a commit may take
 * @wait: woken when @done, @checkpoint_done or @keep_done changes
 * @work: the committer
 * @wq: queue of @work
 *
 * Protected by fs->lock unless said otherwise.
 */
struct fusion_committer {
	struct bio_list waiters;
	bool running;
	bool closed;
	u64 started;
	u64 done;
	u64 forced;
	u64 checkpoint_wanted;
	u64 checkpoint_done;
	u64 keep_wanted;
	u64 keep_done;
	u64 commits;
	u64 checkpoints;
	bool whole;
	u64 whole_changes;
	u64 whole_ms;
	u32 max_blocks;
	wait_queue_head_t wait;
	struct delayed_work work;
	struct workqueue_struct *wq;
};

/* -- dm-fusion-metaio.c ------------------------------------------------------------------ */

/**
 * fusion_rw_blocks() - read or write metadata blocks of a member
 * @fs: device
 * @chain: says which member; its buffer is used
 * @opf: REQ_OP_READ or REQ_OP_WRITE with flags
 * @blocknr: first block
 * @first: first page of the buffer
 * @nr: blocks, @first + @nr at most FUSION_BUF_BLOCKS
 *
 * Context: process, sleeps; the owner of the chain, or fusion_load() before the committer
 * first runs. Return: 0 or a negative errno.
 */
int fusion_rw_blocks(struct fusion *fs, struct fusion_chain *chain, blk_opf_t opf, u64 blocknr,
		     unsigned int first, unsigned int nr);

/*
 * Read or write one block of a member, or of FUSION_OLD, through @page. Sleeps. Return: 0 or a
 * negative errno; logs nothing.
 */
int fusion_rw_page(struct fusion *fs, unsigned int disk, blk_opf_t opf, u64 blocknr,
		   struct page *page);

/* Log which blocks of a member could not be written or read. Any context. */
void fusion_rw_failed(struct fusion *fs, const struct fusion_chain *chain, bool write, u64 blocknr,
		      unsigned int nr, int r);

/* -- dm-fusion-flush.c ------------------------------------------------------------------- */

/* REQ_FUA for metadata of a member that supports it. Partner of fusion_flush_after(). */
blk_opf_t fusion_meta_fua(const struct fusion *fs, enum fusion_dev dev);

/**
 * fusion_flush_after() - make metadata durable that was written without REQ_FUA
 * @fs: device
 * @dev: member
 * @fua: fusion_meta_fua() of the write
 *
 * Context: process, sleeps; takes flush.mutex. Return: 0 or as fusion_flush_slow().
 */
int fusion_flush_after(struct fusion *fs, enum fusion_dev dev, blk_opf_t fua);

/**
 * fusion_flush_slow() - flush slow and old member, each if it was written since its last flush
 * @fs: device
 *
 * A failed flush may have lost the data that it should have made durable, and a later flush would
 * not report that. So after a failure nothing is committed any more, and this always fails.
 *
 * Context: process, sleeps; takes flush.mutex. Return: 0 or a negative errno; then the mode is
 * RO or worse, or the set is not loaded.
 */
int fusion_flush_slow(struct fusion *fs);

/*
 * Flush the slow member, whether it was written or not; it counts as written afterwards if it did
 * before. For what no flush of users waits for, metadata of its own and blocks that the landing log
 * has as well: fusion_flush_slow() flushes beside it, and has to know how it ended only if it has
 * not ended by then. Context: process, sleeps; takes flush.beside_mutex. Return: as
 * fusion_flush_slow().
 */
int fusion_flush_slow_now(struct fusion *fs);

/*
 * Flush the fast member. Context: process, sleeps. Return: 0 or a negative errno, which is logged.
 */
int fusion_flush_fast(struct fusion *fs);

/**
 * fusion_flushes_ended() - wait for users' flushes that went to the fast member directly
 * @fs: device that is committing, or holds flushes
 *
 * Context: process, sleeps; waits for the member only. Return: 0, or -EIO if a flush has
 * failed, now or before: then data in the member's cache may never become durable.
 */
int fusion_flushes_ended(struct fusion *fs);

/**
 * fusion_flush_before() - make data durable before metadata that points to it
 * @fs: device
 * @chain: journal or log that the metadata belongs to
 * @preflush: set to REQ_PREFLUSH if the write itself must flush
 *
 * Context: process, sleeps. Return: 0 or a negative errno.
 */
int fusion_flush_before(struct fusion *fs, const struct fusion_chain *chain,
			blk_opf_t *preflush);

/* -- dm-fusion-chain.c ------------------------------------------------------------------- */

/* Allocate the buffer of a chain, or free it. */
int fusion_chain_init(struct fusion_chain *chain, struct fusion_sb *sb);
void fusion_chain_exit(struct fusion_chain *chain);

/**
 * fusion_chain_write() - write a transaction
 * @fs: device
 * @chain: journal or log; its position advances on success
 * @nr: blocks packed in @chain->buf
 *
 * The member is flushed first. Context: process, sleeps. Return: 0 or a negative errno.
 */
int fusion_chain_write(struct fusion *fs, struct fusion_chain *chain, unsigned int nr);

/*
 * The journal's part of fusion_settle_failed(). Return: 0, also if nothing may be written, or a
 * negative errno, logged.
 */
int fusion_chain_settle(struct fusion *fs);

/*
 * Record in @sb how far the other member has got. @sb is about to be written, or to seal blocks of
 * @chain's member. Context: as of @chain.
 */
void fusion_note_peer(struct fusion *fs, const struct fusion_chain *chain, struct fusion_sb *sb);

/* A superblock, or the journal up to @next_seq, is durable. Context: as of @chain. */
static inline void fusion_note_durable(struct fusion_chain *chain, u64 generation, u64 next_seq)
{
	/*
	 * The other chain's owner reads these. They need no ordering, as no other data depends on
	 * them.
	 */
	WRITE_ONCE(chain->durable.generation, max(chain->durable.generation, generation));
	WRITE_ONCE(chain->durable.seq, max(chain->durable.seq, next_seq));
}

/* Blocks of the ring that are in use; blocks that are free. */
static inline u32 fusion_chain_used(const struct fusion_chain *chain)
{
	return READ_ONCE(chain->next_seq) - READ_ONCE(chain->sb->replay_seq);
}

static inline u32 fusion_chain_free(const struct fusion_chain *chain)
{
	return chain->sb->journal_blocks[chain->sb->role] - fusion_chain_used(chain);
}

/* -- dm-fusion-txn.c --------------------------------------------------------------------- */

int fusion_txns_init(struct fusion *fs);
void fusion_txns_exit(struct fusion *fs);

/* Does the running transaction have room for @nr more records? fs->lock held. */
bool fusion_log_room(const struct fusion *fs, u32 nr);

/* Record a change of the map. fs->lock held, fusion_log_room() was checked. */
void fusion_log(struct fusion *fs, u32 lext, u32 new, u32 old, enum fusion_op op);

/*
 * Unmap an extent whose word is @old, and record it. fs->lock held, fusion_log_room() was
 * checked. Return: false if the word has changed; then nothing is done.
 */
bool fusion_log_unmap(struct fusion *fs, u32 lext, u32 old);

/* Take a free transaction off the list, or return NULL. Takes fs->lock itself. */
struct fusion_txn *fusion_txn_get(struct fusion *fs);

/* Drain, then free the slots of the transactions committed before, and unpark. */
void fusion_do_reclaim(struct work_struct *work);

/* -- dm-fusion-super.c ------------------------------------------------------------------- */

/**
 * fusion_super_read() - find the newest valid superblock of a disk
 * @fs: device; only fs->dev is used
 * @disk: member, or FUSION_OLD
 * @role: the member that it has to be, or to have been
 * @sb: result
 * @single: unless NULL, set to true if the other copy is damaged or not the previous generation
 * @why: reason for an error
 *
 * Context: process, sleeps. Return: 0, an error of fusion_sb_unpack(), or -EIO.
 */
int fusion_super_read(struct fusion *fs, unsigned int disk, enum fusion_dev role,
		      struct fusion_sb *sb, bool *single, const char **why);

/*
 * Read the copy of a superblock that is not @sb, while a set is being loaded: the first page of the
 * journal is overwritten. Return: false if it is not valid, or not older.
 */
bool fusion_super_other(struct fusion *fs, const struct fusion_sb *sb, struct fusion_sb *other);

/**
 * fusion_super_settle() - make the superblocks of a closed set durable that were found
 * @fs: device that is being loaded; both members have been flushed
 *
 * The write of a superblock may have failed, and still be read from the cache of the disk. No flush
 * covers it then, and the next superblock would overwrite the other copy, the last one that is
 * durable. So each that was not seen to be durable is written again where it is, while the other
 * copy is valid: of the fast member the last one of a close, of the slow member one that is newer
 * than what the closed fast member has seen.
 *
 * A set that was not closed needs none of it after a power cut: what is read then is durable. After
 * a failure there was fusion_settle_failed().
 *
 * Context: process, sleeps; nothing else uses the set. Return: 0 or a negative errno, logged.
 */
int fusion_super_settle(struct fusion *fs);

/**
 * fusion_settle_failed() - make durable what can be read of a write that has failed
 * @fs: device that is being closed, or could not be loaded
 *
 * The next activation goes on behind the journal that it finds, and overwrites the other copy of
 * the superblock that it finds. Both must be durable then. If the last transaction were not, a
 * power cut during the opening would leave a gap; if a superblock were not, no superblock. What was
 * seen to be written is durable, or becomes so by a flush after a reset. But what the disk returns
 * of a write that failed may be in its cache alone. It may count that as clean, so that no later
 * flush covers it: as the page cache does beneath a loop device, or beneath that of a virtual
 * machine.
 *
 * Only the activation that saw the failure can mend that, and has to, before another one opens the
 * set: nobody was told that this transaction or superblock is durable, so it may be written where
 * it is. An opening cannot tell it from one that users rely on. If power fails during a write, the
 * disk may return an error for that place, and the last transaction that it acknowledged would be
 * gone.
 *
 * What is written was ordered behind all that it depends on when it was tried first, and may have
 * got onto the disk then, so nothing new can come of it. If it fails again, which is logged, the
 * disk is likely to fail the opening as well. If the set has no heartbeat, nothing is written.
 *
 * Context: process, sleeps; committer and replica are at rest.
 */
void fusion_settle_failed(struct fusion *fs);

/* Record the activation that begins in @sb, of either member. */
void fusion_super_activate(struct fusion *fs, struct fusion_sb *sb);

/*
 * Write a superblock to its copy on its member, with the progress of the other member and the time.
 * Uses the first page of @chain's buffer.
 */
int fusion_super_write(struct fusion *fs, struct fusion_chain *chain, struct fusion_sb *sb);

/*
 * Write fs->sb_next, of the next generation, and use it from then on. Context: as of
 * fusion_super_flags(). Return: 0 or a negative errno.
 */
int fusion_super_write_next(struct fusion *fs);

/*
 * Write the superblock again, only to set and clear flags or to store changed settings. Nothing is
 * written if it has them already. Context: the committer, or while it is at rest.
 */
int fusion_super_flags(struct fusion *fs, u32 set, u32 clear);

/* Write the superblock again, to the other copy. As fusion_super_write_next(). */
int fusion_super_again(struct fusion *fs);

/*
 * Write the superblock of a closed set once more, after that of the slow member. Either copy is
 * then enough for a closed set, and this one records that the slow member was closed as well
 * (INV8). Context: the committer is at rest. If the write fails, the mode is RO.
 */
void fusion_super_repeat(struct fusion *fs);

/* -- dm-fusion-journal.c ----------------------------------------------------------------- */

int fusion_journal_init_state(struct fusion *fs);
void fusion_journal_exit_state(struct fusion *fs);

/* Wait for a commit of everything recorded so far. Return: 0 or -EIO. Context: sleeps. */
int fusion_commit_wait(struct fusion *fs);

/* Does a caller or a bio wait for a commit or, unless @urgent, is there anything to commit? */
bool fusion_commit_needed(struct fusion *fs, bool urgent);

/* Commit if a caller or a bio waits for it and the ring has room. Context: the committer. */
int fusion_commit_urgent(struct fusion *fs);

/*
 * Commit now; @always writes a transaction even if it is empty. Context: the committer.
 * Return: 0 or a negative errno; then the mode is RO.
 */
int fusion_commit(struct fusion *fs, bool always);

/* -- dm-fusion-checkpoint.c -------------------------------------------------------------- */

/*
 * Ask for a checkpoint; @clean also marks the set closed, until it is resumed.
 * Return: the value that fs->commit.checkpoint_done reaches when the checkpoint is over, to wait
 * for on fs->commit.wait; or 0: the set is closed.
 */
u64 fusion_checkpoint_ask(struct fusion *fs, bool clean);

/* Ask for a checkpoint and wait for it. Sleeps. Return: 0, -EIO, or -EAGAIN: set is closed. */
int fusion_checkpoint_wait(struct fusion *fs, bool clean);

/*
 * Write NEEDS_CHECK if mode RW has ended, for any reason, and it is not written yet. If the write
 * always fails, the next activation finds the fault by itself. Context: the committer, or while it
 * is at rest; after a seal, when it writes nothing, the worker that closes the set. What fails
 * after that is noted nowhere: all that was acknowledged is durable by then.
 */
void fusion_note_mode(struct fusion *fs);

void fusion_do_commit(struct work_struct *work);

#define FUSION_NO_HEAT	U32_MAX

/*
 * Write a checkpoint. @epoch is a new one when a set is loaded. @clean marks the set closed.
 * Heat is saved from block @heat_from on, which may be FUSION_NO_HEAT. Context: the committer.
 */
int fusion_checkpoint(struct fusion *fs, u32 epoch, bool clean, u32 heat_from);

/* Where a transaction begins: its first block, its number, and the checksum of the block before. */
struct fusion_txn_at {
	u64 seq;
	u64 txn;
	u32 csum;
};

/*
 * Of a set that is being loaded: write a map copy, and have the superblock name @first as where to
 * replay from. From there on the journal has all that the map copy lacks. Return: 0 or a negative
 * errno.
 */
int fusion_checkpoint_skip(struct fusion *fs, const struct fusion_txn_at *first);

#endif
