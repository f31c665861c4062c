// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: which writes get into the landing log, and where.
 *
 * A write of whole blocks, small and no part of a stream, to an extent that is STABLE on the slow
 * member gets positions behind those given before. So does one to an extent that is WATCHED there,
 * and goes on being so: what is in the log is laid over the copy. All of that is done under
 * land.lock, and the word is looked at again there. So who changes the word and then takes the lock
 * knows that no block gets into the log any more: the mover, and who unmaps the extent.
 *
 * Until its batch has ended, a block is on its way: reads find what was there before. Another write
 * into the log may follow at once, and counts by its later position. One past the log waits in the
 * worker until the batch has ended, and so does a discard. So what a write past the log finds when
 * it begins is older, and what it finds beside that when it ends is newer: struct fusion_io has
 * where the log was.
 *
 * A write goes past the log if a block of it has an entry that is being copied for a bio, or is
 * written over.
 * One that finds no room waits as dm-fusion-land-pace.c says, or goes past the log.
 */
#include "dm-fusion.h"
#include "dm-fusion-land-batch.h"

bool fusion_land_fits(const struct fusion *fs, struct bio *bio)
{
	const u32 nr = bio_sectors(bio);

	return fs->land.max && bio_op(bio) == REQ_OP_WRITE &&
	       (READ_ONCE(fs->land.appends) || READ_ONCE(fs->land.pace.on)) &&
	       !fusion_io(bio)->stream && nr <= FUSION_LAND_MOST * FUSION_BLOCK_SECTORS &&
	       !((bio->bi_iter.bi_sector | nr) % FUSION_BLOCK_SECTORS);
}

/* -- positions: land->lock is held --------------------------------------------------------- */

/* Begin another batch. Return: it, or NULL if there is no room, or none to be had. */
static struct fusion_land_batch *fusion_land_begin_batch(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	struct fusion_land_batch *b;

	if (land->nr_batches == FUSION_LAND_BATCHES)
		return NULL;
	if (land->at.pos + 2 > fusion_segment_room(&fs->sb)) {
		land->at.segno++;
		land->at.pos = 0;
		land->at_place = FUSION_LAND_NONE;
		fusion_copies_retreat(fs);
	}
	if (land->at_place == FUSION_LAND_NONE)
		land->at_place = fusion_land_place_of(land, land->at.segno);
	if (land->at_place == FUSION_LAND_NONE) {
		/* until a commit has opened one */
		WRITE_ONCE(land->appends, false);
		return NULL;
	}
	b = &land->batch[(land->first_batch + land->nr_batches++) % FUSION_LAND_BATCHES];
	b->seq = ++land->at.seq;
	b->place = land->at_place;
	b->pos = land->at.pos++;
	b->count = 0;
	b->copying = 0;
	b->state = FUSION_BATCH_FILLING;
	b->status = BLK_STS_OK;
	return b;
}

/* How many blocks more does a batch take? */
static u32 fusion_land_left(const struct fusion *fs, const struct fusion_land_batch *b)
{
	return min(FUSION_BATCH_BLOCKS - b->count, fusion_segment_room(&fs->sb) - fs->land.at.pos);
}

/* The batch that is being filled, or NULL. */
static struct fusion_land_batch *fusion_land_last_batch(const struct fusion *fs)
{
	const struct fusion_land *land = &fs->land;
	struct fusion_land_batch *b;

	if (!land->nr_batches)
		return NULL;
	b = fusion_land_nth(land, land->nr_batches - 1);
	/* the log may have got to the next segment, and not found it open */
	return b->state == FUSION_BATCH_FILLING && b->place == land->at_place &&
	       fusion_land_left(fs, b) ? b : NULL;
}

/* Is there a place for @nr blocks, in one batch or in several, one behind the other? */
static bool fusion_land_fits_in(const struct fusion *fs, u32 nr)
{
	const struct fusion_land_batch *b = fusion_land_last_batch(fs);
	const u32 room = fusion_segment_room(&fs->sb);
	const struct fusion_land *land = &fs->land;
	u32 batches = land->nr_batches, pos = land->at.pos;
	u32 left = b ? fusion_land_left(fs, b) : 0;
	u64 segno = land->at.segno;

	while (nr > left) {
		nr -= left;
		pos += left;
		if (batches++ == FUSION_LAND_BATCHES)
			return false;
		if (pos + 2 > room) {
			segno++;
			pos = 0;
		}
		if (fusion_land_place_of(land, segno) == FUSION_LAND_NONE)
			return false;
		pos++;
		left = min(FUSION_BATCH_BLOCKS, room - pos);
	}
	return true;
}

/*
 * Is a block being copied for a bio, or written over? One that is being drained takes no harm: what
 * gets there is older, and what is newer hides it until the end of the round (FUSION_LAND_HIDES).
 */
static bool fusion_land_hindered(const struct fusion_land *land, u32 lext, u32 block, u32 nr)
{
	const u16 drained = FUSION_LAND_MARKED | FUSION_LAND_HIDES;
	u32 i, pos;

	for (i = 0; i < nr; i++) {
		pos = fusion_land_find(land, lext, block + i);
		if (pos != FUSION_LAND_NONE && land->entry[pos].flags & ~drained)
			return true;
	}
	return false;
}

/* Give positions to up to @nr blocks in one batch. Return: how many; @place says where. */
static u32 fusion_land_give_some(struct fusion *fs, u32 lext, u32 block, u32 nr, u32 *place)
{
	struct fusion_land_batch *b = fusion_land_last_batch(fs) ?: fusion_land_begin_batch(fs);
	struct fusion_land *land = &fs->land;
	u32 i;

	if (!b)
		return 0;
	*place = (b - land->batch) << 8 | b->count;
	nr = min(nr, fusion_land_left(fs, b));
	fusion_copies_kill(land, lext, block, block + nr);
	for (i = 0; i < nr; i++) {
		b->entry[b->count].lext = lext;
		b->entry[b->count++].block = block + i;
		fusion_land_begin(land, b->place * land->blocks + land->at.pos++, lext, block + i);
	}
	b->copying++;
	return nr;
}

/*
 * Give positions to up to @nr blocks, or with @all to all of them or none: those that a batch has
 * no place for begin the next one. Return: how many; @place says where the first one is.
 */
static u32 fusion_land_give(struct fusion *fs, u32 lext, u32 block, u32 nr, bool all, u32 *place)
{
	struct fusion_land *land = &fs->land;
	u32 given, next;

	if (land->broken || land->off || land->barred == lext || land->awaited == lext ||
	    fusion_land_hindered(land, lext, block, nr) || (all && !fusion_land_fits_in(fs, nr)))
		return 0;
	given = fusion_land_give_some(fs, lext, block, nr, place);
	while (all && given < nr)
		given += fusion_land_give_some(fs, lext, block + given, nr - given, &next);
	return given;
}

bool fusion_land_append_part(struct fusion *fs, u32 lext, u32 block, u32 *place)
{
	if (!fusion_land_give(fs, lext, block, 1, true, place))
		return false;
	fusion_land_hold();
	return true;
}

bool fusion_land_beside_copy(const struct fusion *fs, u32 word)
{
	return fs->land.max && fusion_word_dev(word) == FUSION_SLOW;
}

/* -- writes ---------------------------------------------------------------------------------- */

/* May blocks of the extent with the word @now get into the log? land->lock held. */
static bool fusion_land_open_to(u32 now, u32 word)
{
	return now == fusion_word_set_state(word, FUSION_STABLE) ||
	       now == fusion_word_set_state(word, FUSION_WATCHED);
}

struct fusion_found fusion_land_append(struct fusion *fs, struct bio *bio, u32 word, bool in_map)
{
	const u32 lext = fusion_lext(fs, bio->bi_iter.bi_sector);
	const u32 block = fusion_offset(fs, bio->bi_iter.bi_sector) / FUSION_BLOCK_SECTORS;
	const u32 want = bio_sectors(bio) / FUSION_BLOCK_SECTORS;
	struct fusion_land *land = &fs->land;
	struct fusion_io *io = fusion_io(bio);
	bool waits = false, open;
	unsigned long flags;
	u32 now, nr = 0, place;

	fusion_land_hold();
	spin_lock_irqsave(&land->lock, flags);
	now = READ_ONCE(fs->map[lext]);
	open = fusion_land_open_to(now, word);
	if (open) {
		if (fusion_pace_may(fs, io))
			nr = fusion_land_give(fs, lext, block, want, !in_map, &place);
		waits = !nr && fusion_pace_waits(fs, io);
		/* one that goes past the log takes none of what it was charged for */
		if (!waits)
			fusion_pace_took(fs, io, nr ?: want);
	}
	spin_unlock_irqrestore(&land->lock, flags);
	if (!nr)
		fusion_land_let_go();
	if (!open)
		return (struct fusion_found){ now, FUSION_AGAIN };
	if (waits)
		return (struct fusion_found){ word, FUSION_PACED };
	if (!nr)
		return (struct fusion_found){ word, FUSION_SUBMIT };
	if (nr < want)
		dm_accept_partial_bio(bio, nr * FUSION_BLOCK_SECTORS);
	/* A flush that begins when its batch has ended makes it durable. */
	io->landed = true;
	io->fua |= !!(bio->bi_opf & REQ_FUA);
	bio->bi_opf &= ~REQ_FUA;
	return (struct fusion_found){ place, FUSION_LAND };
}

/* -- extents that change --------------------------------------------------------------------- */

/* land->lock held. */
static bool fusion_land_any_flies(const struct fusion_land *land, u32 lext)
{
	return lext != FUSION_LAND_NONE && fusion_land_flies(land, lext, 0, land->blocks);
}

void fusion_land_park(struct fusion *fs, struct bio *bio, u32 lext)
{
	struct fusion_land *land = &fs->land;
	unsigned long flags;

	spin_lock_irqsave(&land->lock, flags);
	if (fusion_land_any_flies(land, lext) && !fusion_land_any_flies(land, land->awaited))
		land->awaited = lext;
	spin_unlock_irqrestore(&land->lock, flags);
	bio_list_add(&fs->worker.landing, bio);
}

bool fusion_land_bar(struct fusion *fs, u32 lext, struct bio *bio)
{
	struct fusion_land *land = &fs->land;
	unsigned long flags;
	bool flies;

	if (!land->max)
		return false;
	spin_lock_irqsave(&land->lock, flags);
	land->barred = lext;
	flies = fusion_land_any_flies(land, lext);
	spin_unlock_irqrestore(&land->lock, flags);
	if (flies)
		fusion_land_park(fs, bio, lext);
	return flies;
}

void fusion_land_wake(struct fusion *fs)
{
	if (bio_list_empty(&fs->worker.landing))
		return;
	bio_list_merge(&fs->worker.deferred, &fs->worker.landing);
	bio_list_init(&fs->worker.landing);
	queue_work(fs->worker.wq, &fs->worker.work);
}

void fusion_land_served(struct fusion *fs)
{
	struct fusion_land *land = &fs->land;
	unsigned long flags;

	if (!land->max)
		return;
	spin_lock_irqsave(&land->lock, flags);
	if (!fusion_land_any_flies(land, land->awaited))
		land->awaited = FUSION_LAND_NONE;
	if (!fusion_land_any_flies(land, land->barred))
		land->barred = FUSION_LAND_NONE;
	spin_unlock_irqrestore(&land->lock, flags);
}
