/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: what the mover copies between the members, in pieces: those of extents
 * (dm-fusion-copy.c), those of blocks of the landing log that are drained (dm-fusion-land-round.c),
 * and those that are laid over the copy of an extent (dm-fusion-land-moves.c). The mover does one
 * of these at a time.
 */
#ifndef DM_FUSION_PIECES_H
#define DM_FUSION_PIECES_H

#include <linux/bio.h>
#include <linux/types.h>

#include "dm-fusion-io.h"

struct fusion;
struct fusion_pieces;

/* Most pieces at once, and blocks of each. */
#define FUSION_MOST_PIECES	8U
#define FUSION_PIECE_BLOCKS	64U

/* What has become of a piece. */
enum fusion_piece_fate {
	FUSION_PIECE_READ,	/* it is being read */
	FUSION_PIECE_WRITTEN,	/* or it is on its way */
	FUSION_PIECE_UNREAD,
	FUSION_PIECE_UNWRITTEN,
	FUSION_PIECE_SHUT,	/* not written, as there is no heartbeat */
};

/**
 * struct fusion_piece - a piece of what is copied
 * @io: for its epoch alone, if it is in one
 * @context: of the one who began it
 * @dev: the member that it goes to
 * @to: where to
 * @first: of the round's blocks; of rounds alone
 * @nr: its blocks, which lie side by side where they come from, and where they go to
 * @fate: enum fusion_piece_fate
 * @came: its read, or write, has ended
 * @status: of that
 * @pieces: of which it is one
 * @bio: reads, then writes
 * @vec: table of @bio
 */
struct fusion_piece {
	struct fusion_io io;
	void *context;
	enum fusion_dev dev;
	sector_t to;
	u32 first;
	u32 nr;
	u8 fate;
	bool came;
	blk_status_t status;
	struct fusion_pieces *pieces;
	struct bio bio;
	struct bio_vec vec[FUSION_PIECE_BLOCKS];
};

/* Those of a set. Return: NULL if there is no memory. */
struct fusion_pieces *fusion_pieces_new(struct fusion *fs);

/* None is under way, or @pieces is NULL. */
void fusion_pieces_free(struct fusion_pieces *pieces);

/**
 * fusion_pieces_get() - get ready for pieces
 * @pieces: none is under way
 * @max: pieces at once; a power of two
 * @longest: blocks of each
 * @gfp: for pages
 *
 * If memory is short, pieces are shorter. Afterwards, fusion_pieces_put() must follow. Context: the
 * mover; sleeps.
 */
void fusion_pieces_get(struct fusion_pieces *pieces, u32 max, u32 longest, gfp_t gfp);
void fusion_pieces_put(struct fusion_pieces *pieces);

/* Blocks that a piece may have. */
u32 fusion_pieces_longest(const struct fusion_pieces *pieces);

/* The next piece that may begin, or NULL if as many are under way as there may be. */
struct fusion_piece *fusion_pieces_next(struct fusion_pieces *pieces);

/* Read it from sector @from of a member. Its @dev, @to and @nr are set. Context: the mover. */
void fusion_pieces_begin(struct fusion_pieces *pieces, struct fusion_piece *piece,
			 enum fusion_dev disk, u64 from);

/*
 * Wait until the oldest piece has ended, and write meanwhile what has been read. Return: that
 * piece, or NULL: there is none. Context: the mover; sleeps, also for the gate.
 */
struct fusion_piece *fusion_pieces_ended(struct fusion_pieces *pieces);

#endif
