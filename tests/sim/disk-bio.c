// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bios that a disk is at. A write lies in the cache from when it begins; a flush, or FUA, brings it
 * to the medium.
 */
#include <stdlib.h>

#include "disk.h"
#include "landed.h"

/* Writes that the cache has room for: then the oldest goes to the medium. */
#define MAX_CACHE	1024U

static const char *op_name(const struct bio *bio)
{
	switch (bio_op(bio)) {
	case REQ_OP_READ:
		return "read";
	case REQ_OP_WRITE:
		return bio_sectors(bio) ? "write" : "flush";
	case REQ_OP_DISCARD:
		return "discard";
	case REQ_OP_WRITE_ZEROES:
		return "zeroes";
	default:
		return "?";
	}
}

static void trace(const char *what, const struct bio *bio)
{
	struct sim_disk *d = bio->bi_bdev->disk;

	if (!sim_tracing || (bio_op(bio) == REQ_OP_READ && !bio->stamps))
		return;
	sim_log("%s: %s %s%s%s %llu+%u%s", d->role == FUSION_FAST ? "fast" : "slow", what,
		op_name(bio), bio->bi_opf & REQ_PREFLUSH ? " PREFLUSH" : "",
		bio->bi_opf & REQ_FUA ? " FUA" : "", bio->bi_iter.bi_sector, bio_sectors(bio),
		bio->bi_status ? " fails" : "");
}

static bool fault(struct sim_disk *d, unsigned int kind)
{
	return d->fault_kinds & kind && !rnd_below(&world->rng, d->fault_one_in);
}

/* Does it meet a block that is worn out? */
static bool meets_worn(const struct sim_disk *d, const struct bio *bio)
{
	const u64 worn = (u64)d->worn * FUSION_BLOCK_SECTORS;

	return worn && worn >= bio->bi_iter.bi_sector &&
	       worn < bio->bi_iter.bi_sector + bio_sectors(bio);
}

static void land(struct bio *bio)
{
	unsigned int i;

	for (i = 0; i < world->nr_flight; i++)
		if (world->flight[i] == bio)
			break;
	world->flight[i] = world->flight[--world->nr_flight];
	trace("done", bio);
	bio_endio(bio);
}

/* -- writes, flushes and discards ------------------------------------------------------ */

/* Which of two that are under way is there afterwards, nobody knows. */
static void check_alone(const struct sim_disk *d, const struct sim_entry *e)
{
	unsigned int i;

	for (i = 0; i < world->nr_flight; i++) {
		const struct sim_entry *other = world->flight[i]->entry;

		if (world->flight[i]->bi_bdev->disk == d && other && other->meta &&
		    other->sector < e->sector + e->nr && e->sector < other->sector + other->nr)
			sim_fail("block %llu of metadata of the %s disk is written by two at once",
				 (u64)(e->sector / FUSION_BLOCK_SECTORS),
				 d->role == FUSION_FAST ? "fast" : "slow");
	}
}

/*
 * Has it pages that belong into slots? Those are what is copied; and of the landing log, which lies
 * there, metadata as well.
 */
static bool has_data(const struct bio *bio)
{
	return bio->nr_pages && (landed_log() || !(bio->bi_opf & REQ_META));
}

static void begin_write(struct bio *bio)
{
	struct sim_disk *d = bio->bi_bdev->disk;
	struct sim_entry *e = sim_alloc(sizeof(*e), true);
	unsigned int i;
	bool log;

	e->seq = NEVER;
	e->nr = bio_sectors(bio);
	e->meta = disk_locate(d, bio->bi_iter.bi_sector, e->nr, &e->sector);
	log = !e->meta && has_data(bio);
	if (e->meta != !!bio->nr_pages && !log && !(e->meta && bio_op(bio) == REQ_OP_WRITE_ZEROES))
		sim_fail("%s where %s belongs, at sector %llu of the %s disk",
			 e->meta ? "data" : "metadata", e->meta ? "metadata" : "data",
			 bio->bi_iter.bi_sector, d->role == FUSION_FAST ? "fast" : "slow");
	if (e->meta) {
		e->raw = sim_alloc(e->nr * 512, true);
		for (i = 0; i < bio->nr_pages; i++)
			memcpy(e->raw + i * PAGE_SIZE, bio->pages[i]->data, PAGE_SIZE);
	} else if (log) {
		e->stamps = sim_alloc(e->nr * sizeof(u64), false);
		if (d->role == FUSION_FAST && landed_log())
			landed_note(bio->pages[0]->data);
		for (i = 0; i < bio->nr_pages; i++)
			landed_raw_stamps(bio->pages[i]->data,
					  e->stamps + i * FUSION_BLOCK_SECTORS);
		world->copied += e->nr;
	} else if (bio->stamps) {
		e->stamps = sim_alloc(e->nr * sizeof(u64), false);
		memcpy(e->stamps, bio->stamps, e->nr * sizeof(u64));
	}
	if (e->meta && !world->shared)
		check_alone(d, e);
	list_add_tail(&e->list, &d->cache);
	bio->entry = e;
	world->cut_due = true;
}

void sim_disk_submit(struct bio *bio)
{
	struct sim_disk *d = bio->bi_bdev->disk;

	if (d->readonly && op_is_write(bio_op(bio)))
		sim_fail("a read-only set is written to");
	if (world->quiet && !world->shared && op_is_write(bio_op(bio)))
		sim_fail("a suspended set is written to");
	if (bio_end_sector(bio) > d->sectors)
		sim_fail("%s of sectors %llu+%u, behind the end of the %s disk", op_name(bio),
			 bio->bi_iter.bi_sector, bio_sectors(bio),
			 d->role == FUSION_FAST ? "fast" : "slow");
	if (world->nr_flight == world->max_flight) {
		world->max_flight = max(2 * world->max_flight, 16U);
		world->flight = realloc(world->flight, world->max_flight * sizeof(bio));
	}
	world->flight[world->nr_flight++] = bio;
	trace("got", bio);
	bio->entry = NULL;
	bio->snap = d->completed;
	bio->delay = sim_delay();
	bio->held_ns = disk_held_until(d, bio);
	if (d->fault_kinds & SIM_FAULT_BARE && bio->bi_opf & REQ_PREFLUSH)
		bio->delay += rnd_below(&world->rng, 1 << rnd_below(&world->rng, 8));
	bio->flushed = !(bio->bi_opf & REQ_PREFLUSH);
	bio->written = false;
	if (op_is_write(bio_op(bio)) && bio->flushed && bio_sectors(bio))
		begin_write(bio);
}

/* A member may be a thin volume that has run out of space. */
static u8 failure(void)
{
	return rnd_below(&world->rng, 2) ? BLK_STS_IOERR : BLK_STS_NOSPC;
}

static void end_flush(struct bio *bio)
{
	struct sim_disk *d = bio->bi_bdev->disk;
	/* the block layer sends none where there is no cache */
	bool failed = !d->through && fault(d, bio_sectors(bio) ? SIM_FAULT_FLUSH :
					   SIM_FAULT_FLUSH | SIM_FAULT_BARE);
	struct sim_entry *e, *next;

	list_for_each_entry_safe(e, next, &d->cache, list) {
		if (e->seq > bio->snap)
			break;
		if (failed)
			e->lost = true;
		if (e->lost)
			continue;
		entry_persist(d, e);
		entry_free(e);
	}
	bio->flushed = true;
	if (failed)
		bio->bi_status = failure();
	world->cut_due = true;
}

/*
 * The remains of a failed write: its first sectors, or any of them for metadata, and half of the
 * time all of them.
 */
static void spoil(struct sim_entry *e)
{
	u32 i;

	e->lost = true;
	if (e->meta && rnd_below(&world->rng, 2))
		return;
	if (e->meta && !rnd_below(&world->rng, 4)) {
		for (i = 0; i < e->nr * 512; i += 64)
			e->raw[i + rnd_below(&world->rng, 64)] ^= 1 + rnd_below(&world->rng, 255);
		return;
	}
	e->nr = rnd_below(&world->rng, e->nr + 1);
}

/* Is this a write that is to fail? */
static bool is_failing_write(void)
{
	if (!world->fail_write || --world->fail_write)
		return false;
	if (world->fail_more) {
		world->fail_more--;
		world->fail_write = 1;
	}
	return true;
}

static void end_write(struct bio *bio)
{
	struct sim_disk *d = bio->bi_bdev->disk;
	struct sim_entry *e = bio->entry, *next, *oldest = NULL;
	bool failed = fault(d, SIM_FAULT_WRITE | (e->meta ? 0 : SIM_FAULT_DATA)) ||
		      meets_worn(d, bio) || is_failing_write();
	u32 nr = 0;

	bio->entry = NULL;
	if (failed) {
		bio->bi_status = failure();
		spoil(e);
	}
	e->seq = ++d->completed;
	/* in order of completion, before those in flight */
	list_for_each_entry(next, &d->cache, list) {
		if (next->seq == NEVER)
			break;
		if (!oldest && !next->lost)
			oldest = next;
		nr++;
	}
	list_move_tail(&e->list, &next->list);
	if (nr >= MAX_CACHE && oldest && oldest != e) {
		entry_persist(d, oldest);
		entry_free(oldest);
	}

	if (!failed && (d->through || (bio->bi_opf & REQ_FUA && d->fua))) {
		entry_persist(d, e);
		entry_free(e);
		world->cut_due = true;
	}
}

static void end_discard(struct bio *bio)
{
	/* Advice: the disk may keep what was there. Half of the time, for whole pieces. */
	if (bio_op(bio) == REQ_OP_DISCARD && !rnd_below(&world->rng, 16))
		bio->bi_status = BLK_STS_TARGET;
	if (bio_op(bio) == REQ_OP_DISCARD && rnd_below(&world->rng, 2)) {
		entry_free(bio->entry);
		bio->entry = NULL;
	} else {
		end_write(bio);
	}
}

/* -- a look ------------------------------------------------------------------------- */

/* Does a read of this block of metadata fail? Not if it is in the cache. */
static bool is_bad(const struct sim_disk *d, u64 blocknr)
{
	const struct sim_entry *e;

	if (d->bad != blocknr)
		return false;
	list_for_each_entry(e, &d->cache, list)
		if (e->seq != NEVER && entry_covers_bad(d, e))
			return false;
	return true;
}

/* A block of metadata as a read returns it. */
static void see_block(const struct sim_disk *d, u64 blocknr, u8 *block)
{
	const u32 first = blocknr * FUSION_BLOCK_SECTORS, end = first + FUSION_BLOCK_SECTORS;
	const struct sim_entry *e;
	u32 s;

	memcpy(block, sim_disk_block(d, blocknr), FUSION_BLOCK_SIZE);
	list_for_each_entry(e, &d->cache, list) {
		if (e->seq == NEVER)
			break;
		for (s = max(e->sector, first); e->meta && s < min(e->sector + e->nr, end); s++)
			if (e->seq >= *entry_seq((struct sim_disk *)d, e, s - e->sector))
				memcpy(block + (s - first) * 512,
				       e->raw + (s - e->sector) * 512, 512);
	}
}

void sim_disk_see_extent(const struct sim_disk *d, u64 sector, u64 *stamps)
{
	const struct sim_entry *e;
	u32 where, s;

	if (disk_locate(d, sector, EXTENT_SECTORS, &where))
		sim_fail("no data in sector %llu", sector);
	memcpy(stamps, d->stamp + where, EXTENT_SECTORS * sizeof(*stamps));
	list_for_each_entry(e, &d->cache, list) {
		if (e->seq == NEVER)
			break;
		if (e->meta)
			continue;
		for (s = max(e->sector, where);
		     s < min(e->sector + e->nr, where + EXTENT_SECTORS); s++)
			if (e->seq >= *entry_seq((struct sim_disk *)d, e, s - e->sector))
				stamps[s - where] = e->stamps ? e->stamps[s - e->sector] : 0;
	}
}

unsigned int sim_disk_super_seen(struct sim_disk *d, struct fusion_sb *sb)
{
	u8 block[FUSION_BLOCK_SIZE];
	struct fusion_sb one;
	unsigned int copy, found = 0;
	const char *why;

	for (copy = 0; copy < 2; copy++) {
		u64 nr = FUSION_SUPER_BLOCKNR(copy);

		see_block(d, nr, block);
		if (is_bad(d, nr) ||
		    fusion_sb_unpack_landing(block, nr, d->sectors, &one, &why))
			continue;
		if (!found++ || one.generation > sb->generation)
			*sb = one;
	}
	return found;
}

/* -- reads -------------------------------------------------------------------------- */

/* Is the bad block one of those that are read? */
static bool meets_bad(const struct sim_disk *d, const struct bio *bio)
{
	u64 bad = (u64)d->bad * FUSION_BLOCK_SECTORS;

	return bad >= bio->bi_iter.bi_sector && bad < bio->bi_iter.bi_sector + bio_sectors(bio) &&
	       is_bad(d, d->bad);
}

/* Sector @s, which lies in the range that starts at @where. */
static void copy_out(struct bio *bio, bool meta, u32 where, u32 s, const u8 *raw, u64 stamp)
{
	u32 i = s - where;

	if (meta)
		memcpy(bio->pages[i / FUSION_BLOCK_SECTORS]->data +
		       i % FUSION_BLOCK_SECTORS * 512, raw, 512);
	else
		bio->stamps[i] = stamp;
}

/* The durable content, and over it what was written since, in order. */
static void read_content(struct sim_disk *d, struct bio *bio, bool meta, u32 where, u32 nr)
{
	const struct sim_entry *e;
	unsigned int i;
	u32 s;

	if (!meta)
		memcpy(bio->stamps, d->stamp + where, nr * sizeof(*d->stamp));
	for (i = 0; i < bio->nr_pages; i++) {
		const u8 *block = d->block[where / FUSION_BLOCK_SECTORS + i];

		if (block)
			memcpy(bio->pages[i]->data, block, PAGE_SIZE);
		else
			memset(bio->pages[i]->data, 0, PAGE_SIZE);
	}
	list_for_each_entry(e, &d->cache, list) {
		u32 to = min(e->sector + e->nr, where + nr);

		if (e->seq == NEVER)
			break;
		if (e->meta != meta)
			continue;
		for (s = max(e->sector, where); s < to; s++) {
			i = s - e->sector;
			if (e->seq >= *entry_seq(d, e, i))
				copy_out(bio, meta, where, s, meta ? e->raw + i * 512 : NULL,
					 e->stamps ? e->stamps[i] : 0);
		}
	}
}

/* Is this the read that is to fail? Superblocks and the heartbeat may also be read later. */
static bool is_the_one(const struct bio *bio)
{
	const bool early = bio->bi_iter.bi_sector > FUSION_SUPER_BLOCKNR(1) * FUSION_BLOCK_SECTORS;
	unsigned int i;

	if (!world->fail_read || --world->fail_read)
		return false;
	for (i = 0; i < SIM_NR_DISKS && !early; i++)
		world->failed_late |= sim_disk_written(world->disk[i]);
	return true;
}

/* Data that is read as metadata. */
static void read_as_bytes(struct sim_disk *d, struct bio *bio, u32 where, u32 nr)
{
	u64 *stamps = sim_alloc(nr * sizeof(*stamps), false);
	unsigned int pages = bio->nr_pages;
	u32 i;

	bio->stamps = stamps;
	bio->nr_pages = 0;
	read_content(d, bio, false, where, nr);
	bio->nr_pages = pages;
	bio->stamps = NULL;
	for (i = 0; i < nr; i++)
		landed_raw_bytes(stamps[i], bio->pages[i / FUSION_BLOCK_SECTORS]->data +
					    i % FUSION_BLOCK_SECTORS * 512);
	sim_free(stamps);
}

static void end_read(struct bio *bio)
{
	struct sim_disk *d = bio->bi_bdev->disk;
	u32 where, nr = bio_sectors(bio);
	bool meta = disk_locate(d, bio->bi_iter.bi_sector, nr, &where);
	bool log = !meta && has_data(bio);

	if ((meta != !!bio->nr_pages && !log) || (meta && where % FUSION_BLOCK_SECTORS))
		sim_fail("data read where metadata is, or the other way round, at sector %llu",
			 bio->bi_iter.bi_sector);
	if (fault(d, SIM_FAULT_READ) || meets_bad(d, bio) || meets_worn(d, bio) ||
	    is_the_one(bio)) {
		bio->bi_status = BLK_STS_IOERR;
		return;
	}
	if (log)
		read_as_bytes(d, bio, where, nr);
	else
		read_content(d, bio, meta, where, nr);
}

/* -- the next step ------------------------------------------------------------------- */

void sim_disk_step(struct bio *bio)
{
	if (!bio->flushed) {
		end_flush(bio);
		if (!bio->bi_status && bio_sectors(bio)) {
			begin_write(bio);
			return;
		}
	} else if (bio_op(bio) == REQ_OP_READ) {
		end_read(bio);
	} else if (bio_op(bio) == REQ_OP_DISCARD) {
		end_discard(bio);
	} else if (bio->written) {
		end_flush(bio);
	} else {
		end_write(bio);
		if (!bio->bi_status && bio->bi_opf & REQ_FUA && !bio->bi_bdev->disk->fua) {
			bio->written = true;
			bio->snap = bio->bi_bdev->disk->completed;
			return;
		}
	}
	land(bio);
}
