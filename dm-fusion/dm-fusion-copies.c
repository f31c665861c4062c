// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: bios that meet copies of what was read, and reads that get some. The head of
 * dm-fusion-copies.h says which.
 */
#include <linux/blk-cgroup.h>
#include <linux/mm.h>

#include "dm-fusion.h"

/* Blocks of a bio. */
struct blocks {
	u32 lext;
	u32 first;
	u32 end;
};

static struct blocks fusion_copies_blocks(const struct fusion *fs, const struct bio *bio)
{
	const u32 offset = fusion_offset(fs, bio->bi_iter.bi_sector);

	return (struct blocks){
		.lext = fusion_lext(fs, bio->bi_iter.bi_sector),
		.first = offset / FUSION_BLOCK_SECTORS,
		.end = DIV_ROUND_UP(offset + bio_sectors(bio), FUSION_BLOCK_SECTORS),
	};
}

/* -- reads of copies: land.lock is held ------------------------------------------------------ */

/* Has each of the blocks a copy? Return: how many of them lie side by side there, from @pos on. */
static u32 fusion_copies_run(const struct fusion_land *land, const struct blocks *b, u32 *pos)
{
	u32 block, at, run = 0;

	*pos = fusion_copies_find(land, b->lext, b->first);
	if (*pos == FUSION_LAND_NONE)
		return 0;
	for (block = b->first; block < b->end; block++) {
		at = fusion_copies_find(land, b->lext, block);
		if (at == FUSION_LAND_NONE)
			return 0;
		if (run == block - b->first && at == *pos + run &&
		    at / land->blocks == *pos / land->blocks)
			run++;
	}
	return run;
}

/* How the bio begins, in fields that reads have no other use for: it may have to be sent again. */
static void fusion_copies_save(struct fusion_io *io, const struct bvec_iter *iter)
{
	io->start = iter->bi_sector;
	io->lext = iter->bi_size;
	io->errors = iter->bi_idx;
	io->first = iter->bi_bvec_done & 0xffff;
	io->nr = iter->bi_bvec_done >> 16;
}

/* That is about to happen. It was taken: too late to say that it would block. */
static void fusion_copies_restore(const struct fusion_io *io, struct bio *bio)
{
	struct bvec_iter *iter = &bio->bi_iter;

	iter->bi_sector = io->start;
	iter->bi_size = io->lext;
	iter->bi_idx = io->errors;
	iter->bi_bvec_done = io->first | (u32)io->nr << 16;
	bio->bi_status = BLK_STS_OK;
	bio->bi_opf &= ~REQ_NOWAIT;
	/* one that was chained has none left */
	atomic_set(&bio->__bi_remaining, 1);
}

/* It was counted in map(), and needs no slot of its extent. Before it is cut. */
static void fusion_copies_cool(struct fusion *fs, struct bio *bio, u32 lext)
{
	const bool urgent = bio->bi_opf & (REQ_META | REQ_PRIO);

	if (!fusion_io(bio)->stream)
		fusion_policy_untouch(fs->policy, lext,
				      fusion_weight(bio_sectors(bio), urgent ? FUSION_URGENT :
									      FUSION_NORMAL));
}

/* A bio that all blocks of have copies; one that is cut reads the first of these. */
static u32 fusion_copies_hit(struct fusion *fs, struct bio *bio, bool in_map)
{
	const struct blocks b = fusion_copies_blocks(fs, bio);
	struct fusion_copies *c = fs->land.copies;
	struct fusion_io *io = fusion_io(bio);
	u32 pos, run, i, nr;

	if (!c->on || !fusion_copies_group(&fs->land, b.lext)->copies ||
	    b.end - b.first > FUSION_COPY_BATCH)
		return FUSION_LAND_NONE;
	run = fusion_copies_run(&fs->land, &b, &pos);
	if (!run || (run < b.end - b.first && !in_map))
		return FUSION_LAND_NONE;
	if (in_map)
		fusion_copies_cool(fs, bio, b.lext);
	nr = (b.first + run) * FUSION_BLOCK_SECTORS - fusion_offset(fs, bio->bi_iter.bi_sector);
	if (nr < bio_sectors(bio))
		dm_accept_partial_bio(bio, nr);
	for (i = 0; i < run; i++)
		fusion_copies_use(&fs->land, pos + i);
	fusion_copies_save(io, &bio->bi_iter);
	io->copied = true;
	io->age = c->age;
	c->users[c->age]++;
	c->hits++;
	c->served += run;
	return pos;
}

/* -- reads that get copies: land.lock is held ------------------------------------------------ */

/* Is something else under way, or there, that the blocks are newer by than the slow member's? */
static bool fusion_copies_changing(const struct fusion_land *land, const struct blocks *b)
{
	u32 block;

	if (fusion_copies_group(land, b->lext)->writes ||
	    fusion_land_flies(land, b->lext, b->first, b->end))
		return true;
	for (block = b->first; block < b->end; block++)
		if (fusion_land_find(land, b->lext, block) != FUSION_LAND_NONE)
			return true;
	return false;
}

/* Is one of the blocks being read for a copy already, or has it one? */
static bool fusion_copies_coming(const struct fusion_land *land, const struct blocks *b)
{
	const struct fusion_copies *c = land->copies;
	u32 i, block, nr = c->nr_fills;

	for (i = 0; nr; i++) {
		const struct fusion_fill *f = &c->fill[i];

		if (f->state == FUSION_FILL_FREE)
			continue;
		nr--;
		if (f->lext == b->lext && f->block < b->end && b->first < f->block + f->nr)
			return true;
	}
	for (block = b->first; block < b->end; block++)
		if (fusion_copies_seek(land, b->lext, block) != FUSION_LAND_NONE)
			return true;
	return false;
}

/* May the bio get copies, by its kind? No lock. */
static bool fusion_copies_fits(const struct fusion *fs, struct bio *bio)
{
	return !fusion_io(bio)->stream && fusion_mode(fs) == FUSION_RW &&
	       bio_sectors(bio) <= FUSION_FILL_BLOCKS * FUSION_BLOCK_SECTORS &&
	       !((bio->bi_iter.bi_sector | bio_sectors(bio)) % FUSION_BLOCK_SECTORS);
}

/* Return: the fill that it gets, or NULL. */
static struct fusion_fill *fusion_copies_begin(struct fusion *fs, struct bio *bio)
{
	const struct blocks b = fusion_copies_blocks(fs, bio);
	struct fusion_land *land = &fs->land;
	struct fusion_copies *c = land->copies;
	struct fusion_fill *f = c->free;
	bool seen;

	if (!c->on || !f || fusion_now_ms() < c->until_ms || fusion_copies_changing(land, &b) ||
	    fusion_copies_coming(land, &b))
		return NULL;
	seen = fusion_copies_seen(land, b.lext, b.first);
	if (!seen && !fusion_copies_roomy(land))
		return NULL;
	c->free = f->next;
	c->nr_fills++;
	f->user = bio;
	f->lext = b.lext;
	f->block = b.first;
	f->nr = b.end - b.first;
	f->dead = 0;
	f->state = FUSION_FILL_READING;
	return f;
}

/* -- all reads ------------------------------------------------------------------------------- */

struct fusion_found fusion_copies_look(struct fusion *fs, struct bio *bio, u32 word, bool in_map)
{
	const bool fits = in_map && fusion_copies_fits(fs, bio);
	struct fusion_land *land = &fs->land;
	struct fusion_fill *fill = NULL;
	u32 now, pos = FUSION_LAND_NONE;
	unsigned long flags;

	spin_lock_irqsave(&land->lock, flags);
	/* Pairs with fusion_copies_forget(). */
	now = READ_ONCE(fs->map[fusion_lext(fs, bio->bi_iter.bi_sector)]);
	if (now == word)
		pos = fusion_copies_hit(fs, bio, in_map);
	if (now == word && pos == FUSION_LAND_NONE && fits)
		fill = fusion_copies_begin(fs, bio);
	spin_unlock_irqrestore(&land->lock, flags);
	if (now != word)
		return (struct fusion_found){ now, FUSION_AGAIN };
	if (pos != FUSION_LAND_NONE)
		return (struct fusion_found){ pos, FUSION_LOGGED };
	if (!fill)
		return (struct fusion_found){ word, FUSION_SUBMIT };
	fusion_io(bio)->lext = fill - land->copies->fill;
	return (struct fusion_found){ word, FUSION_FILL };
}

/* The data of the bio are there. It is not ended before it has them, so its pages are still its. */
static void fusion_fill_copy(struct fusion_fill *f)
{
	struct bvec_iter iter;
	struct bio_vec vec, part;
	u32 at = 0, left;

	bio_for_each_segment(vec, f->user, iter) {
		part = vec;
		for (left = vec.bv_len; left; left -= part.bv_len) {
			part.bv_offset = vec.bv_offset + vec.bv_len - left;
			part.bv_len = min_t(u32, left,
					    FUSION_BLOCK_SIZE - at % FUSION_BLOCK_SIZE);
			memcpy_to_bvec(&part, page_address(f->page[at / FUSION_BLOCK_SIZE]) +
					      at % FUSION_BLOCK_SIZE);
			at += part.bv_len;
		}
	}
}

static void fusion_fill_read(struct bio *bio)
{
	struct fusion_fill *f = bio->bi_private;
	struct fusion_copies *c = f->fs->land.copies;
	struct bio *user = f->user;
	unsigned long flags;

	if (bio->bi_status)
		user->bi_status = bio->bi_status;
	else
		fusion_fill_copy(f);
	bio_uninit(bio);
	spin_lock_irqsave(&f->fs->land.lock, flags);
	if (user->bi_status || !c->on)
		f->dead = (1 << f->nr) - 1;
	f->state = FUSION_FILL_READY;
	f->user = NULL;
	f->next = NULL;
	if (c->ready)
		c->last->next = f;
	else
		c->ready = f;
	c->last = f;
	queue_work(c->wq, &c->work);
	spin_unlock_irqrestore(&f->fs->land.lock, flags);
	/* the table may be gone behind that */
	bio_endio(user);
}

void fusion_copies_fill(struct fusion *fs, struct bio *bio, u32 word)
{
	struct fusion_fill *f = &fs->land.copies->fill[fusion_io(bio)->lext];
	u32 i;

	bio_init(&f->bio, fusion_word_bdev(fs, word), f->vec, ARRAY_SIZE(f->vec), bio->bi_opf);
	bio_clone_blkg_association(&f->bio, bio);
	f->bio.bi_ioprio = bio->bi_ioprio;
	f->bio.bi_iter.bi_sector = fusion_word_sector(fs, word) +
				   fusion_offset(fs, bio->bi_iter.bi_sector);
	for (i = 0; i < f->nr; i++)
		__bio_add_page(&f->bio, f->page[i], FUSION_BLOCK_SIZE, 0);
	f->bio.bi_end_io = fusion_fill_read;
	f->bio.bi_private = f;
	dm_submit_bio_remap(bio, &f->bio);
}

/* -- the end of reads ------------------------------------------------------------------------ */

/* What could not be read is no copy any more. land->lock held. */
static void fusion_copies_unreadable(struct fusion_land *land, const struct blocks *b)
{
	u32 block, pos;

	for (block = b->first; block < b->end; block++) {
		pos = fusion_copies_find(land, b->lext, block);
		if (pos == FUSION_LAND_NONE)
			continue;
		fusion_copies_remove(land, pos);
		land->copies->failed++;
	}
}

bool fusion_copies_read(struct fusion *fs, struct bio *bio, blk_status_t error)
{
	const bool failed = error && error != BLK_STS_AGAIN;
	struct fusion_copies *c = fs->land.copies;
	struct fusion_io *io = fusion_io(bio);
	struct blocks b;
	unsigned long flags;

	io->copied = false;
	if (failed) {
		fusion_copies_restore(io, bio);
		b = fusion_copies_blocks(fs, bio);
	}
	spin_lock_irqsave(&fs->land.lock, flags);
	if (failed)
		fusion_copies_unreadable(&fs->land, &b);
	if (!--c->users[io->age])
		wake_up(&c->wait);
	spin_unlock_irqrestore(&fs->land.lock, flags);
	return failed;
}

/* -- writes ---------------------------------------------------------------------------------- */

void fusion_copies_write(struct fusion *fs, struct bio *bio)
{
	const struct blocks b = fusion_copies_blocks(fs, bio);
	struct fusion_land *land = &fs->land;
	struct fusion_io *io = fusion_io(bio);
	unsigned long flags;

	io->counted = true;
	io->lext = b.lext;
	spin_lock_irqsave(&land->lock, flags);
	fusion_copies_group(land, b.lext)->writes++;
	fusion_copies_kill(land, b.lext, b.first, b.end);
	spin_unlock_irqrestore(&land->lock, flags);
}

void fusion_copies_written(struct fusion *fs, struct fusion_io *io)
{
	struct fusion_land *land = &fs->land;
	unsigned long flags;

	io->counted = false;
	spin_lock_irqsave(&land->lock, flags);
	fusion_copies_group(land, io->lext)->writes--;
	spin_unlock_irqrestore(&land->lock, flags);
}
