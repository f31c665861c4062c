/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: copies of what is read from the slow member, in slots of the landing log that it does
 * not use at the moment.
 *
 * What gets a copy. A read of at most 16 KiB, of whole blocks, that is no part of a stream and that
 * only the slow member can serve. While there is room and copies earn their writes, each such read
 * does; otherwise the second one: @ghost has traces of blocks that were read. Copies earn too
 * little if the last ones, as many as a quarter of the log has positions, saw fewer than half as
 * many blocks read from copies: when nothing is read again, or writes soon outdate them. It reads
 * into pages of a struct fusion_fill, from which the bio gets its data. So what a program does to
 * its buffer meanwhile is in no copy. There are FUSION_FILLS of these; without a free one the read
 * is as any other. The work writes them in batches, one position behind the other, and then the
 * index has them. Where there is no room, the hand of a clock passes by, which gives each copy as
 * many more rounds as it was used, up to three.
 *
 * Heat. A read that a copy serves needs no slot of its extent on the fast member, so it adds no
 * heat: extents are promoted for what copies cannot serve.
 *
 * What is on disk. Nothing: the index in memory is all that knows copies. It is that of the landing
 * log, with another key: FUSION_COPY_KEY beside the number of the block. An entry belongs to a
 * position, and a position to the log or to copies, never to both. So copies take no memory but two
 * bytes for each position, for @ghost, and the pages of the fills, 1 MiB.
 *
 * Where they lie. A place is lent to copies (@shelf) if its segment has no batch yet, nor will have
 * one soon: it is open, and more than FUSION_COPY_AHEAD segments ahead of the log; or it has no
 * segment, and one of the slots that fusion_spares() keeps for the log. Such slots are counted in
 * land->nr_lent, and a commit that opens a segment takes one of them with all that is in it. A
 * place that the log comes near to is left: from that moment on, under land.lock, no read finds
 * copies in it. The work takes them out of the index, and waits until reads and writes of copies
 * that were under way have ended. Until then, fusion_land_place_of() does not find the segment:
 * small writes go past the log, or wait, as if it was not open yet. The same waits for readers of a
 * copy come before a position is written to again: @users counts them, in two ages, of which the
 * older one runs empty. That is what the epochs do for all bios, but here only those of copies
 * count, so it takes no longer than the fast member needs.
 *
 * INV24 A copy that the index has, has the content of its block on the slow member. So:
 *
 *	a copy is entered only if no write, no discard and no log entry of its block was under way
 *	when its read was sent, or has begun since. A fill counts from before its read is sent; all
 *	of these take land.lock when they begin, and take the copies of their blocks out of the
 *	index and the blocks out of the fills (fusion_copies_kill()). Writes past the log are
 *	counted by extent, in @group, until they have ended, before they are acknowledged; blocks
 *	on their way into the log are in land->flight, and then in its index. No block has both a
 *	copy and an entry of the log;
 *
 *	an extent with copies or fills is STABLE, WATCHED or LOCKED on the slow member. Who changes
 *	its word otherwise does fusion_copies_forget() behind that, in the same section of fs->lock,
 *	and who looks for a copy, or begins a fill, looks at the word again under land.lock. A move
 *	on the slow member keeps them: what they have is the same there;
 *
 *	a position is written to only when its copy was out of the index, and no read of it under
 *	way; and nothing is written to the slots without a lease: fusion_gate_sure().
 *
 * Errors. A read of a copy that fails is sent to the slow member, and the copy is gone; unless the
 * set is another machine's by then. A write of copies that fails is forgotten, and no copies are
 * made for a while. Copies are part of the write budget, and stop when a quarter of what an hour
 * brings is left: dm-fusion-budget.c.
 *
 * When a set is closed, before a fence, and when first writes find no other slots, all slots that
 * are lent are given back. Closed or crashed, nothing reminds of copies: their slots are free.
 */
#ifndef DM_FUSION_COPIES_H
#define DM_FUSION_COPIES_H

#include <linux/bio.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "dm-fusion-io.h"
#include "dm-fusion-land.h"

struct fusion;

/* Beside the number of the block in the key of an entry: that is a copy. */
#define FUSION_COPY_KEY		0x8000U

/*
 * Flags of an entry of copies: it is in the index; rounds of the hand that it has left. None of the
 * flags of the log: who looks for these at a position may be late.
 */
#define FUSION_COPY_HERE	0x2000U
#define FUSION_COPY_ROUNDS	0x0003U

/* The most blocks of a read that gets copies. */
#define FUSION_FILL_BLOCKS	4U
/* Such reads, and what is yet to be written of others, at once. */
#define FUSION_FILLS		64U
/* Blocks that are written at once. */
#define FUSION_COPY_BATCH	64U
/* Segments ahead of the log that have no copies any more. */
#define FUSION_COPY_AHEAD	2U
/* Extents are counted by so many groups. */
#define FUSION_COPY_GROUPS_BITS	10U

enum fusion_fill_state {
	FUSION_FILL_FREE,
	FUSION_FILL_READING,
	FUSION_FILL_READY,	/* in @ready, or the work has it */
};

/**
 * struct fusion_fill - a read that gets copies
 * @fs: device
 * @user: the bio that wants the data
 * @lext: its extent
 * @block: the first block
 * @nr: blocks
 * @dead: a bit for each that gets no copy; under land.lock
 * @state: enum fusion_fill_state; the same
 * @next: the next one in @ready, or of the free ones; the same
 * @bio: reads
 * @vec: table of @bio
 * @page: what was read
 */
struct fusion_fill {
	struct fusion *fs;
	struct bio *user;
	u32 lext;
	u16 block;
	u8 nr;
	u8 dead;
	u8 state;
	struct fusion_fill *next;
	struct bio bio;
	struct bio_vec vec[FUSION_FILL_BLOCKS];
	struct page *page[FUSION_FILL_BLOCKS];
};

/* Is a place lent to copies? Under land.lock. */
enum fusion_shelf {
	FUSION_SHELF_NONE,
	FUSION_SHELF_LENT,
	FUSION_SHELF_LEFT,	/* no read finds what is in it, and the work has not done with it */
};

/* Copies, and writes past the log under way, of a group of extents. */
struct fusion_copies_group {
	u32 copies;
	u32 writes;
};

/**
 * struct fusion_copies - copies
 * Under land.lock:
 * @on: they may be made, and found
 * @shelf: enum fusion_shelf, by place
 * @nr_shelves: places that are FUSION_SHELF_LENT
 * @nr_left: places that are FUSION_SHELF_LEFT
 * @nr: copies
 * @more: another place may be had
 * @group: groups of extents
 * @ghost: traces of blocks that were read, by a hash of them
 * @users: reads of copies under way, by age
 * @age: that of those that begin
 * @fill: reads that get copies
 * @free: the first one that is free, or NULL
 * @nr_fills: those that are not
 * @ready: the first one that is to be written, or NULL
 * @last: the last one of these
 * @unpaid: bytes that were written and are not in the budget yet
 * @poor: copies earn too little; as of @made_then and @served_then, which were @made and @served
 * @until_ms: ktime before which none are made
 * @hungry_ms: ktime before which no place is lent, as others lack slots
 * @hits: reads that copies have served
 * @served: blocks of these
 * @made: copies that were entered
 * @killed: those that writes, discards or moves have outdated
 * @evicted: those that made room for others
 * @retaken: those that were in places that the log wanted back
 * @failed: those that could not be written, or read
 *
 * The work's:
 * @place: place that the hand is at
 * @block: block of it
 * @pos: positions that are written next
 * @of: the fill of each
 * @part: the block of that
 * @bio: writes
 * @vec: table of @bio
 *
 * @wait: for @users to run empty
 * @work: writes copies, and gives back places
 * @wq: queue of @work
 */
struct fusion_copies {
	bool on;
	u8 *shelf;
	u32 nr_shelves;
	u32 nr_left;
	u32 nr;
	bool more;
	struct fusion_copies_group group[1 << FUSION_COPY_GROUPS_BITS];
	u16 *ghost;
	u32 users[2];
	u8 age;
	struct fusion_fill *fill;
	struct fusion_fill *free;
	u32 nr_fills;
	struct fusion_fill *ready, *last;
	u64 unpaid;
	bool poor;
	u64 made_then, served_then;
	u64 until_ms;
	u64 hungry_ms;
	u64 hits, served, made, killed, evicted, retaken, failed;

	u32 place;
	u32 block;
	u32 pos[FUSION_COPY_BATCH];
	struct fusion_fill *of[FUSION_COPY_BATCH];
	u8 part[FUSION_COPY_BATCH];
	struct bio bio;
	struct bio_vec vec[FUSION_COPY_BATCH];

	struct fusion *fs;
	wait_queue_head_t wait;
	struct work_struct work;
	struct workqueue_struct *wq;
};

/* -- dm-fusion-land-index.c; land.lock is held ------------------------------------------------ */

/* The hash alone: the entry at @pos has a key, and comes into the index, or is to leave it. */
void fusion_land_link(struct fusion_land *land, u32 pos);
void fusion_land_unlink(struct fusion_land *land, u32 pos);

/* -- dm-fusion-copies-index.c: pure code; land.lock is held ---------------------------- */

/* Allocate @land->copies. Return: 0 or -ENOMEM; fusion_copies_index_exit() must follow. */
int fusion_copies_index_init(struct fusion_land *land);
void fusion_copies_index_exit(struct fusion_land *land);

/* Is the place of a segment lent, or not yet given back? */
bool fusion_copies_lent(const struct fusion_land *land, u32 place);

/* A place without a segment, that is neither kept nor lent, or FUSION_LAND_NONE. */
u32 fusion_copies_bare_place(const struct fusion_land *land);

/* The group of an extent. */
struct fusion_copies_group *fusion_copies_group(const struct fusion_land *land, u32 lext);

/* The position of a copy that a read may use, or FUSION_LAND_NONE. */
u32 fusion_copies_find(const struct fusion_land *land, u32 lext, u32 block);

/* The same, also in a place that is left. */
u32 fusion_copies_seek(const struct fusion_land *land, u32 lext, u32 block);

/* A read uses it. */
void fusion_copies_use(struct fusion_land *land, u32 pos);

/* Enter a copy at a position without one, of a place that is lent, of a block that has none. */
void fusion_copies_enter(struct fusion_land *land, u32 pos, u32 lext, u32 block);

/* Take it out. */
void fusion_copies_remove(struct fusion_land *land, u32 pos);

/*
 * Something begins that changes blocks of an extent, from @first on and below @end: there are no
 * copies of these any more, and fills get none.
 */
void fusion_copies_kill(struct fusion_land *land, u32 lext, u32 first, u32 end);

/* The same with all of an extent, when its word has changed. fs->lock held; takes land.lock. */
void fusion_copies_forget(struct fusion_land *land, u32 lext);

/* Was the block read before? From now on it was. */
bool fusion_copies_seen(struct fusion_land *land, u32 lext, u32 block);

/* Is there room for copies that nobody has to give up, and do copies earn their writes? */
bool fusion_copies_roomy(const struct fusion_land *land);

/*
 * Move the hand on by up to *@steps positions that are lent, until @nr are found to write to;
 * copies there are out of the index. With more steps than such positions, some would be found
 * twice. Return: how many.
 */
u32 fusion_copies_turn(struct fusion_land *land, u32 *pos, u32 nr, u32 *steps);

/* A place is lent, where nothing has an entry; or copies in it count for nothing any more. */
void fusion_copies_lend(struct fusion_land *land, u32 place);
bool fusion_copies_leave(struct fusion_land *land, u32 place);

/* Take up to @nr positions of a place that is left, from @block on, out of the index. */
void fusion_copies_clear(struct fusion_land *land, u32 place, u32 block, u32 nr);

/* Nothing uses it any more. */
void fusion_copies_give_back(struct fusion_land *land, u32 place);

/* -- dm-fusion-copies-places.c --------------------------------------------------------- */

/* The log gets on, or segments have been opened. land.lock held. */
void fusion_copies_retreat(struct fusion *fs);

/* The place of a slot that is lent, which a segment takes over. Both locks held. */
u32 fusion_copies_hand_over(struct fusion *fs);

/* Leave all places, or those without a segment. Both locks held. */
void fusion_copies_leave_all(struct fusion *fs, bool segments);

/* Others lack slots: are some lent? Then they are on their way back. fs->lock held. */
bool fusion_copies_yield(struct fusion *fs);

/* What copies have written since the last call, in bytes. Context: process, no lock. */
u64 fusion_copies_pay(struct fusion *fs);

/* -- dm-fusion-copies.c: reads and writes of users ------------------------------------- */

/*
 * A read that only the slow member can serve, with @word, looks for copies. Return: FUSION_LOGGED
 * with a position: the bio is counted in @users until fusion_copies_read(); FUSION_FILL with the
 * word: fusion_copies_fill() must follow; FUSION_AGAIN with another word; FUSION_SUBMIT.
 */
struct fusion_found fusion_copies_look(struct fusion *fs, struct bio *bio, u32 word, bool in_map);

/* The bio, which is pinned, gets its data by a fill. Context: map(). */
void fusion_copies_fill(struct fusion *fs, struct bio *bio, u32 word);

/* The bio has read a copy. Return: has it failed, and is to be sent to the slow member? */
bool fusion_copies_read(struct fusion *fs, struct bio *bio, blk_status_t error);

/* A write, zeroes or discard to the slow member begins past the log; and has ended. No lock. */
void fusion_copies_write(struct fusion *fs, struct bio *bio);
void fusion_copies_written(struct fusion *fs, struct fusion_io *io);

/* -- dm-fusion-copies-work.c ----------------------------------------------------------- */

/* Return: 0 or -ENOMEM; fusion_copies_exit() must follow in any case. */
int fusion_copies_init(struct fusion *fs);
void fusion_copies_exit(struct fusion *fs);

/* Copies may be made. */
void fusion_copies_start(struct fusion *fs);

/* None are there any more, and no slot is lent. Sleeps, but waits for the fast member only. */
void fusion_copies_stop(struct fusion *fs);

#endif
