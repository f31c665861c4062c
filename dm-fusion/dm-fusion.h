/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: one block device from a fast and a slow one, with the capacity of both.
 *
 * How it works
 * ------------
 *
 * The device is divided into extents. A table in memory, the map, holds one word for each
 * logical extent (lext): its state, the member it lies on, and its slot there. map() loads that
 * word without a lock and sends the bio on. It answers reads of unmapped extents itself, and leaves
 * flushes to the committer or the fast member. All other bios go to one ordered worker
 * (dm-fusion-worker.c); the head of dm-fusion-io.c lists them.
 *
 * Where things are
 * ----------------
 *
 * dm-fusion/Kbuild lists the sources from the bottom to the top, and nothing calls upward.
 *
 *	shared/		pure code: format, codec, replay, policy; fusionctl has it as well
 *	core, gate	bios that wait, counters; may anything be written?
 *	epoch, map	who uses a map word, and the drain; the states of extents
 *	copies*		copies of what was read, in slots that the landing log does not use now
 *	land*		the landing log: its index, what commits record of it, bios that get into
 *			it or meet it, or wait for room, what is found when a set is opened, and
 *			the drain, which is the mover's
 *	used, discard,	which slots are taken, what the members know of free ones, which is the
 *	alloc, fence	next one, and which of them nobody may have
 *	replica-state	what the replica does not know yet
 *	shadow		slow slots kept for extents of the fast member
 *	metaio, flush,	blocks, flushes, journals, transactions: what a commit is made of
 *	chain, txn
 *	submit, open*,	bios on their way to a member; OPEN extents, and those with lost
 *	lost		blocks
 *	options, super	settings; superblocks
 *	journal,	a commit and its order; a checkpoint, and the committer
 *	checkpoint
 *	replica*,	the copy of the map on the slow member
 *	promote
 *	beat*		the heartbeat, which keeps two machines apart
 *	load-open, load-shadow, land-load, resize, replace, load
 *			opening a set: recovery, its new size, a new member, the new epoch
 *	io, worker	map(), end_io() and the worker
 *	budget, usage,	migration: what there is to spend, what others do, what the old member
 *	unread, copy,	does not return, a batch of moves and its copies, moves on request, out
 *	batch, forced,	of the fence, off the old member and home; copies for shadows, and points;
 *	evacuate, home,	the worker that decides
 *	refresh, point*, mover
 *	land-tell, status, explain, pin, message, claim, close, reboot, create, target
 *			the face to device-mapper
 *
 * Each header has the structures and contracts of one group; struct fusion holds them together.
 *
 * States of an extent (the state table; U is unmapped, L is lost)
 *
 *	from     to       by              when
 *	U        OPEN     worker, mover   first write, or zeros for homing: a slot is allocated
 *	L        OPEN     worker          first write: blocks that are not valid stay lost
 *	L        U        worker          whole extent discarded
 *	OPEN     STABLE   committer       all blocks valid and STABLE record durable
 *	OPEN     U        worker          whole extent discarded, no write in flight
 *	STABLE   WATCHED  mover           chosen for migration
 *	WATCHED  STABLE   map(), worker   a write arrived: the copy is worthless, or the shadow
 *	WATCHED  LOCKED   mover           copy done; writes wait from here on
 *	STABLE   LOCKED   mover           cancelled too often: copy with writes held
 *	LOCKED   STABLE   committer       MOVE record durable: now in the new slot
 *	LOCKED   WATCHED  committer       the same, and the old slot is to be its shadow
 *	WATCHED  STABLE   anybody         its shadow is given up
 *	WATCHED,
 *	LOCKED   STABLE   mover           copy failed, or not made: still in the old slot
 *	LOCKED   LOCKED   committer       MOVE record failed, perhaps: mode is RO, no writes
 *	STABLE,
 *	WATCHED  U        worker          whole extent discarded
 *
 * Each row but the last but one, which changes nothing, is a function of dm-fusion-map.c, or
 * fusion_map_cancel() below; loading a set is fusion_map_load().
 *
 * A STABLE word in memory therefore always has a durable mapping. FUA writes to STABLE extents need
 * no commit if the member supports FUA, and flushes need none if the slow member is clean.
 *
 * Shadows (dm-fusion-shadow.c)
 *
 * The slow slot that a promoted extent has left is kept as long as nobody needs it. An extent of
 * the fast member that is WATCHED between two batches has such a shadow, with the same content: it
 * is demoted without a copy. If asked to, the replica names shadows, for the day the fast member is
 * lost. They count as free slots, or as held ones if the replica names them.
 *
 * Epochs and the drain (dm-fusion-epoch.c)
 *
 * A bio that goes to a slot is counted in one of two epochs, that in which it loaded the map word.
 * To know that nobody uses an older word any more, the drain flips the epoch and waits until the
 * old one is empty. Nothing is blocked meanwhile. Parked and deferred bios are in no epoch, so a
 * drain depends on the members only, never on a commit.
 *
 * Commit (dm-fusion-journal.c)
 *
 * Changes of the map are recorded in the running transaction under fs->lock, in the same critical
 * section that changes the word. MOVE is the exception: its word changes when the record is
 * durable. The committer swaps the transaction, takes a snapshot of the bitmaps of OPEN extents,
 * flushes the slow member if it must, and writes the journal with PREFLUSH | FUA. Slots that a
 * transaction releases are quarantined with it (dm-fusion-txn.c): they become free only after its
 * commit and a drain that began after that.
 *
 * Replica (dm-fusion-replica.c)
 *
 * The slow member carries a copy of the map, for the day the fast one is lost. It is written in
 * the background. No write or flush waits for it, except a first write that finds no slot, which
 * is parked. Slow slots that were released are held, after their quarantine, until the replica
 * durably no longer names them (INV6). A move that leaves a slow slot, for either member, is
 * recorded there before it takes effect (INV7).
 *
 * A member that is replaced (dm-fusion-replace.c)
 *
 * For that time the set has a third disk, the old member. Slots on it have numbers behind those of
 * the member that replaces it; fusion_word_disk() tells. Nothing new comes to lie there, and what
 * does is moved off it as out of a fence.
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
 * INV6  No slow slot is given to another extent while the durable replica names it, for an extent
 *	 that lies there or as a shadow.
 * INV7  The durable replica does not place an extent in a slow slot whose durable map says
 *	 another one, or fast, unless it has not learnt of a first write or discard yet.
 * INV8  Before the metadata of a member says how far the other one has got, that was durable
 *	 there. So a member that has not got that far is from the past, and the set is not
 *	 loaded (dm-fusion-load.c).
 * INV9  No slot inside the fence is given to an extent, and none is discarded (dm-fusion-fence.c).
 * INV10 A set that shrinks gives up nothing that the durable map or the replica names.
 * INV11 Of an old member, no slot is given to an extent, discarded or held; no extent there is
 *	 OPEN. No superblock is without it while a durable map places an extent there, and it is
 *	 told that it has left only when both copies of both superblocks are durably without it.
 * INV12 A slow slot is the shadow of one extent at most, which lies on the fast member. Nobody else
 *	 has it, and it would be free, or held: its release was durable and drained. None is inside
 *	 the fence or on the old member (dm-fusion-shadow.c).
 * INV13 The shadow of an extent that is WATCHED has its content: each write, zeroes or discard
 *	 takes the mark away before it is sent.
 * INV14 A demotion without a copy begins with the cmpxchg() that finds the mark, and the record of
 *	 it follows a flush of the slow member, as of any other.
 * INV15 A slot that the durable replica calls the shadow of an extent has a whole version of it,
 *	 durably, unless the extent has come to lie there since. If it is called current, all that
 *	 was written before the durable POINT is in it.
 * INV16 If it is that of an extent with metadata, it is what the extent had at the instant of that
 *	 POINT, as those of all others are (dm-fusion-point.c), unless the extent has moved since.
 * INV17 What is lost reads as nothing but an error, by the map and by the replica, until it was
 *	 written, zeroed, or discarded with the whole of its extent (dm-fusion-lost.c).
 *
 * INV18 to INV22 are those of the landing log: dm-fusion-landing.h; INV23 that of its stale list:
 * dm-fusion-stale.h; INV24 that of copies of what was read: dm-fusion-copies.h.
 *
 * Locks
 * -----
 *
 * A lock is taken inside those above it that are indented less. The last two are taken alone.
 *
 * replica.mutex	one update of the replica at a time; the mover holds it from the
 *			record of the promotions of a batch until their commit has ended
 *   flush.beside_mutex	one flush at a time that no user waits for
 *     flush.mutex	one flush of the slow member, or the old one, at a time: a caller that finds
 *			it clean knows that the flush which made it so has ended
 *     lock		spinlock, irq-safe: slots, transactions, OPEN extents, lists
 *			of bios, what the replica has to learn; taken by end_io only for
 *			OPEN extents, users' flushes, writes that wait for a commit,
 *			those over entries of the landing log, and its batches
 *       land.lock	spinlock, irq-safe: the landing log, its index and its batches; map() takes
 *			it alone
 * mover.pins.mutex	one change of the pins at a time
 *   lock
 * drain_mutex		one drain at a time
 * fusion_claims.lock	spinlock: which devices work on which members
 *
 * Whatever writes to a member looks at fs->gate first, and waits for the heartbeat if the gate is
 * shut; the heartbeat waits for the fast member only (dm-fusion-beat.c).
 *
 * Map words change under fs->lock, except WATCHED -> STABLE when a write arrives, which is a
 * cmpxchg() without it. So holders of fs->lock use cmpxchg() on WATCHED words. The flag that a
 * shadow is current is cleared without it as well.
 *
 * Each work item has an ordered workqueue of its own. Those that do I/O wait for the members and,
 * except the heart's, for the gate. What else each may wait for:
 *
 *	mover.work	a commit, a drain, the replica, discards under way
 *	commit.work	txns.reclaim_work, when all transactions await a drain; users' flushes
 *			in flight to the fast member
 *	txns.reclaim_work	a drain
 *	worker.work	memory pools only
 *	land.work	nothing else; a drain waits for it, as bios in batches do
 *	land.fua_work	nothing else
 *	land.pace.work	nothing: it lets writes go on that wait for the drain
 *	stale.work	nothing else
 *	copies.work	reads of copies
 *	replica.work	a commit
 *	discards[].work	nothing else; first writes and the mover wait for it if there are no
 *			other slots
 *	heart.work	nothing else; it opens and shuts the gate
 *	heart.gate_work	nothing: it shuts the gate when a lease ends
 *	wait_work	nothing: it logs that a suspend is waiting
 *
 * Only presuspend and messages wait for the mover, and no work item that serves bios waits for the
 * replica. (A first write that finds no slot is parked until the replica has released one.)
 */
#ifndef DM_FUSION_H
#define DM_FUSION_H

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/device-mapper.h>
#include <linux/dm-io.h>
#include <linux/dm-kcopyd.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#define DM_MSG_PREFIX "fusion"

#include "dm-fusion-beat.h"
#include "dm-fusion-codec.h"
#include "dm-fusion-copies.h"
#include "dm-fusion-device.h"
#include "dm-fusion-epoch.h"
#include "dm-fusion-io.h"
#include "dm-fusion-land.h"
#include "dm-fusion-land-append.h"
#include "dm-fusion-land-commit.h"
#include "dm-fusion-land-drain.h"
#include "dm-fusion-land-load.h"
#include "dm-fusion-land-stale.h"
#include "dm-fusion-metadata.h"
#include "dm-fusion-mover.h"
#include "dm-fusion-open.h"
#include "dm-fusion-pieces.h"
#include "dm-fusion-policy.h"
#include "dm-fusion-replace.h"
#include "dm-fusion-replica.h"
#include "dm-fusion-resize.h"
#include "dm-fusion-shadow.h"
#include "dm-fusion-slots.h"

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
	u32 shadow;		/* 0 or 1 */
	u32 shadow_age;		/* seconds; 0: no copies */
};

/* What users change in the superblocks: settings, a bit of the mask for each that counts; name. */
struct fusion_kept {
	u32 mask;
	u32 value[FUSION_NR_SETTINGS];
	char label[FUSION_LABEL_SIZE + 1];	/* behind its end all zeros */
};

/*
 * Counters; per CPU, because map() may not share a cache line. What each bio needs, up to @inside,
 * fills one.
 */
struct fusion_stats {
	u64 ios[FUSION_NR_DEVS][2];	/* [dev][is write] */
	u64 done[FUSION_NR_DEVS];	/* of these, completed */
	unsigned long inside[2];	/* bios in each epoch; only the sum of all CPUs is true */
	u64 unweighed;			/* accesses that count for nothing: streams */
	u64 errors[FUSION_NR_DISKS];	/* what a disk has failed, of users or moves */
	struct fusion_streams streams;
} ____cacheline_aligned;

/*
 * A fused device. The state of each part is in that part's structure.
 */
struct fusion {
	/* read by map(), rarely written */
	u32 *map;			/* words: see "States of an extent" above */
	struct fusion_policy *policy;
	struct fusion_stats __percpu *stats;
	struct dm_dev *dev[FUSION_NR_DISKS];
	sector_t base[FUSION_NR_DISKS];	/* sector of slot 0; old member: of what would be slot 0 */
	u8 meta[FUSION_NR_DEVS];	/* disk with the metadata of a member */
	u32 old_slot[FUSION_NR_DEVS];	/* slots from here on are the old member's */
	unsigned int shift;		/* log2 of sectors per extent */
	u8 gate;			/* mode is not RW, or writes wait for the heartbeat */
	u8 mode;			/* enum fusion_mode; see fusion_set_mode() */
	u8 epoch;			/* 0 or 1 */
	u32 dirty[FUSION_NR_DISKS];	/* slow, old: written since their last flush began */
	struct fusion_land land;	/* the landing log; its first line is also of this kind */

	struct dm_target *ti;
	struct fusion_options opt;	/* changed under lock, read without */
	u32 opt_table;			/* what the table line gave, a bit for each; under lock */
	struct fusion_kept kept;	/* what the next superblock has; under lock */
	u32 half_life_changed;		/* tell the policy, in its own thread */
	struct fusion_sb sb;		/* geometry: constant; state: committer's */
	struct fusion_sb sb_next;	/* scratch of the committer, and of loading */
	u64 activation;			/* random number of this one */
	bool loaded;
	bool read_only;			/* opened so: nothing was ever written */
	bool resize;			/* the table line allows it to grow or shrink, */
	bool grows, shrinks;		/* and it does: sb has the geometry to come */
	u64 resize_sectors[FUSION_NR_DEVS];	/* of members, from the table line; 0: not given */
	u32 nr_words;			/* of the map: extents before or after that */
	bool needs_check;
	int load_error;
	char unknown[FUSION_UNKNOWN_TEXT];	/* of a superblock that was refused */

	spinlock_t lock;		/* see "Locks" above */
	struct mutex drain_mutex;
	wait_queue_head_t drain_wait;	/* a bio of the old epoch has left it */
	u32 nr_mapped;			/* extents; under lock */
	u32 nr_fast;			/* of these, on the fast member, or the old one of it */
	u32 nr_lost;			/* extents without a slot that are lost; under lock */
	u64 map_changes;		/* of words, since the device was made; under lock */
	struct dm_kcopyd_client *kcopyd;
	struct bio_set meta_bs;		/* metadata: the committer must not wait for users' bios */

	struct fusion_worker worker;
	struct fusion_slots slots;
	struct fusion_shadows shadows;
	struct fusion_opens opens;
	struct fusion_stale *stale;	/* NULL: there is no list of blocks of the log */
	struct fusion_txns txns;
	struct fusion_flush flush;
	struct fusion_chain journal;	/* committer only */
	struct fusion_committer commit;
	struct fusion_replica replica;
	struct fusion_heart heart;
	struct fusion_mover mover;
	struct fusion_claim claim;
	struct fusion_old_disk old;	/* a member that is being replaced */

	struct fusion_seal seal;
	struct notifier_block reboot_nb;	/* dm-fusion-reboot.c */
	struct notifier_block pm_nb;
	struct delayed_work wait_work;	/* a suspend that takes long: dm-fusion-target.c */
	struct workqueue_struct *wait_wq;
};

#include "dm-fusion-places.h"
#include "dm-fusion-bio.h"

/* -- time and mode ----------------------------------------------------------------------- */

static inline u64 fusion_now_ms(void)
{
	return ktime_to_ms(ktime_get());
}

/* A clock that does not stop while the system sleeps. */
static inline u64 fusion_boottime_ms(void)
{
	return ktime_to_ms(ktime_get_boottime());
}

static inline u64 fusion_now_us(void)
{
	return ktime_to_us(ktime_get());
}

static inline enum fusion_mode fusion_mode(const struct fusion *fs)
{
	return READ_ONCE(fs->mode);
}

/* Has an error made the set read-only? */
static inline bool fusion_stopped(const struct fusion *fs)
{
	return fusion_mode(fs) == FUSION_RO && !fs->read_only;
}

/**
 * fusion_gate_ready() - wait until the module itself may write to a member
 * @fs: device
 *
 * Context: process, sleeps; no locks that a bio, a commit or a drain may wait for are needed by
 * the heartbeat. Return: 0, or -EIO: the set is another machine's, or there is no heartbeat.
 */
static inline int fusion_gate_ready(struct fusion *fs)
{
	if (!READ_ONCE(fs->heart.wrote))
		WRITE_ONCE(fs->heart.wrote, true);
	return READ_ONCE(fs->gate) ? fusion_gate_wait(fs) : 0;
}

/* -- dm-fusion-map.c: the states of extents ---------------------------------------------- */

/*
 * The rows of the state table. Nothing else changes a map word. fs->lock is held unless said
 * otherwise.
 */

/* Is this the word of a slot of the fast member itself? */
bool fusion_word_on_fast(const struct fusion *fs, u32 word);

/* U to OPEN: a first write, or homing, has the slot of @word. */
void fusion_map_first(struct fusion *fs, u32 lext, u32 word);

/* OPEN to STABLE, and LOCKED to STABLE in the new slot: the record of @word is durable. */
void fusion_map_stable(struct fusion *fs, u32 lext, u32 word);

/*
 * OPEN, STABLE or WATCHED to U: the whole extent is discarded. Return: was the word @word still?
 */
bool fusion_map_clear(struct fusion *fs, u32 lext, u32 word);

/* STABLE to WATCHED, or to LOCKED: the extent with the word @old is chosen for migration. */
void fusion_map_copy(struct fusion *fs, u32 lext, u32 old, enum fusion_state state);

/*
 * WATCHED to LOCKED: the copy is done. One that was LOCKED from the start stays so. Return: is it
 * LOCKED, or has a write cancelled the copy, or a discard?
 */
bool fusion_map_lock(struct fusion *fs, u32 lext, u32 old);

/* WATCHED or LOCKED back to STABLE in the old slot: there is no copy. */
void fusion_map_uncopy(struct fusion *fs, u32 lext, u32 old);

/* LOCKED to WATCHED in the new slot: the record of @word is durable, the old slot is current. */
void fusion_map_shadowed(struct fusion *fs, u32 lext, u32 word);

/* WATCHED to STABLE, if the extent is WATCHED in the slot of @word: its shadow is given up. */
void fusion_map_unwatch(struct fusion *fs, u32 lext, u32 word);

/*
 * WATCHED to STABLE: a write arrives, and the copy is out of date from here on. Any context, no
 * lock. Pairs with the cmpxchg() of fusion_map_lock(). Return: the word that was there; if that is
 * not @word, nothing was changed.
 */
static inline u32 fusion_map_cancel(u32 *slot, u32 word)
{
	return cmpxchg(slot, word, fusion_word_set_state(word, FUSION_STABLE));
}

/* Set a word while a set is loaded. No lock, as nothing else uses the map yet. */
void fusion_map_load(struct fusion *fs, u32 lext, u32 word);

/* -- dm-fusion-core.c -------------------------------------------------------------------- */

/* Let a commit start now, or within the commit interval. Context: any. */
void fusion_commit_kick(struct fusion *fs);
void fusion_commit_soon(struct fusion *fs);

/* Sum up the counters of all CPUs. They are examined in turn, so the sums may be off by some. */
void fusion_look(const struct fusion *fs, struct fusion_look *sum);

/* Sum of a member's bios so far. */
u64 fusion_count_ios(const struct fusion *fs, enum fusion_dev dev, bool write);

/* A member, or FUSION_OLD, has failed I/O of users or of a move. Any context. */
void fusion_member_failed(struct fusion *fs, unsigned int disk);

/* Free fast slots that should be kept for incoming writes, in extents. */
u32 fusion_reserve(const struct fusion *fs);

/* Seconds after which an access counts half. */
u32 fusion_half_life(const struct fusion *fs);

#endif
