/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: batches on their way into the landing log: the inside of dm-fusion-land-batch.c and
 * dm-fusion-land-end.c.
 */
#ifndef DM_FUSION_LAND_BATCH_H
#define DM_FUSION_LAND_BATCH_H

#include <linux/bio.h>
#include <linux/preempt.h>

#include "dm-fusion-copies.h"
#include "dm-fusion-landing.h"

/* Blocks of a write, at most; larger ones go to the slow member at once. */
#define FUSION_LAND_MOST	16U

/* Batches that are sent to the member at once. */
#define FUSION_LAND_SENT	2U

enum fusion_land_batch_state {
	FUSION_BATCH_FILLING,
	FUSION_BATCH_SENT,
	FUSION_BATCH_ENDED,
};

/**
 * struct fusion_land_batch - a batch
 * @fs: device
 * @bio: its write
 * @vec: table of @bio
 * @page: the header and the data
 * @entry: entries of the header
 * @bios: the writes that it has, once their data are copied
 * @seq: its number
 * @flushed_seq: what its header says
 * @place: of its segment
 * @pos: of the header there
 * @count: entries that have a position
 * @copying: bios whose data are being copied
 * @state: enum fusion_land_batch_state
 * @csum: of the header
 * @status: of the write
 *
 * Under land.lock, but for what belongs to who copies, or sends.
 */
struct fusion_land_batch {
	struct fusion *fs;
	struct bio bio;
	struct bio_vec vec[FUSION_BATCH_BLOCKS + 1];
	struct page *page[FUSION_BATCH_BLOCKS + 1];
	struct fusion_entry entry[FUSION_BATCH_BLOCKS];
	struct bio_list bios;
	u64 seq;
	u64 flushed_seq;
	u32 place;
	u32 pos;
	u32 count;
	u32 copying;
	u32 csum;
	u8 state;
	blk_status_t status;
};

/*
 * From before a block gets a place until its data are there, the task keeps the CPU: a batch with
 * blocks of others cannot be sent before that. Where locks sleep, that is not possible.
 */
static inline void fusion_land_hold(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_disable();
}

static inline void fusion_land_let_go(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_enable();
}

/* A batch that has a place. land.lock held. */
static inline struct fusion_land_batch *fusion_land_nth(const struct fusion_land *land, u32 i)
{
	return &land->batch[(land->first_batch + i) % FUSION_LAND_BATCHES];
}

/* The place of a segment that is durably open ahead of the log, or FUSION_LAND_NONE. */
static inline u32 fusion_land_open_place(const struct fusion_land *land, u64 segno)
{
	const u32 i = land->ahead[segno % FUSION_LAND_AHEAD];

	return land->segment[i].state == FUSION_LAND_LISTED && land->segment[i].segno == segno ?
	       i : FUSION_LAND_NONE;
}

/* The same, if the log may get there: there are no copies of what was read. */
static inline u32 fusion_land_place_of(const struct fusion_land *land, u64 segno)
{
	const u32 i = fusion_land_open_place(land, segno);

	return i != FUSION_LAND_NONE && !fusion_copies_lent(land, i) ? i : FUSION_LAND_NONE;
}

/* -- dm-fusion-land-end.c -------------------------------------------------------------------- */

/* The next batch that can be sent, which takes no blocks any more, or NULL. land.lock held. */
struct fusion_land_batch *fusion_land_to_send(struct fusion_land *land);

/*
 * The log ends here, goes on behind all segments that there are, and opens no others. No block is
 * on its way. Both locks held.
 */
void fusion_land_leave(struct fusion *fs);

/* Have land->work run. */
void fusion_land_work(struct fusion *fs);

/* The end of the write of a batch. */
void fusion_land_batch_done(struct bio *bio);

#endif
