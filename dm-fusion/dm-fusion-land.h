/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: the landing log of a set that is open.
 *
 * What the log is, dm-fusion-landing.h says. The index in memory has an entry for each block that
 * is live: where in the log the content of a block of an extent is. Everything is allocated when
 * the set is loaded, and nothing for a set without FUSION_INCOMPAT_LANDING.
 *
 * Small writes of whole blocks, which are no part of a stream, get into the log as long as there is
 * room: dm-fusion-land-append.c says which, dm-fusion-land-batch.c how. While there is little room,
 * they wait for the drain: dm-fusion-land-pace.c. Their entries are in the index from the end of
 * their batch on. A segment becomes free when all its entries have died, or newer ones of these
 * blocks have superseded them; the mover copies blocks to the slow member for that:
 * dm-fusion-land-drain.c.
 *
 * Reads. map() looks into the index for extents of the slow member that have a bit in @has. A read
 * is sent to the log as far as the blocks lie side by side there, and cut behind that.
 *
 * Other writes go to the slow member. An entry dies when a write of its whole block has completed
 * (or zeroes have) that has begun behind it, before that is acknowledged; or when the extent is
 * unmapped. From then on reads find the slow member. But the journal still calls the block live:
 * after a power cut it would hide what was written. So a flush, and each write with FUA, waits for
 * a commit as long as there are entries that have died since the last one (@dirty). It flushes the
 * slow member before it clears their bits (INV20). FUA waits in any extent with a bit in @has, as
 * the entry may have died in a write before it. Entries that were superseded keep nobody waiting:
 * as long as the newer one is durable it counts. So without deaths, a flush of the fast member
 * makes durable what is in the log, also for a write with FUA: dm-fusion-land-flush.c.
 *
 * A write of a part of a block that has an entry would be hidden by that, or would lose the rest of
 * the block. So the worker has the block read, and logs it again with the new data; or it writes
 * the block to the slow member, and the entry dies: dm-fusion-land-merge.c.
 *
 * An extent with entries, or with blocks on their way, is on the slow member: INV18. It may move
 * there, as entries name the extent, not its slot. How it is promoted, dm-fusion-land-moves.c says.
 *
 * A segment without entries is freed with the next commit. Its slot is free after a drain behind
 * that (INV21), as readers may be in it.
 */
#ifndef DM_FUSION_LAND_H
#define DM_FUSION_LAND_H

#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/cache.h>
#include <linux/limits.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "dm-fusion-land-pace.h"
#include "dm-fusion-record.h"

struct bio;
struct fusion;
struct fusion_copies;
struct fusion_io;
struct fusion_land_batch;
struct fusion_land_reader;
struct fusion_land_round;
struct fusion_land_merge;
struct fusion_land_summary;
struct fusion_land_view;
struct work_struct;
struct workqueue_struct;

/* No position. */
#define FUSION_LAND_NONE	U32_MAX

/* Batches that there are at once: so many blocks may be on their way into the log. */
#define FUSION_LAND_BATCHES	4U
#define FUSION_LAND_FLIGHT	256U
static_assert(FUSION_LAND_BATCHES * FUSION_BATCH_BLOCKS <= FUSION_LAND_FLIGHT);

/* The segment that is being filled, and those that are open ahead of it, at most. */
#define FUSION_LAND_AHEAD	64U

/*
 * Flags of an entry: it is being copied for a bio, or drained; or it has taken the place of one
 * that is being drained, and hides its copy; otherwise the number of writes over it under way.
 */
#define FUSION_LAND_BUSY	0x8000U
#define FUSION_LAND_MARKED	0x4000U
#define FUSION_LAND_HIDES	0x1000U
#define FUSION_LAND_WRITES	0x0fffU

/* An entry; @lext and @block are the key. */
struct fusion_land_entry {
	u32 lext;
	u16 block;
	u16 flags;
};

/**
 * struct fusion_land_extent - an extent with a bit in @has
 * @lext: extent
 * @nr: its entries, and its blocks on their way
 * @next: the next one in the bucket, or of those that are free
 */
struct fusion_land_extent {
	u32 lext;
	u32 nr;
	u32 next;
};

enum fusion_land_state {
	FUSION_LAND_UNUSED,	/* a place for a segment */
	FUSION_LAND_OPENING,	/* the commit under way records it for the first time */
	FUSION_LAND_LISTED,	/* the journal lists it */
	FUSION_LAND_LEFT,	/* its SEGFREE is durable */
	FUSION_LAND_DRAINING,	/* the same, and a drain has begun since */
};

/* What the commit under way says of segments, in this order. */
enum fusion_land_step {
	FUSION_LAND_VOID,	/* SEGFREE of one without valid batches */
	FUSION_LAND_OLDER,	/* SEGMENT: superseded entries are dead */
	FUSION_LAND_DEAD,	/* SEGMENT: all others that are */
	FUSION_LAND_LANDED,	/* not of a segment: how far the log has got */
	FUSION_LAND_SEGFREE,
	FUSION_LAND_NEW,	/* SEGMENT of one that is opened */
	FUSION_LAND_STEPS,
};

/**
 * struct fusion_land_segment - a segment
 * @segno: its number
 * @key: its key
 * @slot: its fast slot
 * @end: blocks that its batches take; 0: it has no valid ones
 * @nr_live: entries
 * @state: enum fusion_land_state
 * @steps: a bit for each enum fusion_land_step of the commit under way; the committer's
 * @dirty: the next commit has to record it
 * @older: entries of it were superseded since it was recorded
 * @dead: others have died since
 * @ends: where it ends was recorded
 * @failed: a write to it has failed: its slot is not used any more
 * @kept: somebody with a view reads its entries: when it is gone, its place is not used yet
 */
struct fusion_land_segment {
	u64 segno;
	u64 key;
	u32 slot;
	u32 end;
	u32 nr_live;
	u8 state;
	u8 steps;
	bool dirty : 1;
	bool older : 1;
	bool dead : 1;
	bool ends : 1;
	bool failed : 1;
	bool kept : 1;
};

/**
 * struct fusion_land - the landing log, and its index
 *
 * Read by map() of any bio of the slow member, so in a line that is rarely written:
 * @max: segments that there may be; 0: the set has no log
 * @blocks: of a segment, and of an extent. Block b of segment s is the position s * @blocks + b
 * @bitmap_bytes: of a bitmap of these
 * @hash_bits: log2 of the number of buckets
 * @has: a bit for each extent, set while it has entries, or had some whose death is not durable
 *	yet; read without a lock. Set by loading, and when a block is on its way into the log;
 *	cleared when a commit has ended
 * @appends: there is room in the log; changes under @lock, read without for a hint
 * @extents: how many of these may have a place
 * @extent_bits: log2 of the number of their buckets
 *
 * @lock: innermost, irq-safe; begins lines of its own
 *
 * Under @lock:
 * @entry: by position
 * @next: the next position in the bucket, by position
 * @bucket: the first one, or FUSION_LAND_NONE
 * @extent: extents: dm-fusion-land-extent.c
 * @extent_bucket, @extent_free: the first one, the first free place, or FUSION_LAND_NONE
 * @gone: bitmap, by place: extents that have none any more, since the last commit began
 * @going: the same, before that
 * @live: bitmaps, one behind the other, of the positions in the index
 * @flight: positions of blocks on their way into the log, in order; their entries have the key,
 *	but are not in the index
 * @flight_first: the first one of these
 * @nr_flight: how many
 * @barred: an extent that is being unmapped: its blocks go past the log; or FUSION_LAND_NONE
 * @awaited: the same for one with blocks on their way that bios are parked for
 * @at: the last batch that has a place, and where the next block goes
 * @at_place: the place of that segment, or FUSION_LAND_NONE
 * @ahead: places of segments that are opened, by the lowest bits of their numbers
 * @flushed_seq: the batches up to this one are durable
 * @batch: batches, in a ring
 * @first_batch, @nr_batches: the first one that has not ended, and how many have a place
 * @nr_sent: how many of these have been sent, and have not ended
 * @sending: somebody sends them
 * @csum: of the header of the last one that was sealed; only of who is @sending
 * @broken: one could not be written: no block gets into the log any more
 * @off: nor while the log is off: dm-fusion-land-off.c; changes under fs->lock as well
 * @failed: the block of its header, until a commit has said that it is void; or 0
 * @nr_live: number of these
 * @nr_filled: segments that have any
 * @nr_landed: blocks that have got into the log since the set was loaded
 * @view: a view that is being taken, or was; or NULL
 *
 * Under @lock and fs->lock, to read any of both:
 * @segment: segments; @state and @steps under fs->lock alone, but for FUSION_LAND_LISTED
 * @killed: as @live, what has died by fusion_land_kill() since the last commit began
 * @dirty: segments that are
 * @deaths: some are so by fusion_land_kill(): flushes wait for the next commit
 * @left_commit: the number of the commit that records those by fusion_land_left_behind(); fs->lock
 * @ended: how far the log has got: the last batch that ended, and where the next one begins
 * @next_segno: number of the next segment that is opened
 *
 * Under fs->lock:
 * @opens: commits open segments: from the one on that begins the epoch
 * @nr: segments that have a slot
 * @nr_kept: places of others, that are kept
 * @nr_lent: slots that copies have beside those of segments
 * @all: the next commit records all segments
 * @tight: a set is being loaded, and its journal is short, or its superblock changes more than the
 *	epoch: no segment is opened before it is durable
 * @taken: the commit under way records segments, and @landed
 * @left: segments in FUSION_LAND_LEFT
 *
 * The committer's:
 * @landed: @ended when the commit began
 * @recorded: as @live, what it records as live
 * @dying: as @killed, at that time
 *
 * @copies: of what was read: dm-fusion-copies.h; NULL if there is no log
 * @reader: of the loader: dm-fusion-land-load.c
 * @pace: of writes, while there is little room: dm-fusion-land-pace.h
 * @sweep: where the drain is
 *
 * @summary: of full segments: dm-fusion-land-summary.c
 * @merge: of a block with a part of it that is written: the worker's
 * @pieces: scratch of the worker: a position for each block of an extent
 * @fua: writes with FUA that have got into the log, and wait for a flush; under fs->lock
 * @fua_work: that flush
 * @fua_wq: queue of @fua_work: no batch waits for a flush
 * @work: sends batches that could not be sent at once, and writes summaries
 * @wq: queue of @work
 * @wait: for blocks on their way
 *
 * The mover's:
 * @round: of the drain: dm-fusion-land-round.c
 * @uncopied: as @live, of positions that could not be copied; it may have some of entries that died
 * @retry_ms: ktime from which on these may be tried again; 0: there are none
 * @pause_ms: the pause before that
 * @until_ms: ktime before which nothing is copied, as nothing could be
 * @nr_drained: blocks that it has copied
 * @forgotten: there is no segment, and @has was cleared
 * @woken: the slow member was woken, so all is copied
 * @drained_last: this came last, so it is the turn of others
 */
struct fusion_land {
	u32 max;
	u32 blocks;
	u32 bitmap_bytes;
	unsigned int hash_bits;
	unsigned long *has;
	bool appends;
	u32 extents;
	unsigned int extent_bits;

	spinlock_t lock ____cacheline_aligned_in_smp;	/* see "Locks" in dm-fusion.h */
	struct fusion_land_entry *entry;
	u32 *next;
	u32 *bucket;
	struct fusion_land_extent *extent;
	u32 *extent_bucket;
	u32 extent_free;
	unsigned long *gone;
	unsigned long *going;
	u8 *live;
	u32 flight[FUSION_LAND_FLIGHT];
	u32 flight_first;
	u32 nr_flight;
	u32 barred;
	u32 awaited;
	struct fusion_landed at;
	u32 at_place;
	u32 ahead[FUSION_LAND_AHEAD];
	u64 flushed_seq;
	struct fusion_land_batch *batch;
	u32 first_batch;
	u32 nr_batches;
	u32 nr_sent;
	bool sending;
	u32 csum;
	bool broken;
	bool off;
	u64 failed;
	u32 nr_live;
	u32 nr_filled;
	u64 nr_landed;
	struct fusion_land_view *view;
	struct fusion_land_segment *segment;
	u8 *killed;
	u32 dirty;
	bool deaths;
	u64 left_commit;
	struct fusion_landed ended;
	u64 next_segno;

	bool opens;
	u32 nr;
	u32 nr_kept;
	u32 nr_lent;
	bool all;
	bool tight;
	bool taken;
	u32 left;

	struct fusion_landed landed;
	u8 *recorded;
	u8 *dying;

	struct fusion_copies *copies;
	struct fusion_land_reader *reader;
	struct fusion_land_pace pace;
	struct fusion_land_sweep sweep;

	struct fusion_land_summary *summary;
	struct fusion_land_merge *merge;
	u32 *pieces;
	struct bio_list fua;
	struct work_struct fua_work;
	struct workqueue_struct *fua_wq;
	struct work_struct *work;
	struct workqueue_struct *wq;
	wait_queue_head_t wait;

	struct fusion_land_round *round;
	u8 *uncopied;
	u64 retry_ms;
	u32 pause_ms;
	u64 until_ms;
	u64 nr_drained;
	bool forgotten;
	bool woken;
	bool drained_last;
};

/* -- dm-fusion-land-index.c: pure code; @lock is held unless said otherwise --------------- */

/*
 * Allocate it for @max segments of @blocks blocks, and @nr_lexts extents. Return: 0 or -ENOMEM;
 * fusion_land_exit() must follow in any case.
 */
int fusion_land_init(struct fusion_land *land, u32 max, u32 blocks, u32 nr_lexts);
void fusion_land_exit(struct fusion_land *land);

/* Where is a block of an extent? Return: a position, or FUSION_LAND_NONE. */
u32 fusion_land_find(const struct fusion_land *land, u32 lext, u32 block);

/*
 * How many blocks of an extent, from @block on and below @end, lie side by side in the log, or are
 * not in it? @pos: the position of the first one, or FUSION_LAND_NONE.
 */
u32 fusion_land_run(const struct fusion_land *land, u32 lext, u32 block, u32 end, u32 *pos);

/* Where the bit of a position is, in any of the bitmaps; and that bit. */
static inline size_t fusion_land_byte(const struct fusion_land *land, u32 pos)
{
	return (size_t)(pos / land->blocks) * land->bitmap_bytes + pos % land->blocks / 8;
}

static inline bool fusion_land_bit(const struct fusion_land *land, const u8 *bitmaps, u32 pos)
{
	return bitmaps[fusion_land_byte(land, pos)] >> pos % 8 & 1;
}

/* Enter a block, which the index does not have, at a position that has none. */
void fusion_land_insert(struct fusion_land *land, u32 pos, u32 lext, u32 block);

/* A block of an extent is on its way to a position that has no entry. */
void fusion_land_begin(struct fusion_land *land, u32 pos, u32 lext, u32 block);

/* The first block on its way is there: it takes the place of an older entry. fs->lock held. */
void fusion_land_arrive(struct fusion_land *land);

/* Is a block of an extent on its way, from @first on and below @end? */
bool fusion_land_flies(const struct fusion_land *land, u32 lext, u32 first, u32 end);

/* All blocks on their way are given up. fs->lock held. */
void fusion_land_ground(struct fusion_land *land);

/* The number of a position: it rises from one to the next that gets a block. */
static inline u64 fusion_land_number(const struct fusion_land *land, u64 segno, u32 block)
{
	return segno * land->blocks + block;
}

/* Take the entry at @pos out of the index. */
void fusion_land_remove(struct fusion_land *land, u32 pos);

/* The same, and have the next commit say so, for which flushes wait. fs->lock held. */
void fusion_land_kill(struct fusion_land *land, u32 pos);

/* The next commit records a segment. fs->lock held. */
void fusion_land_mark(struct fusion_land *land, struct fusion_land_segment *seg);

/*
 * All entries of an extent, of which there may be none, when its word has changed: see
 * fusion_land_look(). fs->lock held; takes @lock itself.
 */
void fusion_land_kill_extent(struct fusion_land *land, u32 lext);

/* The same for one that is on the fast member: openings take no notice of them, nor flushes. */
void fusion_land_left_behind(struct fusion_land *land, u32 lext);

/* May the extent have entries? Any context, no lock. */
static inline bool fusion_land_has(const struct fusion_land *land, u32 lext)
{
	return land->has && test_bit(lext, land->has);
}

/*
 * Has the extent entries, or blocks on their way? Unlike fusion_land_has(), this does not count
 * those that have died. @committing: a commit is under way. fs->lock held; takes @lock itself.
 */
bool fusion_land_any(struct fusion_land *land, u32 lext, bool committing);

/* Has it a slot from @first to @last? fs->lock held, or for a hint. */
bool fusion_land_within(const struct fusion_land *land, u32 first, u32 last);

/* -- dm-fusion-land-extent.c: pure code; @lock is held unless said otherwise -------------- */

/* Return: 0 or -ENOMEM; fusion_land_extents_exit() must follow in any case. */
int fusion_land_extents_init(struct fusion_land *land, u32 nr_lexts);
void fusion_land_extents_exit(struct fusion_land *land);

/* An extent has got an entry, or a block on its way. */
void fusion_land_count(struct fusion_land *land, u32 lext);

/* It has lost one. If that has died, fs->lock is held, as the next commit says so. */
void fusion_land_uncount(struct fusion_land *land, u32 lext);

/* A commit begins, which makes all deaths so far durable; or it has. fs->lock held. */
void fusion_land_extents_take(struct fusion_land *land);
void fusion_land_extents_gone(struct fusion_land *land);

/* How many are there? Return: FUSION_LAND_NONE if it has no place, so that nobody knows. */
u32 fusion_land_counted(const struct fusion_land *land, u32 lext);

/* -- dm-fusion-land.c ---------------------------------------------------------------------- */

/**
 * fusion_land_look() - where is a bio to go whose extent may have entries?
 * @fs: device
 * @bio: a read, write, write-zeroes or discard, which is in an epoch
 * @word: of its extent, on the slow member, loaded in that epoch; a write has cancelled a copy
 * @in_map: the caller is map(), where a bio may be cut
 *
 * Context: any, no lock. Return: FUSION_SUBMIT; FUSION_LOGGED with the position in the log in place
 * of the word; FUSION_MERGE; FUSION_PIECES; FUSION_AGAIN with the word that there is now. With
 * FUSION_SUBMIT, a write counts as under way until fusion_land_written(), if io->over.
 */
struct fusion_found fusion_land_look(struct fusion *fs, struct bio *bio, u32 word, bool in_map);

/* The sector of the fast member that a position is at. In an epoch, or fs->lock held. */
u64 fusion_land_sector(const struct fusion *fs, u32 pos);

/* Remap @bio to its place in the log, in the block at @pos. */
void fusion_land_remap(struct fusion *fs, struct bio *bio, u32 pos);

/*
 * Read a bio that got FUSION_PIECES, with @word, by clones. Context: the worker. Return: false if
 * it has to look again, as the word has changed.
 */
bool fusion_land_read_pieces(struct fusion *fs, struct bio *bio, u32 word);

/* A write over entries has ended. Any context, no lock; the bio is still in its epoch. */
void fusion_land_written(struct fusion *fs, struct fusion_io *io, bool ok);

/**
 * struct fusion_land_reach - the sectors of an extent that a write has
 * @lext: extent
 * @first: first sector in it
 * @end: sector behind the last one
 */
struct fusion_land_reach {
	u32 lext;
	u32 first;
	u32 end;
};

struct fusion_land_reach fusion_land_reach(const struct fusion *fs, const struct bio *bio);

/*
 * A block that a write cannot simply go over: it is on its way into the log; or, the first one of
 * which the entry is being copied, has too many writes over it, or this one has only a part.
 * land->lock held. Return: is there one? @pos: its entry; FUSION_LAND_NONE if it is on its way.
 */
bool fusion_land_obstacle(const struct fusion_land *land, const struct fusion_land_reach *r,
			  u32 *pos);

#endif
