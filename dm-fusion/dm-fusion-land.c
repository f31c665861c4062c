// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: bios that meet an extent with entries in the landing log. The head of dm-fusion-land.h
 * says what becomes of them.
 */
#include "dm-fusion.h"

/* -- looking up ------------------------------------------------------------------------------ */

static struct fusion_found fusion_land_look_read(struct fusion *fs, struct bio *bio, u32 word,
						 bool in_map)
{
	const u32 lext = fusion_lext(fs, bio->bi_iter.bi_sector);
	const u32 first = fusion_offset(fs, bio->bi_iter.bi_sector);
	const u32 end = first + bio_sectors(bio), block = first / FUSION_BLOCK_SECTORS;
	struct fusion_land *land = &fs->land;
	unsigned long flags;
	u32 nr, pos, now;

	spin_lock_irqsave(&land->lock, flags);
	nr = fusion_land_run(land, lext, block, DIV_ROUND_UP(end, FUSION_BLOCK_SECTORS), &pos);
	/*
	 * Entries of an extent that is unmapped leave the index behind the change of its word, and
	 * what they covered in the slot is older. The lock pairs with fusion_land_kill_extent().
	 */
	now = READ_ONCE(fs->map[lext]);
	spin_unlock_irqrestore(&land->lock, flags);
	if (now != word)
		return (struct fusion_found){ now, FUSION_AGAIN };

	nr = (block + nr) * FUSION_BLOCK_SECTORS - first;
	if (nr < bio_sectors(bio)) {
		if (!in_map)
			return (struct fusion_found){ word, FUSION_PIECES };
		dm_accept_partial_bio(bio, nr);
	}
	return pos == FUSION_LAND_NONE ? (struct fusion_found){ word, FUSION_SUBMIT } :
					 (struct fusion_found){ pos, FUSION_LOGGED };
}

struct fusion_land_reach fusion_land_reach(const struct fusion *fs, const struct bio *bio)
{
	const u32 first = fusion_offset(fs, bio->bi_iter.bi_sector);

	return (struct fusion_land_reach){
		.lext = fusion_lext(fs, bio->bi_iter.bi_sector),
		.first = first,
		.end = first + bio_sectors(bio),
	};
}

/* Has it all of the block? */
static bool fusion_land_covers(const struct fusion_land_reach *r, u32 block)
{
	return r->first <= block * FUSION_BLOCK_SECTORS &&
	       (block + 1) * FUSION_BLOCK_SECTORS <= r->end;
}

bool fusion_land_obstacle(const struct fusion_land *land, const struct fusion_land_reach *r,
			  u32 *pos)
{
	const u32 end = DIV_ROUND_UP(r->end, FUSION_BLOCK_SECTORS);
	u32 block = r->first / FUSION_BLOCK_SECTORS;

	*pos = FUSION_LAND_NONE;
	if (fusion_land_flies(land, r->lext, block, end))
		return true;
	for (; block < end; block++) {
		*pos = fusion_land_find(land, r->lext, block);
		if (*pos != FUSION_LAND_NONE &&
		    (land->entry[*pos].flags >= FUSION_LAND_WRITES ||
		     !fusion_land_covers(r, block)))
			return true;
	}
	return false;
}

/* A write begins over all entries that it has. land->lock held. Return: are there any? */
static bool fusion_land_begin_write(struct fusion_land *land, const struct fusion_land_reach *r)
{
	bool any = false;
	u32 block, pos;

	for (block = DIV_ROUND_UP(r->first, FUSION_BLOCK_SECTORS);
	     block < r->end / FUSION_BLOCK_SECTORS; block++) {
		pos = fusion_land_find(land, r->lext, block);
		if (pos == FUSION_LAND_NONE)
			continue;
		land->entry[pos].flags++;
		any = true;
	}
	return any;
}

/*
 * Is there a piece of a write that has parts of blocks, which is either a part of one block, or
 * whole blocks? Then each gets into the log by itself. Return: the end of the first piece.
 */
static u32 fusion_land_piece(const struct fusion_land_reach *r)
{
	const u32 up = round_up(r->first, FUSION_BLOCK_SECTORS);
	const u32 down = round_down(r->end, FUSION_BLOCK_SECTORS);

	return up > r->first ? min(up, r->end) : down > r->first ? down : r->end;
}

static struct fusion_found fusion_land_look_write(struct fusion *fs, struct bio *bio, u32 word,
						  bool in_map)
{
	const struct fusion_land_reach r = fusion_land_reach(fs, bio);
	struct fusion_land *land = &fs->land;
	struct fusion_io *io = fusion_io(bio);
	unsigned long flags;
	bool clear;
	u32 pos;

	spin_lock_irqsave(&land->lock, flags);
	clear = !fusion_land_obstacle(land, &r, &pos);
	if (clear)
		io->over = fusion_land_begin_write(land, &r);
	io->start = fusion_land_number(land, land->at.segno, land->at.pos);
	spin_unlock_irqrestore(&land->lock, flags);
	if (!clear && in_map && fusion_land_piece(&r) < r.end) {
		dm_accept_partial_bio(bio, fusion_land_piece(&r) - r.first);
		return (struct fusion_found){ word, FUSION_AGAIN };
	}
	if (!clear)
		return (struct fusion_found){ word, FUSION_MERGE };
	io->lext = r.lext;
	io->first = r.first;
	io->nr = r.end - r.first;
	/* It is not durable before the death of what is in the log is, whatever the member can. */
	io->fua |= !!(bio->bi_opf & REQ_FUA);
	bio->bi_opf &= ~REQ_FUA;
	return (struct fusion_found){ word, FUSION_SUBMIT };
}

struct fusion_found fusion_land_look(struct fusion *fs, struct bio *bio, u32 word, bool in_map)
{
	if (bio_op(bio) == REQ_OP_READ)
		return fusion_land_look_read(fs, bio, word, in_map);
	/* of a part of an extent: what is in the log stays */
	if (bio_op(bio) == REQ_OP_DISCARD)
		return (struct fusion_found){ word, FUSION_SUBMIT };
	return fusion_land_look_write(fs, bio, word, in_map);
}

u64 fusion_land_sector(const struct fusion *fs, u32 pos)
{
	const struct fusion_land *land = &fs->land;
	const u32 slot = READ_ONCE(land->segment[pos / land->blocks].slot);

	return fs->base[FUSION_FAST] + ((u64)slot << fs->shift) +
	       pos % land->blocks * FUSION_BLOCK_SECTORS;
}

void fusion_land_remap(struct fusion *fs, struct bio *bio, u32 pos)
{
	/* The bio is in an epoch, so the segment keeps its slot: INV21. */
	bio->bi_iter.bi_sector = fusion_land_sector(fs, pos) +
				 bio->bi_iter.bi_sector % FUSION_BLOCK_SECTORS;
	bio_set_dev(bio, fs->dev[FUSION_FAST]->bdev);
}

/* A clone reads @nr blocks from @first on, counted from the first one that the bio touches. */
static void fusion_land_read_piece(struct fusion *fs, struct bio *bio, u32 word, u32 first, u32 nr)
{
	const u32 offset = fusion_offset(fs, bio->bi_iter.bi_sector) % FUSION_BLOCK_SECTORS;
	const u32 from = max(first * FUSION_BLOCK_SECTORS, offset) - offset;
	const u32 end = min((first + nr) * FUSION_BLOCK_SECTORS - offset, bio_sectors(bio));
	const u32 pos = fs->land.pieces[first];
	struct bio *clone;

	clone = bio_alloc_clone(fusion_word_bdev(fs, word), bio, GFP_NOIO, &fs->worker.clones);
	bio_trim(clone, from, end - from);
	if (pos == FUSION_LAND_NONE)
		fusion_remap(fs, clone, word);
	else
		fusion_land_remap(fs, clone, pos);
	bio_chain(clone, bio);
	submit_bio_noacct(clone);
}

bool fusion_land_read_pieces(struct fusion *fs, struct bio *bio, u32 word)
{
	const u32 lext = fusion_lext(fs, bio->bi_iter.bi_sector);
	const u32 offset = fusion_offset(fs, bio->bi_iter.bi_sector);
	const u32 block = offset / FUSION_BLOCK_SECTORS;
	const u32 nr = DIV_ROUND_UP(offset + bio_sectors(bio), FUSION_BLOCK_SECTORS) - block;
	struct fusion_land *land = &fs->land;
	u32 i, first = 0, now, *pos = land->pieces;
	unsigned long flags;

	/* All of them at once: entries leave the index behind the change of a word. */
	spin_lock_irqsave(&land->lock, flags);
	for (i = 0; i < nr; i++)
		pos[i] = fusion_land_find(land, lext, block + i);
	now = READ_ONCE(fs->map[lext]);
	spin_unlock_irqrestore(&land->lock, flags);
	if (now != word) {
		fusion_unpin(fs, fusion_io(bio));
		return false;
	}
	for (i = 1; i <= nr; i++) {
		if (i < nr && (pos[i] == FUSION_LAND_NONE ? pos[first] == FUSION_LAND_NONE :
			       pos[i] == pos[i - 1] + 1 && pos[i] % land->blocks))
			continue;
		fusion_land_read_piece(fs, bio, word, first, i - first);
		first = i;
	}
	bio_endio(bio);
	return true;
}

/* -- the end of a write ---------------------------------------------------------------------- */

/* The number of a position with an entry. */
static u64 fusion_land_since(const struct fusion_land *land, u32 pos)
{
	return fusion_land_number(land, land->segment[pos / land->blocks].segno,
				  pos % land->blocks);
}

void fusion_land_written(struct fusion *fs, struct fusion_io *io, bool ok)
{
	struct fusion_land *land = &fs->land;
	unsigned long flags, inner;
	u32 block, pos;

	io->over = false;
	spin_lock_irqsave(&fs->lock, flags);
	spin_lock_irqsave(&land->lock, inner);
	for (block = DIV_ROUND_UP(io->first, FUSION_BLOCK_SECTORS);
	     block < (u32)(io->first + io->nr) / FUSION_BLOCK_SECTORS; block++) {
		pos = fusion_land_find(land, io->lext, block);
		/* another write has been over it, or the extent is unmapped; or it is newer */
		if (pos == FUSION_LAND_NONE || fusion_land_since(land, pos) >= io->start)
			continue;
		land->entry[pos].flags--;
		if (ok)
			fusion_land_kill(land, pos);
	}
	spin_unlock_irqrestore(&land->lock, inner);
	fusion_land_wake(fs);
	spin_unlock_irqrestore(&fs->lock, flags);
	fusion_commit_soon(fs);
}
