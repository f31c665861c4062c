// SPDX-License-Identifier: GPL-2.0-only
/*
 * A disk with a volatile write cache.
 *
 * What is durable is kept apart from the writes since, which are kept one by one: after a
 * cut each sector holds what was durable, or what any of these wrote to it. A write may
 * reach the medium as soon as it was submitted, at the latest with a flush that was
 * submitted after the write had completed; with FUA, when it completes.
 *
 * Metadata is kept in blocks, which a disk after a cut shares with the one before until
 * they are written to. Data sectors are a stamp each.
 */
#include <stdlib.h>

#include "sim.h"

#define NEVER	U32_MAX
/* Writes that the cache has room for: then the oldest goes to the medium. */
#define MAX_CACHE	1024U

/* A write, or a discard, that may not have reached the medium yet. */
struct sim_entry {
	struct list_head list;
	u32 seq;		/* order of completion; NEVER: in flight */
	u32 sector;		/* in the disk's own numbering: see locate() */
	u32 nr;
	bool meta;
	bool lost;		/* failed, or its flush did: nothing is promised any more */
	u8 *raw;		/* metadata */
	u64 *stamps;		/* data; NULL: zeros */
};

struct sim_disk {
	struct block_device bdev;
	enum fusion_dev role;
	u64 sectors;
	u32 nr_blocks;		/* of metadata, from the start of the disk */
	u64 data_start;		/* sector */
	u32 nr_data;		/* sectors */
	bool discards;
	bool fua;		/* else the block layer flushes */
	bool through;		/* no cache: what has been written is there */
	bool tears;		/* what is being written at a cut may be unreadable then */
	bool readonly;
	unsigned int block_bytes;	/* of a logical block */
	unsigned int fault_kinds;
	u32 fault_one_in;
	u32 bad;		/* block of metadata that can't be read; NEVER: none */

	u8 **block;		/* durable content */
	bool *own;		/* whether the block is ours to write to */
	u64 *stamp;
	u32 *seq;		/* of each sector: the write found on the medium */
	u32 completed;		/* writes so far */
	struct list_head cache;	/* those that completed in order, then those in flight */
};

/* -- life ------------------------------------------------------------------------ */

static struct sim_disk *disk_alloc(const struct sim_disk *like)
{
	struct sim_disk *d = sim_alloc(sizeof(*d), false);

	*d = *like;
	d->bdev.disk = d;
	d->readonly = false;
	d->block_bytes = 512;
	d->fault_kinds = 0;
	d->bad = NEVER;
	d->completed = 0;
	d->block = sim_alloc(d->nr_blocks * sizeof(*d->block), true);
	d->own = sim_alloc(d->nr_blocks * sizeof(*d->own), true);
	d->stamp = sim_alloc(d->nr_data * sizeof(*d->stamp), false);
	d->seq = sim_alloc((d->nr_blocks * FUSION_BLOCK_SECTORS + d->nr_data) * sizeof(*d->seq),
			   true);
	INIT_LIST_HEAD(&d->cache);
	return d;
}

struct sim_disk *sim_disk_new(enum fusion_dev role, const struct fusion_sb *sb, bool discards,
			      bool fua)
{
	struct sim_disk like = {
		.role = role,
		.discards = discards,
		.fua = fua,
	};

	if (role == FUSION_FAST) {
		like.sectors = sb->self_sectors;
		like.nr_blocks = sb->heat_start + sb->heat_blocks;
		like.data_start = sb->fast_data_start;
		like.nr_data = sb->nr_fast_slots * sb->extent_sectors;
	} else {
		like.sectors = sb->peer_sectors;
		like.nr_blocks = sb->map_start[FUSION_SLOW][1] + sb->map_blocks;
		like.data_start = (u64)sb->slow_first_slot * sb->extent_sectors;
		like.nr_data = sb->nr_slow_slots * sb->extent_sectors;
	}
	return disk_alloc(&like);
}

struct block_device *sim_disk_bdev(struct sim_disk *disk)
{
	return &disk->bdev;
}

void sim_disk_set_faults(struct sim_disk *disk, unsigned int kinds, u32 one_in)
{
	disk->fault_kinds = one_in ? kinds : 0;
	disk->fault_one_in = one_in;
}

void sim_disk_set_readonly(struct sim_disk *disk, bool readonly)
{
	disk->readonly = readonly;
}

void sim_disk_set_block_bytes(struct sim_disk *disk, unsigned int bytes)
{
	disk->block_bytes = bytes;
}

void sim_disk_set_tears(struct sim_disk *disk, bool tears)
{
	disk->tears = tears;
}

void sim_disk_set_through(struct sim_disk *disk, bool through)
{
	disk->through = through;
}

void sim_disk_set_bad(struct sim_disk *disk, u64 blocknr)
{
	disk->bad = blocknr;
}

u32 sim_disk_bad(const struct sim_disk *disk)
{
	return disk->bad;
}

/* Does a write have all of the bad block? */
static bool covers_bad(const struct sim_disk *d, const struct sim_entry *e)
{
	u64 bad = (u64)d->bad * FUSION_BLOCK_SECTORS;

	return e->meta && e->sector <= bad && bad + FUSION_BLOCK_SECTORS <= e->sector + e->nr;
}

/* Is the bad block one of those that are read, and not in the cache either? */
static bool meets_bad(const struct sim_disk *d, const struct bio *bio)
{
	u64 bad = (u64)d->bad * FUSION_BLOCK_SECTORS;
	const struct sim_entry *e;

	if (bad < bio->bi_iter.bi_sector || bad >= bio->bi_iter.bi_sector + bio_sectors(bio))
		return false;
	list_for_each_entry(e, &d->cache, list)
		if (e->seq != NEVER && covers_bad(d, e))
			return false;
	return true;
}

/* -- content --------------------------------------------------------------------- */

/* A range of sectors lies either in the metadata or in the slots. */
static bool locate(const struct sim_disk *d, u64 sector, u32 nr, u32 *where)
{
	if (sector + nr <= (u64)d->nr_blocks * FUSION_BLOCK_SECTORS) {
		*where = sector;
		return true;
	}
	if (sector < d->data_start || sector + nr > d->data_start + d->nr_data)
		sim_fail("access to sectors %llu+%u of the %s disk, where nothing is", sector, nr,
			 d->role == FUSION_FAST ? "fast" : "slow");
	*where = sector - d->data_start;
	return false;
}

static u8 *own_block(struct sim_disk *d, u32 nr)
{
	u8 *old = d->block[nr];

	if (!d->own[nr]) {
		d->block[nr] = sim_alloc(FUSION_BLOCK_SIZE, true);
		if (old)
			memcpy(d->block[nr], old, FUSION_BLOCK_SIZE);
		d->own[nr] = true;
	}
	return d->block[nr];
}

/* Sector @i of the write reaches the medium. */
static void persist_sector(struct sim_disk *d, const struct sim_entry *e, u32 i)
{
	u32 s = e->sector + i;

	if (e->meta)
		memcpy(own_block(d, s / FUSION_BLOCK_SECTORS) +
		       s % FUSION_BLOCK_SECTORS * 512, e->raw + i * 512, 512);
	else
		d->stamp[s] = e->stamps ? e->stamps[i] : 0;
}

static u32 *sector_seq(struct sim_disk *d, const struct sim_entry *e, u32 i)
{
	return &d->seq[e->sector + i + (e->meta ? 0 : d->nr_blocks * FUSION_BLOCK_SECTORS)];
}

static void persist(struct sim_disk *d, const struct sim_entry *e)
{
	u32 i;

	for (i = 0; i < e->nr; i++) {
		u32 *seq = sector_seq(d, e, i);

		if (*seq > e->seq)
			continue;
		*seq = e->seq;
		persist_sector(d, e, i);
	}
	/* what is on the medium anew can be read */
	if (covers_bad(d, e))
		d->bad = NEVER;
}

static void free_entry(struct sim_entry *e)
{
	list_del(&e->list);
	sim_free(e->raw);
	sim_free(e->stamps);
	sim_free(e);
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
			if (e->seq >= *sector_seq(d, e, i))
				copy_out(bio, meta, where, s, meta ? e->raw + i * 512 : NULL,
					 e->stamps ? e->stamps[i] : 0);
		}
	}
}

/* -- after a cut ----------------------------------------------------------------- */

static bool survives(enum sim_loss loss, u32 share, u32 left, u64 *rng)
{
	switch (loss) {
	case SIM_LOSE_ALL:
		return false;
	case SIM_LOSE_NONE:
		return true;
	case SIM_LOSE_LATEST:
		return left >= share >> 5;
	default:
		return rnd_below(rng, 256) < share;
	}
}

static void settle_entry(struct sim_disk *d, struct sim_disk *from, struct sim_entry *e,
			 enum sim_loss loss, u32 share, u32 left, u64 *rng)
{
	u32 piece = e->nr, i;
	bool kept = false, whole = true;

	if (loss == SIM_LOSE_SECTORS)
		piece = 1;
	else if (loss == SIM_LOSE_BLOCKS)
		piece = FUSION_BLOCK_SECTORS;
	for (i = 0; i < e->nr; i++) {
		if (!(i % piece))
			kept = survives(loss, share, left, rng);
		if (!kept) {
			whole = false;
			continue;
		}
		/* a later one got there for good */
		if (*sector_seq(from, e, i) > e->seq)
			continue;
		persist_sector(d, e, i);
	}
	if (whole && covers_bad(d, e))
		d->bad = NEVER;
}

struct sim_disk *sim_disk_after_cut(struct sim_disk *from, enum sim_loss loss, u64 *rng, bool own)
{
	struct sim_disk *d = disk_alloc(from);
	u32 share = 1 + rnd_below(rng, 255), left = 0, i;
	struct sim_entry *e;

	memcpy(d->block, from->block, d->nr_blocks * sizeof(*d->block));
	memcpy(d->stamp, from->stamp, d->nr_data * sizeof(*d->stamp));
	list_for_each_entry(e, &from->cache, list)
		left++;
	d->bad = from->bad;
	list_for_each_entry(e, &from->cache, list) {
		settle_entry(d, from, e, loss, share, --left, rng);
		/* a sector of it, and so its block, until it is written again; one at a time */
		if (from->tears && e->meta && e->seq == NEVER && !rnd_below(rng, 4) &&
		    d->bad == NEVER)
			d->bad = (e->sector + rnd_below(rng, e->nr)) / FUSION_BLOCK_SECTORS;
	}
	for (i = 0; own && i < d->nr_blocks; i++)
		if (d->block[i])
			own_block(d, i);
	return d;
}

static void copy_entry(struct sim_disk *d, const struct sim_entry *e)
{
	struct sim_entry *copy = sim_alloc(sizeof(*copy), false);

	*copy = *e;
	copy->lost = false;
	if (e->raw) {
		copy->raw = sim_alloc(e->nr * 512, false);
		memcpy(copy->raw, e->raw, e->nr * 512);
	}
	if (e->stamps) {
		copy->stamps = sim_alloc(e->nr * sizeof(u64), false);
		memcpy(copy->stamps, e->stamps, e->nr * sizeof(u64));
	}
	/* what was in flight is through */
	if (copy->seq == NEVER)
		copy->seq = ++d->completed;
	list_add_tail(&copy->list, &d->cache);
}

struct sim_disk *sim_disk_after_reset(struct sim_disk *from, u64 *rng)
{
	struct sim_disk *d = disk_alloc(from);
	const struct sim_entry *e;

	memcpy(d->block, from->block, d->nr_blocks * sizeof(*d->block));
	memcpy(d->stamp, from->stamp, d->nr_data * sizeof(*d->stamp));
	memcpy(d->seq, from->seq,
	       (d->nr_blocks * FUSION_BLOCK_SECTORS + d->nr_data) * sizeof(*d->seq));
	d->completed = from->completed;
	d->bad = from->bad;
	list_for_each_entry(e, &from->cache, list)
		if ((e->seq != NEVER && !e->lost) || rnd_below(rng, 2))
			copy_entry(d, e);
	return d;
}

const void *sim_disk_block(const struct sim_disk *d, u64 blocknr)
{
	static const u8 zeros[FUSION_BLOCK_SIZE];

	if (blocknr >= d->nr_blocks)
		sim_fail("no metadata in block %llu", blocknr);
	return d->block[blocknr] ?: zeros;
}

unsigned int sim_disk_super(struct sim_disk *d, struct fusion_sb *sb)
{
	struct fusion_sb one;
	unsigned int copy, found = 0;
	const char *why;

	for (copy = 0; copy < 2; copy++) {
		u64 nr = FUSION_SUPER_BLOCKNR(copy);

		if (fusion_sb_unpack(sim_disk_block(d, nr), nr, bdev_nr_sectors(&d->bdev), &one,
				     &why))
			continue;
		if (!found++ || one.generation > sb->generation)
			*sb = one;
	}
	return found;
}

void sim_disk_set_block(struct sim_disk *d, u64 blocknr, const void *block)
{
	if (blocknr >= d->nr_blocks)
		sim_fail("no metadata in block %llu", blocknr);
	memcpy(own_block(d, blocknr), block, FUSION_BLOCK_SIZE);
}

u32 sim_disk_blocks(const struct sim_disk *d)
{
	return d->nr_blocks;
}

bool sim_disk_written(const struct sim_disk *d)
{
	return d->completed;
}

u64 sim_disk_stamp(const struct sim_disk *d, u64 sector)
{
	u32 where;

	if (locate(d, sector, 1, &where))
		sim_fail("no data in sector %llu", sector);
	return d->stamp[where];
}

bool sim_disk_tearable(const struct sim_disk *d)
{
	const struct sim_entry *e;

	list_for_each_entry(e, &d->cache, list)
		if (e->seq == NEVER && e->meta && e->nr > FUSION_BLOCK_SECTORS)
			return true;
	return false;
}

/* -- format ---------------------------------------------------------------------- */

void sim_disk_lose_data(struct sim_disk *d, u64 *rng)
{
	u32 i;

	for (i = 0; i < d->nr_data; i++)
		d->stamp[i] = rnd(rng) | 1ULL << 63;
}

void sim_disk_format(struct sim_disk *d, const struct fusion_sb *fast, u64 *rng)
{
	u8 block[FUSION_BLOCK_SIZE];
	struct fusion_sb sb = *fast;
	u32 words[FUSION_MAP_PER_BLOCK];
	u32 i;

	/* What is left of somebody else must never be read through the device. */
	sim_disk_lose_data(d, rng);
	memset32(words, FUSION_WORD_UNMAPPED, FUSION_MAP_PER_BLOCK);
	if (d->role == FUSION_SLOW)
		fusion_sb_for_slow(fast, &sb);
	for (i = 0; i < sb.map_blocks; i++) {
		fusion_map_pack(&sb, sb.active_set, i, sb.set_generation, words, block);
		sim_disk_set_block(d, sb.map_start[d->role][sb.active_set] + i, block);
	}
	for (i = 0; i < 2; i++) {
		u64 blocknr;

		sb.generation = fast->generation + i;
		blocknr = FUSION_SUPER_BLOCKNR(sb.generation & 1);
		fusion_sb_pack(&sb, blocknr, block);
		sim_disk_set_block(d, blocknr, block);
	}
}

/* -- bios ------------------------------------------------------------------------ */

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

static void begin_write(struct bio *bio)
{
	struct sim_disk *d = bio->bi_bdev->disk;
	struct sim_entry *e = sim_alloc(sizeof(*e), true);
	unsigned int i;

	e->seq = NEVER;
	e->nr = bio_sectors(bio);
	e->meta = locate(d, bio->bi_iter.bi_sector, e->nr, &e->sector);
	if (e->meta != !!bio->nr_pages)
		sim_fail("%s where %s belongs, at sector %llu of the %s disk",
			 e->meta ? "data" : "metadata", e->meta ? "metadata" : "data",
			 bio->bi_iter.bi_sector, d->role == FUSION_FAST ? "fast" : "slow");
	if (e->meta) {
		e->raw = sim_alloc(e->nr * 512, false);
		for (i = 0; i < bio->nr_pages; i++)
			memcpy(e->raw + i * PAGE_SIZE, bio->pages[i]->data, PAGE_SIZE);
	} else if (bio->stamps) {
		e->stamps = sim_alloc(e->nr * sizeof(u64), false);
		memcpy(e->stamps, bio->stamps, e->nr * sizeof(u64));
	}
	list_add_tail(&e->list, &d->cache);
	bio->entry = e;
	world->cut_due = true;
}

/* Until when the disk does not get to it: one in four accesses to the block of the heartbeat. */
static u64 hold(const struct sim_disk *d, const struct bio *bio)
{
	if (!world->late_ms || d->role != FUSION_FAST ||
	    bio->bi_iter.bi_sector != FUSION_BEAT_BLOCKNR * FUSION_BLOCK_SECTORS ||
	    rnd_below(&world->rng, 4))
		return 0;
	return world->now_ns + 1000000ULL * rnd_below(&world->rng, world->late_ms);
}

void sim_disk_submit(struct bio *bio)
{
	struct sim_disk *d = bio->bi_bdev->disk;

	if (d->readonly && op_is_write(bio_op(bio)))
		sim_fail("a read-only set is written to");
	if (world->quiet && !world->shared && op_is_write(bio_op(bio)))
		sim_fail("a suspended set is written to");
	if (world->nr_flight == world->max_flight) {
		world->max_flight = max(2 * world->max_flight, 16U);
		world->flight = realloc(world->flight, world->max_flight * sizeof(bio));
	}
	world->flight[world->nr_flight++] = bio;
	trace("got", bio);
	bio->entry = NULL;
	bio->snap = d->completed;
	bio->delay = sim_delay();
	bio->held_ns = hold(d, bio);
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
		persist(d, e);
		free_entry(e);
	}
	bio->flushed = true;
	if (failed)
		bio->bi_status = failure();
	world->cut_due = true;
}

/*
 * What a write has left that failed: the first sectors of it, or of metadata anything, and half of
 * the time all of it.
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

static void end_write(struct bio *bio)
{
	struct sim_disk *d = bio->bi_bdev->disk;
	struct sim_entry *e = bio->entry, *next, *oldest = NULL;
	bool failed = fault(d, SIM_FAULT_WRITE);
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
		persist(d, oldest);
		free_entry(oldest);
	}

	if (!failed && (d->through || (bio->bi_opf & REQ_FUA && d->fua))) {
		persist(d, e);
		free_entry(e);
		world->cut_due = true;
	}
}

static void end_discard(struct bio *bio)
{
	/* Advice: the disk may keep what was there. Half of the time, for whole pieces. */
	if (bio_op(bio) == REQ_OP_DISCARD && !rnd_below(&world->rng, 16))
		bio->bi_status = BLK_STS_TARGET;
	if (bio_op(bio) == REQ_OP_DISCARD && rnd_below(&world->rng, 2)) {
		free_entry(bio->entry);
		bio->entry = NULL;
	} else {
		end_write(bio);
	}
}

static void end_read(struct bio *bio)
{
	struct sim_disk *d = bio->bi_bdev->disk;
	u32 where, nr = bio_sectors(bio);
	bool meta = locate(d, bio->bi_iter.bi_sector, nr, &where);

	if (meta != !!bio->nr_pages || (meta && where % FUSION_BLOCK_SECTORS))
		sim_fail("data read where metadata is, or the other way round, at sector %llu",
			 bio->bi_iter.bi_sector);
	if (fault(d, SIM_FAULT_READ) || meets_bad(d, bio) ||
	    (world->fail_read && !--world->fail_read)) {
		bio->bi_status = BLK_STS_IOERR;
		return;
	}
	read_content(d, bio, meta, where, nr);
}

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

/* -- the kernel's questions ------------------------------------------------------ */

sector_t bdev_nr_sectors(struct block_device *bdev)
{
	return bdev->disk->sectors;
}

unsigned int bdev_logical_block_size(struct block_device *bdev)
{
	return bdev->disk->block_bytes;
}

bool bdev_write_cache(struct block_device *bdev)
{
	return !bdev->disk->through;
}

bool bdev_fua(struct block_device *bdev)
{
	return bdev->disk->fua;
}

unsigned int bdev_max_discard_sectors(struct block_device *bdev)
{
	return bdev->disk->discards ? U32_MAX >> SECTOR_SHIFT : 0;
}
