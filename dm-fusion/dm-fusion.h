/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: one block device of a fast and a slow one, of summed capacity.
 *
 * How it works
 * ------------
 *
 * The device is divided into extents. A table in memory holds one word for each
 * logical extent (lext): its state, the member it lies on, its slot there. map()
 * loads that word without a lock and sends the bio on. All that is not such a
 * plain hit goes to one ordered worker (dm-fusion-io.c).
 *
 * States of an extent (the state table; U is unmapped)
 *
 *	from     to       by              when
 *	U        OPEN     worker          first write: a slot is allocated
 *	OPEN     STABLE   committer       all blocks valid and STABLE record durable
 *	OPEN     U        worker          whole extent discarded, no write in flight
 *	STABLE   COPYING  mover           chosen for migration
 *	COPYING  STABLE   map(), worker   a write arrived: the copy is worthless
 *	COPYING  LOCKED   mover           copy done; writes wait from here on
 *	STABLE   LOCKED   mover           cancelled too often: copy with writes held
 *	LOCKED   STABLE   committer       MOVE record durable: now in the new slot
 *	LOCKED   STABLE   mover           copy failed: still in the old slot
 *	LOCKED   LOCKED   committer       MOVE record failed, perhaps: mode is RO, no writes
 *	STABLE,
 *	COPYING  U        worker          whole extent discarded
 *
 * A STABLE word in memory therefore always has a durable mapping: FUA writes and
 * flushes of STABLE extents need no commit.
 *
 * Epochs and the drain (dm-fusion-map.c)
 *
 * A bio that goes to a slot holds one of two percpu references, that of the epoch
 * in which it loaded the map word. To know that nobody uses an older word any
 * more, the drain flips the epoch and waits for the references of the old one.
 * Nothing is blocked meanwhile. Parked and deferred bios hold no reference, so a
 * drain depends on the members only, never on a commit.
 *
 * Commit (dm-fusion-journal.c)
 *
 * Changes of the map are recorded in the running transaction under fs->lock, in
 * the same critical section that changes the word (MOVE excepted: its word
 * changes when the record is durable). The committer swaps the transaction,
 * snapshots the bitmaps of OPEN extents, flushes the slow member if it must, and
 * writes the journal with PREFLUSH | FUA. Slots released by a transaction are
 * quarantined with it: they become free only after its commit and a drain that
 * began after that.
 *
 * Replica (dm-fusion-replica.c)
 *
 * The slow member carries a copy of the map, for the day the fast one is lost. It is
 * written in the background, and nobody who writes or flushes waits for it, but for a first
 * write that finds no slot, in fs->parked. Slow slots that were released are held, after
 * their quarantine, until the replica durably does not name them (INV6); a promotion is
 * recorded there before it takes effect (INV7).
 *
 * Invariants
 * ----------
 *
 * INV1  A durable map never points to a slot whose content was not flushed before.
 * INV2  No slot is reused before its release is durable and drained, nor while it is being
 *	 discarded.
 * INV3  No two lexts share a slot.
 * INV4  A flush is acknowledged only when the data on both members, and the map
 *       that finds it, are durable.
 * INV5  Every number read from disk is bounded before use (dm-fusion-codec.c).
 * INV6  No slow slot is given to another extent while the durable replica names it.
 * INV7  The durable replica does not say slow of an extent whose durable map says fast,
 *	 unless it does not know yet of a first write or discard.
 * INV8  What the metadata of a member says of how far the other one has got was durable
 *	 there before: so a member that has not got that far is from the past, and the set
 *	 is not loaded.
 *
 * Locks
 * -----
 *
 * replica.mutex		one update of the replica at a time; the mover holds it from the
 *			beginning of a batch with promotions until their commit has ended
 *   fs->drain_mutex	one drain at a time
 *   fs->flush_mutex	one flush of the slow member at a time: who finds it clean need not
 *			wonder whether the flush that made it so has ended
 *     fs->lock		spinlock, irq-safe: slots, transactions, OPEN extents, lists
 *			of bios, what the replica has to learn; taken by end_io only for
 *			OPEN extents
 * fusion_claims.lock	spinlock, by itself: which devices work on which members
 *
 * Whatever writes to a member has a look at fs->gate first, and waits for the heartbeat if it is
 * shut; that waits for the fast member only (dm-fusion-beat.c).
 *
 * Map words are written under fs->lock, except COPYING -> STABLE and the mover's
 * steps, which are cmpxchg() and may happen without it; so holders of fs->lock
 * use cmpxchg() on STABLE and COPYING words too.
 *
 * Work items: deferred_work (ordered), commit_work (ordered), move_work (ordered),
 * reclaim_work, replica_work. The mover may wait for a commit, a drain and the replica;
 * the committer may wait for a drain, in reclaim_work (when all transactions await one), and
 * for users' flushes that the fast member is at;
 * the worker waits for memory pools only; replica_work for commits; the works of discards for
 * the members, and first writes and the mover for these, if there are no other slots; nobody
 * waits for the mover but presuspend and messages, and nobody who serves a bio waits for
 * the replica.
 */
#ifndef DM_FUSION_H
#define DM_FUSION_H

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/completion.h>
#include <linux/device-mapper.h>
#include <linux/dm-io.h>
#include <linux/dm-kcopyd.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/percpu-refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "dm-fusion-codec.h"
#include "dm-fusion-policy.h"

#define DM_MSG_PREFIX "fusion"

/* Records per transaction at most; a bound for memory and for the ring. */
#define FUSION_TXN_RECORDS	2000U
#define FUSION_NR_TXNS		4U
/* Blocks written with one journal, map or heat bio. */
#define FUSION_BUF_BLOCKS	FUSION_TXN_BLOCKS
#define FUSION_MAX_OPEN		4096U
#define FUSION_OPEN_HASH_BITS	10
/* Zero-fills of OPEN extents under way at a time. */
#define FUSION_MAX_FILLS	8U
#define FUSION_NO_EPOCH		0xff

enum fusion_mode {
	FUSION_RW,		/* as it should be */
	FUSION_RO,		/* opened read-only, or metadata could not be written */
	FUSION_FAIL,		/* not loaded */
};

/* Settings in effect: see dm-fusion-settings.h. */
struct fusion_options {
	u32 migration;		/* 0 or 1, as the next */
	u32 discard_passdown;
	u32 reserve;		/* extents; 0: default */
	u32 half_life;		/* seconds; 0: by the size of the fast member */
	u32 duty;		/* percent */
	u32 idle;		/* ms */
	u32 commit_interval;	/* ms */
	u32 replica_interval;	/* seconds */
	u32 standby;		/* seconds; 0: off */
	u32 write_budget;	/* GB a day; 0: off */
};

/* Settings as the superblocks keep them: a bit of the mask for each that counts. */
struct fusion_kept {
	u32 mask;
	u32 value[FUSION_NR_SETTINGS];
};

/* Counters; per CPU, because map() may not share a cache line. */
struct fusion_stats {
	u64 ios[FUSION_NR_DEVS][2];	/* [dev][is write] */
	u64 done[FUSION_NR_DEVS];	/* of these, completed */
	u64 unweighed;			/* accesses that count for nothing: streams */
	u64 errors[FUSION_NR_DEVS];	/* what a member has failed, of users or moves */
	struct fusion_streams streams;
};

/* Sums of these, and when they were taken. */
struct fusion_look {
	u64 us;
	u64 ios[FUSION_NR_DEVS];
	u64 done[FUSION_NR_DEVS];
	u64 unweighed;
};

/**
 * struct fusion_txn - a transaction
 * @list: on fs->free_txns or fs->quarantined
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
 * struct fusion_open - an OPEN extent
 * @hash: in fs->open_hash, by @lext
 * @lru: on fs->open_lru, oldest first, or on fs->open_free
 * @dirty_node: on fs->open_dirty if @dirty
 * @parked: bios that wait for the end of an exclusive operation
 * @ready_node: on fs->open_ready while @excl is set and not @running and no writer is left
 * @excl_bio: the bio that asked for exclusiveness, NULL if it is a zero-fill
 * @fs: device
 * @lext: logical extent
 * @word: its OPEN word
 * @writers: writes in flight
 * @nr_valid: bits set in @bitmap
 * @zero_first: first block being zeroed
 * @zero_nr: number of blocks being zeroed
 * @zero_retried: the member could not do it at first: it may not know WRITE ZEROES
 * @zero_failed: the member could not do it
 * @fill_failed: so a zero-fill has ended, which fusion_open_fill() has not told yet
 * @dirty: changed since it was last put into a transaction
 * @closing: a STABLE record is being committed; the bitmap must stay full
 * @closed: no longer in the hash; freed when @writers drops to 0
 * @excl: an exclusive operation is waiting for @writers == 0, or running
 * @running: it runs
 * @bitmap: valid blocks, little endian as on disk
 *
 * All protected by fs->lock.
 */
struct fusion_open {
	struct hlist_node hash;
	struct list_head lru;
	struct list_head dirty_node;
	struct bio_list parked;
	struct list_head ready_node;
	struct bio *excl_bio;
	struct fusion *fs;
	u32 lext;
	u32 word;
	u32 writers;
	u32 nr_valid;
	u16 zero_first;
	u16 zero_nr;
	bool zero_retried : 1;
	bool zero_failed : 1;
	bool fill_failed : 1;
	bool dirty : 1;
	bool closing : 1;
	bool closed : 1;
	bool excl : 1;
	bool running : 1;
	unsigned long *bitmap;
};

/* The bios that loaded their map word in one epoch. */
struct fusion_epoch {
	struct percpu_ref ref;
	struct completion drained;	/* @ref has gone to zero after it was killed */
};

/**
 * struct fusion_chain - the journal of a member, or the replica's log
 * @sb: superblock of the member: places, epoch, start of the chain
 * @next_seq: number of the next block
 * @next_txn: number of the next transaction
 * @prev_csum: checksum of block next_seq - 1
 * @durable: what this activation has written of superblocks and transactions, and knows to be
 *	durable; what was found is not, as it may be in the member's cache only. The other
 *	chain's owner reads it, to say so there (INV8).
 * @buf: for the blocks of the next transaction
 *
 * Belongs to the committer (fs->journal), or to who holds replica.mutex.
 */
struct fusion_chain {
	struct fusion_sb *sb;
	u64 next_seq;
	u64 next_txn;
	u32 prev_csum;
	struct fusion_progress durable;
	struct page *buf[FUSION_BUF_BLOCKS];
};

/* Most extents that the replica is told of at once to be away: a block has room for them. */
#define FUSION_MAX_LEAVING	128U

/**
 * struct fusion_replica - the copy of the map on the slow member
 * @mutex: held by who writes it
 * @log: its log; @log.sb is @sb
 * @sb: the slow member's superblock, as it was last written
 * @next: the one being written
 * @unsure: @next could not be written, or perhaps it could
 * @marked: the one on the disk says CLEAN, or may
 * @restart: where the chain of the log ends is not known: it was not replayed, or a write failed
 * @found_seq: no valid block was found in the log from here on when the set was loaded
 * @stale: what it says is not all known: it takes a whole map set to put that right
 * @nr: blocks in @log.buf, the last one open for records
 * @keep: blocks of the log kept free for OPEN extents and promotions
 * @away: extents that the log says to be away
 * @nr_away: bits set in @away
 * @away_ms: ktime since when some are
 * @bio: a block that says so of more being written; NULL: there was no need
 * @written: it ended
 * @leaving: the extents in that block
 * @nr_leaving: their number
 * @took_ms: how long the last update took
 * @backoff_ms: pause after the last failure; 0 once the log was written after that
 *
 * Protected by fs->lock:
 * @active: updates are wanted
 * @busy: an update is under way
 * @wanted: the next update does not wait until the slow member is used again
 * @failed: the last update was not successful
 * @tried_ms: ktime when it ended
 * @retry_ms: ktime before which it is not tried again, if it failed and nobody insists
 * @cur: which of @held takes new slots; the other one is what the update under way frees
 * @held: slow slots that are not used but may be named by the replica
 * @nr_held: bits set in both
 * @dirty: extents whose words, or bitmaps, are not those of the replica
 * @nr_dirty: bits set in @dirty
 * @since_ms: ktime since when some are, 0: never
 * @due_ms: ktime for which @work is queued, or U64_MAX
 * @writes: transactions written
 * @sets: map sets written
 * @errors: updates, and records of promotions, that failed
 */
struct fusion_replica {
	struct mutex mutex;	/* see "Locks" above */
	struct fusion_chain log;
	struct fusion_sb sb;
	struct fusion_sb next;
	bool unsure;
	bool marked;
	bool restart;
	u64 found_seq;
	bool stale;
	unsigned int nr;
	u32 keep;
	unsigned long *away;
	u32 nr_away;
	u64 away_ms;
	struct bio *bio;
	struct completion written;
	u32 leaving[FUSION_MAX_LEAVING];
	unsigned int nr_leaving;
	u32 took_ms;
	u32 backoff_ms;

	bool active;
	bool busy;
	bool wanted;
	bool failed;
	u64 tried_ms;
	u64 retry_ms;
	u8 cur;
	unsigned long *held[2];
	u32 nr_held;
	unsigned long *dirty;
	u32 nr_dirty;
	u64 since_ms;
	u64 due_ms;
	u64 writes;
	u64 sets;
	u64 errors;
	struct delayed_work work;
	struct workqueue_struct *wq;
};

/**
 * struct fusion_discards - the slots of a member that it has to be told to be free
 * @fs: device
 * @dev: member
 * @at: slot from which on to look for the next; the worker's
 * @turn: word of the bitmap from which on slots are added in turn; the worker's of bios
 * @work: discards some
 * @wq: its queue
 *
 * Protected by fs->lock:
 * @todo: a bit for each of these slots, which are free, or held for the replica
 * @nr: bits set in @todo
 * @in_flight: slots taken for a discard that is under way
 * @active: there may be more of these
 */
struct fusion_discards {
	struct fusion *fs;
	enum fusion_dev dev;
	u32 at;
	u32 turn;
	struct delayed_work work;
	struct workqueue_struct *wq;

	unsigned long *todo;
	u32 nr;
	u32 in_flight;
	bool active;
};

/* Per bio. */
struct fusion_io {
	struct fusion_open *open;	/* OPEN extent written to */
	u32 lext;			/* if @whole: next extent to unmap */
	u32 errors;			/* if it waits: as many as there were when it began to */
	u16 first;			/* sectors in the extent, of an OPEN write */
	u16 nr;
	u8 epoch;			/* reference held, or FUSION_NO_EPOCH */
	u8 dev;
	bool whole : 1;			/* discard or write-zeroes of whole extents */
	bool fua : 1;			/* complete only after a commit */
	bool flush : 1;			/* counted in fs->nr_flushes */
	bool waits : 1;			/* for the replica to free a slot */
	bool crowded : 1;		/* waits for a struct fusion_open */
};

/* Rest of a member on which idle time could not complete an extent. */
struct fusion_fill_pause {
	u64 until_ms;
	u32 ms;
	bool tried;			/* and not failed since */
};

/* What keeps a move on request from getting room. */
enum fusion_obstacle {
	FUSION_NO_OBSTACLE,
	FUSION_RANGE_FILLS,		/* the member is full of extents that are to stay there */
	FUSION_VICTIMS_BUSY,		/* extents that should leave could not be moved */
	FUSION_NO_SPARE,		/* the other member has no slot left, not even a spare */
};

/* A range to be moved on request. */
struct fusion_force {
	struct list_head list;		/* on fs->forced, under fs->lock */
	struct completion done;
	u32 next;
	u32 last;
	enum fusion_dev to;
	u32 moved;
	u32 already;
	u32 unmapped;
	u32 failed;
	struct fusion_victims victims;	/* the mover's: what makes room */
	u32 next_victim;
	u32 vain;			/* times that no victim could be moved, in a row */
	enum fusion_obstacle obstacle;	/* no room can be made any more */
	bool abandoned;			/* the one who asked was interrupted */
	int result;
};

/* A set's place among those that share its members; under fusion_claims.lock. */
struct fusion_claim {
	struct list_head node;		/* on fusion_claims.loaded, from the first claim on */
	bool held;			/* written for whom it belongs to only */
	bool overtaken;			/* another one has held it since */
};

/**
 * struct fusion_heart - the heartbeat: see dm-fusion-beat.c
 * @host_id: this machine
 * @host_given: as the table line says
 * @insist: take the set from a machine that has it open
 * @page: for all I/O of it; belongs to @work, or to who opens or closes the set
 * @sb: scratch, of the same
 * @own: the block as it was last written, or was found
 * @prev: the one before
 * @unsure: @own could not be written, or perhaps it could
 * @seen: the block as another machine has written it
 * @unread: when the set was looked at it could not be read
 * @overdue: it was taken after a beat or claim that came late
 * @taking: what there was to do to take the set
 * @before_gen: generations of the superblocks when the set was loaded
 * @open_time: when this activation began, seconds since 1970
 * @fresh: the lease is that of a first beat
 * @fresh_ms: when that was written
 * @why: the reason of the mode
 * @beats: blocks written
 *
 * Protected by fs->lock:
 * @pass: writes may pass, until @lease_ms
 * @lease_ms: boottime of the end of the lease
 * @frozen: the system goes to sleep: each write looks at the clock
 * @beating: the set is taken, and not closed
 * @begun: the superblock says so
 * @resting: no beats
 * @wanted: somebody waits for the next one
 * @lost: another machine has the set now
 * @failed: the block could not be read or written
 * @wrote: the module has written something since the last look; set without the lock
 * @writes: bios that wrote, at the last look
 * @used_ms: when something was written for the last time
 * @late: leases that ended before the next one
 */
struct fusion_heart {
	u8 host_id[16];
	bool host_given;
	bool insist;
	struct page *page;
	struct fusion_sb sb;
	struct fusion_beat own;
	struct fusion_beat prev;
	bool unsure;
	struct fusion_beat seen;
	bool unread;
	bool overdue;
	enum fusion_taking taking;
	u64 before_gen[FUSION_NR_DEVS];
	u64 open_time;
	bool fresh;
	u64 fresh_ms;
	char why[160];
	u64 beats;

	bool pass;
	u64 lease_ms;
	bool frozen;
	bool beating;
	bool begun;
	bool resting;
	bool wanted;
	bool lost;
	bool failed;
	bool wrote;
	u64 writes;
	u64 used_ms;
	u64 late;

	wait_queue_head_t wait;
	struct delayed_work work;
	struct delayed_work gate_work;
	struct workqueue_struct *wq;
	struct workqueue_struct *gate_wq;
};

struct fusion {
	/* read by map(), rarely written */
	u32 *map;
	struct fusion_policy *policy;
	struct fusion_stats __percpu *stats;
	struct dm_dev *dev[FUSION_NR_DEVS];
	sector_t base[FUSION_NR_DEVS];	/* sector of slot 0 */
	unsigned int shift;		/* log2 of sectors per extent */
	u8 gate;			/* mode is not RW, or writes wait for the heartbeat */
	u8 mode;			/* enum fusion_mode; see fusion_set_mode() */
	u8 epoch;			/* 0 or 1 */
	u32 slow_dirty;			/* slow member written since its last flush began */
	struct fusion_epoch epochs[2];

	struct dm_target *ti;
	struct fusion_options opt;	/* changed under lock, read without */
	u32 opt_table;			/* what the table line gave, a bit for each; under lock */
	struct fusion_kept kept;	/* what the next superblock has; under lock */
	struct fusion_sb sb;		/* geometry: constant; state: committer's */
	bool epochs_ready;
	bool loaded;
	bool read_only;			/* opened so: nothing was ever written */
	int load_error;
	char unknown[FUSION_UNKNOWN_TEXT];	/* of a superblock that was refused */
	bool needs_check;
	struct fusion_claim claim;	/* dm-fusion-claim.c */
	u32 half_life_changed;		/* tell the policy, in its own thread */

	spinlock_t lock;		/* see "Locks" above */

	/* slots, dm-fusion-alloc.c, under lock */
	unsigned long *used[FUSION_NR_DEVS];	/* a bit per slot, reserved ones set */
	u32 nr_free[FUSION_NR_DEVS];
	u32 cursor[FUSION_NR_DEVS];
	u32 nr_mapped;
	u32 nr_quarantined;

	/* discards of free slots, dm-fusion-discard.c */
	struct fusion_discards discards[FUSION_NR_DEVS];
	bool hold_discards;		/* the mover needs slots: take none; under lock */
	wait_queue_head_t discard_wait;	/* for no discards[].in_flight */

	/* transactions, dm-fusion-journal.c, under lock */
	struct fusion_txn *running;
	struct list_head free_txns;
	struct list_head quarantined;	/* committed, slots await a drain */
	u32 max_records;
	struct bio_list waiters;	/* flushes, and FUA writes done, of the next commit */
	struct bio_list parked;		/* bios for another look: fusion_park() */
	bool committing;
	bool closed;			/* the last checkpoint wanted closes the set */
	u64 commit_started;		/* counts commits */
	u64 commit_done;		/* of these, ended; read without the lock */
	u64 commit_forced;		/* commit_started someone waits for */
	u64 checkpoint_wanted;		/* counts requests */
	u64 checkpoint_done;		/* of these, served; read without the lock */
	u64 keep_wanted;		/* counts requests to write @kept */
	u64 keep_done;			/* of these, served; read without the lock */
	u64 commits;
	u64 checkpoints;
	wait_queue_head_t commit_wait;
	wait_queue_head_t txn_wait;	/* for a free transaction */
	wait_queue_head_t fill_wait;	/* for nr_fills == 0 */
	struct delayed_work commit_work;
	struct workqueue_struct *commit_wq;

	/* committer only */
	struct fusion_chain journal;
	u32 max_commit_blocks;
	struct fusion_sb sb_next;	/* scratch of checkpoint and load */
	u64 activation;			/* random number of this one */
	u64 slow_flushes;

	struct fusion_heart heart;		/* dm-fusion-beat.c */

	struct notifier_block reboot_nb;	/* dm-fusion-reboot.c */
	struct notifier_block pm_nb;

	struct fusion_replica replica;	/* dm-fusion-replica.c */

	/* OPEN extents, dm-fusion-open.c, under lock */
	struct hlist_head open_hash[1 << FUSION_OPEN_HASH_BITS];
	struct list_head open_lru;
	struct list_head open_free;
	struct list_head open_dirty;
	struct fusion_open *opens;	/* max_open of them */
	void *bitmaps;
	u32 max_open;
	u32 nr_open;
	u32 nr_full;			/* full, and not yet in a commit */
	u32 fills_failed;		/* zeroing, so far */
	struct fusion_fill_pause fill_pause[FUSION_NR_DEVS];
	u32 nr_fills;

	/* deferred bios, dm-fusion-io.c, under lock */
	struct bio_list deferred;
	struct list_head open_ready;	/* OPEN extents whose exclusive operation can start */
	struct work_struct deferred_work;
	struct workqueue_struct *deferred_wq;
	struct bio_set bs;		/* clones of reads with holes */
	struct bio_set meta_bs;		/* metadata: the committer must not wait for users' bios */

	/* drain, dm-fusion-map.c */
	struct mutex drain_mutex;

	/* flushes, dm-fusion-journal.c */
	struct mutex flush_mutex;
	bool slow_flushing;		/* the slow member is being flushed; under lock */
	u32 flush_lost;			/* a flush of either member has failed */
	u32 nr_flushes;			/* users' flushes the fast member is at; under lock */
	bool hold_flushes;		/* no more of these, as during a commit; under lock */
	wait_queue_head_t flush_wait;	/* for nr_flushes == 0 */
	struct work_struct reclaim_work;
	struct workqueue_struct *reclaim_wq;

	/* a suspend that takes long, dm-fusion-target.c */
	struct delayed_work wait_work;
	struct workqueue_struct *wait_wq;

	/* migration, dm-fusion-migrate.c */
	struct dm_kcopyd_client *kcopyd;
	struct delayed_work move_work;
	struct workqueue_struct *move_wq;
	struct list_head forced;
	bool stopping;
	u64 opened_ms;			/* ktime of activation, for the policy's clock */
	struct fusion_look look;	/* the last one */
	bool look_usable;		/* no batch since */
	u64 last_busy_ms;
	u64 next_batch_ms;		/* earliest, while there is foreground I/O */
	u64 waited_us;			/* for the replica, in the batch under way */
	u32 queue;			/* foreground I/Os at the slow member, summed over looks */
	u32 queue_looks;
	u64 slow_ios;			/* sum of the slow member's stats at the last look */
	u64 slow_used_ms;		/* ktime of the look that found it changed */
	s64 budget;			/* bytes that promotions may write now; negative: a debt */
	u64 budget_ms;			/* ktime when it was last refilled */
	u64 copied_fast;		/* extents copied to the fast member */
	bool slow_asleep;		/* nobody has used it for opt.standby: let it rest */
	u64 promotions;
	u64 demotions;
	u64 cancelled;
	u32 in_flight;
	u32 nr_retired;			/* slots lost to write errors */
	struct {
		u32 lext;
		u8 nr;
	} cancels[64];
};

static inline u32 fusion_lext(const struct fusion *fs, sector_t sector)
{
	return sector >> fs->shift;
}

static inline sector_t fusion_offset(const struct fusion *fs, sector_t sector)
{
	return sector & (((sector_t)1 << fs->shift) - 1);
}

static inline sector_t fusion_word_sector(const struct fusion *fs, u32 word)
{
	return fs->base[fusion_word_dev(word)] +
	       ((sector_t)fusion_word_slot(word) << fs->shift);
}

static inline struct fusion_io *fusion_io(struct bio *bio)
{
	return dm_per_bio_data(bio, sizeof(struct fusion_io));
}

static inline u64 fusion_now_ms(void)
{
	return ktime_to_ms(ktime_get());
}

static inline enum fusion_mode fusion_mode(const struct fusion *fs)
{
	return READ_ONCE(fs->mode);
}

/* Has an error made it read-only? */
static inline bool fusion_stopped(const struct fusion *fs)
{
	return fusion_mode(fs) == FUSION_RO && !fs->read_only;
}

/* dm-fusion-target.c */

/**
 * fusion_set_mode() - degrade the device
 * @fs: device
 * @mode: new mode; a better one than the present is ignored
 * @why: for the log
 *
 * Parked bios get another look, and fail. Context: process, sleeps; raises a dm event.
 */
void fusion_set_mode(struct fusion *fs, enum fusion_mode mode, const char *why);

/* dm-fusion-options.c */

/* Parse the optional arguments of the table line; the rest is as the superblock has it. */
int fusion_parse_options(struct fusion *fs, struct dm_arg_set *as, char **error);

/**
 * fusion_load_settings() - go by what fs->sb keeps, but for what the table line says
 * @fs: device
 * @tell: have the log name values that are out of range, which are ignored
 *
 * Context: fs->sb is not being written. Takes fs->lock.
 */
void fusion_load_settings(struct fusion *fs, bool tell);

/* Put what the set keeps into a superblock that is going to be written. Takes fs->lock. */
void fusion_take_settings(struct fusion *fs, struct fusion_sb *sb);

/**
 * fusion_change_settings() - change settings, all or none
 * @fs: device
 * @argc: words, an even number
 * @argv: key and value of each, or "default"
 * @keep: in the set as well: returns when the fast member's superblock has them
 *
 * Context: process; with @keep sleeps until the committer has run.
 *
 * Return: 0; -ENOENT: the first key is none (not if @keep); -EINVAL, after a message; -EAGAIN: the
 * set is closed; -EIO: mode RW has ended, so that it is not known what the superblock has.
 */
int fusion_change_settings(struct fusion *fs, unsigned int argc, char **argv, bool keep);

/*
 * Print all settings, or those that another device would not have by itself. Takes fs->lock.
 * Return: characters written.
 */
unsigned int fusion_emit_options(struct fusion *fs, bool all, char *result, unsigned int maxlen);
int fusion_message_settings(struct fusion *fs, char *result, unsigned int maxlen);

/* dm-fusion-status.c */
const char *fusion_mode_name(enum fusion_mode mode);

/* Sum of a member's bios so far. */
u64 fusion_count_ios(const struct fusion *fs, enum fusion_dev dev, bool write);

/* A member has failed to do what users, or a move, wanted of it. Any context. */
void fusion_member_failed(struct fusion *fs, enum fusion_dev dev);

/* Free fast slots that should be kept for incoming writes, in extents. */
u32 fusion_reserve(const struct fusion *fs);

/* Seconds after which an access counts half. */
u32 fusion_half_life(const struct fusion *fs);
void fusion_status(struct dm_target *ti, status_type_t type, unsigned int status_flags,
		   char *result, unsigned int maxlen);
int fusion_message_stats(struct fusion *fs, char *result, unsigned int maxlen);

/* dm-fusion-message.c */
int fusion_message(struct dm_target *ti, unsigned int argc, char **argv, char *result,
		   unsigned int maxlen);

/* dm-fusion-claim.c */

/* The sets that were ever loaded, of all devices. */
extern struct fusion_claims {
	spinlock_t lock;		/* protects all claims */
	struct list_head loaded;
} fusion_claims;

/**
 * fusion_claim() - be the one who works on the set's members
 * @fs: device, not necessarily loaded; fs->read_only says how it is going to be opened
 *
 * Context: process, before anything of the set is loaded or written.
 *
 * Return: 0; -EBUSY: another device works on one of them; -ESTALE: @fs was loaded before, and
 * another device has since worked on one.
 */
int fusion_claim(struct fusion *fs);

/**
 * fusion_claim_left() - find what an earlier table of the same device has left loaded
 * @fs: device that is about to be resumed
 *
 * It was not resumed, as another target of that table could not be, and so it is not suspended:
 * who makes its successor closes it. Context: preresume, which keeps it from being freed.
 *
 * Return: that one, or NULL.
 */
struct fusion *fusion_claim_left(struct fusion *fs);

/* It is closed: nothing is going to be written. Any number of times. */
void fusion_claim_release(struct fusion *fs);

/* The device is gone. Not while it holds the claim. */
void fusion_claim_forget(struct fusion *fs);

/* dm-fusion-beat.c */

void fusion_beat_module_init(void);
int fusion_beat_init(struct fusion *fs);

/* Unless the table line says which machine this is. */
void fusion_beat_default_host(struct fusion *fs);
void fusion_beat_exit(struct fusion *fs);

/* Set the gate by what there is. fs->lock held. */
void fusion_beat_gate(struct fusion *fs);

/*
 * Park a write if it has to wait for the heartbeat. Return: was it parked? Any context that may
 * take fs->lock with interrupts enabled: the worker.
 */
bool fusion_beat_park(struct fusion *fs, struct bio *bio);

/* Must the exclusive operations of OPEN extents wait for the heartbeat? The worker. */
bool fusion_beat_blocks(struct fusion *fs);

/* See fusion_beat_ready(). */
int fusion_beat_wait(struct fusion *fs);

/**
 * fusion_beat_ready() - wait until the module itself may write to a member
 * @fs: device
 *
 * Context: process, sleeps; no locks that a bio, a commit or a drain may wait for are needed by
 * the heartbeat. Return: 0, or -EIO: the set is another machine's, or there is no heartbeat.
 */
static inline int fusion_beat_ready(struct fusion *fs)
{
	if (!READ_ONCE(fs->heart.wrote))
		WRITE_ONCE(fs->heart.wrote, true);
	return READ_ONCE(fs->gate) ? fusion_beat_wait(fs) : 0;
}

/* Before anything else of the set is read to load it: see how the heartbeat is. Sleeps. */
void fusion_beat_peek(struct fusion *fs);

/*
 * Loading has failed, or been refused. Return: @r, or -EUSERS if another machine has written the
 * heartbeat since fusion_beat_peek(): then it may have written anything else as well. Sleeps.
 */
int fusion_beat_blame(struct fusion *fs, int r);

/**
 * fusion_beat_look() - before a set is loaded: may another machine have it open?
 * @fs: device
 * @sb: the fast member's superblock
 *
 * Watches the heartbeat for seconds if that may be; takes the set away from it if that was asked
 * for. Context: process, sleeps interruptibly. Return: 0; -EUSERS: it has; -EINTR; or an error of
 * the fast member.
 */
int fusion_beat_look(struct fusion *fs, const struct fusion_sb *sb);

/**
 * fusion_beat_take() - begin to beat for a set that is loaded
 * @fs: device
 *
 * Before anything is written. Context and return: as fusion_beat_look(); -ETIMEDOUT: the fast
 * member is too slow.
 */
int fusion_beat_take(struct fusion *fs);

/*
 * The fast member's superblock tells of this activation. Return: 0, or -EIO: it has lost the set.
 */
int fusion_beat_begun(struct fusion *fs);

/* The set is closed, or could not be loaded after all: nothing is written any more. Sleeps. */
void fusion_beat_close(struct fusion *fs);

/* Beat for a set that was closed. Sleeps. Return: 0; -ESTALE: it has been used since; -EIO. */
int fusion_beat_reopen(struct fusion *fs);

/* The system is about to sleep, or has woken up. */
void fusion_beat_freeze(struct fusion *fs, bool frozen);

/* dm-fusion-reboot.c: from resume to presuspend, be told of reboots and hibernation. Sleep. */
void fusion_reboot_watch(struct fusion *fs);
void fusion_reboot_unwatch(struct fusion *fs);

/* dm-fusion-io.c */
int fusion_map(struct dm_target *ti, struct bio *bio);
int fusion_end_io(struct dm_target *ti, struct bio *bio, blk_status_t *error);
void fusion_do_deferred(struct work_struct *work);

/**
 * fusion_park() - let a bio wait for the end of a commit, drain, or update of the replica
 * @fs: device
 * @bio: the bio
 * @kick: start the commit; if not, something under way will end in fusion_unpark()
 *
 * Context: the worker, fs->lock held since the look that said it must wait.
 */
void fusion_park(struct fusion *fs, struct bio *bio, bool kick);

/* Let parked bios have another look. fs->lock held. */
void fusion_unpark(struct fusion *fs);

/**
 * fusion_pin_slot() - enter an epoch on behalf of a bio that goes to a slot
 * @fs: device
 * @bio: the bio; fusion_end_io() leaves the epoch
 * @dev: member the slot is on
 *
 * Context: fs->lock held, or inside the caller's rcu_read_lock(); the caller has
 * looked at the map word or OPEN extent in the same section.
 */
void fusion_pin_slot(struct fusion *fs, struct bio *bio, enum fusion_dev dev);

/* Send a pinned bio to its place in the slot of @word. Context: process. */
void fusion_submit(struct fusion *fs, struct bio *bio, u32 word);

/* Zero a pinned WRITE_ZEROES bio's range in the slot of @word, then complete it. */
void fusion_submit_zeroes(struct fusion *fs, struct bio *bio, u32 word);

/**
 * fusion_has_fua() - can a member make a single write durable?
 * @fs: device
 * @dev: member
 *
 * Of one that can't, the block layer flushes all after a write with REQ_FUA, and tells of a
 * failure of either by the same error: whether what others wrote is lost is not known then. So
 * such a member gets no REQ_FUA but where a failure ends mode RW anyway; who wants a write to be
 * durable has it flushed by fusion_flush_slow() or a commit, which know.
 *
 * Context: any.
 */
static inline bool fusion_has_fua(const struct fusion *fs, enum fusion_dev dev)
{
	struct block_device *bdev = fs->dev[dev]->bdev;

	return bdev_fua(bdev) || !bdev_write_cache(bdev);
}

/* Note that the slow member has something in its cache. Any context. */
void fusion_mark_written(struct fusion *fs, enum fusion_dev dev);

/* Remember that an extent became unmapped and its slot is to be released. fs->lock held. */
void fusion_log_unmap(struct fusion *fs, u32 lext, u32 old);

/* dm-fusion-map.c */

/**
 * fusion_enter() - take a reference of the current epoch
 * @fs: device
 *
 * Context: inside rcu_read_lock(), which must also span the load of the map word.
 * Return: the epoch, for fusion_leave().
 */
unsigned int fusion_enter(struct fusion *fs);
void fusion_leave(struct fusion *fs, unsigned int epoch);

int fusion_epochs_init(struct fusion *fs);
void fusion_epochs_exit(struct fusion *fs);

/**
 * fusion_drain() - wait until nobody uses a map word from before
 * @fs: device
 *
 * Context: process, sleeps; takes drain_mutex.
 */
void fusion_drain(struct fusion *fs);

/* Drain, then free the slots of the transactions committed before, and unpark. */
void fusion_do_reclaim(struct work_struct *work);

/* dm-fusion-alloc.c; fs->lock held unless said otherwise */

int fusion_alloc_init(struct fusion *fs);
void fusion_alloc_exit(struct fusion *fs);

/* Take a slot while loading, without a lock. Return: -EILSEQ if it is taken. */
int fusion_slot_claim(struct fusion *fs, u32 word);

/**
 * fusion_slot_get() - allocate a slot
 * @fs: device
 * @dev: member
 * @lext: for whom; on the slow member its home slot is preferred
 * @keep: slots that must stay free
 *
 * Return: STABLE word, or FUSION_WORD_UNMAPPED if no more than @keep are free.
 */
u32 fusion_slot_get(struct fusion *fs, enum fusion_dev dev, u32 lext, u32 keep);

/* Free a slot that no map word, no bio and no transaction knows, and that is not held. */
void fusion_slot_put(struct fusion *fs, u32 word);

/* Slots of @dev with their numbers below this. */
u32 fusion_slot_end(const struct fusion *fs, enum fusion_dev dev);

/* Slots of a member that are for migration. */
static inline u32 fusion_spares(const struct fusion *fs, enum fusion_dev dev)
{
	return dev == FUSION_FAST ? fs->sb.spare_fast : fs->sb.spare_slow;
}

/* Free slots, those included that are being discarded. */
static inline u32 fusion_slots_free(const struct fusion *fs, enum fusion_dev dev)
{
	return fs->nr_free[dev] + fs->discards[dev].in_flight;
}

/* dm-fusion-discard.c; fs->lock held unless said otherwise */

int fusion_discard_init(struct fusion *fs);
void fusion_discard_exit(struct fusion *fs);

/* The member is to be told that nobody needs the content of a slot: when that is free. */
void fusion_discard_add(struct fusion *fs, u32 word);

/* Not any more: it has been given to an extent. */
void fusion_discard_forget(struct fusion *fs, enum fusion_dev dev, u32 slot);

/* Go on: slots that were held are free now, or the option has changed. */
void fusion_discard_kick(struct fusion *fs);

/*
 * The same as fusion_discard_add() for @nr slots or a few more that are free, each time other ones
 * until all had their turn. Worker of bios only; takes fs->lock itself.
 */
void fusion_discard_free(struct fusion *fs, u32 nr);

/**
 * fusion_discard_hold() - see that slots can be had
 * @fs: device
 * @nr: as many will be wanted of each member
 *
 * No slots are taken for discards until fusion_discard_go_on(). If few are free it waits until
 * those are back that are being discarded.
 *
 * Context: the mover; sleeps, but waits for the members only; takes fs->lock itself.
 */
void fusion_discard_hold(struct fusion *fs, u32 nr);
void fusion_discard_go_on(struct fusion *fs);

/* Let the workers run; takes fs->lock itself. */
void fusion_discard_start(struct fusion *fs);

/*
 * Stop them, after a short time for what remains; they can be started again. No I/O is in flight.
 * Sleeps; takes fs->lock itself.
 */
void fusion_discard_stop(struct fusion *fs);

/* dm-fusion-journal.c */

int fusion_journal_init_state(struct fusion *fs);
void fusion_journal_exit_state(struct fusion *fs);

/* Allocate the buffer of a chain, or free it. */
int fusion_chain_init(struct fusion_chain *chain, struct fusion_sb *sb);
void fusion_chain_exit(struct fusion_chain *chain);

/* REQ_FUA for metadata of a member, if that can. Partner of fusion_flush_after(). */
blk_opf_t fusion_meta_fua(const struct fusion *fs, enum fusion_dev dev);

/**
 * fusion_flush_after() - make metadata durable that was written without REQ_FUA
 * @fs: device
 * @dev: member
 * @fua: fusion_meta_fua() of the write
 *
 * Context: process, sleeps; takes flush_mutex. Return: 0 or as fusion_flush_slow().
 */
int fusion_flush_after(struct fusion *fs, enum fusion_dev dev, blk_opf_t fua);

/**
 * fusion_flush_slow() - flush the slow member if it was written since its last flush
 * @fs: device
 *
 * What a flush that failed should have made durable may be lost, and a later one would
 * not say so. So after a failure nothing is committed any more, and this always fails.
 *
 * Context: process, sleeps; takes flush_mutex. Return: 0 or a negative errno, then mode is
 * RO or worse, or the set is not loaded.
 */
int fusion_flush_slow(struct fusion *fs);

/*
 * Flush the fast member. Context: process, sleeps. Return: 0 or a negative errno, which is logged.
 */
int fusion_flush_fast(struct fusion *fs);

/**
 * fusion_flushes_ended() - wait for users' flushes that went to the fast member directly
 * @fs: device; it is committing, or holds flushes
 *
 * Context: process, sleeps; waits for the member only. Return: 0, or -EIO if a flush has
 * failed, now or before: then what is in the member's cache may never get any further.
 */
int fusion_flushes_ended(struct fusion *fs);

/**
 * fusion_flush_before() - what must be durable before metadata that speaks of it
 * @fs: device
 * @chain: the member's
 * @preflush: REQ_PREFLUSH if the write itself is to do it
 *
 * Context: process, sleeps. Return: 0 or a negative errno.
 */
int fusion_flush_before(struct fusion *fs, const struct fusion_chain *chain,
			blk_opf_t *preflush);

/**
 * fusion_chain_write() - write a transaction
 * @fs: device
 * @chain: journal or log; its position moves on if it succeeds
 * @nr: blocks packed in @chain->buf
 *
 * The member is flushed before. Context: process, sleeps. Return: 0 or a negative errno.
 */
int fusion_chain_write(struct fusion *fs, struct fusion_chain *chain, unsigned int nr);

/*
 * Have @sb, which is about to be written or to seal blocks of @chain's member, say how far the
 * other member has got. Context: as of @chain.
 */
void fusion_note_peer(struct fusion *fs, const struct fusion_chain *chain, struct fusion_sb *sb);

/* A superblock, or the journal up to @next_seq, is durable. Context: as of @chain. */
static inline void fusion_note_durable(struct fusion_chain *chain, u64 generation, u64 next_seq)
{
	/*
	 * Read by the other chain's owner: which needs no order, since nothing else goes with it.
	 */
	WRITE_ONCE(chain->durable.generation, max(chain->durable.generation, generation));
	WRITE_ONCE(chain->durable.seq, max(chain->durable.seq, next_seq));
}

/* Blocks of the ring in use, and those free. */
static inline u32 fusion_chain_used(const struct fusion_chain *chain)
{
	return READ_ONCE(chain->next_seq) - READ_ONCE(chain->sb->replay_seq);
}

static inline u32 fusion_chain_free(const struct fusion_chain *chain)
{
	return chain->sb->journal_blocks[chain->sb->role] - fusion_chain_used(chain);
}

/* Has the running transaction room for @nr more records? fs->lock held. */
bool fusion_log_room(const struct fusion *fs, u32 nr);

/* Record a change of the map. fs->lock held, fusion_log_room() checked. */
void fusion_log(struct fusion *fs, u32 lext, u32 new, u32 old, enum fusion_op op);

/* Let a commit start now, or within the commit interval. Context: any. */
void fusion_commit_kick(struct fusion *fs);
void fusion_commit_soon(struct fusion *fs);

/* Wait for a commit of all that was recorded before. Return: 0 or -EIO. Context: sleeps. */
int fusion_commit_wait(struct fusion *fs);

/*
 * Ask for a checkpoint; @clean also marks the set closed, until it is resumed.
 * Return: what fs->checkpoint_done must have reached when it is over, with fs->commit_wait
 * to wait on; or 0: the set is closed.
 */
u64 fusion_checkpoint_ask(struct fusion *fs, bool clean);

/* The same, and wait for it. Sleeps. Return: 0, -EIO, or -EAGAIN: it is closed. */
int fusion_checkpoint_wait(struct fusion *fs, bool clean);

/*
 * Write NEEDS_CHECK, if mode RW has ended and that is not written yet, whoever ended it. If that
 * fails each time, the next to load finds out by itself. Context: the committer, or while it
 * rests.
 */
void fusion_note_mode(struct fusion *fs);

void fusion_do_commit(struct work_struct *work);

/* Commit if someone waits for it and the ring allows. Context: the committer. */
int fusion_commit_urgent(struct fusion *fs);

/*
 * Commit now; @always writes a transaction even if it is empty. Context: the committer.
 * Return: 0 or a negative errno, then mode is RO.
 */
int fusion_commit(struct fusion *fs, bool always);

/* dm-fusion-super.c */

/**
 * fusion_super_read() - find the newest valid superblock of a member
 * @fs: device; only fs->dev is used
 * @dev: member
 * @sb: result
 * @single: unless NULL, set to whether the other copy is damaged, or not the one before
 * @why: reason of an error
 *
 * Context: process, sleeps. Return: 0 or what fusion_sb_unpack() says, or -EIO.
 */
int fusion_super_read(struct fusion *fs, enum fusion_dev dev, struct fusion_sb *sb,
		      bool *single, const char **why);

/* Have @sb, of either member, tell of the activation that begins. */
void fusion_super_activate(struct fusion *fs, struct fusion_sb *sb);

/* Load map, journal and heat; then, unless read-only, checkpoint under a new epoch. */
int fusion_load(struct fusion *fs, bool read_only);

/*
 * Write the superblock again, only to set and clear flags, or because settings were changed; not
 * if it is so already. Context: the committer, or while it is at rest.
 */
int fusion_super_flags(struct fusion *fs, u32 set, u32 clear);

/*
 * Once more the superblock of a set that was closed, when the slow member's has been written: of
 * a closed set either copy is enough, and this one says that the slow member was closed, too
 * (INV8). Context: the committer rests. If it can't be written mode is RO.
 */
void fusion_super_repeat(struct fusion *fs);

/*
 * Write a checkpoint; @clean marks the set closed, @asked says that somebody waits for it: then
 * heat is saved, too. Context: the committer.
 */
int fusion_checkpoint(struct fusion *fs, bool clean, bool asked);

/*
 * Write a superblock to its copy on its member, with what it says of the other one and the time.
 * Uses the first page of @chain's buffer.
 */
int fusion_super_write(struct fusion *fs, struct fusion_chain *chain, struct fusion_sb *sb);

/**
 * fusion_rw_blocks() - read or write metadata blocks of a member
 * @fs: device
 * @chain: says which member; its buffer is used
 * @opf: REQ_OP_READ or REQ_OP_WRITE with flags
 * @blocknr: first block
 * @first: first page of the buffer
 * @nr: blocks, @first + @nr at most FUSION_BUF_BLOCKS
 *
 * Context: process, sleeps; who owns the chain, or fusion_load() before the committer
 * first runs. Return: 0 or a negative errno.
 */
int fusion_rw_blocks(struct fusion *fs, struct fusion_chain *chain, blk_opf_t opf, u64 blocknr,
		     unsigned int first, unsigned int nr);

/* One block, by way of a page. Sleeps. Return: 0 or a negative errno; says nothing. */
int fusion_rw_page(struct fusion *fs, enum fusion_dev dev, blk_opf_t opf, u64 blocknr,
		   struct page *page);

/* Tell the log which blocks of a member could not be written, or read. Any context. */
void fusion_rw_failed(struct fusion *fs, const struct fusion_chain *chain, bool write, u64 blocknr,
		      unsigned int nr, int r);

/* dm-fusion-replica.c */

int fusion_replica_init(struct fusion *fs);
void fusion_replica_exit(struct fusion *fs);

/* The replica has to learn of an extent: its word has changed, or its bitmap. fs->lock held. */
void fusion_replica_mark(struct fusion *fs, u32 lext);

/* Write it now, in the background; if that just failed, in a second. fs->lock held. */
void fusion_replica_kick(struct fusion *fs);

/*
 * Write it in a second, in the background; later if updates would take more than a
 * hundredth of the time. Takes fs->lock itself; any context.
 */
void fusion_replica_soon(struct fusion *fs);

/**
 * fusion_replica_release() - free a slot that is durably released and drained
 * @fs: device
 * @word: the slot
 * @known: the replica durably does not name it
 *
 * It is held first if the replica may name it (INV6). fs->lock held.
 */
void fusion_replica_release(struct fusion *fs, u32 word, bool known);

/* Slow slots that an update of the replica will free, if it can be written. fs->lock held. */
static inline u32 fusion_replica_held(const struct fusion *fs)
{
	return fs->replica.failed ? 0 : fs->replica.nr_held;
}

void fusion_do_replica(struct work_struct *work);

/*
 * Bring it up to date and free what was held; if @whole, call no extent away that is not, and
 * try it even if that failed a short time ago.
 * Sleeps. Return: 0 or a negative errno.
 */
int fusion_replica_update(struct fusion *fs, bool whole);

/**
 * fusion_replica_promote() - begin to record that extents leave for the fast member
 * @fs: device
 * @lexts: extents of the slow member: first those of a batch, then some that may be next
 * @nr: number of those in the batch
 * @max: of all, up to FUSION_MAX_LEAVING
 *
 * If all of the batch are recorded already, nothing is written.
 * Context: the mover. Return: 0 or a negative errno: they must not take effect.
 */
int fusion_replica_promote(struct fusion *fs, const u32 *lexts, unsigned int nr,
			   unsigned int max);

/*
 * Wait until they are recorded. Return: 0, then fusion_replica_promoted() must follow when
 * the moves have been committed, or were not; or a negative errno: they must not take effect.
 */
int fusion_replica_promote_wait(struct fusion *fs);
void fusion_replica_promoted(struct fusion *fs);

/* Write a new epoch into the older superblock copy of the slow member. */
int fusion_replica_epoch(struct fusion *fs, u32 epoch);

/* Replace the replica by one of the map as it was loaded. Before any user I/O. */
void fusion_replica_start(struct fusion *fs);

/* No updates any more; one under way, which may wait for a commit, has ended. Sleeps. */
void fusion_replica_pause(struct fusion *fs);

/*
 * While it is paused: write the last update and mark it as such, unless the set failed.
 * No I/O is in flight. Sleeps.
 */
void fusion_replica_stop(struct fusion *fs);

/*
 * After fusion_replica_stop(): it is going to be out of date again. Sleeps. Return: 0, or a
 * negative errno: it may still say that it is up to date, so nothing may be written.
 */
int fusion_replica_resume(struct fusion *fs);

/* dm-fusion-open.c; fs->lock held unless said otherwise */

int fusion_open_init(struct fusion *fs);
void fusion_open_exit(struct fusion *fs);
struct fusion_open *fusion_open_find(struct fusion *fs, u32 lext);

/* New OPEN extent, all blocks invalid. Return: NULL if too many are open. */
struct fusion_open *fusion_open_new(struct fusion *fs, u32 lext, u32 word);

/* Take it out of the hash; frees it now or with its last writer. */
void fusion_open_close(struct fusion *fs, struct fusion_open *open);

/* Note that it changed, so that the next commit records it. */
void fusion_open_mark_dirty(struct fusion *fs, struct fusion_open *open);

/* Load a bitmap from a journal record. No lock needed. */
void fusion_open_load(struct fusion *fs, struct fusion_open *open, const void *bitmap);

/*
 * A read or write of an OPEN extent, or a discard or write-zeroes of a part of it.
 * Worker only; takes fs->lock itself. Return: false if the extent is not OPEN any more.
 */
bool fusion_open_bio(struct fusion *fs, struct bio *bio);

/*
 * Unmap an OPEN extent; fusion_log_room() checked. Worker only. Return: false if it
 * must wait: then @bio comes back to the worker.
 */
bool fusion_open_unmap(struct fusion *fs, struct fusion_open *open, struct bio *bio);

static inline u32 fusion_open_blocks(const struct fusion *fs)
{
	return 1U << (fs->shift - 3);
}

static inline bool fusion_open_full(const struct fusion *fs, const struct fusion_open *open)
{
	return open->nr_valid == fusion_open_blocks(fs);
}

/* A write to an OPEN extent has completed. Takes fs->lock itself; any context. */
void fusion_open_written(struct fusion *fs, struct fusion_io *io, bool ok);

/* Start the exclusive operations that can run. Worker only; takes fs->lock itself. */
void fusion_open_run(struct fusion *fs);

/* Zero-fill up to @nr of the oldest OPEN extents. Takes fs->lock itself; any context. */
void fusion_open_fill_oldest(struct fusion *fs, u32 nr);

/*
 * The same for as many as can be at once, since the device is idle; @fast: only what is on the
 * fast member. A member that fails is left alone for a while, longer each time, until it
 * succeeds.
 */
void fusion_open_fill_idle(struct fusion *fs, bool fast);

/* Forget that: members may be others now, or well. Takes fs->lock itself. */
void fusion_open_fill_anew(struct fusion *fs);

/*
 * Zero-fill this one, if it is OPEN. Return: false if the last time failed, which is told
 * once. Takes fs->lock itself; any context.
 */
bool fusion_open_fill(struct fusion *fs, u32 lext);

/* dm-fusion-budget.c; the mover's */
void fusion_budget_init(struct fusion *fs, u64 now_ms);

/* Put in what the time since the last call brings; options are looked at here. */
void fusion_budget_refill(struct fusion *fs, u64 now_ms);

/* An extent was copied to the fast member. */
void fusion_budget_spend(struct fusion *fs);

/* Extents that the policy may promote now; 0 or less: none. */
s64 fusion_budget_extents(const struct fusion *fs);

/* Bytes that promotions may write now; 0, too, if there is no budget. Context: any. */
u64 fusion_budget_left(const struct fusion *fs);

/* dm-fusion-migrate.c */
int fusion_migrate_init(struct fusion *fs);
void fusion_migrate_exit(struct fusion *fs);
void fusion_migrate_start(struct fusion *fs);

/* Finish the batch under way and stop; forced moves end with -EAGAIN. Sleeps. */
void fusion_migrate_stop(struct fusion *fs);

/* Move a range and wait for it; interruptible. Fills in the counts of @force. */
int fusion_force(struct fusion *fs, struct fusion_force *force);

#endif
