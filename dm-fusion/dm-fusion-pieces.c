// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: pieces of what the mover copies: blocks are read to pages, and written elsewhere.
 *
 * When the lease is over, another machine may have taken the set: a place on the slow member may
 * have a newer block then, and a free slot another use. So the read and the write are two steps,
 * and this is not kcopyd. The read ends when its member likes; then the mover looks at the gate,
 * right before it sends the write. If it has to wait for the heartbeat, a piece that is in an epoch
 * does so in it, as batches of the log do.
 *
 * Some pieces are under way at once, in a ring: all are read ahead, and written in the order in
 * which they began, which is that of the member. They have their pages from fusion_pieces_get() on.
 * If memory is short, pieces are shorter; a few pages are always there.
 */
#include <linux/blk-cgroup.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "dm-fusion.h"

/* Pages that are always there: writers wait for the drain just when memory is short. */
#define KEPT	FUSION_MOST_PIECES

/**
 * struct fusion_pieces - pieces under way
 * @fs: device
 * @max: how many there may be at once: a power of two, as the counts below overflow
 * @longest: blocks that one may have
 * @begun: how many have begun so far; the next one is piece[@begun % @max]
 * @seen: of these, have been read, and their writes were sent, or they are over
 * @over: of these, have been returned by fusion_pieces_ended()
 * @under_way: reads and writes that @ended has to be waited for
 * @shut: there is no heartbeat: none of those under way is written any more
 * @ended: counts reads and writes that have ended
 * @page: pages of all
 * @piece: the ring
 */
struct fusion_pieces {
	struct fusion *fs;
	u32 max;
	u32 longest;
	u32 begun;
	u32 seen;
	u32 over;
	u32 under_way;
	bool shut;
	struct completion ended;
	struct page *page[FUSION_MOST_PIECES * FUSION_PIECE_BLOCKS];
	struct fusion_piece *piece;
};

/* -- pages ----------------------------------------------------------------------------------- */

struct fusion_pieces *fusion_pieces_new(struct fusion *fs)
{
	struct fusion_pieces *pieces = kvzalloc(sizeof(*pieces), GFP_KERNEL);
	u32 i;

	if (!pieces)
		return NULL;
	pieces->fs = fs;
	init_completion(&pieces->ended);
	pieces->piece = kvcalloc(FUSION_MOST_PIECES, sizeof(*pieces->piece), GFP_KERNEL);
	for (i = 0; pieces->piece && i < KEPT; i++) {
		pieces->page[i] = alloc_page(GFP_KERNEL);
		if (!pieces->page[i])
			break;
	}
	if (i == KEPT)
		return pieces;
	fusion_pieces_free(pieces);
	return NULL;
}

void fusion_pieces_free(struct fusion_pieces *pieces)
{
	u32 i;

	if (!pieces)
		return;
	for (i = 0; i < ARRAY_SIZE(pieces->page) && pieces->page[i]; i++)
		__free_page(pieces->page[i]);
	kvfree(pieces->piece);
	kvfree(pieces);
}

void fusion_pieces_get(struct fusion_pieces *pieces, u32 max, u32 longest, gfp_t gfp)
{
	u32 nr = KEPT;

	max = min(max, FUSION_MOST_PIECES);
	longest = min(longest, FUSION_PIECE_BLOCKS);
	for (; nr < max * longest; nr++) {
		pieces->page[nr] = alloc_page(gfp);
		if (!pieces->page[nr])
			break;
	}
	pieces->max = max;
	pieces->longest = min(nr / max, longest);
}

void fusion_pieces_put(struct fusion_pieces *pieces)
{
	u32 i;

	for (i = KEPT; i < ARRAY_SIZE(pieces->page) && pieces->page[i]; i++) {
		__free_page(pieces->page[i]);
		pieces->page[i] = NULL;
	}
}

u32 fusion_pieces_longest(const struct fusion_pieces *pieces)
{
	return pieces->longest;
}

/* -- a piece --------------------------------------------------------------------------------- */

static void fusion_piece_done(struct bio *bio)
{
	struct fusion_piece *piece = bio->bi_private;
	struct fusion_pieces *pieces = piece->pieces;

	piece->status = bio->bi_status;
	bio_uninit(bio);
	/* Pairs with the acquire in fusion_piece_came(): the piece may be used again. */
	smp_store_release(&piece->came, true);
	complete(&pieces->ended);
}

static bool fusion_piece_came(const struct fusion_piece *piece)
{
	/* Pairs with the release in fusion_piece_done(): @status, and what was read. */
	return smp_load_acquire(&piece->came);
}

/* Read or write its blocks. As for kcopyd, nobody waits for them: no REQ_SYNC. */
static void fusion_piece_io(struct fusion_piece *piece, enum fusion_dev disk, u64 sector,
			    blk_opf_t opf)
{
	struct fusion_pieces *pieces = piece->pieces;
	const u32 first = (piece - pieces->piece) * pieces->longest;
	u32 i;

	piece->came = false;
	pieces->under_way++;
	bio_init(&piece->bio, pieces->fs->dev[disk]->bdev, piece->vec, ARRAY_SIZE(piece->vec), opf);
	/* users wait for some of them: no limit of a group must hold them up */
	bio_associate_blkg_from_css(&piece->bio, blkcg_root_css);
	piece->bio.bi_iter.bi_sector = sector;
	for (i = 0; i < piece->nr; i++)
		__bio_add_page(&piece->bio, pieces->page[first + i], FUSION_BLOCK_SIZE, 0);
	piece->bio.bi_end_io = fusion_piece_done;
	piece->bio.bi_private = piece;
	submit_bio_noacct(&piece->bio);
}

struct fusion_piece *fusion_pieces_next(struct fusion_pieces *pieces)
{
	if (pieces->begun - pieces->over >= pieces->max)
		return NULL;
	return &pieces->piece[pieces->begun % pieces->max];
}

void fusion_pieces_begin(struct fusion_pieces *pieces, struct fusion_piece *piece,
			 enum fusion_dev disk, u64 from)
{
	if (pieces->begun == pieces->over)
		pieces->shut = false;
	pieces->begun++;
	piece->pieces = pieces;
	piece->fate = FUSION_PIECE_READ;
	fusion_piece_io(piece, disk, from, REQ_OP_READ);
}

/* It has been read. Send its write, or give it up. */
static void fusion_piece_write(struct fusion_pieces *pieces, struct fusion_piece *piece)
{
	struct fusion *fs = pieces->fs;

	if (piece->status) {
		piece->fate = FUSION_PIECE_UNREAD;
		return;
	}
	if (pieces->shut || fusion_gate_sure(fs)) {
		pieces->shut = true;
		piece->fate = FUSION_PIECE_SHUT;
		return;
	}
	piece->fate = FUSION_PIECE_WRITTEN;
	fusion_piece_io(piece, piece->dev, piece->to, REQ_OP_WRITE);
}

/* Write what has been read, in order. */
static void fusion_pieces_write(struct fusion_pieces *pieces)
{
	struct fusion_piece *piece;

	for (; pieces->seen != pieces->begun; pieces->seen++) {
		piece = &pieces->piece[pieces->seen % pieces->max];
		if (!fusion_piece_came(piece))
			break;
		fusion_piece_write(pieces, piece);
	}
}

struct fusion_piece *fusion_pieces_ended(struct fusion_pieces *pieces)
{
	struct fusion_piece *piece = &pieces->piece[pieces->over % pieces->max];

	for (;;) {
		fusion_pieces_write(pieces);
		if (pieces->over != pieces->seen && fusion_piece_came(piece))
			break;
		/* Then those that end reads and writes have done with @pieces. */
		if (!pieces->under_way)
			return NULL;
		wait_for_completion(&pieces->ended);
		pieces->under_way--;
	}
	pieces->over++;
	if (piece->fate == FUSION_PIECE_WRITTEN && piece->status)
		piece->fate = FUSION_PIECE_UNWRITTEN;
	return piece;
}
